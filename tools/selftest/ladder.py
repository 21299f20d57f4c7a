# SPDX-License-Identifier: BSD-2-Clause
"""Search for the baud rate of a silent serial port. A board whose clock is a multiple of the
expected one answers at the same multiple of its baud rate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ..link.errors import LinkError
from ..targets.base import Target
from ..targets.names import TargetName, open_target
from ..targets.serial_port import identities, port_options

__all__ = ["explain_silence", "ladder"]

#: Ratios of the real clock to the built one that a wrong oscillator or divider gives.
_RATIOS = [
    Fraction(*pair)
    for pair in (
        (1, 2),
        (2, 1),
        (2, 3),
        (3, 2),
        (3, 4),
        (4, 3),
        (4, 5),
        (5, 4),
        (12, 25),
        (25, 12),
        (1, 4),
        (4, 1),
    )
]


def ladder(baud: int) -> list[tuple[int, Fraction | None]]:
    """Baud rates to try, as pairs (rate, ratio or ``None``): the boards' rates, highest first, then
    multiples of ``baud``."""
    rates = sorted(
        {rate for identity in identities().values() for rate in identity.rates} - {baud},
        reverse=True,
    )
    return [(rate, None) for rate in rates] + [
        (round(baud * ratio), ratio) for ratio in _RATIOS if round(baud * ratio) not in rates
    ]


def explain_silence(
    parsed: TargetName, error: LinkError, opener: Callable[[str], Target] = open_target
) -> LinkError:
    """Extends the error of a silent serial port by the results at other baud rates; returns
    ``error`` unchanged for other targets."""
    from ..link.serial_pipe import BAUD
    from ..link.spi_pipe import SCHEME as SPI_SCHEME

    port = parsed.port
    if parsed.kind != "board" or port is None or port == "auto" or "://" in port:
        return error
    if port.startswith(SPI_SCHEME):
        return error  # its clock is the host's
    place, rate, _, _ = port_options(port)
    baud = rate.get("baud", BAUD)
    for other, ratio in ladder(baud):
        try:
            with opener(f"{place}?baud={other}&timeout=0.3") as target:
                built = (target.info.link or {}).get("baud")
        except Exception:  # whatever a port says at a rate that it may not have
            continue
        if built == other:
            return LinkError(
                f"{place} is silent at {baud:,} baud; the board was built for {other:,}: name "
                f"the target {place}?baud={other}"
            )
        real = Fraction(other, built) if built else ratio
        return LinkError(
            f"{place} is silent at {baud:,} baud and answers at {other:,}: its clock is "
            f"{float(real or 1):.3f} of what was built: "
            "a wrong PLL ratio or oscillator; check the board's name and the bitstream's"
        )
    return LinkError(
        f"{error}; silent at {len(ladder(baud))} other rates too: check that the bitstream is "
        f"loaded (LEDs), which of the board's "
        "ports is the link, and the cable"
    )
