# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for Cherry: operations on matrices in the scratchpad, as programs of one step each
(docs/cores/cherry-kernels.md).

* :class:`Module` places matrices in main memory and the scratchpad and collects the steps;
* :class:`Stored` is a matrix that stays in main memory, of any size;
* its methods add operations: element by element with broadcasting, products, convolutions,
  reductions, softmax, layer normalisation;
* :mod:`.tilework` makes loop nests over views of maps, for networks, :mod:`.timing` estimates their
  cycles;
* ``source()`` is the assembly source, ``write_job`` a job for ``quintet run``.
"""

from ..inputs import KernelError
from .jobs import write_job
from .module import Matrix, Module
from .stored import Stored

__all__ = ["KernelError", "Matrix", "Module", "Stored", "write_job"]
