# SPDX-License-Identifier: BSD-2-Clause
"""Micro-instructions of the small PIM engine: sources, sinks and counters of the accumulator
machine (docs/how/microcode.md). Pure Python."""

import enum

from ....isa.parameters import Params
from ....microcode.accumulator import accumulator_machine

__all__ = [
    "ARRAYS_AT",
    "BIAS_AT",
    "GROUPS_MOST",
    "MAC",
    "MACHINE",
    "REGION_BITS",
    "SHIFT",
    "STORE",
    "TABLE_AT",
    "TWO",
    "Count",
    "Flag",
    "Sink",
    "Source",
    "scratch_at",
]


class Source(enum.IntEnum):
    """Operand sources besides registers. VALUE: an element; ACC_LOW, ACC_HIGH: the 64 bits of the
    shifted accumulator."""

    (
        WINDOW_BASE,
        WINDOW_LIMIT,
        PROGRAM_ADDRESS,
        PROGRAM_LENGTH,
        CORE_TABLE,
        RUN_FLAGS,
        GMEM_BASE,
        GMEM_SIZE,
        VALUE,
        LOW,
        ACC_LOW,
        ACC_HIGH,
    ) = range(12)


class Sink(enum.IntEnum):
    """Destinations (sinks) of A. W: start of the weights; MASK: valid bits of an input; ACC:
    initial value of the second column's accumulator, then of the first's; OPERATIONS, READ,
    WRITTEN: counter increments; FINISH: end of the run, with A as the fault's detail."""

    X, P, VALUE, W, MASK, ACC, CODE, PC, FLAGS, OPERATIONS, READ, WRITTEN, FINISH = range(13)


class Count(enum.IntFlag):
    """Counters of instruction CNT: an instruction, its kind, code."""

    RETIRED, SCALAR, MATRIX, VECTOR, TRANSFER, CODE4 = 1, 2, 4, 8, 16, 32


class Flag(enum.IntFlag):
    """Flags that sink FLAGS sets."""

    DONE, BLOCKED, LOADING = 1, 2, 4


#: ``run`` takes an element of 1 to 4 bytes at P into VALUE, its sign extended; with STORE it writes
#: VALUE there; with MAC it adds the products of so many rows of two columns, inputs at P of 1 byte
#: or (TWO) 2; with SHIFT it shifts the accumulator so far, rounds (TWO) and lets the other have its
#: turn.
STORE, MAC, SHIFT, TWO = 8, 1 << 10, 1 << 11, 1 << 12
#: Places at P: local memory from 0, weights, biases with a word of scratch after them, the table
#: of vtanh.
REGION_BITS = 16
ARRAYS_AT, BIAS_AT, TABLE_AT = (k << REGION_BITS for k in (1, 2, 3))


def scratch_at(params: Params) -> int:
    """Address of an otherwise unused word."""
    return BIAS_AT + 4 * params["bias_words"]


#: Groups that the register file has space for.
GROUPS_MOST = 16

# The debug registers show the first 66, in this order: registers, events, widths; then the index of
# the next instruction.
MACHINE = accumulator_machine(
    sources=Source,
    sinks=Sink,
    counts=Count,
    returns=0xF8,
    shown="REGS",
    variables=(*range(68, 96), *range(162, 0xF8)),
    fixed={"IBIW": 64, "OBIW": 65, "INDEX": 66},
    arrays={
        "REGS": (0, 128),
        "EVENTS": (32, 32),
        "INFO": (96, 32),
        "BIASES": (128, GROUPS_MOST),
        "IDS": (144, 16),
        "SEEN": (160, 2),
    },
)
