# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of IMAGine: one engine for builds of all sizes."""

from .engine.core import ArrayEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Selects the engine class of a build."""
    return ArrayEngine
