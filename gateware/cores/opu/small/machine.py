# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's micro machine: one 32-bit adder, its registers and its program in block RAM (:mod:`.instructions`)."""
from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .instructions import DYNAMIC, FIXED, LAYOUT, Act, Alu, Command, Cond
from .program import microprogram

__all__ = ["MicroMachine"]

_STALLABLE = (Command.FETCH, Command.READ, Command.WRITE, Command.SLICE, Command.CONV, Command.RUN, Command.ZEROS)


class MicroMachine(wiring.Component):
    """Runs the microprogram: a micro-instruction a cycle, in two stages (operand read, execution).

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : 2 or 4

    Members
    -------
    start : In, one cycle, while ``idle``: a run begins
    idle : Out: after the command READY or FINISH; then ``operand`` shows the fault's detail, or, with ``show``, the entry
        ``show_entry`` of the region table, a cycle later
    conditions : In, a bit for each :class:`~.instructions.Cond` from HALT to BUSY
    source, sources : Out, In: value of the control block's register number ``source`` for ``<``
    commands : Out: a bit for each :class:`~.instructions.Command`, one cycle; argument : Out, 4 bits
    asking : Out: a bit for each command that may wait, as long as it does; wait : In: it does
    a, operand : Out, 32 bits: values beside the command
    table_u, table_b : Out: write ``table_data`` (24 bits) to entry ``table_address`` of a table
    word : Out, 32 bits: M
    ring, failed : In, 2 bits: number of the next request, and of the one that failed
    write, write_address, write_data : In: to a register. The microprogram writes none while answers to FETCH, or to READ of
        the bias, may come.
    """
    def __init__(self, *, params, beat_bytes):
        self._program = microprogram(params, beat_bytes)
        super().__init__({
            "start": In(1), "idle": Out(1), "show": In(1), "show_entry": In(5),
            "conditions": In(len(Cond)), "source": Out(2), "sources": In(32),
            "commands": Out(len(Command)), "argument": Out(4), "asking": Out(len(Command)), "wait": In(1),
            "a": Out(32), "operand": Out(32), "table_u": Out(1), "table_b": Out(1), "table_address": Out(8),
            "table_data": Out(24), "word": Out(32), "ring": In(2), "failed": In(2),
            "write": In(1), "write_address": In(8), "write_data": In(32),
        })

    def elaborate(self, platform):
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        program = self._program
        m.submodules.code = rom = memory.Memory(shape=32, depth=program.size, init=program.words)
        fetch = rom.read_port()
        # What is read in the cycle of its write is never used: the assembler sees to it.
        m.submodules.registers_disjoint = registers = memory.Memory(shape=32, depth=256, init=program.registers)
        read, write = registers.read_port(), registers.write_port()

        # First stage: the operand is addressed. Second stage: the rest is done.
        first, s.second = {}, {}
        low = 0
        for name, bits in LAYOUT.items():
            first[name] = fetch.data[low:low + bits]
            low += bits
            if not name.startswith("rs") and name != "alu":
                s.second[name] = Signal(bits, name=f"second_{name}")
        # What steers the adder and jumps is decoded a stage early.
        s.load, s.minus, s.shl, s.shr, s.mul, s.reads, s.dynamic = (Signal(name=name) for name in (
            "load", "minus", "shl", "shr", "mul", "reads", "dynamic"))
        s.on_carry, s.on_no_carry, s.on_negative = Signal(), Signal(), Signal(name="on_negative")
        jumping = first["act"] == Act.JUMP
        source = Signal(2)
        s.advance = Signal()
        loaded, s.valid = Signal(), Signal(name="valid")    # an instruction is in the first, in the second stage
        position = Signal(LAYOUT["x"], init=program.labels["reset"] - 1)    # of the instruction in the first stage
        s.jump, s.target = Signal(), Signal(LAYOUT["x"], name="target")
        s.index = Signal(6)
        with m.If(s.advance):
            m.d.sync += [s.second[name].eq(first[name]) for name in s.second]
            m.d.sync += [
                source.eq(first["rs"]), position.eq(fetch.addr), loaded.eq(1), s.valid.eq(loaded & ~s.jump),
                *(flag.eq(first["alu"] == operation) for flag, operation in (
                    (s.load, Alu.LOAD), (s.minus, Alu.SUB), (s.shl, Alu.SHL), (s.shr, Alu.SHR), (s.mul, Alu.MUL))),
                s.reads.eq((first["alu"] == Alu.LOAD) | (first["alu"] == Alu.ADD) | (first["alu"] == Alu.SUB)),
                s.dynamic.eq((first["what"] == DYNAMIC) & (first["alu"] >= Alu.SHL)),
                *(flag.eq(jumping & (first["what"] == condition)) for flag, condition in (
                    (s.on_carry, Cond.CARRY), (s.on_no_carry, Cond.NO_CARRY), (s.on_negative, Cond.NEG))),
            ]
        m.d.comb += [
            read.en.eq(s.advance), fetch.en.eq(s.advance), fetch.addr.eq(Mux(s.jump, s.target, (position + 1)[:LAYOUT["x"]])),
            read.addr.eq(first["rs"] | s.index & first["rs_x"].replicate(6)), self.source.eq(source),
        ]
        with m.If(self.idle & self.show):
            m.d.comb += read.addr.eq(Cat(self.show_entry, Const(FIXED["BASE"] >> 5, 3)))

        s.act, s.x, s.what = s.second["act"], s.second["x"], s.second["what"]

        # Repetition
        s.count, turn = Signal(5), Signal(5, init=1, name="turn")
        times, more, s.none, s.again = Signal(5), Signal(), Signal(init=1), Signal()
        shifting = s.shl | s.shr | s.mul
        m.d.comb += [
            times.eq(Mux(s.dynamic, s.count, s.what)),
            more.eq(s.valid & shifting & (s.act != Act.JUMP) & (times != 0) & (turn != times)),
            s.advance.eq(~more & ~(s.valid & self.wait)),
        ]
        m.d.sync += [turn.eq(Mux(more, turn + 1, 1)), s.again.eq(more)]

        self._add(m, s, read)
        self._command(m, s)
        self._jump(m, s, program)
        self._write(m, s, write)
        #: The port that writes registers, for who looks on.
        self.told = write
        return m

    def writes(self, name):
        """Whether register ``name`` is written in this cycle, once elaborated; the value is that of ``told``."""
        return self.told.en & (self.told.addr == self._program.names[name])

    def _add(self, m, s, read):
        """Adder: the accumulator, shifted where asked for, and the operand."""
        s.operand, a = read.data, Signal(32, reset_less=True, name="a")
        s.word = Signal(32, reset_less=True)            # M
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
            right.eq((s.operand ^ s.minus.replicate(32)) & used.replicate(32)), s.total.eq(left + right + s.minus),
            self.a.eq(a), self.operand.eq(s.operand), self.word.eq(s.word), self.table_data.eq(s.total),
        ]
        with m.If(s.valid):
            m.d.sync += a.eq(s.total)
        with m.If(s.valid & (s.act == Act.LOAD_M)):
            m.d.sync += s.word.eq(s.operand)
        with m.Elif(s.valid & s.mul):
            m.d.sync += s.word.eq(Cat(s.word[31], s.word[:31]))

    def _command(self, m, s):
        """Commands, and the registers that they set here."""
        s.done = Signal()
        commanded, number = Signal(), s.x[:5]
        m.d.comb += [s.done.eq(s.valid & s.advance), commanded.eq(s.valid & (s.act == Act.COMMAND)), self.argument.eq(s.x[5:])]
        for command in Command:
            m.d.comb += self.commands[command].eq(commanded & (number == command) & ~(
                self.wait if command in _STALLABLE else Const(0, 1)))
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

    def _jump(self, m, s, program):
        """Jumps, which the start of a run and DISPATCH are too."""
        program = self._program
        met, jumps = Signal(), Signal()
        left_over = s.counter.any()
        carry = s.total[32]
        own = {Cond.ALWAYS: Const(1), Cond.CARRY: Const(0), Cond.NO_CARRY: Const(0), Cond.NEG: Const(0),
               Cond.HIGH_OPCODE: s.word[5], Cond.LOOP: left_over, Cond.MORE: left_over}
        with m.Switch(s.what):
            for condition in Cond:
                with m.Case(condition):
                    m.d.comb += met.eq(own.get(condition, self.conditions[condition]))
        dispatch = self.commands[Command.DISPATCH]
        m.d.comb += [
            jumps.eq(s.valid & (s.act == Act.JUMP)),
            s.jump.eq(jumps & met | dispatch | self.start
                      | s.valid & (s.on_carry & carry | s.on_no_carry & ~carry | s.on_negative & s.total[31])),
            s.target.eq(Mux(self.start, program.labels["start"], Mux(dispatch, Cat(s.word[:5], self.argument), s.x))),
        ]
        with m.If(self.commands[Command.CNT]):
            m.d.sync += s.counter.eq(s.operand)
        with m.Elif(jumps & (s.what == Cond.LOOP) & left_over):
            m.d.sync += s.counter.eq(s.counter - 1)

    def _write(self, m, s, write):
        """Writing. A request leaves its address in the ring."""
        mine, entry = Signal(), Signal(8)
        request = self.commands[Command.FETCH] | self.commands[Command.READ] | self.commands[Command.WRITE]
        copy = s.act == Act.COPY
        m.d.comb += [
            entry.eq(s.x[:8] | s.index & s.second["x_x"].replicate(6)),
            mine.eq(s.done & ((s.act == Act.WRITE) | copy) | request),
            write.en.eq(mine | self.write),
            self.table_u.eq(s.done & (s.act == Act.WRITE_U)), self.table_b.eq(s.done & (s.act == Act.WRITE_B)),
            self.table_address.eq(entry),
        ]
        with m.If(mine):
            m.d.comb += [
                write.addr.eq(Mux(request, Cat(self.ring, Const(FIXED["RING"] >> 2, 6)), entry)),
                write.data.eq(Mux(copy, self.sources, s.total[:32])),
            ]
        with m.Else():
            m.d.comb += [write.addr.eq(self.write_address), write.data.eq(self.write_data)]
