# SPDX-License-Identifier: BSD-2-Clause
"""SPI slave of the host link: byte streams on four wires (docs/how/link.md, "SPI")."""

from typing import Any

from amaranth import Cat, ClockDomain, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from .spi_format import HEADER, MARK, MOST, SPACE_UNIT, SPI_HZ

__all__ = ["SPILink", "SPIPins"]

#: Bytes of the queues to the SoC and to the host. The first takes two transfers, so that a host
#: knows of space for the next one before the last one was processed.
_INWARD, _OUTWARD = 512, 256
#: Bytes of the queue to the host in flip-flops.
_SMALL = 16


class SPIPins(wiring.Signature):
    """Wires of the link, seen from the FPGA.

    Members
    -------
    sck : In, the host's clock, low when idle (mode 0)
    cs : In, the board is selected (high; its pin is inverted)
    copi : In, data from the host
    cipo : Out, data to the host; changes with falling edges of ``sck``
    cipo_oe : Out, drives ``cipo``: only while the board is selected
    ready : Out, bytes wait for the host
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "sck": In(1),
                "cs": In(1),
                "copi": In(1),
                "cipo": Out(1),
                "cipo_oe": Out(1),
                "ready": Out(1),
            }
        )


class _Pointer:
    """Position in a queue: a count, its Gray code, and the Gray code as the other clock domain sees
    it.

    None of it is reset: neither side may lose its place when the SoC is reset, since the other one
    has no clock then.
    """

    def __init__(self, m, name, bits, *, domain, seen_in):
        self.count = Signal(bits, name=name, reset_less=True)
        self._gray = Signal(bits, name=f"{name}_gray", reset_less=True)
        self._there = Signal(bits, name=f"{name}_there", reset_less=True)
        m.submodules[f"{name}_sync"] = FFSynchronizer(self._gray, self._there, o_domain=seen_in)
        #: The count as the other side knows it: late, never ahead.
        self.seen = Signal(bits, name=f"{name}_seen")
        m.d.comb += [self.seen[bit].eq(self._there[bit:].xor()) for bit in range(bits)]
        self._after, self._domain = Signal(bits, name=f"{name}_after"), domain
        m.d.comb += self._after.eq(self.count + 1)

    def step(self, m):
        """Advances the count by one, under the conditions around the statement."""
        m.d[self._domain] += [
            self.count.eq(self._after),
            self._gray.eq(self._after ^ (self._after >> 1)),
        ]


def _queue(m, name, depth, *, source, sink, style="block"):
    """Storage of a queue between two clock domains, and its two :class:`_Pointer`."""
    bits = depth.bit_length()  # one more than an address: full and empty differ
    attrs = {"ram_style": style}
    m.submodules[name] = storage = memory.Memory(shape=8, depth=depth, init=[], attrs=attrs)
    put, get = storage.write_port(domain=source), storage.read_port(domain=sink)
    written = _Pointer(m, f"{name}_written", bits, domain=source, seen_in=sink)
    taken = _Pointer(m, f"{name}_taken", bits, domain=sink, seen_in=source)
    m.d.comb += put.addr.eq(written.count[:-1])
    return put, get, written, taken


class SPILink(wiring.Component):
    """SPI slave, mode 0, most significant bit first, whose shift registers run on the host's own
    clock.

    The main clock may be slower than the host's: all that crosses between them are positions in
    two queues, in Gray code. The host's clock may stop at any time and the selection end at any
    bit: a byte counts with its eighth rising edge, each way.

    Of a transfer the first three bytes (:mod:`~.spi_format`) are its header. To the host: a mark,
    the space for bytes from it in units of two, the number of bytes that wait for it. From the
    host: two bytes that mean nothing, the number of bytes that it will send. Then come both sides'
    bytes; bytes clocked beyond their numbers are meaningless. A byte for which there is no space
    is dropped.

    Parameters
    ----------
    small : bool
        The queue to the host is of 16 bytes in flip-flops, which saves one block RAM: for
        an iCE40, whose block RAMs a core may need.

    Members
    -------
    pins : Out(SPIPins())
    rx : Out, bytes from the host; tx : In, bytes to it; in ``sync``

    Throughput: a byte in 8 clocks of the host, a byte in 3 cycles of ``sync``.
    """

    def __init__(self, *, small: bool = False) -> None:
        self._small = bool(small)
        super().__init__(
            {
                "pins": Out(SPIPins()),
                "rx": Out(stream.Signature(8)),
                "tx": In(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pins = self.pins
        # The host's clock, and twice again what begins anew when the selection ends: the clock
        # rests then, so that this reset is asynchronous.
        sck = Signal(name="spi_clock", attrs={"keep": 1})
        m.d.comb += sck.eq(pins.sck)
        for name, edge, is_frame in (
            ("spi", "pos", False),
            ("spi_frame", "pos", True),
            ("spi_out", "neg", True),
        ):
            domain = ClockDomain(
                name, clk_edge=edge, reset_less=not is_frame, async_reset=is_frame, local=True
            )
            m.domains += domain
            m.d.comb += domain.clk.eq(sck)
            if is_frame:
                m.d.comb += domain.rst.eq(~pins.cs)

        inward = _queue(m, "inward", _INWARD, source="spi", sink="sync")
        outward = _queue(
            m,
            "outward",
            _SMALL if self._small else _OUTWARD,
            source="sync",
            sink="spi",
            style="logic" if self._small else "block",
        )
        self._receive(m, inward)
        self._send(m, outward)
        self._transfer(m, inward, outward)
        if platform is not None:
            platform.add_clock_constraint(sck, SPI_HZ)
        return m

    def _transfer(self, m, inward, outward):
        """Logic in the host's clock domain: header, counts and shift registers."""
        pins = self.pins
        put, _, written, freed = inward
        _, get, filled, taken = outward

        bit, place = Signal(3), Signal(range(HEADER + 1))  # place: byte of the header, or after it
        sent_bits, byte = Signal(7), Signal(8)
        to_come, to_go = Signal(8), Signal(8)  # bytes of the link that are left of this transfer
        out = Signal(8, init=MARK)
        m.d.comb += byte.eq(Cat(pins.copi, sent_bits))
        m.d.spi_frame += [bit.eq(bit + 1), sent_bits.eq(byte), out.eq(out << 1)]

        space, waiting = Signal(len(written.count)), Signal(len(taken.count))
        full, behind = Signal(), Signal()
        m.d.comb += [
            space.eq(freed.seen + _INWARD - written.count),
            full.eq(space == 0),
            waiting.eq(filled.seen - taken.count),
            behind.eq(place == HEADER),
            put.data.eq(byte),
            # The byte after the one that is being sent; before the first one, the first.
            get.addr.eq((taken.count + behind)[:-1]),
        ]
        with m.If(bit == 7):
            with m.Switch(place):
                with m.Case(0):
                    units = space >> (SPACE_UNIT.bit_length() - 1)
                    m.d.spi_frame += out.eq(Mux(units > 255, 255, units))
                with m.Case(1):
                    number = Signal(8)
                    m.d.comb += number.eq(Mux(waiting > MOST, MOST, waiting))
                    m.d.spi_frame += [out.eq(number), to_go.eq(number)]
                with m.Case(2):
                    m.d.spi_frame += to_come.eq(byte)
            with m.If(place != HEADER):
                m.d.spi_frame += place.eq(place + 1)
            with m.If(place >= HEADER - 1):
                # The next byte begins, if there is one: of `to_go` it counts the one on its way.
                last = Signal()
                m.d.comb += last.eq(Mux(behind, to_go <= 1, to_go == 0))
                m.d.spi_frame += out.eq(Mux(last, 0, get.data))
            with m.If(behind & (to_go != 0)):
                m.d.spi_frame += to_go.eq(to_go - 1)
                taken.step(m)
            with m.If(behind & (to_come != 0)):
                m.d.spi_frame += to_come.eq(to_come - 1)
                with m.If(~full):
                    m.d.comb += put.en.eq(1)
                    written.step(m)
        # The first bit is there before any edge.
        cipo = Signal(init=MARK >> 7)
        m.d.spi_out += cipo.eq(out[-1])
        m.d.comb += [pins.cipo.eq(cipo), pins.cipo_oe.eq(pins.cs)]

    def _receive(self, m, inward):
        """Queue of bytes from the host into ``sync``."""
        _, get, written, taken = inward
        fetches, fetched = Signal(), Signal(reset_less=True)
        valid = Signal(reset_less=True)
        m.d.comb += [
            fetches.eq(~valid & ~fetched & (written.seen != taken.count)),
            get.addr.eq(taken.count[:-1]),
            get.en.eq(fetches),
            self.rx.valid.eq(valid),
            self.rx.payload.eq(get.data),
        ]
        m.d.sync += fetched.eq(fetches)
        with m.If(fetches):
            taken.step(m)
        with m.If(fetched):
            m.d.sync += valid.eq(1)
        with m.Elif(self.rx.ready):
            m.d.sync += valid.eq(0)

    def _send(self, m, outward):
        """Queue of bytes to the host from ``sync``."""
        put, _, written, taken = outward
        used = Signal(len(written.count))
        ready = Signal(reset_less=True)
        m.d.comb += [
            used.eq(written.count - taken.seen),
            self.tx.ready.eq(~used[-1]),
            put.en.eq(self.tx.valid & self.tx.ready),
            put.data.eq(self.tx.payload),
            self.pins.ready.eq(ready),
        ]
        m.d.sync += ready.eq(used != 0)
        with m.If(put.en):
            written.step(m)
