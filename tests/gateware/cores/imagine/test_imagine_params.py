# SPDX-License-Identifier: BSD-2-Clause
"""Sizes and presets of IMAGine."""

import pytest

from quintet.gateware.cores.imagine.params import (
    SPACE,
    geometry,
    levels,
    register_file,
    registers_of,
)
from quintet.gateware.isa.parameters import ParameterError


def test_presets():
    assert SPACE.default_preset == "85f"
    sizes = {
        name: [SPACE.resolve(name)[p] for p in ("rows", "cols", "reg_width", "depth", "ram")]
        for name in SPACE.presets
    }
    assert sizes == {
        "85f": [48, 4, 16, 1024, "tdp"],
        "85f-tall": [64, 3, 16, 1024, "tdp"],
        "25f": [16, 3, 16, 1024, "tdp"],
        "25f-dense": [32, 2, 16, 512, "sdp2"],
        "hx8k": [8, 2, 16, 256, "sdp1"],
        "up5k": [4, 2, 16, 256, "sdp1"],
        "up5k-mini": [2, 1, 16, 256, "sdp1"],
        "sim": [16, 4, 16, 1024, "tdp"],
    }


def test_registers_of_a_pe():
    found = {
        (n, d): registers_of({"reg_width": n, "depth": d})
        for n, d in ((16, 1024), (16, 64), (8, 1024), (4, 256), (4, 64))
    }
    assert found == {(16, 1024): 64, (16, 64): 4, (8, 1024): 64, (4, 256): 64, (4, 64): 16}


def test_levels():
    assert [levels(c) for c in (1, 2, 3, 4, 5, 6, 8, 9, 16, 256)] == [0, 1, 2, 2, 3, 3, 3, 4, 4, 8]


def test_read_only_registers():
    params = SPACE.resolve("25f-dense")
    assert geometry(params) == 0x0010_011F and register_file(params) == 0x0020_0200


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"rows": 0}, "parameter rows must be 1 to 256, not 0"),
        ({"cols": 257}, "parameter cols must be 1 to 256, not 257"),
        ({"reg_width": 12}, "parameter reg_width must be one of 4, 8, 16, not 12"),
        ({"depth": 96}, "parameter depth must be one of 64, 128, 256, 512, 1024, not 96"),
        ({"ram": "lut"}, "parameter ram must be one of tdp, sdp2, sdp1, not 'lut'"),
        (
            {"fifo_in": 100},
            "parameter fifo_in must be one of 16, 32, 64, 128, 256, 512, 1024, not 100",
        ),
        (
            {"fifo_out": 8},
            "parameter fifo_out must be one of 16, 32, 64, 128, 256, 512, 1024, not 8",
        ),
        ({"own_clock": 2}, "parameter own_clock must be one of false, true, not 2"),
        ({"ram": "sdp2"}, "parameter ram = sdp2 needs a depth of at most 512, not 1024"),
    ],
)
def test_refused(overrides, message):
    with pytest.raises(ParameterError) as error:
        SPACE.resolve("sim", overrides)
    assert str(error.value) == message
