# SPDX-License-Identifier: BSD-2-Clause
"""Dot product of the small OPU engine: sixteen products, with weights in block RAM and a block of
one position kept in the multipliers."""

from amaranth import Cat, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ....primitives.bram import BlockRAM
from ....primitives.pairs import PairSums

__all__ = ["DotProduct", "PI"]

#: Products a cycle.
PI = 16


class DotProduct(wiring.Component):
    """Dot product unit: sixteen products and their sum per cycle.

    Parameters
    ----------
    rows : int, rows of sixteen weights
    multiplier : ``"dsp"`` or ``"lut"``
    family : as the primitives'

    Members
    -------
    write, write_row, write_lanes, weights : In: weights of lanes 2i and 2i + 1 (i =
        ``write_lanes``, 3 bits) of a row
    shift, data : In: two elements of ifm, the lower first,
        are the next of the chunk that is gathered
    take : In: the gathered chunk is used from this cycle's row on;
        ``shift`` may begin the next in the same cycle
    row : In: row of weights
    total : Out, signed(20): sum of the products, three cycles after ``row``
    """

    def __init__(self, *, rows: int, multiplier: str, family: str | None) -> None:
        self.rows, self.multiplier, self.family = rows, multiplier, family
        super().__init__(
            {
                "write": In(1),
                "write_row": In(ceil_log2(rows)),
                "write_lanes": In(3),
                "weights": In(16),
                "shift": In(1),
                "data": In(16),
                "take": In(1),
                "row": In(ceil_log2(rows)),
                "total": Out(signed(20)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        gathered = Signal(8 * PI, reset_less=True)
        with m.If(self.shift):
            m.d.sync += gathered.eq(Cat(gathered[16:], self.data))
        m.submodules.products = products = PairSums(
            pairs=PI // 2, kind=self.multiplier, family=self.family
        )
        m.d.comb += products.load.eq(self.take)
        for i in range(PI // 2):
            m.submodules[f"weights_{i}"] = weights = BlockRAM(
                width=16, depth=self.rows, latency=1, family=self.family
            )
            m.d.comb += [
                weights.write_en.eq(self.write & (self.write_lanes == i)),
                weights.write_addr.eq(self.write_row),
                weights.write_data.eq(self.weights),
                weights.read_addr.eq(self.row),
            ]
            for j in range(2):
                m.d.comb += [
                    products.a[2 * i + j].eq(gathered.word_select(2 * i + j, 8).as_signed()),
                    products.b[2 * i + j].eq(weights.read_data.word_select(j, 8).as_signed()),
                ]
        sums = list(products.s)
        while len(sums) > 1:
            sums = [sums[k] + sums[k + 1] for k in range(0, len(sums), 2)]
        m.d.comb += self.total.eq(sums[0])
        return m
