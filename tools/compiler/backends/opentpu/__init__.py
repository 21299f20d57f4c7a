# SPDX-License-Identifier: BSD-2-Clause
"""The compiler's back end for OpenTPU."""

from .backend import OpenTpu as BACKEND

__all__ = ["BACKEND"]
