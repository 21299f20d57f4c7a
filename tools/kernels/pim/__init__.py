# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for PIM: dense layers, convolutions and pooling as programs of many cores
(docs/cores/pim-software.md).

* :class:`Network` takes the layers, numpy arrays of whole numbers, and refuses what does not fit;
* :func:`compile_network` shares out images among the cores, :func:`compile_columns` the columns of
  dense layers;
* :func:`run_network` says in plain numpy what the program must give;
* :func:`write_job` writes a job for ``quintet run``.
"""

from ..inputs import KernelError
from .builder import CoreBuilder
from .compiler import Compiled, compile_columns, compile_network
from .jobs import write_job
from .network import Conv, Dense, Network, Pool
from .reference import run_layer, run_network

__all__ = [
    "Compiled",
    "Conv",
    "CoreBuilder",
    "Dense",
    "KernelError",
    "Network",
    "Pool",
    "compile_columns",
    "compile_network",
    "run_layer",
    "run_network",
    "write_job",
]
