# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for Cherry: operations on matrices in the scratchpad, as programs of one step each (docs/cherry-kernels.md).

* :class:`Module` places matrices in main memory and the scratchpad and collects the steps;
* its methods add operations: element by element with broadcasting, products, convolutions, reductions, softmax, layer normalisation;
* ``source()`` is the assembly source, ``write_job`` a job for ``quintet run``.
"""
from .errors import KernelError
from .jobs import write_job
from .module import Matrix, Module

__all__ = ["KernelError", "Matrix", "Module", "write_job"]
