# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's layouts and program words; networks of dense layers, of any shape, with and without
ext_norm, on the golden model against plain numpy."""

import random

import numpy as np
import pytest

from quintet.firmware.opentpu.jobs import Layer, Network
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.compiler.backends.opentpu.codegen.batches import product_order
from quintet.tools.compiler.backends.opentpu.codegen.program import Program, Word, array_time
from quintet.tools.compiler.backends.opentpu.layout import (
    pack_matrix,
    pack_weights,
    unpack_matrix,
    unpack_weights,
)
from quintet.tools.compiler.backends.opentpu.lower import compile_batches
from quintet.tools.compiler.backends.opentpu.steps import Steps
from quintet.tools.compiler.builder import Net
from quintet.tools.compiler.common.inputs import KernelError
from quintet.tools.compiler.graph import Concat
from quintet.tools.compiler.values import from_graph, to_graph
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.opentpu_networks import (
    backend_of,
    differences,
    fused,
    quantised_of,
    run_model,
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


def test_array_time():
    def mmc(count, switch):
        return Word(ISA.opcodes["MMC"], int(switch), count & 255)

    assert array_time([mmc(240, True)] * 20, 8) == 4820
    assert array_time([mmc(12, True)] * 64, 8) == 64 * 19
    assert array_time([mmc(4, True), mmc(4, False), mmc(256, False)], 8) == 5 + 5 + 257


# Order of products


def test_product_order():
    def order(arrival, blocks, slots):
        return list(product_order([arrival] * blocks, slots))

    assert order([0, 0], 3, 2) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert order([0, 9], 3, 2) == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
    # Blocks of different terms: a tile of zeros is left out. The third has the first one's slot.
    assert list(product_order([[0, 9], [0], [0]], 2)) == [(0, 0), (0, 1), (1, 0), (0, 2)]
    rng = random.Random(1)
    for _ in range(50):
        down, across, slots = rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 4)
        arrival = sorted(rng.choice((0, 1, 5)) * k for k in range(down))
        found = order(arrival, across, slots)
        assert sorted(found) == [(k, j) for k in range(down) for j in range(across)]
        begun, ended = set(), set()
        for k, j in found:
            begun.add(j)
            ended |= {j} if k == down - 1 else set()
            assert len(begun - ended) <= slots
            assert max(begun) - min({*range(across)} - ended, default=across) < slots + (j in ended)


def test_a_slot_is_taken_when_its_block_is_complete():
    pick = random.Random(2)
    for _ in range(200):
        arrival = [
            [pick.choice((0, 1, 5, 40)) for _ in range(pick.randint(1, 4))]
            for _ in range(pick.randint(1, 12))
        ]
        slots, held = pick.randint(1, 5), {}
        order = list(product_order(arrival, slots))
        assert sorted((j, k) for k, j in order) == [
            (j, k) for j, terms in enumerate(arrival) for k in range(len(terms))
        ]
        for k, j in order:
            assert held.setdefault(j % slots, j) == j
            if k == len(arrival[j]) - 1:
                del held[j % slots]


# Networks, batch by batch

#: Builds without ext_norm: low bytes, and normalisations that are wired in.
WIRED = (0, 0, 0x0_0003, 0x0_0107, 0x1_0006, 0x1_0107)


def dense_network(pick, n):
    """A random network of dense layers, whose sizes are beside multiples of ``n``."""
    sizes = [
        max(1, n * pick.randint(0, 5) + pick.choice((-1, 0, 1))) for _ in range(pick.randint(2, 5))
    ]
    builder = Builder("dense", (sizes[0],), pick.randint(0, 1 << 30))
    for width in sizes[1:]:
        builder.dense(width, relu=pick.choice((True, False)), bias=pick.choice((True, False)))
    return fused(builder.finish())


@pytest.mark.parametrize("seed", range(60))
def test_network(seed):
    """The golden model gives what the reference gives, with and without ext_norm, for one input,
    several, and many batches."""
    pick = random.Random(seed)
    norm, n = seed % 3 == 0, pick.choice((2, 4, 8, 12))
    backend = backend_of(
        "sim" if pick.random() < 0.7 else "up5k-4x4",
        n=n,
        ub_rows=pick.choice((64, 256, 512, 4096)),
        acc_rows=pick.choice((64, 256)),
        wfifo_tiles=pick.choice((1, 2, 4)),
        ext_norm=norm,
        norm_reset=0 if norm else pick.choice(WIRED),
    )
    graph, images = dense_network(pick, n), pick.choice((1, 2, 5, 33, 70, 150))
    assert all(backend.check_support(graph, node).runs for node in graph.nodes)
    keep = pick.choice((True, False))
    bad, tensors, lowered = differences(graph, backend, seed=seed, keep=keep, images=images)
    assert not bad and lowered.images == images
    assert not keep or {node.output for node in graph.nodes} <= set(tensors)
    assert sum(layer.macs for layer in lowered.layers) == sum(map(graph.macs, graph.nodes))


@pytest.mark.parametrize("seed", range(12))
def test_output_blocks_that_want_different_inputs(seed):
    """A join wants of each output block's inputs only those that lie in it."""
    pick = random.Random(seed)
    n = pick.choice((4, 8, 12))
    backend = backend_of("sim", n=n, acc_rows=pick.choice((64, 128, 1024)), ub_rows=4096)
    builder = Builder("joined", (pick.randint(3 * n, 7 * n),), seed)
    parts = [builder.here] * pick.randint(2, 4)
    builder.add(Concat, *parts, axis=0)
    images = pick.choice((40, 64, 150))
    bad, _, _ = differences(fused(builder.finish()), backend, seed=seed, images=images)
    assert not bad


@pytest.mark.parametrize("seed", range(12))
def test_jobs_of_integer_weights(seed):
    """Plain numpy gives what the golden model gives for a network of integer weights."""
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    params = SPACE.resolve(pick.choice(("sim-plain", "sim", "up5k-4x4")))
    sizes = [pick.randint(1, 40) for _ in range(pick.randint(2, 4))]
    layers = [
        Layer(rng.integers(-128, 128, shape).astype(np.int8), relu=pick.choice((True, False)))
        for shape in zip(sizes, sizes[1:], strict=False)
    ]
    inputs = rng.integers(-128, 128, (pick.randint(1, 90), sizes[0])).astype(np.int8)
    network = Network(layers, params)
    lowered = network.lower(len(inputs))
    tensors, outcome = run_model(lowered, network.backend, {"0": inputs})
    assert outcome.status == "done", outcome.fault
    values = inputs
    for layer in layers:
        sums = values.astype(np.int64) @ layer.weights.astype(np.int64)
        values = (np.maximum(sums, 0) if layer.relu else sums).astype(np.int8)
    assert np.array_equal(tensors[network.output], values)


@pytest.mark.parametrize("images", [1, 2, 150])
def test_inputs_that_exceed_the_unified_buffer_do_not_go_by_batches(images):
    backend = backend_of("sim-plain", ub_rows=64, norm_reset=WIRED[0])
    builder = Builder("dense", (400,))
    builder.dense(4)
    graph = fused(builder.finish())
    bad, _, lowered = differences(graph, backend, images=images)
    assert not bad and lowered.images == images
    made = Steps(quantised_of(graph, backend), backend.params, swap=False, images=images)
    with pytest.raises(KernelError, match="the vectors of one input do not fit the unified buffer"):
        compile_batches(
            made.steps,
            made.planes,
            inputs=["input_0"],
            stored={made.steps[-1].target},
            params=backend.params,
            bandwidth=2.0,
            shared=False,
        )


@pytest.mark.parametrize("seed, images", [(0, 1), (1, 3), (2, 40), (3, 100)])
def test_random_networks_on_a_virtual_board(seed, images):
    """What the quantiser makes of real weights, on a board without ext_norm: reference, golden
    model and virtual board agree."""
    rng, pick = np.random.default_rng(seed), random.Random(seed)
    net = Net("dense")
    width = pick.choice((3, 8, 21))
    x = net.input("x", (width,))
    inputs = rng.normal(0, 1, (images + 2, width)).astype(np.float32)
    for number in range(pick.randint(2, 4)):
        weights = rng.normal(0, 1, (width, pick.choice((4, 5, 15, 32)))) / np.sqrt(width)
        width = weights.shape[1]
        bias = rng.normal(0, 0.1, width) if pick.choice((True, False)) else None
        x = net.dense(x, weights, bias, activation="relu" if number % 2 == 0 else None)
    net.output(x, "y")
    compiled = net.compile("sim:icebreaker/opentpu", calibration=inputs, images=images)
    [step] = compiled.plan.core_steps
    assert step.lowered.images == images and not step.lowered.params["ext_norm"]
    found = []
    for target in (None, "model:opentpu?preset=up5k-4x4"):
        with compiled.open(target) as session:
            found.append(session(inputs))
    [source], [result] = step.part.graph.inputs, step.part.graph.outputs
    scales = step.part.scales
    whole = {source.tensor: scales[source.tensor].quantise(to_graph(source, inputs))}
    wanted = compiled.plan.backend().reference(step.part, whole)[result.tensor]
    wanted = from_graph(result, scales[result.tensor].value(wanted))
    assert all(np.allclose(one, wanted, rtol=1e-6, atol=0) for one in found)
    assert len(np.unique(wanted)) > 5


@pytest.mark.parametrize("norm_reset", sorted(set(WIRED)))
@pytest.mark.parametrize("preset", ["sim-plain", "up5k-4x4", "sim-ext"])
def test_convolutions_and_steps_that_are_dense_layers(preset, norm_reset):
    """A window over the whole map, windows of one position, dense layers step by step."""
    backend = backend_of(preset, ext_norm=False, norm_reset=norm_reset)
    maps = Builder("maps", (3, 4, 5), 1)
    maps.conv(7, (1, 1), relu=True)
    maps.conv(9, (3, 4), relu=True, padding=(0, 0, 0, 0))
    maps.dense(6)
    sequence = Builder("steps", (5, 7), 2)
    sequence.dense(9, relu=True, steps=True)
    sequence.dense(4, steps=True)
    for number, builder in enumerate((maps, sequence)):
        graph = fused(builder.finish())
        assert all(backend.check_support(graph, node).runs for node in graph.nodes)
        for keep in (True, False):
            bad, tensors, _ = differences(graph, backend, seed=number, keep=keep)
            assert not bad and tensors


@pytest.mark.parametrize(
    "layer",
    [
        lambda b: b.conv(4, (2, 2)),
        lambda b: b.conv(4, (1, 1), padding=(0, 1, 0, 0)),
        lambda b: b.conv(4, (1, 1), stride=(2, 1)),
        lambda b: b.act("relu"),
        lambda b: (b.dense(4), b.act("leaky", alpha=0.1)),
        lambda b: b.global_average(),
    ],
)
def test_layers_that_need_a_shift_of_their_own(layer):
    builder, backend = Builder("map", (3, 4, 5)), backend_of("up5k-4x4")
    layer(builder)
    graph = fused(builder.finish())
    found = backend.check_support(graph, graph.nodes[-1])
    assert found.answer == "host" and "needs a shift of its own after its sums" in found.reason
    assert backend_of("sim-ext").check_support(graph, graph.nodes[-1]).runs
