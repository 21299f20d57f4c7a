# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's micro machine: one 32-bit adder, its registers and its program in block RAM (:mod:`.instructions`)."""
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
    def __init__(self, *, params):
        self._program = microprogram(params)
        super().__init__({
            "start": In(1), "idle": Out(1), "show": In(1), "show_entry": In(5),
            "conditions": In(len(Cond)), "source": Out(2), "sources": In(32),
            "commands": Out(len(Command)), "argument": Out(4), "asking": Out(len(Command)), "wait": In(1),
            "a": Out(32), "operand": Out(32), "table_u": Out(1), "table_b": Out(1), "table_address": Out(8),
            "table_data": Out(24), "word": Out(32), "ring": In(2), "failed": In(2),
            "write": In(1), "write_address": In(8), "write_data": In(32),
        })

    def elaborate(self, platform):
        m = Module()
        program = self._program
        m.submodules.code = rom = memory.Memory(shape=32, depth=program.size, init=program.words)
        fetch = rom.read_port()
        # What is read in the cycle of its write is never used: the assembler sees to it.
        m.submodules.registers_disjoint = registers = memory.Memory(shape=32, depth=256, init=program.registers)
        read, write = registers.read_port(), registers.write_port()

        # First stage: the operand is addressed. Second stage: the rest is done.
        first, second = {}, {}
        low = 0
        for name, bits in LAYOUT.items():
            first[name] = fetch.data[low:low + bits]
            low += bits
            if not name.startswith("rs") and name != "alu":
                second[name] = Signal(bits, name=f"second_{name}")
        # What steers the adder and jumps is decoded a stage early.
        load, minus, shl, shr, mul, reads, dynamic = (Signal(name=name) for name in (
            "load", "minus", "shl", "shr", "mul", "reads", "dynamic"))
        on_carry, on_no_carry, on_negative = Signal(), Signal(), Signal()
        jumping = first["act"] == Act.JUMP
        source = Signal(2)
        advance = Signal()
        loaded, valid = Signal(), Signal()      # an instruction is in the first, in the second stage
        position = Signal(LAYOUT["x"], init=program.labels["reset"] - 1)    # of the instruction in the first stage
        jump, target = Signal(), Signal(LAYOUT["x"])
        index = Signal(6)
        with m.If(advance):
            m.d.sync += [second[name].eq(first[name]) for name in second]
            m.d.sync += [
                source.eq(first["rs"]), position.eq(fetch.addr), loaded.eq(1), valid.eq(loaded & ~jump),
                *(flag.eq(first["alu"] == operation) for flag, operation in (
                    (load, Alu.LOAD), (minus, Alu.SUB), (shl, Alu.SHL), (shr, Alu.SHR), (mul, Alu.MUL))),
                reads.eq((first["alu"] == Alu.LOAD) | (first["alu"] == Alu.ADD) | (first["alu"] == Alu.SUB)),
                dynamic.eq((first["what"] == DYNAMIC) & (first["alu"] >= Alu.SHL)),
                *(flag.eq(jumping & (first["what"] == condition)) for flag, condition in (
                    (on_carry, Cond.CARRY), (on_no_carry, Cond.NO_CARRY), (on_negative, Cond.NEG))),
            ]
        m.d.comb += [
            read.en.eq(advance), fetch.en.eq(advance), fetch.addr.eq(Mux(jump, target, (position + 1)[:LAYOUT["x"]])),
            read.addr.eq(first["rs"] | index & first["rs_x"].replicate(6)), self.source.eq(source),
        ]
        with m.If(self.idle & self.show):
            m.d.comb += read.addr.eq(Cat(self.show_entry, Const(FIXED["BASE"] >> 5, 3)))

        act, x, what = second["act"], second["x"], second["what"]

        # Repetition
        count, turn = Signal(5), Signal(5, init=1)
        times, more, none, again = Signal(5), Signal(), Signal(init=1), Signal()
        shifting = shl | shr | mul
        m.d.comb += [
            times.eq(Mux(dynamic, count, what)),
            more.eq(valid & shifting & (act != Act.JUMP) & (times != 0) & (turn != times)),
            advance.eq(~more & ~(valid & self.wait)),
        ]
        m.d.sync += [turn.eq(Mux(more, turn + 1, 1)), again.eq(more)]

        # The adder
        operand, a = read.data, Signal(32, reset_less=True)
        word = Signal(32, reset_less=True)              # M
        left, right, total = Signal(32), Signal(32), Signal(33)
        still = dynamic & none
        m.d.comb += left.eq(a)
        with m.If(shl & ~still | mul):
            m.d.comb += left.eq((a << 1) & (again | ~mul).replicate(32))
        with m.If(shr & ~still):
            m.d.comb += left.eq(Cat(a[1:], a[31]))
        with m.If(load):
            m.d.comb += left.eq(0)
        used = reads | mul & word[31]
        m.d.comb += [
            right.eq((operand ^ minus.replicate(32)) & used.replicate(32)), total.eq(left + right + minus),
            self.a.eq(a), self.operand.eq(operand), self.word.eq(word), self.table_data.eq(total),
        ]
        with m.If(valid):
            m.d.sync += a.eq(total)
        with m.If(valid & (act == Act.LOAD_M)):
            m.d.sync += word.eq(operand)
        with m.Elif(valid & mul):
            m.d.sync += word.eq(Cat(word[31], word[:31]))

        # Commands
        done = Signal()
        commanded, number = Signal(), x[:5]
        m.d.comb += [done.eq(valid & advance), commanded.eq(valid & (act == Act.COMMAND)), self.argument.eq(x[5:])]
        for command in Command:
            m.d.comb += self.commands[command].eq(commanded & (number == command) & ~(
                self.wait if command in _STALLABLE else Const(0, 1)))
            if command in _STALLABLE:
                m.d.comb += self.asking[command].eq(commanded & (number == command))
        counter = Signal(11)
        with m.If(self.commands[Command.X]):
            m.d.sync += index.eq(operand)
        with m.If(self.commands[Command.WHERE]):
            m.d.sync += index.eq(self.failed)
        with m.If(self.commands[Command.COUNT]):
            m.d.sync += [count.eq(operand), none.eq(operand[:5] == 0)]
        with m.If(self.commands[Command.READY] | self.commands[Command.FINISH]):
            m.d.sync += self.idle.eq(1)
        with m.If(self.start):
            m.d.sync += self.idle.eq(0)

        # Jumps
        met, jumps = Signal(), Signal()
        left_over = counter.any()
        carry = total[32]
        own = {Cond.ALWAYS: Const(1), Cond.CARRY: Const(0), Cond.NO_CARRY: Const(0), Cond.NEG: Const(0),
               Cond.HIGH_OPCODE: word[5], Cond.LOOP: left_over, Cond.MORE: left_over}
        with m.Switch(what):
            for condition in Cond:
                with m.Case(condition):
                    m.d.comb += met.eq(own.get(condition, self.conditions[condition]))
        dispatch = self.commands[Command.DISPATCH]
        m.d.comb += [
            jumps.eq(valid & (act == Act.JUMP)),
            jump.eq(jumps & met | dispatch | self.start
                    | valid & (on_carry & carry | on_no_carry & ~carry | on_negative & total[31])),
            target.eq(Mux(self.start, program.labels["start"], Mux(dispatch, Cat(word[:5], self.argument), x))),
        ]
        with m.If(self.commands[Command.CNT]):
            m.d.sync += counter.eq(operand)
        with m.Elif(jumps & (what == Cond.LOOP) & left_over):
            m.d.sync += counter.eq(counter - 1)

        # Writing. A request leaves its address in the ring.
        mine, entry = Signal(), Signal(8)
        request = self.commands[Command.FETCH] | self.commands[Command.READ] | self.commands[Command.WRITE]
        copy = act == Act.COPY
        m.d.comb += [
            entry.eq(x[:8] | index & second["x_x"].replicate(6)),
            mine.eq(done & ((act == Act.WRITE) | copy) | request),
            write.en.eq(mine | self.write),
            self.table_u.eq(done & (act == Act.WRITE_U)), self.table_b.eq(done & (act == Act.WRITE_B)),
            self.table_address.eq(entry),
        ]
        with m.If(mine):
            m.d.comb += [
                write.addr.eq(Mux(request, Cat(self.ring, Const(FIXED["RING"] >> 2, 6)), entry)),
                write.data.eq(Mux(copy, self.sources, total[:32])),
            ]
        with m.Else():
            m.d.comb += [write.addr.eq(self.write_address), write.data.eq(self.write_data)]
        return m
