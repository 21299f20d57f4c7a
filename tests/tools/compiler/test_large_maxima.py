# SPDX-License-Identifier: BSD-2-Clause
"""Maxima of windows that cores do not have, in steps: on the golden model every tensor equals the
reference."""

import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.planning import compile_graph, random_calibration
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

#: Shape of the map, window, stride, padding.
WINDOWS = {
    "line": ((1, 116, 4), (1, 20), (1, 28), (0, 0, 0, 0)),
    "strides of primes": ((30, 31, 4), (23, 19), (7, 11), (0, 0, 0, 0)),
    "far apart": ((3, 540, 2), (2, 2), (1, 263), (0, 0, 0, 0)),
    "single elements far apart": ((2, 300, 2), (1, 1), (1, 263), (0, 0, 0, 0)),
    "one side": ((40, 40, 3), (17, 3), (3, 2), (1, 1, 1, 1)),
    "padding": ((20, 20, 3), (20, 20), (1, 1), (9, 9, 9, 9)),
    "padding and stride": ((24, 24, 3), (16, 16), (2, 2), (7, 7, 7, 7)),
    "padding wider than a step's window": ((26, 26, 2), (23, 23), (7, 7), (11, 11, 11, 11)),
    "padding wider than a window": ((20, 9, 2), (40, 3), (6, 2), (19, 1, 30, 0)),
    "wide padding of both": ((33, 35, 2), (33, 37), (5, 1), (16, 18, 16, 18)),
}


BUILDS = ("opentpu?preset=sim-ext", "opu?preset=sim")


@pytest.mark.parametrize(
    "build, name",
    [
        *((build, name) for build in BUILDS for name in WINDOWS),
        # Accumulators that do not hold a window of 15 x 15.
        ("opentpu?preset=sim-ext&acc_rows=64", "wide padding of both"),
        # Without max pooling of its own an array of 4 x 4 takes many instructions.
        ("opentpu?preset=sim", "line"),
        ("opentpu?preset=sim", "far apart"),
    ],
)
def test_maxima_of_large_windows_equal_the_reference(build, name):
    shape, window, stride, padding = WINDOWS[name]
    b = Builder("net", shape)
    b.act("relu")
    b.add(g.MaxPool, window=window, stride=stride, padding=padding)
    graph = b.finish()
    plan = compile_graph(graph, target_build(f"model:{build}"), random_calibration(graph, 4))
    assert len(plan.core_steps) == len(plan.steps)
    inputs = random_inputs(plan)
    found = verify_plan(
        plan, inputs, "model", lambda: open_target(f"model:{build}"), "reference", None
    )
    assert found.equal, found.difference
