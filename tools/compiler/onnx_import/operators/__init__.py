# SPDX-License-Identifier: BSD-2-Clause
"""Operators of ONNX, a module a family; importing them fills the table."""

from ..step import OPERATORS
from . import (
    composed,
    elementwise,
    learning,
    linear,
    normal,
    quantised,
    recurrent,
    reduction,
    shaping,
    windows,
)

__all__ = [
    "OPERATORS",
    "composed",
    "elementwise",
    "learning",
    "linear",
    "normal",
    "quantised",
    "recurrent",
    "reduction",
    "shaping",
    "windows",
]
