# SPDX-License-Identifier: BSD-2-Clause
"""Gateware of the cores and their SoC, and the cores' specification in pure Python: instruction
sets, golden models, assemblers.

``Core`` is a core for a design of one's own (docs/guides/own-soc.md); its modules are imported when
it is asked for.
"""

import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quintet.gateware.core import Core

__all__ = ["LOADED_AT", "Core"]

#: Seconds since 1970 before which no module of the gateware was read: what stands in a file that is
#: younger may not be what runs.
LOADED_AT = time.time()


def __getattr__(name: str) -> Any:
    if name != "Core":
        raise AttributeError(f"module 'quintet.gateware' has no attribute {name!r}")
    return import_module("quintet.gateware.core").Core
