# SPDX-License-Identifier: BSD-2-Clause
"""Interface between the mixins of a module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .matrix import Matrix
    from .program import ProgramText
    from .stored import Stored

__all__ = ["ModuleBase"]


class ModuleBase(ABC):
    """Base class of the mixins of :class:`~.module.Module`.

    Attributes
    ----------
    contexts : int, contexts of the build
    acc_frac : int, fraction bits of ACC in the build
    """

    contexts: int
    acc_frac: int

    @abstractmethod
    def matrix(self, rows: int, cols: int, fill: float | str | None = None) -> Matrix:
        """See :meth:`~.module.Module.matrix`."""

    @abstractmethod
    def constant(self, value: float | str) -> Matrix:
        """See :meth:`~.module.Module.constant`."""

    @staticmethod
    @abstractmethod
    def holding(*reads: tuple[Matrix | Stored, int | None]) -> None:
        """See :meth:`~.module.Module.holding`."""

    @abstractmethod
    def program(
        self,
        persistent: int = 0,
        *,
        reads: Sequence[tuple[Matrix, int | None]],
        writes: Sequence[tuple[Matrix, int | None]],
    ) -> ProgramText:
        """See :meth:`~.module.Module.program`."""

    @abstractmethod
    def binary(
        self, op: str, x: Matrix | Stored, y: Matrix | Stored, out: Matrix | Stored | None = None
    ) -> Matrix | Stored:
        """See :meth:`~.elementwise.ElementwiseOps.binary`."""

    @abstractmethod
    def chain(
        self,
        rows: int,
        cols: int,
        parts: Sequence[str | tuple[str, Matrix | Stored]],
        out: Matrix | Stored | None = None,
    ) -> Matrix | Stored:
        """See :meth:`~.elementwise.ElementwiseOps.chain`."""

    @abstractmethod
    def reduce(self, op: str, x: Matrix, axis: int) -> Matrix:
        """See :meth:`~.reduce.ReduceOps.reduce`."""

    @abstractmethod
    def _chain_blocks(self, rows, cols, parts, out):
        """See :class:`~.blocks.BlockOps`."""

    @abstractmethod
    def _matmul_blocks(self, a, b, out, accumulate):
        """See :class:`~.blocks.BlockOps`."""
