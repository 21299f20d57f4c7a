# SPDX-License-Identifier: BSD-2-Clause
"""Assembly language of all cores: expressions, constants, includes, repetition, files, and every
message of theirs."""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import (
    AsmError,
    Program,
    assemble,
    assemble_text,
    disassemble,
    load_program,
    save_program,
)
from quintet.gateware.isa.registers import Fault
from quintet.gateware.isa.software import FileForm, Software
from quintet.gateware.isa.table import Field, Instruction, Isa, Part, Storage, Syntax
from quintet.gateware.isa.words import random_word


def value(expression, before=""):
    """The value of an expression, as a tile number."""
    word = assemble_text(SOFTWARE, f"{before}\nRW {expression}").data[-14:]
    return int.from_bytes(word[3:11], "big")


def error(text, name="x.a"):
    with pytest.raises(AsmError) as caught:
        assemble_text(SOFTWARE, text, name=name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("1 << 3 + 1", 16),
        ("0xF0 | 0x0F & 3", 0xF3),
        ("100 / 5 / 4", 5),
        ("17 % 5", 2),
        ("-(-7)", 7),
        ("- -7", 7),
        ("+7", 7),
        ("-8 / -4", 2),
        ("-7 % 4", 1),
        ("256 >> 4", 16),
        ("5 >> 100000", 0),
        ("0 << 100000", 0),
        ("0b1010", 10),
        ("0o17", 15),
        ("0xdead_beef", 0xDEADBEEF),
        ("1_000", 1000),
        ("007", 7),
        ("(1 << 200) >> 190", 1024),
        ("0XaB", 0xAB),
        ("0B11", 3),
        ("0O7", 7),
        ("((((((3))))))", 3),
        ("6/2%2", 1),
        ("1<<2|1<<0", 5),
        ("6&3|8", 10),
    ],
)
def test_expressions(text, expected):
    assert value(text) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.integers(0, 2**70).map(str),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|"]), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(inner, st.sampled_from(["<<", ">>"]), st.integers(0, 40)).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            inner.map(lambda x: f"-{x}"),
        ),
        max_leaves=8,
    )
)
def test_expressions_are_exact_integers(text):
    assert value(f"({text}) & 0xffffffffffffffff") == eval(text) & 0xFFFF_FFFF_FFFF_FFFF


def test_constants():
    assert value("A*B", ".equ A, 3\n.equ B A+1 # a blank will do\n") == 12
    assert value("A", ".equ A -3 + 4") == 1
    assert value("A", ".equ A (2)") == 2
    assert value("a", ".equ a 1\n.equ A 2") == 1  # case matters
    assert value("S", ".equ S 5") == 5  # a flag's letter is free


def test_repetition():
    assert (
        assemble_text(SOFTWARE, ".rept 3, i\nRW i\n.rept 2, j\nRW 10*i+j\n.endr\n.endr").data
        == assemble_text(
            SOFTWARE, "\n".join(f"RW {t}" for i in range(3) for t in (i, 10 * i, 10 * i + 1))
        ).data
    )
    assert assemble_text(SOFTWARE, ".rept 0\nFOO\n.endr").data == b""
    assert value("i", ".rept 1, i\n.endr\n.equ i 4") == 4  # the name is free again
    assert (
        assemble_text(SOFTWARE, ".equ N 2\n.rept N*2\n.endr\nRW 1").data
        == assemble_text(SOFTWARE, "RW 1").data
    )


def test_raw_words():
    assert assemble_text(SOFTWARE, ".word 0x0102030405060708090a0b0c0d0e").data == bytes(
        range(1, 15)
    )
    assert assemble_text(SOFTWARE, ".word (1 << 111) | 1").data == b"\x80" + bytes(12) + b"\x01"


@pytest.mark.parametrize(
    "text, message",
    [
        ("RW 1 /", "1:7: unexpected end of line, expected a number"),
        ("RW (1", "1:6: unexpected end of line, expected ')'"),
        ("RW 7 / 2", "1:6: 7 / 2 is not a whole number, expected an exact division"),
        ("RW 7 / 0", "1:6: '/' by zero"),
        ("RW 7 % (1-1)", "1:6: '%' by zero"),
        ("RW 7 << -1", "1:6: shift by -1, expected 0 or more"),
        ("RW 7 >> -1", "1:6: shift by -1, expected 0 or more"),
        ("RW 1 << (1 << 60)", "1:6: value too wide, expected at most 8192 bits"),
        ("RW (1 << 8000) * (1 << 8000)", "1:16: value too wide, expected at most 8192 bits"),
        (
            "RW " + "(" * 101 + "1" + ")" * 101,
            "1:104: parentheses nested too deeply, expected at most 100 levels",
        ),
        ("RW x", "1:4: unknown name 'x', expected a number or a name defined before by .equ"),
        ("RW 0x", "1:4: bad number '0x', expected decimal, 0x, 0o or 0b digits"),
        ("RW 12ab", "1:4: bad number '12ab', expected decimal, 0x, 0o or 0b digits"),
        ("RW 0b12", "1:4: bad number '0b12', expected decimal, 0x, 0o or 0b digits"),
        ("RW 1.5", "1:4: unexpected '1.5', expected a number"),
        ('RW "x"', "1:4: unexpected '\"x\"', expected a number"),
        ("RW é", "1:4: unexpected 'é', expected a number"),
        ("RW 1 2", "1:6: unexpected '2', expected end of line after RW[.D] tile"),
        (
            "\n\n   FOO",
            "3:4: unknown mnemonic 'FOO', expected ACT, CFG, HLT, MMC, NOP, RHM, RW, SYNC, WHM",
        ),
        ("$x", "1:1: unknown mnemonic '$x', expected ACT, CFG, HLT, MMC, NOP, RHM, RW, SYNC, WHM"),
        (
            ".foo 1",
            "1:1: unknown directive '.foo', expected .endr, .equ, .include, .rept, .unchecked, "
            ".word",
        ),
        (".word", "1:6: the word is missing, expected .word EXPRESSION"),
        (".word 1 2", "1:9: unexpected '2', expected end of line"),
        (".equ", "1:5: unexpected end of line, expected a name, as in .equ NAME, EXPRESSION"),
        (".equ 3, 4", "1:6: unexpected '3', expected a name, as in .equ NAME, EXPRESSION"),
        (".equ a.b, 4", "1:6: unexpected 'a.b', expected a name, as in .equ NAME, EXPRESSION"),
        (".equ a,", "1:8: the value of 'a' is missing, expected .equ NAME, EXPRESSION"),
        (".equ a 1 2", "1:10: unexpected '2', expected end of line"),
        (".equ a 1\n.equ a 1", "2:6: 'a' is already defined at x.a:1, expected another name"),
        (".equ a a", "1:8: unknown name 'a', expected a number or a name defined before by .equ"),
        (".rept\n.endr", "1:6: the count is missing, expected .rept COUNT[, NAME]"),
        (".rept 2\nNOP", "1:1: .rept is never closed, expected .endr"),
        (".rept 2\n.rept 2\n.endr", "1:1: .rept is never closed, expected .endr"),
        ("NOP\n.endr", "2:1: .endr without .rept"),
        (".rept 2\n.endr 2", "2:7: unexpected '2', expected end of line"),
        (".rept -1\n.endr", "1:7: count of .rept is -1, expected 0 to 1048576"),
        (".rept 1<<80\n.endr", "1:7: count of .rept is too large, expected 0 to 1048576"),
        (".rept 2 i\n.endr", "1:9: unexpected 'i', expected end of line"),
        (
            ".rept 2,\n.endr",
            "1:9: unexpected end of line, expected a name, as in .rept COUNT, NAME",
        ),
        (
            ".rept 2, i\n.rept 2, i\n.endr\n.endr",
            "2:10: 'i' is already defined at x.a:1, expected another name",
        ),
        (".rept 2\n.equ a 1\n.endr", "2:6: 'a' is already defined at x.a:2, expected another name"),
        (
            ".rept 2, i\nRW 1-i\nRW 0-i\n.endr",
            "3:4: tile of RW is -1, expected 0 to 18446744073709551615",
        ),
        (
            ".rept 1\n" * 51 + ".endr\n" * 51,
            "51:1: .rept nested too deeply, expected at most 50 levels",
        ),
        (".include x", "1:10: unexpected 'x', expected a file name, as in .include \"FILE\""),
        ('.include "nowhere.a"', "1:10: there is no file 'nowhere.a'"),
        ('.include "a" 3', "1:14: unexpected '3', expected end of line"),
        ('.include "a', '1:10: unexpected \'"\', expected a file name, as in .include "FILE"'),
    ],
)
def test_messages(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert error(text) == "x.a:" + message


def test_repetition_bombs_are_refused(monkeypatch):
    monkeypatch.setattr("quintet.gateware.isa.asm.source._MOST_STATEMENTS", 5000)
    nested = ".rept 1000\n" * 4 + "NOP\n" + ".endr\n" * 4
    assert error(nested) == (
        "x.a:4:1: the program is too long, expected at most 5000 statements from .rept and "
        "repeated .include"
    )
    empty = ".rept 4000\n" * 3 + ".endr\n" * 3
    assert "the program is too long" in error(empty)


def test_doubling_constants_are_refused():
    text = ".equ a0 3\n" + "".join(f".equ a{k + 1} a{k}*a{k}\n" for k in range(40))
    assert "value too wide" in error(text)


def test_includes(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "main.a").write_text('.include "lib/one.a"\nRW K\n')
    (tmp_path / "lib" / "one.a").write_text('.include "two.a" # beside it\nRW 1\n')
    (tmp_path / "lib" / "two.a").write_bytes(b"\xef\xbb\xbf.equ K 7\r\nRW 2\r\n")
    program = assemble(SOFTWARE, tmp_path / "main.a")
    assert program.data == assemble_text(SOFTWARE, "RW 2\nRW 1\nRW 7").data
    assert [(line.file, line.line) for line in program.lines.values()] == [
        (str(tmp_path / "lib" / "two.a"), 2),
        (str(tmp_path / "lib" / "one.a"), 2),
        (str(tmp_path / "main.a"), 2),
    ]
    assert str(program.line_at(14)) == f"{tmp_path / 'lib' / 'one.a'}:2"
    assert program.line_at(13) is None


def test_warnings_stand_in_the_order_of_the_source(tmp_path):
    (tmp_path / "main.a").write_text('.include "inner.a"\nACT.RQ 0,0,1\n')
    (tmp_path / "inner.a").write_text("RHM 0,0,256\n")
    program = assemble(SOFTWARE, tmp_path / "main.a")
    assert [w.place.file.rsplit("/", 1)[-1] + f":{w.place.line}" for w in program.warnings] == [
        "main.a:2",
        "main.a:2",
        "inner.a:1",
    ]


def test_include_cycles_and_bombs(tmp_path, monkeypatch):
    (tmp_path / "a.a").write_text('.include "b.a"\n')
    (tmp_path / "b.a").write_text('NOP\n.include "a.a"\n')
    with pytest.raises(
        AsmError, match=r"b\.a:2:10: 'a\.a' includes itself \(.*a\.a -> .*b\.a -> .*a\.a\)"
    ):
        assemble(SOFTWARE, tmp_path / "a.a")
    (tmp_path / "self.a").write_text('.include "./self.a"\n')
    with pytest.raises(AsmError, match="includes itself"):
        assemble(SOFTWARE, tmp_path / "self.a")
    for k in range(60):
        (tmp_path / f"d{k}.a").write_text(f'.include "d{k + 1}.a"\n')
    with pytest.raises(
        AsmError, match="d49.a:1:10: includes nested too deeply, expected at most 50 levels"
    ):
        assemble(SOFTWARE, tmp_path / "d0.a")
    for k in range(30):  # each twice: 2**30 lines
        (tmp_path / f"e{k}.a").write_text(f'.include "e{k + 1}.a"\n.include "e{k + 1}.a"\n')
    (tmp_path / "e30.a").write_text("NOP\n")
    monkeypatch.setattr("quintet.gateware.isa.asm.source._MOST_INCLUDES", 500)
    with pytest.raises(AsmError, match="too many includes, expected at most 500"):
        assemble(SOFTWARE, tmp_path / "e0.a")
    # Twice in turn is no cycle.
    (tmp_path / "twice.a").write_text('.include "e30.a"\n.include "e30.a"\n')
    assert len(assemble(SOFTWARE, tmp_path / "twice.a").data) == 28


def test_unreadable_sources(tmp_path):
    with pytest.raises(AsmError, match=r"none\.a: cannot be read \(No such file or directory\)"):
        assemble(SOFTWARE, tmp_path / "none.a")
    with pytest.raises(AsmError, match=r"cannot be read \(Is a directory\)"):
        assemble(SOFTWARE, tmp_path)
    (tmp_path / "binary.a").write_bytes(b"NOP\n\xff\xfe")
    with pytest.raises(
        AsmError, match=r"binary\.a: byte 4 is not UTF-8 text, expected an assembly source"
    ):
        assemble(SOFTWARE, tmp_path / "binary.a")


def test_program_files_by_suffix(tmp_path):
    source = tmp_path / "net.v2.s"
    source.write_text("RW 3\nHLT")
    program = load_program(SOFTWARE, source)
    for name in ("p.out", "p.bin"):
        save_program(SOFTWARE, program, tmp_path / name)
        assert (tmp_path / name).read_bytes() == program.data
        assert load_program(SOFTWARE, str(tmp_path / name)) == Program(program.data)
    with pytest.raises(
        AsmError,
        match=r"p\.elf: no program form of opentpu has this suffix, expected \.a, \.s, "
        r"\.out, \.bin",
    ):
        load_program(SOFTWARE, tmp_path / "p.elf")
    with pytest.raises(AsmError, match=r"p\.s: this form is only read, expected \.out, \.bin"):
        save_program(SOFTWARE, program, tmp_path / "p.s")
    assert not (tmp_path / "p.s").exists()


def test_nothing_is_half_written(tmp_path, monkeypatch):
    target = tmp_path / "p.out"
    target.write_bytes(b"before")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(AsmError, match=r"p\.out: cannot be written \(No space left on device\)"):
        save_program(SOFTWARE, Program(bytes(14)), target)
    assert target.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["p.out"]
    monkeypatch.undo()
    with pytest.raises(AsmError, match=r"cannot be written"):
        save_program(SOFTWARE, Program(bytes(14)), tmp_path / "no" / "p.out")


def test_error_attributes():
    with pytest.raises(ValueError) as caught:
        assemble_text(SOFTWARE, "RW x", name="y.a")
    assert (tuple(caught.value.place), caught.value.message) == (("y.a", 1, 4), "unknown name 'x'")
    assert caught.value.expected == "a number or a name defined before by .equ"


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet="RWMCAT.SO0123456789x, ()+-*/%<>&|#\n\t\"'.equinclrpd\\é\x00$@[]{}", max_size=60
    )
)
def test_any_text_gives_a_program_or_one_clear_line(text):
    try:
        program = assemble_text(SOFTWARE, text)
    except AsmError as caught:
        assert str(caught).startswith("<text>:") and "\n" not in str(caught)
    else:
        assert assemble_text(SOFTWARE, disassemble(SOFTWARE, program.data)).data == program.data


def test_the_guide_is_right():
    guide = Path(__file__).resolve().parents[4] / "docs" / "how" / "assembler.md"
    source, code = re.findall(r"```\w*\n(.*?)```", guide.read_text(), re.DOTALL)
    assert len(
        assemble_text(SOFTWARE, source, params={"ub_rows": 64, "acc_rows": 64}).data
    ) == 14 * (1 + 2 * 4 + 1)
    exec(code, {})


def test_tables_and_assembler_need_no_fpga_tool():
    check = (
        "import sys, quintet.gateware.isa.asm, quintet.gateware.cores.opentpu.isa; "
        "sys.exit(', '.join({'amaranth', 'numpy', 'quintet.gateware.shell.layouts'} & "
        "set(sys.modules)) or 0)"
    )
    assert (
        subprocess.run([sys.executable, "-c", check], capture_output=True, text=True).stderr == ""
    )


@pytest.mark.long
def test_long_round_trips_and_fuzzed_sources():
    seed, end = (
        int(os.environ["QUINTET_SEED"]),
        time.monotonic() + 60 * float(os.environ["QUINTET_MINUTES"]) / 20,
    )
    rng = random.Random(seed)
    rounds = 0
    while time.monotonic() < end or not rounds:
        words = [random_word(ISA, rng, legal=rng.random() < 0.7) for _ in range(200)]
        text = disassemble(SOFTWARE, ISA.store(words))
        assert assemble_text(SOFTWARE, text).data == ISA.store(words)
        for _ in range(20):
            place, extra = (
                rng.randrange(len(text)),
                rng.choice('RM.S,0x9-+/()<\n# "') * rng.randrange(3),
            )
            damaged = text[:place] + extra + text[place + rng.randrange(3) :]
            try:
                assemble_text(SOFTWARE, damaged)
            except AsmError as caught:
                assert "\n" not in str(caught)
        rounds += 1


# Forms, images and storages of an ISA's own


class Short(Storage):
    """Refuses words with a bit above the eighth."""

    def store(self, word):
        if word >> 12 == 2 and word & 0xF00:
            raise ValueError("this form has eight bits, expected 0 to 255")
        return super().store(word)


SHORT = (Short(16, 2),)


def own(*, storage=SHORT, **hooks):
    """Programs of a tiny ISA with a form of its own, a folder of programs, and an image with a
    header."""

    def read(software, path, params):
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return Program(b"".join(bytes.fromhex(f.read_text()) for f in files))

    def write(software, program, path):
        path.write_text(program.data.hex())

    isa = Isa(
        **{
            "name": "own",
            "title": "Own",
            "tag": "OWN1",
            "version": (1, 0),
            "program_align": 1,
            "parts": (Part("opcode", 15, 12), Part("low", 11, 0, detail=9)),
            "faults": (Fault(1, "illegal_opcode", "", ""), Fault(2, "bad_field", "", "")),
            "instructions": (
                Instruction("a", 1, (Field("x", 3, 0, legal=range(9)),)),
                Instruction("b", 2, (Field("y", 11, 0),)),
                Instruction(
                    "c",
                    3,
                    (Field("p", 3, 0), Field("q", 7, 4, default=2), Field("r", 11, 8)),
                    "{p}<, {q}>, {r}",
                ),
            ),
            "syntax": Syntax(named=True),
            "storage": storage,
        }
    )
    return Software(
        isa,
        forms={
            ".s": FileForm("assembly"),
            ".hex": FileForm("hex", read, write),
            "/": FileForm("folder", read),
        },
        **hooks,
    )


def test_forms_of_an_isas_own(tmp_path):
    software = own()
    program = assemble_text(software, "a 3")
    save_program(software, program, tmp_path / "p.hex")
    assert (tmp_path / "p.hex").read_text() == "0310"
    assert load_program(software, tmp_path / "p.hex").data == program.data
    (tmp_path / "parts").mkdir()
    for name in ("1.hex", "2.hex"):
        save_program(software, program, tmp_path / "parts" / name)
    assert load_program(software, tmp_path / "parts").data == program.data * 2
    with pytest.raises(AsmError, match=r"parts: this form is only read, expected \.hex"):
        save_program(software, program, tmp_path / "parts")


def test_images_of_an_isas_own():
    software = own(
        link=lambda assembler: b"HEAD" + assembler.lay_out(assembler.section, 4),
        listing=lambda software, data, params, text: f"# {len(data)} bytes\n",
    )
    program = assemble_text(software, "a 3\na 4")
    assert program.data == bytes.fromhex("4845414403100410")
    assert list(program.lines) == [4, 6]
    assert disassemble(software, program.data) == "# 8 bytes\n"


def test_storages_of_an_isas_own():
    software = own()
    with pytest.raises(AsmError) as caught:
        assemble_text(software, "a 1\nb 256", name="x.s")
    assert str(caught.value) == "x.s:2:1: this form has eight bits, expected 0 to 255"
    # A word without a form in its storage is printed raw, and an illegal field carries the detail
    # of its part.
    assert (
        disassemble(software, software.isa.storage[0].raw(0x2100))
        == ".word 0x2100  # b, not as it is assembled\n"
    )
    assert (
        disassemble(software, software.isa.storage[0].raw(0x100F))
        == ".word 0x100f  # bad_field 9\n"
    )
    two = own(storage=(Storage(16, 2), Short(16, 4)))
    with pytest.raises(
        AsmError, match="3 bytes are no whole number of words, expected a whole last word"
    ):
        disassemble(two, bytes(3))


def test_named_operands_that_are_missing():
    with pytest.raises(AsmError) as caught:
        assemble_text(own(), "c p=1, q=2", name="x.s")
    assert str(caught.value) == "x.s:1:11: r is missing, expected c p[, q], r"
    assert own().isa.encode("c", p=1, r=2) == 0x3221
