# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's memory map with on-chip memory: results do not depend on it, and it saves cycles."""

import itertools

import numpy as np
import pytest

from quintet.gateware.cores.cherry.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.tools.compiler.backends.cherry import Cherry, lowering
from quintet.tools.compiler.backends.cherry.codegen.tilework import Costs
from quintet.tools.compiler.backends.cherry.cost import program_cycles
from quintet.tools.compiler.backends.cherry.schedule.memory import (
    Memory,
    image_cycles,
    main_memory,
    transfer_cycles,
)
from quintet.tools.compiler.backends.cherry.schedule.memory_map import (
    PROGRAM,
    StepTraffic,
    order_of,
    places_of,
)
from quintet.tools.compiler.backends.cherry.schedule.steps import Buffer
from quintet.tools.compiler.backends.cherry.schedule.transfers import Transfer
from quintet.tools.compiler.quantised import Quantised
from tests.tools.compiler.cherry_lowered import MEMORY, bits, run_lowered
from tests.tools.compiler.networks import NETWORKS, inputs_of

#: Builds whose maps stay in the scratchpad, and which keep some in main memory.
BUILDS = {"whole": {}, "tight": {"log_mem": 10}}
NAMES = ("resnet8", "ds_cnn", "mobilenet", "autoencoder", "lstm_classifier")
SDRAM = Memory(half_word=1.04)


def backend_of(border, preset="sim", **sizes):
    memory = {"kind": "SDRAM", "beat_bytes": 2, "size": MEMORY}
    if border:
        memory["on_chip"] = {"size": border, "beat_bytes": 4}
    return Cherry(params=SPACE.resolve(preset, sizes), memory_size=MEMORY, memory=memory)


def lowered_by(backend, name, small=True, keep=False):
    graph = NETWORKS[name][1 if small else 0](0)
    return graph, backend.lower(Quantised(graph=backend.legalise(graph)), keep=keep)


def cycles_of(lowered):
    return sum(layer.cycles for layer in lowered.layers)


def spans(lowered):
    """Bytes that must not overlap: (first, behind) of program, constants, inputs and outputs."""
    found = [(lowered.program_at, lowered.program_at + len(lowered.program))]
    found += [(at, at + data.size) for at, data, _ in lowered.constants]
    placed = {**lowered.inputs, **lowered.outputs}.values()
    return sorted([*found, *((p.layout.first, p.layout.end) for p in placed)])


@pytest.mark.parametrize("part", [0.2, 0.6, 2])
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", NAMES)
def test_tensors_do_not_depend_on_the_map(name, build, part):
    _, plain = lowered_by(backend_of(0, **BUILDS[build]), name)
    backend = backend_of(int(part * plain.memory) // 64 * 64, **BUILDS[build])
    for keep in (False, True):
        graph, lowered = lowered_by(backend, name, keep=keep)
        inputs = {tensor: v.astype(np.float32) for tensor, v in inputs_of(graph, 1).items()}
        quantised = Quantised(graph=backend.legalise(graph))
        wanted = backend.reference(quantised, inputs, keep=keep)
        found = run_lowered(lowered, inputs, backend.params)
        assert set(wanted) <= set(found)
        for tensor, values in wanted.items():
            assert np.array_equal(bits(found[tensor]), bits(values)), tensor
        for (_, end), (begin, _) in itertools.pairwise(spans(lowered)):
            assert end <= begin
        assert max(end for _, end in spans(lowered)) <= lowered.memory


@pytest.mark.parametrize("name", NAMES)
def test_runs_of_both_copies_one_after_another(name):
    """What a run leaves does not disturb the next one, nor that of the other places."""
    backend = backend_of(2048, **BUILDS["tight"])
    graph, lowered = lowered_by(backend, name)
    quantised = Quantised(graph=backend.legalise(graph))
    copy = backend.buffered_copy(quantised, lowered, -(-lowered.memory // 64) * 64)
    memory = np.random.default_rng(1).integers(0, 256, copy.memory, dtype=np.uint8)
    for at, data, _ in lowered.constants:
        memory[at : at + data.size] = data
    for one in (lowered, copy):
        program = np.frombuffer(one.program, np.uint8)
        memory[one.program_at : one.program_at + program.size] = program
    for number, one in enumerate((lowered, copy, lowered, copy)):
        inputs = inputs_of(graph, 1, seed=number)
        inputs = {tensor: values.astype(np.float32) for tensor, values in inputs.items()}
        for tensor, placed in one.inputs.items():
            placed.layout.write(memory, inputs[tensor])
        model = Model(backend.params, memory)
        assert model.run(one.registers).status == "done"
        memory = model.memory
        wanted = backend.reference(quantised, inputs)
        for tensor, placed in one.outputs.items():
            assert np.array_equal(bits(placed.layout.read(memory)), bits(wanted[tensor])), number


@pytest.mark.parametrize("name", NAMES)
def test_without_on_chip_memory_nothing_is_moved(name, monkeypatch):
    """The map is never asked for."""
    monkeypatch.setattr(lowering, "order_of", None)
    _, lowered = lowered_by(backend_of(0), name)
    assert lowered.program_at == max(begin for begin, _ in spans(lowered))


@pytest.mark.parametrize("name, preset", [("ds_cnn", "45f"), ("autoencoder", "85f")])
def test_on_chip_memory_saves_cycles(name, preset):
    """In maps that do not fit the scratchpad, and in weights that are read once; beside as good as
    none."""
    without, within = (
        cycles_of(lowered_by(backend_of(size, preset), name, small=False)[1])
        for size in (64, 96 << 10)
    )
    assert within < 0.93 * without


def test_a_tile_file_of_rows_takes_longer():
    """Each word of a tile takes a cycle there, which a core of whole tiles does not know."""
    body = kernel_bodies("45f")
    costs = Costs(16, 4)
    params = SPACE.resolve("45f")
    assert program_cycles(body, params, costs, 4) > program_cycles(body, params, costs)


def kernel_bodies(preset):
    """Loop nests of a depthwise convolution's network."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowering, "program_cycles", lambda bodies, *rest: found.extend(bodies) or 100)
        lowered_by(backend_of(0, preset), "ds_cnn")
    return found


def test_the_map_is_no_worse_than_the_order_of_the_tasks(monkeypatch):
    backend = backend_of(96 << 10, "45f")
    better = cycles_of(lowered_by(backend, "ds_cnn", small=False)[1])
    monkeypatch.setattr(
        lowering, "order_of", lambda regions, *rest: [*range(len(regions)), PROGRAM]
    )
    assert better < cycles_of(lowered_by(backend, "ds_cnn", small=False)[1])


def transfer(main, cols, rows=1, op="in"):
    return Transfer(op, Buffer(cols, "data"), 0, rows, cols, main=main, pitch=4 * cols)


def step(cycles, *coming, leaving=(), prefetch=True):
    return StepTraffic(cycles, coming, leaving, image=0, prefetch=prefetch, defer=True)


REGIONS = [(0, 4096), (4096, 4096), (8192, 4096)]


def test_what_waits_comes_before_what_is_hidden():
    """Region 1 is read often, but beside a long program; the last step waits for region 2."""
    often = [step(1 << 20, transfer(4096, 1024)) for _ in range(4)]
    waited = step(0, transfer(8192, 1024), prefetch=False)
    order = order_of(REGIONS, 64, [step(1 << 20), *often, waited], Memory(1.04, border=8192))
    assert order.index(2) < order.index(1) < order.index(0)


def test_equal_savings_go_by_the_traffic_of_a_byte():
    """All of it hidden: a region that is read twice comes before those that are read once."""
    hidden = [step(1 << 20, transfer(at, 1024)) for at in (0, 4096, 8192, 4096)]
    order = order_of(REGIONS, 64, [step(1 << 20), *hidden], Memory(1.04, border=4096))
    assert order[0] == 1 and sorted(order) == [PROGRAM, 0, 1, 2]


def test_stores_count():
    order = order_of(
        REGIONS,
        64,
        [step(0, leaving=[transfer(8192, 1024, op="out")]), step(0)],
        Memory(1.04, border=4096),
    )
    assert order[0] == 2


def test_regions_lie_one_behind_another():
    places, end = places_of([1, PROGRAM, 0], [(0, 100), (128, 64)], 65)
    assert places == {1: 0, PROGRAM: 64, 0: 192} and end == 320


@pytest.mark.parametrize("rows", [1, 8])
def test_a_word_on_chip_takes_a_cycle(rows):
    whole, none = (transfer_cycles(transfer(0, 64, rows), Memory(1.04, b)) for b in (1 << 20, 0))
    assert none == transfer_cycles(transfer(0, 64, rows), SDRAM)
    assert none - whole >= 1.08 * 64 * rows
    # Of rows across the border, each word by the memory that it lies in.
    half = transfer_cycles(transfer(0, 64, rows), Memory(1.04, 4 * 64 * rows // 2))
    assert whole < half < none and abs(half - (whole + none) / 2) < 10


def test_a_fill_and_an_image_know_their_memory():
    near = Memory(1.04, 1 << 20)
    assert transfer_cycles(transfer(0, 64, op="fill"), near) == transfer_cycles(
        transfer(0, 64, op="fill"), SDRAM
    )
    assert (
        image_cycles(100, near, on_chip=True) < image_cycles(100, near) == image_cycles(100, SDRAM)
    )


def test_main_memory_is_that_of_the_info_text():
    assert main_memory({}) == main_memory({"kind": "SDRAM"}) == SDRAM
    assert main_memory({"kind": "SDRAM", "on_chip": {"size": 4096}}) == Memory(1.04, 4096)
