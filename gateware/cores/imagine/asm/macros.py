# SPDX-License-Identifier: BSD-2-Clause
"""Multi-word methods (macros) of the assembler class (section 3.3). Only the LOAD macros import
numpy."""

from functools import lru_cache
from typing import Any

from ..isa import ISA, PES
from .instructions import InstructionMethods
from .target import IMAGineError, integer

__all__ = ["MacroMethods"]

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
