# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of compiled networks (docs/jobs.md)."""
import gzip
import os
from pathlib import Path

import numpy as np

from quintet.gateware.cores.pim.params import SPACE

from ...recognition import job_lines
from ..inputs import KernelError, check_name, check_whole, integers
from .checks import check_params

__all__ = ["write_job"]


def _write(path, data):
    """Whole or not at all: a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def needs(compiled):
    """Build parameters that a program needs, for ``[params]``."""
    cores = [part.core for part in compiled.parts]
    used = {"cores": len(cores), "arrays": max(core.arrays for core in cores), "groups": max(len(core.groups) for core in cores),
            "bias_words": max(core.biases for core in cores), "lmem_bytes": max(core.used for core in cores),
            "max_biw": max(core.widest for core in cores)}
    return {"xb_rows": compiled.image.xb_rows, "xb_cols": compiled.image.xb_cols,
            **{key: min(v for v in SPACE.parameters[key].legal if v >= value) for key, value in used.items()}}


def write_job(folder, name, compiled, values, params, *, at=None, comment="", cycles=1_000_000_000, labels=None):
    """Write ``name.toml``, ``name.s``, ``name_groups.json.gz`` and ``name_x.npy`` into ``folder``.

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
            raise KernelError(f"params have {key} = {params[key]}, the program was compiled for {has}")
    values = integers("inputs", values, compiled.in_shape, 8, floats=False).astype(np.int8)
    at = compiled.areas.check_program(compiled.areas.program_at if at is None else at)
    check_whole("cycles", cycles, 1)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    lines = ['core = "pim"', f'program = "{name}.s"', f"program_at = {at:#x}", "[params]",
             *(f"{key} = {value}" for key, value in needs(compiled).items()),
             "[[load]]", f'file = "{name}_x.npy"', f"at = {compiled.inputs:#x}",
             "[[save]]", f'file = "{name}_y.npy"', f"at = {compiled.outputs:#x}", f'dtype = "int{compiled.bits}"',
             f"shape = {list(compiled.out_shape)}", *([] if labels is None else job_lines(folder, name, labels)), "[limits]",
             f"cycles = {cycles}", ""]
    np.save(folder / f"{name}_x.npy", values)
    _write(folder / f"{name}_groups.json.gz", gzip.compress(compiled.groups().encode(), 9, mtime=0))
    _write(folder / f"{name}.s", (notes + compiled.text(f"{name}_groups.json.gz")).encode())
    return _write(folder / f"{name}.toml", (notes + "\n".join(lines)).encode())
