# SPDX-License-Identifier: BSD-2-Clause
"""Builder of networks from numpy arrays: layer by layer, compiled for any core or saved as ONNX.

::

    net = Net("digits")
    x = net.input("image", (1, 8, 8))
    x = net.conv(x, kernels, biases, padding=1, activation="relu")
    x = net.max_pool(x, 2)
    x = net.dense(net.flatten(x), weights, bias)
    net.output(x, "scores")
    with net.compile("model:opu", calibration=images).open() as session:
        scores = session(images)

A network is an ONNX model from its first layer on, so the compiler refuses it in the same words as
a model that was read from a file.

Without scales the arrays are real numbers, and the quantiser chooses the scales. A layer that is
given ``scale`` has its result on that grid: whole numbers times the scale. ``weight_scale`` does
the same to weights, which then are the integers themselves, and ``scale`` of an input or output
makes the session take or give integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...gateware.requirements import extra_command
from ..errors import InputError, NoDeviceError, suggestion
from ..outputs import check_output, write_output

if TYPE_CHECKING:
    from .api import Compiled
    from .graph import Graph

__all__ = ["Net", "Tensor"]

OPSET = 17
#: Activation -> its ONNX operator and attributes.
_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "relu": ("Relu", {}),
    "leaky_relu": ("LeakyRelu", {"alpha": 0.01}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "elu": ("Elu", {}),
    "softplus": ("Softplus", {}),
    "hard_sigmoid": ("HardSigmoid", {}),
    "hard_swish": ("HardSwish", {}),
}
_INTEGERS = {8: "int8", 16: "int16"}


@dataclass(frozen=True)
class Tensor:
    """A tensor of a network under construction, with its shape and scale.

    Attributes
    ----------
    name : of the ONNX tensor
    scale : real value of the number 1, if the tensor lies on a grid of whole numbers
    """

    name: str
    scale: float | None = None


class Net:
    """A network under construction. Maps are [channels, height, width], as in ONNX and PyTorch;
    the axis of inputs is left out everywhere.

    Parameters
    ----------
    name : of the network, in messages, reports and plans
    """

    def __init__(self, name: str = "net"):
        try:
            import onnx
        except ImportError:
            raise NoDeviceError(
                f"building a network needs the package onnx: {extra_command('compile')}"
            ) from None
        self.name = name
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}

    # Ends of the network

    def input(
        self,
        name: str,
        shape: Sequence[int],
        *,
        scale: float | None = None,
        bits: Literal[8, 16] = 8,
    ) -> Tensor:
        """Adds an input of ``shape``. With ``scale`` it takes integers of ``bits`` bits."""
        self._new_name(name)
        kind = "float32" if scale is None else self._integer(bits)
        self._inputs.append(self._value(name, kind, ["inputs", *map(int, shape)]))
        if scale is None:
            return Tensor(name)
        operands = [name, *self._grid(scale, kind)]
        return Tensor(self._node("DequantizeLinear", operands, f"{name}_real"), float(scale))

    def output(self, x: Tensor, name: str | None = None, *, bits: Literal[8, 16] = 8) -> None:
        """Marks ``x`` as an output of the network: integers of ``bits`` bits if it has a scale."""
        name = name or f"{x.name}_out"
        self._new_name(name)
        if x.scale is None:
            self._node("Identity", [x.name], name, known=True)
            self._outputs.append(self._value(name, "float32", None))
        else:
            kind = self._integer(bits)
            self._node("QuantizeLinear", [x.name, *self._grid(x.scale, kind)], name, known=True)
            self._outputs.append(self._value(name, kind, None))

    # Layers with weights

    def conv(
        self,
        x: Tensor,
        weights: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | Literal["same"] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        activation: str | None = None,
        weight_scale: float | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Adds a convolution over one or two spatial axes.

        Parameters
        ----------
        weights : [results, channels / groups, height, width], or without the last axis
        bias : [results]; with ``weight_scale`` integers of the scale of ``x`` times it
        padding : elements at both ends of each axis, or "same" for as many results as inputs
        """
        axes = np.ndim(weights) - 2
        if axes not in (1, 2):
            raise InputError(
                f"{self.name}: conv: weights of {np.ndim(weights)} axes: expected 4, or 3 for a "
                f"convolution over one axis"
            )
        attributes: dict[str, Any] = {
            "strides": _each(stride, axes, "stride"),
            "dilations": _each(dilation, axes, "dilation"),
            "group": groups,
        }
        attributes |= _padding(padding, axes)
        operands = [x.name, *self._weights("conv", x, weights, bias, weight_scale)]
        made = self._node("Conv", operands, **attributes)
        return self._ended(made, activation, scale)

    def conv_transpose(
        self,
        x: Tensor,
        weights: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        stride: int | Sequence[int] = 2,
        padding: int | Sequence[int] = 0,
        activation: str | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Adds a transposed convolution over two spatial axes, which enlarges the map ``stride``
        times.

        Parameters
        ----------
        weights : [channels, results, height, width], as PyTorch has them
        bias : [results]
        padding : elements that are cut off at both ends of each axis
        """
        if np.ndim(weights) != 4:
            raise InputError(
                f"{self.name}: conv_transpose: weights of {np.ndim(weights)} axes: expected 4"
            )
        operands = [x.name, *self._weights("conv_transpose", x, weights, bias, None)]
        attributes = {"strides": _each(stride, 2, "stride"), **_padding(padding, 2)}
        return self._ended(self._node("ConvTranspose", operands, **attributes), activation, scale)

    def depthwise(
        self, x: Tensor, weights: np.ndarray, bias: np.ndarray | None = None, **options: Any
    ) -> Tensor:
        """Adds a depthwise convolution, in which each channel has its own kernel: ``weights``
        [channels, height, width]; options of :meth:`conv`."""
        return self.conv(
            x, np.asarray(weights)[:, np.newaxis], bias, groups=len(weights), **options
        )

    def dense(
        self,
        x: Tensor,
        weights: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        activation: str | None = None,
        weight_scale: float | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Adds a fully connected layer, ``x @ weights + bias`` over the last axis; ``weights``
        [inputs, results]. A map must be flattened first (:meth:`flatten`)."""
        first, *rest = self._weights("dense", x, weights, bias, weight_scale)
        made = self._node("MatMul", [x.name, first])
        if rest:
            made = self._node("Add", [made, *rest])
        return self._ended(made, activation, scale)

    def lstm(
        self,
        x: Tensor,
        weights: np.ndarray,
        recurrent: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        sequence: bool = False,
    ) -> Tensor:
        """Adds an LSTM over ``x`` [steps, features]; returns the last state, or with ``sequence``
        the states of all steps.

        Parameters
        ----------
        weights : [4 x hidden, features], gates in ONNX's order: input, output, forget, cell
        recurrent : [4 x hidden, hidden]
        bias : [8 x hidden], of the weights and then of the recurrent ones, in ONNX's order
        """
        return self._recurrent("LSTM", 4, x, weights, recurrent, bias, sequence, {})

    def gru(
        self,
        x: Tensor,
        weights: np.ndarray,
        recurrent: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        sequence: bool = False,
        linear_before_reset: bool = True,
    ) -> Tensor:
        """Adds a GRU over ``x`` [steps, features], with the options of :meth:`lstm`; three gates in
        ONNX's order: update, reset, hidden. PyTorch and Keras use ``linear_before_reset``."""
        attributes = {"linear_before_reset": int(linear_before_reset)}
        return self._recurrent("GRU", 3, x, weights, recurrent, bias, sequence, attributes)

    def layer_norm(
        self, x: Tensor, gain: np.ndarray, bias: np.ndarray | None = None, *, epsilon: float = 1e-5
    ) -> Tensor:
        """Adds a layer normalisation over the last axis, followed by ``gain`` and ``bias`` of its
        length."""
        operands = [x.name, self._constant(np.asarray(gain, np.float32), "gain")]
        if bias is not None:
            operands.append(self._constant(np.asarray(bias, np.float32), "bias"))
        return Tensor(self._node("LayerNormalization", operands, epsilon=epsilon))

    # Layers without weights

    def max_pool(
        self,
        x: Tensor,
        size: int | Sequence[int],
        *,
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] | Literal["same"] = 0,
    ) -> Tensor:
        """Adds max pooling over windows of a map [channels, height, width]; ``stride`` is ``size``
        unless it is given."""
        return self._pool("MaxPool", x, size, stride, padding, None)

    def average_pool(
        self,
        x: Tensor,
        size: int | Sequence[int],
        *,
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] | Literal["same"] = 0,
        scale: float | None = None,
    ) -> Tensor:
        """Adds average pooling with the options of :meth:`max_pool`; values outside the map do not
        count."""
        return self._pool("AveragePool", x, size, stride, padding, scale)

    def global_average(self, x: Tensor, *, scale: float | None = None) -> Tensor:
        """Adds global average pooling: the mean of each channel of a map, a vector."""
        pooled = self._node("GlobalAveragePool", [x.name])
        return self._ended(self._node("Flatten", [pooled], axis=1), None, scale)

    def activation(self, x: Tensor, kind: str, *, scale: float | None = None) -> Tensor:
        """Adds an elementwise activation by name: relu, leaky_relu, relu6, sigmoid, tanh, elu,
        softplus, hard_sigmoid, hard_swish, silu."""
        return self._ended(x.name, kind, scale)

    def softmax(self, x: Tensor) -> Tensor:
        """Adds a softmax over the last axis."""
        return Tensor(self._node("Softmax", [x.name], axis=-1))

    def add(
        self, a: Tensor, b: Tensor, *, activation: str | None = None, scale: float | None = None
    ) -> Tensor:
        """Adds the sum of two tensors of one shape, for example of a layer's result and its
        residual."""
        return self._ended(self._node("Add", [a.name, b.name]), activation, scale)

    def matmul(self, a: Tensor, b: Tensor, *, scale: float | None = None) -> Tensor:
        """Adds the matrix product of two activations."""
        return self._ended(self._node("MatMul", [a.name, b.name]), None, scale)

    def concat(self, *tensors: Tensor, axis: int = 0) -> Tensor:
        """Adds a concatenation along ``axis``, for a map its channels by default."""
        scales = {tensor.scale for tensor in tensors}
        names = [tensor.name for tensor in tensors]
        made = self._node("Concat", names, axis=axis + 1 if axis >= 0 else axis)
        return Tensor(made, scales.pop() if len(scales) == 1 else None)

    def flatten(self, x: Tensor) -> Tensor:
        """Adds a reshape of a tensor to a vector, in C order."""
        return Tensor(self._node("Flatten", [x.name], axis=1), x.scale)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """Adds a reshape: the same elements in C order with another shape."""
        target = self._constant(np.array([0, *shape], np.int64), "shape")
        return Tensor(self._node("Reshape", [x.name, target]), x.scale)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Adds a permutation of the axes, counted without the batch axis."""
        order = [0, *(axis + 1 for axis in axes)]
        return Tensor(self._node("Transpose", [x.name], perm=order), x.scale)

    # Outputs

    def compile(
        self,
        target: str,
        *,
        calibration: np.ndarray | dict[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Compiled:
        """Compiles the network for a target; see :func:`~.api.compile_model` for the options."""
        from .api import compile_model

        return compile_model(self, target, calibration=calibration, **options)

    def graph(self) -> Graph:
        """Converts the network to the compiler's graph.

        Raises
        ------
        OnnxError
            A layer that cannot be compiled; the message names each of them.
        """
        from .onnx_import import import_onnx

        return import_onnx(f"{self.name}.onnx", self._content())

    def save_onnx(self, path: str | Path) -> None:
        """Writes the network as an ONNX model. Raises InputError if ``path`` cannot be written."""
        check_output(path, "save_onnx")
        write_output(path, self._content())

    # ONNX

    def _content(self) -> bytes:
        if not self._outputs:
            raise InputError(f"{self.name}: no outputs: expected net.output(tensor)")
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, self._constants
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8  # that of the operator set, which older readers take too
        return model.SerializeToString()

    def _new_name(self, name: str) -> None:
        if name in self._names:
            raise InputError(f"{self.name}: {name}: expected a name that is not in use yet")
        self._names.add(name)

    def _value(self, name: str, kind: str, shape: list[int | str] | None) -> Any:
        number = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def _node(
        self,
        operator: str,
        operands: Sequence[str],
        result: str | None = None,
        *,
        known: bool = False,
        **attributes: Any,
    ) -> str:
        """Adds a node with one result and returns the result's name."""
        name = self._fresh(operator.lower())
        result = result or name
        if result != name and not known:
            self._new_name(result)
        self._nodes.append(
            self._onnx.helper.make_node(operator, operands, [result], name=name, **attributes)
        )
        return result

    def _fresh(self, stem: str) -> str:
        while True:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}_{self._counts[stem]}"
            if name not in self._names:
                self._names.add(name)
                return name

    def _constant(self, array: np.ndarray, stem: str) -> str:
        name = self._fresh(stem)
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def _integer(self, bits: int) -> str:
        if bits not in _INTEGERS:
            raise InputError(f"{self.name}: bits = {bits}: expected 8 or 16")
        return _INTEGERS[bits]

    def _grid(self, scale: float, kind: str) -> list[str]:
        """Adds the constants of a quantisation grid: its scale and the zero point 0."""
        if not (np.isfinite(scale) and scale > 0):
            raise InputError(f"{self.name}: scale = {scale}: expected a positive number")
        return [
            self._constant(np.array(scale, np.float32), "scale"),
            self._constant(np.array(0, kind), "zero"),
        ]

    def _weights(
        self,
        layer: str,
        x: Tensor,
        weights: np.ndarray,
        bias: np.ndarray | None,
        scale: float | None,
    ) -> list[str]:
        """Adds weights and bias as constants, real numbers or integers on quantisation grids, and
        returns their names."""
        weights = np.asarray(weights)
        if scale is None:
            found = [self._constant(weights.astype(np.float32), "weights")]
            if bias is not None:
                found.append(self._constant(np.asarray(bias, np.float32), "bias"))
            return found
        if x.scale is None and bias is not None:
            raise InputError(
                f"{self.name}: {layer}: a bias of integers: expected an operand with a scale, "
                f"{x.name} has none"
            )
        found = [self._whole(layer, "weights", weights, "int8", scale)]
        if bias is not None:
            found.append(
                self._whole(layer, "bias", np.asarray(bias), "int32", scale * (x.scale or 1))
            )
        return found

    def _whole(self, layer: str, what: str, array: np.ndarray, kind: str, scale: float) -> str:
        """Adds an integer array with a DequantizeLinear node and returns the name of the real
        values."""
        limits = np.iinfo(kind)
        if array.dtype.kind not in "iu" or (
            array.size and (array.min() < limits.min or array.max() > limits.max)
        ):
            raise InputError(
                f"{self.name}: {layer}: {what} of {array.dtype}: expected integers from "
                f"{limits.min} to {limits.max}, since they have a scale"
            )
        operands = [self._constant(array.astype(kind), what), *self._grid(scale, kind)]
        return self._node("DequantizeLinear", operands)

    def _ended(self, name: str, activation: str | None, scale: float | None) -> Tensor:
        """Appends the end of a layer: its activation, and the quantisation of its result."""
        if activation in ("relu6", "silu"):
            name = self._composed(name, activation)
        elif activation is not None:
            if activation not in _ACTIVATIONS:
                known = sorted([*_ACTIVATIONS, "relu6", "silu"])
                raise InputError(
                    f"{self.name}: no activation {activation!r}"
                    + suggestion(activation, known, "there are")
                )
            operator, attributes = _ACTIVATIONS[activation]
            name = self._node(operator, [name], **attributes)
        if scale is None:
            return Tensor(name)
        whole = self._node("QuantizeLinear", [name, *self._grid(scale, "int8")])
        real = self._node("DequantizeLinear", [whole, *self._grid(scale, "int8")])
        return Tensor(real, float(scale))

    def _composed(self, name: str, activation: str) -> str:
        if activation == "silu":
            return self._node("Mul", [name, self._node("Sigmoid", [name])])
        limits = (self._constant(np.array(limit, np.float32), "limit") for limit in (0, 6))
        return self._node("Clip", [name, *limits])

    def _pool(
        self,
        operator: str,
        x: Tensor,
        size: int | Sequence[int],
        stride: int | Sequence[int] | None,
        padding: int | Sequence[int] | Literal["same"],
        scale: float | None,
    ) -> Tensor:
        kernel = _each(size, 2, "size")
        attributes = {
            "kernel_shape": kernel,
            "strides": kernel if stride is None else _each(stride, 2, "stride"),
            **_padding(padding, 2),
        }
        made = self._ended(self._node(operator, [x.name], **attributes), None, scale)
        # The largest of numbers on a grid lies on it.
        return Tensor(made.name, x.scale) if operator == "MaxPool" else made

    def _recurrent(
        self,
        operator: str,
        gates: int,
        x: Tensor,
        weights: np.ndarray,
        recurrent: np.ndarray,
        bias: np.ndarray | None,
        sequence: bool,
        attributes: dict[str, Any],
    ) -> Tensor:
        rows, features = np.shape(weights)
        hidden, rest = divmod(rows, gates)
        wanted = {"recurrent": (rows, hidden), "bias": (2 * rows,)}
        given = {"recurrent": recurrent, **({} if bias is None else {"bias": bias})}
        if rest:
            raise InputError(
                f"{self.name}: {operator}: weights of {rows} rows: expected a multiple of {gates}, "
                f"one block of rows for each gate"
            )
        for what, array in given.items():
            if np.shape(array) != wanted[what]:
                raise InputError(
                    f"{self.name}: {operator}: {what} of the shape {list(np.shape(array))}: "
                    f"expected {list(wanted[what])}"
                )
        steps_first = self._node("Transpose", [x.name], perm=[1, 0, 2])
        operands = [steps_first]
        for what, array in {"weights": weights, **given}.items():
            operands.append(self._constant(np.asarray(array, np.float32)[np.newaxis], what))
        name = self._fresh(operator.lower())
        every, last = f"{name}_sequence", f"{name}_last"
        self._new_name(every)
        self._new_name(last)
        self._nodes.append(
            self._onnx.helper.make_node(
                operator,
                operands,
                [every, last],
                name=name,
                hidden_size=hidden,
                **attributes,
            )
        )
        axis = self._constant(np.array([1 if sequence else 0], np.int64), "axis")
        squeezed = self._node("Squeeze", [every if sequence else last, axis])
        if sequence:
            squeezed = self._node("Transpose", [squeezed], perm=[1, 0, 2])
        return Tensor(squeezed)


def _each(value: int | Sequence[int], axes: int, what: str) -> list[int]:
    """Expands an argument to one positive integer per spatial axis."""
    values = [value] * axes if isinstance(value, int | np.integer) else list(value)
    if len(values) != axes or any(int(one) != one or one < 1 for one in values):
        raise InputError(f"{what} = {value}: expected a positive integer, or {axes} of them")
    return [int(one) for one in values]


def _padding(padding: int | Sequence[int] | Literal["same"], axes: int) -> dict[str, Any]:
    """Converts a padding argument to ONNX's attributes."""
    if isinstance(padding, str):
        if padding != "same":
            raise InputError(f'padding = {padding!r}: expected "same", or elements for each axis')
        return {"auto_pad": "SAME_UPPER"}
    values = [padding] * axes if isinstance(padding, int | np.integer) else list(padding)
    if len(values) != axes or any(int(one) != one or one < 0 for one in values):
        raise InputError(
            f"padding = {padding}: expected elements at both ends of the map, one number or {axes}"
        )
    return {"pads": [int(one) for one in values] * 2}
