# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's back end: the golden model gives what plain numpy gives, every tensor, on every build."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import graphs
from opentpu_networks import backend_of, differences

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import LoweringError

#: Builds: arrays of 4 and 8, with the extensions and without, and so small that tensors go through main memory.
BUILDS = {
    "ext": ("sim-ext", {}), "plain": ("sim", {}), "eight": ("85f-8x8", {"ext_conv": True, "ext_pool": True}),
    "tight": ("sim-ext", {"ub_rows": 64, "acc_rows": 64, "wfifo_tiles": 1}), "narrow": ("sim", {"ub_rows": 128, "acc_rows": 64}),
}

RUNS = ("conv", "depthwise", "grouped", "dense", "dense_steps", "add", "sub", "mul", "div", "affine", "maxpool", "averagepool", "globalaverage", "reduce",
        "reshape", "concat", "pad", "relu", "leaky", "clip", "neg", "abs")


def check(graph, backend, seed=0):
    """Every tensor equal with all kept, and the outputs without; or refused."""
    if not all(backend.verdict(graph, node).runs for node in graph.nodes):
        return False
    try:
        for keep in (True, False):
            bad, tensors, _ = differences(graph, backend, seed=seed, keep=keep)
            assert not bad
            prepared = backend.prepare(graph)
            if keep:
                assert {node.output for node in prepared.nodes if not isinstance(node, g.Reshape)} <= set(tensors)
    except LoweringError:
        return False
    return True


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", RUNS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_every_kind_equals_the_golden_model(kind, build, data):
    kinds = (kind, "conv") if kind in ("maxpool", "reshape", "concat", "add", "sub", "clip") else (kind,)
    graph = data.draw(graphs(kinds, most=2))
    preset, overrides = BUILDS[build]
    check(graph, backend_of(preset, **overrides), data.draw(st.integers(0, 99)))


@pytest.mark.parametrize("build", BUILDS)
@settings(deadline=None, max_examples=60)
@given(graph=graphs(RUNS), seed=st.integers(0, 99))
def test_random_networks_equal_the_golden_model(build, graph, seed):
    preset, overrides = BUILDS[build]
    check(graph, backend_of(preset, **overrides), seed)
