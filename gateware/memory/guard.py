# SPDX-License-Identifier: BSD-2-Clause
"""Memory protection: restricts a core to its memory window (docs/how/contracts.md, section 2)."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_beat_bytes, check_integer
from .port import MAX_BEATS, MemoryPort, RequestLayout

__all__ = ["WindowGuard"]

#: log2 of the window's granularity in bytes (the control block's window registers are multiples of
#: 64).
WINDOW_SHIFT = 6


class WindowGuard(wiring.Component):
    """Window check of a memory port: passes requests inside the window, answers others with
    ``error``, in order.

    Requests and write data are registered: one cycle of latency each, one request and one beat a
    cycle. Answers pass without latency. A request outside waits until all earlier ones are
    answered; then every beat of it is answered with ``error`` (its write data are swallowed), and
    only then does the next one pass.

    With ``clear`` high nothing new is accepted and nothing is answered; outstanding requests are
    drained (write beats with ``mask`` 0) and their answers are dropped. The side that
    asks may be reset at once, in any state, in the cycle that ``clear`` rises; keep ``clear`` high
    until ``idle``.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, a power of two, at most 64.
    outstanding : int
        Largest number of requests under way, 1 to 63.
    pipelined : bool
        The window is compared in two cycles of its own, for clocks above some 60 MHz: two cycles
        more for a request.

    Members
    -------
    port : In(MemoryPort), memory : Out(MemoryPort)
    base : In(32), first byte inside; limit : In(32), first byte past the window.
        Multiples of 64 (the low six bits are ignored); they hold still while requests are made.
    clear : In(1)
    idle : Out(1), nothing is outstanding

    Raises
    ------
    ValueError
        For an argument out of range.
    """

    def __init__(self, *, beat_bytes: int, outstanding: int = 7, pipelined: bool = False) -> None:
        check_beat_bytes(beat_bytes, (1, 2, 4, 8, 16, 32, 64))
        check_integer("Number of outstanding requests", outstanding, 1, 63)
        self.beat_bytes = beat_bytes
        self.outstanding = outstanding
        self.pipelined = bool(pipelined)
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)),
                "memory": Out(MemoryPort(beat_bytes)),
                "base": In(32),
                "limit": In(32),
                "clear": In(1),
                "idle": Out(1),
            }
        )
        # State that the proofs look at (tests/gateware/memory/test_memory_proofs.py).
        # The request that was accepted last, until the memory (or the answer of ours) has taken it.
        self._held, self._inside = Signal(), Signal()
        self._request = Signal(RequestLayout())
        self._count = Signal(
            range(outstanding + 1)
        )  # outstanding requests: the memory has yet to answer, the held included
        self._write_beats = Signal(range(outstanding * MAX_BEATS + 1))  # outstanding write beats
        self._acknowledge = Signal()  # all beats of a refused write were swallowed
        # The stages of ``pipelined``: sum made, comparison made.
        self._summed_valid, self._summed, self._last = (
            Signal(),
            Signal(RequestLayout()),
            Signal(33 - WINDOW_SHIFT),
        )
        self._comes, self._compared, self._fits = Signal(), Signal(RequestLayout()), Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port, memory = self.port, self.memory
        shift = self.beat_bytes.bit_length() - 1

        held, inside, request = self._held, self._inside, self._request
        count, owed = self._count, self._write_beats

        def end(request):
            return (request.address[shift:] + request.beats)[WINDOW_SHIFT - shift :]

        def inside_window(request, last):
            return (request.address[WINDOW_SHIFT:] >= self.base[WINDOW_SHIFT:]) & (
                last < self.limit[WINDOW_SHIFT:]
            )

        last, fits, comes, ready = self._last, self._fits, self._comes, Signal()
        if self.pipelined:
            # One cycle for the sum, one for the comparison. Nothing of it was accepted: `clear`
            # drops it.
            summed, summed_valid, compared = self._summed, self._summed_valid, self._compared
            asked, on = compared, Signal()
            m.d.comb += [
                on.eq(~comes | ready),
                port.req.ready.eq(~self.clear & (~summed_valid | on)),
            ]
            with m.If(on):
                m.d.sync += [
                    comes.eq(summed_valid),
                    compared.eq(summed),
                    fits.eq(inside_window(summed, last)),
                ]
            with m.If(port.req.ready):
                m.d.sync += [
                    summed_valid.eq(port.req.valid),
                    summed.eq(port.req.payload),
                    last.eq(end(port.req.payload)),
                ]
            with m.If(self.clear):
                m.d.sync += [comes.eq(0), summed_valid.eq(0)]
        else:
            asked = port.req.payload
            m.d.comb += [
                comes.eq(port.req.valid),
                port.req.ready.eq(ready),
                last.eq(end(asked)),
                fits.eq(inside_window(asked, last)),
            ]
        accept = Signal()
        m.d.comb += [
            ready.eq(
                ~self.clear & (~held | (inside & memory.req.ready)) & (count != self.outstanding)
            ),
            accept.eq(comes & ready),
            memory.req.valid.eq(held & inside),
            memory.req.payload.eq(request),
        ]
        refused = Signal()  # the held request is ours to answer, and its turn has come
        done = Signal()  # ... and this cycle ends it
        m.d.comb += refused.eq(held & ~inside & (count == 0))
        with m.If((inside & memory.req.ready) | done | (self.clear & ~inside)):
            m.d.sync += held.eq(0)
        with m.If(accept):
            m.d.sync += [held.eq(1), inside.eq(fits), request.eq(asked)]

        # Write data: one register, so that a beat offered to the memory stands even if the side
        # that asks is reset.
        swallow = Signal()  # beats of a refused write are to come
        load = Signal()
        m.d.comb += [
            load.eq((owed != 0) & (~memory.w.valid | memory.w.ready) & (self.clear | port.w.valid)),
            port.w.ready.eq(
                ~self.clear & (((owed != 0) & (~memory.w.valid | memory.w.ready)) | swallow)
            ),
        ]
        with m.If(load):
            m.d.sync += [memory.w.valid.eq(1), memory.w.payload.eq(port.w.payload)]
            with m.If(self.clear):
                m.d.sync += memory.w.payload.mask.eq(0)
        with m.Elif(memory.w.ready):
            m.d.sync += memory.w.valid.eq(0)
        # Whether a request is accepted is known last: it chooses between two sums rather than going
        # through one.
        left = Signal.like(owed)
        m.d.comb += left.eq(owed - load)
        m.d.sync += owed.eq(left)
        with m.If(accept & fits & asked.write):
            m.d.sync += owed.eq(left + asked.beats + 1)

        read_ends, write_ends = Signal(), Signal()
        m.d.comb += [
            read_ends.eq(memory.r.valid & memory.r.ready & memory.r.payload.last),
            write_ends.eq(memory.ack.valid & memory.ack.ready),
        ]
        m.d.sync += count.eq(count + (accept & fits) - read_ends - write_ends)

        # Answers, ours among them.
        acknowledge = self._acknowledge
        m.d.comb += [
            swallow.eq(refused & request.write & ~acknowledge),
            port.r.payload.data.eq(memory.r.payload.data),
            port.r.payload.error.eq(memory.r.payload.error | refused),
            port.r.payload.last.eq(memory.r.payload.last),
            port.r.valid.eq(~self.clear & (memory.r.valid | (refused & ~request.write))),
            port.ack.payload.error.eq(memory.ack.payload.error | refused),
            port.ack.valid.eq(~self.clear & (memory.ack.valid | acknowledge)),
            memory.r.ready.eq(self.clear | port.r.ready),
            memory.ack.ready.eq(self.clear | port.ack.ready),
            self.idle.eq((count == 0) & ~held),
        ]
        with m.If(refused):
            m.d.comb += port.r.payload.last.eq(request.beats == 0)
            # The held request counts its own beats: nothing else needs it any more.
            with m.If((port.r.valid & port.r.ready) | (port.w.valid & port.w.ready)):
                m.d.sync += request.beats.eq(request.beats - 1)
                with m.If(request.beats == 0):
                    m.d.comb += done.eq(~request.write)
                    m.d.sync += acknowledge.eq(request.write)
        with m.If(acknowledge & port.ack.ready):
            m.d.comb += done.eq(1)
            m.d.sync += acknowledge.eq(0)
        with m.If(self.clear):
            m.d.sync += acknowledge.eq(0)
        return m
