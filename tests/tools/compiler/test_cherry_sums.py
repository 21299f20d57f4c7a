# SPDX-License-Identifier: BSD-2-Clause
"""Long sums on Cherry: in a tree, since an accumulator has ten bits."""

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.cherry.kernel_graph import Window
from quintet.tools.compiler.backends.cherry.legalise import kernel_graph_of
from quintet.tools.compiler.planning import compile_graph
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.cherry_lowered import check
from tests.tools.compiler.networks import Builder

ON = "model:cherry"


def pool(shape, window=None, **more):
    b = Builder("pool", shape, 1)
    b.add(g.AveragePool, window=window or shape[:2], **{"stride": (1, 1), **more})
    return b.finish()


def reduced(shape, axes, function="mean"):
    b = Builder("reduced", shape, 1)
    b.add(g.Reduce, function=function, axes=axes)
    return b.finish()


def inputs_of(network, count=4, seed=1):
    """Maps of positive numbers, each of its own size: their sums grow far above each element."""
    random = np.random.default_rng(seed)
    shape = network.inputs[0].shape
    sizes = random.uniform(0.5, 1.5, (count, *(1,) * len(shape)))
    return np.maximum(random.normal(1, 1, (count, *shape)), 0) * sizes


def compiled(network, seed=1):
    calibration = {network.inputs[0].name: inputs_of(network, seed=seed)}
    return compile_graph(network, target_build("ulx3s-85f/cherry"), calibration)


#: Network, least dB of signal to noise; behind it what one accumulator for all gives.
LONG = {
    "global 64x64": (pool((64, 64, 4)), 42),  # 23 dB
    "global 96x96": (pool((96, 96, 4)), 40),  # 3 dB
    "global 46x46": (pool((46, 46, 3)), 42),  # 34 dB
    "a row": (pool((1, 1024, 4)), 42),  # 36 dB
    "a column": (pool((1024, 1, 4)), 42),
    "overlapping": (
        pool((40, 40, 4), (20, 20), padding=(3, 2, 4, 5), include_padding=True),
        42,
    ),
    "padding that does not count": (
        pool((60, 60, 4), (20, 20), stride=(20, 20), padding=(5, 5, 5, 5), include_padding=False),
        42,
    ),
    "a column far apart": (pool((300, 7, 4), (300, 1), stride=(1, 3)), 42),
    "a part of a line": (pool((300, 4, 4), (288, 1), stride=(20, 1)), 42),
    "mean over rows": (reduced((2048, 4), (0,)), 42),  # 34 dB
    "mean over channels": (reduced((4, 1024), (1,)), 26),  # 16 dB
    "sum of all": (reduced((16, 16, 32), (0, 1, 2), "sum"), 50),
}


@pytest.mark.parametrize("name", LONG)
def test_long_sums_keep_their_accuracy_bit_for_bit(name):
    network, least = LONG[name]
    plan = compiled(network)
    assert plan.snr > least
    inputs = {network.inputs[0].tensor: inputs_of(network, 2, seed=2)}
    found = verify_plan(plan, inputs, ON, lambda: open_target(ON), "reference", None)
    assert found.equal, found.difference


@pytest.mark.parametrize("preset", ["85f", "sim"])
@pytest.mark.parametrize("windowed", [False, True])
def test_long_sums_between_layers_race_with_nothing(preset, windowed):
    """With the small scratchpad of "sim" in bands, which a window over rows did not take."""
    b = Builder("between", (30, 30, 3), 1)
    b.conv(4, (3, 3), relu=True)
    if windowed:
        b.add(g.AveragePool, window=(20, 20), stride=(2, 3), padding=(1, 0, 2, 1))
        b.conv(4, (1, 1), relu=True)
    b.global_average()
    b.dense(3)
    check(b.finish(), preset=preset, shuffle=3)


def windows(network):
    params = target_build("ulx3s-85f/cherry").params
    return [op for op in kernel_graph_of(network, params).operations if isinstance(op, Window)]


@pytest.mark.parametrize(
    "network, count",
    [
        (pool((8, 8, 64)), 1),
        (pool((25, 5, 64)), 1),
        (pool((16, 16, 4)), 1),
        (pool((17, 16, 4)), 2),
        (pool((1, 256, 4)), 1),
        (pool((1, 260, 4)), 2),
        (pool((1, 257, 4)), 1),
        (pool((260, 260, 4)), 4),
        (reduced((256, 4), (0,)), 1),
        (reduced((260, 4), (0,)), 2),
        (reduced((260, 4), (0,), "max"), 1),
    ],
    ids=[
        "8x8",
        "25x5",
        "64 additions",
        "68 additions",
        "line of 64 additions",
        "line of 65 additions",
        "prime",
        "long lines",
        "mean of 64 additions",
        "mean of 65 additions",
        "maximum",
    ],
)
def test_only_long_sums_are_cut(network, count):
    """Short ones stay one window, whose bits others rely on; so does a line of a prime length."""
    assert len(windows(network)) == count


def test_long_sums_are_no_slower():
    """Cycles with one accumulator for all: 50,442 and 106,370."""
    assert compiled(pool((64, 64, 4))).cycles < 50_442
    assert compiled(LONG["overlapping"][0]).cycles < 106_370
