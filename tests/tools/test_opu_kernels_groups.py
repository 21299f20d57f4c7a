# SPDX-License-Identifier: BSD-2-Clause
"""Groups, dilation, tensors in channel blocks of 16, and a shift for each block: programs against
plain numpy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.opu.model.model import Model
from quintet.tools.compiler.backends.opu.codegen import (
    SDRAM,
    KernelError,
    Network,
    compile_network,
    estimate,
    run_layer,
    run_network,
)
from tests.support.kernels_opu_support import build, check, random_values, random_weights

_CHANNELS = (3, 16, 20, 32, 40, 64, 70, 128, 130)


def _fractions(rng, out, split, low, high):
    """One fraction length for each piece, as an array of one for each channel."""
    each = 16 if split and out > 16 else 64
    return np.repeat(rng.integers(low, high, -(-out // each)), each)[:out]


@st.composite
def networks(draw):
    """A chain of convolutions in groups, some with an identity, an average or a dense layer behind
    it."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    network = Network(batch=draw(st.sampled_from((1, 1, 2))))
    tensor = network.input(
        "x",
        (draw(st.integers(3, 14)), draw(st.integers(3, 14)), draw(st.sampled_from(_CHANNELS))),
        fraction=0,
        split=draw(st.booleans()),
    )
    for index in range(draw(st.integers(1, 3))):
        channels = tensor.channels
        groups = draw(
            st.sampled_from(
                (1, channels, channels, *(g for g in range(2, channels) if channels % g == 0))
            )
        )
        out = (
            groups * draw(st.integers(1, 3))
            if groups > 1
            else draw(st.sampled_from((2, 16, 33, 64, 70)))
        )
        split = draw(st.booleans())
        taps = draw(st.integers(1, 4)), draw(st.integers(1, 4))
        options = {
            "weight_fraction": _fractions(rng, out, split, 6, 10),
            "fraction": 0,
            "groups": groups,
            "split": split,
            "dilation": (draw(st.integers(1, 3)), draw(st.integers(1, 2))),
            "padding": draw(st.sampled_from((0, 1, 2, (1, 0, 2, 1)))),
            "stride": draw(st.sampled_from((1, 1, 2, (3, 1)))),
            "act": draw(st.sampled_from((None, "relu", "leaky"))),
            "pool": draw(st.sampled_from((None, None, 2))),
        }
        if draw(st.booleans()):
            options.update(
                bias=random_weights(rng, out, most=500),
                bias_fraction=_fractions(rng, out, split, 3, 6),
            )
        try:
            tensor = network.conv(
                f"y{index}",
                tensor,
                random_weights(rng, out, channels // groups, *taps, most=127),
                **options,
            )
        except KernelError:  # larger than what is left of the map
            continue
        follows = draw(st.sampled_from((None, "identity", "residual", "average", "dense")))
        if follows in ("identity", "residual"):
            tensor = network.identity(
                f"i{index}",
                tensor,
                factor=draw(st.sampled_from((1, -1))),
                act=draw(st.sampled_from((None, "relu"))),
                residual=tensor if follows == "residual" else None,
            )
        elif follows == "average":
            tensor = network.average(
                f"a{index}", tensor, draw(st.sampled_from((1, tensor.shape[:2])))
            )
        elif follows == "dense":
            size = tensor.height * tensor.width * tensor.channels
            network.dense(
                f"d{index}",
                tensor,
                random_weights(rng, 20, size, most=20),
                weight_fraction=9,
                fraction=0,
            )
    if not network.layers:
        network.identity("only", tensor)
    network.output(*(layer.result for layer in network.layers))
    return network


@settings(max_examples=60, deadline=None)
@given(
    networks(),
    st.sampled_from(("85f", "85f-p64", "45f", "25f", "up5k")),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_programs_give_what_numpy_says(network, preset, schedule, seed):
    try:
        check(
            network,
            build(preset),
            random_values(np.random.default_rng(seed), network),
            varied=False,
            schedule=schedule,
        )
    except KernelError as error:
        assert preset == "up5k" and "this build has" in str(error)


@pytest.mark.parametrize("groups, out", [(2, 6), (6, 12), (40, 40), (4, 80)])
def test_groups_are_a_kernel_that_is_zero_outside_of_them(groups, out):
    rng, channels = np.random.default_rng(groups), 40 if groups != 6 else 36
    weights = random_weights(rng, out, channels // groups, 2, 3, most=127)
    whole = np.zeros((out, channels, 2, 3), np.int64)
    for o in range(out):
        first = o // (out // groups) * (channels // groups)
        whole[o, first : first + channels // groups] = weights[o]
    layers = []
    for some, count in ((weights, groups), (whole, 1)):
        network = Network()
        network.conv(
            "y",
            network.input("x", (5, 6, channels), fraction=0),
            some,
            weight_fraction=8,
            fraction=0,
            groups=count,
            bias=random_weights(np.random.default_rng(1), out, most=900),
            bias_fraction=4,
        )
        layers += network.layers
    values = rng.integers(-128, 128, (2, 5, 6, channels))
    assert np.array_equal(*(run_layer(layer, network.set, values) for layer in layers))


def test_dilation_is_a_kernel_with_zeros_between():
    rng = np.random.default_rng(3)
    weights = random_weights(rng, 5, 7, 3, 2, most=100)
    spread = np.zeros((5, 7, 7, 3), np.int64)
    spread[:, :, ::3, ::2] = weights
    found = []
    for some, dilation in ((weights, (3, 2)), (spread, 1)):
        network = Network()
        network.conv(
            "y",
            network.input("x", (9, 8, 7), fraction=0),
            some,
            weight_fraction=8,
            fraction=0,
            dilation=dilation,
            padding=2,
        )
        found.append(network)
    values = {"x": rng.integers(-128, 128, (1, 9, 8, 7))}
    assert np.array_equal(*(run_network(network, values)["y"] for network in found))
    words = [len(check(network, build(), values)[0].words) for network in found]
    assert words[0] <= words[1]  # taps of zeros are not carried out


def test_dilated_kernels_wider_than_a_window():
    """Taps that one window offset does not reach come in blocks, on loads of their own."""
    rng = np.random.default_rng(4)
    network = Network()
    network.conv(
        "y",
        network.input("x", (3, 34, 20), fraction=0),
        random_weights(rng, 6, 20, 1, 5, most=127),
        weight_fraction=9,
        fraction=0,
        dilation=(1, 7),
    )
    (layer,) = network.layers
    assert layer.blocks == [(0, 0, 1, 3), (0, 3, 1, 2)]
    check(network, build(), random_values(rng, network))


def test_pieces_without_a_weight_in_common_are_not_multiplied():
    rng = np.random.default_rng(5)
    operations = {}
    for split in (False, True):
        network = Network()
        x = network.input("x", (8, 8, 64), fraction=0, split=split)
        network.conv(
            "y",
            x,
            random_weights(rng, 64, 1, 3, 3, most=100),
            weight_fraction=8,
            fraction=0,
            groups=64,
            padding=1,
            split=split,
        )
        operations[split] = check(network, build(), random_values(rng, network))[1].counters[
            "operations"
        ]
    assert operations[True] * 4 == operations[False] == 64 * 64 * 9 * 64


@pytest.mark.parametrize(
    "channels, size, loads", [(64, 5, 1), (40, 5, 1), (128, 6, 1), (256, 3, 1), (256, 6, 4)]
)
def test_one_load_brings_the_pieces_of_a_map(channels, size, loads):
    """Those of maps side by side too, where one window offset reaches them."""
    rng = np.random.default_rng(channels)
    network = Network()
    x = network.input("x", (size, size, channels), fraction=0, split=True)
    network.conv("y", x, random_weights(rng, 16, channels, 1, 1), weight_fraction=8, fraction=0)
    compiled, _ = check(network, build(), random_values(rng, network), schedule=False)
    assert compiled.text.count("ld.ifm") == loads


def _borders(**options):
    rng = np.random.default_rng(6)
    network = Network()
    x = network.input("x", (7, 7, 64), fraction=0, split=True)
    for index in range(3):
        x = network.conv(
            f"y{index}",
            x,
            random_weights(rng, 64, 1, 3, 3, most=100),
            weight_fraction=7,
            fraction=0,
            groups=64,
            padding=1,
            split=True,
        )
    return network, compile_network(network, build(), **options)


def test_borders_that_stay_zero_are_not_made_zero():
    network, compiled = _borders(separate=True, zeroed=True)
    assert "pad" not in compiled.text and "pad" in _borders(separate=True)[1].text
    memory = compiled.image(random_values(np.random.default_rng(0), network))
    model = Model(build(), memory)
    for seed in range(3):  # run after run in one memory
        values = random_values(np.random.default_rng(seed), network)
        for address, data, _ in compiled.loads(values):
            memory[address : address + data.size] = data
        assert model.run(compiled.all_registers).status == "done"
        expected = run_network(network, values)
        for name, placed in compiled.tensors.items():
            assert np.array_equal(placed.unpack(memory), expected[name]), name


def test_borders_that_a_run_writes_to_are_made_zero_again():
    """Memory that is used again for maps without a border: the next run finds no zeros there."""
    rng = np.random.default_rng(7)
    network = Network()
    x = network.input("x", (9, 9, 20), fraction=0)
    for index, taps in enumerate((3, 3, 1, 1, 1)):
        x = network.conv(
            f"y{index}",
            x,
            random_weights(rng, 20, 20, taps, taps, most=60),
            weight_fraction=8,
            fraction=0,
            padding=taps // 2,
        )
    compiled = compile_network(network, build(), zeroed=True)
    assert "pad" in compiled.text
    memory = np.zeros(compiled.memory_size, np.uint8)
    model = Model(build(), memory)
    memory[compiled.program_at : compiled.program_at + len(compiled.data)] = np.frombuffer(
        compiled.data, np.uint8
    )
    for seed in range(3):
        values = random_values(np.random.default_rng(seed), network)
        for address, data, _ in compiled.loads(values):
            memory[address : address + data.size] = data
        assert model.run(compiled.all_registers).status == "done"
        assert np.array_equal(compiled.results(memory)["y4"], run_network(network, values)["y4"])


def test_comparing_a_layer_with_its_neighbours_gives_a_program_as_good():
    rng = np.random.default_rng(8)
    network = Network()
    x = network.input("x", (24, 24, 16), fraction=0)
    for index in range(3):
        x = network.conv(
            f"y{index}",
            x,
            random_weights(rng, 16 << index, x.channels, 3, 3),
            weight_fraction=8,
            fraction=0,
            padding=1,
        )
    cycles = [
        estimate(
            compile_network(network, build(), local=local, timing=SDRAM).words, build(), SDRAM
        ).cycles
        for local in (False, True)
    ]
    assert cycles[1] <= cycles[0]


def test_pages_and_fetches_cost_cycles():
    network, compiled = _borders()
    plain = estimate(compiled.words, build(), SDRAM)
    for field in ("page", "fetch", "slot"):
        assert (
            estimate(compiled.words, build(), replace(SDRAM, **{field: 50})).cycles > plain.cycles
        )


@pytest.mark.parametrize(
    "options, message",
    [
        ({"groups": 3}, "layer y: groups must divide 64 input and 64 output channels, not 3"),
        ({"groups": True}, "layer y: groups must divide 64 input and 64 output channels, not True"),
        ({"groups": 2}, "layer y: weights have 1 input channels, source x has 64 in 2 groups"),
        (
            {"dilation": 16},
            "layer y: dilation must be an integer or a pair of integers from 1 to 15, not 16",
        ),
        (
            {"dilation": (1, 0)},
            r"layer y: dilation must be an integer or a pair of integers from 1 to 15, not "
            r"\(1, 0\)",
        ),
        (
            {"weight_fraction": np.arange(64)},
            "layer y: weight_fraction must be equal within a channel block of 64",
        ),
        (
            {"weight_fraction": np.arange(64), "split": True},
            "layer y: weight_fraction must be equal within a channel block of 16",
        ),
        (
            {"weight_fraction": np.zeros(5, int)},
            r"layer y: weight_fraction must be an integer or integers \[64\], not int64 \[5\]",
        ),
        (
            {"weight_fraction": np.full(64, 200)},
            "layer y: the shift of the dot products is -192, legal are -128 to 127",
        ),
        (
            {"bias": [0] * 64, "bias_fraction": np.ones(64)},
            r"layer y: bias_fraction must be an integer or integers \[64\], not float64 \[64\]",
        ),
        (
            {"split": True, "residual": "x"},
            "layer y: residual x lies in channel blocks of 64, the result in channel blocks of 16",
        ),
    ],
)
def test_refused(options, message):
    network = Network()
    x = network.input("x", (4, 4, 64), fraction=0)
    options = (
        {key: x if value == "x" else value for key, value in options.items()}
        if "residual" in options
        else options
    )
    with pytest.raises(KernelError, match=message):
        network.conv(
            "y",
            x,
            np.ones((64, 1, 1, 1), int),
            **{"weight_fraction": 8, "fraction": 0, "groups": 64, **options},
        )


def test_a_split_map_too_wide_for_its_pieces():
    network = Network()
    network.identity("y", network.input("x", (4, 300, 64), fraction=0, split=True))
    with pytest.raises(
        KernelError,
        match=(
            "tensor x: with its border it has 4 x 300 slots, at most 1023 a side of 4 "
            "channel blocks together"
        ),
    ):
        compile_network(network, build())
