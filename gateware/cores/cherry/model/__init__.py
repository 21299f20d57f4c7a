# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of Cherry. Pure Python and numpy."""

from .model import Model

__all__ = ["Model"]
