# SPDX-License-Identifier: BSD-2-Clause
"""Runs on the calibration inputs: checks and batches of the inputs, statistics of every tensor, and
execution layer by layer, in floating point and in the core's integers side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, suggestion
from ..evaluate import run_graph
from ..graph import Graph, Node, Port, Tensor
from ..quantised import Quantised

if TYPE_CHECKING:
    from ..backends.base import Backend

__all__ = [
    "Seen",
    "Walk",
    "alone",
    "batches",
    "check_calibration",
    "collect",
    "copy_of",
    "evenly",
    "fewer",
    "run_alone",
]


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


#: Elements that are kept of a tensor.
SAMPLES = 1 << 16


@dataclass(eq=False)
class Seen:
    """Statistics of one tensor on the calibration inputs.

    Attributes
    ----------
    most : greatest size of an element; ``low``, ``high``: least and greatest element
    sample : float64 [some of the elements], drawn evenly
    channel_most, channel_power, channel_active : of the last axis, greatest size, mean of the
    squares, share of elements that are not 0
    channel_inputs : in how many of the inputs the channel is not all 0
    channel_low, channel_high, channel_mean : of the last axis, least and greatest element, mean
    """

    most: float
    low: float
    high: float
    sample: np.ndarray
    channel_most: np.ndarray
    channel_power: np.ndarray
    channel_active: np.ndarray
    channel_inputs: np.ndarray
    channel_low: np.ndarray
    channel_high: np.ndarray
    channel_mean: np.ndarray


def collect(graph: Graph, values: Mapping[str, np.ndarray], seed: int = 0) -> dict[str, Seen]:
    """Collects :class:`Seen` of every activation tensor, by name; ``values``: result of
    :func:`~.calibration.check_calibration`.

    Raises
    ------
    InputError
        A tensor that the network itself makes infinite, or no number.
    """
    random, count = np.random.default_rng(seed), len(next(iter(values.values())))
    parts: dict[str, Any] = {}
    for batch in batches(graph, values):
        share = len(next(iter(batch.values()))) / count
        for name, array in run_graph(graph, batch, keep=True).items():
            if not np.isfinite(array).all():
                bad = array[~np.isfinite(array)][0]
                raise InputError(
                    f"tensor {name} becomes {bad} on the calibration inputs, expected finite "
                    f"numbers"
                )
            # A number without axes is one channel; the first axis counts inputs.
            channels = array.shape[-1] if array.ndim > 1 else 1
            flat = array.reshape(-1, channels)
            wanted = int(np.ceil(SAMPLES * share))
            sample = (
                array.ravel()
                if array.size <= wanted
                else array.ravel()[random.integers(0, array.size, wanted)]
            )
            low, high = flat.min(axis=0), flat.max(axis=0)
            parts.setdefault(name, []).append(
                (
                    low,
                    high,
                    sample,
                    flat.mean(axis=0) * share,
                    np.square(flat).mean(axis=0) * share,
                    (flat != 0).mean(axis=0) * share,
                    (array.reshape(len(array), -1, channels) != 0).any(axis=1).sum(axis=0),
                )
            )
    result = {}
    for name, seen in parts.items():
        lows, highs, samples, means, powers, active, inputs = zip(*seen, strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        most = np.maximum(-low, high)
        result[name] = Seen(
            most=float(most.max()),
            low=float(low.min()),
            high=float(high.max()),
            sample=np.concatenate(samples),
            channel_most=most,
            channel_power=np.sum(powers, axis=0),
            channel_active=np.sum(active, axis=0),
            channel_inputs=np.sum(inputs, axis=0),
            channel_low=low,
            channel_high=high,
            channel_mean=np.sum(means, axis=0),
        )
    return result


def alone(graph: Graph, node: Node) -> Graph:
    """A graph of a single node of ``graph``, with its activation inputs and its output."""
    tensors = {name: graph.tensors[name] for name in [*node.inputs, node.output]}
    flowing = list(dict.fromkeys(name for name in node.inputs if tensors[name].data is None))

    def port(name):
        shape = tuple(tensors[name].shape)
        return Port(name, name, tuple(range(len(shape))), shape)

    return Graph(node.name, [port(name) for name in flowing], [port(node.output)], [node], tensors)


def run_alone(
    backend: Backend, quantised: Quantised, node: Node, numbers: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Result of a single node in the core's numbers, by the back end's reference on a graph of this
    node alone; ``numbers`` of its operands."""
    single = alone(quantised.graph, node)
    one = Quantised(graph=single, scales=quantised.scales, layers=quantised.layers)
    result = backend.reference(one, {port.tensor: numbers[port.tensor] for port in single.inputs})
    return np.asarray(result[node.output])


class Walk:
    """Values of all tensors that later nodes still read.

    Parameters
    ----------
    graph : Graph
    backend : Backend
    inputs : dict, tensor name -> float64 array

    Attributes
    ----------
    real, whole : dict, tensor name -> float64 values, the core's whole numbers
    """

    def __init__(self, graph: Graph, backend: Backend, inputs: Mapping[str, np.ndarray]):
        self.graph, self.backend = graph, backend
        self.real = dict(inputs)
        self.whole: dict[str, np.ndarray] = {}
        self._last = {name: index for index, node in enumerate(graph.nodes) for name in node.inputs}

    def operand(self, name: str) -> np.ndarray:
        """Real values of an operand of a node; a constant gets a batch axis of one."""
        data = self.graph.tensors[name].data
        return self.real[name] if data is None else data[None]

    def run_real(self, node: Node) -> None:
        """Computes a node in floating point."""
        with np.errstate(all="ignore"):
            value = node.run(*(self.operand(name) for name in node.inputs))
        count = len(next(iter(self.real.values())))
        self.real[node.output] = np.broadcast_to(value, (count, *value.shape[1:]))

    def run_whole(self, node: Node, quantised: Quantised) -> np.ndarray:
        """Computes the node in the core's integers (:func:`run_alone`)."""
        self.whole[node.output] = run_alone(self.backend, quantised, node, self.whole)
        return self.whole[node.output]

    def forget(self, index: int) -> None:
        """Drops tensors that no node after ``index`` reads."""
        node = self.graph.nodes[index]
        for name in {*node.inputs, node.output}:
            if self._last.get(name, index) <= index:
                self.real.pop(name, None)
                self.whole.pop(name, None)


def copy_of(graph: Graph) -> Graph:
    """A copy of the graph whose lists and tensors can be changed independently."""
    tensors = {name: Tensor(**vars(tensor)) for name, tensor in graph.tensors.items()}
    return Graph(graph.name, list(graph.inputs), list(graph.outputs), list(graph.nodes), tensors)
