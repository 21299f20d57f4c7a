# SPDX-License-Identifier: BSD-2-Clause
"""PIM's layers side by side: rows that go from core to core, and the clocks that choose them."""

from collections import Counter
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.pim.image.image import Group
from quintet.gateware.cores.pim.isa import ISA
from quintet.gateware.cores.pim.params import SPACE
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.pim import choose
from quintet.tools.compiler.backends.pim.arrays.assign import empty_numbers
from quintet.tools.compiler.backends.pim.arrays.matrices import matrices_of
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.backends.pim.choose import simulated_cycles
from quintet.tools.compiler.backends.pim.codegen import CoreBuilder
from quintet.tools.compiler.backends.pim.cost import SDRAM, Clock, Timing, simulate
from quintet.tools.compiler.backends.pim.program import ProgramWriter
from quintet.tools.compiler.backends.pim.schedule import Simulation, plan_stages
from quintet.tools.compiler.backends.pim.stages import Stages
from tests.tools.compiler.machine import random_quantised
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_pim_backend import PARAMS, chains, check


@contextmanager
def side_by_side():
    """As many layers side by side as there can be, whether they pay or not."""
    with (
        mock.patch.object(
            choose,
            "simulated_cycles",
            lambda quantised, params, fused, most, timing: (
                -sum(len(some.nodes) for some in fused if some.stages is not None)
            ),
        ),
        mock.patch.object(choose, "_TRIED", 100),
    ):
        yield


@settings(max_examples=25, deadline=None, derandomize=True)
@given(graph=chains(), cores=st.integers(2, 4), bits=st.sampled_from([8, 16]))
def test_random_stages(graph, cores, bits):
    with side_by_side():
        check(
            graph,
            SPACE.resolve(
                "sim", {"cores": cores, "arrays": 32, "lmem_bytes": 16384, "bias_words": 512}
            ),
            bits,
        )


def residual():
    made = Builder("block", (16, 10, 8))
    x = made.conv(8, (3, 3), relu=True)
    made.conv(8, (3, 3))
    made.add(g.Binary, made.here, made.conv(8, (1, 1), source=x), function="add")
    made.conv(8, (3, 3), groups=8)
    made.conv(16, (3, 3), stride=(2, 2))
    return made.finish()


def test_residual_block_side_by_side_is_one_stretch():
    graph = residual()
    with side_by_side():
        lowered = check(graph, PARAMS)
    assert [span.nodes for span in lowered.layers] == [tuple(node.name for node in graph.nodes)]
    assert set(lowered.tensors) == {graph.inputs[0].tensor, graph.outputs[0].tensor}


def stages_of(graph, placement, band=None):
    numbers = empty_numbers(graph, 16)
    matrices = {
        node.name: matrices_of(
            node, numbers.layers[node.name], PARAMS, graph.shape(node.output)[1], whole=True
        )
        for node in graph.nodes
        if isinstance(node, g.Conv)
    }
    return Stages(
        graph,
        graph.nodes,
        dict(zip((node.name for node in graph.nodes), placement, strict=True)),
        lambda _: 2,
        matrices,
        PARAMS["lanes"],
        band,
    )


@pytest.mark.parametrize(
    "placement",
    [
        [(0,), (0,), (0,), (0,), (1,), (1,), (1,)],
        [(0,), (1,), (0,), (1,), (2,), (3,), (0,)],
        [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (2, 3), (2, 3)],
        [(3,), (2, 3), (1,), (0, 1), (1,), (0,), (2,)],
    ],
)
def test_every_pass_has_its_other_side(placement):
    """Sends and receives of any two cores come in one order, and every row is made once, by its
    core."""
    graph = residual()
    stages = stages_of(graph, placement)
    plan = plan_stages(stages, dict.fromkeys(range(4), PARAMS["lmem_bytes"]))
    for a in stages.cores:
        for b in stages.cores:
            sent = [
                (s.tensor, s.row) for s in plan.steps.get(a, ()) if s.kind == "send" and s.peer == b
            ]
            taken = [
                (s.tensor, s.row) for s in plan.steps.get(b, ()) if s.kind == "recv" and s.peer == a
            ]
            assert sent == taken
    for node in graph.nodes:
        for core in stages.cores:
            rows = list(
                dict.fromkeys(
                    s.row for s in plan.steps[core] if s.kind == "part" and s.tensor == node.output
                )
            )
            assert rows == stages.made(node, core)
    stored = sorted(s.row for steps in plan.steps.values() for s in steps if s.kind == "store")
    assert stored == list(range(graph.shape(stages.last)[0]))


def test_rings_hold_what_is_read_at_once_and_no_more_than_there_is_room():
    stages = stages_of(residual(), [(0,)] * 7)
    least = stages.least()
    assert least[0, "input_0"] == 3 and least[0, stages.last] == 1
    need = stages.bytes(0, least)
    assert plan_stages(stages, {0: need - 1}) is None
    found = plan_stages(stages, {0: 2 * need})
    assert stages.bytes(0, found.slots) <= 2 * need
    assert all(found.slots[key] >= least[key] for key in least)


def test_bands_make_only_what_they_need():
    graph = residual()
    stages = stages_of(graph, [(0,)] * 7, (2, 4))
    assert stages.rows[stages.last] == [2, 3]
    assert stages.rows[graph.nodes[5].output] == list(range(4, 9))


WIDE = Timing(rate=8)


def cycles_of(write, memory=WIDE, params=PARAMS):
    core = CoreBuilder(params, 0)
    core.groups.append(Group(64, 64, (0,), 8, 0, 1, np.zeros((64, 64), np.int8), None))
    write(core)
    return simulate([core.words], [core.groups], [[len(core.words)]], params, 0, memory)[0][0]


@pytest.mark.parametrize(
    "what, count, cycles",
    [
        ("mvmul", 100, 12_822),
        ("vvadd", 1, 524),
        ("vrelu", 1, 267),
        ("ld", 1, 272),
        ("sldi", 10_000, 10_008),
    ],
)
def test_instructions_take_what_was_measured(what, count, cycles):
    """Beside figures of the virtual board with 8 bytes of block RAM a cycle
    (docs/performance/pim.md), which answers sooner than the SDRAM meant here."""

    def write(core):
        core.widths(16, 16)
        for k in range(count):
            if what == "mvmul":
                core.mvmul(0x1000 + k % 2 * 0x100, 0, 0)
            elif what == "vvadd":
                core.vector2("vvadd", 0x2000, 0, 0x1000, 1024, size=2)
            elif what == "vrelu":
                core.vector1("vrelu", 0x2000, 0, 1024, size=2)
            elif what == "ld":
                core.load(0, core.pointer(0), 2000)
            else:
                core.emit("sldi", rd=k % 32, imm=k)

    assert cycles_of(write) == pytest.approx(cycles, rel=0.03, abs=80)


def test_a_pass_waits_for_the_later_core():
    cores = [CoreBuilder(PARAMS, n) for n in range(2)]
    for n, core in enumerate(cores):
        core.widths(16, 16)
        if n:
            core.vector2("vvadd", 0x2000, 0, 0x1000, 1024, size=2)
            core.vector1("vrelu", 0x3000, 0x2000, 16, size=2)
            core.recv(0x2000, 0, 64)
        else:
            core.send(0, 1, 64)
            core.emit("sldi", rd=0, imm=0)
    ((late, _),) = simulate(
        [core.words for core in cores],
        [[], []],
        [[len(core.words)] for core in cores],
        PARAMS,
        0,
        WIDE,
    )
    assert late > 524


def test_moved_bytes_are_those_of_code_and_transfers():
    def write(core):
        core.load(0, core.pointer(0), 100)

    core = CoreBuilder(PARAMS, 0)
    write(core)
    ((_, moved),) = simulate([core.words], [[]], [[len(core.words)]], PARAMS, 0, SDRAM)
    names = [ISA.match(int(word)).mnemonic for word in core.words]
    assert moved == 100 + 4 * len(names)


def test_nothing_runs_together_where_no_program_can_be_written():
    with mock.patch.object(choose, "simulated_cycles", lambda *_: float("inf")):
        assert len(check(residual(), PARAMS).layers) == len(residual().nodes)


def test_no_chain_is_judged_twice():
    judged, holds = Counter(), choose._holds

    def counted(quantised, params, chain, matrices):
        judged[tuple(node.name for node in chain.nodes)] += 1
        return holds(quantised, params, chain, matrices)

    with mock.patch.object(choose, "_holds", counted):
        check(residual(), PARAMS, count=1)
    assert judged and max(judged.values()) == 1


def test_plans_are_those_of_a_search_that_tries_everything():
    """Line buffers that were never full are not enlarged, and tries that cannot gain are given
    up."""
    graph = residual()
    placement = [(k % 2,) for k in range(len(graph.nodes))]
    free_bytes, run, steps = dict.fromkeys(range(2), PARAMS["lmem_bytes"]), Simulation.run, []

    def counted(simulation):
        found = run(simulation)
        steps.append(sum(len(core.steps) for core in simulation.cores.values()))
        return found

    def everything(simulation):
        simulation.limit = float("inf")
        found = counted(simulation)
        simulation.full = set(simulation.slots)
        return found

    plans, work = [], []
    for how in (counted, everything):
        steps.clear()
        with mock.patch.object(Simulation, "run", how):
            plans.append(plan_stages(stages_of(graph, placement), free_bytes))
        work.append(sum(steps))
    assert plans[0] == plans[1]
    assert work[0] < 0.8 * work[1]


def test_programs_are_given_up_once_they_take_too_long():
    backend = PIMBackend(params=PARAMS, memory_size=1 << 20)
    quantised = random_quantised(backend.legalise(residual()), backend, 0)
    cycles = simulated_cycles(quantised, PARAMS, [])
    assert simulated_cycles(quantised, PARAMS, [], cycles + 100) == cycles
    with mock.patch.object(Clock, "advance", autospec=True, side_effect=Clock.advance) as whole:
        simulated_cycles(quantised, PARAMS, [])
    with mock.patch.object(Clock, "advance", autospec=True, side_effect=Clock.advance) as half:
        assert simulated_cycles(quantised, PARAMS, [], cycles // 2) == float("inf")
    assert half.call_count < 0.7 * whole.call_count


def test_a_buffered_copy_is_written_once():
    backend = PIMBackend(params=PARAMS, memory_size=1 << 20)
    quantised = random_quantised(backend.legalise(residual()), backend, 0)
    lowered, write = backend.lower(quantised), ProgramWriter.write
    with mock.patch.object(ProgramWriter, "write", autospec=True, side_effect=write) as written:
        copy = backend.buffered_copy(quantised, lowered, -(-lowered.memory // 64) * 64)
    assert written.call_count == 1
    assert [layer.cycles for layer in copy.layers] == [layer.cycles for layer in lowered.layers]


@pytest.mark.long
def test_network_of_three_residual_blocks_keeps_its_bar():
    """Of ResNet-8's shape, with random weights: equal, and within the cycles asked of four
    cores."""
    made = Builder("resnet8", (32, 32, 3))
    x = made.conv(16, (3, 3), relu=True)
    for channels in (16, 32, 64):
        stride = (1, 1) if channels == 16 else (2, 2)
        made.conv(channels, (3, 3), source=x, stride=stride, relu=True)
        y = made.conv(channels, (3, 3))
        short = x if channels == 16 else made.conv(channels, (1, 1), source=x, stride=stride)
        made.add(g.Binary, y, short, function="add")
        x = made.act("relu")
    made.add(g.AveragePool, window=(8, 8), stride=(8, 8), padding=(0, 0, 0, 0))
    made.dense(10)
    lowered = check(made.finish(), PARAMS, count=1)
    assert sum(span.cycles for span in lowered.layers) < 240_000
