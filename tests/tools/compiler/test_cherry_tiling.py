# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's tiling through main memory: values larger than the scratchpad in boxes, with the numbers
of the reference."""

import os

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.cherry import lowering
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import TargetBuild
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.support.shares import fewer
from tests.tools.compiler.networks import Builder, graphs, resnet8
from tests.tools.compiler.test_random_networks import _QUIET, check


def equal(graph, preset, **values):
    """The plan of a network, whose program gives the reference's numbers."""
    params = open_core("cherry").params.SPACE.resolve(preset, values)
    build = TargetBuild("cherry", preset, params, 1 << 24, None, None, "model:cherry")
    plan = compile_graph(graph, build, options=Options())
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target("model:cherry"), "reference", None
    )
    assert found.equal, found.difference
    return plan


@pytest.fixture
def everything_outside(monkeypatch):
    """No network is lowered otherwise than with all its values in main memory and in boxes of few
    elements."""
    monkeypatch.setattr(lowering, "_whole", lambda *_: [])
    monkeypatch.setattr(lowering, "_cut", lambda *_: [])
    monkeypatch.setattr(lowering, "_SHARES", ((1 << 20, 32), (1 << 20, 8), (1 << 20, 2)))


def campaign(count, first):
    seen = {}

    @seed(first)
    @settings(max_examples=count, database=None, derandomize=False, **_QUIET)
    @given(graphs(most=4, elements=300))
    def run(graph):
        check(graph, "cherry", seen)

    run()
    return seen


def test_random_networks_with_all_values_in_main_memory(everything_outside):
    equal = campaign(25, int(os.environ.get("QUINTET_SEED", 1))).get("equal", 0)
    # `make quick` draws a quarter of the networks.
    assert equal >= fewer(8)


@pytest.mark.long
def test_many_random_networks_with_all_values_in_main_memory(everything_outside):
    first = int(os.environ.get("QUINTET_SEED", 1))
    print({piece: campaign(150, 100 * first + piece) for piece in range(8)})


@pytest.mark.parametrize("shape", [(15, 8), (5, 24), (20, 6, 1)])
def test_inputs_of_another_shape_are_outputs_of_rounded_numbers(everything_outside, shape):
    """Reshaping in main memory moves nothing, but an input there is not rounded yet, as it is on
    its way through the scratchpad."""
    b = Builder("net", (5, 6, 4))
    turned = b.add(g.Reshape, shape=shape)
    equal(b.finish(turned, b.act("abs", turned)), "sim")


def block(rows, columns, channels):
    """A residual block between two maps of another number of channels."""
    b = Builder("block", (rows, columns, 3))
    start = b.conv(channels, (3, 3), relu=True)
    b.conv(channels, (3, 3), relu=True)
    b.add(g.Binary, b.conv(channels, (3, 3)), start, function="add")
    b.act("relu")
    return b


def of_layer(layer, rows, columns, channels):
    """A network around one kind of layer on a map of this size."""
    b = Builder(layer, (rows, columns, channels))
    if layer == "residual":
        b = block(rows, columns, channels)
    elif layer == "depthwise":
        b.conv(channels, (3, 3), groups=channels, stride=(2, 2))
    elif layer == "max":
        b.add(g.MaxPool, window=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1))
    elif layer == "reduce":
        b.add(g.Reduce, function="max", axes=(0, 1), keep=False)
        return b.finish()
    elif layer == "transpose":
        b.add(g.Transpose, order=(1, 0, 2))
        b.act("relu")
    elif layer == "softmax":
        b.add(g.Softmax)
    elif layer == "dense":
        b.dense(5)
        return b.finish()
    b.global_average()
    return b.finish()


LAYERS = ("residual", "depthwise", "max", "reduce", "transpose", "softmax", "dense")


@pytest.mark.parametrize("layer", LAYERS[:-1])
def test_layers_on_maps_beyond_the_scratchpad(layer):
    equal(of_layer(layer, 11, 10, 5), "sim", log_mem=10)


@pytest.mark.long
@settings(max_examples=20, **_QUIET)
@given(
    layer=st.sampled_from(LAYERS),
    rows=st.integers(20, 120),
    columns=st.integers(20, 120),
    channels=st.integers(1, 40),
    preset=st.sampled_from(["85f", "25f", "sim"]),
)
def test_layers_on_large_maps(layer, rows, columns, channels, preset):
    equal(of_layer(layer, rows, columns, channels), preset)


@pytest.mark.long
def test_residual_network_of_wide_maps():
    equal(resnet8(widths=(40, 80, 160)), "85f")
