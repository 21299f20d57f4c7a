# SPDX-License-Identifier: BSD-2-Clause
"""Exporter of program images to the published forms, with a companion file of groups
(specification, section 3.7)."""

import gzip
import json
import os
from pathlib import Path

import numpy as np

from ....isa.asm.program import Program
from ....isa.software import Software
from ..asm.listing import fields_of, image_of, undefined
from ..image.image import words_of
from ..image.reading import TableFault
from .container import container_of
from .dialect import instruction_text

__all__ = ["write_folder", "write_json"]

_CHUNK = 100_000


def _error(path, message):
    from ....isa.asm.errors import AsmError

    return AsmError(message, file=path)


def _take(program, path):
    """Reads a program as ``(image, words by core)``; raises an error for anything that the
    published forms cannot hold."""
    try:
        image, _ = image_of(program.data)
    except TableFault as fault:
        raise _error(path, str(fault)) from None
    found = []
    for number, core in enumerate(image.cores):
        words, offsets = words_of(core.code, core.mode, core.count)
        if len(words) < core.count or offsets[len(words)] < len(core.code):
            raise _error(path, f"core {number}: the code does not end with its last instruction")
        bad = undefined(words)
        if bad.any():
            raise _error(
                path,
                f"core {number}, instruction {int(bad.argmax())}: no legal instruction, this "
                f"form cannot hold it",
            )
        found.append(words)
    return image, found


def _config(image):
    return {
        "core_cnt": len(image.cores),
        "xbar_size": [image.xb_rows, image.xb_cols],
        "array_group_map": {
            f"core{k}": [len(g.arrays) for g in core.groups] for k, core in enumerate(image.cores)
        },
        "quintet": {
            "gmem": [image.gmem_base, image.gmem_size],
            "cores": [
                {
                    "mode": c.mode,
                    "wait_mode": c.wait_mode,
                    "ibiw": c.ibiw,
                    "obiw": c.obiw,
                    "fi": c.fi,
                    "fo": c.fo,
                }
                for c in image.cores
            ],
        },
    }


def _companion(image):
    def entry(g):
        values = {
            "rows": g.rows,
            "cols": g.cols,
            "arrays": list(g.arrays),
            "shift": g.shift,
            "round": g.round,
            "mbiw": g.mbiw,
        }
        for key, array in (("weights", g.weights), ("bias", g.bias)):
            if array is not None:
                values[key] = np.asarray(array).tolist()
        return values

    return {f"core{k}": [entry(g) for g in core.groups] for k, core in enumerate(image.cores)}


def _write(path, pieces):
    """Writes chunks of text, compressed if the name says so, completely or not at all."""
    path = Path(path)
    work = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(work, "wb") as file:
            # No time in the header: the same program gives the same file.
            out = gzip.GzipFile("", "wb", 3, file, mtime=0) if path.name.endswith(".gz") else file
            for piece in pieces:
                out.write(piece if isinstance(piece, bytes) else piece.encode())
            if out is not file:
                out.close()
        os.replace(work, path)
    except OSError as error:
        work.unlink(missing_ok=True)
        raise _error(path, f"cannot be written ({error.strerror or error})") from None


def _json_pieces(image, cores):
    yield '{\n"config": ' + json.dumps(_config(image))
    for number, words in enumerate(cores):
        yield f',\n"core{number}": ['
        for begin in range(0, len(words), _CHUNK):
            fields = fields_of(words[begin : begin + _CHUNK])
            yield ("," if begin else "") + "\n" + ",\n".join(map(instruction_text, *fields))
        yield "\n]"
    yield "\n}\n"


def write_json(software: Software, program: Program, path: str | Path) -> None:
    """Writes ``.json`` or ``.json.gz``, with the groups in ``groups.json`` (``.gz``) beside it."""
    image, cores = _take(program, path)
    _write(path, _json_pieces(image, cores))
    if any(core.groups for core in image.cores):
        name = "groups.json.gz" if str(path).endswith(".gz") else "groups.json"
        _write(Path(path).with_name(name), [json.dumps(_companion(image)) + "\n"])


def write_folder(software: Software, program: Program, path: str | Path) -> None:
    """Writes a folder of ``core_<id>.pim``, ``config.json`` and, with groups, ``groups.json``."""
    image, cores = _take(program, path)
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _error(path, f"cannot be made ({error.strerror or error})") from None
    for number, words in enumerate(cores):
        _write(folder / f"core_{number}.pim", [container_of(words)])
    _write(folder / "config.json", [json.dumps(_config(image)) + "\n"])
    if any(core.groups for core in image.cores):
        _write(folder / "groups.json", [json.dumps(_companion(image)) + "\n"])
