# SPDX-License-Identifier: BSD-2-Clause
"""Table type and assembler carry the other four instruction sets: golden words of their documents,
their syntax."""

import random

import pytest

from quintet.gateware.isa.asm import AsmError, assemble_text, disassemble
from quintet.gateware.isa.asm.disassembler import instruction_text
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from tests.gateware.isa.mini_tables import CHERRY, IMAGINE, MINI, OPU, PIM, SOFTWARE


def words(isa, text):
    data = assemble_text(SOFTWARE[isa.name], text).data
    if isa is PIM:
        data = data[1:]
    return isa.load(data)


def error(isa, text):
    with pytest.raises(AsmError) as caught:
        assemble_text(SOFTWARE[isa.name], text, name="x.s")
    return str(caught.value)


@pytest.mark.parametrize("name", MINI)
def test_golden_words(name):
    isa, golden = MINI[name]
    for text, word in golden.items():
        assert words(isa, text) == [word], text
        stored = isa.store(word)
        printed = instruction_text(isa, word, stored, isa.storage[0])
        assert words(isa, printed) == [word]
        # Canonical text is the golden text itself, but for numbers in another base.
        if "0x" not in text:
            assert printed == text


@pytest.mark.parametrize("name", MINI)
def test_round_trip_of_random_and_extreme_words(name):
    isa, _ = MINI[name]
    rng = random.Random(7)
    found = [random_word(isa, rng) for _ in range(200)] + [
        random_word(isa, rng, legal=False) for _ in range(50)
    ]
    found += [rng.getrandbits(isa.bits) for _ in range(50)]
    for instruction in isa.instructions:
        found += extreme_words(isa, instruction)
    found += [word for word, _ in illegal_words(isa)]
    text = "\n".join(instruction_text(isa, w, isa.store(w), isa.storage[0]) for w in found)
    if isa is PIM:  # its image of this test counts bytes in one byte
        for line, word in zip(text.split("\n"), found, strict=True):
            assert words(isa, line) == [word]
    else:
        assert words(isa, text) == found


def test_opu_text():
    assert words(OPU, ".equ BASE, 0x3000 ; bytes\nld.ifm BASE/64 # units") == [
        0x3000 // 64 << 6 | 1
    ]
    assert words(OPU, "conv  ifm : [ 1 , 2 ] , ker : 5") == [0x00014844]
    assert (
        disassemble(SOFTWARE["opu"], OPU.store([0xFFFFFFC0]))
        == ".word 0xffffffc0  # end, not as it is assembled\n"
    )
    assert OPU.decode(0xFFFFFFC0)[2:] == (None, 0)  # ignored bits
    assert OPU.decode(OPU.encode("@shape.ker", n=1) & ~0xFC0).fault == "bad_field"
    assert OPU.decode(16 | 7 << 20 | 1 << 6 | 1 << 13).fault == "bad_field"  # γ = 128
    assert error(OPU, "END").startswith("x.s:1:1: unknown mnemonic 'END', expected")
    assert (
        error(OPU, "ld.ifm 100/64")
        == "x.s:1:11: 100 / 64 is not a whole number, expected an exact division"
    )
    assert error(OPU, "@shape.ker 37") == "x.s:1:12: n of @shape.ker is 37, expected 1 to 36"
    assert (
        error(OPU, "@shape.ifm [1,1,24]")
        == "x.s:1:17: γ of @shape.ifm is 24, expected one of 16, 32, 64"
    )
    assert error(OPU, "@shape.ifm [100,100,16]") == "x.s:1:13: h*w is 10000, expected 1 to 2048"
    assert (
        error(OPU, "conv ifm:[1;")
        == "x.s:1:12: unexpected end of line, expected ',' as in conv ifm:[h,w], ker:n"
    )
    assert (
        error(OPU, "conv img:[1,2], ker:5")
        == "x.s:1:6: unexpected 'img', expected 'ifm' as in conv ifm:[h,w], ker:n"
    )
    # Of the forms of @post the one that went furthest speaks.
    assert (
        error(OPU, "@post act.relu, pole")
        == "x.s:1:17: unexpected 'pole', expected 'pool' as in @post act.relu, pool"
    )


def test_pim_text():
    assert words(PIM, "VVSB $6, $4, $5, 2047, @-1:d12 // alias, any case") == [0xFFFFFFFFFFE5218B]
    assert words(PIM, "vvadd $6, $4, $5, 16, offset=0x43") == [0x000000430205218A]
    assert words(PIM, "wait 5 1") == words(PIM, "wait 5, 1")
    assert words(PIM, "gaddr $2, 0x1_00000002") == [0x0000000100000081, 0x00000002000000C1]
    assert words(PIM, "mov $1, $2") == [0x1046]
    assert words(PIM, "sldi $1, 0xffffffff") == words(PIM, "sldi $1, -1")
    assert error(PIM, "sld $3, $5") == "x.s:1:9: rs1 of sld is 5, expected 0 to 30 in steps of 2"
    assert (
        error(PIM, "sldi 1, 2") == "x.s:1:6: rd is written $ and a number, expected $0 for example"
    )
    assert error(PIM, "sldi $32, 2") == "x.s:1:6: rd of sldi is 32, expected 0 to 31"
    assert (
        error(PIM, "vvadd $6, $4, $5, 16, @8:x")
        == "x.s:1:26: bad selection, expected letters of d, 1, 2"
    )
    assert error(PIM, ".mode 16") == "x.s:1:7: unknown mode 16, expected 64 or packed"
    assert error(PIM, ".mode packed 3") == "x.s:1:14: unexpected '3', expected end of line"


def test_pim_sections_and_packed_form():
    program = assemble_text(
        SOFTWARE["pim"],
        """.core 0
        nop
        .core 1
        .mode packed
        sldi $1, 0x1234
        sldi $1, 0x300000
        vvadd $6, $4, $5, 16, @8:d1
        .word 0x21
        .core 0
        nop""",
        name="x.s",
    )
    assert program.data[:2] == bytes((16, 4 + 8 + 8 + 8))
    packed = program.data[18:]
    assert (
        packed.hex()
        == (0x0091A041).to_bytes(4, "little").hex()
        + (0x0030000000000061).to_bytes(8, "little").hex()
        + (0x00000043020521AA).to_bytes(8, "little").hex()
        + "2100000000000000"
    )
    assert [line.line for line in program.lines.values()] == [2, 10, 5, 6, 7, 8]
    assert list(program.lines) == [2, 10, 18, 22, 30, 38]
    storage, offset, found = PIM.storage[1], 0, []
    while offset < len(packed):
        word, size = storage.load(packed, offset)
        found.append(word)
        offset += size
    assert found[:3] == [0x0000123400000041, 0x0030000000000041, 0x000000430205218A]
    assert error(PIM, ".mode packed\n.word 1<<32 | 1").startswith(
        "x.s:2:7: the word does not fit, expected 32 bits"
    )


def test_cherry_text():
    assert words(CHERRY, ".loop m 4 -1\nstart_loop (m)\nend_loop $d2") == [0x24000, 0x26800]
    assert words(CHERRY, ".equ K 3\n.loop k (1 + K)*2 K-1 $d7\nstart_loop k") == [0x24000 | 7 << 10]
    assert error(CHERRY, "start_loop m") == "x.s:1:12: 'm' is not declared"
    assert error(CHERRY, ".loop m 4*") == "x.s:1:11: unexpected end of line, expected a number"
    assert (
        error(CHERRY, ".loop m 4)2 1")
        == "x.s:1:10: unexpected ')', expected a blank or the end of the line"
    )
    assert error(CHERRY, ".loop m 4") == "x.s:1:10: unexpected end of line, expected a number"
    assert words(CHERRY, "COPY $r3, INPUT") == [0x1B800]
    assert CHERRY.store(0x3FFFF) == bytes.fromhex("ffff0300")
    assert CHERRY.decode(0x40000).fault == "bad_field"  # bits above the word
    assert words(CHERRY, disassemble(SOFTWARE["cherry"], bytes.fromhex("ffffffff"))) == [0xFFFFFFFF]
    assert (
        error(CHERRY, "copy acc, INPUT")
        == "x.s:1:6: unknown dst 'acc', expected one of INPUT, WEIGHTS, OUTPUT, ACC"
    )
    assert error(CHERRY, "max 0, 3") == "x.s:1:8: axis of max is 3, expected 0 to 2"
    assert error(CHERRY, "load $a0, ACC, 0, 1") == "x.s:1:16: len_y of load is 0, expected 1 to 4"
    assert (
        error(CHERRY, "max 0, 1, 2, 3, 4")
        == "x.s:1:17: max takes 1 to 4 operands, not 5, expected max acc[, axis[, count[, target]]]"
    )
    assert error(CHERRY, "load $a0, ACC, 3") == (
        "x.s:1:17: unexpected end of line, expected ',' as in load apu, reg[, len_y, "
        "len_x[, zero, skip]]"
    )


def test_imagine_text():
    assert words(IMAGINE, "mv_write data=0x5A3C, addr=291") == [0x05235A3C]
    assert words(IMAGINE, "mv_write 291, data=(0x5A3C\n)") == [0x05235A3C]
    assert words(IMAGINE, "mv_BLOCKACCUM 19, rs=37") == [
        0x100104E5,
        0x100204D3,
        0x100304D3,
        0x100404D3,
    ]
    assert words(IMAGINE, "mv_movOffset 0, 17, 42") == [0x1C00046A]
    assert (
        disassemble(SOFTWARE["imagine"], IMAGINE.store([0x1C00046A, 0x10800000]))
        == "mv_mov 17, 42\n.word 0x10800000  # illegal_opcode 4\n"
    )
    assert error(IMAGINE, "mv_write 1, addr=2") == "x.s:1:13: addr is given twice"
    assert (
        error(IMAGINE, "mv_write adr=1, data=2")
        == "x.s:1:10: mv_write has no operand 'adr', expected addr, data"
    )
    assert (
        error(IMAGINE, "mv_write addr=1, 2")
        == "x.s:1:18: an operand without a name after one with a name, expected name=value"
    )
    assert (
        error(IMAGINE, "mv_write 1, 2, 3")
        == "x.s:1:16: mv_write takes 2 operands, not 3, expected mv_write addr, data"
    )
    assert (
        error(IMAGINE, "mv_write 1")
        == "x.s:1:11: mv_write takes 2 operands, not 1, expected mv_write addr, data"
    )
    assert (
        error(IMAGINE, "mv_write 1 2")
        == "x.s:1:13: mv_write takes 2 operands, not 1, expected mv_write addr, data"
    )
    assert error(IMAGINE, "mv_write (1,\n2") == "x.s:1:10: '(' is never closed"
