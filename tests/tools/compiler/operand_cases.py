# SPDX-License-Identifier: BSD-2-Clause
"""Models of one operator each, with every kind of operand in every place: tensors that flow, one
tensor repeated, constants, scalars, arrays without elements, and operands left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

__all__ = ["Case", "cases", "operator_names"]

VECTOR, MAP, SEQUENCE = (8,), (4, 5, 6), (4, 9)
#: Names of the tensors that flow: the network's input, and another one.
INPUT, OTHER = "x", "h"
LEFT_OUT = ""
_LEARNING = "ai.onnx.ml"
_RESULT_TYPES = {
    "ArgMax": TensorProto.INT64,
    "ArrayFeatureExtractor": TensorProto.FLOAT,
    "QuantizeLinear": TensorProto.INT8,
    "Shape": TensorProto.INT64,
    "Size": TensorProto.INT64,
}


@dataclass(frozen=True)
class Operator:
    """One operator with fixed attributes. ``slots``: for each operand its choices, name -> array
    or name of a tensor, the usual choice first."""

    name: str
    shape: tuple  # of the network's input, without the axis that counts inputs
    slots: tuple
    attributes: dict = field(default_factory=dict)
    opset: int = 17
    domain: str = ""


@dataclass(frozen=True)
class Case:
    """An operator and the choice of each of its operands."""

    operator: Operator
    choice: tuple

    @property
    def text(self) -> str:
        """For messages of tests."""
        op = self.operator
        return f"{op.name} of {', '.join(self.choice)}; x {op.shape}, {op.attributes}"

    def save(self, path) -> None:
        """Write the model, whose node is called ``the_node``; where no operand flows, its result is
        added to the input, by ``behind``."""
        op = self.operator
        inputs, constants = [], []
        for place, (slot, choice) in enumerate(zip(op.slots, self.choice, strict=True)):
            found = slot[choice]
            if not isinstance(found, str):
                constants.append(numpy_helper.from_array(np.asarray(found), f"k{place}"))
                found = f"k{place}"
            inputs.append(found)
        while inputs and inputs[-1] == LEFT_OUT:
            inputs.pop()
        results = {"Split": ["y", "y2"], "LinearClassifier": ["label", "y"]}.get(op.name, ["y"])
        nodes = [helper.make_node("Relu", [INPUT], [OTHER], name="before")]
        nodes = nodes if OTHER in inputs else []
        node = helper.make_node(op.name, inputs, results, name="the_node", domain=op.domain)
        for name, value in op.attributes.items():
            kind = AttributeProto.INTS if name == "axes" else AttributeProto.FLOATS
            node.attribute.append(
                helper.make_attribute(name, value, attr_type=None if value != [] else kind)
            )
        nodes.append(node)
        kind = _RESULT_TYPES.get(op.name, TensorProto.FLOAT)
        if not {INPUT, OTHER} & set(inputs):
            nodes.append(helper.make_node("Add", [INPUT, "y"], ["z"], name="behind"))
            results, kind = ["z"], TensorProto.FLOAT
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["b", *op.shape])],
            [helper.make_tensor_value_info(r, kind, None) for r in results if r != "label"],
            constants,
        )
        opsets = [helper.make_opsetid("", op.opset)]
        if op.domain:
            opsets.append(helper.make_opsetid(op.domain, 3))
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def _random(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32) / 2


def _odd(shape):
    """Operands that are wrong for nearly every operator on numbers."""
    return {
        "a scalar": np.float32(0.75),
        "one element": np.array([0.75], np.float32),
        "no elements": np.zeros(0, np.float32),
        "an axis of length zero": np.zeros((1, *shape[:-1], 0), np.float32),
        "nothing": LEFT_OUT,
    }


def _flow(shape):
    """An operand that usually flows."""
    constants = {"a constant": _random(1, *shape), "a vector": _random(shape[-1])}
    return {"x": INPUT, "another tensor": OTHER, **constants, **_odd(shape)}


def _weights(*shape):
    """An operand that is usually constant."""
    return {"a constant": _random(*shape), "x": INPUT, "another tensor": OTHER, **_odd(shape)}


def _variances(*shape):
    return {**_weights(*shape), "a constant": np.abs(_random(*shape)) + 0.5}


def _whole(*values):
    """An operand of axes, lengths or places."""
    usual = np.array(values, np.int64)
    return {
        "numbers": usual,
        "no numbers": np.zeros(0, np.int64),
        "a scalar": usual[0],
        "zeros": 0 * usual,
        "x": INPUT,
        "nothing": LEFT_OUT,
    }


def _number(value, kind=np.float32):
    return {
        "a number": kind(value),
        "one element": np.array([value], kind),
        "two elements": np.array([value, value], kind),
        "no elements": np.zeros(0, kind),
        "x": INPUT,
        "nothing": LEFT_OUT,
    }


def _elementwise(shape) -> Iterator[Operator]:
    flow = _flow(shape)
    for name in (
        *("Relu", "Sigmoid", "Tanh", "Exp", "Neg", "Abs", "LeakyRelu", "HardSigmoid", "HardSwish"),
        *("Elu", "Selu", "Celu", "Softplus", "Softsign", "Erf", "Identity", "Dropout"),
        *("Log", "Sqrt", "Reciprocal"),
    ):
        yield Operator(name, shape, (flow,))
    yield Operator("Gelu", shape, (flow,), opset=20)
    yield Operator("Cast", shape, (flow,), {"to": TensorProto.FLOAT})
    yield Operator("PRelu", shape, (flow, flow))
    yield Operator("Clip", shape, (flow, _number(-0.5), _number(0.5)))
    yield Operator("Clip", shape, (flow, {"nothing": LEFT_OUT}, _number(0.5)))
    yield Operator("Pow", shape, (flow, _number(2)))
    for name, count in product(("Min", "Max", "Sum"), (1, 2, 3)):
        yield Operator(name, shape, (flow,) * count)
    for name in ("Add", "Sub", "Mul", "Div"):
        yield Operator(name, shape, (flow, flow))
    for axis, count in ((1, 1), (1, 2), (1, 3), (-1, 2), (0, 2)):
        yield Operator("Concat", shape, (flow,) * count, {"axis": axis})


def _shaping(shape) -> Iterator[Operator]:
    flow, count = _flow(shape), len(shape) + 1
    longer = (1, *shape)
    yield Operator("Shape", shape, (flow,))
    yield Operator("Size", shape, (flow,))
    yield Operator("Transpose", shape, (flow,))
    yield Operator("Transpose", shape, (flow,), {"perm": [0, *range(count - 1, 0, -1)]})
    for axis in (0, 1, count):
        yield Operator("Flatten", shape, (flow,), {"axis": axis})
    for sizes in ((0, -1), (-1, int(np.prod(shape))), (0, 2, -1, 1)):
        yield Operator("Reshape", shape, (flow, _whole(*sizes)))
    yield Operator("Squeeze", longer, (_flow(longer), _whole(1)))
    for axes in ([], [1]):
        yield Operator("Squeeze", longer, (_flow(longer),), {"axes": axes}, opset=11)
        yield Operator("Unsqueeze", shape, (flow,), {"axes": axes}, opset=11)
    for axis in (1, -1):
        yield Operator("Unsqueeze", shape, (flow, _whole(axis)))
    yield Operator("Expand", shape, (flow, _whole(1, *shape)))
    yield Operator("Expand", shape, (flow, _whole(1)))
    one = _whole(1)
    yield Operator("Slice", shape, (flow, one, _whole(3), one, one))
    yield Operator("Slice", shape, (flow, _whole(2), _whole(2), one, one))  # of nothing
    yield Operator("Slice", shape, (flow, _whole(3), _whole(0), one, _whole(-1)))
    yield Operator("Split", shape, (flow,), {"axis": 1})
    for first in (0, 1):
        yield Operator("Split", shape, (flow, _whole(first, shape[0] - first)), {"axis": 1})
    yield Operator("Gather", shape, (flow, _whole(0, 2, 1)), {"axis": 1})
    yield Operator("ArrayFeatureExtractor", shape, (flow, _whole(1, 2)), domain=_LEARNING)


def _reducing(shape) -> Iterator[Operator]:
    flow, every = _flow(shape), list(range(1, len(shape) + 1))
    for name, keep in product(("ReduceMean", "ReduceSum", "ReduceMax"), (0, 1)):
        opset = 17 if name == "ReduceSum" else 18
        for more in ({}, {"noop_with_empty_axes": 1}):
            yield Operator(name, shape, (flow, _whole(1)), {"keepdims": keep, **more}, opset)
        yield Operator(name, shape, (flow, _whole(*every)), {"keepdims": keep}, opset)
        for axes in ([], [1], [-1], [0], every):
            yield Operator(name, shape, (flow,), {"keepdims": keep, "axes": axes}, opset=11)
    for name, axis in product(("Softmax", "LogSoftmax", "ArgMax"), (1, -1, 0)):
        yield Operator(name, shape, (flow,), {"axis": axis})
    scale, first = _number(0.05), _number(3, np.int8)
    yield Operator("QuantizeLinear", shape, (flow, scale, first))
    whole = {**_flow(shape), "a constant": np.ones((1, *shape), np.int8)}
    yield Operator("DequantizeLinear", shape, (whole, scale, first))
    channels = (_weights(shape[0]),) * 2 + (_variances(shape[0]),) * 2
    yield Operator("BatchNormalization", shape, (flow, *channels))
    yield Operator("InstanceNormalization", shape, (flow, *channels[:2]))
    yield Operator("LayerNormalization", shape, (flow, _weights(shape[-1]), _weights(shape[-1])))


def _products() -> Iterator[Operator]:
    for first, second in (
        (_flow(VECTOR), _weights(8, 3)),
        (_weights(3, 8), _flow(VECTOR)),
        (_flow(VECTOR), _weights(8)),
    ):
        yield Operator("MatMul", VECTOR, (first, second))
    square = _flow((5, 5))
    yield Operator("MatMul", (5, 5), (square, square))
    yield Operator("MatMul", (5, 8), (_flow((5, 8)), _weights(8, 3)))
    for turned in (0, 1):
        weights = _weights(3, 8) if turned else _weights(8, 3)
        attributes = {"transB": turned, "alpha": 0.5, "beta": 2.0}
        yield Operator("Gemm", VECTOR, (_flow(VECTOR), weights, _weights(3)), attributes)
    for shape in (VECTOR, (2,)):
        recurrent = _flow((5, shape[0]))
        for name, gates in (("LSTM", 4), ("GRU", 3)):
            slots = (
                recurrent,
                _weights(1, gates * 3, shape[0]),
                _weights(1, gates * 3, 3),
                _weights(1, 2 * gates * 3),
                {"nothing": LEFT_OUT, **_whole(5)},
                _weights(1, 1, 3),
            )
            yield Operator(name, (5, shape[0]), slots, {"hidden_size": 3, "layout": 1})


def _windows() -> Iterator[Operator]:
    flow = _flow(MAP)
    yield Operator("Conv", MAP, (flow, _weights(3, 4, 3, 3), _weights(3)))
    yield Operator("Conv", MAP, (flow, _weights(4, 1, 3, 3), _weights(4)), {"group": 4})
    yield Operator("Conv", SEQUENCE, (_flow(SEQUENCE), _weights(3, 4, 3), _weights(3)))
    for name in ("MaxPool", "AveragePool"):
        for window in ([2, 2], [5, 6]):
            yield Operator(name, MAP, (flow,), {"kernel_shape": window})
        yield Operator(name, SEQUENCE, (_flow(SEQUENCE),), {"kernel_shape": [3]})
    for name, shape in product(("GlobalAveragePool", "GlobalMaxPool"), (MAP, SEQUENCE)):
        yield Operator(name, shape, (_flow(shape),))
    yield Operator("Pad", MAP, (flow, _whole(0, 0, 1, 1, 0, 0, 1, 1), _number(0)))
    yield Operator("Pad", VECTOR, (_flow(VECTOR), _whole(0, 1, 0, 1), _number(0)))
    nothing = {"nothing": LEFT_OUT, "no elements": np.zeros(0, np.float32)}
    scales = {
        **_weights(4),
        "a constant": np.array([1, 1, 2, 2], np.float32),
        "ones": np.ones(4, np.float32),
    }
    yield Operator("Resize", MAP, (flow, nothing, scales), opset=13)
    yield Operator("Resize", MAP, (flow, nothing, nothing, _whole(1, 4, 10, 12)), opset=13)
    yield Operator("Upsample", MAP, (flow, scales), opset=11)


def _learning() -> Iterator[Operator]:
    for name, attributes in (
        ("Scaler", {"offset": [1.0] * 8, "scale": [2.0] * 8}),
        ("Scaler", {"offset": [1.0], "scale": [2.0]}),
        ("Scaler", {"offset": [], "scale": []}),
        ("LinearRegressor", {"coefficients": [0.1] * 16, "intercepts": [1.0, 2.0], "targets": 2}),
        ("LinearRegressor", {"coefficients": [0.1] * 8, "intercepts": []}),
        ("LinearRegressor", {}),
        (
            "LinearClassifier",
            {
                "coefficients": [0.1] * 8 + [-0.2] * 8,
                "intercepts": [0.1, 0.2],
                "classlabels_ints": [0, 1],
            },
        ),
        ("Normalizer", {"norm": "L2"}),
    ):
        yield Operator(name, VECTOR, (_flow(VECTOR),), attributes, domain=_LEARNING)


def _operators(maps) -> Iterator[Operator]:
    shape = MAP if maps else VECTOR
    for group in (_elementwise, _shaping, _reducing):
        yield from group(shape)
    if not maps:
        for group in (_products, _windows, _learning):
            yield from group()


def operator_names() -> list[str]:
    """Names of all operators that there are cases of."""
    return sorted({operator.name for operator in _operators(False)})


def cases(name: str, maps: bool) -> Iterator[Case]:
    """Cases of the operator ``name``: each operand in turn is every choice, with the others as
    usual; and so is each behind the first where that is constant."""
    for operator in _operators(maps):
        if operator.name != name:
            continue
        usual = [next(iter(slot)) for slot in operator.slots]
        choices = {tuple(usual): None}
        firsts = [usual[0], *(c for c in ("a constant", "a scalar") if c in operator.slots[0])]
        for first, (place, slot) in product(firsts, enumerate(operator.slots)):
            for choice in slot:
                chosen = [first, *usual[1:]]
                chosen[place] = choice
                choices[tuple(chosen)] = None
        for choice in choices:
            yield Case(operator, choice)
