# SPDX-License-Identifier: BSD-2-Clause
"""Graphs written as ONNX models, as exporters of different habits write them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from quintet.tools.compiler.evaluate import run_graph
from tests.tools.compiler.networks import inputs_of

__all__ = ["write"]

_SIMPLE = {
    "relu": "Relu",
    "leaky": "LeakyRelu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "hard_sigmoid": "HardSigmoid",
    "hard_swish": "HardSwish",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "neg": "Neg",
    "abs": "Abs",
}
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}


def write(
    graph, *, channels_first=True, quantised=False, batch="batch", dtype=np.float32, opset=17
):
    """A model of ``graph``.

    Parameters
    ----------
    channels_first : bool; maps are NCHW throughout, as PyTorch has them;
        else NHWC with Transposes around each window, as Keras' come
    quantised : bool, QuantizeLinear and DequantizeLinear behind every tensor that flows,
        weights as int8
    batch : name or length of the inputs' axis
    """
    return _Writer(graph, channels_first, quantised, batch, dtype, opset).model()


class _Writer:
    def __init__(self, graph, channels_first, quantised, batch, dtype, opset):
        self.graph, self.channels_first, self.quantised, self.batch, self.dtype, self.opset = (
            graph,
            channels_first,
            quantised,
            batch,
            dtype,
            opset,
        )
        self.nodes, self.constants, self.count = [], [], 0
        self.ranges = (
            {
                name: np.abs(value).max()
                for name, value in run_graph(graph, inputs_of(graph, 4, 5), keep=True).items()
            }
            if quantised
            else {}
        )

    def model(self):
        names = {}
        for port in self.graph.inputs:
            names[port.tensor] = self.grid(port.tensor, port.tensor)
        for node in self.graph.nodes:
            self.write(node, [names.get(name, name) for name in node.inputs])
            self.nodes[-1].output[0] = node.output
            names[node.output] = self.grid(node.output, node.output)
        for name, tensor in self.graph.tensors.items():
            if tensor.data is not None:
                self.constant(tensor.data, name)
        outputs = []
        for port in self.graph.outputs:
            outputs.append((f"{port.tensor}_out", port.tensor))
            self.emit("Identity", [names[port.tensor]], output=outputs[-1][0])
        kind = TensorProto.DOUBLE if self.dtype == np.float64 else TensorProto.FLOAT
        info = helper.make_tensor_value_info
        proto = helper.make_graph(
            self.nodes,
            self.graph.name,
            [info(p.tensor, kind, self.shape(p.tensor)) for p in self.graph.inputs],
            [info(name, kind, self.shape(tensor)) for name, tensor in outputs],
            self.constants,
        )
        model = helper.make_model(
            proto,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=8 if self.opset < 21 else 10,
        )
        onnx.checker.check_model(model)
        return model

    # Pieces

    def shape(self, name):
        shape = self.graph.shape(name)
        if self.first(name):
            shape = (shape[2], shape[0], shape[1])
        return (self.batch, *shape)

    def first(self, name):
        """Whether a tensor is kept channels first."""
        return self.channels_first and len(self.graph.shape(name)) == 3

    def fresh(self, what="t"):
        self.count += 1
        return f"{what}_{self.count}"

    def constant(self, data, name=None):
        name = name or self.fresh("c")
        data = np.asarray(data)
        self.constants.append(
            numpy_helper.from_array(
                np.array(data, self.dtype if data.dtype.kind == "f" else data.dtype), name
            )
        )
        return name

    def emit(self, operator, inputs, output=None, **attributes):
        """A node; the name of its (first) result."""
        output = output or self.fresh()
        self.nodes.append(
            helper.make_node(operator, inputs, [output], name=self.fresh("n"), **attributes)
        )
        return output

    def grid(self, name, written):
        """Name of the tensor behind its quantisation."""
        if not self.quantised:
            return written
        step = max(float(self.ranges[name]), 1e-6) / 127
        scale, zero = self.constant(np.float64(step)), self.constant(np.int8(0))
        return self.emit(
            "DequantizeLinear", [self.emit("QuantizeLinear", [written, scale, zero]), scale, zero]
        )

    def weights(self, data):
        """Name of constant weights, the first axis their channels out."""
        if not self.quantised:
            return self.constant(data)
        steps = np.maximum(np.abs(data).reshape(len(data), -1).max(axis=1), 1e-6) / 127
        numbers = np.rint(data / steps.reshape(-1, *(1,) * (data.ndim - 1))).astype(np.int8)
        return self.emit(
            "DequantizeLinear",
            [
                self.constant(numbers),
                self.constant(steps),
                self.constant(np.zeros(len(steps), np.int8)),
            ],
            axis=0,
        )

    def turned(self, written, to_first):
        return self.emit("Transpose", [written], perm=[0, 3, 1, 2] if to_first else [0, 2, 3, 1])

    def plain(self, name, written):
        """The tensor in the graph's own axes."""
        return self.turned(written, False) if self.first(name) else written

    def kept(self, name, written):
        """From the graph's own axes into those in which the tensor is kept."""
        return self.turned(written, True) if self.first(name) else written

    # Nodes

    def write(self, node, written):
        result = getattr(self, f"_{type(node).__name__.lower()}")(node, written)
        if getattr(node, "activation", None) is not None:
            result = self._activation(node.activation, [result])
        return result

    def _activation(self, node, written):
        if node.function == "clip":
            limits = [
                self.constant(np.float64(value)) if np.isfinite(value) else ""
                for value in (node.low, node.high)
            ]
            return self.emit("Clip", [*written, *limits])
        attributes = {
            "leaky": {"alpha": node.alpha},
            "hard_sigmoid": {"alpha": node.alpha, "beta": node.beta},
        }.get(node.function, {})
        return self.emit(_SIMPLE[node.function], written, **attributes)

    def _windowed(self, node, written, operator, inputs=(), **attributes):
        """On channels first, with Transposes around it where the tensor is kept otherwise."""
        source = written[0] if self.channels_first else self.turned(written[0], True)
        result = self.emit(
            operator,
            [source, *inputs],
            strides=list(node.stride),
            pads=list(node.padding),
            **attributes,
        )
        return result if self.channels_first else self.turned(result, False)

    def _conv(self, node, written):
        inputs = [self.weights(node.weights.transpose(0, 3, 1, 2))] + (
            [] if node.bias is None else [self.constant(node.bias)]
        )
        return self._windowed(
            node, written, "Conv", inputs, dilations=list(node.dilation), group=node.groups
        )

    def _maxpool(self, node, written):
        return self._windowed(
            node, written, "MaxPool", kernel_shape=list(node.window), dilations=list(node.dilation)
        )

    def _averagepool(self, node, written):
        if tuple(node.window) == tuple(self.graph.shape(node.inputs[0])[:2]) and not any(
            node.padding
        ):
            source = written[0] if self.channels_first else self.turned(written[0], True)
            result = self.emit("GlobalAveragePool", [source])
            return result if self.channels_first else self.turned(result, False)
        return self._windowed(
            node,
            written,
            "AveragePool",
            kernel_shape=list(node.window),
            count_include_pad=int(node.include_padding),
        )

    def _dense(self, node, written):
        name, weights = node.inputs[0], node.weights
        if node.steps:
            result = self.emit("MatMul", [written[0], self.constant(weights.T)])
            return (
                result
                if node.bias is None
                else self.emit("Add", [result, self.constant(node.bias)])
            )
        if len(self.graph.shape(name)) != 1:
            if self.first(name):
                weights = (
                    weights.reshape(-1, *self.graph.shape(name))
                    .transpose(0, 3, 1, 2)
                    .reshape(len(weights), -1)
                )
            written = [self.emit("Flatten", written)]
        return self.emit(
            "Gemm",
            [
                written[0],
                self.weights(weights),
                *([] if node.bias is None else [self.constant(node.bias)]),
            ],
            transB=1,
        )

    def _matmul(self, node, written):
        return self.emit("MatMul", written)

    def _binary(self, node, written):
        operands = []
        for name, given in zip(node.inputs, written, strict=True):
            data = self.graph.tensors[name].data
            if data is not None and self.first(node.output):
                data = data.reshape((1,) * (3 - data.ndim) + data.shape).transpose(2, 0, 1)
            operands.append(given if data is None else self.constant(data))
        return self.emit(_BINARY[node.function], operands)

    def _affine(self, node, written):
        if len(self.graph.shape(node.output)) == 3 and self.channels_first:
            ones = np.ones(len(node.scale))
            return self.emit(
                "BatchNormalization",
                [*written, *(self.constant(v) for v in (node.scale, node.shift, 0 * ones, ones))],
                epsilon=0.0,
            )
        return self.emit(
            "Add",
            [self.emit("Mul", [*written, self.constant(node.scale)]), self.constant(node.shift)],
        )

    def _in_plain(self, node, written, make):
        """A node on the graph's own axes."""
        return self.kept(
            node.output,
            make([self.plain(name, one) for name, one in zip(node.inputs, written, strict=True)]),
        )

    def _reduce(self, node, written):
        operator = {"mean": "ReduceMean", "max": "ReduceMax"}
        axes = [axis % len(self.graph.shape(node.inputs[0])) + 1 for axis in node.axes]
        if node.function == "sum":
            return self._in_plain(
                node,
                written,
                lambda plain: self.emit(
                    "ReduceSum", [*plain, self.constant(np.array(axes))], keepdims=int(node.keep)
                ),
            )
        return self._in_plain(
            node,
            written,
            lambda plain: self.emit(
                operator[node.function], plain, axes=axes, keepdims=int(node.keep)
            ),
        )

    def _softmax(self, node, written):
        axis = 1 if self.first(node.output) else -1
        return self.emit("LogSoftmax" if node.log else "Softmax", written, axis=axis)

    def _reshape(self, node, written):
        return self._in_plain(
            node,
            written,
            lambda plain: self.emit(
                "Reshape", [*plain, self.constant(np.array([-1, *node.shape]))]
            ),
        )

    def _transpose(self, node, written):
        return self._in_plain(
            node,
            written,
            lambda plain: self.emit(
                "Transpose", plain, perm=[0, *(axis + 1 for axis in node.order)]
            ),
        )

    def _concat(self, node, written):
        return self._in_plain(
            node, written, lambda plain: self.emit("Concat", plain, axis=node.axis + 1)
        )

    def _pad(self, node, written):
        pads = np.array([0, *node.before, 0, *node.after])
        return self._in_plain(
            node,
            written,
            lambda plain: self.emit(
                "Pad", [*plain, self.constant(pads), self.constant(np.float64(node.value))]
            ),
        )

    def _slice(self, node, written):
        arrays = [
            np.array(values)
            for values in (
                node.start,
                node.stop,
                [axis + 1 for axis in range(len(node.start))],
                node.step,
            )
        ]
        return self._in_plain(
            node, written, lambda plain: self.emit("Slice", [*plain, *map(self.constant, arrays)])
        )

    def _layernorm(self, node, written):
        return self._in_plain(
            node,
            written,
            lambda plain: self.emit(
                "LayerNormalization",
                [*plain, self.constant(node.scale), self.constant(node.shift)],
                epsilon=node.epsilon,
            ),
        )

    def _recurrent(self, node, written, operator, bias, states, **attributes):
        hidden = node.recurrent.shape[1]
        source = self.emit("Transpose", written, perm=[1, 0, 2])
        inputs = [
            source,
            self.constant(node.weights[None]),
            self.constant(node.recurrent[None]),
            self.constant(bias[None]),
            "",
            *(self.constant(state[None, None]) for state in states),
        ]
        whole, last = self.fresh(), self.fresh()
        self.nodes.append(
            helper.make_node(
                operator,
                inputs,
                ["", last] if node.last else [whole],
                name=self.fresh("n"),
                hidden_size=hidden,
                direction="reverse" if node.reverse else "forward",
                **attributes,
            )
        )
        if node.last:
            return self.emit("Squeeze", [last, self.constant(np.array([0]))])
        return self.emit(
            "Transpose",
            [self.emit("Squeeze", [whole, self.constant(np.array([1]))])],
            perm=[1, 0, 2],
        )

    def _lstm(self, node, written):
        return self._recurrent(
            node,
            written,
            "LSTM",
            np.concatenate([node.bias, 0 * node.bias]),
            [node.initial, node.cell],
        )

    def _gru(self, node, written):
        return self._recurrent(
            node,
            written,
            "GRU",
            node.bias.ravel(),
            [node.initial],
            linear_before_reset=int(node.linear_before_reset),
        )
