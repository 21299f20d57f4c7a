# SPDX-License-Identifier: BSD-2-Clause
"""The Python assembler: golden expansions, parameters, every argument's limits, every refusal."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from quintet.gateware.cores.imagine.asm import assembler
from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm, IMAGineError
from tests.gateware.cores.imagine.oracle.golden import GOLDEN

#: Parameters of the golden expansions.
GOLDEN_PARAMETERS = {"regCnt": 56, "resvRegCnt": 8, "maxLevel": 3, "fracWidth": 5}
PP = [0x0C1401C9 + (bit << 22) for bit in range(16)]
FOLDS = [0x100104E5, 0x100204D3, 0x100304D3, 0x100404D3]
CLEAR6 = [0x18C00000, *(0x04600000 + (bit << 16) for bit in range(16))]


def asm_of(**parameters):
    asm = IMAGineAsm(warn=lambda text: asm.warned.append(text))
    asm.warned = []
    asm.setupParams(**{**GOLDEN_PARAMETERS, **parameters})
    return asm


def words(call, **parameters):
    asm = asm_of(**parameters)
    call(asm)
    return asm.words()


def writes(reg, data, width=16):
    """Words of mv_write for the non-zero ones of ``data``, bit 0 first."""
    return [0x04000000 | reg * width + bit << 16 | word for bit, word in enumerate(data) if word]


@pytest.mark.parametrize(
    "mnemonic, arguments, word", GOLDEN, ids=[f"{word:08x}" for *_, word in GOLDEN]
)
def test_golden_words(mnemonic, arguments, word):
    assert words(
        lambda asm: getattr(asm, mnemonic)(*arguments, comment="c"), regCnt=64, resvRegCnt=0
    ) == [word]


@pytest.mark.parametrize(
    "call, wanted, parameters",
    [
        (lambda a: a.mv_MULT(20, 7, 9), [0x20000000, *PP], {}),
        (
            lambda a: a.mv_MULTFXP(13, 7, 9),
            [0x20000000, *(0x0C3801C9 + (b << 22) for b in range(16)), 0x1C050378],
            {},
        ),
        (
            lambda a: a.mv_MULTFXP(13, 7, 9),
            [0x20000000, *(0x0C3801C9 + (b << 22) for b in range(16)), 0x1C000378],
            {"fracWidth": 0},
        ),
        (
            lambda a: a.mv_MULTFXP(13, 7, 9),
            [0x20000000, *(0x0C3801C9 + (b << 22) for b in range(16)), 0x1C000379],
            {"fracWidth": 16},
        ),
        (lambda a: a.mv_SYNC(), [0, 0], {}),
        (lambda a: a.vv_SYNC(), [0x40000000], {}),
        (lambda a: a.mv_BLOCKACCUM(19, 37), FOLDS, {}),
        (lambda a: a.mv_BLOCKACCUM(19, 37), FOLDS[:1], {"maxFold": 1}),
        (lambda a: a.mv_RNGACCUM(16, 19, 37), FOLDS, {}),
        (lambda a: a.mv_RNGACCUM(32, 19, 37), [*FOLDS, 0x10400013], {}),
        (lambda a: a.mv_RNGACCUM(128, 19, 37), [*FOLDS, 0x10400013, 0x10410013, 0x10420013], {}),
        (
            lambda a: a.mv_ALLACCUM(19, 37),
            [*FOLDS, 0x10400013, 0x10410013, 0x10420013, 0x10430013],
            {},
        ),
        (lambda a: a.mv_ALLACCUM(19, 37), [*FOLDS, 0x10400013, 0x10410013], {"maxLevel": 1}),
        (lambda a: a.mv_ALLACCUM(19, 37), FOLDS, {"maxLevel": -1}),
        (lambda a: a.mv_CLRREG(6), CLEAR6, {}),
        (
            lambda a: a.mv_CLRREG(6),
            [0x18C00000, *(0x04300000 + (b << 16) for b in range(8))],
            {"regWidth": 8},
        ),
        (lambda a: a.mv_LOADMAT(6, np.zeros((3, 4))), CLEAR6, {}),
        (
            lambda a: a.mv_LOADMAT(6, [[1.5, -0.03125], [], [0] * 16 + [-2.0]]),
            [
                *CLEAR6,
                0x18400000,
                0x04600002,
                0x04610002,
                0x04620002,
                0x04630002,
                0x04640003,
                0x04650003,
                *(0x04660002 + (b << 16) for b in range(10)),
                0x18400201,
                *(0x04660001 + (b << 16) for b in range(10)),
            ],
            {},
        ),
        (
            lambda a: a.mv_LOADVEC_ROW(6, [0.1, -0.1, 1023.97, -1024]),
            [
                *CLEAR6,
                0x18000000,
                0x04600007,
                0x04610005,
                *(0x04620006 + (b << 16) for b in range(13)),
                0x046F000A,
            ],
            {},
        ),
        (
            lambda a: a.mv_LOADVEC_ROW(6, [0, 0, 3] + [0] * 14 + [0.03125]),
            [*CLEAR6, 0x18000000, 0x04650004, 0x04660004, 0x18000001, 0x04600002],
            {},
        ),
        (
            lambda a: a.mv_LOADVEC_COL(6, [0.25, 0, -0.0625]),
            [
                *CLEAR6,
                0x18800000,
                0x0463FFFF,
                0x18800200,
                *(0x0461FFFF + (b << 16) for b in range(15)),
            ],
            {},
        ),
        (lambda a: a.mv_LOADVEC_COL(6, [3]), [*CLEAR6, 0x18800000, 0x0465FFFF, 0x0466FFFF], {}),
        (lambda a: a.mv_LOADVEC_ROW(6, []), CLEAR6, {}),
        (lambda a: a.mv_LOADVEC_COL(6, ()), CLEAR6, {}),
        (lambda a: a.mv_LOADMAT(6, []), CLEAR6, {}),
        (lambda a: a.as_addWord(0xDEADBEEF), [0xDEADBEEF], {}),
        (lambda a: a.as_addComment("x"), [], {}),
    ],
)
def test_golden_expansions(call, wanted, parameters):
    assert words(call, **parameters) == wanted


def test_lengths_of_the_golden_loads():
    assert len(words(lambda a: a.mv_LOADMAT(6, [[1.5, -0.03125], [], [0] * 16 + [-2.0]]))) == 45
    assert len(words(lambda a: a.mv_LOADVEC_ROW(6, [0.1, -0.1, 1023.97, -1024]))) == 34
    assert len(words(lambda a: a.mv_LOADVEC_COL(6, [0.25, 0, -0.0625]))) == 35


# Arguments

_BLOCKS = {"maxLevel": 1, "mvBlockDim": (8, 3)}


@pytest.mark.parametrize(
    "call, message, parameters",
    [
        (lambda a: a.mv_write(1024, 0), "addr = 1024, expected an integer from 0 to 1023", {}),
        (lambda a: a.mv_write(-1, 0), "addr = -1, expected an integer from 0 to 1023", {}),
        (
            lambda a: a.mv_write(896, 0),
            "addr = 896, expected an integer from 0 to 511",
            {"pimDepth": 512, "regCnt": 24},
        ),
        (lambda a: a.mv_write(0, 65536), "data = 65536, expected an integer from 0 to 65535", {}),
        (lambda a: a.mv_write(0, -1), "data = -1, expected an integer from 0 to 65535", {}),
        (lambda a: a.mv_write(0.0, 1), "addr = 0.0, expected an integer from 0 to 1023", {}),
        (lambda a: a.mv_write(True, 1), "addr = True, expected an integer from 0 to 1023", {}),
        (lambda a: a.mv_mov(56, 0), "rd = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_mov(0, 56), "rs = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_mov(-1, 0), "rd = -1, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_add(56, 0, 0), "rd = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_add(0, 56, 0), "rs1 = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_sub(0, 0, "1"), "rs2 = '1', expected an integer from 0 to 55", {}),
        (lambda a: a.mv_updatepp(55, 1, 2, 0), "ppreg = 55, expected an integer from 0 to 54", {}),
        (
            lambda a: a.mv_updatepp(4, 4, 2, 0),
            "multiplicand = 4, expected a register other than 4 and 5, which ppreg = 4 takes",
            {},
        ),
        (
            lambda a: a.mv_updatepp(4, 1, 5, 0),
            "multiplier = 5, expected a register other than 4 and 5, which ppreg = 4 takes",
            {},
        ),
        (lambda a: a.mv_updatepp(4, 1, 2, 16), "bitNo = 16, expected an integer from 0 to 15", {}),
        (
            lambda a: a.mv_updatepp(4, 1, 2, 8),
            "bitNo = 8, expected an integer from 0 to 7",
            {"regWidth": 8},
        ),
        (
            lambda a: a.mv_updatepp(4, 56, 2, 0),
            "multiplicand = 56, expected an integer from 0 to 55",
            {},
        ),
        (
            lambda a: a.mv_updatepp(0, 1, 2, 0),
            "ppreg = 0, expected nothing: there is none",
            {"regCnt": 1, "resvRegCnt": 0},
        ),
        (lambda a: a.mv_movOffset(16, 0, 0), "offset = 16, expected an integer from 0 to 15", {}),
        (lambda a: a.mv_movOffset(1, 0, 55), "rs = 55, expected an integer from 0 to 54", {}),
        (
            lambda a: a.mv_movOffset(1, 5, 4),
            "rd = 5, expected a register other than rs+1 = 5 where offset > 0",
            {},
        ),
        (
            lambda a: a.mv_movOffset(1, 64, 4, skipChecks=True),
            "rd = 64, expected an integer from 0 to 63",
            {},
        ),
        (
            lambda a: a.mv_movOffset(1, 0, 63, skipChecks=True),
            "rs = 63, expected an integer from 0 to 62",
            {},
        ),
        (lambda a: a.mv_blockFold(0, 1, 1), "fold = 0, expected an integer from 1 to 4", {}),
        (
            lambda a: a.mv_blockFold(3, 1, 1),
            "fold = 3, expected an integer from 1 to 2",
            {"maxFold": 2},
        ),
        (lambda a: a.mv_accumRow(4, 1), "level = 4, expected an integer from 0 to 3", {}),
        (
            lambda a: a.mv_accumRow(0, 1),
            "level = 0, expected nothing: there is none",
            {"maxLevel": -1},
        ),
        (lambda a: a.mv_accumRow(0, 56), "reg = 56, expected an integer from 0 to 55", {}),
        (
            lambda a: a.mv_selectBlk(256, 0),
            "rowID = 256, expected an integer from 0 to 255 (idWidth)",
            {},
        ),
        (
            lambda a: a.mv_selectBlk(0, 16),
            "colID = 16, expected an integer from 0 to 15 (idWidth)",
            {"idWidth": 4},
        ),
        (
            lambda a: a.mv_selectRow(8),
            "rowID = 8, expected an integer from 0 to 7 (mvBlockDim)",
            _BLOCKS,
        ),
        (
            lambda a: a.mv_selectCol(3),
            "colID = 3, expected an integer from 0 to 2 (mvBlockDim)",
            _BLOCKS,
        ),
        (
            lambda a: a.mv_selectRow(1.5),
            "rowID = 1.5, expected an integer from 0 to 255 (idWidth)",
            {},
        ),
        (lambda a: a.mv_MULT(55, 1, 2), "rd = 55, expected an integer from 0 to 54", {}),
        (
            lambda a: a.mv_MULT(4, 5, 2),
            "multiplicand = 5, expected a register other than 4 and 5, which rd = 4 takes",
            {},
        ),
        (
            lambda a: a.mv_MULTFXP(4, 1, 2),
            "resvRegCnt = 1, expected at least 2 for mv_MULTFXP",
            {"resvRegCnt": 1},
        ),
        (
            lambda a: a.mv_MULTFXP(4, 4, 2),
            "multiplicand = 4, expected a register other than rd = 4",
            {},
        ),
        (
            lambda a: a.mv_MULTFXP(4, 2, 4),
            "multiplier = 4, expected a register other than rd = 4",
            {},
        ),
        (lambda a: a.mv_MULTFXP(56, 2, 4), "rd = 56, expected an integer from 0 to 55", {}),
        (
            lambda a: a.mv_MULTFXP(4, 56, 4),
            "multiplicand = 56, expected an integer from 0 to 55",
            {},
        ),
        (
            lambda a: a.mv_RNGACCUM(48, 1, 2),
            "colCnt = 48, expected one of 16, 32, 64, 128, 256",
            {},
        ),
        (lambda a: a.mv_RNGACCUM(32, 1, 2), "colCnt = 32, expected one of 16", {"maxLevel": -1}),
        (
            lambda a: a.mv_RNGACCUM(16.0, 1, 2),
            "colCnt = 16.0, expected one of 16, 32, 64, 128, 256",
            {},
        ),
        (lambda a: a.mv_ALLACCUM(1, 56), "rs = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_BLOCKACCUM(56, 1), "rd = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_CLRREG(56), "reg = 56, expected an integer from 0 to 55", {}),
        (lambda a: a.mv_LOADMAT(56, []), "reg = 56, expected an integer from 0 to 55", {}),
        (
            lambda a: a.mv_LOADMAT(1, np.zeros((9, 1))),
            "rows of matrix = 9, expected at most 8 (mvBlockDim)",
            _BLOCKS,
        ),
        (
            lambda a: a.mv_LOADMAT(1, np.zeros((1, 49))),
            "columns of matrix = 49, expected at most 48 (mvBlockDim)",
            _BLOCKS,
        ),
        (
            lambda a: a.mv_LOADMAT(1, np.zeros((17, 1))),
            "rows of matrix = 17, expected at most 16 (idWidth)",
            {"idWidth": 4},
        ),
        (
            lambda a: a.mv_LOADVEC_ROW(1, [0] * 257),
            "length of vector = 257, expected at most 256 (idWidth)",
            {"idWidth": 4},
        ),
        (
            lambda a: a.mv_LOADVEC_COL(1, [0] * 9),
            "length of vector = 9, expected at most 8 (mvBlockDim)",
            _BLOCKS,
        ),
        (
            lambda a: a.as_addWord(1 << 32),
            "word = 4294967296, expected an integer from 0 to 4294967295",
            {},
        ),
        (lambda a: a.as_addComment(5), "comment = 5, expected a string", {}),
        (lambda a: a.mv_nop(comment=5), "comment = 5, expected a string or None", {}),
        (lambda a: a.mv_ALLACCUM(1, 2, comment=5), "comment = 5, expected a string or None", {}),
        (
            lambda a: a.mv_LOADVEC_ROW(1, [2], comment=5),
            "comment = 5, expected a string or None",
            {},
        ),
        (lambda a: a.CprogHex("a-b"), "progname = 'a-b', expected a name as in C", {}),
        (
            lambda a: a.export_bin("/no/such/folder/x.bin"),
            "filename = '/no/such/folder/x.bin', expected a file that can be written: No such "
            "file or directory",
            {},
        ),
    ],
)
def test_refused_calls_leave_the_cache_as_it_was(call, message, parameters):
    asm = asm_of(**parameters)
    asm.mv_nop()
    with pytest.raises(IMAGineError) as error:
        call(asm)
    assert str(error.value) == message and isinstance(error.value, ValueError)
    assert message.startswith(f"{error.value.name} = ") and asm.words() == [0] and asm.size == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.mv_write(1023, 65535),
        lambda a: a.mv_mov(55, 0),
        lambda a: a.mv_movOffset(15, 53, 54),
        lambda a: a.mv_movOffset(0, 55, 55),
        lambda a: a.mv_movOffset(0, 5, 4),
        lambda a: a.mv_movOffset(3, 4, 4),
        lambda a: a.mv_updatepp(54, 53, 53, 15),
        lambda a: a.mv_blockFold(4, 55, 55),
        lambda a: a.mv_accumRow(3, 55),
        lambda a: a.mv_selectBlk(255, 255),
        lambda a: a.mv_RNGACCUM(256, 0, 0),
        lambda a: a.mv_MULT(62, 60, 61, skipChecks=True),
        lambda a: a.mv_movOffset(1, 63, 61, skipChecks=True),
        lambda a: a.mv_MULTFXP(55, 54, 54),
        lambda a: a.mv_write(np.int64(3), np.uint16(4)),
        lambda a: a.mv_LOADMAT(0, np.zeros((256, 16 * 256))),
    ],
)
def test_the_limits_themselves_are_legal(call):
    assert words(call)


# The published interface

PUBLISHED = """mv_write(addr, data, *, comment=None)
mv_nop(*, comment=None)
mv_mov(rd, rs, *, comment=None)
mv_add(rd, rs1, rs2, *, comment=None)
mv_sub(rd, rs1, rs2, *, comment=None)
mv_movOffset(offset, rd, rs, *, comment=None, skipChecks=False)
mv_selectBlk(rowID, colID, *, comment=None)
mv_selectRow(rowID, *, comment=None)
mv_selectCol(colID, *, comment=None)
mv_selectAll(*, comment=None)
mv_updatepp(ppreg, multiplicand, multiplier, bitNo, *, comment=None)
mv_blockFold(fold, rd, rs, *, comment=None)
mv_accumRow(level, reg, *, comment=None)
vv_nop(*, comment=None)
vv_shiftOff(*, comment=None)
vv_serialEn(*, comment=None)
vv_parallelEn(*, comment=None)
mv_MULT(rd, multiplicand, multiplier, *, comment=None, skipChecks=False)
mv_MULTFXP(rd, multiplicand, multiplier, *, comment=None)
mv_SYNC(*, comment=None)
vv_SYNC(*, comment=None)
mv_BLOCKACCUM(rd, rs, *, comment=None)
mv_RNGACCUM(colCnt, rd, rs, *, comment=None)
mv_ALLACCUM(rd, rs, *, comment=None)
mv_CLRREG(reg, *, comment=None)
mv_LOADMAT(reg, matrix, *, comment=None)
mv_LOADVEC_ROW(reg, vector, *, comment=None)
mv_LOADVEC_COL(reg, vector, *, comment=None)
loadParams(filepath, cpright=True, showparams=True)
reset()
assemble(verbose=False)
export_verilogBin(filename=None, comment=True, source=True, separator='_')
export_CprogHex(progname, filename=None, comment=True, source=True)
export_CprogHeader(filename=None)
as_addComment(comment)"""


@pytest.mark.parametrize("published", PUBLISHED.splitlines())
def test_arguments_are_the_published_ones(published):
    """Names, order, defaults, and what goes by name alone. Types are ours."""
    name = published.partition("(")[0]
    ours = inspect.signature(getattr(IMAGineAsm(), name))
    untyped = [p.replace(annotation=p.empty) for p in ours.parameters.values()]
    plain = ours.replace(parameters=untyped, return_annotation=ours.empty)
    assert f"{name}{plain}" == published


def test_a_comment_goes_by_name_alone():
    asm = asm_of()
    with pytest.raises(TypeError):
        asm.mv_mov(1, 2, "copy")
    with pytest.raises(TypeError):
        asm.mv_LOADVEC_ROW(1, [2], "row")
    assert asm.words() == []


# Parameters


@pytest.mark.parametrize(
    "given, message",
    [
        ({"regWidth": 12}, "regWidth = 12, expected one of 4, 8, 16"),
        ({"pimDepth": 100}, "pimDepth = 100, expected one of 64, 128, 256, 512, 1024"),
        ({"regWidth": "8"}, "regWidth = '8', expected one of 4, 8, 16"),
        ({"regCnt": 65}, "regCnt = 65, expected an integer from 1 to 64"),
        ({"regCnt": 0}, "regCnt = 0, expected an integer from 1 to 64"),
        ({"regCnt": 17, "pimDepth": 256}, "regCnt = 17, expected an integer from 1 to 16"),
        ({"resvRegCnt": -1}, "resvRegCnt = -1, expected an integer from 0 to 64"),
        (
            {"regCnt": 60, "resvRegCnt": 5},
            "resvRegCnt = 5, expected at most 4: regCnt + resvRegCnt <= min(64, "
            "pimDepth/regWidth) = 64",
        ),
        ({"fracWidth": 17}, "fracWidth = 17, expected an integer from 0 to 16"),
        ({"fracWidth": 9, "regWidth": 8}, "fracWidth = 9, expected an integer from 0 to 8"),
        ({"maxFold": 5}, "maxFold = 5, expected an integer from 1 to 4"),
        ({"maxFold": 0}, "maxFold = 0, expected an integer from 1 to 4"),
        ({"maxLevel": 8}, "maxLevel = 8, expected an integer from -1 to 7"),
        ({"maxLevel": -2}, "maxLevel = -2, expected an integer from -1 to 7"),
        ({"idWidth": 9}, "idWidth = 9, expected an integer from 1 to 8"),
        (
            {"mvBlockDim": 4},
            "mvBlockDim = 4, expected (block rows, block columns), each 1 to 256, or None",
        ),
        (
            {"mvBlockDim": (4, 0)},
            "mvBlockDim = (4, 0), expected (block rows, block columns), each 1 to 256, or None",
        ),
        (
            {"mvBlockDim": (4, 2.5)},
            "mvBlockDim = 2.5, expected (block rows, block columns), each 1 to 256, or None",
        ),
        (
            {"mvBlockDim": (17, 2), "idWidth": 4},
            "mvBlockDim = (17, 2), expected (block rows, block columns), each 1 to 16, or None",
        ),
        (
            {"mvBlockDim": (4, 9), "maxLevel": 2},
            "maxLevel = 2, expected 3, the levels that add up a row of 9 block columns",
        ),
    ],
)
def test_refused_parameters(given, message):
    asm = asm_of()
    with pytest.raises(IMAGineError) as error:
        asm.setupParams(**given)
    assert str(error.value) == message
    assert asm.params.regCnt == 56, "a refused call changes nothing"


def test_defaults():
    params = IMAGineAsm().params
    assert (
        params.regCnt,
        params.regWidth,
        params.maxLevel,
        params.maxFold,
        params.idWidth,
        params.fracWidth,
        params.mvBlockDim,
        params.resvRegCnt,
        params.pimDepth,
    ) == (16, 16, 3, 4, 8, 0, None, 0, 1024)
    assert params.resvRegBase is None and params.mvMaxRow is None and params.mvMaxCol is None


def test_what_follows_from_the_parameters():
    asm = asm_of(mvBlockDim=[8, 3], maxLevel=1)
    assert (
        asm.params.mvMaxRow,
        asm.params.mvMaxCol,
        asm.params.resvRegBase,
        asm.params.mvBlockDim,
    ) == (8, 48, 56, (8, 3))
    assert asm.warned == []


@pytest.mark.parametrize(
    "dim, level, warned",
    [
        ((8, 3), 2, "maxLevel = 2, 1 is enough for 3 block columns: levels above it add 0"),
        ((8, 1), 0, "maxLevel = 0, -1 is enough for 1 block columns: levels above it add 0"),
        ((8, 1), -1, None),
        ((8, 2), 0, None),
    ],
)
def test_levels_that_add_nothing_are_a_warning(dim, level, warned):
    asm = asm_of(mvBlockDim=dim, maxLevel=level)
    assert asm.warned == ([warned] if warned else [])


def test_warnings_go_to_standard_error(capsys):
    IMAGineAsm().setupParams(mvBlockDim=(1, 1))
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("IMAGine assembler: warning: maxLevel = 3, -1 is enough")


def test_yaml(tmp_path, capsys):
    (tmp_path / "p.yaml").write_text("regCnt: 24\nregWidth: 8\nmvBlockDim: [4, 2]\nmaxLevel: 0\n")
    asm = IMAGineAsm()
    asm.loadParams(tmp_path / "p.yaml")
    assert (asm.params.regCnt, asm.params.regWidth, asm.params.mvBlockDim, asm.params.maxFold) == (
        24,
        8,
        (4, 2),
        4,
    )
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[:2] == [
        "IMAGine assembler 0.1, quintet's",
        "  regCnt: 24",
    ]
    asm.loadParams(tmp_path / "p.yaml", cpright=False, showparams=False)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text, message",
    [
        ("regs: 4\n", "expected parameters of setupParams, not 'regs': regCnt, regWidth, "),
        ("- 4\n", "expected a YAML mapping of parameters"),
        ("a: [\n", "expected a YAML file: while parsing"),
        ("!!python/name:os.system\n", "expected a YAML file: could not determine"),
    ],
)
def test_refused_yaml(tmp_path, text, message):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(IMAGineError) as error:
        IMAGineAsm().loadParams(tmp_path / "p.yaml")
    assert message in str(error.value) and error.value.name == "filepath"


def test_missing_yaml(tmp_path):
    with pytest.raises(IMAGineError, match="expected a YAML file: .*No such file"):
        IMAGineAsm().loadParams(tmp_path / "p.yaml")


def test_refused_overflow_mode():
    with pytest.raises(
        IMAGineError, match="^overflow = 'clip', expected one of wrap, raise, saturate$"
    ):
        IMAGineAsm(overflow="clip")


# The cache


def test_reset_keeps_parameters_and_drops_the_cache():
    asm = asm_of()
    asm.mv_SYNC()
    asm.reset()
    assert asm.words() == [] and asm.size == 0 and asm.params.regCnt == 56
    asm.vv_nop()
    assert asm.words() == [0x40000000]


def test_parameters_hold_for_what_is_called_after_them():
    asm = asm_of()
    asm.mv_CLRREG(1)
    asm.setupParams(regWidth=8)
    asm.mv_CLRREG(1)
    assert len(asm.words()) == 17 + 9


def test_assemble_lists_entries(capsys):
    asm = asm_of()
    asm.mv_SYNC(comment="wait")
    asm.as_addComment("text")
    asm.mv_nop()
    asm.assemble()
    assert capsys.readouterr() == ("", "")
    asm.assemble(verbose=True)
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines() == [
        "     0  00000000  MV_SYNC; wait (2 words)",
        "     2            text",
        "     2  00000000  MV_NOP",
    ]


def test_raw_file(tmp_path):
    asm = asm_of()
    asm.mv_mov(17, 42)
    asm.export_bin(tmp_path / "x.bin")
    assert (tmp_path / "x.bin").read_bytes() == bytes.fromhex("6a04001c")


def test_published_scripts_need_another_import_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from quintet.gateware.cores.imagine.asm.assembler import *\n"
        "assert (imagine_as.v_major, imagine_as.v_minor) == (0, 1)\n"
        "imagine_as.setupParams(regCnt=16, fracWidth=4, resvRegCnt=2, mvBlockDim=(4, 2), "
        "maxLevel=0)\n"
        "as_addComment('kernel')\nmv_LOADVEC_COL(5, [1])\nvv_serialEn()\nmv_MULTFXP(6, 4, 3, "
        "comment='W x')\nmv_SYNC()\n"
        "vv_parallelEn()\nimagine_as.assemble()\nimagine_as.export_verilogBin()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert (
        lines[:2] == ["---- Assembled Program ----", "// kernel"]
        and lines[-1] == "---- End of Program ----"
    )
    assert (
        "// ---- MACRO: MV_MULT rd=16, multiplicand=4, multiplier=3; From macro call: "
        "MV_MULTFPX rd=6, multiplicand=4, "
        "multiplier=3; W x" in lines
    )


def test_numpy_is_imported_by_the_loads_alone():
    code = (
        "import sys\nfrom quintet.gateware.cores.imagine.asm.assembler import *\nmv_MULT(1, 3, "
        "4)\nassert 'numpy' not in "
        "sys.modules and 'amaranth' not in sys.modules\nmv_LOADVEC_ROW(1, [2])\nassert 'numpy' "
        "in sys.modules and "
        "'amaranth' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_mnemonic_and_macro_is_a_function():
    names = {
        "mv_nop",
        "mv_write",
        "mv_updatepp",
        "mv_blockFold",
        "mv_accumRow",
        "mv_add",
        "mv_sub",
        "mv_selectCol",
        "mv_selectBlk",
        "mv_selectRow",
        "mv_selectAll",
        "mv_mov",
        "mv_movOffset",
        "mv_clrmbit",
        "vv_nop",
        "vv_serialEn",
        "vv_parallelEn",
        "vv_shiftOff",
        "mv_MULT",
        "mv_MULTFXP",
        "mv_SYNC",
        "vv_SYNC",
        "mv_BLOCKACCUM",
        "mv_RNGACCUM",
        "mv_ALLACCUM",
        "mv_CLRREG",
        "mv_LOADMAT",
        "mv_LOADVEC_ROW",
        "mv_LOADVEC_COL",
        "as_addComment",
    }
    assert set(assembler.__all__) == names | {"IMAGineAsm", "IMAGineError", "imagine_as"}
    assert all(getattr(assembler, name).__self__ is assembler.imagine_as for name in names)
