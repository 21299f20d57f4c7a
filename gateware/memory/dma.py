# SPDX-License-Identifier: BSD-2-Clause
"""DMA: streams of descriptors -> memory port (docs/contracts.md, section 2)."""
from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .port import MAX_BEATS, MemoryPort, RequestLayout
from .queue import ShiftQueue

__all__ = ["DMADescriptor", "DMAReader", "DMARequester", "DMAWriter"]


class DMADescriptor(data.StructLayout):
    """A block of memory: rows of consecutive beats at equal distances. One row makes it one-dimensional.

    Members
    -------
    address : unsigned(32), byte address of the first beat; a multiple of the beat's size
    beats : unsigned(``beats_bits``), beats of a row less one
    rows : unsigned(``rows_bits``), number of rows less one; without rows (0 bits) the member is missing, like ``stride``
    stride : unsigned(32), bytes from the start of one row to the next, modulo 2^32 (a multiple of the beat's size)
    """
    def __init__(self, *, beats_bits, rows_bits):
        for name, bits, least in (("beats_bits", beats_bits, 1), ("rows_bits", rows_bits, 0)):
            if not isinstance(bits, int) or isinstance(bits, bool) or not least <= bits <= 32:
                raise ValueError(f"{name} must be an integer from {least} to 32, not {bits!r}")
        self.beats_bits, self.rows_bits = beats_bits, rows_bits
        members = {"address": unsigned(32), "beats": unsigned(beats_bits)}
        if rows_bits:
            members |= {"rows": unsigned(rows_bits), "stride": unsigned(32)}
        super().__init__(members)


class DMARequester(wiring.Component):
    """Stream of descriptors -> stream of requests, each of 256 beats at most and within one row of the descriptor.

    One request a cycle, descriptors back to back. Latency: one cycle.

    Parameters
    ----------
    beat_bytes : int
    write : bool
    beats_bits, rows_bits : int
        Of :class:`DMADescriptor`.

    Members
    -------
    descriptor : In(stream of DMADescriptor)
    request : Out(stream), ``req`` (RequestLayout) and ``last``, the descriptor's last request
    """
    def __init__(self, *, beat_bytes, write, beats_bits=16, rows_bits=16):
        self._layout = DMADescriptor(beats_bits=beats_bits, rows_bits=rows_bits)
        self.beat_bytes, self.write = beat_bytes, write
        super().__init__({
            "descriptor": In(stream.Signature(self._layout)),
            "request": Out(stream.Signature(data.StructLayout({"req": RequestLayout(), "last": 1}))),
        })

    def elaborate(self, platform):
        m = Module()
        given, out = self.descriptor.payload, self.request.payload
        shift = self.beat_bytes.bit_length() - 1
        beats_bits, rows_bits = self._layout.beats_bits, self._layout.rows_bits

        valid = Signal()
        address = Signal(32 - shift)   # in beats
        left = Signal(beats_bits)      # beats of this row to come, less one
        burst = Signal(8)
        row_ends, ends = Signal(), Signal()
        high = left[8:]
        m.d.comb += [
            row_ends.eq(high == 0 if beats_bits > 8 else 1), ends.eq(row_ends),
            burst.eq(Mux(row_ends, left, MAX_BEATS - 1)),
            self.request.valid.eq(valid),
            out.req.address.eq(address << shift), out.req.beats.eq(burst), out.req.write.eq(self.write),
            out.last.eq(ends),
        ]
        after = Signal.like(address)   # of the next burst of this row
        m.d.comb += after.eq(address + MAX_BEATS)
        if rows_bits:
            rows, beats = Signal(rows_bits), Signal(beats_bits)
            row, stride = Signal.like(address), Signal.like(address)
            m.d.comb += ends.eq(row_ends & (rows == 0))
        take = Signal()
        m.d.comb += [take.eq(~valid | (self.request.ready & ends)), self.descriptor.ready.eq(take)]
        with m.If(take):
            m.d.sync += [valid.eq(self.descriptor.valid), address.eq(given.address[shift:]), left.eq(given.beats)]
            if rows_bits:
                # `row` is where the next row begins.
                m.d.sync += [rows.eq(given.rows), beats.eq(given.beats), stride.eq(given.stride[shift:]),
                             row.eq(given.address[shift:] + given.stride[shift:])]
        with m.Elif(self.request.ready):
            m.d.sync += address.eq(after)
            if beats_bits > 8:
                m.d.sync += left.eq(Cat(left[:8], high - 1))
            if rows_bits:
                with m.If(row_ends):
                    m.d.sync += [address.eq(row), row.eq(row + stride), left.eq(beats), rows.eq(rows - 1)]
        return m


class _DMA(wiring.Component):
    """What reader and writer share: descriptors become requests, and of each it is noted whether it ends its descriptor.

    ``members(port)`` are those beside descriptor, memory and idle; ``_answers(m, ends)`` does the rest: ``ends`` is the stream of those notes, one taken with the last answer of each request.
    """
    def __init__(self, *, write, members, beat_bytes, outstanding, beats_bits, rows_bits):
        if not isinstance(beat_bytes, int) or isinstance(beat_bytes, bool) or beat_bytes not in (1, 2, 4, 8, 16):
            raise ValueError(f"Beat size must be 1, 2, 4, 8 or 16 bytes, not {beat_bytes!r}")
        if not isinstance(outstanding, int) or isinstance(outstanding, bool) or not 1 <= outstanding <= 32:
            raise ValueError(f"Number of outstanding requests must be an integer from 1 to 32, not {outstanding!r}")
        self.outstanding = outstanding
        self._requester = DMARequester(beat_bytes=beat_bytes, write=write, beats_bits=beats_bits, rows_bits=rows_bits)
        port = MemoryPort(beat_bytes)
        super().__init__({
            "descriptor": In(self._requester.descriptor.signature.flip()),
            "memory": Out(port), "idle": Out(1), **members(port),
        })

    def elaborate(self, platform):
        m = Module()
        requester = m.submodules.requester = self._requester
        ends = m.submodules.ends = ShiftQueue(shape=1, depth=self.outstanding)
        connect(m, flipped(self.descriptor), requester.descriptor)
        request, asks = requester.request, self.memory.req
        # One transfer of the requester becomes one request and one note, the note no later than the request.
        noted = Signal()
        m.d.sync += noted.eq(request.valid & ~request.ready & (noted | ends.i.ready))
        m.d.comb += [
            ends.i.valid.eq(request.valid & ~noted), ends.i.payload.eq(request.payload.last),
            asks.valid.eq(request.valid & (noted | ends.i.ready)), asks.payload.eq(request.payload.req),
            request.ready.eq(asks.valid & asks.ready),
            self.idle.eq(~request.valid & ~ends.o.valid),
        ]
        self._answers(m, ends.o)
        return m


class DMAReader(_DMA):
    """Reads blocks of memory: descriptors in, beats out, in order, several requests in flight.

    One beat a cycle where the memory gives it; beats pass from the port without latency or buffer, so a side that is
    slow to take them holds the memory up unless the arbiter has a buffer for the port. An error does not end a block.

    Parameters
    ----------
    beat_bytes : int
    outstanding : int
        Requests under way, 1 to 32.
    beats_bits, rows_bits : int
        Of :class:`DMADescriptor`.

    Members
    -------
    descriptor : In(stream of DMADescriptor)
    beats : Out(stream): ``data``, ``error``, ``last`` (the last beat of its descriptor)
    memory : Out(MemoryPort)
    idle : Out(1), nothing is under way; descriptors that wait outside do not count
    """
    def __init__(self, *, beat_bytes, outstanding=4, beats_bits=16, rows_bits=16):
        super().__init__(write=False, members=lambda port: {"beats": Out(port.members["r"].signature)}, beat_bytes=beat_bytes,
                         outstanding=outstanding, beats_bits=beats_bits, rows_bits=rows_bits)

    def _answers(self, m, ends):
        answer, beats = self.memory.r, self.beats
        m.d.comb += [
            beats.valid.eq(answer.valid), answer.ready.eq(beats.ready), beats.payload.data.eq(answer.payload.data),
            beats.payload.error.eq(answer.payload.error), beats.payload.last.eq(answer.payload.last & ends.payload),
            ends.ready.eq(answer.valid & answer.ready & answer.payload.last),
            self.memory.ack.ready.eq(1),
        ]


class DMAWriter(_DMA):
    """Writes blocks of memory: descriptors and beats in, one result a descriptor out, several requests in flight.

    Beats are taken as the memory takes them, one a cycle, in the order of the descriptors; those of a descriptor may be
    offered before it. They pass without latency.

    Parameters
    ----------
    beat_bytes : int
    outstanding : int
        Requests under way, 1 to 32.
    beats_bits, rows_bits : int
        Of :class:`DMADescriptor`.

    Members
    -------
    descriptor : In(stream of DMADescriptor)
    beats : In(stream of WriteLayout)
    result : Out(stream): ``error``, one for each descriptor, once all its bytes are in memory
    memory : Out(MemoryPort)
    idle : Out(1), nothing is under way, and every result was taken
    """
    def __init__(self, *, beat_bytes, outstanding=4, beats_bits=16, rows_bits=16):
        super().__init__(write=True, members=lambda port: {
            "beats": In(port.members["w"].signature), "result": Out(port.members["ack"].signature),
        }, beat_bytes=beat_bytes, outstanding=outstanding, beats_bits=beats_bits, rows_bits=rows_bits)

    def _answers(self, m, ends):
        answer, result = self.memory.ack, self.result
        connect(m, flipped(self.beats), flipped(self.memory.w))
        error, before = Signal(), Signal()
        m.d.comb += [
            error.eq(answer.payload.error | before), answer.ready.eq(~ends.payload | result.ready),
            result.valid.eq(answer.valid & ends.payload), result.payload.error.eq(error),
            ends.ready.eq(answer.valid & answer.ready),
            self.memory.r.ready.eq(1),
        ]
        with m.If(answer.valid & answer.ready):
            m.d.sync += before.eq(error & ~ends.payload)
