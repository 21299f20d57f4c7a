# SPDX-License-Identifier: BSD-2-Clause
"""Engine of IMAGine: one, for builds of all sizes."""

from .engine.core import ArrayEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return ArrayEngine
