# SPDX-License-Identifier: BSD-2-Clause
"""Sessions: layers on a target, one small program per inference, without a reset between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs import KernelError, check_whole
from .layer import Layer, decode
from .resident import Resident
from .streamed import batch_of, streamed

if TYPE_CHECKING:
    from ...targets.base import Target

__all__ = ["Session"]


class Session:
    """Runs layers on a target (``quintet.tools.open_target``); weights stay in the array if they
    fit, else they are streamed.

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

    def __init__(
        self,
        target: Target,
        layers: Sequence[Layer],
        *,
        program_at: int = 0x1000,
        progress: Callable[..., None] | None = None,
    ):
        if target.info.isa != "imagine":
            raise KernelError(f"{target.name} holds {target.info.isa or 'no core'}, not imagine")
        self.target, self.layers = target, list(layers)
        self.params = target.info.params
        self._at, self._progress = program_at, progress
        self.counters: dict[str, int] = {}
        self._kept: Resident | None = None
        target.reset_core()
        try:
            self._kept = Resident(self.layers, self.params)
        except KernelError:
            if not self.layers:
                raise
        if self._kept is not None:
            self._run(self._kept.loader())

    @property
    def resident(self) -> bool:
        """Whether the weights stay in the array."""
        return self._kept is not None

    def run(self, index: int, *vectors: Any) -> np.ndarray:
        """Runs layer ``index`` on ``vectors``; returns its results [m]."""
        layer = self._layer(index)
        if self._kept is not None:
            return self._kept.results(index, self._run(self._kept.kernel(index, vectors)))
        made = streamed(layer, self.params, [vectors])
        return made.results(self._run(made.program))[0]

    def batch(self, index: int, vectors: Sequence[Any]) -> np.ndarray:
        """Runs layer ``index`` on a batch of tuples of inputs, or of arrays for a single input;
        returns its results [batch, m]."""
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
