# SPDX-License-Identifier: BSD-2-Clause
"""Output of the OPU's code generator: text, jobs, memory, order of instructions, estimates, and
its refusals."""

import numpy as np
import pytest

from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.compiler.backends.opu.codegen import (
    KernelError,
    Network,
    Tiling,
    Timing,
    compile_network,
    estimate,
    run_network,
)
from tests.support.kernels_opu_support import build, check, random_values, random_weights


def chain(layers=3, side=16, channels=16, residual=False):
    rng = np.random.default_rng(1)
    network = Network()
    x = network.input("x", (side, side, channels), fraction=5)
    for k in range(layers):
        x = network.conv(
            f"l{k}",
            x,
            random_weights(rng, channels, channels, 3, 3, most=20),
            weight_fraction=7,
            fraction=5,
            padding=1,
            act="relu",
            residual=x if residual else None,
        )
    return network


def mnemonics(compiled):
    return [ISA.decode(word).instruction.mnemonic for word in compiled.words]


def test_text_assembles_to_the_same_words():
    compiled = compile_network(chain(), build())
    assert assemble_text(SOFTWARE, compiled.text).data == compiled.data
    assert [span.name for span in compiled.layers] == ["l0", "l1", "l2"]
    assert "# l1" in compiled.text


def test_unscheduled_pads_after_every_layer():
    compiled = compile_network(chain(), build(), schedule=False)
    names = mnemonics(compiled)
    assert names.count("pad") == 2  # the last map has no border
    assert all(names[i - 1] == "store" for i, name in enumerate(names) if name == "pad")
    assert names.count("store") == names.count("ld.ifm") == 3


def test_scheduled_loads_stand_before_the_store_of_the_tile_before():
    compiled = compile_network(
        chain(), build(), tilings={f"l{k}": Tiling(4, 16, 9) for k in range(3)}
    )
    names = [n for n in mnemonics(compiled) if n in ("ld.ifm", "store")]
    # 12 tiles; every one but the first is loaded before the store of the one before it.
    assert names == ["ld.ifm"] + ["ld.ifm", "store"] * 11 + ["store"]
    # The third layer's result lies where the first one's map with its zero border was, if it needs
    # a border at all.
    assert mnemonics(compiled).count("pad") == 2


def test_with_a_residual_the_next_tile_is_loaded_after_the_store():
    compiled = compile_network(
        chain(2, residual=True), build(), tilings={f"l{k}": Tiling(4, 16, 9) for k in range(2)}
    )
    names = [n for n in mnemonics(compiled) if n in ("ld.ifm", "store")]
    assert names == ["ld.ifm", "ld.ifm", "store"] * 8


def test_a_border_that_stays_zero_is_padded_once():
    deep = compile_network(chain(8), build())
    assert mnemonics(deep).count("pad") == 2 and len(deep.layers) == 8
    assert mnemonics(compile_network(chain(8), build(), schedule=False)).count("pad") == 7


def test_scheduling_saves_cycles_and_changes_no_result():
    network = chain(4, 24, 16, residual=True)
    params = build("85f-p64")
    values = random_values(np.random.default_rng(3), network)
    plain, _ = check(network, params, values, schedule=False)
    quick, _ = check(network, params, values)
    assert estimate(quick.words, params).cycles < 0.93 * estimate(plain.words, params).cycles


def block(side=16, stride=2, padding=1):
    rng = np.random.default_rng(2)
    network = Network()
    x = network.input("x", (side, side, 16), fraction=5)
    options = {"weight_fraction": 7, "fraction": 4, "stride": stride}
    a = network.conv(
        "a",
        x,
        random_weights(rng, 32, 16, 3, 3),
        bias=random_weights(rng, 32, most=900),
        bias_fraction=9,
        act="relu",
        padding=padding,
        **options,
    )
    b = network.conv("b", x, random_weights(rng, 32, 16, 1, 1), padding=padding - 1, **options)
    network.output(a, b)
    return network


def test_two_layers_of_one_source_share_their_tiles():
    params, network = build("85f-p64"), block()
    values = random_values(np.random.default_rng(4), network)
    plain = {name: Tiling(2, 8, 36) for name in "ab"}
    alone, _ = check(network, params, values, tilings=plain)
    both, _ = check(
        network, params, values, tilings={**plain, "a": Tiling(2, 8, 36, with_next=True)}
    )
    assert mnemonics(alone).count("ld.ifm") == 8 and mnemonics(both).count("ld.ifm") == 4
    assert mnemonics(both).count("ld.ker") == 1 and [span.name for span in both.layers] == [
        "b and a"
    ]
    assert sum(span.macs for span in both.layers) == sum(span.macs for span in alone.layers)
    # Layer after layer nothing is shared, nor where the second window leaves the first one's.
    assert (
        len(
            compile_network(
                network, params, schedule=False, tilings={"a": Tiling(2, 8, 36, with_next=True)}
            ).layers
        )
        == 2
    )
    wide = block(side=14, stride=1, padding=1)
    wide.layers[0], wide.layers[1] = wide.layers[1], wide.layers[0]
    assert (
        len(compile_network(wide, params, tilings={"b": Tiling(2, 8, 36, with_next=True)}).layers)
        == 2
    )


def test_estimate():
    params = build("85f-p64")
    compiled = compile_network(chain(1, 14, 64), params, schedule=False)
    found = estimate(compiled.words, params, marks=[span.end for span in compiled.layers])
    steps = 9 * 14 * 14 * 4 * 16
    assert (
        found.work == steps
        and steps < found.cycles < 1.3 * steps
        and found.marks[0] <= found.cycles
    )
    slow = estimate(compiled.words, params, Timing(rate=0.5))
    assert slow.cycles > found.cycles and slow.work == steps
    single = build("85f-p64", ifm_banks=1, ofm_banks=1)
    many = compile_network(chain(3, 32, 16), params)
    assert estimate(many.words, single).cycles > estimate(many.words, params).cycles


def test_a_result_with_a_border():
    network = chain(1)
    network.output(network.layers[0].result, border=2)
    for schedule in (False, True):
        compiled, _ = check(
            network, build(), random_values(np.random.default_rng(1), network), schedule=schedule
        )
        assert mnemonics(compiled).count("pad") == 1 and compiled.outputs["l0"].array_shape == (
            1,
            1,
            20,
            20,
            64,
        )
    with pytest.raises(KernelError, match="output: border must be 0 to 15, not 16"):
        network.output(network.layers[0].result, border=16)


# Refusals


def network_and_input(shape=(8, 8, 16), **more):
    network = Network(**more)
    return network, network.input("x", shape, fraction=5)


def conv(network, x, out=4, taps=(3, 3), name="y", **more):
    channels = x.channels if hasattr(x, "channels") else 16
    options = {"weight_fraction": 7, "fraction": 5, **more}
    return network.conv(
        name, x, options.pop("weights", np.ones((out, channels, *taps), int)), **options
    )


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"weights": np.full((4, 16, 3, 3), 200)},
            "layer y: weights[0, 0, 0, 0] is 200, expected an integer from -128 to 127",
        ),
        (
            {"weights": np.ones((4, 16, 3, 3))},
            "layer y: weights: float64 [4, 16, 3, 3], expected integers [out, in, rows, columns]",
        ),
        (
            {"weights": np.ones((4, 16, 3), int)},
            "layer y: weights: int64 [4, 16, 3], expected integers [out, in, rows, columns]",
        ),
        (
            {"weights": np.ones((4, 3, 3, 3), int)},
            "layer y: weights have 3 input channels, source x has 16",
        ),
        ({"taps": (9, 3)}, "layer y: a kernel of 9 x 3 taps does not fit a source of 8 x 8"),
        (
            {"stride": 8},
            "layer y: stride must be an integer or a pair of integers from 1 to 7, not 8",
        ),
        ({"padding": 16}, "layer y: padding must be 1, 2 or 4 integers from 0 to 15, not 16"),
        ({"act": "tanh"}, "layer y: act must be None, 'relu' or 'leaky', not 'tanh'"),
        ({"order": 3}, "layer y: order must be 0, 1 or 2, not 3"),
        ({"fraction": 2.5}, "layer y: fraction must be an integer, not 2.5"),
        ({"weight_fraction": None}, "layer y: weight_fraction must be an integer, not None"),
        ({"fraction": 400}, "layer y: the shift of the dot products is 396, legal are -128 to 127"),
        (
            {"bias": np.ones(3, int), "bias_fraction": 3},
            "layer y: bias: int64 [3], expected integers [4]",
        ),
        ({"bias": np.ones(4, int)}, "layer y: bias_fraction must be an integer, not None"),
        (
            {"bias": np.full(4, 40000), "bias_fraction": 3},
            "layer y: bias[0] is 40000, expected an integer from -32768 to 32767",
        ),
        ({"bias": np.ones(4, int), "bias_fraction": 300}, "layer y: the shift of the bias is -287"),
        (
            {"pool": 16},
            "layer y: pool must be an integer or a pair of integers from 1 to 15, not 16",
        ),
        ({"pool": 7}, "layer y: pool of 7 x 7 is larger than the 6 x 6 results"),
        ({"pool": 2, "pool_stride": 8}, "layer y: pool_stride must be an integer or a pair"),
        ({"residual": "x"}, "layer y: residual 'x' is no tensor of this network"),
    ],
)
def test_layers_refused(options, message):
    network, x = network_and_input()
    with pytest.raises(KernelError) as caught:
        conv(network, x, **options)
    assert str(caught.value).startswith(message)


def test_residual_refused():
    network, x = network_and_input()
    with pytest.raises(
        KernelError,
        match=r"layer y: residual x has the shape \[8, 8, 16\], it is added to \[6, 6, 16\]",
    ):
        conv(network, x, 16, residual=x)
    with pytest.raises(
        KernelError, match="layer y: residual x has fraction 5, the result 4: they must be equal"
    ):
        conv(network, x, 16, padding=1, fraction=4, residual=x)
    with pytest.raises(
        KernelError, match="layer y: a residual by tap is added before act: order must be 1, not 2"
    ):
        conv(network, x, 16, padding=1, residual=x, order=2, by_tap=True)
    network.input("far", (8, 8, 16), fraction=300)
    with pytest.raises(KernelError, match="layer y: the shift of the residual is -287"):
        conv(network, x, 16, padding=1, residual=network.inputs[1], by_tap=True)


def test_networks_refused():
    with pytest.raises(KernelError, match="batch must be a positive integer, not 0"):
        Network(batch=0)
    network, x = network_and_input()
    with pytest.raises(KernelError, match="input x: the name is taken"):
        network.input("x", (1, 1, 1), fraction=0)
    with pytest.raises(KernelError, match=r"input z: shape must be \(height, width, channels\)"):
        network.input("z", (1, 1), fraction=0)
    with pytest.raises(KernelError, match="input z: fraction must be an integer, not 'a'"):
        network.input("z", (1, 1, 1), fraction="a")
    with pytest.raises(KernelError, match="input z: 2000 x 1 positions, at most 1023 a side"):
        network.input("z", (2000, 1, 1), fraction=0)
    with pytest.raises(KernelError, match="layer y: source 'x' is no tensor of this network"):
        conv(network, "x")
    with pytest.raises(
        KernelError, match="layer d: weights have 7 inputs, source x has 1024 values"
    ):
        network.dense("d", x, np.ones((3, 7), int), weight_fraction=7, fraction=5)
    with pytest.raises(KernelError, match="layer d: source None is no tensor"):
        network.dense("d", None, np.ones((3, 7), int), weight_fraction=7, fraction=5)
    with pytest.raises(KernelError, match="layer a: source None is no tensor"):
        network.average("a", None, 2)
    with pytest.raises(
        KernelError,
        match="layer a: window must be an integer or a pair of integers from 1 to 127, not 0",
    ):
        network.average("a", x, 0)
    with pytest.raises(KernelError, match="layer a: stride must be"):
        network.average("a", x, (8, 1))
    with pytest.raises(KernelError, match="output 'x2' is no tensor of this network"):
        network.output("x2")
    with pytest.raises(KernelError, match="the network has no layer"):
        compile_network(network, build())


def test_builds_refused():
    network, x = network_and_input((8, 8, 64))
    conv(network, x, 64)
    # Rows of taps are loaded one by one where a window does not fit; one row has to.
    compile_network(network, build("hx8k", ifm_lines=16))
    wide, x = network_and_input((8, 8, 64))
    conv(wide, x, 64, (3, 5))
    with pytest.raises(
        KernelError,
        match=(
            r"layer y: one result needs ifm \[1, 5, 64\] and ofm .*; this build has ifm_lines "
            r"= 16"
        ),
    ):
        compile_network(wide, build("hx8k", ifm_lines=16))
    with pytest.raises(
        KernelError,
        match="layer y: one tap of 64 to 64 channels takes 256 rows of kernel memory, this build "
        "has "
        "ker_rows = 128",
    ):
        compile_network(network, build("hx8k", ker_rows=128))
    with pytest.raises(
        KernelError, match="the network is for types 8-8-16-16, the build has 16-16-32-32"
    ):
        compile_network(network, build(types="16-16-32-32"))
    with pytest.raises(
        KernelError, match=r"the program takes \d+ bytes of memory .*, there are 4096"
    ):
        compile_network(network, build(), memory=4096)
    with pytest.raises(KernelError, match="program_at must be a multiple of 64, not 0x20"):
        compile_network(network, build(), program_at=32)
    with pytest.raises(KernelError, match="group must be 1 to 1, not 2"):
        compile_network(network, build(), group=2)
    with pytest.raises(KernelError, match="tilings: no layer 'z'"):
        compile_network(network, build(), tilings={"z": Tiling(1, 1, 1)})


def test_values_refused():
    network, x = network_and_input()
    conv(network, x)
    compiled = compile_network(network, build())
    with pytest.raises(KernelError, match=r"the program takes \d+ bytes of memory, not 64"):
        compiled.image(size=64)


def spoilt(index, value, kind=float):
    values = np.zeros((1, 8, 8, 16), kind)
    values[index] = value
    return values


@pytest.mark.parametrize(
    "values, message",
    [
        (
            {"x": spoilt((0, 1, 2, 3), 300, int)},
            "input x[0, 1, 2, 3] is 300, expected an integer from -128 to 127",
        ),
        (
            {"x": spoilt((0, 7, 7, 15), -129)[0]},
            "input x[0, 7, 7, 15] is -129.0, expected an integer from -128 to 127",
        ),
        (
            {"x": spoilt((0, 0, 0, 1), 0.7)},
            "input x[0, 0, 0, 1] is 0.7, expected an integer from -128 to 127",
        ),
        (
            {"x": spoilt((0, 0, 0, 1), np.nan)},
            "input x[0, 0, 0, 1] is nan, expected an integer from -128 to 127",
        ),
        (
            {"x": np.zeros((2, 8, 8, 16), int)},
            "input x: int64 [2, 8, 8, 16], expected integers [1, 8, 8, 16]",
        ),
        (
            {"x": np.zeros((0, 8, 8, 16), int)},
            "input x: int64 [0, 8, 8, 16], expected integers [1, 8, 8, 16]",
        ),
        (
            {"x": np.zeros((1, 8, 16, 8), int)},
            "input x: int64 [1, 8, 16, 8], expected integers [1, 8, 8, 16]",
        ),
        (
            {"x": np.zeros((1, 8, 8, 16), bool)},
            "input x: bool [1, 8, 8, 16], expected integers [1, 8, 8, 16]",
        ),
        ({}, "input x is missing, expected integers [1, 8, 8, 16]"),
        ({"x": spoilt((), 0), "z": 1}, "input z is unknown, expected x"),
        ([1], "inputs are list, expected arrays by name: x"),
    ],
)
def test_inputs_are_refused_alike(values, message):
    """By plain numpy, by the memory image and by the loads."""
    network, x = network_and_input()
    conv(network, x)
    compiled = compile_network(network, build())
    for use in (
        lambda: run_network(network, values),
        lambda: compiled.image(values),
        lambda: compiled.loads(values),
    ):
        with pytest.raises(KernelError) as caught:
            use()
        assert str(caught.value) == message


def test_whole_floats_are_integers():
    network, x = network_and_input()
    conv(network, x)
    values = np.random.default_rng(1).integers(-128, 128, (1, 8, 8, 16))
    compiled = compile_network(network, build())
    for same in (
        values.astype(float),
        values.astype(np.int8),
        values[0].astype(np.float32),
        values.tolist(),
    ):
        assert np.array_equal(
            run_network(network, {"x": same})["y"], run_network(network, {"x": values})["y"]
        )
        assert np.array_equal(compiled.image({"x": same}), compiled.image({"x": values}))


def test_names_refused():
    network = Network()
    for name in ("a/b", "a:b", 'a"', "", "a b", 5):
        with pytest.raises(
            KernelError, match="the name must be of letters, digits and _ . [+] - alone"
        ):
            network.input(name, (1, 1, 1), fraction=0)
    with pytest.raises(KernelError, match="input constants: the name is taken"):
        network.input("constants", (1, 1, 1), fraction=0)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"padding": None}, "padding must be 1, 2 or 4 integers from 0 to 15, not None"),
        ({"padding": True}, "padding must be 1, 2 or 4 integers from 0 to 15, not True"),
        ({"stride": None}, "stride must be an integer or a pair of integers from 1 to 7, not None"),
        (
            {"stride": (1, 2.0)},
            "stride must be an integer or a pair of integers from 1 to 7, not (1, 2.0)",
        ),
        ({"act": ["relu"]}, "act must be None, 'relu' or 'leaky', not ['relu']"),
        (
            {"weights": np.full((4, 16, 3, 3), 1 << 63, np.uint64)},
            "weights[0, 0, 0, 0] is 9223372036854775808, expected an integer from ",
        ),
        (
            {"weights": [[1], [1, 2]]},
            "weights: rows of several lengths, expected integers [out, in, rows, columns]",
        ),
    ],
)
def test_odd_arguments_refused(options, message):
    network, x = network_and_input()
    with pytest.raises(KernelError) as caught:
        conv(network, x, **options)
    assert str(caught.value).startswith(f"layer y: {message}")
