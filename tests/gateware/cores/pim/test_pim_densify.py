# SPDX-License-Identifier: BSD-2-Clause
"""PIM's pass ``densify``: the same effect with fewer instructions, on random programs, compiled
streams and merged layers."""

import numpy as np
import pytest

from quintet.firmware.pim.measure import workloads as pim_workloads
from quintet.firmware.pim.measure.case import make_case
from quintet.firmware.pim.measure.run import digits_case
from quintet.gateware.cores.pim.densify.densify import densify
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools.cli import main
from tests.gateware.cores.pim.bench import programs as pim_programs
from tests.gateware.cores.pim.bench.dense import (
    SIM,
    case_of,
    dense_text,
    group,
    image_of_text,
    same_effect,
    words_in,
)


@pytest.mark.parametrize("part", range(4))
def test_random_programs(part):
    before = after = done = 0
    for seed in range(part * 15, part * 15 + 15):
        a, b, notes = same_effect(pim_programs.random_case(seed, SIM))
        assert b <= a
        if not notes:
            before, after, done = before + a, after + b, done + 1
    assert done > 3 and after < 0.8 * before


def test_registers_and_offsets():
    image = image_of_text(
        "sldi $2, 2048\nsldi $3, 0\nlmv $2, $3, 48\nsldi $2, 2048\nsldi $3, 16\nlmv $2, $3, 47\n"
        "sldi $2, 2048\nsldi $3, 32\nlmv $2, $3, 46\nsetbw 8, 8\nnop\nlmv $2, $3, 0"
    )
    lines, _ = dense_text(image)
    assert lines == [
        "lmv $0, $0, 48, @2048:d",
        "sldi $1, 2048",
        "lmv $1, $0, 47, @16:1",
        "lmv $1, $0, 46, @32:1",
    ]
    assert same_effect(case_of(image))[:2] == (12, 4)


def test_relu_is_merged_in_place_alone():
    text = "sldi $1, 100\nmvmul $1, $0, 8, 0, 0\nvrelu ${}, $1, 7"
    groups = [group(5, 7, shift=2)]
    assert len(dense_text(image_of_text(text.format(1), groups=groups))[0]) == 2
    assert len(dense_text(image_of_text(text.format(0), groups=groups))[0]) == 3
    assert len(dense_text(image_of_text("setbw 8, 16\n" + text.format(1), groups=groups))[0]) == 4
    same_effect(
        case_of(image_of_text("gaddr $2, 0\nld $0, $2, 9\n" + text.format(1), groups=groups))
    )


BIAS = (
    "gaddr $2, 0\nsldi $4, 200\nsetbw 8, 16\nld $0, $2, 5\nld $4, $2, 14, @64:1\nsldi $1, 100\n"
    "mvmul $1, $0, 8, 0, 0\n"
    "setbw 16, 16\nvvadd $1, $1, $4, 7\nvrelu $1, $1, 7\nst $2, $1, 14, @128:d"
)


def test_a_known_bias_is_merged():
    groups = [group(5, 7, shift=2)]
    image = image_of_text(BIAS, groups=groups)
    case = case_of(image)
    bias = case.memory[0x10040:0x1004E].tobytes()
    lines, dense = dense_text(image, constants=[(64, bias)])
    assert (
        not any("vvadd" in line or "vrelu" in line for line in lines)
        and "mvmul $2, $0, 8, 1, 1" in lines
    ), lines
    assert (
        dense.cores[0].groups[1].bias.tolist()
        == (np.frombuffer(bias, "<i2").astype(int) << 2).tolist()
    )
    assert dense.cores[0].groups[1].weights is None
    same_effect(case, [(64, bias)])
    # Unknown, or where a sum may saturate before the bias: left alone.
    assert any("vvadd" in line for line in dense_text(image)[0])
    narrow = image_of_text(
        BIAS.replace("setbw 8, 16", "setbw 8, 8").replace("setbw 16, 16", "setbw 8, 8"),
        groups=groups,
    )
    assert any("vvadd" in line for line in dense_text(narrow, constants=[(64, bias)])[0])


def test_what_cannot_be_followed_is_left_alone():
    for text, why in (
        ("sld $1, $2\nsldi $1, 0", "instruction 0 loads a register from memory"),
        (".word 21\nsldi $1, 1", "instruction 0 is not legal"),
        (".word 0x1819\nsldi $1, 1", None),
        (
            "sldi $1, -1\nsldi $1, -1\nlldi $1, 0, 4",
            "it writes at 0xffffffff, outside local memory",
        ),
    ):
        image = image_of_text(text)
        dense, notes = densify(image, SIM)
        if why:
            assert dense.cores[0] is image.cores[0] and notes == [f"core 0 is left as it is: {why}"]


def test_command(tmp_path, capsys):
    (tmp_path / "x.s").write_text(
        "sldi $1, 5\nsldi $1, 5\nlldi $1, 0, 4\nsldi $1, 5\nlldi $1, 1, 3\n"
    )
    assert (
        main(
            [
                "asm",
                "pim",
                str(tmp_path / "x.s"),
                "-o",
                str(tmp_path / "x.bin"),
                "--pass",
                "densify",
            ]
        )
        == 0
    )
    assert "densify: warning: 5 instructions, now 2" in "".join(capsys.readouterr())
    assert len(load_program(SOFTWARE, tmp_path / "x.bin").data) == 192
    assert (
        main(
            ["asm", "pim", str(tmp_path / "x.s"), "-o", str(tmp_path / "y.bin"), "--pass", "shrink"]
        )
        == 2
    )
    assert "--pass shrink: pim has densify" in capsys.readouterr().err


def test_packed_and_short_code():
    for mode in (1, 2):
        text = "\n".join(
            f"sldi $1, {1000 + 8 * k}\nsldi $2, {8 * k}\nlmv $1, $2, 8" for k in range(20)
        )
        before, after, _ = same_effect(case_of(image_of_text(text, mode=mode)))
        assert before == 60 and after <= (60 if mode == 1 else 41)


@pytest.mark.parametrize("mode", [0, 2])
@pytest.mark.parametrize(
    "name, before, after",
    [("A", 509, 190), ("B", 710, 358), ("C", 532, 262), ("D", 29, 20), ("E", 41, 25)],
)
def test_streams_of_the_workloads(name, before, after, mode):
    assert same_effect(pim_workloads.case_of(pim_workloads.WORKLOADS[name], mode=mode)) == (
        before,
        after,
        [],
    )


@pytest.mark.parametrize("network, cores", [("mlp", 1), ("mlp", 4), ("cnn", 4)])
def test_shipped_networks(network, cores):
    case = digits_case(network, cores, 9 * cores)
    before, after, notes = same_effect(
        make_case(case.name, case.params, case.image, words_in(case.image), case.memory, 0)
    )
    assert after < 0.9 * before and not notes
