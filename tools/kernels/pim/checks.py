# SPDX-License-Identifier: BSD-2-Clause
"""What the library is given, checked: whole numbers, inputs, build parameters."""
import numpy as np

from quintet.gateware.cores.pim.params import SPACE

from .errors import KernelError

__all__ = ["check_params", "input_values", "is_whole", "whole"]


def is_whole(value, low, high=None):
    """Whether ``value`` is a whole number of ``low`` to ``high``; True and False are none."""
    return (isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= low
            and (high is None or value <= high))


def whole(value, what, low, high=None):
    """``value`` as an int of ``low`` to ``high`` (``None``: no upper end)."""
    if not is_whole(value, low, high):
        expected = f"a whole number from {low} on" if high is None else f"{low} to {high}"
        raise KernelError(f"{what} is {value}, expected {expected}")
    return int(value)


def input_values(values, shape):
    """``values`` as int64; ``shape`` (images, ...), where images is ``None`` for any number."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise KernelError("the inputs are no array: their rows differ in length") from None
    if array.dtype.kind not in "iu":
        raise KernelError(f"the inputs are {array.dtype}, expected whole numbers")
    if array.ndim != len(shape) or any(want not in (None, have) for have, want in zip(array.shape, shape, strict=True)):
        expected = ", ".join("images" if n is None else str(n) for n in shape)
        raise KernelError(f"the inputs are {array.shape}, expected ({expected})")
    wrong = np.argwhere((array < -128) | (array > 127))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise KernelError(f"the inputs have {array[at]} at {at}, expected -128 to 127")
    return array.astype(np.int64)


def check_params(params):
    """Refuses build parameters that are not whole."""
    if not isinstance(params, dict):
        raise KernelError(f"params must be a dict of build parameters, not {type(params).__name__}")
    for names, what in ((SPACE.parameters.keys() - params.keys(), "lack"), (params.keys() - SPACE.parameters.keys(), "have an unknown")):
        if names:
            raise KernelError(f"params {what} {', '.join(sorted(map(str, names)))}")
