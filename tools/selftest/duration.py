# SPDX-License-Identifier: BSD-2-Clause
"""Expected duration of a physical board's self-test: ``python -m quintet.tools.selftest.duration
BOARD/ISA ...`` computes it.

The test is made on a virtual board with the amounts of a physical one: bytes on the line take what
the board's rate makes of them, one way after the other; what the board does takes its cycles at its
real clock; a USB bridge adds its delay to each answer that is waited for. All three are added up as
if they did not overlap, so that a real test is never longer. Only a part of main memory is tested;
the rest is assumed to need as many cycles per byte.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ...boards import open_board
from ...boards.virtual.board import open_virtual
from ..errors import InputError
from ..link.client import UNSEEN, UNSEEN_AT_ONCE, LinkClient
from ..targets.link import LinkTarget
from .core import test_core
from .link import SECONDS, test_link
from .memory import test_memory

__all__ = ["Duration", "duration"]

#: Bytes that are really filled or summed up at a time, a multiple of what is in flight.
_PART = 2 * UNSEEN * UNSEEN_AT_ONCE
#: Seconds that a USB bridge may keep an answer: where it was asked not to (Linux), and where not.
QUICK, KEPT = 0.001, 0.016


@dataclass
class Duration:
    """Cost of a self-test: bytes on the ``line`` both ways, ``cycles`` of the board, ``waits`` for
    an answer, ``pauses`` in seconds; the board's ``baud`` and ``clock_hz``."""

    baud: int
    clock_hz: int
    line: float = 0
    cycles: float = 0
    waits: float = 0
    pauses: float = 0

    def seconds(self, kept: float) -> float:
        """Upper bound in seconds, if a USB bridge delays each answer by ``kept`` seconds."""
        return (
            self.line * 10 / self.baud
            + self.cycles / self.clock_hz
            + self.waits * kept
            + self.pauses
        )


class _Client(LinkClient):
    """Link client that counts the waits for an answer with no other request in flight."""

    waits = 0

    def _call(self, requests, progress=None, limit=64):
        self.waits += -(-len(requests) // limit)
        return super()._call(requests, progress, limit)


class _Target(LinkTarget):
    """A virtual board tested like a physical one, but without pauses and with a fraction of the
    large ranges."""

    def __init__(self, board, need):
        self._board, self._need = board, need
        super().__init__(client=_Client(board.pipe, seed=1), name="a board")

    def pause(self, seconds):
        self._need.pauses += seconds

    def fill(self, address, size, value=0, progress=None):
        self._part(size, lambda part: super(_Target, self).fill(address, part, value))

    def checksum(self, address, size):
        return self._part(size, lambda part: super(_Target, self).checksum(address, part))

    def _wait_for_run(self, *arguments):
        # A run is over before a bridge has kept two answers to the question whether it is.
        before = self.client.waits
        try:
            return super()._wait_for_run(*arguments)
        finally:
            self.client.waits = min(self.client.waits, before + 2)

    def _part(self, size, does):
        before = self.used()
        result = does(min(size, _PART))
        more = max(0, size / _PART - 1)
        self._need.line, self._need.cycles, self._need.waits = (
            sum_ + more * (now - then)
            for sum_, now, then in zip(
                (self._need.line, self._need.cycles, self._need.waits),
                self.used(),
                before,
                strict=True,
            )
        )
        return result

    def used(self):
        """Line bytes, cycles and waits so far."""
        return sum(self.client.traffic), self._board.cycle, self.client.waits


def duration(
    board: str, isa: str | None = None, progress: Callable[[str], object] | None = None
) -> Duration:
    """Computes the :class:`Duration` of a self-test.

    Parameters
    ----------
    board : name of a board with a serial line
    isa : name of an ISA, or ``None``: a SoC without a core
    progress : as of :func:`~quintet.boards.virtual.compile.build_library`

    Raises
    ------
    InputError
        The board's link is no serial line.
    """
    link = open_board(board).link
    if link.kind != "uart":
        raise InputError(f"{board}: its link is {link.kind}; expected a board with a serial line")
    with open_virtual(board, isa, progress=progress) as opened:
        need = Duration(link.baud, opened.clock_hz, pauses=SECONDS["board"])
        opened.pipe.sleep(getattr(opened.soc.backing, "powerup_ns", 0) * 1e-9)
        target, rng = _Target(opened, need), np.random.default_rng(1)
        tests = [
            test_link(target, rng),
            test_memory(target, rng),
            *([test_core(target)] if isa else []),
        ]
        for test in tests:
            for _ in test:
                pass
        line, cycles, waits = target.used()
        return Duration(
            need.baud,
            need.clock_hz,
            need.line + line,
            need.cycles + cycles,
            need.waits + waits,
            need.pauses,
        )


def main(names: Iterable[str]) -> None:
    """Prints a table of durations."""
    print(
        "| board | core | bytes on the line | the line | the board | answers waited for | "
        "seconds | where a bridge keeps each for 16 ms |\n|---|---|---|---|---|---|---|---|"
    )
    for name in names:
        board, _, isa = name.partition("/")
        need = duration(board, isa or None)
        print(
            f"| `{board}` | {isa or '-'} | {need.line:,.0f} | {need.line * 10 / need.baud:.1f} "
            f"s | {need.cycles / need.clock_hz:.1f} s | {need.waits:,.0f} "
            f"| {need.seconds(QUICK):.0f} | {need.seconds(KEPT):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
