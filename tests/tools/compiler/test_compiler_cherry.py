# SPDX-License-Identifier: BSD-2-Clause
"""Cherry's back end: its reference and the golden model give the same bits for every tensor."""

import os

import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.backends.base import DECOMPOSED, HOST, NATIVE, NO, LoweringError
from quintet.tools.compiler.backends.cherry.legalise import kernel_graph_of
from quintet.tools.compiler.backends.cherry.lowering import Lowering
from quintet.tools.compiler.backends.cherry.schedule.bands import rows_separable
from quintet.tools.compiler.backends.cherry.schedule.memory import main_memory
from quintet.tools.compiler.backends.cherry.schedule.steps import Buffer, Place
from quintet.tools.compiler.backends.cherry.schedule.transfers import MOST, Arrays, moved
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.quantised import Quantised
from tests.tools.compiler.cherry_lowered import MEMORY, backend, bits, check, lowered, run_lowered
from tests.tools.compiler.networks import KINDS, NETWORKS, Builder, graphs, inputs_of

#: A failure is reported as it was found: making it smaller would take minutes.
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_every_kind_of_node(kind, data):
    check(data.draw(graphs(kinds=(kind,), most=2)), keep=data.draw(st.booleans()))


@settings(max_examples=25, deadline=None)
@given(graph=graphs(), keep=st.booleans())
def test_random_networks(graph, keep):
    check(graph, keep)


@settings(max_examples=8, deadline=None)
@given(
    graph=graphs(most=4),
    preset=st.sampled_from(["sim", "45f", "25f", "up5k", "85f-max"]),
    shuffle=st.integers(0, 9),
)
def test_other_builds_and_contexts_in_any_order(graph, preset, shuffle):
    try:
        check(graph, preset=preset, shuffle=shuffle if preset != "up5k" else None)
    except LoweringError as error:
        assert "elements" in str(error)


@pytest.mark.parametrize("name", NETWORKS)
def test_small_networks_and_what_they_give_in_float(name):
    graph = NETWORKS[name][1]()
    _, found = check(graph)
    exact = run_graph(graph, inputs_of(graph, 1))
    for port in graph.outputs:
        assert (
            np.abs(found[port.tensor] - exact[port.tensor]).max()
            <= 0.01 * np.abs(exact[port.tensor]).max()
        )
    check(graph, keep=True)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_product_stored_behind_padded_channels_leaves_the_next_pixel_alone(channels):
    """Its last tile would reach beyond the pixel, whose channels are a whole number of tiles."""
    b = Builder("behind", (2, 3, 2))
    b.conv(channels, (1, 1))
    b.add(g.Pad, before=(0, 0, 4 - channels), after=(1, 1, 0), value=0.5)
    b.dense(3)
    check(b.finish())


@settings(max_examples=6, deadline=None)
@given(graph=graphs())
def test_the_reference_takes_several_inputs(graph):
    side, inputs = (
        backend(),
        {name: values.astype(np.float32) for name, values in inputs_of(graph, 3).items()},
    )
    together = side.reference(Quantised(graph=graph), inputs)
    for k in range(3):
        alone = side.reference(
            Quantised(graph=graph), {name: values[k : k + 1] for name, values in inputs.items()}
        )
        assert all(
            (bits(together[name][k : k + 1]) == bits(values)).all()
            for name, values in alone.items()
        )


def test_an_accumulator_of_eighteen_digits():
    check(NETWORKS["resnet8"][1](), acc_frac=17)


@pytest.mark.long
def test_random_networks_for_long():
    number = int(float(os.environ.get("QUINTET_MINUTES", "1")) * 60)

    @seed(int(os.environ.get("QUINTET_SEED", "0")))
    @settings(max_examples=number, deadline=None)
    @given(graph=graphs(most=8), keep=st.booleans())
    def run(graph, keep):
        check(graph, keep)

    run()


# Where space is scarce


@settings(max_examples=4, deadline=None, phases=NO_SHRINKING)
@given(
    size=st.tuples(st.integers(16, 20), st.integers(16, 20)),
    stride=st.integers(1, 2),
    first=st.sampled_from([3, 4]),
    keep=st.booleans(),
)
def test_maps_beyond_the_scratchpad_are_done_in_bands(size, stride, first, keep):
    b = Builder("bands", (*size, first))
    b.conv(8, (3, 3), relu=True)
    b.conv(8, (3, 3), groups=8, stride=(stride, stride), relu=True)
    start = b.conv(12, (1, 1), relu=True)
    b.add(g.Binary, b.conv(12, (3, 3)), start, function="add")
    b.add(g.MaxPool, window=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1))
    b.global_average()
    b.dense(3)
    graph = b.finish()
    program, _ = check(graph, keep, preset="sim", log_mem=13, contexts=16)
    assert stride == 2 or program.text.count(".step") > lowered(graph, keep, log_mem=16).text.count(
        ".step"
    )


def test_weights_beyond_the_scratchpad_come_in_parts_and_sums_wait():
    b = Builder("parts", (3, 3, 24))
    b.conv(24, (3, 3), relu=True)
    b.dense(10)
    graph = b.finish()
    program, _ = check(graph, preset="sim", log_mem=11)
    whole, _ = check(graph)
    parts = [
        sum(what.startswith("weights of") for _, _, what in found.constants)
        for found in (whole, program)
    ]
    assert parts[0] == 2 < parts[1]


@settings(max_examples=12, deadline=None)
@given(
    rows=st.integers(3, 12),
    stride=st.integers(1, 2),
    bands=st.integers(2, 9),
    end=st.integers(1, 3),
    keep=st.booleans(),
)
def test_inputs_come_band_by_band_however_they_are_cut(rows, stride, bands, end, keep):
    b = Builder("input", (rows, 6, 3))
    b.conv(4, (3, 3), stride=(stride, 1), relu=True)
    b.conv(4, (3, 3), groups=4, relu=True)
    b.add(g.AveragePool, window=(2, 2), stride=(1, 1), padding=(0, 0, 1, 1))
    b.global_average()
    graph = b.finish()
    side = backend()
    machine = kernel_graph_of(graph, side.params, keep=keep)
    end = min(
        end,
        next(k for k, operation in enumerate(machine.operations) if not rows_separable(operation)),
    )
    program = (
        Lowering(
            machine,
            graph,
            side.params,
            MEMORY,
            keep,
            Arrays(),
            4096,
            True,
            True,
            [(0, end, bands)] if end else [],
            memory=main_memory({}),
        )
        .plan()
        .lowered()
    )
    inputs = {name: values.astype(np.float32) for name, values in inputs_of(graph, 1).items()}
    found = run_lowered(program, inputs, side.params)
    for name, values in side.reference(Quantised(graph=graph), inputs, keep=keep).items():
        assert (bits(found[name]) == bits(values)).all(), name


def test_weights_of_a_recurrent_layer_come_once():
    program = lowered(NETWORKS["lstm_classifier"][1]())
    # Of the input, of the state, of the dense layer behind.
    assert sum(what.startswith("weights of") for _, _, what in program.constants) == 3


@pytest.mark.parametrize(
    "shape, strides",
    [
        ((1, 1, MOST), (MOST, MOST, 1)),
        ((1, 1, MOST + 1), (MOST + 5, MOST + 5, 1)),
        ((3, 1, 2 * MOST + 1), (2 * MOST + 4, 2 * MOST + 4, 1)),
        ((1, 2, MOST + 1), (2 * MOST + 8, MOST + 4, 1)),
        ((1, MOST + 1, 3), (4 * MOST + 8, 4, 1)),
        ((MOST + 1, 1, 3), (4, 4, 1)),
        ((MOST + 1, 2, 2), (4, 2, 1)),
        ((2, MOST + 1, 1), (MOST + 1, 1, 1)),
    ],
)
@pytest.mark.parametrize("op", ["in", "out"])
def test_transfers_of_long_rows_and_many_rows_fit_their_descriptors(shape, strides, op):
    place = Place(Buffer(size=strides[0] * shape[0] + 7, what="x"), shape, strides, lead=7)
    main, found = 0x1000, {}
    for t in moved(op, place, shape, main):
        assert (t.op, t.fmt) == (op, "fp32") and 1 <= t.rows <= MOST and 1 <= t.cols <= MOST
        rows, cols = np.arange(t.rows)[:, None], np.arange(t.cols)
        mem = t.offset + rows * t.mem_pitch + cols
        words = t.main + rows * t.pitch + 4 * cols
        found.update(zip(words.ravel().tolist(), mem.ravel().tolist(), strict=True))
    at = np.indices(shape).reshape(3, -1)
    wanted = dict(
        zip(
            (main + 4 * np.arange(at.shape[1])).tolist(),
            (7 + np.array(strides) @ at).tolist(),
            strict=True,
        )
    )
    assert found == wanted


def test_too_small_a_scratchpad_is_refused_with_what_takes_most():
    # The window of one result, and its weights, are more than the scratchpad holds.
    b = Builder("large", (40, 40, 8))
    b.conv(8, (31, 31), groups=8)
    with pytest.raises(
        LoweringError,
        match=(
            r"step \d+ needs [\d,]+ elements of the scratchpad at a time, there are 2,048: "
            r".*input_0"
        ),
    ):
        backend("up5k").lower(Quantised(graph=b.finish()))


def test_too_small_a_main_memory_is_refused_with_what_takes_most():
    graph = NETWORKS["autoencoder"][1]()
    with pytest.raises(
        LoweringError,
        match=(
            r"it takes [\d,]+ bytes of main memory, there are 256: [\d,]+ constants, [\d,]+ "
            r"program, [\d,]+ inputs and results"
        ),
    ):
        backend(memory=256).lower(Quantised(graph=graph))


# Support checks


def test_the_back_end_is_found_by_its_name():
    assert backend_class("cherry").isa == "cherry"
    assert backend_class("cherry").floating


def test_verdicts_say_how():
    b = Builder("support", (4, 4, 6))
    b.conv(6, (3, 3), groups=6)
    b.conv(6, (3, 3), groups=2)
    b.act("relu")
    b.act("clip", low=0.0, high=6.0)
    graph = b.finish()
    found = [backend().check_support(graph, node) for node in graph.nodes]
    assert [support.answer for support in found] == [NATIVE, DECOMPOSED, NATIVE, DECOMPOSED]
    assert found[1].reason == "one convolution, zeros between its groups"
    assert all(support.runs for support in found)


def test_the_number_of_the_largest_element_is_the_hosts():
    b = Builder("argmax", (5,))
    b.act("relu")
    node = g.Reduce(name="last", inputs=[b.here], output="relu:1", function="argmax", axes=(0,))
    b.graph.tensors["relu:1"] = g.Tensor("relu:1", ())
    assert backend().check_support(b.finish(), node).answer == HOST


@pytest.mark.parametrize(
    "kind, sizes, answer, reason",
    [
        (
            "softmax",
            {"sfu_lanes": 0},
            HOST,
            "exp, log, div and pow: this build has sfu_lanes 0, one with 1 or more takes it",
        ),
        ("cube", {}, HOST, "function cube: there are relu, exp, "),
        (
            "four axes",
            {},
            HOST,
            "input_0 has 4 axes beside that of the inputs: expected at most 3",
        ),
        ("unknown", {}, NO, "other: no kernel"),
    ],
)
def test_verdicts_refuse_with_the_reason(kind, sizes, answer, reason):
    b = Builder("refused", (2, 2, 2, 2) if kind == "four axes" else (4, 4, 2))
    if kind == "softmax":
        b.add(g.Softmax)
    else:
        b.act("cube" if kind == "cube" else "relu")
    graph = b.finish()
    (node,) = graph.nodes
    if kind == "unknown":

        class Other(g.Node):
            """A kind that no back end knows."""

        node = Other(name="other", inputs=["input_0"], output=node.output)
    support = backend(**sizes).check_support(graph, node)
    assert support.answer == answer
    assert reason in support.reason


def test_estimates_name_every_layer():
    graph = NETWORKS["ds_cnn"][1]()
    program = lowered(graph)
    assert {name for layer in program.layers for name in layer.nodes} == {
        node.name for node in graph.nodes
    }
    assert all(layer.cycles > 0 for layer in program.layers)
    by_name = {layer.name: layer for layer in program.layers}
    first = graph.nodes[0]
    assert next(
        layer for layer in by_name.values() if first.name in layer.nodes
    ).macs == graph.macs(first)
