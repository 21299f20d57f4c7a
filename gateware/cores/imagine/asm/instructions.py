# SPDX-License-Identifier: BSD-2-Clause
"""Single-word methods of the assembler class (section 3.1). Pure Python."""

from abc import ABC, abstractmethod

from ..isa import ISA
from .target import IMAGineError, Target, check_range, integer

__all__ = ["InstructionMethods"]


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
