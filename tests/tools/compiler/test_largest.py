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


def pool(side, kind=g.MaxPool):
    b = Builder("net", (side, side, 3))
    b.add(kind, window=(side, side), stride=(1, 1))
    return b.finish()


def padded(kernel):
    b = Builder("net", (70, 70, 1))
    b.conv(1, (kernel, kernel), padding=((kernel - 1) // 2,) * 4, stride=(60, 60))
    return b.finish()


def softmax(length):
    b = Builder("net", (1, length))
    b.add(g.Softmax)
    b.dense(2, steps=True)
    return b.finish()


def lstm(states, sequence=3):
    b = Builder("net", (sequence, 4))
    b.lstm(states)
    return b.finish()


#: Core and preset, network by a size, a size that is too large, the largest, text of the message.
REFUSED = {
    "pim row": ("pim", "25f", softmax, 33_000, 32_767, "row"),
    "pim states": ("pim", "25f", lstm, 200, None, "number of states"),
    "opu padding": ("opu", "sim", padded, 41, 32, "kernel with 1 channels"),
    "opentpu average": ("opentpu", "sim-ext", lambda n: pool(n, g.AveragePool), 60, None, "map"),
}


def compiled(graph, isa, preset, memory_size=1 << 25):
    params = open_core(isa).params.SPACE.resolve(preset)
    build = TargetBuild(isa, preset, params, memory_size, None, None, f"model:{isa}")
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


@pytest.mark.parametrize("isa, preset", (("opu", "sim"), ("imagine", "sim"), ("cherry", "25f")))
def test_messages_about_main_memory_name_the_largest_layer(isa, preset):
    def network(side):
        b = Builder("net", (side, side, 8))
        b.conv(8, (3, 3), padding=(0, 0, 0, 0), relu=True)
        return b.finish()

    with pytest.raises(LoweringError) as caught:
        compiled(network(40), isa, preset, 1 << 15)
    text = str(caught.value)
    found = re.search(
        r"takes ([\d,]+) bytes of main memory.*, there are 32,768.*; conv_0 "
        r"\(Conv.*\): the largest map that fits is (\d+) x",
        text,
    )
    assert found, text
    assert int(found[1].replace(",", "")) > 1 << 15
    assert compiled(network(int(found[2])), isa, preset, 1 << 15).core_steps


def dense(inputs, *outputs):
    b = Builder("net", (inputs,))
    for number in outputs:
        b.dense(number)
    return b.finish()


def test_a_message_about_main_memory_names_the_largest_layer_that_fits():
    with pytest.raises(LoweringError) as caught:
        compiled(dense(5000, 4), "pim", "hx8k", 1 << 13)
    text = (
        r"the network takes [\d,]+ bytes of main memory, there are 8,192; program and weights take "
        r"[\d,]+, .*; dense_0 \(Dense\): the largest number of inputs that fits is ([\d,]+)"
    )
    found = int(re.fullmatch(text, str(caught.value))[1].replace(",", ""))
    assert compiled(dense(found, 4), "pim", "hx8k", 1 << 13).core_steps
    with pytest.raises(LoweringError):
        compiled(dense(found + 1, 4), "pim", "hx8k", 1 << 13)


def test_a_message_about_main_memory_names_no_layer_if_each_fits():
    with pytest.raises(LoweringError) as caught:
        compiled(dense(200, *[200] * 3), "pim", "85f", 1 << 17)
    assert "bytes of main memory, there are 131,072" in str(caught.value)
    assert "that fits" not in str(caught.value)


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
