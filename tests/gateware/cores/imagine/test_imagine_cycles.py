# SPDX-License-Identifier: BSD-2-Clause
"""The cycle formulas of section 10, and the estimate of whole programs made of them."""
import pytest

from quintet.gateware.cores.imagine import cycles
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.params import SPACE


@pytest.mark.parametrize("mnemonic, level, wanted", [
    ("mv_write", 0, (1, 1, 1)), ("mv_selectAll", 0, (1, 1, 1)), ("mv_nop", 0, (1, 1, 1)), ("vv_serialEn", 0, (1, 1, 1)),
    ("mv_add", 0, (33, 17, 9)), ("mv_sub", 0, (33, 17, 9)), ("mv_mov", 0, (21, 13, 9)), ("mv_movOffset", 0, (21, 13, 9)),
    ("mv_blockFold", 0, (21, 13, 9)), ("mv_updatepp", 0, (35, 19, 11)), ("mv_accumRow", 0, (23, 15, 11)),
    ("mv_accumRow", 1, (24, 16, 12)), ("mv_accumRow", 2, (26, 18, 14)), ("mv_accumRow", 3, (30, 22, 18))])
def test_instructions(mnemonic, level, wanted):
    assert tuple(cycles.instruction(mnemonic, width, level) for width in (16, 8, 4)) == wanted


def test_no_such_instruction():
    with pytest.raises(ValueError, match="^no instruction 'mv_halt'$"):
        cycles.instruction("mv_halt", 16)


def test_macros():
    assert [cycles.mult(n) for n in (16, 8, 4)] == [561, 153, 45]
    assert [cycles.multfxp(n) for n in (16, 8, 4)] == [582, 166, 54]
    assert [cycles.blockaccum(n) for n in (16, 8, 4)] == [84, 52, 36]
    assert [cycles.allaccum(16, n) for n in range(5)] == [84, 107, 131, 157, 187]
    assert [cycles.allaccum(8, n) for n in range(3)] == [52, 67, 83]
    assert [cycles.allaccum(4, n) for n in range(3)] == [36, 47, 59]
    assert [cycles.clrreg(n) for n in (16, 8, 4)] == [17, 9, 5]


@pytest.mark.parametrize("width, rows, cols, wanted", [
    (16, 4, 2, (729, 732)), (16, 8, 2, (729, 736)), (16, 16, 3, (753, 768)), (16, 48, 4, (753, 800)),
    (16, 16, 16, (809, 824)), (8, 16, 4, (273, 288)), (4, 16, 4, (129, 144))])
def test_gemv(width, rows, cols, wanted):
    assert cycles.gemv(width, rows, cols) == wanted


def test_tiled():
    assert cycles.tiled(16, 16, 4, 128, 256) == 20912
    assert cycles.tiled(16, 48, 4, 128, 256) == 7938
    assert [cycles.tiled(16, 16, 4, 64, 64), cycles.tiled(16, 16, 4, 10, 64)] == [3076, 769]


def test_estimate_of_a_kernel():
    """The whole program ends when the last word is there; transfers to memory are not in it."""
    params = SPACE.resolve("sim", {"rows": 4, "cols": 2, "depth": 256})
    words = [0x44000000, 0x20000000, *(0x0C0E0103 + (bit << 22) for bit in range(16)), 0x1C04018E, 0x100101C6, 0x100201C7,
             0x100301C7, 0x100401C7, 0x10400007, 0x14080147, 0, 0, 0x48000000]
    assert cycles.estimate(words, params) == cycles.gemv(16, 4, 2)[1]
    assert cycles.estimate([*words, 0x80000000, *words], params) == cycles.gemv(16, 4, 2)[1]


def test_estimate_of_overlap():
    """Array words run beside a shift-out; a word of the column registers waits for it; one that captures waits itself."""
    params = SPACE.resolve("sim", {"rows": 16, "cols": 1})
    add, serial, parallel, off, nop = (ISA.encode(m, **v) for m, v in (
        ("mv_add", {"rd": 0, "rs1": 0, "rs2": 0}), ("vv_serialEn", {}), ("vv_parallelEn", {}), ("vv_shiftOff", {}),
        ("vv_nop", {})))
    assert cycles.estimate([parallel], params) == 19
    assert cycles.estimate([parallel, add], params) == 34
    assert cycles.estimate([parallel, nop, add], params) == 21 + 33
    assert cycles.estimate([serial, add, off, off], params) == 1 + 33 + 2
    assert cycles.estimate([add, off, off], params) == 33
