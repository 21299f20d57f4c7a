# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of OpenTPU: the small one where it suffices, else the pipelined one."""

from .engine.core import PipelinedEngine
from .small.core import SmallEngine, small_fits

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Selects the engine class of a build."""
    return SmallEngine if small_fits(params, beat_bytes) else PipelinedEngine
