# SPDX-License-Identifier: BSD-2-Clause
"""ONNX operators by their texts, where onnxruntime or ONNX's own evaluator computes another
thing."""

import copy

import numpy as np
import onnx
from onnx.reference.op_run import OpRun

__all__ = ["OPERATORS_BY_TEXT", "in_double", "without_ambiguities"]


class BatchNormalization(OpRun):
    """BatchNormalization with the given mean and variance; up to opset 13 ONNX's evaluator mixes
    them with those of its input."""

    op_domain = ""

    def _run(self, x, scale, bias, mean, variance, epsilon=1e-5, **_):
        shape = (-1, *[1] * (x.ndim - 2))
        factor = scale / np.sqrt(variance + np.float32(epsilon))
        return ((x - mean.reshape(shape)) * factor.reshape(shape) + bias.reshape(shape),)


class LpNormalization(OpRun):
    """LpNormalization; ONNX's evaluator sums signed numbers."""

    op_domain = ""

    def _run(self, x, axis=-1, p=2):
        norm = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
        return (np.divide(x, norm, out=np.zeros_like(x), where=norm != 0),)


class MeanVarianceNormalization(OpRun):
    """MeanVarianceNormalization in float64; ONNX's evaluator subtracts squares in float32, which
    leaves nothing of a variance much smaller than the mean."""

    op_domain = ""

    def _run(self, x, axes=(0, 2, 3)):
        axes = tuple(axes)
        centred = x - x.astype(np.float64).mean(axes, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axes, keepdims=True))
        return ((centred / (deviation + 1e-9)).astype(x.dtype),)


#: Operators that replace those of ONNX's evaluator.
OPERATORS_BY_TEXT = [BatchNormalization, LpNormalization, MeanVarianceNormalization]


def without_ambiguities(model, shapes):
    """The same model by the operators' texts, without attributes that the two evaluators take in
    other ways.

    * Maximum pools with dilations and ``auto_pad`` SAME: onnxruntime leaves out the dilations,
      and ONNX's evaluator pads SAME_LOWER as SAME_UPPER. They get ``pads``.
    * Resize with ``scales`` and ``align_corners``: ONNX's evaluator takes a length that is no
      whole number for that of the result. They get ``sizes``.
    """
    model = copy.deepcopy(model)
    for node in model.graph.node:
        given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        if node.op_type == "MaxPool" and b"SAME" in given.get("auto_pad", b""):
            pads = onnx.helper.make_attribute("pads", same_pads(shapes[node.input[0]][2:], **given))
            kept = [one for one in node.attribute if one.name not in ("auto_pad", "pads")]
            del node.attribute[:]
            node.attribute.extend([*kept, pads])
        corners = given.get("coordinate_transformation_mode") == b"align_corners"
        if node.op_type == "Resize" and corners and len(node.input) == 3:
            name = f"{node.name}_sizes"
            sizes = np.array(shapes[node.output[0]], np.int64)
            model.graph.initializer.append(onnx.numpy_helper.from_array(sizes, name))
            node.input[2] = ""
            node.input.append(name)
    return model


def same_pads(lengths, auto_pad, kernel_shape, dilations, strides, **_):
    """``pads`` of a window with ``auto_pad`` SAME_UPPER or SAME_LOWER, as the text of MaxPool
    computes them."""
    before, after = [], []
    windows = zip(kernel_shape, dilations, strides, strict=True)
    for length, (kernel, dilation, stride) in zip(lengths, windows, strict=True):
        count = -(-length // stride)
        total = (count - 1) * stride + ((kernel - 1) * dilation + 1) - length
        less = total // 2
        more = total - less
        before.append(less if auto_pad == b"SAME_UPPER" else more)
        after.append(more if auto_pad == b"SAME_UPPER" else less)
    return [*before, *after]


def in_double(model):
    """The model with float64 for float32: sums of large numbers whose differences count lose up to
    all digits in float32.

    GroupNormalization (opset 21 or later) gets ``stash_type`` as well: without it the statistics
    stay in float32. ONNX defines the variance as the mean of squares less the square of the mean,
    and in float32 that loses its digits if the numbers of a group are nearly equal.
    """
    model = copy.deepcopy(model)
    for node in model.graph.node:
        if node.op_type == "GroupNormalization":
            stash_type = onnx.helper.make_attribute("stash_type", onnx.TensorProto.DOUBLE)
            node.attribute.append(stash_type)
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            data = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(data, tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    return model
