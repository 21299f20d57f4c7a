# SPDX-License-Identifier: BSD-2-Clause
"""Layers on the OPU that are larger than its instructions: long signals, wide padding, far strides
and dilations, large windows. Programs on the golden model equal the reference."""

import numpy as np
import pytest

from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.layers import Network
from quintet.tools.compiler.common.inputs import KernelError
from quintet.tools.compiler.planning import compile_graph
from tests.support.opu_layers import check as compare
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.opu_runs import backend, check, random_inputs, whole_numbers
from tests.tools.compiler.test_sizes_of_layers import build_of


def signal_network(b, rows):
    """Convolutions, a pooling and a grouped convolution along the long side."""
    size, step = ((9, 1), (2, 1)) if rows else ((1, 9), (1, 2))
    b.conv(20, size, relu=True)
    b.add(g.MaxPool, window=step, stride=step)
    b.conv(8, size, groups=4, relu=True)
    b.dense(5)


def residual(b):
    first = b.conv(8, (3, 3), relu=True)
    b.add(g.Binary, first, b.conv(8, (3, 3)), function="add")
    b.conv(4, (3, 3))


def pooled(b, window, stride, **attributes):
    b.act("relu")
    b.add(g.MaxPool, window=window, stride=stride, **attributes)


def doubled(b):
    """Columns of two phases, interleaved."""
    rows, columns, channels = b.shape()
    b.act("relu")
    b.add(g.Concat, b.here, b.here, axis=2)
    b.add(g.Reshape, shape=(rows, 2 * columns, channels))


#: Name -> (shape of the input, function that adds the layers).
LAYERS = {
    "signal of rows": ((3000, 1, 1), lambda b: signal_network(b, rows=True)),
    "signal of columns": ((1, 3000, 1), lambda b: signal_network(b, rows=False)),
    "several signals": ((3, 1500, 2), lambda b: signal_network(b, rows=False)),
    "residual of rows": ((1500, 3, 4), residual),
    "residual of columns": ((3, 1500, 4), residual),
    "split blocks": ((1100, 2, 32), lambda b: b.conv(32, (3, 3), groups=32)),
    "sequence": ((1500, 6), lambda b: b.dense(7, steps=True)),
    "phases": ((2, 1100, 5), doubled),
    "joined": ((1, 1100, 5), lambda b: b.add(g.Concat, b.here, b.act("relu"), axis=1)),
    "padding": ((1, 500, 4), lambda b: b.conv(8, (1, 101), padding=(0, 50, 0, 50))),
    "padding of both": ((40, 500, 4), lambda b: b.conv(8, (3, 41), padding=(1, 20, 1, 20))),
    "pad": ((30, 9, 4), lambda b: b.add(g.Pad, before=(20, 1, 0), after=(17, 0, 2))),
    "dilation": ((1, 700, 4), lambda b: b.conv(8, (1, 3), dilation=(1, 300))),
    "dilations": ((60, 50, 4), lambda b: b.conv(8, (3, 2), dilation=(20, 17))),
    "kernel": ((200, 3, 4), lambda b: b.conv(8, (150, 1), padding=(0, 0, 0, 0))),
    "dense": ((150, 2, 20), lambda b: b.dense(7)),
    "average": ((1, 1500, 20), lambda b: b.global_average()),
    "mean": ((300, 2, 20), lambda b: b.add(g.Reduce, function="mean", axes=(0, 1))),
    "stride": ((3000, 1, 1), lambda b: b.conv(32, (80, 1), stride=(16, 1))),
    "stride of channels": ((1, 900, 70), lambda b: b.conv(8, (1, 20), stride=(1, 11))),
    "strides": ((50, 60, 20), lambda b: b.conv(70, (9, 12), stride=(9, 12))),
    "strides of rows": ((1200, 3, 70), lambda b: b.conv(8, (9, 2), stride=(400, 8))),
    "strides and dilation": (
        (50, 60, 20),
        lambda b: b.conv(8, (3, 3), stride=(8, 9), dilation=(2, 20), padding=(4, 4, 4, 4)),
    ),
    "strides of groups": ((40, 40, 32), lambda b: b.conv(32, (9, 9), stride=(8, 8), groups=32)),
    "average at strides": (
        (60, 40, 4),
        lambda b: b.add(g.AveragePool, window=(10, 9), stride=(10, 8)),
    ),
    "maximum of patches": ((64, 48, 4), lambda b: pooled(b, (16, 16), (16, 16))),
    "maximum at strides": ((60, 50, 4), lambda b: pooled(b, (2, 3), (11, 2))),
    "maximum of windows": ((60, 50, 4), lambda b: pooled(b, (40, 17), (1, 3))),
    "maximum with padding": (
        (60, 60, 4),
        lambda b: pooled(b, (20, 25), (9, 13), padding=(9, 4, 3, 3)),
    ),
    "slice": (
        (90, 50, 20),
        lambda b: b.add(g.Slice, start=(80, 3, 2), stop=(90, 40, 18), step=(1, 9, 2)),
    ),
}


def quantised(name, machine):
    shape, add = LAYERS[name]
    b = Builder("sizes", shape)
    add(b)
    graph = b.finish()
    assert all(machine.check_support(graph, node).runs for node in graph.nodes)
    return whole_numbers(graph, machine)


@pytest.mark.parametrize("name", LAYERS)
def test_a_large_layer_equals_the_reference(name):
    machine = backend("85f")
    made = quantised(name, machine)
    check(made, machine, random_inputs(made.graph, 1), keep=name.startswith("residual"))


def test_a_program_of_long_signals_runs_again_and_on_several_images():
    """The border of a map of many rows is made zero in several pieces, whose ends hold data."""
    machine = backend("85f")
    made = quantised("residual of rows", machine)
    check(made, machine, random_inputs(made.graph, 4), images=2)


def test_the_small_engine_takes_large_layers():
    machine = backend("sim-small", memory=1 << 20)
    for name in ("padding", "stride", "maximum at strides"):
        made = quantised(name, machine)
        check(made, machine, random_inputs(made.graph, 1))


def test_a_window_that_small_buffers_do_not_hold():
    b = Builder("pool", (16, 9, 70))
    pooled(b, (8, 7), (8, 1))
    machine = backend("sim", memory=1 << 20)
    check(whole_numbers(b.finish(), machine), machine, random_inputs(b.graph, 1))


def test_an_input_in_blocks_of_a_large_stride_takes_few_taps():
    """Sixteen samples lie in a slot: five taps of 16 channels instead of 80 of one, with a pooling
    of their results in one layer."""
    b = Builder("sizes", (2992, 1, 1))
    b.conv(32, (80, 1), stride=(16, 1), padding=(0, 0, 0, 0))
    b.add(g.MaxPool, window=(4, 1), stride=(4, 1))
    machine = backend("85f")
    made = whole_numbers(b.finish(), machine)
    assert machine.form(made.graph).folds["input_0"].shape == (187, 1, 16)
    assert len(check(made, machine, random_inputs(made.graph, 1)).layers) == 1


def test_a_long_signal_keeps_its_accuracy():
    """The quantiser's partial sums are those of the exchanged rows and columns."""
    b = Builder("signal", (1, 1500, 2))
    signal_network(b, rows=False)
    inputs = np.random.default_rng(1).normal(0, 1, (8, 1, 1500, 2))
    assert compile_graph(b.finish(), build_of("opu"), {"input_0": inputs}).snr > 20


def test_an_average_of_many_positions_keeps_its_accuracy():
    """A single sum of as many rounded products has 33 dB."""
    b = Builder("average", (1, 16000, 4))
    b.act("relu")
    b.global_average()
    random = np.random.default_rng(2)
    inputs = random.normal(0, 1, (8, 1, 16000, 4)) * random.uniform(0.1, 1, (8, 1, 1, 4))
    assert compile_graph(b.finish(), build_of("opu"), {"input_0": inputs}).snr > 38


def test_an_unscheduled_program_of_a_long_signal_writes_borders_before_data():
    machine = backend("85f")
    made = quantised("residual of rows", machine)
    network = machine._layers(made, False)[1].network
    compare(network, machine.params, random_inputs(made.graph), schedule=False)


@pytest.mark.parametrize(
    "shape, padding, message",
    [
        (
            (1100, 1010, 2),
            (7, 7, 7, 7),
            "with its border it has 1114 x 1024 slots, at most 1023 in",
        ),
        ((40, 50, 2), (0, 0, 16, 0), "its border is 16 slots wide at the sides, at most 15"),
    ],
)
def test_a_border_that_does_not_fit_a_row(shape, padding, message):
    network = Network()
    network.identity("y", network.input("x", shape), padding=padding)
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"))


def test_no_pooling_follows_a_large_stride():
    network = Network()
    network.identity("y", network.input("x", (20, 20, 2)), stride=(8, 1), pool=(2, 2, 1, 1))
    message = r"a pooling behind strides \(8, 1\): expected strides of at most 7"
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"))
