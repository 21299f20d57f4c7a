# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of a module: source, arrays and the file that ``quintet run`` takes."""
from pathlib import Path

import numpy as np

from ...recognition import job_lines
from .errors import KernelError
from .stored import Stored, from_array

__all__ = ["to_bf16", "write_job"]


def to_bf16(array):
    """float32 rounded to bfloat16 (nearest even), as uint16."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def _dtype(matrix, fmt):
    """numpy's name for the elements of an array in main memory, and columns of it."""
    if isinstance(matrix, Stored) and (fmt == "packed" or matrix.pitch != matrix.cols * (2 if fmt == "bf16" else 4)):
        return "uint32", matrix.pitch // 4
    return "uint16" if fmt == "bf16" else "float32", matrix.cols


def _words_as(words, matrix):
    return words.view(np.dtype(_dtype(matrix, matrix.fmt)[0]))


def write_job(module, arrays, folder, name, program_at=0x1000, cycles=100_000_000, labels=None, classes=None):
    """Writes ``NAME.s``, ``NAME_ARRAY.npy`` and ``NAME.toml`` into ``folder``; gives the job's path.

    A matrix in main memory that is packed, or of bf16 in rows of no whole words, is an array of words, uint32.

    ``arrays``: name -> float array for every input of ``module``, of its shape. ``labels``, ``classes``: of the rows of the last output, whose
    first ``classes`` columns are scores.
    """
    folder = Path(folder)
    lines = ['core = "cherry"', f'program = "{name}.s"', f"program_at = {program_at:#x}", f"limits = {{ cycles = {cycles} }}",
             "[params]", f"contexts = {module.contexts}", f"log_mem = {module.elements.bit_length() - 1}"]
    for key, (address, fmt, matrix) in module.inputs.items():
        if key not in arrays or np.shape(arrays[key]) != matrix.shape:
            raise KernelError(f"input {key} must be an array of {matrix.rows}x{matrix.cols}")
        array = np.asarray(arrays[key], np.float32)
        np.save(folder / f"{name}_{key}.npy", _words_as(from_array(array, fmt), matrix) if isinstance(matrix, Stored) else
                to_bf16(array) if fmt == "bf16" else array)
        lines += ["[[load]]", f'file = "{name}_{key}.npy"', f"at = {address:#x}"]
    for key, (address, fmt, matrix) in module.outputs.items():
        dtype, columns = _dtype(matrix, fmt)
        lines += ["[[save]]", f'file = "{name}_{key}.npy"', f"at = {address:#x}", f'dtype = "{dtype}"', f"shape = [{matrix.rows}, {columns}]"]
    if labels is not None:
        lines += job_lines(folder, name, labels, classes=classes)
    (folder / f"{name}.s").write_text(module.source())
    (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return folder / f"{name}.toml"
