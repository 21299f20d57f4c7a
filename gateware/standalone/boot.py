# SPDX-License-Identifier: BSD-2-Clause
"""Boot engine: fills main memory and sets registers from a plan image in flash memory
(docs/how/standalone.md)."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..bus.soclib import MemoryMap, wishbone
from ..link.crc import CRC32, RESIDUE
from .image import MAGIC, VERSION, BootReason

__all__ = ["BootEngine"]


class _Part(enum.Enum, shape=4):
    """What the next word of the image is."""

    MAGIC = 0
    VERSION = 1
    BUILD = 2
    HEADER_SUM = 3
    ADDRESS = 4
    LENGTH = 5
    PLACE_SUM = 6  # CRC-32 of address and length
    DATA = 7
    DATA_SUM = 8
    READY = 9
    REFUSED = 10


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
    registers : In, Wishbone of 2 word-address bits, 32 data bits, granularity 8:
        ``BOOT_REGISTERS``
    ready, refused : Out(1)
    reason : Out(3), a ``BootReason``
    """

    def __init__(self, *, build: int, address_bits: int = 31) -> None:
        if not isinstance(build, int) or not 0 <= build < 1 << 32:
            raise ValueError(f"Hash of the build must have 32 bits, not {build!r}")
        if not isinstance(address_bits, int) or not 18 <= address_bits <= 31:
            raise ValueError(f"Address bits must be 18 to 31, not {address_bits!r}")
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
                "registers": In(wishbone.Signature(addr_width=2, data_width=32, granularity=8)),
                "ready": Out(1),
                "refused": Out(1),
                "reason": Out(3),
            }
        )
        memory_map = MemoryMap(addr_width=4, data_width=8)
        memory_map.add_resource(self, name=("boot",), size=16)
        self.registers.memory_map = memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, bus, registers = self.i, self.bus, self.registers
        m.submodules.crc = crc = CRC32()
        kept = self._address_bits - 2
        part = Signal(_Part)
        word = Signal(32, reset_less=True)  # as it comes in
        count = Signal(2)  # bytes of it
        place = Signal(kept + 1, reset_less=True)  # word address, bit 31 above the low ones
        left = Signal(kept, reset_less=True)  # words of the segment that are still to be written
        fills = Signal(reset_less=True)
        foreign, old = Signal(), Signal()  # another build, another version
        writing, rest = Signal(), Signal()
        # The CRC of a part is judged in the cycle after its last byte; the next one begins by then.
        judged, opens = Signal(), Signal(init=1)

        m.d.sync += registers.ack.eq(registers.cyc & registers.stb & ~registers.ack)
        m.d.comb += [
            self.ready.eq((part == _Part.READY) & ~judged),
            self.refused.eq(part == _Part.REFUSED),
            self.enable.eq(~self.ready & ~self.refused),
        ]
        with m.If(registers.adr == 0):
            m.d.comb += registers.dat_r.eq(
                Cat(self.enable, self.ready, self.refused, Const(0, 1), self.reason)
            )

        # A byte goes through the CRC in two cycles. The last one of a word that is to be written
        # waits until the word before was.
        whole, taken, blocked = Signal(), Signal(), Signal()
        value = Cat(word[8:], i.payload)
        m.d.comb += [
            blocked.eq((count == 3) & writing),
            crc.data.eq(i.payload),
            crc.step.eq(i.valid & self.enable & ~blocked & ~crc.init),
            i.ready.eq(crc.step & crc.last),
            taken.eq(i.ready),
            whole.eq(taken & (count == 3)),
        ]
        with m.If(taken):
            m.d.sync += [word.eq(value), count.eq(count + 1)]

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
                    m.d.comb += following.eq(_Part.VERSION)
                with m.Case(_Part.VERSION):
                    m.d.comb += following.eq(_Part.BUILD)
                    m.d.sync += old.eq(value != VERSION)
                with m.Case(_Part.BUILD):
                    m.d.comb += following.eq(_Part.HEADER_SUM)
                    m.d.sync += foreign.eq(value != self._build)
                with m.Case(_Part.HEADER_SUM, _Part.DATA_SUM):
                    m.d.comb += following.eq(_Part.ADDRESS)
                with m.Case(_Part.ADDRESS):
                    m.d.comb += following.eq(_Part.LENGTH)
                    m.d.sync += place.eq(Cat(value[2 : 2 + kept], value[31]))
                with m.Case(_Part.LENGTH):
                    m.d.comb += following.eq(_Part.PLACE_SUM)
                    m.d.sync += [left.eq(value[2 : 2 + kept]), fills.eq(value[31])]
                with m.Case(_Part.PLACE_SUM):
                    m.d.comb += following.eq(_Part.DATA)
                    with m.If(left == 0):
                        m.d.comb += following.eq(_Part.READY)
                with m.Case(_Part.DATA):
                    m.d.sync += [writing.eq(1), bus.dat_w.eq(value), rest.eq(0)]
                    with m.If((left == 1) | fills):
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
                place[:kept].eq(place[:kept] + 1),
                left.eq(left - 1),
                writing.eq(fills & (left != 1)),
            ]
        self._judge(m, part, judged, crc, old, foreign, refuse)
        with m.If((part == _Part.MAGIC) & whole & (value != int.from_bytes(MAGIC, "little"))):
            refuse(BootReason.NO_IMAGE)
        with m.If(bus.err):
            refuse(BootReason.BUS)
            m.d.sync += writing.eq(0)
        return m

    @staticmethod
    def _judge(m, part, judged, crc, old, foreign, refuse):
        """Refusals of an image whose part has just ended."""
        with m.If(judged):
            with m.If(crc.state != RESIDUE):
                refuse(BootReason.DAMAGED)
            with m.Elif(old):
                refuse(BootReason.VERSION)
            with m.Elif(foreign):
                refuse(BootReason.BUILD)
