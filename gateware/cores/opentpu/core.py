# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of OpenTPU: the small engine if it suffices, else the pipelined one."""

from ...isa.parameters import Params
from ...shell.engine import Engine
from .engine.core import PipelinedEngine
from .small.core import SmallEngine, small_fits

__all__ = ["variant"]


def variant(params: Params, beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build."""
    return SmallEngine if small_fits(params, beat_bytes) else PipelinedEngine
