# SPDX-License-Identifier: BSD-2-Clause
"""Assembly target: the parameters of ``setupParams`` (section 3.4). Pure Python."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ....isa.parameters import Params
from ..isa import PES, levels

__all__ = ["IMAGineError", "Target", "check_range", "integer", "shown"]

_DEPTHS = (64, 128, 256, 512, 1024)


class IMAGineError(ValueError):
    """Error of a parameter or argument: ``name`` is that of the parameter or argument, ``value``
    its value."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name, self.value, self.expected = name, value, expected
        super().__init__(f"{name} = {shown(value)}, expected {expected}")


def shown(value: object) -> str:
    """Formats ``value`` on one line, for messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def integer(name: str, value: Any, expected: str) -> int:
    """Converts ``value`` to a Python integer (numpy integers are accepted); raises
    :class:`IMAGineError`."""
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise IMAGineError(name, value, expected)


def check_range(name: str, value: Any, low: int, high: int) -> int:
    """Converts ``value`` to an integer from ``low`` to ``high``; raises :class:`IMAGineError`."""
    expected = f"an integer from {low} to {high}" if low <= high else "nothing: there is none"
    number = integer(name, value, expected)
    if not low <= number <= high:
        raise IMAGineError(name, value, expected)
    return number


@dataclass(frozen=True)
class Target:
    """Assembly target: checked parameters. Names and defaults are the published ones; ``pimDepth``
    is an addition.

    Parameters
    ----------
    regCnt : registers that a program may name, 0 to regCnt-1.
    regWidth : bits of a register: 4, 8 or 16.
    maxLevel : highest level of ``mv_accumRow``, -1 to 7 (-1: none).
    maxFold : highest fold of ``mv_blockFold``, 1 to 4.
    idWidth : bits of a block's row and column number, 1 to 8.
    fracWidth : fraction bits of numbers, 0 to regWidth.
    mvBlockDim : (block rows, block columns), or ``None`` for no limits but idWidth's.
    resvRegCnt : registers kept for macros, from regCnt on.
    pimDepth : rows of a block's RAM; regCnt + resvRegCnt <= min(64, pimDepth/regWidth).
    """

    regCnt: int = 16
    regWidth: int = 16
    maxLevel: int = 3
    maxFold: int = 4
    idWidth: int = 8
    fracWidth: int = 0
    mvBlockDim: Sequence[int] | None = None
    resvRegCnt: int = 0
    pimDepth: int = 1024

    def __post_init__(self) -> None:
        def keep(name, value):
            object.__setattr__(self, name, value)

        for name, values in (("regWidth", (4, 8, 16)), ("pimDepth", _DEPTHS)):
            expected = "one of " + ", ".join(str(v) for v in values)
            keep(name, integer(name, getattr(self, name), expected))
            if getattr(self, name) not in values:
                raise IMAGineError(name, getattr(self, name), expected)
        for name, low, high in (
            ("regCnt", 1, self.capacity),
            ("resvRegCnt", 0, 64),
            ("fracWidth", 0, self.regWidth),
            ("maxFold", 1, 4),
            ("maxLevel", -1, 7),
            ("idWidth", 1, 8),
        ):
            keep(name, check_range(name, getattr(self, name), low, high))
        if self.regCnt + self.resvRegCnt > self.capacity:
            raise IMAGineError(
                "resvRegCnt",
                self.resvRegCnt,
                f"at most {self.capacity - self.regCnt}: regCnt + resvRegCnt <= min(64, "
                f"pimDepth/regWidth) = "
                f"{self.capacity}",
            )
        if self.mvBlockDim is not None:
            keep("mvBlockDim", self._block_dim(self.mvBlockDim))
            recommended = self.recommended_level
            if recommended is not None and self.maxLevel < recommended:
                raise IMAGineError(
                    "maxLevel",
                    self.maxLevel,
                    f"{self.recommended_level}, the levels that add up a row of "
                    f"{self.mvBlockDim[1]} block columns",
                )

    def _block_dim(self, given):
        most = 1 << self.idWidth
        expected = f"(block rows, block columns), each 1 to {most}, or None"
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise IMAGineError("mvBlockDim", given, expected)
        pair = tuple(integer("mvBlockDim", value, expected) for value in given)
        if not all(1 <= value <= most for value in pair):
            raise IMAGineError("mvBlockDim", given, expected)
        return pair

    @property
    def capacity(self) -> int:
        """Number of registers of a PE."""
        return min(64, self.pimDepth // self.regWidth)

    @property
    def recommended_level(self) -> int | None:
        """Highest level that adds up anything: ceil(log2 block columns) - 1; ``None`` without
        mvBlockDim."""
        return None if self.mvBlockDim is None else levels(self.mvBlockDim[1]) - 1

    @property
    def mvMaxRow(self) -> int | None:
        """Greatest number of rows of a matrix; ``None`` without mvBlockDim."""
        return None if self.mvBlockDim is None else self.mvBlockDim[0]

    @property
    def mvMaxCol(self) -> int | None:
        """Greatest number of columns of a matrix; ``None`` without mvBlockDim."""
        return None if self.mvBlockDim is None else PES * self.mvBlockDim[1]

    @property
    def resvRegBase(self) -> int | None:
        """First reserved register; ``None`` if there is none."""
        return self.regCnt if self.resvRegCnt else None

    def warnings(self) -> Iterator[str]:
        """Warnings about parameters that are legal but likely mistakes."""
        best = self.recommended_level
        if best is not None and self.mvBlockDim is not None and self.maxLevel > best:
            yield (
                f"maxLevel = {self.maxLevel}, {best} is enough for {self.mvBlockDim[1]} block "
                f"columns: levels above it "
                "add 0"
            )

    def check_target(self, params: Params) -> None:
        """Raises an error for a build with ``params`` that cannot run a program for these
        parameters.

        Raises
        ------
        ValueError
        """
        if self.regWidth != params["reg_width"]:
            raise ValueError(
                f"the source has regWidth = {self.regWidth}, the target reg_width = "
                f"{params['reg_width']}"
            )
        has, used = min(64, params["depth"] // params["reg_width"]), self.regCnt + self.resvRegCnt
        if used > has:
            raise ValueError(
                f"the source has regCnt + resvRegCnt = {used}, the target {has} registers (depth = "
                f"{params['depth']})"
            )
        if self.mvBlockDim is not None and (
            self.mvBlockDim[0] > params["rows"] or self.mvBlockDim[1] > params["cols"]
        ):
            raise ValueError(
                f"the source has mvBlockDim = {self.mvBlockDim}, the target {params['rows']} x "
                f"{params['cols']} "
                "blocks (rows, cols)"
            )
