# SPDX-License-Identifier: BSD-2-Clause
"""Retransmission timeouts learnt from round trips, for a board whose time is reported by a server.

The estimate is that of RFC 6298 (TCP's retransmission timer): a smoothed round trip and four times
its deviation.
"""

from dataclasses import dataclass

__all__ = ["RoundTrips"]

#: Shares of a new round trip in the smoothed one and in its deviation (RFC 6298, section 2).
_SHARE, _DEVIATION_SHARE = 1 / 8, 1 / 4
#: Deviations that are added to the smoothed round trip (RFC 6298, section 2).
_DEVIATIONS = 4
#: Shortest retry time in seconds of the board's time: some dozen frames of the fastest line.
LEAST = 0.001


class RoundTrips:
    """Round-trip times of requests that were sent once; after a retransmission it is unknown which
    frame was answered.

    Requests are sorted by the powers of two of their bytes on the line and of those that the board
    goes over: a small one says nothing of how long a large one takes.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Estimate] = {}

    def take(self, weight: int, unseen: int, seconds: float) -> None:
        """Records the round trip of a request of ``weight`` bytes on the line both ways, for which
        the board processed ``unseen`` bytes."""
        key = weight.bit_length(), unseen.bit_length()
        if (known := self._known.get(key)) is None:
            self._known[key] = _Estimate(seconds, seconds / 2)
        else:
            known.take(seconds)

    def patience(self, weight: int, unseen: int, most: float) -> float:
        """Retransmission timeout in seconds: ``most`` before anything was learnt, and never
        more."""
        known = self._known.get((weight.bit_length(), unseen.bit_length()))
        return most if known is None else min(most, max(LEAST, known.bound))


@dataclass
class _Estimate:
    mean: float
    deviation: float

    def take(self, seconds):
        self.deviation += _DEVIATION_SHARE * (abs(seconds - self.mean) - self.deviation)
        self.mean += _SHARE * (seconds - self.mean)

    @property
    def bound(self):
        return self.mean + _DEVIATIONS * self.deviation
