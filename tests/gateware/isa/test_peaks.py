# SPDX-License-Identifier: BSD-2-Clause
"""Ceilings of builds: every core declares them, and nothing that was measured exceeds them."""

import json
from pathlib import Path

import pytest

from quintet.boards import board_names, open_board
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import ParameterSpace, Preset
from quintet.gateware.isa.peaks import Peaks, memory_bytes
from quintet.gateware.isa.registers import COMMON_COUNTERS
from quintet.tools.targets.ceilings import board_memory, ceilings

CELLS = json.loads((Path(__file__).resolve().parents[3] / "docs" / "results.json").read_text())[
    "measurements"
]
PRESETS = [
    (name, preset) for name in core_names() for preset in open_core(name).params.SPACE.presets
]


def peaks(isa, preset=None, **overrides):
    space = open_core(isa).params.SPACE
    return space.peaks(space.resolve(preset, overrides))


@pytest.mark.parametrize("isa, preset", PRESETS)
def test_every_build_has_peaks(isa, preset):
    found = peaks(isa, preset)
    assert found.macs > 0 and found.clock_ratio > 0
    known = {counter.name for counter in (*COMMON_COUNTERS, *open_core(isa).isa.ISA.counters)}
    assert set(found.byte_counters) <= known


@pytest.mark.parametrize(
    "isa, preset, macs, ratio",
    [
        ("opentpu", "85f-8x8", 64, 1),
        ("opentpu", "up5k-4x4", 16, 1),
        ("opu", "85f", 128, 1),
        ("opu", "up5k", 16, 1),
        ("pim", "85f", 128, 1),
        ("pim", "up5k", 1, 1),
        ("imagine", "85f", 16 * 48 * 4 / 545, 2),
        ("cherry", "85f", 32, 1),
        ("cherry", "up5k", 4 / 22, 1),
    ],
)
def test_peaks_of_builds(isa, preset, macs, ratio):
    found = peaks(isa, preset)
    assert found.macs == pytest.approx(macs) and found.clock_ratio == ratio


@pytest.mark.parametrize(
    "name, what, bits",
    [
        ("imagine/acceptance", "`mv_MULT`, 16x4", 16),
        ("imagine/acceptance", "`mv_MULT`, N = 8, 16x4n8", 8),
        ("imagine/acceptance", "`mv_MULT`, N = 4, 16x4n4", 4),
    ],
)
def test_the_arrays_product_takes_as_long_as_was_measured(name, what, bits):
    cycles = next(row["values"]["measured"] for row in CELLS[name]["rows"] if row["what"] == what)
    assert 16 * 16 * 4 / peaks("imagine", "sim", reg_width=bits).macs == pytest.approx(cycles)


def test_what_was_measured_of_peak_is_below_it():
    shares = [
        value
        for measurement in CELLS.values()
        for row in measurement["rows"]
        if (value := row["values"].get("of peak")) is not None
    ]
    assert len(shares) > 20 and max(shares) <= 100
    demo = next(row["values"] for row in CELLS["opentpu/demo"]["rows"])
    assert demo["MACs a cycle"] <= peaks("opentpu").macs
    product = next(
        row["values"]["cycles"]
        for row in CELLS["cherry/workloads"]["rows"]
        if row["what"].startswith("matmul 64, also")
    )
    assert 0.95 < 64**3 / product / peaks("cherry").macs <= 1
    mvmul = next(
        row["values"]["cycles"]
        for row in CELLS["pim/items"]["rows"]
        if row["what"] == "`mvmul` 64x64, 100 back to back"
    )
    one_core = peaks("pim").macs / open_core("pim").params.SPACE.resolve()["cores"]
    assert 0.95 < 100 * 64 * 64 / mvmul / one_core <= 1


def test_bytes_of_a_memory():
    assert (
        memory_bytes("SDRAM", 2) == 2
        and memory_bytes("SRAM", 4) == 2
        and memory_bytes("block RAM", 8) == 8
        and memory_bytes("SPRAM", 4) == 4
    )
    assert (
        Peaks(1).bytes_a_cycle("SDRAM", 2) == 2
        and Peaks(1, 4).bytes_a_cycle("block RAM", 8) == 4
        and Peaks(1, 4, 2.0).bytes_a_cycle("SDRAM", 2) == 1
    )
    for name in board_names():
        memory = open_board(name).memory
        width = getattr(memory, "width", None)
        if width is not None:  # a chip's pins
            # DDR3 has two words in each of two cycles of its own clock.
            words = 4 if memory.kind == "DDR3" else 1
            assert memory_bytes(memory.kind, memory.beats[0]) == words * width // 8, name


def test_a_core_need_not_declare_peaks():
    space = ParameterSpace("x", (), (Preset("sim", default=True),))
    assert space.peaks({}) is None


def test_ceilings_as_results_carry_them():
    params = open_core("imagine").params.SPACE.resolve("85f")
    memory = board_memory("ulx3s-85f", 1 << 25)
    assert (
        memory == {"size": 1 << 25, "beat_bytes": 2, "kind": "SDRAM"}
        and board_memory(None, 5) == {}
    )
    assert ceilings("imagine", params, memory, 80_000_000) == {
        "macs": 5.6367,
        "bytes": 1.0,
        "clock_hz": 160_000_000,
        "byte_counters": ["bytes_read", "bytes_written"],
        "uncounted": "",
    }
    assert ceilings("imagine", params, {}, None) == {
        "macs": 5.6367,
        "bytes": None,
        "clock_hz": None,
        "byte_counters": ["bytes_read", "bytes_written"],
        "uncounted": "",
    }
    assert ceilings(None, {}, {}, 5) == {
        "macs": None,
        "bytes": None,
        "clock_hz": 5,
        "byte_counters": [],
        "uncounted": "",
    }


@pytest.mark.parametrize("on_chip, bytes_a_cycle", [(None, 8), (1 << 16, 8), (0, None)])
def test_ceilings_of_two_memories(on_chip, bytes_a_cycle):
    preset = "85f-p256-fast"
    params = open_core("opu").params.SPACE.resolve(preset)
    memory = board_memory("ulx3s-85f", 1 << 25, "opu", params, preset, on_chip)
    assert memory.get("on_chip", {}).get("size") == (
        192 << 10 if on_chip is None else on_chip or None
    )
    found = ceilings("opu", params, memory, None)
    assert (found["bytes"], found.get("on_chip_bytes")) == (2, bytes_a_cycle)
