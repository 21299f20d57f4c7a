# SPDX-License-Identifier: BSD-2-Clause
"""Operators of ONNX, a module a family; importing this package fills the table of :mod:`..step`."""
from . import elementwise, learning, linear, normal, quantised, recurrent, reduction, shaping, windows

__all__ = ["elementwise", "learning", "linear", "normal", "quantised", "recurrent", "reduction", "shaping", "windows"]
