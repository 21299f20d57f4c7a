# SPDX-License-Identifier: BSD-2-Clause
"""Use of a target by a session: transfer of constants and tensors with as few bytes as possible,
and runs of programs with their start, wait, counters and errors; one after the other, or
double-buffered with transfers during the core's run."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import Exit, QuintetError
from ...link.access import Access
from ..layout import Layout
from ..plan import PlanError

if TYPE_CHECKING:
    from ....gateware.isa.outcome import Outcome
    from ...targets.base import Target
    from ..backends.base import Lowered
    from ..layout import BitPlanes
    from ..plan.plan import CoreStep
    from .report import SessionReport
    from .session import Session

__all__ = [
    "EVERY",
    "Packed",
    "PackedRuns",
    "RunFailed",
    "Runs",
    "Transfer",
    "in_turns",
    "one_by_one",
]


#: Bytes that a request takes on the line beside its data.
_FRAME = 24


class Transfer:
    """Reads and writes programs' constants and tensors in the memory of ``target``; counts bytes in
    ``report``.

    Parameters
    ----------
    target : Target
    report : SessionReport
    progress : callable(what, done, total) or None
    resident : bool; constants are in the target's memory already, and are checked only
    """

    def __init__(
        self,
        target: Target,
        report: SessionReport,
        progress: Callable[..., None] | None,
        resident: bool = False,
    ):
        self._resident = resident
        self._target, self.report, self._progress = target, report, progress
        self._known: dict[Layout, list[_Request]] = {}

    def hold(self, address: int, data: np.ndarray, what: str) -> None:
        """Writes constant bytes and verifies them by reading back; ``what`` names them in
        messages."""
        if not len(data):
            return
        content = data.tobytes()
        progress = self._progress
        report = (
            None if progress is None else lambda done, total: progress(f"write {what}", done, total)
        )
        if not self._resident:
            self._target.write(address, content, report)
            self.report.constant_bytes += len(content)
        if self._target.info.kind == "model":
            return
        found = self._target.checksum(address, len(content))
        if found != zlib.crc32(content):
            from ...link.errors import LinkError

            if self._resident:
                raise PlanError(
                    f"{self._target.name} does not hold this plan: {what} at {address:#x} has "
                    f"checksum {found:08x}, expected {zlib.crc32(content):08x}"
                )
            raise LinkError(
                f"{self._target.name}: {what} at {address:#x} does not read back as written "
                f"(checksum {found:08x}, expected "
                f"{zlib.crc32(content):08x})"
            )

    def clear(self, layout: Layout | BitPlanes) -> None:
        """Zeroes the gaps between a tensor's elements, which :meth:`put` does not write."""
        if isinstance(layout, Layout) and self.requests(layout):
            self._target.fill(layout.first, layout.end - layout.first)

    def packed(self, layout: Layout | BitPlanes) -> Packed:
        """Layout of a tensor in a queue: its contiguous runs one after another, or its whole
        span."""
        requests = self.requests(layout) if isinstance(layout, Layout) else []
        if not requests:
            span = layout.end - layout.first
            return Packed((PackedRuns(0, layout.first, span, span, 1),), span)
        found, at = [], 0
        for request in requests:
            place = layout.address + request.offset
            found.append(PackedRuns(at, place, request.run, request.stride, request.count))
            at += _whole(request.run) * request.count
        return Packed(tuple(found), at)

    def put(
        self,
        lowered: Lowered,
        layout: Layout | BitPlanes,
        values: np.ndarray,
        at: int | None = None,
    ) -> None:
        """Writes a tensor. The gaps between its elements are zero, or belong to the program.
        ``at``: queue address to which it is written :meth:`packed`, instead of its own."""
        waiting = None if at is None else (at, self.packed(layout))
        first, end = layout.first, layout.end
        requests = self.requests(layout) if isinstance(layout, Layout) else []
        if isinstance(layout, Layout) and requests:
            data, at = (
                np.ascontiguousarray(values, np.dtype(layout.dtype).newbyteorder("<"))
                .view(np.uint8)
                .ravel(),
                0,
            )
            written = []
            for number, request in enumerate(requests):
                rows = np.zeros((request.count, request.run), np.uint8)
                for begin, count in request.filled:
                    rows[begin : begin + count] = data[at : at + request.run * count].reshape(
                        count, request.run
                    )
                    at += request.run * count
                if waiting is None:
                    place, stride = layout.address + request.offset, request.stride
                else:
                    begin, packed = waiting
                    place = begin + packed.runs[number].packed_at
                    stride = _whole(request.run)
                written.append(Access(place, run=request.run, stride=stride, data=rows.tobytes()))
            self._target.transfer(written)
            self.report.input_bytes += data.size
            return
        memory = np.zeros(end - first, np.uint8)
        if layout.in_program:
            memory[:] = np.frombuffer(lowered.program, np.uint8)[
                first - lowered.program_at : end - lowered.program_at
            ]
        layout.write(memory, values, first)
        self._target.write(first if waiting is None else waiting[0], memory.tobytes())
        self.report.input_bytes += memory.size

    def requests(self, layout: Layout) -> list[_Request]:
        """Splits a layout into requests if they take fewer bytes on the link than the whole span;
        else returns an empty list."""
        if layout not in self._known:
            requests = _merged(layout.strips())
            self._known[layout] = (
                requests
                if sum(_FRAME + request.run * request.count for request in requests)
                < layout.end - layout.first
                else []
            )
        return self._known[layout]

    def get(self, layout: Layout, at: int | None = None) -> np.ndarray:
        """Reads a tensor as an array of its layout's shape. ``at``: queue address from which it is
        read :meth:`packed`."""
        requests = self.requests(layout)
        packed = self.packed(layout)
        if requests:
            read = self._target.transfer(
                [
                    Access(each.address, each.run * each.count, each.run, each.stride)
                    if at is None
                    else Access(
                        at + each.packed_at, each.run * each.count, each.run, _whole(each.run)
                    )
                    for each in packed.runs
                ]
            )
            data = np.concatenate(
                [
                    np.frombuffer(found, np.uint8)[begin * request.run :][: count * request.run]
                    for found, request in zip(read, requests, strict=True)
                    for begin, count in request.filled
                ]
            )
            self.report.output_bytes += data.size
            return (
                data.view(np.dtype(layout.dtype).newbyteorder("<"))
                .reshape(layout.shape)
                .astype(layout.dtype)
            )
        data = self._target.read(layout.first if at is None else at, packed.size)
        self.report.output_bytes += len(data)
        return layout.read(np.frombuffer(data, np.uint8), layout.first)


@dataclass(frozen=True)
class PackedRuns:
    """Strided runs of a packed tensor: ``count`` runs of ``run`` bytes, ``stride`` apart from
    ``address`` on; packed from ``packed_at`` on, each at a word."""

    packed_at: int
    address: int
    run: int
    stride: int
    count: int


@dataclass(frozen=True)
class Packed:
    """A packed tensor: its strided runs and its size in bytes."""

    runs: tuple[PackedRuns, ...]
    size: int


def _whole(run):
    """Size of a run, rounded up to whole words."""
    return -(-run // 4) * 4


@dataclass
class _Request:
    """A transfer request: ``count`` runs of ``run`` bytes, ``stride`` apart, from ``offset`` on.
    ``filled``: the runs that hold elements, as (first, number); the others are zero."""

    offset: int
    run: int
    stride: int
    count: int
    filled: list


def _merged(strips):
    """Merges strips (offset, run, stride, count), in order, into requests: two strips become one if
    only a few runs lie between them, since a further request costs more bytes."""
    found = []
    for offset, run, stride, count in strips:
        if found and (run, stride) == (found[-1].run, found[-1].stride):
            last = found[-1]
            begin, rest = divmod(offset - last.offset, stride)
            if not rest and 0 <= (begin - last.count) * run < _FRAME:
                last.filled.append((begin, count))
                last.count = begin + count
                continue
        found.append(_Request(offset, run, stride, count, [(0, count)]))
    return found


#: Counters are read after one of this many runs that take turns, since the core waits for the link
#: meanwhile.
EVERY = 16


class RunFailed(QuintetError):
    """Error of a program that ended with a fault, described by ``outcome``."""

    code = Exit.FAULT

    def __init__(self, message: str, outcome: Outcome):
        super().__init__(message)
        self.outcome = outcome


class Runs:
    """Runs programs on a target, one at a time.

    Parameters
    ----------
    network : name of it, for messages
    target : Target
    """

    def __init__(self, network: str, target: Target):
        self.network = network
        self.target = target
        self._last: CoreStep | None = None
        self._sums: Counter[str] = Counter()
        self._runs = 0
        self._read = 0

    @contextmanager
    def running(
        self, step: CoreStep, lowered: Lowered, number: int, counted: bool = True
    ) -> Iterator[None]:
        """Context manager around run ``number`` of a step's program: starts it, executes the body
        meanwhile and waits at the end; the core is idle afterwards even if the body raises.
        ``counted``: read the core's counters."""
        # Registers that a run has left in the core serve the next, if it ended well and no other
        # program comes between.
        registers = {**lowered.registers, **(lowered.again if self._last is step else {})}
        self._last = None
        with self.about(lowered, number, "begun"):
            self.target.start(registers)
        try:
            yield
            with self.about(lowered, number, "run"):
                outcome = self.target.wait(counters=counted)
        except BaseException:
            with suppress(Exception):  # only the first error is reported
                self.target.stop()
            raise
        self.check(lowered, outcome, number)
        self._last = step
        self._runs += 1
        if counted:
            self._read += 1
            self._sums.update(outcome.counters)

    def is_last(self, step: CoreStep) -> bool:
        """Whether the last run was of ``step``, so that its constants and registers are still in
        place."""
        return self._last is step

    def start_list(self, lowered: Lowered, address: int, size: int, number: int) -> None:
        """Starts a list of runs, beginning with run ``number`` of a step's program."""
        self._last = None
        with self.about(lowered, number, "begun"):
            self.target.start_list(address, size)

    def wait_list(self, step: CoreStep, number: int, count: int) -> None:
        """Waits for a list of ``count`` runs, beginning with run ``number``; raises
        :class:`RunFailed` if any of them ended with a fault. The counters of the last run represent
        all."""
        from ....gateware.standalone.runlist import ListStatus
        from ...link.errors import LinkError

        lowered = step.lowered
        with self.about(lowered, number, "run"):
            found = self.target.wait_list()
        if found.status != ListStatus.ENDED:
            failed = number + max(found.runs - 1, 0)
            if found.last is not None:
                self.check(lowered, found.last, failed)
            raise LinkError(
                f"{self.target.name}: the list of runs of {self._inputs(lowered, failed)} ended "
                f"at {found.position:#x} with status {int(found.status):#x}: expected "
                f"{int(ListStatus.ENDED):#x}"
            )
        assert found.last is not None and found.runs == count
        self._last = step
        self._runs += count
        self._read += 1
        self._sums.update(found.last.counters)

    def setup(self, lowered: Lowered, data: bytes, address: int) -> None:
        """Executes a setup program once."""
        outcome = self.target.run(
            {**lowered.registers, "program_address": address, "program_length": len(data)}
        )
        self.check(lowered, outcome)

    def counters(self) -> dict[str, int]:
        """Counters of all runs since the last call, summed; runs that were not read are
        extrapolated from those that were."""
        share = self._runs / self._read if self._read else 0
        found = {name: round(value * share) for name, value in self._sums.items()}
        self._sums, self._runs, self._read = Counter(), 0, 0
        return found

    @contextmanager
    def about(self, lowered: Lowered, number: int, what: str) -> Iterator[None]:
        """Context manager that adds to a link error which input it concerned and ``what`` was being
        done."""
        from ...link.errors import LinkError

        try:
            yield
        except LinkError as error:
            error.args = (f"{self._inputs(lowered, number)} being {what}: {error}", *error.args[1:])
            raise

    def check(self, lowered: Lowered, outcome: Outcome, number: int | None = None) -> None:
        """Raises :class:`RunFailed` unless the run ended without a fault."""
        if outcome.status == "done":
            return
        network = self.network if number is None else self._inputs(lowered, number)
        if outcome.fault is None:
            raise RunFailed(
                f"{self.target.name}: the run of {network} ended {outcome.status}", outcome
            )
        fault = outcome.fault
        span = next(
            (
                s
                for s in lowered.layers
                if s.begin is not None and s.end is not None and s.begin <= fault.pc < s.end
            ),
            None,
        )
        where = f", in layer {span.name}" if span else ""
        raise RunFailed(
            f"{self.target.name}: {network}: fault {fault.name} ({fault.code}) at pc "
            f"{fault.pc:#x}{where}, detail {fault.detail:#x}",
            outcome,
        )

    def _inputs(self, lowered, number):
        first = number * lowered.images
        return f"{self.network}, " + (
            f"one of {lowered.images} inputs from {first} on"
            if lowered.images > 1
            else f"input {first}"
        )


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
