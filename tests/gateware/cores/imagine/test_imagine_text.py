# SPDX-License-Identifier: BSD-2-Clause
"""The textual form: the same words as the Python form, every error with file, line and column, and
the disassembler."""

import inspect
import random

import numpy as np
import pytest

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.asm.exports import c_header
from quintet.gateware.cores.imagine.asm.statements import _mnemonics
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.params import SPACE
from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import (
    AsmError,
    assemble,
    assemble_text,
    disassemble,
    load_program,
    save_program,
)
from quintet.gateware.isa.words import random_word
from quintet.tools.cli import main
from tests.gateware.cores.imagine.oracle.golden import GOLDEN_EXPORT


def words(text, params=None):
    return ISA.load(assemble_text(SOFTWARE, text, "x.s", params).data)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("mv_write 291, 0x5A3C", [0x05235A3C]),
        ("mv_write data=0x5A3C, addr=291", [0x05235A3C]),
        ("mv_write 0b1_0010_0011,\tdata = 23_100", [0x05235A3C]),
        ("mv_write (290 + 1,\n 5)", None),
        (".equ A, 290\n.equ B 2\nmv_write A + 1, (B - 1) * 23100   // c\n", [0x05235A3C]),
        ('mv_write 1, 2, comment="a # b"  # c', [0x04010002]),
        ("mv_write 1, 2, comment=None", [0x04010002]),
        ("mv_movOffset 11, 15, 10, skipChecks=False", [0x1C0B03CA]),
        (".setupParams regCnt=64\nmv_mov 17, 42", [0x1C00046A]),
        ('as_addComment "text"\nvv_nop', [0x40000000]),
        (".word 0xffffffff\n.word 0", [0xFFFFFFFF, 0]),
        (".rept 2, n\nmv_mov n, n + 1\n.endr", [0x1C000001, 0x1C000042]),
        ("", []),
        ("mv_nop\n.reset\nvv_nop", [0x40000000]),
        (
            "mv_CLRREG 0\n.setupParams regWidth=4\n.reset\nmv_CLRREG 0",
            [0x18C00000, 0x04000000, 0x04010000, 0x04020000, 0x04030000],
        ),
        (".assemble\nvv_nop\n.assemble verbose=False", [0x40000000]),
    ],
)
def test_statements(text, wanted):
    if wanted is None:
        with pytest.raises(AsmError):
            words(text)
    else:
        assert words(text) == wanted


@pytest.mark.parametrize(
    "text, matrix",
    [
        ("[[1.5, -2], [], [0x10, (1)]]", [[1.5, -2], [], [16, 1]]),
        ("((1, 2),\n (3, -4.25))", ((1, 2), (3, -4.25))),
        ("[]", []),
        ("()", ()),
        ("[[1, 2,], [+3],]", [[1, 2], [3]]),
        ("[(2+1)*2, 4]", None),
        ("[[(2+1)*2, 4], (1,)]", [[6, 4], [1]]),
        ("[[1e2, 2.5e-1, 1.]]", [[100, 0.25, 1]]),
        ("[[--1.5]]", [[1.5]]),
    ],
)
def test_values(text, matrix):
    if matrix is None:
        with pytest.raises(AsmError, match="^x.s:2:15: matrix = "):
            words(f".setupParams fracWidth=4\nmv_LOADMAT 3, {text}")
        return
    asm = IMAGineAsm()
    asm.setupParams(fracWidth=4)
    asm.mv_LOADMAT(3, matrix)
    assert words(f".setupParams fracWidth=4\nmv_LOADMAT 3, {text}") == asm.words()


def test_every_method_has_its_statement():
    """The text takes the arguments of the Python form, by position and by name; comment and
    skipChecks by name alone."""
    legal = {
        "addr": 3,
        "data": 9,
        "ppreg": 4,
        "multiplicand": 1,
        "multiplier": 2,
        "bitNo": 3,
        "fold": 2,
        "rd": 6,
        "rs": 7,
        "level": 1,
        "reg": 3,
        "rs1": 1,
        "rs2": 2,
        "rowID": 1,
        "colID": 2,
        "offset": 3,
        "colCnt": 32,
        "matrix": "[[1, 2]]",
        "vector": "[1, 2]",
        "word": 5,
        "comment": '"c"',
        "skipChecks": "True",
    }
    for name in _mnemonics():
        names = list(inspect.signature(getattr(IMAGineAsm(), name)).parameters)
        written = [
            f"{n}={legal[n]}"
            if n in ("comment", "skipChecks") and name != "as_addComment"
            else str(legal[n])
            for n in names
        ]
        asm = IMAGineAsm()
        asm.setupParams(resvRegCnt=2)
        getattr(asm, name)(**{n: eval(str(legal[n])) for n in names})
        head = ".setupParams resvRegCnt=2\n"
        assert words(f"{head}{name} {', '.join(written)}") == asm.words(), name
        assert (
            words(f"{head}{name} {', '.join(f'{n}={legal[n]}' for n in reversed(names))}")
            == asm.words()
        ), name


def test_arrays_in_files(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[1.5, 2]]))
    np.savez(tmp_path / "v.npz", a=np.arange(3), b=np.array([object], dtype=object))
    (tmp_path / "x.s").write_text(
        'mv_LOADMAT 1, "m.npy"\nmv_LOADVEC_ROW 2, "v.npz:a"\nmv_LOADVEC_COL 3, vector="v.npz:a"\n'
    )
    asm = IMAGineAsm(warn=None)
    asm.mv_LOADMAT(1, [[1.5, 2]])
    asm.mv_LOADVEC_ROW(2, [0, 1, 2])
    asm.mv_LOADVEC_COL(3, [0, 1, 2])
    program = assemble(SOFTWARE, tmp_path / "x.s")
    assert ISA.load(program.data) == asm.words()
    assert program.line_at(0).line == 1 and program.line_at(len(program.data) - 4).line == 3
    for argument, message in (
        (
            '"w.npy"',
            "'w.npy' cannot be read (No such file or directory), expected \"FILE.npy\" or "
            '"FILE.npz:KEY"',
        ),
        ('"x.s"', 'no array in \'x.s\', expected "FILE.npy" or "FILE.npz:KEY"'),
        ('"v.npz:c"', "no array 'c' in 'v.npz', expected one of a, b"),
        (
            '"v.npz:b"',
            "'v.npz' array 'b' holds pickled objects instead of numbers; they are never "
            'unpickled, expected "FILE.npy" or "FILE.npz:KEY"',
        ),
    ):
        (tmp_path / "y.s").write_text(f"mv_LOADVEC_ROW 1, {argument}\n")
        with pytest.raises(AsmError) as error:
            assemble(SOFTWARE, tmp_path / "y.s")
        assert str(error.value) == f"{tmp_path / 'y.s'}:1:19: {message}"


@pytest.mark.parametrize(
    "text, message",
    [
        ("mv_foo 1", "x.s:1:1: unknown mnemonic 'mv_foo', expected mv_nop, mv_mov"),
        (
            "\n  @ 1",
            "x.s:2:3: unknown mnemonic '@', expected as_addComment, mv_ALLACCUM, "
            "mv_BLOCKACCUM, mv_CLRREG, mv_LOADMAT, ",
        ),
        (
            ".foo 1",
            "x.s:1:1: unknown directive '.foo', expected .assemble, .endr, .equ, "
            ".export_CprogHeader, ",
        ),
        ("mv_write 1", "x.s:1:11: data is missing, expected mv_write addr, data, comment=..."),
        (
            'mv_write 1, 2, "c"',
            "x.s:1:16: mv_write takes no more arguments without a name, expected end of line "
            "after mv_write addr, "
            "data, comment=...",
        ),
        (
            "mv_movOffset 1, 2, 4, None, True",
            "x.s:1:23: mv_movOffset takes no more arguments without a name, expected end of line "
            "after mv_movOffset offset, rd, rs, comment=..., skipChecks=...",
        ),
        (
            ".assemble True, 1",
            "x.s:1:17: .assemble takes no more arguments, expected end of line after .assemble "
            "verbose",
        ),
        (
            "mv_write 1 2",
            "x.s:1:12: unexpected '2', expected ',' or end of line, as in mv_write addr, data, "
            "comment=...",
        ),
        (
            "mv_write adr=1, data=2",
            "x.s:1:10: mv_write has no argument 'adr', expected addr, data, comment",
        ),
        ("mv_write 1, addr=2", "x.s:1:13: addr is given twice"),
        (
            "mv_write addr=1, 2",
            "x.s:1:18: an argument without a name after one with a name, expected name=value",
        ),
        ("mv_write 1024, 2", "x.s:1:10: addr = 1024, expected an integer from 0 to 1023"),
        ("mv_write 1, data=65536", "x.s:1:18: data = 65536, expected an integer from 0 to 65535"),
        ("mv_write 1, 2.5", "x.s:1:13: data = 2.5, expected an integer from 0 to 65535"),
        (
            "mv_write 1, foo",
            "x.s:1:13: unknown name 'foo', expected a number or a name defined before by .equ",
        ),
        (
            "mv_write 1, ]",
            "x.s:1:13: unexpected ']', expected a number, a \"string\", True, False, None, a "
            "list or a tuple",
        ),
        (
            "mv_write 1,",
            'x.s:1:12: unexpected end of line, expected a number, a "string", True, False, '
            "None, a list or a tuple",
        ),
        ("mv_LOADMAT 3, [[1 2]]", "x.s:1:19: unexpected '2', expected ',' or ']'"),
        ("mv_LOADMAT 3, [[1, 2]", "x.s:1:15: '[' is never closed"),
        (
            "mv_LOADMAT 3, [1]",
            "x.s:1:15: matrix = [1], expected rows of numbers: a list of lists, or an array of "
            "two dimensions",
        ),
        (
            ".setupParams mvBlockDim=(2, 2), maxLevel=0\nmv_LOADMAT 3, [[1], [1], [1]]",
            "x.s:2:15: rows of matrix = 3, expected at most 2 (mvBlockDim)",
        ),
        (".setupParams regCnt=70", "x.s:1:21: regCnt = 70, expected an integer from 1 to 64"),
        (
            ".setupParams mvBlockDim=(2, 200)",
            "x.s:1:1: maxLevel = 3, expected 7, the levels that add up a row of 200 block columns",
        ),
        (
            ".setupParams regs=7",
            "x.s:1:14: .setupParams has no argument 'regs', expected regCnt, regWidth, ",
        ),
        (".loadParams 5", 'x.s:1:13: unexpected 5, expected a file name, as in "file.yaml"'),
        ('.loadParams "no.yaml"', "x.s:1:13: filepath = 'no.yaml', expected a YAML file: "),
        (".word", "x.s:1:6: the word is missing, expected .word EXPRESSION"),
        (".word 1 2", "x.s:1:9: unexpected '2', expected end of line"),
        (
            ".word 1 << 32",
            "x.s:1:7: the word is 4294967296, expected an integer from 0 to 4294967295",
        ),
        ('.export_CprogHex "a b", "x.c"', "x.s:1:18: progname = 'a b', expected a name as in C"),
        ("mv_MULTFXP 1, 2, 3", "x.s:1:1: resvRegCnt = 0, expected at least 2 for mv_MULTFXP"),
    ],
)
def test_errors(text, message):
    with pytest.raises(AsmError) as error:
        words(text)
    assert str(error.value).startswith(message)


def test_exports_that_cannot_be_written():
    with pytest.raises(AsmError) as error:
        assemble_text(SOFTWARE, '.export_verilogBin "no/such/x.mem"', "x.s", exports=True)
    assert str(error.value).startswith(
        "x.s:1:1: filename = 'no/such/x.mem', expected a file that can be written: "
    )


def test_warnings_name_the_place():
    program = assemble_text(
        SOFTWARE, ".setupParams mvBlockDim=(2, 2)\nmv_LOADVEC_ROW 1, [40000]\n", "x.s"
    )
    assert [str(w) for w in program.warnings] == [
        "x.s:1:1: warning: maxLevel = 3, 0 is enough for 2 block columns: levels above it add 0",
        "x.s:2:1: warning: vector = 40000 does not fit regWidth = 16, fracWidth = 0: it wraps "
        "(1 of 1 values)",
    ]


def test_exports_are_written_when_all_is_assembled(tmp_path, capsys):
    text = """.loadParams "p.yaml", showparams=False, cpright=False
mv_selectRow 3, comment="third row"
mv_write 5, 0xABC
mv_BLOCKACCUM 19, 37, comment="sum"
vv_serialEn
mv_SYNC
vv_parallelEn comment="go"
vv_SYNC
.export_verilogBin "a.mem"
.export_CprogHex "kernel", filename="a.c"
.export_CprogHeader "a.h"
.reset
vv_nop
.export_verilogBin
"""
    (tmp_path / "p.yaml").write_text(
        "regCnt: 56\nresvRegCnt: 8\nmaxLevel: 1\nfracWidth: 5\nmvBlockDim: [8, 3]\n"
    )
    (tmp_path / "x.s").write_text(text + "mv_mov 99, 0\n")
    with pytest.raises(AsmError):
        assemble(SOFTWARE, tmp_path / "x.s")
    assert not list(tmp_path.glob("a.*"))
    (tmp_path / "x.s").write_text(text)
    # What only runs or checks a program writes nothing.
    assert ISA.load(assemble(SOFTWARE, tmp_path / "x.s").data) == [0x40000000]
    assert not list(tmp_path.glob("a.*")) and capsys.readouterr().out == ""
    assert ISA.load(assemble(SOFTWARE, tmp_path / "x.s", exports=True).data) == [0x40000000]
    assert (tmp_path / "a.mem").read_text() == GOLDEN_EXPORT and (
        tmp_path / "a.h"
    ).read_text() == c_header()
    assert "IMAGine_Prog kernel = {\n" in (tmp_path / "a.c").read_text()
    assert capsys.readouterr().out == (
        "---- Assembled Program ----\n01_0000_00000000000000000000000000  // VV_NOP\n"
        "---- End of Program ----\n"
    )


def test_forms_of_the_command_line(tmp_path, capsys):
    (tmp_path / "kernel.s").write_text('mv_SYNC\nvv_nop comment="c"\n')
    for suffix in ("bin", "mem", "c", "h", "hex"):
        assert (
            main(
                [
                    "asm",
                    "imagine",
                    str(tmp_path / "kernel.s"),
                    "-o",
                    str(tmp_path / f"out.{suffix}"),
                ]
            )
            == 0
        )
    read = {s: (tmp_path / f"out.{s}").read_text() for s in ("mem", "c", "h", "hex")}
    assert (tmp_path / "out.bin").read_bytes() == bytes(8) + b"\0\0\0\x40"
    assert read["hex"] == "00000000\n00000000\n40000000\n" and read["h"] == c_header()
    assert read["mem"].splitlines()[-1] == "01_0000_00000000000000000000000000  // VV_NOP; c"
    assert "IMAGine_Prog out = {\n" in read["c"] and "    // ---- MACRO: MV_SYNC\n" in read["c"]
    # From words alone.
    save_program(SOFTWARE, load_program(SOFTWARE, tmp_path / "out.bin"), tmp_path / "again.mem")
    assert (tmp_path / "again.mem").read_text().splitlines()[
        2
    ] == "01_0000_0000000000_0000000000000000  // AS_WORD 0x40000000"
    with pytest.raises(AsmError, match="out.h: this form is only written, expected .s, .bin$"):
        load_program(SOFTWARE, tmp_path / "out.h")
    with pytest.raises(AsmError, match="a-b.c: progname = 'a-b', expected a name as in C$"):
        save_program(SOFTWARE, load_program(SOFTWARE, tmp_path / "out.bin"), tmp_path / "a-b.c")
    with pytest.raises(AsmError, match=r"a.mem: cannot be written \(No such file or directory\)$"):
        save_program(
            SOFTWARE, load_program(SOFTWARE, tmp_path / "out.bin"), tmp_path / "no" / "a.mem"
        )
    capsys.readouterr()
    assert (
        main(["asm", "imagine", str(tmp_path / "kernel.s"), "-o", str(tmp_path / "no" / "a.mem")])
        != 0
    )
    assert "internal error" not in capsys.readouterr().err


# Disassembly


@pytest.mark.parametrize(
    "params",
    (None, SPACE.resolve("sim", {"rows": 2, "cols": 40, "reg_width": 8, "depth": 128})),
    ids=("none", "sizes"),
)
def test_disassembly_assembles_to_the_same_words(params):
    rng = random.Random(3)
    some = [random_word(ISA, rng, legal=k % 3 != 0, params=params) for k in range(600)]
    some += [rng.randrange(1 << 32) for _ in range(300)] + [
        0x1C000000,
        0x1C000041,
        0x0FC00000,
        0x10470000,
    ]
    data = ISA.store(some)
    text = disassemble(SOFTWARE, data, params)
    assert ISA.load(assemble_text(SOFTWARE, text).data) == some
    assert text.count(".word") < 700


def test_disassembly_is_canonical():
    text = disassemble(
        SOFTWARE,
        ISA.store(
            [0x05235A3C, 0x1C00046A, 0x1C0B046A, 0x20000000, 0x80000000, 0x10470001, 0x18400203]
        ),
    )
    assert (
        text
        == """\
.setupParams regCnt=64
mv_write addr=291, data=0x5a3c
mv_mov rd=17, rs=42
mv_movOffset offset=11, rd=17, rs=42
mv_clrmbit
.word 0x80000000  # illegal_submodule
.word 0x10470001  # mv_accumRow, level = 7
mv_selectBlk rowID=2, colID=3
"""
    )
    params = SPACE.resolve("sim", {"cols": 129, "reg_width": 8, "depth": 128})
    assert disassemble(SOFTWARE, ISA.store([0x10470001]), params) == (
        ".setupParams regCnt=16, regWidth=8, pimDepth=128, maxLevel=7\nmv_accumRow level=7, reg=1\n"
    )
