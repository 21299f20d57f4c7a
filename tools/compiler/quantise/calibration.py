# SPDX-License-Identifier: BSD-2-Clause
"""Calibration data: checks, and batching that bounds memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, suggestion

if TYPE_CHECKING:
    from ..graph import Graph

__all__ = ["batches", "check_calibration", "evenly", "fewer"]

#: Elements that all tensors of a batch may have together, and the largest tensor of all inputs in a
#: run layer by layer.
BATCH, WHOLE = 1 << 24, 1 << 24


def check_calibration(graph: Graph, calibration: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Checks ``calibration`` and converts it to float64 arrays by tensor name.

    Raises
    ------
    InputError
        An input of the network without values, one that it has not, another shape, no values,
        values that are no finite numbers.
    """
    expected = {
        port.tensor: f"numbers of shape ({', '.join(['N', *map(str, graph.shape(port.tensor))])})"
        for port in graph.inputs
    }
    if not isinstance(calibration, Mapping):
        raise InputError(
            f"calibration is {type(calibration).__name__}, expected arrays by name: "
            f"{', '.join(expected)}"
        )
    for name in calibration:
        if name not in expected:
            raise InputError(
                f"calibration of {name}: the network has no such input{suggestion(name, expected)}"
            )
    values, count = {}, None
    for name, text in expected.items():
        if name not in calibration:
            raise InputError(f"calibration of {name} is missing, expected {text}")
        array = np.asarray(calibration[name])
        if array.dtype.kind not in "fiub":
            raise InputError(f"calibration of {name} has type {array.dtype}, expected {text}")
        if array.shape[1:] != tuple(graph.shape(name)) or not array.ndim:
            raise InputError(f"calibration of {name} has shape {array.shape}, expected {text}")
        count = len(array) if count is None else count
        if len(array) != count or not count:
            raise InputError(
                f"calibration of {name} has {len(array)} inputs, expected "
                + (f"{count} as the others have" if count else "at least 1")
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            at = tuple(int(i) for i in bad[0])
            raise InputError(
                f"calibration of {name} has {array[at]} at {list(at)}, expected finite numbers"
            )
        values[name] = array.astype(np.float64)
    return values


def batches(graph: Graph, values: Mapping[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """Splits ``values`` into batches whose intermediate tensors take bounded memory."""
    count = len(next(iter(values.values())))
    size = sum(tensor.size for tensor in graph.tensors.values() if tensor.data is None)
    step = max(1, BATCH // max(size, 1))
    for at in range(0, count, step):
        yield {name: array[at : at + step] for name, array in values.items()}


def evenly(values: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Selects at most ``count`` of the inputs, evenly spaced."""
    have = len(next(iter(values.values())))
    index = np.linspace(0, have - 1, min(have, count)).round().astype(int)
    return {name: array[index] for name, array in values.items()}


def fewer(graph: Graph, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Selects as many of the inputs as memory allows for computing whole layers on all of them."""
    return evenly(
        values,
        max(
            1, WHOLE // max(tensor.size for tensor in graph.tensors.values() if tensor.data is None)
        ),
    )
