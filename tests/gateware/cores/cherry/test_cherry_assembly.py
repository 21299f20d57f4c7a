# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's directives: images and lists byte by byte, every error, every warning, and the way back
to text."""

import re
import struct
import zlib
from pathlib import Path

import pytest

from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import AsmError, assemble, assemble_text, disassemble

JOB = Path(__file__).resolve().parents[4] / "firmware" / "cherry" / "small" / "relu_matmul.s"

PING_PONG = """
.program tile
.loop i 4
.apu X 0 1 68 i:4
.apu Y 0x4000 1 68 i:4
start_independent_loop i
  load X, INPUT
  relu
  store Y, OUTPUT
end_loop i
.step tile
.in bf16 0x100000 0x0000 64 64 mem_pitch=68
.out bf16 0x200000 0x4000 64 64 mem_pitch=68
.step tile prefetch defer rebase=0x8000 apus=X,Y
.fill -1.5 0x8000 4 4
.in packed 0x102000 0x8000 64 64 pitch=256 mem_pitch=68 mem_step=-1
.out raw 0x202000 0xC000 64 64 mem_pitch=68
"""


def test_the_worked_job_byte_for_byte():
    program = assemble(SOFTWARE, JOB)
    assert (
        len(program.data) == 412
        and f"{zlib.crc32(program.data):08X}" == "56803E66"
        and not program.warnings
    )
    assert program.line_at(0x160).line == 1 + JOB.read_text().splitlines().index(
        "start_independent_loop z"
    )
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, program.data)).data == program.data


def test_a_bare_image():
    data = assemble_text(SOFTWARE, "matmul").data
    assert data == struct.pack("<9I", 0x59524843, 9 << 16 | 1, 0, 1, 0, 0, 0, 0, 0)
    assert assemble_text(SOFTWARE, "").data == struct.pack(
        "<8I", 0x59524843, 8 << 16 | 1, 0, 0, 0, 0, 0, 0
    )


def test_bare_numbers_of_the_sources_forms():
    declared = ".loop i 4\n.apu X 0 1 4 i:16\n"
    bare = "start_loop (0)\nload 0, 1\ncopy 1, 2\nzero 3\nend_loop 0"
    named = "start_loop i\nload X, WEIGHTS\ncopy WEIGHTS, OUTPUT\nzero ACC\nend_loop i"
    assert assemble_text(SOFTWARE, declared + bare).data == (
        assemble_text(SOFTWARE, declared + named).data
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("copy 4, 1", "copy is 4, expected 0 to 3"),
        ("start_loop (1)\nend_loop (1)", "$d1 is not declared, expected $d0"),
        ("load 7, 1", "$a7 is not declared, expected $a0"),
    ],
)
def test_bare_numbers_that_are_refused(text, message):
    with pytest.raises(AsmError, match=re.escape(message)):
        assemble_text(SOFTWARE, ".loop i 4\n.apu X 0 1 4 i:16\n" + text)


def test_flags_come_from_the_code_and_from_needs():
    def flags(text):
        return struct.unpack_from("<I", assemble_text(SOFTWARE, text).data, 8)[0]

    assert (
        flags("exp") == flags("pow") == 1 << 8
        and flags("sum 0, 1") == 1 << 9
        and flags("sum 0") == 0
    )
    assert flags(".needs contexts=5 acc_frac=17\nlog\nmax 1, 2") == 5 | 7 << 8


def test_lists():
    program = assemble_text(SOFTWARE, PING_PONG)
    words = struct.unpack(f"<{len(program.data) // 4}I", program.data)
    assert words[:3] == (0x4C524843, 2 << 16 | 1, len(program.data)) and words[8] == words[16]
    assert words[19] == 3 and words[20] == 0x8000 and words[21] == 0b11
    fill = words[words[17] // 4 :][:8]
    assert fill[:4] == (3, 0x2FF00, 0x8000, 4 | 4 << 16) and fill[4:] == (0, 4, 1, 0)
    packed = words[words[17] // 4 + 8 :][:8]
    assert packed[0] == 1 | 2 << 8 and packed[4:7] == (256, 68, 0xFFFF_FFFF)
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, program.data)).data == program.data


@pytest.mark.parametrize(
    "text, pattern",
    [
        ("0.1", 0x0F733),
        ("-1e0", 0x2FE00),
        ("3.4e38", 0x1FDFF),
        ("1e-999999999", 0),
        ("inf", 0x1FE00),
        ("-inf", 0x3FE00),
        ("nan", 0x1FF00),
        ("5", 5),
        ("0x3ffff", 0x3FFFF),
        ("1_0.5", 0x104A0),
    ],
)
def test_values_of_fills(text, pattern):
    data = assemble_text(SOFTWARE, f".fill {text} 0 1 1").data
    assert struct.unpack_from("<II", data, 64) == (3, pattern)


ERRORS = [
    ("matmal", "1:1: unknown mnemonic 'matmal', expected MATMUL"),
    ("load x, INPUT", "1:6: no address unit is called 'x', expected one declared by .apu"),
    (".apu a 0 0 0\nload b, INPUT", "2:6: no address unit is called 'b', expected a"),
    ("load $a0, INPUT", "1:6: $a0 is not declared, expected .apu before it"),
    (".loop l 1\nstart_loop $d3", "2:12: $d3 is not declared, expected $d0"),
    (
        ".apu a 0 0 0\nload a, INPUTS",
        "2:9: unknown reg 'INPUTS', expected one of INPUT, WEIGHTS, OUTPUT, ACC or a number",
    ),
    (".apu a 0 0 0\nload a, INPUT, 0, 4", "2:16: len_y of load is 0, expected 1 to 4"),
    (
        ".apu a 0 0 0\nload a, INPUT, 4, 4, 0, 1",
        "2:16: 4 rows leave no row to skip, expected len_y 1 to 3 with skip",
    ),
    ("sum 0, 3", "1:8: axis of sum is 3, expected 0 to 2"),
    ("sum 2", "1:5: acc of sum is 2, expected 0 to 1"),
    (".loop l 1\nstart_loop l", "2:1: loop l is never closed, expected end_loop"),
    (
        ".loop l 1\nend_loop l",
        "2:1: end of loop l, which was not started, expected its start before it",
    ),
    (
        ".loop l 1\n.loop m 1\nstart_loop l\nstart_loop m\nend_loop l\nend_loop m",
        "5:1: end of loop l inside loop m, expected end_loop m",
    ),
    (
        ".loop l 1\nstart_loop l\nstart_loop l\nend_loop l\nend_loop l",
        "3:1: loop l is nested in itself, expected another loop",
    ),
    (
        ".loop l 1\n.loop m 1\nstart_independent_loop l\nstart_loop m\nend_loop m\nend_loop l",
        "4:1: loop m starts inside independent loop l, expected its end first",
    ),
    (
        ".loop l 1\nstart_loop l\nend_loop l\nstart_loop l\nadd\nend_loop l",
        "6:1: body of loop l has 1 instructions, an earlier one 0, expected another loop record",
    ),
    (".rept 9, i\n.loop l 1\n.endr", "2:7: loop 'l' is declared twice, expected another name"),
    ("".join(f".loop l{k} 1\n" for k in range(9)), "9:11: more than 8 loops, expected at most 8"),
    (".loop l 1 $d8", "1:11: there is no $d8, expected $d0 to $d7"),
    (".loop l 1 $d1\n.loop m 1 $d1", "2:11: $d1 is declared twice, expected another number"),
    (".loop l 262144", "1:9: count is 262144, expected 0 to 262143"),
    (".loop l", "1:8: count is missing"),
    (
        ".apu a 0 0 0\n.apu a 0 0 0",
        "2:6: address unit 'a' is declared twice, expected another name",
    ),
    (
        "".join(f".apu a{k} 0 0 0\n" for k in range(33)),
        "33:15: more than 32 address units, expected at most 32",
    ),
    (".apu a 0 0 262144", "1:12: stride_y is 262144, expected -131072 to 262143"),
    (".apu a 0 0 0 l:1", "1:14: no loop is called 'l', expected .loop before it"),
    (".loop l 1\n.apu a 0 0 0 l:1 l:2", "2:18: loop 'l' has two coefficients"),
    (".loop l 1\n.apu a 0 0 0 l 1", "2:16: unexpected '1', expected ':' and the coefficient"),
    (".needs", "1:7: nothing is needed, expected contexts=N or acc_frac=17"),
    (".needs lanes=2", "1:8: unknown need 'lanes', expected contexts or acc_frac"),
    (".needs contexts=33", "1:17: contexts is 33, expected 1 to 32"),
    (".needs acc_frac=9", "1:17: acc_frac is 9, expected 17 to 17"),
    (".in fp16 0 0 1 1", "1:5: unknown format 'fp16', expected fp32, bf16, packed, raw"),
    (".in fp32 2 0 1 1", "1:10: main-memory address is 2, expected 0 to 4294967292 in steps of 4"),
    (".in fp32 0 0x40000 1 1", "1:12: MEM address is 262144, expected 0 to 262143"),
    (".in fp32 0 0 0 1", "1:14: number of rows is 0, expected 1 to 65535"),
    (".in fp32 0 0 1", "1:15: number of columns is missing"),
    (
        ".in fp32 0 0 1 1 pitch=2",
        "1:24: pitch is 2, expected -2147483648 to 2147483644 in steps of 4",
    ),
    (
        ".in fp32 0 0 1 1 step=2",
        "1:18: unknown option 'step', expected pitch=, mem_pitch=, mem_step=",
    ),
    (".in fp32 0 0 1 1 mem_step=2 mem_step=3", "1:29: mem_step is given twice"),
    (
        ".fill -1 0 1 1",
        "1:7: value is -1, expected a number with a point or exponent, inf, -inf, nan, or a "
        "pattern from 0 to 0x3ffff",
    ),
    (
        ".fill",
        "1:6: value is end of line, expected a number with a point or exponent, inf, -inf, "
        "nan, or a pattern from 0 to 0x3ffff",
    ),
    (
        ".fill 1e999 0 1 1",
        "1:7: value is '1e999', which no element holds, expected a number that rounds to less "
        "than 2^128, or inf",
    ),
    (".fill -1e40 0 1 1", "1:8: value is '1e40', which no element holds, "),
    (".fill 1e999999999 0 1 1", "1:7: value is '1e999999999', which no element holds, "),
    (f".fill {'1' * 5000}.0 0 1 1", "1:7: value is '1"),
    (
        "add\n.program p",
        "2:10: instructions or declarations stand before .program, expected .program before them",
    ),
    (".program p\n.program p", "2:10: program 'p' stands twice, expected another name"),
    (
        ".program p\nadd\n.program q\nadd",
        "4:4: 2 programs and no .step, expected .step lines that run them",
    ),
    ("add\n.step p", "2:7: no program is called 'p', expected main"),
    (
        ".in fp32 0 0 1 1\n.step main",
        "2:7: DMA lines stand before the first .step, expected .step before them",
    ),
    (
        ".step main later",
        "1:12: unknown option 'later', expected prefetch, defer, rebase=E or apus=A,B",
    ),
    (".step main rebase=4", "1:7: rebase and apus belong together, expected both or none"),
    (
        "add\n.step main rebase=4 apus=Q",
        "2:26: program 'main' has no address unit 'Q', expected .apu in it",
    ),
    (".rept 65528\nadd\n.endr", "3:6: the image takes 65536 words, expected at most 65535"),
]


@pytest.mark.parametrize("text, message", ERRORS)
def test_errors(text, message):
    with pytest.raises(AsmError) as error:
        assemble_text(SOFTWARE, text)
    assert str(error.value).removeprefix("<text>:").startswith(message)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            ".loop l 1\n.loop m 1\n.apu a 0 0 0 m:4\nstart_loop l\nload a, INPUT\nend_loop l",
            "3:6: warning: address unit a has a coefficient of loop m, which never encloses "
            "its use",
        ),
        (
            ".loop l 1\n.apu a 0 0 0 l:4\nstart_independent_loop l\nload a, INPUT\nend_loop l\n"
            "relu",
            "6:1: warning: INPUT is read in ordered code after an independent loop wrote it",
        ),
        (
            ".loop l 4\n.loop m 4\n.apu a 0 0 0 l:4\nstart_independent_loop l\nload a, INPUT\n"
            "end_loop l\nstart_independent_loop m\nrelu\n"
            "end_loop m",
            "8:1: warning: INPUT holds what an earlier independent loop wrote, context by context",
        ),
    ],
)
def test_warnings(text, message):
    warnings = assemble_text(SOFTWARE, text).warnings
    assert len(warnings) == 1 and str(warnings[0]).removeprefix("<text>:").startswith(message)


def test_a_rebase_of_zero():
    """Both are given, so both are there: the mask lies in the list, and the text comes back."""
    text = ".apu a 0 0 0\nload a, INPUT\n.step main rebase=0 apus=a\n"
    data = assemble_text(SOFTWARE, text).data
    assert assemble_text(
        SOFTWARE, disassemble(SOFTWARE, data)
    ).data == data and "rebase=0 apus=a0" in disassemble(SOFTWARE, data)
    with pytest.raises(AsmError, match="a step rebases no address unit"):
        disassemble(SOFTWARE, data[: 32 + 16] + struct.pack("<II", 4, 0) + data[32 + 24 :])


def test_what_a_persistent_program_may_do():
    text = (
        ".needs contexts=4\n.loop l 4\n.loop m 4\n.apu a 0 0 0 l:4\nstart_independent_loop l\n"
        "load a, INPUT\nend_loop l\n"
        "start_independent_loop m\nrelu\nend_loop m"
    )
    assert not assemble_text(SOFTWARE, text).warnings


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda b: b[:-2], "the file ends at byte"),
        (lambda b: b"CHRX" + b[4:], r"word 0x58524843 at offset 0x0 is refused \(fault image\)"),
        (lambda b: b[:0x1C] + b"\1" + b[0x1D:], r"at offset 0x1c is refused \(fault image\)"),
        (lambda b: b[:0x24] + b"\4" + b[0x25:], "at offset 0x|is not as the assembler lays out"),
        (lambda b: b + bytes(4), "is not as the assembler lays out an image or list"),
    ],
)
def test_files_that_are_no_image(damage, message):
    with pytest.raises(AsmError, match=message):
        disassemble(SOFTWARE, damage(assemble(SOFTWARE, JOB).data))


def test_loops_that_do_not_nest_are_raw_words():
    data = bytearray(assemble_text(SOFTWARE, ".loop l 1\nmatmul\nadd").data)
    data[-4:] = struct.pack("<I", 0x26000)
    assert "  .word" not in disassemble(SOFTWARE, bytes(data)) and ".word 0x26000" in disassemble(
        SOFTWARE, bytes(data)
    )
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, bytes(data))).data == bytes(data)
    data[0x24:0x28] = struct.pack("<I", 7)
    with pytest.raises(AsmError, match="loop records do not match the program's starts and ends"):
        disassemble(SOFTWARE, bytes(data))
