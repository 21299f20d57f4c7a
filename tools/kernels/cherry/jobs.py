# SPDX-License-Identifier: BSD-2-Clause
"""Job files of a module: source, arrays and the description that ``quintet run`` reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ....gateware.cores.cherry.isa import ISA
from ....gateware.cores.cherry.software import SOFTWARE
from ....gateware.cores.cherry.tables import FRAC
from ....gateware.isa.asm import assemble_text
from ...jobs.job import Job, Load, Save, Source
from ...jobs.recognition import Recognition
from ..inputs import KernelError, check_name, check_names, check_whole
from .module import Module
from .stored import Stored, from_array

__all__ = ["to_bf16", "write_job"]

#: From where on rounding to an element gives infinity; in bf16 to ten bits of significand first,
#: then to eight.
_BEYOND = {
    "fp32": (2 - 2.0**-10) * 2.0**127,
    "packed": (2 - 2.0**-10) * 2.0**127,
    "bf16": (2 - 2.0**-8 - 2.0**-10) * 2.0**127,
}


def to_bf16(array: Any) -> np.ndarray:
    """Rounds float32 to bfloat16 (nearest even), as uint16 of the same shape."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    # Rounding would carry the fraction of a NaN into its exponent and sign.
    return np.where(np.isnan(array), 0x7FC0, bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(
        np.uint16
    )


def _dtype(matrix, fmt):
    """numpy's name for the elements of an array in main memory, and columns of it."""
    if isinstance(matrix, Stored) and (
        fmt == "packed" or matrix.pitch != matrix.cols * (2 if fmt == "bf16" else 4)
    ):
        return "uint32", matrix.pitch // 4
    return "uint16" if fmt == "bf16" else "float32", matrix.cols


def _words_as(words, matrix):
    return words.view(np.dtype(_dtype(matrix, matrix.fmt)[0]))


def _array(key, given, matrix, fmt):
    """The array of an input as float32, checked; a number that would become infinity is refused."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise KernelError(f"input {key} is no array: its rows differ in length") from None
    if array.dtype.kind not in "fiub":
        raise KernelError(f"input {key} must be an array of real numbers, not {array.dtype}")
    if array.shape != matrix.shape:
        raise KernelError(
            f"input {key} must be an array of {matrix.rows}x{matrix.cols}, not "
            f"{'x'.join(map(str, array.shape)) or 'a number'}"
        )
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float32)
    too_large = np.isfinite(array) & ~(np.abs(rounded) < _BEYOND[fmt])
    if too_large.any():
        row, col = np.argwhere(too_large)[0]
        raise KernelError(
            f"input {key}: element ({row}, {col}) is {array[row, col]}, which would become "
            f"infinity in {fmt}"
        )
    return rounded


def _check_arrays(module, arrays):
    check_names(
        arrays,
        {
            key: f"an array of {matrix.rows}x{matrix.cols}"
            for key, (_, _, matrix) in module.inputs.items()
        },
    )
    if not module.outputs:
        raise KernelError("the module has no output, a run would keep nothing")
    both = [key for key in module.outputs if key in module.inputs]
    if both:
        raise KernelError(
            f"{', '.join(both)} is an input and an output: a job would save into the file that "
            f"it loads; name the output otherwise"
        )


def _check_place(module, program_at, size):
    if check_whole("program_at", program_at, 0) % ISA.program_align:
        raise KernelError(
            f"program_at must be a multiple of {ISA.program_align}, not {program_at:#x}"
        )
    if program_at + size > module.base and program_at < module.end:
        raise KernelError(
            f"a program of {size} bytes at {program_at:#x} lies over the arrays, which are at "
            f"{module.base:#x} to "
            f"{module.end:#x}: choose program_at, or base of the module"
        )


def write_job(
    module: Module,
    arrays: Mapping[str, Any],
    folder: str | Path,
    name: str,
    program_at: int = 0x1000,
    cycles: int = 100_000_000,
    labels: Sequence[int] | np.ndarray | None = None,
    classes: int | None = None,
    comment: str = "",
) -> Path:
    """Writes ``NAME.s``, ``NAME_ARRAY.npy`` and ``NAME.toml`` into ``folder`` and returns the job's
    path.

    A matrix in main memory that is packed, or of bf16 in rows of no whole words, is an array of
    words, uint32.

    ``arrays``: name -> array of real numbers for every input of ``module``, of its shape.
    ``labels``, ``classes``: of the rows of the last output, whose first ``classes`` columns are
    scores. ``comment``: first lines of the job.
    """
    if not isinstance(module, Module):
        raise KernelError(f"module must be a Module, not {type(module).__name__}")
    check_name("job", name)
    _check_arrays(module, arrays)
    given = {
        key: _array(key, arrays[key], matrix, fmt)
        for key, (_, fmt, matrix) in module.inputs.items()
    }
    source = module.source()
    _check_place(module, program_at, len(assemble_text(SOFTWARE, source, f"{name}.s").data))
    params = {"contexts": module.contexts, "log_mem": module.elements.bit_length() - 1}
    params |= {"acc_frac": module.acc_frac} if module.acc_frac != FRAC else {}
    params |= {"sfu_lanes": 1} if module.special else {}
    loads = [
        Load(
            address,
            # Arrays are kept as the bytes that memory holds.
            _words_as(from_array(given[key], fmt), matrix)  # type: ignore[arg-type]
            if isinstance(matrix, Stored)
            else to_bf16(given[key])
            if fmt == "bf16"
            else given[key],
            f"{name}_{key}.npy",
        )
        for key, (address, fmt, matrix) in module.inputs.items()
    ]
    saves = []
    for key, (address, fmt, matrix) in module.outputs.items():
        dtype, columns = _dtype(matrix, fmt)
        saves.append(Save(address, f"{name}_{key}.npy", dtype=dtype, shape=(matrix.rows, columns)))
    if labels is not None:
        saves[-1] = replace(saves[-1], recognition=Recognition(np.asarray(labels), classes=classes))
    job = Job(
        core="cherry",
        program=Source(f"{name}.s", source),
        program_at=int(program_at),
        params=params,
        loads=loads,
        saves=saves,
        cycle_limit=check_whole("cycles", cycles, 1),
        origin=f"job {name}",
    )
    return job.save(Path(folder, f"{name}.toml"), comment=comment)
