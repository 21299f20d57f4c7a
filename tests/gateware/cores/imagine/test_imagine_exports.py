# SPDX-License-Identifier: BSD-2-Clause
"""Export formats, byte for byte."""

import hashlib

import pytest

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm, IMAGineError
from quintet.gateware.cores.imagine.asm.exports import c_header
from tests.gateware.cores.imagine.oracle.golden import GOLDEN_EXPORT


def golden():
    asm = IMAGineAsm()
    asm.setupParams(regCnt=56, resvRegCnt=8, maxLevel=1, fracWidth=5, mvBlockDim=(8, 3))
    asm.mv_selectRow(3, comment="third row")
    asm.mv_write(5, 0xABC)
    asm.mv_BLOCKACCUM(19, 37, comment="sum")
    asm.vv_serialEn()
    asm.mv_SYNC()
    asm.vv_parallelEn(comment="go")
    asm.vv_SYNC()
    return asm


def digest(text):
    return len(text.encode()), hashlib.sha256(text.encode()).hexdigest()


def test_golden_text():
    assert golden().verilogBin() == GOLDEN_EXPORT


@pytest.mark.parametrize(
    "text, size, sha",
    [
        (lambda a: a.verilogBin(), 659, "aa533291d9923fc3"),
        (lambda a: a.verilogBin(comment=False), 487, "0271c6d5278d62a2"),
        (lambda a: a.verilogBin(source=False), 528, "49dc8df44c4ece14"),
        (
            lambda a: a.verilogBin(comment=False, source=False, separator=""),
            363,
            "bbb89429244e8a18",
        ),
        (lambda a: a.CprogHex("kernel"), 770, "0160861c209adc1b"),
        (lambda a: a.CprogHex("kernel", comment=False, source=False), 480, "b16e1b7df7b00a7c"),
    ],
)
def test_golden_hashes(text, size, sha):
    found, whole = digest(text(golden()))
    assert (found, whole[:16]) == (size, sha)


def test_header():
    assert digest(c_header()) == (
        384,
        "dac313d5f7414e95b960b0c25e54d1850798b504d82b2db286bc17fc7bda269a",
    )


def test_files_and_standard_output(tmp_path, capsys):
    asm = golden()
    asm.export_verilogBin(tmp_path / "a.mem")
    asm.export_CprogHex("kernel", tmp_path / "a.c")
    asm.export_CprogHeader(tmp_path / "a.h")
    assert (tmp_path / "a.mem").read_text() == GOLDEN_EXPORT and capsys.readouterr() == ("", "")
    assert (tmp_path / "a.c").read_text() == asm.CprogHex("kernel") and (
        tmp_path / "a.h"
    ).read_text() == c_header()
    asm.export_verilogBin()
    assert (
        capsys.readouterr().out
        == f"---- Assembled Program ----\n{GOLDEN_EXPORT}---- End of Program ----\n"
    )
    asm.export_CprogHex("kernel", comment=False)
    assert capsys.readouterr().out == (
        f"---- Assembled Program ----\n{asm.CprogHex('kernel', comment=False)}---- End of "
        f"Program ----\n"
    )
    asm.export_CprogHeader()
    assert capsys.readouterr().out == f"---- C-Header ----\n{c_header()}---- End of C-Header ----\n"


@pytest.mark.parametrize(
    "call, source",
    [
        (lambda a: a.mv_nop(), "MV_NOP"),
        (lambda a: a.mv_write(5, 0xABC), "MV_WRITE addr=5, data=0xABC"),
        (lambda a: a.mv_mov(2, 1), "MV_MOV dest=2, src=1"),
        (lambda a: a.mv_movOffset(3, 2, 2), "MV_MOV_OFFSET offset=3, dest=2, src=2"),
        (lambda a: a.mv_add(1, 2, 3), "MV_ADD rd=1, rs1=2, rs2=3"),
        (lambda a: a.mv_sub(1, 2, 3), "MV_SUB rd=1, rs1=2, rs2=3"),
        (lambda a: a.mv_selectBlk(1, 2), "MV_SELECT_BLOCK rowID=1, colID=2"),
        (lambda a: a.mv_selectRow(1), "MV_SELECT_ROW rowID=1"),
        (lambda a: a.mv_selectCol(2), "MV_SELECT_COL colID=2"),
        (lambda a: a.mv_selectAll(), "MV_SELECT_ALL"),
        (
            lambda a: a.mv_updatepp(4, 1, 2, 7),
            "MV_UPDATEPP ppreg={4, 5}, multiplicand=1, multiplier=2, bitNo=7",
        ),
        (lambda a: a.mv_blockFold(2, 3, 4), "MV_BLOCK_FOLD fold=2, dest=3, src=4"),
        (lambda a: a.mv_accumRow(1, 3), "MV_ACCUM_ROW level=1, reg=3"),
        (lambda a: a.mv_clrmbit(), "MV_CLRMBIT"),
        (lambda a: a.vv_nop(), "VV_NOP"),
        (lambda a: a.vv_shiftOff(), "VV_DISABLE_SHIFT"),
        (lambda a: a.vv_serialEn(), "VV_SERIAL_EN"),
        (lambda a: a.vv_parallelEn(), "VV_PARALLEL_EN"),
        (lambda a: a.as_addWord(0xABCD), "AS_WORD 0x0000ABCD"),
    ],
)
def test_source_texts(call, source):
    asm = IMAGineAsm()
    call(asm)
    word = f"{asm.words()[0]:032b}"
    vector = source.startswith("VV")
    fields = (
        [word[:2], word[2:6], word[6:]] if vector else [word[:2], word[2:6], word[6:16], word[16:]]
    )
    assert asm.verilogBin() == f"{'_'.join(fields)}  // {source}\n"
    assert asm.CprogHex("p").splitlines()[4] == f"    0x{asm.words()[0]:08X},   // {source}"
    assert asm.CprogHex("p", source=False).splitlines()[4] == f"    0x{asm.words()[0]:08X}, "


@pytest.mark.parametrize(
    "call, sources",
    [
        (lambda a: a.mv_MULT(4, 1, 2), ["MV_MULT rd=4, multiplicand=1, multiplier=2"]),
        (lambda a: a.mv_SYNC(), ["MV_SYNC"]),
        (lambda a: a.vv_SYNC(), ["VV_SYNC"]),
        (lambda a: a.mv_BLOCKACCUM(3, 4), ["MV_BLOCK_ACCUM rd=3, rs=4"]),
        (lambda a: a.mv_CLRREG(3), ["MV_CLRREG reg=3"]),
        (
            lambda a: a.mv_LOADMAT(3, [[1, 2], [3], []]),
            ["MV_CLRREG reg=3; dependency of MV_LOADMAT", "MV_LOADMAT Mat(3, 2)"],
        ),
        (
            lambda a: a.mv_LOADVEC_ROW(3, [1, 2], comment="x"),
            ["MV_CLRREG reg=3; dependency of MV_LOADVEC_ROW", "MV_LOADVEC_ROW Vec(2); x"],
        ),
        (
            lambda a: a.mv_LOADVEC_COL(3, [1, 2, 3]),
            ["MV_CLRREG reg=3; dependency of MV_LOADVEC_COL", "MV_LOADVEC_COL Vec(3)"],
        ),
        (
            lambda a: a.mv_MULTFXP(4, 1, 2, comment="c"),
            [
                "MV_MULT rd=16, multiplicand=1, multiplier=2; From macro call: MV_MULTFPX "
                "rd=4, multiplicand=1, multiplier=2; c",
                "MV_MOV_OFFSET offset=5, dest=4, src=16; From macro call: MV_MULTFPX rd=4, "
                "multiplicand=1, multiplier=2; c",
            ],
        ),
        (
            lambda a: a.mv_RNGACCUM(32, 3, 4),
            [
                "MV_BLOCK_ACCUM rd=3, rs=4; From macro call: MV_RNGACCUM colCnt=32, rd=3, rs=4; ",
                "MV_ACCUM_ROW level=0, reg=3; From macro call: MV_RNGACCUM colCnt=32, rd=3, rs=4; ",
            ],
        ),
        (
            lambda a: a.mv_ALLACCUM(3, 4),
            [
                "MV_BLOCK_ACCUM rd=3, rs=4; From macro call: MV_ALLACCUM rd=3, rs=4; ",
                *(
                    f"MV_ACCUM_ROW level={n}, reg=3; From macro call: MV_ALLACCUM rd=3, rs=4; "
                    for n in range(4)
                ),
            ],
        ),
    ],
)
def test_macro_texts(call, sources):
    asm = IMAGineAsm()
    asm.setupParams(resvRegCnt=2, fracWidth=5)
    call(asm)
    shown = [
        line.split("// ", 1)[1].removeprefix("---- MACRO: ")
        for line in asm.verilogBin().splitlines()
        if "// " in line and "End of" not in line
    ]
    assert shown == sources


def load_of_nothing():
    asm = IMAGineAsm()
    asm.setupParams(regWidth=4)
    asm.mv_LOADVEC_ROW(3, [0])
    return asm


def test_an_empty_load():
    assert load_of_nothing().verilogBin().splitlines()[-3:] == [
        "// ---- MACRO: MV_LOADVEC_ROW Vec(1)",
        "",
        "// ---- End of MACRO",
    ]
    assert (
        load_of_nothing().verilogBin(comment=False).splitlines()[-1]
        == "00_0001_0000001111_0000000000000000"
    )
    assert load_of_nothing().CprogHex("p").splitlines()[-16:-13] == [
        "    // ---- MACRO: MV_LOADVEC_ROW Vec(1)",
        "",
        "    // ---- End of MACRO",
    ]


@pytest.mark.parametrize(
    "text, lines",
    [
        ("one", ["// one"]),
        ("one\n", ["// one", ""]),
        ("one\ntwo", ["// one", "// two"]),
        ("one\n\ntwo\n", ["// one", "// ", "// two", ""]),
        ("", ["// "]),
    ],
)
def test_comments(text, lines):
    asm = IMAGineAsm()
    asm.as_addComment(text)
    assert (
        asm.verilogBin() == "".join(f"{line}\n" for line in lines)
        and asm.verilogBin(comment=False) == ""
    )
    assert asm.CprogHex("p").splitlines()[4 : 4 + len(lines)] == lines


def test_a_line_break_in_a_comment_stays_on_its_line():
    asm = IMAGineAsm()
    asm.mv_nop(comment="a\nb")
    assert asm.verilogBin(source=False) == "00_0000_0000000000_0000000000000000  // a b\n"


def test_c_program_without_block_dimensions():
    asm = IMAGineAsm()
    assert (
        asm.CprogHex("prog")
        == """\
#include "imagine_prog.h"


static const uint32_t word_arr[] = {
};


IMAGine_Prog prog = {
    word_arr,
    sizeof(word_arr)/sizeof(word_arr[0]),   // size
    0,    // fracWidth
    0,   // mvMaxRow
    0,   // mvMaxCol
    16,   // regWidth
    8,    // idWidth
    16,   // peCount
};
"""
    )


def test_the_c_files_compile(tmp_path):
    import shutil
    import subprocess

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    golden().export_CprogHex("kernel", tmp_path / "kernel.c")
    golden().export_CprogHeader(tmp_path / "imagine_prog.h")
    subprocess.run([compiler, "-Wall", "-Werror", "-c", "kernel.c"], cwd=tmp_path, check=True)


def test_a_backslash_continues_a_comment_in_c(tmp_path):
    asm = IMAGineAsm()
    asm.vv_nop(comment="a path: C:\\")
    asm.vv_nop()
    with pytest.raises(
        IMAGineError,
        match=r"^comment = 'VV_NOP; a path: C:.*', expected no backslash at the end of a line: C "
        r"takes the next one, a word, for a part of the comment$",
    ):
        asm.export_CprogHex("kernel", tmp_path / "a.c")
    assert not (tmp_path / "a.c").exists()
    assert asm.CprogHex("kernel", comment=False).count("0x40000000") == 2
