# SPDX-License-Identifier: BSD-2-Clause
"""Control flow that constants decide, and local functions: their nodes stand in the network as if
they had been written out."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import AttributeProto, TensorProto, helper, numpy_helper  # noqa: E402

from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    check,
    import_model,
    make_model,
    node,
)

RANDOM = np.random.default_rng(4)


def info(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def branch(name, *nodes, output, constants=None):
    """A subgraph without inputs of its own."""
    held = [numpy_helper.from_array(data, name) for name, data in (constants or {}).items()]
    return helper.make_graph(nodes, name, [], [info(output)], held)


def choice(condition, opset=17, constants=None, before=()):
    """A sum that is squeezed or scaled, as a condition says; both branches use the same names."""
    squeezed = branch("a", node("Squeeze", ["s", "axis"], ["r"], name="in"), output="r")
    scaled = branch(
        "b",
        node("Mul", ["s", "k"], ["r"], name="in"),
        output="r",
        constants={"k": np.float32([2.5])},
    )
    return make_model(
        [
            *before,
            node("Add", ["x", "x"], ["s"]),
            node("If", [condition], ["y"], name="if", then_branch=squeezed, else_branch=scaled),
            node("Relu", ["y"], ["z"]),
        ],
        {"x": (1, 4, 1)},
        {"z": None},
        {"axis": np.array([2]), **(constants or {})},
        opset,
    )


@pytest.mark.parametrize("taken", [True, False])
def test_a_constant_condition_chooses_a_branch(tmp_path, taken):
    graph = check(choice("c", constants={"c": np.array(taken)}), tmp_path)
    assert graph.outputs[0].shape == ((4,) if taken else (4, 1))


def test_a_condition_on_shapes_is_constant(tmp_path):
    """As PyTorch's exporter writes a squeeze."""
    before = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "last"], ["length"]),
        node("Equal", ["length", "one"], ["c"]),
    ]
    constants = {"last": np.array(2), "one": np.array(1)}
    graph = check(choice("c", constants=constants, before=before), tmp_path)
    assert graph.outputs[0].shape == (4,)


def test_a_branch_in_a_branch_reads_what_is_outside(tmp_path):
    inner = node(
        "If",
        ["c"],
        ["i"],
        name="inner",
        then_branch=branch("a", node("Mul", ["x", "o"], ["r"], name="a"), output="r"),
        else_branch=branch("b", node("Neg", ["o"], ["r"], name="b"), output="r"),
    )
    outer = node(
        "If",
        ["c"],
        ["y"],
        name="outer",
        then_branch=branch("c", node("Relu", ["x"], ["o"], name="c"), inner, output="i"),
        else_branch=branch("d", node("Neg", ["x"], ["r"], name="d"), output="r"),
    )
    model = make_model([outer], {"x": (1, 4)}, {"y": None}, {"c": np.array(True)})
    assert [one.origin for one in check(model, tmp_path).nodes] == ["Relu", "Mul"]


def test_nodes_of_branches_have_the_form_of_their_opset(tmp_path):
    """In opset 10 the limits of a Clip are attributes."""
    clipped = branch("a", node("Clip", ["x"], ["r"], name="a", min=0.0, max=0.5), output="r")
    model = make_model(
        [node("If", ["c"], ["y"], then_branch=clipped, else_branch=clipped)],
        {"x": (1, 4)},
        {"y": None},
        {"c": np.array(True)},
        10,
    )
    check(model, tmp_path)


def loop(body, carried, most, outputs, constants=None, condition=""):
    """A Loop over ``body``, whose ``carried`` begin as these tensors."""
    return make_model(
        [node("Loop", [most, condition, *carried], list(outputs), name="loop", body=body)],
        {"x": (1, 6, 3)},
        {name: None for name in outputs if name},
        {"m": np.array(6), "zero": np.zeros((1, 3)), **(constants or {})},
    )


def summing(extra=()):
    """Sums of the rows of x up to each row, until row 3."""
    nodes = [
        node("Gather", ["x", "i"], ["row"], name="take", axis=1),
        node("Add", ["before", "row"], ["after"], name="sum"),
        node("Identity", ["after"], ["each"], name="give"),
        node("Less", ["i", "last"], ["on"], name="go"),
        *extra,
    ]
    inputs = [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("before")]
    outputs = [info("on", TensorProto.BOOL, []), info("after"), info("each")]
    last = numpy_helper.from_array(np.array(3), "last")
    return helper.make_graph(nodes, "body", inputs, outputs, [last])


@pytest.mark.parametrize("most, rows", [("m", 4), ("two", 2), ("", 4)])
def test_a_loop_of_a_constant_number_is_unrolled(tmp_path, most, rows):
    """It ends by its number or by its condition, whichever comes first; a number may lack."""
    model = loop(summing(), ["zero"], most, ["final", "every"], {"two": np.array(2)})
    graph = check(model, tmp_path)
    shapes = {port.name: port.shape for port in graph.outputs}
    assert shapes["every"][0] == rows


def test_a_state_that_begins_with_zeros_is_multiplied(tmp_path):
    """As Keras exports its GRU: the first product of the state is one of constants."""
    inputs = [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("h")]
    nodes = [
        node("Gather", ["x", "i"], ["row"], name="take", axis=1),
        node("MatMul", ["row", "w"], ["a"], name="in"),
        node("Gemm", ["h", "w", "b"], ["r"], name="state"),
        node("Add", ["a", "r"], ["s"], name="sum"),
        node("Tanh", ["s"], ["after"], name="tanh"),
        node("Identity", ["c"], ["on"], name="go"),
    ]
    body = helper.make_graph(
        nodes, "body", inputs, [info("on", TensorProto.BOOL, []), info("after")]
    )
    weights = {"w": RANDOM.normal(size=(3, 3)), "b": RANDOM.normal(size=3)}
    check(loop(body, ["zero"], "m", ["final"], weights), tmp_path)


def function(name, nodes, attributes=(), domains=()):
    imports = [helper.make_opsetid(domain, 1) for domain in domains]
    imports.append(helper.make_opsetid("", 17))
    return helper.make_function("own", name, ["x"], ["y"], nodes, imports, list(attributes))


def with_functions(model, *functions):
    model.functions.extend(functions)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def test_calls_of_functions_are_written_out(tmp_path):
    slope = AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
    leaky = node("LeakyRelu", ["x"], ["y"])
    leaky.attribute.append(slope)
    twice = [
        node("Bent", ["x"], ["t"], domain="own", slope=0.25),
        node("Neg", ["t"], ["u"]),
        node("Bent", ["u"], ["y"], domain="own", slope=0.5),
    ]
    nodes = [node("Twice", ["x"], ["a"], domain="own"), node("Twice", ["a"], ["b"], domain="own")]
    model = with_functions(
        make_model(nodes, {"x": (1, 4)}, {"b": None}),
        function("Bent", [leaky], ["slope"]),
        function("Twice", twice, domains=["own"]),
    )
    graph = check(model, tmp_path)
    assert [one.origin for one in graph.nodes] == ["LeakyRelu", "Neg", "LeakyRelu"] * 2


def test_a_function_that_calls_itself_is_refused(tmp_path):
    model = with_functions(
        make_model([node("F", ["x"], ["a"], domain="own")], {"x": (1, 4)}, {"a": None}),
        function("F", [node("G", ["x"], ["y"], domain="own")], domains=["own"]),
        function("G", [node("F", ["x"], ["y"], domain="own")], domains=["own"]),
    )
    with pytest.raises(OnnxError, match="the local function F calls itself, or one that does"):
        import_model(model, tmp_path)


def endless():
    """A body whose condition is always true."""
    inputs = [info("i", TensorProto.INT64, []), info("c", TensorProto.BOOL, []), info("h")]
    nodes = [
        node("Relu", ["h"], ["after"], name="relu"),
        node("Identity", ["c"], ["on"], name="go"),
    ]
    return helper.make_graph(
        nodes, "body", inputs, [info("on", TensorProto.BOOL, []), info("after")]
    )


def by_inputs(operator):
    """A node whose number or condition is computed from the network's input."""
    inner = branch("a", node("Neg", ["x"], ["r"], name="a"), output="r")
    found = {
        "If": node("If", ["positive"], ["y"], name="n", then_branch=inner, else_branch=inner),
        "Loop": node("Loop", ["many", "", "x"], ["y"], name="n", body=endless()),
    }[operator]
    nodes = [
        node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"], name="sign"),
        node("ArgMax", ["x"], ["most"], name="most", axis=1, keepdims=0),
        node("Squeeze", ["most"], ["many"], name="many"),
        found,
    ]
    return make_model(nodes, {"x": (1, 4)}, {"y": None}, {"zero": np.array(0.0)})


REFUSED = {
    "if by inputs": (
        by_inputs("If"),
        r"n \(If\): its condition depends on the network's inputs: expected a constant",
    ),
    "loop by inputs": (
        by_inputs("Loop"),
        r"n \(Loop\): its number of iterations depends on the network's inputs",
    ),
    "endless loop": (
        loop(endless(), ["x"], "", ["final"]),
        r"loop \(Loop\): more than 128 iterations: expected at most as many",
    ),
    "node in a loop": (
        # Once, however many iterations there are.
        loop(summing([node("Bernoulli", ["row"], ["dice"], name="dice")]), ["zero"], "m", ["f"]),
        r"taken:\n  dice \(Bernoulli\): this operator is not supported$",
    ),
    "two conditions": (
        choice("c", constants={"c": np.array([True, False])}),
        r"if \(If\): its condition has the shape \(2,\): expected one element",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    model, message = REFUSED[case]
    with pytest.raises(OnnxError, match=message):
        import_model(model, tmp_path)


def test_an_output_that_a_branch_does_not_make_is_refused(tmp_path):
    wrong = branch("a", node("Neg", ["x"], ["r"], name="a"), output="q")
    model = make_model(
        [node("If", ["c"], ["y"], then_branch=wrong, else_branch=wrong)],
        {"x": (1, 4)},
        {"y": None},
        {"c": np.array(True)},
    )
    with pytest.raises(OnnxError, match="nothing makes q, an output of the subgraph a"):
        import_model(model, tmp_path)


def test_a_branch_that_lacks_is_refused(tmp_path):
    held = branch("a", node("Neg", ["x"], ["r"], name="a"), output="r")
    model = make_model(
        [node("If", ["c"], ["y"], name="if", then_branch=held)],
        {"x": (1, 4)},
        {"y": None},
        {"c": np.array(True)},
    )
    with pytest.raises(OnnxError, match=r"if \(If\): has no graph else_branch"):
        import_model(model, tmp_path)
