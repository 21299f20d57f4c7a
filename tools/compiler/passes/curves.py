# SPDX-License-Identifier: BSD-2-Clause
"""Elementwise functions that a core lacks: exactly, by others that it has, or, if the user allows
it, approximated by sums of relus, which are two convolutions of each channel by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..evaluate import run_graph
from ..graph import (
    HOST_FUNCTIONS,
    Activation,
    Affine,
    Binary,
    Conv,
    Graph,
    Node,
    Reshape,
    Tensor,
)
from .folding import recognise_hard_swish
from .rewriting import RULES, apply

if TYPE_CHECKING:
    from ..backends.base import Backend

__all__ = [
    "Approximation",
    "Fit",
    "approximable",
    "approximated",
    "check_relus",
    "fit",
    "substituted",
]

#: Least and greatest number of relus of an approximation.
FEWEST, MOST = 2, 64
#: Share of the range seen by which a function is approximated beyond it, on either side.
_MARGIN = 0.1
#: Cells of the range at whose borders a relu can begin, and points of each.
_CELLS, _FINE = 256, 8
#: Weight of the range as a whole beside that of the values seen.
_EVEN = 0.1


# Exact


def substituted(graph: Graph, backend: Backend) -> Graph:
    """Rewrites hard sigmoid and hard swish for a core that lacks them: as scale, shift and clip,
    and as the product of its source and a hard sigmoid. Returns ``graph`` itself if there is
    nothing to rewrite."""
    if backend.floating or backend.host_free:
        return graph
    made = graph
    for node in graph.nodes:
        if _is_lacking(graph, node, backend):
            made = _with_parts(made, node, backend)
    if made is graph:
        return graph
    # A product that has just been taken apart is not to be recognised again.
    return apply(made, [rule for rule in RULES.values() if rule is not recognise_hard_swish])


def _with_parts(graph, node, backend):
    """The graph with ``node`` replaced by its parts, if the core runs these: else one step of the
    host is better than two."""
    changed = Graph(graph.name, graph.inputs, graph.outputs, [], dict(graph.tensors))
    parts = _parts(changed, node)
    for one in graph.nodes:
        changed.nodes += parts if one.name == node.name else [one]
    runs = all(backend.check_support(changed, part).runs for part in parts)
    return changed if runs else graph


def _is_lacking(graph, node, backend):
    """Whether a node is a hard sigmoid or hard swish that the core does not run."""
    return (
        isinstance(node, Activation)
        and node.function in ("hard_sigmoid", "hard_swish")
        and node.name not in backend.forced_to_host
        and not backend.check_support(graph, node).runs
    )


def _parts(graph, node):
    """Nodes that compute a hard sigmoid or hard swish; adds their tensors to ``graph``."""
    swish = node.function == "hard_swish"
    channels = graph.shape(node.output)[-1] if graph.shape(node.output) else 1
    name, output = (
        (f"{node.name}:gate", f"{node.output}:gate") if swish else (node.name, node.output)
    )
    clip = Activation(
        name=f"{node.name}:clip", inputs=[], output="", function="clip", low=0.0, high=1.0
    )
    gate = Affine(
        name=name,
        inputs=list(node.inputs),
        output=output,
        origin=node.origin,
        scale=np.full(channels, node.alpha),
        shift=np.full(channels, node.beta),
        activation=clip,
    )
    if not swish:
        return [gate]
    graph.tensors[output] = Tensor(output, graph.shape(node.output))
    product = Binary(
        name=node.name,
        inputs=[node.inputs[0], output],
        output=node.output,
        origin=node.origin,
        function="mul",
    )
    return [gate, product]


# Approximated


@dataclass(frozen=True)
class Fit:
    """A sum of relus, ``weights`` . relu(``slopes`` x + ``shifts``) + ``constant``, arrays
    [relus]; ``error``: its greatest distance from the function on the range that it was made
    for."""

    slopes: np.ndarray
    shifts: np.ndarray
    weights: np.ndarray
    constant: float
    error: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The sum for every element of ``x``."""
        hidden = np.maximum(x[..., None] * self.slopes + self.shifts, 0)
        return hidden @ self.weights + self.constant


@dataclass(frozen=True)
class Approximation:
    """An approximated function in a network: the name of the node that ends it, the operators that
    it stands for, and its :class:`Fit`."""

    name: str
    origin: str
    fit: Fit


def check_relus(relus: int | None) -> None:
    """Raises InputError if an approximation cannot have this number of relus."""
    if relus is not None and not FEWEST <= relus <= MOST:
        raise InputError(f"approximate is {relus}, expected {FEWEST} to {MOST} relus")


def fit(values: np.ndarray, function: Any, relus: int) -> Fit:
    """The :class:`Fit` of ``function`` (of an array) with this number of relus: of least squared
    error over ``values``, a sample of what it is expected to get, and a little over their range.
    Raises ValueError if the function is not finite there."""
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * max(high - low, 1e-6)
    grid = np.linspace(low - margin, high + margin, _CELLS * _FINE + 1)
    with np.errstate(all="ignore"):
        curve = function(grid)
    if not np.isfinite(curve).all():
        raise ValueError(f"no finite numbers between {grid[0]:.4g} and {grid[-1]:.4g}")
    half = (grid[1] - grid[0]) / 2
    counts = np.histogram(values, grid.size, (grid[0] - half, grid[-1] + half))[0]
    weight = counts / values.size + _EVEN / grid.size
    # The first relu begins to the left of all values and gives the first segment its slope.
    starts = grid[_knots(grid, curve, weight, relus)]
    hidden = np.maximum(grid[:, None] - starts, 0)
    root = np.sqrt(weight)
    columns = np.concatenate([hidden, np.ones((grid.size, 1))], axis=1) * root[:, None]
    found = np.linalg.lstsq(columns, curve * root, rcond=None)[0]
    made = Fit(np.ones(relus), -starts, found[:-1], float(found[-1]), 0.0)
    inside = (grid >= low) & (grid <= high)
    error = np.abs(made(grid) - curve)[inside].max(initial=0.0)
    return replace(made, error=float(error))


def _knots(grid, curve, weight, relus):
    """Where the relus begin, as indices into ``grid``: the cut into segments, each with a line of
    its own, whose total squared error is least, by dynamic programming over cells of the grid."""
    terms = (grid * 0 + 1, grid, grid**2, curve, grid * curve, curve**2)
    sums = np.array([np.concatenate([[0], np.cumsum(weight * term)]) for term in terms])
    at = np.arange(_CELLS + 1) * _FINE
    # Of the points from cell i up to cell j: weight, and moments of x and y.
    n, x, xx, y, xy, yy = sums[:, at][:, None, :] - sums[:, at][:, :, None]
    with np.errstate(all="ignore"):
        spread, shared = xx - x * x / n, xy - x * y / n
        cost = yy - y * y / n - shared * np.nan_to_num(shared / spread)
    cost = np.where(np.arange(_CELLS + 1)[:, None] < np.arange(_CELLS + 1), cost, np.inf)
    cost = np.maximum(np.nan_to_num(cost, nan=np.inf, posinf=np.inf), 0)
    best, cuts = cost[0], []
    for _ in range(relus - 1):
        total = best[:, None] + cost
        cuts.append(total.argmin(axis=0))
        best = total.min(axis=0)
    place, found = _CELLS, []
    for before in reversed(cuts):
        place = int(before[place])
        found.append(place)
    return at[[0, *reversed(found)]]


def approximated(
    graph: Graph, backend: Backend, values: Mapping[str, np.ndarray], relus: int
) -> tuple[Graph, list[Approximation]]:
    """Approximates the elementwise functions that a core does not run, each with all elementwise
    neighbours that work on the same tensor (as in x * sigmoid(x)), and returns the new graph and
    what was approximated.

    Parameters
    ----------
    graph : Graph, simplified
    backend : Backend
    values : dict, name of every input's tensor -> calibration inputs
    relus : number of relus
    """
    if backend.floating or backend.host_free:
        return graph, []
    graph = substituted(graph, backend)
    families = _Families(graph, backend)
    wanted = families.wanted()
    if not wanted:
        return graph, []
    seen = run_graph(graph, values, keep=True)
    result = Graph(graph.name, graph.inputs, graph.outputs, [], dict(graph.tensors))
    made = []
    for node in graph.nodes:
        parts: list[Node] = [node]
        if node.output in wanted:
            root = families.root[node.output]
            try:
                found = fit(np.ravel(seen[root]), families.function(node.output), relus)
            except ValueError:
                found = None
            if found is not None:
                parts = _sum_of_relus(result, node, root, found)
                made.append(Approximation(node.name, families.origin(node.output), found))
        result.nodes += parts
    return (apply(result, RULES.values()), made) if made else (graph, [])


def approximable(graph: Graph, backend: Backend) -> set[str]:
    """Names of the nodes of a simplified graph that the core does not run, and that
    :func:`approximated` replaces."""
    if backend.floating or backend.host_free:
        return set()
    families = _Families(graph, backend)
    return {
        node.name
        for tensor in families.wanted()
        for node in families.members(tensor)
        if not backend.check_support(graph, node).runs
    }


class _Families:
    """Tensors of a graph that are elementwise functions of one other tensor.

    Attributes
    ----------
    root : dict, tensor name -> the tensor that it is a function of, itself if it is none
    """

    def __init__(self, graph: Graph, backend: Backend):
        self._graph, self._backend = graph, backend
        self.root: dict[str, str] = {port.tensor: port.tensor for port in graph.inputs}
        for node in graph.nodes:
            self.root[node.output] = self._root(node)

    def _root(self, node):
        """The tensor that the node's result is an elementwise function of."""
        graph, name = self._graph, node.output
        flowing = [one for one in node.inputs if graph.tensors[one].data is None]
        roots = {self.root[one] for one in flowing}
        constants = [graph.tensors[one].data for one in node.inputs if one not in flowing]
        shape = graph.shape(name)
        if (
            len(roots) != 1
            or not 1 <= len(shape) <= 3
            or any(graph.shape(one) != shape for one in flowing)
            or any(data.size != 1 for data in constants)
            or not _is_elementwise(node)
            or node.name in self._backend.forced_to_host
        ):
            return name
        return roots.pop()

    def members(self, tensor: str) -> list[Node]:
        """The nodes between a tensor's root and the tensor, in order."""
        needed, found = {tensor}, []
        for node in reversed(self._graph.nodes):
            if node.output in needed and node.output != self.root[tensor]:
                found.append(node)
                needed |= set(node.inputs)
        return found[::-1]

    def wanted(self) -> set[str]:
        """Tensors to approximate: those that other nodes read and whose computation holds a node
        that the core does not run. What stands last in a network the host may compute exactly."""
        found = set()
        for node in self._graph.nodes:
            name = node.output
            outside = any(
                self.root[reader.output] != self.root[name] for reader in self._graph.readers(name)
            )
            if self.root[name] == name or not outside:
                continue
            members = self.members(name)
            if not all(self._backend.check_support(self._graph, one).runs for one in members):
                found.add(name)
        return found

    def function(self, tensor: str) -> Any:
        """A tensor as a function of its root: callable(array)."""
        members = self.members(tensor)

        def run(x):
            values = {self.root[tensor]: np.asarray(x)[:, None]}
            for node in members:
                data = [self._graph.tensors[name].data for name in node.inputs]
                operands = [
                    values[name] if own is None else own.reshape(1, 1)
                    for name, own in zip(node.inputs, data, strict=True)
                ]
                values[node.output] = _single(node).run(*operands)
            return values[tensor][:, 0]

        return run

    def origin(self, tensor: str) -> str:
        """The operators that a tensor's computation stands for."""
        return "+".join(node.origin or node.kind for node in self.members(tensor))


def _is_elementwise(node):
    """Whether a node computes each element of its result from the same element of its operands, in
    the same continuous way for all channels."""
    if isinstance(node, Affine):
        return np.ptp(node.scale) == 0 and np.ptp(node.shift) == 0
    return (
        isinstance(node, Binary)
        or isinstance(node, Activation)
        and node.function not in HOST_FUNCTIONS
    )


def _single(node):
    """An elementwise node for tensors of one channel."""
    if isinstance(node, Affine):
        return replace(node, scale=np.ravel(node.scale)[:1], shift=np.ravel(node.shift)[:1])
    return node


def _sum_of_relus(graph, node, root, fit):
    """Nodes that compute a fit of the tensor ``root`` as the result of ``node``; adds their tensors
    to ``graph``."""
    shape = graph.shape(node.output)
    channels, relus = shape[-1], len(fit.slopes)
    # Cores have a sequence as a map of one column.
    rows = {1: (1, 1, *shape), 2: (shape[0], 1, shape[-1]), 3: shape}[len(shape)]
    nodes = []

    def put(kind, part, source, made, **attributes):
        name = f"{node.name}:{part}" if part else node.name
        output = f"{node.output}:{part}" if part else node.output
        if part:
            graph.tensors[output] = Tensor(output, made)
        nodes.append(
            kind(name=name, inputs=[source], output=output, origin=node.origin, **attributes)
        )
        return output

    source = root if rows == shape else put(Reshape, "map", root, rows, shape=rows)
    relu = Activation(name=f"{node.name}:relu", inputs=[], output="", function="relu")
    hidden = put(
        Conv,
        "hidden",
        source,
        (*rows[:2], channels * relus),
        weights=np.tile(fit.slopes, channels).reshape(-1, 1, 1, 1),
        bias=np.tile(fit.shifts, channels),
        groups=channels,
        activation=relu,
    )
    total = put(
        Conv,
        "" if rows == shape else "sum",
        hidden,
        rows,
        weights=np.tile(fit.weights, (channels, 1)).reshape(channels, 1, 1, relus),
        bias=np.full(channels, fit.constant),
        groups=channels,
    )
    if rows != shape:
        put(Reshape, "", total, shape, shape=shape)
    return nodes
