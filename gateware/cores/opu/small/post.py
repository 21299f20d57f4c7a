# SPDX-License-Identifier: BSD-2-Clause
"""Post-processing of the small OPU engine: requantisation, activation, residual, pooling and
packing, one channel per cycle (specification, section 4.5)."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ..types import SLOT

__all__ = ["PoolPort", "PostUnit"]


class PoolPort(wiring.Signature):
    """Port of the pooling memory, which holds one value per channel, seen from its user.

    Members
    -------
    channel : Out, 6 bits, is read; value : In, signed(8), in the next cycle
    keep, keep_channel, keep_data : Out, a value is written
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "channel": Out(6),
                "value": In(signed(8)),
                "keep": Out(1),
                "keep_channel": Out(6),
                "keep_data": Out(signed(8)),
            }
        )


def _clamped(value):
    """Saturates a signed value of 9 bits to 8 bits."""
    return Mux(value[8] == value[7], value[:8], Cat((~value[8]).replicate(7), value[8])).as_signed()


class PostUnit(wiring.Component):
    """Post-processing unit: processes the channels of a position, in one *run* for each position of
    a pooling window.

    Members
    -------
    run : In, one cycle, where ``ready``: go over all channels; ``write``:
        the window ends with it: its results go out; ``again``: take the pool's values instead of
        ofm's, and add the residual. zeros : In, likewise: a slot of zeros goes out
    begin : In: the next run is a window's first
    ready : Out; ready_zeros : Out; busy : Out: anything under way
    last_channel : In, 6 bits; act : In, 2 bits; order : In, 2 bits; residual : In: of ``@post``
    read : Out: read the next element of ofm; read_pair : Out: and the next two of ifm; ofm,
        ifm : In, 16 bits, in the next cycle, and held until the next reading
    pool : Out, :class:`PoolPort`
    valid, ready_out, data, mask : Out, In, Out, Out: beats of ``beat_bytes`` bytes, 2 or 4
    """

    def __init__(self, *, beat_bytes: int) -> None:
        self.beat_bytes = beat_bytes
        super().__init__(
            {
                "run": In(1),
                "write": In(1),
                "again": In(1),
                "zeros": In(1),
                "begin": In(1),
                "ready": Out(1),
                "ready_zeros": Out(1),
                "busy": Out(1),
                "last_channel": In(6),
                "act": In(2),
                "order": In(2),
                "residual": In(1),
                "read": Out(1),
                "read_pair": Out(1),
                "ofm": In(signed(16)),
                "ifm": In(16),
                "pool": Out(PoolPort()),
                "valid": Out(1),
                "ready_out": In(1),
                "data": Out(8 * beat_bytes),
                "mask": Out(beat_bytes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Three stages, which stand still while two beats wait: one that is whole, and one before it
        # that cannot leave.
        issuing, zeroing, full, leaving = Signal(), Signal(), Signal(), Signal()
        go, sent = Signal(), Signal()
        channel = [Signal(6, name=f"channel_{k}") for k in range(3)]
        stage = [issuing, Signal(name="stage_1"), Signal(name="stage_2")]
        names = ("writes", "agains", "firsts")
        flags = [{name: Signal(name=f"{name}_{k}") for name in names} for k in range(3)]
        fresh = Signal()
        last = Signal()
        m.d.comb += [
            sent.eq(self.valid & self.ready_out),
            go.eq(~full | ~leaving),
            last.eq(channel[0] == self.last_channel),
            self.read.eq(issuing & go),
            self.read_pair.eq(issuing & go & ~channel[0][0]),
            self.ready.eq(~issuing & ~stage[1] & ~zeroing),
            self.ready_zeros.eq(self.ready & ~stage[2] & ~full & ~leaving),
            self.busy.eq(~self.ready_zeros),
        ]
        with m.If(go):
            m.d.sync += [stage[1].eq(issuing), stage[2].eq(stage[1])]
            for k in range(2):
                m.d.sync += [
                    channel[k + 1].eq(channel[k]),
                    *(flags[k + 1][n].eq(flags[k][n]) for n in names),
                ]
        with m.If(issuing & go | zeroing & sent):
            m.d.sync += channel[0].eq(channel[0] + 1)
            with m.If(Mux(zeroing, channel[0][: ceil_log2(SLOT // self.beat_bytes)].all(), last)):
                m.d.sync += [channel[0].eq(0), issuing.eq(0), zeroing.eq(0)]
        with m.If(self.run):
            m.d.sync += [
                issuing.eq(1),
                flags[0]["writes"].eq(self.write),
                flags[0]["agains"].eq(self.again),
                flags[0]["firsts"].eq(fresh | self.again),
                fresh.eq(0),
            ]
        with m.If(self.zeros):
            m.d.sync += zeroing.eq(1)
        with m.If(self.begin):
            m.d.sync += fresh.eq(1)

        # The pool: no entry is written in the cycle of its reading (runs are further apart). The
        # same data are read again while the stages stand still.
        m.d.comb += self.pool.channel.eq(Mux(go, channel[0], channel[1]))

        # Stage 1: requantisation, activation, residual
        rounded, x, summed = (
            Signal(signed(9)),
            Signal(signed(8)),
            Signal(signed(8), reset_less=True),
        )
        before = Signal(signed(8), reset_less=True)
        again = flags[1]["agains"]
        other = self.ifm.word_select(channel[1][0], 8)
        m.d.comb += [
            rounded.eq(self.ofm[8:].as_signed() + self.ofm[7]),
            x.eq(
                Mux(
                    again,
                    self.pool.value,
                    self._activate(m, "early", _clamped(rounded), self.order == 1),
                )
            ),
        ]
        added = Signal(signed(9))
        wanted = self.residual & ((self.order != 2) | again)
        m.d.comb += added.eq(x + (other & wanted.replicate(8)).as_signed())
        with m.If(go):
            m.d.sync += [summed.eq(_clamped(added)), before.eq(self.pool.value)]

        # Stage 2: activation after the residual, pool
        y, z = Signal(signed(8)), Signal(signed(8))
        m.d.comb += [
            y.eq(self._activate(m, "late", summed, self.order != 1)),
            z.eq(Mux(~flags[2]["firsts"] & (before > y), before, y)),
            self.pool.keep_channel.eq(channel[2]),
            self.pool.keep_data.eq(z),
            self.pool.keep.eq(stage[2] & go & ~flags[2]["writes"]),
        ]

        # Packing
        word, beat = (
            Signal(8 * self.beat_bytes, reset_less=True),
            Signal(8 * self.beat_bytes, reset_less=True),
        )
        place = channel[2][: ceil_log2(self.beat_bytes)]
        out, closes = Signal(), Signal()
        narrow = self.last_channel == 1
        m.d.comb += [
            out.eq(stage[2] & go & flags[2]["writes"]),
            closes.eq(place.all() | narrow & channel[2][0]),
            self.valid.eq(leaving | zeroing),
            self.data.eq(beat),
            self.mask.eq(Mux(narrow & ~zeroing, 0b11, (1 << self.beat_bytes) - 1)),
        ]
        with m.If(out):
            m.d.sync += word.word_select(place, 8).eq(z)
        with m.If(go):
            m.d.sync += full.eq(out & closes)
        with m.If(full & ~leaving):
            m.d.sync += [beat.eq(word), leaving.eq(1)]
        with m.Elif(self.ready_out):
            m.d.sync += leaving.eq(0)
        with m.If(self.zeros):
            m.d.sync += beat.eq(0)
        return m

    def _activate(self, m, name, x, skip):
        """Activation (section 4.5, act) of 8 bits; the identity if ``skip``."""
        leaky = Signal(signed(6), name=f"leaky_{name}")
        result = Signal(signed(8), name=f"active_{name}")
        m.d.comb += [leaky.eq(x[3:].as_signed() + x[2]), result.eq(x)]
        with m.If(x[7] & ~skip):
            with m.Switch(self.act):
                with m.Case(1):
                    m.d.comb += result.eq(0)
                with m.Case(2):
                    m.d.comb += result.eq(leaky)
        return result
