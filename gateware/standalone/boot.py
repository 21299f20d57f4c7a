# SPDX-License-Identifier: BSD-2-Clause
"""Boot engine: fills main memory and sets registers from a plan image in flash memory
(docs/how/standalone.md)."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..bus.soclib import wishbone
from ..link.crc import CRC32, RESIDUE
from .image import MAGIC, VERSION, BootReason

__all__ = ["BootEngine"]


class _Part(enum.Enum, shape=4):
    """Meaning of the next word of the image."""

    MAGIC = 0
    BUILD = 1
    HEADER_SUM = 2
    ADDRESS = 3
    PLACE_END = 4
    PLACE_SUM = 5  # CRC-32 of address and end
    DATA = 6
    DATA_SUM = 7
    READY = 8
    REFUSED = 9


class BootEngine(wiring.Component):
    """Reads a plan image once after a reset (:mod:`.image`) and writes its segments to the bus.

    Nothing is written before header and address of a segment were checked; data are written as they
    come, and checked at their end. A word is written while the next one comes in, so that flash
    memory never waits for the bus where a bus cycle is shorter than a word of it; a fill takes a
    bus cycle a word.

    Parameters
    ----------
    build : int
        Hash of the build, which an image must have.
    address_bits : int
        Bits of an address that are kept beside bit 31; those between are taken as 0.

    Members
    -------
    i : In(stream.Signature(8)), the image
    enable : Out(1), bytes are wanted
    bus : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8, with ``err``
    ready, refused : Out(1)
    reason : Out(3), a ``BootReason``
    """

    def __init__(self, *, build: int, address_bits: int = 31) -> None:
        if not isinstance(build, int) or not 0 <= build < 1 << 32:
            raise ValueError(f"Hash of the build must have 32 bits, not {build!r}")
        if not isinstance(address_bits, int) or not 17 <= address_bits <= 31:
            raise ValueError(f"Address bits must be 17 to 31, not {address_bits!r}")
        self._build, self._address_bits = build, address_bits
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "enable": Out(1),
                "bus": Out(
                    wishbone.Signature(
                        addr_width=30, data_width=32, granularity=8, features={"err"}
                    )
                ),
                "ready": Out(1),
                "refused": Out(1),
                "reason": Out(3),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, bus = self.i, self.bus
        m.submodules.crc = crc = CRC32()
        kept = self._address_bits - 2
        part = Signal(_Part)
        word = Signal(24, reset_less=True)  # bytes of it that came before the last
        count = Signal(2)  # bytes of it
        place = Signal(kept + 1, reset_less=True)  # word address, bit 31 above the low ones
        # Word address behind the segment; its flags.
        end = Signal(kept, reset_less=True)
        fills, last = Signal(reset_less=True), Signal(reset_less=True)
        following_place, ends = Signal(kept), Signal()
        m.d.comb += [following_place.eq(place[:kept] + 1), ends.eq(following_place == end)]
        foreign, old = Signal(), Signal()  # another build, another version
        writing, rest = Signal(), Signal()
        # The CRC of a part is judged in the cycle after its last byte; the next one begins by then.
        judged, opens = Signal(), Signal(init=1)

        m.d.comb += [
            self.ready.eq((part == _Part.READY) & ~judged),
            self.refused.eq(part == _Part.REFUSED),
            self.enable.eq(~self.ready & ~self.refused),
        ]

        # A byte goes through the CRC in two cycles. The last one of a word that is to be written
        # waits until the word before was.
        whole, taken, blocked = Signal(), Signal(), Signal()
        value = Cat(word, i.payload)
        m.d.comb += [
            blocked.eq((count == 3) & writing),
            crc.data.eq(i.payload),
            crc.step.eq(i.valid & self.enable & ~blocked & ~crc.init),
            i.ready.eq(crc.step & crc.last),
            taken.eq(i.ready),
            whole.eq(taken & (count == 3)),
        ]
        with m.If(taken):
            m.d.sync += [word.eq(value[8:]), count.eq(count + 1)]

        m.d.sync += [judged.eq(0), opens.eq(0)]
        m.d.comb += crc.init.eq(opens | judged)
        reason = Signal(BootReason)
        m.d.comb += self.reason.eq(reason)

        def refuse(why):
            m.d.sync += [part.eq(_Part.REFUSED), reason.eq(why)]

        following = Signal(_Part)
        m.d.comb += following.eq(part)
        with m.If(whole):
            with m.Switch(part):
                with m.Case(_Part.MAGIC):
                    m.d.comb += following.eq(_Part.BUILD)
                with m.Case(_Part.BUILD):
                    m.d.comb += following.eq(_Part.HEADER_SUM)
                with m.Case(_Part.HEADER_SUM, _Part.DATA_SUM):
                    m.d.comb += following.eq(_Part.ADDRESS)
                with m.Case(_Part.ADDRESS):
                    m.d.comb += following.eq(_Part.PLACE_END)
                    m.d.sync += place.eq(Cat(value[2 : 2 + kept], value[31]))
                with m.Case(_Part.PLACE_END):
                    m.d.comb += following.eq(_Part.PLACE_SUM)
                    m.d.sync += [
                        end.eq(value[2 : 2 + kept]),
                        fills.eq(value[0]),
                        last.eq(value[1]),
                    ]
                with m.Case(_Part.PLACE_SUM):
                    m.d.comb += following.eq(_Part.DATA)
                    with m.If(last):
                        m.d.comb += following.eq(_Part.READY)
                with m.Case(_Part.DATA):
                    m.d.sync += [writing.eq(1), bus.dat_w.eq(value), rest.eq(0)]
                    with m.If(ends | fills):
                        m.d.comb += following.eq(_Part.DATA_SUM)
            m.d.sync += part.eq(following)
            with m.Switch(part):
                with m.Case(_Part.HEADER_SUM, _Part.PLACE_SUM, _Part.DATA_SUM):
                    m.d.sync += judged.eq(1)
        # Bus
        m.d.comb += [
            bus.cyc.eq(writing & ~rest),
            bus.stb.eq(bus.cyc),
            bus.we.eq(1),
            bus.sel.eq(0b1111),
            bus.adr.eq(Cat(place[:kept], Const(0, 29 - kept), place[kept])),
        ]
        m.d.sync += rest.eq(bus.ack | bus.err)
        with m.If(bus.ack):
            m.d.sync += [
                place[:kept].eq(following_place),
                writing.eq(fills & ~ends),
            ]
        self._judge(m, part, judged, crc, old, foreign, refuse)
        # Bytes of the header, one by one.
        expected = Signal(8)
        header = MAGIC + bytes([VERSION]) + self._build.to_bytes(4, "little")
        with m.Switch(Cat(count, part == _Part.BUILD)):
            for number, byte in enumerate(header):
                with m.Case(number):
                    m.d.comb += expected.eq(byte)
        with m.If(taken & (i.payload != expected)):
            with m.If(part == _Part.BUILD):
                m.d.sync += foreign.eq(1)
            with m.If(part == _Part.MAGIC):
                with m.If(count == 3):
                    m.d.sync += old.eq(1)
                with m.Else():
                    refuse(BootReason.NO_IMAGE)
        with m.If(bus.err):
            refuse(BootReason.BUS)
            m.d.sync += writing.eq(0)
        return m

    @staticmethod
    def _judge(m, part, judged, crc, old, foreign, refuse):
        """Checks an image when one of its parts has ended, and refuses it if that is wrong."""
        with m.If(judged):
            with m.If(crc.state != RESIDUE):
                refuse(BootReason.DAMAGED)
            with m.Elif(old):
                refuse(BootReason.VERSION)
            with m.Elif(foreign):
                refuse(BootReason.BUILD)
