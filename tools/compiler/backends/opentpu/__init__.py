# SPDX-License-Identifier: BSD-2-Clause
"""Back end for OpenTPU."""

from .backend import OpenTpu as BACKEND

__all__ = ["BACKEND"]
