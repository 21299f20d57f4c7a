# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of IMAGine: one engine for builds of all sizes."""

from ...isa.parameters import Params
from ...shell.engine import Engine
from .engine.core import ArrayEngine

__all__ = ["variant"]


def variant(params: Params, beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build."""
    return ArrayEngine
