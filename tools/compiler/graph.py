# SPDX-License-Identifier: BSD-2-Clause
"""Intermediate form of a network: tensors and nodes, maps as rows, columns, channels.

Shapes leave out the axis of the inputs (the batch): a map is ``(rows, columns, channels)``, a
vector ``(features,)``, a sequence ``(steps, features)``. Every tensor keeps the name that the
model's file gives it.
"""

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
    "Tensor",
    "Transpose",
]


@dataclass(eq=False)
class Tensor:
    """A value that flows, or a constant.

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
    shape: tuple
    data: np.ndarray | None = None
    scale: float | np.ndarray | None = None
    zero_point: int = 0
    bits: int = 8
    signed: bool = True

    @property
    def size(self):
        """Elements of one."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Port:
    """An input or output of the network as its user sees it.

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
        what the host multiplies an output's values by, before it adds the offset; ``None``: nothing
    offset : tuple of float, one for each element of the tensor's last axis:
        what the host subtracts of an input's values, and adds to an output's; ``None``: nothing
    """

    name: str
    tensor: str
    order: tuple
    shape: tuple
    batched: bool = True
    scale: float | None = None
    zero_point: int = 0
    bits: int = 8
    signed: bool = True
    offset: tuple | None = None
    factor: tuple | None = None


@dataclass(eq=False, kw_only=True)
class Node:
    """A step of the network.

    Attributes
    ----------
    name : str, unique; the model's own, or ``<operator>_<number>`` where it has none
    inputs : list of tensor names (constants that a node holds itself are not among them)
    output : name of the tensor that it makes
    origin : str, operators of the model's file that it came from, joined by ``+``
    """

    name: str
    inputs: list
    output: str
    origin: str = ""

    @property
    def kind(self):
        """Lower-case name, as reports print it."""
        return type(self).__name__.lower()

    def attributes(self):
        """Name -> value of what the kind adds, arrays left out."""
        base = {f.name for f in fields(Node)}
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in base and not isinstance(getattr(self, f.name), np.ndarray)
        }


@dataclass(eq=False, kw_only=True)
class Activation(Node):
    """Element by element: ``function`` of relu, leaky (slope ``alpha``), clip (``low`` to
    ``high``), sigmoid, tanh, hard_sigmoid (``alpha`` x + ``beta``, clipped to 0..1), hard_swish (x
    times that), exp, log, sqrt, neg, abs."""

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
    to the convolution, before the activation; only a back end's own pass joins it. ``weight_scale``
    [out]: step of the weights of a QDQ model. ``floor`` [out]: least value of each channel's
    results, or ``None``; only the quantiser sets it, where saturation gives nothing below it, so
    that machines need not look at it.
    """

    weights: np.ndarray
    bias: np.ndarray | None = None
    stride: tuple = (1, 1)
    padding: tuple = (0, 0, 0, 0)
    dilation: tuple = (1, 1)
    groups: int = 1
    activation: Activation | None = None
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None

    @property
    def kind(self):
        """``depthwise`` and ``grouped`` are told apart."""
        if self.groups == 1:
            return "conv"
        return "depthwise" if self.weights.shape[3] == 1 else "grouped"

    @property
    def window(self):
        """Rows and columns that a neighbourhood reaches over."""
        return tuple(
            (k - 1) * d + 1 for k, d in zip(self.weights.shape[1:3], self.dilation, strict=True)
        )


@dataclass(eq=False, kw_only=True)
class Dense(Node):
    """Fully connected: ``weights`` float64 [out, in], ``bias`` [out] or ``None``; a map is
    flattened in the order rows, columns, channels. ``activation``, ``weight_scale`` and ``floor``
    as :class:`Conv`'s. On a sequence (``steps`` true) every step by itself."""

    weights: np.ndarray
    bias: np.ndarray | None = None
    activation: Activation | None = None
    steps: bool = False
    weight_scale: np.ndarray | None = None
    floor: np.ndarray | None = None


@dataclass(eq=False, kw_only=True)
class MatMul(Node):
    """Product of two tensors that both flow: the last two axes, numpy's rules. ``turned``: these
    axes of the second are swapped first; only a back end's own pass says so."""

    turned: bool = False


@dataclass(eq=False, kw_only=True)
class Binary(Node):
    """``function`` add, sub, mul or div of two tensors, numpy's broadcasting over the graph's axes;
    either may be a constant. ``activation`` as :class:`Conv`'s."""

    function: str
    activation: Activation | None = None


@dataclass(eq=False, kw_only=True)
class Affine(Node):
    """``scale`` * x + ``shift`` a channel: a normalisation that found no convolution to go into.
    ``activation`` as :class:`Conv`'s."""

    scale: np.ndarray
    shift: np.ndarray
    activation: Activation | None = None


@dataclass(eq=False, kw_only=True)
class MaxPool(Node):
    """Largest value of each window; ``padding`` (top, left, bottom, right) counts as minus
    infinity."""

    window: tuple
    stride: tuple
    padding: tuple = (0, 0, 0, 0)
    dilation: tuple = (1, 1)


@dataclass(eq=False, kw_only=True)
class AveragePool(Node):
    """Mean of each window; a global one has the map's own size. ``include_padding``: zeros of the
    padding count."""

    window: tuple
    stride: tuple
    padding: tuple = (0, 0, 0, 0)
    include_padding: bool = True


@dataclass(eq=False, kw_only=True)
class Reduce(Node):
    """``function`` mean, sum or max over ``axes`` of the graph's tensor (those that no pooling
    layer covers); argmax, the number of the first largest element along one axis, whose result is
    an output of the network."""

    function: str
    axes: tuple
    keep: bool = False


@dataclass(eq=False, kw_only=True)
class Softmax(Node):
    """exp(x) / sum(exp(x)) over ``axis`` of the graph's tensor; ``log``: its logarithm."""

    axis: int = -1
    log: bool = False


@dataclass(eq=False, kw_only=True)
class Reshape(Node):
    """The same elements in C order of the graph's axes, ``shape`` without the axis of the
    inputs."""

    shape: tuple


@dataclass(eq=False, kw_only=True)
class Transpose(Node):
    """Axes of the graph's tensor in another ``order``, without the axis of the inputs."""

    order: tuple


@dataclass(eq=False, kw_only=True)
class Concat(Node):
    """Tensors one after the other along ``axis`` of the graph's tensors."""

    axis: int


@dataclass(eq=False, kw_only=True)
class Pad(Node):
    """``value`` around a tensor: ``before`` and ``after`` an axis of the graph's tensor."""

    before: tuple
    after: tuple
    value: float = 0.0


@dataclass(eq=False, kw_only=True)
class Slice(Node):
    """``start`` to ``stop`` by ``step`` of every axis of the graph's tensor."""

    start: tuple
    stop: tuple
    step: tuple


@dataclass(eq=False, kw_only=True)
class Lstm(Node):
    """LSTM over a sequence (steps, features), gates i, o, f, c as ONNX orders them.

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
    """GRU, gates z, r, h as ONNX orders them; ``bias`` [2, 3 * hidden] (of the input, of the
    recurrence); ``linear_before_reset`` as ONNX's. The rest as :class:`Lstm`."""

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    initial: np.ndarray
    linear_before_reset: bool = False
    last: bool = False
    reverse: bool = False


@dataclass(eq=False, kw_only=True)
class LayerNorm(Node):
    """(x - mean) / sqrt(variance + ``epsilon``) * ``scale`` + ``shift`` over the last axis of the
    graph's tensor."""

    scale: np.ndarray
    shift: np.ndarray
    epsilon: float = 1e-5


@dataclass(eq=False)
class Graph:
    """A network.

    Attributes
    ----------
    name : str
    inputs, outputs : list of Port
    nodes : list of Node, each after those whose results it reads
    tensors : dict, name -> Tensor; every input and output of a node
    """

    name: str
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    tensors: dict = field(default_factory=dict)

    def maker(self, tensor):
        """The node whose output the tensor of this name is, or ``None``."""
        return next((node for node in self.nodes if node.output == tensor), None)

    def readers(self, tensor):
        """Nodes that read the tensor of this name."""
        return [node for node in self.nodes if tensor in node.inputs]

    def kept(self):
        """Names of the tensors that are outputs of the network."""
        return {port.tensor for port in self.outputs}

    def shape(self, tensor):
        return self.tensors[tensor].shape

    def part(self, nodes):
        """The graph of some of the nodes: what crosses its border are its inputs and outputs, by
        the network's own ports where they are the network's, else named by themselves."""
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

    def macs(self, node):
        """Multiplications of a node on one input, zeros of the padding included."""
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
