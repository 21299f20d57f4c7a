# SPDX-License-Identifier: BSD-2-Clause
"""Microcoded controller of the small OPU engine, with one 32-bit adder, and registers and program
in block RAM (:mod:`.instructions`)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....microcode.staged import StagedMachine
from .instructions import DYNAMIC, FIXED, LAYOUT, Act, Alu, Command, Cond
from .program import microprogram
from .round import TablePort

__all__ = ["MicroMachine"]

_STALLABLE = (
    Command.FETCH,
    Command.READ,
    Command.WRITE,
    Command.SLICE,
    Command.CONV,
    Command.RUN,
    Command.ZEROS,
)


class MicroMachine(StagedMachine):
    """Microcoded controller: executes one micro-instruction per cycle, in two stages (operand read,
    execution).

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : 2 or 4

    Members
    -------
    start : In, one cycle, while ``idle``: a run begins
    idle : Out: after the command READY or FINISH; then ``operand`` shows the fault's detail,
        or, with ``show``, the entry ``show_entry`` of the region table, a cycle later
    conditions : In, a bit for each :class:`~.instructions.Cond` from HALT to BUSY
    source, sources : Out, In: value of the control block's register number ``source`` for ``<``
    commands : Out: a bit for each :class:`~.instructions.Command`, one cycle; argument : Out,
        4 bits
    asking : Out: a bit for each command that may wait, as long as it does; wait : In: it does
    a, operand : Out, 32 bits: values beside the command
    tables : Out, :class:`~.round.TablePort`
    word : Out, 32 bits: M
    ring, failed : In, 2 bits: number of the next request, and of the one that failed
    write, write_address, write_data : In: to a register.
        The microprogram writes none while answers to FETCH, or to READ of the bias, may come.
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        super().__init__(
            microprogram(params, beat_bytes),
            {
                "start": In(1),
                "idle": Out(1),
                "show": In(1),
                "show_entry": In(5),
                "conditions": In(len(Cond)),
                "source": Out(2),
                "sources": In(32),
                "commands": Out(len(Command)),
                "argument": Out(4),
                "asking": Out(len(Command)),
                "wait": In(1),
                "a": Out(32),
                "operand": Out(32),
                "tables": Out(TablePort()),
                "word": Out(32),
                "ring": In(2),
                "failed": In(2),
                "write": In(1),
                "write_address": In(8),
                "write_data": In(32),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m, advance = Module(), Signal()
        s = self._stages(
            m, LAYOUT, ("act", "x", "what", "x_x"), advance
        )  # `s`: signals that several steps use
        first = s.first
        s.act, s.x, s.what = s.second.act, s.second.x, s.second.what
        jumping = first.act == Act.JUMP
        self._decode(
            m,
            s,
            load=first.alu == Alu.LOAD,
            minus=first.alu == Alu.SUB,
            shl=first.alu == Alu.SHL,
            shr=first.alu == Alu.SHR,
            mul=first.alu == Alu.MUL,
            reads=(first.alu == Alu.LOAD) | (first.alu == Alu.ADD) | (first.alu == Alu.SUB),
            dynamic=(first.what == DYNAMIC) & (first.alu >= Alu.SHL),
            on_carry=jumping & (first.what == Cond.CARRY),
            on_no_carry=jumping & (first.what == Cond.NO_CARRY),
            on_negative=jumping & (first.what == Cond.NEG),
            source=first.rs[:2],
        )
        position = Signal(
            LAYOUT["x"], init=self._program.labels["reset"] - 1
        )  # of the instruction in the first stage
        s.target, s.index = Signal(LAYOUT["x"], name="target"), Signal(6, name="index")
        with m.If(advance):
            m.d.sync += position.eq(s.fetch.addr)
        m.d.comb += [
            s.fetch.addr.eq(Mux(s.jump, s.target, (position + 1)[: LAYOUT["x"]])),
            s.read.addr.eq(first.rs | s.index & first.rs_x.replicate(6)),
            self.source.eq(s.source),
        ]
        with m.If(self.idle & self.show):
            m.d.comb += s.read.addr.eq(Cat(self.show_entry, Const(FIXED["BASE"] >> 5, 3)))

        # Repetition
        s.count, turn = Signal(5), Signal(5, init=1, name="turn")
        times, more, s.none, s.again = Signal(5), Signal(), Signal(init=1), Signal()
        shifting = s.shl | s.shr | s.mul
        m.d.comb += [
            times.eq(Mux(s.dynamic, s.count, s.what)),
            more.eq(s.valid & shifting & (s.act != Act.JUMP) & (times != 0) & (turn != times)),
            advance.eq(~more & ~(s.valid & self.wait)),
        ]
        m.d.sync += [turn.eq(Mux(more, turn + 1, 1)), s.again.eq(more)]

        self._add(m, s)
        self._command(m, s)
        self._jump(m, s)
        self._take(m, s)
        return m

    def _add(self, m, s):
        """Adder: the accumulator, shifted if requested, plus the operand."""
        s.operand, a = s.read.data, Signal(32, reset_less=True, name="a")
        s.word = Signal(32, reset_less=True)  # M
        left, right, s.total = Signal(32), Signal(32), Signal(33, name="total")
        still = s.dynamic & s.none
        m.d.comb += left.eq(a)
        with m.If(s.shl & ~still | s.mul):
            m.d.comb += left.eq((a << 1) & (s.again | ~s.mul).replicate(32))
        with m.If(s.shr & ~still):
            m.d.comb += left.eq(Cat(a[1:], a[31]))
        with m.If(s.load):
            m.d.comb += left.eq(0)
        used = s.reads | s.mul & s.word[31]
        m.d.comb += [
            right.eq((s.operand ^ s.minus.replicate(32)) & used.replicate(32)),
            s.total.eq(left + right + s.minus),
            self.a.eq(a),
            self.operand.eq(s.operand),
            self.word.eq(s.word),
            self.tables.data.eq(s.total),
        ]
        with m.If(s.valid):
            m.d.sync += a.eq(s.total)
        with m.If(s.valid & (s.act == Act.LOAD_M)):
            m.d.sync += s.word.eq(s.operand)
        with m.Elif(s.valid & s.mul):
            m.d.sync += s.word.eq(Cat(s.word[31], s.word[:31]))

    def _command(self, m, s):
        """Commands to the units, and the registers that commands set here."""
        s.done = Signal()
        commanded, number = Signal(), s.x[:5]
        m.d.comb += [
            s.done.eq(s.valid & s.advance),
            commanded.eq(s.valid & (s.act == Act.COMMAND)),
            self.argument.eq(s.x[5:]),
        ]
        for command in Command:
            m.d.comb += self.commands[command].eq(
                commanded
                & (number == command)
                & ~(self.wait if command in _STALLABLE else Const(0, 1))
            )
            if command in _STALLABLE:
                m.d.comb += self.asking[command].eq(commanded & (number == command))
        s.counter = Signal(11)
        with m.If(self.commands[Command.X]):
            m.d.sync += s.index.eq(s.operand)
        with m.If(self.commands[Command.WHERE]):
            m.d.sync += s.index.eq(self.failed)
        with m.If(self.commands[Command.COUNT]):
            m.d.sync += [s.count.eq(s.operand), s.none.eq(s.operand[:5] == 0)]
        with m.If(self.commands[Command.READY] | self.commands[Command.FINISH]):
            m.d.sync += self.idle.eq(1)
        with m.If(self.start):
            m.d.sync += self.idle.eq(0)

    def _jump(self, m, s):
        """Jumps, including the start of a run and DISPATCH."""
        met, jumps = Signal(), Signal()
        left_over = s.counter.any()
        carry = s.total[32]
        own = {
            Cond.ALWAYS: Const(1),
            Cond.CARRY: Const(0),
            Cond.NO_CARRY: Const(0),
            Cond.NEG: Const(0),
            Cond.HIGH_OPCODE: s.word[5],
            Cond.LOOP: left_over,
            Cond.MORE: left_over,
        }
        with m.Switch(s.what):
            for condition in Cond:
                with m.Case(condition):
                    m.d.comb += met.eq(own.get(condition, self.conditions[condition]))
        dispatch = self.commands[Command.DISPATCH]
        m.d.comb += [
            jumps.eq(s.valid & (s.act == Act.JUMP)),
            s.jump.eq(
                jumps & met
                | dispatch
                | self.start
                | s.valid
                & (s.on_carry & carry | s.on_no_carry & ~carry | s.on_negative & s.total[31])
            ),
            s.target.eq(
                Mux(
                    self.start,
                    self._program.labels["start"],
                    Mux(dispatch, Cat(s.word[:5], self.argument), s.x),
                )
            ),
        ]
        with m.If(self.commands[Command.CNT]):
            m.d.sync += s.counter.eq(s.operand)
        with m.Elif(jumps & (s.what == Cond.LOOP) & left_over):
            m.d.sync += s.counter.eq(s.counter - 1)

    def _take(self, m, s):
        """Writes results to registers and tables. A request stores its address in the ring."""
        entry = Signal(8)
        request = (
            self.commands[Command.FETCH]
            | self.commands[Command.READ]
            | self.commands[Command.WRITE]
        )
        copy = s.act == Act.COPY
        m.d.comb += [
            entry.eq(s.x[:8] | s.index & s.second.x_x.replicate(6)),
            self.tables.address.eq(entry),
            self.tables.u.eq(s.done & (s.act == Act.WRITE_U)),
            self.tables.b.eq(s.done & (s.act == Act.WRITE_B)),
        ]
        self._write(
            m,
            s.done & ((s.act == Act.WRITE) | copy) | request,
            Mux(request, Cat(self.ring, Const(FIXED["RING"] >> 2, 6)), entry),
            Mux(copy, self.sources, s.total[:32]),
        )
