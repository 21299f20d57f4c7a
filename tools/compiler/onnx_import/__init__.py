# SPDX-License-Identifier: BSD-2-Clause
"""Import of ONNX models, float or QDQ, of fixed shapes, into graphs. Nothing in a model's file is
ever executed."""

from .errors import OnnxError
from .translate import import_onnx

__all__ = ["OnnxError", "import_onnx"]
