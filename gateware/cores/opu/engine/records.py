# SPDX-License-Identifier: BSD-2-Clause
"""Queue records of convolutions and transfers, with their configuration and their dependencies."""

from amaranth import Value
from amaranth.lib import data, enum

from ....isa.parameters import Params
from .commands import conv_layout, post_layout, row_bits

__all__ = [
    "NUMBER_BITS",
    "PC_BITS",
    "UNIT_BITS",
    "DMAKind",
    "conv_entry",
    "dma_entry",
    "need_layout",
    "passed",
]

#: Bits of the numbers that convolutions and transfers get, modulo their power of two, in program
#: order.
NUMBER_BITS = 8
#: Bits of a word address of the program, and of an address in units of 64 bytes.
PC_BITS, UNIT_BITS = 30, 26


class DMAKind(enum.Enum, shape=3):
    IFM = 0
    KER = 1
    BIAS = 2
    STORE = 3
    PAD = 4


def need_layout() -> data.StructLayout:
    """Layout of a dependency: number of an older instruction that must finish first, and whether
    there is one (``fresh``)."""
    return data.StructLayout({"fresh": 1, "number": NUMBER_BITS})


def passed(count: Value, need: data.View) -> Value:
    """Whether the dependency ``need`` is met when ``count`` instructions (modulo) have finished.
    Numbers differ by less than half their range."""
    distance = (count - need.number - 1)[:NUMBER_BITS]
    return ~need.fresh | ~distance[-1]


def conv_entry(params: Params) -> data.StructLayout:
    """Layout of a queued convolution.

    Members
    -------
    command : :func:`~.commands.conv_layout`, but for its row; row : its row,
        where the ring is thought to go on behind its end
    positions : of ofm, 1 to 2048
    at : number that the next transfer had when this entry was made
    load, store, ker : needs: the load of ifm or bias;
        the store that reads what this one writes (or shares a port with it); the load of the
        kernel, of which ``tap`` must have come
    """
    return data.StructLayout(
        {
            "command": conv_layout(params),
            "row": row_bits(params) + 1,
            "positions": 12,
            "at": NUMBER_BITS,
            "load": need_layout(),
            "store": need_layout(),
            "ker": need_layout(),
            "tap": 6,
        }
    )


def dma_entry(params: Params) -> data.StructLayout:
    """Layout of a queued transfer.

    Members
    -------
    kind : :class:`DMAKind`
    pc : word address of the instruction; word : the instruction
    unit : where the array begins in main memory, in units of 64 bytes
    number : of this transfer; at : number that the next convolution had when this entry was made
    conv : need: the last convolution that must be over
    rows, columns : positions of the map less one (``pad``: of the whole map in memory);
        mem_w : slots of a row in memory;
    total : of ``ld.ifm``, positions in all less one
    p : of ``pad``; taps : ker_n less one
    bank : of ifm, or copy of bias; row : first row of the kernel ring
    post : :func:`~.commands.post_layout`; ``ifm_c`` and ``ofm_c`` hold for loads as well
    """
    return data.StructLayout(
        {
            "kind": DMAKind,
            "pc": PC_BITS,
            "word": 32,
            "unit": UNIT_BITS,
            "number": NUMBER_BITS,
            "at": NUMBER_BITS,
            "conv": need_layout(),
            "rows": 10,
            "columns": 10,
            "mem_w": 10,
            "total": 11,
            "p": 4,
            "taps": 6,
            "bank": 1,
            "row": row_bits(params),
            "post": post_layout(params),
        }
    )
