# SPDX-License-Identifier: BSD-2-Clause
"""Self-test of the link and the clock: the share of frames that arrived at the first attempt, and
the board's cycles per second of the host's time."""

from collections.abc import Iterator

import numpy as np

from ..targets.link import LinkTarget
from .finding import Finding

__all__ = ["SECONDS", "kind_of", "line_share", "test_clock", "test_link"]

#: Bytes of a round to and fro, at most all of main memory, and rounds that are tried, of a board
#: and of a simulated one.
_BYTES = 2048
_ROUNDS = {"board": 24, "sim": 2}
#: Rate of a line from which on it carries all of that in some seconds; rounds at least.
_FAST, _LEAST = 500_000, 2
#: Seconds over which cycles are counted, and by how much they may differ from what the board says:
#: a USB bridge keeps answers for milliseconds.
SECONDS = {"board": 1.0, "sim": 0.002}
#: Cycles that are counted of a served board, whose time is reported in steps of some thousand
#: cycles; it counts none while it rests (``tools/serve/server.py``, ``REST``).
_SERVED_CYCLES = 1_000_000
_CLOCK_SHARE = 0.02
_LOST = "shorten the cable, leave out hubs, try another port; then build for a slower line or clock"


def _baud(target):
    """Baud rate of the target's serial line, ``None`` for other links."""
    return target.info.link.get("baud") if isinstance(target.info.link, dict) else None


def kind_of(target: LinkTarget) -> str:
    """Kind of a target: ``"sim"`` for a simulated board, also a served one, otherwise
    ``"board"``."""
    return "sim" if target.simulated else "board"


def line_share(target: LinkTarget, amount: int) -> float:
    """Reduces an ``amount`` of test data for a slow physical line, so that the test does not take
    longer than all others."""
    baud = _baud(target)
    return amount if baud is None or target.simulated else amount * min(1, baud / _FAST)


def test_link(target: LinkTarget, rng: np.random.Generator) -> Iterator[Finding]:
    """Tests the link: writes random bytes to main memory and reads them back; counts retransmitted
    frames."""
    client = target.client
    repeats, damaged, began = client.repeats, client.damaged, target.now()
    rounds, wrong = max(_LEAST, round(line_share(target, _ROUNDS[kind_of(target)]))), 0
    size = min(_BYTES, target.info.memory_size)
    for _ in range(rounds):
        data = rng.integers(0, 256, size, np.uint8).tobytes()
        target.write(0, data)
        wrong += target.read(0, size) != data
    seconds = target.now() - began
    again, spoilt = client.repeats - repeats, client.damaged - damaged
    rate = 2 * rounds * size / seconds if seconds else 0
    line = _baud(target)
    at = f" at {line:,} baud" if line else ""
    found = (
        f"{2 * rounds * size:,} bytes{at}: {rate / 1000:,.0f} KB/s, {again} requests sent "
        f"again, {spoilt} answers spoilt"
    )
    yield Finding(
        "link", "frames", not again and not spoilt, found, "" if not again and not spoilt else _LOST
    )
    yield Finding(
        "link",
        "data",
        not wrong,
        f"{wrong} of {rounds} rounds came back otherwise"
        if wrong
        else f"{rounds} rounds came back as they were sent",
        "frames are protected by a CRC, so that this is the memory, not the line" if wrong else "",
    )


def test_clock(target: LinkTarget) -> Iterator[Finding]:
    """Tests the clock: compares the cycles that the board counts in a second of the host's time
    (for a simulated board, of its own) with its declared clock."""
    seconds = SECONDS[kind_of(target)]
    wanted = target.info.clock_hz
    assert wanted is not None  # only a golden model has no clock
    if target.client.pipe.served:
        seconds = _SERVED_CYCLES / wanted
    first, began = target.soc_cycles(), target.now()
    target.pause(seconds)
    last, ended = target.soc_cycles(), target.now()
    measured = (last - first & 0xFFFF_FFFF) / (ended - began)
    ok = abs(measured / wanted - 1) <= _CLOCK_SHARE
    ratio = measured / wanted
    yield Finding(
        "clock",
        "main clock",
        ok,
        f"{measured / 1e6:.2f} MHz measured, {wanted / 1e6:g} MHz by its own account",
        ""
        if ok
        else (
            f"the PLL makes {ratio:.3g} times what it should: look at the board's oscillator "
            f"and at the PLL's settings in report.json"
        ),
    )
