# SPDX-License-Identifier: BSD-2-Clause
"""The table of Cherry: golden words of the specification, every illegal bit."""

import random

import pytest

from quintet.gateware.cores.cherry.image import image_bytes, read_image
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.params import SPACE, cap_feature, cap_size
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text, disassemble
from quintet.gateware.isa.parameters import ParameterError
from quintet.gateware.isa.words import random_word

DECLARED = "".join(f".loop l{k} 1 $d{k}\n" for k in range(8)) + "".join(
    f".apu u{k} 0 0 0 $a{k}\n" for k in range(32)
)

GOLDEN = [
    ("matmul", 0x00000),
    ("mulacc", 0x02000),
    ("add", 0x04000),
    ("sub", 0x06000),
    ("mul", 0x08000),
    ("div", 0x0A000),
    ("pow", 0x0C000),
    ("exp", 0x14000),
    ("log", 0x16000),
    ("nop", 0x1A000),
    ("max 0", 0x0E000),
    ("max 1", 0x0F000),
    ("max 1, 1, 3, 2", 0x0F780),
    ("sum 0", 0x10000),
    ("sum 1", 0x11000),
    ("sum 0, 2", 0x10800),
    ("relu", 0x12000),
    ("gtz", 0x18000),
    ("copy ACC, INPUT", 0x1B800),
    ("copy WEIGHTS, OUTPUT", 0x1AC00),
    ("zero ACC", 0x1D800),
    ("load $a0, INPUT", 0x1E000),
    ("load $a1, WEIGHTS", 0x1E140),
    ("load $a31, ACC, 3, 2, 1, 1", 0x1FFFB),
    ("store $a2, ACC", 0x202C0),
    ("store $a5, OUTPUT, 1, 4", 0x20590),
]
LOOPS = [
    ("start_independent_loop $d2", 0x22800),
    ("start_independent_loop $d7", 0x23C00),
    ("start_loop $d0", 0x24000),
    ("end_loop $d2", 0x26800),
]


def words(text):
    data = assemble_text(SOFTWARE, DECLARED + text).data
    return read_image(lambda at: int.from_bytes(data[at : at + 4], "little")).words


@pytest.mark.parametrize("text, word", GOLDEN)
def test_golden_words(text, word):
    assert words(text) == [word]
    listing = disassemble(SOFTWARE, assemble_text(SOFTWARE, DECLARED + text).data)
    assert listing.splitlines()[-1] == text


def test_golden_words_of_loops():
    assert words(
        "\n".join(text for text, _ in (LOOPS[2], LOOPS[0], LOOPS[3])) + "\nend_loop $d0"
    ) == [0x24000, 0x22800, 0x26800, 0x26000]
    assert words("start_independent_loop $d7\nend_loop_or_jump_if_needed ($d7)") == [
        0x23C00,
        0x27C00,
    ]
    assert words("START_LOOP (l0)\nend_loop l0") == [0x24000, 0x26000]


@pytest.mark.parametrize(
    "text, same",
    [
        ("max 1, 1, 3, 2", "MAX 1,1,3,2"),
        ("copy INPUT, INPUT", "nop"),
        ("copy $r3, $r0", "copy ACC, INPUT"),
        ("load u3, $r1, 4, 4, 0, 0", "load $a3, WEIGHTS"),
        ("sum 0, 0, 4, 0", "sum 0"),
        ("store u0, INPUT, 4, 4", "store u0, INPUT"),
    ],
)
def test_ways_to_write_the_same(text, same):
    assert words(text) == words(same)


@pytest.mark.parametrize("opcode", range(20, 32))
def test_undefined_opcodes(opcode):
    for low in (0, 0x1FFF):
        decoded = ISA.decode(opcode << 13 | low)
        assert decoded.fault == "opcode" and decoded.detail == opcode << 13 | low


def test_every_bit_that_must_be_zero():
    count = 0
    for instruction in ISA.instructions:
        if instruction.mnemonic == "nop":
            continue
        base = ISA.pack(instruction, {f.name: f.values[0] for f in instruction.fields})
        for bit in range(13):
            if ISA.zero_mask(instruction) >> bit & 1:
                decoded = ISA.decode(base | 1 << bit)
                assert decoded.fault == "field" and decoded.detail == base | 1 << bit
                count += 1
    assert count == 11 * 13 + 2 * 6 + 9 + 11 + 2 + 3 * 10


def test_axis_three_and_four_rows_with_skip():
    assert ISA.decode(0x0E000 | 3 << 10).fault == "field"
    assert (
        ISA.decode(0x1E000 | 1).fault == "field" and ISA.decode(0x1E000 | 1 << 4 | 1).fault is None
    )


def test_features_of_a_build():
    small = SPACE.resolve("hx8k", {"sfu_lanes": 0, "reduce_axes": 0})
    for word, lacks in (
        (0x14000, True),
        (0x16000, True),
        (0x0A000, True),
        (0x0C000, True),
        (0x0E400, True),
        (0x10800, True),
        (0x0E000, False),
        (0x12000, False),
    ):
        decoded = ISA.decode(word, small)
        assert decoded.fault == ("feature" if lacks else None) and decoded.detail == (
            word if lacks else 0
        )
        assert all(
            ISA.decode(word, SPACE.resolve(preset)).fault is None for preset in SPACE.presets
        )


def test_listings_of_random_words_assemble_to_the_same_bytes():
    rnd = random.Random(1)
    data = assemble_text(SOFTWARE, DECLARED).data
    for turn in range(60):
        image = read_image(lambda at: int.from_bytes(data[at : at + 4], "little"))
        image.words = [
            w
            for w in (random_word(ISA, rnd, legal=turn % 2 == 0) for _ in range(30))
            if w >> 13 not in (17, 18, 19)
        ]
        known = [ISA.decode(w) for w in image.words]
        image.special = any(
            d.fault is None and d.instruction.mnemonic in ("div", "pow", "exp", "log")
            for d in known
        )
        image.axes = any(d.fault is None and d.values.get("axis") for d in known)
        if turn % 3 == 0:
            image.units = {
                k: unit for k, unit in image.units.items() if k % 2
            }  # the others are raw words
        assert assemble_text(
            SOFTWARE, disassemble(SOFTWARE, image_bytes(image))
        ).data == image_bytes(image)


def test_parameters():
    params = SPACE.resolve("85f")
    assert cap_size(params) == 16 | 16 << 8 | 32 << 16 | 16 << 24
    assert cap_feature(params, True) == 2 | 1 << 4 | 1 << 6 | 1024 << 16
    with pytest.raises(
        ParameterError, match="parameter macs must be one of 1, 4, 8, 16, 32, 64, not 2"
    ):
        SPACE.resolve("sim", {"macs": 2})
    assert (
        SPACE.preset_for("45f") == "45f"
        and SPACE.preset_for("25f") == "25f"
        and SPACE.preset_for("hx8k") == "hx8k"
    )
