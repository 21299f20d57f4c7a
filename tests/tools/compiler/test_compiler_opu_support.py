# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's support check of each kind of node, with its reasons."""

import numpy as np
import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import DECOMPOSED, HOST, NATIVE
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.opu_runs import backend, check, random_inputs, whole_numbers


def _graph(shape, add):
    """Graph of the nodes that ``add`` adds to an input of ``shape``."""
    b = Builder("one", shape)
    add(b)
    return b.finish()


def _last(shape, add):
    """Support check of its last node."""
    graph = _graph(shape, add)
    return backend().check_support(graph, graph.nodes[-1])


def _leaky(alpha):
    return g.Activation(name="a", inputs=[], output="", function="leaky", alpha=alpha)


MAP, VECTOR, SEQUENCE = (12, 12, 4), (10,), (5, 6)
RUN = [
    (MAP, NATIVE, lambda b: b.conv(3, (3, 3))),
    (MAP, NATIVE, lambda b: b.conv(3, (1, 1), stride=(7, 7))),
    (MAP, NATIVE, lambda b: b.conv(3, (3, 3), padding=(15, 0, 15, 1), dilation=(3, 2))),
    (MAP, NATIVE, lambda b: b.conv(3, (2, 1), padding=(16, 0, 0, 16), dilation=(16, 1))),
    (MAP, DECOMPOSED, lambda b: b.conv(4, (3, 3), groups=4)),
    (MAP, DECOMPOSED, lambda b: b.conv(6, (3, 3), groups=2)),
    (MAP, NATIVE, lambda b: b.dense(5)),
    (SEQUENCE, NATIVE, lambda b: b.dense(5, steps=True)),
    (MAP, DECOMPOSED, lambda b: b.act("relu")),
    (MAP, DECOMPOSED, lambda b: b.act("leaky", alpha=0.125)),
    (MAP, DECOMPOSED, lambda b: b.act("clip", low=0, high=6)),
    (MAP, DECOMPOSED, lambda b: b.act("clip", low=-1, high=1)),
    (MAP, DECOMPOSED, lambda b: b.act("clip", high=1)),
    (MAP, DECOMPOSED, lambda b: b.act("neg")),
    (MAP, DECOMPOSED, lambda b: b.act("abs")),
    (MAP, NATIVE, lambda b: b.add(g.Binary, b.here, b.here, function="add")),
    (MAP, DECOMPOSED, lambda b: b.add(g.Binary, b.here, b.here, function="sub")),
    (MAP, DECOMPOSED, lambda b: b.add(g.Binary, b.here, b.constant(np.ones(4)), function="mul")),
    (MAP, DECOMPOSED, lambda b: b.add(g.Binary, b.constant(3.0), b.here, function="sub")),
    (MAP, DECOMPOSED, lambda b: b.add(g.Affine, scale=np.ones(4), shift=np.ones(4))),
    (MAP, NATIVE, lambda b: b.add(g.MaxPool, window=(3, 2), stride=(2, 2))),
    (
        MAP,
        NATIVE,
        lambda b: (
            b.act("relu"),
            b.add(g.MaxPool, window=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1)),
        ),
    ),
    (MAP, NATIVE, lambda b: b.add(g.MaxPool, window=(12, 12), stride=(12, 12))),
    (
        MAP,
        NATIVE,
        lambda b: b.add(g.AveragePool, window=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1)),
    ),
    (MAP, NATIVE, lambda b: b.global_average()),
    (MAP, DECOMPOSED, lambda b: b.add(g.Reduce, function="mean", axes=(0, 1))),
    (MAP, DECOMPOSED, lambda b: b.add(g.Reduce, function="mean", axes=(-2, 0), keep=True)),
    (SEQUENCE, DECOMPOSED, lambda b: b.add(g.Reduce, function="mean", axes=(0,))),
    (MAP, NATIVE, lambda b: b.add(g.Dense, weights=np.ones((3, 4)), steps=True)),
    ((20, 20, 2), NATIVE, lambda b: b.add(g.MaxPool, window=(14, 2), stride=(40, 2))),
    (VECTOR, NATIVE, lambda b: b.add(g.Reshape, shape=(1, 1, 10))),
    ((40,), NATIVE, lambda b: b.add(g.Reshape, shape=(5, 2, 4))),
    (MAP, DECOMPOSED, lambda b: b.add(g.Concat, b.here, b.here, axis=2)),
    (MAP, DECOMPOSED, lambda b: b.add(g.Pad, before=(1, 0, 2), after=(0, 15, 0))),
    (MAP, DECOMPOSED, lambda b: b.add(g.Slice, start=(1, 0, 1), stop=(12, 12, 4), step=(2, 1, 2))),
    (MAP, NATIVE, lambda b: b.conv(3, (1, 1), stride=(8, 1))),
    ((40, 20, 2), DECOMPOSED, lambda b: b.add(g.MaxPool, window=(16, 2), stride=(8, 2))),
    (
        (20, 1, 1),
        DECOMPOSED,
        lambda b: b.add(g.Slice, start=(0, 0, 0), stop=(20, 1, 1), step=(8, 1, 1)),
    ),
    (
        (90, 4, 1),
        DECOMPOSED,
        lambda b: b.add(g.Slice, start=(80, 0, 0), stop=(90, 4, 1), step=(1, 1, 1)),
    ),
    (MAP, DECOMPOSED, lambda b: b.act("leaky", alpha=0.1)),
    ((40,), DECOMPOSED, lambda b: b.act("leaky", alpha=0.7)),
]
REFUSED = [
    (
        MAP,
        HOST,
        "leaky relu of slope -0.1, this core has 0.125",
        lambda b: b.act("leaky", alpha=-0.1),
    ),
    (
        MAP,
        HOST,
        "leaky relu of slope 0.2, this core has 0.125",
        lambda b: b.add(g.Conv, weights=np.ones((1, 1, 1, 4)), activation=_leaky(0.2)),
    ),
    (
        MAP,
        HOST,
        "clip to 1..6, this core clips where its numbers end: from 0 or from minus the upper "
        "end, to an upper end above 0",
        lambda b: b.act("clip", low=1, high=6),
    ),
    (
        MAP,
        HOST,
        "sigmoid, this core has relu, leaky relu of slope 0.125 and clip",
        lambda b: b.act("sigmoid"),
    ),
    (
        MAP,
        HOST,
        "tanh, this core has relu, leaky relu of slope 0.125 and clip",
        lambda b: b.act("tanh"),
    ),
    (
        MAP,
        HOST,
        "mul of two tensors, this core multiplies by constants alone",
        lambda b: b.add(g.Binary, b.here, b.here, function="mul"),
    ),
    (
        MAP,
        HOST,
        "add with a constant of shape (12, 12, 4), this core takes one number, or one a channel",
        lambda b: b.add(g.Binary, b.here, b.constant(np.ones(MAP)), function="add"),
    ),
    (
        MAP,
        HOST,
        "a constant divided by a tensor",
        lambda b: b.add(g.Binary, b.constant(np.ones(4)), b.here, function="div"),
    ),
    (
        MAP,
        HOST,
        "add of shapes (12, 12, 4) and (1, 1, 4), this core takes equal ones",
        lambda b: b.add(g.Binary, "input_0", b.global_average(), function="add"),
    ),
    (
        MAP,
        HOST,
        "padding (1, 1, 1, 1) around values that may be negative, this core pads with zeros",
        lambda b: b.add(g.MaxPool, window=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1)),
    ),
    (
        MAP,
        HOST,
        "dilation (2, 1), this core takes 1 to 1",
        lambda b: b.add(g.MaxPool, window=(2, 2), stride=(2, 2), dilation=(2, 1)),
    ),
    (
        MAP,
        HOST,
        "padding (1, 0, 0, 0) that does not count, this core counts it",
        lambda b: b.add(
            g.AveragePool, window=(2, 2), stride=(2, 2), padding=(1, 0, 0, 0), include_padding=False
        ),
    ),
    (
        MAP,
        HOST,
        "mean over axes (2,) of (12, 12, 4), this core takes the mean over all positions",
        lambda b: b.add(g.Reduce, function="mean", axes=(2,)),
    ),
    (
        MAP,
        HOST,
        "reshape of (12, 12, 4) to (144, 4), this core flattens for dense layers, shapes "
        "inputs that are vectors, and drops axes of length 1",
        lambda b: b.add(g.Reshape, shape=(144, 4)),
    ),
    (
        MAP,
        HOST,
        "concat with a constant, this core joins tensors that flow",
        lambda b: b.add(g.Concat, b.here, b.constant(np.ones(MAP)), axis=0),
    ),
    (
        MAP,
        HOST,
        "concat with a constant, this core joins tensors that flow",
        lambda b: b.add(g.Concat, b.here, b.constant(np.ones(MAP)), axis=2),
    ),
    (
        MAP,
        HOST,
        "pad with 0.5, this core pads with 0",
        lambda b: b.add(g.Pad, before=(16, 0, 0), after=(0, 17, 0), value=0.5),
    ),
    (MAP, HOST, "softmax, this core has no exponential", lambda b: b.add(g.Softmax)),
    (
        MAP,
        HOST,
        "transpose to (1, 0, 2), this core swaps the last two of two or three axes",
        lambda b: b.add(g.Transpose, order=(1, 0, 2)),
    ),
    (
        SEQUENCE,
        HOST,
        f"a product of shapes {SEQUENCE} and (6,): expected two matrices or equally many pairs of "
        f"them",
        lambda b: b.add(g.MatMul, "input_0", b.input((6,))),
    ),
    (
        SEQUENCE,
        HOST,
        "gates of an LSTM, this core multiplies by constants alone and has no sigmoid",
        lambda b: b.lstm(3),
    ),
    (
        SEQUENCE,
        HOST,
        "gates of a GRU, this core multiplies by constants alone and has no sigmoid",
        lambda b: b.gru(3),
    ),
    (
        SEQUENCE,
        HOST,
        "layer normalisation, this core has no division and no root",
        lambda b: b.add(g.LayerNorm, scale=np.ones(6), shift=np.ones(6)),
    ),
    (
        (2, 2, 2, 2),
        HOST,
        "input_0 has 4 axes, at most 3 (rows, columns, channels); activation_0:0 has 4 axes, "
        "at most 3 (rows, columns, channels)",
        lambda b: b.act("relu"),
    ),
]


@pytest.mark.parametrize("shape, answer, add", RUN, ids=range(len(RUN)))
def test_runs(shape, answer, add):
    found = _last(shape, add)
    assert found.answer == answer and found.runs and bool(found.reason) == (answer == DECOMPOSED)
    graph, machine = _graph(shape, add), backend()
    if not all(isinstance(node, g.Reshape) for node in graph.nodes):
        check(whole_numbers(graph, machine), machine, random_inputs(graph, 2))


@pytest.mark.parametrize("shape, answer, reason, add", REFUSED, ids=[r[2][:40] for r in REFUSED])
def test_refused(shape, answer, reason, add):
    found = _last(shape, add)
    assert (found.answer, found.reason) == (answer, reason) and not found.runs


def test_flattened_for_dense_layers():
    b = Builder("flat", MAP)
    b.add(g.Reshape, shape=(576,))
    b.dense(3)
    graph = b.finish()
    assert backend().check_support(graph, graph.nodes[0]).answer == NATIVE
    b = Builder("flat", MAP)
    b.add(g.Reshape, shape=(576,))
    assert backend().check_support(b.finish(), b.graph.nodes[0]).answer == HOST
