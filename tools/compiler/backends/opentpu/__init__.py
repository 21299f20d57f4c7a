# SPDX-License-Identifier: BSD-2-Clause
"""Back end for OpenTPU: networks as sums of tile products over shifted maps."""

from .backend import OpenTpu as BACKEND

__all__ = ["BACKEND"]
