# SPDX-License-Identifier: BSD-2-Clause
"""Validation of user arrays: values that exceed a core's integers are refused, never clipped, in
the numpy reference and in the program."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["KernelError", "check_name", "check_whole", "integers", "is_whole"]

#: Names become those of files and of arrays in them.
_NAME = re.compile(r"\w[\w.+-]*")


class KernelError(ValueError):
    """Error: a core or build cannot run a layer. The message names the layer or input, the value,
    and what was expected.

    ``layer``: name of the layer at fault, where it is one; ``reason``: the message without that
    name; ``bytes_needed``: bytes of main memory that would do, ``None`` if these are not what is
    missing.
    """

    def __init__(self, reason: str, layer: str | None = None, bytes_needed: int | None = None):
        super().__init__(reason if layer is None else f"layer {layer}: {reason}")
        self.layer, self.reason, self.bytes_needed = layer, reason, bytes_needed


def is_whole(value: object, low: int, high: int | None = None) -> bool:
    """Whether ``value`` is a Python or numpy integer from ``low`` to ``high`` (``None``: no upper
    bound)."""
    return (
        isinstance(value, (int, np.integer))
        and not isinstance(value, bool)
        and bool(low <= value)
        and (high is None or bool(value <= high))
    )


def check_whole(what: str, value: Any, low: int, high: int | None = None) -> int:
    """Checks and converts ``value`` to an int from ``low`` to ``high``; raises
    :class:`KernelError`."""
    if is_whole(value, low, high):
        return int(value)
    raise KernelError(
        f"{what} is {value!r}, expected an integer "
        + (f"of at least {low}" if high is None else f"from {low} to {high}")
    )


def check_name(what: str, name: Any) -> None:
    """Raises :class:`KernelError` if a name cannot be part of a file name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise KernelError(
            f"{what} {name!r}: the name must be of letters, digits and _ . + - alone, and "
            f"begin with a letter, a digit or _"
        )


def integers(
    what: str, values: Any, shape: Sequence[int | str], bits: int, *, floats: bool = True
) -> np.ndarray:
    """Converts ``values`` to an int64 array of ``shape``.

    Parameters
    ----------
    what : str, for messages: ``"input x"``
    values : array, or nested lists.
        Floats that are whole numbers are taken (unless ``floats`` is false); booleans are not.
    shape : tuple of sizes; a string names one that may be any but 0
    bits : width of a signed integer that must hold each value

    Raises
    ------
    KernelError
        Another type or shape, or the first value that is no whole number of that width, with its
        index.
    """
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    try:
        array = np.asarray(values)
    except ValueError:
        raise KernelError(
            f"{what}: rows of several lengths, expected integers {_shown(shape)}"
        ) from None
    fits = len(shape) == array.ndim and all(
        isinstance(size, str) or size == n for size, n in zip(shape, array.shape, strict=True)
    )
    if fits and array.size and array.dtype.kind in ("iuOf" if floats else "iuO"):
        return _checked(what, array, low, high)
    raise KernelError(
        f"{what}: {array.dtype} {list(array.shape)}, expected integers {_shown(shape)}"
    )


def _checked(what, array, low, high):
    if array.dtype.kind == "O":  # Python integers of more than 64 bits, or no numbers
        good = np.reshape(
            [
                isinstance(v, int) and not isinstance(v, bool) and low <= v <= high
                for v in array.flat
            ],
            array.shape,
        )
    else:
        good = (array >= low) & (array <= high)
        if array.dtype.kind == "f":
            good &= array == np.floor(array)
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        raise KernelError(
            f"{what}{list(index)} is {array[index]}, expected an integer from {low} to {high}"
        )
    return array.astype(np.int64)


def _shown(shape):
    return f"[{', '.join(map(str, shape))}]"
