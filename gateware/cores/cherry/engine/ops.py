# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces of the units: operations from the front end, progress counters, ports of the tile
register file.

A unit (load/store, dot, vector ALU, special functions) takes operations in order and works them off
in *slots*: one for a uniform operation, else one for every context of the group, ascending. Slots
are numbered over a whole program, modulo 2^:data:`POSITION`; a unit's progress is how many slots it
has *fetched* (their operands are read; who overwrites them may go on) and *finished* (their results
can be read). An operation waits, slot by slot, for the progress of others that its :data:`Waits`
name.
"""

from amaranth import unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out, Signature

from ....isa.parameters import Params
from ..params import microcoded

__all__ = [
    "POSITION",
    "DotKind",
    "AluKind",
    "ProgressLayout",
    "SfuKind",
    "TileRead",
    "TileWrite",
    "Unit",
    "Waits",
    "alu_op",
    "dot_op",
    "element_bits",
    "entries",
    "header",
    "lsu_op",
    "sfu_op",
    "tile_elements",
    "unhurried",
]

#: Bits of a slot's number: more than the slots of all operations that are under way in a unit.
POSITION = 9


class Unit(enum.Enum, shape=2):
    """Units of the engine, in the order of all arrays that have an element per unit."""

    LSU = 0
    DOT = 1
    ALU = 2
    SFU = 3


class DotKind(enum.Enum, shape=3):
    """Operation codes of the dot unit."""

    MATMUL = 0
    MULACC = 1
    ADD = 2
    SUB = 3
    MUL = 4
    SUM = 5


class AluKind(enum.Enum, shape=3):
    """Operation codes of the vector ALU."""

    RELU = 0
    GTZ = 1
    MAX = 2
    COPY = 3
    ZERO = 4


class SfuKind(enum.Enum, shape=2):
    """Operation codes of the special-function lanes."""

    DIV = 0
    POW = 1
    EXP = 2
    LOG = 3


def tile_elements(params: Params) -> int:
    """Number of elements in a word of the tile file: a whole tile, one row, or in the small engine
    a single element."""
    return 16 if params["macs"] >= 32 else 1 if microcoded(params) else 4


def element_bits(params: Params) -> int:
    """Width in bits of an element in the tile file: that of ACC, of which the other registers
    use the lower 18."""
    return params["acc_frac"] + 9


def unhurried(params: Params) -> bool:
    """Whether a product of tiles takes eight cycles or more, so that preparing the next slot or
    operation is not on the critical path."""
    return params["macs"] <= 8


def entries(params: Params) -> int:
    """Number of tiles of a register: the private ones by context, then two for the uniform copy."""
    return params["contexts"] + 2


class ProgressLayout(data.ArrayLayout):
    """Progress counters of all units, an element for each of :class:`Unit`: numbers of slots
    ``fetched`` and ``finished`` since the program's start."""

    def __init__(self) -> None:
        super().__init__(
            data.StructLayout({"fetched": unsigned(POSITION), "finished": unsigned(POSITION)}), 4
        )


class _Wait(data.StructLayout):
    """Wait condition of slots. If ``valid``, slot c waits until a unit's progress minus ``base`` is
    at least min(c + 1, ``size``); with ``size`` 0 all slots wait until the progress reaches
    ``base``."""

    def __init__(self):
        super().__init__({"valid": unsigned(1), "base": unsigned(POSITION), "size": unsigned(6)})


class Waits(data.ArrayLayout):
    """Wait conditions of an operation: for each unit, one on its ``fetched`` and one on its
    ``finished`` slots."""

    def __init__(self) -> None:
        super().__init__(data.StructLayout({"fetched": _Wait(), "finished": _Wait()}), 4)


def header() -> dict[str, ShapeLike]:
    """Layout members that every operation has.

    size : slots, 1 to 32
    uniform : writes the uniform copy (one slot); else slot c writes the private tile of context c
    phys : which of the two entries of the uniform copy it writes
    view : for each tile register, ``copies`` (contexts below it see their private tile) and
        ``phys`` (the others see this uniform one)
    waits : :class:`Waits`
    """
    return {
        "size": unsigned(6),
        "uniform": unsigned(1),
        "phys": unsigned(1),
        "view": data.ArrayLayout(
            data.StructLayout({"copies": unsigned(6), "phys": unsigned(1)}), 4
        ),
        "waits": Waits(),
    }


def lsu_op() -> data.StructLayout:
    """Layout of a load or store: ``len_y``, ``len_x`` 1 to 4; ``address`` of context 0's element
    (0, 0), ``step`` from context to context (elements, modulo 2^18). A load with ``whole`` does
    not need the old tile."""
    return data.StructLayout(
        header()
        | {
            "store": unsigned(1),
            "reg": unsigned(2),
            "len_y": unsigned(3),
            "len_x": unsigned(3),
            "zero": unsigned(1),
            "skip": unsigned(1),
            "address": unsigned(18),
            "step": unsigned(18),
            "stride_x": unsigned(18),
            "stride_y": unsigned(18),
        }
    )


def _reduce():
    return {"acc": unsigned(1), "axis": unsigned(2), "count": unsigned(3), "target": unsigned(2)}


def dot_op() -> data.StructLayout:
    """Layout of an operation of the dot unit; the fields of a reduction are those of ``sum``
    (``count`` 1 to 4)."""
    return data.StructLayout(header() | {"kind": DotKind} | _reduce())


def alu_op() -> data.StructLayout:
    """Layout of an operation of the vector ALU: ``dst`` and ``src`` for copy and zero; the fields
    of a reduction for ``max``."""
    return data.StructLayout(
        header() | {"kind": AluKind, "dst": unsigned(2), "src": unsigned(2)} | _reduce()
    )


def sfu_op() -> data.StructLayout:
    """Layout of an operation of the special-function lanes."""
    return data.StructLayout(header() | {"kind": SfuKind})


class TileRead(Signature):
    """Read interface of the tile file, seen from a unit.

    Members
    -------
    request : Out, stream: ``mask`` of the registers wanted, ``entry`` of each,
        ``word`` of the tile (0 where a word is a whole tile). Accepted when all of them can be read
        together.
    valid : In, two cycles after an accepted request (in the order of requests; must be taken)
    data : In, for each register the word; of one not asked for undefined
    """

    def __init__(self, params: Params) -> None:
        word = element_bits(params) * tile_elements(params)
        super().__init__(
            {
                "request": Out(
                    stream.Signature(
                        data.StructLayout(
                            {
                                "mask": unsigned(4),
                                "entry": data.ArrayLayout(range(entries(params)), 4),
                                "word": range(16 // tile_elements(params)),
                            }
                        )
                    )
                ),
                "valid": In(1),
                "data": In(data.ArrayLayout(unsigned(word), 4)),
            }
        )


class TileWrite(Signature):
    """Write interface of the tile file, seen from a unit: a stream of ``reg``, ``entry``, ``word``,
    ``data``. A read accepted in the cycle after a write sees its data."""

    def __init__(self, params: Params) -> None:
        word = element_bits(params) * tile_elements(params)
        super().__init__(
            {
                "request": Out(
                    stream.Signature(
                        data.StructLayout(
                            {
                                "reg": unsigned(2),
                                "entry": range(entries(params)),
                                "word": range(16 // tile_elements(params)),
                                "data": unsigned(word),
                            }
                        )
                    )
                )
            }
        )
