# SPDX-License-Identifier: BSD-2-Clause
"""Programs of IMAGine's layers on the golden model: exact for any size, cycles by the formulas,
everything refused."""

import numpy as np
import pytest

from quintet.gateware.cores.imagine.model import cycles
from quintet.gateware.cores.imagine.model.model import Model
from quintet.gateware.cores.imagine.params import SPACE, levels
from quintet.tools.compiler.backends.imagine.arithmetic import Layer
from quintet.tools.compiler.backends.imagine.codegen import (
    ArrayProgram,
    kernel_template,
    loader_template,
    streamed_template,
)
from quintet.tools.compiler.backends.imagine.schedule import Tiles, registers_of_layers
from quintet.tools.compiler.common.inputs import KernelError


def params_of(rows=4, cols=2, reg_width=16, depth=1024):
    return SPACE.resolve(
        "sim", {"rows": rows, "cols": cols, "reg_width": reg_width, "depth": depth}
    )


def layer_of(height, *lengths, seed=1, fraction=4, width=16, bias=True, name="layer"):
    """Random weights over the whole range, so that sums wrap."""
    rng, half = np.random.default_rng(seed), 1 << width - 1
    return Layer(
        [rng.integers(-half, half, (height, n)) for n in lengths],
        rng.integers(-half, half, height) if bias else None,
        fraction=fraction,
        width=width,
        name=name,
    )


def vectors_of(layer, count):
    rng, half = np.random.default_rng(2), 1 << layer.width - 1
    return rng.integers(-half, half, (count, layer.lengths[0]))


def reference(layer, vector):
    """Each product is shifted down toward minus infinity; sums are modulo 2^width."""
    half = 1 << layer.width - 1
    total = (layer.weights[0] * vector >> layer.fraction).sum(axis=1)
    total += 0 if layer.bias is None else layer.bias
    return (total + half & 2 * half - 1) - half


class Array:
    """A golden model that programs run on one after another."""

    def __init__(self, params):
        self.params, self.model = params, Model(params, np.zeros(64, np.uint8))

    def run(self, program, patches=()):
        """Results [shift-outs, R] of a program, with ``patches``, words by number, in its code."""
        words = np.array(program.words(), "<u4")
        for at, word in patches:
            words[at] = words[at] & ~np.uint32(0xFFFF) | word
        data = words.tobytes()
        end = len(data) + program.output_bytes
        memory = np.zeros((end + 127) // 64 * 64, np.uint8)
        memory[: len(data)] = np.frombuffer(data, np.uint8)
        self.model.memory = memory
        outcome = self.model.run(
            {"program_length": len(data), "output_at": len(data), "output_limit": end}
        )
        assert outcome.status == "done"
        out = memory[len(data) : end].view("<i2").reshape(-1, self.params["rows"], 2)
        assert (out[:, :-1, 1] == 0x100).all() and (out[:, -1, 1] == 0x300).all()
        return out[..., 0]

    def run_template(self, made, vectors):
        """Results [batch, m] of a template for ``vectors``."""
        patches = []
        for slot in made.slots:
            part = vectors[slot.vector][slot.first : slot.first + slot.count]
            for bit in range(made.layer.width):
                word = sum((int(value) >> bit & 1) << place for place, value in enumerate(part))
                patches.append((slot.at + bit, word))
        found = np.zeros((made.batch, made.tiles.tall, self.params["rows"]), np.int64)
        rows = self.run(made.program, patches)
        for (number, tile), row in zip(made.order, rows, strict=True):
            found[number, tile] = row
        return found.reshape(made.batch, -1)[:, : made.layer.height]


def check(found, layer, vectors):
    assert found.tolist() == [reference(layer, vector).tolist() for vector in vectors]


@pytest.mark.parametrize(
    "params", [{}, {"rows": 3, "cols": 3}, {"reg_width": 8}, {"reg_width": 4}, {"cols": 1}], ids=str
)
@pytest.mark.parametrize("height, length, bias", [(1, 1, True), (9, 70, True), (4, 32, False)])
def test_weights_that_stay_in_the_array(params, height, length, bias):
    params = params_of(**params)
    layer = layer_of(height, length, bias=bias, width=params["reg_width"])
    other = layer_of(4, 9, seed=5, name="b", bias=False, width=params["reg_width"])
    _, places = registers_of_layers([layer, other], params)
    array, layers = Array(params), (layer, other)
    for one, place in zip(layers, places, strict=True):
        assert len(array.run(loader_template(one, params, *place))) == 0
    for index in (0, 1, 0):
        vectors = vectors_of(layers[index], 3)
        made = kernel_template(layers[index], params, 3, *places[index])
        check(array.run_template(made, vectors), layers[index], vectors)


@pytest.mark.parametrize("depth", [1024, 512, 256, 128])
@pytest.mark.parametrize("batch", (1, 3))
def test_weights_that_come_with_every_run(depth, batch):
    params = params_of(depth=depth)
    layer = layer_of(20, 90)
    vectors = vectors_of(layer, batch)
    made = streamed_template(layer, params, batch)
    check(Array(params).run_template(made, vectors), layer, vectors)


def test_the_smallest_array():
    params = params_of(rows=1, cols=1, depth=128)
    layer = layer_of(3, 50, bias=False)
    vectors = vectors_of(layer, 1)
    check(Array(params).run_template(streamed_template(layer, params, 1), vectors), layer, vectors)


def kernel_of(layer, params, overlap=False):
    """The products of a layer whose vectors and weights are in registers."""
    program, tiles = ArrayProgram(params, layer.fraction), Tiles(layer, params)
    vectors, [(weights, bias)] = registers_of_layers([layer], params)
    for tile in range(tiles.tall):
        first = weights + tile * tiles.wide
        terms = [(vectors + column, first + column) for column in range(tiles.wide)]
        program.row(terms, 0, 1, bias + tile, overlap)
    return program


@pytest.mark.parametrize("width, rows, cols", [(16, 4, 2), (16, 16, 3), (8, 16, 4), (4, 16, 4)])
def test_cycles_of_a_kernel_are_the_formula(width, rows, cols):
    params = params_of(rows, cols, width)
    layer = layer_of(rows, 16 * cols, width=width, fraction=width // 2)
    assert (
        cycles.estimate(kernel_of(layer, params).words(), params)
        == cycles.gemv(width, rows, cols)[1]
    )


def test_tiled_kernels_overlap_their_shift_outs():
    params = params_of(16, 4)
    layer = layer_of(128, 256)
    plain, better = (
        cycles.estimate(kernel_of(layer, params, overlap).words(), params)
        for overlap in (False, True)
    )
    assert plain == cycles.tiled(16, 16, 4, 128, 256) - 1, "up to the last word"
    assert better < plain - 7 * 16


def test_recurrent_step():
    """Two products, their sum, all PEs, a bias."""
    params = params_of(16, 3)
    assert cycles.estimate(kernel_of(layer_of(16, 48, 48), params).words(), params) == 1383
    assert levels(3) == 2


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: Layer(np.zeros((2, 2)), fraction=0),
            "layer.weights: float64 [2, 2], expected integers [rows, columns]",
        ),
        (
            lambda: Layer([], fraction=0),
            "weights of layer have no rows and columns, expected the same rows for every input",
        ),
        (
            lambda: Layer([np.ones((2, 2), int), np.ones((3, 2), int)], fraction=0),
            "weights of layer have (2, 2), (3, 2) rows and columns, expected the same rows for "
            "every input",
        ),
        (
            lambda: Layer(np.array([[200]]), fraction=0, width=8),
            "layer.weights[0, 0] is 200, expected an integer from -128 to 127",
        ),
        (
            lambda: Layer(np.array([[1]]), np.array([1, 2]), fraction=0),
            "layer.bias: int64 [2], expected integers [1]",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=17),
            "fraction of layer is 17, expected an integer from 0 to 16",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1, width=12),
            "width of layer is 12, expected 4, 8 or 16",
        ),
        (
            lambda: Layer(np.array([[1]]), fraction=1, name="a b"),
            "layer 'a b': the name must be of letters, digits and _ . + - alone, and begin "
            "with a letter, a digit or _",
        ),
        (
            lambda: loader_template(layer_of(1, 1), params_of(reg_width=8), 2, 3),
            "layer has width 16, the build reg_width 8",
        ),
        (
            lambda: streamed_template(layer_of(1, 99), params_of(depth=64), 1),
            "layer: the build has 2 registers, a layer needs 5",
        ),
        (
            lambda: streamed_template(layer_of(1, 2, 3), params_of(), 1),
            "layer takes 2 vectors; a template takes layers of one",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(KernelError) as error:
        call()
    assert str(error.value) == message


def test_layers_that_do_not_fit_the_registers():
    assert registers_of_layers([layer_of(50, 50)], params_of(depth=256)) is None
