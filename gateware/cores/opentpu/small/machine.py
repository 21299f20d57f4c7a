# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's micro machine: one adder, registers and program in block RAM (:mod:`.program`)."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .instructions import LAYOUT, Act, Alu, Command, Cond, External
from .program import microprogram

__all__ = ["MicroMachine"]

_FIELD_REGISTERS = 3        # numbers 24..31: fields of two words, the one at work and the next
_TURNED_REGISTERS = 4       # numbers 16..19: written in turn


class MicroMachine(wiring.Component):
    """Runs the microprogram.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while the program waits at ``idle``: a run begins
    conditions : In, a bit for each :class:`.instructions.Cond` from BAD_FLAGS on (the bits below are not looked at), without
        ``over``, which is added here; a condition is looked at in the cycle before its micro-instruction
    external : In, array of 32 bits: values of :class:`.instructions.External`
    entry : In, 3 bits: how the next word begins (opcode); ``known``: its opcode is one of 0..7; ``halt``: it must not begin; all settled
        a cycle before the word's dispatch
    slot : In, which of the two words is at work
    command, commands : Out: a bit for each :class:`.instructions.Command`, one cycle; compute_row, mover_row : Out likewise
    operand : Out, 32 bits: R[rs], beside the command
    number : Out, 8 bits: register NUMBER, as it was last used
    result : Out, 32 bits: A
    carry : Out: of the last addition; over : Out: of any since the last DISPATCH
    cond : Out: condition that the last micro-instruction looked at
    write, write_address, write_data : In: a field of the next word, only where ``write_ready``
    """
    def __init__(self, *, params):
        self.params = params
        super().__init__({
            "start": In(1), "conditions": In(len(Cond)), "external": In(32).array(len(External)),
            "entry": In(3), "known": In(1), "halt": In(1), "slot": In(1),
            "commands": Out(len(Command)), "compute_row": Out(1), "mover_row": Out(1), "operand": Out(32), "number": Out(8),
            "result": Out(32), "carry": Out(1), "over": Out(1), "cond": Out(LAYOUT["cond"]),
            "write": In(1), "write_address": In(3), "write_data": In(32), "write_ready": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        program = microprogram(self.params)
        labels = program.labels
        m.submodules.code = rom = memory.Memory(shape=32, depth=256, init=program.words)
        fetch = rom.read_port()
        # What is read in the cycle of its write is never used: the assembler sees to it.
        m.submodules.registers_disjoint = registers = memory.Memory(shape=32, depth=128, init=program.registers)
        read, write = registers.read_port(), registers.write_port()

        # First stage: the operand is addressed, the adder's work is chosen. Second stage: the rest is done.
        first, second = {}, {}
        low = 0
        for name, bits in LAYOUT.items():
            first[name] = fetch.data[low:low + bits]
            low += bits
            if name not in ("rs", "alu"):
                second[name] = Signal(bits, name=f"second_{name}")
                m.d.sync += second[name].eq(first[name])
        loaded, valid = Signal(), Signal()      # an instruction is in the first, in the second stage
        position = Signal(8)                    # of the instruction after the one in the first stage
        jump = Signal()
        target = Signal(8)
        rs, is_number = first["rs"], Signal()
        m.d.comb += [
            read.en.eq(1),
            read.addr.eq(Mux(rs[3:] == _FIELD_REGISTERS, Cat(rs[:2], self.slot, rs[3:]), rs)),
            fetch.en.eq(1), fetch.addr.eq(Mux(jump, target, position)),
        ]
        m.d.sync += [
            position.eq(fetch.addr + 1), loaded.eq(1), valid.eq(loaded & ~jump),
            is_number.eq(rs == 24),
        ]

        operand, carry, over, total = self._add(m, read, first, valid, is_number)

        # Jumps
        act, rd = second["act"], second["rd"]
        met, always = self._condition(m, first, operand, over, carry)
        asked = Signal(len(Command))
        dispatch, stopped = Signal(), Signal()
        m.d.sync += [asked[number].eq((first["act"] == Act.COMMAND) & (first["rd"][:3] == number)) for number in Command]
        m.d.sync += stopped.eq(self.halt)
        m.d.comb += dispatch.eq(valid & asked[Command.DISPATCH] & ~met)
        for number in Command:
            m.d.comb += self.commands[number].eq(
                dispatch & carry & ~stopped if number == Command.DISPATCH else valid & asked[number] & (~met | always))
        entry = self._entry(m, labels)
        m.d.comb += [
            jump.eq(valid & met | dispatch | self.start),
            target.eq(Mux(self.start, labels["start"], Mux(
                asked[Command.DISPATCH] & ~met, Mux(carry & ~stopped, entry, labels["halt"]), second["target"]))),
        ]
        with m.If(valid):
            m.d.sync += self.cond.eq(second["cond"])

        # Writing
        turn = Signal()
        own, writes = Signal(), Signal()
        # Whether or not the instruction is valid after all: the memory's answers wait for this.
        m.d.sync += writes.eq((first["act"] != Act.NONE) & (first["act"] != Act.COMMAND))
        m.d.comb += [
            own.eq(valid & writes), self.write_ready.eq(~writes),
            self.compute_row.eq(valid & (act == Act.COMPUTE_ROW)), self.mover_row.eq(valid & (act == Act.MOVER_ROW)),
            write.en.eq(own | self.write),
        ]
        with m.If(self.commands[Command.COMPUTE]):
            m.d.sync += turn.eq(~turn)
        external = Signal(32)
        with m.Switch(rd[:4]):
            for number in External:
                with m.Case(number):
                    m.d.comb += external.eq(self.external[number])
        with m.If(own):
            m.d.comb += [
                write.addr.eq(Cat(Mux(rd[2:] == _TURNED_REGISTERS, turn, rd[0]), rd[1:])),
                write.data.eq(Mux(act == Act.COPY, external, total[:32])),
            ]
        with m.Else():
            m.d.comb += [write.addr.eq(Cat(self.write_address, Const(_FIELD_REGISTERS, 4))), write.data.eq(self.write_data)]
        return m

    def _add(self, m, read, first, valid, is_number):
        """Adder, with the accumulator. Returns operand, carry of the last addition and of any since the dispatch, sum."""
        operand, alu = read.data, first["alu"]
        a = Signal(32, reset_less=True)
        subtract, twice, fresh, reduce, changes, counts = (
            Signal(name=name) for name in ("subtract", "twice", "fresh", "reduce", "changes", "counts"))
        m.d.sync += [
            subtract.eq((alu == Alu.SUB) | (alu == Alu.REDUCE)), twice.eq(alu == Alu.DOUBLE), fresh.eq(alu == Alu.LOAD),
            reduce.eq(alu == Alu.REDUCE), changes.eq(alu != Alu.HOLD),
            counts.eq((alu == Alu.ADD) | (alu == Alu.SUB) | (alu == Alu.DOUBLE)),
        ]
        carry, over = Signal(), Signal()        # of the last addition; of any since the word was dispatched
        b, total = Signal(32), Signal(33)
        m.d.comb += [
            b.eq(Mux(twice, a, operand ^ subtract.replicate(32))),
            total.eq((a & ~fresh.replicate(32)) + b + subtract),
            self.operand.eq(operand), self.result.eq(a), self.carry.eq(carry), self.over.eq(over),
        ]
        with m.If(valid & changes & (~reduce | total[32])):
            m.d.sync += a.eq(total)
        with m.If(valid & counts):
            m.d.sync += [carry.eq(total[32]), over.eq(over | total[32])]
        with m.If(self.commands[Command.DISPATCH]):
            m.d.sync += over.eq(0)
        with m.If(valid & is_number):
            m.d.sync += self.number.eq(operand)
        return operand, carry, over, total

    def _condition(self, m, first, operand, over, carry):
        """Condition of a jump. Most are looked at in the first stage, a cycle before their jump; what the last addition said, in the
        second. Returns whether it is met and whether it is ALWAYS."""
        met, picked = Signal(), Signal()
        fresh_conds = {Cond.CARRY: carry, Cond.NO_CARRY: ~carry, Cond.MARK: operand[31]}
        with m.Switch(first["cond"]):
            for number in Cond:
                if number not in fresh_conds:
                    with m.Case(number):
                        m.d.sync += picked.eq({Cond.NEVER: Const(0), Cond.ALWAYS: Const(1)}.get(number, self.conditions[number]))
            with m.Default():
                m.d.sync += picked.eq(0)
        always, may_be_over, not_over = Signal(), Signal(), Signal()
        m.d.sync += [
            always.eq(first["cond"] == Cond.ALWAYS), not_over.eq(first["cond"] == Cond.SETTLED),
            may_be_over.eq((first["cond"] == Cond.AWRY) | (first["cond"] == Cond.UNFREE) | (first["cond"] == Cond.BESET)),
        ]
        m.d.comb += met.eq(picked & ~(not_over & over) | may_be_over & over)
        for number, value in fresh_conds.items():
            looked = Signal(name=f"looked_{number.name.lower()}")
            m.d.sync += looked.eq(first["cond"] == number)
            with m.If(looked & value):
                m.d.comb += met.eq(1)
        return met, always

    def _entry(self, m, labels):
        """Address of the microprogram for the word's opcode."""
        entries = {0: "nop", 1: "transfer", 2: "rw", 3: "compute", 4: "compute",
                   5: "sync" if self.params["ext_sync"] else "nothing", 6: "transfer", 7: "hlt"}
        entry = Signal(8)
        with m.Switch(self.entry):
            for opcode, label in entries.items():
                with m.Case(opcode):
                    m.d.sync += entry.eq(labels[label])
        with m.If(~self.known):
            m.d.sync += entry.eq(labels["illegal"])
        return entry
