# SPDX-License-Identifier: BSD-2-Clause
"""Where programs run: the golden model, the virtual board, a physical board. One interface for all
three."""

from .base import Target, TargetInfo
from .names import open_target

__all__ = ["Target", "TargetInfo", "open_target"]
