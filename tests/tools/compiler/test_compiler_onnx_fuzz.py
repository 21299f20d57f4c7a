# SPDX-License-Identifier: BSD-2-Clause
"""Damaged models: refused with a reason, or taken and then the same before and after the passes;
never a traceback, never a hang."""

import random
import signal
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import AttributeProto, ModelProto  # noqa: E402

from quintet.tools.compiler.evaluate import run_graph  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError, import_onnx, translate  # noqa: E402
from quintet.tools.compiler.onnx_import.operators import OPERATORS  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.values import from_graph  # noqa: E402
from tests.support.campaigns import Campaign  # noqa: E402
from tests.tools.compiler.networks import NETWORKS, Builder, inputs_of  # noqa: E402
from tests.tools.compiler.onnx_models import make_model, node  # noqa: E402
from tests.tools.compiler.onnx_writer import write  # noqa: E402

#: What a graph may hold that the fuzzer still runs, elements in all.
SMALL = 200_000
#: A case that takes longer hangs.
SECONDS = 60


def bases():
    """Models to damage: networks of every habit, and operators that those lack."""
    for name, (_, small) in NETWORKS.items():
        for channels_first in (True, False):
            yield write(small(), channels_first=channels_first)
        if name != "lstm_classifier":
            yield write(small(), quantised=True)
    b = Builder("recurrent", (4, 3))
    b.gru(3)
    b.lstm(2, reverse=True)
    b.dense(3, steps=True)
    yield write(b.finish())
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["n"]),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["minus", "n1"], ["to"], axis=0),
        node("Pad", ["x", "pads"], ["p"]),
        node(
            "AveragePool",
            ["p"],
            ["a"],
            kernel_shape=[2, 2],
            ceil_mode=1,
            count_include_pad=1,
            pads=[1, 0, 0, 1],
        ),
        node("ReduceMean", ["a"], ["m"], axes=[2, 3], keepdims=1),
        node("Mul", ["a", "m"], ["g"]),
        node("Slice", ["g", "one1", "two1", "axes"], ["c"]),
        node("Transpose", ["c"], ["t"], perm=[0, 2, 3, 1]),
        node("MatMul", ["t", "w"], ["d"]),
        node("Reshape", ["d", "to"], ["r"]),
        node("Softmax", ["r"], ["y"]),
    ]
    yield make_model(
        nodes,
        {"x": (1, 4, 4, 4)},
        {"y": None},
        {
            "one": np.array(1),
            "axes": np.array([0]),
            "minus": np.array([-1]),
            "pads": np.array([0, 0, 1, 1, 0, 0, 0, 1]),
            "w": np.ones((4, 4)),
            "one1": np.array([0]),
            "two1": np.array([3]),
        },
        opset=13,
    )


def _other_attribute(rng, attribute):
    numbers = (-2, -1, 0, 1, 2, 3, 7, 1 << 20, 1 << 40, -(1 << 62))
    if attribute.type == AttributeProto.INT:
        attribute.i = rng.choice(numbers)
    elif attribute.type == AttributeProto.INTS:
        values = list(attribute.ints)
        change = rng.randrange(3)
        if change == 0 and values:
            values[rng.randrange(len(values))] = rng.choice(numbers)
        elif change == 1:
            values.append(rng.choice(numbers))
        else:
            values = values[1:]
        del attribute.ints[:]
        attribute.ints.extend(values)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = rng.choice((0.0, -1.0, 1e30, float("nan"), float("inf")))
    elif attribute.type == AttributeProto.STRING:
        attribute.s = rng.choice((b"", b"SAME_UPPER", b"VALID", b"reverse", b"\xff\xfe"))
    else:
        attribute.type = rng.choice((1, 2, 3, 7))


def damage(rng, model):
    """One random change."""
    graph = model.graph
    names = (
        [name for one in graph.node for name in (*one.input, *one.output)]
        + [tensor.name for tensor in graph.initializer]
        + ["", "nobody"]
    )
    one = rng.choice(graph.node)
    change = rng.randrange(17)
    if change == 0 and one.attribute:
        _other_attribute(rng, rng.choice(one.attribute))
    elif change == 1 and one.input:
        one.input[rng.randrange(len(one.input))] = rng.choice(names)
    elif change == 2 and one.output:
        one.output[rng.randrange(len(one.output))] = rng.choice(names)
    elif change == 3:
        one.op_type = rng.choice([*OPERATORS, "ConvTranspose", "Einsum", "NoSuch", ""])
    elif change == 4:
        graph.node.remove(one)
    elif change == 5:
        graph.node.add().CopyFrom(one)
    elif change == 6 and one.attribute:
        one.attribute.remove(rng.choice(one.attribute))
    elif change == 7:
        attribute = one.attribute.add()
        attribute.CopyFrom(
            rng.choice(
                [a for n in graph.node for a in n.attribute]
                or [AttributeProto(name="axis", type=2, i=1)]
            )
        )
    elif change == 8 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        if tensor.dims:
            tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice((-1, 0, 1, 2, 5, 1 << 40))
        else:
            tensor.dims.append(rng.choice((0, 1, 2)))
    elif change == 9 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        content = bytearray(tensor.raw_data)
        for _ in range(rng.randrange(1, 9)):
            if content:
                content[rng.randrange(len(content))] = rng.choice((0, 127, 128, 255))
        tensor.raw_data = bytes(content)
    elif change == 10 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        tensor.data_type = rng.randrange(0, 26)
    elif change == 11:
        dims = rng.choice([*graph.input, *graph.output]).type.tensor_type.shape.dim
        if dims and rng.random() < 0.7:
            rng.choice(dims).dim_value = rng.choice((-1, 0, 1, 2, 3, 5, 1 << 30, 1 << 62))
        else:
            dims.add().dim_value = rng.choice((1, 3))
    elif change == 12:
        model.opset_import[0].version = rng.choice((0, 9, 11, 12, 13, 17, 18, 21, 99))
    elif change == 13:
        kind = rng.choice([*graph.input, *graph.output]).type
        rng.choice(
            (
                kind.Clear,
                lambda: kind.tensor_type.ClearField("shape"),
                lambda: setattr(kind.tensor_type, "elem_type", rng.randrange(26)),
            )
        )()
    elif change == 14 and graph.initializer:
        tensor = rng.choice(graph.initializer)
        tensor.data_location = 1
        entry = tensor.external_data.add()
        entry.key, entry.value = rng.choice(
            (("location", "../x"), ("location", "model.onnx"), ("offset", "-1"), ("length", "x"))
        )
    elif change == 15:
        one.domain = rng.choice(("ai.onnx", "ai.onnx.ml", "my.own"))
    elif graph.initializer:
        graph.initializer.remove(rng.choice(graph.initializer))


@contextmanager
def limited(what):
    """A case that never ends is an error that names it."""

    def late(*_):
        raise TimeoutError(f"{what} takes more than {SECONDS} seconds")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def attempt(content, path):
    """Import damaged bytes; what is taken is simplified and run. Whether it was taken."""
    path.write_bytes(content)
    try:
        graph = import_onnx(path)
    except OnnxError as error:
        assert str(error).strip() and "Traceback" not in str(error)
        return False
    simple = simplify(graph)
    if (
        sum(tensor.size for tensor in graph.tensors.values()) > SMALL
        or sum(graph.macs(one) for one in graph.nodes) > 50 * SMALL
    ):
        return True
    values = {
        port.name: value
        for port, value in zip(graph.inputs, inputs_of(graph).values(), strict=True)
    }
    before = run_graph(graph, {port.tensor: values[port.name] for port in graph.inputs})
    users = {
        port.name: values[port.name].transpose(
            0, *(int(axis) + 1 for axis in np.argsort(port.order))
        )
        for port in graph.inputs
    }
    after = run_graph(
        simple,
        {
            port.tensor: users[port.name].transpose(0, *(axis + 1 for axis in port.order))
            for port in simple.inputs
        },
    )
    for old, new in zip(graph.outputs, simple.outputs, strict=True):
        expected, found = from_graph(old, before[old.tensor]), from_graph(new, after[new.tensor])
        if np.isfinite(expected).all() and np.abs(expected).max(initial=0) < 1e12:
            np.testing.assert_allclose(
                found, expected, rtol=1e-6, atol=1e-6 * max(1e-3, np.abs(expected).max(initial=0))
            )
    return True


@pytest.fixture
def play(tmp_path, monkeypatch):
    """Function of a seed: whether its damaged model was taken. Shapes behind refused nodes, a
    process each time, are asked for in one of a hundred."""
    ask, asked = translate.inferred_shapes, []
    monkeypatch.setattr(
        translate,
        "inferred_shapes",
        lambda *args: asked.append(args) or (ask(*args) if len(asked) % 100 == 1 else {}),
    )
    whole = [model.SerializeToString() for model in bases()]

    def one(seed):
        rng = random.Random(seed)
        content = rng.choice(whole)
        if rng.random() < 0.15:
            broken = bytearray(content)
            for _ in range(rng.randrange(1, 6)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            content = bytes(broken)
        else:
            model = ModelProto.FromString(content)
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                if model.graph.node:
                    damage(rng, model)
            content = model.SerializeToString()
        with limited(f"the model of seed {seed}"):
            return attempt(content, tmp_path / "model.onnx")

    return one


def test_two_hundred_damaged_models(play):
    taken = sum(map(play, range(200)))
    assert 20 < taken < 180


@pytest.mark.long
def test_damaged_models_campaign(play):
    for seed in Campaign("compiler-models", 0.25).seeds("import"):
        try:
            play(seed)
        except Exception as error:
            raise AssertionError(f"model of seed {seed}") from error


def test_whole_models_are_taken(tmp_path):
    assert all(attempt(model.SerializeToString(), tmp_path / "model.onnx") for model in bases())
