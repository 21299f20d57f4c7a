# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of programs (docs/jobs.md)."""
import io
from pathlib import Path

import numpy as np

from quintet.gateware.isa.files import write_whole

from ...recognition import job_lines
from ..inputs import KernelError, check_name, check_whole
from .program import ProgramCalls

__all__ = ["write_job"]


def write_job(folder, name, programs, *, comment="", program_at=0x1000, cycles=100_000_000, labels=None, unpack=None):
    """Writes ``name.toml``, and of every program its source ``.s`` and its arrays ``.npz``, into ``folder``.

    Parameters
    ----------
    programs : ProgramCalls, or several for one build, run one after another: what one leaves in the array the next one finds
    comment : first lines of job and sources
    program_at : byte address of the first; the others lie behind it, results behind all
    cycles : limit of all together
    labels, unpack : of the vectors of the last program with results, where these are scores, and how they lie (:meth:`.streamed.Streamed.unpack`)

    Returns
    -------
    Path of the job. It saves the results of every program that has some, int16 [vectors, rows, 2]: value, marks; of a single
    program as ``<name>_y.npy``, and its files are called ``name``; of several, files and results are numbered: ``<name>_0.s``,
    ``<name>_1_y.npy``.

    Raises
    ------
    KernelError
        No program, programs for several builds, a name that cannot be a file's; nothing is written.
    """
    check_name("job", name)
    cycles = check_whole(f"job {name}: cycles", cycles, 1, 1 << 63)
    folder, several = Path(folder), not isinstance(programs, ProgramCalls)
    programs = list(programs) if several else [programs]
    if not programs:
        raise KernelError(f"job {name}: no program, expected at least one")
    params = programs[0].params
    for index, program in enumerate(programs):
        if program.params != params:
            raise KernelError(f"job {name}: program {index} is for another build than program 0")
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{name}_{index}" if several else name for index in range(len(programs))]
    places = _places(program_at, [len(program.data) for program in programs])
    output_at = _places(places.pop(), [program.output_bytes for program in programs])[:-1]
    notes = "".join(f"# {line}\n" for line in comment.splitlines())
    build = ", ".join(f"{key} = {params[key]}" for key in ("rows", "cols", "reg_width", "depth"))
    runs, saves = [], []
    for one, at, out, program in zip(names, places, output_at, programs, strict=True):
        runs += ["[[run]]"] * several
        runs += [f'program = "{one}.s"', f"program_at = {at:#x}",
                 f"registers = {{ output_at = {out:#x}, output_limit = {out + program.output_bytes:#x} }}"]
        if program.vectors:
            saves += ["[[save]]", f'file = "{one}_y.npy"', f"at = {out:#x}", 'dtype = "int16"',
                      f"shape = [{program.vectors}, {params['rows']}, 2]"]
        packed = io.BytesIO()
        np.savez_compressed(packed, **program.saved_arrays())
        write_whole(folder / f"{one}.npz", packed.getvalue())
        write_whole(folder / f"{one}.s", program.text(f"{one}.npz", comment))
    if labels is not None:
        saves += job_lines(folder, name, labels, **unpack)
    build = [f"params = {{ {build} }}", f"limits = {{ cycles = {cycles} }}"]
    lines = ['core = "imagine"', *(build + runs if several else runs + build), *saves, ""]
    write_whole(folder / f"{name}.toml", notes + "\n".join(lines))
    return folder / f"{name}.toml"


def _places(at, sizes):
    """Addresses of pieces one behind the other, all but the first on multiples of 64, and what is free behind them."""
    found = [at]
    for size in sizes:
        found.append((found[-1] + size + 63) // 64 * 64)
    return found
