# SPDX-License-Identifier: BSD-2-Clause
"""Engine selection of PIM: the many-core engine for any number of processors, or a microcoded one
for a single core on a small chip."""

from ...isa.parameters import Params
from ...shell.engine import Engine
from .engine.core import ManyCoreEngine
from .small.core import SmallEngine

__all__ = ["variant"]


def variant(params: Params, beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build."""
    return SmallEngine if params["engine"] == "small" else ManyCoreEngine
