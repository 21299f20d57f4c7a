# SPDX-License-Identifier: BSD-2-Clause
"""PIM's kernel library: every layer against plain numpy on the golden model, both ways of sharing
out, refusals."""

from pathlib import Path

import numpy as np
import pytest

from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools import Job, open_target, run_job
from quintet.tools.kernels.pim import (
    Conv,
    Dense,
    KernelError,
    Network,
    Pool,
    compile_columns,
    compile_network,
    run_network,
    write_job,
)
from tests.tools.pim_networks import run

BIG = SPACE.resolve("85f")


def dense(rng, inputs, outputs, **more):
    return Dense(
        f"dense{outputs}",
        rng.integers(-128, 128, (inputs, outputs), dtype=np.int8),
        rng.integers(-20000, 20000, outputs, dtype=np.int32),
        7,
        **more,
    )


def conv(rng, kh, kw, cin, cout, **more):
    return Conv(
        f"conv{cout}",
        rng.integers(-128, 128, (kh, kw, cin, cout), dtype=np.int8),
        rng.integers(-20000, 20000, cout, dtype=np.int32),
        8,
        **more,
    )


def check(network, params, compiled, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.integers(-128, 128, compiled.in_shape)
    got, outcome = run(compiled, values, params)
    assert np.array_equal(got, run_network(network, values))
    text = compiled.text("g.json")
    assert text.count(".core") == len(compiled.parts)
    return outcome


GMEM = {"gmem": 0x200000}


@pytest.mark.parametrize("cores, chunk", [(1, 1), (4, 1), (2, 3)])
def test_mlp_by_images(cores, chunk):
    rng = np.random.default_rng(2)
    network = Network((200,), [dense(rng, 200, 70, relu=True), dense(rng, 70, 10, bits=16)])
    compiled = compile_network(network, BIG, images=12, cores=cores, chunk=chunk, **GMEM)
    outcome = check(network, BIG, compiled)
    assert outcome.counters["operations"] == 12 * network.macs == 12 * (200 * 70 + 70 * 10)


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
def test_mlp_by_columns(cores):
    rng = np.random.default_rng(3)
    network = Network(
        (300,), [dense(rng, 300, 50, relu=True), dense(rng, 50, 33), dense(rng, 33, 3, bits=32)]
    )
    check(network, BIG, compile_columns(network, BIG, images=2, cores=cores, **GMEM))


@pytest.mark.parametrize("relu", [False, True])
def test_more_rows_than_a_group_takes(relu):
    rng = np.random.default_rng(4)
    params = SPACE.resolve("85f", {"arrays": 32})
    network = Network((1100,), [dense(rng, 1100, 60, relu=relu, bits=16)])
    compiled = compile_network(network, params, images=1, cores=1, **GMEM)
    assert len(compiled.image.cores[0].groups) == 2
    check(network, params, compiled)


@pytest.mark.parametrize(
    "shape, layers",
    [
        ((8, 8, 1), [(3, 3, 1, 16, 1)]),
        ((6, 5, 3), [(3, 2, 3, 4, 0)]),
        ((4, 4, 16), [(1, 1, 16, 32, 0)]),
        ((6, 6, 40), [(3, 3, 40, 20, 1)]),
        ((5, 9, 2), [(1, 3, 2, 8, 1), (3, 3, 8, 8, 1)]),
    ],
)
def test_convolutions(shape, layers):
    rng = np.random.default_rng(5)
    network = Network(
        shape, [conv(rng, kh, kw, a, b, padding=p, relu=True) for kh, kw, a, b, p in layers]
    )
    check(network, BIG, compile_network(network, BIG, images=2, cores=2, **GMEM))


@pytest.mark.parametrize("chunk", [1, 2])
def test_cnn_with_pooling(chunk):
    rng = np.random.default_rng(6)
    network = Network(
        (8, 8, 1),
        [
            conv(rng, 3, 3, 1, 16, padding=1, relu=True),
            Pool("pool1"),
            conv(rng, 3, 3, 16, 32, padding=1, relu=True),
            Pool("pool2"),
            dense(rng, 128, 64, relu=True),
            dense(rng, 64, 10, bits=16),
        ],
    )
    compiled = compile_network(network, BIG, images=4, cores=2, chunk=chunk, **GMEM)
    check(network, BIG, compiled)
    assert network.macs == 64 * 144 + 16 * 4608 + 8192 + 640


@pytest.mark.parametrize("shape", [(4, 4, 1), (8, 8, 2), (6, 4, 3), (4, 10, 4), (2, 6, 5)])
@pytest.mark.parametrize("behind", ["nothing", "dense", "conv", "padded", "pools"])
def test_pooling_first(shape, behind):
    """Elements of one to four bytes are gathered by one instruction, pixels of more channels one by
    one."""
    rng = np.random.default_rng(9)
    h, w, c = shape[0] // 2, shape[1] // 2, shape[2]
    layers = {
        "nothing": [],
        "dense": [dense(rng, h * w * c, 10, bits=16)],
        "conv": [conv(rng, 1, 2, c, 4)],
        "padded": [conv(rng, 3, 3, c, 4, padding=1)],
        "pools": [
            conv(rng, 3, 3, c, 4, padding=(1, 1, 1 + h % 2, 1 + w % 2)),
            Pool("second"),
            dense(rng, (h + 1) // 2 * ((w + 1) // 2) * 4, 3),
        ],
    }
    network = Network(shape, [Pool("first"), *layers[behind]])
    for params in (BIG, SPACE.resolve("25f", {"max_biw": 16})):
        check(network, params, compile_network(network, params))


def test_pooling_behind_pooling():
    network = Network((16, 16, 3), [Pool("first"), Pool("second")])
    check(network, BIG, compile_network(network, BIG, images=4))


@pytest.mark.parametrize("columns, channels", [(4200, 1), (300, 8)])
def test_pooling_of_rows_longer_than_an_instruction_takes(columns, channels):
    network = Network((2, columns, channels), [Pool("pool")])
    check(network, BIG, compile_network(network, BIG))


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize(
    "shape, kernel, outputs",
    [((4, 4, 1), 3, 4), ((4, 5, 8), 3, 6), ((4, 4, 4), 1, 4), ((4, 5, 40), 3, 20)],
)
def test_convolution_last(bits, shape, kernel, outputs):
    rng = np.random.default_rng(10)
    network = Network(
        shape, [conv(rng, kernel, kernel, shape[2], outputs, padding=kernel // 2, bits=bits)]
    )
    check(network, BIG, compile_network(network, BIG))


@pytest.mark.parametrize(
    "stride, dilation, padding",
    [
        (2, 1, 1),
        ((2, 3), 1, 0),
        (1, 2, 2),
        ((1, 2), (3, 1), (3, 1, 3, 1)),
        (3, (2, 3), (0, 3, 4, 2)),
        ((4, 1), 1, (1, 0, 0, 2)),
    ],
)
@pytest.mark.parametrize("channels, outputs", [(1, 4), (12, 20)])
def test_stride_dilation_padding(stride, dilation, padding, channels, outputs):
    """Few channels go by rows, many by positions."""
    rng = np.random.default_rng(11)
    network = Network(
        (9, 8, channels),
        [
            conv(rng, 3, 2, channels, outputs, stride=stride, dilation=dilation, padding=padding),
            conv(rng, 1, 1, outputs, 2, stride=(1, 2), bits=16),
        ],
    )
    check(network, BIG, compile_network(network, BIG, images=2))


def test_strided_by_hand():
    """One weight that takes every other row and every third column, and a border."""
    network = Network(
        (4, 7, 1),
        [Conv("pick", np.ones((1, 1, 1, 1), np.int8), stride=(2, 3), padding=(1, 0, 0, 2))],
    )
    values = np.arange(28).reshape(1, 4, 7, 1)
    want = [[0, 0, 0], [7, 10, 13], [21, 24, 27]]
    assert run_network(network, values)[0, :, :, 0].tolist() == want
    assert run(compile_network(network, BIG), values, BIG)[0][0, :, :, 0].tolist() == want


def test_dilated_by_hand():
    network = Network(
        (1, 5, 1),
        [Conv("apart", np.array([1, 10], np.int8).reshape(1, 2, 1, 1), dilation=(1, 3), bits=16)],
    )
    assert run_network(network, np.arange(1, 6).reshape(1, 1, 5, 1)).ravel().tolist() == [41, 52]


def test_more_convolutions_than_registers():
    """Six convolutions by positions would pin 36 registers. Their rows are too many for one
    multiplication."""
    rng = np.random.default_rng(12)
    network = Network((4, 4, 40), [conv(rng, 3, 3, 40, 40, padding=1) for _ in range(6)])
    params = SPACE.resolve("85f", {"arrays": 36})
    check(network, params, compile_network(network, params))


def test_convolutions_that_fit_only_by_positions():
    """By rows each takes 4 arrays, and two would be left without."""
    rng = np.random.default_rng(20)
    for count, groups in ((4, 64), (6, 8)):
        network = Network((8, 8, 8), [conv(rng, 3, 3, 8, 8, padding=1) for _ in range(count)])
        compiled = compile_network(network, BIG, images=2)
        assert {g.cols for g in compiled.image.cores[0].groups} == {groups}
        check(network, BIG, compiled)


EDGES = [(1 << 31) - 1, -(1 << 31), (1 << 31) - 500_000, 1 << 30]


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(
    "shift, bits, relu",
    [
        (0, 32, False),
        (0, 8, False),
        (1, 32, True),
        (9, 32, False),
        (24, 8, False),
        (26, 8, True),
        (30, 16, False),
        (31, 8, False),
        (32, 8, False),
        (33, 32, False),
        (47, 8, False),
    ],
)
def test_cut_layer_with_a_large_bias_or_shift(edge, shift, bits, relu):
    rng = np.random.default_rng(13)
    weights = rng.integers(-128, 128, (300, 5), dtype=np.int8)
    weights[:, :2] = np.sign(edge) * 127, -128
    layer = Dense("cut", weights, np.full(5, edge, np.int32), shift, relu, bits)
    params = SPACE.resolve("85f", {"xb_rows": 16, "xb_cols": 16, "lanes": 16, "arrays": 19})
    network = Network((300,), [layer])
    compiled = compile_network(network, params, images=3, cores=1)
    assert len(compiled.image.cores[0].groups) == 2
    values = np.stack([np.full(300, 127), np.full(300, -128), rng.integers(-128, 128, 300)])
    assert np.array_equal(run(compiled, values, params)[0], run_network(network, values))
    compiled = compile_columns(network, params, images=3, cores=2)
    assert np.array_equal(run(compiled, values, params)[0], run_network(network, values))


def test_defaults():
    """One image on a build of four cores, the program first and then its arrays."""
    rng = np.random.default_rng(14)
    network = Network((20,), [dense(rng, 20, 10)])
    for images, cores in ((1, 1), (6, 3), (8, 4)):
        compiled = compile_network(network, BIG, images=images)
        assert len(compiled.parts) == cores and compiled.inputs == len(compiled.data)
        assert compiled.outputs == compiled.inputs + 64 * (1 + 20 * images // 65)
        check(network, BIG, compiled)
    check(network, BIG, compile_columns(network, BIG))
    compiled = compile_network(network, BIG, program_at=0x1000)
    assert compiled.inputs == 0x1000 + len(compiled.data)
    check(network, BIG, compiled)


def test_a_network_keeps_what_it_was_given():
    rng = np.random.default_rng(15)
    layer = dense(rng, 20, 10)
    network, values = Network((20,), [layer]), rng.integers(-128, 128, (1, 20))
    before = run_network(network, values)
    layer.weights[:], layer.shift = 0, 0
    assert np.array_equal(run_network(network, values), before)


def test_whole_numbers_of_numpy_are_taken():
    """A shift of 20 in eight bits would be none."""
    layer = Dense(
        "d",
        np.full((4, 2), 127, np.int8),
        np.full(2, 1 << 30, np.int32),
        np.uint8(20),
        bits=np.int64(32),
    )
    network = Network((np.int64(4),), [layer])
    values = np.zeros((1, 4), np.int8)
    assert run_network(network, values).tolist() == [[1024, 1024]]
    check(
        network,
        BIG,
        compile_network(network, BIG, images=np.int64(4), chunk=np.int32(2), cores=np.uint8(2)),
    )
    check(network, BIG, compile_columns(network, BIG, images=np.uint8(3), cores=np.int8(2)))


def test_text_gives_the_same_image(tmp_path):
    rng = np.random.default_rng(7)
    network = Network((20,), [dense(rng, 20, 10)])
    for mode in ("64", "packed"):
        compiled = compile_network(network, BIG, images=8, cores=2, mode=mode, **GMEM)
        (tmp_path / "g.json").write_text(compiled.groups())
        text = compiled.text("g.json").replace('"g.json"', f'"{tmp_path}/g.json"')
        assert assemble_text(SOFTWARE, text).data == compiled.data


def refuse(message, function, *args, **more):
    with pytest.raises(KernelError) as info:
        function(*args, **more)
    assert str(info.value) == message


def test_refusals():
    rng = np.random.default_rng(8)
    one = dense(rng, 4, 3)
    refuse("a network needs a layer", Network, (4,), [])
    refuse("dense3: weights are (4, 3), expected (5, outputs)", Network, (5,), [one])
    refuse(
        "conv8: a convolution needs rows, columns and channels, not (4,)",
        Network,
        (4,),
        [conv(rng, 3, 3, 1, 8)],
    )
    refuse(
        "conv8: weights are (3, 3, 1, 8), expected (rows, columns, 2, outputs)",
        Network,
        (4, 4, 2),
        [conv(rng, 3, 3, 1, 8)],
    )
    refuse(
        "conv8: a window of 3 x 3 does not fit 2 x 4", Network, (2, 4, 1), [conv(rng, 3, 3, 1, 8)]
    )
    refuse(
        "p: pooling needs an even number of rows and columns, not (3, 4, 1)",
        Network,
        (3, 4, 1),
        [Pool("p")],
    )
    refuse(
        "dense3: weights are float64, expected int8",
        Network,
        (4,),
        [Dense("dense3", np.zeros((4, 3)))],
    )
    refuse(
        "d: bias is int64 (3,), expected int32 (3,)",
        Network,
        (4,),
        [Dense("d", one.weights, np.zeros(3, np.int64))],
    )
    refuse(
        "d: shift is 48, expected an integer from 0 to 47",
        Network,
        (4,),
        [Dense("d", one.weights, None, 48)],
    )
    refuse(
        "dense3: results of 16 bits, expected 8 in front of another layer",
        Network,
        (4,),
        [dense(rng, 4, 3, bits=16), dense(rng, 3, 3)],
    )
    refuse(
        "dense3: results of 12 bits, expected 8, 16 or 32",
        Network,
        (4,),
        [dense(rng, 4, 3, bits=12)],
    )
    network = Network((4,), [one])
    refuse("5 cores, expected 1 to 4 (cores)", compile_network, network, BIG, cores=5)
    refuse(
        "3 images do not share out among 2 cores in chunks of 1",
        compile_network,
        network,
        BIG,
        cores=2,
        images=3,
    )
    refuse("mode '16', expected 64, 32, packed", compile_network, network, BIG, images=4, mode="16")
    refuse("network must be a Network, not list", compile_network, [], BIG)
    refuse(
        "results of 32 bits, this build has 16 (max_biw)",
        compile_network,
        Network((4,), [dense(rng, 4, 3, bits=32)]),
        SPACE.resolve("up5k", {"max_biw": 16}),
    )
    refuse(
        "pool: only dense layers are cut by columns",
        compile_columns,
        Network((2, 2, 1), [Pool("pool")]),
        BIG,
    )
    refuse(
        "dense300: a group of 192 x 300 does not fit what is left of the core (1 arrays of 64 "
        "x 64, 212 biases, 63 groups)",
        compile_network,
        Network((2000,), [dense(rng, 2000, 300)]),
        BIG,
        images=4,
    )
    refuse(
        "dense1100: 1100 outputs take 18 arrays side by side, expected at most 16",
        compile_network,
        Network((4,), [dense(rng, 4, 1100)]),
        BIG,
        images=4,
    )
    refuse(
        "the results: 1010 bytes of local memory are needed, there are 1008 (lmem_bytes)",
        compile_network,
        Network((1000,), [dense(rng, 1000, 10)]),
        {**BIG, "lmem_bytes": 1008},
        images=4,
    )
    refuse(
        "the input: 2000 bytes of local memory are needed, there are 1024 (lmem_bytes)",
        compile_network,
        Network((20, 20, 5), [conv(rng, 3, 3, 5, 4)]),
        {**BIG, "lmem_bytes": 1024},
        images=4,
    )
    refuse(
        "conv64: its weights do not fit what is left of the core (2 arrays of 64 x 64, 64 "
        "biases, 16 groups)",
        compile_network,
        Network((8, 8, 64), [conv(rng, 3, 3, 64, 64)]),
        SPACE.resolve("sim", {"lmem_bytes": 16384}),
        images=2,
    )
    refuse(
        "a network that ends with a map takes chunks of one image",
        compile_network,
        Network((4, 4, 1), [conv(rng, 1, 1, 1, 4)]),
        BIG,
        images=8,
        chunk=2,
    )


def test_refused_layers():
    def one(layer, shape=(4,)):
        return Network, shape, [layer]

    eye, kernel = np.eye(4, dtype=np.int8), np.ones((2, 2, 1, 1), np.int8)
    for shape in ((), (4, 4), (0,), (4.0,), 4, (True,), (2, 2, -1)):
        refuse(
            f"the shape of the input is {shape}, expected (features,) or (rows, columns, channels)",
            *one(Dense("d", eye), shape),
        )
    refuse("a network needs a layer", Network, (4,), Dense("d", eye))
    refuse(
        "layer 1 must be Dense, Conv or Pool, not <class 'str'>",
        Network,
        (4,),
        [Dense("d", eye), "d"],
    )
    refuse("d: weights must be a numpy array of int8, not list", *one(Dense("d", [[1]])))
    refuse("d: weights must be a numpy array of int8, not NoneType", *one(Dense("d", None)))
    refuse("d: bias must be a numpy array of int32, not list", *one(Dense("d", eye, [1, 2, 3, 4])))
    refuse("d: weights are (4, 0), there are none", *one(Dense("d", eye[:, :0])))
    refuse("d: weights are (), there are none", *one(Dense("d", np.array(1, np.int8))))
    for shift in (-1, 1.0, True, "3", None):
        refuse(
            f"d: shift is {shift!r}, expected an integer from 0 to 47",
            *one(Dense("d", eye, None, shift)),
        )
    refuse("d: relu is 2, expected True or False", *one(Dense("d", eye, relu=2)))
    sides = "(top, left, bottom, right)"
    for what, value, names in (
        ("padding", -1, sides),
        ("padding", (1, 1), sides),
        ("padding", 0.5, sides),
        ("stride", 0, "(rows, columns)"),
        ("stride", (1, 2, 1, 1), "(rows, columns)"),
        ("dilation", (1, 0), "(rows, columns)"),
        ("dilation", "1", "(rows, columns)"),
    ):
        refuse(
            f"c: {what} is {value}, expected a whole number from {int(what != 'padding')} on "
            f"or {names}",
            *one(Conv("c", kernel, **{what: value}), (4, 4, 1)),
        )
    refuse(
        "c: a window of 4 x 2 does not fit 3 x 4",
        *one(Conv("c", kernel, dilation=(3, 1)), (3, 4, 1)),
    )


def test_refused_builds_and_places():
    rng = np.random.default_rng(16)
    network = Network((4,), [dense(rng, 4, 3)])
    for function in (compile_network, compile_columns):
        refuse("params must be a dict of build parameters, not str", function, network, "85f")
        refuse(
            "params lack arrays, lanes",
            function,
            network,
            {k: v for k, v in BIG.items() if k not in ("arrays", "lanes")},
        )
        refuse("params have an unknown core", function, network, {**BIG, "core": 4})
        refuse("images is 0, expected an integer of at least 1", function, network, BIG, images=0)
        refuse(
            "images is 2.0, expected an integer of at least 1", function, network, BIG, images=2.0
        )
        refuse("cores is 0, expected an integer of at least 1", function, network, BIG, cores=0)
        refuse("mode 64, expected 64, 32, packed", function, network, BIG, mode=64)
        refuse(
            "gmem is -1, expected an integer from 0 to 4294967295", function, network, BIG, gmem=-1
        )
        refuse(
            "inputs is 4294967296, expected an integer from 0 to 4294967295",
            function,
            network,
            BIG,
            inputs=1 << 32,
        )
        refuse(
            "outputs is 0.5, expected an integer from 0 to 4294967295",
            function,
            network,
            BIG,
            outputs=0.5,
        )
        refuse(
            "program_at is 0x20, expected a multiple of 64", function, network, BIG, program_at=0x20
        )
        refuse(
            "the inputs, 0x0 to 0x8, and the outputs, 0x4 to 0xa, overlap",
            function,
            network,
            BIG,
            images=2,
            outputs=4,
        )
        refuse(
            "the outputs, 0xfffffffe to 0x100000001, lie past the end of 4 GiB",
            function,
            network,
            BIG,
            gmem=0xFFFF_FF00,
            outputs=0xFE,
        )
        size = len(function(network, BIG).data)
        refuse(
            f"the program, 0x0 to {size:#x}, and the inputs, 0x0 to 0x4, overlap",
            function,
            network,
            BIG,
            gmem=0,
        )
        refuse(
            f"the program, 0x40 to {size + 64:#x}, and the outputs, 0x42 to 0x45, overlap",
            function,
            network,
            BIG,
            gmem=2,
            outputs=64,
            program_at=64,
        )
    refuse("chunk is 0, expected an integer of at least 1", compile_network, network, BIG, chunk=0)
    refuse(
        "3 images do not share out among 1 cores in chunks of 2",
        compile_network,
        network,
        BIG,
        images=3,
        chunk=2,
    )
    one = Network((1,), [Dense("one", np.ones((1, 1), np.int8))])
    refuse(
        "core 0: 3200000004 instructions do not fit 4 GiB",
        compile_network,
        one,
        BIG,
        images=4 * 10**8,
        cores=1,
        mode="64",
    )
    refuse(
        "dense1100: 1100 outputs, expected at most 1024",
        compile_network,
        Network((4,), [dense(rng, 4, 1100)]),
        SPACE.resolve("85f", {"xb_cols": 256}),
    )
    wide = Network((3000,), [Dense("wide", np.ones((3000, 2), np.int8))])
    refuse(
        "mode 32: core 0, instruction 9: the instruction has no 32-bit form (its offset or "
        "immediate does not fit)",
        compile_network,
        wide,
        SPACE.resolve("85f", {"arrays": 64}),
        mode="32",
    )
    refuse(
        "dense10: 1100 inputs take sums of 32 bits, this build has 16 (max_biw)",
        compile_network,
        Network((1100,), [dense(rng, 1100, 10)]),
        SPACE.resolve("85f", {"arrays": 32, "max_biw": 16}),
    )


BAD_INPUTS = [
    (np.zeros((2, 4)), "inputs: float64 [2, 4], expected integers [{}, 4]"),
    (np.zeros((2, 4), bool), "inputs: bool [2, 4], expected integers [{}, 4]"),
    ({"x": 1}, "inputs: object [], expected integers [{}, 4]"),
    (
        [[1, 2, 3, 4], [1, 2, 3, 1 << 70]],
        "inputs[1, 3] is 1180591620717411303424, expected an integer from -128 to 127",
    ),
    ([[1, 2, 3, 4], [1, 2, 3]], "inputs: rows of several lengths, expected integers [{}, 4]"),
    ([[1, 2, 3, 4], [1, 2, 300, 4]], "inputs[1, 2] is 300, expected an integer from -128 to 127"),
    (np.full((2, 4), 128, np.uint8), "inputs[0, 0] is 128, expected an integer from -128 to 127"),
    ([[1, 2, 3, -129], [1, 2, 3, 4]], "inputs[0, 3] is -129, expected an integer from -128 to 127"),
]


@pytest.mark.parametrize("values, message", BAD_INPUTS)
def test_refused_inputs(tmp_path, values, message):
    network = Network((4,), [dense(np.random.default_rng(17), 4, 3)])
    refuse(message.format("images"), run_network, network, values)
    refuse(
        message.format(2),
        write_job,
        tmp_path,
        "bad",
        compile_network(network, BIG, images=2),
        values,
        BIG,
    )
    assert not any(tmp_path.iterdir())


def test_refused_jobs(tmp_path):
    network = Network((4,), [dense(np.random.default_rng(18), 4, 3)])
    compiled, values = compile_network(network, BIG, images=2), np.zeros((2, 4), np.int8)
    refuse(
        "inputs: int8 [8], expected integers [2, 4]",
        write_job,
        tmp_path,
        "x",
        compiled,
        values.ravel(),
        BIG,
    )
    refuse(
        "inputs: int8 [1, 4], expected integers [2, 4]",
        write_job,
        tmp_path,
        "x",
        compiled,
        values[:1],
        BIG,
    )
    refuse("inputs: int8 [4], expected integers [images, 4]", run_network, network, values[0])
    refuse(
        "inputs: int8 [2, 5], expected integers [images, 4]",
        run_network,
        network,
        np.zeros((2, 5), np.int8),
    )
    for name in ("", "a/b", 'a"', "a\n", ".x", None):
        refuse(
            f"job {name!r}: the name must be of letters, digits and _ . + - alone, and begin "
            f"with a letter, a digit or _",
            write_job,
            tmp_path,
            name,
            compiled,
            values,
            BIG,
        )
    refuse(
        "params have xb_rows = 32, the program was compiled for 64",
        write_job,
        tmp_path,
        "x",
        compiled,
        values,
        SPACE.resolve("hx8k"),
    )
    refuse(
        "params lack lanes",
        write_job,
        tmp_path,
        "x",
        compiled,
        values,
        {k: v for k, v in BIG.items() if k != "lanes"},
    )
    refuse(
        "cycles is 0, expected an integer of at least 1",
        write_job,
        tmp_path,
        "x",
        compiled,
        values,
        BIG,
        cycles=0,
    )
    refuse(
        "program_at is 0x8, expected a multiple of 64",
        write_job,
        tmp_path,
        "x",
        compiled,
        values,
        BIG,
        at=8,
    )
    at, size = compiled.inputs - 64, len(compiled.data)
    refuse(
        f"the program, {at:#x} to {at + size:#x}, and the inputs, {at + 64:#x} to "
        f"{at + 72:#x}, overlap",
        write_job,
        tmp_path,
        "x",
        compiled,
        values,
        BIG,
        at=at,
    )
    assert not any(tmp_path.iterdir())


def test_job_of_the_defaults_says_what_it_needs(tmp_path):
    """Groups, biases, local memory and widths beyond those of the smallest build, so that such a
    target refuses the job."""
    rng = np.random.default_rng(19)
    params = SPACE.resolve("85f", {"arrays": 64, "lmem_bytes": 65536})
    network = Network((1100,), [dense(rng, 1100, 30, relu=True), dense(rng, 30, 10, bits=16)])
    compiled, values = (
        compile_network(network, params, images=2),
        rng.integers(-128, 128, (2, 1100)),
    )
    job = Job.load(write_job(tmp_path, "big", compiled, values, params))
    assert job.params == {
        "xb_rows": 64,
        "xb_cols": 64,
        "cores": 2,
        "arrays": 19,
        "groups": 3,
        "bias_words": 40,
        "lmem_bytes": 2048,
        "max_biw": 32,
    }
    with open_target("model:pim?arrays=19") as target:
        result = run_job(job, target)
    assert np.array_equal(result.tensors["big_y.npy"], run_network(network, values))


def test_example_of_the_document(tmp_path, monkeypatch):
    text = (Path(__file__).resolve().parents[2] / "docs" / "cores" / "pim-software.md").read_text(
        encoding="utf-8"
    )
    names = {}
    monkeypatch.chdir(tmp_path)
    exec(text.split("```python")[1].split("```")[0], names)
    with open_target("model:pim") as target:
        result = run_job(Job.load(tmp_path / "out" / "mine.toml"), target)
    assert result.outcome.status == "done" and np.array_equal(
        result.tensors["mine_y.npy"], names["expected"]
    )
