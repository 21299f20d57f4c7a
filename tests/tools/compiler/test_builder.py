# SPDX-License-Identifier: BSD-2-Clause
"""Networks built from numpy arrays: every layer means what onnxruntime makes of it, and compiles
as a model that was read from a file."""

import numpy as np
import onnxruntime
import pytest

from quintet import Net, compile_model
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.onnx_import import OnnxError
from quintet.tools.compiler.values import from_graph, to_graph
from quintet.tools.errors import InputError

CORES = ("cherry", "imagine", "opentpu", "opu", "pim")
RNG = np.random.default_rng(7)


def numbers(*shape):
    return RNG.normal(0, 0.5, shape).astype(np.float32)


def values_of(graph, given):
    """Outputs of a graph in real numbers, by the compiler's own evaluation."""
    values = run_graph(
        graph, {port.tensor: to_graph(port, given[port.name]) for port in graph.inputs}
    )
    return [from_graph(port, values[port.tensor]) for port in graph.outputs]


MAP, VECTOR, STEPS = (3, 8, 8), (12,), (5, 6)
#: Layer -> (shape of the input, function that adds it, shape of its result).
LAYERS = {
    "conv": (MAP, lambda net, x: net.conv(x, numbers(4, 3, 3, 3), numbers(4)), (4, 6, 6)),
    "conv, options": (
        MAP,
        lambda net, x: net.conv(
            x, numbers(6, 1, 3, 3), stride=2, padding="same", groups=3, activation="relu6"
        ),
        (6, 4, 4),
    ),
    "conv over one axis": (
        (3, 16),
        lambda net, x: net.conv(x, numbers(2, 3, 3), dilation=2, padding=2),
        (2, 16),
    ),
    "transposed conv": (
        MAP,
        lambda net, x: net.conv_transpose(
            x, numbers(3, 4, 4, 4), numbers(4), padding=1, activation="relu"
        ),
        (4, 16, 16),
    ),
    "depthwise": (
        MAP,
        lambda net, x: net.depthwise(x, numbers(3, 3, 3), numbers(3), padding=1),
        MAP,
    ),
    "dense": (
        VECTOR,
        lambda net, x: net.dense(x, numbers(12, 5), numbers(5), activation="tanh"),
        (5,),
    ),
    "lstm": (
        STEPS,
        lambda net, x: net.lstm(x, numbers(16, 6), numbers(16, 4), numbers(32)),
        (4,),
    ),
    "lstm, sequence": (
        STEPS,
        lambda net, x: net.lstm(x, numbers(16, 6), numbers(16, 4), sequence=True),
        (5, 4),
    ),
    "gru": (STEPS, lambda net, x: net.gru(x, numbers(12, 6), numbers(12, 4), numbers(24)), (4,)),
    "layer norm": (STEPS, lambda net, x: net.layer_norm(x, numbers(6), numbers(6)), STEPS),
    "max pool": (MAP, lambda net, x: net.max_pool(x, 2), (3, 4, 4)),
    "max pool, options": (MAP, lambda net, x: net.max_pool(x, 3, stride=2, padding=1), (3, 4, 4)),
    "average pool": (MAP, lambda net, x: net.average_pool(x, (2, 4)), (3, 4, 2)),
    "global average": (MAP, lambda net, x: net.global_average(x), (3,)),
    "softmax": (VECTOR, lambda net, x: net.softmax(x), VECTOR),
    "silu": (VECTOR, lambda net, x: net.activation(x, "silu"), VECTOR),
    "leaky relu": (VECTOR, lambda net, x: net.activation(x, "leaky_relu"), VECTOR),
    "hard swish": (VECTOR, lambda net, x: net.activation(x, "hard_swish"), VECTOR),
    "residual": (
        MAP,
        lambda net, x: net.add(x, net.conv(x, numbers(3, 3, 1, 1)), activation="relu"),
        MAP,
    ),
    "concat": (MAP, lambda net, x: net.concat(x, net.activation(x, "relu")), (6, 8, 8)),
    "concat, last axis": (MAP, lambda net, x: net.concat(x, x, axis=-1), (3, 8, 16)),
    "matmul": (STEPS, lambda net, x: net.matmul(x, net.transpose(x, (1, 0))), (5, 5)),
    "reshape": (MAP, lambda net, x: net.reshape(x, (6, 32)), (6, 32)),
    "flatten": (MAP, lambda net, x: net.flatten(x), (192,)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer_is_what_onnxruntime_computes(name, tmp_path):
    shape, add, result = LAYERS[name]
    net = Net("one layer")
    x = net.input("x", shape)
    # A product behind each layer, so that layers which only rename elements are a network.
    y = net.activation(add(net, net.activation(x, "tanh")), "tanh")
    net.output(y, "y")
    net.save_onnx(tmp_path / "net.onnx")
    given = RNG.normal(0, 1, (3, *shape)).astype(np.float32)
    session = onnxruntime.InferenceSession(
        tmp_path / "net.onnx", providers=["CPUExecutionProvider"]
    )
    rows = [session.run(None, {"x": given[at : at + 1]})[0] for at in range(3)]
    wanted = np.concatenate(rows)
    assert wanted.shape == (3, *result)
    (found,) = values_of(net.graph(), {"x": given})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def classifier():
    """A small network of convolutions with a residual, and inputs for it."""
    net = Net("classifier")
    x = net.input("image", (1, 8, 8))
    x = net.conv(x, numbers(8, 1, 3, 3), numbers(8), padding=1, activation="relu")
    x = net.add(x, net.conv(x, numbers(8, 8, 3, 3), padding=1), activation="relu")
    x = net.max_pool(x, 2)
    net.output(net.dense(net.flatten(x), numbers(128, 10), numbers(10)), "scores")
    return net, RNG.normal(0, 1, (16, 1, 8, 8))


@pytest.mark.parametrize("core", CORES)
def test_network_runs_on_every_core(core):
    net, images = classifier()
    (exact,) = values_of(net.graph(), {"image": images})
    with net.compile(f"model:{core}", calibration=images).open() as session:
        found = session(images)
    ratio = (exact**2).sum() / ((found - exact) ** 2).sum()
    assert 10 * np.log10(ratio) > 25


def test_saved_network_compiles_to_the_same_plan(tmp_path):
    net, images = classifier()
    net.save_onnx(tmp_path / "net.onnx")
    built = net.compile("model:opu", calibration=images)
    read = compile_model(tmp_path / "net.onnx", "model:opu", calibration=images)
    built.save(tmp_path / "a")
    read.save(tmp_path / "b")
    files = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in "ab"]
    assert files[0] == files[1]
    for name in files[0]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize("core", CORES)
def test_scales_that_are_given_make_a_network_of_integers(core):
    """Integers in, integers out: each result within the rounding of the core of x @ w + b."""
    net = Net("integers")
    x = net.input("x", (16,), scale=1 / 8)
    weights, bias = RNG.integers(-20, 20, (16, 8)), RNG.integers(-100, 100, 8)
    y = net.dense(x, weights, bias, weight_scale=1 / 64, scale=1 / 4, activation="relu")
    net.output(y, "y")
    given = RNG.integers(-128, 128, (6, 16)).astype(np.int8)
    with net.compile(f"model:{core}", calibration=given).open() as session:
        found = session(given)
    exact = np.maximum((given.astype(int) @ weights + bias) / (8 * 64), 0) * 4
    assert found.dtype == np.int8
    assert np.abs(found - np.clip(exact, -128, 127)).max() <= 1


def fails(build):
    net = Net("net")
    return build(net, net.input("x", (3, 8, 8)))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda net, x: net.input("x", (2,)), "net: x: expected a name that is not in use yet"),
        (lambda net, x: net.conv(x, numbers(3, 3)), "weights of 2 axes: expected 4, or 3 for"),
        (lambda net, x: net.conv_transpose(x, numbers(3, 3)), "weights of 2 axes: expected 4"),
        (lambda net, x: net.conv(x, numbers(3, 3, 3, 3), stride=0), "stride = 0: expected a posit"),
        (lambda net, x: net.max_pool(x, (2, 2, 2)), r"size = \(2, 2, 2\): expected a positive int"),
        (lambda net, x: net.max_pool(x, 2, padding=-1), "padding = -1: expected elements at both"),
        (lambda net, x: net.max_pool(x, 2, padding="sam"), 'padding = .sam.: expected "same"'),
        (lambda net, x: net.activation(x, "rely"), "no activation 'rely'; did you mean relu"),
        (lambda net, x: net.input("y", (2,), scale=0.5, bits=4), "bits = 4: expected 8 or 16"),
        (lambda net, x: net.activation(x, "relu", scale=-1), "scale = -1: expected a positive"),
        (
            lambda net, x: net.dense(x, numbers(8, 2), weight_scale=0.5),
            "dense: weights of float32: expected integers from -128 to 127",
        ),
        (
            lambda net, x: net.dense(x, np.array([[300]]), weight_scale=0.5),
            "dense: weights of int64: expected integers from -128 to 127",
        ),
        (
            lambda net, x: net.dense(x, np.ones((8, 2), int), np.ones(2, int), weight_scale=0.5),
            "a bias of integers: expected an operand with a scale, x has none",
        ),
        (lambda net, x: net.lstm(x, numbers(6, 8), numbers(6, 2)), "LSTM: weights of 6 rows: expe"),
        (
            lambda net, x: net.gru(x, numbers(6, 8), numbers(6, 3)),
            r"GRU: recurrent of the shape \[6, 3\]: expected \[6, 2\]",
        ),
        (
            lambda net, x: net.gru(x, numbers(6, 8), numbers(6, 2), numbers(6)),
            r"GRU: bias of the shape \[6\]: expected \[12\]",
        ),
        (lambda net, x: net.graph(), r"net: no outputs: expected net.output\(tensor\)"),
        (lambda net, x: net.save_onnx("none/net.onnx"), "save_onnx none/net.onnx: no such folder"),
    ],
)
def test_arguments_that_are_refused(build, message):
    with pytest.raises(InputError, match=message):
        fails(build)


def test_compiler_refuses_a_layer_in_its_own_words():
    net = Net("wrong")
    x = net.input("x", (3, 8, 8))
    net.output(net.conv(x, numbers(4, 2, 3, 3)))
    with pytest.raises(OnnxError, match=r"(?s)wrong\.onnx.*conv_1 \(Conv\): shapes do not fit"):
        net.compile("model:opu")
