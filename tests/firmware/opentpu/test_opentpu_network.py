# SPDX-License-Identifier: BSD-2-Clause
"""Layouts, program words, and networks of any shape on the golden model against plain numpy."""

import random

import numpy as np
import pytest

from quintet.firmware.opentpu.network import Layer, Network, NetworkError, product_order
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.compiler.backends.opentpu.codegen.program import Program, Word, array_time
from quintet.tools.compiler.backends.opentpu.layout import (
    pack_matrix,
    pack_weights,
    unpack_matrix,
    unpack_weights,
)

# Layout (section 7.1)


@pytest.mark.parametrize("n", [4, 8, 12])
@pytest.mark.parametrize("rows, columns", [(1, 1), (5, 8), (7, 13), (3, 24)])
def test_layout_round_trips(n, rows, columns):
    matrix = np.random.default_rng(rows).integers(-128, 128, (rows, columns)).astype(np.int8)
    vectors = pack_matrix(matrix, n)
    assert vectors.shape == (-(-columns // n) * rows, n) and vectors.dtype == np.int8
    assert np.array_equal(unpack_matrix(vectors, rows, columns), matrix)
    tiles = pack_weights(matrix, n)
    assert tiles.shape == (-(-rows // n) * -(-columns // n), n, n)
    assert np.array_equal(unpack_weights(tiles, rows, columns), matrix)


def test_layout_is_that_of_the_specification():
    matrix = np.arange(3 * 6, dtype=np.int8).reshape(3, 6)
    # Block 1 is three vectors of columns 4 and 5, padded with zeros.
    assert pack_matrix(matrix, 4)[3:].tolist() == [[4, 5, 0, 0], [10, 11, 0, 0], [16, 17, 0, 0]]
    tiles = pack_weights(np.arange(6 * 5, dtype=np.int8).reshape(6, 5), 4)
    assert len(tiles) == 4 and tiles[1].tolist() == [
        [4, 0, 0, 0],
        [9, 0, 0, 0],
        [14, 0, 0, 0],
        [19, 0, 0, 0],
    ]
    assert tiles[2][:2].tolist() == [[20, 21, 22, 23], [25, 26, 27, 28]] and not tiles[2][2:].any()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: pack_matrix(np.zeros(4), 4), "matrix must be a matrix"),
        (lambda: pack_weights(np.zeros((0, 4)), 4), "weights must"),
        (lambda: unpack_matrix(np.zeros((5, 4)), 2, 8), "2 x 8 takes 4 vectors of 4, not 5"),
        (lambda: unpack_weights(np.zeros((3, 4, 4)), 8, 8), "8 x 8 takes 4 tiles of 4 x 4, not 3"),
        (lambda: unpack_weights(np.zeros((3, 4, 5)), 8, 8), "tiles must be of shape"),
    ],
)
def test_layout_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Words


def test_text_assembles_to_the_same_words():
    program = Program()
    program.rhm(5, 6, 300)
    program.rw(77)
    for flags in range(8):
        program.mmc(
            1, 2, 256, switch=bool(flags & 1), overwrite=bool(flags & 2), convolve=bool(flags & 4)
        )
    for func in range(4):
        program.act(3, 4, 9, func, pool=bool(func & 1))
    program.act(3, 4, 9, "relu")
    program.act(3, 4, 9, "sigmoid")
    program.cfg("pool", 0x10011)
    program.sync()
    program.sync(9, interrupt=True)
    program.nop(2)
    program.whm(1, 2, 3)
    program.hlt()
    assert assemble_text(SOFTWARE, program.text("a comment\nof two lines")).data == program.data()


def test_golden_words():
    program = Program()
    program.mmc(1, 2, 3, switch=True, overwrite=True, convolve=True)
    program.rhm(0x123456789, 0xFFF, 256)
    assert program.data().hex() == "0307030000000000000002000001" + "0600000000000123456789000fff"


def test_tiles_are_asked_for_ahead():
    program = Program()
    for k in range(5):
        program.mmc(0, 0, 9, tile=10 + k)
    with pytest.raises(ValueError, match=r"call scheduled\(\) first"):
        program.data()
    words = program.scheduled(2).words
    assert [w.addr if w.opcode == ISA.opcodes["RW"] else "M" for w in words] == [
        10,
        11,
        12,
        "M",
        13,
        "M",
        14,
        "M",
        "M",
        "M",
    ]
    assert all(w.flags & 1 for w in words if w.opcode == ISA.opcodes["MMC"])
    with pytest.raises(ValueError, match="MMC: length must be 1 to 256, not 300"):
        program.mmc(0, 0, 300)


def test_more_tiles_are_asked_for_in_front_of_a_transfer():
    program = Program()
    for k in range(4):
        program.mmc(0, 0, 9, tile=10 + k)
        program.rhm(0, 9 * k, 9)
    names = {number: name for name, number in ISA.opcodes.items()}
    order = [
        w.addr if names[w.opcode] == "RW" else names[w.opcode][0]
        for w in program.scheduled(1, 2).words
    ]
    assert order == [10, 11, "M", 12, 13, "R", "M", "R", "M", "R", "M", "R"]


def test_builds_with_one_transfer_at_a_time_are_told_apart():
    layers = [Layer(np.ones((8, 8), np.int8), "relu")]
    assert Network(layers, SPACE.resolve("up5k-4x4")).beside == 1
    assert Network(layers, SPACE.resolve("85f-8x8")).beside == 0


def test_array_time():
    def mmc(count, switch):
        return Word(ISA.opcodes["MMC"], int(switch), count & 255)

    assert array_time([mmc(240, True)] * 20, 8) == 4820
    assert array_time([mmc(12, True)] * 64, 8) == 64 * 19
    assert array_time([mmc(4, True), mmc(4, False), mmc(256, False)], 8) == 5 + 5 + 257


# Order of products


def test_product_order():
    assert product_order([0, 0], 3, 2) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert product_order([0, 9], 3, 2) == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
    rng = random.Random(1)
    for _ in range(50):
        down, across, slots = rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 4)
        order = product_order(sorted(rng.choice((0, 1, 5)) * k for k in range(down)), across, slots)
        assert sorted(order) == [(k, j) for k in range(down) for j in range(across)]
        begun, ended = set(), set()
        for k, j in order:
            begun.add(j)
            ended |= {j} if k == down - 1 else set()
            assert len(begun - ended) <= slots
            assert max(begun) - min({*range(across)} - ended, default=across) < slots + (j in ended)


# Networks


def apply(layers, values):
    for layer in layers:
        values = values.astype(np.int64) @ layer.weights.astype(np.int64)
        if layer.norm is not None:
            values = (values + (1 << (layer.norm & 31) >> 1)) >> (layer.norm & 31)
        if layer.func == "relu":
            values = np.maximum(values, 0)
        if layer.norm is not None:
            values = np.clip(values, -128, 127)
        values = values.astype(np.int8)
    return values


@pytest.mark.parametrize("seed", range(40))
def test_network(seed):
    rng = np.random.default_rng(seed)
    pick = random.Random(seed)
    overrides = {
        "n": pick.choice((2, 4, 8, 12)),
        "ub_rows": pick.choice((256, 512, 4096)),
        "acc_rows": pick.choice((64, 256)),
        "wfifo_tiles": pick.choice((1, 2, 4)),
    }
    params = SPACE.resolve("sim", overrides)
    sizes = [pick.randint(1, 40) for _ in range(pick.randint(2, 4))]
    layers = [
        Layer(
            rng.integers(-128, 128, shape).astype(np.int8),
            pick.choice(("relu", "none")),
            pick.choice((None, None, 0x10106)),
        )
        for k, shape in enumerate(zip(sizes[:-1], sizes[1:], strict=True))
    ]
    rows = pick.randint(1, 60)
    try:
        network = Network(
            layers,
            params,
            batch=pick.choice((None, pick.randint(1, 40))),
            bandwidth=pick.choice((0.5, 1.8, 8)),
        )
        program = network.program(rows)
    except NetworkError as error:
        assert "batch" in str(error)
        return
    matrix = rng.integers(-128, 128, (rows, sizes[0])).astype(np.int8)
    n, data, vectors = params["n"], program.data(), network.pack_inputs(matrix)
    host = -(-len(data) // 64) * 64
    results = host + vectors.size
    limit = results + network.output_vectors(rows) * n
    weights = -(-limit // 64) * 64
    memory = np.full(weights + network.tiles.size + 64, 0x55, np.uint8)
    memory[: len(data)] = np.frombuffer(data, np.uint8)
    memory[host:results] = vectors.view(np.uint8).ravel()
    memory[weights : weights + network.tiles.size] = network.tiles.view(np.uint8).ravel()
    outcome = Model(params, memory).run(
        {
            "program_length": len(data),
            "hostmem_base": host,
            "hostmem_limit": limit,
            "weights_base": weights,
            "weights_limit": weights + network.tiles.size,
        }
    )
    assert outcome.status == "done", outcome.fault
    outputs = network.unpack_outputs(memory[results:limit].view(np.int8).reshape(-1, n), rows)
    assert np.array_equal(outputs, apply(layers, matrix))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"weights": np.zeros((4, 4))}, "layer 0: weights must be an int8 matrix"),
        (
            {"weights2": np.zeros((9, 4), np.int8)},
            "layer 1 takes 9 inputs, the layer before it gives 4",
        ),
        ({"batch": 0}, "batch must be 1 to 256, not 0"),
        ({"batch": 256}, "a batch of 256 takes 512 rows of the unified buffer, which has 256"),
    ],
)
def test_network_refuses(change, message):
    layers = [Layer(change.get("weights", np.zeros((4, 4), np.int8)))]
    if "weights2" in change:
        layers.append(Layer(change["weights2"]))
    with pytest.raises(NetworkError, match=message):
        Network(layers, SPACE.resolve("sim-plain"), batch=change.get("batch"))


def test_batch_larger_than_the_accumulators():
    network = Network([Layer(np.zeros((4, 4), np.int8))], SPACE.resolve("sim-plain"), batch=100)
    with pytest.raises(NetworkError, match="a batch of 100 does not fit 64 accumulator rows"):
        network.program(100)
