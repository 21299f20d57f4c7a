# SPDX-License-Identifier: BSD-2-Clause
"""Placements of one netlist with several seeds (``quintet build --seeds``): one synthesis, the
distribution of clocks, and the best bitstream."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .bitstream import (
    BuildError,
    Job,
    TooLargeError,
    begin,
    bitstream_name,
    check_size,
    extract,
    finish,
    run_script,
    write_report,
)
from .crossings import late
from .logs import TOP
from .reached import main_mhz
from .stages import Watcher

if TYPE_CHECKING:
    from amaranth.build.run import BuildPlan

__all__ = ["Place", "build_seeds", "distribution", "jobs_here", "place_here"]

#: Scripts of a part of a build.
_SYNTHESIS, _PLACEMENT = "synthesis", "placement"
#: Inputs of a placement that the synthesis, or the plan, has made.
INPUTS = (f"{TOP}.json", f"{TOP}.lpf", f"{TOP}.pcf", f"{TOP}_pre_pack.py")
#: Bytes of memory that a placement takes at most: about what was seen on the largest FPGA.
_PLACEMENT_BYTES = {"ecp5": 3 << 29, "ice40": 1 << 29}
#: Results of a placement, copied beside the best bitstream.
_RESULTS = ("bit", "bin", "config", "svf", "asc", "tim", "report.json")


class Place(Protocol):
    """Runs the script ``name`` of a placement in ``folder``, which holds its inputs.

    Raises
    ------
    BuildError
        A tool failed, or was stopped after ``limit`` seconds.
    """

    def __call__(self, name: str, folder: Path, job: Job, limit: float | None, /) -> object: ...


def place_here(name: str, folder: Path, job: Job, limit: float | None) -> None:
    """A :class:`Place` that uses processes of this machine."""
    run_script(name, folder, job.environment, limit)


def jobs_here(family: str, seeds: int) -> int:
    """Number of parallel placements: one per processor, as far as memory suffices."""
    allowed = getattr(os, "sched_getaffinity", None)
    most = min(seeds, len(allowed(0)) if allowed else os.cpu_count() or 1)
    with suppress(OSError, ValueError, AttributeError):
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = min(most, free // _PLACEMENT_BYTES[family])
    return max(1, most)


def _scripts(plan: BuildPlan, seed: int) -> dict[str, str]:
    """The two halves of a plan's script, for either kind of shell: file name -> text; the placement
    uses ``seed``."""
    found = {}
    for ending in ("sh", "bat"):
        text = plan.files.get(f"{plan.script}.{ending}")
        if text is None:
            continue
        lines = (text.decode() if isinstance(text, bytes) else text).splitlines(keepends=True)
        tools = [line for line in lines if line.startswith('"')]
        found[f"{_SYNTHESIS}.{ending}"] = "".join(x for x in lines if x not in tools[1:])
        found[f"{_PLACEMENT}.{ending}"] = re.sub(
            r"--seed \d+ ", f"--seed {seed} ", "".join(x for x in lines if x not in tools[:1])
        )
    return found


def _write(folder, scripts):
    for name, text in scripts.items():
        (folder / name).write_text(text, newline="")


def distribution(clocks: Sequence[float]) -> dict[str, float]:
    """Summary of clocks in MHz: ``worst``, ``median`` and ``best``."""
    return {
        "worst": min(clocks),
        "median": round(statistics.median(clocks), 2),
        "best": max(clocks),
    }


def build_seeds(
    board: str,
    isa: str | None,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    place: Place = place_here,
    dir: str | Path | None = None,
    limit: float | None = None,
    progress: Callable[[str], object] = lambda text: None,
    detail: Callable[[str, str], object] = lambda stage, text: None,
    **options: Any,
) -> dict[str, Any]:
    """Builds a bitstream with each of ``seeds`` from one synthesis, and keeps the best.

    Best is a build that meets its clocks before others, then the one with the fastest main clock.

    Parameters
    ----------
    board, isa, limit, progress, detail, options
        As of :func:`~.bitstream.build`; ``limit`` is that of each seed, and of the synthesis.
    seeds : sequence of int
    jobs : int, optional
        Placements at the same time; else :func:`jobs_here`.
    place : Place
    dir : path, optional
        Folder for all files; else ``out/build/<board>-<isa>-<preset>-seeds``. Each seed has a
        folder ``seed-<seed>`` in it.

    Returns
    -------
    dict
        The report of the best seed, as of :func:`~.bitstream.build`, whose files lie in ``dir``;
        also ``seeds``: of each ``seed``, ``clock_reached_mhz``, ``clock_met``, ``seconds`` and
        ``folder``, or ``error`` in place of the clocks; ``distribution_mhz``
        (:func:`distribution`), and ``jobs``.

    Raises
    ------
    BuildError
        Also if no seed was routed; the message is that of the first.
    TooLargeError, NoDeviceError, ParameterError, BoardError, CoreError
        As :func:`~.bitstream.build`.
    """
    seeds = list(dict.fromkeys(seeds))
    if not seeds:
        raise BuildError("seeds = []: expected at least one seed")
    job = begin(board, isa, seed=seeds[0], dir=dir, progress=progress, **options)
    if dir is None:
        stem = job.folder.name.removesuffix(f"-{seeds[0]}")
        job = replace(job, folder=job.folder.with_name(f"{stem}-seeds"))
    with job.locked():
        return _run(job, seeds, jobs, place, limit, progress, detail)


def _run(job, seeds, jobs, place, limit, progress, detail):
    extract(job.plan, job.folder)
    _write(job.folder, _scripts(job.plan, seeds[0]))
    watcher = Watcher(job.folder, progress, detail)
    watcher.look()
    run_script(_SYNTHESIS, job.folder, job.environment, limit, watcher.look)
    synthesised = time.monotonic()
    jobs = jobs or jobs_here(job.board.family, len(seeds))
    progress(f"{len(seeds)} seeds, {jobs} at a time (synthesis: {synthesised - job.started:.0f} s)")
    detail("placing and routing", f"0 of {len(seeds)} seeds")
    reports: dict[int, dict[str, Any]] = {}
    errors: dict[int, BuildError] = {}
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_place, job, seed, place, limit): seed for seed in seeds}
        try:
            for done in as_completed(running):
                seed = running[done]
                try:
                    reports[seed] = done.result()
                    news = f"{reports[seed]['clock_reached_mhz']:.1f} MHz"
                except TooLargeError:
                    raise
                except BuildError as error:
                    errors[seed], news = error, str(error)
                finished = len(reports) + len(errors)
                progress(f"seed {seed}: {news} ({finished} of {len(seeds)})")
                detail("placing and routing", f"{finished} of {len(seeds)} seeds")
        except BaseException:
            for waiting in running:
                waiting.cancel()
            raise
    if not reports:
        raise errors[seeds[0]]
    return _keep_best(job, seeds, reports, errors, jobs)


def _place(job, seed, place, limit):
    """Places one seed in its folder; returns its report."""
    folder, started = job.folder / f"seed-{seed}", time.monotonic()
    extract_inputs(job, folder, _scripts(job.plan, seed))
    try:
        place(_PLACEMENT, folder, job, limit)
    except BuildError:
        check_size(job, folder)
        raise
    report = finish(job, folder, {**job.who, "seed": seed}, started)
    # The same in every folder, and large.
    (folder / f"{TOP}.json").unlink(missing_ok=True)
    return report


def extract_inputs(job: Job, folder: Path, scripts: Mapping[str, str]) -> None:
    """Creates the ``folder`` of a placement, without results of an earlier one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _write(folder, scripts)
    for name in INPUTS:
        if (job.folder / name).is_file():
            # YoWASP's tools do not follow a link out of their folder.
            shutil.copyfile(job.folder / name, folder / name)


def _quality(report):
    return report["clock_met"] and not late(report), main_mhz(report)


def _keep_best(job, seeds, reports, errors, jobs):
    """Copies the files of the best seed to the build's folder, and writes its report there."""
    best = max(reports, key=lambda seed: (*_quality(reports[seed]), -seeds.index(seed)))
    folder = job.folder / f"seed-{best}"
    for ending in _RESULTS:
        if (folder / f"{TOP}.{ending}").is_file():
            shutil.copyfile(folder / f"{TOP}.{ending}", job.folder / f"{TOP}.{ending}")
    rows = []
    for seed in seeds:
        row = {"seed": seed, "folder": str(job.folder / f"seed-{seed}")}
        if seed in reports:
            kept = ("clock_reached_mhz", "clock_met", "seconds")
            row |= {name: reports[seed][name] for name in kept}
        else:
            row["error"] = str(errors[seed])
        rows.append(row)
    report = {
        **reports[best],
        "seeds": rows,
        "distribution_mhz": distribution(
            [report["clock_reached_mhz"] for report in reports.values()]
        ),
        "jobs": jobs,
        "seconds": round(time.monotonic() - job.started, 1),
        "bitstream": str(job.folder / bitstream_name(job.board.family)),
    }
    write_report(job.folder, report)
    return report
