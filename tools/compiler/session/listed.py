# SPDX-License-Identifier: BSD-2-Clause
"""Execution by run lists: the board processes several inputs in a row without the host
(docs/how/standalone.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....gateware.info import CONTROL_BASE
from ....gateware.standalone.runlist import MAX_BYTES, MAX_STEP, RunList

if TYPE_CHECKING:
    from ..backends.base import Lowered, Placed
    from ..plan.plan import CoreStep
    from .runs import Transfer
    from .session import Session

__all__ = ["MOST", "Chunk", "ListPlaces", "build_list", "in_lists"]

#: Most runs of one list. The host writes the inputs of the next list and reads the outputs of the
#: one before beside a list.
MOST = 16
#: Alignment of lists, and of the tensors that wait for their run, in bytes.
_ALIGN = 64
#: Cycles of the main clock that a word takes in a copy on a ULX3S. On no other board it takes more.
_CYCLES_PER_WORD = 48


@dataclass(frozen=True)
class Chunk:
    """Memory of one run list: its address, and the address of the queued inputs and outputs of its
    runs."""

    address: int
    slots: tuple[int, ...]


def _aligned(number):
    return -(-number // _ALIGN) * _ALIGN


class ListPlaces:
    """Memory for run lists after a plan's programs.

    Parameters
    ----------
    memory : Transfer
    programs : the programs that take turns, one or two
    first, end : bytes of main memory that are free
    runs : number of runs that there are in all

    Attributes
    ----------
    chunks : places of one list, or of two in turns; empty where a list would have less than two
        runs, or a tensor cannot be copied by words
    count : runs of a list
    """

    def __init__(
        self, memory: Transfer, programs: Sequence[Lowered], first: int, end: int, runs: int
    ):
        self._memory = memory
        self.programs = programs
        self.chunks: list[Chunk] = []
        self.count = 0
        self._offsets: dict[tuple[str, str], int] = {}
        slot = 0
        for key, placed in _tensors(programs[0]):
            self._offsets[key] = slot
            slot += _aligned(memory.packed(placed.layout).size)
        if not all(self._copied_by_words(program) for program in programs):
            return
        first = _aligned(first)
        areas = 1 if runs <= MOST and first + self._size(slot, runs) <= end else 2
        most = min(runs, MOST)
        fits = [n for n in range(2, most + 1) if first + areas * self._size(slot, n) <= end]
        if not fits:
            return
        self.count = max(fits)
        for area in range(areas):
            address = first + area * self._size(slot, self.count)
            begin = address + _aligned(self._longest(self.count))
            self.chunks.append(
                Chunk(address, tuple(begin + slot * number for number in range(self.count)))
            )

    def _size(self, slot, count):
        """Bytes of a list of ``count`` runs and of their queued inputs and outputs."""
        return _aligned(self._longest(count)) + count * slot

    def _longest(self, count):
        """Upper bound in bytes of a list: each run writes all registers, one by one."""
        lowered = self.programs[0]
        registers = 16 * (len(lowered.registers) + len(lowered.again))
        copies = sum(
            16 * (1 + strided.run * strided.count // (MAX_BYTES & ~3))
            for _, placed in _tensors(lowered)
            for strided in self._memory.packed(placed.layout).runs
        )
        return 64 + copies + count * (registers + copies + 16)

    @property
    def copies_are_hidden(self) -> bool:
        """Whether copying a run's tensors takes less time than a run, by the estimates."""
        tensors = _tensors(self.programs[0])
        words = sum(self._memory.packed(placed.layout).size for _, placed in tensors) / 4
        run = sum(span.cycles for span in self.programs[0].layers)
        return _CYCLES_PER_WORD * words < run

    def _copied_by_words(self, lowered):
        """Whether copy commands can move all tensors: their runs of bytes begin at words, the
        strides fit a command, and no input lies between the elements of another."""
        spans = sorted((p.layout.first, p.layout.end) for p in lowered.inputs.values())
        if any(before[1] > after[0] for before, after in zip(spans, spans[1:], strict=False)):
            return False
        return all(
            strided.address % 4 == 0
            and (
                strided.count == 1
                or (
                    strided.stride % 4 == 0
                    and strided.run <= MAX_BYTES
                    and strided.stride < 4 * MAX_STEP
                )
            )
            for _, placed in _tensors(lowered)
            for strided in self._memory.packed(placed.layout).runs
        )

    def waiting(self, chunk: Chunk, number: int, kind: str, name: str) -> int:
        """Queue address of a tensor of run ``number`` of a list; ``kind`` is ``"in"`` or
        ``"out"``."""
        return chunk.slots[number] + self._offsets[kind, name]

    def copy(self, work: RunList, chunk: Chunk, number: int, kind: str, program: Lowered) -> None:
        """Adds the copy commands of a run to a list: inputs from the queue to the program, or
        outputs back."""
        for (of, name), placed in _tensors(program):
            if of != kind:
                continue
            begin = self.waiting(chunk, number, kind, name)
            for strided in self._memory.packed(placed.layout).runs:
                ends = (begin + strided.packed_at, strided.address)
                source, destination = ends if kind == "in" else ends[::-1]
                if strided.count == 1:
                    work.copy(source, destination, strided.run)
                elif kind == "in":
                    work.scatter(source, destination, strided.run, strided.stride, strided.count)
                else:
                    work.gather(source, destination, strided.run, strided.stride, strided.count)


def _tensors(lowered: Lowered) -> Iterator[tuple[tuple[str, str], Placed]]:
    for kind, tensors in (("in", lowered.inputs), ("out", lowered.outputs)):
        for name, placed in tensors.items():
            yield (kind, name), placed


def build_list(
    session: Session, places: ListPlaces, chunk: Chunk, count: int, again: bool
) -> RunList:
    """Builds the list of ``count`` runs whose tensors are queued in ``chunk``; ``again``: the
    program has run before.

    With two programs the next input and the output before are copied beside a run.
    """
    work = RunList(CONTROL_BASE)
    programs = places.programs
    turns = len(programs)
    places.copy(work, chunk, 0, "in", programs[0])
    for number in range(count):
        lowered = programs[number % turns]
        values = {**lowered.registers, **(lowered.again if again or number else {})}
        work.run(_words(session, values))
        if turns == 1:
            work.wait()
            places.copy(work, chunk, number, "out", lowered)
        elif number:
            places.copy(work, chunk, number - 1, "out", programs[(number - 1) % turns])
        if number + 1 < count:
            places.copy(work, chunk, number + 1, "in", programs[(number + 1) % turns])
        elif turns > 1 and places.copies_are_hidden:
            # The counters of the last run stand for all runs: memory is as busy beside it as beside
            # the others. The other program reads its own input before it runs again.
            places.copy(work, chunk, number, "in", programs[(number + 1) % turns])
    work.wait()
    if turns > 1:
        places.copy(work, chunk, count - 1, "out", programs[(count - 1) % turns])
    work.end()
    return work


def _words(session, registers):
    """Register values as words of the control block: byte offset -> value."""
    words = {}
    for name, value in registers.items():
        register, offset = session.target.registers.find(name)
        for word in range(register.width // 32):
            words[offset + 4 * word] = value >> 32 * word & 0xFFFF_FFFF
    return words


def in_lists(
    session: Session,
    step: CoreStep,
    places: ListPlaces,
    batches: Sequence[Mapping[str, np.ndarray]],
) -> list[dict[str, np.ndarray]]:
    """Executes ``batches`` by run lists. While a list runs, the host reads the outputs of the
    previous list and writes the inputs of the next."""
    parts: list[dict[str, np.ndarray]] = []
    report, now, lowered = session.report, session.target.now, step.lowered
    report.overlapped = True
    chunks, most = places.chunks, places.count
    groups = [range(at, min(at + most, len(batches))) for at in range(0, len(batches), most)]
    written: dict[int, bytes] = {}

    def prepare(index: int) -> tuple[int, int]:
        chunk = chunks[index % len(chunks)]
        for number, run in enumerate(groups[index]):
            waiting = {name: places.waiting(chunk, number, "in", name) for name in lowered.inputs}
            session.put(lowered, batches[run], run, waiting)
        again = index > 0 or session.runs.is_last(step)
        data = build_list(session, places, chunk, len(groups[index]), again).bytes
        if written.get(chunk.address) != data:
            session.target.write(chunk.address, data)
            written[chunk.address] = data
        return chunk.address, len(data)

    def collect(index):
        chunk = chunks[index % len(chunks)]
        for number, run in enumerate(groups[index]):
            waiting = {name: places.waiting(chunk, number, "out", name) for name in lowered.outputs}
            parts.append(session.get(lowered, run, waiting=waiting))

    began = now()
    following = prepare(0)
    ready = now()
    for index, group in enumerate(groups):
        session.tell(group[0], lowered)
        session.runs.start_list(lowered, following[0], following[1], group[0])
        try:
            if index:
                collect(index - 1)
            if index + 1 < len(groups):
                following = prepare(index + 1)
            session.runs.wait_list(step, group[0], len(group))
        except BaseException:
            with suppress(Exception):  # only the first error is reported
                session.target.stop()
            raise
    ended = now()
    collect(len(groups) - 1)
    report.input_seconds += ready - began
    report.run_seconds += ended - ready
    report.output_seconds += now() - ended
    return parts
