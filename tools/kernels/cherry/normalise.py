# SPDX-License-Identifier: BSD-2-Clause
"""Softmax and layer normalisation over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..inputs import KernelError
from .base import ModuleBase
from .operands import operands
from .values import value_text

if TYPE_CHECKING:
    from .matrix import Matrix
    from .stored import Stored

__all__ = ["NormaliseOps"]


class NormaliseOps(ModuleBase):
    """Mixin of :class:`~.module.Module` for normalisations."""

    def softmax(self, x: Matrix) -> Matrix | Stored:
        """Softmax of every row; the row's maximum is subtracted first."""
        operands(self, "softmax", x, stored=False)
        self._special("softmax")
        top = self.reduce("max", x, 1)
        powers = self.chain(
            x.rows, x.cols, [("INPUT", x), ("WEIGHTS", top), "sub", "copy INPUT, OUTPUT", "exp"]
        )
        return self.binary("div", powers, self._row_sums(powers, x.cols))

    def layer_norm(
        self, x: Matrix, gamma: Matrix, beta: Matrix, epsilon: float | str = "1e-5"
    ) -> Matrix | Stored:
        """Layer normalisation of every row, (x - mean) / sqrt(variance + epsilon) * gamma + beta;
        ``gamma``, ``beta``: 1 x columns."""
        operands(self, "layer_norm", x, gamma, beta, stored=False)
        self._special("layer_norm")
        for what, m in (("gamma", gamma), ("beta", beta)):
            if m.rows != 1 or m.cols not in (1, x.cols):
                raise KernelError(
                    f"{what} of a matrix of {x.rows}x{x.cols} must be 1x{x.cols}, not "
                    f"{m.rows}x{m.cols}"
                )
        if not 0 <= float(value_text(epsilon, "epsilon")) < float("inf"):
            raise KernelError(f"epsilon must be a finite number from 0, not {epsilon!r}")
        self.holding((x, None), (gamma, None), (beta, None))
        share = self.constant(1 / x.cols)
        mean = self.binary("mul", self._row_sums(x, x.cols), share)
        centred = self.binary("sub", x, mean)
        squares = self.binary("mul", centred, centred)
        variance = self.binary("mul", self._row_sums(squares, x.cols), share)
        scale = self.chain(
            x.rows,
            1,
            [
                ("INPUT", variance),
                ("WEIGHTS", self.constant(epsilon)),
                "add",
                "copy INPUT, OUTPUT",
                ("WEIGHTS", self.constant("-0.5")),
                "pow",
            ],
        )
        return self.chain(
            x.rows,
            x.cols,
            [
                ("INPUT", centred),
                ("WEIGHTS", scale),
                "mul",
                "copy INPUT, OUTPUT",
                ("WEIGHTS", gamma),
                "mul",
                "copy INPUT, OUTPUT",
                ("WEIGHTS", beta),
                "add",
            ],
        )

    def _special(self, what):
        if not self.sfu_lanes:
            raise KernelError(
                f"{what} needs special functions, of which this build has none (sfu_lanes 0)"
            )

    def _row_sums(self, x, cols):
        """Sums of rows over ``cols`` columns."""
        ones = self.matrix(cols, 1)
        one = self.constant("1.0")
        self.chain(cols, 1, [("OUTPUT", one)], ones)
        return self.matmul(x, ones)
