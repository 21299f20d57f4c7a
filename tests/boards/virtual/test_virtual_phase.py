# SPDX-License-Identifier: BSD-2-Clause
"""The second clock behind the main one: what the harness is told, and when its edges come by that."""
from fractions import Fraction
from types import SimpleNamespace

import pytest

from quintet.boards.virtual.board import VirtualBoard


class _Harness:
    """Counts as ``between`` of ``simulation.hpp`` does, and notes when each edge comes, in cycles of the main clock."""
    def __init__(self, times):
        self.second, self.main, self.phase, self.cycle, self.edges = times, 1, 0, 0, []

    def quintet_clocks(self, handle, second, main):
        self.second, self.main = second, main

    def board_run(self, handle, cycles, wanted, silence):
        for _ in range(cycles):
            self.phase += self.second
            while self.phase >= self.main:
                self.phase -= self.main
                self.edges.append(self.cycle + 1 - Fraction(self.phase, self.second))
            self.cycle += 1


@pytest.mark.parametrize("times, phase", [(2, Fraction(1, 3)), (2, Fraction(2, 3)), (2, Fraction(1, 2)), (3, Fraction(1, 4)), (1, Fraction(5, 8))])
def test_edges_come_later(times, phase):
    harness = _Harness(times)
    board = VirtualBoard.__new__(VirtualBoard)
    board.simulation = SimpleNamespace(c=harness, handle=1, check=lambda: None)
    board._delay_second(times, phase)
    assert harness.edges == [] and harness.cycle == 1
    board.advance(4)
    assert harness.edges == [1 + (phase + k) / times for k in range(4 * times)]
