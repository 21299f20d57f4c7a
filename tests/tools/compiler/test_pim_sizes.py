# SPDX-License-Identifier: BSD-2-Clause
"""Layers of any size on PIM: channels of a map that are read in place, windows that local memory
does not hold at once, dilated maxima, long rows; equal to the reference."""

import pytest

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.pim.arrays.channels import ChannelView
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_pim_splitting import check, legalised


def conv(shape, out, size, **options):
    b = Builder("conv", shape, 3)
    b.conv(out, size, **options)
    return b.finish()


def pool(shape, window, stride=(1, 1), behind=None, **options):
    b = Builder("pool", shape, 3)
    b.add(g.MaxPool, window=window, stride=stride, **options)
    return b.finish()


#: Network, preset: convolutions that even all arrays do not hold.
CONVOLUTIONS = {
    "a prime number of channels": (conv((3, 4, 131), 3, (3, 3), relu=True), "sim"),
    "many outputs": (conv((2, 3, 37), 130, (3, 3)), "sim"),
    "groups": (conv((3, 3, 96), 96, (3, 3), groups=96, stride=(2, 1)), "sim"),
    "large groups": (conv((3, 3, 96), 60, (3, 3), groups=12, dilation=(1, 2)), "sim"),
    "one group at a time": (conv((2, 3, 26), 6, (5, 3), groups=2, bias=False), "sim"),
    "local memory": (conv((12, 12, 40), 4, (3, 3), dilation=(8, 5)), "sim"),
    "taps far apart": (conv((2, 540, 1), 2, (2, 3), dilation=(1, 240)), "hx8k-mini"),
    "a large kernel": (conv((13, 14, 2), 3, (12, 11)), "sim"),
    "a large kernel with strides": (
        conv((17, 16, 3), 2, (13, 12), stride=(3, 2), padding=(2, 3, 6, 0), relu=True),
        "sim",
    ),
    "a large kernel of each channel": (conv((13, 12, 5), 5, (12, 12), groups=5), "sim"),
    "a kernel of a long row": (conv((1, 300, 1), 5, (1, 290), padding=(0, 10, 0, 0)), "sim"),
    "rows that meet padding alone": (conv((2, 3, 3), 4, (11, 5)), "hx8k-mini"),
    "sums of sums": (conv((3, 4, 40), 2, (5, 5)), "hx8k-mini"),
}


def steps(sequence, features, outputs):
    b = Builder("steps", (sequence, features), 3)
    b.dense(outputs, steps=True, relu=True)
    return b.finish()


CONVOLUTIONS["steps of a sequence"] = steps(3, 300, 70), "sim"


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_by_channels(name):
    graph, preset = CONVOLUTIONS[name]
    assert any(isinstance(node, ChannelView) for node in legalised(graph, preset).nodes)
    plan = check(graph, preset)
    assert len(plan.core_steps) == len(plan.steps)


def unpadded(*sizes, **options):
    return conv(*sizes, padding=(0, 0, 0, 0), **options)


#: Convolutions whose narrowest tiles, or parts, alone fit local memory.
TILES = {
    "a single tile, narrower than the map": (
        unpadded((27, 27, 19), 19, (7, 7), groups=19, dilation=(4, 4), stride=(4, 8)),
        "25f",
    ),
    "tiles that overlap": (unpadded((250, 22, 1), 1, (1, 4), stride=(120, 3)), "sim"),
    # Local memory holds the rows of a window, but not those of the next one besides.
    "parts of a layer at long strides": (
        unpadded((30, 13, 2), 2, (2, 3), dilation=(13, 6), stride=(12, 3)),
        "hx8k-mini",
    ),
}


@pytest.mark.parametrize("name", TILES)
def test_convolutions_in_the_narrowest_tiles(name):
    plan = check(*TILES[name])
    assert len(plan.core_steps) == len(plan.steps)
    # Half as many bits would fit sooner.
    tensors = [place for step in plan.core_steps for place in step.lowered.tensors.values()]
    assert {place.layout.dtype for place in tensors} == {"int16"}


#: Maxima of windows that local memory holds neither at once nor in tiles, and dilated ones.
MAXIMA = {
    "of a whole map": pool((40, 60, 3), (40, 60)),
    "of a whole map of many channels": pool((5, 4, 300), (5, 4)),
    "of a long line": pool((1, 2600, 2), (1, 2600)),
    "of a long column": pool((2500, 1, 2), (2500, 1)),
    "of large windows": pool((50, 52, 2), (30, 40), (3, 2), padding=(5, 0, 1, 7)),
    "dilated": pool((12, 11, 5), (3, 2), (2, 1), padding=(1, 2, 2, 1), dilation=(2, 4)),
    "dilated and large": pool((61, 61, 2), (4, 3), (3, 1), dilation=(15, 20)),
}


@pytest.mark.parametrize("name", MAXIMA)
def test_maxima_of_any_window(name):
    plan = check(MAXIMA[name], "sim")
    assert len(plan.core_steps) == len(plan.steps)


def test_dilated_maxima_run_together_with_convolutions():
    b = Builder("together", (12, 12, 4), 2)
    b.conv(6, (3, 3), relu=True)
    b.add(g.MaxPool, window=(2, 3), stride=(1, 2), dilation=(3, 2), padding=(1, 1, 1, 1))
    b.conv(5, (3, 3), dilation=(2, 2))
    check(b.finish(), "85f")


def transposed(shape, order):
    b = Builder("transposed", shape, 2)
    b.act("relu")
    b.add(g.Transpose, order=order)
    b.act("relu")
    return b.finish()


#: Transposes of more than local memory holds: shape, order of the axes.
TRANSPOSES = {
    "a swap of long columns": ((1500, 3), (1, 0)),
    "channels last": ((7, 30, 23), (1, 2, 0)),
    "channels first": ((30, 23, 7), (2, 0, 1)),
    "rows and columns": ((40, 13, 9), (1, 0, 2)),
    "all axes": ((11, 40, 9), (2, 1, 0)),
    "all axes of long columns": ((1300, 2, 3), (2, 1, 0)),
    "with an axis of one": ((60, 1, 70), (2, 0, 1)),
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposes_of_any_size(name):
    plan = check(transposed(*TRANSPOSES[name]), "sim")
    assert len(plan.core_steps) == len(plan.steps)


def pair(shape, other, function):
    """A function of two tensors."""
    b = Builder("pair", shape, 2)
    first = b.act("relu")
    b.add(g.Binary, first, b.act("relu", b.input(other)), function=function)
    return b.finish()


def long_table():
    """A table of a long vector, whose scale its neighbours share."""
    b = Builder("table", (300,), 2)
    b.act("relu")
    b.act("tanh")
    b.act("relu")
    return b.finish()


def many_constants(function):
    b = Builder("constants", (40, 50), 2)
    b.act("relu")
    b.add(g.Binary, b.here, b.constant(b.normal(40, 50)), function=function)
    return b.finish()


#: Functions of single elements: operands, tiles or constants that local memory or a core does not
#: hold at once.
ELEMENTS = {
    "a long operand that repeats": (pair((3, 2500), (2500,), "add"), "25f"),
    "an operand that repeats": (pair((4, 600), (600,), "mul"), "hx8k-mini"),
    "a factor of each channel": (pair((12, 12, 8), (8,), "mul"), "hx8k-mini"),
    "a product": (pair((20, 20, 8), (20, 20, 8), "mul"), "hx8k"),
    "a difference": (pair((20, 20, 8), (20, 20, 8), "sub"), "hx8k-mini"),
    "a long table": (long_table(), "85f"),
    "many constants added": (many_constants("add"), "85f"),
    "many constants multiplied": (many_constants("mul"), "85f"),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_any_number(name):
    plan = check(*ELEMENTS[name])
    assert len(plan.core_steps) == len(plan.steps)


def test_a_legalised_graph_stays_as_it_is():
    """Units of a table, split or not, are not put in front of it again."""
    b = Builder("units", (66,), 3)
    b.add(g.Concat, b.here, b.here, axis=0)
    b.act("sigmoid")
    once = legalised(b.finish())
    assert sum(isinstance(node, g.Dense) for node in once.nodes) > 2
    twice = legalised(once)
    assert [node.output for node in twice.nodes] == [node.output for node in once.nodes]
    written: set[str] = {port.tensor for port in twice.inputs}
    for node in twice.nodes:
        assert set(node.inputs) <= written
        written.add(node.output)
