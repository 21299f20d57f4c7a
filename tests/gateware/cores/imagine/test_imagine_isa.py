# SPDX-License-Identifier: BSD-2-Clause
"""The table of IMAGine: golden words, undefined words, faults of words in their order."""

import random

import pytest

from quintet.gateware.cores.imagine.isa import FAULTS, INSTRUCTIONS, ISA, REGISTERS
from quintet.gateware.cores.imagine.params import SPACE
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from tests.gateware.cores.imagine.oracle.golden import GOLDEN

SIM = SPACE.resolve("sim")
SMALL = SPACE.resolve("sim", {"rows": 3, "cols": 5, "reg_width": 8, "depth": 64})


@pytest.mark.parametrize(
    "mnemonic, arguments, word", GOLDEN, ids=[f"{word:08x}" for *_, word in GOLDEN]
)
def test_golden_words(mnemonic, arguments, word):
    instruction = next(i for i in INSTRUCTIONS if i.mnemonic == mnemonic)
    values = dict(zip((f.name for f in instruction.fields), arguments, strict=True))
    assert ISA.encode(mnemonic, **values) == word
    decoded = ISA.decode(word)
    assert (decoded.instruction.mnemonic, decoded.values, decoded.fault) == (mnemonic, values, None)


def test_every_instruction_has_a_golden_word():
    assert {i.mnemonic for i in INSTRUCTIONS} == {mnemonic for mnemonic, *_ in GOLDEN}


def test_offset_zero_is_mov():
    assert ISA.decode(0x1C00046A).instruction.mnemonic == "mv_mov"
    assert ISA.encode("mv_movOffset", offset=0, rd=17, rs=42) == 0x1C00046A


def test_fault_numbers():
    assert ISA.fault_codes == {
        "illegal_opcode": 1,
        "reserved_bits": 2,
        "program_window": 5,
        "bus_read": 6,
        "aborted": 8,
        "program_align": 16,
        "illegal_submodule": 17,
        "register_range": 18,
        "address_range": 19,
        "field_range": 20,
        "select_range": 21,
        "operand_overlap": 22,
        "output_full": 23,
        "output_window": 24,
        "bus_write": 25,
    }
    assert [f.name for f in FAULTS][:5] == [
        "program_align",
        "program_window",
        "illegal_submodule",
        "illegal_opcode",
        "reserved_bits",
    ]


def test_registers():
    assert [(r.name, r.offset) for r in REGISTERS] == [
        ("output_at", 0x100),
        ("output_limit", 0x104),
        ("output_count", 0x108),
        ("vectors", 0x10C),
        ("eov", 0x110),
        ("geometry", 0x114),
        ("register_file", 0x118),
    ]
    assert [r.name for r in REGISTERS if r.given] == ["output_at", "output_limit"]


@pytest.mark.parametrize(
    "word",
    [
        *(submodule << 30 | opcode << 26 for submodule in (2, 3) for opcode in (0, 1, 15)),
        0x80000000 | 0x123456,
    ],
)
def test_illegal_submodules(word):
    assert ISA.decode(word, SIM)[2:] == ("illegal_submodule", word)


@pytest.mark.parametrize(
    "word",
    [
        *(opcode << 26 for opcode in (2, *range(9, 16), *range(20, 32))),
        0x10800000,
        0x10C00000,
        0x14400000,
        0x14800000,
        0x1C400000,
        0x1C800000,
        0x1CC00000,
        *(0x20000000 | scode << 16 for scode in range(1, 8)),
    ],
    ids=lambda word: f"{word:08x}",
)
def test_illegal_opcodes(word):
    assert ISA.decode(word, SIM)[2:] == ("illegal_opcode", word)


@pytest.mark.parametrize(
    "word, params, fault",
    [
        (0x12000000 | 0x00010000, SIM, "reserved_bits"),  # [25:24] of opcode 4
        (0x20080000, SIM, "reserved_bits"),
        (0x40000001, SIM, "reserved_bits"),
        (0x18C00001, SIM, "reserved_bits"),
        (0x18800001, SIM, "reserved_bits"),
        (0x0C141000 | 0x1C9, SIM, "reserved_bits"),
        (0x10400029 | 1 << 9, SIM, "reserved_bits"),
        (0x14000000 | 8 << 16, SMALL, "register_range"),
        (0x14000000 | 8, SMALL, "register_range"),
        (0x14000000 | 8 << 6, SMALL, "register_range"),
        (0x0C000000 | 7 << 16, SMALL, "register_range"),
        (0x0C000000 | 63 << 16, None, "register_range"),
        (0x1C010000 | 7, SMALL, "register_range"),
        (0x1C000000 | 7, SMALL, None),
        (0x04000000 | 64 << 16, SMALL, "address_range"),
        (0x04000000 | 63 << 16, SMALL, None),
        (0x0C000000 | 8 << 22 | 2 << 16, SMALL, "field_range"),
        (0x1C080000, SMALL, "field_range"),
        (0x10000000, SIM, "field_range"),
        (0x10050000, SIM, "field_range"),
        (0x10440000, SIM, "field_range"),
        (0x10430000, SIM, None),
        (0x10440000, SPACE.resolve("sim", {"cols": 17}), None),
        (0x10450000, SPACE.resolve("sim", {"cols": 17}), "field_range"),
        (0x10470000, None, None),
        (0x10480000, None, "field_range"),
        (0x18400300, SMALL, "select_range"),
        (0x18400005, SMALL, "select_range"),
        (0x18400204, SMALL, None),
        (0x18800300, SMALL, "select_range"),
        (0x18000005, SMALL, "select_range"),
        (0x0C000000 | 3 << 16 | 3 << 6, SIM, "operand_overlap"),
        (0x0C000000 | 3 << 16 | 4, SIM, "operand_overlap"),
        (0x0C000000 | 3 << 16 | 5, SIM, None),
        (0x0C000000, None, "operand_overlap"),
        (0x1C010000 | 5 << 6 | 4, SIM, "operand_overlap"),
        (0x1C010000 | 4 << 6 | 4, SIM, None),
        (0x1C000000 | 5 << 6 | 4, SIM, None),
        (
            0x12000000 | 63,
            SMALL,
            "reserved_bits",
        ),  # the order of the table: bits before registers and fields
        (0x10000000 | 63, SMALL, "register_range"),
        (0x0C000000 | 15 << 22 | 9 << 16, SMALL, "register_range"),
        (0x1C000000 | 15 << 16 | 4 << 6 | 3, SMALL, "field_range"),
    ],
    ids=lambda value: f"{value:08x}" if isinstance(value, int) else None,
)
def test_faults_of_words(word, params, fault):
    decoded = ISA.decode(word, params)
    assert (decoded.fault, decoded.detail) == ((fault, word) if fault else (None, 0))


def test_illegal_words_of_the_table_carry_themselves():
    words = list(illegal_words(ISA, SMALL))
    assert len(words) > 100
    for word, decoded in words:
        assert decoded.fault is not None and decoded.detail == word


def test_words_of_every_instruction():
    rng = random.Random(1)
    for instruction in INSTRUCTIONS:
        assert list(extreme_words(ISA, instruction, SMALL))
        for _ in range(20):
            word = random_word(ISA, rng, params=SMALL, mnemonics=(instruction.mnemonic,))
            assert ISA.decode(word, SMALL).fault is None


def test_a_job_may_write_the_output_area_alone():
    from quintet.tools.jobs.registers import RegisterMap

    registers = RegisterMap(ISA)
    assert registers.check_job_value("output_at", 0x4000) == 0x4000
    with pytest.raises(
        ValueError,
        match="^is a flag that the core sets and a host clears; no job gives it a value$",
    ):
        registers.check_job_value("eov", 1)
    with pytest.raises(
        ValueError, match="a job may set output_at, output_limit, window_base, window_limit$"
    ):
        registers.check_job_value("vector_size", 1)
    assert list(registers.read_only()) == [
        "output_count",
        "vectors",
        "eov",
        "geometry",
        "register_file",
    ]
