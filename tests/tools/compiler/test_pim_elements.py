# SPDX-License-Identifier: BSD-2-Clause
"""Sigmoid, tanh and products of two tensors on PIM: the tables in plain numpy against the golden
model's, and networks with them layer by layer."""

import numpy as np
import pytest

from quintet.gateware.cores import open_core
from quintet.gateware.cores.pim.model.core import _vsigm, _vtanh
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import HOST, NATIVE
from quintet.tools.compiler.backends.pim.arithmetic import run_table, table_steps
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.errors import InputError
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("function, model", [("sigmoid", _vsigm), ("tanh", _vtanh)])
def test_every_number(function, model, bits):
    x = np.arange(-(1 << bits - 1), 1 << bits - 1)
    found = run_table(function, x, bits)
    most = (1 << bits - 1) - 1
    assert (found == np.clip(model(x, bits - 4, bits - 1), -most - 1, most)).all()
    read, given = table_steps(bits)
    exact = 1 / (1 + np.exp(-x * read)) if function == "sigmoid" else np.tanh(x * read)
    assert np.abs(found - np.clip(exact / given, -most - 1, most)).max() <= (
        1 if bits == 8 else 1.5
    )


def behind_layers(b):
    b.conv(4, (3, 3))
    b.act("sigmoid")
    b.conv(3, (3, 3))
    b.act("tanh")
    b.dense(6)
    b.act("sigmoid")


def of_the_input(b):
    b.act("tanh")
    b.dense(5)


def among_others(b):
    start = b.conv(4, (3, 3))
    gate = b.act("sigmoid", start)
    b.add(g.Binary, start, gate, function="add")
    b.act("tanh")
    b.act("sigmoid")
    b.add(g.MaxPool, window=(2, 2), stride=(2, 2))
    b.dense(7)
    b.act("tanh")
    b.act("relu")


def products(b):
    start = b.conv(16, (3, 3))
    side = b.conv(16, (1, 1), start)
    b.add(g.Binary, start, side, function="mul")
    b.act("relu")
    b.add(g.MaxPool, window=(2, 2), stride=(2, 2))
    b.dense(9)
    b.add(g.Binary, b.here, b.here, function="mul")
    b.dense(5)


def gated(b):
    start = b.conv(8, (3, 3))
    b.add(g.Binary, start, b.act("sigmoid", start), function="mul")
    b.conv(4, (3, 3))


def repeated(b):
    """A factor for each channel, as squeeze and excitation have it, and a sum with one row."""
    start = b.conv(8, (3, 3))
    b.add(g.AveragePool, window=b.shape()[:2], stride=(1, 1), padding=(0, 0, 0, 0))
    b.add(g.Binary, start, b.act("sigmoid"), function="mul")
    wide = b.here
    row = b.add(g.MaxPool, wide, window=(6, 1), stride=(6, 1))
    b.add(g.Binary, row, wide, function="sub")
    b.conv(4, (3, 3))


def of_four_axes(b):
    """Tables between tensors of other scales, which are rescaled as maps of one row."""
    b.conv(4, (3, 3))
    start = b.add(g.Reshape, shape=(6, 5, 2, 2))
    b.add(g.Binary, start, b.act("sigmoid", start), function="mul")
    b.act("tanh")
    b.add(g.Reshape, shape=(6, 5, 4))
    b.conv(3, (1, 1))


@pytest.mark.parametrize("preset", ["sim", "85f", "up5k"])
@pytest.mark.parametrize(
    "make", [behind_layers, of_the_input, among_others, products, gated, repeated, of_four_axes]
)
def test_networks_equal_layer_by_layer(make, preset):
    b = Builder("net", (6, 5, 3), seed=3)
    make(b)
    graph = b.finish()
    build = target_build("model:pim", preset)
    backend = PIMBackend(params=build.params, memory_size=build.memory_size)
    assert all(backend.check_support(graph, node).answer == NATIVE for node in graph.nodes)
    plan = compile_graph(graph, build, random_calibration(graph))
    assert len(plan.steps) == len(plan.core_steps)

    def target():
        return open_target(f"model:pim?preset={preset}")

    found = verify_plan(plan, random_inputs(plan), "model", target, "reference", None)
    assert found.equal, found.difference
    inputs = random_calibration(graph, 8, seed=5)
    exact = run_graph(graph, inputs)[graph.outputs[0].tensor]
    from quintet.tools.compiler.session import Session

    with Session(plan, target()) as session:
        got = session(*inputs.values())
    error = np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2))
    assert error < (0.05 if 16 in backend.bits else 0.1)  # weights have 8 bits


def test_verdicts():
    package = open_core("pim")
    without = PIMBackend(
        params=package.params.SPACE.resolve("sim", {"act_unit": 0}), memory_size=1 << 20
    )
    b = Builder("net", (400,))
    b.act("sigmoid")
    b.act("tanh")
    graph = b.finish()
    answer = without.check_support(graph, graph.nodes[0])
    assert (answer.answer, answer.reason) == (HOST, "sigmoid: a build with act_unit has it")
    backend = PIMBackend(params=package.params.SPACE.resolve("sim"), memory_size=1 << 20)
    product = Builder("net", (4,))
    product.add(g.Binary, product.here, product.here, function="mul")
    narrow = PIMBackend(
        params=package.params.SPACE.resolve("sim", {"max_biw": 16, "x_bits": 8}),
        memory_size=1 << 20,
    )
    assert (
        narrow.check_support(product.graph, product.graph.nodes[0]).reason
        == "mul: products want max_biw = 32, this build has 16"
    )
    for first, second, taken in (
        ((4, 6, 8), (1, 1, 8), True),
        ((6, 8), (4, 6, 8), True),
        ((4, 6, 8), (1, 6, 8), True),
        ((4, 6, 8), (4, 1, 8), False),
        ((4, 1, 8), (1, 6, 8), False),
        ((2, 64, 9), (64, 9), True),
    ):
        tensors = {
            name: g.Tensor(name, shape)
            for name, shape in (
                ("a", first),
                ("b", second),
                ("c", np.broadcast_shapes(first, second)),
            )
        }
        node = g.Binary(name="n", inputs=["a", "b"], output="c", function="mul")
        found = backend.check_support(g.Graph("net", [], [], [node], tensors), node)
        assert (found.answer == NATIVE) is taken
        assert taken or found.reason == (
            f"mul of {list(first)} and {list(second)}: expected add, sub or mul of two tensors "
            f"of one shape, or of which one repeats along the axes in front"
        )
    other = Builder("net", (4,))
    other.act("leaky_relu", alpha=0.1)
    assert (
        backend.check_support(other.graph, other.graph.nodes[0]).reason
        == "leaky_relu: expected relu, clip, sigmoid, tanh, exp or sqrt"
    )


def test_eight_bits_where_a_program_holds_a_table_alone():
    """The table reads 16 bits; the layers of the other program take the 8 that were asked for."""
    b = Builder("parts", (6,))
    b.dense(5)
    b.act("sin")  # a host step between two programs
    b.act("sigmoid")
    b.act("sin")
    b.dense(4)  # behind the last layer all would be the host's
    graph, name = b.finish(), "model:pim?preset=85f"
    plan = compile_graph(
        graph, target_build(name), random_calibration(graph), Options(bits=8, host_steps=True)
    )
    widths = [{scale.bits for scale in step.part.scales.values()} for step in plan.core_steps]
    assert widths == [{8}, {16}, {8}]
    assert verify_plan(
        plan, random_inputs(plan), name, lambda: open_target(name), "reference", None
    ).equal
    with pytest.raises(
        InputError,
        match=(
            "bits is 32, no tensor of the network can have this width on this core; it takes 16"
        ),
    ):
        compile_graph(
            graph, target_build(name), random_calibration(graph), Options(bits=32, host_steps=True)
        )
