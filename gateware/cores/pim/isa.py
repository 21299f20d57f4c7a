# SPDX-License-Identifier: BSD-2-Clause
"""PIM's instruction set: words, registers, counters, faults (specification, sections 3, 6 and 7).
Pure Python.

Every instruction stands here once, as the word of its 64-bit form; ``storage.py`` has the other two
forms. A fault's detail by its bits alone is the low word of that form, the wide mark of packed code
removed and a short immediate expanded.
"""

from typing import Any

from ...isa.instruction import Either, Modulo, Number, Prefixed, Signed
from ...isa.parameters import Params
from ...isa.registers import Counter, Fault, Register
from ...isa.table import Field, Instruction, Isa, Macro, Part, Rule, Syntax
from .operands import SELECTS, Select
from .storage import STORAGES

__all__ = [
    "COUNTERS",
    "EVENTS",
    "EVENT_MOST",
    "ISA",
    "KINDS",
    "LENGTH_MOST",
    "MACHINE",
    "REGISTERS_PER_CORE",
    "SELECTED",
    "TWO_SOURCES",
    "kind_of",
    "offset_bits",
]

#: Registers of a core, event registers of a core, highest value of one, most elements or bytes of
#: an instruction.
REGISTERS_PER_CORE, EVENTS, EVENT_MOST, LENGTH_MOST = 32, 32, 1023, 2047
#: Value of ``core_select`` that means the whole engine.
MACHINE = 0xFFFF

_REG = Prefixed("$")


# Fields. Roles of registers that hold an address: "destination", "source", "second source" in local
# memory, and "global"; of an offset that always applies: "offset of" one of these.


def _reg(name, lo, doc, role=""):
    return Field(name, lo + 4, lo, form=_REG, role=role, doc=doc)


def _rd(doc, role=""):
    return _reg("rd", 6, doc, role)


def _rs1(doc, role=""):
    return _reg("rs1", 11, doc, role)


def _rs2(doc, role=""):
    return _reg("rs2", 16, doc, role)


def _width(name, lo, doc):
    return Field(name, lo + 4, lo, coding=Modulo(32), doc=f"{doc}, 1 to 32 bits; 32 is coded 0")


_IMM = Field("imm", 63, 32, coding=Either(), doc="immediate")
_TO, _FROM = _rd("address of the result", "destination"), _rs1("address of the source", "source")
_LEN = Field("len", 31, 21, doc="elements; 0: nothing is done")
_SIZE = Field("size", 31, 21, doc="bytes; 0: nothing is done")
_GLOBAL = "pair: global address", "global"
_CORE = Field("core", 20, 11, doc="the other core")
_EVENT = Field("event", 10, 6, doc="event register")


#: Letter of an offset -> the register it stands for, in the order of its bits.
_LETTERS = dict(zip(SELECTS, ("rd", "rs1", "rs2"), strict=True))


def _value(doc, of=""):
    return Field(
        "offset_value", 63, 35, coding=Signed(), default=0, role=of and f"offset of {of}", doc=doc
    )


def _offset(letters, unit="elements", ignored=""):
    """The two fields of an offset; ``letters``: the operands to which it may apply; ``ignored``:
    operands that it may name without effect."""
    hi = 34 if "2" in letters else 33
    return (
        _value(f"offset, in {unit}"),
        Field(
            "offset_select",
            hi,
            32,
            form=Select(letters, ignored),
            default=0,
            doc="which operands the offset applies to"
            + (f" (that of {_LETTERS[ignored]} is ignored)" if ignored else "")
            + ": bit 0 rd, 1 rs1"
            + (", 2 rs2" if hi == 34 else ""),
        ),
    )


_AT = "<, @{offset_value}:{offset_select}>"
_PLAIN = "<, {offset_value}>"


# Rules


def _even(name):
    return Rule(
        "odd_pair",
        lambda v, p: v[name] if v[name] & 1 else None,
        lambda v, p: f"${v[name]} is odd, expected the even register of a pair: fault odd_pair",
        field=name,
    )


def _too_wide(values: dict[str, Any], params: Params | None) -> int | None:
    most = 32 if params is None else params["max_biw"]
    return next((values[name] for name in ("ibiw", "obiw") if values[name] > most), None)


def _too_wide_text(values: dict[str, Any], params: Params | None) -> str:
    most = 32 if params is None else params["max_biw"]
    return (
        f"elements of {_too_wide(values, params)} bits do not exist in this build, "
        f"expected at most {most} (max_biw): fault width"
    )


_BUILT_WIDTH = Rule("width", _too_wide, _too_wide_text)


def _activation(opcode):
    return Rule(
        "unsupported",
        lambda v, p: opcode if p is not None and not p["act_unit"] else None,
        "this build has no unit for it (act_unit): fault unsupported",
    )


# Instructions


def _scalar(mnemonic, opcode, sign):
    return Instruction(
        mnemonic,
        opcode,
        (_rd("result"), _rs1("first operand"), _rs2("second operand")),
        doc=f"rd = rs1 {sign} rs2, modulo 2^32.",
    )


def _scalar_immediate(mnemonic, opcode, sign):
    return Instruction(
        mnemonic,
        opcode,
        (_rd("result"), _rs1("operand"), _IMM),
        doc=f"rd = rs1 {sign} imm, modulo 2^32.",
    )


def _vector2(mnemonic, opcode, doc, aliases=(), ignored=""):
    fields = (
        _TO,
        _rs1("address of the first source", "source"),
        _rs2("address of the second source", "second source"),
        _LEN,
        *_offset("d12", ignored=ignored),
    )
    return Instruction(
        mnemonic, opcode, fields, "{rd}, {rs1}, {rs2}, {len}" + _AT, aliases=aliases, doc=doc
    )


def _vector1(mnemonic, opcode, doc, rules=()):
    fields = (_TO, _FROM, _LEN, *_offset("d1"))
    return Instruction(mnemonic, opcode, fields, "{rd}, {rs1}, {len}" + _AT, rules=rules, doc=doc)


def _bound(mnemonic, opcode, doc):
    fields = (_TO, _FROM, _rs2("the bound itself, signed"), _LEN, *_offset("d12", ignored="2"))
    return Instruction(mnemonic, opcode, fields, "{rd}, {rs1}, {rs2}, {len}" + _AT, doc=doc)


def _move(mnemonic, opcode, rd, rs1, doc, rules=()):
    """Operands ``rd`` and ``rs1`` of a move, with their meaning and role."""
    return Instruction(
        mnemonic,
        opcode,
        (_rd(*rd), _rs1(*rs1), _SIZE, *_offset("d1", "bytes")),
        "{rd}, {rs1}, {size}" + _AT,
        rules=rules,
        doc=doc,
    )


INSTRUCTIONS = (
    Instruction("nop", 0, doc="Does nothing."),
    Instruction("sldi", 1, (_rd("result"), _IMM), doc="rd = imm."),
    Instruction(
        "sld",
        2,
        (_rd("result"), _rs1(*_GLOBAL), _value("offset in bytes", "global")),
        "{rd}, {rs1}" + _PLAIN,
        rules=(_even("rs1"),),
        doc="rd = the four bytes at that global address.",
    ),
    _scalar("sadd", 3, "+"),
    _scalar("ssub", 4, "-"),
    _scalar("smul", 5, "*"),
    _scalar_immediate("saddi", 6, "+"),
    _scalar_immediate("smuli", 7, "*"),
    Instruction(
        "setbw",
        8,
        (_width("ibiw", 6, "width of sources"), _width("obiw", 11, "width of results")),
        rules=(_BUILT_WIDTH,),
        doc="Sets the widths of all later instructions.",
    ),
    Instruction(
        "mvmul",
        9,
        (
            _TO,
            _rs1("address of the input vector", "source"),
            _width("mbiw", 16, "width of the weights, the group's"),
            Field("relu", 31, 31, doc="1: ReLU"),
            Field("group", 30, 21, doc="array group"),
        ),
        doc="Input vector times the matrix of a group, plus bias, shifted, ReLU, saturated.",
    ),
    _vector2("vvadd", 10, "Saturated sum, element by element."),
    _vector2("vvsub", 11, "Saturated difference, element by element.", ("vvsb",)),
    _vector2("vvmul", 12, "Saturated product, element by element."),
    _vector2("vvdmul", 13, "Inner product: one element, saturated.", ("vvdml",), ignored="d"),
    _vector2("vvmax", 14, "The larger, element by element."),
    _vector2("vvsll", 15, "First source shifted left by the second, wrapping."),
    _vector2("vvsra", 16, "First source shifted right by the second, arithmetic, saturated."),
    Instruction(
        "vavg",
        17,
        (
            _TO,
            _FROM,
            _rs2("stride, in elements, signed"),
            _LEN,
            _value("offset of the source, in elements", "source"),
        ),
        "{rd}, {rs1}, {rs2}, {len}" + _PLAIN,
        doc="Mean of elements a stride apart: one element, rounded, saturated.",
    ),
    _vector1("vrelu", 18, "The larger of element and 0."),
    _vector1("vtanh", 19, "Hyperbolic tangent, fixed point.", (_activation(19),)),
    _vector1("vsigm", 20, "Logistic function, fixed point.", (_activation(20),)),
    Instruction(
        "vmv",
        22,
        (_TO, _FROM, _rs2("stride, in elements, signed"), _LEN),
        doc="Gathers elements a stride apart.",
    ),
    _bound("vrsu", 23, "The smaller of element and bound, saturated."),
    _bound("vrsl", 24, "The larger of element and bound, saturated."),
    _move(
        "ld",
        25,
        ("local address", "destination"),
        _GLOBAL,
        "Global memory to local memory.",
        (_even("rs1"),),
    ),
    _move(
        "st",
        26,
        _GLOBAL,
        ("local address", "source"),
        "Local memory to global memory.",
        (_even("rd"),),
    ),
    Instruction(
        "lldi",
        27,
        (
            _rd("local address", "destination"),
            Field("imm", 18, 11, coding=Either(), doc="byte"),
            _SIZE,
            _value("offset in bytes", "destination"),
        ),
        "{rd}, {imm}, {size}" + _PLAIN,
        aliases=("ldi",),
        doc="Fills local memory with a byte.",
    ),
    _move(
        "lmv",
        28,
        ("local address of the result", "destination"),
        ("local address of the source", "source"),
        "Moves bytes within local memory.",
    ),
    Instruction(
        "send",
        29,
        (
            _reg("rs1", 6, "local address", "source"),
            _CORE,
            _SIZE,
            _value("offset in bytes", "source"),
        ),
        "{rs1}, {core}, {size}" + _PLAIN,
        doc="Gives bytes to the matching recv of another core; waits for it.",
    ),
    Instruction(
        "recv",
        30,
        (
            _rd("local address", "destination"),
            _CORE,
            _SIZE,
            _value("offset in bytes", "destination"),
        ),
        "{rd}, {core}, {size}" + _PLAIN,
        doc="Takes bytes from the matching send of another core; waits for it.",
    ),
    Instruction(
        "wait",
        31,
        (_EVENT, Field("value", 20, 11, doc="value waited for")),
        ("{event}, {value}", "{event} {value}"),
        doc="Waits for an event register of this core, and takes from it.",
    ),
    Instruction(
        "sync",
        32,
        (_EVENT, _CORE),
        ("{event}, {core}", "{event} {core}"),
        doc="Adds 1 to an event register of a core, once all older instructions are complete.",
    ),
)

#: Kind of unit -> opcodes, as the counters ``cnt_scalar`` ... count them.
KINDS = {
    "scalar": range(0, 9),
    "matrix": range(9, 10),
    "vector": range(10, 25),
    "transfer": range(25, 33),
}


#: Opcode -> mask of the select bits, of the instructions that have some.
SELECTED = {
    i.opcode: (1 << i.by_name["offset_select"].width) - 1
    for i in INSTRUCTIONS
    if "offset_select" in i.by_name
}


def offset_bits(role: str) -> dict[int, list[str]]:
    """Bits of ``offset_select``, ``{bit: mnemonics}``, that apply the offset to the operand of
    ``role``."""
    found: dict[int, list[str]] = {}
    for instruction in INSTRUCTIONS:
        select = instruction.by_name.get("offset_select")
        form = select.form if select is not None else None
        if not isinstance(form, Select):
            continue
        for bit, (letter, name) in enumerate(_LETTERS.items()):
            operand = instruction.by_name.get(name)
            if (
                operand
                and operand.role == role
                and letter in form.letters
                and letter not in form.ignored
            ):
                found.setdefault(bit, []).append(instruction.mnemonic)
    return found


def kind_of(opcode: int) -> str:
    """Instruction class for the counters, by ``opcode``: ``"scalar"``, ``"matrix"``, ``"vector"``
    or ``"transfer"``."""
    return next(kind for kind, opcodes in KINDS.items() if opcode in opcodes)


# Macros


def _raw(instruction):
    """Text of an instruction with its offset as the raw field, ``offset=N``."""
    fields = tuple(f for f in instruction.fields if not f.name.startswith("offset_"))
    select = instruction.by_name["offset_select"]
    limit = Rule(
        "illegal_field",
        lambda v, p: 0 if v["offset"] & 7 & ~select.written[-1] else None,
        f"offset selects an operand that {instruction.mnemonic} does not have: fault illegal_field",
        field="offset",
    )

    def expand(values, assembler):
        values = dict(values)
        offset = values.pop("offset") & 0xFFFF_FFFF
        value = offset >> 3
        return [
            (
                instruction.mnemonic,
                {
                    **values,
                    "offset_value": value - (value >> 28 << 29),
                    "offset_select": offset & 7,
                },
            )
        ]

    text = ", ".join(f"{{{f.name}}}" for f in fields)
    return Macro(
        instruction.mnemonic,
        (*fields, Field("offset", 63, 32, coding=Either())),
        expand,
        text + ", offset={offset}",
        aliases=instruction.aliases,
        rules=(*instruction.rules, limit),
        doc="offset = raw bits [63:32] of the word.",
    )


MACROS = (
    Macro(
        "gaddr",
        (_rd("even register of a pair"), Field("address", 63, 0, coding=Either(), form=Number(16))),
        lambda v, a: [
            ("sldi", {"rd": v["rd"], "imm": v["address"] >> 32 & 0xFFFF_FFFF}),
            ("sldi", {"rd": v["rd"] + 1, "imm": v["address"] & 0xFFFF_FFFF}),
        ],
        "{rd}, {address}",
        rules=(_even("rd"),),
        doc="A pair of registers = a global address, high word first.",
    ),
    Macro(
        "mov",
        (_rd("result"), _reg("rs1", 11, "source")),
        lambda v, a: [("saddi", {"rd": v["rd"], "rs1": v["rs1"], "imm": 0})],
        "{rd}, {rs1}",
        doc="rd = rs1.",
    ),
    *(_raw(i) for i in INSTRUCTIONS if "offset_select" in i.by_name),
)

#: In order of precedence: within one instruction the first is reported.
FAULTS = (
    Fault(
        1,
        "illegal_opcode",
        "opcode 21 or above 32 (packed: after removing the wide mark)",
        "low word",
    ),
    Fault(
        2, "illegal_field", "a bit that must be zero, or an unusable select bit, is set", "low word"
    ),
    Fault(16, "unsupported", "unit not built (act_unit = 0: vtanh, vsigm)", "opcode"),
    Fault(17, "odd_pair", "sld, ld rs1 or st rd odd", "register number"),
    Fault(
        18,
        "width",
        "setbw above max_biw; mvmul with ibiw > x_bits or mbiw not the group's",
        "offending width",
    ),
    Fault(19, "group", "group >= number of groups", "group"),
    Fault(20, "core_range", "core >= number of core entries; send/recv with own number", "core"),
    Fault(
        21,
        "lmem_range",
        "a byte of an operand outside LMem, wrap included",
        "the operand's start address",
    ),
    Fault(
        22,
        "gmem_range",
        "high word of the final address not zero; range outside GMem or the memory window; sum "
        "with the "
        "base above 2^32",
        "low word of the GMem address",
    ),
    Fault(
        23,
        "overlap",
        "a destination overlaps a source where that is not allowed (section 4.4)",
        "destination address",
    ),
    Fault(
        24,
        "event_overflow",
        "sync would pass 1023 (reported by the syncing core)",
        "core << 8 | event",
    ),
    Fault(
        25,
        "size_mismatch",
        "matched send and recv differ in size (reported by the sender)",
        "send size << 16 | recv size",
    ),
    Fault(
        26,
        "deadlock",
        "every unfinished core is blocked in send, recv or wait and none can proceed",
        "bitmap of blocked cores",
    ),
    Fault(6, "bus_error", "the memory answered with an error", "main-memory address"),
    Fault(
        27,
        "table",
        "anything wrong in header or tables of the image",
        "offset of the field in the image",
    ),
    Fault(
        7,
        "code_end",
        "packed: a wide instruction whose second half is past the code, or words left over",
        "word index",
    ),
    Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
)

REGISTERS = (
    Register(
        "core_table",
        0x100,
        "rw",
        mask=0xFFFF_FFC0,
        doc="address of the image header; 0: the program address",
    ),
    Register(
        "run_flags",
        0x104,
        "rw",
        mask=3,
        doc="bit 0 keep_weights: arrays and biases are programmed already; bit 1 keep_lmem",
    ),
    Register("gmem_base", 0x108, "rw", doc="main-memory address of GMem 0, if gmem_size is not 0"),
    Register("gmem_size", 0x10C, "rw", doc="bytes of GMem; 0: base and size are the header's"),
    Register(
        "core_select",
        0x110,
        "rw",
        reset=MACHINE,
        mask=0xFFFF,
        doc="core that counters and debug registers show; 0xffff: all cores together",
    ),
    Register("fault_core", 0x114, "r", doc="core of the fault"),
    Register("cores_done", 0x118, "r", doc="bitmap of cores at the end of their program"),
    Register("cores_blocked", 0x11C, "r", doc="bitmap of cores blocked in send, recv or wait"),
    Register("load_cycles", 0x120, "r", width=64, doc="cycles of LOAD, part of the busy cycles"),
    Register("core_pc", 0x128, "r", storage="engine", doc="instruction index of the selected core"),
    Register(
        "dbg_index",
        0x130,
        "rw",
        mask=0x7F,
        doc="0 to 31 registers, 32 to 63 events, 64 ibiw, 65 obiw, of the selected core",
    ),
    Register(
        "dbg_value", 0x134, "r", storage="engine", doc="what dbg_index names; only while not busy"
    ),
)

COUNTERS = (
    Counter("scalar", 0x140, 6, doc="scalar instructions, setbw and nop completed"),
    Counter("matrix", 0x148, 6, doc="mvmul completed"),
    Counter("vector", 0x150, 6, doc="vector instructions completed"),
    Counter(
        "transfer",
        0x158,
        6,
        doc="transfer instructions completed, send, recv, wait and sync among them",
    ),
    Counter("code_bytes", 0x160, 9, doc="bytes of code fetched"),
    Counter("comm_bytes", 0x168, 9, doc="bytes sent from core to core"),
    Counter("blocked", 0x170, 6, doc="core-cycles blocked in send, recv or wait"),
)


ISA = Isa(
    name="pim",
    title="PIM",
    tag="PIM1",
    version=(1, 0),
    program_align=64,
    storage=STORAGES,
    parts=(
        Part("opcode", 5, 0),
        Part("a", 10, 6),
        Part("b", 15, 11),
        Part("c", 20, 16),
        Part("d", 31, 21),
        Part("select", 34, 32),
        Part("value", 63, 35),
    ),
    instructions=INSTRUCTIONS,
    faults=FAULTS,
    registers=REGISTERS,
    counters=COUNTERS,
    syntax=Syntax(comments=(";", "#", "//"), fold=True, macros=MACROS),
    rest="zero",
    opcode_fault="illegal_opcode",
    field_fault="illegal_field",
    fault_detail=lambda word, item: word & 0xFFFF_FFFF,
    doc="Many cores, each with a straight-line program, a matrix unit over fixed weights, a "
    "vector unit and a local memory; "
    "they meet in a global memory, by send and receive, and by events.",
)

#: Opcodes with two vectors as sources.
TWO_SOURCES = frozenset(ISA.opcodes[mnemonic] for mnemonic in ISA.with_role("second source"))
