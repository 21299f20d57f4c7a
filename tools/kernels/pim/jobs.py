# SPDX-License-Identifier: BSD-2-Clause
"""Job files of compiled networks (docs/reference/jobs.md)."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.gateware.cores.pim.params import SPACE

from ...jobs.job import Job, Load, Save, Source
from ...jobs.recognition import Recognition
from ..inputs import KernelError, check_name, check_whole, integers
from .checks import check_params

if TYPE_CHECKING:
    from .compiler import Compiled

__all__ = ["write_job"]


def needs(compiled: Compiled) -> dict[str, int]:
    """Build parameters that a program requires, for ``[params]``."""
    cores = [part.core for part in compiled.parts]
    used = {
        "cores": len(cores),
        "arrays": max(core.arrays for core in cores),
        "groups": max(len(core.groups) for core in cores),
        "bias_words": max(core.biases for core in cores),
        "lmem_bytes": max(core.used for core in cores),
        "max_biw": max(core.widest for core in cores),
    }
    return {
        "xb_rows": compiled.image.xb_rows,
        "xb_cols": compiled.image.xb_cols,
        **{
            key: min(v for v in SPACE.parameters[key].legal if v >= value)
            for key, value in used.items()
        },
    }


def write_job(
    folder: str | Path,
    name: str,
    compiled: Compiled,
    values: Any,
    params: Mapping[str, Any],
    *,
    at: int | None = None,
    comment: str = "",
    cycles: int = 1_000_000_000,
    labels: Sequence[int] | np.ndarray | None = None,
) -> Path:
    """Writes ``name.toml``, ``name.s``, ``name_groups.json.gz`` and ``name_x.npy`` into ``folder``.

    Parameters
    ----------
    folder, name : where, and what the files are called
    compiled : Compiled
    values : whole numbers [images, ...] of -128 to 127, the input
    params : dict, the build that it was compiled for
    at : ``program_at``, by default that of the program
    comment : first lines of the job and of the program
    cycles : limit of the run
    labels : of the images, where the results are their scores

    Returns
    -------
    Path of the job. It saves its results as ``<name>_y.npy``.

    Raises
    ------
    KernelError
    """
    check_name("job", name)
    check_params(params)
    for key, has in (("xb_rows", compiled.image.xb_rows), ("xb_cols", compiled.image.xb_cols)):
        if params[key] != has:
            raise KernelError(
                f"params have {key} = {params[key]}, the program was compiled for {has}"
            )
    values = integers("inputs", values, compiled.in_shape, 8, floats=False).astype(np.int8)
    at = compiled.areas.check_program(compiled.areas.program_at if at is None else at)
    cycles = check_whole("cycles", cycles, 1)
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    groups = f"{name}_groups.json.gz"
    program = Source(
        f"{name}.s",
        notes + compiled.text(groups),
        {groups: gzip.compress(compiled.groups().encode(), 9, mtime=0)},
    )
    job = Job(
        core="pim",
        program=program,
        program_at=at,
        params=needs(compiled),
        # Arrays are kept as the bytes that memory holds.
        loads=[Load(compiled.inputs, values, f"{name}_x.npy")],  # type: ignore[arg-type]
        saves=[
            Save(
                compiled.outputs,
                f"{name}_y.npy",
                dtype=f"int{compiled.bits}",
                shape=compiled.out_shape,
                recognition=None if labels is None else Recognition(np.asarray(labels)),
            )
        ],
        cycle_limit=cycles,
        origin=f"job {name}",
    )
    return job.save(Path(folder, f"{name}.toml"), comment=comment)
