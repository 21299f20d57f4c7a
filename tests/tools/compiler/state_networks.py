# SPDX-License-Identifier: BSD-2-Clause
"""Small networks with states, as ONNX models: recurrent layers, and convolutions over time."""

import numpy as np
import onnx

__all__ = ["model", "recurrent", "relu_cell", "tap_pairs", "wake_word"]

_FLOAT = onnx.TensorProto.FLOAT


def model(nodes, inputs, outputs, constants):
    """Bytes of a model; ``inputs`` and ``outputs``: name -> shape, ``constants``: name -> array."""

    def values(shapes):
        return [
            onnx.helper.make_tensor_value_info(name, _FLOAT, shape)
            for name, shape in shapes.items()
        ]

    graph = onnx.helper.make_graph(
        nodes,
        "net",
        values(inputs),
        values(outputs),
        [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    made = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return onnx.shape_inference.infer_shapes(made).SerializeToString()


def _random(seed):
    chance = np.random.default_rng(seed)

    def draw(*shape, size=1.0):
        return (chance.normal(0, size, shape) / np.sqrt(max(shape[-1], 1))).astype("f4")

    return draw


def relu_cell(seed=0, features=8, hidden=16, classes=4, names=("state_in", "state_out")):
    """h' = relu(W [x, h] + b), y = V h'."""
    draw, (before, after) = _random(seed), names
    node = onnx.helper.make_node
    return model(
        [
            node("Concat", ["x", before], ["both"], axis=1),
            node("Gemm", ["both", "w", "b"], ["sum"], transB=1),
            node("Relu", ["sum"], [after]),
            node("Gemm", [after, "v"], ["y"], transB=1),
        ],
        {"x": [1, features], before: [1, hidden]},
        {"y": [1, classes], after: [1, hidden]},
        {"w": draw(hidden, features + hidden), "b": draw(hidden), "v": draw(classes, hidden)},
    )


def recurrent(operator, seed=0, features=8, hidden=16, classes=4):
    """One step of an LSTM, GRU or RNN with its states outside, and a dense layer."""
    draw, node = _random(seed), onnx.helper.make_node
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    states = ["h", "c"] if operator == "LSTM" else ["h"]
    shape = [1, 1, hidden]
    firsts, lasts = ([f"{word}_{name}" for name in states] for word in ("first", "last"))
    return model(
        [
            node(
                operator,
                ["x", "w", "r", "b", "", *firsts],
                ["", *lasts],
                hidden_size=hidden,
            ),
            node("Reshape", ["last_h", "flat"], ["vector"]),
            node("Gemm", ["vector", "v"], ["y"], transB=1),
        ],
        {"x": [1, 1, features], **dict.fromkeys(firsts, shape)},
        {"y": [1, classes], **dict.fromkeys(lasts, shape)},
        {
            "w": draw(1, gates * hidden, features, size=1.5),
            "r": draw(1, gates * hidden, hidden),
            "b": draw(1, 2 * gates * hidden),
            "v": draw(classes, hidden),
            "flat": np.array([1, hidden]),
        },
    )


def tap_pairs(names, shape=(1, 6)):
    """A network of one dense layer for each pair (input, output) of ``names``, beside x -> y."""
    draw, node = _random(1), onnx.helper.make_node
    pairs = [("x", "y"), *names]
    return model(
        [node("MatMul", [source, "w"], [result]) for source, result in pairs],
        {source: list(shape) for source, _ in pairs},
        {result: list(shape) for _, result in pairs},
        {"w": draw(shape[-1], shape[-1])},
    )


def wake_word(
    seed=0,
    *,
    features=40,
    channels=32,
    frames=32,
    blocks=3,
    stride=1,
    padding="valid",
    pooled=True,
    residual=False,
):
    """A one-dimensional depthwise separable network over [1, features, frames] of the shape of a
    streaming wake word: a convolution over time, ``blocks`` of a depthwise and a pointwise one, the
    mean over time and a dense layer; without ``pooled`` every frame's channels."""
    draw, node = _random(seed), onnx.helper.make_node
    nodes, constants = [], {}

    def convolution(x, name, inputs, kernel, groups=1, step=1, dilation=1):
        reach = (kernel - 1) * dilation
        pads = {"valid": [0, 0], "causal": [reach, 0], "same": [reach // 2, reach - reach // 2]}
        constants[f"{name}_w"] = draw(channels, inputs // groups, kernel, size=1.2)
        constants[f"{name}_b"] = draw(channels)
        nodes.append(
            node(
                "Conv",
                [x, f"{name}_w", f"{name}_b"],
                [f"{name}_sum"],
                name=name,
                kernel_shape=[kernel],
                strides=[step],
                dilations=[dilation],
                group=groups,
                pads=pads[padding],
            )
        )
        nodes.append(node("Relu", [f"{name}_sum"], [name]))
        return name

    x = convolution("x", "first", features, 3, step=stride)
    for number in range(blocks):
        before = x
        dilation = 2 if number == 1 else 1
        x = convolution(x, f"depthwise{number}", channels, 3, channels, dilation=dilation)
        x = convolution(x, f"pointwise{number}", channels, 1)
        if residual:
            nodes.append(node("Add", [before, x], [f"sum{number}"], name=f"add{number}"))
            x = f"sum{number}"
    if pooled:
        constants |= {"v": draw(3, channels), "flat": np.array([1, channels])}
        nodes.append(node("GlobalAveragePool", [x], ["mean"], name="mean"))
        nodes.append(node("Reshape", ["mean", "flat"], ["vector"]))
        nodes.append(node("Gemm", ["vector", "v"], ["y"], transB=1, name="classes"))
    else:
        nodes.append(node("Identity", [x], ["y"]))
    return model(nodes, {"x": [1, features, frames]}, {"y": [1, 3] if pooled else None}, constants)
