# SPDX-License-Identifier: BSD-2-Clause
"""Parameters and presets of section 8."""

import pytest

from quintet.gateware.cores.opentpu.params import NO_DSP_LIMIT, SPACE, norm_legal
from quintet.gateware.isa.parameters import ParameterError

#: preset -> n, UB rows, ACC rows, multiplier, banks, fetch words, ext_norm: the table of section 8.
TABLE = {
    "85f-8x8": (8, 8192, 1024, "dsp", 2, 16, True),
    "85f-12x12": (12, 4096, 1024, "dsp", 2, 16, True),
    "85f-16x16": (16, 4096, 1024, "dsp_pair", 2, 16, True),
    "45f-8x8": (8, 4096, 1024, "dsp", 2, 16, True),
    "25f-4x4": (4, 4096, 1024, "dsp", 2, 16, True),
    "up5k-4x4": (4, 1024, 256, "dsp", 1, 2, False),
    "hx8k-4x4": (4, 1024, 256, "lut", 1, 2, False),
    "hx8k-4x4-rows": (4, 1024, 256, "rows", 1, 2, False),
    "hx8k-4x4-mini": (4, 256, 128, "lut", 1, 2, False),
    "sim": (4, 512, 256, "dsp", 2, 16, True),
}


@pytest.mark.parametrize("name", TABLE)
def test_presets(name):
    values = SPACE.resolve(name)
    assert (
        tuple(
            values[key]
            for key in (
                "n",
                "ub_rows",
                "acc_rows",
                "multiplier",
                "banks",
                "fetch_words",
                "ext_norm",
            )
        )
        == TABLE[name]
    )
    assert (
        values["wfifo_tiles"] == 4
        and values["chain"] == (values["banks"] == 2)
        and values["ext_sync"]
    )
    assert not any(
        values[name] for name in ("ext_conv", "ext_pool", "ext_diag", "ext_bias", "norm_reset")
    )


def test_the_preset_for_convolutions_is_the_default_with_its_extensions():
    assert SPACE.resolve("85f-8x8-conv") == {
        **SPACE.resolve("85f-8x8"),
        "ext_conv": True,
        "ext_pool": True,
        "ext_diag": True,
        "ext_bias": True,
    }


@pytest.mark.parametrize(
    "name, extensions, on_chip",
    [
        ("85f-8x8-fast", ("conv", "pool", "diag", "bias"), 256),
        ("85f-16x16-fast", ("conv",), 256),
        ("85f-16x16-conv", ("conv", "diag", "bias"), 208),
        ("45f-8x8-fast", ("conv", "pool", "diag", "bias"), 128),
    ],
)
def test_presets_with_extensions_and_on_chip_memory(name, extensions, on_chip):
    """The larger array leaves no space for max pooling of its own, nor for the other extensions
    beside 256 KiB."""
    assert SPACE.resolve(name) == {
        **SPACE.resolve(name.rpartition("-")[0]),
        **{f"ext_{one}": True for one in extensions},
    }
    assert SPACE.presets[name].on_chip == on_chip << 10


def test_the_25f_has_an_array_of_pairs_and_half_the_unified_buffer():
    """Its 28 DSPs make 56 of the 64 products; on-chip memory takes the rest of its block RAMs."""
    assert SPACE.resolve("25f-8x8-fast") == {
        **SPACE.resolve("45f-8x8-fast"),
        "ub_rows": 2048,
        "multiplier": "dsp_pair",
        "dsp_limit": 28,
    }
    assert SPACE.presets["25f-8x8-fast"].on_chip == 48 << 10


def test_default_and_board_presets():
    assert SPACE.default_preset == "85f-8x8"
    assert [SPACE.preset_for(f) for f in ("85f", "45f", "25f", "up5k", "hx8k", "sim")] == [
        "85f-8x8",
        "45f-8x8",
        "25f-4x4",
        "up5k-4x4",
        "hx8k-4x4",
        "sim",
    ]


@pytest.mark.parametrize(
    "name, value, message",
    [
        *(
            ("n", side, f"parameter n must be an even number from 2 to 256, not {side}")
            for side in (0, 1, 3, 7, 257, 258)
        ),
        ("n", True, "parameter n must be"),
        ("ub_rows", 1000, "parameter ub_rows must be a power of two from 64 to 65536, not 1000"),
        ("acc_rows", 32, "parameter acc_rows must be a power of two"),
        ("banks", 3, "parameter banks must be one of 1, 2, not 3"),
        ("wfifo_tiles", 0, "parameter wfifo_tiles must be 1 to 16, not 0"),
        ("fetch_words", 1, "parameter fetch_words must be 2 to 64, not 1"),
        (
            "multiplier",
            "mul",
            "parameter multiplier must be one of dsp, dsp_pair, lut, rows, not 'mul'",
        ),
        ("dsp_limit", -1, "parameter dsp_limit must be 0 to 4096, not -1"),
        ("chain", "yes", "parameter chain must be one of false, true, not 'yes'"),
        ("norm_reset", 0x30000, "parameter norm_reset must be a legal norm value"),
        ("norm_reset", 0x20, "parameter norm_reset must be a legal norm value"),
        ("nn", 1, "opentpu has no parameter 'nn'"),
    ],
)
def test_refused(name, value, message):
    with pytest.raises(ParameterError, match=message):
        SPACE.resolve(None, {name: value})


@pytest.mark.parametrize("side", [2, 64, 66, 128, 254, 256])
def test_every_even_side_to_256(side):
    assert SPACE.resolve(None, {"n": side})["n"] == side


def test_dsp_limit_needs_dsps():
    for preset, multiplier in (("hx8k-4x4", "lut"), ("hx8k-4x4-rows", "rows")):
        with pytest.raises(
            ParameterError, match=f"dsp_limit has no meaning with multiplier = {multiplier}"
        ):
            SPACE.resolve(preset, {"dsp_limit": 8})
    assert SPACE.resolve(None)["dsp_limit"] == NO_DSP_LIMIT


def test_norm_legal_is_exactly_the_fields():
    legal = [v for v in range(1 << 18) if norm_legal(v)]
    assert len(legal) == 32 * 2 * 3
    assert not norm_legal(1 << 18) and not norm_legal(1 << 31)


def test_what_a_job_demands():
    kinds = {name: p.job for name, p in SPACE.parameters.items()}
    assert kinds == {
        "n": "equal",
        "norm_reset": "equal",
        "ub_rows": "at_least",
        "acc_rows": "at_least",
        "wfifo_tiles": "at_least",
        "ext_sync": "at_least",
        "ext_norm": "at_least",
        "ext_conv": "at_least",
        "ext_pool": "at_least",
        "ext_diag": "at_least",
        "ext_bias": "at_least",
        "banks": "free",
        "fetch_words": "free",
        "multiplier": "free",
        "dsp_limit": "free",
        "chain": "free",
    }
