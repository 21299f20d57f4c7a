# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that PIM refuses or warns of before a start."""

import pytest

from quintet.firmware.pim import small
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import load_program

PROGRAM = load_program(SOFTWARE, small.FOLDER / "two.s")


def check(registers=None, params=None):
    given = {
        "program_address": 0x100000,
        "program_length": len(PROGRAM.data),
        "window_base": 0,
        "window_limit": 1 << 25,
        **(registers or {}),
    }
    return SOFTWARE.check_job(PROGRAM, given, params)


def test_the_worked_job_is_right():
    assert check() == check(params=SPACE.resolve("sim")) == []


@pytest.mark.parametrize(
    "registers, params, message",
    [
        ({"core_table": 0x20}, {}, "core_table = 0x20, expected a multiple of 64"),
        (
            {},
            {"cores": 1},
            "the program does not fit this build: 2 core entries, expected 1 to 1 (offset 0xc "
            "of the image): fault table",
        ),
        (
            {},
            {"xb_rows": 32},
            "the program does not fit this build: xb_rows = 64, expected 32 (offset 0x14 of "
            "the image): fault table",
        ),
        (
            {},
            {"bias_words": 2},
            "the program does not fit this build: core 1, group 0: 3 biases, expected at most "
            "2 (offset 0xcc of the "
            "image): fault table",
        ),
    ],
)
def test_refusals(registers, params, message):
    with pytest.raises(ValueError) as info:
        check(registers, SPACE.resolve("sim", params))
    assert str(info.value) == message


def test_warnings():
    assert check({"gmem_base": 0x100100, "gmem_size": 64}) == [
        "GMem, 0x40 bytes at 0x100100, overlaps the program, 0x4c0 bytes at 0x100000"
    ]
    assert check({"window_limit": 0x300800}) == [
        "GMem, 0x1000 bytes at 0x300000, ends past the memory window's end 0x300800"
    ]
    # Where the image lies elsewhere nothing is known of it.
    assert check({"core_table": 0x40}, {"cores": 1}) == []
