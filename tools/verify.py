# SPDX-License-Identifier: BSD-2-Clause
"""The same job on two targets: the first byte that differs, and the instruction that wrote it."""
from dataclasses import asdict, dataclass

import numpy as np

from .runner import run_job, source_line

__all__ = ["Comparison", "Difference", "compare", "verify_job"]

#: Counters that the program's meaning fixes, so that any two targets must agree on them.
ARCHITECTURAL = ("instructions", "operations", "bytes_read", "bytes_written")


@dataclass
class Difference:
    """The first difference of two runs' results.

    ``address`` in main memory, the ``tensor`` and ``element`` it belongs to, its value on both sides, how many bytes of all
    saves differ, and, where a model knows, ``pc``, ``file`` and ``line`` of the instruction that wrote it last.
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
        text = f"{self.element} at {self.address:#x} differs: {self.a} and {self.b} ({self.bytes_different} bytes differ)"
        if self.pc is not None:
            place = f", {self.file} line {self.line}" if self.file else ""
            text += f"; written by the instruction at pc {self.pc:#x}{place}"
        return text


@dataclass
class Comparison:
    """``a`` and ``b`` are :class:`~.runner.JobResult`; ``troubles`` are lines that say what differs (none: equal)."""
    a: object
    b: object
    difference: Difference | None
    counters: dict
    troubles: list

    @property
    def equal(self):
        return not self.troubles

    def as_dict(self):
        from .report import run_object
        return {"equal": self.equal, "isa": self.a.job.core, "a": run_object(self.a), "b": run_object(self.b),
                "difference": asdict(self.difference) if self.difference else None, "counters": self.counters,
                "troubles": self.troubles}


def compare(job, a, b):
    """Compare two runs: end, fault, saved bytes, and the counters and read-only registers that both must agree on."""
    troubles, difference = [], None
    if a.outcome.status != b.outcome.status:
        troubles.append(f"{a.target} ended {a.outcome.status}, {b.target} ended {b.outcome.status}")
    elif a.outcome.status == "fault" and a.outcome.fault != b.outcome.fault:
        troubles.append(f"faults differ: {_fault(a)} on {a.target}, {_fault(b)} on {b.target}")
    elif a.outcome.status == "done":
        difference = _first_difference(job, a, b)
        if difference is not None:
            troubles.append(str(difference))
    done = a.outcome.status == b.outcome.status == "done"
    models = "model" in (a.info.kind, b.info.kind)
    counters = {}
    for name in a.outcome.counters:
        if name not in b.outcome.counters:
            continue
        left, right = a.outcome.counters[name], b.outcome.counters[name]
        # What a model counts is fixed by the program; between two boards only these are, the rest depends on timing. Of an
        # instruction that did not complete a core may have counted a part.
        fixed = done and (models or name in ARCHITECTURAL)
        counters[name] = {"a": left, "b": right, "must_agree": fixed}
        if fixed and left != right:
            troubles.append(f"counter {name} differs: {left:,} on {a.target}, {right:,} on {b.target}")
    if done and models:
        build = () if a.info.params == b.info.params else {r.name for r in job.isa.registers if r.build}
        for name in a.outcome.values:
            if name.partition("[")[0] in build:
                continue
            left, right = a.outcome.values[name], b.outcome.values.get(name, a.outcome.values[name])
            if left != right:
                troubles.append(f"register {name} differs: {left:#x} on {a.target}, {right:#x} on {b.target}")
    return Comparison(a, b, difference, counters, troubles)


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
    return Difference(save.name, save.element(offset), save.at + offset, _value(save, a.raw[save.name], offset),
                      _value(save, b.raw[save.name], offset), int(count))


def _value(save, data, offset):
    if save.dtype is None:
        return f"0x{data[offset]:02x}"
    return str(save.decode(data).reshape(-1)[offset // np.dtype(save.dtype).itemsize])


class _LastWriter:
    """Trace callback that keeps the last instruction writing one address."""
    def __init__(self, address):
        self.address = address
        self.pc = None

    def __call__(self, pc, address, size):
        if address <= self.address < address + size:
            self.pc = pc


def verify_job(job, open_a, open_b, **options):
    """Run ``job`` on the targets that ``open_a()`` and ``open_b()`` open, one after the other, and compare.

    A model runs last, with the sizes of the other target; if the results differ it runs once more to find the
    instruction that wrote the first differing byte. Options go to :func:`~.runner.run_job`.
    """
    results, info = [None, None], None
    openers = [open_a, open_b]
    order = [0, 1]
    targets = [None, None]
    try:
        # Opening a model costs nothing; a board is opened when its turn comes, since both names may mean the same one.
        for i in order:
            if getattr(openers[i], "kind", None) == "model":
                targets[i] = openers[i]()
        order.sort(key=lambda i: targets[i] is not None)
        for i in order:
            target = targets[i] = targets[i] or openers[i]()
            results[i] = run_job(job, target, like=info, **options)
            info = results[i].info
            if info.kind != "model":
                target.close()
        comparison = compare(job, *results)
        if comparison.difference is not None:
            for i in (0, 1):
                if results[i].info.kind == "model":
                    _name_writer(comparison, job, targets[i], results[i], results[1 - i].info)
                    break
        return comparison
    finally:
        for target in targets:
            if target is not None:
                target.close()


def _name_writer(comparison, job, model, result, like):
    writer = _LastWriter(comparison.difference.address)
    run_job(job, model, like=like, trace=writer)
    if writer.pc is None:
        comparison.troubles[0] += "; the model never writes it"
        return
    difference = comparison.difference
    difference.pc = writer.pc
    found = source_line(result.image.program, writer.pc - job.program_at)
    if found is not None:
        difference.file, difference.line = str(found[0]), found[1]
    comparison.troubles[0] = str(difference)
