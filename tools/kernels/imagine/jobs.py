# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of programs (docs/jobs.md)."""
import io
from pathlib import Path

import numpy as np

from quintet.gateware.cores.files import write_whole

from ...recognition import job_lines

__all__ = ["write_job"]


def write_job(folder, name, program, *, comment="", program_at=0x1000, cycles=100_000_000, labels=None, unpack=None):
    """Writes ``name.toml``, ``name.s`` and its arrays ``name.npz`` into ``folder``.

    Parameters
    ----------
    program : Program
    comment : first lines of job and source
    program_at : byte address; results lie behind the program
    cycles : limit of the run
    labels, unpack : of the vectors, where the results are their scores, and how they lie (:meth:`.streamed.Streamed.unpack`)

    Returns
    -------
    Path of the job. It saves the results as ``<name>_y.npy``, int16 [vectors, rows, 2]: value, marks.
    """
    folder, params = Path(folder), program.params
    folder.mkdir(parents=True, exist_ok=True)
    output_at = (program_at + len(program.data) + 63) // 64 * 64
    build = ", ".join(f"{key} = {params[key]}" for key in ("rows", "cols", "reg_width", "depth"))
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    lines = ['core = "imagine"', f'program = "{name}.s"', f"program_at = {program_at:#x}", f"params = {{ {build} }}",
             f"registers = {{ output_at = {output_at:#x}, output_limit = {output_at + program.output_bytes:#x} }}",
             f"limits = {{ cycles = {cycles} }}", "[[save]]", f'file = "{name}_y.npy"', f"at = {output_at:#x}", 'dtype = "int16"',
             f"shape = [{program.vectors}, {params['rows']}, 2]",
             *([] if labels is None else job_lines(folder, name, labels, **unpack)), ""]
    packed = io.BytesIO()
    np.savez_compressed(packed, **program.saved_arrays())
    write_whole(folder / f"{name}.npz", packed.getvalue())
    write_whole(folder / f"{name}.s", program.text(f"{name}.npz", comment))
    write_whole(folder / f"{name}.toml", notes + "\n".join(lines))
    return folder / f"{name}.toml"
