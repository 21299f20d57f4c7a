# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's exp, log, div and pow against the golden model, without gateware; the
multiplier that they use, in simulation."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.cherry.model import special
from quintet.gateware.cores.cherry.model.arithmetic import bit_length
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.small.instructions import MACHINE, Sink
from quintet.gateware.cores.cherry.tables import ONE
from quintet.gateware.microcode.engine import MicroMachine
from quintet.gateware.microcode.program import Microprogram
from tests.gateware.cores.cherry.bench.programs import random_element
from tests.gateware.cores.cherry.oracle.micro_functions import Functions
from tests.support.simulating import simulate

GOLDEN = {
    "div": special.div,
    "pow": special.power,
    "exp": lambda x, y: special.exp(x),
    "log": lambda x, y: special.log(x),
}
_ZEROS, _ENDS = (
    (0, 0x20000, 0x001, 0x20155),
    (0x1FE00, 0x3FE00, 0x1FF00, 0x3FE01, 0x1FDFF, 0x3FDFF, 0x00200, 0x20200),
)
#: With their neighbours: ones, halves, odd and even integers, 256 and 512, the largest that exp
#: takes.
_NUMBERS = (
    0x0FE00,
    0x2FE00,
    0x0FE01,
    0x0FDFF,
    0x0FC00,
    0x2FC00,
    0x0FF00,
    0x2FF00,
    0x10000,
    0x30000,
    0x10080,
    0x10100,
    0x30100,
    0x10480,
    0x11000,
    0x11001,
    0x111FF,
    0x11200,
    0x11201,
    0x13200,
    0x10AC4,
    0x10AC8,
    0x30AB8,
    0x30AC0,
)
SPECIAL = _ZEROS + _ENDS + _NUMBERS


@pytest.fixture(scope="module")
def functions():
    return Functions(SPACE.resolve("hx8k"))


def check(functions, name, rows):
    rows = [*rows, *rows[: -len(rows) % 16]]
    x, y = (np.array(column) for column in zip(*rows, strict=True))
    want = GOLDEN[name](x, y)
    for k in range(0, len(rows), 16):
        got = functions.tile(name, x[k : k + 16].tolist(), y[k : k + 16].tolist())
        wrong = [
            (hex(a), hex(b), hex(g), hex(w))
            for a, b, g, w in zip(x[k : k + 16], y[k : k + 16], got, want[k : k + 16], strict=True)
            if g != w
        ]
        assert not wrong, (name, wrong)


def test_logarithms_are_the_tables(functions):
    for fraction, entry in enumerate(special.logt()):
        functions.set("XA", 127 << 9 | fraction)
        functions.set("XE", 127)
        functions.set("XM", (512 | fraction) << 22)
        functions.result("logarithm", "upward")
        assert functions.variable("PART") == entry


def test_powers_of_two_turn_where_the_table_has_them_turn(functions):
    """Both sides of each place where the result changes, of all 24 fraction bits of an exponent."""

    def golden(t):
        return special._expcore(np.zeros_like(t), False, t)

    below, above = (
        np.full(512, -1),
        np.full(512, 1 << 24),
    )  # the last that gives at most 1 + k/512, the first that gives more
    while (above - below).max() > 1:
        middle = below + above >> 1
        more = golden(middle) > ONE + np.arange(512)
        below, above = np.where(more, below, middle), np.where(more, middle, above)
    functions.set("SIGN", 0)
    functions.set("NEGATIVE", 0)
    for t, result in zip(
        (*below.tolist(), *above.tolist()), (*golden(below), *golden(above)), strict=True
    ):
        assert functions.result("fixed", "result", t) == result


def test_rounding_up_from_the_middle_is_enough():
    """Of all logarithms none lies in the middle between two q, or carries."""
    exponents, table = np.arange(1, 255)[:, None], special.logt()[None, :]
    v = np.abs((exponents - 127 << 32) + table)
    v = v[v > 0]
    d = bit_length(v) - 20
    middle = v & (1 << d) - 1 == 1 << d - 1
    assert d.min() > 0 and not middle.any() and ((v >> d) + (v >> d - 1 & 1) < 1 << 20).all()


@pytest.mark.parametrize("name", GOLDEN)
def test_special_values(functions, name):
    check(
        functions,
        name,
        [(x, y) for x in SPECIAL for y in (SPECIAL if name in ("div", "pow") else (0,))],
    )


@pytest.mark.parametrize("name", ["exp", "log"])
def test_every_sixty_first_element(functions, name):
    check(functions, name, [(x, 0) for x in range(0, 1 << 18, 61)])


@pytest.mark.long
@pytest.mark.parametrize("name", ["exp", "log"])
def test_every_element(functions, name):
    check(functions, name, [(x, 0) for x in range(1 << 18)])


def test_quotients(functions):
    check(
        functions,
        "div",
        [(0x0FE00 + f, 0x0FE00 + g) for f in range(0, 512, 23) for g in range(0, 512, 7)],
    )


@pytest.mark.long
def test_quotients_of_all_significands(functions):
    check(functions, "div", [(0x0FE00 + f, 0x0FE00 + g) for f in range(512) for g in range(512)])


@pytest.mark.parametrize("name, count", [("div", 500), ("pow", 3000)])
def test_random_pairs(functions, name, count):
    rnd = random.Random(name)
    check(functions, name, [(random_element(rnd), random_element(rnd)) for _ in range(count)])


@pytest.mark.long
def test_powers_of_the_specification(functions):
    """The powers whose checksum the specification gives."""
    check(
        functions,
        "pow",
        [
            ((64 * i + 7) % (1 << 18), (4096 * j + 0x135) % (1 << 18))
            for i in range(4096)
            for j in range(64)
        ],
    )


def test_products():
    rnd = random.Random(1)
    edges = (0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
    pairs = [(a, b) for a in edges for b in edges] + [
        (rnd.getrandbits(32), rnd.getrandbits(32)) for _ in range(20)
    ]
    text = "wait;" + "".join(f"ld #{a}; mul #{b}; out TABLE;" for a, b in pairs) + "wait"
    dut, got = (
        MicroMachine(
            machine=MACHINE,
            program=Microprogram(MACHINE, {"products": text}),
            beat_bytes=4,
            address_bits=18,
        ),
        [],
    )

    async def bench(ctx):
        ctx.set(dut.start, 1)
        while len(got) < len(pairs):
            await ctx.tick()
            if ctx.get(dut.sinks[Sink.TABLE]):
                got.append(ctx.get(dut.a))

    simulate(dut, bench)
    assert got == [a * b >> 32 for a, b in pairs]
