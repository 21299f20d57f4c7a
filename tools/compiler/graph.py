# SPDX-License-Identifier: BSD-2-Clause
"""Intermediate representation of a network: tensors and operator nodes; maps are (rows, columns,
channels).

Shapes leave out the axis of the inputs (the batch): a map is ``(rows, columns, channels)``, a
vector ``(features,)``, a sequence ``(steps, features)``. Every tensor keeps the name that the
model's file gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

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

#: Elementwise functions that the host alone computes. ``step`` is 1 for numbers greater than zero,
#: else 0; ``round`` goes to the nearest whole number, ties to the even one.
HOST_FUNCTIONS = frozenset(
    "step sign floor ceil round sin cos tan asin acos atan sinh cosh asinh acosh atanh".split()
)
#: Reductions that give the index of the greatest or least element along one axis: of equal ones
#: the first, or the last.
INDEX_FUNCTIONS = frozenset(("argmax", "argmin", "argmax_last", "argmin_last"))


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
    zero_point : int, of the same
    bits, signed : of the same
    """

    name: str
    shape: tuple[int, ...]
    data: np.ndarray | None = None
    scale: float | np.ndarray | None = None
    zero_point: int = 0
    bits: int = 8
    signed: bool = True

    @property
    def size(self) -> int:
        """Number of elements, for one input."""
        return int(np.prod(self.shape, dtype=np.int64))


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


@dataclass(eq=False, kw_only=True)
class Node:
    """Base class of operators.

    Attributes
    ----------
    name : str, unique; the model's own, or ``<operator>_<number>`` where it has none
    inputs : list of tensor names (constants that a node holds itself are not among them)
    output : name of the tensor that it makes
    origin : str, operators of the model's file that it came from, joined by ``+``
    """

    name: str
    inputs: list[str]
    output: str
    origin: str = ""

    @property
    def kind(self) -> str:
        """Lower-case class name, as reports print it."""
        return type(self).__name__.lower()

    def attributes(self) -> dict[str, object]:
        """The fields that the subclass adds, except arrays: name -> value."""
        base = {f.name for f in fields(Node)}
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in base and not isinstance(getattr(self, f.name), np.ndarray)
        }


@dataclass(eq=False, kw_only=True)
class Activation(Node):
    """Elementwise function of one operand: ``function`` is relu, leaky (slope ``alpha``), clip
    (``low`` to ``high``), sigmoid, tanh, hard_sigmoid (``alpha`` x + ``beta``, clipped to 0..1),
    hard_swish (x times that), exp, log, sqrt, neg or abs; or a member of :data:`HOST_FUNCTIONS`,
    which only the host computes."""

    function: str
    alpha: float = 0.0
    beta: float = 0.0
    low: float = -np.inf
    high: float = np.inf


@dataclass(eq=False, kw_only=True)
class Conv(Node):
    """Convolution: ``weights`` float64 [out, rows, columns, in / groups], ``bias`` [out] or
    ``None``.

    ``stride``, ``dilation``: (rows, columns); ``padding``: zeros (top, left, bottom, right);
    ``groups`` = channels in is depthwise. ``activation``: an :class:`Activation` of kind relu,
    leaky or clip that follows (its names unused), or ``None``. A second input is a residual: added
    to the convolution, before the activation; only a back end's own pass fuses it. ``weight_scale``
    [out]: scale of the weights of a QDQ model. ``floor`` [out]: least value of each channel's
    results, or ``None``; only the quantiser sets it, where saturation gives nothing below it, so
    that cores need not apply it.
    """

    weights: np.ndarray
    bias: np.ndarray | None = None
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    activation: Activation | None = None
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """``conv``, ``depthwise`` or ``grouped``."""
        if self.groups == 1:
            return "conv"
        return "depthwise" if self.weights.shape[3] == 1 else "grouped"

    @property
    def window(self) -> tuple[int, int]:
        """Effective kernel size, dilation included: (rows, columns)."""
        rows, columns = (
            (k - 1) * d + 1 for k, d in zip(self.weights.shape[1:3], self.dilation, strict=True)
        )
        return rows, columns


@dataclass(eq=False, kw_only=True)
class Dense(Node):
    """Fully connected layer: ``weights`` float64 [out, in], ``bias`` [out] or ``None``; a map is
    flattened in the order rows, columns, channels. ``activation``, ``weight_scale`` and ``floor``
    as in :class:`Conv`. With ``steps`` it applies to every step of a sequence separately."""

    weights: np.ndarray
    bias: np.ndarray | None = None
    activation: Activation | None = None
    steps: bool = False
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None


@dataclass(eq=False, kw_only=True)
class MatMul(Node):
    """Matrix product of two activations over their last two axes, broadcast by numpy's rules.
    ``turned``: the last two axes of the second operand are swapped first; only a back end's own
    pass sets it."""

    turned: bool = False


@dataclass(eq=False, kw_only=True)
class Binary(Node):
    """Elementwise ``function`` (add, sub, mul or div) of two tensors, broadcast by numpy's rules
    over the graph's axes; either may be a constant. ``activation`` as in :class:`Conv`."""

    function: str
    activation: Activation | None = None


@dataclass(eq=False, kw_only=True)
class Affine(Node):
    """Scale and shift per channel, ``scale`` * x + ``shift``: a batch normalisation that could not
    be folded into a convolution. ``activation`` as in :class:`Conv`."""

    scale: np.ndarray
    shift: np.ndarray
    activation: Activation | None = None


@dataclass(eq=False, kw_only=True)
class MaxPool(Node):
    """Max pooling over windows; ``padding`` (top, left, bottom, right) counts as minus infinity."""

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)


@dataclass(eq=False, kw_only=True)
class AveragePool(Node):
    """Average pooling over windows; a global average has the map's own size. ``include_padding``:
    zeros of the padding count in the mean."""

    window: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    include_padding: bool = True


@dataclass(eq=False, kw_only=True)
class Reduce(Node):
    """Reduction over ``axes`` of the graph's tensor: ``function`` is mean, sum, max (over axes that
    no pooling layer covers) or prod, or a member of :data:`INDEX_FUNCTIONS` along a single axis."""

    function: str
    axes: tuple[int, ...]
    keep: bool = False


@dataclass(eq=False, kw_only=True)
class TopK(Node):
    """The ``count`` greatest elements along ``axis`` of the graph's tensor, the greatest first
    (``largest`` false: the least first); of equal ones the first. ``indices``: their indices."""

    axis: int
    count: int
    largest: bool = True
    indices: bool = False


@dataclass(eq=False, kw_only=True)
class Softmax(Node):
    """Softmax over ``axis`` of the graph's tensor, exp(x) / sum(exp(x)); ``log``: its logarithm."""

    axis: int = -1
    log: bool = False


@dataclass(eq=False, kw_only=True)
class Reshape(Node):
    """Reshape to ``shape``, given without the batch axis: the same elements in C order of the
    graph's axes."""

    shape: tuple[int, ...]


@dataclass(eq=False, kw_only=True)
class Transpose(Node):
    """Permutation of the tensor's axes into ``order``, given without the batch axis."""

    order: tuple[int, ...]


@dataclass(eq=False, kw_only=True)
class Concat(Node):
    """Concatenation along ``axis`` of the graph's tensors."""

    axis: int


@dataclass(eq=False, kw_only=True)
class Pad(Node):
    """Constant padding with ``value``: ``before`` and ``after`` give the number of elements per
    axis of the graph's tensor."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: float = 0.0


@dataclass(eq=False, kw_only=True)
class Slice(Node):
    """Strided slice: from ``start`` to ``stop`` by ``step``, one number per axis of the graph's
    tensor."""

    start: tuple[int, ...]
    stop: tuple[int, ...]
    step: tuple[int, ...]


@dataclass(eq=False, kw_only=True)
class Lstm(Node):
    """LSTM over a sequence (steps, features), gates i, o, f, c in ONNX's order.

    ``weights`` [4 * hidden, features], ``recurrent`` [4 * hidden, hidden], ``bias`` [4 * hidden]
    (both of ONNX's, added); ``last``: the output is the last state alone, else every step's.
    ``reverse``: from the last step to the first. ``initial``, ``cell``: [hidden], first states.
    """

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    initial: np.ndarray
    cell: np.ndarray
    last: bool = False
    reverse: bool = False


@dataclass(eq=False, kw_only=True)
class Gru(Node):
    """GRU, gates z, r, h in ONNX's order; ``bias`` [2, 3 * hidden] (input, recurrence);
    ``linear_before_reset`` as in ONNX. The other fields are those of :class:`Lstm`."""

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    initial: np.ndarray
    linear_before_reset: bool = False
    last: bool = False
    reverse: bool = False


@dataclass(eq=False, kw_only=True)
class LayerNorm(Node):
    """Layer normalisation, (x - mean) / sqrt(variance + ``epsilon``) * ``scale`` + ``shift``, over
    the last axis of the graph's tensor."""

    scale: np.ndarray
    shift: np.ndarray
    epsilon: float = 1e-5


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
        if isinstance(node, Conv):
            rows, columns, _ = self.shape(node.output)
            return rows * columns * node.weights.size
        if isinstance(node, Dense):
            return node.weights.size * (self.shape(node.output)[0] if node.steps else 1)
        if isinstance(node, MatMul):
            return self.tensors[node.output].size * self.shape(node.inputs[0])[-1]
        if isinstance(node, Lstm | Gru):
            return self.shape(node.inputs[0])[0] * (node.weights.size + node.recurrent.size)
        return 0
