# SPDX-License-Identifier: BSD-2-Clause
"""Float64 interpreter of a graph in numpy, the reference for every quantised result."""

from collections.abc import Mapping

import numpy as np

from ..errors import InputError
from .graph import Graph

__all__ = ["run_graph"]


def run_graph(
    graph: Graph, inputs: Mapping[str, np.ndarray], keep: bool = False, grids: bool = False
) -> dict[str, np.ndarray]:
    """Computes the outputs of a network.

    Parameters
    ----------
    graph : Graph
    inputs : dict, name of each input's tensor -> array, its first axis counts inputs
    keep : bool, every tensor that flows and not only the outputs
    grids : bool, tensors that a QDQ model has quantised are rounded to the numbers that they may
        have there

    Returns
    -------
    dict, tensor name -> float64 array, its first axis counts inputs

    Raises
    ------
    InputError
        An input that is missing or of another shape.
    """
    values, count = {}, None
    for port in graph.inputs:
        if port.tensor not in inputs:
            raise InputError(
                f"no values for the input {port.name}; the network has "
                f"{', '.join(p.name for p in graph.inputs)}"
            )
        value = np.asarray(inputs[port.tensor], np.float64)
        count = value.shape[:1] if count is None else count
        if value.shape != (*count, *graph.shape(port.tensor)):
            raise InputError(
                f"input {port.name} has shape {value.shape}, expected "
                f"{('inputs' if not count else count[0], *graph.shape(port.tensor))}"
            )
        values[port.tensor] = _on_grid(graph.tensors[port.tensor], value) if grids else value
    for name, tensor in graph.tensors.items():
        if tensor.data is not None:
            values[name] = tensor.data[None]
    kept = graph.kept()
    last = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}
    # A result may leave the range of numbers (log of a negative one): that is the network's own,
    # and no warning of ours.
    with np.errstate(all="ignore"):
        for index, node in enumerate(graph.nodes):
            values[node.output] = node.run(*(values[name] for name in node.inputs))
            if grids:
                values[node.output] = _on_grid(graph.tensors[node.output], values[node.output])
            if not keep:
                for name in {*node.inputs, node.output}:
                    if last.get(name, index) == index and name not in kept:
                        values.pop(name, None)
    wanted = (
        kept
        if not keep
        else {name for name, tensor in graph.tensors.items() if tensor.data is None} | kept
    )
    # Nodes whose operands are all constants give one result for all inputs.
    return {
        name: np.broadcast_to(value, (*count, *value.shape[1:])) if count else value
        for name, value in values.items()
        if name in wanted
    }


def _on_grid(tensor, values):
    if tensor.scale is None:
        return values
    part = tensor.zero_point % 1
    return np.clip((np.rint(values / tensor.scale + part) - part) * tensor.scale, *tensor.ends())
