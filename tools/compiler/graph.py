# SPDX-License-Identifier: BSD-2-Clause
"""Intermediate representation of a network: tensors and operator nodes (kinds: ``nodes/``); maps
are (rows, columns, channels).

Shapes leave out the axis of the inputs (the batch): a map is ``(rows, columns, channels)``, a
vector ``(features,)``, a sequence ``(steps, features)``. Every tensor keeps the name that the
model's file gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .nodes.arithmetic import Affine, Binary, Dense, MatMul
from .nodes.movement import Concat, Movement, Pad, Reshape, Slice, Transpose
from .nodes.node import HOST_FUNCTIONS, Activation, Node
from .nodes.recurrent import Gru, Lstm
from .nodes.reductions import INDEX_FUNCTIONS, LayerNorm, Reduce, Softmax, TopK
from .nodes.windows import AveragePool, Conv, MaxPool

__all__ = [
    "Activation",
    "Affine",
    "AveragePool",
    "Binary",
    "Concat",
    "Conv",
    "Dense",
    "Graph",
    "Gru",
    "HOST_FUNCTIONS",
    "INDEX_FUNCTIONS",
    "LayerNorm",
    "Lstm",
    "MatMul",
    "MaxPool",
    "Movement",
    "Node",
    "Pad",
    "Port",
    "Reduce",
    "Reshape",
    "Slice",
    "Softmax",
    "State",
    "Tensor",
    "TopK",
    "Transpose",
]


@dataclass(eq=False)
class Tensor:
    """A tensor of the graph: an activation, or a constant with its ``data``.

    Attributes
    ----------
    name : str, as in the model's file
    shape : tuple of int, without the axis of the inputs; of a constant its whole shape
    data : float64 array of a constant, else ``None``
    scale : float or (for a constant) float array,
        of a tensor that a QDQ model has quantised; ``None`` where it says nothing
    zero_point : float, of the same; with a fraction where a pass has moved the grid
    bits, signed : of the same
    """

    name: str
    shape: tuple[int, ...]
    data: np.ndarray | None = None
    scale: float | np.ndarray | None = None
    zero_point: float = 0
    bits: int = 8
    signed: bool = True

    @property
    def size(self) -> int:
        """Number of elements, for one input."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def least(self) -> int:
        """Least integer of the grid."""
        return -(1 << self.bits - 1) if self.signed else 0

    def ends(self) -> np.ndarray:
        """Least and greatest value of the grid, of a tensor that has one: float64 [2]."""
        assert self.scale is not None
        numbers = self.least + np.array([0, (1 << self.bits) - 1])
        return (numbers - self.zero_point) * self.scale

    def take_grid(self, other: Tensor) -> None:
        """Copies the grid of another tensor."""
        self.scale, self.zero_point = other.scale, other.zero_point
        self.bits, self.signed = other.bits, other.signed


@dataclass(frozen=True)
class Port:
    """An input or output of the network in the user's layout: name, shape, axis order, scale.

    Attributes
    ----------
    name : str, as the model's file calls it
    tensor : str, the graph's tensor
    order : tuple of int
        Axes of the user's array (without that of the inputs), in the order in which the graph's
        tensor has them: ``(1, 2, 0)`` for an input of channels, rows, columns.
    shape : tuple of int, of the user's array without the axis of the inputs
    batched : bool, whether the model's own array has an axis of inputs
    scale : float, of a model whose user has whole numbers:
        q stands for (q - ``zero_point``) * ``scale``, which the graph's tensor holds; ``None``
        where the user's array holds the tensor's own numbers
    zero_point, bits, signed : of the same
    factor : tuple of float, one for each element of the tensor's last axis:
        factor by which the host multiplies an output's values, before it adds the offset; ``None``:
        nothing
    offset : tuple of float, one for each element of the tensor's last axis:
        offset that the host subtracts from an input's values, and adds to an output's; ``None``:
        nothing
    """

    name: str
    tensor: str
    order: tuple[int, ...]
    shape: tuple[int, ...]
    batched: bool = True
    scale: float | None = None
    zero_point: int = 0
    bits: int = 8
    signed: bool = True
    offset: tuple[float, ...] | None = None
    factor: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class State:
    """A tensor that is kept between inferences: the network's output ``output`` becomes its input
    ``input`` of the next inference. ``initial``: value for the first inference, float64 of the
    shape of ``input``, in the user's layout."""

    input: Port
    output: Port
    initial: np.ndarray


@dataclass(eq=False)
class Graph:
    """A network: its ports, its tensors by name and its nodes in execution order.

    Attributes
    ----------
    name : str
    inputs, outputs : list of Port
    nodes : list of Node, each after those whose results it reads
    tensors : dict, name -> Tensor; every input and output of a node
    recurrent : list of (output, input), names of the ports of an imported model that are the
        last and the first state of one recurrent layer
    vocabulary : tuple of str, texts of the tokens of an imported language model
    """

    name: str
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    recurrent: list[tuple[str, str]] = field(default_factory=list)
    vocabulary: tuple[str, ...] = ()

    def maker(self, tensor: str) -> Node | None:
        """The node that produces a tensor, ``None`` for an input or a constant."""
        return next((node for node in self.nodes if node.output == tensor), None)

    def readers(self, tensor: str) -> list[Node]:
        """The nodes that consume a tensor."""
        return [node for node in self.nodes if tensor in node.inputs]

    def kept(self) -> set[str]:
        """Names of the tensors that are outputs of the network."""
        return {port.tensor for port in self.outputs}

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Shape of a tensor, without the batch axis."""
        return self.tensors[tensor].shape

    def part(self, nodes: Sequence[Node]) -> Graph:
        """The subgraph of some nodes. Tensors that cross its boundary become its ports: the
        network's own port if the tensor has one, else a port with the tensor's name."""
        inside, made, read = (
            {id(node) for node in nodes},
            {node.output for node in nodes},
            {name for node in nodes for name in node.inputs},
        )
        outside = {name for node in self.nodes if id(node) not in inside for name in node.inputs}
        tensors = {name: tensor for name, tensor in self.tensors.items() if name in made | read}

        def port(name):
            return Port(name, name, tuple(range(len(self.shape(name)))), tuple(self.shape(name)))

        own = {port.tensor: port for port in self.inputs}
        inputs = [
            own.get(name) or port(name)
            for name, tensor in tensors.items()
            if name in read - made and tensor.data is None
        ]
        outputs = [port for port in self.outputs if port.tensor in made]
        outputs += [port(name) for name in tensors if name in made & outside - self.kept()]
        return Graph(self.name, inputs, outputs, list(nodes), tensors)

    def macs(self, node: Node) -> int:
        """Multiply-accumulates of a node for one input, padding included."""
        return node.macs([self.shape(name) for name in node.inputs], self.shape(node.output))
