# SPDX-License-Identifier: BSD-2-Clause
"""Engines of the PIM machine: one for any number of processors, and a microprogram for one core on
a small chip."""

from .engine.core import ManyCoreEngine
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return SmallEngine if params["engine"] == "small" else ManyCoreEngine
