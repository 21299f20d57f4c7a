# SPDX-License-Identifier: BSD-2-Clause
"""PIM's assembly text to images and back: the worked job, every directive, every error, random
images (3.5, 3.6)."""

import random
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from quintet.firmware.pim.measure.files import canonical_words
from quintet.gateware.cores.pim.asm import quicktext
from quintet.gateware.cores.pim.asm.listing import image_of
from quintet.gateware.cores.pim.image.image import CoreProgram, Group, Image, code_of
from quintet.gateware.cores.pim.model.model import Model
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import AsmError, assemble_text, disassemble
from quintet.gateware.isa.asm.assembler import assemble
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.gateware.cores.pim.bench.sizes import sizes
from tests.support.shares import fewer

DOCUMENT = (Path(__file__).resolve().parents[4] / "docs" / "isa" / "pim.md").read_text(
    encoding="utf-8"
)
WORKED = DOCUMENT.split("### Worked job")[1].split("```")[1].strip("\n")


def assembled(text, params=None):
    return assemble_text(SOFTWARE, text, name="x.s", params=params).data


def image(text, params=None):
    return image_of(assembled(text, params), params)[0]


def test_worked_job():
    data = assembled(WORKED)
    assert len(data) == 1216 and zlib.crc32(data) == 0xAA436B57
    for line in re.findall(r"^((?:[0-9A-F]{3}  .*)+)$", DOCUMENT.split("### Worked job")[1], re.M):
        for piece in re.findall(r"([0-9A-F]{3})  ((?:[0-9a-f]{2} ?){16})", line):
            at = int(piece[0], 16)
            assert data[at : at + 16] == bytes.fromhex(piece[1])
    memory = np.zeros(1 << 22, np.uint8)
    memory[0x100000 : 0x100000 + len(data)] = np.frombuffer(data, np.uint8)
    memory[0x300000:0x300004] = np.array([10, -20, 30, 40], np.int8).view(np.uint8)
    outcome = Model(SPACE.resolve("sim"), memory).run(
        {"program_address": 0x100000, "program_length": len(data)}
    )
    assert outcome.status == "done" and memory[0x300100:0x300103].view(np.int8).tolist() == [
        28,
        1,
        10,
    ]
    assert memory[0x300110:0x300116].view("<i2").tolist() == [784, 1, 100]
    assert assembled(disassemble(SOFTWARE, data)) == data


def test_source_lines():
    program = assemble_text(SOFTWARE, WORKED, name="x.s")
    assert program.line_at(0x100).line == WORKED.split("\n").index("        setbw 8, 8") + 1
    assert len(program.lines) == 23


def test_directives():
    one = image(
        """
.arrays 32, 16
.gmem 0x1000, 64
sldi $1, 5
.core 2
.mode packed
.waitmode COUNT
.width 12, 32
.actfmt auto, 7
.group 1, rows=2, cols=1, mbiw=3, shift=9, round=0
.weights -4, 3
.group 0, rows=33, cols=17, arrays=3,2,9,7, bias="b.npy"
""".replace(', bias="b.npy"', "")
    )
    assert (one.xb_rows, one.xb_cols, one.gmem_base, one.gmem_size, len(one.cores)) == (
        32,
        16,
        0x1000,
        64,
        3,
    )
    core = one.cores[2]
    assert (core.mode, core.wait_mode, core.ibiw, core.obiw, core.fi, core.fo) == (
        2,
        1,
        12,
        32,
        255,
        7,
    )
    first, second = core.groups
    assert (
        first.arrays,
        first.weights,
        second.arrays,
        second.mbiw,
        second.shift,
        second.round,
    ) == ((3, 2, 9, 7), None, (0,), 3, 9, 0)
    assert (
        second.weights.tolist() == [[-4], [3]]
        and one.cores[0].count == 1
        and one.cores[1].count == 0
    )


def test_files_of_weights(tmp_path):
    rng = np.random.default_rng(1)
    weights, bias = (
        rng.integers(-128, 128, (70, 130), dtype=np.int8),
        rng.integers(-9, 9, 130, dtype=np.int32),
    )
    np.save(tmp_path / "w.npy", weights)
    np.save(tmp_path / "b.npy", bias)
    (tmp_path / "x.s").write_text(
        '.group 0, rows=70, cols=130, weights="w.npy", bias="b.npy"\nmvmul $1, $0, 8, 0, 0'
    )
    data = assemble(SOFTWARE, tmp_path / "x.s").data
    group = image_of(data)[0].cores[0].groups[0]
    assert (
        (group.weights == weights).all()
        and (group.bias == bias).all()
        and group.arrays == tuple(range(6))
    )
    assert assembled(disassemble(SOFTWARE, data)) == data


def test_core_sections_are_joined():
    one = image(".core 1\nsldi $1, 1\n.core 0\nnop\n.core 1\nsldi $1, 2")
    assert one.cores[1].count == 2 and one.cores[0].count == 1
    assert image("nop\n.core 1\nnop\n.core 0\nnop").cores[0].count == 2


def test_modes():
    text = "sldi $1, 0x300000\nsldi $1, 7\nvvadd $6, $4, $5, 16, @8:d1\nlmv $1, $2, 3\n.word 0x35"
    assert len(image(".mode packed\n" + text).cores[0].code) == 4 * 7 + 4
    assert len(image(text).cores[0].code) == 40
    assert image(".mode 32\nsldi $1, 7\n.word 0x1b").cores[0].code == bytes(
        [0x41, 0x38, 0, 0, 0x1B, 0, 0, 0]
    )


def test_shared_arrays_warn():
    text = (
        ".group 0, rows=2, cols=1, arrays=4\n.weights 1, 2\n.group 1, rows=1, cols=1, "
        "arrays=4\n.weights {}"
    )
    assert not assemble_text(SOFTWARE, text.format(1)).warnings
    (warning,) = assemble_text(SOFTWARE, text.format(3)).warnings
    assert (
        warning.message
        == "groups 0 and 1 of core 0 share array 4 with different weights; group 1's stay"
    )


G = ".group 0, rows=2, cols=2\n"


@pytest.mark.parametrize(
    "text, message",
    [
        (".arrays 64", "x.s:1:11: unexpected end of line, expected .arrays ROWS, COLS"),
        (".arrays 64, 32\n.arrays 64, 64", "x.s:2:9: the geometry of the arrays is already set"),
        (".gmem 0, 1 << 32", "x.s:1:10: size of GMem is 4294967296, expected 0 to 4294967295"),
        (".core 1024", "x.s:1:7: core is 1024, expected 0 to 1023"),
        (".mode 16", "x.s:1:7: unknown mode '16', expected 64, 32, packed"),
        (
            "nop\n.mode 32",
            "x.s:2:7: .mode behind instructions of the core, expected .mode before the first one",
        ),
        (".waitmode soon", "x.s:1:11: unknown wait mode 'soon', expected exact, count"),
        (".width 0, 8", "x.s:1:8: ibiw is 0, expected 1 to 32"),
        (".actfmt 3, 32", "x.s:1:12: fo is 32, expected 0 to 31"),
        (".group 0, rows=2", "x.s:1:17: cols is missing, expected .group N, rows=R, cols=C"),
        (".group 0, rows=2, rows=2", "x.s:1:19: rows is given twice"),
        (
            ".group 0, size=2",
            "x.s:1:11: .group has no 'size', expected rows, cols, arrays, mbiw, shift, round, "
            "weights, bias",
        ),
        (".group 0, rows=1025, cols=1", "x.s:1:16: rows is 1025, expected 1 to 1024"),
        (".group 1024, rows=1, cols=1", "x.s:1:8: group is 1024, expected 0 to 1023"),
        (G + G, "x.s:2:8: group 0 of core 0 is already declared"),
        (".group 1, rows=1, cols=1", "x.s:1:8: group 0 of core 0 is missing, group 1 is declared"),
        (".weights 1", "x.s:1:10: .weights without .group"),
        (G + ".core 1\n.bias 1", "x.s:3:7: .bias without .group"),
        (G + ".weights 1, 2, 3", "x.s:1:8: weights of group 0 of core 0 are 3, expected 2 x 2"),
        (G + ".weights 1, 128", "x.s:2:13: weights is 128, expected -128 to 127"),
        (
            ".group 0, rows=1, cols=2, mbiw=3\n.weights 3, 4",
            "x.s:1:8: weight 4 of group 0 of core 0 does not fit mbiw = 3 bits, expected -4 to 3",
        ),
        (G + ".bias 1", "x.s:1:8: biases of group 0 of core 0 are 1, expected 2"),
        (
            ".group 0, rows=1024, cols=128",
            "x.s:1:8: group 0 of core 0 of 1024 x 128 takes 32 arrays of 64 x 64, expected at "
            "most 16",
        ),
        (
            ".group 0, rows=2, cols=2, arrays=1,2",
            "x.s:1:8: group 0 of core 0 of 2 x 2 names 2 arrays, expected 1 of 64 x 64",
        ),
        (
            ".group 0, rows=65, cols=2, arrays=1,1",
            "x.s:1:8: group 0 of core 0 names an array twice",
        ),
        (
            '.group 0, rows=2, cols=2, weights="no.npy"',
            "x.s:1:35: no.npy cannot be read (No such file or directory)",
        ),
        (
            "mvmul $1, $0, 8, 0, 0",
            "x.s:1:1: core 0 has no group 0: fault group, expected a group declared by .group",
        ),
        (G + "mvmul $1, $0, 7, 0, 0", "x.s:2:1: mbiw is 7 and group 0 has 8: fault width"),
        ("sync 1, 1", "x.s:1:1: the program has no core 1: fault core_range, expected 0 to 0"),
        ("send $1, 0, 4", "x.s:1:1: core 0 is the core itself: fault core_range"),
        (
            ".mode 32\nsldi $1, 0x100000",
            "x.s:2:1: the instruction has no 32-bit form (its offset or immediate does not fit)",
        ),
        (
            ".mode 32\nlmv $1, $2, 4, @1:d",
            "x.s:2:1: the instruction has no 32-bit form (its offset or immediate does not fit)",
        ),
        (".mode 32\n.word 1 << 32", "x.s:2:7: the word does not fit, expected 0 to 0xffffffff"),
    ],
)
def test_errors(text, message):
    with pytest.raises(AsmError) as info:
        assembled(text)
    assert str(info.value) == message


@pytest.mark.parametrize(
    "text, message",
    [
        (".core 2", "x.s:1:7: core is 2, expected 0 to 1"),
        (
            ".arrays 32, 64",
            "x.s:1:9: this build has arrays of 64 x 64 (xb_rows, xb_cols), expected .arrays 64, 64",
        ),
        (
            ".group 0, rows=2, cols=2, arrays=2",
            "x.s:1:8: array 2 of group 0 of core 0 does not exist, expected 0 to 1",
        ),
        (
            ".group 0, rows=65, cols=65",
            "x.s:1:8: group 0 of core 0 takes 4 arrays and 2 of 2 are left",
        ),
        (
            "\n".join(f".group {k}, rows=1, cols=1, arrays=0" for k in range(17)),
            "x.s:17:8: core 0 has 17 groups, expected at most 16 (groups)",
        ),
        (
            ".group 0, rows=1, cols=65\n.bias " + ", ".join(["1"] * 65),
            "x.s:1:8: core 0 has 65 biases up to group 0, expected at most 64 (bias_words)",
        ),
    ],
)
def test_errors_of_a_build(text, message):
    with pytest.raises(AsmError) as info:
        assembled(text, SPACE.resolve("sim"))
    assert str(info.value) == message


def test_a_build_with_other_arrays():
    with pytest.raises(
        AsmError,
        match=(
            "the arrays of this build are 32 x 32 .* and the program's 64 x 64, expected .arrays 32"
        ),
    ):
        assembled("nop", SPACE.resolve("hx8k"))
    assert assembled(".arrays 32, 32\nnop", SPACE.resolve("hx8k"))


@pytest.mark.parametrize("build", ["sim", "hx8k", "85f"])
def test_random_images_come_back(build):
    for seed in range(fewer(25)):
        case = pim_programs.random_case(
            seed,
            SPACE.resolve(build),
            legal=seed % 3 > 0,
            fault=("illegal_opcode", "odd_pair", "illegal_field", "core_range", "group")[seed % 5]
            if seed % 3 == 0
            else None,
        )
        data = case.image.data()
        if any(g.weights is None for core in case.image.cores for g in core.groups):
            continue
        assert assembled(disassemble(SOFTWARE, data)) == data, case.name


def test_a_text_that_cannot_give_the_image_back_says_so():
    assert disassemble(SOFTWARE, assembled("nop") + bytes(64)).startswith(
        "; not laid out as the assembler does"
    )
    data = Image([CoreProgram(b"\x21\0\0\0", 1, mode=2)]).data()
    assert "; the code ends otherwise: 1 instructions, 4 bytes" in disassemble(SOFTWARE, data)
    data = Image([CoreProgram(groups=[Group(1, 2, (0,), 3, weights=np.array([[3, 4]]))])]).data()
    assert "; a weight does not fit mbiw" in disassemble(SOFTWARE, data)


def test_words_that_have_no_text():
    rng = random.Random(3)
    words = [rng.getrandbits(64) for _ in range(300)]
    for mode in ("64", "packed"):
        text = f".mode {mode}\n" + "\n".join(
            f".word {w if mode == '64' or w & 63 > 32 else w & 0xFFFFFFFF:#x}" for w in words
        )
        data = assembled(text)
        assert assembled(disassemble(SOFTWARE, data)) == data


@pytest.mark.parametrize("mode", [0, 2])
def test_long_runs_are_read_at_once(mode):
    words = canonical_words(quicktext.LEAST + 500)
    data = Image(
        [CoreProgram(code_of(words, mode), len(words), mode=mode, groups=[Group(4, 4, (0,))])]
    ).data()
    text = disassemble(SOFTWARE, data)
    quick = assemble_text(SOFTWARE, text)
    assert quick.data == data and len(quick.lines) < 10
    # The same text with a comment in every thousandth line goes the usual way.
    lines = text.split("\n")
    for k in range(0, len(lines), 1000):
        lines[k] += " ; here"
    slow = assemble_text(SOFTWARE, "\n".join(lines))
    assert slow.data == data and len(slow.lines) == len(words)


@pytest.mark.parametrize(
    "bad, message",
    [
        ("sldi $32, 1", "rd of sldi is 32, expected 0 to 31"),
        ("sldi $1, 4294967296", "imm of sldi is 4294967296, expected"),
        ("ld $1, $3, 4", "$3 is odd, expected the even register"),
        ("vrelu $1, $2, 4, @1:2", "'2' selects no operands"),
        ("setbw 0, 8", "ibiw of setbw is 0"),
        ("sync 1, 3", "the program has no core 3"),
        ("hop", "unknown mnemonic 'hop'"),
        ("mvmul $1, $2, 8, 0, 1", "core 0 has no group 1"),
        ("setbw 17, 8", "fault width"),
        ("vtanh $1, $2, 3", "unit"),
    ],
)
@pytest.mark.parametrize("place", [100, quicktext.LEAST + 50])
def test_errors_within_long_runs(bad, message, place):
    words = canonical_words(quicktext.LEAST + 100)
    words = words[~np.isin(words & np.uint64(63), [8, 19, 20])]
    words = np.resize(words, quicktext.LEAST + 100)
    text = disassemble(
        SOFTWARE,
        Image([CoreProgram(code_of(words, 0), len(words), groups=[Group(4, 4, (0,))])]).data(),
    )
    lines = text.split("\n")
    lines[place] = bad
    params = sizes("narrow") if "17" in bad or "tanh" in bad else None
    if params and place > quicktext.LEAST:
        message = (
            f"this build cannot carry it out: fault {'width' if '17' in bad else 'unsupported'}"
        )
    with pytest.raises(AsmError) as info:
        assembled("\n".join(lines), params)
    assert info.value.place.line == place + 1
    assert message in str(info.value) or "cannot carry it out" in str(info.value)
