# SPDX-License-Identifier: BSD-2-Clause
"""Float64 interpreter of a graph in numpy, the reference for every quantised result."""

from collections.abc import Callable, Mapping
from functools import singledispatch

import numpy as np

from ..errors import InputError
from .graph import (
    INDEX_FUNCTIONS,
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Gru,
    LayerNorm,
    Lstm,
    MatMul,
    MaxPool,
    Node,
    Pad,
    Reduce,
    Reshape,
    Slice,
    Softmax,
    TopK,
    Transpose,
)

__all__ = ["activate", "run_graph", "run_node"]

_ELEMENTWISE = {
    "relu": lambda node, x: np.maximum(x, 0),
    "leaky": lambda node, x: np.where(x < 0, node.alpha * x, x),
    "clip": lambda node, x: np.clip(x, node.low, node.high),
    "sigmoid": lambda node, x: 0.5 + 0.5 * np.tanh(0.5 * x),
    "tanh": lambda node, x: np.tanh(x),
    "hard_sigmoid": lambda node, x: np.clip(node.alpha * x + node.beta, 0, 1),
    "hard_swish": lambda node, x: x * np.clip(node.alpha * x + node.beta, 0, 1),
    "exp": lambda node, x: np.exp(x),
    "log": lambda node, x: np.log(x),
    "sqrt": lambda node, x: np.sqrt(x),
    "neg": lambda node, x: -x,
    "abs": lambda node, x: np.abs(x),
    "step": lambda node, x: (x > 0).astype(np.float64),
    "sign": lambda node, x: np.sign(x),
    "floor": lambda node, x: np.floor(x),
    "ceil": lambda node, x: np.ceil(x),
    "round": lambda node, x: np.rint(x),
    "sin": lambda node, x: np.sin(x),
    "cos": lambda node, x: np.cos(x),
    "tan": lambda node, x: np.tan(x),
    "asin": lambda node, x: np.arcsin(x),
    "acos": lambda node, x: np.arccos(x),
    "atan": lambda node, x: np.arctan(x),
    "sinh": lambda node, x: np.sinh(x),
    "cosh": lambda node, x: np.cosh(x),
    "asinh": lambda node, x: np.arcsinh(x),
    "acosh": lambda node, x: np.arccosh(x),
    "atanh": lambda node, x: np.arctanh(x),
}
_BINARY: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}
_REDUCE: dict[str, Callable[..., np.ndarray]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "prod": np.prod,
}


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
            values[node.output] = run_node(node, *(values[name] for name in node.inputs))
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
    low = -(1 << tensor.bits - 1) if tensor.signed else 0
    numbers = np.clip(
        np.rint(values / tensor.scale) + tensor.zero_point, low, low + (1 << tensor.bits) - 1
    )
    return (numbers - tensor.zero_point) * tensor.scale


def run_node(node: Node, *values: np.ndarray) -> np.ndarray:
    """Computes one node, float64. The first axis of every activation counts inputs; for a constant
    it has length one."""
    return _run(node, *values)


def activate(node: Conv | Dense | Binary | Affine, values: np.ndarray) -> np.ndarray:
    """Applies the activation that is fused into ``node`` and its lower bound ``floor``, if it has
    them."""
    values = values if node.activation is None else _run(node.activation, values)
    floor = getattr(node, "floor", None)
    return values if floor is None else np.maximum(values, floor)


@singledispatch
def _run(node: Node, *values):
    raise TypeError(f"no node of the graph: {type(node).__name__}")


@_run.register
def _(node: Activation, x):
    return _ELEMENTWISE[node.function](node, x)


def _padded(x, padding, value=0.0):
    top, left, bottom, right = padding
    return (
        np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)
        if any(padding)
        else x
    )


def _taps(x, size, stride, dilation):
    """Taps of a window: for each, its row and column and the elements [inputs, rows, columns,
    channels] under it."""
    effective_size = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    rows, columns = (length - r for length, r in zip(x.shape[1:3], effective_size, strict=True))
    for row in range(size[0]):
        for column in range(size[1]):
            r, c = row * dilation[0], column * dilation[1]
            yield row, column, x[:, r : r + rows + 1 : stride[0], c : c + columns + 1 : stride[1]]


@_run.register
def _(node: Conv, x, residual=0.0):
    out, rows, columns, inner = node.weights.shape
    grouped = node.weights.reshape(node.groups, out // node.groups, rows, columns, inner)
    total = 0.0
    for row, column, part in _taps(
        _padded(x, node.padding), (rows, columns), node.stride, node.dilation
    ):
        weights = grouped[:, :, row, column]
        if node.groups == 1:
            total = total + part @ weights[0].T
            continue
        part = part.reshape(*part.shape[:3], node.groups, inner)
        product = (
            part * weights[:, :, 0]
            if inner == 1
            else (part[..., None, :] @ weights.transpose(0, 2, 1))[..., 0, :]
        )
        total = total + product.reshape(*part.shape[:3], out)
    return activate(node, total + (0.0 if node.bias is None else node.bias) + residual)


@_run.register
def _(node: Dense, x):
    x = x if node.steps else x.reshape(len(x), -1)
    return activate(node, x @ node.weights.T + (0.0 if node.bias is None else node.bias))


def _aligned(values):
    """Aligns operands for numpy's broadcasting over the graph's axes: inserts axes of one length
    after the batch axis."""
    axes = max(value.ndim for value in values)
    return [
        value.reshape(value.shape[0], *(1,) * (axes - value.ndim), *value.shape[1:])
        for value in values
    ]


@_run.register
def _(node: MatMul, first, second):
    second = second.swapaxes(-1, -2) if node.turned else second
    row, column = first.ndim == 2, second.ndim == 2
    result = np.matmul(
        *_aligned([first[:, None] if row else first, second[..., None] if column else second])
    )
    if column:
        result = result[..., 0]
    return result[..., 0, :] if row and not column else result[..., 0] if row else result


@_run.register
def _(node: Binary, first, second):
    return activate(node, _BINARY[node.function](*_aligned([first, second])))


@_run.register
def _(node: Affine, x):
    return activate(node, node.scale * x + node.shift)


@_run.register
def _(node: MaxPool, x):
    x = _padded(x, node.padding, -np.inf)
    return np.max([part for *_, part in _taps(x, node.window, node.stride, node.dilation)], axis=0)


@_run.register
def _(node: AveragePool, x):
    def total(values):
        return sum(part for *_, part in _taps(values, node.window, node.stride, (1, 1)))

    if node.include_padding:
        return total(_padded(x, node.padding)) / np.prod(node.window)
    return total(_padded(x, node.padding)) / total(
        _padded(np.ones((1, *x.shape[1:3], 1)), node.padding)
    )


@_run.register
def _(node: Reduce, x):
    axes = tuple(1 + axis % (x.ndim - 1) for axis in node.axes)
    if node.function in INDEX_FUNCTIONS:
        return _index(node, x, axes[0])
    return _REDUCE[node.function](x, axis=axes, keepdims=node.keep)


def _index(node, x, axis):
    """Index of the greatest or least element along one axis."""
    x = -x if node.function.startswith("argmin") else x
    if not node.function.endswith("_last"):
        return np.argmax(x, axis=axis, keepdims=node.keep).astype(np.float64)
    behind = np.argmax(np.flip(x, axis), axis=axis, keepdims=node.keep)
    return (x.shape[axis] - 1 - behind).astype(np.float64)


@_run.register
def _(node: TopK, x):
    axis = 1 + node.axis % (x.ndim - 1)
    order = np.argsort(-x if node.largest else x, axis=axis, kind="stable")
    order = np.take(order, range(node.count), axis=axis)
    return order.astype(np.float64) if node.indices else np.take_along_axis(x, order, axis)


@_run.register
def _(node: Softmax, x):
    axis = 1 + node.axis % (x.ndim - 1)
    below = x - x.max(axis=axis, keepdims=True)
    total = np.exp(below).sum(axis=axis, keepdims=True)
    return below - np.log(total) if node.log else np.exp(below) / total


@_run.register
def _(node: Reshape, x):
    return x.reshape(len(x), *node.shape)


@_run.register
def _(node: Transpose, x):
    return x.transpose(0, *(axis + 1 for axis in node.order))


@_run.register
def _(node: Concat, *values):
    count = max(len(value) for value in values)
    whole = [np.broadcast_to(value, (count, *value.shape[1:])) for value in values]
    return np.concatenate(whole, axis=1 + node.axis % (whole[0].ndim - 1))


@_run.register
def _(node: Pad, x):
    return np.pad(
        x, ((0, 0), *zip(node.before, node.after, strict=True)), constant_values=node.value
    )


@_run.register
def _(node: Slice, x):
    index = (slice(None), *map(slice, node.start, node.stop, node.step))
    return x[index]


def _sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def _over_steps(node, x, step):
    """Runs a recurrence: the states of ``step(values of one step, state)`` for all steps. If a
    state consists of several arrays, the first is the output."""
    order = range(x.shape[1])[::-1] if node.reverse else range(x.shape[1])
    names = ("initial", "cell") if isinstance(node, Lstm) else ("initial",)
    state = [
        np.broadcast_to(getattr(node, name), (len(x), node.recurrent.shape[1])) for name in names
    ]
    results = np.zeros((*x.shape[:2], node.recurrent.shape[1]))
    for index in order:
        state = step(x[:, index], *state)
        results[:, index] = state[0]
    return state[0] if node.last else results


@_run.register
def _(node: Lstm, x):
    def step(now, hidden, cell):
        i, o, f, c = np.split(
            now @ node.weights.T + hidden @ node.recurrent.T + node.bias, 4, axis=1
        )
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(c)
        return [_sigmoid(o) * np.tanh(cell), cell]

    return _over_steps(node, x, step)


@_run.register
def _(node: Gru, x):
    def step(now, hidden):
        size = hidden.shape[1]
        given = now @ node.weights.T + node.bias[0]
        gates = _sigmoid(
            given[:, : 2 * size] + hidden @ node.recurrent[: 2 * size].T + node.bias[1, : 2 * size]
        )
        z, r = gates[:, :size], gates[:, size:]
        weights, bias = node.recurrent[2 * size :], node.bias[1, 2 * size :]
        past = (
            r * (hidden @ weights.T + bias)
            if node.linear_before_reset
            else (r * hidden) @ weights.T + bias
        )
        return [(1 - z) * np.tanh(given[:, 2 * size :] + past) + z * hidden]

    return _over_steps(node, x, step)


@_run.register
def _(node: LayerNorm, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return (
        centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + node.epsilon) * node.scale
        + node.shift
    )
