# SPDX-License-Identifier: BSD-2-Clause
"""Engine of the template core: executes one instruction after another, with one memory access at a
time."""

from collections.abc import Mapping
from typing import Any

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import enum

from quintet.gateware.shell.engine import Engine, EngineControl, Stall
from quintet.gateware.shell.layouts import instruction_layout

from .isa import ISA

__all__ = ["TemplateEngine", "variant"]

_OP, _FAULT = ISA.opcodes, ISA.fault_codes


class _Step(enum.Enum):
    IDLE, CHECK, FETCH, EXECUTE, ACCESS, END = range(6)


class TemplateEngine(Engine):
    """Engine with beats of 2 bytes, one word each. An instruction retires, and its bytes are
    counted, when it is complete."""

    BEATS = (2,)

    def prepare(self) -> tuple[EngineControl, int]:
        return EngineControl(registers=ISA.registers, bytes_bits=3), 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, port = self.control, self.memory[0]
        step, pc, end, address, acc = Signal(_Step), Signal(33), Signal(33), Signal(32), Signal(16)
        word = Signal(instruction_layout(ISA, "ld"))
        store, asked, sent = Signal(), Signal(), Signal()
        memory_op = (word.opcode >= _OP["ld"]) & (word.opcode <= _OP["st"])
        m.d.comb += [
            c.ready.eq(step == _Step.IDLE),
            c.finish.eq(step == _Step.END),
            c.val.acc.eq(acc),
            c.stall.eq(Stall.OTHER),
            store.eq((step == _Step.ACCESS) & (word.opcode == _OP["st"])),
            port.req.payload.address.eq(address),
            port.req.payload.write.eq(store),
            port.w.payload.data.eq(acc),
            port.w.payload.mask.eq(-1),
            port.r.ready.eq(1),
            port.ack.ready.eq(1),
        ]

        def stop(name, detail):
            m.d.sync += [
                c.fault_code.eq(_FAULT[name] if name else 0),
                c.fault_pc.eq(pc),
                c.fault_detail.eq(detail),
                step.eq(_Step.END),
            ]

        def retire(**increments):
            m.d.comb += [
                c.retired.eq(1),
                c.stall.eq(Stall.WORK),
                *(getattr(c, name).eq(value) for name, value in increments.items()),
            ]
            m.d.sync += [pc.eq(pc + 2), step.eq(_Step.CHECK)]

        outside = (address < c.window_base) | (address + Const(2, 33) > c.window_limit)
        with m.Switch(step):
            with m.Case(_Step.IDLE):
                m.d.sync += [
                    pc.eq(c.program_address),
                    end.eq(c.program_address + c.program_length),
                    acc.eq(Mux(c.start, 0, acc)),
                ]
                with m.If(c.start):
                    m.d.sync += step.eq(_Step.CHECK)
            with m.Case(_Step.CHECK):
                m.d.sync += [address.eq(pc), asked.eq(0), sent.eq(0), step.eq(_Step.FETCH)]
                with m.If(c.abort):
                    stop("aborted", 0)
                with m.Elif(pc + 2 > end):
                    stop("program_end", 0)
            with m.Case(_Step.FETCH):
                self._ask(m, asked, sent, outside, stop)
                m.d.comb += c.stall.eq(Stall.FETCH)
                with m.If(port.r.valid & ~port.r.payload.error):
                    m.d.sync += [word.eq(port.r.payload.data), step.eq(_Step.EXECUTE)]
            with m.Case(_Step.EXECUTE):
                m.d.sync += [
                    address.eq(c.reg.data + (word.n << 1)),
                    asked.eq(0),
                    sent.eq(0),
                    step.eq(_Step.ACCESS),
                ]
                with m.If(word.opcode == _OP["ldi"]):
                    m.d.sync += acc.eq(word.n.as_signed())
                    retire(bytes_read=2)
                with m.Elif(word.opcode > _OP["st"]):
                    stop("illegal_opcode", word.as_value())
                with m.Elif(~memory_op & (word.n != 0)):
                    stop("bad_field", word.as_value())
                with m.Elif(~memory_op):
                    retire(bytes_read=2)
                    stop(None, 0)
            with m.Case(_Step.ACCESS):
                self._ask(m, asked, sent, outside, stop)
                m.d.comb += c.stall.eq(Mux(store, Stall.WRITE, Stall.OPERAND))
                with m.If(port.r.valid & ~port.r.payload.error):
                    m.d.sync += acc.eq(
                        Mux(
                            word.opcode == _OP["ld"],
                            port.r.payload.data,
                            Mux(
                                word.opcode == _OP["add"],
                                acc + port.r.payload.data,
                                acc * port.r.payload.data,
                            ),
                        )
                    )
                    retire(bytes_read=4, operations=word.opcode != _OP["ld"])
                with m.If(port.ack.valid & ~port.ack.payload.error):
                    retire(bytes_read=2, bytes_written=2)
            with m.Case(_Step.END):
                m.d.sync += step.eq(_Step.IDLE)
        return m

    def _ask(self, m, asked, sent, outside, stop):
        """Accesses the word at ``address``; an address outside the window or a memory error ends
        the run with a fault."""
        port = self.memory[0]
        m.d.comb += [
            port.req.valid.eq(~asked & ~outside),
            port.w.valid.eq(port.req.payload.write & ~sent & ~outside),
        ]
        with m.If(port.req.valid & port.req.ready):
            m.d.sync += asked.eq(1)
        with m.If(port.w.valid & port.w.ready):
            m.d.sync += sent.eq(1)
        with m.If(outside & ~asked):
            stop("window", port.req.payload.address)
        with m.Elif(
            (port.r.valid & port.r.payload.error) | (port.ack.valid & port.ack.payload.error)
        ):
            stop("bus_error", port.req.payload.address)


def variant(params: Mapping[str, Any], beat_bytes: int) -> type[Engine]:
    """Selects the engine class of a build; the template has one."""
    return TemplateEngine
