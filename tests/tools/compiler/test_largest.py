# SPDX-License-Identifier: BSD-2-Clause
"""Messages about size name the largest layer that fits, and that one compiles."""

import re

import numpy as np
import pytest

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.largest import largest_that_fits
from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.target_build import TargetBuild
from tests.tools.compiler.networks import Builder


def conv(shape, out, kernel, **options):
    b = Builder("net", shape)
    b.conv(out, (kernel, kernel), padding=(0, 0, 0, 0), **options)
    return b.finish()


def dense(inputs, outputs):
    b = Builder("net", (inputs,))
    b.dense(outputs)
    return b.finish()


def pool(side, kind=g.MaxPool):
    b = Builder("net", (side, side, 3))
    b.add(kind, window=(side, side), stride=(1, 1))
    return b.finish()


def softmax(length):
    b = Builder("net", (4, length))
    b.add(g.Softmax)
    b.dense(2, steps=True)
    return b.finish()


#: Core and preset, network by a size, a size that is too large, the largest, text of the message.
REFUSED = {
    "pim row": ("pim", "25f", softmax, 33_000, 32_767, "row"),
}


def compiled(graph, isa, preset, memory=1 << 25):
    params = open_core(isa).params.SPACE.resolve(preset)
    build = TargetBuild(isa, preset, params, memory, None, None, f"model:{isa}")
    return compile_graph(graph, build, random_calibration(graph, 1), Options(dry=True))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_largest_that_fits(name):
    isa, preset, network, size, largest, what = REFUSED[name]
    with pytest.raises(PartitionError) as caught:
        compiled(network(size), isa, preset)
    (refusal,) = caught.value.refusals
    assert refusal.largest.startswith(f"the largest {what} that fits is "), refusal
    assert f"; {refusal.largest}" in str(caught.value)
    found = int(refusal.largest.split(" that fits is ")[1].split(" x ")[0].replace(",", ""))
    assert found == (largest or found)
    assert compiled(network(found), isa, preset).core_steps
    with pytest.raises((PartitionError, LoweringError)):
        compiled(network(found + 1), isa, preset)


@pytest.mark.parametrize(
    "isa, preset", (("opu", "sim"), ("imagine", "sim"), ("cherry", "25f"), ("pim", "25f"))
)
def test_messages_about_main_memory_name_the_largest_layer(isa, preset):
    def network(side):
        b = Builder("net", (side, side, 8))
        b.conv(8, (3, 3), padding=(0, 0, 0, 0), relu=True)
        return b.finish()

    with pytest.raises(LoweringError) as caught:
        compiled(network(40), isa, preset, 1 << 15)
    text = str(caught.value)
    found = re.search(
        r"takes ([\d,]+) bytes of main memory.*, there are 32,768.*; conv_0 does not fit by "
        r"itself, the largest map that fits is (\d+) x",
        text,
    )
    assert found, text
    assert int(found[1].replace(",", "")) > 1 << 15
    assert compiled(network(int(found[2])), isa, preset, 1 << 15).core_steps


def signal(length, window, kind=g.AveragePool):
    b = Builder("net", (1, length, 2))
    b.add(kind, window=(1, min(window, length)), stride=(1, 3))
    return b.finish()


@pytest.mark.parametrize(
    "network, size, what",
    [
        (lambda n: signal(n, 5, g.MaxPool), 4000, "number of columns"),
        # With a window that main memory does not hold either, and that is smaller with the map.
        (lambda n: signal(n, 4000), 6000, "number of columns"),
        (lambda n: dense(n, 8), 3000, "number of inputs"),
        (lambda n: conv((n, n, 3), 2, 1), 90, "map"),
        (lambda n: pool(n, g.AveragePool), 200, "map"),
    ],
    ids=["signal", "window and signal", "dense", "conv", "average"],
)
def test_messages_about_main_memory_on_opentpu_name_the_largest_that_fits(network, size, what):
    memory = 20_000
    with pytest.raises(PartitionError) as caught:
        compiled(network(size), "opentpu", "sim-ext", memory)
    found = re.search(
        r"the network takes (?:at least )?([\d,]+) bytes of main memory, there are 20,000; "
        rf"largest layer: \w+ with [\d,]+ bytes \(.*\); the largest {what} that fits is ([\d,]+)",
        str(caught.value),
    )
    needed, largest = (int(number.replace(",", "")) for number in found.groups())
    assert needed > memory
    assert compiled(network(largest), "opentpu", "sim-ext", memory).core_steps
    with pytest.raises(PartitionError):
        compiled(network(largest + 1), "opentpu", "sim-ext", memory)


def test_several_layers_that_fit_by_themselves_have_no_largest_size():
    b = Builder("net", (64,))
    for _ in range(8):
        b.dense(64, relu=True)
    with pytest.raises(LoweringError, match="bytes of main memory") as caught:
        compiled(b.finish(), "cherry", "25f", 1 << 15)
    assert "by itself" not in str(caught.value)


def test_layers_that_a_core_lacks_have_no_largest_size():
    b = Builder("net", (8, 8, 4))
    b.add(g.Binary, b.here, b.act("relu"), function="mul")
    with pytest.raises(PartitionError) as caught:
        compiled(b.finish(), "opu", "sim")
    assert [refusal.largest for refusal in caught.value.refusals] == [""]


def test_a_layer_that_fits_by_itself_has_no_largest_size():
    graph = conv((6, 6, 4), 4, 3)
    assert largest_that_fits(graph, graph.nodes[0], lambda network: True) == ""


@pytest.mark.parametrize("limit", (1, 5, 36))
def test_the_largest_is_found_by_bisection(limit):
    graph = conv((6, 6, 40), 4, 3)
    tried = []

    def fits(network):
        (node,) = network.nodes
        tried.append(node.weights.shape)
        assert np.shape(node.weights)[3] == network.shape(node.inputs[0])[2]
        return node.weights.shape[3] <= limit and node.weights.shape[1] == 3

    text = largest_that_fits(graph, graph.nodes[0], fits)
    assert text == f"the largest number of channels that fits is {limit}"
    assert len(tried) < 12
