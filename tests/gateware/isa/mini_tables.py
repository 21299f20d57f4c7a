# SPDX-License-Identifier: BSD-2-Clause
"""Small tables in the manner of the other four instruction sets, to prove that the one table type
carries them."""

from dataclasses import dataclass

from quintet.gateware.isa.instruction import (
    Either,
    Form,
    Log2,
    Modulo,
    Named,
    Number,
    Prefixed,
    Signed,
)
from quintet.gateware.isa.registers import Fault
from quintet.gateware.isa.software import Directive, Software
from quintet.gateware.isa.table import Field, Instruction, Isa, Macro, Part, Rule, Storage, Syntax

FAULTS = (Fault(1, "illegal_opcode", "", ""), Fault(2, "bad_field", "", ""))


def mini(name, tag, **options):
    return Isa(
        name=name, title=name, tag=tag, version=(1, 0), program_align=64, faults=FAULTS, **options
    )


# OPU: 32-bit little-endian, ignored bits, brackets and words in operands, logarithms, combinations
# of keywords


def _unit(hi, lo, name="addr"):
    return Field(name, hi, lo, form=Number(16))


def _hw(h, w, legal=None):
    return Field("h", *h, legal=legal), Field("w", *w, legal=legal)


def _area(values, params):
    return None if 1 <= values["h"] * values["w"] <= 2048 else 0


_AREA = Rule(
    "bad_field", _area, lambda v, p: f"h*w is {v['h'] * v['w']}, expected 1 to 2048", field="h"
)


def _post(order, act, res, text):
    return Instruction("@post", 25, syntax=text, fixed=((7, 6, act), (9, 8, order), (10, 10, res)))


_CONV = (*_hw((9, 6), (13, 10)), Field("n", 19, 14))

OPU = mini(
    "opu",
    "OPU1",
    storage=(Storage(32, 4),),
    parts=(Part("opcode", 5, 0),),
    rest="ignored",
    instructions=(
        Instruction("end", 0),
        Instruction("ld.ifm", 1, (_unit(27, 6),)),
        Instruction("conv", 4, _CONV, "ifm:[{h},{w}], ker:{n}"),
        Instruction("conv.acc", 6, _CONV, "ifm:[{h},{w}], ker:{n}"),
        Instruction("pad", 8, (_unit(27, 6), Field("p", 31, 28))),
        Instruction(
            "@shape.ifm",
            16,
            (
                *_hw((12, 6), (19, 13), range(1, 128)),
                Field("c", 26, 20, coding=Log2(4, 6), label="γ"),
            ),
            "[{h},{w},{c}]",
            rules=(_AREA,),
        ),
        Instruction("@shape.ker", 18, (Field("n", 11, 6, legal=range(1, 37)),)),
        Instruction(
            "@mem.ofm",
            22,
            (Field("addr", 9, 6), *_hw((19, 10), (29, 20), range(1, 1024))),
            "{addr}, [{h},{w}]",
        ),
        Instruction(
            "@shift", 24, (Field("f", 13, 6, coding=Signed()), Field("b", 21, 14, coding=Signed()))
        ),
        _post(0, 0, 0, "pool"),
        _post(0, 1, 0, "act.relu, pool"),
        _post(0, 2, 1, "act.leaky, res, pool"),
        _post(1, 1, 1, "res, act.relu, pool"),
        _post(2, 0, 1, "pool, res"),
    ),
    syntax=Syntax(comments=("#", ";")),
)

OPU_GOLDEN = {
    "end": 0x00000000,
    "ld.ifm 0x1": 0x00000041,
    "conv ifm:[1,2], ker:5": 0x00014844,
    "conv.acc ifm:[15,15], ker:35": 0x0008FFC6,
    "pad 0xc000, 1": 0x10300008,
    "pad 0x3fffff, 15": 0xFFFFFFC8,
    "@shape.ifm [34,34,16]": 0x00444890,
    "@shape.ifm [127,16,64]": 0x00621FD0,
    "@shape.ker 36": 0x00000912,
    "@mem.ofm 3, [18,34]": 0x022048D6,
    "@shift -4, 6": 0x0001BF18,
    "@shift -1, -1": 0x003FFFD8,
    "@post pool": 0x00000019,
    "@post act.relu, pool": 0x00000059,
    "@post act.leaky, res, pool": 0x00000499,
    "@post res, act.relu, pool": 0x00000559,
    "@post pool, res": 0x00000619,
}


# PIM: 64-bit words, stored in 64 bits or in a stream of one and two 32-bit words; sections;
# pseudo-instructions


@dataclass(frozen=True)
class Packed(Storage):
    """One 32-bit word where the upper half is zero (or an immediate is short), else two with 32
    added to the opcode."""

    def store(self, word):
        if word & 63 == 1:
            value = Signed().decode(word >> 32, 32)
            if -(1 << 20) <= value < 1 << 20:
                return (word & 0x7FF | (value & 0x1FFFFF) << 11).to_bytes(4, "little")
        elif word < 1 << 32:
            return word.to_bytes(4, "little")
        return (word + 32).to_bytes(8, "little")

    def raw(self, value):
        size = 8 if value & 63 > 32 else 4
        if not 0 <= value < 1 << 8 * size:
            raise ValueError(f"the word does not fit, expected {8 * size} bits")
        return value.to_bytes(size, "little")

    def load(self, data, offset=0):
        if offset + 4 > len(data):
            return None
        low = int.from_bytes(data[offset : offset + 4], "little")
        if low & 63 <= 32:
            if low & 63 == 1:
                return low & 0x7FF | (Signed().decode(low >> 11, 21) & 0xFFFF_FFFF) << 32, 4
            return low, 4
        return (
            None
            if offset + 8 > len(data)
            else (int.from_bytes(data[offset : offset + 8], "little") - 32, 8)
        )


@dataclass(frozen=True)
class Offset(Form):
    """``@VALUE:SEL`` with letters d, 1, 2, or ``offset=N``, the raw field."""

    def parse(self, cursor, field):
        if cursor.accept("offset"):
            cursor.expect("=")
            return cursor.expression() & 0xFFFF_FFFF
        cursor.expect("@", expected="@VALUE:SEL or offset=N")
        value = cursor.expression()
        cursor.expect(":")
        place, letters = cursor.place, cursor.advance()
        if letters is None or not set(letters.text) <= set("d12"):
            cursor.fail("bad selection", place=place, expected="letters of d, 1, 2")
        select = sum(
            bit for letter, bit in (("d", 1), ("1", 2), ("2", 4)) if letter in letters.text
        )
        return select | (value & (1 << 29) - 1) << 3

    def format(self, value):
        letters = "".join(letter for letter, bit in (("d", 1), ("1", 2), ("2", 4)) if value & bit)
        signed = Signed().decode(value >> 3, 29)
        return f"@{signed}:{letters}" if letters else f"offset={value:#x}"


def _reg(name, lo, legal=None):
    return Field(name, lo + 4, lo, legal=legal, form=Prefixed("$"))


_OFFSET = Field("offset", 63, 32, form=Offset(), default=0)
_VECTOR = (_reg("rd", 6), _reg("rs1", 11), _reg("rs2", 16), Field("len", 31, 21), _OFFSET)


def _core(assembler, cursor):
    assembler.open_section(cursor.expression(), assembler.isa.storage[0])


def _mode(assembler, cursor):
    place, mode = cursor.place, cursor.expression() if cursor.peek_name() is None else cursor.name()
    names = {64: 0, "packed": 1}
    if mode not in names:
        cursor.fail(f"unknown mode {mode}", place=place, expected="64 or packed")
    assembler.section.storage = assembler.isa.storage[names[mode]]


def _image(assembler):
    """A header of one byte a section (its length), then the sections: enough of an image for the
    test."""
    sections = [s for s in assembler.sections.values() if s.items]
    pieces, base = [], len(sections)
    for section in sections:
        pieces.append(assembler.lay_out(section, base))
        base += len(pieces[-1])
    return bytes(map(len, pieces)) + b"".join(pieces)


_IMM = Field("imm", 63, 32, coding=Either())

PIM = mini(
    "pim",
    "PIM1",
    storage=(Storage(64, 8), Packed(64, 8, name="packed")),
    parts=(Part("opcode", 5, 0),),
    instructions=(
        Instruction("nop", 0),
        Instruction("sldi", 1, (_reg("rd", 6), _IMM)),
        Instruction(
            "sld",
            2,
            (
                _reg("rd", 6),
                _reg("rs1", 11, range(0, 32, 2)),
                Field("offset_value", 63, 35, coding=Signed(), default=0),
            ),
            "{rd}, {rs1}<, {offset_value}>",
        ),
        Instruction("saddi", 6, (_reg("rd", 6), _reg("rs1", 11), _IMM)),
        Instruction(
            "setbw",
            8,
            (Field("ibiw", 10, 6, coding=Modulo(32)), Field("obiw", 15, 11, coding=Modulo(32))),
        ),
        Instruction(
            "mvmul",
            9,
            (
                _reg("rd", 6),
                _reg("rs1", 11),
                Field("mbiw", 20, 16, coding=Modulo(32)),
                Field("relu", 31, 31),
                Field("group", 30, 21),
            ),
        ),
        Instruction("vvadd", 10, _VECTOR, "{rd}, {rs1}, {rs2}, {len}<, {offset}>"),
        Instruction(
            "vvsub", 11, _VECTOR, "{rd}, {rs1}, {rs2}, {len}<, {offset}>", aliases=("vvsb",)
        ),
        Instruction("vvdmul", 13, _VECTOR, "{rd}, {rs1}, {rs2}, {len}<, {offset}>"),
        Instruction(
            "wait",
            31,
            (Field("event", 10, 6), Field("value", 20, 11)),
            ("{event}, {value}", "{event} {value}"),
        ),
    ),
    syntax=Syntax(
        comments=(";", "#", "//"),
        fold=True,
        macros=(
            Macro(
                "gaddr",
                (_reg("e", 0, range(0, 31, 2)), Field("value", 63, 0)),
                lambda v, assembler: (
                    ("sldi", {"rd": v["e"], "imm": v["value"] >> 32}),
                    ("sldi", {"rd": v["e"] + 1, "imm": v["value"] & 0xFFFF_FFFF}),
                ),
            ),
            Macro(
                "mov",
                (_reg("d", 0), _reg("s", 0)),
                lambda v, assembler: (("saddi", {"rd": v["d"], "rs1": v["s"], "imm": 0}),),
            ),
        ),
    ),
)

PIM_GOLDEN = {
    "nop": 0,
    "sldi $1, 0x1234": 0x0000123400000041,
    "sldi $31, -1": 0xFFFFFFFF000007C1,
    "sld $3, $4, 8": 0x00000040000020C2,
    "saddi $1, $2, -4": 0xFFFFFFFC00001046,
    "setbw 16, 16": 0x8408,
    "setbw 8, 32": 0x208,
    "mvmul $1, $0, 8, 1, 5": 0x80A80049,
    "mvmul $1, $0, 8, 0, 18": 0x02480049,
    "vvadd $6, $4, $5, 16, @8:d1": 0x000000430205218A,
    "vvsub $6, $4, $5, 2047, @-1:d12": 0xFFFFFFFFFFE5218B,
    "vvdmul $1, $2, $3, 64, @4:12": 0x000000260803104D,
    "wait 5, 1": 0x95F,
}


# Cherry: 18-bit words in 32, names or prefixed numbers, nested optional operands


@dataclass(frozen=True)
class Declared(Form):
    """A name that ``.loop`` declared, or ``prefix`` and a number."""

    prefix: str

    def parse(self, cursor, field):
        number = cursor.take_prefixed(self.prefix)
        if number is not None:
            return number
        place, name = cursor.place, cursor.name(f"a declared name or {self.prefix}0")
        if name not in cursor.assembler.state:
            cursor.fail(f"'{name}' is not declared", place=place)
        return cursor.assembler.state[name][0]

    def format(self, value):
        return f"{self.prefix}{value}"


_REGS = Named(
    (("INPUT", 0), ("WEIGHTS", 1), ("OUTPUT", 2), ("ACC", 3)),
    numbers=False,
    fold=False,
    prefix="$r",
)


def _loop(assembler, cursor):
    """``.loop NAME COUNT [$dN]``, here with a step in place of nothing, to have two numbers in a
    row."""
    name, count, step = cursor.name(), cursor.tight_expression(), cursor.tight_expression()
    number = cursor.take_prefixed("$d")
    assembler.state[name] = (len(assembler.state) if number is None else number, count, step)


_LOOP = (Field("l", 12, 10, form=Declared("$d")),)
_LENGTHS = (
    Field("len_y", 5, 4, coding=Modulo(4), default=4),
    Field("len_x", 3, 2, coding=Modulo(4), default=4),
)
_REDUCE = (
    Field("acc", 12, 12),
    Field("axis", 11, 10, legal=range(3), default=0),
    Field("count", 9, 8, coding=Modulo(4), default=4),
    Field("target", 7, 6, default=0),
)

CHERRY = mini(
    "cherry",
    "CHRY",
    storage=(Storage(18, 4),),
    parts=(Part("opcode", 17, 13),),
    instructions=(
        Instruction("matmul", 0),
        Instruction("max", 7, _REDUCE, "{acc}<, {axis}<, {count}<, {target}>>>"),
        Instruction(
            "copy", 13, (Field("dst", 12, 11, form=_REGS), Field("src", 10, 9, form=_REGS))
        ),
        Instruction(
            "load",
            15,
            (
                Field("apu", 12, 8, form=Declared("$a")),
                Field("reg", 7, 6, form=_REGS),
                *_LENGTHS,
                Field("zero", 1, 1, default=0),
                Field("skip", 0, 0, default=0),
            ),
            "{apu}, {reg}<, {len_y}, {len_x}<, {zero}, {skip}>>",
        ),
        Instruction(
            "store",
            16,
            (Field("apu", 12, 8, form=Declared("$a")), Field("reg", 7, 6, form=_REGS), *_LENGTHS),
            "{apu}, {reg}<, {len_y}, {len_x}>",
        ),
        Instruction("start_loop", 18, _LOOP, ("{l}", "({l})")),
        Instruction(
            "end_loop_or_jump_if_needed", 19, _LOOP, ("{l}", "({l})"), aliases=("end_loop",)
        ),
    ),
    syntax=Syntax(comments=(";",), fold=True),
)

CHERRY_GOLDEN = {
    "matmul": 0x00000,
    "max 0": 0x0E000,
    "max 1": 0x0F000,
    "max 1, 1, 3, 2": 0x0F780,
    "copy ACC, INPUT": 0x1B800,
    "copy WEIGHTS, OUTPUT": 0x1AC00,
    "load $a0, INPUT": 0x1E000,
    "load $a1, WEIGHTS": 0x1E140,
    "load $a31, ACC, 3, 2, 1, 1": 0x1FFFB,
    "store $a2, ACC": 0x202C0,
    "store $a5, OUTPUT, 1, 4": 0x20590,
    "start_loop $d0": 0x24000,
    "end_loop_or_jump_if_needed $d2": 0x26800,
}


# IMAGine: sub-opcodes in fixed bits, arguments by position or name, macros, statements over several
# lines


def _six(name, lo):
    return Field(name, lo + 5, lo)


_FN = ((25, 24, 0),)


def _fold_all(values, assembler):
    for fold in range(1, 5):
        yield (
            "mv_blockFold",
            {"fold": fold, "rd": values["rd"], "rs": values["rs"] if fold == 1 else values["rd"]},
        )


IMAGINE = mini(
    "imagine",
    "IMGN",
    storage=(Storage(32, 4),),
    parts=(Part("opcode", 31, 26),),
    instructions=(
        Instruction("mv_nop", 0),
        Instruction("mv_write", 1, (Field("addr", 25, 16), Field("data", 15, 0))),
        Instruction(
            "mv_blockFold",
            4,
            (Field("fold", 19, 16, legal=range(1, 5)), _six("rd", 6), _six("rs", 0)),
            fixed=((25, 22, 0),),
        ),
        Instruction(
            "mv_accumRow", 4, (Field("level", 19, 16), _six("reg", 0)), fixed=((25, 22, 1),)
        ),
        Instruction(
            "mv_add", 5, (_six("rd", 16), _six("rs1", 0), _six("rs2", 6)), fixed=((25, 22, 0),)
        ),
        Instruction(
            "mv_sub", 5, (_six("rd", 16), _six("rs1", 0), _six("rs2", 6)), fixed=((25, 22, 3),)
        ),
        Instruction("mv_mov", 7, (_six("rd", 6), _six("rs", 0)), fixed=((25, 16, 0),)),
        Instruction(
            "mv_movOffset",
            7,
            (Field("offset", 19, 16), _six("rd", 6), _six("rs", 0)),
            fixed=((25, 22, 0),),
        ),
        Instruction("vv_serialEn", 17),
    ),
    syntax=Syntax(
        comments=("#", "//"),
        named=True,
        multiline=True,
        macros=(Macro("mv_BLOCKACCUM", (_six("rd", 0), _six("rs", 0)), _fold_all),),
    ),
)

IMAGINE_GOLDEN = {
    "mv_nop": 0x00000000,
    "mv_write 291, 0x5A3C": 0x05235A3C,
    "mv_blockFold 4, 19, 37": 0x100404E5,
    "mv_accumRow 3, 41": 0x10430029,
    "mv_add 33, 12, 50": 0x14210C8C,
    "mv_sub 33, 12, 50": 0x14E10C8C,
    "mv_mov 17, 42": 0x1C00046A,
    "mv_movOffset 11, 17, 42": 0x1C0B046A,
    "vv_serialEn": 0x44000000,
}

MINI = {
    "opu": (OPU, OPU_GOLDEN),
    "pim": (PIM, PIM_GOLDEN),
    "cherry": (CHERRY, CHERRY_GOLDEN),
    "imagine": (IMAGINE, IMAGINE_GOLDEN),
}

#: Name -> the program side of each table.
SOFTWARE = {
    "opu": Software(OPU),
    "imagine": Software(IMAGINE),
    "pim": Software(
        PIM, directives=(Directive(".core", _core), Directive(".mode", _mode)), link=_image
    ),
    "cherry": Software(CHERRY, directives=(Directive(".loop", _loop),)),
}
