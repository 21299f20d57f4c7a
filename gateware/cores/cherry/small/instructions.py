# SPDX-License-Identifier: BSD-2-Clause
"""Micro-instructions of the small Cherry engine: sources, sinks and counters of the accumulator
machine (docs/how/microcode.md). Pure Python."""

import enum

from ....microcode.accumulator import accumulator_machine

__all__ = ["MACHINE", "Count", "Sink", "Source"]


class Source(enum.IntEnum):
    """Operand sources besides registers. TABLE: the table at P; MEM: MEM at the address of loads
    and stores, FLOAT: the same as fp32; PLACE: that address, with bit 31 set if the last load or
    store had an address out of bounds. OPCODE to LOOP: fields of the instruction in A; UPPER: upper
    half of A."""

    (
        WINDOW_BASE,
        WINDOW_LIMIT,
        PROGRAM_ADDRESS,
        PROGRAM_LENGTH,
        DMA_IN_LIST,
        DMA_OUT_LIST,
        TABLE,
        MEM,
        FLOAT,
        PLACE,
        LOW,
        OPCODE,
        REGISTER,
        UNIT,
        LOOP,
        UPPER,
    ) = range(16)


class Sink(enum.IntEnum):
    """Destinations (sinks) of A. TABLE: the table at P. FINISH: end of the run with A as the
    fault's detail. PLACE, ALONG, DOWN: address in MEM and strides of loads and stores; MEM, FLOAT:
    write an element, or an fp32 as one, and advance the address; NEXT: advance only. CAME, SENT:
    like FLOAT and NEXT, and count four bytes."""

    (
        X,
        P,
        TABLE,
        MEM,
        PC,
        STEP,
        CONTEXT,
        CODE,
        FINISH,
        PLACE,
        ALONG,
        DOWN,
        FLOAT,
        NEXT,
        CAME,
        SENT,
    ) = range(16)


class Count(enum.IntFlag):
    """Counters of instruction CNT: an instruction, element operations, bytes."""

    RETIRED, OPS16, OPS64, READ4, READ32, WRITTEN4 = 1, 2, 8, 16, 32, 64


MACHINE = accumulator_machine(
    sources=Source,
    sinks=Sink,
    counts=Count,
    returns=0xF8,
    shown="ITER",
    variables=(*range(0x60), *range(0x60 + 19, 0x80), *range(0xC4, 0xC8)),
    arrays={
        "INFO": (0x80, 32),
        "DESC": (0xA0, 8),
        "STACK": (0xA8, 8),
        "LCOUNT": (0xB0, 8),
        "BODY": (0xB8, 8),
        "BITS": (0xC0, 4),
        "LOOPBIT": (0xC8, 8),
        "ITER": (0xD0, 8),
        "START": (0xD8, 8),
        "SERIES": (0x60, 19),
        "RECIPROCAL": (0xE0, 8),
        "LOGARITHM": (0xE8, 8),
        "ROOT": (0xF0, 8),
    },
)
