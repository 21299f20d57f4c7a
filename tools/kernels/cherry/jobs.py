# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of a module: source, arrays and the file that ``quintet run`` takes."""
from pathlib import Path

import numpy as np

from .errors import KernelError

__all__ = ["to_bf16", "write_job"]


def to_bf16(array):
    """float32 rounded to bfloat16 (nearest even), as uint16."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def write_job(module, arrays, folder, name, program_at=0x1000, cycles=100_000_000):
    """Writes ``NAME.s``, ``NAME_ARRAY.npy`` and ``NAME.toml`` into ``folder``; gives the job's path.

    ``arrays``: name -> float array for every input of ``module``, of its shape.
    """
    folder = Path(folder)
    lines = ['core = "cherry"', f'program = "{name}.s"', f"program_at = {program_at:#x}", f"limits = {{ cycles = {cycles} }}",
             "[params]", f"contexts = {module.contexts}", f"log_mem = {module.elements.bit_length() - 1}"]
    for key, (address, fmt, matrix) in module.inputs.items():
        if key not in arrays or np.shape(arrays[key]) != matrix.shape:
            raise KernelError(f"input {key} must be an array of {matrix.rows}x{matrix.cols}")
        array = np.asarray(arrays[key], np.float32)
        np.save(folder / f"{name}_{key}.npy", to_bf16(array) if fmt == "bf16" else array)
        lines += ["[[load]]", f'file = "{name}_{key}.npy"', f"at = {address:#x}"]
    for key, (address, fmt, matrix) in module.outputs.items():
        lines += ["[[save]]", f'file = "{name}_{key}.npy"', f"at = {address:#x}",
                  f'dtype = "{"uint16" if fmt == "bf16" else "float32"}"', f"shape = [{matrix.rows}, {matrix.cols}]"]
    (folder / f"{name}.s").write_text(module.source())
    (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return folder / f"{name}.toml"
