# SPDX-License-Identifier: BSD-2-Clause
"""Every kind of layer of the OPU's code generator, on the golden model against plain numpy."""

import random
from dataclasses import replace

import numpy as np
import pytest

from quintet.tools.compiler.backends.opu.codegen import (
    Network,
    compile_network,
    run_layer,
)
from tests.support.kernels_opu_support import (
    build,
    check,
    random_network,
    random_values,
    random_weights,
)
from tests.support.shares import fewer

PRESETS = ("85f", "25f", "up5k", "hx8k")


def single(
    rng,
    shape=(9, 11, 5),
    out=7,
    taps=(3, 3),
    batch=1,
    types="8-8-16-16",
    bias=True,
    most=40,
    **more,
):
    network = Network(types=types, batch=batch)
    x = network.input("x", shape, fraction=5)
    network.conv(
        "y",
        x,
        random_weights(rng, out, shape[2], *taps, most=most),
        weight_fraction=7,
        bias=rng.integers(-800, 801, out) if bias else None,
        bias_fraction=9 if bias else None,
        fraction=4,
        **more,
    )
    return network


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding": 1, "act": "relu"},
        {"padding": (2, 0, 1, 3), "act": "leaky", "bias": False},
        {"taps": (1, 1), "stride": 2},
        {"taps": (5, 2), "stride": (3, 1), "padding": 2},
        {"taps": (6, 6), "padding": 3},
        {"taps": (7, 7), "padding": 3, "stride": 7},
        {"padding": 1, "pool": 2, "act": "relu"},
        {"padding": 1, "pool": (3, 2), "pool_stride": (1, 2)},
        {"taps": (1, 3), "stride": (4, 1), "padding": (1, 1)},
    ],
)
def test_convolution(preset, options):
    rng = np.random.default_rng(len(str(options)))
    network = single(rng, **options)
    for schedule in (False, True):
        check(network, build(preset), random_values(rng, network), schedule=schedule)


@pytest.mark.parametrize("types", ["8-8-32-32", "16-16-32-32"])
def test_types(types):
    rng = np.random.default_rng(3)
    bits = int(types.split("-")[0])
    network = Network(types=types, batch=2)
    x = network.input("x", (6, 7, 70), fraction=5)
    y = network.conv(
        "y",
        x,
        random_weights(rng, 66, 70, 3, 3),
        bias=random_weights(rng, 66, most=30000),
        weight_fraction=7,
        bias_fraction=9,
        fraction=3,
        padding=1,
        act="leaky",
        pool=2,
        pool_stride=1,
    )
    z = network.conv(
        "z",
        y,
        random_weights(rng, 66, 66, 1, 1),
        weight_fraction=7,
        fraction=3,
        residual=y,
        order=0,
    )
    network.output(y, z)
    check(network, build("85f", types=types), random_values(rng, network, bits))


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
    x = network.input("x", (8, 8, 20), fraction=5)
    side = 8 // pool if order == 2 else 8
    r = network.input("r", (side, side, 24), fraction=4)
    network.conv(
        "y",
        x,
        random_weights(rng, 24, 20, 3, 3),
        weight_fraction=7,
        fraction=4,
        padding=1,
        act=act,
        pool=pool,
        residual=r,
        order=order,
    )
    for schedule in (False, True):
        check(network, build(preset), random_values(rng, network), schedule=schedule)


@pytest.mark.parametrize("preset", PRESETS[:3])
def test_residual_by_tap(preset):
    rng = np.random.default_rng(9)
    network = Network()
    x = network.input("x", (10, 9, 64), fraction=5)
    r = network.input("r", (10, 9, 64), fraction=7)  # another position than the result's
    network.conv(
        "y",
        x,
        random_weights(rng, 64, 64, 3, 3, most=20),
        weight_fraction=7,
        fraction=4,
        padding=1,
        act="relu",
        residual=r,
        by_tap=True,
    )
    for schedule in (False, True):
        check(network, build(preset), random_values(rng, network), schedule=schedule)


def test_residual_by_tap_differs_only_where_requantisation_saturates():
    rng = np.random.default_rng(10)
    network = single(rng, (8, 8, 16), 16, padding=1, most=20)
    by_store = network.layers[0]
    source = rng.integers(-128, 128, (1, 8, 8, 16))
    residual = rng.integers(-128, 128, (1, 8, 8, 16))
    plain = run_layer(replace(by_store, act=0), network.set, source)
    first = run_layer(
        replace(by_store, residual=by_store.result, order=1), network.set, source, residual
    )
    second = run_layer(
        replace(by_store, residual=by_store.result, by_tap=True, residual_f=8),
        network.set,
        source,
        residual,
    )
    differ = first != second
    assert np.abs(first - second).max() <= 1 and (plain[differ] == 127).all()


@pytest.mark.parametrize("channels, out", [(64, 65), (65, 64), (130, 200), (96, 16)])
def test_more_than_64_channels(channels, out):
    rng = np.random.default_rng(channels)
    network = single(rng, (6, 5, channels), out, padding=1, most=15)
    for schedule in (False, True):
        check(network, build("85f-p64"), random_values(rng, network), schedule=schedule)


def test_output_tiles_in_either_order():
    rng = np.random.default_rng(8)
    network = single(rng, (20, 20, 16), 130, padding=1)
    compiled = compile_network(network, build("45f"), schedule=False)
    tiling = compiled.tilings["y"]
    words = set()
    for kernel_first in (False, True):
        made, _ = check(
            network,
            build("45f"),
            random_values(rng, network),
            tilings={"y": replace(tiling, rows=7, columns=9, kernel_first=kernel_first)},
        )
        words.add(tuple(made.words))
    assert len(words) == 2


@pytest.mark.parametrize("preset", PRESETS)
def test_large_kernels_are_split(preset):
    rng = np.random.default_rng(7)
    network = single(rng, (20, 19, 3), 4, taps=(18, 17), most=4)
    check(network, build(preset), random_values(rng, network))


@pytest.mark.parametrize("preset", PRESETS)
def test_dense_and_average(preset):
    rng = np.random.default_rng(6)
    network = Network(batch=5)
    x = network.input("x", (6, 6, 33), fraction=5)
    a = network.average("a", x, 2)
    b = network.average("b", x, (6, 6), fraction=6)
    c = network.average("c", x, 3, stride=1, act="relu")
    d = network.dense(
        "d",
        a,
        random_weights(rng, 150, 9 * 33),
        bias=random_weights(rng, 150, most=900),
        weight_fraction=7,
        bias_fraction=9,
        fraction=2,
        act="relu",
    )
    e = network.dense("e", d, random_weights(rng, 10, 150), weight_fraction=7, fraction=2)
    network.output(b, c, e)
    for schedule in (False, True):
        check(network, build(preset), random_values(rng, network), schedule=schedule)


def test_average_is_the_mean():
    network = Network()
    x = network.input("x", (8, 8, 10), fraction=3)
    network.average("y", x, 8, fraction=5)
    values = random_values(np.random.default_rng(2), network)
    compiled, outcome = check(network, build(), values)
    from quintet.gateware.cores.opu.model.model import Model

    memory = compiled.image(values)
    Model(build(), memory).run(compiled.all_registers)
    mean = values["x"].mean(axis=(1, 2)) * 4
    assert np.array_equal(
        compiled.results(memory)["y"].reshape(1, 10), np.clip(np.floor(mean + 0.5), -128, 127)
    )


def test_dense_of_1024_inputs_takes_sixteen_slots_at_once():
    rng = np.random.default_rng(5)
    network = Network()
    x = network.input("x", (1, 1, 1024), fraction=5)
    network.dense("y", x, random_weights(rng, 64, 1024, most=20), weight_fraction=7, fraction=2)
    compiled, outcome = check(network, build("85f-p64"), random_values(rng, network))
    assert compiled.text.count("ld.ifm") == 1 and outcome.counters["operations"] == 1024 * 64


def test_groups_of_images_share_memory():
    rng = np.random.default_rng(4)
    network = Network(batch=7)
    x = network.input("x", (8, 8, 1), fraction=4)
    y = network.conv(
        "y",
        x,
        random_weights(rng, 16, 1, 3, 3),
        weight_fraction=7,
        fraction=4,
        padding=1,
        act="relu",
        pool=2,
    )
    z = network.conv(
        "z",
        y,
        random_weights(rng, 32, 16, 3, 3),
        weight_fraction=7,
        fraction=3,
        padding=1,
        act="relu",
        pool=2,
    )
    network.dense("c", z, random_weights(rng, 10, 128), weight_fraction=7, fraction=3)
    values = random_values(rng, network)
    sizes = [
        check(network, build(preset), values, group=group)[0].memory_size
        for preset in ("85f", "up5k")
        for group in (1, 3, 7)
    ]
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize("part", range(4))
def test_random_networks(part):
    """Layers of all kinds at random, on builds of all sizes."""
    for seed in range(10 * part, 10 * part + fewer(10)):
        chance = random.Random(seed)
        network = random_network(seed)
        params = build(chance.choice(("85f", "85f-p64", "85f-p256", "45f", "25f", "up5k", "hx8k")))
        check(
            network,
            params,
            random_values(np.random.default_rng(seed), network),
            schedule=chance.random() < 0.7,
            varied=False,
        )
