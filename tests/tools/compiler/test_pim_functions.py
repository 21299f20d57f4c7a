# SPDX-License-Identifier: BSD-2-Clause
"""Softmax, layer normalisation, exp, square root and division on PIM, transposes of any order, and
constants that are joined or added: precision of the recipes, and networks layer by layer."""

from types import SimpleNamespace

import numpy as np
import pytest

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import DECOMPOSED, HOST
from quintet.tools.compiler.backends.pim.backend import PIMBackend
from quintet.tools.compiler.backends.pim.rows.functions import run_function
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.quantised import Scale
from quintet.tools.compiler.results.accuracy import signal_to_noise
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.verification import random_inputs, verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import Builder

#: Least signal to noise of a recipe with operands and results of 16 bits, dB.
LEAST = 70
#: The same for rows of thousands of elements: most powers are few steps of 2^-16, most results few
#: of their scale.
LEAST_LONG = 60


def softmax(length):
    return g.Softmax(name="n", inputs=["x"], output="y")


def layer_norm(length):
    rng = np.random.default_rng(length)
    return g.LayerNorm(
        name="n",
        inputs=["x"],
        output="y",
        scale=rng.normal(1, 0.2, length),
        shift=rng.normal(0, 0.2, length),
    )


def exp(length):
    return g.Activation(name="n", inputs=["x"], output="y", function="exp")


def sqrt(length):
    return g.Activation(name="n", inputs=["x"], output="y", function="sqrt")


def quotient(length):
    return g.Binary(name="n", inputs=["x", "below"], output="y", function="div")


def reciprocal(length):
    return g.Binary(name="n", inputs=["number", "x"], output="y", function="div")


def computed(node, sources, result):
    """Results of a node: by the recipe, and exactly for the same rounded operands. ``sources``:
    name -> (Scale, real values)."""
    tensors = {name: g.Tensor(name, x.shape[1:]) for name, (_, x) in sources.items()}
    tensors["y"] = g.Tensor("y", next(iter(sources.values()))[1].shape[1:])
    tensors["number"] = g.Tensor("number", (), np.array(-1.7))
    graph = g.Graph("net", [], [], [node], tensors)
    scales = {name: scale for name, (scale, _) in sources.items()} | {"y": result}
    numbers = {name: scale.quantise(x) for name, (scale, x) in sources.items()}
    flowing = [name for name in node.inputs if name != "number"]
    found = run_function(
        SimpleNamespace(graph=graph, scales=scales), node, [numbers[name] for name in flowing]
    )
    with np.errstate(all="ignore"):
        exact = node.run(
            *(
                scales[name].value(numbers[name]) if name in flowing else np.array([-1.7])
                for name in node.inputs
            )
        )
    return result.value(found), exact


def scale_of(values, bits=16):
    """Scale with as much headroom as the quantiser leaves."""
    room = 2 if bits == 16 else 1
    return Scale(float(np.abs(values).max()) * room / ((1 << bits - 1) - 1), bits)


#: Recipes with lengths of rows; a normalised row of two is its signs, whose errors are those of the
#: operands.
ROWS = [
    (make, length)
    for make in (softmax, layer_norm, exp, sqrt, quotient, reciprocal)
    for length in (1, 2, 9, 64, 300)
    if make is not layer_norm or length > 2
] + [(make, length) for make in (softmax, layer_norm) for length in (4_000, 32_767)]


@pytest.mark.parametrize("size", [0.01, 1.0, 8.0])
@pytest.mark.parametrize(("make", "length"), ROWS)
def test_recipes_are_precise(make, length, size):
    rng = np.random.default_rng(length)
    x = rng.normal(0.3 * size, size, (3, 5, length))
    if make is exp:
        # Of large arguments the operand's rounding is what remains.
        x = np.minimum(x, 3)
    if make is sqrt:
        x = np.abs(x)
    if make in (quotient, reciprocal):
        # Small divisors have few bits.
        x += 0.3 * size * np.sign(x)
    node = make(length)
    sources = {"x": (scale_of(x), x)}
    if make is quotient:
        above = rng.normal(0, 3, x.shape)
        sources = {"x": (scale_of(above), above), "below": (scale_of(x), x)}
    own = [np.array([-1.7]) if name == "number" else sources[name][1] for name in node.inputs]
    found, exact = computed(node, sources, scale_of(node.run(*own)))
    assert signal_to_noise(exact, found) > (LEAST if length <= 300 else LEAST_LONG)


@pytest.mark.parametrize("bits", [8, 16])
def test_results_out_of_range_saturate(bits):
    x = np.array([[-3.0, -0.1, 0.0, 0.1, 3.0]])
    top = Scale(2.0**-6, bits)
    source = {"x": (Scale(2.0**-5, 16), x)}
    found, exact = computed(exp(5), source, Scale(2.0**-14, bits))
    limit = 2.0**-14 * ((1 << bits - 1) - 1)
    assert np.abs(found - np.minimum(exact, limit)).max() < 2.0**-13
    found, _ = computed(reciprocal(5), {"x": (Scale(1.0, 16), x)}, top)
    # Zero counts as the least positive number.
    assert found[0, 2] == max(-1.7, -(2.0**-6) * (1 << bits - 1)) or abs(found[0, 2] + 1.7) < 0.01
    assert (found[0, [0, 4]] != 0).all() and found[0, 0] > 0 > found[0, 4]
    found, _ = computed(sqrt(5), source, top)
    assert (found[0, :3] == 0).all()
    # A quotient that is thousands of times too large keeps its sign.
    found, _ = computed(
        quotient(5), {"x": (Scale(1.0, 16), x), "below": (Scale(2.0**-20, 16), x * 0)}, top
    )
    assert found.ravel().tolist() == [-top.step * (1 << bits - 1), 0, 0, 0, top.value(top.high)]


def test_equal_numbers_are_normalised_to_zero():
    x = np.full((1, 2, 16), 3.0)
    found, exact = computed(layer_norm(16), {"x": (Scale(2.0**-12, 16), x)}, Scale(2.0**-13, 16))
    assert np.abs(found - exact).max() < 2.0**-12


def rows(b):
    """Every function of whole rows, of a sequence."""
    b.dense(12, steps=True)
    b.add(g.LayerNorm, scale=np.linspace(0.5, 1.5, 12), shift=np.linspace(-1, 1, 12))
    start = b.dense(12, steps=True)
    b.add(g.Softmax)
    b.add(g.Binary, start, b.here, function="mul")
    b.dense(5, steps=True)


def elements(b):
    """Every function of single elements, with activations of its own."""
    start = b.dense(8, steps=True)
    b.add(g.Affine, scale=np.full(8, 0.2), shift=np.zeros(8))
    b.act("exp")
    b.add(g.Affine, scale=np.ones(8), shift=np.ones(8))
    below = b.here
    clip = g.Activation(name="c", inputs=[], output="", function="clip", low=-0.5, high=0.75)
    b.add(g.Binary, start, below, function="div", activation=clip)
    relu = g.Activation(name="r", inputs=[], output="", function="relu")
    b.add(g.Binary, b.constant(1.5), below, function="div", activation=relu)
    b.act("sqrt")
    b.dense(5, steps=True)


def of_maps(b):
    """Functions of maps between convolutions, which could be fused with each other."""
    b.conv(4, (3, 3))
    start = b.conv(4, (1, 1))
    b.add(g.Affine, scale=np.full(4, 0.2), shift=np.zeros(4))
    b.act("exp")
    b.conv(4, (1, 1), relu=True)
    b.act("sqrt")
    b.add(g.Affine, scale=np.ones(4), shift=np.ones(4))
    b.add(g.Binary, start, b.here, function="div")
    b.conv(4, (3, 3))


def moved(b):
    """Transposes of three axes, to every order."""
    b.conv(4, (1, 1))
    for order in ((1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1)):
        b.add(g.Transpose, order=order)
    b.conv(4, (3, 3))


def constants(b):
    """Constants that are joined, and that have the shape of the tensor that they are added to."""
    rng = np.random.default_rng(5)
    b.dense(6, steps=True)
    shape = b.shape()
    b.add(g.Concat, b.constant(rng.normal(size=(1, 6))), b.here, axis=0)
    b.add(g.Binary, b.here, b.constant(rng.normal(size=(shape[0] + 1, 6))), function="add")
    b.add(g.Binary, b.constant(rng.normal(size=(shape[0] + 1, 6))), b.here, function="sub")
    b.add(g.Binary, b.here, b.constant(rng.normal(size=(shape[0] + 1, 6))), function="mul")
    b.dense(5)


NETWORKS = {
    rows: (11, 7),
    elements: (11, 7),
    of_maps: (6, 5, 3),
    moved: (6, 5, 3),
    constants: (7, 5),
}


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("preset", ["sim", "85f", "up5k"])
@pytest.mark.parametrize("make", NETWORKS)
def test_networks_equal_layer_by_layer(make, preset, bits):
    b = Builder("net", NETWORKS[make], seed=3)
    make(b)
    graph = b.finish()
    name = f"model:pim?preset={preset}"
    build = target_build("model:pim", preset)
    backend = PIMBackend(params=build.params, memory_size=build.memory_size)
    if bits not in backend.bits:
        pytest.skip(f"{preset} has no activations of {bits} bits")
    plan = compile_graph(graph, build, random_calibration(graph), Options(bits=bits))
    assert len(plan.steps) == len(plan.core_steps)
    found = verify_plan(
        plan, random_inputs(plan), "model", lambda: open_target(name), "reference", None
    )
    assert found.equal, found.difference
    assert plan.snr > (25 if bits == 16 else 15)


#: Function of a row, preset, rows, elements of a row: local memory holds none at once, or one less
#: than a core has.
LONG = [
    (g.Softmax, "25f", 11, 700),
    (g.LayerNorm, "25f", 9, 500),
    (g.LayerNorm, "85f", 3, 768),
    (g.Softmax, "hx8k-mini", 2, 101),
    (g.LayerNorm, "hx8k-mini", 3, 67),
]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("kind", "preset", "rows", "length"), LONG)
def test_rows_that_local_memory_does_not_hold(kind, preset, rows, length, bits):
    b = Builder("long", (rows, length), 3)
    attributes = {"scale": b.normal(length) + 1, "shift": b.normal(length)}
    b.add(kind, **(attributes if kind is g.LayerNorm else {}))
    b.dense(2, steps=True, bias=False)
    graph = b.finish()
    build = target_build("model:pim", preset)
    plan = compile_graph(graph, build, random_calibration(graph, 8), Options(bits=bits))
    assert len(plan.steps) == len(plan.core_steps)
    name = f"model:pim?preset={preset}"
    inputs = random_inputs(plan)
    found = verify_plan(plan, inputs, "model", lambda: open_target(name), "reference", None)
    assert found.equal, found.difference
    assert plan.snr > (40 if bits == 16 else 15)


def test_verdicts():
    params = open_core("pim").params.SPACE.resolve("sim")
    backend = PIMBackend(params=params, memory_size=1 << 20)

    def answer(kind, shape, other=None, backend=backend, **attributes):
        tensors = {"x": g.Tensor("x", shape), "y": g.Tensor("y", shape)}
        names = ["x"]
        if other is not None:
            tensors["other"] = g.Tensor("other", np.shape(other), np.array(other))
            names = attributes.pop("names", ["other", "x"])
        node = kind(name="n", inputs=names, output="y", **attributes)
        return backend.check_support(g.Graph("net", [], [], [node], tensors), node)

    assert answer(g.Softmax, (4, 8)).answer == DECOMPOSED
    for support, reason in (
        (answer(g.Softmax, (4, 8), axis=0), "softmax: expected the last axis, found 0 of 2"),
        (
            answer(g.Softmax, (4, 8), log=True),
            "softmax: expected softmax without a logarithm, found log_softmax",
        ),
        (
            answer(g.Softmax, (2, 32_768)),
            "softmax: expected rows of at most 32,767 elements, found 32,768",
        ),
        (
            answer(g.Binary, (4, 8), np.ones((4, 8)), function="div"),
            "binary: expected one number as a constant dividend, found several",
        ),
    ):
        assert (support.answer, support.reason) == (HOST, reason)
    narrow = PIMBackend(
        params=open_core("pim").params.SPACE.resolve("sim", {"max_biw": 16, "x_bits": 8}),
        memory_size=1 << 20,
    )
    assert (
        answer(g.Softmax, (4, 8), backend=narrow).reason
        == "softmax: expected max_biw = 32, this build has 16"
    )
