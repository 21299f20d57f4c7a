# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's instruction set: encoding, operand forms, registers and faults (docs/isa/cherry.md,
sections 3, 6 and 7). Pure Python."""

from ...isa.asm.cursor import Cursor
from ...isa.instruction import Form, Modulo, Named
from ...isa.parameters import Params
from ...isa.registers import Fault, Register
from ...isa.table import Decoded, Field, Instruction, Isa, Part, Rule, Storage, Syntax

__all__ = [
    "ACC",
    "APU",
    "CherryIsa",
    "DeclaredForm",
    "INPUT",
    "ISA",
    "LOOP",
    "LOOPS",
    "OUTPUT",
    "SPECIAL",
    "TILE",
    "TILES",
    "UNITS",
    "WEIGHTS",
]


#: Names of the tile registers, by number.
TILES = ("INPUT", "WEIGHTS", "OUTPUT", "ACC")
TILE = Named(
    tuple((name, k) for k, name in enumerate(TILES)), numbers=True, fold=False, prefix="$r"
)


class DeclaredForm(Form):
    """Operand form of a loop or address unit: its declared name, or its number with or without
    prefix, if that is declared.

    What is declared stands in the state of the assembler's section, by ``kind``: a dict of name ->
    number (``asm/assembly.py``). A loop may stand in parentheses.
    """

    def __init__(self, kind: str, prefix: str, what: str, brackets: bool = False) -> None:
        self.kind, self.prefix, self.what, self.brackets = kind, prefix, what, brackets

    def parse(self, cursor: Cursor, field: Field) -> int:
        """Parses the number or name at ``cursor``."""
        assert cursor.assembler is not None, "operands are read by an assembler"
        declared = cursor.assembler.section.state.get(self.kind, {})
        closing = self.brackets and cursor.accept("(")
        place = cursor.place
        number = cursor.take_prefixed(self.prefix)
        if number is None and cursor.at_number():
            number = cursor.expression()
        if number is None:
            name = cursor.name(f"{self.what}, by name or as {self.prefix}0")
            if name not in declared:
                cursor.fail(
                    f"no {self.what} is called '{name}'",
                    place=place,
                    expected=", ".join(declared) or f"one declared by .{self.kind}",
                )
            number = declared[name]
        elif number not in declared.values():
            cursor.fail(
                f"{self.prefix}{number} is not declared",
                place=place,
                expected=", ".join(f"{self.prefix}{k}" for k in sorted(declared.values()))
                or f".{self.kind} before it",
            )
        if closing:
            cursor.expect(")")
        return number

    def format(self, value: int) -> str:
        """Formats the number, which every listing declares."""
        return f"{self.prefix}{value}"


LOOP = DeclaredForm("loop", "$d", "loop", brackets=True)
APU = DeclaredForm("apu", "$a", "address unit")


#: Numbers of the tile registers.
INPUT, WEIGHTS, OUTPUT, ACC = range(4)
#: Loop records and address units.
LOOPS, UNITS = 8, 32
#: Instructions of the special-function unit.
SPECIAL = ("div", "pow", "exp", "log")


def _tile(name, hi, doc):
    return Field(name, hi, hi - 1, form=TILE, doc=doc)


def _length(name, hi, doc):
    return Field(name, hi, hi - 1, coding=Modulo(4), default=4, doc=f"{doc}, 1 to 4; 4 is coded 0")


def _lacks(name):
    def check(values, params):
        return 0 if params is not None and not params[name] else None

    return check


_SPECIAL = (Rule("feature", _lacks("sfu_lanes"), "this build has no special functions"),)


def _axis(values, params):
    return 0 if params is not None and values["axis"] and not params["reduce_axes"] else None


def _reduce(name, opcode, doc):
    return Instruction(
        name,
        opcode,
        (
            Field("acc", 12, 12, doc="1: the old element of ACC takes part"),
            Field(
                "axis",
                11,
                10,
                legal=range(3),
                default=0,
                doc="0: down the columns, 1: along the rows, 2: both",
            ),
            _length("count", 9, "rows (axis 0, 2) or columns (axis 1)"),
            Field("target", 7, 6, default=0, doc="row (axis 0, 2) or column (axis 1) of ACC"),
        ),
        "{acc}<, {axis}<, {count}<, {target}>>>",
        rules=(Rule("feature", _axis, "this build has no reduce axis but 0", field="axis"),),
        doc=doc,
    )


def _skip(values, params):
    return 0 if values["skip"] and values["len_y"] == 4 else None


_UNIT = Field("apu", 12, 8, form=APU, doc="address unit")
_SHAPE = (
    _tile("reg", 7, "tile register"),
    _length("len_y", 5, "rows"),
    _length("len_x", 3, "columns"),
)
_LOOP = (Field("loop", 12, 10, form=LOOP, label="loop", doc="loop record"),)

INSTRUCTIONS = (
    Instruction("matmul", 0, doc="ACC += INPUT @ WEIGHTS."),
    Instruction("mulacc", 1, doc="ACC += INPUT * WEIGHTS, element by element."),
    Instruction("add", 2, doc="OUTPUT = INPUT + WEIGHTS."),
    Instruction("sub", 3, doc="OUTPUT = INPUT - WEIGHTS."),
    Instruction("mul", 4, doc="OUTPUT = INPUT * WEIGHTS, element by element."),
    Instruction("div", 5, rules=_SPECIAL, doc="OUTPUT = INPUT / WEIGHTS."),
    Instruction("pow", 6, rules=_SPECIAL, doc="OUTPUT = INPUT to the power of WEIGHTS."),
    _reduce("max", 7, "ACC's target row or column = maximum of OUTPUT along an axis."),
    _reduce("sum", 8, "ACC's target row or column = sum of OUTPUT along an axis."),
    Instruction("relu", 9, doc="OUTPUT = INPUT where it is positive, else +0."),
    Instruction("exp", 10, rules=_SPECIAL, doc="OUTPUT = e to the power of INPUT."),
    Instruction("log", 11, rules=_SPECIAL, doc="OUTPUT = log2 of INPUT."),
    Instruction("gtz", 12, doc="OUTPUT = 1 where INPUT is positive, else +0."),
    Instruction("nop", 13, fixed=((12, 9, 0),), doc="Nothing: copy INPUT, INPUT."),
    Instruction(
        "copy", 13, (_tile("dst", 12, "destination"), _tile("src", 10, "source")), doc="dst = src."
    ),
    Instruction("zero", 14, (_tile("reg", 12, "tile register"),), doc="reg = +0."),
    Instruction(
        "load",
        15,
        (
            _UNIT,
            *_SHAPE,
            Field("zero", 1, 1, default=0, doc="1: the tile becomes +0 first"),
            Field("skip", 0, 0, default=0, doc="1: rows move down by one, row 0 stays"),
        ),
        "{apu}, {reg}<, {len_y}, {len_x}<, {zero}, {skip}>>",
        rules=(
            Rule(
                "field",
                _skip,
                "4 rows leave no row to skip, expected len_y 1 to 3 with skip",
                field="len_y",
            ),
        ),
        doc="len_y rows of len_x elements of MEM into reg.",
    ),
    Instruction(
        "store",
        16,
        (_UNIT, *_SHAPE),
        "{apu}, {reg}<, {len_y}, {len_x}>",
        doc="len_y rows of len_x elements of reg into MEM.",
    ),
    Instruction(
        "start_independent_loop",
        17,
        _LOOP,
        doc="Iterations up to the loop's end in any order, in groups of contexts.",
    ),
    Instruction(
        "start_loop", 18, _LOOP, doc="Iterations up to the loop's end, one after the other."
    ),
    Instruction(
        "end_loop_or_jump_if_needed", 19, _LOOP, aliases=("end_loop",), doc="Next iteration, or on."
    ),
)

_WORD = "the word"
#: In order of precedence: of one instruction the first is reported.
FAULTS = (
    Fault(1, "opcode", "opcode 20 to 31", _WORD),
    Fault(2, "field", "a bit that must be 0 is not; axis 3; four rows with skip", _WORD),
    Fault(
        3,
        "state",
        "reason 1: start inside an independent loop, 2: start of an active loop, 3: end "
        "without a loop, 4: end of "
        "another loop than the innermost, 5: end at the wrong distance, 6: more iterations "
        "than the contexts that a "
        "persistent program needs",
        "[7:0] loop, [15:8] reason",
    ),
    Fault(
        4,
        "capacity",
        "more instructions than imem, more contexts than built, image or list longer than "
        "program_length (pc: "
        "the header word)",
        _WORD,
    ),
    Fault(
        5,
        "window",
        "image, list, descriptor or data outside the memory window (pc: list entry or program "
        "address, the "
        "descriptor)",
        "the byte address",
    ),
    Fault(6, "bus", "the memory answered with an error (pc as window)", "the byte address"),
    Fault(
        7,
        "program_end",
        "end of the program with a loop open, or a loop of no iterations that ends beyond it",
        "the loop",
    ),
    Fault(8, "aborted", "ended by the host or the cycle limit", "0"),
    Fault(
        16,
        "feature",
        "special function, reduce axis or acc_frac that this build has not, by the image's "
        "flags or met in the "
        "code",
        _WORD,
    ),
    Fault(
        17,
        "image",
        "magic, version, reserved bits, order or size of an image or list (pc: the word)",
        _WORD,
    ),
    Fault(
        18,
        "undeclared",
        "a loop or address unit that the image does not hold",
        "number, bit 8 set for an address unit",
    ),
    Fault(
        19,
        "mem_range",
        "address of a load or store not below 2^log_mem",
        "the first such address, row by row",
    ),
    Fault(
        20,
        "descriptor",
        "op or format above 3, reserved bits, no rows or columns, an address or pitch that is "
        "no multiple of "
        "4 (pc: the descriptor)",
        _WORD,
    ),
    Fault(
        21,
        "dma_range",
        "MEM address of a descriptor not below 2^log_mem (pc: the descriptor)",
        "the MEM address",
    ),
)

REGISTERS = (
    Register(
        "dma_in_list",
        0x100,
        "rw",
        doc="address of descriptors that run before the first step; 0: none",
    ),
    Register(
        "dma_out_list",
        0x104,
        "rw",
        doc="address of descriptors that run after the last step; 0: none",
    ),
    Register("options", 0x108, "rw", mask=1, doc="bit 0: prefetch and defer are ignored"),
    Register("step", 0x10C, "r", doc="step that runs, or at which the run stopped"),
    Register(
        "fault_context",
        0x110,
        "r",
        doc="[7:0] context, [31:14] its iteration of the independent loop; all ones outside",
    ),
    Register(
        "cap_size",
        0x114,
        "r",
        build=True,
        doc="[4:0] log_mem, [13:8] contexts, [22:16] macs, [28:24] banks",
    ),
    Register(
        "cap_feature",
        0x118,
        "r",
        build=True,
        doc="[3:0] sfu_lanes, [4] reduce_axes, [5] acc_frac is 17, [6] DMA beside programs, "
        "[31:16] imem",
    ),
    Register(
        "loop_var",
        0x120,
        "r",
        count=LOOPS,
        storage="engine",
        doc="iteration of the loop when stopped; all ones if it was not active",
    ),
)


class CherryIsa(Isa):
    """Instruction table of Cherry; the detail of a word's fault is the word."""

    def decode(self, word: int, params: Params | None = None) -> Decoded:
        """Decodes a word; its faults carry the word as their detail."""
        decoded = super().decode(word, params)
        return decoded if decoded.fault is None else decoded._replace(detail=word)


ISA = CherryIsa(
    name="cherry",
    title="Cherry",
    tag="CHRY",
    version=(1, 0),
    program_align=4,
    storage=(Storage(18, 4),),
    parts=(Part("opcode", 17, 13), Part("operands", 12, 0)),
    instructions=INSTRUCTIONS,
    faults=FAULTS,
    registers=REGISTERS,
    syntax=Syntax(comments=(";",), fold=True),
    opcode_fault="opcode",
    field_fault="field",
    fault_detail=lambda word, item: word,
    doc=(
        "18-bit floats on 4x4 tiles, 32 address units driven by loop counters, loops whose "
        "iterations may run in any order."
    ),
)
