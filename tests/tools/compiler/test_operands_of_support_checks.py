# SPDX-License-Identifier: BSD-2-Clause
"""Constants, repeated tensors, scalars and missing axes as operands: each core compiles or
refuses."""

from itertools import cycle

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from quintet import compile_model
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.graph import Graph
from quintet.tools.compiler.onnx_import import import_onnx
from quintet.tools.compiler.partition import PartitionError, partition
from quintet.tools.errors import InputError
from tests.tools.compiler import operand_cases
from tests.tools.compiler.operand_cases import operator_names
from tests.tools.compiler.test_compiler_partition import Machine

#: Refusals of a whole network, which no node can be named for.
_OF_NO_NODE = ("the network computes nothing", "no node of the network runs on the core")
#: And those of a result, which no node makes: a constant, or one whose axes lie in another order.
_OF_A_RESULT = ("(output): is a constant", "y_transpose (transpose)")


def is_named(error):
    """Whether a refusal names the node of a case, or one that a case has beside it."""
    names = ("the_node", "behind (Add", "before (Relu")
    return any(text in str(error) for text in (*names, *_OF_NO_NODE, *_OF_A_RESULT))


def expected(path, x):
    """Output of onnxruntime for each input by itself, one row each; ``None`` where it refuses
    the model."""
    try:
        session = onnxruntime.InferenceSession(path)
        rows = [session.run(None, {"x": x[at : at + 1]}) for at in range(len(x))]
    except Exception:  # Of many kinds, which have no common base.
        return None
    names = [output.name for output in session.get_outputs()]
    return {
        name: np.stack([np.asarray(row[at]).ravel() for row in rows])
        for at, name in enumerate(names)
    }


@pytest.fixture
def uninferred(monkeypatch):
    """No shapes of refused nodes' results, for which a process is started each time."""
    monkeypatch.setattr(
        "quintet.tools.compiler.onnx_import.translate.inferred_shapes", lambda path, model: {}
    )


def check_case(case, path, isas):
    """On each of the cores ``isas``: the right values, or a refusal that names the node."""
    case.save(path)
    x = np.abs(np.random.default_rng(1).normal(size=(3, *case.operator.shape))) + 0.1
    if case.operator.name not in ("Log", "Sqrt", "Reciprocal", "Div"):
        x[:, ::2] *= -1
    x = x.astype(np.float32)
    try:
        graph = import_onnx(path)
    except InputError as error:
        assert is_named(error), (case.text, error)
        return
    wanted = expected(path, x)
    for isa in isas:
        try:
            compiled = compile_model(path, f"model:{isa}", calibration=x)
        except InputError as error:
            assert is_named(error), (case.text, isa, error)
            continue
        with compiled.open() as session:
            found = session(x)
        found = found if isinstance(found, dict) else {graph.outputs[0].name: found}
        for name in wanted or ():
            got = np.asarray(found[name]).reshape(len(x), -1)
            noise = np.square(got - wanted[name]).sum()
            assert noise <= 0.02 * np.square(wanted[name]).sum() + 1e-6, (case.text, isa, name)


CONSTANTS = {
    "vector": np.arange(1, 9),
    "row": np.arange(1, 9).reshape(1, 8),
    "scalar": np.array(2.0),
    "one": np.array([2.0]),
}


def save(path, nodes, constants, shape=("b", 8), result=None):
    """Write a model of one input ``x`` and one output ``y``."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        [
            numpy_helper.from_array(
                np.asarray(array, np.int64 if name == "axes" else np.float32), name
            )
            for name, array in constants.items()
        ],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )


def cases():
    for kind in ("Add", "Sub", "Mul", "Div"):
        for name, constant in CONSTANTS.items():
            for inputs in (["x", "k"], ["k", "x"]):
                yield pytest.param(
                    kind, inputs, constant, {}, id=f"{kind} {name} {inputs[0]} first"
                )
        yield pytest.param(kind, ["x", "x"], None, {}, id=f"{kind} of one tensor twice")
    for inputs in (["x", "k"], ["k", "x"], ["x", "k", "x"]):
        yield pytest.param("Concat", inputs, np.ones((1, 8)), {"axis": 1}, id=f"Concat of {inputs}")
    yield pytest.param("Concat", ["x", "x"], None, {"axis": 1}, id="Concat of one tensor twice")
    yield pytest.param("Gemm", ["x", "w", "k"], np.array(2.0), {}, id="Gemm with a scalar bias")
    yield pytest.param("MatMul", ["x", "w"], None, {}, id="MatMul of a constant")


@pytest.mark.parametrize("name", operator_names())
def test_every_operator_with_every_operand(tmp_path, uninferred, name):
    """Each case on one core, in turn."""
    for case, isa in zip(operand_cases.cases(name, maps=False), cycle(backend_names())):
        check_case(case, str(tmp_path / "net.onnx"), [isa])


@pytest.mark.long
@pytest.mark.parametrize("maps", [False, True], ids=["vectors", "maps"])
@pytest.mark.parametrize("name", operator_names())
def test_every_operator_with_every_operand_on_every_core(tmp_path, uninferred, name, maps):
    for case in operand_cases.cases(name, maps):
        check_case(case, str(tmp_path / "net.onnx"), backend_names())


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("kind, inputs, constant, attributes", list(cases()))
def test_every_operand_on_every_core(quintet, tmp_path, isa, kind, inputs, constant, attributes):
    constants = {"w": np.ones((8, 4))} if "w" in inputs else {}
    if constant is not None:
        constants["k"] = constant
    save(tmp_path / "net.onnx", [helper.make_node(kind, inputs, ["y"], **attributes)], constants)
    ran = quintet("compile", tmp_path / "net.onnx", "--for", f"model:{isa}", "--dry-run")
    assert ran.code in (0, 2), ran.err
    assert ran.code == 0 or "cannot run this network" in ran.err or "net.onnx" in ran.err


@pytest.mark.parametrize("isa", ["cherry", "imagine", "opu", "pim"])
@pytest.mark.parametrize("before", [None, "MatMul"])
def test_the_smaller_of_a_tensor_and_a_number(tmp_path, isa, before):
    """Far below minus the number, too: where the OPU's numbers would end."""
    nodes, source = [], "x"
    if before is not None:
        nodes.append(helper.make_node(before, ["x", "w"], ["before"]))
        source = "before"
    nodes.append(helper.make_node("Min", [source, "k"], ["y"]))
    save(tmp_path / "net.onnx", nodes, {"w": np.eye(8), "k": np.array(0.25)})
    x = np.random.default_rng(3).normal(size=(20, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), f"model:{isa}", calibration=x).open() as session:
        assert np.abs(session(x) - np.minimum(x, 0.25)).max() < 0.06


@pytest.mark.parametrize(
    "operator, axes, attributes, want",
    [
        ("ReduceSum", [], {}, 36),
        ("ReduceSum", None, {}, 36),
        ("ReduceSum", [], {"noop_with_empty_axes": 1}, np.arange(1, 9)),
        ("ReduceSum", None, {"noop_with_empty_axes": 1}, np.arange(1, 9)),
        ("ReduceMax", None, {"axes": []}, 8),
    ],
)
def test_constants_are_reduced_over_all_axes_where_none_is_named(
    tmp_path, operator, axes, attributes, want
):
    constants = {"k": np.arange(1, 9)} | ({} if axes is None else {"axes": axes})
    node = helper.make_node(operator, ["k", *(["axes"] if axes is not None else [])], ["sum"])
    for name, value in attributes.items():
        kind = onnx.AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    nodes = [node, helper.make_node("Add", ["x", "sum"], ["y"])]
    save(tmp_path / "net.onnx", nodes, constants)
    graph = import_onnx(str(tmp_path / "net.onnx"))
    (constant,) = [tensor.data for tensor in graph.tensors.values() if tensor.data is not None]
    assert np.array_equal(constant, np.broadcast_to(want, constant.shape))


@pytest.mark.parametrize(
    "operator, inputs, constant, message",
    [
        (
            "Add",
            ["x", "k"],
            np.zeros((1, 0)),
            "an operand has the shape (1, 0): expected tensors with",
        ),
        ("Min", ["", "x"], None, "an operand is left out"),
        ("Sum", ["k", "w"], np.ones(3), "cannot be computed from its constants: shape mismatch"),
    ],
)
def test_operands_that_are_refused(tmp_path, operator, inputs, constant, message):
    nodes = [
        helper.make_node(operator, inputs, ["s"], name="the_node"),
        helper.make_node("Add", ["x", "s"], ["y"], name="behind"),
    ]
    constants = {"w": np.ones(8)} | ({} if constant is None else {"k": constant})
    save(tmp_path / "net.onnx", nodes, constants)
    with pytest.raises(InputError) as stop:
        import_onnx(str(tmp_path / "net.onnx"))
    assert f"the_node ({operator}): {message}" in str(stop.value)


def test_a_concat_with_a_constant_is_refused_by_name(quintet, tmp_path):
    save(
        tmp_path / "net.onnx",
        [
            helper.make_node("Concat", ["x", "k"], ["a"], axis=1),
            helper.make_node("MatMul", ["a", "w"], ["y"]),
        ],
        {"k": np.ones((1, 8)), "w": np.ones((16, 3))},
    )
    ran = quintet("compile", tmp_path / "net.onnx", "--for", "model:opentpu", "--dry-run")
    assert ran.code == 2
    assert "joins the constant" in ran.err and "cherry, pim would run it" in ran.err


@pytest.mark.parametrize("isa", backend_names())
def test_a_result_without_axes(isa, tmp_path):
    save(
        tmp_path / "net.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"w": np.ones(8)},
        shape=[8],
        result=[],
    )
    x = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), f"model:{isa}", calibration=x).open() as session:
        y = np.asarray(session(x))
    assert y.shape == (12,) and np.abs(y - x.sum(axis=1)).max() < 0.2


@pytest.mark.parametrize("isa", backend_names())
@pytest.mark.parametrize("kind", ["product with a vector", "last axis squeezed"])
def test_a_result_whose_only_axis_counts_inputs(isa, kind, tmp_path):
    vector = kind == "product with a vector"
    nodes, constants = [helper.make_node("MatMul", ["x", "w"], ["y" if vector else "d"])], {}
    if not vector:
        nodes.append(helper.make_node("Squeeze", ["d", "axes"], ["y"]))
        constants["axes"] = np.array([1])
    constants["w"] = np.ones(8 if vector else (8, 1))
    save(tmp_path / "net.onnx", nodes, constants)
    x = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), f"model:{isa}", calibration=x).open() as session:
        y = np.asarray(session(x))
        assert np.asarray(session(x[:1])).shape == (1,)
    assert y.shape == (12,) and np.abs(y - x.sum(axis=1)).max() < 0.2


def test_a_check_that_fails_leaves_the_refusal_as_it_is(monkeypatch):
    class Broken:
        def check_support(self, graph, node):
            raise KeyError("constant")

    from tests.tools.compiler.networks import NETWORKS

    graph: Graph = NETWORKS["autoencoder"][1]()
    monkeypatch.setattr(
        "quintet.tools.compiler.partition.neighbours_of", lambda isa: {"broken": Broken()}
    )
    with pytest.raises(PartitionError, match="no dense: expected conv"):
        partition(graph, Machine({}))


def test_a_batch_axis_of_minus_one(tmp_path):
    """As Paddle's exporter writes it."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    save(tmp_path / "net.onnx", nodes, {"w": np.eye(8)}, shape=[-1, 8], result=[-1, 8])
    x = np.random.default_rng(2).normal(size=(6, 8)).astype(np.float32)
    with compile_model(str(tmp_path / "net.onnx"), "model:cherry", calibration=x).open() as session:
        assert np.abs(session(x) - np.maximum(x, 0)).max() < 0.01
