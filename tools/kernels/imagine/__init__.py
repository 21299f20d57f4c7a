# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for IMAGine: matrix-vector products of any size as programs
(docs/cores/imagine-kernels.md).

* :class:`Layer` is y = sum of W_k x_k + b in fixed point, :meth:`Layer.reference` what it must
  give, in integers;
* :class:`Resident` keeps the weights of layers in the array: a loader once, then a small program an
  inference;
* :func:`streamed` is one program for a batch of vectors, in passes, for layers that do not fit;
* :class:`Session` runs layers on a target; :class:`LSTMCell` is a cell's four gates;
  :func:`write_job` writes a job.
"""

from ..inputs import KernelError
from .jobs import write_job
from .layer import Layer, decode, from_fixed, to_fixed
from .lstm import LSTMCell
from .program import ProgramCalls
from .resident import Resident
from .session import Session
from .streamed import Streamed, streamed

__all__ = [
    "KernelError",
    "LSTMCell",
    "Layer",
    "ProgramCalls",
    "Resident",
    "Session",
    "Streamed",
    "decode",
    "from_fixed",
    "streamed",
    "to_fixed",
    "write_job",
]
