# SPDX-License-Identifier: BSD-2-Clause
"""Exported programs read back: the same words for whatever the exporters write, and everything else
refused at its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.firmware.imagine.small import FOLDER
from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm, IMAGineError
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import AsmError, load_program, save_program
from quintet.tools import Job, open_target, run_job
from quintet.tools.cli import main
from quintet.tools.errors import JobError
from tests.gateware.cores.imagine.oracle.golden import GOLDEN_EXPORT

SOURCE = FOLDER / "small.s"

CALLS = st.one_of(
    st.tuples(st.just("as_addWord"), st.integers(0, 0xFFFF_FFFF)),
    st.tuples(
        st.just("as_addComment"), st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
    ),
    st.tuples(st.sampled_from(("mv_SYNC", "vv_parallelEn", "vv_nop"))),
    st.tuples(st.just("mv_CLRREG"), st.integers(0, 13)),
    st.tuples(
        st.just("mv_LOADVEC_ROW"), st.integers(0, 13), st.lists(st.integers(-9, 9), max_size=3)
    ),
)
COMMENTS = st.none() | st.text("/*#}\"' ,0x1\n\tab\\", max_size=9)


def made(calls):
    asm = IMAGineAsm(warn=lambda text: None)
    asm.setupParams(regCnt=14, resvRegCnt=2, maxLevel=0, fracWidth=4, mvBlockDim=(4, 2))
    for (name, *arguments), comment in calls:
        more = {} if name.startswith("as_") else {"comment": comment}
        getattr(asm, name)(*arguments, **more)
    return asm


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CALLS, COMMENTS), max_size=8),
    st.booleans(),
    st.booleans(),
    st.sampled_from(("_", "")),
)
def test_what_the_exporters_write_reads_back(tmp_path_factory, calls, comment, source, separator):
    asm, folder = made(calls), tmp_path_factory.mktemp("exports")
    asm.export_bin(folder / "a.bin")
    asm.export_verilogBin(folder / "a.mem", comment, source, separator)
    data, suffixes = (folder / "a.bin").read_bytes(), ["mem"]
    try:
        asm.export_CprogHex("kernel", folder / "a.c", comment, source)
        suffixes.append("c")
    except IMAGineError as error:
        assert error.name == "comment" and error.value.rstrip().endswith("\\") and comment
    for suffix in suffixes:
        program = load_program(SOFTWARE, folder / f"a.{suffix}")
        assert program.data == data, suffix
        lines = (folder / f"a.{suffix}").read_bytes().decode().split("\n")
        for offset, word in zip(range(0, len(data), 4), asm.words(), strict=True):
            text = lines[program.line_at(offset).line - 1]
            shown = f"{word:032b}" if suffix == "mem" else f"0x{word:08X}"
            assert text.replace("_", "").lstrip().startswith(shown)


@pytest.mark.parametrize("suffix", ("mem", "c", "hex"))
def test_commands_take_every_form(suffix, tmp_path, capsys):
    """Assembled, read, written and read again the bytes are the same; a job runs them; a
    disassembly assembles to them."""
    data = load_program(SOFTWARE, SOURCE).data
    path, binary, again = (
        tmp_path / f"small.{suffix}",
        tmp_path / "small.bin",
        tmp_path / f"again.{suffix}",
    )
    assert main(["asm", "imagine", str(SOURCE), "-o", str(path)]) == 0
    assert main(["asm", "imagine", str(path), "-o", str(binary)]) == 0
    assert main(["asm", "imagine", str(binary), "-o", str(again)]) == 0
    assert binary.read_bytes() == load_program(SOFTWARE, again).data == data
    if suffix == "hex":
        assert path.read_bytes() == again.read_bytes()
    assert main(["disasm", "imagine", str(path), "-o", str(tmp_path / "back.s")]) == 0
    assert load_program(SOFTWARE, tmp_path / "back.s").data == data
    (tmp_path / "job.toml").write_text(
        (FOLDER / "small.toml").read_text().replace("small.s", f"small.{suffix}")
    )
    assert main(["run", str(tmp_path / "job.toml"), "--out", str(tmp_path / "out")]) == 0
    with open_target("model") as target:
        wanted = run_job(Job.load(FOLDER / "small.toml"), target).tensors
    for name, tensor in wanted.items():
        assert (np.load(tmp_path / "out" / name) == tensor).all()
    capsys.readouterr()


def test_a_fault_names_the_line_of_an_export(tmp_path):
    (tmp_path / "a.mem").write_text(f"// two words\n{'0' * 32}\n11_{'0' * 30} // no submodule\n")
    job = Job(core="imagine", program=tmp_path / "a.mem", program_at=0x1000)
    with open_target("model") as target:
        result = run_job(job, target)
    fault = result.outcome.fault
    assert fault.name == "illegal_submodule" and result.source(fault.pc) == (
        str(tmp_path / "a.mem"),
        3,
    )


def test_a_c_file_keeps_its_parameters(tmp_path):
    """It is refused by another array, as its source is, and another C file made of it says the
    same."""
    save_program(SOFTWARE, load_program(SOFTWARE, SOURCE), tmp_path / "a.c")
    save_program(SOFTWARE, load_program(SOFTWARE, tmp_path / "a.c"), tmp_path / "b.c")
    tails = [(tmp_path / name).read_text().split("// size\n")[1] for name in ("a.c", "b.c")]
    assert tails[0] == tails[1] and "    4,   // mvMaxRow\n    32,   // mvMaxCol\n" in tails[0]
    job = Job(core="imagine", program=tmp_path / "a.c", program_at=0x1000)
    with (
        open_target("model:imagine?rows=2") as target,
        pytest.raises(
            JobError, match=r"the source has mvBlockDim = \(4, 2\), the target 2 x \d+ blocks"
        ),
    ):
        run_job(job, target)
    asm = IMAGineAsm()
    asm.vv_nop()
    asm.export_CprogHex("kernel", tmp_path / "c.c")
    assert load_program(SOFTWARE, tmp_path / "c.c").extra["imagine"][0].mvBlockDim is None


def test_a_backslash_continues_a_comment_in_c(tmp_path):
    """So the next line is no word; the exporter refuses to write that, the reader reads as a C
    compiler does."""
    asm = IMAGineAsm()
    asm.vv_nop(comment="a path: C:\\")
    asm.vv_nop()
    with pytest.raises(
        IMAGineError,
        match=r"^comment = 'VV_NOP; a path: C:.*', expected no backslash at the end of a line: C "
        r"takes the "
        "next one, a word, for a part of the comment$",
    ):
        asm.export_CprogHex("kernel", tmp_path / "a.c")
    assert (
        not (tmp_path / "a.c").exists()
        and asm.CprogHex("kernel", comment=False).count("0x40000000") == 2
    )
    asm.export_verilogBin(tmp_path / "a.mem")
    assert len(load_program(SOFTWARE, tmp_path / "a.mem").data) == 8
    text = asm.CprogHex("kernel", comment=False)
    (tmp_path / "b.c").write_text(text.replace("VV_NOP\n", "VV_NOP \\\n", 1))
    assert len(load_program(SOFTWARE, tmp_path / "b.c").data) == 4


def test_other_layouts_of_the_same_text(tmp_path):
    """White space and line breaks that mean nothing in Verilog and C change no imported word."""
    (tmp_path / "a.mem").write_bytes(
        b"\xef\xbb\xbf/* a\r\n b */ 01" + b"0" * 30 + b"/**/00" + b"0" * 30 + b"//"
    )
    (tmp_path / "a.hex").write_text("4000_0000 // 1\n\n00000000ABCDEF01"[:15] + "\n00000000")
    (tmp_path / "a.c").write_text("""/* { 5 } */
#include "imagine_prog.h"
uint32_t w [ ] = { 0x40000000UL , 0 }; /* two */
const IMAGine_Prog p = { w, sizeof ( w ) / sizeof(w[0]), 0, 0, 0, 16, 8, 16 };
""")
    for suffix in ("mem", "hex", "c"):
        program = load_program(SOFTWARE, tmp_path / f"a.{suffix}")
        assert program.data == bytes.fromhex("0000004000000000"), suffix


TAIL = "IMAGine_Prog p = {w, sizeof(w)/sizeof(w[0]), 4, 8, 48, 16, 8, 16};"


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.mem", "01\n", "1:1: unexpected '01', expected 32 binary digits a word"),
        (
            "a.mem",
            f"{'0' * 32}\n  {'0' * 31}2",
            f"2:3: unexpected '{'0' * 31}2', expected 32 binary digits a word",
        ),
        ("a.mem", f"@10 {'0' * 32}", "1:1: unexpected '@10', expected 32 binary digits a word"),
        (
            "a.mem",
            f"{'0' * 32} / {'0' * 32}",
            "1:34: unexpected '/', expected 32 binary digits a word",
        ),
        (
            "a.mem",
            f"/* 1\n2 */ {'0' * 30}xx",
            f"2:6: unexpected '{'0' * 30}xx', expected 32 binary digits a word",
        ),
        ("a.hex", "0000000g", "1:1: unexpected '0000000g', expected 8 hexadecimal digits a word"),
        ("a.hex", "0x000000", "1:1: unexpected '0x000000', expected 8 hexadecimal digits a word"),
        ("a.hex", "٠" * 8, f"1:1: unexpected '{'٠' * 8}', expected 8 hexadecimal digits a word"),
        ("a.c", "int x;\n", "2:1: unexpected end of file, expected uint32_t NAME[] = { words };"),
        ("a.c", "uint32_t w[5] = {", "1:12: unexpected '5', expected uint32_t NAME[] = { words };"),
        ("a.c", "uint32_t 5", "1:10: unexpected '5', expected a name"),
        ("a.c", "uint32_t w[] = {1 2};", "1:19: unexpected '2', expected ',' or '}'"),
        (
            "a.c",
            "uint32_t w[] = {\n1,\n0x100000000};",
            "3:1: unexpected '0x100000000', expected a word of 32 bits, as in 0x40000000, or '}'",
        ),
        (
            "a.c",
            "uint32_t w[] = {-1};",
            "1:17: unexpected '-', expected a word of 32 bits, as in 0x40000000, or '}'",
        ),
        ("a.c", "uint32_t w[] = {1", "1:1: unexpected end of file, expected ',' or '}'"),
        ("a.c", "uint32_t w[] = {1}\n", "2:1: unexpected end of file, expected '};'"),
        (
            "a.c",
            "uint32_t w[] = {1};\n",
            "2:1: unexpected end of file, expected IMAGine_Prog NAME = { words, size, "
            "parameters };",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};" + TAIL.replace("{w", "{v"),
            "1:38: unexpected 'v', expected = { w, as in IMAGine_Prog NAME = { words, "
            "size, parameters };",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};" + TAIL.replace("sizeof(w)/sizeof(w[0])", "1"),
            "1:41: unexpected '1', expected sizeof(w)/sizeof(w[0])",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace(" 4, 8", " x, 8"),
            "2:46: unexpected 'x', expected fracWidth, a number",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace(", 16}", "}"),
            "2:61: unexpected '}', expected ',' and peCount",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace(", 16}", ", 8}"),
            "2:63: unexpected '8', expected peCount = 16",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace("48", "40"),
            "2:52: unexpected '40', expected mvMaxCol, a multiple of 16",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace("48", "0"),
            "2:49: mvBlockDim = (8, 0), expected (block rows, block columns), each 1 "
            "to 256, or None",
        ),
        (
            "a.c",
            "uint32_t w[] = {1};\n" + TAIL.replace("48, 16", "48, 12"),
            "2:56: regWidth = 12, expected one of 4, 8, 16",
        ),
        ("a.c", "uint32_t w[] = {1};\n" + TAIL[:-1], "3:1: unexpected end of file, expected '};'"),
    ],
)
def test_refused(name, text, message, tmp_path):
    (tmp_path / name).write_text(
        text + "\n" * ("end of file" in message and message[0] == "3"), encoding="utf-8"
    )
    with pytest.raises(AsmError) as error:
        load_program(SOFTWARE, tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}:{message}"


def test_files_that_are_none(tmp_path):
    (tmp_path / "a.hex").write_bytes(b"\xff\xfe")
    with pytest.raises(
        AsmError, match="a.hex: byte 0 is not UTF-8 text, expected a word of eight digits a line"
    ):
        load_program(SOFTWARE, tmp_path / "a.hex")
    with pytest.raises(AsmError, match=r"b.mem: cannot be read \(No such file or directory\)$"):
        load_program(SOFTWARE, tmp_path / "b.mem")
    with pytest.raises(
        AsmError, match=r"a.h: this form is only written, expected .s, .bin, .mem, .c, .hex$"
    ):
        load_program(SOFTWARE, tmp_path / "a.h")


def test_the_golden_export_reads_back(tmp_path):
    (tmp_path / "a.mem").write_text(GOLDEN_EXPORT)
    assert ISA.load(load_program(SOFTWARE, tmp_path / "a.mem").data)[:2] == [0x18800300, 0x04050ABC]
