# SPDX-License-Identifier: BSD-2-Clause
"""Engines of OpenTPU: the small one where it suffices, else the pipelined one."""

from .engine.core import PipelinedEngine
from .small.core import SmallEngine, small_fits

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return SmallEngine if small_fits(params, beat_bytes) else PipelinedEngine
