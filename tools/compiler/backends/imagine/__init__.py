# SPDX-License-Identifier: BSD-2-Clause
"""Compiler's back end for IMAGine: dense layers in the array, everything else between them on the
host."""

from .backend import IMAGineBackend

__all__ = ["BACKEND"]

BACKEND = IMAGineBackend
