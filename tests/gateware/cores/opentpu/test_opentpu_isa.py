# SPDX-License-Identifier: BSD-2-Clause
"""The OpenTPU table against its document: golden words, faults, flags, errors and warnings of the
assembler."""

import itertools
import random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.opentpu.isa import CFG_NAMES, ISA, cfg_built, cfg_legal
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import AsmError, assemble, assemble_text, disassemble, load_program
from quintet.gateware.isa.words import illegal_words, random_word

GOLDEN = {
    "NOP": "00 00 00 0000000000000000 000000",
    "WHM 10, 11, 12": "01 00 0c 000000000000000b 00000a",
    "WHM 0xABCDEF, 1, 255": "01 00 ff 0000000000000001 abcdef",
    "RW 13": "02 00 00 000000000000000d 000000",
    "RW 0xab": "02 00 00 00000000000000ab 000000",
    "RW.D 13": "02 40 00 000000000000000d 000000",
    "MMC 1, 2, 3": "03 00 03 0000000000000002 000001",
    "MMC.S 1, 2, 3": "03 01 03 0000000000000002 000001",
    "MMC.O 1, 2, 3": "03 04 03 0000000000000002 000001",
    "MMC.OS 1, 2, 3": "03 05 03 0000000000000002 000001",
    "MMC.SOC 1, 2, 3": "03 07 03 0000000000000002 000001",
    "ACT 4, 5, 6": "04 00 06 0000000000000004 000005",
    "ACT.R 4, 5, 6": "04 08 06 0000000000000004 000005",
    "ACT.Q 4, 5, 6": "04 10 06 0000000000000004 000005",
    "ACT.RQ 4, 5, 6": "04 18 06 0000000000000004 000005",
    "ACT.RP 4, 5, 6": "04 28 06 0000000000000004 000005",
    "SYNC": "05 00 00 0000000000000000 000000",
    "SYNC.I 0x1234": "05 01 00 0000000000001234 000000",
    "RHM 7, 8, 9": "06 00 09 0000000000000007 000008",
    "RHM 0x123456789, 0xFFF, 256": "06 00 00 0000000123456789 000fff",
    "HLT": "07 00 00 0000000000000000 000000",
    "CFG norm, 0x00010103": "10 00 00 0000000000010103 000000",
}

SMALL = """\
RHM 0, 0, 3       # 0600030000000000000000000000
RW  0             # 0200000000000000000000000000
RW  1             # 0200000000000000000001000000
MMC.SO 0, 0, 3    # 0305030000000000000000000000
ACT.R  0, 4, 3    # 0408030000000000000000000004
MMC.SO 4, 8, 3    # 0305030000000000000008000004
MMC    0, 8, 3    # 0300030000000000000008000000   same tile, accumulates
ACT.Q  8, 8, 3    # 0410030000000000000008000008
WHM 8, 4, 3       # 0100030000000000000004000008
ACT 8, 12, 3      # 040003000000000000000800000c
WHM 12, 7, 3      # 010003000000000000000700000c
HLT               # 0700000000000000000000000000
"""

CANONICAL = {
    "MMC.OS 1, 2, 3": "MMC.SO 1, 2, 3",
    "WHM 0xABCDEF, 1, 255": "WHM 11259375, 1, 255",
    "RW 0xab": "RW 171",
    "SYNC.I 0x1234": "SYNC.I 4660",
    "RHM 0x123456789, 0xFFF, 256": "RHM 4886718345, 4095, 256",
    "CFG norm, 0x00010103": "CFG norm, 65795",
}


def word(text, params=None):
    return int.from_bytes(assemble_text(SOFTWARE, text, params=params).data, "big")


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_words_both_ways(text):
    data = bytes.fromhex(GOLDEN[text])
    assert assemble_text(SOFTWARE, text).data == data
    assert disassemble(SOFTWARE, data) == CANONICAL.get(text, text) + "\n"


def test_small_program_word_by_word():
    expected = [bytes.fromhex(line.split("#")[1].split()[0]) for line in SMALL.splitlines()]
    program = assemble_text(SOFTWARE, SMALL, name="small.a")
    assert program.data == b"".join(expected)
    assert program.warnings == []
    assert {offset: tuple(line) for offset, line in program.lines.items()} == {
        14 * k: ("small.a", k + 1) for k in range(12)
    }


@pytest.mark.parametrize(
    "mnemonic, letters, bits",
    [
        ("MMC", "SOCB", (0, 2, 1, 7)),
        ("ACT", "RQP", (3, 4, 5)),
        ("SYNC", "I", (0,)),
        ("RW", "D", (6,)),
    ],
)
def test_every_flag_combination_in_every_order(mnemonic, letters, bits):
    operands = {"SYNC": "", "RW": " 0"}.get(mnemonic, " 0, 0, 1")
    for count in range(1, len(letters) + 1):
        for chosen in itertools.permutations(range(len(letters)), count):
            flags = "".join(letters[k] for k in chosen)
            expected = sum(1 << bits[k] for k in chosen)
            for written in (flags, flags.lower()):
                assert word(f"{mnemonic}.{written}{operands}") >> 96 & 0xFF == expected
            canonical = "".join(letters[k] for k in sorted(chosen))
            text = disassemble(SOFTWARE, ISA.store(word(f"{mnemonic}.{flags}{operands}")))
            assert text == f"{mnemonic}.{canonical}{operands}\n"


def test_lengths_1_255_256():
    assert [word(f"RHM 0, 0, {n}") >> 88 & 0xFF for n in (1, 255, 256)] == [1, 255, 0]


def test_published_quirks_of_text():
    data = bytes.fromhex(GOLDEN["RW 0xab"])
    for text in (
        "RW 0xab",
        "\t RW\t0xAB  \r\n",
        "rw 0xab#tight",
        "RW 0b10101011",
        "RW 0o253",
        "RW 1_71",
        "\n\n#c\nRW 171",
    ):
        assert assemble_text(SOFTWARE, text).data == data


def test_every_opcode_decodes_or_faults():
    known = {0, 1, 2, 3, 4, 5, 6, 7, 0x10}
    for opcode in range(256):
        # CFG pool with all zero bits would be another fault; register 0 with value 0 is legal.
        decoded = ISA.decode(opcode << 104)
        assert (decoded.fault is None) == (opcode in known), opcode
        if opcode not in known:
            assert (decoded.fault, decoded.detail) == ("illegal_opcode", opcode)


ZERO = {
    "NOP": {1: 0xFF, 2: 0xFF, 3: 2**64 - 1, 4: 2**24 - 1},
    "WHM": {1: 0xFF},
    "RW": {1: 0xBF, 2: 0xFF, 4: 2**24 - 1},
    "MMC": {1: 0x78},
    "ACT": {1: 0xC7},
    "SYNC": {1: 0xFE, 2: 0xFF, 3: (2**64 - 1) ^ 0xFFFF, 4: 2**24 - 1},
    "RHM": {1: 0xFF},
    "HLT": {1: 0xFF, 2: 0xFF, 3: 2**64 - 1, 4: 2**24 - 1},
    "CFG": {1: 0xFF, 2: 0xFF, 3: (2**64 - 1) ^ 0xFFFF_FFFF},
}
PARTS = {1: 96, 2: 88, 3: 24, 4: 0}


@pytest.mark.parametrize("mnemonic", ZERO)
def test_every_must_be_zero_bit_is_bad_field(mnemonic):
    base = ISA.opcodes[mnemonic] << 104
    expected = sum(mask << PARTS[part] for part, mask in ZERO[mnemonic].items())
    for bit in range(104):
        decoded = ISA.decode(base | 1 << bit)
        if expected >> bit & 1:
            part = next(p for p, lo in sorted(PARTS.items()) if bit >= lo)
            assert (decoded.fault, decoded.detail) == ("bad_field", part), bit
            assert disassemble(SOFTWARE, ISA.store(base | 1 << bit)).startswith(".word 0x")
        else:
            assert decoded.fault != "bad_field", bit


def test_lowest_field_number_wins_and_precedence_follows_the_fault_table():
    assert ISA.decode(0x07_00_01_0000000000000001_000001)[2:] == ("bad_field", 2)
    assert ISA.decode(0x07_80_01_0000000000000001_000001)[2:] == ("bad_field", 1)
    # bad_config stands before bad_field, bad_field before ub_range, ub_range before acc_range.
    assert ISA.decode(0x10_01_00_0000000000000000_000004)[2:] == ("bad_config", 4)
    sizes = {"ub_rows": 64, "acc_rows": 64}
    assert ISA.decode(0x03_40_01_0000000000000040_000040, sizes)[2:] == ("bad_field", 1)
    assert ISA.decode(0x03_00_02_0000000000000040_00003F, sizes)[2:] == ("ub_range", 64)
    assert ISA.decode(0x03_00_02_0000000000000040_00003E, sizes)[2:] == ("acc_range", 65)
    assert ISA.decode(0x03_00_02_FFFFFFFFFFFFFFFF_00003E, sizes)[2:] == ("acc_range", 0xFFFF_FFFF)
    assert ISA.decode(0x03_00_00_0000000000000000_000000, {"ub_rows": 256, "acc_rows": 256})[
        2:
    ] == (None, 0)
    assert ISA.decode(0x03_00_00_0000000000000001_000000, {"ub_rows": 256, "acc_rows": 256})[
        2:
    ] == ("acc_range", 256)
    # All 64 bits of the accumulator address count.
    assert ISA.decode(0x04_00_01_0000000100000000_000000, sizes)[2:] == ("acc_range", 0xFFFF_FFFF)


def test_what_is_not_built():
    off = {
        "ext_sync": False,
        "ext_norm": False,
        "ext_conv": False,
        "ext_pool": False,
        "ext_diag": False,
        "ext_bias": False,
        "ub_rows": 64,
        "acc_rows": 64,
    }
    sync = ISA.decode(0x05_FF_FF_FFFFFFFFFFFFFFFF_FFFFFF, off)
    assert (sync.instruction.mnemonic, sync.fault) == ("NOP", None)
    assert ISA.decode(word("CFG norm, 0"), off)[2:] == ("illegal_opcode", 0x10)
    assert ISA.decode(word("CFG conv, 0"), {**off, "ext_norm": True})[2:] == ("bad_config", 1)
    assert ISA.decode(word("ACT.P 0, 0, 1"), off)[2:] == ("bad_field", 1)
    assert ISA.decode(word("RW.D 0"), off)[2:] == ("bad_field", 1)
    assert ISA.decode(word("MMC.B 0, 0, 1"), off)[2:] == ("bad_field", 1)
    convolve = ISA.decode(word("MMC.C 0, 0, 1"), off)
    assert (convolve.fault, convolve.values["convolve"]) == (None, 0)
    # Rows of C and P are checked while they run, but only where they are built.
    assert ISA.decode(word("MMC.C 64, 0, 1"), off)[2:] == ("ub_range", 64)
    assert ISA.decode(word("MMC.C 64, 0, 1"), {**off, "ext_conv": True}).fault is None
    assert ISA.decode(word("ACT.P 64, 0, 1"), {**off, "ext_pool": True}).fault is None


@pytest.mark.parametrize(
    "number, legal, illegal",
    [
        (
            0,
            (0, 0x3, 0x103, 0x10103, 0x20103, 0x1011F),
            (0x20, 0x30000, 0x200, 0x40000, 0x80000000),
        ),
        (1, (0, 0x100, 0xFFFFFFFF), ()),
        (2, (0x10011, 0x11, 0xFFFFFF), (0x10, 0x01, 0, 0x1000011)),
        (3, (0, 0xFFFFFFFF), ()),
        (4, (), (0,)),
    ],
)
def test_cfg_values(number, legal, illegal):
    for value in legal:
        assert cfg_legal(number, value)
    for value in illegal:
        assert not cfg_legal(number, value)
        assert ISA.decode(0x10 << 104 | value << 24 | number)[2:] == ("bad_config", number)
    assert cfg_built(number, None) == (number < len(CFG_NAMES))


def test_cfg_names_and_numbers():
    for number, name in enumerate(CFG_NAMES):
        assert (
            word(f"CFG {name}, 17") == word(f"cfg {number}, 17") == word(f"CFG {name.upper()}, 17")
        )


def test_registers_faults_and_identity():
    assert (ISA.name, ISA.tag, ISA.program_align) == ("opentpu", "OTPU", 16)
    assert {r.name: r.offset for r in ISA.registers} == {
        "hostmem_base": 0x100,
        "hostmem_limit": 0x104,
        "weights_base": 0x108,
        "weights_limit": 0x10C,
        "sigmoid_compat": 0x110,
        "sync_tag": 0x114,
        "cfg_norm": 0x120,
        "cfg_conv": 0x124,
        "cfg_pool": 0x128,
        "cfg_poolrow": 0x12C,
    }
    assert ISA.fault_codes == {
        "bad_register": 16,
        "bad_config": 17,
        "window": 5,
        "illegal_opcode": 1,
        "bad_field": 2,
        "ub_range": 18,
        "acc_range": 19,
        "host_range": 20,
        "weight_range": 21,
        "no_weights": 22,
        "weight_underflow": 23,
        "weight_overflow": 24,
        "bus_error": 6,
        "program_end": 7,
        "aborted": 8,
    }
    for register in ISA.registers[-4:]:
        assert cfg_legal(CFG_NAMES.index(register.name.removeprefix("cfg_")), register.reset)


ERRORS = {
    "FOO 1": "1:1: unknown mnemonic 'FOO', expected ACT, CFG, HLT, MMC, NOP, RHM, RW, SYNC, WHM",
    "MMC.R 1, 2, 3": "1:5: flag 'R' is not allowed on MMC, expected S, O, C, B",
    "ACT.RS 1, 2, 3": "1:6: flag 'S' is not allowed on ACT, expected R, Q, P",
    "RHM.S 1, 2, 3": "1:5: flag 'S' is not allowed on RHM, expected no flags",
    "RW.S 1": "1:4: flag 'S' is not allowed on RW, expected D",
    "MMC.D 1, 2, 3": "1:5: flag 'D' is not allowed on MMC, expected S, O, C, B",
    "HLT.I": "1:5: flag 'I' is not allowed on HLT, expected no flags",
    "MMC. 1, 2, 3": "1:4: no flags after '.', expected letters of S, O, C, B",
    "MMC 1, 2": "1:9: MMC takes 3 operands, not 2, expected MMC[.SOCB] ub_src, acc_dst, n",
    "MMC": "1:4: MMC takes 3 operands, not 0, expected MMC[.SOCB] ub_src, acc_dst, n",
    "RHM 1, 2, 3, 4": "1:14: RHM takes 3 operands, not 4, expected RHM host_src, ub_dst, n",
    "RW": "1:3: RW takes 1 operand, not 0, expected RW[.D] tile",
    "NOP 3": "1:5: NOP takes no operands, not 1, expected NOP",
    "HLT 0": "1:5: HLT takes no operands, not 1, expected HLT",
    "SYNC 1, 2": "1:9: SYNC takes 0 to 1 operands, not 2, expected SYNC[.I] [tag]",
    "MMC 1, , 3": "1:8: unexpected ',', expected a number",
    "MMC 1, 2, 3)": "1:12: unexpected ')', expected end of line after MMC[.SOCB] ub_src, acc_dst, "
    "n",
    "WHM -1, 0, 1": "1:5: ub_src of WHM is -1, expected 0 to 16777215",
    "WHM 1<<24, 0, 1": "1:5: ub_src of WHM is 16777216, expected 0 to 16777215",
    "WHM 0, 1<<64, 1": (
        "1:8: host_dst of WHM is 0x10000000000000000, expected 0 to 18446744073709551615"
    ),
    "RHM -1, 0, 1": "1:5: host_src of RHM is -1, expected 0 to 18446744073709551615",
    "RHM 0, 1<<24, 1": "1:8: ub_dst of RHM is 16777216, expected 0 to 16777215",
    "RW 1<<64": "1:4: tile of RW is 0x10000000000000000, expected 0 to 18446744073709551615",
    "MMC 0, 65536, 1": "1:8: acc_dst of MMC is 65536, expected 0 to 65535",
    "ACT 65536, 0, 1": "1:5: acc_src of ACT is 65536, expected 0 to 65535",
    "ACT 0, 0, 0": "1:11: n of ACT is 0, expected 1 to 256",
    "RHM 0, 0, 257": "1:11: n of RHM is 257, expected 1 to 256",
    "SYNC 65536": "1:6: tag of SYNC is 65536, expected 0 to 65535",
    "CFG norm, 1<<32": "1:11: value of CFG is 4294967296, expected 0 to 4294967295",
    "CFG 4, 0": "1:5: reg of CFG is 4, expected 0 to 3",
    "CFG shift, 0": (
        "1:5: unknown reg 'shift', expected one of norm, conv, pool, poolrow or a number"
    ),
    ".word 1 << 112": "1:7: the word does not fit, expected 0 to 0xffffffffffffffffffffffffffff",
    ".word -1": "1:7: the word does not fit, expected 0 to 0xffffffffffffffffffffffffffff",
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises(AsmError) as caught:
        assemble_text(SOFTWARE, text, name="x.a")
    assert str(caught.value) == "x.a:" + ERRORS[text]


def test_errors_of_sizes_need_parameters():
    sizes = {"ub_rows": 64, "acc_rows": 64}
    for text, message in {
        "RHM 0, 63, 2": "1:8: vectors 63 to 64 pass the last one of this build, expected 0 to 63",
        "WHM 64, 0, 1": "1:5: vectors 64 to 64 pass the last one of this build, expected 0 to 63",
        "MMC 0, 60, 5": (
            "1:8: accumulator rows 60 to 64 pass the last one of this build, expected 0 to 63"
        ),
        "ACT 60, 0, 5": (
            "1:5: accumulator rows 60 to 64 pass the last one of this build, expected 0 to 63"
        ),
    }.items():
        assemble_text(SOFTWARE, text)
        with pytest.raises(AsmError) as caught:
            assemble_text(SOFTWARE, text, name="x.a", params=sizes)
        assert str(caught.value) == "x.a:" + message
    assert assemble_text(SOFTWARE, "RHM 0, 63, 1\nMMC.S 62, 62, 2", params=sizes).data


def warnings(text, params=None):
    return [str(w) for w in assemble_text(SOFTWARE, text, name="x.a", params=params).warnings]


def test_warnings():
    assert warnings("NOP") == ["x.a:1:4: warning: the program has no HLT: fault program_end"]
    assert warnings("") == ["x.a:1:1: warning: the program has no HLT: fault program_end"]
    assert warnings("RW 0\nMMC 0,0,1\nMMC.S 0,0,1\nHLT") == [
        "x.a:2:1: warning: the first MMC has no S: fault no_weights"
    ]
    assert warnings("RW 0\n" * 6 + "HLT") == [
        "x.a:6:1: warning: more tiles pending than the weight queue holds (5): fault "
        "weight_overflow"
    ]
    assert warnings("RW 0\n" * 5 + "HLT") == []
    assert warnings("RW 0\n" * 4 + "HLT", {"wfifo_tiles": 1}) == [
        "x.a:3:1: warning: more tiles pending than the weight queue holds (2): fault "
        "weight_overflow "
        "(1 more of this kind)"
    ]
    assert warnings("RW 0\nMMC.S 0,0,1\nMMC.S 0,0,1\nHLT") == [
        "x.a:3:1: warning: MMC.S with no tile pending: fault weight_underflow"
    ]
    assert warnings("ACT.RQ 0,0,1\nHLT") == [
        "x.a:1:1: warning: ACT with both R and Q means neither (func 3)"
    ]
    assert warnings("RHM 0,0,256\nHLT") == [
        "x.a:1:1: warning: length 256 is coded 0, which the published functional simulator "
        "takes as nothing"
    ]
    assert warnings("CFG norm, 0x30000\nHLT") == [
        "x.a:1:11: warning: 0x30000 is no legal value of norm: fault bad_config"
    ]
    # Words behind HLT are never executed.
    assert warnings("HLT\nMMC 0,0,1") == []


def test_warnings_of_what_is_not_built():
    off = {
        "ext_sync": False,
        "ext_norm": False,
        "ext_conv": False,
        "ext_pool": False,
        "ext_diag": False,
        "ext_bias": False,
        "ub_rows": 64,
        "acc_rows": 64,
    }
    assert warnings("SYNC\nHLT", off) == [
        "x.a:1:1: warning: SYNC is not built with these parameters: it acts as NOP"
    ]
    assert warnings("CFG norm, 0\nHLT", off) == [
        "x.a:1:1: warning: CFG is not built with these parameters: fault illegal_opcode"
    ]
    assert warnings("CFG pool, 0x11\nHLT", {**off, "ext_norm": True}) == [
        "x.a:1:11: warning: CFG pool is not built with these parameters: fault bad_config"
    ]
    assert warnings("RW 0\nMMC.SC 0,0,1\nHLT", off) == [
        "x.a:2:1: warning: flag C of MMC is not built with these parameters: it is ignored"
    ]
    assert warnings("ACT.P 0,0,1\nHLT", off) == [
        "x.a:1:1: warning: flag P of ACT is not built with these parameters: fault bad_field"
    ]
    assert warnings("RW.D 0\nHLT", off) == [
        "x.a:1:1: warning: flag D of RW is not built with these parameters: fault bad_field"
    ]
    assert warnings("RW 0\nMMC.SB 0,0,1\nHLT", off) == [
        "x.a:2:1: warning: flag B of MMC is not built with these parameters: fault bad_field"
    ]


def test_files(tmp_path):
    source, binary, odd = tmp_path / "p.a", tmp_path / "p.out", tmp_path / "odd.bin"
    source.write_text(SMALL)
    binary.write_bytes(assemble(SOFTWARE, source).data)
    assert load_program(SOFTWARE, binary).data == load_program(SOFTWARE, source).data
    odd.write_bytes(bytes(15))
    with pytest.raises(
        AsmError, match="15 bytes are no whole number of words, expected a multiple of 14 bytes"
    ):
        load_program(SOFTWARE, odd)
    with pytest.raises(
        AsmError, match="15 bytes are no whole number of words, expected a multiple of 14 bytes"
    ):
        disassemble(SOFTWARE, bytes(15))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 2**112 - 1),
            st.builds(
                lambda opcode, rest: opcode << 104 | rest,
                st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7, 16)),
                st.integers(0, 2**104 - 1),
            ),
            st.builds(
                lambda o, f, n, a, u: o << 104 | f << 96 | n << 88 | a << 24 | u,
                st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7, 16)),
                st.integers(0, 0xFF),
                st.integers(0, 255),
                st.integers(0, 0x1FFFF),
                st.integers(0, 0xFFFFFF),
            ),
        ),
        max_size=8,
    ),
    st.sampled_from(
        (
            None,
            {
                "ub_rows": 64,
                "acc_rows": 64,
                "ext_sync": False,
                "ext_pool": False,
                "ext_diag": False,
                "ext_bias": False,
            },
        )
    ),
)
def test_round_trip_of_any_word(words, params):
    data = ISA.store(words)
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, data, params), params=params).data == data


def test_legal_words_never_print_as_word():
    rng = random.Random(5)
    for _ in range(300):
        text = f"MMC.S {rng.randrange(1 << 24)}, {rng.randrange(1 << 16)}, {rng.randrange(1, 257)}"
        assert disassemble(SOFTWARE, assemble_text(SOFTWARE, text).data) == text + "\n"


STATIC = ("bad_config", "illegal_opcode", "bad_field", "ub_range", "acc_range")


@pytest.mark.parametrize("extended", (False, True))
@pytest.mark.parametrize("preset", ("sim", "sim-ext", "sim-plain"))
def test_table_and_model_agree_on_every_fault_of_a_word_alone(preset, extended):
    params = SPACE.resolve(preset, {"ext_diag": extended, "ext_bias": extended})
    rng = random.Random(preset)
    words = [
        random_word(ISA, rng, legal=legal, params=given)
        for given in (None, params)
        for legal in (True, False, False)
        for _ in range(60)
    ] + [word for word, _ in illegal_words(ISA, params)]
    seen = set()
    for word in words:
        memory = numpy.zeros(0x8000, dtype=numpy.uint8)
        memory[0x1000:0x101C] = list(ISA.store([word, ISA.encode("HLT")]))
        outcome = Model(params, memory).run(
            {
                "program_address": 0x1000,
                "program_length": 28,
                "hostmem_base": 0x2000,
                "hostmem_limit": 0x8000,
                "weights_base": 0x2000,
                "weights_limit": 0x8000,
            }
        )
        decoded = ISA.decode(word, params)
        running = decoded.fault is None and (
            decoded.values.get("convolve") or decoded.values.get("pool")
        )
        if decoded.fault is not None:
            fault = outcome.fault
            assert (fault.name, fault.pc, fault.detail) == (decoded.fault, 0x1000, decoded.detail)
        elif not running:
            assert outcome.fault is None or outcome.fault.name not in STATIC, f"{word:#x}"
        seen.add(decoded.fault)
    assert seen >= {None, "illegal_opcode", "bad_field", "ub_range"}
