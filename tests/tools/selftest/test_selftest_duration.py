# SPDX-License-Identifier: BSD-2-Clause
"""How long a physical board's self-test takes, computed."""

from types import SimpleNamespace

import pytest

from quintet.tools.errors import InputError
from quintet.tools.selftest.duration import KEPT, QUICK, Duration, duration, main
from quintet.tools.selftest.link import line_share


def test_parts_add_up():
    need = Duration(
        baud=1_000_000, clock_hz=20_000_000, line=200_000, cycles=60_000_000, waits=500, pauses=2
    )
    assert need.seconds(QUICK) == pytest.approx(2 + 3 + 0.5 + 2) and need.seconds(
        KEPT
    ) == pytest.approx(2 + 3 + 8 + 2)


def test_of_a_board(capsys):
    """All of main memory is counted four times, though only a part is gone over; the line's bytes
    are those of the amounts of a physical board."""
    need = duration("hx8k-breakout")
    assert need.baud == 3_000_000 and need.clock_hz == 36_000_000 and need.pauses == 2
    # Link: 24 rounds of 2 KiB both ways; memory: its 4 KiB written once and read twice.
    assert need.line > 2 * 24 * 2048 + 3 * 4096 and need.cycles > 4 * 4096
    assert need.seconds(KEPT) < 60
    main(["hx8k-breakout"])
    assert capsys.readouterr().out.splitlines()[2].startswith("| `hx8k-breakout` | - | ")


def test_what_is_large_is_gone_over_in_part():
    """128 KiB take what is counted; twice the time of a part of half the size would be an error of
    the sum."""
    small, large = duration("hx8k-breakout"), duration("icebreaker")
    assert 4 * 124 * 1024 * 2 < large.cycles - small.cycles < 4 * 124 * 1024 * 8 + 1_000_000


def test_a_board_without_a_serial_line():
    with pytest.raises(
        InputError, match="fomu: its link is usb; expected a board with a serial line"
    ):
        duration("fomu")


@pytest.mark.parametrize(
    "kind, link, share",
    [
        ("board", {"baud": 115_200}, 0.2304),
        ("board", {"baud": 3_000_000}, 1),
        ("sim", {"baud": 115_200}, 1),
        ("board", {"kind": "usb"}, 1),
        ("board", None, 1),
    ],
)
def test_slow_lines_carry_less(kind, link, share):
    target = SimpleNamespace(info=SimpleNamespace(link=link), simulated=kind == "sim")
    assert line_share(target, 100) == pytest.approx(100 * share)
