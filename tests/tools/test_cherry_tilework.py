# SPDX-License-Identifier: BSD-2-Clause
"""Loop nests over views: sums of products, reduces and chains on the golden model against numpy,
their programs, their estimated cycles."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.cherry.image import Step, image_bytes, list_bytes
from quintet.gateware.cores.cherry.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text, disassemble
from quintet.tools.compiler.backends.cherry import arithmetic
from quintet.tools.compiler.backends.cherry.codegen.nests import (
    Nests,
    Program,
    TooLarge,
    programs,
)
from quintet.tools.compiler.backends.cherry.codegen.tilework import (
    Costs,
    Products,
    View,
    chain,
    products,
    reduce,
)
from quintet.tools.compiler.backends.cherry.cost import program_cycles
from quintet.tools.compiler.common.inputs import KernelError

PARAMS = SPACE.resolve("85f")
COSTS = Costs(PARAMS["macs"], PARAMS["banks"])
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))
NAN = 0x1FF00


def run(nests, held, contexts=16):
    """Elements of the scratchpad (float64) after the nests' programs; ``held``: address -> numbers
    that lie there before, NaN elsewhere."""
    params = SPACE.resolve("85f", {"contexts": contexts})
    made = programs(nests.bodies, imem=params["imem"])
    data = list_bytes([(image_bytes(program.image), Step(0), [], []) for program in made])
    # The words are legal for this build, and the listing gives the same list.
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, data), params=params).data == data
    model = Model(params, np.zeros(1 << 16, np.uint8), shuffle=3)
    model.mem[:] = NAN
    for address, numbers in held.items():
        numbers = np.ravel(numbers)
        model.mem[address : address + numbers.size] = arithmetic.bits(numbers)
    model.memory[: len(data)] = np.frombuffer(data, np.uint8)
    assert model.run({"program_address": 0, "program_length": len(data)}).status == "done"
    return (model.mem << 14).astype(np.uint32).view(np.float32).astype(np.float64)


def numbers(seed, *shape):
    return arithmetic.to_element(np.random.default_rng(seed).normal(0, 1, shape))


def lying(address, shape, room=0):
    """A view in C order, ``room`` elements between its pixels."""
    pitch = shape[2] + room
    return View(address, shape, (shape[1] * pitch, pitch, 1))


def read(mem, view):
    rows, columns, channels = np.ogrid[tuple(slice(n) for n in view.shape)]
    return mem[
        view.address
        + rows * view.strides[0]
        + columns * view.strides[1]
        + channels * view.strides[2]
    ]


@settings(max_examples=15, deadline=None)
@given(
    shape=SHAPES,
    inner=st.integers(1, 9),
    contexts=st.sampled_from([1, 4, 16]),
    seed=st.integers(0, 99),
)
def test_products_by_weights_in_tiles(shape, inner, contexts, seed):
    rows, columns, channels = shape
    source, weights, bias = (
        numbers(seed, rows, columns, inner),
        numbers(seed + 1, inner, channels),
        numbers(seed + 2, channels),
    )
    fours, blocks = -(-inner // 4), -(-channels // 4)
    tiles = np.zeros((4 * fours, 4 * blocks))
    tiles[:inner, :channels] = weights
    tiles = tiles.reshape(fours, 4, blocks, 4).transpose(0, 2, 1, 3)
    out = lying(4000, shape, -channels % 4)
    nests = Nests(contexts)
    products(
        nests,
        COSTS,
        "matmul",
        out,
        Products(
            lying(0, (rows, columns, inner)),
            View(1000, (1, inner, channels), (0, 4, 1)),
            16,
            (),
            inner,
            16 * blocks,
        ),
        View(2000, (1, 1, channels), (0, 0, 1)),
        ["copy INPUT, ACC", "relu"],
    )
    found = read(
        run(nests, {0: source, 1000: tiles, 2000: np.pad(bias, (0, -channels % 4))}, contexts), out
    )
    acc = np.broadcast_to(bias, shape)
    for first in range(0, inner, 4):
        acc = arithmetic.accumulate(
            acc, source[..., None, first : first + 4], weights[first : first + 4].T
        )
    assert (found == arithmetic.relu(acc)).all()


@settings(max_examples=15, deadline=None)
@given(
    shape=SHAPES,
    size=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.integers(1, 2),
    contexts=st.sampled_from([4, 16]),
    seed=st.integers(0, 99),
)
# Its four regions have loops of nine lengths, one more than a program has records.
@example(shape=(5, 5, 9), size=(2, 1), stride=1, contexts=4, seed=0)
def test_products_channel_by_channel(shape, size, stride, contexts, seed):
    rows, columns, channels = shape
    wide = 4 * -(-channels // 4)
    high, across = ((n - 1) * stride + k for n, k in zip(shape[:2], size, strict=True))
    source, weights = numbers(seed, high, across, channels), numbers(seed + 1, *size, wide)
    where = lying(0, source.shape)
    strided = View(0, shape, (stride * where.strides[0], stride * where.strides[1], 1))
    out = lying(8000, shape)
    nests = Nests(contexts)
    products(
        nests,
        COSTS,
        "mulacc",
        out,
        Products(
            strided,
            View(6000, (1, 1, channels), (0, 0, 1)),
            4,
            ((size[0], where.strides[0], size[1] * wide), (size[1], where.strides[1], wide)),
        ),
        View(7000, (1, 1, 1), (0, 0, 0)),
        [],
        whole=False,
    )
    found = read(run(nests, {0: source, 6000: weights, 7000: [0.5]}, contexts), out)
    acc = np.full(shape, 0.5)
    for y in range(size[0]):
        for x in range(size[1]):
            under = source[
                y : y + (rows - 1) * stride + 1 : stride,
                x : x + (columns - 1) * stride + 1 : stride,
            ]
            acc = arithmetic.accumulate(acc, under[..., None], weights[y, x, :channels, None])
    assert (found == acc).all()


@settings(max_examples=15, deadline=None)
@given(
    shape=SHAPES,
    window=st.tuples(st.integers(1, 3), st.integers(1, 6)),
    function=st.sampled_from(["max", "sum"]),
    seed=st.integers(0, 99),
)
def test_reduces_of_windows(shape, window, function, seed):
    rows, columns, channels = shape
    source = numbers(seed, rows + window[0] - 1, columns + window[1] - 1, channels)
    where, out = lying(0, source.shape), lying(8000, shape)
    start = -np.inf if function == "max" else 0.0
    nests = Nests(16)
    reduce(
        nests,
        function,
        out,
        View(0, shape, where.strides),
        (window[0], where.strides[0]),
        (window[1], where.strides[1]),
        View(7000, (1, 1, 1), (0, 0, 0)),
        [],
    )
    found = read(run(nests, {0: source, 7000: [start]}), out)
    acc = np.full(shape, start)
    for y in range(window[0]):
        for first in range(0, window[1], 4):
            terms = np.stack(
                [
                    source[y : y + rows, x : x + columns]
                    for x in range(first, min(first + 4, window[1]))
                ],
                -1,
            )
            acc = (
                np.maximum(acc, terms.max(-1))
                if function == "max"
                else arithmetic.accumulate(acc, terms, np.ones(terms.shape[-1]))
            )
    assert (found == acc).all()


@settings(max_examples=15, deadline=None)
@given(
    shape=SHAPES,
    order=st.permutations(range(3)),
    contexts=st.sampled_from([1, 16]),
    seed=st.integers(0, 99),
)
def test_chains_read_other_orders_and_repeat(shape, order, contexts, seed):
    given_shape = tuple(shape[axis] for axis in np.argsort(order))
    x, y = numbers(seed, *given_shape), numbers(seed, shape[2])
    nests = Nests(contexts)
    out = lying(8000, shape)
    chain(
        nests,
        out,
        [
            ("INPUT", lying(0, given_shape).ordered(order)),
            ("WEIGHTS", View(4000, (1, 1, shape[2]), (0, 0, 1))),
            "sub",
        ],
    )
    found = read(run(nests, {0: x, 4000: y}, contexts), out)
    assert (found == arithmetic.subtract(x.transpose(order), y)).all()


def test_nests_share_records_and_units():
    nests = Nests(16)
    for _ in range(3):
        nests.begin()
        with nests.ordered(5) as outer, nests.independent(4) as inner:
            nests.move("load", "INPUT", 0, 4, 1, [(outer, 16), (inner, 80)])
            nests.move("store", "INPUT", 1000, 4, 1, [(outer, 16), (inner, 80)])
    source = Program(nests.bodies, imem=256)
    assert (source.loops, source.units, source.instructions) == (2, 2, 18)
    assert source.image.contexts == 4


@pytest.mark.parametrize(
    "what, imem, message",
    [
        ("loops", 256, "a program takes 9 loop records, there are 8"),
        ("units", 256, "a program takes 33 address units, there are 32"),
        ("imem", 16, "a program takes 33 instructions, there are 16"),
    ],
)
def test_what_no_program_holds_is_refused(what, imem, message):
    nests = Nests(16)
    nests.begin()
    for k in range(9 if what == "loops" else 33):
        if what == "loops":
            with nests.ordered(k + 2):
                nests.part("zero ACC")
        else:
            nests.move("load", "INPUT", 16 * k if what == "units" else 0, 4, 1)
    with pytest.raises(TooLarge, match=message):
        Program(nests.bodies, imem=imem)


def test_bodies_are_divided_among_as_few_programs_as_hold_them():
    nests = Nests(16)
    for k in range(10):
        nests.begin()
        with nests.ordered(k + 2):
            nests.part("zero ACC")
    made = programs(nests.bodies, imem=256)
    assert [source.loops for source in made] == [8, 2]
    with pytest.raises(TooLarge, match="a program takes 3 instructions, there are 2"):
        programs(nests.bodies, imem=2)


def test_more_iterations_side_by_side_than_contexts_are_refused():
    with (
        pytest.raises(KernelError, match="17 iterations side by side, there are 16 contexts"),
        Nests(16).independent(17),
    ):
        pass


def test_loops_of_many_iterations_are_estimated_from_a_few():
    def cycles(rows):
        nests = Nests(16)
        products(
            nests,
            COSTS,
            "matmul",
            lying(0, (rows, 64, 4)),
            Products(
                lying(20_000, (rows, 64, 16), 4), View(0, (1, 16, 4), (0, 4, 1)), 16, (), 16, 16
            ),
            View(0, (1, 1, 4), (0, 0, 1)),
            [],
        )
        return program_cycles(nests.bodies, PARAMS, COSTS)

    few, more, many = cycles(16), cycles(32), cycles(160)
    # 16 tiles by 4 steps of two cycles at least, and nearly so.
    assert 16 * 16 * 4 * 2 <= few <= 1.8 * 16 * 16 * 4 * 2
    assert many - few == pytest.approx(9 * (more - few), rel=0.01)
