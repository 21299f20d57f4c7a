# SPDX-License-Identifier: BSD-2-Clause
"""Rounder of the small OPU engine: adds up blocks, shifts, adds the bias and clamps (specification,
section 4.4)."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....primitives.bram import BlockRAM
from .post import PoolPort

__all__ = ["Rounder", "TablePort", "WIDTH"]

#: Bits of sums and addends.
WIDTH = 24


class TablePort(wiring.Signature):
    """Write port of the rounder's tables, the initial values of sums (``u``) and the addends
    (``b``), seen from the writer: ``data`` goes to entry ``address``, which is 64 + channel, or,
    for ``u``, 128 for all sums."""

    def __init__(self) -> None:
        super().__init__({"u": Out(1), "b": Out(1), "address": Out(8), "data": Out(WIDTH)})


class Rounder(wiring.Component):
    """Rounder: turns sums of sixteen products into partial sums of ``OTYPE``; :mod:`.convolution`
    fills its tables.

    One channel a cycle: cycle 0 ``step`` (the sum's first value or what earlier chunks gave is
    read), cycle 1 ``total`` is added, cycle 2 the shift, cycle 3 addend and clamp; ``result`` is
    there in cycle 4.

    Parameters
    ----------
    shared : bool
        One table for all, in half the block RAM: there, channels of ``biased`` are two cycles
        apart, and old partial sums come when they are wanted.
    family : as the primitives'

    Members
    -------
    step, channel, first, last : In: a channel (6 bits) of a chunk; the position's first,
        last chunk. A channel comes again after eight cycles at the earliest.
    total : In, signed(20), in the cycle after
    biased : In: sums begin with the table's entries, addends are the table's; added : In:
        addends are those of ``addend``
    double : In: the result is twice the addend
    rotate, left, mask : In: places (5 bits) that a sum is rotated to the right;
        it is a shift to the left; bits (24) that it does not keep
    addend, addend_channel, addend_write : In: an old partial sum, 16 bits,
        ahead of its channel; or, ``shared``, in the cycle after
        wanted : Out
    tables : In, :class:`TablePort`
    result : Out, 16 bits; valid : Out
    pooling : In: no channel comes; the place of old partial sums is the pool; pool :
        In, :class:`~.post.PoolPort`
    """

    def __init__(self, *, shared: bool, family: str | None) -> None:
        self.shared, self.family = shared, family
        super().__init__(
            {
                "step": In(1),
                "channel": In(6),
                "first": In(1),
                "last": In(1),
                "total": In(signed(20)),
                "biased": In(1),
                "added": In(1),
                "double": In(1),
                "rotate": In(5),
                "left": In(1),
                "mask": In(WIDTH),
                "addend": In(signed(16)),
                "addend_channel": In(6),
                "addend_write": In(1),
                "wanted": Out(1),
                "tables": In(TablePort()),
                "result": Out(16),
                "valid": Out(1),
                "pooling": In(1),
                "pool": In(PoolPort()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid, last = Signal(4), Signal(4)
        channel = [
            self.channel,
            Signal(6, name="channel_1", reset_less=True),
            Signal(6, name="channel_2", reset_less=True),
        ]
        m.d.sync += [valid.eq(Cat(self.step, valid)), last.eq(Cat(self.last, last))]
        m.d.sync += [later.eq(now) for now, later in zip(channel, channel[1:], strict=False)]

        # Cycles 0 and 1
        value = Signal(signed(WIDTH), reset_less=True)
        m.d.comb += self.wanted.eq(valid[1] & last[1])
        begun, addend = (self._one_table if self.shared else self._two_tables)(
            m, channel, valid, value
        )
        m.d.sync += value.eq(begun.as_signed() + self.total)

        # Cycle 2
        sign = value[WIDTH - 1]
        turned = value
        for k in range(5):
            before, turned = turned, Signal(WIDTH, name=f"turned_{k}")
            places = (1 << k) % WIDTH
            m.d.comb += turned.eq(
                Mux(self.rotate[k], Cat(before[places:], before[:places]), before)
            )
        shifted, large, negative = Signal(signed(WIDTH), reset_less=True), Signal(), Signal()
        fill = sign & ~self.left
        m.d.sync += [
            shifted.eq(turned & ~self.mask | self.mask & fill.replicate(WIDTH)),
            negative.eq(sign),
            large.eq(
                self.left
                & ~self.double
                & ((self.mask & (turned ^ sign.replicate(WIDTH))).any() | (turned[-1] ^ sign))
            ),
        ]

        # Cycle 3
        total = Signal(signed(WIDTH + 1))
        m.d.comb += total.eq(shifted + addend)
        chosen = Mux(self.double, Cat(Const(0, 1), total[:15]), total[:16])
        outside = Mux(self.double, total[14] ^ total[15], Const(0)) | (
            total[15:] != total[-1].replicate(WIDTH - 14)
        )
        below = Mux(large, negative, total[-1])
        with m.If(large | outside):
            m.d.sync += self.result.eq(Cat((~below).replicate(15), below))
        with m.Else():
            m.d.sync += self.result.eq(chosen)
        m.d.comb += self.valid.eq(valid[3] & last[3])
        return m

    def _two_tables(self, m, channel, valid, value):
        """Two tables: sums with their initial values, and addends of both kinds. Returns the
        initial value of a sum, in cycle 1, and the addend, in cycle 3."""
        m.submodules.sums = sums = BlockRAM(width=WIDTH, depth=256, latency=1, family=self.family)
        m.submodules.addends = addends = BlockRAM(
            width=WIDTH, depth=256, latency=1, family=self.family
        )
        m.d.comb += [
            sums.read_addr.eq(self._beginning()),
            sums.write_en.eq(self.tables.u | valid[1] & ~self.wanted),
            sums.write_addr.eq(Mux(self.tables.u, self.tables.address, channel[2])),
            sums.write_data.eq(Mux(self.tables.u, self.tables.data, value)),
            addends.read_addr.eq(
                Mux(self.pooling, self.pool.channel, Cat(channel[2], self.biased))
            ),
            addends.write_en.eq(self.tables.b | self.addend_write | self.pool.keep),
            addends.write_addr.eq(
                Mux(
                    self.tables.b,
                    self.tables.address,
                    Mux(self.pooling, self.pool.keep_channel, self.addend_channel),
                )
            ),
            addends.write_data.eq(
                Mux(
                    self.tables.b,
                    self.tables.data.as_signed(),
                    Mux(self.pooling, self.pool.keep_data, self.addend),
                )
            ),
            self.pool.value.eq(addends.read_data),
        ]
        return sums.read_data, (
            addends.read_data & (self.biased | self.added).replicate(WIDTH)
        ).as_signed()

    def _one_table(self, m, channel, valid, value):
        """The same with one table: sums or pooling values, initial values, and from entry 192 on
        the addends of ``biased``, read in cycle 1."""
        m.submodules.table = table = BlockRAM(width=WIDTH, depth=256, latency=1, family=self.family)
        m.d.comb += [
            table.read_addr.eq(
                Mux(
                    self.pooling,
                    self.pool.channel,
                    Mux(self.biased & valid[0], Cat(channel[1], Const(3, 2)), self._beginning()),
                )
            ),
            table.write_en.eq(
                self.tables.u | self.tables.b | self.pool.keep | valid[1] & ~self.wanted
            ),
            table.write_addr.eq(Mux(self.pooling, self.pool.keep_channel, channel[2])),
            table.write_data.eq(Mux(self.pooling, self.pool.keep_data, value)),
            self.pool.value.eq(table.read_data),
        ]
        with m.If(self.tables.u | self.tables.b):
            m.d.comb += [
                table.write_addr.eq(self.tables.address | self.tables.b << 7),
                table.write_data.eq(self.tables.data),
            ]
        held = Signal(signed(WIDTH), reset_less=True)
        m.d.sync += held.eq(table.read_data)
        return table.read_data, Mux(
            self.biased, held, self.addend & self.added.replicate(16).as_signed()
        )

    def _beginning(self):
        """Table entry with the initial value of a sum."""
        return Mux(self.first, Mux(self.biased, Cat(self.channel, Const(1, 2)), 128), self.channel)
