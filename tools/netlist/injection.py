# SPDX-License-Identifier: BSD-2-Clause
"""What a check finds of faults that are put into a netlist on purpose."""
from dataclasses import asdict, dataclass

from .check import Subject, compare, converse, patience
from .faults import draw_faults

__all__ = ["Injected", "inject"]


@dataclass(frozen=True)
class Injected:
    """One fault: its ``kind``, ``cell`` and ``what``; ``verdict``: ``found``; ``unused``: the inputs for which a table is wrong never occurred,
    or a memory's row was never read; ``silent``: the conversation does not depend on it. ``found``: how it was seen."""
    kind: str
    cell: str
    what: str
    verdict: str
    found: str

    def as_dict(self):
        return asdict(self)


def inject(folder, count, seed=1, every=False, cache=None, tell=lambda injected: None):
    """Put ``count`` faults into the netlist of a build, one at a time, and hold the same conversation with each.

    Parameters
    ----------
    folder, every, cache : as of :func:`~.check.check_build`
    seed : int, of the faults
    tell : callable(Injected), told of each

    Returns
    -------
    list of Injected

    Raises
    ------
    InputError, NetlistError, BuildError, NoDeviceError, ToolMissing, CompileError
        As of :func:`~.check.check_build`.
    """
    subject = Subject(folder, cache)
    faults, results = draw_faults(subject.netlist, count, seed), []
    with subject.placed() as board:
        good = converse(board, subject.name, every)
        used, limit = [fault.used(board.simulation) for fault in faults], patience(board.cycle)
    for fault, occurs in zip(faults, used, strict=True):
        with subject.placed(fault.applied(subject.netlist), limit=limit) as board:
            outcome = converse(board, subject.name, every)
        wrong = next(compare(outcome, good), None)
        verdict = "found" if wrong else "unused" if occurs is False else "silent"
        results.append(Injected(fault.kind, fault.cell, fault.what, verdict, wrong or ""))
        tell(results[-1])
    return results
