# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's table against its document: golden words, field extremes, faults, registers, text
(sections 3, 6, 7.2)."""

import random
import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.opu.isa import ISA, POST_FORMS, post_fields
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import (
    AsmError,
    assemble,
    assemble_text,
    disassemble,
    load_program,
    save_program,
)
from quintet.gateware.isa.words import extreme_words, illegal_words, random_word
from quintet.gateware.shell.layouts import instruction_layout
from quintet.tools.jobs.registers import RegisterMap
from tests.gateware.cores.opu.oracle.slow import POSTS

DOCUMENT = (Path(__file__).resolve().parents[4] / "docs" / "isa" / "opu.md").read_text(
    encoding="utf-8"
)


def golden():
    """Pairs (text, word) of sections 3.2, 3.3 and 7.5."""
    found = []
    for begin, end in (("### 3.2", "### 3.4"), ("### 7.5", "```toml")):
        part = DOCUMENT.split(begin)[1].split(end)[0]
        for text, word in re.findall(r"`([^`]+)` \| `([0-9A-F]{8}|[0-9a-f]{8})` \|", part):
            found.append((text, int(word, 16)))
    return found


GOLDEN = golden()


def data_of(text, params=None):
    return assemble_text(SOFTWARE, text + "\nend", name="x.s", params=params).data[:-4]


def lines_of(*words):
    """The disassembly of ``words`` behind an ``end``."""
    return disassemble(SOFTWARE, ISA.store([0, *words])).removeprefix("end\n")


def word_of(text):
    return int.from_bytes(data_of(text), "little")


def error(text, params=None):
    with pytest.raises(AsmError) as info:
        assemble_text(SOFTWARE, text, name="x.s", params=params)
    return str(info.value)


def test_all_golden_words_were_found():
    assert (
        len(GOLDEN) == 11 + 30 + 26
        and len({text for text, _ in GOLDEN if text.startswith("@post")}) == 11
    )
    assert {ISA.match(word).mnemonic for _, word in GOLDEN} == set(ISA.opcodes)


@pytest.mark.parametrize("text, word", GOLDEN)
def test_golden_words_both_ways(text, word):
    assert word_of(text) == word
    back = lines_of(word)
    assert word_of(back) == word and not back.startswith(".word")


def test_opcodes():
    assert {i.mnemonic: i.opcode for i in ISA.instructions} == {
        "end": 0,
        "ld.ifm": 1,
        "ld.ker": 2,
        "ld.bias": 3,
        "conv": 4,
        "conv.bias": 5,
        "conv.acc": 6,
        "store": 7,
        "pad": 8,
        "@shape.ifm": 16,
        "@shape.ofm": 17,
        "@shape.ker": 18,
        "@mem.ifm": 19,
        "@mem.ker": 20,
        "@mem.bias": 21,
        "@mem.ofm": 22,
        "@stride": 23,
        "@shift": 24,
        "@post": 25,
        "@pool": 26,
    }


#: instruction -> field -> (highest bit, lowest bit, least legal value, greatest): the table of 3.1.
FIELDS = {
    **{
        name: {"addr": (27, 6, 0, (1 << 22) - 1)}
        for name in ("ld.ifm", "ld.ker", "ld.bias", "store")
    },
    **{
        name: {"h": (9, 6, 0, 15), "w": (13, 10, 0, 15), "n": (19, 14, 0, 63)}
        for name in ("conv", "conv.bias", "conv.acc")
    },
    "end": {},
    "pad": {"addr": (27, 6, 0, (1 << 22) - 1), "p": (31, 28, 0, 15)},
    "@shape.ifm": {"h": (12, 6, 1, 127), "w": (19, 13, 1, 127), "c": (26, 20, 16, 64)},
    "@shape.ofm": {"h": (12, 6, 1, 127), "w": (19, 13, 1, 127), "c": (26, 20, 2, 64)},
    "@shape.ker": {"n": (11, 6, 1, 36)},
    "@mem.ifm": {"addr": (9, 6, 0, 15), "w": (19, 10, 1, 1023)},
    "@mem.ker": {"addr": (9, 6, 0, 15)},
    "@mem.bias": {"addr": (9, 6, 0, 15)},
    "@mem.ofm": {"addr": (9, 6, 0, 15), "h": (19, 10, 1, 1023), "w": (29, 20, 1, 1023)},
    "@stride": {"h": (8, 6, 1, 7), "w": (11, 9, 1, 7)},
    "@shift": {"f": (13, 6, -128, 127), "b": (21, 14, -128, 127)},
    "@post": {"post": (10, 6, 0, 0b11010)},
    "@pool": {"h": (9, 6, 1, 15), "w": (13, 10, 1, 15), "i": (16, 14, 1, 7), "j": (19, 17, 1, 7)},
}


@pytest.mark.parametrize("mnemonic", FIELDS)
def test_fields_at_their_ends(mnemonic):
    instruction = ISA.mnemonics[mnemonic][0]
    assert {
        f.name: (f.hi, f.lo, f.written[0], f.written[-1]) for f in instruction.fields
    } == FIELDS[mnemonic]
    layout = instruction_layout(ISA, mnemonic)
    words = list(extreme_words(ISA, instruction))
    assert len(words) >= len(FIELDS[mnemonic]) + 1
    for word in words:
        decoded = ISA.decode(word)
        assert decoded.fault is None and ISA.pack(instruction, decoded.values) == word
        assert word_of(disassemble(SOFTWARE, ISA.store(word))) == word
        view = layout.from_bits(word)
        for f in instruction.fields:
            expected = decoded.values[f.name]
            assert view[f.name] == (expected.bit_length() - 1 if f.name == "c" else expected)


@pytest.mark.parametrize("mnemonic", FIELDS)
def test_ignored_bits_change_nothing(mnemonic):
    instruction = ISA.mnemonics[mnemonic][0]
    word = next(extreme_words(ISA, instruction))
    used = 0x3F
    for f in instruction.fields:
        used |= f.mask
    decoded = ISA.decode(word)
    for bit in range(32):
        if not used >> bit & 1:
            assert ISA.decode(word | 1 << bit) == decoded
            text = lines_of(word | 1 << bit)
            assert (
                text.startswith(".word 0x")
                and mnemonic in text
                and data_of(text) == ISA.store(word | 1 << bit)
            )
    assert ISA.decode(0xFFFFFFC0).instruction.mnemonic == "end"


def test_the_eleven_forms_of_post_and_no_other():
    legal = {
        (order, act, res)
        for order, act, res in product(range(4), range(4), range(2))
        if ISA.decode(25 | act << 6 | order << 8 | res << 10).fault is None
    }
    assert legal == POSTS and len(POST_FORMS) == 11
    for value, text in POST_FORMS.items():
        act, order, res = post_fields(value)
        assert (order, act, res) in POSTS and word_of(
            f"@post {text}"
        ) == 25 | act << 6 | order << 8 | res << 10
    bad = [ISA.decode(25 | k << 6) for k in range(32) if k not in POST_FORMS]
    assert len(bad) == 21 and {d[2:] for d in bad} == {("bad_field", 6)}


def test_every_undefined_opcode():
    for op in range(64):
        for rest in (0, 0x3FFFFFF):
            decoded = ISA.decode(rest << 6 | op)
            if 9 <= op <= 15 or op >= 27:
                assert decoded[2:] == ("illegal_op", op)
            else:
                assert decoded.fault != "illegal_op"


@pytest.mark.parametrize(
    "word, detail",
    [
        (16 | 4 << 20, 6),
        (16 | 1 << 6 | 4 << 20, 6),
        (16 | 127 << 6 | 17 << 13 | 4 << 20, 6),
        (16 | 64 << 6 | 32 << 13 | 3 << 20, 20),
        (16 | 1 << 6 | 1 << 13 | 7 << 20, 20),
        (16 | 1 << 6 | 1 << 13 | 127 << 20, 20),
        (16 | 7 << 20, 6),
        (17 | 7 << 20, 6),
        (17 | 1 << 6 | 1 << 13, 20),
        (17 | 45 << 6 | 46 << 13 | 1 << 20, 6),
        (18, 6),
        (18 | 37 << 6, 6),
        (18 | 63 << 6, 6),
        (19 | 15 << 6, 10),
        (22 | 1 << 20, 10),
        (22 | 1 << 10, 20),
        (22, 10),
        (23, 6),
        (23 | 1 << 6, 9),
        (23 | 1 << 9, 6),
        (26, 6),
        (26 | 1 << 6, 10),
        (26 | 1 << 6 | 1 << 10, 14),
        (26 | 1 << 6 | 1 << 10 | 1 << 14, 17),
        (26 | 7 << 17, 6),
    ],
)
def test_bad_fields(word, detail):
    """The lowest bit of the lowest bad field; h*w counts as the field at bit 6."""
    assert ISA.decode(word)[2:] == ("bad_field", detail)
    assert lines_of(word) == f".word 0x{word:08x}  # bad_field {detail}\n"


def test_shapes_of_exactly_2048():
    for h, w in ((64, 32), (127, 16), (16, 127), (1, 127), (32, 64)):
        assert word_of(f"@shape.ofm [{h},{w},64]") == 17 | h << 6 | w << 13 | 6 << 20


@given(st.integers(0, (1 << 32) - 1))
@settings(max_examples=600, deadline=None)
def test_every_word_survives_the_round_trip(word):
    data = ISA.store(word)
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, data)).data == data


_SIZES = st.sampled_from([None, SPACE.resolve("sim"), SPACE.resolve("85f")])


@given(st.integers(0, 2**32), st.integers(0, 30), st.sampled_from([0, 0.8, 1]), _SIZES)
@settings(max_examples=300, deadline=None)
def test_random_words_survive_the_round_trip(seed, count, legal, params):
    """With an ``end`` or without, with shapes that the build holds or not."""
    rng = random.Random(seed)
    data = ISA.store([random_word(ISA, rng, legal=rng.random() < legal) for _ in range(count)])
    assert assemble_text(SOFTWARE, disassemble(SOFTWARE, data, params), params=params).data == data


def test_a_program_without_end_disassembles_as_unchecked():
    data = ISA.store([0x297])
    text = disassemble(SOFTWARE, data)
    assert text == ".unchecked\n@stride [2,1]\n"
    program = assemble_text(SOFTWARE, text, name="x.s")
    assert program.data == data
    assert [str(w) for w in program.warnings] == ["x.s:2:14: warning: the program has no end"]
    assert disassemble(SOFTWARE, ISA.store([0x297, 0])) == "@stride [2,1]\nend\n"
    assert error(".unchecked 1\nend") == "x.s:1:12: unexpected '1', expected end of line"


def test_random_programs_survive_the_round_trip():
    rng = random.Random(5)
    words = [random_word(ISA, rng, legal=rng.random() < 0.8) for _ in range(2000)]
    words += [word for word, _ in illegal_words(ISA)]
    text = disassemble(SOFTWARE, ISA.store(words))
    assert len(text.splitlines()) == len(words)
    assert assemble_text(SOFTWARE, text).data == ISA.store(words)


def test_text_is_free_in_blanks_and_strict_in_case():
    for text in (
        "conv ifm:[1,2], ker:5",
        "  conv  ifm : [ 1 , 2 ] , ker : 5  # c",
        "conv ifm:[1,2],ker:5;c\r",
        ".equ T, 5\nconv ifm:[T-4, 0b10], ker : T",
        "conv ifm:[(3+1)/4,0x2], ker:1_0/2",
    ):
        assert word_of(text) == 0x00014844
    assert word_of("@post  act.relu ,res,pool") == 0x459
    assert error("END").startswith("x.s:1:1: unknown mnemonic 'END'")
    assert error("Conv ifm:[1,2], ker:5").startswith("x.s:1:1: unknown mnemonic 'Conv'")


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "ld.ifm 0x3001/64\nend",
            "x.s:1:14: 12289 / 64 is not a whole number, expected an exact division",
        ),
        ("ld.ifm 0x400000\nend", "x.s:1:8: addr of ld.ifm is 4194304, expected 0 to 4194303"),
        ("end\n@shape.ker 37", "x.s:2:12: n of @shape.ker is 37, expected 1 to 36"),
        ("@shape.ifm [1,1,24]", "x.s:1:17: γ of @shape.ifm is 24, expected one of 16, 32, 64"),
        ("@shape.ifm [1,1,8]", "x.s:1:17: γ of @shape.ifm is 8, expected one of 16, 32, 64"),
        (
            "@shape.ofm [1,1,1]",
            "x.s:1:17: γ of @shape.ofm is 1, expected one of 2, 4, 8, 16, 32, 64",
        ),
        ("@shape.ifm [128,1,16]", "x.s:1:13: h of @shape.ifm is 128, expected 1 to 127"),
        ("@shape.ifm [0,1,16]", "x.s:1:13: h of @shape.ifm is 0, expected 1 to 127"),
        ("@shape.ofm [45,46,16]", "x.s:1:13: h*w is 2070, expected 1 to 2048"),
        ("@mem.ifm 16, 1", "x.s:1:10: addr of @mem.ifm is 16, expected 0 to 15"),
        ("@mem.ofm 1, [0,1]", "x.s:1:14: h of @mem.ofm is 0, expected 1 to 1023"),
        ("@stride [8,1]", "x.s:1:10: h of @stride is 8, expected 1 to 7"),
        ("@shift 128, 0", "x.s:1:8: f of @shift is 128, expected -128 to 127"),
        ("@shift 0, -129", "x.s:1:11: b of @shift is -129, expected -128 to 127"),
        ("@pool [16,1], [1,1]", "x.s:1:8: h of @pool is 16, expected 1 to 15"),
        ("@pool [1,1], [1,8]", "x.s:1:17: j of @pool is 8, expected 1 to 7"),
        ("pad 0, 16", "x.s:1:8: p of pad is 16, expected 0 to 15"),
        ("conv ifm:[16,0], ker:0", "x.s:1:11: h of conv is 16, expected 0 to 15"),
        ("conv.acc ifm:[0,0], ker:64", "x.s:1:25: n of conv.acc is 64, expected 0 to 63"),
        (
            "conv img:[0,0], ker:1",
            "x.s:1:6: unexpected 'img', expected 'ifm' as in conv ifm:[h,w], ker:n",
        ),
        ("@post", "x.s:1:6: steps is missing, expected @post steps"),
        (
            "@post act.relu",
            "x.s:1:7: 'act.relu' is no form of @post, expected one of pool; res, pool; "
            "act.relu, pool; "
            "act.relu, res, pool; act.leaky, pool; act.leaky, res, pool; res, act.relu, pool; "
            "res, act.leaky, pool; pool, res; "
            "act.relu, pool, res; act.leaky, pool, res",
        ),
        (
            "@post pool, act.relu",
            "x.s:1:7: 'pool, act.relu' is no form of @post, expected one of pool; res, pool; "
            "act.relu, pool; "
            "act.relu, res, pool; act.leaky, pool; act.leaky, res, pool; res, act.relu, pool; "
            "res, act.leaky, pool; pool, res; "
            "act.relu, pool, res; act.leaky, pool, res",
        ),
        (".equ A, 1\n.equ A, 2\nend", "x.s:2:6: 'A' is already defined at x.s:1"),
        (".word 1 << 32\nend", "x.s:1:7: the word does not fit, expected 0 to 0xffffffff"),
        ("@stride [1,1]\n", "x.s:1:14: the program has no end"),
        ("", "x.s:1:1: the program has no end"),
        ("@stride [1,1] # end", "x.s:1:14: the program has no end"),
    ],
)
def test_refused_text(text, message):
    assert error(text).startswith(message)


def test_words_after_end_and_raw_ends():
    program = assemble_text(SOFTWARE, "end\n.word 0xffffffff\nconv ifm:[0,0], ker:0\n")
    assert len(program.data) == 12 and program.warnings == []
    assert assemble_text(SOFTWARE, ".word 0xffffffc0").warnings == []  # end with ignored bits


SMALL = """@shape.ifm [2,8,16]
@shape.ofm [2,8,4]
@shape.ker 1
@mem.ifm 0, {mem_w}
@mem.ofm 0, [2,{out_w}]
ld.ifm 0
ld.ker 0
conv ifm:[{h},0], ker:0
store 0
end
.word 0
"""


@pytest.mark.parametrize(
    "values, warnings",
    [
        ({}, []),
        (
            {"mem_w": 7},
            ["x.s:6:1: warning: rows overlap: ifm has 8 columns and its map in memory 7"],
        ),
        (
            {"out_w": 4},
            ["x.s:9:1: warning: rows overlap: the result has 8 columns and its map in memory 4"],
        ),
        ({"h": 1}, ["x.s:8:1: warning: the window ends below the last row of ifm: fault range"]),
    ],
)
def test_warnings(values, warnings):
    text = SMALL.format(**{"mem_w": 8, "out_w": 8, "h": 0, **values})
    assert [str(w) for w in assemble_text(SOFTWARE, text, name="x.s").warnings] == warnings


def test_the_first_fault_alone_is_spoken_of():
    warnings = assemble_text(
        SOFTWARE, "conv ifm:[0,0], ker:0\nld.ifm 0\n.word 9\nend", name="x.s"
    ).warnings
    assert [str(w) for w in warnings] == [
        "x.s:1:1: warning: not valid here: ifm, ker: fault undef_buf"
    ]
    text = [str(w) for w in assemble_text(SOFTWARE, ".word 9\nld.ifm 0\nend", name="x.s").warnings]
    assert text == ["x.s:1:7: warning: opcode 9 is no instruction: fault illegal_op"]
    text = [str(w) for w in assemble_text(SOFTWARE, ".word 18\nend", name="x.s").warnings]
    assert text == ["x.s:1:7: warning: the field at bit 6 has an illegal value: fault bad_field"]
    text = [str(w) for w in assemble_text(SOFTWARE, "store 0\nend", name="x.s").warnings]
    assert text == ["x.s:1:1: warning: not set before: mem.ofm: fault undef_reg"]


def test_capacity_is_an_error_with_the_sizes_of_a_build_alone():
    sim = SPACE.resolve("sim")
    text = "@shape.ifm [16,17,16]\nend"
    assert assemble_text(SOFTWARE, text).warnings == []
    assert error(text, sim) == (
        "x.s:1:1: ifm of 16x17x16 takes 272 lines of 16 elements and this build has 256 "
        "(ifm_lines): "
        "fault capacity"
    )
    assert error("@shape.ofm [32,32,4]\nend", sim) == (
        "x.s:1:1: ofm of 32x32x4 takes 2048 lines of 2 elements and this build has 1024 "
        "(ofm_lines): fault capacity"
    )
    text = "@shape.ifm [1,1,64]\n@shape.ofm [1,1,64]\n@shape.ker 2\nld.ker 0\nend"
    assert error(text, sim) == (
        "x.s:4:1: a kernel of 2x64x64 weights takes 1024 rows of 8 and this build has 576 "
        "(ker_rows): "
        "fault capacity"
    )
    assert assemble_text(SOFTWARE, text, params=SPACE.resolve("85f")).warnings == []
    # Exactly full, and the very same as raw words (for tests of the core).
    assert (
        assemble_text(
            SOFTWARE, "@shape.ifm [16,16,16]\n@shape.ofm [32,32,2]\nend", params=sim
        ).warnings
        == []
    )
    raw = assemble_text(
        SOFTWARE, f".word {ISA.encode('@shape.ifm', h=16, w=17, c=16)}\nend", name="x.s", params=sim
    )
    assert len(raw.warnings) == 1 and "takes 272 lines" in str(raw.warnings[0])


def test_binary_form(tmp_path):
    source = tmp_path / "a.s"
    source.write_text("ld.ifm 1\nend\n")
    program = assemble(SOFTWARE, source)
    assert program.data == b"\x41\0\0\0\0\0\0\0"
    save_program(SOFTWARE, program, tmp_path / "a.bin")
    assert (
        load_program(SOFTWARE, tmp_path / "a.bin").data
        == (tmp_path / "a.bin").read_bytes()
        == program.data
    )
    (tmp_path / "b.bin").write_bytes(b"\0" * 6)
    with pytest.raises(
        AsmError,
        match="b.bin: 6 bytes are no whole number of words, expected a multiple of 4 bytes",
    ):
        load_program(SOFTWARE, tmp_path / "b.bin")


def test_fault_numbers_and_their_order():
    assert {f.name: f.code for f in ISA.faults} == {
        "illegal_op": 1,
        "bad_field": 2,
        "undef_reg": 16,
        "undef_buf": 3,
        "range": 17,
        "capacity": 4,
        "region": 18,
        "window": 5,
        "fetch": 7,
        "bus": 6,
        "aborted": 8,
    }
    table = re.findall(
        r"^\| (\d+) \| `([A-Z_]+)` \|", DOCUMENT.split("## 6. Faults")[1].split("## 7.")[0], re.M
    )
    assert [(int(code), name.lower()) for code, name in table] == [
        (f.code, f.name) for f in ISA.faults[:-1]
    ]


def test_registers_lie_where_the_document_says():
    registers = RegisterMap(ISA)
    assert (
        registers.find("region_base[0]")[1] == 0x100
        and registers.find("region_base[15]")[1] == 0x13C
    )
    assert (
        registers.find("region_limit[0]")[1] == 0x140
        and registers.find("region_limit[15]")[1] == 0x17C
    )
    offsets = {
        name: registers.find(name)[1]
        for name in (
            "fault_insn",
            "cap_types",
            "cap_lanes",
            "cap_ifm_lines",
            "cap_ofm_lines",
            "cap_ker_rows",
        )
    }
    assert list(offsets.values()) == [0x180, 0x184, 0x188, 0x18C, 0x190, 0x194]
    assert [(c.name, c.offset) for c in ISA.counters] == [
        ("stall_ifm", 0x198),
        ("stall_ker", 0x1A0),
        ("stall_ofm", 0x1A8),
        ("dma_busy", 0x1B0),
    ]
    assert ISA.tag == "OPU1" and ISA.program_align == 64
