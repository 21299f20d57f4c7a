# SPDX-License-Identifier: BSD-2-Clause
"""Methods of the assembler class: single words (section 3.1) and several (macros, 3.3). Only the
LOAD macros import numpy."""

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

from ..isa import ISA, PES
from .target import IMAGineError, Target, check_range, integer

__all__ = ["InstructionMethods", "MacroMethods"]


class InstructionMethods(ABC):
    """Single-word mnemonics. A method checks its arguments, in the order in which they are written,
    and appends a cache entry.

    Every one takes ``comment``, by name alone: a text that the exports show behind the word. Raises
    :class:`~.target.IMAGineError`.
    """

    params: Target

    @abstractmethod
    def _append(self, kind: str, words: tuple, source: str, comment: str | None) -> None:
        """Appends a cache entry."""

    @abstractmethod
    def _check_comment(self, comment: str | None) -> None:
        """Raises :class:`~.target.IMAGineError` for a comment that is not a string."""

    def _one(self, mnemonic, source, comment, **values):
        self._append("instruction", (ISA.encode(mnemonic, **values),), source, comment)

    def _register(self, name, value, skip=False, pair=False):
        """Checks a register number; for a ``pair`` the next register must exist too."""
        highest = 63 if skip else self.params.regCnt - 1
        return check_range(name, value, 0, highest - pair)

    # The GEMV array

    def mv_nop(self, *, comment: str | None = None) -> None:
        """Appends a no-operation of one cycle for the array."""
        self._one("mv_nop", "MV_NOP", comment)

    def mv_write(self, addr: int, data: int, *, comment: str | None = None) -> None:
        """Appends a write of ``data`` to row ``addr`` of every selected block, one bit for each of
        its 16 PEs."""
        addr = check_range("addr", addr, 0, self.params.pimDepth - 1)
        data = check_range("data", data, 0, 0xFFFF)
        self._one(
            "mv_write", f"MV_WRITE addr={addr}, data=0x{data:X}", comment, addr=addr, data=data
        )

    def mv_updatepp(
        self,
        ppreg: int,
        multiplicand: int,
        multiplier: int,
        bitNo: int,
        *,
        comment: str | None = None,
    ) -> None:
        """Appends one Booth step: {ppreg+1, ppreg} gets bit ``bitNo`` of ``multiplier`` times
        ``multiplicand``."""
        values = self._product(ppreg, multiplicand, multiplier, "ppreg", False)
        bitNo = check_range("bitNo", bitNo, 0, self.params.regWidth - 1)
        pp, a, b = values
        self._one(
            "mv_updatepp",
            f"MV_UPDATEPP ppreg={{{pp}, {pp + 1}}}, multiplicand={a}, multiplier={b}, "
            f"bitNo={bitNo}",
            comment,
            ppreg=pp,
            multiplicand=a,
            multiplier=b,
            bitNo=bitNo,
        )

    def _product(self, low, multiplicand, multiplier, name, skip):
        low = self._register(name, low, skip, pair=True)
        operands = []
        for what, value in (("multiplicand", multiplicand), ("multiplier", multiplier)):
            number = self._register(what, value, skip)
            if number in (low, low + 1):
                raise IMAGineError(
                    what,
                    number,
                    f"a register other than {low} and {low + 1}, which {name} = {low} takes",
                )
            operands.append(number)
        return low, *operands

    def mv_blockFold(self, fold: int, rd: int, rs: int, *, comment: str | None = None) -> None:
        """Appends a fold within blocks. PE i < H = 16 >> ``fold``: rd := rs[i] + rs[i+H]; the
        others rd := rs[i]."""
        fold = check_range("fold", fold, 1, self.params.maxFold)
        rd, rs = self._register("rd", rd), self._register("rs", rs)
        self._one(
            "mv_blockFold",
            f"MV_BLOCK_FOLD fold={fold}, dest={rd}, src={rs}",
            comment,
            fold=fold,
            rd=rd,
            rs=rs,
        )

    def mv_accumRow(self, level: int, reg: int, *, comment: str | None = None) -> None:
        """Appends an accumulation along block rows: PE 0 of ``reg`` of block columns c with c mod
        2^(level+1) = 0 += that of block column c+2^level."""
        level = check_range("level", level, 0, self.params.maxLevel)
        reg = self._register("reg", reg)
        self._one(
            "mv_accumRow", f"MV_ACCUM_ROW level={level}, reg={reg}", comment, level=level, reg=reg
        )

    def mv_add(self, rd: int, rs1: int, rs2: int, *, comment: str | None = None) -> None:
        """Appends an addition, rd := rs1 + rs2."""
        self._sum("mv_add", "MV_ADD", rd, rs1, rs2, comment)

    def mv_sub(self, rd: int, rs1: int, rs2: int, *, comment: str | None = None) -> None:
        """Appends a subtraction, rd := rs1 - rs2."""
        self._sum("mv_sub", "MV_SUB", rd, rs1, rs2, comment)

    def _sum(self, mnemonic, text, rd, rs1, rs2, comment):
        rd, rs1, rs2 = (self._register(n, v) for n, v in (("rd", rd), ("rs1", rs1), ("rs2", rs2)))
        self._one(
            mnemonic, f"{text} rd={rd}, rs1={rs1}, rs2={rs2}", comment, rd=rd, rs1=rs1, rs2=rs2
        )

    def _id(self, name, value, axis):
        most, what = 1 << self.params.idWidth, "idWidth"
        if self.params.mvBlockDim is not None:
            most, what = self.params.mvBlockDim[axis], "mvBlockDim"
        expected = f"an integer from 0 to {most - 1} ({what})"
        number = integer(name, value, expected)
        if not 0 <= number < most:
            raise IMAGineError(name, number, expected)
        return number

    def mv_selectCol(self, colID: int, *, comment: str | None = None) -> None:
        """Appends a selection of all blocks of a block column for ``mv_write``."""
        col = self._id("colID", colID, 1)
        self._one("mv_selectCol", f"MV_SELECT_COL colID={col}", comment, colID=col)

    def mv_selectBlk(self, rowID: int, colID: int, *, comment: str | None = None) -> None:
        """Appends a selection of one block for ``mv_write``."""
        row, col = self._id("rowID", rowID, 0), self._id("colID", colID, 1)
        self._one(
            "mv_selectBlk",
            f"MV_SELECT_BLOCK rowID={row}, colID={col}",
            comment,
            rowID=row,
            colID=col,
        )

    def mv_selectRow(self, rowID: int, *, comment: str | None = None) -> None:
        """Appends a selection of all blocks of a block row for ``mv_write``."""
        row = self._id("rowID", rowID, 0)
        self._one("mv_selectRow", f"MV_SELECT_ROW rowID={row}", comment, rowID=row)

    def mv_selectAll(self, *, comment: str | None = None) -> None:
        """Appends a selection of all blocks for ``mv_write``."""
        self._one("mv_selectAll", "MV_SELECT_ALL", comment)

    def mv_mov(self, rd: int, rs: int, *, comment: str | None = None) -> None:
        """Appends a copy, rd := rs."""
        self._mov(rd, rs, comment, False)

    def _mov(self, rd, rs, comment, skip):
        rd, rs = self._register("rd", rd, skip), self._register("rs", rs, skip)
        self._one("mv_mov", f"MV_MOV dest={rd}, src={rs}", comment, rd=rd, rs=rs)

    def mv_movOffset(
        self, offset: int, rd: int, rs: int, *, comment: str | None = None, skipChecks: bool = False
    ) -> None:
        """Appends a shifted copy, rd := low bits of {rs+1, rs} >> ``offset``. ``skipChecks``:
        allows registers up to 63 for any regCnt."""
        offset = check_range("offset", offset, 0, self.params.regWidth - 1)
        rd = self._register("rd", rd, skipChecks)
        rs = self._register("rs", rs, skipChecks, pair=bool(offset))
        if offset and rd == rs + 1:
            raise IMAGineError("rd", rd, f"a register other than rs+1 = {rd} where offset > 0")
        self._one(
            "mv_movOffset",
            f"MV_MOV_OFFSET offset={offset}, dest={rd}, src={rs}",
            comment,
            offset=offset,
            rd=rd,
            rs=rs,
        )

    def mv_clrmbit(self, *, comment: str | None = None) -> None:
        """Appends a clear of the previous multiplier bits, the first step of ``mv_MULT``."""
        self._one("mv_clrmbit", "MV_CLRMBIT", comment)

    # The column shift registers

    def vv_nop(self, *, comment: str | None = None) -> None:
        """Appends a no-operation of one cycle for the column registers."""
        self._one("vv_nop", "VV_NOP", comment)

    def vv_serialEn(self, *, comment: str | None = None) -> None:
        """Appends the start of serial capture: the column registers take all later writes to PE 0
        of block column 0."""
        self._one("vv_serialEn", "VV_SERIAL_EN", comment)

    def vv_parallelEn(self, *, comment: str | None = None) -> None:
        """Appends the shift-out of the column registers, row 0 first, which leaves them 0."""
        self._one("vv_parallelEn", "VV_PARALLEL_EN", comment)

    def vv_shiftOff(self, *, comment: str | None = None) -> None:
        """Appends the stop of capture: the column registers keep their values."""
        self._one("vv_shiftOff", "VV_DISABLE_SHIFT", comment)


#: What one more in its data adds to a word of ``mv_write``.
_DATA = ISA.encode("mv_write", addr=0, data=1) - ISA.encode("mv_write", addr=0, data=0)


@lru_cache(None)
def _write(addr):
    """Encodes ``mv_write`` with data 0; most words of a program are of this kind."""
    return ISA.encode("mv_write", addr=addr, data=0)


@lru_cache(1 << 12)
def _select(row, column):
    return ISA.encode("mv_selectBlk", rowID=row, colID=column)


class MacroMethods(InstructionMethods):
    """Macros of the assembler class. Each appends one cache entry, or one per macro that it
    consists of."""

    def _macro(self, source, comment, *words):
        self._append("macro", words, source, comment)

    def _words(self, mnemonic, repeated, **values):
        """Encodes an instruction as words; ``repeated`` is (name of a field, its values)."""
        name, numbers = repeated
        return [ISA.encode(mnemonic, **values, **{name: number}) for number in numbers]

    def _from(self, text, comment):
        """Comment for a component of a macro."""
        self._check_comment(comment)
        return f"From macro call: {text}; {comment or ''}"

    # Arithmetic

    def mv_MULT(
        self,
        rd: int,
        multiplicand: int,
        multiplier: int,
        *,
        comment: str | None = None,
        skipChecks: bool = False,
    ) -> None:
        """Appends a signed and exact multiplication, {rd+1, rd} := multiplicand * multiplier.
        ``skipChecks``: allows registers up to 63."""
        rd, a, b = self._product(rd, multiplicand, multiplier, "rd", skipChecks)
        self._macro(
            f"MV_MULT rd={rd}, multiplicand={a}, multiplier={b}",
            comment,
            ISA.encode("mv_clrmbit"),
            *self._words(
                "mv_updatepp",
                ("bitNo", range(self.params.regWidth)),
                ppreg=rd,
                multiplicand=a,
                multiplier=b,
            ),
        )

    def mv_MULTFXP(
        self, rd: int, multiplicand: int, multiplier: int, *, comment: str | None = None
    ) -> None:
        """Appends a fixed-point multiplication, rd := low N bits of multiplicand * multiplier >>
        fracWidth, rounded toward minus infinity."""
        params = self.params
        if params.resvRegCnt < 2:
            raise IMAGineError("resvRegCnt", params.resvRegCnt, "at least 2 for mv_MULTFXP")
        rd = self._register("rd", rd)
        operands = []
        for name, value in (("multiplicand", multiplicand), ("multiplier", multiplier)):
            number = self._register(name, value)
            if number == rd:
                raise IMAGineError(name, number, f"a register other than rd = {rd}")
            operands.append(number)
        base = params.resvRegBase
        assert base is not None, "there are two reserved registers"
        comment = self._from(
            f"MV_MULTFPX rd={rd}, multiplicand={operands[0]}, multiplier={operands[1]}", comment
        )
        self.mv_MULT(base, *operands, comment=comment, skipChecks=True)
        if params.fracWidth == params.regWidth:
            self._mov(rd, base + 1, comment, True)
        else:
            self.mv_movOffset(params.fracWidth, rd, base, comment=comment, skipChecks=True)

    def mv_BLOCKACCUM(self, rd: int, rs: int, *, comment: str | None = None) -> None:
        """Appends a sum over the PEs of each block: PE 0 of rd := sum of the 16 PEs of rs."""
        rd, rs = self._register("rd", rd), self._register("rs", rs)
        folds = range(2, self.params.maxFold + 1)
        self._macro(
            f"MV_BLOCK_ACCUM rd={rd}, rs={rs}",
            comment,
            ISA.encode("mv_blockFold", fold=1, rd=rd, rs=rs),
            *self._words("mv_blockFold", ("fold", folds), rd=rd, rs=rd),
        )

    def mv_RNGACCUM(self, colCnt: int, rd: int, rs: int, *, comment: str | None = None) -> None:
        """Appends a sum over part of a row: PE 0 of block column 0 of rd := sum of PEs 0 to
        colCnt-1 of rs; colCnt is 16, 32 ... 16*2^(maxLevel+1)."""
        legal = [PES << i for i in range(self.params.maxLevel + 2)]
        expected = "one of " + ", ".join(str(v) for v in legal)
        colCnt = integer("colCnt", colCnt, expected)
        if colCnt not in legal:
            raise IMAGineError("colCnt", colCnt, expected)
        self._accumulate(f"MV_RNGACCUM colCnt={colCnt}, ", legal.index(colCnt), rd, rs, comment)

    def mv_ALLACCUM(self, rd: int, rs: int, *, comment: str | None = None) -> None:
        """Appends a sum over whole rows: PE 0 of block column 0 of rd := sum of all PEs of the row
        of rs."""
        self._accumulate("MV_ALLACCUM ", self.params.maxLevel + 1, rd, rs, comment)

    def _accumulate(self, text, levels, rd, rs, comment):
        rd, rs = self._register("rd", rd), self._register("rs", rs)
        comment = self._from(f"{text}rd={rd}, rs={rs}", comment)
        self.mv_BLOCKACCUM(rd, rs, comment=comment)
        for level in range(levels):
            self.mv_accumRow(level, rd, comment=comment)

    # Barriers

    def mv_SYNC(self, *, comment: str | None = None) -> None:
        """Appends a barrier: later instructions start after the last ``mv_`` instruction has
        finished."""
        self._macro("MV_SYNC", comment, *[ISA.encode("mv_nop")] * 2)

    def vv_SYNC(self, *, comment: str | None = None) -> None:
        """Appends a barrier: later instructions start after the last ``vv_`` instruction has
        finished."""
        self._macro("VV_SYNC", comment, ISA.encode("vv_nop"))

    # Loads

    def _rows(self, reg):
        """Addresses of a register's bits."""
        return range(reg * self.params.regWidth, (reg + 1) * self.params.regWidth)

    def mv_CLRREG(self, reg: int, *, comment: str | None = None) -> None:
        """Appends a clear of reg in all PEs; afterwards all blocks are selected."""
        reg = self._register("reg", reg)
        self._macro(
            f"MV_CLRREG reg={reg}",
            comment,
            ISA.encode("mv_selectAll"),
            *self._words("mv_write", ("addr", self._rows(reg)), data=0),
        )

    def _fixed(self, name, array):
        from .fixedpoint import to_fixed

        return to_fixed(name, array, self.params, self.overflow, self.warn)

    def _blocks(self, integers):
        from .fixedpoint import words_of

        return words_of(integers, self.params.regWidth).tolist()

    def _writes(self, reg, rows, select, **block):
        """Words that select blocks and write ``rows``; empty if all rows are zero."""
        writes = [
            _write(addr) + data * _DATA
            for addr, data in zip(self._rows(reg), rows, strict=True)
            if data
        ]
        return [ISA.encode(select, **block), *writes] if writes else []

    def _block_writes(self, reg, blocks):
        """Words of :meth:`_writes` for all ``blocks`` [rows, columns, bits] of a matrix."""
        import numpy as np

        rows, columns, _ = blocks.shape
        select = np.array([[_select(r, c) for c in range(columns)] for r in range(rows)], np.int64)
        empty = np.array([_write(addr) for addr in self._rows(reg)], np.int64)
        words = np.concatenate([select[..., None], empty + blocks * _DATA], axis=2)
        kept = np.concatenate([blocks.any(axis=2, keepdims=True), blocks != 0], axis=2)
        return words[kept].tolist()

    def _check_size(self, name, what, size, axis):
        limit, why = PES**axis << self.params.idWidth, "idWidth"
        if self.params.mvBlockDim is not None:
            limit, why = (self.params.mvMaxRow, self.params.mvMaxCol)[axis], "mvBlockDim"
        if size > limit:
            raise IMAGineError(f"{what} of {name}", size, f"at most {limit} ({why})")

    def mv_LOADMAT(self, reg: int, matrix: Any, *, comment: str | None = None) -> None:
        """Appends the load of a matrix: element k of row r goes to PE k mod 16 of block (r, k div
        16) of reg, and 0 to all others."""
        from .fixedpoint import matrix_blocks, matrix_rows

        reg = self._register("reg", reg)
        blocks = matrix_blocks(matrix, self.params)
        if blocks is not None:
            self._check_size("matrix", "rows", len(matrix), 0)
            self._check_size("matrix", "columns", matrix.shape[1], 1)
            words = self._block_writes(reg, blocks)
            self._load(reg, "MV_LOADMAT", f"Mat{matrix.shape}", words, comment)
            return
        rows = matrix_rows("matrix", matrix)
        longest = max((len(row) for row in rows), default=0)
        self._check_size("matrix", "rows", len(rows), 0)
        self._check_size("matrix", "columns", longest, 1)
        words = []
        for r, row in enumerate(rows):
            for c, block in enumerate(self._blocks(self._fixed("matrix", row))):
                words += self._writes(reg, block, "mv_selectBlk", rowID=r, colID=c)
        self._load(reg, "MV_LOADMAT", f"Mat({len(rows)}, {longest})", words, comment)

    def mv_LOADVEC_ROW(self, reg: int, vector: Any, *, comment: str | None = None) -> None:
        """Appends the load of a row vector: element k goes to PE k mod 16 of block column k div 16
        of reg, in every row, and 0 to all others."""
        from .fixedpoint import vector_of

        reg = self._register("reg", reg)
        vector = vector_of("vector", vector)
        self._check_size("vector", "length", len(vector), 1)
        words = []
        for c, block in enumerate(self._blocks(self._fixed("vector", vector))):
            words += self._writes(reg, block, "mv_selectCol", colID=c)
        self._load(reg, "MV_LOADVEC_ROW", f"Vec({len(vector)})", words, comment)

    def mv_LOADVEC_COL(self, reg: int, vector: Any, *, comment: str | None = None) -> None:
        """Appends the load of a column vector: element r goes to all PEs of block row r of reg, and
        0 to all others."""
        from .fixedpoint import vector_of

        reg = self._register("reg", reg)
        vector = vector_of("vector", vector)
        self._check_size("vector", "length", len(vector), 0)
        words = []
        for r, value in enumerate(self._fixed("vector", vector).tolist()):
            bits = [0xFFFF if value >> b & 1 else 0 for b in range(self.params.regWidth)]
            words += self._writes(reg, bits, "mv_selectRow", rowID=r)
        self._load(reg, "MV_LOADVEC_COL", f"Vec({len(vector)})", words, comment)

    def _load(self, reg, text, shape, words, comment):
        self._check_comment(comment)
        self.mv_CLRREG(reg, comment=f"dependency of {text}")
        self._macro(f"{text} {shape}", comment, *words)
