# SPDX-License-Identifier: BSD-2-Clause
"""Layers on the OPU that are larger than its instructions: long signals, wide padding, far strides
and dilations, large windows. Programs on the golden model equal the reference."""

import random

import numpy as np
import pytest

from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.codegen.tiles import border_pads
from quintet.tools.compiler.backends.opu.layers import Network, Tensor
from quintet.tools.compiler.backends.opu.schedule.memory import Buffer, wide_enough
from quintet.tools.compiler.backends.opu.schedule.tiling import Tiling
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


NONE = (0, 0, 0, 0)
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
    "padding beyond a border": (
        (30, 50, 4),
        lambda b: b.conv(8, (35, 41), padding=(17, 20, 14, 16)),
    ),
    "padding of split blocks": (
        (20, 30, 32),
        lambda b: b.conv(32, (3, 36), padding=(16, 17, 1, 18), groups=32),
    ),
    "pads": ((5, 9, 4), lambda b: b.add(g.Pad, before=(20, 40, 0), after=(17, 16, 2))),
    "joined columns": ((5, 30, 5), lambda b: b.add(g.Concat, b.here, b.act("relu"), axis=1)),
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
    "patches": ((64, 48, 3), lambda b: b.conv(20, (16, 16), stride=(16, 16), padding=NONE)),
    "patches left over": (
        (39, 70, 3),
        lambda b: b.conv(9, (16, 16), stride=(16, 16), padding=NONE),
    ),
    "large patches": ((64, 65, 3), lambda b: b.conv(9, (32, 32), stride=(32, 32), padding=NONE)),
    "patches with padding": (
        (30, 29, 7),
        lambda b: b.conv(9, (6, 5), stride=(4, 4), padding=(1, 2, 3, 0)),
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


def test_patches_that_a_slot_does_not_hold_lie_in_blocks_of_a_divisor_of_their_stride():
    """Of a patch of 16 x 16 positions of 3 channels, 4 x 4 lie in a slot: 16 taps in place of 256.
    The last 6 rows and columns belong to no patch."""
    b = Builder("patches", (70, 70, 3))
    b.conv(32, (16, 16), stride=(16, 16), padding=NONE)
    machine = backend("85f")
    made = whole_numbers(b.finish(), machine)
    assert machine.form(made.graph).folds["input_0"].shape == (18, 18, 48)
    assert sum(layer.cycles for layer in machine.lower(made).layers) < 30_000  # else 300,000


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
    numbers = np.random.default_rng(2)
    inputs = numbers.normal(0, 1, (8, 1, 16000, 4)) * numbers.uniform(0.1, 1, (8, 1, 1, 4))
    assert compile_graph(b.finish(), build_of("opu"), {"input_0": inputs}).snr > 38


@pytest.mark.parametrize("seed", range(20))
def test_pads_zero_the_border_of_a_map_and_nothing_outside_of_it(seed):
    chance = random.Random(seed)
    tensor = Tensor(
        "x",
        round(3000 ** chance.random()),
        round(3000 ** chance.random()),
        chance.choice((3, 40)),
        split=chance.random() < 0.3,
    )
    wanted = (round(40 ** chance.random()) - 1, round(2000 ** chance.random()) - 1)
    buffer = Buffer(tensor, 100, 1, wide_enough(tensor, *wanted), 1)
    memory = np.ones(buffer.units, bool)
    for pad in border_pads(buffer, 0, 0):
        rows, columns = pad.mem
        assert max(pad.mem) <= 1023 and pad.width <= 15
        assert 0 <= pad.at - buffer.base <= buffer.units - rows * columns
        begin = pad.at - buffer.base
        array = memory[begin : begin + rows * columns].reshape(rows, columns)
        inner = array[pad.width : rows - pad.width, pad.width : columns - pad.width].copy()
        array[:] = False
        if inner.size:
            array[pad.width : rows - pad.width, pad.width : columns - pad.width] = inner
    (high, wide), shares = buffer.border, tensor.shares
    assert high >= wanted[0] and wide >= wanted[1]
    lines = memory.reshape(buffer.mem_h * shares, -1)
    data = slice(high * shares, len(lines) - high * shares), slice(wide, wide + tensor.width)
    assert buffer.pads_overlap_data or lines[data].all()
    # Slots behind the border that make a row a multiple of its steps are never read.
    lines[data], lines[:, 2 * wide + tensor.width :] = False, False
    assert not lines.any()


def test_an_unscheduled_program_of_a_long_signal_writes_borders_before_data():
    machine = backend("85f")
    made = quantised("residual of rows", machine)
    network = machine._layers(made, False)[1].network
    compare(network, machine.params, random_inputs(made.graph), schedule=False)


#: Layers on maps that are long along both sides; name -> function that adds them.
LONG = {
    "residual": residual,
    "pooling": lambda b: (b.conv(5, (3, 2), stride=(1, 1)), pooled(b, (3, 2), (1, 2))),
    "pooling of a sum": lambda b: (
        b.add(g.Binary, b.here, b.act("relu"), function="add"),
        b.add(g.MaxPool, window=(2, 3), stride=(2, 2)),
    ),
    "dilation": lambda b: b.conv(8, (2, 2), stride=(1, 3), dilation=(3, 20)),
    "strides": lambda b: (b.act("relu"), b.conv(3, (2, 1), stride=(3, 9))),
    "strides of rows": lambda b: b.conv(3, (1, 2), stride=(9, 1), padding=(0, 4, 0, 5)),
    "padding": lambda b: b.conv(3, (2, 18), padding=(0, 17, 1, 16)),
    "groups": lambda b: b.conv(32, (3, 3), groups=32),
    "average": lambda b: b.add(g.AveragePool, window=(3, 2), stride=(2, 2)),
    "slice": lambda b: b.add(g.Slice, start=(1, 1, 0), stop=(4, 4, 2), step=(1, 1, 1)),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("length", (1100, 2100))
def test_maps_of_more_slots_in_a_row_than_a_load_steps(name, length):
    """One map has so many rows and the other so many columns, that no exchange makes both short."""
    machine = backend("85f", memory=1 << 27)
    b = Builder("long", (length, 4, 32 if name == "groups" else 3))
    other = b.input((4, length, b.shape()[2]))
    results = []
    for start in (b.here, other):
        b.here = start
        LONG[name](b)
        results.append(b.here)
    made = whole_numbers(b.finish(*results), machine)
    assert machine.form(made.graph).has_long_rows
    check(made, machine, random_inputs(made.graph, 2))


def test_rows_of_a_pooling_are_few_steps_apart():
    network = Network()
    network.identity("y", network.input("x", (9, 2100, 2)), stride=(3, 1), pool=(2, 2, 1, 1))
    message = "a pooling of 2 rows at stride 3, each 2100 slots long: expected at most 2046"
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"))


def test_no_pooling_of_long_rows_follows_a_sum():
    network = Network()
    source = network.input("x", (4, 1100, 2))
    network.identity("y", source, residual=source, pool=(2, 1, 1, 1))
    message = "a pooling of 2 rows behind a sum of maps with more than 1023 slots in a row"
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"))


def test_a_tile_of_long_rows_is_one_row():
    network = Network()
    network.identity("y", network.input("x", (4, 1100, 2)))
    message = "layer y: 2 rows a tile of a map with more than 1023 slots in a row, expected 1"
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"), tilings={"y": Tiling(2, 10, 1)})


def test_no_pooling_follows_a_large_stride():
    network = Network()
    network.identity("y", network.input("x", (20, 20, 2)), stride=(8, 1), pool=(2, 2, 1, 1))
    message = r"a pooling behind strides \(8, 1\): expected strides of at most 7"
    with pytest.raises(KernelError, match=message):
        compile_network(network, SPACE.resolve("85f"))
