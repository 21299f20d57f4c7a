# SPDX-License-Identifier: BSD-2-Clause
"""Layers with more weights than PIM's arrays hold at once: split, equal to the reference, and
no less exact."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.planning import compile_graph, random_calibration
from quintet.tools.compiler.session import Session
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder


def legalised(graph, preset="sim"):
    """The graph as PIM's back end has it for this build."""
    build = target_build("model:pim", preset)
    return PIMBackend(params=build.params, memory_size=build.memory_size).legalise(graph)


def check(graph, preset="sim"):
    known = random_calibration(graph)
    plan = compile_graph(graph, target_build("model:pim", preset), known)

    def target():
        return open_target(f"model:pim?preset={preset}")

    found = verify_plan(plan, random_inputs(plan), "model", target, "reference", None)
    assert found.equal, found.difference
    inputs = {name: values[:8] for name, values in known.items()}
    exact = run_graph(graph, inputs)[graph.outputs[0].tensor]
    with Session(plan, target()) as session:
        got = session(*inputs.values())
    assert np.sqrt(np.mean((got - exact) ** 2) / np.mean(exact**2)) < 0.05  # weights have 8 bits
    return plan


def net(shape, *layers, seed=3):
    b = Builder("net", shape, seed=seed)
    for kind, *arguments in layers:
        options = arguments.pop() if isinstance(arguments[-1], dict) else {}
        getattr(b, kind)(*arguments, **options)
    return b.finish()


#: Networks, kinds of the nodes that stand for the first one; of the build `sim`, which has two
#: cores with two arrays of 64 x 64 and 64 biases each, or another.
LARGE = {
    "outputs": (
        net((60,), ("dense", 400, {"relu": True}), ("dense", 9, {"bias": False})),
        "4 Dense, Concat",
    ),
    "summed": (net((200,), ("dense", 10, {"relu": True})), "Reshape, Conv, Dense"),
    "both": (net((8, 6, 5), ("dense", 150), ("dense", 3)), "Reshape, 3 Conv, 3 Dense, Concat"),
    "turns": (
        net((10, 60), ("dense", 10)),
        "Reshape" + ", Slice, Reshape, Conv" * 3 + ", Concat, Dense",
    ),
    "a prime": (
        net((263,), ("dense", 7)),
        "Slice, Reshape, Conv, Slice, Reshape, Conv, Concat, Dense",
    ),
    "steps": (
        net((3, 200), ("dense", 40, {"steps": True, "relu": True}), ("dense", 5, {"steps": True})),
        "Reshape, Conv, Reshape, Dense",
    ),
    "channels": (
        net((5, 4, 7), ("conv", 150, (3, 3), {"relu": True}), ("conv", 3, (1, 1))),
        "2 Conv, Concat",
    ),
    "window": (net((5, 5, 24), ("conv", 20, (3, 3), {"stride": (2, 1), "relu": True})), "2 Conv"),
    "groups": (
        net((3, 3, 256), ("conv", 8, (3, 3), {"groups": 2, "dilation": (2, 1)})),
        "2 Conv",
        "85f",
    ),
}


def kinds(nodes):
    return ", ".join(
        f"{len(some)} {kind}" if len(some) > 1 else kind
        for kind, some in (
            (kind, list(some)) for kind, some in groupby(type(n).__name__ for n in nodes)
        )
    )


@pytest.mark.parametrize("name", LARGE)
def test_large_layers(name):
    graph, expected, *preset = LARGE[name]
    made = legalised(graph, *preset)
    end = next(n for n, node in enumerate(made.nodes) if node.output == graph.nodes[0].output)
    assert kinds(made.nodes[: end + 1]) == expected
    plan = check(graph, *preset)
    assert len(plan.core_steps) == len(plan.steps)


def test_what_fits_stays():
    graph = net((6, 6, 3), ("conv", 16, (3, 3)), ("dense", 4))
    assert [node.name for node in legalised(graph, "85f").nodes] == [
        node.name for node in graph.nodes
    ]


def test_outputs_of_a_convolution_on_several_cores():
    """More arrays than one core has, fewer than all have: one layer, one program."""
    graph = net((6, 5, 64), ("conv", 128, (3, 3), {"relu": True}), ("conv", 5, (1, 1)))
    plan = check(graph, "85f")
    assert len(plan.core_steps) == 1 and [node.name for node in legalised(graph, "85f").nodes] == [
        node.name for node in graph.nodes
    ]


def test_scales_of_weights_go_with_their_outputs():
    graph = net((60,), ("dense", 300))
    graph.nodes[0].weight_scale = np.arange(1, 301) / 4096
    splits = [node for node in legalised(graph).nodes if isinstance(node, g.Dense)]
    assert len(splits) == 3 and np.array_equal(
        np.concatenate([node.weight_scale for node in splits]), graph.nodes[0].weight_scale
    )
    assert np.array_equal(np.concatenate([node.weights for node in splits]), graph.nodes[0].weights)


@settings(max_examples=3, deadline=None)
@given(st.integers(1, 300), st.integers(1, 150), st.booleans(), st.sampled_from(["sim", "hx8k"]))
def test_dense_layers_of_any_size(inputs, outputs, relu, preset):
    check(net((inputs,), ("dense", outputs, {"relu": relu})), preset)


@settings(max_examples=4, deadline=None)
@given(
    st.integers(1, 7).map(lambda n: 4 * n),
    st.integers(1, 160),
    st.integers(1, 3),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
)
def test_convolutions_of_any_size(channels, outputs, window, stride, dilation):
    check(
        net(
            (4, 5, channels),
            ("conv", outputs, (window, 3), {"stride": (stride, 1), "dilation": (1, dilation)}),
        )
    )


@pytest.mark.parametrize("preset", ["sim", "25f", "up5k"])
def test_programs_of_many_layers_are_the_longest_that_fit(preset, monkeypatch):
    """And those that take more arrays than there are have not been tried."""
    sizes = np.random.default_rng(7).integers(1, 160, 20)
    made = Builder("deep", (9,), 1)
    for size in sizes:
        made.dense(int(size))
    build = target_build("model:pim", preset)
    backend = PIMBackend(params=build.params, memory_size=build.memory_size)
    graph = backend.legalise(made.finish())
    tried = []
    held = backend._held
    monkeypatch.setattr(
        backend, "_held", lambda nodes, of: tried.append(len(nodes)) or held(nodes, of)
    )
    parts = backend.split(graph)
    count = len(graph.nodes)
    assert [node.name for part in parts for node in part.nodes] == [n.name for n in graph.nodes]
    assert 1 < len(parts) and len(tried) < count
    begin = 0
    for part in parts:
        end = begin + len(part.nodes)
        assert len(part.nodes) == 1 or held(graph.nodes[begin:end], graph)
        assert not any(held(graph.nodes[begin:more], graph) for more in range(end + 1, count + 1))
        begin = end
