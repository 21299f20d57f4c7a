# SPDX-License-Identifier: BSD-2-Clause
"""Bandwidth of burst patterns on the SDRAM controller, in Amaranth's simulator."""

from collections.abc import Iterator

from ...errors import InputError
from .. import Row
from ..choice import Choice, no_such

__all__ = ["PATTERNS", "pattern_rows"]

#: Name for the command line -> name of the pattern, and the required percentage of the peak.
PATTERNS: dict[str, tuple[str, int | None]] = {
    "read": ("sequential read", 97),
    "write": ("sequential write", 97),
    "streams": ("64-beat bursts, read and write in turn, two streams", None),
    "banks": ("64-beat bursts, read and write in turn, different banks, new rows", 92),
    "bank": ("64-beat bursts, read and write in turn, one bank, another row", 85),
    "random-16": ("16-beat bursts, random places", None),
    "random-4": ("4-beat bursts, random places", None),
}


def pattern_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the patterns at each clock."""
    from ....gateware.memory.sdram.bench import measure
    from ....gateware.memory.sdram.parts import PARTS, RATES

    if choice.settings["part"] not in PARTS:
        raise no_such("--set part", choice.settings["part"], PARTS)
    try:
        clocks = [float(text) for text in choice.settings["mhz"].split()]
    except ValueError:
        raise InputError(
            f"--set mhz={choice.settings['mhz']}: expected numbers of MHz with blanks between"
        ) from None
    rate = choice.settings["rate"]
    if rate not in RATES:
        raise InputError(f"--set rate={rate}: expected 1 or 2")
    for name, (pattern, bound) in PATTERNS.items():
        for mhz in clocks if choice.takes(name) else ():
            fraction, _ = measure(
                pattern=pattern,
                part=choice.settings["part"],
                clock_hz=mhz * 1e6,
                cycles=choice.settings["cycles"],
                rate=rate,
            )
            yield Row(pattern, 100 * fraction, "% of the peak", bound, True, {"MHz": mhz})
