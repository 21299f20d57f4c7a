# SPDX-License-Identifier: BSD-2-Clause
"""Engine of the PIM machine: one, for any number of processors."""
from .engine.core import ManyCoreEngine

__all__ = ["variant"]


def variant(params, beat_bytes):
    """Class of the engine of a build."""
    return ManyCoreEngine
