# SPDX-License-Identifier: BSD-2-Clause
"""Directed PIM programs: the cases that section 11 of the specification demands. Made for any
build."""

import random

import numpy as np

from quintet.firmware.pim.measure.case import make_case
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.cores.pim.storage import narrow
from quintet.gateware.isa.asm.assembler import Assembler
from tests.gateware.cores.pim.bench.programs import MEMORY

__all__ = ["GROUPS", "directed_cases"]

_BASE, _AT, _DUMP = MEMORY // 2, 0x400, 0x4000
_MEMORY = np.frombuffer(random.Random("directed").randbytes(MEMORY), np.uint8)


def words_of(text):
    """The words of a text, without the checks of a whole program."""
    assembler = Assembler(SOFTWARE)
    assembler.read_text(text, "directed")
    return [item.word for item in assembler.section.items]


class _Maker:
    """Makes cases for one build."""

    def __init__(self, params):
        self.params, self.lmem, self.most = params, params["lmem_bytes"], params["max_biw"]
        self.cases = []

    def case(self, name, *texts, groups=(), dump=True, registers=None, **core):
        """A case of one program a core; each stores its local memory out at the end."""
        if len(texts) > self.params["cores"]:
            return
        cores, words = [], []
        for number, text in enumerate(texts):
            own = words_of(text) if isinstance(text, str) else list(text)
            if dump:
                own += words_of(self.dump(number))
            cores.append(
                CoreProgram(groups=list(groups[number] if number < len(groups) else ()), **core)
            )
            words += [(number, word) for word in own]
        image = Image(cores, self.params["xb_rows"], self.params["xb_cols"], _BASE, 0)
        self.cases.append(make_case(name, self.params, image, words, _MEMORY, _AT, registers))

    def dump(self, number, most=4096):
        size, lines = min(self.lmem, most), []
        for at in range(0, size, 2000):
            lines.append(
                f"gaddr $30, {_DUMP + number * 4096 + at}\nsldi $29, {at}\nst $30, $29, "
                f"{min(2000, size - at)}"
            )
        return "\n".join(lines)

    def fill(self, size=600):
        """Random bytes from global memory to local address 0."""
        return f"gaddr $30, 0\nsldi $29, 0\nld $29, $30, {size}\n"


def scalar(m):
    m.case(
        "wrap",
        "sldi $1, 0x7fffffff\nsaddi $2, $1, 1\nsldi $3, -1\nsmul $4, $3, $3\nsaddi $5, $3, -1\n"
        "sadd $6, $1, $1\n"
        "ssub $7, $0, $1\nsmuli $8, $1, -3\nsmul $9, $1, $2\nmov $10, $9\nsadd $10, $10, $10\n"
        "sadd $10, $10, $10",
    )
    m.case("sld", "gaddr $2, 16\n" + "\n".join(f"sld ${4 + k}, $2, {k - 3}" for k in range(8)))
    m.case(
        "sld after st",
        m.fill()
        + "gaddr $2, 100\nsldi $4, 8\n"
        + "\n".join(f"st $2, $4, {n}, @{n}:1\nsld ${5 + n}, $2, {n % 3 - 1}" for n in range(1, 9)),
    )
    m.case(
        "chains of immediates",
        "\n".join(f"saddi $1, $1, {k * 12345}\nsmuli $1, $1, {2 * k + 1}" for k in range(40)),
    )


def widths(m):
    legal = [b for b in (1, 7, 8, 9, 10, 15, 16, 17, 20, 24, 31, 32) if b <= m.most]
    for b in legal:
        byw = (b + 7) // 8
        lines, at = [m.fill(), "sldi $1, 1", "sldi $2, 130"], 600
        for o in legal:
            out = (o + 7) // 8
            lines.append(f"setbw {b}, {o}")
            for op in ("vvadd", "vvmul", "vvsra", "vvsll"):
                lines.append(f"sldi $3, {at}\n{op} $3, $1, $2, 6")
                at += 6 * max(byw, out)
            at = 600 + (at - 600) % 300
        m.case(f"{b} bits in", "\n".join(lines))
    m.case("no setbw", m.fill() + "sldi $1, 300\nvvadd $1, $0, $0, 9\nvvmul $1, $1, $1, 9")
    m.case(
        "setbw in flight",
        m.fill()
        + "sldi $1, 200\nsldi $2, 400\nvvadd $1, $0, $0, 60\nsetbw 16, 8\nvrelu $2, $1, 30\n"
        "setbw 8, 16\nvvmul $1, $2, $2, 30\nsetbw 16, 16\nvvmax $2, $1, $0, 20",
    )


def matrix(m):
    rng, p = np.random.default_rng(1), m.params
    most = min(m.params["x_bits"], m.most)
    wide = min(16, m.most)

    def one(name, rows, cols, arrays, shift, round_, bias, relu, widths=None, span=128):
        count = -(-rows // p["xb_rows"]) * -(-cols // p["xb_cols"])
        if count != len(arrays) or max(arrays) >= p["arrays"]:
            return
        b, o = widths or (8, wide)
        if (
            b > most
            or o > m.most
            or rows * ((b + 7) // 8) + cols * ((o + 7) // 8) + 40 > m.lmem
            or (bias is not None and p["bias_words"] < cols)
        ):
            return
        if bias is not None:
            bias = rng.integers(-bias, bias + 1, cols).astype(np.int32)
        weights = rng.integers(-span, span, (rows, cols)).astype(np.int8)
        group = Group(rows, cols, arrays, 8, shift, round_, weights, bias)
        target = rows * ((b + 7) // 8) + 3
        m.case(
            name,
            m.fill(min(2000, rows * ((b + 7) // 8)))
            + f"setbw {b}, {o}\nsldi $1, {target}\nmvmul $1, $0, 8, {relu}, 0",
            groups=[[group]],
        )

    for name, rows, cols in (
        ("1x1", 1, 1),
        ("64x64", 64, 64),
        ("9x8", 9, 8),
        ("27x5", 27, 5),
        ("64x33", 64, 33),
        ("3x17", 3, 17),
    ):
        one(name, rows, cols, (0,), 3, 1, None, 0)
        one(f"{name} bias relu", rows, cols, (0,), 1, 1, 500, 1, (8, 8))
    one("2x3 grid", 100, 150, (3, 0, 5, 1, 4, 2), 5, 1, 1000, 0)
    one("2x1 grid", p["xb_rows"] + 9, 20, (1, 0), 4, 0, None, 1)
    one("1x2 grid", 20, p["xb_cols"] + 3, (1, 0), 4, 1, None, 0)
    for shift in (0, 1, 47):
        for round_ in (0, 1):
            one(f"shift {shift}, round {round_}", 7, 9, (0,), shift, round_, 1 << 30, 0)
            one(f"halves {shift}, round {round_}", 2, 16, (0,), shift, round_, 3, 0, (2, wide), 2)
    one("saturation", 60, 16, (0,), 0, 1, None, 0, (8, 8))
    one("16-bit inputs", 30, 16, (0,), 6, 1, None, 0, (16, 16))
    one("bits 13 to 11", 30, 16, (0,), 6, 1, 100, 0, (13, 11))
    one("large with relu", 60, 16, (0,), 0, 1, None, 1, (8, 8))
    # Groups that share an array; later entries win; groups 15 and 16.
    if p["groups"] > 16 or p["groups"] == 16:
        groups = [
            Group(4, 5, (0,), 8, 0, 1, rng.integers(-9, 9, (4, 5)).astype(np.int8))
            for _ in range(min(p["groups"], 17))
        ]
        m.case(
            "groups 15 and 16",
            m.fill(40) + "setbw 8, 16\nsldi $1, 50\nmvmul $1, $0, 8, 0, 15\nsldi $1, 80\n"
            f"mvmul $1, $0, 8, 0, {len(groups) - 1}",
            groups=[groups],
        )
    shared = [
        Group(6, 6, (0,), 8, 0, 1, rng.integers(-9, 9, (6, 6)).astype(np.int8)),
        Group(3, 8, (0,), 8, 0, 1, rng.integers(-9, 9, (3, 8)).astype(np.int8)),
    ]
    m.case(
        "a shared array",
        m.fill(40)
        + "setbw 8, 16\nsldi $1, 50\nmvmul $1, $0, 8, 0, 0\nsldi $1, 80\nmvmul $1, $0, 8, 1, 1",
        groups=[shared],
    )
    m.case(
        "back to back",
        m.fill(300)
        + "setbw 8, 8\n"
        + "\n".join(
            f"sldi $1, {300 + 9 * k}\nsldi $2, {7 * k}\nmvmul $1, $2, 8, {k & 1}, {k & 1}"
            for k in range(12)
        ),
        groups=[shared],
    )
    m.case(
        "a chain",
        m.fill(40)
        + "setbw 8, 8\nsldi $1, 50\nsldi $2, 60\nmvmul $1, $0, 8, 0, 0\nmvmul $2, $1, 8, 0, 0\n"
        "mvmul $1, $2, 8, 1, 0\nvvadd $0, $1, $2, 6",
        groups=[shared[:1]],
    )


def _values(values, width, at):
    """Lines that put values into local memory."""
    lines = []
    for k, value in enumerate(values):
        for b in range((width + 7) // 8):
            lines.append(
                f"sldi $20, {at + k * ((width + 7) // 8) + b}\nlldi $20, {value >> 8 * b & 255}, 1"
            )
    return "\n".join(lines) + "\n"


def vector(m):
    for w in [b for b in (8, 16, 32) if b <= m.most]:
        low, high = -(1 << w - 1), (1 << w - 1) - 1
        a, b = [low, high, high, low, -1, 0, 1, high], [low, high, low, -1, -1, 0, high, 1]
        ops = "\n".join(
            f"sldi $3, {200 + 40 * k}\n{op} $3, $1, $2, 8"
            for k, op in enumerate(("vvadd", "vvsub", "vvmul", "vvmax"))
        )
        m.case(
            f"saturation of {w} bits",
            _values(a, w, 0)
            + _values(b, w, 64)
            + f"setbw {w}, {w}\nsldi $1, 0\nsldi $2, 64\n"
            + ops,
        )
        counts = [0, w - 1, w, 31, 255 & (1 << w) - 1, -1, 3, 1]
        ops = "\n".join(
            (
                f"setbw {w}, {o}\nsldi $3, {200 + 80 * k}\nvvsll $3, $1, $2, 8\nsldi $3, "
                f"{240 + 80 * k}\nvvsra $3, $1, $2, 8"
            )
            for k, o in enumerate([o for o in (8, 13, 16, 32) if o <= m.most])
        )
        m.case(
            f"shifts of {w} bits",
            _values([low, -1, high, 5, -1, -7, low, high], w, 0)
            + _values(counts, w, 64)
            + "sldi $1, 0\nsldi $2, 64\n"
            + ops,
        )
        m.case(
            f"bounds of {w} bits",
            m.fill(200)
            + f"setbw {w}, 8\n"
            + "\n".join(
                (
                    f"sldi $2, {bound}\nsldi $3, {300 + 20 * k}\nvrsu $3, $1, $2, 9\nsldi $3, "
                    f"{310 + 20 * k}\nvrsl $3, $1, $2, 9, @1:1"
                )
                for k, bound in enumerate((0, 100, -100, 127, -128, 1 << 30, -1 << 31))
            )
            + "\nsldi $2, 50\nvrsu $1, $1, $2, 20",
        )
    m.case(
        "halves of vavg",
        _values([1, 2], 8, 0)
        + _values([-1, -2], 8, 8)
        + _values([5], 8, 16)
        + "sldi $3, 1\n"
        + "\n".join(
            f"sldi $1, {at}\nsldi $2, {40 + k}\nvavg $2, $1, $3, {n}"
            for k, (at, n) in enumerate(((0, 2), (8, 2), (16, 1), (0, 3)))
        ),
    )
    wide = min(m.most, 16)
    m.case(
        "strides",
        m.fill(400)
        + f"setbw {wide}, 8\n"
        + "\n".join(
            (
                f"sldi $3, {s}\nsldi $1, {200}\nsldi $2, {420 + 40 * k}\nvmv $2, $1, $3, {n}\nsldi "
                f"$2, {438 + 40 * k}\nvavg $2, $1, $3, {n}, {s}"
            )
            for k, (s, n) in enumerate(((0, 8), (-1, 8), (3, 8), (1, 1), (-7, 7), (11, 8)))
        ),
    )
    extreme = _values([-(1 << m.most - 1)], m.most, 0)
    n = min(2047, m.lmem // (m.most // 8) - 8)
    m.case(
        "vvdmul of extremes",
        extreme
        + f"setbw {m.most}, {m.most}\nsldi $1, 0\nsldi $2, {m.most // 8}\nsldi $3, 0\nvmv $2, "
        f"$1, $3, "
        f"{n - 1}\nvvdmul $1, $1, $1, {n}",
    )
    m.case(
        "vvdmul ignores a bit",
        m.fill(100) + "sldi $3, 120\nvvdmul $3, $1, $1, 20, @1:12\nsldi $3, 130\n"
        "vvdmul $3, $1, $1, 20, @1:d12",
    )


def activations(m):
    if not m.params["act_unit"]:
        return
    for b, o in ((16, 16), (8, 8), (16, 8), (8, 16)):
        if max(b, o) > m.most:
            continue
        points = (
            [-32768, -8192, -1, 1, 1000, 4096, 32767, 0]
            if b == 16
            else [-128, -16, -5, 5, 127, 0, 1, -1]
        )
        for fi, fo in ((255, 255), (0, 0), (16, 16), (31, 31), (4, 7)):
            m.case(
                f"{b} to {o} bits, {fi}, {fo}",
                m.fill(200) + _values(points, b, 0) + f"setbw {b}, {o}\nsldi $1, 300\n"
                "vtanh $1, $0, 60\nsldi $1, 500\nvsigm $1, $0, 60",
                fi=fi,
                fo=fo,
            )


def offsets(m):
    ops = {
        "d12": ("vvadd", "vvsub", "vvmul", "vvmax", "vvsll", "vvsra", "vrsu", "vrsl"),
        "12": ("vvdmul",),
        "d1": ("vrelu", *(("vtanh", "vsigm") if m.params["act_unit"] else ())),
    }
    for b, o in ((8, 16), (16, 8), (24, 8), (8, 32)):
        if max(b, o) > m.most:
            continue
        for letters, names in ops.items():
            lines, at = [m.fill(250), f"setbw {b}, {o}", "sldi $1, 60\nsldi $2, 120"], 400
            for name in names:
                for select in range(1, 8):
                    chosen = "".join(c for k, c in enumerate("d12") if select >> k & 1)
                    if set(chosen) <= set(letters):
                        sources = "$1, $2" if "2" in letters else "$1"
                        lines.append(
                            f"sldi $3, {at}\n{name} $3, {sources}, 3, @{select - 4}:{chosen}"
                        )
                        at = 400 + (at - 384) % 500
            m.case(f"{b} to {o} bits, {letters}", "\n".join(lines))


def edges(m):
    end = m.lmem
    good = [
        f"sldi $1, {end - 8}\nvrelu $1, $0, 8",
        f"sldi $1, {end - 1}\nlldi $1, 7, 1",
        f"sldi $1, {end - 5}\nlmv $1, $0, 5",
        f"sldi $1, {end + 8}\nlldi $1, 9, 4, -16",
        "sldi $1, -4\nlldi $1, 3, 4, 4",
        f"gaddr $2, 0\nsldi $1, {end - 9}\nld $1, $2, 9",
        f"sldi $1, {end - 1}\nsldi $3, -1\nsldi $4, 100\nvmv $4, $1, $3, 9",
        "sldi $1, -1\nlmv $1, $1, 0\nvvadd $1, $1, $1, 0\n"
        "gaddr $2, -2\nld $1, $2, 0\nst $2, $1, 0\nlldi $1, 0, 0\nvmv $1, $1, $1, 0\nvavg $1, "
        "$1, $1, 0",
    ]
    for k, text in enumerate(good):
        m.case(f"inside {k}", m.fill(300) + text)
    bad = [
        f"sldi $1, {end - 7}\nvrelu $1, $0, 8",
        f"sldi $1, {end}\nlldi $1, 7, 1",
        f"sldi $1, {end - 5}\nlmv $0, $1, 6",
        "sldi $1, -4\nlldi $1, 3, 4",
        "sldi $1, -4\nlldi $1, 3, 8",
        f"gaddr $2, 0\nsldi $1, {end - 9}\nld $1, $2, 10",
        f"gaddr $2, 0\nsldi $1, {end - 9}\nst $2, $1, 10",
        "sldi $1, 0\nsldi $3, -1\nsldi $4, 100\nvmv $4, $1, $3, 2",
        f"sldi $1, {end - 1}\nsldi $3, 1\nvavg $0, $1, $3, 2",
        "sldi $3, 0x40000000\nvavg $0, $1, $3, 5",
        f"sldi $1, {end - 1}\nsetbw 8, 16\nvvdmul $1, $0, $0, 4",
        f"sldi $1, {end}\nsldi $2, 3\nvvadd $2, $0, $1, 4",
    ]
    for k, text in enumerate(bad):
        m.case(f"outside {k}", m.fill(300) + text + "\nsldi $9, 9\nlldi $0, 9, 9", dump=False)
    n = min(2047, end // 2)
    m.case(
        "longest",
        m.fill(2000 if end > 2047 else 900)
        + f"sldi $1, {end - n}\nlmv $1, $0, {n}\nvvadd $0, $0, $1, {n}\nvrelu $1, $0, {n}",
    )


def overlaps(m):
    wide = min(16, m.most)
    cases = {
        "lmv": (8, 8, 1, 1),
        "vrelu": (8, 8, 1, 1),
        "vvadd": (wide, 8, wide // 8, wide // 8),
        "vvmul": (wide, 8, wide // 8, 1),
        "vvsra": (8, wide, 1, wide // 8),
        "vrsu": (wide, 8, wide // 8, 1),
        "vrsl": (8, wide, 1, wide // 8),
    }
    for op, (b, o, inwards, outwards) in cases.items():
        n = 12
        for delta in sorted(
            {0, 1, -1, 2, -2, n * inwards - 1, n * inwards, 1 - n * outwards, -n * outwards}
        ):
            operands = {
                "lmv": "$1, $2",
                "vrelu": "$1, $2",
                "vrsu": "$1, $2, $3",
                "vrsl": "$1, $2, $3",
            }.get(op, "$1, $2, $3")
            third = 60 if op in ("vrsu", "vrsl") else 400
            m.case(
                f"{op} at {delta}",
                m.fill()
                + f"setbw {b}, {o}\nsldi $2, 100\nsldi $1, {100 + delta}\nsldi $3, {third}\n"
                f"{op} {operands}, {n}\nsldi $9, 1",
                dump=delta <= 0 and outwards <= inwards or delta in (n * inwards, -n * outwards),
            )
    for delta in (-9, -8, 0, 5, 15, 16):
        m.case(
            f"vmv at {delta}",
            m.fill()
            + f"sldi $2, 100\nsldi $1, {100 + delta}\nsldi $3, 2\nvmv $1, $2, $3, 8\nsldi $9, 1",
            dump=delta in (-8, -9, 15, 16),
        )
        m.case(
            f"vavg and vvdmul at {delta}",
            m.fill() + f"sldi $2, 100\nsldi $1, {100 + delta}\nsldi $3, 2\nvavg $1, $2, $3, 8\n"
            "vvdmul $1, $2, $3, 9",
        )
    group = Group(8, 4, (0,), weights=np.ones((8, 4), np.int8))
    for delta in (-5, -4, -3, 0, 7, 8):
        m.case(
            f"mvmul at {delta}",
            m.fill() + f"sldi $2, 100\nsldi $1, {100 + delta}\nmvmul $1, $2, 8, 0, 0\nsldi $9, 1",
            groups=[[group]],
            dump=delta in (-5, -4, 8),
        )


def transfers(m):
    for local in range(8):
        lines = [m.fill(200), "gaddr $2, 0x1000\ngaddr $4, 0x2000"]
        for far in range(8):
            for size in (1, 2, 3, 7, 8, 9, 17):
                lines.append(
                    f"sldi $1, {300 + local}\nld $1, $2, {size}, @{far + 40 * size}:1\nst $4, "
                    f"$1, {size}, @{far + 32 * size}:d"
                )
        m.case(f"alignment {local}", "\n".join(lines))
    size = MEMORY - _BASE
    for name, text in (
        ("last bytes", f"gaddr $2, {size - 9}\nld $0, $2, 9\nst $2, $0, 9\nsld $5, $2, 5"),
        ("one past", f"gaddr $2, {size - 9}\nld $0, $2, 10\nsldi $9, 1"),
        ("high word", "sldi $2, 1\nld $0, $2, 1\nsldi $9, 1"),
        ("before", "gaddr $2, 0\nld $0, $2, 1, @-1:1\nsldi $9, 1"),
        ("around", "gaddr $2, -4\nld $0, $2, 9, @8:1"),
        ("sld past", f"gaddr $2, {size - 3}\nsld $0, $2\nsldi $9, 1"),
        ("store past", f"gaddr $2, {size}\nst $2, $0, 1\nsldi $9, 1"),
        ("past 2^32", "gaddr $2, 0xffffffff\nst $2, $0, 2\nsldi $9, 1"),
    ):
        m.case(name, m.fill(30) + text, dump=name in ("last bytes", "around"))
    m.case(
        "size of GMem",
        m.fill(30) + "gaddr $2, 60\nld $0, $2, 4\nst $2, $0, 5\nsldi $9, 1",
        dump=False,
        registers={"gmem_base": _BASE + 32, "gmem_size": 64},
    )
    m.case(
        "window",
        m.fill(30) + "gaddr $2, 0x7f8\nld $0, $2, 8\nst $2, $0, 9\nsldi $9, 1",
        dump=False,
        registers={"window_limit": _BASE + 0x800},
    )


def exchanges(m):
    wait = "nop\n" * 40
    for name, a, b in (("sender first", "", wait), ("receiver first", wait, "")):
        m.case(
            name,
            m.fill(300) + a + "sldi $1, 3\nsend $1, 1, 257, 2",
            m.fill(100) + b + "sldi $1, 401\nrecv $1, 0, 257, -100",
        )
    m.case(
        "there and back",
        m.fill(50)
        + "sldi $1, 60\nsend $0, 1, 50\nrecv $1, 1, 50\nvvadd $0, $0, $1, 50\nsend $0, 1, 8\n"
        "send $1, 1, 9",
        m.fill(50)
        + (
            "sldi $1, 60\nrecv $1, 0, 50\nvvadd $0, $0, $1, 50\nsend $0, 0, 50\nrecv $0, 0, 8\n"
            "recv $1, 0, 9"
        ),
    )
    chain = [m.fill(64) + "send $0, 1, 64"] + [
        f"recv $0, {k - 1}, 64\nvrelu $0, $0, 64\nsend $0, {k + 1}, 64" for k in (1, 2)
    ]
    m.case("chain", *chain, "recv $0, 2, 64")
    m.case("nothing to send", "send $0, 1, 0\nsync 3, 1", "recv $0, 0, 0\nwait 3, 1")
    for name, a, b in (
        ("both receive", "recv $0, 1, 4", "recv $0, 0, 4"),
        ("both send", "send $0, 1, 4", "send $0, 0, 4"),
        ("to a finished core", "nop\nsend $0, 1, 4", "nop"),
        ("waits in vain", "wait 3, 1", "nop"),
        ("late pair", "recv $0, 1, 4\nwait 1, 2", "send $0, 0, 4"),
    ):
        m.case(name, a + "\nsldi $9, 1", b, dump=False)
    m.case("sizes differ", m.fill(9) + "send $0, 1, 9", "recv $0, 0, 8", dump=False)
    ring = [f"recv $0, {(k + 1) % 4}, 4\nsend $0, {(k + 3) % 4}, 4" for k in range(4)]
    m.case("ring", *ring, dump=False)
    m.case("own number", "nop\nsend $0, 0, 4\nsldi $9, 1", dump=False)
    m.case("absent core", "nop\nsync 1, 3\nsldi $9, 1", "nop", dump=False)


def events(m):
    for mode in (0, 1):
        m.case(
            f"own core, mode {mode}",
            "sync 4, 0\nsync 4, 0\nwait 4, 2\nwait 5, 0\nsync 6, 0\nsync 6, 0",
            wait_mode=mode,
        )
        m.case(
            f"one way, mode {mode}",
            m.fill(40) + "gaddr $2, 0x1000\nst $2, $0, 40\nsync 9, 1\nwait 8, 1\nld $0, $2, 40",
            "gaddr $2, 0x1000\nwait 9, 1\nld $0, $2, 40\nvvadd $0, $0, $0, 40\nst $2, $0, 40\n"
            "sync 8, 0",
            wait_mode=mode,
        )
        rounds = "\n".join("sync 1, {}\nwait 2, 1" for _ in range(10))
        m.case(
            f"ping-pong, mode {mode}",
            rounds.format(*[1] * 10),
            "\n".join("wait 1, 1\nsync 2, 0" for _ in range(10)),
            wait_mode=mode,
        )
    m.case("two syncs, two waits", "sync 1, 1\nsync 1, 1", "wait 1, 1\nwait 1, 1", wait_mode=1)
    m.case(
        "more than it waits for",
        "sync 1, 1\nsync 1, 1\nsync 2, 1",
        "wait 2, 1\nwait 1, 1\nwait 3, 0",
        wait_mode=1,
    )
    m.case("full to the brim", "sync 7, 0\n" * 1023, dump=False)
    # What was told of the operands before is no fault of the sync: of the same run, and of the run
    # before.
    overlapping = "sldi $0, 0\nsldi $1, 0\nvvdmul $0, $0, $1, 4\nsmul $2, $0, $1\n"
    m.case(
        "overflow behind an overlap", overlapping + "sync 7, 0\n" * 1024 + "sldi $9, 1", dump=False
    )
    m.case("overlap that is none", overlapping, dump=False)
    m.case("overflow", "sync 7, 0\n" * 1024 + "sldi $9, 1", dump=False)


def forms(m):
    """Every instruction once in each code form, with the immediates' ends."""
    text = (
        m.fill(100)
        + "sldi $1, 0xfffff\nsldi $2, -0x100000\nsldi $3, 0x100000\nsldi $4, -0x100001\nsaddi "
        "$5, $1, 32767\n"
        "saddi $6, $1, -32768\nsaddi $7, $1, 32768\nsmuli $8, $1, -32769\nsldi $9, 200\nsldi "
        "$10, 300\nvvadd $9, $0, $0, 7\n"
        "vvsub $10, $9, $0, 7, @1:2\nvvmul $9, $10, $0, 7\nvvdmul $9, $10, $0, 7\nvvmax $9, "
        "$10, $0, 7\nvvsll $9, $10, $0, 7\n"
        "vvsra $9, $10, $0, 7\nvrelu $10, $0, 7, @2:d1\nvrsu $10, $0, $1, 7\nvrsl $10, $0, $1, "
        "7\nlmv $9, $0, 30\nlldi $9, 77, 5\n"
        "sldi $11, 3\nvmv $10, $0, $11, 9\nvavg $10, $0, $11, 9\nnop\nsync 3, 0\nwait 3, 1"
    )
    for mode in (0, 1, 2):
        own = [
            w for w in words_of(text) + words_of(m.dump(0)) if mode != 1 or narrow(w) is not None
        ]
        m.case(f"mode {mode}", own, dump=False, mode=mode)


GROUPS = {
    f.__name__: f
    for f in (
        scalar,
        widths,
        matrix,
        vector,
        activations,
        offsets,
        edges,
        overlaps,
        transfers,
        exchanges,
        events,
        forms,
    )
}


def directed_cases(params, group):
    """The cases of a group for a build."""
    maker = _Maker(params)
    GROUPS[group](maker)
    return maker.cases
