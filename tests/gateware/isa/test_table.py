# SPDX-License-Identifier: BSD-2-Clause
"""The table type: words both ways, what a bad table says, random words, layouts."""

import random
from dataclasses import replace

import pytest
from amaranth import Const, Shape, signed, unsigned

from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.isa.instruction import Either, Log2, Modulo, Signed, number_text
from quintet.gateware.isa.registers import Fault, Register
from quintet.gateware.isa.table import Field, Instruction, Isa, Part, Rule, Storage, TableError
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from quintet.gateware.shell.layouts import fields_of, instruction_layout, word_layout
from tests.gateware.isa.mini_tables import CHERRY, IMAGINE, MINI, OPU, PIM

ALL = [ISA, *(isa for isa, _ in MINI.values())]
FAULTS = (Fault(1, "illegal_opcode", "", ""), Fault(2, "bad_field", "", ""))


def tiny(*instructions, **options):
    return Isa(
        **{
            "name": "tiny",
            "title": "Tiny",
            "tag": "TINY",
            "version": (1, 0),
            "program_align": 4,
            "storage": (Storage(16, 2),),
            "parts": (Part("opcode", 15, 12),),
            "faults": FAULTS,
            "instructions": instructions,
            **options,
        }
    )


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tiny(tag="TOOLONG"), "tiny: tag 'TOOLONG' must have four characters"),
        (lambda: tiny(rest="kept"), "tiny: rest must be 'zero' or 'ignored', not 'kept'"),
        (lambda: tiny(parts=(Part("op", 15, 12),)), "tiny: exactly one part must be called opcode"),
        (
            lambda: tiny(storage=(Storage(16, 2), Storage(32, 4))),
            "tiny: every storage must hold words of the same width",
        ),
        (
            lambda: tiny(parts=(Part("opcode", 15, 12), Part("rest", 12, 0))),
            "tiny: parts: rest [12:0] overlaps another range",
        ),
        (
            lambda: tiny(parts=(Part("opcode", 16, 12),)),
            "tiny: parts: opcode [16:12] lies outside the 16-bit word",
        ),
        (
            lambda: tiny(faults=(*FAULTS, Fault(2, "other", "", ""))),
            "tiny: a fault number or name stands twice",
        ),
        (lambda: tiny(faults=FAULTS[:1]), "tiny: no fault is called 'bad_field'"),
        (
            lambda: tiny(registers=(Register("base", 0x100, "rw", reset=8, align=16),)),
            "tiny: register base must have an align of at least 1 and reset to a multiple of "
            "it, not 16",
        ),
        (lambda: tiny(Instruction("a", 16)), "tiny: opcode 16 of a does not fit its part"),
        (
            lambda: tiny(Instruction("a", 1, (Field("x", 12, 0),))),
            "tiny: a: x [12:0] overlaps another range",
        ),
        (
            lambda: tiny(Instruction("a", 1, fixed=((16, 0, 0),))),
            "tiny: a: fixed [16:0] lies outside the 16-bit word",
        ),
        (
            lambda: tiny(Instruction("a", 1, (Field("x", 3, 0), Field("x", 7, 4)))),
            "tiny: two fields of a have the same name",
        ),
        (
            lambda: tiny(Instruction("a", 1, (Field("x", 3, 0, fault="oops"),))),
            "tiny: a raises 'oops', which is no fault",
        ),
        (
            lambda: tiny(Instruction("a", 1, rules=(Rule("oops", None, ""),))),
            "tiny: a raises 'oops', which is no fault",
        ),
        (
            lambda: tiny(Instruction("a", 1, unbuilt="b")),
            "tiny: a acts as 'b', which is no instruction",
        ),
        (
            lambda: tiny(Instruction("a", 1, (Field("x", 3, 0, flag="X"),))),
            "tiny: flag X of a must be one bit",
        ),
        (
            lambda: tiny(Instruction("a", 1, (Field("x", 3, 0),), "")),
            "tiny: syntax of a lacks x, which has no default",
        ),
        (
            lambda: tiny(Instruction("a", 1, (), "{y}")),
            "tiny: syntax of a names y, which is no field",
        ),
        (lambda: tiny(Instruction("a", 1, (), "<[")), "tiny: a: '<' without '>' in syntax '<['"),
        (lambda: tiny(Instruction("a", 1, (), "[>")), "tiny: a: '>' without '<' in syntax '[>'"),
        (lambda: ISA.encode("FOO"), "opentpu has no instruction 'FOO'"),
        (lambda: ISA.encode("RW", tile=1), "RW has no operand 'tile'; it has diagonal, addr"),
        (lambda: ISA.encode("NOP", tile=1), "NOP has no operand 'tile'; it has none"),
        (lambda: ISA.encode("RW"), "RW lacks operand addr"),
        (lambda: ISA.encode("RHM", addr=0, ub=0, length=257), "n of RHM must be 1 to 256, not 257"),
        (lambda: ISA.load(bytes(15)), "15 bytes are not a whole number of opentpu words"),
        (lambda: ISA.with_role("sink"), "opentpu has no operand of role 'sink'"),
        (lambda: instruction_layout(ISA, "FOO"), "opentpu has no instruction 'FOO'"),
        (
            lambda: random_word(ISA, random.Random(1), mnemonics=("FOO",)),
            "opentpu has none of the instructions FOO",
        ),
        (
            lambda: random_word(
                ISA,
                random.Random(1),
                params={"ub_rows": 64, "acc_rows": 64},
                mnemonics=("RHM",),
                limits={"ub": range(64, 70)},
            ),
            "opentpu: no legal word found in 2000 tries",
        ),
    ],
)
def test_messages(make, message):
    with pytest.raises(TableError) as caught:
        make()
    assert str(caught.value) == message


def test_codings():
    assert [Signed().decode(b, 3) for b in range(8)] == [0, 1, 2, 3, -4, -3, -2, -1]
    assert [Signed().encode(v, 3) for v in (-4, -1, 3)] == [4, 7, 3]
    assert (
        -128 in Either().values(8) and 255 in Either().values(8) and 256 not in Either().values(8)
    )
    assert Either().encode(255, 8) == Either().encode(-1, 8) == 255
    assert [Modulo(4).decode(b, 2) for b in range(4)] == [4, 1, 2, 3]
    assert [Modulo(4).encode(v, 2) for v in range(1, 5)] == [1, 2, 3, 0]
    assert Log2(1, 6).values(7) == (2, 4, 8, 16, 32, 64)
    assert (
        Log2(1, 6).decode(0, 7) is None
        and Log2(1, 6).decode(7, 7) is None
        and Log2(1, 6).decode(6, 7) == 64
    )
    assert number_text(-5) == "-5" and number_text(1 << 64) == "0x10000000000000000"


def test_storage_of_every_shape():
    assert ISA.store(ISA.encode("HLT")) == bytes([7] + [0] * 13)
    assert OPU.store([1, 2]) == bytes([1, 0, 0, 0, 2, 0, 0, 0])
    assert CHERRY.store(0x1FFFB) == bytes([0xFB, 0xFF, 1, 0])
    for isa in ALL:
        rng = random.Random(3)
        words = [rng.getrandbits(isa.bits) for _ in range(20)]
        assert isa.load(isa.store(words)) == words
    packed, rng = PIM.storage[1], random.Random(4)
    for _ in range(300):
        word = random_word(PIM, rng)
        assert packed.load(packed.store(word)) == (word, len(packed.store(word)))


def test_what_is_ignored_and_what_must_be_zero():
    assert OPU.zero_mask(OPU.match(0)) == 0
    assert OPU.decode(0xFFFF_FFC0).fault is None
    assert CHERRY.zero_mask(CHERRY.match(0)) == 0x1FFF
    ignoring = tiny(Instruction("a", 1, ignored=((3, 0),)))
    assert ignoring.decode(0x100F).fault is None
    assert ignoring.decode(0x101F)[2:] == ("bad_field", 0)
    detailed = replace(ignoring, fault_detail=lambda word, item: word)
    assert detailed.decode(0x101F)[2:] == ("bad_field", 0x101F)
    assert detailed.decode(0x2000)[2:] == ("illegal_opcode", 0x2000)


def test_part_masks():
    act = ISA.match(ISA.encode("ACT", addr=0, ub=0, length=1))
    assert ISA.part_masks(act) == {"flags": 0b1100_0111}
    assert ISA.part_masks(act, {"ext_pool": False}) == {"flags": 0b1110_0111}
    mmc = ISA.match(ISA.encode("MMC", addr=0, ub=0, length=1))
    assert ISA.part_masks(mmc, {"ext_conv": False}) == {"flags": 0b0111_1000}  # C is ignored
    assert ISA.part_masks(mmc, {"ext_bias": False}) == {"flags": 0b1111_1000}
    assert ISA.part_masks(ISA.match(0)) == {
        "flags": 0xFF,
        "length": 0xFF,
        "addr": 2**64 - 1,
        "ub": 2**24 - 1,
    }


@pytest.mark.parametrize("isa", ALL, ids=lambda isa: isa.name)
def test_random_words_are_what_was_asked(isa):
    rng = random.Random(1)
    seen = set()
    for _ in range(300):
        decoded = isa.decode(random_word(isa, rng))
        assert decoded.fault is None
        assert isa.pack(decoded.instruction, decoded.values) & ~0 == isa.pack(
            decoded.instruction, decoded.values
        )
        seen.add(decoded.instruction.mnemonic)
    assert seen == {i.mnemonic for i in isa.instructions}
    faults = {isa.decode(random_word(isa, rng, legal=False)).fault for _ in range(100)}
    assert None not in faults and isa.opcode_fault in faults
    assert random_word(isa, random.Random(9)) == random_word(isa, random.Random(9))


def test_random_words_of_a_small_build():
    params = {
        "ub_rows": 64,
        "acc_rows": 64,
        "ext_conv": False,
        "ext_diag": False,
        "ext_norm": False,
        "ext_pool": False,
        "ext_sync": False,
    }
    rng = random.Random(2)
    for _ in range(200):
        decoded = ISA.decode(random_word(ISA, rng, params=params, limits={"ub": range(64)}), params)
        assert decoded.fault is None and decoded.instruction.mnemonic not in ("CFG", "SYNC")


@pytest.mark.parametrize("isa", ALL, ids=lambda isa: isa.name)
def test_extremes_and_illegal_words(isa):
    for instruction in isa.instructions:
        words = list(extreme_words(isa, instruction))
        assert words and len(set(words)) == len(words)
        for f in instruction.fields:
            found = {instruction.unpack(w)[f.name] for w in words}
            assert f.coding.decode(f.coding.encode(f.written[0], f.width), f.width) in found
    illegal = list(illegal_words(isa))
    assert all(decoded.fault is not None for _, decoded in illegal)
    assert {d.fault for _, d in illegal} >= ({isa.opcode_fault} if isa.opcode_part.width else set())


def test_illegal_words_cover_every_must_be_zero_bit():
    bits = {
        word & -word
        for word, decoded in illegal_words(ISA)
        if decoded.fault == "bad_field" and word >> 104 == 7
    }
    assert bits == {1 << k for k in range(104)}


def test_word_layout():
    layout = word_layout(ISA)
    assert Shape.cast(layout).width == 112
    assert {name: (field.offset, Shape.cast(field.shape).width) for name, field in layout} == {
        "opcode": (104, 8),
        "flags": (96, 8),
        "length": (88, 8),
        "addr": (24, 64),
        "ub": (0, 24),
    }
    word = ISA.encode("ACT", relu=0, sigmoid=1, pool=1, addr=9, ub=5, length=256)
    view = layout.from_bits(word)
    assert (view.opcode, view.length, view.addr, view.ub) == (4, 0, 9, 5)
    assert (view.flags.func, view.flags.pool, view.flags.switch, view.flags.bias) == (
        2,
        1,
        0,
        0,
    )
    with pytest.raises(TypeError, match="isa must be an Isa, not 3"):
        word_layout(3)


def test_instructions_by_the_role_of_an_operand():
    isa = tiny(
        Instruction("b", 2, (Field("x", 3, 0, role="to"),)),
        Instruction("c", 3, (Field("x", 3, 0),)),
        Instruction("a", 1, (Field("y", 3, 0), Field("x", 7, 4, role="to"))),
    )
    assert isa.with_role("to") == ("b", "a")


def test_instruction_layout():
    layout = instruction_layout(OPU, "@shift")
    assert {name: field.shape for name, field in layout} == {
        "opcode": unsigned(6),
        "f": signed(8),
        "b": signed(8),
    }
    view = layout.from_bits(OPU.encode("@shift", f=-4, b=6))
    assert (view.opcode, view.f, view.b) == (24, -4, 6)
    assert (
        repr(fields_of(OPU, "@shift", Const(0, 32)).shape())
        == repr(fields_of(OPU, "@shift", Const(0, 9)).shape())
        == repr(layout)
    )
    assert Shape.cast(instruction_layout(IMAGINE, "mv_write")).width == 32


def test_overloads_are_chosen_by_operands_and_bits():
    assert IMAGINE.match(0x1C00046A).mnemonic == "mv_mov"
    assert IMAGINE.match(0x1C0B046A).mnemonic == "mv_movOffset"
    assert IMAGINE.decode(0x1440_0000)[2:] == ("illegal_opcode", 5)  # opcode 5, fn 1
    assert OPU.encode("@post") == 0x19
