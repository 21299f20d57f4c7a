# SPDX-License-Identifier: BSD-2-Clause
"""Code generator for the OPU: programs from networks (docs/cores/opu-kernels.md).

* :class:`Network` takes the layers, numpy arrays with fixed-point positions;
* :func:`compile_network` makes the program for one build: layout, tiles, order of instructions;
* :func:`run_network` says in plain numpy what the program must give;
* :func:`estimate` models the cycles of a program.
"""

from ....common.inputs import KernelError
from ..cost import SDRAM, Estimate, Timing, estimate
from ..reference import run_layer, run_network
from .compiler import compile_network
from .graph import Network
from .layers import Layer, Tensor
from .program import Compiled, LayerSpan, Placed
from .tiling import Tiling

__all__ = [
    "SDRAM",
    "Compiled",
    "Estimate",
    "KernelError",
    "Layer",
    "LayerSpan",
    "Network",
    "Placed",
    "Tensor",
    "Tiling",
    "Timing",
    "compile_network",
    "estimate",
    "run_layer",
    "run_network",
]
