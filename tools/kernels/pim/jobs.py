# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of compiled networks (docs/jobs.md)."""
import gzip
import os
from pathlib import Path

import numpy as np

from ...recognition import job_lines

__all__ = ["write_job"]


def _write(path, data):
    """Whole or not at all: a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def write_job(folder, name, compiled, values, params, *, at=0, comment="", cycles=1_000_000_000, labels=None):
    """Write ``name.toml``, ``name.s``, ``name_groups.json.gz`` and ``name_x.npy`` into ``folder``.

    Parameters
    ----------
    folder, name : where, and what the files are called
    compiled : Compiled
    values : integers [images, ...] of the input
    params : dict, the build that it was compiled for
    at : ``program_at``
    comment : first lines of the job and of the program
    cycles : limit of the run
    labels : of the images, where the results are their scores

    Returns
    -------
    Path of the job. It saves its results as ``<name>_y.npy``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    lines = ['core = "pim"', f'program = "{name}.s"', f"program_at = {at:#x}", "[params]",
             f"xb_rows = {params['xb_rows']}", f"xb_cols = {params['xb_cols']}", f"cores = {len(compiled.parts)}",
             f"arrays = {max(part.core.arrays for part in compiled.parts)}",
             "[[load]]", f'file = "{name}_x.npy"', f"at = {compiled.inputs:#x}",
             "[[save]]", f'file = "{name}_y.npy"', f"at = {compiled.outputs:#x}", f'dtype = "int{compiled.bits}"',
             f"shape = {list(compiled.out_shape)}", *([] if labels is None else job_lines(folder, name, labels)), "[limits]",
             f"cycles = {cycles}", ""]
    np.save(folder / f"{name}_x.npy", np.asarray(values).astype(np.int8).reshape(compiled.in_shape))
    _write(folder / f"{name}_groups.json.gz", gzip.compress(compiled.groups().encode(), 9, mtime=0))
    _write(folder / f"{name}.s", (notes + compiled.text(f"{name}_groups.json.gz")).encode())
    return _write(folder / f"{name}.toml", (notes + "\n".join(lines)).encode())
