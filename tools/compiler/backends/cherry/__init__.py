# SPDX-License-Identifier: BSD-2-Clause
"""Back end for Cherry: networks in its own floating point."""

from .backend import Cherry

__all__ = ["BACKEND", "Cherry"]

BACKEND = Cherry
