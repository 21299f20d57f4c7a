# SPDX-License-Identifier: BSD-2-Clause
"""Systolic array: stationary int8 weights, double-buffered, with input skew, narrow partial sums
and output deskew."""

from typing import Any

from amaranth import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....primitives.dsp import MultiplierArray
from ....primitives.kept import KeptRegister
from ....primitives.packed import UNPACK_LATENCY, PackedProducts, part_shapes, unpack_sums

__all__ = ["SystolicArray"]


class SystolicArray(wiring.Component):
    """Systolic array of N x N cells: accepts a vector and delivers a row of N sums in each cycle,
    and never stalls.

    Parameters
    ----------
    n : int
    multiplier : ``"dsp"``, ``"dsp_pair"``
        (:class:`~quintet.gateware.primitives.packed.PackedProducts`) or ``"lut"``
    dsp_limit, fabric_register, family : see
        :class:`~quintet.gateware.primitives.dsp.MultiplierArray`; pairs have the further register
        unless they are ``local``
    local : bool
        For pairs whose columns are far apart on a crowded FPGA: no wire of the control reaches more
        than one column, and the products have no further register. The latency is the same.

    Members
    -------
    vector : In, N x int8: a vector each cycle (whether it means anything is the user's affair)
    switch : In: with the first vector of a new tile: the second buffers become the weights,
        cell by cell, with the wave of that vector
    load : In: rows of the next tile come from now on.
        Row k of it stands on ``row`` k cycles after ``load``. From one ``switch`` to the next
        ``load`` at least N-1 cycles, from ``load`` to ``switch`` at least one.
    row : In, N x int8
    sums : Out, N x signed(16 + ceil(log2 N)):
        exact sums of the vector given :attr:`latency` cycles ago

    Row k of the array works k cycles after row 0, column j j cycles after column 0 (j // 2 with
    ``dsp_pair``, where two columns share an activation).
    """

    def __init__(
        self,
        *,
        n: int,
        multiplier: str = "dsp",
        dsp_limit: int | None = None,
        fabric_register: bool = False,
        family: str | None = None,
        local: bool = False,
    ) -> None:
        self.n, self.family, self._local = n, family, local and multiplier == "dsp_pair"
        self.sum_bits = 16 + ceil_log2(n)
        if multiplier == "dsp_pair":
            self._share = 2
            self.multipliers = PackedProducts(
                pairs=n * n // 2, dsp_limit=dsp_limit, family=family, direct=self._local
            )
            product_latency = PackedProducts.LATENCY + UNPACK_LATENCY
        else:
            self._share = 1
            self.multipliers = MultiplierArray(
                lanes=n * n,
                kind=multiplier,
                dsp_limit=dsp_limit,
                fabric_register=fabric_register,
                family=family,
            )
            product_latency = self.multipliers.latency
        self._columns = n // self._share  # that differ in time
        # Input register, multiplier (pairs: taken apart below the last row), N adders, the other
        # columns.
        self.latency = product_latency + n + self._columns
        super().__init__(
            {
                "vector": In(signed(8)).array(n),
                "switch": In(1),
                "load": In(1),
                "row": In(signed(8)).array(n),
                "sums": Out(signed(self.sum_bits)).array(n),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, share = self.n, self._share
        m.submodules.multipliers = self.multipliers
        switch, load = (self._local_control if self._local else self._control)(m)

        # For each row: the inputs of the columns that differ in time.
        weights: list[Any] = []
        inputs: list[Any] = []
        for k in range(n):
            passed = self.vector[k]
            for step in range(k):
                passed = _register(m, passed, f"skew_{k}_{step}")
            inputs.append([])
            for column in range(self._columns):
                passed = _register(m, passed, f"input_{k}_{column}")
                inputs[k].append(passed)
            weights.append([])
            for j in range(n):
                following = Signal(signed(8), name=f"next_{k}_{j}", reset_less=True)
                active = Signal(signed(8), name=f"active_{k}_{j}", reset_less=True)
                with m.If(load[k][j // share]):
                    m.d.sync += following.eq(self.row[j])
                with m.If(switch[k][j // share]):
                    m.d.sync += active.eq(following)
                weights[k].append(active)

        for j, value in enumerate(
            (self._packed if share == 2 else self._plain)(m, inputs, weights)
        ):
            for step in range(self._columns - 1 - j // share):
                value = _register(m, value, f"deskew_{j}_{step}")
            m.d.comb += self.sums[j].eq(value)
        return m

    def _control(self, m):
        """Switch and load, by row and column (or pair of columns). The switch travels along the
        diagonals: it reaches cell (k, q) k + q cycles after cell (0, 0)."""
        switch = [self.switch]
        for d in range(1, self.n + self._columns - 1):
            switch.append(_register(m, switch[-1], f"switch_{d}"))
        load = [self.load]
        for k in range(1, self.n):
            load.append(_register(m, load[-1], f"load_{k}"))
        return (
            [switch[k : k + self._columns] for k in range(self.n)],
            [[row] * self._columns for row in load],
        )

    def _local_control(self, m):
        """As :meth:`_control`, with registers for each column: a wire along a diagonal or a row
        would cross the whole FPGA."""

        def kept(value, name):
            register = m.submodules[name] = KeptRegister(width=1, family=self.family)
            m.d.comb += register.d.eq(value)
            return register.q

        switch, load = [[self.switch]], [[self.load] * self._columns]
        for q in range(1, self._columns):
            switch[0].append(kept(switch[0][-1], f"switch_0_{q}"))
        for k in range(1, self.n):
            switch.append([kept(before, f"switch_{k}_{q}") for q, before in enumerate(switch[-1])])
            load.append([kept(before, f"load_{k}_{q}") for q, before in enumerate(load[-1])])
        return switch, load

    def _plain(self, m, inputs, weights):
        """Column sums of the array, each at its own time."""
        n, mult = self.n, self.multipliers
        below = [None] * n  # partial sums of the row above
        for k in range(n):
            for j in range(n):
                lane = k * n + j
                m.d.comb += [mult.a[lane].eq(inputs[k][j]), mult.b[lane].eq(weights[k][j])]
                total = Signal(signed(self.sum_bits), name=f"sum_{k}_{j}", reset_less=True)
                m.d.sync += total.eq(mult.p[lane] if k == 0 else below[j] + mult.p[lane])
                below[j] = total
        return below

    def _packed(self, m, inputs, weights):
        """Sums of the columns where pairs of columns share a multiplier: the partial products are
        summed separately down the column."""
        mult, pairs = self.multipliers, self._columns
        below = [None] * pairs
        activations = 0  # their sum, which a pair's second column has taken 128 times too often
        for k in range(self.n):
            *shapes, plain = part_shapes(k + 1)
            for q in range(pairs):
                lane = k * pairs + q
                m.d.comb += [
                    mult.a[lane].eq(inputs[k][q]),
                    mult.b[lane].eq(weights[k][2 * q]),
                    mult.c[lane].eq(weights[k][2 * q + 1]),
                ]
                parts = mult.upper[lane], mult.lower[lane], mult.carry[lane]
                totals = [
                    Signal(shape, name=f"{name}_{k}_{q}", reset_less=True)
                    for shape, name in zip(shapes, ("upper", "lower", "carry"), strict=True)
                ]
                m.d.sync += [
                    total.eq(part if k == 0 else before + part)
                    for total, part, before in zip(totals, parts, below[q] or parts, strict=True)
                ]
                below[q] = totals
            total = Signal(plain, name=f"activations_{k}", reset_less=True)
            m.d.sync += total.eq(inputs[k][0] + activations)
            activations = total
        if self._local:
            # The carries leave the multipliers a cycle later.
            for q, (upper, lower, carry) in enumerate(below):
                late = [
                    _register(m, part, f"{name}_{q}")
                    for part, name in ((upper, "upper"), (lower, "lower"))
                ]
                below[q] = [*late, carry]
        for step in range(mult.LATENCY):
            activations = _register(m, activations, f"activations_late_{step}")
        sums = []
        for q in range(pairs):
            sums += unpack_sums(m, f"pair_{q}", *below[q], activations, self.sum_bits)
            activations = _register(m, activations, f"activations_at_{q}")
        return sums


def _register(m, value, name):
    held = Signal.like(value, name=name, reset_less=True)
    m.d.sync += held.eq(value)
    return held
