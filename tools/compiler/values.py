# SPDX-License-Identifier: BSD-2-Clause
"""Checked conversion between a user's arrays, a graph's real numbers and a core's integers. The
first axis of every array counts inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, suggestion
from .plan import PlanError

if TYPE_CHECKING:
    from .graph import Port
    from .quantised import Quantised

__all__ = ["check_arrays", "check_inputs", "from_graph", "to_graph", "to_numbers", "to_values"]

#: The greatest number that a network in single precision computes with.
_GREATEST = float(np.finfo(np.float32).max)


def to_graph(port: Port, values: np.ndarray) -> np.ndarray:
    """Converts a user's array for the input ``port`` into real numbers of the graph's tensor,
    float64.

    Raises
    ------
    InputError
        Another shape, or a value that is no finite number of float32.
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
    if np.abs(values.astype(np.float64)).max(initial=0.0) > _GREATEST:
        raise InputError(
            f"input {port.name} holds numbers greater than {_GREATEST:.3g}, expected those of "
            f"float32"
        )
    real = (
        values.astype(np.float64)
        if port.scale is None
        else (values.astype(np.float64) - port.zero_point) * port.scale
    )
    real = real.transpose(0, *(axis + 1 for axis in port.order))
    return real if port.offset is None else real - port.offset


def from_graph(port: Port, values: np.ndarray) -> np.ndarray:
    """Converts the graph's tensor into the user's array for the output ``port``; of whole numbers,
    a value that is not a number becomes the zero point."""
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
    values = np.where(np.isnan(values), 0.0, values)
    return np.clip(
        np.rint(values / port.scale) + port.zero_point, low, low + (1 << port.bits) - 1
    ).astype(f"{'' if port.signed else 'u'}int{port.bits}")


def to_numbers(part: Quantised, tensor: str, values: np.ndarray) -> np.ndarray:
    """Quantises real ``values`` of a tensor: int64, or float32 if the core computes in floating
    point."""
    scale = part.scales.get(tensor)
    return np.asarray(values, np.float32) if scale is None else scale.quantise(values)


def to_values(part: Quantised, tensor: str, numbers: np.ndarray) -> np.ndarray:
    """Dequantises a core's ``numbers`` of a tensor, float64."""
    scale = part.scales.get(tensor)
    return np.asarray(numbers, np.float64) if scale is None else scale.value(numbers)


def check_inputs(
    network: str, ports: Sequence[Port], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Checks a user's arrays and converts them for the graph: tensor name -> float64, whose first
    axis counts inputs. Errors as in :func:`check_arrays`."""
    arrays = check_arrays(network, ports, given)
    return {port.tensor: to_graph(port, arrays[port.name]) for port in ports}


def check_arrays(
    network: str, ports: Sequence[Port], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Checks a user's arrays for ``ports``, by name; adds the batch axis if it is omitted for a
    single input.

    Raises
    ------
    PlanError
        A name that is missing or unknown, another shape, a value that is not finite, different
        numbers of inputs.
    """
    for name in given:
        if name not in [port.name for port in ports]:
            known = [port.name for port in ports]
            raise PlanError(f"{network} has no input {name!r}{suggestion(name, known)}")
    found = {}
    for port in ports:
        if port.name not in given:
            raise PlanError(
                f"{network}: input {port.name} is missing; expected numbers of shape [inputs, "
                f"{', '.join(map(str, port.shape))}]"
            )
        array = np.asarray(given[port.name])
        found[port.name] = array = array[None] if array.shape == tuple(port.shape) else array
        if not array.size:
            raise PlanError(
                f"{network}: input {port.name} has the shape {list(array.shape)}, which holds "
                f"no input"
            )
        try:
            to_graph(port, array)
        except InputError as error:
            raise PlanError(f"{network}: {error}") from None
    if len({len(array) for array in found.values()}) > 1:
        raise PlanError(
            f"{network}: inputs of different numbers: "
            f"{', '.join(f'{name} {len(array)}' for name, array in found.items())}"
        )
    return found
