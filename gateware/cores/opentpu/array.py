# SPDX-License-Identifier: BSD-2-Clause
"""Systolic array: stationary int8 weights with second buffers, input skew, narrow partial sums, output deskew."""
from amaranth import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...primitives.dsp import MultiplierArray

__all__ = ["SystolicArray"]


class SystolicArray(wiring.Component):
    """N x N cells; takes a vector and gives a row of N sums each cycle, never stalls.

    Parameters
    ----------
    n : int
    multiplier, dsp_limit, fabric_register, family : see :class:`~quintet.gateware.primitives.dsp.MultiplierArray`

    Members
    -------
    vector : In, N x int8: a vector each cycle (whether it means anything is the user's affair)
    switch : In: with the first vector of a new tile: the second buffers become the weights, cell by cell, with the wave
        of that vector
    load : In: rows of the next tile come from now on. Row k of it stands on ``row`` k cycles after ``load``.
        From one ``switch`` to the next ``load`` at least N-1 cycles, from ``load`` to ``switch`` at least one.
    row : In, N x int8
    sums : Out, N x signed(16 + ceil(log2 N)): exact sums of the vector given :attr:`latency` cycles ago

    Row k of the array works k cycles after row 0, column j j cycles after column 0 (j // 2 with ``dsp_pair``, where two
    columns share an activation).
    """
    def __init__(self, *, n, multiplier="dsp", dsp_limit=None, fabric_register=False, family=None):
        self.n = n
        self.sum_bits = 16 + ceil_log2(n)
        self.multipliers = MultiplierArray(lanes=n * n, kind=multiplier, dsp_limit=dsp_limit,
                                           fabric_register=fabric_register, family=family)
        self._share = 2 if multiplier == "dsp_pair" else 1      # columns that share an activation
        self._columns = n // self._share
        # Input register, multiplier, N adders, the other columns.
        self.latency = self.multipliers.latency + n + self._columns
        super().__init__({
            "vector": In(signed(8)).array(n), "switch": In(1), "load": In(1), "row": In(signed(8)).array(n),
            "sums": Out(signed(self.sum_bits)).array(n),
        })

    def elaborate(self, platform):
        m = Module()
        n = self.n
        m.submodules.multipliers = mult = self.multipliers
        share = self._share

        def register(value, name):
            held = Signal.like(value, name=name, reset_less=True)
            m.d.sync += held.eq(value)
            return held

        # The switch travels along the diagonals: cell (k, j) hears of it k + j // share cycles after cell (0, 0).
        switch = [self.switch]
        for d in range(1, n + self._columns - 1):
            switch.append(register(switch[-1], f"switch_{d}"))
        load = [self.load]
        for k in range(1, n):
            load.append(register(load[-1], f"load_{k}"))

        below = [None] * n          # partial sums of the row above
        for k in range(n):
            passed = self.vector[k]
            for step in range(k):
                passed = register(passed, f"skew_{k}_{step}")
            for j in range(n):
                following = Signal(signed(8), name=f"next_{k}_{j}", reset_less=True)
                active = Signal(signed(8), name=f"active_{k}_{j}", reset_less=True)
                with m.If(load[k]):
                    m.d.sync += following.eq(self.row[j])
                with m.If(switch[k + j // share]):
                    m.d.sync += active.eq(following)
                if j % share == 0:
                    passed = register(passed, f"input_{k}_{j}")
                lane = k * n + j
                m.d.comb += [mult.a[lane].eq(passed), mult.b[lane].eq(active)]
                total = Signal(signed(self.sum_bits), name=f"sum_{k}_{j}", reset_less=True)
                m.d.sync += total.eq(mult.p[lane] if k == 0 else below[j] + mult.p[lane])
                below[j] = total
        for j in range(n):
            value = below[j]
            for step in range(self._columns - 1 - j // share):
                value = register(value, f"deskew_{j}_{step}")
            m.d.comb += self.sums[j].eq(value)
        return m
