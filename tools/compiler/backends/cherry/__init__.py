# SPDX-License-Identifier: BSD-2-Clause
"""Back end for Cherry: networks in its own floating point, on its kernel library."""

from .backend import Cherry

__all__ = ["BACKEND", "Cherry"]

BACKEND = Cherry
