# SPDX-License-Identifier: BSD-2-Clause
"""Maps of one axis as vectors: convolutions over few elements become dense layers.

A core that joins and cuts channels alone has no windows over time. In a stream a call sees few
elements of time, so that a vector of all their channels is short, and a convolution over them a
small matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..graph import (
    Activation,
    Affine,
    AveragePool,
    Binary,
    Concat,
    Conv,
    Dense,
    Graph,
    Node,
    Reduce,
    Reshape,
    Slice,
    Tensor,
    Transpose,
)

__all__ = ["as_vectors"]


def as_vectors(graph: Graph, selections: bool = False) -> Graph:
    """Replaces tensors of one axis (beside the channels) by vectors, except inputs and outputs of
    the network that are maps. ``selections``: slices of vectors become dense layers, for cores
    without slices of channels."""
    return _Vectors(graph, selections).graph()


def _lengths(shape):
    """Shape (elements, channels) of a tensor with one axis beside the channels, else ``None``."""
    if not shape:
        return None
    others = [length for length in shape[:-1] if length > 1]
    if len(others) > 1:
        return None
    return int(np.prod(shape[:-1], dtype=int)), shape[-1]


class _Vectors:
    def __init__(self, graph, selections):
        self.source, self.selections = graph, selections
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.flat: dict[str, str] = {}  # tensor -> the vector of its elements
        self.taken = set(graph.tensors)

    def graph(self):
        source = self.source
        inputs = [self._input(port) for port in source.inputs]
        for name, tensor in source.tensors.items():
            if tensor.data is not None:
                self.tensors[name] = tensor
        for node in source.nodes:
            if not self._converted(node):
                self._kept(node)
        outputs = [self._output(port) for port in source.outputs]
        return Graph(source.name, inputs, outputs, self.nodes, self.tensors)

    # Ports

    def _input(self, port):
        tensor = self.source.tensors[port.tensor]
        if self._in_order(port, tensor.shape):
            port = replace(port, order=(0,), shape=(tensor.size,))
            tensor = replace(tensor, shape=(tensor.size,))
        self.tensors[port.tensor] = tensor
        return port

    @staticmethod
    def _in_order(port, shape):
        """Whether a port belongs to a state, whose array may have any shape that both ends
        share."""
        return port.name.endswith((":past", ":next")) and port.order == tuple(range(len(shape)))

    def _output(self, port):
        name = port.tensor
        shape = self.source.shape(name)
        if self._in_order(port, shape):
            return replace(
                port, tensor=self._vector(name), order=(0,), shape=(int(np.prod(shape)),)
            )
        self._mapped(name)
        return port

    # Tensors

    def _new(self, stem, like, shape):
        """Adds a tensor with the grid of another."""
        name = stem
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.tensors[name] = replace(self.source.tensors[like], name=name, shape=tuple(shape))
        return name

    def _vector(self, name):
        """Name of the vector of a tensor's elements."""
        if name not in self.flat:
            if len(self.tensors[name].shape) == 1:
                self.flat[name] = name
            else:
                size = self.source.tensors[name].size
                vector = self._new(f"{name}:vector", name, (size,))
                self.nodes.append(Reshape(name=vector, inputs=[name], output=vector, shape=(size,)))
                self.flat[name] = vector
        return self.flat[name]

    def _mapped(self, name):
        """Adds the tensor itself if only its vector exists."""
        if name not in self.tensors:
            tensor = self.source.tensors[name]
            self.tensors[name] = tensor
            self.nodes.append(
                Reshape(
                    name=f"{name}:map", inputs=[self.flat[name]], output=name, shape=tensor.shape
                )
            )
        return name

    def _add(self, node, inputs, make):
        """Adds the node ``make(inputs, output)``, whose output is the vector of a node's result."""
        name = node.output
        shape = self.source.shape(name)
        if len(shape) == 1:
            self.tensors[name] = self.source.tensors[name]
            vector = name
        else:
            vector = self._new(f"{name}:vector", name, (int(np.prod(shape, dtype=int)),))
        self.flat[name] = vector
        self.nodes.append(make([self._vector(one) for one in inputs], vector))

    # Nodes

    def _kept(self, node):
        inputs = [
            name if self.source.tensors[name].data is not None else self._mapped(name)
            for name in node.inputs
        ]
        self.tensors[node.output] = self.source.tensors[node.output]
        self.nodes.append(replace(node, inputs=inputs))

    def _converted(self, node):
        """Adds a node's vector form; returns whether it has one."""
        flowing = [name for name in node.inputs if self.source.tensors[name].data is None]
        shapes = [self.source.shape(name) for name in (*flowing, node.output)]
        if not flowing or any(_lengths(shape) is None for shape in shapes):
            return False
        if all(len(shape) == 1 for shape in shapes) and not isinstance(node, Slice):
            return False
        if isinstance(node, Conv | AveragePool | Reduce | Dense):
            return self._linear(node)
        if isinstance(node, Reshape | Transpose):
            return self._moved(node)
        if isinstance(node, Concat | Slice):
            return self._parts(node)
        if isinstance(node, Activation | Affine | Binary):
            return self._elementwise(node, flowing)
        return False

    def _linear(self, node):
        matrix = _matrix(node, self.source.shape(node.inputs[0]), self.source.shape(node.output))
        if matrix is None or len(node.inputs) > 1:
            return False
        count = len(matrix)

        def repeated(values):
            return None if values is None else np.tile(values, count // len(values))

        scale = getattr(node, "weight_scale", None)
        self._add(
            node,
            node.inputs,
            lambda inputs, output: Dense(
                name=node.name,
                inputs=inputs,
                output=output,
                origin=node.origin,
                weights=matrix,
                bias=repeated(getattr(node, "bias", None)),
                activation=getattr(node, "activation", None),
                weight_scale=repeated(None if scale is None else np.atleast_1d(scale)),
            ),
        )
        return True

    def _moved(self, node):
        shape = self.source.shape(node.inputs[0])
        if isinstance(node, Transpose):
            long = [axis for axis in node.order if shape[axis] > 1]
            if long != sorted(long):
                return False
        self.flat[node.output] = self._vector(node.inputs[0])
        return True

    def _parts(self, node):
        """Adds a concatenation along the axis of the elements, or a slice of it."""
        shape = self.source.shape(node.output)
        if isinstance(node, Concat):
            axis = node.axis % len(shape)
            if any(length > 1 for length in shape[:axis]):
                return False
            self._add(
                node,
                node.inputs,
                lambda inputs, output: replace(node, inputs=inputs, output=output, axis=0),
            )
            return True
        before = self.source.shape(node.inputs[0])
        numbers = np.arange(np.prod(before)).reshape(before)
        cut = [
            slice(start, stop, step)
            for start, stop, step in zip(node.start, node.stop, node.step, strict=True)
        ]
        numbers = numbers[tuple(cut)].ravel()
        in_a_row = np.array_equal(numbers, np.arange(numbers[0], numbers[0] + len(numbers)))
        if self.selections:
            matrix = np.zeros((len(numbers), int(np.prod(before))))
            matrix[np.arange(len(numbers)), numbers] = 1.0
            self._add(
                node,
                node.inputs,
                lambda inputs, output: Dense(
                    name=node.name,
                    inputs=inputs,
                    output=output,
                    origin=node.origin,
                    weights=matrix,
                ),
            )
        elif in_a_row:
            first = int(numbers[0])
            self._add(
                node,
                node.inputs,
                lambda inputs, output: replace(
                    node,
                    inputs=inputs,
                    output=output,
                    start=(first,),
                    stop=(first + len(numbers),),
                    step=(1,),
                ),
            )
        else:
            return False
        return True

    def _elementwise(self, node, flowing):
        shape = self.source.shape(node.output)
        if any(self.source.shape(name) != shape for name in flowing):
            return False
        if isinstance(node, Affine):
            elements = int(np.prod(shape[:-1], dtype=int))
            node = replace(
                node, scale=np.tile(node.scale, elements), shift=np.tile(node.shift, elements)
            )
        constants = {}
        for name in node.inputs:
            data = self.source.tensors[name].data
            if data is not None:
                constants[name] = self._new(f"{name}:{node.name}", name, (int(np.prod(shape)),))
                self.tensors[constants[name]] = replace(
                    self.tensors[constants[name]], data=np.broadcast_to(data, shape).ravel().copy()
                )
        self.flat |= {name: vector for name, vector in constants.items()}
        self._add(
            node,
            node.inputs,
            lambda inputs, output: replace(node, inputs=inputs, output=output),
        )
        for name in constants:
            del self.flat[name]
        return True


def _matrix(node, before, after):
    """Matrix [results, operands] of a linear node on vectors; ``None`` if it has none."""
    if isinstance(node, Dense):
        if not node.steps:
            return node.weights
        return np.kron(np.eye(before[0]), node.weights)
    if isinstance(node, Reduce):
        return _reduction(node, before, after)
    probe = np.eye(int(np.prod(before))).reshape(-1, *before)
    if isinstance(node, AveragePool):
        if any(node.padding) and not node.include_padding:
            return None
        plain = node
    else:
        plain = replace(node, bias=None, activation=None)

    return plain.run(probe).reshape(len(probe), -1).T


def _reduction(node, before, after):
    """Matrix of a mean or sum."""
    if node.function not in ("mean", "sum"):
        return None

    probe = np.eye(int(np.prod(before))).reshape(-1, *before)
    return node.run(probe).reshape(len(probe), -1).T
