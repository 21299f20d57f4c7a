# SPDX-License-Identifier: BSD-2-Clause
"""Maps that are enlarged in the middle of a network, on the OPU and OpenTPU without host steps."""

import numpy as np
import pytest

pytest.importorskip("onnx")

from quintet.tools.compiler.backends import backend_class  # noqa: E402
from quintet.tools.compiler.backends.rewriting import interleaved, is_interleaving  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.compiler.values import check_inputs  # noqa: E402
from quintet.tools.compiler.verification import verify_plan  # noqa: E402
from quintet.tools.targets import open_target  # noqa: E402
from tests.tools.compiler.onnx_models import import_model, make_model, node  # noqa: E402

#: Board and preset -> the golden model of the build.
BUILDS = {
    "opu": ("ulx3s-85f/opu", "85f"),
    "opu, small": ("icebreaker/opu", "up5k"),
    "opentpu": ("ulx3s-85f/opentpu", "85f-8x8"),
    "opentpu, pooling": ("ulx3s-85f/opentpu", "85f-8x8-conv"),
    "opentpu, 12 channels": ("ulx3s-85f/opentpu", "85f-12x12"),
}
RESIZE = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
#: Name -> (shape of the input, node that enlarges, its constants, channels of the result).
CASES = {
    "transposed": ((3, 5, 6), "ConvTranspose", (8, 6, 2, 2), {"strides": [2, 2]}, 6),
    # Channels that no vector or channel block holds a whole number of.
    "transposed 4x4": (
        (3, 6, 5),
        "ConvTranspose",
        (8, 20, 4, 4),
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        20,
    ),
    "transposed, rows": ((3, 5, 6), "ConvTranspose", (8, 5, 3, 1), {"strides": [3, 1]}, 5),
    "transposed, columns": ((3, 5, 6), "ConvTranspose", (8, 40, 1, 2), {"strides": [1, 2]}, 40),
    "nearest": ((3, 5, 6), "Resize", (1, 1, 2, 3), {"mode": "nearest", **RESIZE}, 8),
    "depth to space": ((3, 5, 6), "DepthToSpace", None, {"blocksize": 2}, 2),
    # More channels than a slot of the OPU holds.
    "wide": ((3, 3, 4), "ConvTranspose", (8, 72, 2, 2), {"strides": [2, 2]}, 72),
}


def network(name, shape=None):
    """A convolution, the enlarging node, and a convolution that pads its result."""
    given, operator, constant, attributes, channels = CASES[name]
    rng = np.random.default_rng(5)
    constants = {
        "v": rng.normal(size=(8, given[0], 3, 3)) / 4,
        "w": rng.normal(size=(4, channels, 3, 3)) / np.sqrt(9 * channels),
    }
    operands = ["b"]
    if operator == "ConvTranspose":
        operands.append("c")
        constants["c"] = rng.normal(size=constant) / 3
    elif operator == "Resize":
        operands += ["", "c"]
        constants["c"] = np.float32(constant)
    nodes = [
        node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node(operator, operands, ["e"], **attributes),
        node("Conv", ["e", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    shape = shape or given
    model = make_model(nodes, {"x": (1, *shape)}, {"y": None}, constants, 20)
    return model, rng.normal(size=(4, *shape)).astype(np.float32)


def compiled(graph, inputs, build, options=None):
    board, preset = BUILDS[build]
    return compile_graph(
        graph, target_build(board, preset=preset), {"x": inputs}, options or Options()
    )


def verified(plan, inputs, build):
    """What the golden model and the reference differ in: every tensor that memory holds."""
    board, preset = BUILDS[build]
    given = check_inputs(plan.network, plan.inputs, {"x": inputs[:1]})
    target = f"model:{board.partition('/')[2]}?preset={preset}"
    return verify_plan(plan, given, "model", lambda: open_target(target), "reference", None)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", CASES)
def test_results_equal_the_reference(tmp_path, name, build):
    model, inputs = network(name)
    graph = simplify(import_model(model, tmp_path))
    plan = compiled(graph, inputs, build)
    assert len(plan.core_steps) == len(plan.steps)
    assert plan.snr > 25
    found = verified(plan, inputs, build)
    assert found.equal, found.difference


@pytest.mark.parametrize("build", ["opu", "opentpu", "opentpu, pooling"])
def test_maps_larger_than_local_memory(tmp_path, build):
    """130 columns of a phase: more than a tile of the OPU has, and 160 KB of results, which
    OpenTPU's unified buffer of 64 KB does not hold."""
    model, inputs = network("transposed", (3, 60, 130))
    graph = simplify(import_model(model, tmp_path))
    plan = compiled(graph, inputs, build)
    found = verified(plan, inputs, build)
    assert found.equal, found.difference


def test_several_inputs_a_run(tmp_path):
    model, inputs = network("transposed")
    graph = simplify(import_model(model, tmp_path))
    plan = compiled(graph, inputs, "opu", Options(images=3))
    given = check_inputs(plan.network, plan.inputs, {"x": inputs[:3]})
    found = verify_plan(
        plan, given, "model", lambda: open_target("model:opu?preset=85f"), "reference", None
    )
    assert found.equal, found.difference


def test_extensions_save_instructions(tmp_path):
    """With pooling an instruction reads the phases of a line in turns."""
    model, inputs = network("transposed", (3, 20, 20))
    graph = simplify(import_model(model, tmp_path))
    cycles = [compiled(graph, inputs, build).cycles for build in ("opentpu, pooling", "opentpu")]
    assert cycles[0] < 0.9 * cycles[1]


def test_pattern_is_a_concat_and_a_reshape(tmp_path):
    graph = simplify(import_model(network("transposed")[0], tmp_path))
    concat, reshape = (
        next(one for one in graph.nodes if one.kind == kind) for kind in ("concat", "reshape")
    )
    found = interleaved(graph, concat)
    assert found.shape == (10, 12, 6)
    assert found.factors == (2, 2)
    assert [[first for _, first in row] for row in found.phases] == [[0, 6], [0, 6]]
    assert interleaved(graph, reshape) is None
    assert is_interleaving(graph, reshape)
    # A phase that is an output as well has no place of its own.
    graph.outputs.append(type(graph.outputs[0])("other", concat.output, (0, 1, 2), (5, 24, 6)))
    assert interleaved(graph, concat) is None
    for isa in ("opu", "opentpu"):
        build = target_build(f"ulx3s-85f/{isa}")
        core = backend_class(isa)(params=build.params, memory_size=build.memory_size)
        assert not core.check_support(graph, reshape).runs


@pytest.mark.parametrize("preset", ["sim", "sim-ext"])
@pytest.mark.parametrize("name", ["transposed 4x4", "transposed, columns", "nearest"])
def test_phases_that_exceed_the_unified_buffer(tmp_path, name, preset):
    model, inputs = network(name, (3, 4, 40))
    graph = simplify(import_model(model, tmp_path))
    target = f"model:opentpu?preset={preset}&ub_rows=128"
    plan = compile_graph(graph, target_build(target), {"x": inputs}, Options())
    given = check_inputs(plan.network, plan.inputs, {"x": inputs[:1]})
    found = verify_plan(plan, given, "model", lambda: open_target(target), "reference", None)
    assert found.equal, found.difference
