# SPDX-License-Identifier: BSD-2-Clause
"""The order in which inputs are written, programs run and outputs read: one after the other, or
side by side."""

from .runs import EVERY

__all__ = ["in_turns", "one_by_one"]


def one_by_one(session, step, batches, keep=None):
    """Main memory is each run's own. Outputs of every batch, a list of dicts; ``keep``: all tensors
    that the program keeps."""
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


def in_turns(session, step, programs, batches):
    """Programs in turns: beside a run the output before is read and the next input written."""
    parts, before, report, now = [], None, session.report, session.target.now
    report.overlapped = True
    began = now()
    session.put(programs[0], batches[0], 0)
    ready = now()
    for number, following in enumerate([*batches[1:], None]):
        session.tell(number, step.lowered)
        here, other = programs[number % 2], programs[1 - number % 2]
        # Beside the first nothing is read: the second is what others are like.
        with session.runs.running(step, here, number, counted=number % EVERY == 1):
            if before is not None:
                parts.append(session.get(before, number - 1))
            if following is not None:
                session.put(other, following, number + 1)
        before = here
    ended = now()
    parts.append(session.get(before, len(batches) - 1))
    report.input_seconds += ready - began
    report.run_seconds += ended - ready
    report.output_seconds += now() - ended
    return parts
