# SPDX-License-Identifier: BSD-2-Clause
"""Translators of ONNX operators, one module per family; importing them registers the
translators."""

from ..step import OPERATORS
from . import (
    attention,
    composed,
    einsum,
    elementwise,
    learning,
    linear,
    normal,
    qonnx,
    quantised,
    recurrent,
    reduction,
    shaping,
    upsampling,
    windows,
)

__all__ = [
    "OPERATORS",
    "attention",
    "composed",
    "einsum",
    "elementwise",
    "learning",
    "linear",
    "normal",
    "qonnx",
    "quantised",
    "recurrent",
    "reduction",
    "shaping",
    "upsampling",
    "windows",
]
