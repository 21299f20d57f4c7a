# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the template board: its pins exist, its clock can be generated, its SoC elaborates, and
a core fits."""

from template import BOARDS

from quintet.boards.top import BoardTop
from quintet.gateware.cores import core_names, open_core
from quintet.gateware.isa.parameters import FPGAS
from quintet.tools.build.flash import PROGRAMMERS

(BOARD,) = BOARDS


def test_the_platform_has_what_the_board_names() -> None:
    """Checks that all resources named by the board exist on the platform."""
    platform = BOARD.platform_class()()
    assert len(BOARD.name) <= 16 and BOARD.fpga in FPGAS
    assert platform.lookup(BOARD.oscillator).clock.frequency == BOARD.oscillator_hz
    for resource in (
        *filter(None, (BOARD.busy_led, BOARD.fault_led)),
        (BOARD.link.resource, BOARD.link.number),
        *BOARD.held_high,
    ):
        found = platform.lookup(*resource[:2])
        assert not resource[2:] or resource[2] in {part.name for part in found.ios}
    assert all(name in PROGRAMMERS for name in BOARD.programmers)
    assert BOARD.link.kind in BOARD.links


def test_the_top_elaborates() -> None:
    platform = BOARD.platform_class()()
    type(platform).required_tools = ()
    plan = platform.prepare(BoardTop(board=BOARD, soc=BOARD.make_soc()))
    assert "EHXPLLL" in plan.files["top.il"] or "SB_PLL40" in plan.files["top.il"]


def test_a_core_fits() -> None:
    assert any(
        BOARD.presets(package) for package in map(open_core, core_names()) if package.has_core
    )
