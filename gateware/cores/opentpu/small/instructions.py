# SPDX-License-Identifier: BSD-2-Clause
"""Micro-instructions of the small OpenTPU engine: fields, operations, conditions, registers,
hazards (docs/how/microcode.md). Pure Python.

A micro-instruction is executed in two stages: its operand is read while it waits for one cycle,
then ``A = f(A, R[rs])``. The carry is looked at by the micro-instructions behind, never by the one
that makes it, so that adder and jump lie in different cycles. A jump that is taken costs one cycle
more. What a micro-instruction writes may be read by the next but one.
"""

import enum

from ....microcode.layout import Layout
from ....microcode.machine import Hazard, MachineFormat, Operation
from ....microcode.operands import Choice, Label, Register
from ....microcode.registers import RegisterFile

__all__ = ["LAYOUT", "MACHINE", "NUMBER", "Act", "Alu", "Command", "Cond", "External"]


class Alu(enum.IntEnum):
    HOLD = 0  #: A stays; the result is A + R
    LOAD = 1
    ADD = 2  #: ADD, SUB and DOUBLE set the carry, the others leave it
    SUB = 3
    DOUBLE = 4  #: A + A
    REDUCE = 5  #: A - R if that is not negative, else A


class Cond(enum.IntEnum):
    NEVER, ALWAYS, CARRY, NO_CARRY, BAD_FLAGS, LENGTH, HIGH, LOW, UB = range(9)
    WEIGHTS = 9  #: the weight queue forbids this instruction
    NO_WORD = 10  #: the next word is not there yet
    UNFREE = 11  #: TRANSFER or AWRY
    TRANSFER = 12  #: a transfer is under way, or instructions wait to be retired
    TROUBLE = 13  #: a transfer failed
    HOST = 14  #: rows are transferred
    BESET = 15  #: HOST or AWRY
    QUEUED = 16  #: no place for another MMC or ACT
    COMPUTING = 17
    SETTLED = 18  #: no MMC or ACT, and not AWRY
    BUSY = 19  #: anything of the run is under way
    SWITCH = 20
    ABORT = 21
    ODD = 22  #: a field that must be zero is not, addr is above 2**32, or WEIGHTS
    ODD_LENGTH, ODD_HOST, ODD_WEIGHTS, WHOLE_LIMIT, EVEN_FETCH = range(23, 28)
    AWRY = 28  #: a carry since the word was dispatched, or TROUBLE
    MARK = 29  #: the highest bit of R


class Act(enum.IntEnum):
    NONE = 0
    WRITE = 1  #: R[rd] = result
    COPY = 2  #: R[rd] = external value number rd
    COMPUTE_ROW = 3  #: R[rd] = result, and R goes to the queue of the compute unit
    MOVER_ROW = 4  #: R[rd] = result, and R goes to the mover
    COMMAND = 5  #: number rd, with R; not if a conditional jump is taken


class Command(enum.IntEnum):
    # DISPATCH goes on at the next word's entry, or at `halt` and does nothing else, if fetch or
    # transfer failed, the host ends the run, or there is no carry (the program is over).
    BEGIN, FETCH, DISPATCH, COMPUTE, MOVE, RETIRE, SYNC, FINISH = range(8)


class External(enum.IntEnum):
    """External values, which :attr:`Act.COPY` copies to the register of the same number."""

    (
        PROGRAM,
        LENGTH,
        WINDOW_BASE,
        WINDOW_LIMIT,
        HOST_BASE,
        HOST_LIMIT,
        WEIGHTS_BASE,
        WEIGHTS_LIMIT,
        TRANSFER,
        OPCODE,
    ) = range(10)


#: Register of the length of the word at work, which the hardware looks at.
NUMBER = 24
LAYOUT = Layout(rs=7, rd=5, act=(3, Act), alu=(3, Alu), cond=(5, Cond), target=8)

_REGISTERS = {e.name: e.value for e in External} | {
    "REMAIN": 10,
    "DETAIL": 11,
    "UB_LAST": 12,
    "BEGIN": 13,
    "LAST": 14,
    "MOVER_REMAIN": 15,
    # Rows of the last two instructions of the compute unit; the lowest bit of a number written is
    # the hardware's.
    "FIRST": 16,
    "FIRST_1": 17,
    "FINAL": 18,
    "FINAL_1": 19,
    "MOVER_FIRST": 20,
    "MOVER_LAST": 21,
    "T": 22,
    "CODE": 23,
    # Limits of host memory and, less three, of weight memory; 0 where these do not lie in the
    # window as a whole.
    "HOST_TOP": 8,
    "WEIGHTS_TOP": 9,
    # Fields of the word at work.
    "NUMBER": NUMBER,
    "LOW": 26,
    "UB": 27,
}
_WRITES = (Act.WRITE, Act.COPY, Act.COMPUTE_ROW, Act.MOVER_ROW)


def _reads_too_early(first, second):
    return first["act"] in _WRITES and second["rs"] == first["rd"] and first["cond"] != Cond.ALWAYS


def _leaves_no_cycle(first, second):
    return (
        first["act"] in _WRITES
        and second["act"] in _WRITES
        and first["target"] == first.address
        and first["cond"] != Cond.ALWAYS
    )


_JUMPS = {"": (Register("rs"),), "?": (Choice("cond", Cond), Label("target"))}
_WRITING = {
    ">": (Register("rd", written=True), {"act": Act.WRITE}),
    "!": (
        Choice("act", {act.name: act for act in (Act.COMPUTE_ROW, Act.MOVER_ROW)}),
        Register("rd", written=True),
    ),
}

MACHINE = MachineFormat(
    layout=LAYOUT,
    size=256,
    defaults={"rs": "#0"},
    registers=RegisterFile(128, _REGISTERS, constants=range(32, 128)),
    operations={alu.name.lower(): Operation({"alu": alu}, _JUMPS | _WRITING) for alu in Alu}
    | {
        command.name.lower(): Operation({"act": Act.COMMAND, "rd": command}, _JUMPS)
        for command in Command
    }
    | {"copy": Operation({"act": Act.COPY}, {"": (Choice("rd", External),)}, 1)},
    hazards=(
        Hazard(_reads_too_early, "{second} reads what the one before it writes"),
        Hazard(
            _leaves_no_cycle,
            "{first} waits and leaves the fields of the next word no cycle to be written in",
        ),
    ),
)
