# SPDX-License-Identifier: BSD-2-Clause
"""Where programs run: golden model, virtual board or physical board, behind one interface."""

from .base import Target, TargetInfo
from .names import open_target

__all__ = ["Target", "TargetInfo", "open_target"]
