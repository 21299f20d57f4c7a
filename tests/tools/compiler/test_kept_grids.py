# SPDX-License-Identifier: BSD-2-Clause
"""Grids of QDQ models: values stay cut where the model's QuantizeLinear cuts them, by clips or,
where these are left out, by the grids that passes keep."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from quintet.tools.compiler import graph as g  # noqa: E402
from quintet.tools.compiler.backends import backend_names  # noqa: E402
from quintet.tools.compiler.fidelity import reference_tensors  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from quintet.tools.compiler.passes import RULES, apply, simplify  # noqa: E402
from quintet.tools.compiler.passes.centring import (  # noqa: E402
    branches_scaled,
    centred,
    results_centred,
)
from quintet.tools.compiler.passes.cutting import without_idle_cuts  # noqa: E402
from quintet.tools.compiler.planning import Options, compile_graph  # noqa: E402
from quintet.tools.compiler.target_build import target_build  # noqa: E402
from quintet.tools.compiler.values import from_graph, to_graph  # noqa: E402
from tests.tools.compiler.networks import Builder  # noqa: E402
from tests.tools.compiler.onnx_models import (  # noqa: E402
    compare,
    feeds_of,
    import_model,
    make_model,
    node,
    run_here,
    run_there,
)

CHANNELS, SIDE = 3, 4


class Model:
    """A chain of operators on a map, or on a vector behind a Gemm or Flatten."""

    def __init__(self):
        self.random = np.random.default_rng(7)
        self.nodes, self.constants = [], {}
        self.here, self.shape = "x", (CHANNELS, SIDE, SIDE)

    def constant(self, data):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(data)
        return name

    def emit(self, operator, *operands, before=(), **attributes):
        result = f"t{len(self.nodes)}"
        inputs = [*before, self.here, *operands]
        self.nodes.append(node(operator, inputs, [result], **attributes))
        self.here = result

    def numbers(self, *shape, size=1.0):
        return self.constant(self.random.normal(0, size, shape).astype(np.float32))

    def of_channels(self, size):
        return self.numbers(self.shape[0], *(1,) * (len(self.shape) - 1), size=size)

    def quantise(self, scale, zero):
        grid = self.constant(np.float32(scale)), self.constant(zero)
        self.emit("QuantizeLinear", *grid)
        self.emit("DequantizeLinear", *grid)

    def conv(self, padding):
        if len(self.shape) < 3:
            raise ValueError("a convolution of a vector")
        size = 1 + 2 * padding
        weights = self.numbers(CHANNELS, CHANNELS, size, size)
        self.emit("Conv", weights, self.numbers(CHANNELS), pads=[padding] * 4)

    def flatten(self):
        self.emit("Flatten")
        self.shape = (int(np.prod(self.shape)),)

    def gemm(self):
        if len(self.shape) == 3:
            self.flatten()
        features = self.shape[0]
        self.shape = (CHANNELS,)
        weights = self.numbers(features, CHANNELS, size=np.sqrt(2 / features))
        self.emit("Gemm", weights, self.numbers(CHANNELS))

    def transpose(self):
        self.emit("Transpose", perm=[0, 1, 3, 2] if len(self.shape) == 3 else [0, 1])


#: Operator by a short name. Grids are of 16 bits, so that rounding hides nothing, and most end at
#: about plus and minus two, where tensors are cut.
OPERATORS = {
    "conv": lambda m: m.conv(0),
    "padded": lambda m: m.conv(1),
    "gemm": Model.gemm,
    "add": lambda m: m.emit("Add", m.of_channels(1.5)),
    "plus": lambda m: m.emit("Add", m.constant(np.float32(1.5))),
    "mul": lambda m: m.emit("Mul", m.of_channels(2.0)),
    "times": lambda m: m.emit("Mul", m.constant(np.float32(-0.7))),
    "from": lambda m: m.emit("Sub", before=[m.of_channels(1.5)]),
    "relu": lambda m: m.emit("Relu"),
    "clip": lambda m: m.emit("Clip", m.constant(np.float32(-1)), m.constant(np.float32(3))),
    "high": lambda m: m.emit("Clip", m.constant(np.float32(1)), m.constant(np.float32(3))),
    "flatten": Model.flatten,
    "transpose": Model.transpose,
    "even": lambda m: m.quantise(2**-14, np.int16(0)),
    "unsigned": lambda m: m.quantise(2**-15, np.uint16(0)),
    "moved": lambda m: m.quantise(2**-14, np.int16(5000)),
    "narrow": lambda m: m.quantise(2**-17, np.int16(0)),
}
MOVES = ("flatten", "transpose")
GRIDS = ("even", "unsigned", "moved")


def model_of(names):
    made = Model()
    for name in names:
        OPERATORS[name](made)
    return make_model(
        made.nodes, {"x": (1, CHANNELS, SIDE, SIDE)}, {made.here: None}, made.constants, opset=21
    )


def check(names, folder):
    """The graph is near onnxruntime with the clips of its grids or with grids alone, before and
    after the passes; the simplified graph of grids alone."""
    model = model_of(names)
    graph = import_model(model, folder)
    feeds = feeds_of(graph, spread=3.0)
    expected = run_there(model, feeds)
    # An input of the network is not clipped.
    if next(name for name in names if name not in MOVES) not in GRIDS:
        for one in (graph, simplify(graph)):
            compare(run_here(one, feeds), expected, relative=3e-3)
    graph = without_idle_cuts(graph, None)
    simple = simplify(graph)
    for one in (graph, simple):
        compare(run_here(one, feeds, grids=True), expected, relative=3e-3)
    return simple


@pytest.mark.parametrize(
    "rule, names, left",
    [
        # Factors and terms of channels stay beside the grid.
        ("fold_behind", ("conv", "even", "add"), ["conv", "affine"]),
        ("fold_behind", ("gemm", "even", "from"), ["dense", "affine"]),
        ("fold_behind", ("conv", "moved", "mul", "relu"), ["conv", "affine"]),
        ("fold_before", ("add", "even", "conv"), ["affine", "conv"]),
        ("fold_before", ("mul", "moved", "conv"), ["affine", "conv"]),
        ("merge_affines", ("conv", "relu", "add", "even", "mul"), ["conv", "affine", "affine"]),
        # One factor and one term for all channels move the grid.
        ("fold_behind", ("conv", "even", "plus"), ["conv"]),
        ("fold_behind", ("conv", "moved", "times", "relu"), ["conv"]),
        ("fold_before", ("plus", "even", "conv"), ["conv"]),
        ("fold_before", ("times", "moved", "gemm"), ["dense"]),
        ("merge_affines", ("plus", "even", "times"), ["affine"]),
        ("sink_affines", ("plus", "even", "flatten"), ["reshape", "affine"]),
        # A grid behind that ends first is enough; one that ends later is not.
        ("fold_behind", ("conv", "even", "times", "narrow"), ["conv"]),
        ("fold_behind", ("conv", "narrow", "mul", "even"), ["conv", "affine"]),
        # Activations and moves.
        ("fuse_activation", ("conv", "even", "relu"), ["conv"]),
        ("fuse_activation", ("conv", "narrow", "high"), ["conv", "activation"]),
        ("merge_limits", ("relu", "moved", "clip"), ["activation"]),
        ("merge_transposes", ("transpose", "even", "transpose", "conv"), ["conv"]),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else None,
)
def test_rules_keep_grids(tmp_path, rule, names, left):
    simple = check(names, tmp_path)
    assert [one.kind for one in simple.nodes] == left
    graph = without_idle_cuts(import_model(model_of(names), tmp_path), None)
    feeds = feeds_of(graph, spread=3.0)
    alone = apply(graph, [RULES["binary_to_affine"], RULES[rule]])
    compare(run_here(alone, feeds, grids=True), run_here(graph, feeds, grids=True), relative=3e-3)


def test_every_order_of_three(tmp_path):
    """Two grids in a row are left out: of these the importer takes the first."""
    names = ("conv", "gemm", "add", "plus", "relu", "clip", "flatten", "transpose", *GRIDS)
    tried = 0
    for order in product(names, repeat=3):
        places = [at for at, name in enumerate(order) if name in GRIDS]
        between = order[places[0] + 1 : places[1]] if len(places) == 2 else ("",)
        if len(places) not in (1, 2) or not set(between) - {*MOVES}:
            continue
        try:
            check(order, tmp_path)
        except ValueError:
            continue
        except OnnxError as error:
            assert "computes nothing" in str(error)
            continue
        except AssertionError as error:
            raise AssertionError(f"{order}: {error}") from error
        tried += 1
    assert tried > 400


def without_relu6(gain):
    """Two convolutions and a dense layer as onnxruntime quantises them: the grids of 8 bits stand
    for a Clip from 0 to 6 behind each convolution. ``gain``: of the weights."""
    made = Model()
    made.quantise(1 / 32, np.int8(0))
    for padding in (1, 0):
        made.conv(padding)
        for name in (made.nodes[-1].input[1], made.nodes[-1].input[2]):
            made.constants[name] = made.constants[name] * np.float32(gain)
        made.quantise(6 / 255, np.uint8(0))
    made.gemm()
    shape = {"x": (1, CHANNELS, SIDE, SIDE)}
    return make_model(made.nodes, shape, {made.here: None}, made.constants)


def some_inputs(count):
    return np.random.default_rng(3).normal(size=(count, CHANNELS, SIDE, SIDE)).astype(np.float32)


@pytest.mark.parametrize("isa", backend_names())
def test_a_clip_that_is_left_to_the_grid_is_taken_from_it(tmp_path, isa):
    model = without_relu6(gain=2.0)
    graph, given = import_model(model, tmp_path), some_inputs(64)
    plan = compile_graph(
        graph, target_build(f"ulx3s-85f/{isa}"), {"x": given}, Options(host_steps=True)
    )
    few = given[:16]
    _, values = reference_tensors(plan, {port.tensor: to_graph(port, few) for port in plan.inputs})
    (port,) = plan.outputs
    found = from_graph(port, values[port.tensor])
    expected = np.concatenate([[*run_there(model, {"x": one[None]}).values()][0] for one in few])
    noise = np.square(found - expected).sum() / np.square(expected).sum()
    assert noise < 0.01


def test_without_calibration_a_core_of_floats_says_that_nothing_is_cut(tmp_path):
    graph = import_model(without_relu6(gain=2.0), tmp_path)
    build = target_build("ulx3s-85f/cherry")
    note = "values are not cut where the model's scales end, since no calibration inputs tell"
    assert any(note in one for one in compile_graph(graph, build).notes)
    calibrated = compile_graph(graph, build, {"x": some_inputs(16)})
    assert not any(note in one for one in calibrated.notes)


def test_a_clip_of_the_models_own_stays(tmp_path):
    made = Model()
    made.conv(0)
    made.emit("Clip", made.constant(np.float32(0)), made.constant(np.float32(6)))
    made.quantise(6 / 255, np.uint8(0))
    made.emit("Neg")
    shape = {"x": (1, CHANNELS, SIDE, SIDE)}
    graph = import_model(make_model(made.nodes, shape, {made.here: None}, made.constants), tmp_path)
    assert without_idle_cuts(graph, None) is graph
    assert [one.kind for one in graph.nodes] == ["conv", "activation", "activation"]


def test_clips_of_two_grids_in_a_row_are_left_out(tmp_path):
    made = Model()
    made.conv(0)
    made.quantise(1 / 10, np.int8(0))
    made.quantise(1 / 20, np.int8(0))
    made.emit("Neg")
    shape = {"x": (1, CHANNELS, SIDE, SIDE)}
    graph = import_model(make_model(made.nodes, shape, {made.here: None}, made.constants), tmp_path)
    assert [getattr(one, "function", one.kind) for one in graph.nodes] == [
        "conv",
        "clip",
        "clip",
        "neg",
    ]
    kept = without_idle_cuts(graph, None).nodes
    assert [getattr(one, "function", one.kind) for one in kept] == ["conv", "neg"]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("gain, functions", [(0.2, {"relu"}), (2.0, {"clip"})])
def test_clips_that_cut_nothing_are_relus(tmp_path, gain, functions, fused):
    graph = import_model(without_relu6(gain), tmp_path)
    if fused:
        graph = simplify(graph)
    calibration = {"x": some_inputs(64)}
    simple = simplify(without_idle_cuts(graph, calibration))
    assert [one.kind for one in simple.nodes] == ["conv", "conv", "dense"]
    assert {one.activation.function for one in simple.nodes[:2]} == functions
    relus = simplify(without_idle_cuts(graph, None))
    assert {one.activation.function for one in relus.nodes[:2]} == {"relu"}


def test_a_result_that_ends_before_its_grid_is_not_clipped(tmp_path):
    made = Model()
    made.emit("Sigmoid")
    made.quantise(1 / 128, np.uint8(0))
    made.emit("Neg")
    shape = {"x": (1, CHANNELS, SIDE, SIDE)}
    graph = import_model(make_model(made.nodes, shape, {made.here: None}, made.constants), tmp_path)
    assert [one.function for one in graph.nodes] == ["sigmoid", "neg"]


def gridded(network, tensor):
    """The network with a grid of 8 bits at one tensor."""
    network.tensors[tensor].scale = 1 / 32
    return network


def flattened(grid):
    """A convolution whose results, far from zero, become a vector; ``grid``: they have one."""
    b = Builder("flattened", (4, 4, 2), 3)
    conv = b.conv(3, (1, 1))
    b.add(g.Reshape, conv, shape=(48,))
    b.graph.nodes[0].bias += 100
    network = b.finish()
    return gridded(network, conv) if grid else network


@pytest.mark.parametrize("grid", [False, True])
def test_offsets_of_outputs_pass_no_grid(grid):
    network = flattened(grid)
    given = {"input_0": np.random.default_rng(1).normal(size=(32, 4, 4, 2))}
    (port,) = results_centred(network, given).outputs
    assert (port.offset is None) == grid


@pytest.mark.parametrize("grid", [False, True])
def test_offsets_of_inputs_pass_no_grid(grid):
    b = Builder("pooled", (4, 4, 2), 3)
    pooled = b.add(g.MaxPool, "input_0", window=(2, 2), stride=(2, 2))
    b.conv(3, (1, 1))
    network = b.finish()
    if grid:
        gridded(network, pooled)
    given = {"input_0": np.random.default_rng(1).normal(100, 1, size=(32, 4, 4, 2))}
    found, held = centred(network, given)
    assert (found.inputs[0].offset is None) == grid
    assert held == ({"input_0": f"{pooled} has a scale of its own"} if grid else {})


@pytest.mark.parametrize("grid", [False, True])
def test_factors_of_branches_pass_no_grid(grid):
    b = Builder("branches", (4, 4, 2), 3)
    branches = [b.conv(2, (1, 1), "input_0") for _ in range(2)]
    b.graph.nodes[0].weights *= 100
    b.add(g.Concat, *branches, axis=2)
    network = b.finish()
    if grid:
        gridded(network, branches[0])
    given = {"input_0": np.random.default_rng(1).normal(size=(32, 4, 4, 2))}
    (port,) = branches_scaled(network, given).outputs
    assert (port.factor is None) == grid
