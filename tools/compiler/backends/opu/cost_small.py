# SPDX-License-Identifier: BSD-2-Clause
"""Cycle model of the small engine, which executes instructions one at a time (specification, 9.6
and 10.1)."""

from collections.abc import Mapping
from typing import Any

from .....gateware.cores.opu.model.sequence import Sequence

__all__ = ["SmallEngineModel"]

#: Cycles of a configuration instruction, of the checks of a load or store, of a convolution, of a
#: channel of ``conv.bias``.
_CONFIGURE, _CHECK, _CONVOLVE, _BIAS = 60, 100, 90, 28
#: Bytes a cycle of a load, cycles of an element of ``store``.
_LOAD, _STORE = 2, 1.05


class SmallEngineModel:
    """Model of the small engine that :func:`~.cost.estimate` steps through."""

    def __init__(self, params: Mapping[str, Any]):
        self.params, self.sequence = params, Sequence(params)
        self.issue = self.moved = 0.0
        self.work = 0

    @property
    def dma(self) -> float:
        """Cycles of the DMA so far."""
        return self.issue

    conv = dma

    def step(self, word: int) -> bool:
        """Executes one word; returns whether the program continues."""
        step, s = self.sequence.step(word), self.sequence
        name = step.mnemonic
        if name.startswith("conv"):
            self._conv(name)
        elif name.startswith("ld."):
            self._move(_CHECK + step.bytes_read / _LOAD)
        elif name in ("store", "pad"):
            window = s.pool[0] * s.pool[1] + (s.order == 2 and s.res) if name == "store" else 1
            self._move(_CHECK + step.bytes_written * _STORE * window)
        else:
            self.issue += _CONFIGURE
        return name == "end"

    def _move(self, cycles):
        self.issue += cycles
        self.moved += cycles

    def _conv(self, name):
        (h, w, ofm_c), ifm_c = self.sequence.ofm, self.sequence.ifm[2]
        steps = ifm_c * ofm_c // 16
        if self.params["multiplier"] == "dsp":  # weights are copied first; ofm has one port
            copied, slow = 8 * steps, 2 if name == "conv.acc" and ifm_c == 16 else 1
        else:  # sums and addends of the biases lie in one table
            copied, slow = 0, 2 if name == "conv.bias" else 1
        self.work += h * w * steps
        self.issue += (
            _CONVOLVE
            + copied
            + h * w * max(slow * steps, ifm_c // 2)
            + (_BIAS * ofm_c if name == "conv.bias" else 0)
        )
