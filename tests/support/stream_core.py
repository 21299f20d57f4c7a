# SPDX-License-Identifier: BSD-2-Clause
"""A streaming core for tests of the logic around a core: bursts in, a function, bursts out. With
``own_clock``, the function runs in the core's own clock domain.

``program_length`` bytes from ``program_address`` are read (``mode`` bit 0), XORed with ``key``, and
written to ``target`` (``mode`` bit 1); the register ``sum`` is the sum of all beats read. Writing
alone writes ``key``.
"""

from types import SimpleNamespace

from amaranth import Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFOBuffered

from quintet.gateware.isa.parameters import Parameter, ParameterSpace, Preset
from quintet.gateware.isa.registers import Fault, Register
from quintet.gateware.memory.port import MAX_BEATS
from quintet.gateware.shell.crossing import CrossingFIFO
from quintet.gateware.shell.engine import Engine, EngineControl, Stall

#: Beats of a write; lengths are whole multiples.
BURST = 64

REGISTERS = (
    Register("target", 0x100, "rw"),
    Register("key", 0x104, "rw", reset=0x55, mask=0xFF),
    Register("mode", 0x108, "rw", reset=3, mask=3),
    Register("sum", 0x10C, "r"),
)
FAULTS = (Fault(6, "bus_error", "error", "0"), Fault(8, "aborted", "by the host", "0"))


class StreamEngine(Engine):
    """Engine with two ports: 0 reads, 1 writes. Reads wait for writes, so their answers need a
    buffer of two bursts."""

    port_buffers = (512, 0)

    BEATS = (1, 2, 4, 8, 16)

    def prepare(self):
        return EngineControl(registers=REGISTERS, bytes_bits=6), 2

    @staticmethod
    def domains(params):
        return {"array": params["ratio"] / 4} if params["own_clock"] else {}

    def _fifo(self, m, name, width, depth, w_domain, r_domain):
        """Ends of a queue, ``(i, o, level)``, which crosses clock domains if there are two."""
        if self.params["own_clock"]:
            fifo = m.submodules[name] = CrossingFIFO(
                shape=width, depth=depth, w_domain=w_domain, r_domain=r_domain
            )
            return fifo.i, fifo.o, fifo.level
        fifo = m.submodules[name] = SyncFIFOBuffered(width=width, depth=depth)
        return fifo.w_stream, fifo.r_stream, fifo.r_level

    def elaborate(self, platform):
        m = Module()
        c, size = self.control, self.beat_bytes
        far = "array" if self.params["own_clock"] else "sync"
        source, sink = self.memory
        inward, before, _ = self._fifo(m, "inward", 8 * size, 32, "sync", far)
        after, outward, level = self._fifo(m, "outward", 8 * size, 256, far, "sync")

        # The function: one beat a cycle of its clock.
        held, full = Signal(8 * size), Signal()
        m.d.comb += [
            before.ready.eq(~full | after.ready),
            after.valid.eq(full),
            after.payload.eq(held),
        ]
        with m.If(before.ready):
            m.d[far] += [held.eq(before.payload ^ c.reg.key), full.eq(before.valid)]

        reads, writes = c.reg.mode[0], c.reg.mode[1]
        busy, total, failed = Signal(), Signal(32), Signal()
        beats = c.program_length >> (size.bit_length() - 1)
        # Reads: address of the next burst, beats to request, beats that are outstanding.
        origin, unread, due = Signal(32), Signal(25), Signal(25)
        # Writes: bursts to request, those without a result, beats that are reserved. A burst is
        # requested once its data are here: a write that waited for a later read would wait for
        # ever.
        asks, results, owed = Signal(18), Signal(18), Signal(10)
        target, there = Signal(32), Signal()
        m.d.sync += there.eq(~reads | (level >= owed + BURST))
        m.d.comb += [
            c.ready.eq(~busy),
            c.val.sum.eq(total),
            c.fault_code.eq(failed * 6),
            c.stall.eq(Stall.OPERAND),
            source.req.valid.eq(unread != 0),
            source.req.payload.address.eq(origin),
            source.ack.ready.eq(1),
            source.req.payload.beats.eq(Mux(unread < MAX_BEATS, unread, MAX_BEATS) - 1),
            sink.req.valid.eq((asks != 0) & there),
            sink.req.payload.address.eq(target),
            sink.req.payload.write.eq(1),
            sink.req.payload.beats.eq(BURST - 1),
            sink.ack.ready.eq(1),
            sink.r.ready.eq(1),
            # What is read goes to the function, or, without writing, nowhere.
            inward.payload.eq(source.r.payload.data),
            inward.valid.eq(source.r.valid & writes),
            source.r.ready.eq(~writes | inward.ready),
            sink.w.payload.mask.eq(-1),
            sink.w.valid.eq((owed != 0) & (outward.valid | ~reads)),
            sink.w.payload.data.eq(Mux(reads, outward.payload, c.reg.key)),
            outward.ready.eq(sink.w.valid & sink.w.ready & reads),
        ]
        with m.If(source.req.valid & source.req.ready):
            m.d.sync += [
                origin.eq(origin + MAX_BEATS * size),
                unread.eq(Mux(unread < MAX_BEATS, 0, unread - MAX_BEATS)),
            ]
        with m.If(source.r.valid & source.r.ready):
            m.d.sync += [
                total.eq(total + source.r.payload.data),
                failed.eq(failed | source.r.payload.error),
                due.eq(due - 1),
            ]
            m.d.comb += [c.bytes_read.eq(size), c.stall.eq(Stall.WORK), c.operations.eq(1)]
        sent, asked = Signal(), Signal()
        m.d.comb += [
            sent.eq(sink.w.valid & sink.w.ready),
            asked.eq(sink.req.valid & sink.req.ready),
        ]
        m.d.sync += owed.eq(owed + Mux(asked, BURST, 0) - sent)
        with m.If(sent):
            m.d.comb += [c.bytes_written.eq(size), c.stall.eq(Stall.WORK)]
        with m.If(asked):
            m.d.sync += [asks.eq(asks - 1), target.eq(target + BURST * size), there.eq(0)]
        with m.If(sink.ack.valid):
            m.d.sync += [results.eq(results - 1), failed.eq(failed | sink.ack.payload.error)]
        with m.If(c.start):
            m.d.sync += [
                busy.eq(1),
                total.eq(0),
                failed.eq(0),
                origin.eq(c.program_address),
                target.eq(c.reg.target),
            ]
            with m.If(reads):
                m.d.sync += [unread.eq(beats), due.eq(beats)]
            with m.If(writes):
                m.d.sync += [asks.eq(beats // BURST), results.eq(beats // BURST)]
        with m.If(busy & (due == 0) & (results == 0)):
            m.d.comb += [c.finish.eq(1), c.retired.eq(1)]
            m.d.sync += busy.eq(0)
        return m


SPACE = ParameterSpace(
    "stream",
    (
        Parameter(
            "own_clock", bool, (False, True), False, doc="the function has its own clock domain"
        ),
        Parameter("ratio", int, range(1, 17), 8, doc="its clock over the main clock, in quarters"),
    ),
    (Preset("sim", default=True), Preset("25f"), Preset("up5k")),
)
PACKAGE = SimpleNamespace(
    name="stream",
    isa=SimpleNamespace(
        ISA=SimpleNamespace(
            name="stream",
            title="Stream",
            tag="STRM",
            version=(0, 1),
            program_align=64,
            registers=REGISTERS,
            counters=(),
            faults=FAULTS,
        )
    ),
    params=SimpleNamespace(SPACE=SPACE),
    core=SimpleNamespace(variant=lambda params, beat_bytes: StreamEngine),
)

__all__ = ["PACKAGE", "StreamEngine"]
