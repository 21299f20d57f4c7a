# SPDX-License-Identifier: BSD-2-Clause
"""Layout of a decoded operation (specification, sections 3 and 9)."""

from amaranth import Const, Mux, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..isa import ISA
from .block import FOLDS
from .mapping import Mapping

__all__ = ["FAULTS", "Decoded", "GateLayout", "OpLayout", "fault_code"]

#: Faults of a word, in the order of the table; what the memory answered with an error is no word.
FAULTS = {
    "error": "bus_read",
    "submodule": "illegal_submodule",
    "unknown": "illegal_opcode",
    "reserved": "reserved_bits",
    "register": "register_range",
    "address": "address_range",
    "field": "field_range",
    "selects": "select_range",
    "overlap": "operand_overlap",
}


def fault_code(bits: Value) -> Value:
    """Number of the first fault in ``bits``, which has one bit for each of ``FAULTS``; 0: none."""
    code = Const(0, 5)
    for bit, name in reversed(list(zip(bits, FAULTS.values(), strict=True))):
        code = Mux(bit, ISA.fault_codes[name], code)
    return code


class OpLayout(data.StructLayout):
    """Decoded word. For a word with a fault only ``fault`` and ``word`` are valid.

    Members
    -------
    end : what comes after the last word; nothing else means anything
    word : unsigned(32), as it was read
    fault : one bit for each of ``FAULTS``
    array : a word of the array (``mv``), else of the columns
    write, select, clear, add, step, one : one hot, none for ``nop``: mv_write;
        a select; mv_clrmbit; mv_add and mv_sub; mv_updatepp; mv_mov, mv_blockFold and mv_accumRow
    serial, parallel, off : one hot, of the columns
    first : first row of X; of ``step`` the row of the multiplier's bit
    second : first row of Y
    target : first row of the result (and of ``step``'s X); row of ``write``
    subtract, fold : of add, blockFold (one hot); accumulate : accumRow
    level : of accumRow; wait : slots before its receivers begin, 2^level (1: ``step``, 0: others)
    zero : X is 0 (``step`` of bit 0); final : ``step`` of the last bit
    slots : of an operation of several slots, slots until another may start, less two
    """

    def __init__(self, mapping: Mapping) -> None:
        bits = mapping.address_bits
        longest = max(mapping.slots_updatepp, mapping.width + (1 << mapping.top_level))
        super().__init__(
            {
                "end": 1,
                "word": 32,
                "fault": len(FAULTS),
                "array": 1,
                "write": 1,
                "select": 1,
                "clear": 1,
                "add": 1,
                "step": 1,
                "one": 1,
                "serial": 1,
                "parallel": 1,
                "off": 1,
                "first": bits,
                "second": bits,
                "target": bits,
                "subtract": 1,
                "fold": FOLDS,
                "accumulate": 1,
                "level": mapping.top_level.bit_length(),
                "wait": mapping.top_level + 1,
                "zero": 1,
                "final": 1,
                "slots": (longest - 2).bit_length(),
            }
        )


class GateLayout(data.StructLayout):
    """Start conditions of an operation; for one with a fault all are low except ``stop``.

    Members
    -------
    array : of the array; ``at_once`` : of those that need no more than a free slot;
        ``odd``, ``even``, ``calm`` : of those that need one of that kind, or everything landed (all
        that a hazard leaves them); ``multi`` : takes several slots; ``store`` : one slot, but
        writes late
    pause : ``vv_nop``; mode : ``vv_serialEn`` and ``vv_shiftOff``; emit : ``vv_parallelEn``
    stop : a fault or the end; end : the end
    """

    def __init__(self) -> None:
        super().__init__(
            {
                name: 1
                for name in (
                    "array",
                    "at_once",
                    "odd",
                    "even",
                    "calm",
                    "multi",
                    "store",
                    "pause",
                    "mode",
                    "emit",
                    "stop",
                    "end",
                )
            }
        )


class Decoded(wiring.Signature):
    """Output interface of the decoder: start conditions, and in the same order the operations, each
    in the same cycle or earlier.

    Members
    -------
    gate : stream of GateLayout, hazards not yet considered; hazard :
        it reads what an instruction before it writes, in an order that overlapping them would
        change
    op : OpLayout; put : there is one, if ``gate.ready``
    moves : In(4), copies of ``gate.ready``, which have hundreds of flip-flops to tell
    """

    def __init__(self, mapping: Mapping) -> None:
        super().__init__(
            {
                "gate": Out(stream.Signature(GateLayout())),
                "hazard": Out(1),
                "op": Out(OpLayout(mapping)),
                "put": Out(1),
                "moves": In(4),
            }
        )
