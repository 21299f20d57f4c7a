# SPDX-License-Identifier: BSD-2-Clause
"""Peak rates of a build: the ceilings of its roofline, and the basis of every "% of peak". Pure
Python."""

from dataclasses import dataclass

__all__ = ["MEMORY_WORDS", "Peaks", "memory_bytes"]

#: Kind of main memory -> bytes that its pins move in a cycle, where a beat may be several of them.
#: Elsewhere a beat moves in a cycle.
MEMORY_WORDS = {"SRAM": 2}


@dataclass(frozen=True)
class Peaks:
    """Peak compute and memory rates of a build, declared in its core's ``params.py``.

    Attributes
    ----------
    macs : products that its array or arrays add up in a cycle of its counters
    port_bytes : bytes that its engine asks of main memory in a cycle of the main clock,
        ``None`` for as many as a beat has
    byte_counters : names of the counters that together count the bytes of main memory
    uncounted : traffic that no counter counts, in words; empty: none
    clock_ratio : cycles of its counters in one of the main clock:
        more than one where a core counts in a clock of its own
    """

    macs: float
    port_bytes: float | None = None
    clock_ratio: float = 1.0
    byte_counters: tuple[str, ...] = ("bytes_read", "bytes_written")
    uncounted: str = ""

    def bytes_a_cycle(self, kind: str, beat_bytes: int) -> float:
        """Bytes per cycle of the counters, reads and writes together, with a memory of this kind
        and beat."""
        most = memory_bytes(kind, beat_bytes)
        return (most if self.port_bytes is None else min(most, self.port_bytes)) / self.clock_ratio


def memory_bytes(kind: str, beat_bytes: int) -> int:
    """Bytes per cycle of the main clock that a main memory moves."""
    return min(beat_bytes, MEMORY_WORDS.get(kind, beat_bytes))
