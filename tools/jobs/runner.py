# SPDX-License-Identifier: BSD-2-Clause
"""Execution of a job on a target: reset, memory written and checked, registers, start, wait,
saves."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...gateware.isa.outcome import Outcome, UndefinedResult
from ..errors import JobError
from ..examples import is_example_place
from ..outputs import place_below, write_places
from .arrays import encode
from .runs import total

if TYPE_CHECKING:
    from ..outputs import OutputPath
    from ..targets.base import MemoryTrace, Target, TargetInfo
    from .job import Image, Job
    from .runs import Step

__all__ = ["JobResult", "check_outputs", "run_job", "save_outputs"]


class ByteProgress(Protocol):
    """Progress callback for transfers: ``what`` is moved, ``done`` of ``total`` bytes."""

    def __call__(self, what: str, done: int, total: int) -> object: ...


@dataclass
class JobResult:
    """Result of a job on one target.

    Attributes
    ----------
    job, image : the job, and what was made of it for this target
    target, info : the target's name and ``TargetInfo``
    outcome : ``Outcome`` of the run; of several programs the end of the last that ran,
        with the counters of all added up
    outcomes : list of ``Outcome``, of every program that ran, in order
    tensors : dict, save name -> array (``.npy``) or bytes (``.bin``);
        empty after a fault or an abort
    raw : dict, save name -> bytes as they lay in memory
    load_seconds, run_seconds : wall time of filling memory and of the run
    loaded_bytes : bytes written and checked
    outputs : paths of the files written by :func:`save_outputs`
    """

    job: Job
    image: Image
    target: str
    info: TargetInfo
    outcome: Outcome
    tensors: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)
    load_seconds: float = 0.0
    run_seconds: float = 0.0
    loaded_bytes: int = 0
    outputs: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def last(self) -> Step:
        """The :class:`~.runs.Step` that ran last; after a failure, the step that failed."""
        return self.image.steps[len(self.outcomes) - 1]

    @property
    def recognised(self) -> dict[str, dict[str, int]]:
        """Results of saves that classify images: name -> ``correct`` and ``images``; empty after a
        fault or an abort."""
        return {
            save.name: {
                "correct": save.recognition.correct(self.tensors[save.name]),
                "images": len(save.recognition.labels),
            }
            for save in self.job.saves
            if save.recognition is not None and save.name in self.tensors
        }

    def source(self, pc: int) -> tuple[str, int] | None:
        """Source position ``(file, line)`` of the instruction at byte address ``pc``, or
        ``None``."""
        return self.image.source(pc)


def run_job(
    job: Job,
    target: Target,
    *,
    like: TargetInfo | None = None,
    trace: MemoryTrace | None = None,
    progress: ByteProgress | None = None,
    tick: Callable[[float], object] | None = None,
) -> JobResult:
    """Runs ``job`` on ``target`` and reads back its saves. Nothing is written to disk.

    Parameters
    ----------
    like : TargetInfo, optional; sizes for a model that leaves them open
    trace : callable(pc, address, size), optional
    progress : callable(what, done, total), optional; bytes moved
    tick : callable(seconds), optional; called while the core runs

    Raises
    ------
    JobError, TargetError
        The target cannot run the job.
    LinkError
        The link failed, or memory does not hold what was written.
    UndefinedResult
        A model found that the program's result is not defined; the message names file and line.
    """
    target.configure(job, like)
    info = target.info
    image = job.image(info.params, info.memory_size, target.name)
    began = time.monotonic()
    target.reset_core()
    for part in image.parts:
        report = (
            None
            if progress is None
            else lambda done, total, what=part.what: progress(f"write {what}", done, total)
        )
        target.write(part.at, part.data, report)
    if info.kind != "model":
        for part in image.parts:
            found = target.checksum(part.at, len(part.data))
            if found != zlib.crc32(part.data):
                from ..link.errors import LinkError

                raise LinkError(
                    f"{target.name}: {part.what} at {part.at:#x} does not read back as written "
                    f"(checksum "
                    f"{found:08x}, expected {zlib.crc32(part.data):08x})"
                )
    loaded = time.monotonic()
    outcomes = _run_steps(job, image.steps, target, trace, tick)
    outcome = total(outcomes)
    result = JobResult(
        job,
        image,
        target.name,
        info,
        outcome,
        outcomes=outcomes,
        load_seconds=loaded - began,
        run_seconds=time.monotonic() - loaded,
        loaded_bytes=sum(len(p.data) for p in image.parts),
    )
    if outcome.status == "done":
        for save in job.saves:
            report = (
                None
                if progress is None
                else lambda done, total, s=save: progress(f"read {s.name}", done, total)
            )
            data = target.read(save.at, save.size, report)
            result.raw[save.name] = data
            result.tensors[save.name] = save.decode(data)
    return result


def _run_steps(job, steps, target, trace, tick):
    """Runs the programs in order, up to the first that does not end well, and returns their
    outcomes; the job's time limit covers all of them."""
    outcomes, limit = [], job.cycle_limit
    for step in steps:
        try:
            outcomes.append(target.run(step.registers, limit, trace, tick))
        except UndefinedResult as error:
            raise _located(job, step, error) from None
        if outcomes[-1].status != "done":
            break
        if limit is not None:
            counters = outcomes[-1].counters
            limit -= counters.get("cycles", counters.get("instructions", 0))
    return outcomes


def _located(job, step, error):
    """Adds a location to ``error``: the source position if known, else the memory address."""
    found = None if error.pc is None else step.source(error.pc)
    place = (
        f"{found[0]} line {found[1]}"
        if found
        else step.what + (f" at pc {error.pc:#x}" if error.pc is not None else "")
    )
    return UndefinedResult(
        f"{job.origin}: {place}: the result is not defined: {error}; nothing was saved", error.pc
    )


def check_outputs(
    job: Job, folder: str | Path | None = None, allow_outside: bool = False
) -> dict[str, OutputPath]:
    """Paths of the saves of ``job``: name -> :class:`~quintet.tools.outputs.OutputPath`. Nothing is
    written.

    Parameters
    ----------
    folder : takes the place of the job file's folder, or of an example the current folder
    allow_outside : names and links may lead out of it

    Raises
    ------
    JobError
        A save would leave the folder, lie where no file can, or take the place of another.
    """
    root = Path(folder) if folder is not None else _own_folder(job)
    places: dict[str, OutputPath] = {}
    for i, save in enumerate(job.saves):
        try:
            place = place_below(root, save.name, allow_outside)
        except ValueError as error:
            raise JobError(f'{job.origin}: save[{i}].file = "{save.name}": {error}') from None
        if place in places.values():
            raise JobError(f"{job.origin}: two saves would both be {place.shown}")
        places[save.name] = place
    return places


def _own_folder(job):
    """Folder of the job's file; for an example the current folder."""
    folder = Path(job.origin).parent
    return "" if is_example_place(folder) else folder


def save_outputs(
    result: JobResult, folder: str | Path | None = None, allow_outside: bool = False
) -> list[str]:
    """Writes the saves of ``result``, all files or none; each is written completely before it is
    renamed.

    Arguments and errors are those of :func:`check_outputs`. After a fault or an abort there is
    nothing, and nothing is written.
    """
    places = check_outputs(result.job, folder, allow_outside)
    files = {places[name]: encode(value) for name, value in result.tensors.items()}
    write_places(files)
    result.outputs = [place.shown for place in files]
    return result.outputs
