# SPDX-License-Identifier: BSD-2-Clause
"""Every kind of layer of the OPU: programs on the golden model give bit for bit what plain numpy
says."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.layers import Network
from quintet.tools.compiler.backends.opu.reference import run_layer, run_network
from quintet.tools.compiler.backends.opu.schedule.tiling import Tiling
from quintet.tools.compiler.common.inputs import KernelError
from tests.support.campaigns import Campaign
from tests.support.opu_layers import build, check, random_network, random_values, random_weights

PRESETS = ("85f", "25f", "up5k", "hx8k")
ALL = ("85f", "85f-p64", "85f-p256", "45f", *PRESETS[1:])
#: What a build may refuse of a legal network.
REFUSALS = ("this build has", "has a border of", "rows of kernel memory", "slots, at most 1023")


def network_of(shape, weights, *, split_source=False, batch=1, types="8-8-16-16", **options):
    """A network of one convolution ``y`` on an input ``x``."""
    network = Network(types, batch)
    x = network.input("x", shape, split=split_source)
    network.conv("y", x, weights, **{"shift": 8, **options})
    return network


def single(rng, shape=(9, 11, 5), out=7, taps=(3, 3), bias=True, most=40, **more):
    """A network of one convolution with random weights and bias."""
    options = {"bias": rng.integers(-800, 801, out), "bias_shift": 3} if bias else {}
    weights = random_weights(rng, out, shape[2], *taps, most=most)
    return network_of(shape, weights, **options, **more)


def check_both(network, params, rng):
    """Checks the program with and without a schedule."""
    for schedule in (False, True):
        check(network, params, random_values(rng, network), schedule=schedule)


# Random networks


def check_network(chance):
    """One random network with random options; ``"refused"`` or ``"equal"``."""
    network = random_network(chance)
    preset = chance.choice(ALL) if network.types == "8-8-16-16" else "85f"
    params = build(preset, types=network.types)
    options = {"schedule": chance.random() < 0.6}
    if chance.random() < 0.25:
        sizes = (1, 1, 2, 3, 5, 8, 200)
        tiling = Tiling(*(chance.choice(sizes) for _ in range(3)))
        switches = ("kernel_first", "exact_residual", "with_next")
        tiling = replace(tiling, **{name: chance.random() < 0.5 for name in switches})
        options["tilings"] = {chance.choice(network.layers).name: tiling}
    values = random_values(np.random.default_rng(chance.randrange(1 << 32)), network)
    try:
        check(network, params, values, varied=False, **options)
    except KernelError as error:
        assert any(text in str(error) for text in REFUSALS), error
        return "refused"
    return "equal"


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False))
def test_programs_give_what_numpy_says(chance):
    check_network(chance)


@pytest.mark.long
def test_opu_kernels_long():
    for seed in Campaign("opu_kernels", 0.25).seeds("all"):
        check_network(random.Random(seed))


def test_random_networks_have_layers_of_every_kind():
    """Of every kind of layer and option some, so that the tests above say something."""
    seen = set()
    for seed in range(400, 500):
        for layer in random_network(random.Random(seed)).layers:
            seen |= {
                ("average", layer.weights is None),
                ("adds", layer.adds),
                ("tap", layer.by_tap),
                ("act", layer.act),
                ("order", layer.order),
                ("pool", layer.pool != (1, 1, 1, 1)),
                ("stride", layer.stride != (1, 1)),
                ("dilation", layer.dilation != (1, 1)),
                ("padding", any(layer.padding)),
                ("bias", layer.bias is not None),
                ("wide", max(layer.taps) > 16),
                ("groups", layer.groups > 1),
                ("split", layer.result.split),
                ("product", layer.second is not None),
                ("turned", layer.turned),
                ("phases", layer.phases is not None),
                ("maps", layer.source.maps),
                ("flat", layer.flat),
                ("shifts", len(set(layer.f)) > 1),
            }
    kinds = {name for name, _ in seen} - {"act", "order", "maps"}
    assert {(name, value) for name in kinds for value in (True, False)} <= seen
    assert {(name, k) for name in ("act", "order") for k in range(3)} <= seen
    assert {("maps", 1), ("maps", 2), ("maps", 3)} <= seen


# Convolutions


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": (1, 1, 1, 1), "act": "relu"},
        {"padding": (2, 0, 1, 3), "act": "leaky", "bias": False},
        {"taps": (1, 1), "stride": (2, 2)},
        {"taps": (5, 2), "stride": (3, 1), "padding": (2, 2, 2, 2)},
        {"taps": (6, 6), "padding": (3, 3, 3, 3)},
        {"taps": (7, 7), "padding": (3, 3, 3, 3), "stride": (7, 7)},
        {"padding": (1, 1, 1, 1), "pool": (2, 2, 2, 2), "act": "relu"},
        {"padding": (1, 1, 1, 1), "pool": (3, 2, 1, 2)},
        {"taps": (1, 3), "stride": (4, 1), "padding": (1, 1, 1, 1)},
    ],
)
def test_convolution(preset, options):
    rng = np.random.default_rng(len(str(options)))
    check_both(single(rng, **options), build(preset), rng)


@pytest.mark.parametrize("types", ["8-8-32-32", "16-16-32-32"])
def test_types(types):
    rng = np.random.default_rng(3)
    network = Network(types, batch=2)
    y = network.conv(
        "y",
        network.input("x", (6, 7, 70)),
        random_weights(rng, 66, 70, 3, 3),
        bias=random_weights(rng, 66, most=30000),
        shift=9,
        bias_shift=3,
        padding=(1, 1, 1, 1),
        act="leaky",
        pool=(2, 2, 1, 1),
    )
    weights = random_weights(rng, 66, 66, 1, 1)
    z = network.conv("z", y, weights, shift=7, residual=y, order=0)
    network.outputs = [y, z]
    check(network, build("85f", types=types), random_values(rng, network))


@pytest.mark.parametrize(
    "order, act, pool",
    [
        (0, None, 2),
        (0, "relu", 1),
        (0, "leaky", 2),
        (1, "relu", 2),
        (1, "leaky", 1),
        (2, None, 2),
        (2, "relu", 2),
        (2, "leaky", 3),
        (1, None, 1),
    ],
)
@pytest.mark.parametrize("preset", ("85f", "hx8k"))
def test_residual_in_its_orders(preset, order, act, pool):
    rng = np.random.default_rng(order)
    network = Network()
    x = network.input("x", (8, 8, 20))
    side = 8 // pool if order == 2 else 8
    network.conv(
        "y",
        x,
        random_weights(rng, 24, 20, 3, 3),
        shift=8,
        padding=(1, 1, 1, 1),
        act=act,
        pool=(pool,) * 4,
        residual=network.input("r", (side, side, 24)),
        order=order,
    )
    check_both(network, build(preset), rng)


@pytest.mark.parametrize("preset", PRESETS[:3])
def test_residual_by_tap(preset):
    rng = np.random.default_rng(9)
    network = Network()
    x = network.input("x", (10, 9, 64))
    network.conv(
        "y",
        x,
        random_weights(rng, 64, 64, 3, 3, most=20),
        shift=8,
        padding=(1, 1, 1, 1),
        act="relu",
        residual=network.input("r", (10, 9, 64)),
        by_tap=True,
        residual_shift=3,
    )
    check_both(network, build(preset), rng)


def test_residual_by_tap_differs_only_where_requantisation_saturates():
    rng = np.random.default_rng(10)
    network = single(rng, (8, 8, 16), 16, padding=(1, 1, 1, 1), most=20)
    layer = network.layers[0]
    source, residual = rng.integers(-128, 128, (2, 1, 8, 8, 16))
    added = {"residual": layer.result}
    plain = run_layer(layer, network.set, source)
    first = run_layer(replace(layer, **added), network.set, source, residual)
    by_tap = replace(layer, **added, by_tap=True, residual_f=8)
    second = run_layer(by_tap, network.set, source, residual)
    differ = first != second
    assert np.abs(first - second).max() <= 1 and (plain[differ] == 127).all()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("bias", [True, False])
def test_first_tap_without_weights(preset, bias):
    """It is what the bias is rounded and saturated with: the next tap must not take its place."""
    rng = np.random.default_rng(11)
    options = {"bias": rng.choice([-32768, -3, 5, 32767], 20), "bias_shift": -1} if bias else {}
    weights = random_weights(rng, 20, 5, 3, 3, most=100)
    weights[:, :, 0] = 0
    network = network_of((9, 8, 5), weights, shift=11, **options)
    check_both(network, build(preset), rng)


@pytest.mark.parametrize("channels, out", [(64, 65), (65, 64), (130, 200), (96, 16)])
def test_more_than_64_channels(channels, out):
    rng = np.random.default_rng(channels)
    network = single(rng, (6, 5, channels), out, padding=(1, 1, 1, 1), most=15)
    check_both(network, build("85f-p64"), rng)


def test_output_tiles_in_either_order():
    rng = np.random.default_rng(8)
    network = single(rng, (20, 20, 16), 130, padding=(1, 1, 1, 1))
    tiling = compile_network(network, build("45f"), schedule=False).tilings["y"]
    words = set()
    for kernel_first in (False, True):
        tilings = {"y": replace(tiling, rows=7, columns=9, kernel_first=kernel_first)}
        made, _ = check(network, build("45f"), random_values(rng, network), tilings=tilings)
        words.add(tuple(made.words))
    assert len(words) == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_large_kernels_are_split(preset):
    rng = np.random.default_rng(7)
    network = single(rng, (20, 19, 3), 4, taps=(18, 17), most=4)
    check(network, build(preset), random_values(rng, network))


def test_dilation_is_a_kernel_with_zeros_between():
    rng = np.random.default_rng(3)
    weights = random_weights(rng, 5, 7, 3, 2, most=100)
    spread = np.zeros((5, 7, 7, 3), np.int64)
    spread[:, :, ::3, ::2] = weights
    options = {"padding": (2, 2, 2, 2)}
    found = [
        network_of((9, 8, 7), weights, dilation=(3, 2), **options),
        network_of((9, 8, 7), spread, **options),
    ]
    values = {"x": rng.integers(-128, 128, (1, 9, 8, 7))}
    assert np.array_equal(*(next(iter(run_network(n, values).values())) for n in found))
    words = [len(check(network, build(), values)[0].words) for network in found]
    assert words[0] <= words[1]  # taps of zeros are not carried out


def test_dilated_kernels_wider_than_a_window():
    """Taps that one window offset does not reach come in blocks, on loads of their own."""
    rng = np.random.default_rng(4)
    weights = random_weights(rng, 6, 20, 1, 5, most=127)
    network = network_of((3, 34, 20), weights, shift=9, dilation=(1, 7))
    (layer,) = network.layers
    assert layer.blocks == [(0, 0, 1, 3), (0, 3, 1, 2)]
    check(network, build(), random_values(rng, network))


@pytest.mark.parametrize("preset", ("85f", "up5k"))
@pytest.mark.parametrize("kind", ("conv", "dense", "dense beside a border", "average"))
def test_kernels_wider_than_a_window(kind, preset):
    """Sums saturate at every tap, so that the order of taps shows: blocks of 16 columns, then the
    rest of the row."""
    rng = np.random.default_rng(len(kind))
    network = Network()
    x = network.input("x", (3, 19, 20))
    if kind == "conv":
        weights = rng.integers(-128, 128, (5, 20, 3, 18))
        network.conv("y", x, weights, padding=(1, 1, 1, 1), shift=8)
    elif kind == "average":
        network.conv("y", x, None, taps=(3, 19), identity=36, shift=5)
    else:
        network.conv("y", x, rng.integers(-128, 128, (5, 20, 3, 19)), shift=8)
    if kind == "dense beside a border":
        weights = random_weights(rng, 2, 20, 3, 3)
        z = network.conv("z", x, weights, padding=(1, 1, 1, 1), shift=7)
        network.outputs = [network.layers[0].result, z]
    check(network, build(preset), random_values(rng, network), varied=False)


def test_positions_are_every_tap_once():
    wide, narrow = (
        network_of((40, 40, 1), np.ones((1, 1, *taps), int)).layers[0].positions
        for taps in ((18, 33), (20, 16))
    )
    assert sorted(wide) == [(r, c) for r in range(18) for c in range(33)]
    assert wide[:17] == [*((0, c) for c in range(16)), (1, 0)]
    assert wide[256:258] == [(0, 16), (0, 17)] and wide[-2:] == [(16, 32), (17, 32)]
    assert narrow == [(r, c) for r in range(20) for c in range(16)]


# Fully connected layers and averages


@pytest.mark.parametrize("preset", PRESETS)
def test_dense_and_average(preset):
    rng = np.random.default_rng(6)
    network = Network(batch=5)
    x = network.input("x", (6, 6, 33))
    a = network.conv("a", x, None, taps=(2, 2), stride=(2, 2), identity=1, shift=2)
    b = network.conv("b", x, None, taps=(6, 6), identity=57, shift=10)
    c = network.conv("c", x, None, taps=(3, 3), identity=57, shift=9, act="relu")
    d = network.conv(
        "d",
        a,
        random_weights(rng, 150, 33, 3, 3),
        bias=random_weights(rng, 150, most=900),
        shift=10,
        bias_shift=3,
        act="relu",
    )
    e = network.conv("e", d, random_weights(rng, 10, 150, 1, 1), shift=7)
    network.outputs = [b, c, e]
    check_both(network, build(preset), rng)


def test_average_is_the_mean():
    network = Network()
    x = network.input("x", (8, 8, 10))
    y = network.conv("y", x, None, taps=(8, 8), identity=1, shift=4)
    values = random_values(np.random.default_rng(2), network)
    check(network, build(), values)
    mean = values["x"].mean(axis=(1, 2)) * 4
    expected = np.clip(np.floor(mean + 0.5), -128, 127)
    assert np.array_equal(run_network(network, values)[y].reshape(1, 10), expected)


def test_dense_of_1024_inputs_takes_sixteen_slots_at_once():
    rng = np.random.default_rng(5)
    network = network_of((1, 1, 1024), random_weights(rng, 64, 1024, 1, 1, most=20), shift=10)
    compiled, outcome = check(network, build("85f-p64"), random_values(rng, network))
    assert compiled.text.count("ld.ifm") == 1 and outcome.counters["operations"] == 1024 * 64


# Groups, and tensors in channel blocks of 16


@pytest.mark.parametrize("groups, out", [(2, 6), (6, 12), (40, 40), (4, 80)])
def test_groups_are_a_kernel_that_is_zero_outside_of_them(groups, out):
    rng, channels = np.random.default_rng(groups), 40 if groups != 6 else 36
    weights = random_weights(rng, out, channels // groups, 2, 3, most=127)
    whole = np.zeros((out, channels, 2, 3), np.int64)
    for o in range(out):
        first = o // (out // groups) * (channels // groups)
        whole[o, first : first + channels // groups] = weights[o]
    values = rng.integers(-128, 128, (2, 5, 6, channels))
    options = {"bias": random_weights(rng, out, most=900), "bias_shift": 4}
    networks = [
        network_of((5, 6, channels), some, groups=count, **options)
        for some, count in ((weights, groups), (whole, 1))
    ]
    assert np.array_equal(*(run_layer(n.layers[0], n.set, values) for n in networks))


def test_bias_of_a_depthwise_layer_is_rounded_with_the_first_block_that_is_read():
    """Of source blocks of 16 and result blocks of 64 channels, most first products are zero."""
    rng = np.random.default_rng(13)
    network = network_of(
        (1, 8, 48),
        random_weights(rng, 96, 1, 1, 3, most=127),
        split_source=True,
        groups=48,
        bias=random_weights(rng, 96, most=900),
        shift=9,
        bias_shift=-1,
    )
    check(network, build(), random_values(rng, network))


def depthwise(shape, split, layers=1):
    """A chain of depthwise convolutions of 3x3 taps."""
    rng, network = np.random.default_rng(6), Network()
    x = network.input("x", shape, split=split)
    for index in range(layers):
        weights = random_weights(rng, shape[2], 1, 3, 3, most=100)
        options = {"groups": shape[2], "padding": (1, 1, 1, 1), "split": split}
        x = network.conv(f"y{index}", x, weights, shift=7, **options)
    return network


def test_blocks_without_a_weight_in_common_are_not_multiplied():
    operations = {}
    for split in (False, True):
        network = depthwise((8, 8, 64), split)
        values = random_values(np.random.default_rng(5), network)
        operations[split] = check(network, build(), values)[1].counters["operations"]
    assert operations[True] * 4 == operations[False] == 64 * 64 * 9 * 64


@pytest.mark.parametrize(
    "channels, size, loads", [(64, 5, 1), (40, 5, 1), (128, 6, 1), (256, 3, 1), (256, 6, 4)]
)
def test_one_load_brings_the_blocks_of_a_map(channels, size, loads):
    """One load brings the blocks of maps side by side too, if one window offset reaches them."""
    rng = np.random.default_rng(channels)
    weights = random_weights(rng, 16, channels, 1, 1)
    network = network_of((size, size, channels), weights, split_source=True)
    compiled, _ = check(network, build(), random_values(rng, network), schedule=False)
    assert compiled.text.count("ld.ifm") == loads


def test_a_split_map_of_long_rows():
    """Rows of four channel blocks together take more slots than a load steps."""
    network = Network()
    network.identity("y", network.input("x", (4, 300, 64), split=True), pool=(2, 2, 1, 1))
    check(network, build(), random_values(np.random.default_rng(1), network))
