# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine's instruction set: encoding, registers, counters and faults (docs/isa/imagine.md,
sections 3, 6 and 7). Pure Python.

The text of a program is calls of the assembler class (``statements.py``), not operands by this
table; decoder, disassembler, random words and reference are made of the table.
"""

from ...isa.instruction import Number
from ...isa.parameters import Params
from ...isa.registers import Fault, Register
from ...isa.table import Decoded, Field, Instruction, Isa, Part, Rule, Storage, Syntax

__all__ = ["INSTRUCTIONS", "ISA", "ImagineIsa", "MULTI_CYCLE", "PES", "levels", "registers_of"]


#: Processing elements of a block: bits of a row of its RAM.
PES = 16


def registers_of(params: Params) -> int:
    """Number of registers of a PE that words can address: min(64, D/N)."""
    return min(64, params["depth"] // params["reg_width"])


def levels(cols: int) -> int:
    """Number of ``mv_accumRow`` levels that add up a row of ``cols`` block columns: ceil(log2
    cols)."""
    return (cols - 1).bit_length()


#: Registers that the words' fields can name.
_REGISTERS = 64


# Rules: fault, condition (without parameters only values that no build accepts), message


def _registers(*names, after=()):
    """Register operands of the build; registers in ``after`` need their successor too (``after`` of
    ``mv_movOffset``: rs)."""

    def check(values, params):
        limit = _REGISTERS if params is None else registers_of(params)
        return (
            0
            if any(values[n] >= limit for n in names) or any(values[n] + 1 >= limit for n in after)
            else None
        )

    return Rule("register_range", check, "a register that there is not", field=(*after, *names)[0])


def _address(values, params):
    return 0 if params is not None and values["addr"] >= params["depth"] else None


def _bit(name):
    def check(values, params):
        return 0 if params is not None and values[name] >= params["reg_width"] else None

    return Rule("field_range", check, f"{name} must be below the width of a register", field=name)


def _fold(values, params):
    return None if 1 <= values["fold"] <= 4 else 0


def _level(values, params):
    return 0 if values["level"] > max(3, levels(params["cols"] if params else 256) - 1) else None


def _select(*names):
    sizes = {"rowID": "rows", "colID": "cols"}

    def check(values, params):
        return (
            0 if params is not None and any(values[n] >= params[sizes[n]] for n in names) else None
        )

    return Rule("select_range", check, "a block that there is not", field=names[0])


def _updatepp_overlap(values, params):
    pair = values["ppreg"], values["ppreg"] + 1
    return 0 if values["multiplicand"] in pair or values["multiplier"] in pair else None


def _offset_overlap(values, params):
    return 0 if values["offset"] and values["rd"] == values["rs"] + 1 else None


# Fields


def _reg(name, hi, lo, doc):
    return Field(name, hi, lo, doc=doc)


_RD = _reg("rd", 11, 6, "destination")
_RS = _reg("rs", 5, 0, "source")
_ROW = Field("rowID", 15, 8, doc="block row")
_COL = Field("colID", 7, 0, doc="block column")


def _fn(value):
    return ((23, 22, value),)


def _sum(name, fn, doc):
    return Instruction(
        name,
        5,
        (
            _reg("rd", 21, 16, "destination"),
            _reg("rs1", 5, 0, "left operand"),
            _reg("rs2", 11, 6, "right operand"),
        ),
        fixed=_fn(fn),
        rules=(_registers("rd", "rs1", "rs2"),),
        doc=doc,
    )


_VV = 16  # opcodes of the column shift registers: submodule 1

INSTRUCTIONS = (
    Instruction("mv_nop", 0, doc="None."),
    Instruction(
        "mv_write",
        1,
        (
            Field("addr", 25, 16, doc="row of the blocks' RAM"),
            Field("data", 15, 0, form=Number(16), doc="one bit of 16 PEs"),
        ),
        rules=(Rule("address_range", _address, "a row that the RAM has not", field="addr"),),
        doc="Row addr of every selected block := data.",
    ),
    Instruction(
        "mv_updatepp",
        3,
        (
            _reg("ppreg", 21, 16, "low register of the partial product"),
            _reg("multiplicand", 11, 6, "register"),
            _reg("multiplier", 5, 0, "register"),
            Field("bitNo", 25, 22, doc="bit of the multiplier"),
        ),
        rules=(
            _registers("multiplicand", "multiplier", after=("ppreg",)),
            _bit("bitNo"),
            Rule(
                "operand_overlap",
                _updatepp_overlap,
                "an operand is part of the partial product",
                field="multiplicand",
            ),
        ),
        doc="One Booth step of a multiplication: partial product + (previous multiplier bit - "
        "bit bitNo) * "
        "multiplicand * 2^bitNo.",
    ),
    Instruction(
        "mv_blockFold",
        4,
        (Field("fold", 19, 16, doc="1 to 4"), _RD, _RS),
        fixed=_fn(0),
        rules=(
            _registers("rd", "rs"),
            Rule("field_range", _fold, "fold must be 1 to 4", field="fold"),
        ),
        doc="PE i < H = 16 >> fold: rd := rs[i] + rs[i+H]; the others rd := rs[i].",
    ),
    Instruction(
        "mv_accumRow",
        4,
        (
            Field("level", 19, 16, doc="0 to 3, or to ceil(log2 cols)-1 if that is more"),
            _reg("reg", 5, 0, "register"),
        ),
        fixed=_fn(1),
        rules=(
            _registers("reg"),
            Rule("field_range", _level, "a level that the array has not", field="level"),
        ),
        doc=(
            "Block columns c with c mod 2^(level+1) = 0: PE 0 of reg += PE 0 of reg of block "
            "column c+2^level."
        ),
    ),
    _sum("mv_add", 0, "rd := rs1 + rs2."),
    _sum("mv_sub", 3, "rd := rs1 - rs2."),
    Instruction(
        "mv_selectCol",
        6,
        (_COL,),
        fixed=_fn(0),
        rules=(_select("colID"),),
        doc="Selects the blocks of one column for mv_write.",
    ),
    Instruction(
        "mv_selectBlk",
        6,
        (_ROW, _COL),
        fixed=_fn(1),
        rules=(_select("rowID", "colID"),),
        doc="Selects one block.",
    ),
    Instruction(
        "mv_selectRow",
        6,
        (_ROW,),
        fixed=_fn(2),
        rules=(_select("rowID"),),
        doc="Selects the blocks of one row.",
    ),
    Instruction("mv_selectAll", 6, fixed=_fn(3), doc="Selects all blocks."),
    Instruction(
        "mv_mov",
        7,
        (_RD, _RS),
        fixed=(*_fn(0), (19, 16, 0)),
        rules=(_registers("rd", "rs"),),
        doc="rd := rs.",
    ),
    Instruction(
        "mv_movOffset",
        7,
        (Field("offset", 19, 16, doc="bits"), _RD, _RS),
        fixed=_fn(0),
        rules=(
            _registers("rd", after=("rs",)),
            _bit("offset"),
            Rule("operand_overlap", _offset_overlap, "rd is rs+1", field="rd"),
        ),
        doc="rd := low bits of {rs+1, rs} >> offset. (offset 0 is mv_mov.)",
    ),
    Instruction(
        "mv_clrmbit",
        8,
        fixed=((18, 16, 0),),
        doc="Previous multiplier bit := 0: begins a multiplication.",
    ),
    Instruction("vv_nop", _VV, doc="None."),
    Instruction(
        "vv_serialEn",
        _VV + 1,
        doc="The column registers take what is written to PE 0 of block column 0.",
    ),
    Instruction(
        "vv_parallelEn", _VV + 2, doc="Emits the column registers, row 0 first, and clears them."
    ),
    Instruction("vv_shiftOff", _VV + 3, doc="The column registers hold."),
)

#: Instructions that take the array for more than a cycle (and are captured in serial mode).
MULTI_CYCLE = (
    "mv_updatepp",
    "mv_blockFold",
    "mv_accumRow",
    "mv_add",
    "mv_sub",
    "mv_mov",
    "mv_movOffset",
)

_WORD = "the word"
#: In order of precedence: of one word the first is reported.
FAULTS = (
    Fault(
        16,
        "program_align",
        "program length or output_at not a multiple of 4 (at start; pc is the program address)",
        "the value, length first",
    ),
    Fault(
        5,
        "program_window",
        "program not wholly inside the memory window (at start; pc is the program address)",
        "first address outside",
    ),
    Fault(17, "illegal_submodule", "bits 31:30 are 2 or 3", _WORD),
    Fault(1, "illegal_opcode", "undefined opcode, fn or scode", _WORD),
    Fault(2, "reserved_bits", "a bit that must be 0 is not", _WORD),
    Fault(
        18,
        "register_range",
        "register not below min(64, depth/reg_width), ppreg+1 too, rs+1 if offset > 0",
        _WORD,
    ),
    Fault(19, "address_range", "address of mv_write not below depth", _WORD),
    Fault(
        20,
        "field_range",
        "bitNo or offset not below reg_width; fold 0 or above 4; level above max(3, "
        "ceil(log2 cols)-1)",
        _WORD,
    ),
    Fault(
        21,
        "select_range",
        "row not below rows, or column not below cols, of a select that uses it",
        _WORD,
    ),
    Fault(
        22,
        "operand_overlap",
        "operand of updatepp in {ppreg, ppreg+1}; movOffset with rd = rs+1 and offset > 0",
        _WORD,
    ),
    Fault(
        23,
        "output_full",
        "vv_parallelEn whose 4*rows bytes do not fit below output_limit",
        "first address that does not fit",
    ),
    Fault(
        24,
        "output_window",
        "the same bytes not wholly inside the memory window",
        "first address outside",
    ),
    Fault(6, "bus_read", "the memory answered a read of the program with an error", "address"),
    Fault(
        25,
        "bus_write",
        "the memory answered a write of a result with an error (pc is the vv_parallelEn; later "
        "words may "
        "have been dispatched)",
        "address",
    ),
    Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
)

REGISTERS = (
    Register("output_at", 0x100, "rw", doc="address of the first FIFO-out word; read at start"),
    Register(
        "output_limit",
        0x104,
        "rw",
        doc="first byte address that results may not reach; read at start",
    ),
    Register("output_count", 0x108, "r", doc="FIFO-out words in memory since start"),
    Register("vectors", 0x10C, "r", doc="those of them that end a vector"),
    Register(
        "eov",
        0x110,
        "rw",
        mask=1,
        storage="engine",
        live=True,
        clears=True,
        doc=(
            "bit 0: the end of a vector is in memory; a write of 1 clears it, while busy too "
            "(setting wins)"
        ),
    ),
    Register(
        "geometry", 0x114, "r", build=True, doc="rows-1 [7:0], cols-1 [15:8], reg_width [20:16]"
    ),
    Register(
        "register_file", 0x118, "r", build=True, doc="depth [15:0], registers of a PE [31:16]"
    ),
)


class ImagineIsa(Isa):
    """Instruction table of IMAGine; the detail of a word's fault is the word, and submodules have a
    fault of their own."""

    def decode(self, word: int, params: Params | None = None) -> Decoded:
        """Decodes a word; its faults carry the word as their detail."""
        decoded = super().decode(word, params)
        if decoded.fault is None:
            return decoded
        fault = decoded.fault
        if decoded.instruction is None and word >> 31:
            fault = "illegal_submodule"
        return decoded._replace(fault=fault, detail=word)


ISA = ImagineIsa(
    name="imagine",
    title="IMAGine",
    tag="IMGN",
    version=(1, 0),
    program_align=4,
    storage=(Storage(32, 4),),
    parts=(Part("opcode", 31, 26), Part("seg1", 25, 16), Part("seg0", 15, 0)),
    instructions=INSTRUCTIONS,
    faults=FAULTS,
    registers=REGISTERS,
    syntax=Syntax(comments=("#", "//"), named=True, multiline=True),
    field_fault="reserved_bits",
    fault_detail=lambda word, item: word,
    doc="Bit-serial matrix-vector products inside block RAMs: 16 processing elements a block, "
    "column shift registers, "
    "straight-line programs that carry their data.",
)
