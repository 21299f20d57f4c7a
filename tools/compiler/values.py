# SPDX-License-Identifier: BSD-2-Clause
"""Between a user's arrays, a graph's real numbers, and what a machine holds."""

import numpy as np

from ..errors import InputError, suggestion
from .plan import PlanError
from .ports import to_graph

__all__ = ["check_arrays", "check_inputs", "to_numbers", "to_values"]


def to_numbers(part, tensor, values):
    """Real ``values`` of a tensor as the machine has them: whole numbers, or float32 where it has
    no scale."""
    scale = part.scales.get(tensor)
    return np.asarray(values, np.float32) if scale is None else scale.quantise(values)


def to_values(part, tensor, numbers):
    """The real numbers, float64, that a machine's ``numbers`` stand for."""
    scale = part.scales.get(tensor)
    return np.asarray(numbers, np.float64) if scale is None else scale.value(numbers)


def check_inputs(network, ports, given):
    """Arrays by the names of ``ports`` as the graph has them, tensor name -> float64 with the first
    axis of inputs; errors as :func:`check_arrays`."""
    arrays = check_arrays(network, ports, given)
    return {port.tensor: to_graph(port, arrays[port.name]) for port in ports}


def check_arrays(network, ports, given):
    """Arrays by the names of ``ports`` as the user has them, each with its axis of inputs, which
    may be left out for one.

    Raises
    ------
    PlanError
        A name that is missing or unknown, another shape, what is no finite number, different
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
