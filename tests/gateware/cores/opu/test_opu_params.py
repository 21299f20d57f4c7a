# SPDX-License-Identifier: BSD-2-Clause
"""Types, parameters and presets of sections 2.3 and 8."""

import pytest

from quintet.gateware.cores.opu.params import SPACE, buffer_bytes, cap_lanes
from quintet.gateware.cores.opu.types import TYPE_SETS, TypeSet, type_set
from quintet.gateware.isa.parameters import ParameterError

#: preset -> pi, po, ifm banks x lines, ofm banks x lines, ker rows, multiplier, KiB of ifm, ofm,
#: ker: the table of 8.2.
TABLE = {
    "85f": (16, 8, 2, 4096, 2, 4096, 512, "dsp", 128, 128, 64),
    "85f-p64": (16, 4, 2, 4096, 2, 8192, 1024, "dsp", 128, 128, 64),
    "85f-p256": (16, 16, 2, 4096, 2, 2048, 256, "dsp_pair", 128, 128, 64),
    "85f-p256-fast": (16, 16, 2, 1024, 2, 512, 256, "dsp_pair", 32, 32, 64),
    "85f-large": (16, 8, 1, 8192, 1, 8192, 288, "dsp", 128, 128, 36),
    "45f": (16, 4, 2, 1536, 1, 8192, 576, "dsp", 48, 64, 36),
    "45f-fast": (16, 8, 2, 1024, 2, 1024, 512, "dsp_pair", 32, 32, 64),
    "25f": (16, 1, 1, 1536, 1, 16384, 2304, "dsp", 24, 32, 36),
    "25f-mini": (16, 1, 1, 1024, 1, 4096, 2304, "dsp", 16, 8, 36),
    "up5k": (16, 1, 1, 1024, 1, 16384, 1024, "dsp", 16, 32, 16),
    "hx8k": (16, 1, 1, 64, 1, 768, 256, "lut", 1, 1.5, 4),
    "hx8k-mini": (16, 1, 1, 64, 1, 256, 256, "lut", 1, 0.5, 4),
    "sim": (4, 2, 1, 256, 1, 1024, 576, "dsp", 4, 4, 4.5),
    "sim-small": (16, 1, 1, 1024, 1, 16384, 1024, "dsp", 16, 32, 16),
}


@pytest.mark.parametrize("name", SPACE.presets)
def test_presets(name):
    values = SPACE.resolve(name)
    keys = (
        "pi",
        "po",
        "ifm_banks",
        "ifm_lines",
        "ofm_banks",
        "ofm_lines",
        "ker_rows",
        "multiplier",
    )
    size = buffer_bytes(values)
    assert (
        *(values[key] for key in keys),
        *(size[key] / 1024 for key in ("ifm", "ofm", "ker")),
    ) == TABLE[name]
    assert values["types"] == "8-8-16-16" and values["out_lanes"] == values["po"]
    assert values["engine"] == (
        "small" if name in ("up5k", "hx8k", "hx8k-mini", "sim-small") else "pipelined"
    )


#: FPGA -> (bytes of a block, blocks that the buffers may take, DSPs): SoC, link and memory
#: controller need the others.
BUDGETS = {
    "85f": (2048, 208 - 12, 156),
    "45f": (2048, 108 - 12, 72),
    "25f": (2048, 56 - 6, 28),
    "hx8k": (512, 32 - 19, 0),
}


@pytest.mark.parametrize("name", [name for name in SPACE.presets if name.split("-")[0] in BUDGETS])
def test_budgets(name):
    values = SPACE.resolve(name)
    block, blocks, dsps = BUDGETS[name.split("-")[0]]
    # A bank is made of whole blocks.
    banks = {"ifm": values["ifm_banks"], "ofm": values["ofm_banks"], "ker": 1}
    used = sum(
        -(-size // banks[key] // block) * banks[key] for key, size in buffer_bytes(values).items()
    )
    assert used <= blocks
    products = values["pi"] * values["po"]
    assert {"dsp": products, "dsp_pair": products // 2, "lut": 0}[values["multiplier"]] <= dsps


def test_default_and_board_presets():
    assert SPACE.default_preset == "85f"
    assert [SPACE.preset_for(f) for f in ("85f", "45f", "25f", "up5k", "hx8k", "sim")] == [
        "85f",
        "45f",
        "25f",
        "up5k",
        "hx8k",
        "sim",
    ]


SMALL = {"engine": "small", "ifm_banks": 1, "ofm_banks": 1, "po": 1, "ifm_lines": 1024}


@pytest.mark.parametrize(
    "values, message",
    [
        (
            {"types": "8-8-8-8"},
            "parameter types must be one of 8-8-16-16, 8-8-32-32, 16-16-32-32, not '8-8-8-8'",
        ),
        ({"pi": 2}, "parameter pi must be one of 4, 8, 16, not 2"),
        ({"po": 32}, "parameter po must be one of 1, 2, 4, 8, 16, not 32"),
        ({"ifm_lines": 15}, "parameter ifm_lines must be 16 to 8192, not 15"),
        ({"ifm_lines": 8193}, "parameter ifm_lines must be 16 to 8192, not 8193"),
        ({"ofm_lines": 15}, "parameter ofm_lines must be 16 to 131072, not 15"),
        (
            {"ofm_lines": 16385},
            r"parameter ofm_lines must be 16 to 16384 with po = 8 \(all of the largest ofm\), "
            r"not 16385",
        ),
        ({"ker_rows": 0}, "parameter ker_rows must be 16 to 18432, not 0"),
        (
            {"ker_rows": 577},
            r"parameter ker_rows must be 16 to 576 with pi = 16 and po = 8 \(two of the "
            r"largest kernels\), not",
        ),
        ({"ifm_banks": 3}, "parameter ifm_banks must be one of 1, 2, not 3"),
        ({"ofm_banks": 0}, "parameter ofm_banks must be one of 1, 2, not 0"),
        ({"out_lanes": 3}, "parameter out_lanes must be one of 0, 1, 2, 4, 8, 16, not 3"),
        ({"out_lanes": 16}, "parameter out_lanes must be at most po = 8, or 0 for po, not 16"),
        (
            {"multiplier": "mul"},
            "parameter multiplier must be one of dsp, dsp_pair, lut, not 'mul'",
        ),
        (
            {"multiplier": "dsp_pair", "po": 1},
            "parameter multiplier = dsp_pair needs an even po, not 1",
        ),
        (
            {"multiplier": "dsp_pair", "types": "16-16-32-32"},
            "parameter multiplier = dsp_pair needs products of 8 bits, not types = 16-16-32-32",
        ),
        ({"engine": "tiny"}, "parameter engine must be one of pipelined, small, not 'tiny'"),
        (
            {"engine": "small", "types": "8-8-32-32"},
            "parameter engine = small needs types = 8-8-16-16, not 8-8-32-32",
        ),
        ({"engine": "small"}, "parameter engine = small needs ifm_banks = 1, not 2"),
        (
            {"engine": "small", "ifm_banks": 1},
            "parameter engine = small needs ofm_banks = 1, not 2",
        ),
        ({**SMALL, "po": 2}, "parameter engine = small needs po = 1, not 2"),
        (
            {**SMALL, "po": 2, "multiplier": "dsp_pair"},
            "parameter engine = small needs po = 1, not 2",
        ),
        ({**SMALL, "pi": 8}, "parameter engine = small needs pi = 16, not 8"),
        (
            {**SMALL, "ifm_lines": 1025},
            "parameter engine = small needs ifm_lines of at most 1024, not 1025",
        ),
        ({"lanes": 8}, "opu has no parameter 'lanes'"),
    ],
)
def test_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        SPACE.resolve(None, values)


def test_limits_themselves_are_legal():
    for values in (
        {"ofm_lines": 16384},
        {"ker_rows": 576},
        {"ifm_lines": 8192},
        {"out_lanes": 8},
        {"out_lanes": 1},
        {"types": "16-16-32-32"},
    ):
        resolved = SPACE.resolve(None, values)
        assert {name: resolved[name] for name in values} == values
    assert SPACE.resolve(None, {"out_lanes": 0})["out_lanes"] == 8
    assert (
        SPACE.resolve(None, {"po": 1, "pi": 4, "ker_rows": 18432, "ofm_lines": 131072})["ker_rows"]
        == 18432
    )


def test_a_job_demands_the_types_alone():
    assert {name: p.job for name, p in SPACE.parameters.items() if p.job != "free"} == {
        "types": "equal"
    }


def test_capability_registers():
    assert (
        cap_lanes(SPACE.resolve("85f")) == 0x02_02_08_10
        and cap_lanes(SPACE.resolve("hx8k")) == 0x01_01_01_10
    )
    assert (
        TYPE_SETS["8-8-16-16"].cap_types == 0x10_10_08_08
        and TYPE_SETS["16-16-32-32"].cap_types == 0x20_20_10_10
    )


@pytest.mark.parametrize(
    "name, delta, dot, bits, fraction, cap",
    [
        ("8-8-16-16", -8, 20, 22, 21, 22),
        ("8-8-32-32", -24, 20, 22, 32, 33),
        ("16-16-32-32", -16, 36, 38, 37, 38),
    ],
)
def test_derived_numbers(name, delta, dot, bits, fraction, cap):
    """The table of section 2.3, and the bounds of 4.4."""
    t = type_set({"types": name})
    assert (-t.store_shift, t.dot_log2, t.dot_bits, t.fraction_bits, t.left_cap) == (
        delta,
        dot,
        bits,
        fraction,
        cap,
    )
    assert 64 * (1 << t.ifm - 1) * (1 << t.ker - 1) == 1 << t.dot_log2
    assert t.name == str(t) == name and type_set(name) is t
    assert (t.term_bits, t.left_most, t.right_most) == (t.ofm + 2, t.ofm + 2, t.ifm + t.ker + 5)
    assert t.ifm_bytes * 8 == t.ifm and t.ker_bytes * 8 == t.ker and t.bias_bytes * 8 == t.bias
    assert t.ifm_range == (-(1 << t.ifm - 1), (1 << t.ifm - 1) - 1) and t.ofm_range[0] == -(
        1 << t.ofm - 1
    )


def test_no_other_type_set():
    with pytest.raises(
        ValueError, match="types must be one of 8-8-16-16, 8-8-32-32, 16-16-32-32, not '4-4-8-8'"
    ):
        type_set("4-4-8-8")
    assert TypeSet(8, 8, 16, 16) == TYPE_SETS["8-8-16-16"]
