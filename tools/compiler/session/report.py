# SPDX-License-Identifier: BSD-2-Clause
"""Statistics of a session: inputs, cycles, bytes, seconds."""

from dataclasses import dataclass, field
from typing import Any

__all__ = ["SessionReport"]


@dataclass
class SessionReport:
    """Statistics of a session: inputs, runs, cycles, bytes and seconds.

    Attributes
    ----------
    inputs : inputs that have gone through
    overlapped : whether inputs and outputs went over the link while the core ran;
        its cycles then hold what the link took of main memory
    cycles : of all runs; a golden model has none where its document gives no formula
    counters : name -> sum over all runs;
        of runs in turns some are read and stand for the others (:data:`~.runs.EVERY`), not the
        first, which may find the core empty; of a list of runs the last one is read
    constant_bytes : bytes written and checked once
    input_bytes, output_bytes : bytes written and read for all inputs
    sent_bytes, received_bytes : bytes on the line for all inputs, each way: frames,
        registers of runs and what is read of them included, repeats and looks at a core that is
        still busy left out; 0 where there is no line
    load_seconds, host_seconds : wall time of constants, and of what the host computes
    input_seconds, run_seconds, output_seconds : in the target's own time; of an overlapped run only
    what went on beside no other
    moving_seconds : from the first input to the last output, in the target's own time
    """

    inputs: int = 0
    overlapped: bool = False
    counters: dict[str, int] = field(default_factory=dict)
    constant_bytes: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    load_seconds: float = 0.0
    input_seconds: float = 0.0
    run_seconds: float = 0.0
    output_seconds: float = 0.0
    moving_seconds: float = 0.0
    host_seconds: float = 0.0

    @property
    def cycles(self) -> int | None:
        """Total cycles of all runs, ``None`` if the target has no counters."""
        return self.counters.get("cycles")

    def as_dict(self) -> dict[str, Any]:
        """Serialises the statistics for JSON."""
        return {
            "inputs": self.inputs,
            "overlapped": self.overlapped,
            "cycles": self.cycles,
            "counters": self.counters,
            "constant_bytes": self.constant_bytes,
            "input_bytes": self.input_bytes,
            "output_bytes": self.output_bytes,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
            "seconds": {
                what: round(getattr(self, f"{what}_seconds"), 6)
                for what in ("load", "input", "run", "output", "moving", "host")
            },
        }
