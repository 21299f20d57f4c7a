# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of the OPU. Pure Python and numpy."""

from .model import Model

__all__ = ["Model"]
