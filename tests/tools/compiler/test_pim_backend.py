# SPDX-License-Identifier: BSD-2-Clause
"""PIM's back end: programs on the golden model against the reference in numpy, every tensor."""
import numpy as np
import pytest

from quintet.gateware.cores.pim.params import SPACE
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.backends.base import LoweringError
from tests.tools.compiler.machine import random_numbers, random_quantised, run_lowered
from tests.tools.compiler.networks import Builder

PARAMS = SPACE.resolve("85f")
SMALL = SPACE.resolve("sim", {"cores": 3, "arrays": 16, "lmem_bytes": 16384, "bias_words": 512})


def backend_of(params, memory_size=1 << 22):
    return backend_class("pim")(params=params, memory_size=memory_size)


def check(graph, params=SMALL, bits=None, count=2, seed=0):
    """Every tensor, kept or not, is the reference's."""
    backend = backend_of(params)
    for node in graph.nodes:
        assert backend.verdict(graph, node).runs, backend.verdict(graph, node)
    graph = backend.prepare(graph)
    quantised = random_quantised(graph, backend, seed, bits)
    inputs = random_numbers(quantised, count, seed)
    expected = backend.reference(quantised, inputs, keep=True)
    for keep in (True, False):
        lowered = backend.lower(quantised, keep=keep)
        found = run_lowered("pim", params, lowered, inputs)
        for name, values in found.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=f"{name}, keep {keep}")
        assert {port.tensor for port in graph.outputs} <= set(found)
    return lowered


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("size, stride, padding, dilation, groups", [
    ((3, 3), (1, 1), "same", (1, 1), 1), ((3, 3), (2, 2), "same", (1, 1), 1), ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1), ((5, 3), (2, 1), (1, 0, 2, 1), (1, 1), 1), ((3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1),
    ((3, 3), (1, 1), "same", (1, 1), 6), ((3, 3), (2, 2), "same", (1, 1), 3), ((3, 2), (1, 2), (1, 1, 0, 0), (1, 2), 2)])
def test_convolutions(bits, size, stride, padding, dilation, groups):
    made = Builder("conv", (7, 6, 6))
    made.conv(12 if groups == 1 else 6, size, stride=stride, padding=padding, dilation=dilation, groups=groups, relu=False)
    check(made.finish(), bits=bits)


def test_relu_clip_and_residual():
    made = Builder("block", (6, 5, 8))
    x = made.here
    made.conv(8, (3, 3), relu=True)
    made.conv(8, (3, 3))
    made.add(g.Binary, made.here, x, function="add")
    made.act("relu")
    made.act("clip", low=0.0, high=1.5)
    made.act("clip", low=-0.5, high=1.0)
    check(made.finish())


def test_pools_concat_and_dense():
    made = Builder("head", (8, 7, 5))
    a = made.add(g.MaxPool, window=(2, 2), stride=(2, 2))
    b = made.add(g.MaxPool, made.graph.inputs[0].tensor, window=(3, 3), stride=(2, 2), padding=(1, 0, 0, 0))
    made.add(g.AveragePool, a, window=(2, 3), stride=(1, 1))
    c = made.here
    made.add(g.Concat, a, made.conv(4, (2, 1), source=b, padding=(1, 0, 0, 0)), axis=2)
    made.global_average()
    made.add(g.Reshape, shape=(9,))
    made.dense(70, relu=True)
    made.dense(5)
    check(made.finish(made.here, c))


def test_dense_of_many_rows_adds_up_parts():
    made = Builder("wide", (1500,))
    made.dense(70, relu=True)
    made.dense(3)
    check(made.finish(), SPACE.resolve("85f", {"arrays": 64, "lmem_bytes": 32768}))


def test_dense_layer_on_every_step():
    made = Builder("steps", (5, 12))
    made.dense(9, steps=True)
    check(made.finish())


def test_network_that_the_arrays_do_not_hold():
    made = Builder("large", (4, 4, 64))
    for _ in range(9):
        made.conv(64, (3, 3))
    backend = backend_of(PARAMS)
    graph = backend.prepare(made.finish())
    with pytest.raises(LoweringError, match=r"conv_\d: takes 9 arrays, 64 biases and 1 groups of a core; the network takes 81 arrays, there are 4 x 16 of 64 x 64"):
        backend.lower(random_quantised(graph, backend, 0))
