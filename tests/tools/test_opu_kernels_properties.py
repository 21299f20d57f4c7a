# SPDX-License-Identifier: BSD-2-Clause
"""Whatever the OPU's code generator accepts, the program gives on the golden model bit for bit what
plain numpy says; all else is refused."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler.backends.opu.codegen import (
    KernelError,
    Network,
    Tiling,
    compile_network,
)
from tests.support.campaigns import Campaign
from tests.support.kernels_opu_support import build, check, random_values, random_weights
from tests.support.opu_network_maker import make_network


def check_network(chance):
    """One random network; ``"refused"`` or ``"equal"``."""
    network, params, options, values = make_network(chance)
    try:
        check(network, params, values, varied=False, **options)
    except KernelError:
        return "refused"
    return "equal"


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_programs_give_what_numpy_says(chance):
    check_network(chance)


def test_the_maker_makes_mostly_legal_networks():
    """Of every kind of layer and option some, so that the test above says something."""
    seen, ends = set(), []
    for seed in range(400, 460):
        network, params, options, values = make_network(random.Random(seed))
        for layer in network.layers:
            seen |= {
                ("average", layer.weights is None),
                ("adds", layer.adds),
                ("tap", layer.by_tap),
                ("act", layer.act),
                ("order", layer.order),
                ("pool", layer.pool != (1, 1, 1, 1)),
                ("stride", layer.stride != (1, 1)),
                ("padding", any(layer.padding)),
                ("bias", layer.bias is not None),
                ("wide", max(layer.taps) > 16),
                ("maps", layer.source.maps),
                ("flat", layer.flat),
            }
        ends.append(bool(network.layers))
    assert sum(ends) > 45
    assert {
        (name, value)
        for name in ("average", "adds", "tap", "pool", "stride", "padding", "bias", "wide", "flat")
        for value in (True, False)
    } | {("act", k) for k in range(3)} | {("order", k) for k in range(3)} <= seen
    assert {("maps", 1), ("maps", 2), ("maps", 3)} <= seen


# What random networks found


@pytest.mark.parametrize("preset", ("85f", "up5k"))
@pytest.mark.parametrize("kind", ("conv", "dense", "dense beside a border", "average"))
def test_kernels_wider_than_a_window(kind, preset):
    """Sums saturate at every tap, so that the order of taps shows: blocks of 16 columns, then the
    rest of the row."""
    rng = np.random.default_rng(len(kind))
    network = Network()
    x = network.input("x", (3, 19, 20), fraction=3)
    options = {"weight_fraction": 8, "fraction": 3}
    if kind == "conv":
        network.conv("y", x, rng.integers(-128, 128, (5, 20, 3, 18)), padding=1, **options)
    elif kind == "average":
        network.average("y", x, (3, 19), fraction=9)
    else:
        network.dense("y", x, rng.integers(-128, 128, (5, 3 * 19 * 20)), **options)
    if kind == "dense beside a border":
        network.conv(
            "z", x, random_weights(rng, 2, 20, 3, 3), padding=1, weight_fraction=7, fraction=3
        )
        network.output(network.layers[0].result)
    check(network, build(preset), random_values(rng, network), varied=False)


def test_positions_are_every_tap_once():
    network = Network()
    x = network.input("x", (40, 40, 1), fraction=3)
    network.conv("y", x, np.ones((1, 1, 18, 33), int), weight_fraction=3, fraction=3)
    network.conv("z", x, np.ones((1, 1, 20, 16), int), weight_fraction=3, fraction=3)
    wide, narrow = (layer.positions for layer in network.layers)
    assert sorted(wide) == [(r, c) for r in range(18) for c in range(33)]
    assert wide[:17] == [*((0, c) for c in range(16)), (1, 0)] and wide[256:258] == [
        (0, 16),
        (0, 17),
    ]
    assert wide[-2:] == [(16, 32), (17, 32)]
    assert narrow == [(r, c) for r in range(20) for c in range(16)]


@pytest.mark.parametrize(
    "tiling, message",
    [
        (
            Tiling(1000, 1000, 9),
            r"tilings: layer y: 60 x 60 results need ifm \[62, 62, 64\] and ofm \[60, 60, 4\]; "
            r"this build has "
            "ifm_lines = 1024, ofm_lines = 16384",
        ),
        (Tiling(0, 1, 9), "tilings: rows of layer y is 0, expected an integer from 1 to"),
        (Tiling(1, 1.5, 9), "tilings: columns of layer y is 1.5, expected an integer from 1 to"),
        (Tiling(1, 1, None), "tilings: taps of layer y is None, expected an integer from 1 to"),
        ((1, 1, 1), r"tilings: layer y has \(1, 1, 1\), expected a Tiling"),
    ],
)
def test_tilings_refused(tiling, message):
    network = Network()
    x = network.input("x", (60, 60, 64), fraction=3)
    network.conv("y", x, np.ones((4, 64, 3, 3), int), padding=1, weight_fraction=3, fraction=3)
    with pytest.raises(KernelError, match=message):
        compile_network(network, build("up5k"), tilings={"y": tiling})


@pytest.mark.long
def test_opu_kernels_long():
    for seed in Campaign("opu_kernels", 0.25).seeds("all"):
        check_network(random.Random(seed))
