# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of one job on two targets: the first byte that differs, and the instruction that wrote
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..targets.base import Target, TargetInfo
from .runner import JobResult, run_job

if TYPE_CHECKING:
    from .job import Job

__all__ = ["Comparison", "Difference", "compare", "verify_job"]

#: Counters that the program's meaning fixes, so that any two targets must agree on them.
ARCHITECTURAL = ("instructions", "operations", "bytes_read", "bytes_written")


@dataclass
class Difference:
    """The first difference between two runs' results.

    ``address`` in main memory, the ``tensor`` and ``element`` it belongs to, its value on both
    sides, how many bytes of all saves differ, and, where a model knows, ``pc``, ``file`` and
    ``line`` of the instruction that wrote it last.
    """

    tensor: str
    element: str
    address: int
    a: str
    b: str
    bytes_different: int
    pc: int | None = None
    file: str | None = None
    line: int | None = None

    def __str__(self):
        text = (
            f"{self.element} at {self.address:#x} differs: {self.a} and {self.b} "
            f"({self.bytes_different} bytes differ)"
        )
        if self.pc is not None:
            place = f", {self.file} line {self.line}" if self.file else ""
            text += f"; written by the instruction at pc {self.pc:#x}{place}"
        return text


@dataclass
class Comparison:
    """Result of comparing two runs, ``a`` and ``b``; ``troubles`` are lines that describe the
    differences (empty: equal)."""

    a: JobResult
    b: JobResult
    difference: Difference | None
    counters: dict[str, dict[str, Any]]
    troubles: list[str]

    @property
    def equal(self) -> bool:
        """Whether the runs agree."""
        return not self.troubles

    def as_dict(self) -> dict[str, Any]:
        """The object that ``quintet verify --json`` prints."""
        from .report import run_object

        return {
            "equal": self.equal,
            "isa": self.a.job.core,
            "a": run_object(self.a),
            "b": run_object(self.b),
            "difference": asdict(self.difference) if self.difference else None,
            "counters": self.counters,
            "troubles": self.troubles,
        }


def compare(job: Job, a: JobResult, b: JobResult) -> Comparison:
    """Compares two runs: outcome, fault, saved bytes, and the counters and read-only registers that
    must agree."""
    troubles, difference = [], None
    if a.outcome.status != b.outcome.status:
        troubles.append(f"{a.target} ended {a.outcome.status}, {b.target} ended {b.outcome.status}")
    elif len(a.outcomes) != len(b.outcomes):
        troubles.append(f"{a.target} ended in {a.last.what}, {b.target} in {b.last.what}")
    elif a.outcome.status == "fault" and a.outcome.fault != b.outcome.fault:
        troubles.append(f"faults differ: {_fault(a)} on {a.target}, {_fault(b)} on {b.target}")
    elif a.outcome.status == "done":
        difference = _first_difference(job, a, b)
        if difference is not None:
            troubles.append(str(difference))
    models = "model" in (a.info.kind, b.info.kind)
    for index, (left, right) in enumerate(zip(a.outcomes, b.outcomes, strict=False)):
        where = f" of {a.image.steps[index].what}" if len(a.image.steps) > 1 else ""
        done = left.status == right.status == "done"
        troubles += _register_troubles(a, b, left, right, where) if done and models else []
        for name, counts in _counters(left, right, done, models).items():
            if counts["must_agree"] and counts["a"] != counts["b"]:
                troubles.append(
                    f"counter {name}{where} differs: {counts['a']:,} on {a.target}, "
                    f"{counts['b']:,} on {b.target}"
                )
    done = a.outcome.status == b.outcome.status == "done"
    counters = _counters(a.outcome, b.outcome, done, models)
    return Comparison(a, b, difference, counters, troubles)


def _counters(a, b, done, models):
    """Counters that both targets have: values, and whether they must agree. A model's counts are
    fixed by the program; between two boards only some must agree, since others depend on timing. An
    instruction that did not complete may have been counted in part."""
    return {
        name: {
            "a": a.counters[name],
            "b": b.counters[name],
            "must_agree": done and (models or name in ARCHITECTURAL),
        }
        for name in a.counters
        if name in b.counters
    }


def _register_troubles(a, b, left, right, where):
    """Read-only registers that differ after a program; registers that describe the build are
    compared only between equal builds."""
    build = (
        () if a.info.params == b.info.params else {r.name for r in a.job.isa.registers if r.build}
    )
    return [
        (
            f"register {name}{where} differs: {value:#x} on {a.target}, {right.values[name]:#x} on "
            f"{b.target}"
        )
        for name, value in left.values.items()
        if name.partition("[")[0] not in build and right.values.get(name, value) != value
    ]


def _fault(result):
    fault = result.outcome.fault
    return f"{fault.name} ({fault.code}) pc {fault.pc:#x} detail {fault.detail:#x}"


def _first_difference(job, a, b):
    first, count = None, 0
    for save in job.saves:
        left = np.frombuffer(a.raw[save.name], dtype=np.uint8)
        right = np.frombuffer(b.raw[save.name], dtype=np.uint8)
        places = np.flatnonzero(left != right)
        count += places.size
        if places.size and first is None:
            first = save, int(places[0])
    if first is None:
        return None
    save, offset = first
    return Difference(
        save.name,
        save.element(offset),
        save.at + offset,
        _value(save, a.raw[save.name], offset),
        _value(save, b.raw[save.name], offset),
        int(count),
    )


def _value(save, data, offset):
    if save.dtype is None:
        return f"0x{data[offset]:02x}"
    return str(save.decode(data).reshape(-1)[offset // np.dtype(save.dtype).itemsize])


class _LastWriter:
    """Trace callback that records the last instruction that wrote a given address."""

    def __init__(self, address):
        self.address = address
        self.pc = None

    def __call__(self, pc, address, size):
        if address <= self.address < address + size:
            self.pc = pc


def verify_job(
    job: Job, open_a: Callable[[], Target], open_b: Callable[[], Target], **options: Any
) -> Comparison:
    """Runs ``job`` on the targets that ``open_a()`` and ``open_b()`` open, one after the other, and
    compares the results.

    A model runs last, with the sizes of the other target; if the results differ it runs once more
    to find the instruction that wrote the first differing byte. Options go to
    :func:`~.runner.run_job`.
    """
    results: dict[int, JobResult] = {}
    targets: dict[int, Target] = {}
    info: TargetInfo | None = None
    openers = [open_a, open_b]
    order = [0, 1]
    try:
        # Opening a model costs nothing; a board is opened when its turn comes, since both names may
        # mean the same one.
        for i in order:
            if getattr(openers[i], "kind", None) == "model":
                targets[i] = openers[i]()
        order.sort(key=lambda i: i in targets)
        for i in order:
            if i not in targets:
                targets[i] = openers[i]()
            target = targets[i]
            results[i] = run_job(job, target, like=info, **options)
            info = results[i].info
            if info.kind != "model":
                target.close()
        comparison = compare(job, results[0], results[1])
        if comparison.difference is not None:
            for i in (0, 1):
                if results[i].info.kind == "model":
                    _name_writer(comparison, job, targets[i], results[i], results[1 - i].info)
                    break
        return comparison
    finally:
        for target in targets.values():
            target.close()


def _name_writer(comparison, job, model, result, like):
    writer = _LastWriter(comparison.difference.address)
    run_job(job, model, like=like, trace=writer)
    if writer.pc is None:
        comparison.troubles[0] += "; the model never writes it"
        return
    difference = comparison.difference
    difference.pc = writer.pc
    found = result.source(writer.pc)
    if found is not None:
        difference.file, difference.line = str(found[0]), found[1]
    comparison.troubles[0] = str(difference)
