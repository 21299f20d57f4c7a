# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of the OPU: pipelined or small, by the parameter ``engine``."""

from ...isa.parameters import Params
from ...shell.engine import Engine
from .engine.core import PipelinedEngine
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params: Params, beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build."""
    return SmallEngine if params["engine"] == "small" else PipelinedEngine
