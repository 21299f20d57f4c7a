# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's tiling through main memory: values larger than the scratchpad in boxes, with the numbers
of the reference."""

import os

import pytest
from hypothesis import given, seed, settings

from quintet.gateware.cores import open_core
from quintet.tools.compiler.backends.cherry import candidates
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.target_build import TargetBuild
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import graphs
from tests.tools.compiler.test_random_networks import _QUIET, check


def build_of(preset, memory_size=1 << 24):
    params = open_core("cherry").params.SPACE.resolve(preset)
    return TargetBuild("cherry", preset, params, memory_size, None, None, "model:cherry")


def equal(graph, preset):
    """The plan of a network, whose program gives the reference's numbers."""
    plan = compile_graph(graph, build_of(preset), options=Options())
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target("model:cherry"), "reference", None
    )
    assert found.equal, found.difference
    return plan


@pytest.fixture
def everything_outside(monkeypatch):
    """No network is lowered otherwise than with all its values in main memory and in boxes of few
    elements."""
    monkeypatch.setattr(candidates, "_whole", lambda *_: [])
    monkeypatch.setattr(candidates, "_cut", lambda *_: [])
    monkeypatch.setattr(candidates, "_SHARES", ((1 << 20, 32), (1 << 20, 8), (1 << 20, 2)))


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
    assert campaign(25, int(os.environ.get("QUINTET_SEED", 1))).get("equal", 0) >= 8


@pytest.mark.long
def test_many_random_networks_with_all_values_in_main_memory(everything_outside):
    first = int(os.environ.get("QUINTET_SEED", 1))
    print({piece: campaign(150, 100 * first + piece) for piece in range(8)})
