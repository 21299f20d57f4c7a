# SPDX-License-Identifier: BSD-2-Clause
"""Back end for PIM: weights distributed over the cores' arrays, maps streamed by rows through local
memory."""

from .backend import PIMBackend

__all__ = ["BACKEND"]

BACKEND = PIMBackend
