# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of Cherry: the microcoded engine if all units are serial, else the pipelined
one."""

from ...isa.parameters import Params
from ...shell.engine import Engine
from .engine.core import PipelinedEngine
from .params import microcoded
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params: Params, beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build."""
    return SmallEngine if microcoded(params) else PipelinedEngine
