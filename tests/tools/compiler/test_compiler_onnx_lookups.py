# SPDX-License-Identifier: BSD-2-Clause
"""Tables that are read at computed whole numbers: the arithmetic goes into the table."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    compare,
    import_model,
    make_model,
    node,
    run_here,
    run_there,
)

FLOAT, INT = 1, 7
TABLE = np.random.default_rng(3).normal(size=(6, 4))
NUMBERS = np.array([[0, 5, 2, 2, 4]])


def looked_up(nodes, constants=None, kind=np.int64, indices="i", table=TABLE):
    return make_model(
        [*nodes, node("Gather", ["table", indices], ["y"], name="rows")],
        {"x": ((1, 5), kind)},
        {"y": None},
        {"table": table, **(constants or {})},
    )


def agree(model, folder, numbers=NUMBERS):
    """The simplified graph gives what onnxruntime gives; the graph."""
    graph = simplify(import_model(model, folder))
    kind = {1: np.float32, 7: np.int64}[model.graph.input[0].type.tensor_type.elem_type]
    feeds = {"x": numbers.astype(kind)}
    compare(run_here(graph, feeds), run_there(model, feeds))
    return graph


def wrapped(source):
    """As tf2onnx writes ``where(x < 0, x + rows, x)``."""
    return [
        node("Add", [source, "rows"], ["added"]),
        node("Cast", [source], ["real"], to=FLOAT),
        node("Less", ["real", "zero"], ["below"]),
        node("Not", ["below"], ["not"]),
        node("Cast", ["not"], ["keep"], to=INT),
        node("Cast", ["below"], ["wrap"], to=INT),
        node("Mul", ["added", "wrap"], ["low"]),
        node("Mul", [source, "keep"], ["high"]),
        node("Add", ["low", "high"], ["i"]),
    ]


WRAP = {"rows": np.array(6), "zero": np.array(0.0)}


def test_an_embedding_of_keras(tmp_path):
    """Numbers below zero count from the end: from zero on the table is the same."""
    graph = agree(looked_up(wrapped("x"), WRAP), tmp_path)
    plain = agree(looked_up([], indices="x"), tmp_path)
    assert [one.kind for one in graph.nodes] == [one.kind for one in plain.nodes]
    assert np.array_equal(graph.nodes[-1].weights, plain.nodes[-1].weights)


def test_an_embedding_of_floats(tmp_path):
    """Inputs of Keras are floats where the network does not say so."""
    nodes = [node("Cast", ["x"], ["whole"], to=INT), *wrapped("whole")]
    agree(looked_up(nodes, WRAP, np.float32), tmp_path)


@pytest.mark.parametrize(
    "nodes, constants, numbers",
    [
        # Numbers from 1 on.
        ([node("Sub", ["x", "k"], ["i"])], {"k": np.array([1])}, NUMBERS + 1),
        ([node("Div", ["x", "k"], ["i"])], {"k": np.array(2)}, NUMBERS * 2 + 1),
        ([node("Min", ["x", "k"], ["i"])], {"k": np.array(3)}, NUMBERS),
        (
            [
                node("Greater", ["x", "k"], ["more"]),
                node("Where", ["more", "k", "x"], ["i"]),
            ],
            {"k": np.array(3)},
            NUMBERS,
        ),
        (
            [node("Add", ["x", "k"], ["a"]), node("Unsqueeze", ["a", "k"], ["i"])],
            {"k": np.array([1])},
            NUMBERS[:, ::-1] * 0 + 2,
        ),
    ],
    ids=["shift", "quotient", "minimum", "where", "moved"],
)
def test_functions_of_whole_numbers(tmp_path, nodes, constants, numbers):
    agree(looked_up(nodes, constants), tmp_path, numbers)


def test_places_of_two_inputs_are_refused(tmp_path):
    model = make_model(
        [node("Add", ["x", "z"], ["i"], name="sum"), node("Gather", ["table", "i"], ["y"])],
        {"x": ((1, 5), np.int64), "z": ((1, 5), np.int64)},
        {"y": None},
        {"table": TABLE},
    )
    with pytest.raises(OnnxError, match=r"sum \(Add\): its input holds whole numbers"):
        import_model(model, tmp_path)


SUM = node("Add", ["x", "k"], ["i"], name="sum")


@pytest.mark.parametrize(
    "model, message",
    [
        (
            make_model(
                [SUM, node("Sigmoid", ["i"], ["y"], name="s")],
                {"x": ((1, 5), np.int64)},
                {"y": None},
                {"k": np.array(1)},
            ),
            r"s \(Sigmoid\): its input is computed from whole numbers: expected a Cast to float",
        ),
        (
            make_model(
                [SUM], {"x": ((1, 5), np.int64)}, {"i": ((1, 5), np.int64)}, {"k": np.array(1)}
            ),
            r"i \(output\): is computed from whole numbers: expected a Cast to float",
        ),
        (
            looked_up([SUM], {"k": np.array(100)}),
            r"rows \(Gather\): its indices are never those of its rows",
        ),
        (
            # It drops the fractions, and is not followed by a table.
            make_model(
                [node("Cast", ["x"], ["i"], to=INT), node("Cast", ["i"], ["y"], to=FLOAT)],
                {"x": (1, 5)},
                {"y": None},
            ),
            r"y \(output\): is computed from whole numbers",
        ),
    ],
    ids=["function", "output", "outside", "truncated"],
)
def test_refused(tmp_path, model, message):
    with pytest.raises(OnnxError, match=message):
        import_model(model, tmp_path)
