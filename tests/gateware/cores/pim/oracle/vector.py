# SPDX-License-Identifier: BSD-2-Clause
"""Vector instructions on Python integers (specification, section 4.3), and random ones that may be
sent to the unit."""

import math
from fractions import Fraction

from quintet.gateware.cores.pim.engine.commands import VectorOp
from tests.gateware.cores.pim.bench.units import Unit, byw, element, put, sat, signed

TABLE = [math.floor(math.tanh(i / 64) * 65536 + 0.5) for i in range(513)]
SAME_WIDTH = ("vvadd", "vvsub", "vvmax", "vrelu", "vmv")
TWO = ("vvadd", "vvsub", "vvmax", "vvmul", "vvdmul", "vvsll", "vvsra")
OPS = [op.name.lower() for op in VectorOp]


def tab(u):
    if u >= 1 << 19:
        return 65536
    i, f = u >> 10, u & 1023
    return TABLE[i] + (((TABLE[i + 1] - TABLE[i]) * f + 512) >> 10)


def sh(value, places):
    return value << places if places >= 0 else value >> -places


def tanh(x, fi, fo, obiw):
    t = tab(sh(abs(x), 16 - fi))
    m = t << fo - 16 if fo >= 16 else (t + (1 << 15 - fo)) >> 16 - fo
    return sat(-m if x < 0 else m, obiw)


def sigm(x, fi, fo, obiw):
    t = tab(sh(abs(x), 15 - fi))
    p = 65536 + (-t if x < 0 else t)
    return sat(((p << fo) + 65536) >> 17, obiw)


def shifted_left(a, n, obiw):
    return signed(a << n, obiw) if n < obiw else 0


def average(values, obiw):
    exact = Fraction(sum(values), len(values))
    rounded = math.floor(abs(exact) + Fraction(1, 2))
    return sat(-rounded if exact < 0 else rounded, obiw)


def vector(op, src1, src2, dst, length, operand, ibiw, obiw, fi=0, fo=0):
    """The instruction as a command of the unit and what it does to memory, captured."""
    step = byw(ibiw)
    wide = ibiw if op in SAME_WIDTH else obiw

    def apply(memory):
        count = (
            [signed(operand, 32) * k for k in range(length)]
            if op in ("vavg", "vmv")
            else range(length)
        )
        a = [element(memory, src1 + k * step, ibiw) for k in count]
        b = [element(memory, src2 + k * step, ibiw) for k in range(length)] if op in TWO else None
        n = [value & (1 << ibiw) - 1 for value in b] if b else None
        bound = signed(operand, 32)
        result = {
            "vvadd": lambda k: sat(a[k] + b[k], wide),
            "vvsub": lambda k: sat(a[k] - b[k], wide),
            "vvmax": lambda k: max(a[k], b[k]),
            "vrelu": lambda k: max(a[k], 0),
            "vmv": lambda k: a[k],
            "vvmul": lambda k: sat(a[k] * b[k], wide),
            "vvsll": lambda k: shifted_left(a[k], n[k], wide),
            "vvsra": lambda k: sat(a[k] >> min(n[k], 31), wide),
            "vrsu": lambda k: sat(min(a[k], bound), wide),
            "vrsl": lambda k: sat(max(a[k], bound), wide),
            "vtanh": lambda k: tanh(a[k], fi, fo, wide),
            "vsigm": lambda k: sigm(a[k], fi, fo, wide),
            "vvdmul": lambda k: sat(
                signed(sum(x * y for x, y in zip(a, b, strict=True)), 64), wide
            ),
            "vavg": lambda k: average(a, wide),
        }[op]
        for k, value in enumerate(
            [result(k) for k in range(1 if op in ("vvdmul", "vavg") else length)]
        ):
            put(memory, dst + k * byw(wide), value, wide)

    return Unit(
        "vector",
        {
            "op": VectorOp[op.upper()],
            "src1": src1,
            "src2": src2,
            "dst": dst,
            "len": length,
            "operand": signed(operand, 32),
            "ibiw": ibiw,
            "obiw": obiw,
            "fi": fi,
            "fo": fo,
        },
        apply,
    )


def overlap(a, size_a, b, size_b):
    return a < b + size_b and b < a + size_a


def random_vector(rng, params, op, *, longest=40, widths=None):
    """A legal instruction; every other one's destination overlaps a source where section 4.4 allows
    it."""
    size, most = params["lmem_bytes"], params["max_biw"]
    pick = (
        (lambda: rng.choice(widths))
        if widths
        else (lambda: rng.choice((rng.randrange(1, most + 1), 8, min(16, most), most)))
    )
    ibiw, obiw = pick(), pick()
    step, wide = byw(ibiw), ibiw if op in SAME_WIDTH else obiw
    while True:
        length = rng.choice((1, 2, 3, rng.randrange(1, longest)))
        operand = rng.choice(
            (
                rng.randrange(-4, 5),
                rng.getrandbits(32),
                rng.randrange(-200, 200),
                1 << rng.randrange(31),
            )
        )
        if op in ("vavg", "vmv"):
            operand = rng.choice((0, 1, 1, -1, rng.randrange(-5, 6)))
        low = min(0, operand * (length - 1) * step) if op in ("vavg", "vmv") else 0
        span = (abs(operand) * (length - 1) + 1) * step if op in ("vavg", "vmv") else length * step
        written = byw(wide) * (1 if op in ("vvdmul", "vavg") else length)
        src1, src2 = (rng.randrange(size) for _ in range(2))
        dst = rng.randrange(size)
        if rng.random() < 0.5 and op != "vmv":
            dst = rng.choice((src1, src2)) - rng.choice((0, 0, 1, 2, step, rng.randrange(8)))
        if not (
            0 <= src1 + low
            and src1 + low + span <= size
            and 0 <= src2 <= size - length * step
            and 0 <= dst <= size - written
        ):
            continue
        sources = [(src1 + low, span, src1)] + ([(src2, span, src2)] if op in TWO else [])
        if op not in ("vvdmul", "vavg") and any(
            overlap(dst, written, at, reach) and (op == "vmv" or dst > begin or byw(wide) > step)
            for at, reach, begin in sources
        ):
            continue
        return vector(
            op,
            src1,
            src2,
            dst,
            length,
            operand,
            ibiw,
            obiw,
            rng.choice((0, 16, 31, rng.randrange(32))),
            rng.choice((0, 15, 31, rng.randrange(32))),
        )
