# SPDX-License-Identifier: BSD-2-Clause
"""Smallest possible core, for tests of the logic around a core: copies memory, one beat at a time.

``program_length`` bytes are read from ``program_address`` on port 0, each byte is XORed with
register ``key``, and they are written to ``target`` on port 1. The first beat of four zero bytes is
illegal (fault 1, its address as pc and ``key`` as detail); a bus error is fault 6 with the address
as detail.
"""

from types import SimpleNamespace

from amaranth import Module, Signal
from amaranth.lib import enum

from quintet.gateware.isa.parameters import Parameter, ParameterSpace, Preset
from quintet.gateware.isa.registers import Counter, Fault, Register
from quintet.gateware.shell.engine import Engine, EngineControl, Stall

REGISTERS = (
    Register("target", 0x100, "rw"),
    Register("key", 0x104, "rw", reset=0x55, mask=0xFF),
    Register("last", 0x108, "r"),
)
COUNTERS = (Counter("errors", 0x180),)
FAULTS = (
    Fault(1, "illegal_opcode", "four zero bytes", "key"),
    Fault(6, "bus_error", "error", "address"),
    Fault(8, "aborted", "by the host", "0"),
)


class Step(enum.Enum):
    IDLE, ASK, READ, WRITE, END = range(5)


class TinyEngine(Engine):
    BEATS = (1, 2, 4, 8, 16)

    def prepare(self):
        return EngineControl(registers=REGISTERS, counters=COUNTERS), 2

    def elaborate(self, platform):
        m = Module()
        c, (read, write) = self.control, self.memory
        step, offset, data = Signal(Step), Signal(32), Signal(8 * self.beat_bytes)
        m.d.comb += [
            c.ready.eq(step == Step.IDLE),
            c.val.last.eq(data),
            c.stall.eq(Stall.OTHER),
            read.req.payload.address.eq(c.program_address + offset),
            read.req.valid.eq(step == Step.ASK),
            write.req.payload.address.eq(c.reg.target + offset),
            write.req.payload.write.eq(1),
            write.w.payload.mask.eq(-1),
            read.r.ready.eq(1),
            write.ack.ready.eq(1),
            *(
                write.w.payload.data.word_select(i, 8).eq(data.word_select(i, 8) ^ c.reg.key)
                for i in range(self.beat_bytes)
            ),
        ]
        asked, sent = Signal(), Signal()
        end = Signal()
        with m.Switch(step):
            with m.Case(Step.IDLE):
                m.d.sync += offset.eq(0)
                with m.If(c.start):
                    m.d.sync += step.eq(Step.ASK)
            with m.Case(Step.ASK):
                m.d.comb += c.stall.eq(Stall.FETCH)
                with m.If(read.req.ready):
                    m.d.sync += step.eq(Step.READ)
            with m.Case(Step.READ):
                m.d.comb += c.stall.eq(Stall.OPERAND)
                with m.If(read.r.valid):
                    m.d.sync += [
                        data.eq(read.r.payload.data),
                        step.eq(Step.WRITE),
                        asked.eq(0),
                        sent.eq(0),
                    ]
                    m.d.comb += [
                        c.bytes_read.eq(self.beat_bytes),
                        c.inc.errors.eq(read.r.payload.error),
                    ]
                    m.d.sync += [c.fault_pc.eq(c.program_address + offset), c.fault_code.eq(0)]
                    with m.If(read.r.payload.error):
                        m.d.sync += [
                            c.fault_code.eq(6),
                            c.fault_detail.eq(c.program_address + offset),
                        ]
                        m.d.comb += end.eq(1)
                    with m.Elif(read.r.payload.data == 0):
                        m.d.sync += [c.fault_code.eq(1), c.fault_detail.eq(c.reg.key)]
                        m.d.comb += end.eq(1)
            with m.Case(Step.END):
                m.d.comb += c.finish.eq(1)
                m.d.sync += step.eq(Step.IDLE)
            with m.Case(Step.WRITE):
                m.d.comb += [
                    c.stall.eq(Stall.WRITE),
                    write.req.valid.eq(~asked),
                    write.w.valid.eq(~sent),
                ]
                with m.If(write.req.valid & write.req.ready):
                    m.d.sync += asked.eq(1)
                with m.If(write.w.valid & write.w.ready):
                    m.d.sync += sent.eq(1)
                with m.If(write.ack.valid):
                    m.d.comb += [
                        c.bytes_written.eq(self.beat_bytes),
                        c.stall.eq(Stall.WORK),
                        c.retired.eq(1),
                    ]
                    m.d.sync += [offset.eq(offset + self.beat_bytes), step.eq(Step.ASK)]
                    m.d.sync += c.fault_pc.eq(c.program_address + offset + self.beat_bytes)
                    with m.If(write.ack.payload.error):
                        m.d.sync += [c.fault_code.eq(6), c.fault_detail.eq(c.reg.target + offset)]
                        m.d.comb += end.eq(1)
                    with m.Elif(offset + self.beat_bytes >= c.program_length):
                        m.d.comb += end.eq(1)
                    with m.Elif(c.abort):
                        m.d.sync += [c.fault_code.eq(8), c.fault_detail.eq(0)]
                        m.d.comb += end.eq(1)
        with m.If(end):
            m.d.sync += step.eq(Step.END)
        return m


SPACE = ParameterSpace(
    "tiny", (Parameter("size", int, range(1, 9), 4, doc="nothing"),), (Preset("sim", default=True),)
)
PACKAGE = SimpleNamespace(
    name="tiny",
    isa=SimpleNamespace(
        ISA=SimpleNamespace(
            name="tiny",
            title="Tiny",
            tag="TINY",
            version=(0, 1),
            program_align=4,
            registers=REGISTERS,
            counters=COUNTERS,
            faults=FAULTS,
        )
    ),
    params=SimpleNamespace(SPACE=SPACE),
    core=SimpleNamespace(variant=lambda params, beat_bytes: TinyEngine),
)

__all__ = ["PACKAGE", "TinyEngine"]
