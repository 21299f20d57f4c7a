# SPDX-License-Identifier: BSD-2-Clause
"""Importer of ONNX models, float or QDQ, with fixed shapes, as graphs. No content of a model's file
is ever executed."""

from .errors import OnnxError
from .translate import import_onnx

__all__ = ["OnnxError", "import_onnx"]
