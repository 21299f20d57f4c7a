# SPDX-License-Identifier: BSD-2-Clause
"""Back end for IMAGine: dense layers in the array, everything else on the host."""

from .backend import IMAGineBackend

__all__ = ["BACKEND"]

BACKEND = IMAGineBackend
