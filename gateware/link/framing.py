# SPDX-License-Identifier: BSD-2-Clause
"""COBS framing of the host link: contents encoded without zeros, ended by a zero byte
(docs/how/link.md, "Frames")."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from ..primitives.bram import BlockRAM

__all__ = ["FrameReceiver", "FrameTransmitter"]


def _delay(m, value, cycles):
    """Delays ``value`` by 0 or 1 cycles."""
    result = Signal(name="asked")
    m.d["sync" if cycles else "comb"] += result.eq(value)
    return result


class FrameReceiver(wiring.Component):
    """Frame decoder: buffers received bytes and replays the contents of the oldest frame on demand.

    Bytes go to a ring buffer as they are, zeros included. A cursor goes through the oldest frame
    and decodes it; the frame stays in the buffer until it is released. A frame that fills the whole
    buffer is thrown away in parts while it is received, and its end is marked ``bad``.

    Parameters
    ----------
    depth : int
        Bytes of the buffer, a power of two of at least 512. A frame may have ``depth - 1`` bytes,
        encoded, its zero included.
    latency : int
        Of the buffer (:class:`~quintet.gateware.primitives.bram.BlockRAM`): 1, or 2 for a fast
        clock.
    family : "ecp5", "ice40" or None

    Members
    -------
    i : In(stream.Signature(8))
        Received bytes. Not ready while the buffer is full.
    o : Out(stream)
        ``data``: a byte of the contents; or ``end`` 1: the frame is over, with ``bad`` 1 if its
        encoding was broken or it was too long. Behind the end the stream stands still until
        ``rewind`` or ``release``.
    rewind : In(1)
        With the transfer of the end: go back to the first byte of this frame. Not to be used on a
        bad frame.
    release : In(1)
        With the transfer of the end: give up this frame, go on with the next.

    Throughput: a byte in every two cycles, three with ``latency`` 2.
    """

    def __init__(self, *, depth: int = 1024, latency: int = 1, family: str | None = None) -> None:
        check_integer("depth", depth, 512, power_of_two=True)
        self._depth = depth
        self._buffer = BlockRAM(width=8, depth=depth, latency=latency, family=family)
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(data.StructLayout({"data": 8, "end": 1, "bad": 1}))),
                "rewind": In(1),
                "release": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = self._buffer

        write = Signal(range(self._depth))
        base = Signal(range(self._depth))  # first byte of the frame
        cursor = Signal(range(self._depth))  # next byte to be decoded
        # The block RAM may be far away, so that a fast clock leaves no time for an adder before it.
        registered = buffer.latency == 2
        behind = Signal(range(self._depth), init=1 if registered else 0)
        if not registered:
            m.d.comb += behind.eq(write + 1)
        m.d.comb += [
            buffer.write_addr.eq(write),
            buffer.write_data.eq(self.i.payload),
            buffer.write_en.eq(self.i.valid & self.i.ready),
            self.i.ready.eq(behind != base),
        ]
        with m.If(buffer.write_en):
            m.d.sync += write.eq(behind)
            if registered:
                m.d.sync += behind.eq(behind + 1)

        # A byte is fetched, and decoded when it has come out of the buffer. A byte fetched in the
        # cycle of its write is not used.
        fetched = Signal()
        empty = cursor == write
        asked = _delay(m, ~empty & ~fetched, buffer.latency - 1)
        m.d.comb += buffer.read_addr.eq(cursor)
        room = ~self.o.valid | (self.o.ready & ~self.o.p.end)
        with m.If(~fetched):
            m.d.sync += fetched.eq(asked)
        with m.Elif(room):
            m.d.sync += [
                fetched.eq(0),
                cursor.eq(cursor + 1),
            ]

        left = Signal(8)  # bytes to the next length, that one included; 0 in front of a frame
        zero = Signal()  # a zero lies between this block and the next
        spoilt = Signal()  # a part of this frame was thrown away
        byte = buffer.read_data
        end = byte == 0
        is_length = left[1:] == 0
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(fetched & room):
            m.d.sync += [
                self.o.valid.eq(zero | ~is_length | end),
                self.o.p.data.eq(Mux(is_length, 0, byte)),
                self.o.p.end.eq(end),
                self.o.p.bad.eq(~is_length | spoilt),
                left.eq(Mux(is_length | end, byte, left - 1)),
                zero.eq(Mux(is_length, (byte != 0xFF) & ~end, zero & ~end)),
                spoilt.eq(spoilt & ~end),
            ]

        with m.If(self.o.valid & self.o.ready & self.o.p.end):
            with m.If(self.rewind):
                m.d.sync += [
                    cursor.eq(base),
                    fetched.eq(0),
                ]
                if buffer.latency == 2:
                    m.d.sync += asked.eq(0)
            with m.If(self.release):
                m.d.sync += base.eq(cursor)
        with m.Elif(~self.i.ready & empty & ~(self.o.valid & self.o.p.end)):
            # Full, all of it decoded, and no end in sight.
            m.d.sync += [
                base.eq(cursor),
                spoilt.eq(1),
            ]
        return m


class FrameTransmitter(wiring.Component):
    """Frame encoder: encodes frames into a buffer and sends them.

    In front of each block a byte is left out; when the block ends, its length is written there.
    What lies before the hole is complete and on its way.

    Parameters
    ----------
    depth : int
        Bytes of the buffer, a power of two of at least 512 (a block, which may have 255 bytes, must
        never fill it).
    latency, family
        As of :class:`FrameReceiver`.

    Members
    -------
    i : In(stream)
        ``data``: a byte of the contents; or ``end`` 1: the frame is over (``data`` means nothing).
    o : Out(stream.Signature(8))
        Bytes to be sent.

    Throughput: a byte a cycle into the buffer, one in every two cycles out of it, three with
    ``latency`` 2. Latency: bytes leave when their block is complete: at a zero, after 254 others,
    or at the end.
    """

    def __init__(self, *, depth: int = 512, latency: int = 1, family: str | None = None) -> None:
        check_integer("depth", depth, 512, power_of_two=True)
        self._depth = depth
        self._buffer = BlockRAM(width=8, depth=depth, latency=latency, family=family)
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"data": 8, "end": 1}))),
                "o": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = self._buffer

        hole = Signal(range(self._depth))
        write = Signal(range(self._depth), init=1)
        behind = Signal(
            range(self._depth), init=2
        )  # write + 1: space for a byte decides what the bridge does in this cycle
        read = Signal(range(self._depth))
        length = Signal(8, init=1)  # of this block, as it will stand in the hole
        ending = Signal()  # the last block is closed; the frame's zero is next

        full = behind == read
        step = Signal()
        close = ending | length.all() | self.i.p.end | (self.i.p.data == 0)
        m.d.comb += [
            # A full block is closed without waiting for the byte after it.
            step.eq((self.i.valid | ending | length.all()) & ~full),
            buffer.write_en.eq(step),
            buffer.write_addr.eq(Mux(close, hole, write)),
            buffer.write_data.eq(Mux(ending, 0, Mux(close, length, self.i.p.data))),
            # The frame's zero needs a step of its own.
            self.i.ready.eq(~full & Mux(self.i.p.end, ending, ~length.all())),
        ]
        with m.If(step):
            m.d.sync += [
                write.eq(behind),
                behind.eq(behind + 1),
                length.eq(length + 1),
                ending.eq(~ending & self.i.p.end & self.i.valid),
            ]
            with m.If(close):
                m.d.sync += [
                    hole.eq(write),
                    length.eq(1),
                ]

        # Nothing before the hole is written any more: a byte to be sent is never read in the cycle
        # of its write.
        m.d.comb += [
            buffer.read_addr.eq(read),
            self.o.payload.eq(buffer.read_data),
        ]
        asked = _delay(m, ~self.o.valid & (read != hole), buffer.latency - 1)
        with m.If(~self.o.valid):
            m.d.sync += self.o.valid.eq(asked)
        with m.Elif(self.o.ready):
            m.d.sync += [
                self.o.valid.eq(0),
                read.eq(read + 1),
            ]
            if buffer.latency == 2:
                m.d.sync += asked.eq(0)
        return m
