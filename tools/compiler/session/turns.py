# SPDX-License-Identifier: BSD-2-Clause
"""Order of transfers and runs: sequential, or double-buffered with transfers during the core's
run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .runs import EVERY

if TYPE_CHECKING:
    from ..backends.base import Lowered
    from ..plan.plan import CoreStep
    from .session import Session

__all__ = ["in_turns", "one_by_one"]


def one_by_one(
    session: Session,
    step: CoreStep,
    batches: Sequence[Mapping[str, np.ndarray]],
    keep: dict[str, np.ndarray] | None = None,
) -> list[dict[str, np.ndarray]]:
    """Sequential execution: each run has main memory to itself. Returns the outputs of every batch;
    ``keep`` receives all tensors that the program keeps."""
    parts, lowered, report, now = [], step.lowered, session.report, session.target.now
    for number, batch in enumerate(batches):
        session.tell(number, lowered)
        began = now()
        session.put(lowered, batch, number)
        ready = now()
        with session.runs.running(step, lowered, number):
            pass
        ended = now()
        parts.append(session.get(lowered, number, keep))
        report.input_seconds += ready - began
        report.run_seconds += ended - ready
        report.output_seconds += now() - ended
    return parts


def in_turns(
    session: Session,
    step: CoreStep,
    programs: Sequence[Lowered],
    batches: Sequence[Mapping[str, np.ndarray]],
) -> list[dict[str, np.ndarray]]:
    """Double-buffered execution: during a run the previous output is read and the next input
    written."""
    parts: list[dict[str, np.ndarray]] = []
    before: Lowered | None = None
    report, now = session.report, session.target.now
    report.overlapped = True
    began = now()
    session.put(programs[0], batches[0], 0)
    ready = now()
    for number, following in enumerate([*batches[1:], None]):
        session.tell(number, step.lowered)
        here, other = programs[number % 2], programs[1 - number % 2]
        # Beside the first nothing is read: the second is typical of the others.
        with session.runs.running(step, here, number, counted=number % EVERY == 1):
            if before is not None:
                parts.append(session.get(before, number - 1))
            if following is not None:
                session.put(other, following, number + 1)
        before = here
    ended = now()
    parts.append(session.get(here, len(batches) - 1))
    report.input_seconds += ready - began
    report.run_seconds += ended - ready
    report.output_seconds += now() - ended
    return parts
