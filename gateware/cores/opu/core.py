# SPDX-License-Identifier: BSD-2-Clause
"""Engines of the OPU, of which the parameter ``engine`` names one."""

from .engine.core import PipelinedEngine
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return SmallEngine if params["engine"] == "small" else PipelinedEngine
