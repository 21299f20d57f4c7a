# SPDX-License-Identifier: BSD-2-Clause
"""Output of the published assembler: words of instructions, and one program's export."""

__all__ = ["GOLDEN", "GOLDEN_EXPORT"]

#: Instructions with arguments in the table's order, and their words as the published assembler
#: makes them.
GOLDEN = (
    ("mv_nop", (), 0x00000000),
    ("mv_write", (0, 0), 0x04000000),
    ("mv_write", (291, 0x5A3C), 0x05235A3C),
    ("mv_write", (1023, 0xFFFF), 0x07FFFFFF),
    ("mv_mov", (17, 42), 0x1C00046A),
    ("mv_movOffset", (11, 17, 42), 0x1C0B046A),
    ("mv_add", (33, 12, 50), 0x14210C8C),
    ("mv_sub", (33, 12, 50), 0x14E10C8C),
    ("mv_add", (0, 0, 0), 0x14000000),
    ("mv_sub", (55, 55, 55), 0x14F70DF7),
    ("mv_updatepp", (20, 7, 9, 0), 0x0C1401C9),
    ("mv_updatepp", (20, 7, 9, 13), 0x0F5401C9),
    ("mv_updatepp", (54, 53, 52, 15), 0x0FF60D74),
    ("mv_clrmbit", (), 0x20000000),
    ("mv_selectBlk", (45, 7), 0x18402D07),
    ("mv_selectBlk", (255, 255), 0x1840FFFF),
    ("mv_selectRow", (45,), 0x18802D00),
    ("mv_selectCol", (7,), 0x18000007),
    ("mv_selectAll", (), 0x18C00000),
    ("mv_blockFold", (1, 19, 37), 0x100104E5),
    ("mv_blockFold", (2, 19, 37), 0x100204E5),
    ("mv_blockFold", (4, 19, 37), 0x100404E5),
    ("mv_accumRow", (0, 41), 0x10400029),
    ("mv_accumRow", (3, 41), 0x10430029),
    ("vv_nop", (), 0x40000000),
    ("vv_serialEn", (), 0x44000000),
    ("vv_parallelEn", (), 0x48000000),
    ("vv_shiftOff", (), 0x4C000000),
)

#: Text of ``export_verilogBin`` of the program of section 3.5.
GOLDEN_EXPORT = """\
00_0110_0010000000_0000001100000000  // MV_SELECT_ROW rowID=3; third row
00_0001_0000000101_0000101010111100  // MV_WRITE addr=5, data=0xABC
// ---- MACRO: MV_BLOCK_ACCUM rd=19, rs=37; sum
00_0100_0000000001_0000010011100101
00_0100_0000000010_0000010011010011
00_0100_0000000011_0000010011010011
00_0100_0000000100_0000010011010011
// ---- End of MACRO
01_0001_00000000000000000000000000  // VV_SERIAL_EN
// ---- MACRO: MV_SYNC
00_0000_0000000000_0000000000000000
00_0000_0000000000_0000000000000000
// ---- End of MACRO
01_0010_00000000000000000000000000  // VV_PARALLEL_EN; go
// ---- MACRO: VV_SYNC
01_0000_00000000000000000000000000
// ---- End of MACRO
"""
