# SPDX-License-Identifier: BSD-2-Clause
"""Programs for the array: instruction words, written by the published assembler's macros."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.model.cycles import estimate
from quintet.gateware.cores.imagine.params import levels, registers_of

__all__ = ["RESERVED", "ArrayProgram"]

#: Registers kept for ``mv_MULTFXP``.
RESERVED = 2


def _setup(params: Mapping[str, Any], fraction: int) -> dict[str, Any]:
    """Keyword arguments of ``setupParams`` for a build with all of its registers."""
    return {
        "regCnt": registers_of(params) - RESERVED,
        "regWidth": params["reg_width"],
        "maxLevel": levels(params["cols"]) - 1,
        "fracWidth": fraction,
        "mvBlockDim": (params["rows"], params["cols"]),
        "resvRegCnt": RESERVED,
        "pimDepth": params["depth"],
    }


class ArrayProgram:
    """Program under construction for a build of ``params``, with numbers of ``fraction`` fraction
    bits; ``vectors`` counts the result vectors shifted out."""

    def __init__(self, params: Mapping[str, Any], fraction: int):
        self.params, self.fraction = params, fraction
        self.vectors = 0
        self._asm = IMAGineAsm(overflow="raise")
        self._asm.setupParams(**_setup(params, fraction))

    @property
    def size(self) -> int:
        """Words so far."""
        return self._asm.size

    def call(self, method: str, *arguments: Any) -> None:
        """Appends a mnemonic or macro with integer arguments."""
        getattr(self._asm, method)(*arguments)
        self.vectors += method == "vv_parallelEn"

    def load(self, method: str, register: int, integers: np.ndarray) -> None:
        """Appends a LOAD macro of ``integers``."""
        getattr(self._asm, method)(register, np.asarray(integers) / 2.0**self.fraction)

    def row(
        self,
        terms: Sequence[tuple[int, int]],
        accumulator: int,
        work: int,
        bias: int | None,
        overlap: bool = True,
    ) -> None:
        """Appends one row of tiles: the sum of products of ``terms`` (pairs of vector register and
        weight register), summed over the PEs of a row, plus ``bias`` (a register or ``None``),
        shifted out.

        ``overlap``: the columns take the last result alone, so that the shift-out before it runs
        beside all that comes first.
        """
        if not overlap:
            self.call("vv_serialEn")
        for index, (vector, weight) in enumerate(terms):
            self.call("mv_MULTFXP", work if index else accumulator, vector, weight)
            if index:
                self.call("mv_add", accumulator, accumulator, work)
        self.finish(accumulator, bias, overlap)

    def finish(self, accumulator: int, bias: int | None, overlap: bool = True) -> None:
        """Appends the end of :meth:`row`: bias and shift-out of the sum in ``accumulator``."""
        self.call("mv_ALLACCUM", accumulator, accumulator)
        if overlap:
            self.call("vv_serialEn")
        if bias is not None:
            self.call("mv_add", accumulator, accumulator, bias)
        elif overlap:
            self.call("mv_mov", accumulator, accumulator)
        self.call("mv_SYNC")
        self.call("vv_parallelEn")

    def words(self) -> list[int]:
        """All words."""
        return self._asm.words()

    @property
    def data(self) -> bytes:
        """The binary form."""
        return np.array(self.words(), "<u4").tobytes()

    @property
    def cycles(self) -> int:
        """Array cycles by the formulas of section 10, at most one word per cycle."""
        return estimate(self.words(), self.params)

    @property
    def output_bytes(self) -> int:
        """Number of bytes that the program writes."""
        return 4 * self.params["rows"] * self.vectors
