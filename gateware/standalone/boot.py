# SPDX-License-Identifier: BSD-2-Clause
"""Boot engine: fills main memory and sets registers from a plan image in flash memory
(docs/how/standalone.md)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from ..bus.soclib import wishbone
from ..link.crc import CRC32Check
from .image import FILL, LAST, MAGIC, VERSION, BootReason

__all__ = ["BootEngine"]


class _Part:
    """Kind of the next word of the image, one-hot coded, which takes less logic than a binary
    number with a decoder."""

    def __init__(self) -> None:
        self.magic = Signal(init=1)
        self.build = Signal()
        self.header_sum = Signal()
        self.address = Signal()
        self.end = Signal()
        self.place_sum = Signal()  # CRC-32 of address and end
        self.data = Signal()
        self.data_sum = Signal()
        self.done = Signal()  # there is no further one

    def advance(self, *, last, data_end):
        """Assignments that advance to the next kind of word."""
        return [
            self.magic.eq(0),
            self.build.eq(self.magic),
            self.header_sum.eq(self.build),
            self.address.eq(self.header_sum | self.data_sum),
            self.end.eq(self.address),
            self.place_sum.eq(self.end),
            self.data.eq((self.place_sum & ~last) | (self.data & ~data_end)),
            self.data_sum.eq(self.data & data_end),
            self.done.eq(self.place_sum & last),
        ]


class BootEngine(wiring.Component):
    """Reads a plan image once after a reset (:mod:`.image`) and writes its segments to the bus,
    which it shares with the host word by word.

    Nothing is written before header and address of a segment were checked; data are written as they
    come, and checked at their end. A word is written while the next one comes in, so that flash
    memory never waits for the bus where a bus cycle is shorter than a word of it; a fill takes a
    bus cycle a word.

    The data of a bus cycle lie in a register, the engine's as the host's, which costs less than a
    register of the engine's and a choice behind it. So a bus cycle of the host takes a cycle more.
    A write of the host waits for the end of a fill, whose word is in that register; reads do not.

    Parameters
    ----------
    build : int
        Hash of the build, which an image must have.
    address_bits : int
        Bits of an address that are kept beside bit 31; those between are taken as 0.
    retry : bool
        If there is no image it is read once more, with ``again`` high. Between both ``enable`` is
        low for a cycle.

    Members
    -------
    i : In(stream.Signature(8)), the image; a byte takes four cycles
    enable : Out(1), bytes are wanted
    host : In, bus : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8, with
        ``err``. The host lets ``cyc`` fall between two words, and so does the bus.
    ready, refused : Out(1)
    reason : Out(3), a ``BootReason``; with ``refused``
    again : Out(1), with ``retry``
    """

    def __init__(self, *, build: int, address_bits: int = 31, retry: bool = False) -> None:
        check_integer("Hash of the build", build, 0, (1 << 32) - 1)
        check_integer("Address bits", address_bits, 17, 31)
        self._build, self._address_bits, self._retry = build, address_bits, bool(retry)
        signature = wishbone.Signature(
            addr_width=30, data_width=32, granularity=8, features={"err"}
        )
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "enable": Out(1),
                "host": In(signature),
                "bus": Out(signature),
                "ready": Out(1),
                "refused": Out(1),
                "reason": Out(3),
                **({"again": Out(1)} if retry else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i = self.i
        m.submodules.crc = crc = CRC32Check()
        kept = self._address_bits - 2
        part = _Part()
        word = Signal(24, reset_less=True)  # bytes of it that came before the last
        count = Signal(2)  # bytes of it
        place = Signal(kept + 1, reset_less=True)  # word address, bit 31 above the low ones
        # Word address of the segment's last word; its flags.
        end = Signal(kept, reset_less=True)
        fills, last = Signal(reset_less=True), Signal(reset_less=True)
        ends = Signal()  # the word at `place` is the last one
        turn, writing = Signal(), Signal()  # the bus is the engine's; it has a word to write
        # A part is judged in the cycle after its last byte; the next one begins by then.
        judged, opens = Signal(), Signal(init=1)
        sums, damaged = Signal(), Signal()  # the word is a CRC-32; one of them was wrong

        m.d.comb += [
            ends.eq(place[:kept] == end),
            sums.eq(part.header_sum | part.place_sum | part.data_sum),
            self.ready.eq(part.done & ~judged & ~self.refused),
            self.enable.eq(~self.ready & ~self.refused),
        ]

        # The last byte of a word waits until the word before was written, and, if it is data, for
        # the bus.
        whole, taken, blocked = Signal(), Signal(), Signal()
        value = Cat(word, i.payload)
        m.d.comb += [
            blocked.eq((count == 3) & (writing | (part.data & ~turn))),
            crc.data.eq(i.payload),
            crc.check.eq(sums),
            crc.init.eq(opens | judged),
            crc.step.eq(i.valid & self.enable & ~blocked & ~crc.init),
            taken.eq(crc.step & (crc.number == 3)),
            i.ready.eq(taken),
            whole.eq(taken & (count == 3)),
        ]
        with m.If(taken):
            m.d.sync += [word.eq(value[8:]), count.eq(count + 1)]
        m.d.sync += [opens.eq(0), judged.eq(whole & sums)]
        with m.If(whole):
            m.d.sync += part.advance(last=last, data_end=ends | fills)
        with m.If(whole & part.end):
            m.d.sync += [
                end.eq(value[2 : 2 + kept]),
                fills.eq(value[FILL.bit_length() - 1]),
                last.eq(value[LAST.bit_length() - 1]),
            ]
        loads, answered, failed = Signal(), Signal(), Signal()
        m.d.comb += loads.eq(whole & part.address)
        # Adding all ones and one leaves the address as it is. In this form the choice between sum
        # and new address lies in the logic cells of the adder.
        following = (place[:kept] + loads.replicate(kept) + 1)[:kept]
        with m.If(loads | answered):
            m.d.sync += place[:kept].eq(Mux(loads, value[2 : 2 + kept], following))
        with m.If(loads):
            m.d.sync += place[kept].eq(value[31])
        with m.If(whole & part.data):
            m.d.sync += writing.eq(1)
        with m.If(answered):
            m.d.sync += writing.eq(fills & ~ends)
        with m.If(failed):
            m.d.sync += writing.eq(0)
        self._share(
            m,
            turn=turn,
            writing=writing,
            wants=part.data | writing,
            loads=whole & part.data,
            value=value,
            place=place,
            answered=answered,
            failed=failed,
        )
        missing = Signal() if self._retry else None  # there is no image, in the first try
        self._judge(m, part, count, crc, sums, judged, damaged, failed, missing)
        if missing is not None:
            # The second try begins at the end of a byte, since the CRC counts its steps.
            noted, begins = Signal(), Signal()
            m.d.sync += [noted.eq((noted | missing) & ~taken), begins.eq(0)]
            with m.If(taken & (noted | missing)):
                m.d.sync += [self.again.eq(1), begins.eq(1)]
            with m.If(begins):
                m.d.sync += [opens.eq(1), count.eq(0)]
                m.d.comb += self.enable.eq(0)
        return m

    def _share(self, m, *, turn, writing, wants, loads, value, place, answered, failed):
        """Arbiter of the bus between host and engine, in turns. ``loads``: the engine has a word to
        write, ``value``, which is valid only during its turn."""
        host, bus = self.host, self.bus
        kept = len(place) - 1
        # Bus cycle of the engine, which implies that it is its turn; low for a cycle between two.
        cyc = Signal()
        # The register has the data of the host's bus cycle, which implies that it is the host's
        # turn.
        seen = Signal()
        yields, ended = Signal(), Signal()
        m.d.comb += [
            yields.eq(turn & ~cyc & host.cyc & ~((writing | loads) & host.we)),
            ended.eq(cyc & (bus.ack | bus.err)),
        ]
        m.d.sync += [
            cyc.eq(turn & ~yields & ~ended & (writing | loads)),
            seen.eq(host.cyc & ~turn),
        ]
        with m.If(yields):
            m.d.sync += turn.eq(0)
        with m.If(~turn & ~host.cyc & wants):
            m.d.sync += turn.eq(1)
        with m.If(loads | (~turn & host.cyc & host.we)):
            m.d.sync += bus.dat_w.eq(Mux(turn, value, host.dat_w))
        own = Cat(place[:kept], Const(0, 29 - kept), place[kept])
        m.d.comb += [
            bus.cyc.eq(cyc | (host.cyc & seen)),
            bus.stb.eq(cyc | (host.stb & seen)),
            bus.we.eq(turn | host.we),
            bus.sel.eq(turn.replicate(4) | host.sel),
            bus.adr.eq(Mux(turn, own, host.adr)),
            host.dat_r.eq(bus.dat_r),
            host.ack.eq(bus.ack & ~turn),
            host.err.eq(bus.err & ~turn),
            answered.eq(bus.ack & turn),
            failed.eq(bus.err & turn),
        ]

    def _judge(self, m, part, count, crc, sums, judged, damaged, failed, missing):
        """Checks of the image. A wrong version or build is recorded, and refused once the header's
        CRC-32 has shown that it was read correctly."""
        reason, refused = self.reason, self.refused
        header = MAGIC + bytes([VERSION]) + self._build.to_bytes(4, "little")
        expected = Const(int.from_bytes(header, "little"), 64)
        wrong = Signal()
        m.d.comb += wrong.eq(
            crc.step & (crc.pair != expected.word_select(Cat(crc.number, count, part.build), 2))
        )
        with m.If(wrong & part.magic):
            with m.If(count == 3):
                m.d.sync += reason.eq(BootReason.VERSION)
            if missing is not None:
                with m.Elif(~self.again):
                    m.d.comb += missing.eq(1)
            with m.Else():
                m.d.sync += [refused.eq(1), reason.eq(BootReason.NO_IMAGE)]
        with m.If(wrong & part.build & (reason == 0)):
            m.d.sync += reason.eq(BootReason.BUILD)
        with m.If(crc.step & sums & crc.differs):
            m.d.sync += damaged.eq(1)
        with m.If(judged & (damaged | (reason != 0))):
            m.d.sync += refused.eq(1)
            with m.If(damaged):
                m.d.sync += reason.eq(BootReason.DAMAGED)
        with m.If(failed):
            m.d.sync += [refused.eq(1), reason.eq(BootReason.BUS)]
