# SPDX-License-Identifier: BSD-2-Clause
"""Concat and Slice of rows and columns on OPU and OpenTPU: golden models equal the references, and
nothing goes to the host."""

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

CORES = ("opu", "opentpu")


def on_core(graph, isa, least=25):
    """Compiles a network for a core alone, and compares its golden model with the reference."""
    port = graph.inputs[0]
    given = {port.name: np.random.default_rng(5).normal(0, 1, (12, *port.shape))}
    plan = compile_graph(graph, target_build(f"ulx3s-85f/{isa}"), given, Options())
    assert len(plan.steps) == 1 and plan.snr > least
    inputs = check_inputs(plan.network, plan.inputs, {port.name: given[port.name][:1]})
    found = verify_plan(
        plan, inputs, "model", lambda: open_target(f"model:{isa}"), "reference", None
    )
    assert found.equal, found.difference


def joined(shape, channels, axis, edges, relu=True):
    """A map with some of its first and last rows or columns repeated, between convolutions."""
    b = Builder("joined", shape)
    b.conv(channels, (1, 1), relu=relu)
    source, whole = b.here, b.shape()
    first, last = [], []
    for parts, at in ((first, 0), (last, whole[axis] - 1)):
        start, stop = [0, 0, 0], list(whole)
        start[axis], stop[axis] = at, at + 1
        edge = b.add(g.Slice, source, start=tuple(start), stop=tuple(stop), step=(1, 1, 1))
        parts += [edge] * edges
    b.add(g.Concat, *first, source, *last, axis=axis)
    b.conv(4, (3, 3), padding=(0, 0, 0, 0))
    return b.finish()


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "shape, channels, edges",
    [
        ((4, 5, 3), 8, 1),
        ((5, 4, 3), 24, 2),
        # More than fifteen rows or columns before and behind: several layers on the OPU.
        ((20, 18, 2), 5, 1),
    ],
)
def test_repeated_edges(shape, channels, edges, axis, isa):
    on_core(joined(shape, channels, axis, edges), isa)


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("axis", [0, 1])
def test_maps_of_other_lengths_and_ranges_in_a_row(axis, isa):
    b = Builder("joined", (6, 7, 4))
    source = b.here
    parts = []
    for at, relu in enumerate((True, False)):
        b.conv(20, (3, 3), source, relu=relu)
        start, stop = [0, 0, 0], list(b.shape())
        start[axis], stop[axis] = at, 3 + 2 * at
        parts.append(b.add(g.Slice, start=tuple(start), stop=tuple(stop), step=(1, 1, 1)))
    b.conv(20, (1, 1), source)
    parts.append(b.act("clip", low=0.0, high=0.75))
    b.add(g.Concat, *parts, axis=axis)
    b.conv(6, (3, 3))
    on_core(b.finish(), isa)


@pytest.mark.parametrize("isa", CORES)
def test_steps_of_sequences(isa):
    b = Builder("joined", (9, 6))
    b.add(g.Dense, weights=b.normal(10, 6), bias=b.normal(10), steps=True)
    source = b.here
    # An importer's numbers may be numpy's.
    late = b.add(g.Slice, source, start=(np.int64(2), 0), stop=(9, 10), step=(1, 1))
    early = b.add(g.Slice, source, start=(0, 0), stop=(2, 10), step=(1, 1))
    b.add(g.Concat, late, early, axis=0)
    b.add(g.Binary, b.here, source, function="add")
    b.add(g.Dense, weights=b.normal(3, 10), bias=b.normal(3), steps=True)
    on_core(b.finish(), isa)


@pytest.mark.parametrize("isa", CORES)
def test_a_joined_map_is_an_output(isa):
    b = Builder("joined", (3, 4, 4))
    first = b.conv(6, (1, 1))
    second = b.conv(6, (3, 3), first)
    b.add(g.Concat, first, second, axis=0)
    on_core(b.finish(), isa)


def test_linear_resize_runs_on_the_core_alone(tmp_path):
    """Its border is joined rows and columns, its phases are interleaved."""
    pytest.importorskip("onnxruntime")
    from tests.tools.compiler.onnx_models import check, make_model, node

    random = np.random.default_rng(3)
    nodes = [
        node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Resize", ["b", "", "scales"], ["c"], mode="linear"),
        node("Conv", ["c", "w"], ["y"]),
    ]
    constants = {
        "v": random.normal(0, 0.3, (6, 3, 3, 3)),
        "w": random.normal(0, 0.4, (4, 6, 1, 1)),
        "scales": np.float32([1, 1, 2, 2]),
    }
    model = make_model(nodes, {"x": (1, 3, 5, 6)}, {"y": None}, constants)
    graph = check(model, tmp_path)
    for isa in CORES:
        on_core(graph, isa)
