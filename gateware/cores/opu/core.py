# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of the OPU, by the parameter ``engine``."""

from .engine.core import PipelinedEngine
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Selects the engine class of a build."""
    return SmallEngine if params["engine"] == "small" else PipelinedEngine
