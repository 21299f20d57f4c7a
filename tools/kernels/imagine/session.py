# SPDX-License-Identifier: BSD-2-Clause
"""Layers on a target, one small program an inference, without a reset between them."""

import numpy as np

from ..inputs import KernelError, check_whole
from .layer import decode
from .resident import Resident
from .streamed import batch_of, streamed

__all__ = ["Session"]


class Session:
    """Runs layers on a target (``quintet.tools.open_target``); weights stay in the array if they
    fit, and are streamed if not.

    Parameters
    ----------
    target : Target that holds an IMAGine core
    layers : sequence of Layer
    program_at : byte address of the programs in main memory; results lie behind them
    progress : passed on to ``target.write``

    Attributes
    ----------
    resident : bool
    counters : dict
        Sums over all runs.

    Raises
    ------
    KernelError
        A target without such a core, a program that does not fit its memory, a run that did not end
        well.
    """

    def __init__(self, target, layers, *, program_at=0x1000, progress=None):
        if target.info.isa != "imagine":
            raise KernelError(f"{target.name} holds {target.info.isa or 'no core'}, not imagine")
        self.target, self.layers = target, list(layers)
        self.params = target.info.params
        self._at, self._progress = program_at, progress
        self.counters, self._kept = {}, None
        target.reset_core()
        try:
            self._kept = Resident(self.layers, self.params)
        except KernelError:
            if not self.layers:
                raise
        if self._kept is not None:
            self._run(self._kept.loader())

    @property
    def resident(self):
        return self._kept is not None

    def run(self, index, *vectors):
        """Results [m] of layer ``index`` on ``vectors``."""
        layer = self._layer(index)
        if self._kept is not None:
            return self._kept.results(index, self._run(self._kept.kernel(index, vectors)))
        made = streamed(layer, self.params, [vectors])
        return made.results(self._run(made.program))[0]

    def batch(self, index, vectors):
        """Results [batch, m] of layer ``index`` on ``vectors``, tuples of inputs or arrays of the
        only one."""
        layer = self._layer(index)
        given = batch_of(layer, [v if isinstance(v, tuple) else (v,) for v in vectors])
        if self._kept is not None:
            return np.stack([self.run(index, *v) for v in given])
        made = streamed(layer, self.params, given)
        return made.results(self._run(made.program))

    def _layer(self, index):
        return self.layers[check_whole("layer's number", index, 0, len(self.layers) - 1)]

    def _run(self, program):
        data, size = program.data, program.output_bytes
        output_at = (self._at + len(data) + 63) // 64 * 64
        if output_at + size > self.target.info.memory_size:
            raise KernelError(
                f"a program of {len(data)} bytes and {size} of results do not fit the main "
                f"memory of "
                f"{self.target.name}, {self.target.info.memory_size} bytes (use smaller batches)"
            )
        self.target.write(self._at, data, self._progress)
        outcome = self.target.run(
            {
                "program_address": self._at,
                "program_length": len(data),
                "output_at": output_at,
                "output_limit": output_at + size,
            }
        )
        if outcome.status != "done":
            raise KernelError(
                f"{self.target.name}: the run ended {outcome.status}: {outcome.fault}"
            )
        for name, value in outcome.counters.items():
            self.counters[name] = self.counters.get(name, 0) + value
        return decode(self.target.read(output_at, size), self.params["rows"]) if size else None
