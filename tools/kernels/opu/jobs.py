# SPDX-License-Identifier: BSD-2-Clause
"""Job files of compiled networks (docs/reference/jobs.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...jobs.job import Job, Load, Save, Source
from ...jobs.recognition import Recognition
from ..inputs import check_name, check_whole

if TYPE_CHECKING:
    from .program import Compiled

__all__ = ["write_job"]


def write_job(
    folder: str | Path,
    name: str,
    compiled: Compiled,
    values: Mapping[str, Any],
    *,
    comment: str = "",
    cycles: int = 1_000_000_000,
    binary: bool = False,
    labels: Sequence[int] | np.ndarray | None = None,
    classes: int | None = None,
) -> Path:
    """Writes ``name.toml``, the program (``name.s`` or ``name.bin``) and ``name.npz`` into
    ``folder``.

    Parameters
    ----------
    folder, name : where, and what the files are called
    compiled : Compiled
    values : dict, name of every input -> integers [images, height, width, channels]
    comment : first lines of the job and of the program
    cycles : limit of the run
    binary : write the program in its binary form, which is smaller
    labels, classes : of the images,
        where the last output's first ``classes`` channels are their scores

    Returns
    -------
    Path of the job. It saves every output as ``<name>_<output>.npy``, an array [images, maps, rows,
    columns, 64] that ``compiled.outputs[output].unpack`` reads.

    Raises
    ------
    KernelError
        Values that are not exactly what the program takes, a name that cannot be a file's; nothing
        is written.
    """
    check_name("job", name)
    cycles = check_whole(f"job {name}: cycles", cycles, 1, 1 << 63)
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    program = (
        Source(f"{name}.bin", compiled.data)
        if binary
        else Source(f"{name}.s", notes + compiled.text)
    )
    last = list(compiled.outputs)[-1]
    found = {} if labels is None else {last: Recognition(np.asarray(labels), classes=classes)}
    job = Job(
        core="opu",
        program=program,
        program_at=compiled.program_at,
        params={"types": compiled.params["types"]},
        registers=compiled.registers,
        loads=[
            # Arrays are kept as the bytes that memory holds.
            Load(at, data, f"{name}.npz:{what}")  # type: ignore[arg-type]
            for at, data, what in compiled.loads(values)
        ],
        saves=[
            Save(
                placed.address,
                f"{name}_{output}.npy",
                dtype=f"int{placed.bits}",
                shape=placed.array_shape,
                recognition=found.get(output),
            )
            for output, placed in compiled.outputs.items()
        ],
        cycle_limit=cycles,
        origin=f"job {name}",
    )
    return job.save(Path(folder, f"{name}.toml"), comment=comment)
