# SPDX-License-Identifier: BSD-2-Clause
"""Conversion between a user's arrays and the graph's tensors. The first axis counts inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from .graph import Port

__all__ = ["from_graph", "to_graph"]


def to_graph(port: Port, values: np.ndarray) -> np.ndarray:
    """Converts a user's array for the input ``port`` into real numbers of the graph's tensor,
    float64.

    Raises
    ------
    InputError
        Another shape, or a value that is no finite number.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iufb":
        raise InputError(f"input {port.name} holds {values.dtype}, expected numbers")
    if values.ndim != len(port.shape) + 1 or values.shape[1:] != tuple(port.shape):
        raise InputError(
            f"input {port.name} has the shape {values.shape}, expected "
            f"(inputs{''.join(f', {length}' for length in port.shape)})"
        )
    if not np.isfinite(values).all():
        raise InputError(f"input {port.name} holds NaN or infinity, expected finite numbers")
    real = (
        values.astype(np.float64)
        if port.scale is None
        else (values.astype(np.float64) - port.zero_point) * port.scale
    )
    real = real.transpose(0, *(axis + 1 for axis in port.order))
    return real if port.offset is None else real - port.offset


def from_graph(port: Port, values: np.ndarray) -> np.ndarray:
    """Converts the graph's tensor into the user's array for the output ``port``."""
    values = np.asarray(values)
    if port.factor is not None:
        values = values * np.asarray(port.factor)
    if port.offset is not None:
        values = values + np.asarray(port.offset)
    if not port.shape:  # the tensor may have axes of one element
        values = values.reshape(len(values))
    values = values.transpose(0, *(int(axis) + 1 for axis in np.argsort(port.order)))
    if port.scale is None:
        return values
    low = -(1 << port.bits - 1) if port.signed else 0
    return np.clip(
        np.rint(values / port.scale) + port.zero_point, low, low + (1 << port.bits) - 1
    ).astype(f"{'' if port.signed else 'u'}int{port.bits}")
