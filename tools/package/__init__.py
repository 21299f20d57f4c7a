# SPDX-License-Identifier: BSD-2-Clause
"""quintet: five instruction sets for neural networks as gateware, with a compiler and a loader.

``compile_model`` makes a plan of an ONNX model, ``Net`` builds a network from arrays, ``load_plan``
reads a plan, ``open_target`` opens a golden model, a virtual board or a board. What each needs is
imported on demand.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quintet.tools.compiler.api import compile_model, load_plan
    from quintet.tools.compiler.builder import Net
    from quintet.tools.targets import open_target

__all__ = ["Net", "compile_model", "load_plan", "open_target"]

_PLACES = {
    "Net": "quintet.tools.compiler.builder",
    "compile_model": "quintet.tools.compiler.api",
    "load_plan": "quintet.tools.compiler.api",
    "open_target": "quintet.tools.targets",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'quintet' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
