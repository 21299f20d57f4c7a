# SPDX-License-Identifier: BSD-2-Clause
"""Directed IMAGine programs (section 11), for any build: generators of cases by group."""

import itertools

import numpy as np

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.params import levels, registers_of
from tests.gateware.cores.imagine.bench.programs import case_of

__all__ = ["directed_cases", "group_names", "products_of"]


class _Program(IMAGineAsm):
    """The assembler for a build, and how its registers are shown."""

    def __init__(self, params):
        super().__init__(warn=lambda text: None)
        self.build = params
        self.setupParams(
            regCnt=registers_of(params),
            regWidth=params["reg_width"],
            pimDepth=params["depth"],
            maxLevel=max(3, levels(params["cols"]) - 1),
            mvBlockDim=(params["rows"], params["cols"]),
        )
        self.rng = np.random.default_rng(params["rows"] * 1000 + params["cols"])

    @property
    def half(self):
        return 1 << self.build["reg_width"] - 1

    def fill(self, *registers):
        """Random numbers in every PE of ``registers``, the ends of the range among them."""
        for reg in registers:
            values = self.rng.integers(
                -self.half, self.half, (self.build["rows"], 16 * self.build["cols"])
            )
            values[:, ::5] = self.rng.choice(
                [-self.half, self.half - 1, -1, 0, 1], values[:, ::5].shape
            )
            self.mv_LOADMAT(reg, values)

    def scatter(self, reg):
        """Random bits in ``reg``, in fewer words: everywhere the same, then some rows, columns and
        blocks of their own."""
        base, rows, cols = reg * self.build["reg_width"], self.build["rows"], self.build["cols"]
        places = [
            ("mv_selectAll",),
            ("mv_selectRow", self.rng.integers(rows)),
            ("mv_selectCol", self.rng.integers(cols)),
            ("mv_selectBlk", 0, 0),
            ("mv_selectBlk", rows - 1, 0),
            ("mv_selectBlk", self.rng.integers(rows), cols - 1),
        ]
        for select, *block in places:
            getattr(self, select)(*block)
            for bit in range(self.build["reg_width"]):
                self.mv_write(base + bit, self.rng.integers(1 << 16))

    def show(self, *registers, nops=2):
        """PE 0 of block column 0 of ``registers``, a vector each."""
        for reg in registers:
            self.vv_serialEn()
            self.mv_mov(reg, reg)
            for _ in range(nops):
                self.mv_nop()
            self.vv_parallelEn()

    def sums(self, reg, work):
        """All PEs of ``reg``: rotated to PE 0 by sums of ever fewer of them, in ``work``."""
        for folds in range(5):
            self.mv_mov(work, reg)
            for fold in range(5 - folds, 5):
                self.mv_blockFold(fold, work, work)
            for level in range(max(1, levels(self.build["cols"]))):
                self.mv_accumRow(level, work)
            self.show(work, nops=0)

    def case(self, name, **options):
        return case_of(name, self.build, self.words(), **options)


def _arithmetic(params):
    for operation in ("mv_add", "mv_sub"):
        p = _Program(params)
        for rd, a, b in itertools.product(range(3), repeat=3):
            for reg in {a, b, rd}:
                p.scatter(reg)
            getattr(p, operation)(rd, a, b)
            p.show(0, 1, 2)
        p.sums(0, 3)
        yield p.case(f"{operation} with every aliasing")


def _offsets(params):
    p = _Program(params)
    for offset in range(params["reg_width"]):
        p.scatter(1)
        p.scatter(2)
        for rd, rs in ((0, 1), (1, 1)):
            p.mv_movOffset(offset, rd, rs)
            p.show(rd)
    p.sums(1, 3)
    yield p.case("every offset")


def _folds(params):
    for fold in range(1, 5):
        p = _Program(params)
        for rd in (2, 1):
            p.fill(1)
            p.mv_blockFold(fold, rd, 1)
            p.sums(rd, 3)
        yield p.case(f"fold {fold}")
    p = _Program(params)
    for pe in range(16):
        p.mv_LOADVEC_ROW(1, ([0] * pe + [1 + pe % 7] + [0] * (15 - pe)) * params["cols"])
        p.mv_BLOCKACCUM(2, 1)
        p.show(2)
    yield p.case("one PE after another")


def _levels(params):
    for level in range(max(3, levels(params["cols"]) - 1) + 1):
        p = _Program(params)
        p.fill(1)
        p.mv_accumRow(level, 1)
        p.sums(1, 2)
        yield p.case(f"level {level}")
    p = _Program(params)
    p.fill(1)
    p.mv_ALLACCUM(1, 1)
    p.show(1)
    yield p.case("all levels")


def products_of(params, pairs):
    """A case of ``mv_MULT`` of ``pairs``, one a row of blocks, both words shown; its results follow
    from them."""
    p, rows = _Program(params), params["rows"]
    for begin in range(0, len(pairs), rows):
        a, b = zip(*pairs[begin : begin + rows], strict=True)
        p.mv_LOADVEC_COL(2, list(a))
        p.mv_LOADVEC_COL(3, list(b))
        p.mv_MULT(0, 2, 3)
        p.show(0, 1, nops=0)
    return p.case(f"{len(pairs)} products")


def _products(params):
    half = 1 << params["reg_width"] - 1
    corners = sorted({-half, 1 - half, -1, 0, 1, half // 2, half - 2, half - 1})
    yield products_of(params, list(itertools.product(corners, repeat=2)))
    p = _Program(params)
    p.fill(0, 1, 2)
    p.mv_MULT(0, 2, 2)
    p.show(0, 1)
    p.fill(2, 3)
    p.mv_MULT(0, 3, 2)
    p.sums(0, 2)
    p.sums(1, 2)
    yield p.case("squares and dirty registers")
    if registers_of(params) < 8:
        return
    for frac in range(params["reg_width"] + 1):
        p = _Program(params)
        p.setupParams(
            regCnt=6, resvRegCnt=2, regWidth=params["reg_width"], pimDepth=params["depth"]
        )
        p.params = type(p.params)(
            regCnt=6,
            resvRegCnt=2,
            regWidth=params["reg_width"],
            pimDepth=params["depth"],
            fracWidth=0,
        )
        p.fill(2, 3)
        p.params = type(p.params)(
            regCnt=6,
            resvRegCnt=2,
            regWidth=params["reg_width"],
            pimDepth=params["depth"],
            fracWidth=frac,
        )
        p.mv_MULTFXP(1, 2, 3)
        p.show(1)
        yield p.case(f"fracWidth {frac}")


def _steps(params):
    """Steps out of order: previous bit, every bitNo after every other kind of instruction."""
    p = _Program(params)
    p.fill(0, 1, 2, 3)
    for bit in range(params["reg_width"]):
        p.mv_updatepp(0, 2, 3, (bit * 5) % params["reg_width"])
        if bit % 3 == 0:
            p.mv_clrmbit()
        p.show(0, 1, nops=0)
    yield p.case("steps in any order")


def _selection(params):
    selects = [("mv_selectAll",)] + [("mv_selectRow", r) for r in range(params["rows"])]
    selects += [("mv_selectCol", c) for c in range(params["cols"])]
    selects += [
        ("mv_selectBlk", r, c) for r in range(params["rows"]) for c in range(params["cols"])
    ]
    p = _Program(params)
    p.mv_write(0, 0xFFFF, comment="all blocks are selected after a reset")
    p.show(0)
    for select in selects[:60]:
        getattr(p, select[0])(*select[1:])
        p.mv_write(int(p.rng.integers(params["reg_width"])), int(p.rng.integers(1 << 16)))
        p.mv_mov(1, 0)
        p.mv_write(
            params["reg_width"] + int(p.rng.integers(params["reg_width"])),
            int(p.rng.integers(1 << 16)),
        )
        p.mv_BLOCKACCUM(2, 1)
        for level in range(max(1, levels(params["cols"]))):
            p.mv_accumRow(level, 2)
        p.show(0, 2, nops=0)
    yield p.case("selection")


_PAIRED = (
    "mv_write",
    "mv_updatepp",
    "mv_blockFold",
    "mv_accumRow",
    "mv_add",
    "mv_sub",
    "mv_mov",
    "mv_movOffset",
)


def _one(p, mnemonic, source, result):
    """One instruction from ``source`` to ``result``."""
    if mnemonic == "mv_write":
        p.mv_write(
            result * p.build["reg_width"] + int(p.rng.integers(p.build["reg_width"])),
            int(p.rng.integers(1 << 16)),
        )
    elif mnemonic == "mv_updatepp":
        low = 0 if result < 2 else 2
        others = [r for r in (source, 3 - low, 2 - low) if r not in (low, low + 1)]
        p.mv_updatepp(low, others[0], others[-1], int(p.rng.integers(p.build["reg_width"])))
    elif mnemonic == "mv_blockFold":
        p.mv_blockFold(int(p.rng.integers(1, 5)), result, source)
    elif mnemonic == "mv_accumRow":
        p.mv_accumRow(int(p.rng.integers(0, max(3, levels(p.build["cols"]) - 1) + 1)), result)
    elif mnemonic == "mv_movOffset":
        offset = (
            0 if source > 2 or result == source + 1 else int(p.rng.integers(p.build["reg_width"]))
        )
        p.mv_movOffset(offset, result, source)
    elif mnemonic == "mv_mov":
        p.mv_mov(result, source)
    else:
        getattr(p, mnemonic)(result, source, result)


def _hazards(params):
    """Every instruction directly behind every other, reading its result, or overwriting what it
    reads."""
    for first in _PAIRED:
        p = _Program(params)
        for second in _PAIRED:
            for a, b in (((0, 1), (1, 2)), ((0, 1), (2, 0)), ((1, 1), (1, 1)), ((2, 3), (3, 2))):
                p.scatter(0)
                p.mv_movOffset(0, 1, 0)
                p.mv_add(2, 0, 1)
                p.mv_sub(3, 2, 0)
                p.mv_selectAll()
                _one(p, first, *a)
                _one(p, second, *b)
                p.show(b[1], nops=0)
        p.sums(2, 3)
        yield p.case(f"{first} before every other")


def _columns(params):
    captured = (
        "mv_updatepp",
        "mv_blockFold",
        "mv_accumRow",
        "mv_add",
        "mv_sub",
        "mv_mov",
        "mv_movOffset",
    )
    p = _Program(params)
    p.fill(0, 1, 2, 3)
    for nops, mnemonic in itertools.product(range(3), captured):
        p.vv_serialEn()
        _one(p, mnemonic, 2, 1)
        for _ in range(nops):
            p.mv_nop()
        p.vv_parallelEn()
        p.vv_parallelEn()
    yield p.case("captured, shown, shown again")
    p = _Program(params)
    p.fill(0, 1, 2, 3)
    for before, middle, after in itertools.product(
        ("vv_serialEn", "vv_shiftOff"),
        ("vv_serialEn", "vv_shiftOff", "vv_parallelEn", "vv_nop"),
        captured,
    ):
        getattr(p, before)()
        _one(p, "mv_add", 0, 1)
        getattr(p, middle)()
        _one(p, after, 1, 2)
        p.mv_write(0, 0xFFFF)
        p.vv_parallelEn()
    yield p.case("the mode changes while an instruction runs")
    p = _Program(params)
    p.fill(0, 1)
    for step in range(6):
        p.vv_serialEn()
        p.mv_add(2, 0, 1)
        p.vv_parallelEn()
        if step % 2:
            p.mv_add(0, 2, 2)
            p.mv_mov(1, 2)
        if step % 3:
            p.vv_SYNC()
    yield p.case("vectors back to back, work beside them")


def _ends(params):
    last = [
        lambda p: p.mv_nop(),
        lambda p: p.vv_nop(),
        lambda p: p.mv_updatepp(0, 2, 2, 0),
        lambda p: p.mv_accumRow(3, 1),
        lambda p: p.vv_parallelEn(),
        lambda p: p.vv_serialEn(),
        lambda p: p.mv_write(0, 1),
        lambda p: p.mv_blockFold(1, 0, 0),
    ]
    for number, end in enumerate(last):
        p = _Program(params)
        p.vv_serialEn()
        p.mv_add(0, 0, 0)
        end(p)
        yield p.case(f"end {number}")
    yield case_of("no words", params, [])


def _limits(params):
    """Exactly enough space, and one byte less."""
    p = _Program(params)
    p.show(0, 1)
    case = p.case("room enough")
    yield case
    case = p.case("one byte less", fault="output_full")
    case.registers["output_limit"] -= 1
    yield case
    words = [ISA.encode("mv_nop"), ISA.encode("vv_nop")] * 40
    yield case_of("nops", params, words)


_GROUPS = {
    "arithmetic": _arithmetic,
    "offsets": _offsets,
    "folds": _folds,
    "levels": _levels,
    "products": _products,
    "steps": _steps,
    "selection": _selection,
    "hazards": _hazards,
    "columns": _columns,
    "ends": _ends,
    "limits": _limits,
}


def group_names():
    """Names of the groups."""
    return tuple(_GROUPS)


def directed_cases(params, group):
    """Cases of a group, legal on a build with ``params`` or with the fault they name."""
    yield from _GROUPS[group](params)
