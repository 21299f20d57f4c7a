# SPDX-License-Identifier: BSD-2-Clause
"""Engines of Cherry: a microprogram where everything is serial, else units side by side."""

from .engine.core import PipelinedEngine
from .params import microcoded
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return SmallEngine if microcoded(params) else PipelinedEngine
