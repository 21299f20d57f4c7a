# SPDX-License-Identifier: BSD-2-Clause
"""PIM's table against its document: golden words in all forms, field extremes, must-be-zero bits,
text (section 3)."""

import random
import re
from pathlib import Path

import pytest

from quintet.gateware.cores.pim.isa import ISA, KINDS, TWO_SOURCES, kind_of, offset_bits
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.cores.pim.storage import STORAGES, expand, narrow
from quintet.gateware.isa.asm import AsmError
from quintet.gateware.isa.asm.assembler import Assembler
from quintet.gateware.isa.asm.disassembler import instruction_text
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from quintet.gateware.shell.layouts import instruction_layout
from quintet.tools.jobs.registers import RegisterMap
from tests.gateware.cores.pim.bench.sizes import sizes

DOCUMENT = (Path(__file__).resolve().parents[4] / "docs" / "isa" / "pim.md").read_text(
    encoding="utf-8"
)
GOLDEN = [
    (text, int(word, 16))
    for text, word in re.findall(
        r"`([^`]+)` \| `([0-9A-F]{16})`", DOCUMENT.split("### 3.4")[1].split("### 3.5")[0]
    )
]
OPCODES = [
    "nop",
    "sldi",
    "sld",
    "sadd",
    "ssub",
    "smul",
    "saddi",
    "smuli",
    "setbw",
    "mvmul",
    "vvadd",
    "vvsub",
    "vvmul",
    "vvdmul",
    "vvmax",
    "vvsll",
    "vvsra",
    "vavg",
    "vrelu",
    "vtanh",
    "vsigm",
    None,
    "vmv",
    "vrsu",
    "vrsl",
    "ld",
    "st",
    "lldi",
    "lmv",
    "send",
    "recv",
    "wait",
    "sync",
]


def words_of(text, params=None):
    """The words of ``text``, one instruction a line, without making an image."""
    assembler = Assembler(SOFTWARE, params)
    assembler.read_text(text, "x.s")
    return [item.word for item in assembler.section.items]


def error(text, params=None):
    with pytest.raises(AsmError) as info:
        words_of(text, params)
    return str(info.value)


def test_all_golden_words_were_found():
    assert len(GOLDEN) == 35 and {ISA.match(word).mnemonic for _, word in GOLDEN} == set(
        ISA.opcodes
    )


@pytest.mark.parametrize("text, word", GOLDEN)
def test_golden_words_in_every_form(text, word):
    assert words_of(text) == [word]
    for storage in STORAGES:
        low = narrow(word)
        if storage.name == "32" and low is None:
            with pytest.raises(ValueError, match="no 32-bit form"):
                storage.store(word)
            continue
        stored = storage.store(word)
        assert len(stored) == {"64": 8, "32": 4, "packed": 8 if low is None else 4}[storage.name]
        assert storage.load(b"xyz" + stored, 3) == (word, len(stored))
        assert storage.load(stored[:-1]) is None
        back = instruction_text(ISA, word, stored, storage)
        assert not back.startswith(".word") and words_of(back) == [word]


@pytest.mark.parametrize(
    "mode, text, stored",
    [
        (1, "sldi $1, -2", "FFFFF041"),
        (1, "saddi $1, $2, -4", "FFFC1046"),
        (2, "sldi $1, 0x1234", "0091A041"),
        (2, "sldi $1, 0x300000", "00000061 00300000"),
        (2, "vvadd $6, $4, $5, 16, @8:d1", "020521AA 00000043"),
    ],
)
def test_golden_words_of_the_short_forms(mode, text, stored):
    data = b"".join(int(half, 16).to_bytes(4, "little") for half in stored.split())
    (word,) = words_of(text)
    assert STORAGES[mode].store(word) == data and STORAGES[mode].load(data) == (word, len(data))


def test_opcodes_and_aliases():
    assert ISA.opcodes == {name: k for k, name in enumerate(OPCODES) if name}
    for alias, name in (
        ("vvsb", "vvsub"),
        ("vvdml", "vvdmul"),
        ("ldi", "lldi"),
        ("VVADD", "vvadd"),
    ):
        assert ISA.mnemonics[alias.upper()][0].mnemonic == name
    assert [kind_of(op) for op in (0, 8, 9, 10, 24, 25, 32)] == ["scalar"] * 2 + ["matrix"] + [
        "vector"
    ] * 2 + ["transfer"] * 2
    assert sorted(op for opcodes in KINDS.values() for op in opcodes) == list(range(33))


R, SD = {"rd": (10, 6, 0, 31)}, {"offset_value": (63, 35, -(1 << 28), (1 << 28) - 1)}
R1, R2 = {"rs1": (15, 11, 0, 31)}, {"rs2": (20, 16, 0, 31)}
IMM, LEN, SIZE = (
    {"imm": (63, 32, -(1 << 31), (1 << 32) - 1)},
    {"len": (31, 21, 0, 2047)},
    {"size": (31, 21, 0, 2047)},
)
CORE, VALUE, EVENT = (
    {"core": (20, 11, 0, 1023)},
    {"value": (20, 11, 0, 1023)},
    {"event": (10, 6, 0, 31)},
)
S2, S3 = SD | {"offset_select": (33, 32, 0, 3)}, SD | {"offset_select": (34, 32, 0, 7)}

#: instruction -> field -> (highest bit, lowest bit, least legal value, greatest): the table of 3.1.
FIELDS = {
    "nop": {},
    "sldi": R | IMM,
    "sld": R | R1 | SD,
    "setbw": {"ibiw": (10, 6, 1, 32), "obiw": (15, 11, 1, 32)},
    **{name: R | R1 | R2 for name in ("sadd", "ssub", "smul")},
    **{name: R | R1 | IMM for name in ("saddi", "smuli")},
    "mvmul": R | R1 | {"mbiw": (20, 16, 1, 32), "relu": (31, 31, 0, 1), "group": (30, 21, 0, 1023)},
    **{
        name: R | R1 | R2 | LEN | S3
        for name in ("vvadd", "vvsub", "vvmul", "vvdmul", "vvmax", "vvsll", "vvsra", "vrsu", "vrsl")
    },
    "vavg": R | R1 | R2 | LEN | SD,
    **{name: R | R1 | LEN | S2 for name in ("vrelu", "vtanh", "vsigm")},
    "vmv": R | R1 | R2 | LEN,
    **{name: R | R1 | SIZE | S2 for name in ("ld", "st", "lmv")},
    "lldi": R | {"imm": (18, 11, -128, 255)} | SIZE | SD,
    "send": {"rs1": (10, 6, 0, 31)} | CORE | SIZE | SD,
    "recv": R | CORE | SIZE | SD,
    "wait": EVENT | VALUE,
    "sync": EVENT | CORE,
}


@pytest.mark.parametrize("mnemonic", FIELDS)
def test_fields_at_their_ends(mnemonic):
    instruction = ISA.mnemonics[mnemonic.upper()][0]
    assert {
        f.name: (f.hi, f.lo, f.written[0], f.written[-1]) for f in instruction.fields
    } == FIELDS[mnemonic]
    layout = instruction_layout(ISA, mnemonic)
    words = list(extreme_words(ISA, instruction))
    assert len(words) >= min(len(FIELDS[mnemonic]), 1) + 1 or mnemonic == "nop"
    for word in words:
        decoded = ISA.decode(word)
        assert decoded.fault is None and ISA.pack(instruction, decoded.values) == word
        view = layout.from_bits(word)
        for f in instruction.fields:
            assert view[f.name] & (1 << f.width) - 1 == f.bits(word)


def test_roles_of_operands():
    roles = {i.mnemonic: {f.name: f.role for f in i.fields if f.role} for i in ISA.instructions}
    binary = {"rd": "destination", "rs1": "source", "rs2": "second source"}
    assert [name for name in roles if roles[name] == binary] == [
        "vvadd",
        "vvsub",
        "vvmul",
        "vvdmul",
        "vvmax",
        "vvsll",
        "vvsra",
    ]
    assert roles["ld"] == {"rd": "destination", "rs1": "global"} and roles["st"] == {
        "rd": "global",
        "rs1": "source",
    }
    assert roles["mvmul"] == roles["vrsu"] == roles["lmv"] == {"rd": "destination", "rs1": "source"}
    assert roles["vavg"] == {
        "rd": "destination",
        "rs1": "source",
        "offset_value": "offset of source",
    }
    assert roles["sld"] == {"rs1": "global", "offset_value": "offset of global"} and roles[
        "send"
    ] == {"rs1": "source", "offset_value": "offset of source"}
    assert (
        roles["lldi"]
        == roles["recv"]
        == {"rd": "destination", "offset_value": "offset of destination"}
        and roles["sadd"] == roles["setbw"] == {}
    )
    assert TWO_SOURCES == {10, 11, 12, 13, 14, 15, 16}


def test_operands_of_offsets():
    plain = [
        "vvadd",
        "vvsub",
        "vvmul",
        "vvmax",
        "vvsll",
        "vvsra",
        "vrelu",
        "vtanh",
        "vsigm",
        "vrsu",
        "vrsl",
    ]
    assert offset_bits("destination") == {0: [*plain, "ld", "lmv"]}
    assert offset_bits("source") == {
        1: sorted([*plain, "vvdmul", "st", "lmv"], key=ISA.opcodes.get)
    }
    assert offset_bits("second source") == {
        2: [name for name in ISA.opcodes if ISA.opcodes[name] in TWO_SOURCES]
    }
    assert offset_bits("global") == {1: ["ld"], 0: ["st"]}


@pytest.mark.parametrize("mnemonic", FIELDS)
def test_every_other_bit_must_be_zero(mnemonic):
    instruction = ISA.mnemonics[mnemonic.upper()][0]
    word = next(extreme_words(ISA, instruction))
    used = 63
    for f in instruction.fields:
        used |= f.mask
    for bit in range(64):
        if not used >> bit & 1:
            bad = word | 1 << bit
            assert ISA.decode(bad)[2:] == ("illegal_field", bad & 0xFFFFFFFF)


def test_undefined_opcodes():
    bad = [op for op in range(64) if ISA.decode(op).fault]
    assert bad == [21, *range(33, 64)]
    assert ISA.decode(0x1234_0000_0955)[2:] == ("illegal_opcode", 0x955)
    assert {decoded.fault for _, decoded in illegal_words(ISA)} == {
        "illegal_opcode",
        "illegal_field",
    }


def test_offsets_are_written_in_two_ways():
    assert words_of("vvadd $6, $4, $5, 16, offset=0x43") == words_of("vvadd $6, $4, $5, 16, @8:1d")
    assert words_of("lmv $1, $2, 3, offset=-8") == words_of("lmv $1, $2, 3, offset=0xFFFFFFF8")
    assert words_of("lmv $1, $2, 3, offset=0xFFFFFFF9") == words_of("lmv $1, $2, 3, @-1:d")
    assert words_of("vvsb $1, $2, $3, 4, offset=1") == words_of("vvsub $1, $2, $3, 4, @0:d")
    # Bits that do not apply are accepted with any value.
    assert ISA.decode(words_of("vvdmul $1, $2, $3, 4, @9:d12")[0]).fault is None
    assert ISA.decode(words_of("vrsl $1, $2, $3, 4, @9:2")[0]).fault is None


def test_macros():
    assert words_of("gaddr $4, 0x1_2345_6789") == words_of("sldi $4, 1\nsldi $5, 0x23456789")
    assert words_of("gaddr $30, -1") == words_of("sldi $30, -1\nsldi $31, -1")
    assert words_of("mov $3, $9") == words_of("saddi $3, $9, 0")


@pytest.mark.parametrize(
    "text, message",
    [
        ("sld $1, $3", "x.s:1:9: $3 is odd, expected the even register of a pair: fault odd_pair"),
        (
            "ld $1, $31, 4",
            "x.s:1:8: $31 is odd, expected the even register of a pair: fault odd_pair",
        ),
        (
            "st $1, $2, 4",
            "x.s:1:4: $1 is odd, expected the even register of a pair: fault odd_pair",
        ),
        ("gaddr $1, 0", "x.s:1:7: $1 is odd, expected the even register of a pair: fault odd_pair"),
        ("sadd $1, $2, $32", "x.s:1:14: rs2 of sadd is 32, expected 0 to 31"),
        ("sadd $1, $2, 3", "x.s:1:14: rs2 is written $ and a number, expected $0 for example"),
        ("setbw 0, 8", "x.s:1:7: ibiw of setbw is 0, expected 1 to 32"),
        ("lldi $1, 256, 4", "x.s:1:10: imm of lldi is 256, expected -128 to 255"),
        (
            "sldi $1, 1 << 32",
            "x.s:1:10: imm of sldi is 4294967296, expected -2147483648 to 4294967295",
        ),
        ("vrelu $1, $2, 2048", "x.s:1:15: len of vrelu is 2048, expected 0 to 2047"),
        ("send $1, 1024, 4", "x.s:1:10: core of send is 1024, expected 0 to 1023"),
        (
            "vvadd $1, $2, $3, 4, @1:3",
            "x.s:1:25: '3' selects no operands, expected one or more of d, 1, 2, as in @8:d12",
        ),
        (
            "vvadd $1, $2, $3, 4, @1:dd",
            "x.s:1:25: 'dd' selects no operands, expected one or more of d, 1, 2, as in @8:d12",
        ),
        (
            "vrelu $1, $2, 4, @1:2",
            "x.s:1:21: '2' selects no operands, expected one or more of d, 1, as in @8:d1",
        ),
        (
            "vrelu $1, $2, 4, @1:",
            "x.s:1:21: offset_select is missing, expected vrelu rd, rs1, len[, "
            "@offset_value:offset_select]",
        ),
        (
            "vrelu $1, $2, 4, offset=4",
            "x.s:1:25: offset selects an operand that vrelu does not have: fault illegal_field",
        ),
        (
            "vvadd $1, $2, $3, 4, @(1<<28):d",
            "x.s:1:23: offset_value of vvadd is 268435456, expected -268435456 to 268435455",
        ),
    ],
)
def test_errors(text, message):
    assert error(text) == message


def test_what_a_build_lacks_is_an_error():
    small = sizes("narrow")
    assert error("setbw 8, 17", small) == (
        "x.s:1:1: elements of 17 bits do not exist in this build, expected at most 16 "
        "(max_biw): fault width"
    )
    assert error("vtanh $1, $2, 3", small) == (
        "x.s:1:1: this build has no unit for it (act_unit): fault unsupported"
    )
    assert ISA.decode(words_of("vsigm $1, $2, 3")[0], small)[2:] == ("unsupported", 20)
    assert ISA.decode(words_of("setbw 17, 32")[0], small)[2:] == ("width", 17)
    assert ISA.decode(words_of("setbw 16, 20")[0], small)[2:] == ("width", 20)


def test_random_words_in_every_form():
    rng = random.Random(5)
    for _ in range(400):
        word = random_word(ISA, rng)
        for storage in STORAGES:
            if storage.name == "32" and narrow(word) is None:
                continue
            stored = storage.store(word)
            assert storage.load(stored) == (word, len(stored))


def test_every_short_word_has_one_meaning():
    rng = random.Random(6)
    for _ in range(2000):
        low = rng.getrandbits(32)
        assert narrow(expand(low)) == low
        assert STORAGES[1].load(low.to_bytes(4, "little")) == (expand(low), 4)


def test_forms_that_do_not_exist():
    for word in (1 << 32, 1 << 40 | 32, 40):
        with pytest.raises(ValueError, match="no packed form"):
            STORAGES[2].store(word)
    assert STORAGES[2].raw(0x1_0000_0021) == bytes([0x21, 0, 0, 0, 1, 0, 0, 0])
    assert STORAGES[2].raw(0x20) == bytes([0x20, 0, 0, 0])
    with pytest.raises(ValueError, match="the word does not fit"):
        STORAGES[2].raw(0x1_0000_0020)


def test_registers_and_counters():
    found = RegisterMap(ISA)
    text = DOCUMENT.split("ISA-specific registers")[1].split("Machine view")[0]
    for row in re.findall(r"^\| 0x([^|]*)\| ([^|]*)\|", text, re.M):
        offsets = [int(part.strip().rstrip("."), 16) for part in ("0x" + row[0]).split("/")]
        for k, name in enumerate(re.findall(r"`(\w+)`", row[1])):
            offset = offsets[k] if k < len(offsets) else offsets[0] + 8 * k
            if name.startswith("cnt_"):
                assert found.counters[name[4:]].offset == offset
            else:
                assert found.registers[name].offset == offset
    assert {f.code: f.name for f in ISA.faults} == {
        1: "illegal_opcode",
        2: "illegal_field",
        16: "unsupported",
        17: "odd_pair",
        18: "width",
        19: "group",
        20: "core_range",
        21: "lmem_range",
        22: "gmem_range",
        23: "overlap",
        24: "event_overflow",
        25: "size_mismatch",
        26: "deadlock",
        6: "bus_error",
        27: "table",
        7: "code_end",
        8: "aborted",
    }
