# SPDX-License-Identifier: BSD-2-Clause
"""Programs as a list of calls of the published assembler, rendered as words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.model.cycles import estimate
from quintet.gateware.cores.imagine.params import levels, registers_of

__all__ = ["ProgramCalls", "RESERVED", "setup_of"]

#: Registers kept for ``mv_MULTFXP``.
RESERVED = 2


def setup_of(params: Mapping[str, Any], fraction: int) -> dict[str, Any]:
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


class ProgramCalls:
    """Program under construction: assembler calls for a build of ``params``, with numbers of
    ``fraction`` fraction bits; ``vectors`` counts the result vectors shifted out."""

    def __init__(self, params: Mapping[str, Any], fraction: int):
        self.params, self.fraction = params, fraction
        self.calls: list[Any] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.vectors = 0
        self._made = None  # (number of calls, assembler, starts, words) when last assembled

    def call(self, method: str, *arguments: Any) -> None:
        """Appends a mnemonic or macro with integer arguments."""
        self.calls.append((method, arguments))
        self.vectors += method == "vv_parallelEn"

    def load(self, method: str, register: int, integers: np.ndarray, name: str) -> None:
        """Appends a LOAD macro of ``integers``, an array named ``name`` in the text, or ``name_2``,
        ``name_3`` ... if that name is in use."""
        values = np.asarray(integers)
        unique, number = name, 1
        while unique in self.arrays and not np.array_equal(self.arrays[unique], values):
            number += 1
            unique = f"{name}_{number}"
        self.arrays[unique] = values
        self.calls.append((method, (register, unique)))

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

    def assembler(self) -> IMAGineAsm:
        """Assembles the program and returns the :class:`IMAGineAsm`."""
        return self._assembled()[0]

    def starts(self) -> list[int]:
        """Index of each call's first word."""
        return self._assembled()[1]

    def _assembled(self):
        """Assembles the calls: (assembler, index of each call's first word, all words)."""
        if self._made is None or self._made[0] != len(self.calls):
            self._made = len(self.calls), *self._assemble()
        return self._made[1:]

    def _assemble(self):
        asm = IMAGineAsm(overflow="raise")
        asm.setupParams(**setup_of(self.params, self.fraction))
        scale, starts = 2.0**self.fraction, []
        for method, arguments in self.calls:
            starts.append(asm.size)
            if isinstance(arguments[-1] if arguments else None, str):
                arguments = arguments[0], self.arrays[arguments[1]] / scale
            getattr(asm, method)(*arguments)
        return asm, starts, asm.words()

    def words(self) -> list[int]:
        """All words of the program."""
        return list(self._assembled()[2])

    @property
    def data(self) -> bytes:
        """The program in its binary form."""
        return np.array(self._assembled()[2], "<u4").tobytes()

    @property
    def cycles(self) -> int:
        """Cycles of the array by the formulas of section 10, with at most one word issued per
        cycle."""
        return estimate(self._assembled()[2], self.params)

    @property
    def output_bytes(self) -> int:
        """Number of bytes that the program writes."""
        return 4 * self.params["rows"] * self.vectors
