# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces within a processor: commands of the three units, LMem ports, progress, group store,
LOAD.

Units of measure: addresses of LMem are bytes, modulo ``lmem_bytes``; sizes are bytes, lengths
elements; widths (``ibiw``, ``obiw``) are bits as numbers 1..32. Whoever sends a command has checked
it (specification, sections 4 and 6): ranges, overlaps, widths, groups, pairs; a command of length
or size 0 is never sent. All command streams go by stream rules, one transfer a command; commands of
one unit are carried out, and reported done, in order.
"""

from amaranth import signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ....isa.parameters import Params

__all__ = [
    "CHUNK_BYTES",
    "LMemRead",
    "LMemWrite",
    "TAG_BITS",
    "TransferOp",
    "VectorOp",
    "address_bits",
    "array_bits",
    "bias_bits",
    "bias_layout",
    "group_bits",
    "group_layout",
    "group_write_layout",
    "ids_layout",
    "ids_write_layout",
    "lmem_word_bytes",
    "matrix_layout",
    "multiply_layout",
    "progress_layout",
    "transfer_layout",
    "vector_layout",
    "weights_layout",
]

#: Bits of a command's tag, which comes back with its ``done``; what it means is the scoreboard's
#: affair.
TAG_BITS = 3

#: Bytes of weights that LOAD writes at once; weights in an image begin at multiples of it.
CHUNK_BYTES = 8


class VectorOp(enum.Enum, shape=5):
    """Operation codes of the vector unit (section 3.1)."""

    VVADD = 10
    VVSUB = 11
    VVMUL = 12
    VVDMUL = 13
    VVMAX = 14
    VVSLL = 15
    VVSRA = 16
    VAVG = 17
    VRELU = 18
    VTANH = 19
    VSIGM = 20
    VMV = 22
    VRSU = 23
    VRSL = 24


class TransferOp(enum.Enum, shape=3):
    """Operation codes of the transfer unit: those of the instructions minus 24."""

    LD = 1
    ST = 2
    LLDI = 3
    LMV = 4
    SEND = 5
    RECV = 6


def lmem_word_bytes(params: Params) -> int:
    """Width in bytes of a word at an LMem port; at least an element of ``max_biw`` bits (section
    8)."""
    return params["vec_bytes"]


def address_bits(params: Params) -> int:
    """Width of an LMem byte address."""
    return exact_log2(params["lmem_bytes"])


def group_bits(params: Params) -> int:
    """Width of a group number."""
    return max(1, ceil_log2(params["groups"]))


def array_bits(params: Params) -> int:
    """Width of an array id."""
    return max(1, ceil_log2(params["arrays"]))


def bias_bits(params: Params) -> int:
    """Width of an index into the bias store."""
    return max(1, ceil_log2(params["bias_words"]))


class LMemRead(wiring.Signature):
    """Read port of LMem, seen from the reading unit.

    Members
    -------
    request : Out(stream), payload: byte address of a word of :func:`lmem_word_bytes` bytes,
        any alignment; past the last byte it goes on at 0. ``ready`` may depend on ``valid`` of all
        readers.
    valid, data : In: the words requested, in order, lowest byte at bit 0,
        always ``READ_LATENCY`` cycles after the request where LMem is of byte lanes, later where it
        is not. They must be taken. A word shows all writes accepted two cycles before its request
        or earlier; a byte written in the cycle before, or in the same, is as it was or undefined.
    """

    #: Cycles from a request to its word in an LMem of byte lanes.
    READ_LATENCY = 3

    def __init__(self, params: Params) -> None:
        super().__init__(
            {
                "request": Out(stream.Signature(address_bits(params))),
                "valid": In(1),
                "data": In(8 * lmem_word_bytes(params)),
            }
        )


class LMemWrite(wiring.Signature):
    """Write port of LMem, seen from the writing unit: a stream ``request`` of a word's byte address
    (any alignment), ``data``, and ``mask``, one bit per byte. Read requests of any unit see an
    accepted write from the second cycle after it."""

    def __init__(self, params: Params) -> None:
        word = lmem_word_bytes(params)
        super().__init__(
            {
                "request": Out(
                    stream.Signature(
                        data.StructLayout(
                            {"address": address_bits(params), "data": 8 * word, "mask": word}
                        )
                    )
                ),
            }
        )


def matrix_layout(params: Params) -> data.StructLayout:
    """Layout of a ``mvmul`` command (section 4.2). ``rows``, ``cols``, ``shift``, ``round``,
    ``has_bias``: from the group's entry."""
    return data.StructLayout(
        {
            "src": address_bits(params),
            "dst": address_bits(params),
            "group": group_bits(params),
            "rows": 11,
            "cols": 11,
            "ibiw": 6,
            "obiw": 6,
            "shift": 6,
            "round": 1,
            "relu": 1,
            "has_bias": 1,
            "tag": TAG_BITS,
        }
    )


def vector_layout(params: Params) -> data.StructLayout:
    """Layout of a vector command (section 4.3).

    ``src1``, ``src2``, ``dst``: addresses with their offsets. ``operand``: the value of R[rs2]:
    stride in elements (``vavg``, ``vmv``) or bound (``vrsu``, ``vrsl``). ``len``: 1..2047. ``fi``,
    ``fo``: fraction bits of ``vtanh``, ``vsigm``, 0..31, "auto" resolved.
    """
    return data.StructLayout(
        {
            "op": VectorOp,
            "src1": address_bits(params),
            "src2": address_bits(params),
            "dst": address_bits(params),
            "len": 11,
            "operand": signed(32),
            "ibiw": 6,
            "obiw": 6,
            "fi": 5,
            "fo": 5,
            "tag": TAG_BITS,
        }
    )


def transfer_layout(params: Params) -> data.StructLayout:
    """Layout of a transfer command (section 4.4): ``size`` bytes, 1..2047, from LMem address
    ``src`` and/or to LMem address ``dst``.

    ``gmem``: main-memory address of ``ld`` and ``st`` (base added, all bytes checked). ``core``:
    the partner of ``send``, ``recv``. ``imm``: the byte of ``lldi``.
    """
    return data.StructLayout(
        {
            "op": TransferOp,
            "src": address_bits(params),
            "dst": address_bits(params),
            "size": 11,
            "gmem": 32,
            "core": 10,
            "imm": 8,
            "tag": TAG_BITS,
        }
    )


def progress_layout() -> data.StructLayout:
    """Layout of a unit's progress. ``done``, for one cycle: the oldest command of this unit is
    complete with its last byte written, so that later LMem reads see it. ``tag``: its tag."""
    return data.StructLayout({"done": 1, "tag": TAG_BITS})


def multiply_layout() -> data.StructLayout:
    """Layout of the operands of a scalar multiplication."""
    return data.StructLayout({"a": 32, "b": 32})


def group_layout() -> data.StructLayout:
    """Layout of a group's entry for the processor: ``rows``, ``cols``, ``mbiw`` minus one each,
    ``shift``, ``round``, ``has_bias``."""
    return data.StructLayout(
        {"rows": 10, "cols": 10, "mbiw": 3, "shift": 6, "round": 1, "has_bias": 1}
    )


def group_write_layout(params: Params) -> data.StructLayout:
    """Write port of the group entries: LOAD writes ``entry`` of ``group`` in cycles with
    ``valid``."""
    return data.StructLayout({"valid": 1, "group": group_bits(params), "entry": group_layout()})


def ids_layout(params: Params) -> data.StructLayout:
    """Layout of an array id, with the index of the group's first bias in the bias store (the same
    for all ids of a group)."""
    return data.StructLayout({"array": array_bits(params), "bias": bias_bits(params)})


def ids_write_layout(params: Params) -> data.StructLayout:
    """Write port of the array ids: LOAD writes the ``index``-th array id (grid order) of ``group``
    in cycles with ``valid``."""
    return data.StructLayout(
        {"valid": 1, "group": group_bits(params), "index": 4, "ids": ids_layout(params)}
    )


def bias_layout(params: Params) -> data.StructLayout:
    """Write port of the bias store: LOAD writes one word in cycles with ``valid``."""
    return data.StructLayout({"valid": 1, "address": bias_bits(params), "data": 32})


def weights_layout(params: Params) -> data.StructLayout:
    """Write port of the weights, eight bytes at a time. ``address``, in units of eight bytes:
    (array * xb_rows + row) * xb_cols/8 + column/8."""
    total = params["arrays"] * params["xb_rows"] * params["xb_cols"]
    return data.StructLayout({"address": ceil_log2(total // CHUNK_BYTES), "data": 8 * CHUNK_BYTES})
