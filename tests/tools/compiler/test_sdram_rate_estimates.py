# SPDX-License-Identifier: BSD-2-Clause
"""Estimated cycles of a network on a board whose SDRAM runs at twice the main clock against those
of the virtual board."""

import pytest

from quintet.tools.compiler.backends.opentpu import cost as opentpu_cost
from quintet.tools.compiler.backends.opu import cost as opu_cost
from quintet.tools.targets.names import open_sim_target
from tests.tools.compiler.test_ddr3_estimates import (
    ON_CHIP,
    measured,
    opentpu_program,
    opu_program,
)

SDRAM = {"kind": "SDRAM", "beat_bytes": 4, "rate": 2, "size": 1 << 25}


@pytest.mark.parametrize(
    "target, program",
    [("opu?preset=85f", opu_program), ("opentpu?preset=85f-8x8-conv", opentpu_program)],
    ids=["opu", "opentpu"],
)
def test_estimates_are_near_the_cycles_of_the_virtual_board(target, program):
    with open_sim_target(f"sim:ulx3s-85f/{target}&sdram_rate=2") as board:
        memory = board.info.memory
        assert memory == SDRAM
        lowered = program(memory)
        cycles = measured(board, lowered)
    estimated = sum(layer.cycles for layer in lowered.layers)
    assert abs(estimated / cycles - 1) < 0.05, (estimated, cycles)


def test_the_opu_knows_the_rate():
    found = opu_cost.main_memory(SDRAM)
    assert found == opu_cost.SDRAM_DOUBLE and found.rate > 1.9 * opu_cost.SDRAM.rate
    assert opu_cost.main_memory({"kind": "SDRAM", "beat_bytes": 2}) == opu_cost.SDRAM
    split = opu_cost.main_memory({**SDRAM, "on_chip": ON_CHIP})
    assert split.at(1 << 17).rate == found.rate and split.at(1 << 17).load > found.load
    assert split.at(0).rate == 8 and split.border == 1 << 17


def test_opentpu_knows_the_rate():
    found = opentpu_cost.main_memory(SDRAM)
    assert found.bandwidth == 4 and opentpu_cost.SDRAM16.bandwidth == 2
    split = opentpu_cost.main_memory({**SDRAM, "on_chip": ON_CHIP})
    assert split.at(1 << 17).bandwidth == 4 and split.at(0).bandwidth == 8
