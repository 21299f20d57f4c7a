# SPDX-License-Identifier: BSD-2-Clause
"""The golden model of OPU. Pure Python and numpy."""

from .model import Model

__all__ = ["Model"]
