# SPDX-License-Identifier: BSD-2-Clause
"""Built-in programs of the self-test: they fit into main memory, or there are none."""

from types import SimpleNamespace

from quintet.boards import open_board
from quintet.gateware.cores import open_core
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.planning import compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import TargetBuild
from quintet.tools.selftest.core import _plan
from quintet.tools.selftest.networks import CONVOLUTION, networks
from quintet.tools.selftest.programs import plain_program
from quintet.tools.targets import TargetInfo, open_target


def test_a_plain_program_lies_in_main_memory():
    params = open_core("opentpu").params.SPACE.resolve("up5k-4x4")
    for size in (1 << 12, 1 << 17):
        plain = plain_program("opentpu", params, size)
        ends = [address + len(data) for address, data in plain.loads] + [
            sum(plain.results),
            *(plain.registers[name] for name in ("hostmem_limit", "weights_limit")),
        ]
        assert max(ends) <= size
        # Nothing lies on anything else.
        places = sorted((address, address + len(data)) for address, data in plain.loads)
        assert all(first[1] <= second[0] for first, second in zip(places, places[1:], strict=False))
    assert plain_program("opentpu", params, 256) is None
    assert plain_program("opu", {}, 1 << 20) is None


def test_every_network_takes_its_own_inputs():
    """A back end may compile another graph than it was given, as IMAGine does of a convolution;
    inputs are those of the network all the same."""
    params = open_core("imagine").params.SPACE.resolve("25f")
    build = TargetBuild("imagine", "25f", params, 32 << 20, "ulx3s-25f", 80_000_000, "test")
    backend, ran = backend_class("imagine")(params=params, memory_size=32 << 20), []
    for what, graph in networks():
        if not all(backend.check_support(graph, node).runs for node in graph.nodes):
            continue
        plan = compile_graph(graph, build, random_calibration(graph))
        inputs = {
            port.tensor: array
            for port, array in zip(
                plan.inputs, random_calibration(graph, 2, seed=1).values(), strict=True
            )
        }
        with Session(plan, open_target("model:imagine"), overlap=False) as session:
            assert len(session.run_steps(inputs)["y"]) == 2
        ran.append(what)
    assert CONVOLUTION in ran and len(ran) == 2


def test_a_network_of_several_programs_is_left_out():
    """A unit's finding is that of one program. PIM of an HX8K takes a convolution's layer in
    several."""
    board = open_board("blackice-ii")
    soc = board.make_soc(package=open_core("pim"), family=None)
    info = TargetInfo(
        kind="board",
        isa="pim",
        preset=soc.preset,
        params=soc.params,
        memory_size=1 << 19,
        board="blackice-ii",
        clock_hz=soc.clock_hz,
    )
    plans = {
        what: _plan(SimpleNamespace(name="board", info=info), graph) for what, graph in networks()
    }
    assert plans[CONVOLUTION] is None and plans["sigmoid"] is not None
    assert all(len(plan.core_steps) == 1 for plan in plans.values() if plan is not None)
