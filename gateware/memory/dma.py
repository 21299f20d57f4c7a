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


def _check(beat_bytes, outstanding):
    if not isinstance(beat_bytes, int) or isinstance(beat_bytes, bool) or beat_bytes not in (1, 2, 4, 8, 16):
        raise ValueError(f"Beat size must be 1, 2, 4, 8 or 16 bytes, not {beat_bytes!r}")
    if not isinstance(outstanding, int) or isinstance(outstanding, bool) or not 1 <= outstanding <= 32:
        raise ValueError(f"Number of outstanding requests must be an integer from 1 to 32, not {outstanding!r}")


class DMAReader(wiring.Component):
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
        _check(beat_bytes, outstanding)
        self.outstanding = outstanding
        self._requester = DMARequester(beat_bytes=beat_bytes, write=False, beats_bits=beats_bits, rows_bits=rows_bits)
        super().__init__({
            "descriptor": In(self._requester.descriptor.signature.flip()),
            "beats": Out(stream.Signature(data.StructLayout({"data": unsigned(8 * beat_bytes), "error": 1, "last": 1}))),
            "memory": Out(MemoryPort(beat_bytes)), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        requester = m.submodules.requester = self._requester
        ends = m.submodules.ends = ShiftQueue(shape=1, depth=self.outstanding)  # which requests end a descriptor
        connect(m, flipped(self.descriptor), requester.descriptor)
        memory, request = self.memory, requester.request
        m.d.comb += [
            memory.req.payload.eq(request.payload.req),
            *_fork(m, request, memory.req, ends.i), ends.i.payload.eq(request.payload.last),
            self.beats.valid.eq(memory.r.valid), memory.r.ready.eq(self.beats.ready),
            self.beats.payload.data.eq(memory.r.payload.data), self.beats.payload.error.eq(memory.r.payload.error),
            self.beats.payload.last.eq(memory.r.payload.last & ends.o.payload),
            ends.o.ready.eq(memory.r.valid & memory.r.ready & memory.r.payload.last),
            memory.ack.ready.eq(1),
            self.idle.eq(~request.valid & ~ends.o.valid),
        ]
        return m


class DMAWriter(wiring.Component):
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
        _check(beat_bytes, outstanding)
        self.outstanding = outstanding
        self._requester = DMARequester(beat_bytes=beat_bytes, write=True, beats_bits=beats_bits, rows_bits=rows_bits)
        port = MemoryPort(beat_bytes)
        super().__init__({
            "descriptor": In(self._requester.descriptor.signature.flip()),
            "beats": In(port.members["w"].signature),
            "result": Out(port.members["ack"].signature),
            "memory": Out(port), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        requester = m.submodules.requester = self._requester
        ends = m.submodules.ends = ShiftQueue(shape=1, depth=self.outstanding)
        connect(m, flipped(self.descriptor), requester.descriptor)
        memory, request = self.memory, requester.request
        connect(m, flipped(self.beats), flipped(memory.w))
        final = Signal()
        error, before = Signal(), Signal()
        m.d.comb += [
            memory.req.payload.eq(request.payload.req),
            *_fork(m, request, memory.req, ends.i), ends.i.payload.eq(request.payload.last),
            final.eq(ends.o.payload), error.eq(memory.ack.payload.error | before),
            memory.ack.ready.eq(~final | self.result.ready),
            self.result.valid.eq(memory.ack.valid & final), self.result.payload.error.eq(error),
            ends.o.ready.eq(memory.ack.valid & memory.ack.ready),
            memory.r.ready.eq(1),
            self.idle.eq(~request.valid & ~ends.o.valid),
        ]
        with m.If(memory.ack.valid & memory.ack.ready):
            m.d.sync += before.eq(error & ~final)
        return m


def _fork(m, source, request, note):
    """One transfer of ``source`` becomes one request and one note, the note no later than the request."""
    noted = Signal()
    m.d.sync += noted.eq(source.valid & ~source.ready & (noted | note.ready))
    return [note.valid.eq(source.valid & ~noted), request.valid.eq(source.valid & (noted | note.ready)),
            source.ready.eq(request.valid & request.ready)]
