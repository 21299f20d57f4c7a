# SPDX-License-Identifier: BSD-2-Clause
"""Array arguments of the command line: inputs, labels and calibration data, read from files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...gateware.isa.files import FileError, load_archive, load_array
from ..errors import InputError, suggestion
from ..examples import user_path

if TYPE_CHECKING:
    from .graph import Port

__all__ = ["load_initial", "load_inputs", "load_labels"]


def load_inputs(texts: Sequence[str], ports: Sequence[Port], option: str) -> dict[str, np.ndarray]:
    """Reads the arrays for the input ``ports`` of a network.

    Parameters
    ----------
    texts : list of str
        ``FILE.npy``, ``FILE.npz:key``, ``FILE.npz`` (its only array, or ``x``, or the inputs'
        names), a folder of ``.npy`` files (one input each); with more than one input ``name=...``
        for each, or one ``.npz`` with their names.
    option : str, for messages

    Returns
    -------
    dict, name of an input -> array

    Raises
    ------
    InputError
    """
    names, found = [port.name for port in ports], {}
    for text in texts:
        name, sign, rest = text.partition("=")
        if sign and name in names:
            found[name] = _array(rest, option)
        elif sign and not os.path.exists(re.sub(r"(\.npz):.*", r"\1", text)):
            raise InputError(
                f"{option} {text}: no such file, and the network has no input {name!r}"
                f"{suggestion(name, names)}"
            )
        elif len(names) == 1 and len(texts) == 1:
            found[names[0]] = _array(text, option)
        elif text.lower().endswith(".npz"):
            found.update(
                {key: value for key, value in _archive(text, option).items() if key in names}
            )
        else:
            raise InputError(
                f"{option} {text}: the network has inputs {', '.join(names)}: expected "
                f"NAME=FILE for each, or an .npz with these names"
            )
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"{option}: nothing given for input {', '.join(missing)}")
    return found


def load_initial(texts: Sequence[str], option: str = "--initial") -> dict[str, np.ndarray]:
    """Reads the initial values of states, ``NAME=FILE`` each: name -> array. Raises InputError."""
    found = {}
    for text in texts:
        name, sign, place = text.partition("=")
        if not (sign and name and place):
            raise InputError(f"{option} {text}: expected X=FILE, the name of a state's input")
        if name in found:
            raise InputError(f"{option} {text}: the state {name} is given twice")
        found[name] = _array(place, option)
    return found


def load_labels(
    text: str, inputs: int, limit: int | None = None, option: str = "--labels"
) -> np.ndarray:
    """Reads the class labels of the first ``limit`` of ``inputs`` inputs (``None``: of all), an
    integer array [inputs].

    They are whole numbers, ``.npy`` or ``.npz:key`` (a bare ``.npz``: its array ``y``), either for
    every input or for those within the limit. Any other number belongs to other inputs.

    Raises
    ------
    InputError
    """
    count = inputs if limit is None else min(limit, inputs)
    array = _array(text, option, ("y", "labels"))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"{option} {text}: {array.dtype} {list(array.shape)}: expected whole numbers of "
            f"one dimension"
        )
    if len(array) not in (inputs, count):
        limited = f", or {count} for those within --limit" if count < inputs else ""
        raise InputError(
            f"{option} {text}: {len(array)} labels for {inputs} inputs: expected {inputs}, one "
            f"for each{limited}"
        )
    return array[:count]


def _place(text, option):
    try:
        return user_path(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _archive(path, option):
    try:
        return load_archive(_place(path, option))
    except FileError as error:
        raise InputError(f"{option} {error}") from None


def _array(text, option, keys=("x",)):
    text = _place(text, option)
    path, colon, key = text.partition(".npz:")
    try:
        if colon:
            return load_array(path + ".npz", key)
        if os.path.isdir(text):
            return _folder(text, option)
        if text.lower().endswith(".npz"):
            arrays = _archive(text, option)
            if len(arrays) == 1:
                return next(iter(arrays.values()))
            for key in keys:
                if key in arrays:
                    return arrays[key]
            raise InputError(
                f"{option} {text}: holds {', '.join(arrays) or 'nothing'}; name one, as in "
                f"{text}:{next(iter(arrays), 'x')}"
            )
        if text.lower().endswith(".npy"):
            return load_array(text)
    except FileError as error:
        raise InputError(f"{option} {error}") from None
    raise InputError(f"{option} {text}: expected .npy, .npz, .npz:key or a folder of .npy files")


def _folder(text, option):
    """Reads a folder of array files by name: each holds one input, or several along a further first
    axis."""
    paths = sorted(path for path in Path(text).iterdir() if path.suffix.lower() == ".npy")
    if not paths:
        raise InputError(f"{option} {text}: no .npy files in this folder")
    arrays = [load_array(path) for path in paths]
    for path, array in zip(paths, arrays, strict=True):
        if array.shape != arrays[0].shape:
            raise InputError(
                f"{option} {path}: shape {list(array.shape)}, {paths[0].name} has "
                f"{list(arrays[0].shape)}"
            )
    return np.stack(arrays)
