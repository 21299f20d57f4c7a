# SPDX-License-Identifier: BSD-2-Clause
"""The small engine's micro machine: one adder, registers and program in block RAM (:mod:`.lean_microcode`)."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .lean_microcode import LAYOUT, Act, Alu, Command, Cond, External, assemble, constants, encode

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
    conditions : In, a bit for each :class:`.lean_microcode.Cond` from BAD_FLAGS on (the bits below are not looked at)
    external : In, array of 32 bits: values of :class:`.lean_microcode.External`
    entry : In, 3 bits: how the next word begins (opcode); ``known``: its opcode is one of 0..7
    slot : In, which of the two words is at work
    command, commands : Out: a bit for each :class:`.lean_microcode.Command`, one cycle; compute_row, mover_row : Out likewise
    operand : Out, 32 bits: R[rs], beside the command
    number : Out, 8 bits: register NUMBER, as it was last used
    result : Out, 32 bits: A
    cond : Out: condition that the last micro-instruction looked at
    write, write_address, write_data : In: a field of the next word; done where ``write_ready``
    """
    def __init__(self, *, params):
        self.params = params
        super().__init__({
            "start": In(1), "conditions": In(len(Cond)), "external": In(32).array(len(External)),
            "entry": In(3), "known": In(1), "slot": In(1),
            "commands": Out(len(Command)), "compute_row": Out(1), "mover_row": Out(1), "operand": Out(32), "number": Out(8),
            "result": Out(32), "cond": Out(LAYOUT["cond"]),
            "write": In(1), "write_address": In(3), "write_data": In(32), "write_ready": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        code, labels = assemble(self.params)
        m.submodules.code = rom = memory.Memory(shape=32, depth=256, init=[encode(fields) for fields in code])
        fetch = rom.read_port()
        # What is read in the cycle of its write is never used: the assembler sees to it.
        m.submodules.registers_disjoint = registers = memory.Memory(shape=32, depth=128, init=constants(self.params))
        read, write = registers.read_port(), registers.write_port()

        # First stage: the operand is addressed. Second stage: the rest is done.
        first, second = {}, {}
        low = 0
        for name, bits in LAYOUT.items():
            first[name] = fetch.data[low:low + bits]
            low += bits
            if name != "rs":
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

        # The adder
        operand, alu = read.data, second["alu"]
        a = Signal(32, reset_less=True)
        subtract, carry = Signal(), Signal()
        b, total = Signal(32), Signal(33)
        m.d.comb += [
            subtract.eq((alu == Alu.SUB) | (alu == Alu.REDUCE)),
            b.eq(Mux(alu == Alu.DOUBLE, a, operand ^ subtract.replicate(32))),
            total.eq((a & (alu != Alu.LOAD).replicate(32)) + b + subtract),
            carry.eq(total[32]), self.operand.eq(operand), self.result.eq(a),
        ]
        with m.If(valid & (alu != Alu.HOLD) & ((alu != Alu.REDUCE) | carry)):
            m.d.sync += a.eq(total)
        with m.If(valid & is_number):
            m.d.sync += self.number.eq(operand)

        # Jumps
        cond, act, rd = second["cond"], second["act"], second["rd"]
        met = Signal()
        always = cond == Cond.ALWAYS
        with m.Switch(cond):
            for number in Cond:
                with m.Case(number):
                    m.d.comb += met.eq({Cond.NEVER: Const(0), Cond.ALWAYS: Const(1), Cond.CARRY: carry,
                                        Cond.NO_CARRY: ~carry}.get(number, self.conditions[number]))
        run, dispatch = Signal(), Signal()
        m.d.comb += [run.eq(valid & (act == Act.COMMAND) & (~met | always)), dispatch.eq(run & (rd[:3] == Command.DISPATCH))]
        for number in Command:
            m.d.comb += self.commands[number].eq(run & (rd[:3] == number))
        entries = {0: "nop", 1: "transfer", 2: "rw", 3: "compute", 4: "compute",
                   5: "sync" if self.params["ext_sync"] else "nothing", 6: "transfer", 7: "hlt"}
        entry = Signal(8)
        with m.Switch(self.entry):
            for opcode, label in entries.items():
                with m.Case(opcode):
                    m.d.comb += entry.eq(labels[label])
        m.d.comb += [
            jump.eq(valid & met | dispatch | self.start),
            target.eq(Mux(self.start, labels["start"], Mux(
                dispatch, Mux(self.known, entry, labels["illegal"]), second["target"]))),
        ]
        with m.If(valid):
            m.d.sync += self.cond.eq(cond)

        # Writing
        turn = Signal()
        own = Signal()
        m.d.comb += [
            own.eq(valid & (act != Act.NONE) & (act != Act.COMMAND)), self.write_ready.eq(~own),
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
