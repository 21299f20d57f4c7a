# SPDX-License-Identifier: BSD-2-Clause
"""ONNX models into graphs: float or QDQ, of fixed shapes. Nothing of a model's file is ever
executed."""

from .errors import OnnxError
from .translate import import_onnx

__all__ = ["OnnxError", "import_onnx"]
