# SPDX-License-Identifier: BSD-2-Clause
"""quintet: five instruction sets for neural networks as gateware, with a compiler and a loader.

``compile_model`` makes a plan of an ONNX model, ``Net`` builds a network from arrays, ``load_plan``
reads a plan, ``open_target`` opens a golden model, a virtual board or a board. What each needs is
imported when it is asked for.
"""

from importlib import import_module

__all__ = ["Net", "compile_model", "load_plan", "open_target"]

_PLACES = {
    "Net": "quintet.tools.compiler.builder",
    "compile_model": "quintet.tools.compiler.api",
    "load_plan": "quintet.tools.compiler.api",
    "open_target": "quintet.tools.targets",
}


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 'quintet' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__():
    return sorted([*globals(), *__all__])
