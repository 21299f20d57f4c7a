# SPDX-License-Identifier: BSD-2-Clause
"""Well-known networks in small, written as PyTorch's exporter writes them: its kinds of nodes, its
attributes and its names, with random weights."""

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["NETWORKS", "Export", "export"]


class Export:
    """A model under construction.

    Attributes
    ----------
    here : str, the newest tensor
    """

    def __init__(self, name: str, shape: tuple[int, ...], seed: int = 0):
        self.name, self.shape, self.random = name, shape, np.random.default_rng(seed)
        self.nodes, self.weights, self.here = [], [], "input"
        self.channels = {"input": shape[0]}

    def tensor(self, data, wanted):
        """Adds weights and returns their name."""
        name = f"{wanted}_{len(self.weights)}"
        data = np.asarray(data)
        data = data.astype(np.float32) if data.dtype.kind == "f" else data
        self.weights.append(numpy_helper.from_array(np.array(data), name))
        return name

    def constant(self, data):
        """A Constant node, as the exporter has for axes, limits and shapes."""
        return self.emit("Constant", [], value=numpy_helper.from_array(np.asarray(data)))

    def emit(self, operator, inputs=None, count=1, channels=None, **attributes):
        """Adds a node on ``inputs``, or on the newest tensor; the name of its (first) result."""
        path = f"/{operator}_{len(self.nodes)}"
        outputs = [f"{path}_output_{at}" for at in range(count)]
        inputs = [self.here] if inputs is None else inputs
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=path, **attributes))
        first = next((name for name in inputs if name in self.channels), None)
        for output in outputs:
            self.channels[output] = channels or self.channels.get(first)
        if operator != "Constant":
            self.here = outputs[0]
        return outputs[0] if count == 1 else outputs

    def conv(self, out, size, source=None, stride=1, padding=None, groups=1, dilation=1, gain=2.0):
        source = source or self.here
        axes, inner = len(self.shape) - 1, self.channels[source] // groups
        fan_in = inner * size**axes
        weights = self.random.normal(0, np.sqrt(gain / fan_in), (out, inner, *[size] * axes))
        padding = dilation * (size - 1) // 2 if padding is None else padding
        return self.emit(
            "Conv",
            [
                source,
                self.tensor(weights, "conv.weight"),
                self.tensor(self.random.normal(0, 0.1, out), "conv.bias"),
            ],
            channels=out,
            dilations=[dilation] * axes,
            group=groups,
            kernel_shape=[size] * axes,
            pads=[padding] * (2 * axes),
            strides=[stride] * axes,
        )

    def transposed(self, out, size, source=None, stride=2, padding=0, extra=0):
        source = source or self.here
        inner = self.channels[source]
        weights = self.random.normal(
            0, np.sqrt(2.0 * stride**2 / (inner * size**2)), (inner, out, size, size)
        )
        more = {"output_padding": [extra] * 2} if extra else {}
        return self.emit(
            "ConvTranspose",
            [
                source,
                self.tensor(weights, "up.weight"),
                self.tensor(self.random.normal(0, 0.1, out), "up.bias"),
            ],
            channels=out,
            dilations=[1, 1],
            group=1,
            kernel_shape=[size] * 2,
            pads=[padding] * 4,
            strides=[stride] * 2,
            **more,
        )

    def relu(self, source=None):
        return self.emit("Relu", source and [source])

    def relu6(self):
        limits = [self.constant(np.float32(0)), self.constant(np.float32(6))]
        return self.emit("Clip", [self.here, *limits])

    def max_pool(self, size=2, stride=2, padding=0, ceiling=0):
        return self.emit(
            "MaxPool",
            ceil_mode=ceiling,
            dilations=[1, 1],
            kernel_shape=[size] * 2,
            pads=[padding] * 4,
            strides=[stride] * 2,
        )

    def gemm(self, out, inner, source=None):
        return self.emit(
            "Gemm",
            [
                source or self.here,
                self.tensor(self.random.normal(0, np.sqrt(1 / inner), (out, inner)), "fc.weight"),
                self.tensor(self.random.normal(0, 0.1, out), "fc.bias"),
            ],
            channels=out,
            alpha=1.0,
            beta=1.0,
            transB=1,
        )

    def linear(self, out, inner, source=None):
        """A Linear on sequences: MatMul and Add."""
        weights = self.random.normal(0, np.sqrt(1 / inner), (inner, out))
        product = self.emit(
            "MatMul", [source or self.here, self.tensor(weights, "onnx::MatMul")], channels=out
        )
        bias = self.tensor(self.random.normal(0, 0.1, out), "linear.bias")
        return self.emit("Add", [bias, product], channels=out)

    def classifier(self, classes):
        """Mean over the map, flattened, and a dense layer."""
        channels = self.channels[self.here]
        self.emit("GlobalAveragePool")
        self.emit("Flatten", axis=1)
        self.gemm(classes, channels)

    def model(self, opset=17):
        result = helper.make_tensor_value_info("output", TensorProto.FLOAT, None)
        self.nodes.append(helper.make_node("Identity", [self.here], ["output"], name="/Identity"))
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, *self.shape])],
            [result],
            self.weights,
        )
        model = helper.make_model(
            graph,
            producer_name="pytorch",
            opset_imports=[helper.make_opsetid("", opset)],
            ir_version=8,
        )
        return onnx.shape_inference.infer_shapes(model, check_type=True)


#: Name -> function that gives the network.
NETWORKS: dict[str, Callable[[], Export]] = {}


def _network(function):
    NETWORKS[function.__name__] = function
    return function


def export(name: str) -> Export:
    """The network of a name."""
    return NETWORKS[name]()


def _inverted(net, out, stride, expand):
    """An inverted residual: pointwise, depthwise, pointwise."""
    source = net.here
    inner = net.channels[source]
    net.conv(inner * expand, 1)
    net.relu6()
    net.conv(inner * expand, 3, stride=stride, groups=inner * expand)
    net.relu6()
    made = net.conv(out, 1, gain=1.0)
    if stride == 1 and inner == out:
        net.emit("Add", [source, made])


@_network
def mobilenet_v2():
    net = Export("mobilenet_v2", (3, 24, 24), 1)
    net.conv(8, 3, stride=2)
    net.relu6()
    _inverted(net, 8, 1, 2)
    _inverted(net, 12, 2, 3)
    _inverted(net, 12, 1, 3)
    net.conv(24, 1)
    net.relu6()
    net.classifier(5)
    return net


@_network
def squeezenet():
    net = Export("squeezenet", (3, 25, 25), 2)
    net.conv(8, 3, stride=2, padding=0)
    net.relu()
    net.max_pool(3, 2, ceiling=1)
    for squeeze, expand in ((4, 8), (4, 8), (8, 16)):
        net.conv(squeeze, 1)
        source = net.relu()
        net.conv(expand, 1)
        first = net.relu()
        net.conv(expand, 3, source)
        net.emit("Concat", [first, net.relu()], channels=2 * expand, axis=1)
    net.conv(6, 1)
    net.relu()
    net.emit("GlobalAveragePool")
    net.emit("Flatten", axis=1)
    return net


def _shuffled(net, rows, columns):
    """Channels of two groups one after the other."""
    channels = net.channels[net.here]
    shape = np.array([1, 2, channels // 2, rows, columns])
    net.emit("Reshape", [net.here, net.constant(shape)], allowzero=0, channels=channels)
    net.emit("Transpose", perm=[0, 2, 1, 3, 4], channels=channels)
    back = net.constant(np.array([1, channels, rows, columns]))
    return net.emit("Reshape", [net.here, back], allowzero=0, channels=channels)


@_network
def shufflenet_v2():
    net = Export("shufflenet_v2", (3, 16, 16), 3)
    net.conv(8, 3, stride=2)
    source = net.relu()
    # The unit that halves the map: both branches get all channels.
    net.conv(8, 3, source, stride=2, groups=8, gain=1.0)
    net.conv(8, 1)
    beside = net.relu()
    net.conv(8, 1, source)
    net.relu()
    net.conv(8, 3, stride=2, groups=8, gain=1.0)
    net.conv(8, 1)
    net.emit("Concat", [beside, net.relu()], channels=16, axis=1)
    _shuffled(net, 4, 4)
    # The unit on half of the channels.
    halves = net.emit(
        "Split", [net.here, net.constant(np.array([8, 8]))], count=2, channels=8, axis=1
    )
    net.conv(8, 1, halves[1])
    net.relu()
    net.conv(8, 3, groups=8, gain=1.0)
    net.conv(8, 1)
    net.emit("Concat", [halves[0], net.relu()], channels=16, axis=1)
    _shuffled(net, 4, 4)
    net.conv(24, 1)
    net.relu()
    net.emit("ReduceMean", axes=[2, 3], keepdims=0)
    net.gemm(5, 24)
    return net


@_network
def efficientnet_lite_block():
    net = Export("efficientnet_lite_block", (8, 12, 12), 4)
    source = net.here
    net.conv(32, 1)
    net.relu6()
    net.conv(32, 5, groups=32)
    net.relu6()
    net.emit("Add", [net.conv(8, 1, gain=1.0), source])
    net.conv(16, 1)
    net.relu6()
    net.classifier(5)
    return net


@_network
def unet():
    net = Export("unet", (1, 16, 16), 5)
    skips = []
    for out in (6, 12):
        net.conv(out, 3)
        skips.append(net.relu())
        net.max_pool()
    net.conv(16, 3)
    net.relu()
    for out, skip in ((12, skips[1]), (6, skips[0])):
        made = net.transposed(out, 2)
        net.emit("Concat", [made, skip], channels=2 * out, axis=1)
        net.conv(out, 3)
        net.relu()
    net.conv(2, 1)
    return net


@_network
def super_resolution():
    net = Export("super_resolution", (1, 12, 12), 6)
    for out, size in ((16, 5), (16, 3), (8, 3)):
        net.conv(out, size)
        net.relu()
    net.conv(4, 3)
    net.emit("DepthToSpace", blocksize=2, mode="CRD")
    return net


@_network
def tcn():
    net = Export("tcn", (4, 24), 7)
    for dilation, out in ((1, 8), (2, 8), (4, 8)):
        source = net.here
        for _ in range(2):
            # Zeros on both sides, and those behind are chopped off: no step sees a later one.
            padding = 2 * dilation
            net.conv(out, 3, padding=padding, dilation=dilation)
            start, end = (net.constant(np.array([at])) for at in (0, -padding))
            axis, pace = (net.constant(np.array([at])) for at in (2, 1))
            net.emit("Slice", [net.here, start, end, axis, pace])
            net.relu()
        made = net.here
        if net.channels[source] != out:
            source = net.conv(out, 1, source)
        net.emit("Add", [made, source])
        net.relu()
    index = net.constant(np.array(-1))
    net.emit("Gather", [net.here, index], axis=2)
    net.gemm(5, 8)
    return net


@_network
def crnn():
    net = Export("crnn", (1, 8, 24), 8)
    for out in (6, 12):
        net.conv(out, 3)
        net.relu()
        net.max_pool()
    # The rows that are left become features of every column.
    net.emit("Reshape", [net.here, net.constant(np.array([1, 24, 6]))], allowzero=0, channels=24)
    net.emit("Transpose", perm=[2, 0, 1])
    hidden = 6
    spread = 1 / np.sqrt(hidden)
    shapes = ((2, 4 * hidden, 24), (2, 4 * hidden, hidden), (2, 8 * hidden))
    weights = [
        net.tensor(net.random.uniform(-spread, spread, shape), "onnx::LSTM") for shape in shapes
    ]
    zeros = [net.constant(np.zeros((2, 1, hidden), np.float32)) for _ in range(2)]
    whole = net.emit(
        "LSTM",
        [net.here, *weights, "", *zeros],
        count=3,
        direction="bidirectional",
        hidden_size=hidden,
    )
    net.emit("Transpose", [whole[0]], perm=[0, 2, 1, 3])
    net.emit("Reshape", [net.here, net.constant(np.array([0, 0, -1]))], allowzero=0)
    net.linear(7, 2 * hidden)
    return net


@_network
def keyword_transformer():
    steps, width, heads = 8, 16, 2
    net = Export("keyword_transformer", (steps, 10), 9)
    net.linear(width, 10)
    token = net.tensor(net.random.normal(0, 1, (1, 1, width)), "token")
    net.emit("Concat", [token, net.here], axis=1)
    net.emit("Add", [net.here, net.tensor(net.random.normal(0, 0.5, (1, steps + 1, width)), "pos")])
    source = net.here
    _normal(net, width)
    inside = net.here
    parts = []
    for name in "qkv":
        net.linear(width, width, inside)
        shape = net.constant(np.array([1, steps + 1, heads, width // heads]))
        net.emit("Reshape", [net.here, shape], allowzero=0)
        parts.append(net.emit("Transpose", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]))
    net.emit("MatMul", parts[:2])
    net.emit("Div", [net.here, net.constant(np.float32(np.sqrt(width // heads)))])
    weights = net.emit("Softmax", axis=-1)
    net.emit("MatMul", [weights, parts[2]])
    net.emit("Transpose", perm=[0, 2, 1, 3])
    net.emit("Reshape", [net.here, net.constant(np.array([1, steps + 1, width]))], allowzero=0)
    net.linear(width, width)
    source = net.emit("Add", [source, net.here])
    _normal(net, width)
    x = net.linear(2 * width, width)
    # GELU, as exported before opset 20
    net.emit("Div", [x, net.constant(np.float32(np.sqrt(2)))])
    net.emit("Erf")
    net.emit("Add", [net.here, net.constant(np.float32(1))])
    net.emit("Mul", [x, net.here])
    net.emit("Mul", [net.here, net.constant(np.float32(0.5))])
    net.emit("Add", [source, net.linear(width, 2 * width)])
    net.emit("Gather", [net.here, net.constant(np.array(0))], axis=1)
    net.gemm(6, width)
    return net


def _normal(net, width):
    scale, shift = net.random.normal(1, 0.1, width), net.random.normal(0, 0.1, width)
    net.emit(
        "LayerNormalization",
        [net.here, net.tensor(scale, "norm.weight"), net.tensor(shift, "norm.bias")],
        axis=-1,
        epsilon=1e-5,
    )


@_network
def tiny_yolo():
    net = Export("tiny_yolo", (3, 24, 24), 10)
    for out in (6, 12, 16):
        net.conv(out, 3)
        net.emit("LeakyRelu", alpha=0.1)
        net.max_pool()
    net.conv(24, 3)
    net.emit("LeakyRelu", alpha=0.1)
    net.conv(3 * 7, 1)
    return net


@_network
def conv_autoencoder():
    net = Export("conv_autoencoder", (1, 16, 16), 11)
    for out in (6, 12):
        net.conv(out, 3, stride=2)
        net.relu()
    net.transposed(6, 3, padding=1, extra=1)
    net.relu()
    net.transposed(1, 3, padding=1, extra=1)
    return net
