# SPDX-License-Identifier: BSD-2-Clause
"""Job files of programs (docs/reference/jobs.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...jobs.job import Job, Run, Save, Source
from ...jobs.recognition import Recognition
from ..inputs import KernelError, check_name, check_whole
from .program import ProgramCalls

__all__ = ["write_job"]


def write_job(
    folder: str | Path,
    name: str,
    programs: ProgramCalls | Sequence[ProgramCalls],
    *,
    comment: str = "",
    program_at: int = 0x1000,
    cycles: int = 100_000_000,
    labels: Sequence[int] | np.ndarray | None = None,
    unpack: Mapping[str, Any] | None = None,
) -> Path:
    """Writes ``name.toml``, and for every program its source ``.s`` and its arrays ``.npz``, into
    ``folder``.

    Parameters
    ----------
    programs : ProgramCalls, or several for one build, run one after another:
        what one leaves in the array the next one finds
    comment : first lines of job and sources
    program_at : byte address of the first; the others lie behind it, results behind all
    cycles : limit of all together
    labels, unpack : of the vectors of the last program with results, where these are scores,
        and how they lie (:meth:`.streamed.Streamed.unpack`)

    Returns
    -------
    Path of the job. It saves the results of every program that has some, int16 [vectors, rows, 2]:
    value, marks; of a single program as ``<name>_y.npy``, and its files are called ``name``; of
    several, files and results are numbered: ``<name>_0.s``, ``<name>_1_y.npy``.

    Raises
    ------
    KernelError
        No program, programs for several builds, a name that cannot be a file's; nothing is written.
    """
    check_name("job", name)
    cycles = check_whole(f"job {name}: cycles", cycles, 1, 1 << 63)
    several = not isinstance(programs, ProgramCalls)
    programs = [programs] if isinstance(programs, ProgramCalls) else list(programs)
    if not programs:
        raise KernelError(f"job {name}: no program, expected at least one")
    params = programs[0].params
    for index, program in enumerate(programs):
        if program.params != params:
            raise KernelError(f"job {name}: program {index} is for another build than program 0")
    names = [f"{name}_{index}" if several else name for index in range(len(programs))]
    places = _places(program_at, [len(program.data) for program in programs])
    output_at = _places(places.pop(), [program.output_bytes for program in programs])[:-1]
    runs, saves = [], []
    for one, at, out, program in zip(names, places, output_at, programs, strict=True):
        source = Source(
            f"{one}.s", program.text(f"{one}.npz", comment), {f"{one}.npz": program.saved_arrays()}
        )
        runs.append(Run(source, at, {"output_at": out, "output_limit": out + program.output_bytes}))
        if program.vectors:
            saves.append(
                Save(out, f"{one}_y.npy", dtype="int16", shape=(program.vectors, params["rows"], 2))
            )
    if labels is not None:
        if not saves:
            raise KernelError(f"job {name}: there are labels, and no program has results")
        saves[-1] = replace(
            saves[-1], recognition=Recognition(np.asarray(labels), **(unpack or {}))
        )
    given = (
        {"runs": runs}
        if several
        else {"program": runs[0].program, "program_at": runs[0].at, "registers": runs[0].registers}
    )
    job = Job(
        core="imagine",
        **given,
        params={key: params[key] for key in ("rows", "cols", "reg_width", "depth")},
        saves=saves,
        cycle_limit=cycles,
        origin=f"job {name}",
    )
    return job.save(Path(folder, f"{name}.toml"), comment=comment)


def _places(at, sizes):
    """Addresses of pieces one behind the other, all but the first on multiples of 64, and what is
    free behind them."""
    found = [at]
    for size in sizes:
        found.append((found[-1] + size + 63) // 64 * 64)
    return found
