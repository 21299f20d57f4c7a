# SPDX-License-Identifier: BSD-2-Clause
"""PIM's layers on maps whose rows local memory does not hold: tiles of columns and channels, equal
to the reference."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.planning import compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder, resnet8

#: The smallest local memory of the build with arrays of 64 x 64.
SMALL = "pim?preset=sim&lmem_bytes=1024"


def check(graph, target=SMALL):
    build = target_build(f"model:{target}")
    plan = compile_graph(graph, replace(build, memory_size=1 << 24))
    found = verify_plan(
        plan,
        random_inputs(plan),
        "model",
        lambda: open_target(f"model:{target}"),
        "reference",
        None,
    )
    assert found.equal, found.difference
    return plan


def wide(columns, channels, layer, stride, padding):
    """A network of one layer with windows on a map of few rows, and what reads its result."""
    b = Builder("wide", (5, columns, channels))
    around = (padding,) * 4
    if layer == "max":
        b.add(g.MaxPool, window=(3, 3), stride=(stride, stride), padding=around)
    elif layer == "average":
        b.add(g.AveragePool, window=(3, 3), stride=(stride, stride), padding=(0,) * 4)
    else:
        groups = channels if layer == "depthwise" else 1
        b.conv(channels, (3, 3), stride=(stride, stride), padding=around, groups=groups, relu=True)
    b.global_average()
    return b.finish()


@settings(max_examples=8, deadline=None)
@given(
    columns=st.integers(20, 90),
    channels=st.integers(1, 12),
    layer=st.sampled_from(["conv", "depthwise", "max", "average"]),
    stride=st.integers(1, 2),
    padding=st.integers(0, 1),
)
def test_rows_beyond_local_memory_are_done_by_columns(columns, channels, layer, stride, padding):
    check(wide(columns, channels, layer, stride, padding))


def test_pooled_positions_beyond_local_memory_are_done_by_channels():
    b = Builder("deep", (4, 6, 150))
    b.add(g.MaxPool, window=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1))
    check(b.finish())


@pytest.mark.long
def test_residual_network_of_wide_maps():
    assert check(resnet8(widths=(40, 80, 160)), "pim").cycles > 0


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    columns=st.integers(200, 2000),
    channels=st.integers(8, 64),
    layer=st.sampled_from(["conv", "depthwise", "max", "average"]),
    stride=st.integers(1, 2),
    padding=st.integers(0, 1),
)
def test_large_maps(columns, channels, layer, stride, padding):
    check(wide(columns, channels, layer, stride, padding), "pim")
