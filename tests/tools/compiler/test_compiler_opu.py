# SPDX-License-Identifier: BSD-2-Clause
"""OPU's back end: what it lowers gives on the golden model, tensor by tensor, what its reference
says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.targets import open_target
from tests.tools.compiler.networks import NETWORKS, Builder, graphs
from tests.tools.compiler.opu_runs import (
    backend,
    check,
    fused,
    initial_memory,
    random_inputs,
    running_part,
    whole_numbers,
)

_MAPS = st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from((1, 3, 16, 20, 33, 64, 70)))
_SEQUENCES = st.one_of(
    st.tuples(st.integers(1, 40)), st.tuples(st.integers(1, 6), st.integers(1, 20))
)
_RUN = (
    "conv",
    "depthwise",
    "grouped",
    "dense",
    "dense_steps",
    "add",
    "sub",
    "mul",
    "affine",
    "maxpool",
    "averagepool",
    "globalaverage",
    "reduce",
    "reshape",
    "concat",
    "pad",
    "slice",
    "relu",
    "clip",
    "neg",
    "abs",
)
PRESETS = ("85f", "85f-p64", "45f", "25f")


def test_it_is_found_by_its_name():
    assert backend_class("opu").isa == "opu" and not backend_class("opu").floating


@settings(max_examples=60, deadline=None)
@given(
    graphs(_RUN, st.one_of(_MAPS, _SEQUENCES), elements=6000),
    st.sampled_from(PRESETS),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_random_graphs(graph, preset, keep, seed):
    machine = backend(preset)
    part = running_part(graph, machine)
    assume(part is not None)
    check(whole_numbers(part, machine, seed), machine, random_inputs(part, 2, seed), keep=keep)


@st.composite
def chains(draw):
    """Convolutions one after the other on few channels, with strides and groups: what shares slots,
    lies in channel blocks, and is folded."""
    b = Builder(
        "chain",
        (draw(st.integers(4, 17)), draw(st.integers(4, 17)), draw(st.integers(1, 5))),
        draw(st.integers(0, 1 << 30)),
    )
    for _ in range(draw(st.integers(1, 4))):
        rows, columns, channels = b.shape()
        size, padding = (
            (draw(st.integers(1, 4)), draw(st.integers(1, 5))),
            tuple(draw(st.integers(0, 2)) for _ in range(4)),
        )
        if size[0] > rows + padding[0] + padding[2] or size[1] > columns + padding[1] + padding[3]:
            size = (1, 1)
        depthwise = draw(st.booleans())
        b.conv(
            channels * draw(st.sampled_from((1, 1, 2)))
            if depthwise
            else draw(st.sampled_from((1, 2, 4, 8, 16, 24, 32))),
            size,
            padding=padding,
            stride=(draw(st.integers(1, 3)), draw(st.sampled_from((1, 2, 2, 4)))),
            groups=channels if depthwise else 1,
            bias=draw(st.booleans()),
        )
    return b.finish()


@settings(max_examples=60, deadline=None)
@given(chains(), st.booleans(), st.integers(0, 1 << 30))
def test_chains_of_convolutions(graph, keep, seed):
    machine = backend()
    check(
        whole_numbers(running_part(graph, machine), machine, seed),
        machine,
        random_inputs(graph, 1, seed),
        keep=keep,
    )


@pytest.mark.parametrize("keep, images", ((False, 1), (True, 1), (False, 2)))
@pytest.mark.parametrize("name", ("resnet8", "ds_cnn", "mobilenet", "autoencoder"))
def test_small_networks(name, keep, images):
    machine = backend()
    part = running_part(fused(NETWORKS[name][1](1)), machine)
    lowered = check(
        whole_numbers(part, machine, 1),
        machine,
        random_inputs(part, 4, 1),
        keep=keep,
        images=images,
    )
    assert lowered.images == images


def test_columns_share_slots_before_a_depthwise_convolution():
    machine = backend()
    part = running_part(fused(NETWORKS["mobilenet"][0]()), machine)
    form = machine.form(machine.legalise(part))
    shared = {name: grid.block for name, grid in form.grids.items() if name not in form.folds}
    # The first layer's 8 channels and what works on them, until a stride takes the columns apart
    # again.
    assert list(shared.values()) == [(1, 2)] * 3 and [
        grid.shape for grid in form.folds.values()
    ] == [(49, 49, 12)]
    assert {part.shape(name)[2] for name in form.split} == {16, 8, 32, 64, 128, 256}


def _joined(pool=False, main_act=None, sum_act=None):
    b = Builder("joined", (6, 7, 20))
    start = b.here
    b.conv(20, (3, 3))
    if main_act:
        b.graph.nodes[-1].activation = g.Activation(
            name="a", inputs=[], output="", function=main_act, alpha=0.125
        )
    b.add(
        g.Binary,
        b.here,
        start,
        function="add",
        activation=sum_act
        and g.Activation(name="b", inputs=[], output="", function=sum_act, alpha=0.125),
    )
    if pool:
        b.add(g.MaxPool, window=(2, 2), stride=(2, 2))
    return b.finish()


@pytest.mark.parametrize("pool", (False, True))
@pytest.mark.parametrize(
    "main_act, sum_act, layers",
    [
        (None, None, 1),
        (None, "relu", 1),
        ("relu", None, 1),
        ("leaky", None, 1),
        (None, "leaky", 1),
        ("relu", "relu", 2),
    ],
)
def test_sums_and_pools_are_done_by_the_convolution_before_them(pool, main_act, sum_act, layers):
    graph, machine = _joined(pool, main_act, sum_act), backend()
    quantised, inputs = whole_numbers(graph, machine), random_inputs(graph, 2)
    assert len(check(quantised, machine, inputs).layers) == layers
    assert len(check(quantised, machine, inputs, keep=True).layers) == 2 + pool


def test_shift_for_each_piece():
    """Output channels of a map of 64, and those of a piece of 16, have a shift of their own."""
    b = Builder("shifts", (5, 5, 24))
    b.conv(100, (1, 1))
    plain = b.graph.nodes[-1]
    b.conv(100, (3, 3), groups=100)
    graph, machine = b.finish(), backend()
    quantised = whole_numbers(graph, machine, 3)
    assert (
        machine.arithmetic(quantised.graph, plain).shift_group == 16
    )  # a depthwise layer reads it
    assert (
        machine.arithmetic(
            quantised.graph,
            g.Conv(
                name="x",
                inputs=[graph.inputs[0].tensor],
                output=graph.inputs[0].tensor,
                weights=np.zeros((100, 1, 1, 24)),
            ),
        ).shift_group
        == 64
    )
    assert len(set(quantised.layers[plain.name].shift.tolist())) > 1
    check(quantised, machine, random_inputs(graph, 1))


@settings(max_examples=25, deadline=None)
@given(
    graphs(("conv", "depthwise", "grouped", "dense", "relu"), _MAPS, elements=6000),
    st.integers(0, 1 << 30),
)
def test_partial_sums_end_in_the_layers_result(graph, seed):
    """In real numbers, and as many as there are taps."""
    from quintet.tools.compiler.evaluate import run_graph

    machine = backend()
    part = running_part(graph, machine)
    assume(part is not None)
    inputs = {
        port.tensor: np.random.default_rng(seed).normal(size=(2, *part.shape(port.tensor)))
        for port in part.inputs
    }
    values = run_graph(part, inputs, keep=True)
    for node in machine.legalise(part).nodes:
        if isinstance(node, g.Conv | g.Dense):
            sums = list(machine.partial_sums(part, node, values[node.inputs[0]]))
            assert sums and all(s.shape == values[node.output].shape for s in sums)
            assert np.allclose(sums[-1], values[node.output])
        else:
            assert not list(machine.partial_sums(part, node, values[node.inputs[0]]))


def test_partial_sums_saturate_where_the_machine_does():
    """Sums that leave 16 bits on the way and come back: the reference follows the order of
    partial_sums."""
    b = Builder("order", (1, 1, 130))
    b.conv(2, (1, 1), bias=False)
    graph, machine = b.finish(), backend()
    quantised = whole_numbers(graph, machine)
    layer = quantised.layers[graph.nodes[0].name]
    layer.weights[:] = 0
    layer.weights[0, 0, 0, :64], layer.weights[0, 0, 0, 64:128] = 100, -100
    layer.weights[1, 0, 0, :64], layer.weights[1, 0, 0, 64:128] = 1, -1
    layer.shift[:] = 8
    values = np.full((1, 1, 1, 130), 100)
    sums = [
        s.ravel().tolist()
        for s in machine.partial_sums(
            graph,
            g.Conv(
                name="c",
                inputs=graph.nodes[0].inputs,
                output=graph.nodes[0].output,
                weights=layer.weights.astype(float),
            ),
            values,
        )
    ]
    assert sums == [[640000, 6400], [0, 0], [0, 0]]
    found = machine.reference(quantised, {graph.inputs[0].tensor: values})
    assert found[graph.nodes[0].output].ravel().tolist() == [
        -128,
        0,
    ]  # (32767 - 640000) saturates, / 256
    check(quantised, machine, {graph.inputs[0].tensor: values})


@pytest.mark.parametrize("name", ("ds_cnn", "mobilenet", "resnet8"))
def test_a_node_gives_the_same_by_itself(name):
    """On the graph's own tensors: in its pieces, its order of taps, its columns in a slot."""
    machine = backend()
    part = running_part(fused(NETWORKS[name][1](2)), machine)
    quantised, inputs = whole_numbers(part, machine, 2), random_inputs(part, 2, 2)
    values = {**inputs, **machine.reference(quantised, inputs, keep=True)}

    def port(tensor):
        return g.Port(tensor, tensor, tuple(range(len(part.shape(tensor)))), part.shape(tensor))

    for node in quantised.graph.nodes:
        alone = replace(
            quantised,
            graph=g.Graph(
                node.name,
                [port(n) for n in dict.fromkeys(node.inputs)],
                [port(node.output)],
                [node],
                {n: quantised.graph.tensors[n] for n in (*node.inputs, node.output)},
            ),
        )
        given = {n: values[n] for n in node.inputs}
        assert np.array_equal(machine.reference(alone, given)[node.output], values[node.output]), (
            node.name
        )
        check(alone, machine, given)


def test_operands_of_a_sum_have_one_scale():
    graph, machine = _joined(), backend()
    quantised = whole_numbers(graph, machine)
    name = graph.inputs[0].tensor
    quantised.scales[name] = type(quantised.scales[name])(0.5, 8)
    for run in (machine.lower, lambda q: machine.reference(q, random_inputs(graph))):
        with pytest.raises(
            LoweringError,
            match=(
                r"binary_1: conv_0:0 has steps of 1, input_0 has steps of 0.5, .*; this "
                r"core wants one step for all"
            ),
        ):
            run(quantised)


def test_ds_cnn_in_64_kib_goes_in_stages():
    machine = backend("up5k", 1 << 16)
    part = running_part(fused(NETWORKS["ds_cnn"][0]()), machine)
    quantised, values = whole_numbers(part, machine), random_inputs(part, 1)
    with pytest.raises(
        LoweringError,
        match=(
            r"the program takes [\d,]+ bytes of main memory .*, there are 65,536; largest map: "
            r".*, most weights: "
        ),
    ):
        machine.lower(quantised)
    expected = {**values, **machine.reference(quantised, values, keep=True)}
    found = machine.stages(quantised)
    assert [node.name for stage in found for node in stage.graph.nodes] == [
        node.name for node in part.nodes
    ] and len(found) > 1
    for stage in found:
        inputs = {port.tensor: expected[port.tensor] for port in stage.graph.inputs}
        check(stage, machine, inputs)
        for name, value in machine.reference(stage, inputs).items():
            assert np.array_equal(value, expected[name]), name


@pytest.mark.parametrize("memory", (1 << 15, 1 << 25))
def test_every_tensor_is_kept_in_a_memory_that_is_almost_too_small(memory):
    b = Builder("joined", (33,))
    b.add(g.Concat, b.here, b.here, axis=0)
    b.add(g.Concat, b.here, "input_0", axis=0)
    b.add(g.Binary, b.here, b.here, function="add")
    machine = backend("85f", memory)
    lowered = check(whole_numbers(b.finish(), machine), machine, random_inputs(b.graph), keep=True)
    assert lowered.memory > 0.75 * (1 << 15) and set(lowered.tensors) == {
        "input_0",
        "concat_0:0",
        "concat_1:0",
        "binary_2:0",
    }


def test_one_stage_where_memory_holds_the_network():
    machine = backend()
    graph = fused(NETWORKS["autoencoder"][1]())
    quantised = whole_numbers(graph, machine)
    assert machine.stages(quantised) == [quantised]


def test_a_node_that_memory_does_not_hold():
    b = Builder("large", (40, 40, 64))
    b.conv(64, (3, 3))
    machine = backend("up5k", 1 << 16)
    with pytest.raises(
        LoweringError,
        match=(
            "there are 65,536; largest map: input_0 with 102,400 bytes, most weights: conv_0 "
            "with 36,864"
        ),
    ):
        machine.stages(whole_numbers(b.finish(), machine))


@pytest.mark.long
@pytest.mark.parametrize(
    "name, most",
    [("resnet8", 205_000), ("ds_cnn", 150_000), ("autoencoder", 142_000), ("mobilenet", 502_000)],
)
def test_whole_networks(name, most):
    machine = backend()
    part = running_part(fused(NETWORKS[name][0]()), machine)
    lowered = check(whole_numbers(part, machine), machine, random_inputs(part, 1))
    assert sum(layer.cycles for layer in lowered.layers) <= most


@pytest.mark.long
@pytest.mark.parametrize(
    "name, most",
    [("resnet8", 205_000), ("ds_cnn", 150_000), ("autoencoder", 142_000), ("mobilenet", 500_000)],
)
def test_cycles_on_the_virtual_board(name, most):
    """Equal there too, within the bar, and as estimated."""
    machine = backend()
    part = running_part(fused(NETWORKS[name][0]()), machine)
    quantised, inputs = whole_numbers(part, machine), random_inputs(part, 1)
    lowered, expected = machine.lower(quantised), machine.reference(quantised, inputs, keep=True)
    with open_target("sim:ulx3s-85f/opu") as board:
        memory = board.board.chip[: lowered.memory]
        memory[:] = initial_memory(lowered, lowered.memory)
        for tensor, placed in lowered.inputs.items():
            placed.layout.write(memory, inputs[tensor])
        outcome = board.run(lowered.registers)
        assert outcome.status == "done"
        for tensor, placed in lowered.tensors.items():
            assert np.array_equal(placed.layout.read(memory), expected[tensor]), tensor
    cycles = outcome.counters["cycles"]
    assert cycles <= most and abs(sum(layer.cycles for layer in lowered.layers) / cycles - 1) < 0.03


#: Cycles of the stages of DS-CNN on the virtual iCEBreaker.
_ICEBREAKER = (175_135, 343_274, 51_517, 342_005, 52_157, 342_609, 50_877, 344_529, 352_621)


def _stages_of_ds_cnn():
    machine = backend("up5k", 1 << 16)
    part = running_part(fused(NETWORKS["ds_cnn"][0]()), machine)
    quantised, values = whole_numbers(part, machine), random_inputs(part, 1)
    return [(stage, machine.lower(stage)) for stage in machine.stages(quantised)], {
        **values,
        **machine.reference(quantised, values, keep=True),
    }


def test_estimates_of_the_small_engine():
    found, _ = _stages_of_ds_cnn()
    estimates = [sum(layer.cycles for layer in lowered.layers) for _, lowered in found]
    assert len(estimates) == len(_ICEBREAKER)
    assert all(
        abs(estimate / cycles - 1) < 0.03
        for estimate, cycles in zip(estimates, _ICEBREAKER, strict=True)
    )


@pytest.mark.long
def test_ds_cnn_on_the_virtual_icebreaker():
    found, expected = _stages_of_ds_cnn()
    with open_target("sim:icebreaker/opu") as board:
        for (_, lowered), cycles in zip(found, _ICEBREAKER, strict=True):
            memory = initial_memory(lowered, lowered.memory)
            for tensor, placed in lowered.inputs.items():
                placed.layout.write(memory, expected[tensor])
            board.write(0, memory.tobytes())
            outcome = board.run(lowered.registers)
            assert outcome.status == "done" and abs(outcome.counters["cycles"] / cycles - 1) < 0.02
            memory = np.frombuffer(bytes(board.read(0, lowered.memory)), np.uint8)
            for tensor, placed in lowered.outputs.items():
                assert np.array_equal(placed.layout.read(memory), expected[tensor]), tensor
