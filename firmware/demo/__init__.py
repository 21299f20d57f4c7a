# SPDX-License-Identifier: BSD-2-Clause
"""Demo: an OpenTPU core on a virtual board classifies handwritten digits, compared with the golden
model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.tools.errors import TargetError
from quintet.tools.jobs.job import Job
from quintet.tools.jobs.report import describe_outcome, run_object
from quintet.tools.jobs.runner import run_job
from quintet.tools.jobs.verify import compare
from quintet.tools.targets import open_target
from quintet.tools.targets.model import ModelTarget
from quintet.tools.targets.names import public_name
from quintet.tools.targets.sim import OPENING

from ..opentpu import digits

if TYPE_CHECKING:
    from quintet.tools.console import ProgressReport
    from quintet.tools.jobs.runner import JobResult
    from quintet.tools.targets import TargetInfo

__all__ = ["NetworkRun", "run_demo"]


@dataclass
class NetworkRun:
    """Result of one network on the target.

    ``title``, ``images``, ``correct``, ``equal`` (bit for bit with the golden model, counters
    included), ``troubles``, ``result`` (:class:`~quintet.tools.jobs.runner.JobResult`), ``peak``
    (operations a cycle that the array can do), ``float_accuracy`` (of the network before
    quantisation), ``seconds`` (wall time of the run).
    """

    title: str
    images: int
    correct: int
    equal: bool
    troubles: list[str]
    result: JobResult
    peak: int
    float_accuracy: float
    seconds: float

    @property
    def accuracy(self) -> float:
        """Fraction of the images that were classified correctly."""
        return self.correct / self.images

    def as_dict(self) -> dict[str, Any]:
        """The object that ``quintet demo --json`` prints."""
        return {
            "network": self.title,
            "images": self.images,
            "correct": self.correct,
            "accuracy": self.accuracy,
            "float_accuracy": self.float_accuracy,
            "equals_model": self.equal,
            "troubles": self.troubles,
            "run": run_object(self.result),
        }


def run_demo(
    name: str,
    say: Callable[[str], object] = lambda text: None,
    progress: ProgressReport | None = None,
) -> tuple[TargetInfo, list[NetworkRun]]:
    """Classifies all test images on the target ``name`` with each shipped network that fits it.

    Parameters
    ----------
    say : callable(str), receives each step as it begins
    progress : callable(what, done, total), optional

    Returns
    -------
    target_info : TargetInfo
    runs : list of NetworkRun

    Raises
    ------
    TargetError
        The target has another core than OpenTPU, or none.
    """
    virtual = name.startswith("sim:")
    say(f"switching on the virtual board {name}" if virtual else f"opening {public_name(name)}")

    def opening(what):
        if progress is not None:
            progress(what)
        if what == OPENING:
            return  # said already
        once = (
            " (once, about a minute; the first time the tools compile themselves as well)"
            if "gateware" in what
            else ""
        )
        say(f"  {what}{once}")

    with (
        open_target(name, progress=opening) as target,
        tempfile.TemporaryDirectory(prefix="quintet-demo-") as folder,
    ):
        if target.info.isa is None and target.info.kind == "model":
            target = ModelTarget(name=name, isa="opentpu")
        info = target.info
        if info.isa != "opentpu":
            raise TargetError(
                f"{public_name(name)} holds {f'core {info.isa}' if info.isa else 'no core'}; "
                f"the demo needs opentpu"
            )
        clock = f", {info.clock_hz / 1e6:g} MHz" if info.clock_hz else ""
        say(
            f"found {info.board or 'the golden model'}: core {info.isa}, preset "
            f"{info.preset or 'of your own'}, "
            f"{info.memory_size >> 10:,} KiB of memory{clock}"
        )
        runs = [
            _run(norm, target, Path(folder), say, progress)
            for norm in ((False, True) if info.params["ext_norm"] else (False,))
        ]
    return info, runs


def _run(norm, target, folder, say, progress):
    title = "with normalisation" if norm else "unmodified instruction set"
    say(
        f"network for "
        f"{'the core with normalisation' if norm else 'the unmodified instruction set'}: "
        f"compiling its program"
    )
    path = digits.make_job(folder, target.info.params, norm=norm, memory=target.info.memory_size)
    job = Job.load(path)
    size = sum(load.size for load in job.loads)
    say(
        f"streaming program, weights and {len(digits.labels())} images ({size / 1024:,.0f} "
        f"KiB) into memory, "
        "checking them, running the core, reading the results"
    )
    began = time.monotonic()
    result = run_job(
        job, target, progress=progress, tick=progress and (lambda seconds: progress("run"))
    )
    seconds = time.monotonic() - began
    say("running the same job on the golden model, comparing every bit")
    with open_target(f"model:{job.core}") as model:
        comparison = compare(job, result, run_job(job, model, like=result.info))
    correct = images = 0
    if result.outcome.status == "done":
        found = digits.evaluate(path, next(iter(result.tensors.values())))
        correct, images = found.correct, found.total
        if not np.array_equal(found.logits, digits.logits(norm)):
            comparison.troubles.append("the results are not those of the network in plain numpy")
    else:
        images = len(digits.labels())
        comparison.troubles.append(describe_outcome(result))
    say(
        f"{correct} of {images} inputs right; "
        + (
            "every result equals the golden model's"
            if comparison.equal
            else f"DIFFERENT: {comparison.troubles[0]}"
        )
    )
    return NetworkRun(
        title,
        images,
        correct,
        comparison.equal,
        comparison.troubles,
        result,
        int(target.package.params.SPACE.peaks(target.info.params).macs),
        digits.float_accuracy(),
        seconds,
    )
