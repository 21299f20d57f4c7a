# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of compiled networks (docs/jobs.md)."""
import os
from pathlib import Path

import numpy as np

from ...recognition import job_lines
from ..inputs import check_name, check_whole

__all__ = ["write_job"]


def _write(path, data):
    """Whole or not at all: a reader never sees half a file."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def _archive(path, arrays):
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        np.savez_compressed(file, **arrays)
    os.replace(part, path)


def write_job(folder, name, compiled, values, *, comment="", cycles=1_000_000_000, binary=False, labels=None,
              classes=None):
    """Write ``name.toml``, the program (``name.s``, or ``name.bin``) and ``name.npz`` into ``folder``.

    Parameters
    ----------
    folder, name : where, and what the files are called
    compiled : Compiled
    values : dict, name of every input -> integers [images, height, width, channels]
    comment : first lines of the job and of the program
    cycles : limit of the run
    binary : write the program in its binary form, which is smaller
    labels, classes : of the images, where the last output's first ``classes`` channels are their scores

    Returns
    -------
    Path of the job. It saves every output as ``<name>_<output>.npy``, an array [images, maps, rows, columns, 64] that
    ``compiled.outputs[output].unpack`` reads.

    Raises
    ------
    KernelError
        Values that are not exactly what the program takes, a name that cannot be a file's; nothing is written.
    """
    check_name("job", name)
    cycles = check_whole(f"job {name}: cycles", cycles, 1, 1 << 63)
    loads = compiled.loads(values)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    program = f"{name}.{'bin' if binary else 's'}"
    lines = ['core = "opu"', f'program = "{program}"', f"program_at = {compiled.program_at:#x}", "[params]",
             f'types = "{compiled.params["types"]}"', "[registers]"]
    lines += [f'"{register}" = {value:#x}' for register, value in compiled.registers.items()]
    arrays = {}
    for address, data, what in loads:
        arrays[what] = data
        lines += ["[[load]]", f'file = "{name}.npz:{what}"', f"at = {address:#x}"]
    for output, placed in compiled.outputs.items():
        lines += ["[[save]]", f'file = "{name}_{output}.npy"', f"at = {placed.address:#x}",
                  f'dtype = "int{placed.bits}"', f"shape = {list(placed.array_shape)}"]
    if labels is not None:
        lines += job_lines(folder, name, labels, classes=classes)
    lines += ["[limits]", f"cycles = {cycles}", ""]
    _archive(folder / f"{name}.npz", arrays)
    _write(folder / program, compiled.data if binary else (notes + compiled.text).encode())
    return _write(folder / f"{name}.toml", (notes + "\n".join(lines)).encode())
