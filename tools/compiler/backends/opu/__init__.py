# SPDX-License-Identifier: BSD-2-Clause
"""Back end for the OPU; :mod:`.codegen` writes its programs."""

from .backend import OpuBackend
from .backend import OpuBackend as BACKEND

__all__ = ["BACKEND", "OpuBackend"]
