# SPDX-License-Identifier: BSD-2-Clause
"""Compiler's back end for PIM: weights shared out over the cores' arrays, maps in rows through
local memory."""

from .backend import PIMBackend

__all__ = ["BACKEND"]

BACKEND = PIMBackend
