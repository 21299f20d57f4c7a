# SPDX-License-Identifier: BSD-2-Clause
"""Softmax and layer normalisation of rows."""

__all__ = ["NormaliseOps"]


class NormaliseOps:
    """Methods of :class:`~.module.Module`."""

    def softmax(self, x):
        """Softmax of every row: the largest element is taken off first. Columns of the padding must hold ``-inf``."""
        top = self.reduce("max", x, 1)
        powers = self.chain(x.rows, x.cols, [("INPUT", x), ("WEIGHTS", top), "sub", "copy INPUT, OUTPUT", "exp"])
        return self.binary("div", powers, self._row_sums(powers, x.cols))

    def layer_norm(self, x, gamma, beta, epsilon="1e-5"):
        """(x - mean) / sqrt(variance + epsilon) * gamma + beta of every row; ``gamma``, ``beta``: 1 x columns."""
        share = self.constant(f"{1 / x.cols!r}" if "." in f"{1 / x.cols!r}" or "e" in f"{1 / x.cols!r}" else f"{1 / x.cols}.0")
        mean = self.binary("mul", self._row_sums(x, x.cols), share)
        centred = self.binary("sub", x, mean)
        squares = self.binary("mul", centred, centred)
        variance = self.binary("mul", self._row_sums(squares, x.cols), share)
        scale = self.chain(x.rows, 1, [("INPUT", variance), ("WEIGHTS", self.constant(epsilon)), "add", "copy INPUT, OUTPUT",
                                       ("WEIGHTS", self.constant("-0.5")), "pow"])
        return self.chain(x.rows, x.cols, [("INPUT", centred), ("WEIGHTS", scale), "mul", "copy INPUT, OUTPUT", ("WEIGHTS", gamma), "mul",
                                           "copy INPUT, OUTPUT", ("WEIGHTS", beta), "add"])

    def _row_sums(self, x, cols):
        """Sums of rows over ``cols`` columns alone, whatever the padding holds."""
        ones = self.matrix(cols, 1)
        one = self.constant("1.0")
        self.chain(cols, 1, [("OUTPUT", one)], ones)
        return self.matmul(x, ones)
