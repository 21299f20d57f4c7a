# SPDX-License-Identifier: BSD-2-Clause
"""Targets that run programs: golden model, virtual board and physical board, behind one
interface."""

from .base import Target, TargetInfo
from .names import open_target

__all__ = ["Target", "TargetInfo", "open_target"]
