# SPDX-License-Identifier: BSD-2-Clause
"""Microcoded controller of the small OpenTPU engine: one adder, registers and program in block
RAM (:mod:`.program`)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....microcode.staged import StagedMachine
from .instructions import LAYOUT, NUMBER, Act, Alu, Command, Cond, External
from .program import microprogram

__all__ = ["FIELD_REGISTERS", "MicroMachine"]

FIELD_REGISTERS = 3  # numbers 24..31: fields of two words, the one at work and the next
_TURNED_REGISTERS = 4  # numbers 16..19: written in turn


class MicroMachine(StagedMachine):
    """Microcoded controller: runs the microprogram.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while the program waits at ``idle``: a run begins
    conditions : In, a bit for each :class:`.instructions.Cond` from BAD_FLAGS on (the bits below
        are not looked at), without what the adder says, which is added here; a condition is looked
        at in the cycle before its micro-instruction
    external : In, array of 32 bits: values of :class:`.instructions.External`
    entry : In, 3 bits: how the next word begins (opcode); ``known``:
        its opcode is one of 0..7; ``halt``: it must not begin; all settled a cycle before the
        word's dispatch
    slot : In, which of the two words is at work
    command, commands : Out: a bit for each :class:`.instructions.Command`, one cycle;
        compute_row, mover_row : Out likewise
    operand : Out, 32 bits: R[rs], beside the command
    number : Out, 8 bits: register NUMBER, as it was last used
    result : Out, 32 bits: A
    cond : Out: condition that the last micro-instruction looked at
    write, write_address, write_data : In: a field of the next word;
        written only where ``write_ready``
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            microprogram(params),
            {
                "start": In(1),
                "conditions": In(len(Cond)),
                "external": In(32).array(len(External)),
                "entry": In(3),
                "known": In(1),
                "halt": In(1),
                "slot": In(1),
                "commands": Out(len(Command)),
                "compute_row": Out(1),
                "mover_row": Out(1),
                "operand": Out(32),
                "number": Out(8),
                "result": Out(32),
                "cond": Out(LAYOUT["cond"]),
                "write": In(1),
                "write_address": In(7),
                "write_data": In(32),
                "write_ready": Out(1),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s, labels = (
            self._stages(m, LAYOUT, ("rd", "act", "cond", "target"), Const(1)),
            self._program.labels,
        )
        position, target = (
            Signal(8),
            Signal(8),
        )  # position: of the instruction after the one in the first stage
        rs, act, rd = s.first.rs, s.second.act, s.second.rd
        m.d.comb += [
            s.read.addr.eq(Mux(rs[3:] == FIELD_REGISTERS, Cat(rs[:2], self.slot, rs[3:]), rs)),
            s.fetch.addr.eq(Mux(s.jump, target, position)),
        ]
        m.d.sync += position.eq(s.fetch.addr + 1)
        total = self._add(m, s)

        # Jumps
        met, always = self._condition(m, s)
        self._decode(
            m,
            s,
            asked=Cat(
                (s.first.act == Act.COMMAND) & (s.first.rd[:3] == number) for number in Command
            ),
            stopped=self.halt,
        )
        dispatch = Signal()
        m.d.comb += dispatch.eq(s.valid & s.asked[Command.DISPATCH] & ~met)
        for number in Command:
            m.d.comb += self.commands[number].eq(
                dispatch & s.carry & ~s.stopped
                if number == Command.DISPATCH
                else s.valid & s.asked[number] & (~met | always)
            )
        entry = self._entry(m, labels)
        m.d.comb += [
            s.jump.eq(s.valid & met | dispatch | self.start),
            target.eq(
                Mux(
                    self.start,
                    labels["start"],
                    Mux(
                        s.asked[Command.DISPATCH] & ~met,
                        Mux(s.carry & ~s.stopped, entry, labels["halt"]),
                        s.second.target,
                    ),
                )
            ),
        ]
        with m.If(s.valid):
            m.d.sync += self.cond.eq(s.second.cond)

        # Writing. Whether or not the instruction is valid after all: the memory's answers wait for
        # `writing`.
        self._decode(m, s, writing=(s.first.act != Act.NONE) & (s.first.act != Act.COMMAND))
        m.d.comb += [
            self.write_ready.eq(~s.writing),
            self.compute_row.eq(s.valid & (act == Act.COMPUTE_ROW)),
            self.mover_row.eq(s.valid & (act == Act.MOVER_ROW)),
        ]
        turn, external = Signal(), Signal(32)
        with m.If(self.commands[Command.COMPUTE]):
            m.d.sync += turn.eq(~turn)
        with m.Switch(rd[:4]):
            for number in External:
                with m.Case(number):
                    m.d.comb += external.eq(self.external[number])
        self._write(
            m,
            s.valid & s.writing,
            Cat(Mux(rd[2:] == _TURNED_REGISTERS, turn, rd[0]), rd[1:]),
            Mux(act == Act.COPY, external, total[:32]),
        )
        return m

    def _add(self, m, s):
        """Adder with accumulator; ``s.carry``: carry of the last addition, ``s.over``: carry of any
        addition since the word was dispatched. Returns the sum."""
        operand, alu = s.read.data, s.first.alu
        self._decode(
            m,
            s,
            subtract=(alu == Alu.SUB) | (alu == Alu.REDUCE),
            twice=alu == Alu.DOUBLE,
            fresh=alu == Alu.LOAD,
            reduce=alu == Alu.REDUCE,
            changes=alu != Alu.HOLD,
            counts=(alu == Alu.ADD) | (alu == Alu.SUB) | (alu == Alu.DOUBLE),
            is_number=s.first.rs == NUMBER,
        )
        a, b, total = Signal(32, reset_less=True), Signal(32), Signal(33)
        s.carry, s.over = Signal(name="carry"), Signal(name="over")
        m.d.comb += [
            b.eq(Mux(s.twice, a, operand ^ s.subtract.replicate(32))),
            total.eq((a & ~s.fresh.replicate(32)) + b + s.subtract),
            self.operand.eq(operand),
            self.result.eq(a),
        ]
        with m.If(s.valid & s.changes & (~s.reduce | total[32])):
            m.d.sync += a.eq(total)
        with m.If(s.valid & s.counts):
            m.d.sync += [s.carry.eq(total[32]), s.over.eq(s.over | total[32])]
        with m.If(self.commands[Command.DISPATCH]):
            m.d.sync += s.over.eq(0)
        with m.If(s.valid & s.is_number):
            m.d.sync += self.number.eq(operand)
        return total

    def _condition(self, m, s):
        """Condition of a jump. Most conditions are evaluated in the first stage, a cycle before
        their jump; those on the last addition in the second. Returns whether the condition is met,
        and whether it is ALWAYS."""
        cond, picked, met = s.first.cond, Signal(), Signal()
        fresh = {Cond.CARRY: s.carry, Cond.NO_CARRY: ~s.carry, Cond.MARK: s.read.data[31]}
        with m.Switch(cond):
            for number in Cond:
                if number not in fresh:
                    with m.Case(number):
                        m.d.sync += picked.eq(
                            {Cond.NEVER: Const(0), Cond.ALWAYS: Const(1)}.get(
                                number, self.conditions[number]
                            )
                        )
            with m.Default():
                m.d.sync += picked.eq(0)
        self._decode(
            m,
            s,
            always=cond == Cond.ALWAYS,
            not_over=cond == Cond.SETTLED,
            may_be_over=(cond == Cond.AWRY) | (cond == Cond.UNFREE) | (cond == Cond.BESET),
            **{f"looked_{number.name.lower()}": cond == number for number in fresh},
        )
        m.d.comb += met.eq(picked & ~(s.not_over & s.over) | s.may_be_over & s.over)
        for number, value in fresh.items():
            with m.If(getattr(s, f"looked_{number.name.lower()}") & value):
                m.d.comb += met.eq(1)
        return met, s.always

    def _entry(self, m, labels):
        """Address of the microprogram for the word's opcode."""
        entries = {
            0: "nop",
            1: "transfer",
            2: "rw",
            3: "compute",
            4: "compute",
            5: "sync" if self.params["ext_sync"] else "nothing",
            6: "transfer",
            7: "hlt",
        }
        entry = Signal(8)
        with m.Switch(self.entry):
            for opcode, label in entries.items():
                with m.Case(opcode):
                    m.d.sync += entry.eq(labels[label])
        with m.If(~self.known):
            m.d.sync += entry.eq(labels["illegal"])
        return entry
