# SPDX-License-Identifier: BSD-2-Clause
"""Constants of Cherry's arithmetic and tables of its special functions, shared by model and
gateware (specification, sections 2.1, 4.4 and 7.6). The tables are computed from their
definition."""

from decimal import Decimal, localcontext
from functools import cache

import numpy as np

__all__ = ["BIAS", "FRAC", "INF", "L2E", "LNC", "NAN", "ONE", "OPERATIONS", "expt", "logt", "rect"]

#: Fraction bits and exponent bias of an element.
FRAC = 9
BIAS = 127
#: Patterns of an element: infinity, the one NaN that arithmetic produces, one.
INF, NAN, ONE = 0x1FE00, 0x1FF00, 0x0FE00

#: Element operations that an execution of an instruction counts; others count none.
OPERATIONS = {
    "matmul": 64,
    **dict.fromkeys(
        ("mulacc", "add", "sub", "mul", "div", "pow", "max", "sum", "relu", "exp", "log", "gtz"), 16
    ),
}

#: round(2^27 log2 e), round(2^16 ln 2).
L2E, LNC = 0xB8AA3B3, 0xB172

_ENTRIES = 512


def _table(value):
    with localcontext() as context:
        context.prec = 40
        return np.array([int(value(n).to_integral_value()) for n in range(_ENTRIES)], np.int64)


@cache
def logt() -> np.ndarray:
    """Table of logarithms: LOGT[f] = round(2^32 log2(1 + f/512))."""
    ln2 = Decimal(2).ln()
    return _table(lambda f: (Decimal(512 + f) / 512).ln() / ln2 * (1 << 32))


@cache
def expt() -> np.ndarray:
    """Table of powers of two: EXPT[k] = round(2^26 2^(k/512))."""
    ln2 = Decimal(2).ln()
    return _table(lambda k: (ln2 * k / 512).exp() * (1 << 26))


@cache
def rect() -> np.ndarray:
    """Table of reciprocals: RECT[f] = round(2^21 * 512/(512 + f))."""
    return _table(lambda f: Decimal(1 << 30) / (512 + f))
