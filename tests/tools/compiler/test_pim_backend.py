# SPDX-License-Identifier: BSD-2-Clause
"""PIM's back end: programs on the golden model against the reference in numpy, every tensor."""

from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.gateware.cores.pim.params import SPACE
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_class
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.backends.pim import choose
from quintet.tools.compiler.backends.pim.arrays.assign import assign, empty_numbers
from quintet.tools.compiler.backends.pim.arrays.matrices import Need, dense_tiling
from quintet.tools.compiler.backends.pim.choose import load_cycles, program_cycles
from quintet.tools.compiler.backends.pim.program import ProgramWriter
from quintet.tools.compiler.backends.pim.schedule import can_fuse
from quintet.tools.compiler.evaluate import run_graph
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
        assert backend.check_support(graph, node).runs, backend.check_support(graph, node)
    graph = backend.legalise(graph)
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
@pytest.mark.parametrize(
    "size, stride, padding, dilation, groups",
    [
        ((3, 3), (1, 1), "same", (1, 1), 1),
        ((3, 3), (2, 2), "same", (1, 1), 1),
        ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
        ((1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1),
        ((5, 3), (2, 1), (1, 0, 2, 1), (1, 1), 1),
        ((3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1),
        ((3, 3), (1, 1), "same", (1, 1), 6),
        ((3, 3), (2, 2), "same", (1, 1), 3),
        ((3, 2), (1, 2), (1, 1, 0, 0), (1, 2), 2),
    ],
)
def test_convolutions(bits, size, stride, padding, dilation, groups):
    made = Builder("conv", (7, 6, 6))
    made.conv(
        12 if groups == 1 else 6,
        size,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        relu=False,
    )
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
    b = made.add(
        g.MaxPool, made.graph.inputs[0].tensor, window=(3, 3), stride=(2, 2), padding=(1, 0, 0, 0)
    )
    made.add(g.AveragePool, a, window=(2, 3), stride=(1, 1))
    c = made.here
    made.add(g.Concat, a, made.conv(4, (2, 1), source=b, padding=(1, 0, 0, 0)), axis=2)
    made.global_average()
    made.add(g.Reshape, shape=(9,))
    made.dense(70, relu=True)
    made.dense(5)
    check(made.finish(made.here, c))


@pytest.mark.parametrize("places", [(1, 2047), (1, 2048), (1, 2053), (47, 47)])
def test_averages_of_maps_of_any_number_of_places(places):
    """More than one vavg takes come in two steps, the first with zeros behind a map that no window
    divides; its weights make the mean that of the places alone."""
    made = Builder("mean", (*places, 2))
    made.add(g.AveragePool, made.here, window=places, stride=(1, 1))
    graph = made.finish()
    check(graph, count=1)
    values = np.random.default_rng(3).normal(size=(1, *places, 2))
    (source,), (result,) = graph.inputs, graph.outputs
    legalised = backend_of(SMALL).legalise(graph)
    mean = run_graph(legalised, {source.tensor: values})[result.tensor]
    np.testing.assert_allclose(mean.reshape(1, 2), values.mean(axis=(1, 2)), atol=1e-12)


def test_dense_of_many_rows_adds_up_parts():
    made = Builder("wide", (1500,))
    made.dense(70, relu=True)
    made.dense(3)
    check(made.finish(), SPACE.resolve("85f", {"arrays": 64, "lmem_bytes": 32768}))


#: Dense layers that 1,024 bytes of local memory do not hold as a whole: inputs, outputs, other
#: parameters of the build, and the layer's tiling: (outputs of a group, inputs of each group,
#: whether local memory holds one group's inputs at a time).
TILED = {
    "inputs in two pieces": (835, 2, {}, (2, [448, 387], True)),
    # Half the outputs would take twice the arrays.
    "inputs in pieces of an array": (450, 64, {}, (64, [64] * 7 + [2], True)),
    # Beside sums of all outputs there is no memory for inputs.
    "fewer outputs": (400, 200, {"xb_cols": 256, "xb_rows": 256}, (100, [400], False)),
    "no sums of 32 bits": (440, 80, {"max_biw": 16, "xb_cols": 128}, (40, [440], False)),
}


@pytest.mark.parametrize("name", TILED)
def test_dense_layers_that_local_memory_does_not_hold(name):
    inputs, outputs, params, expected = TILED[name]
    params = SPACE.resolve("25f", {"arrays": 64, "lmem_bytes": 1024, **params})
    made = Builder("dense", (3, inputs))
    made.dense(outputs, steps=True, relu=True)
    graph = made.finish()
    node = backend_of(params).legalise(graph).nodes[0]
    tiling = dense_tiling(empty_numbers(graph, 16), node, params)
    assert (tiling.columns, [n for _, n in tiling.splits], tiling.streamed) == expected
    check(graph, params)


def test_a_dense_layer_that_no_tiling_holds_says_what_is_needed():
    params = SPACE.resolve("25f", {"lmem_bytes": 1024, "max_biw": 16})
    made = Builder("dense", (600,))
    made.dense(2)
    with pytest.raises(
        LoweringError,
        match=(
            r"dense_0: 600 inputs exceed a group or the 1024 bytes of local memory \(lmem_bytes\); "
            r"sums of parts want max_biw = 32, this build has 16"
        ),
    ):
        backend_of(params).check(made.finish())


def test_dense_layer_on_every_step():
    made = Builder("steps", (5, 12))
    made.dense(9, steps=True)
    check(made.finish())


def test_network_that_the_arrays_do_not_hold():
    made = Builder("large", (4, 4, 64))
    for _ in range(9):
        made.conv(64, (3, 3))
    backend = backend_of(PARAMS)
    graph = backend.legalise(made.finish())
    with pytest.raises(
        LoweringError,
        match=(
            r"conv_\d: takes 9 arrays, 64 biases and 1 groups of a core; the network takes 81 "
            r"arrays, there are 4 x 16 of 64 x 64"
        ),
    ):
        backend.lower(random_quantised(graph, backend, 0))


@contextmanager
def longest_chains():
    """Chains as long as they can be, whether they pay or not, and nothing side by side."""
    with (
        mock.patch.object(
            choose,
            "_cycles",
            lambda quantised, params, fused, rate: -sum(len(some.nodes) for some in fused),
        ),
        mock.patch.object(
            choose,
            "simulated_cycles",
            lambda quantised, params, fused, most, timing: any(
                some.stages is not None for some in fused
            ),
        ),
    ):
        yield


def spans_of(lowered):
    return [span.nodes for span in lowered.layers]


def test_residual_block_is_one_chain():
    made = Builder("block", (12, 10, 8))
    x = made.conv(8, (3, 3), relu=True)
    made.conv(8, (3, 3))
    made.add(g.Binary, made.here, made.conv(8, (1, 1), source=x), function="add")
    graph = made.finish()
    with longest_chains():
        lowered = check(graph)
    assert spans_of(lowered) == [tuple(node.name for node in graph.nodes)]
    assert set(lowered.tensors) == {graph.inputs[0].tensor, graph.outputs[0].tensor}
    kept = backend_of(SMALL).lower(random_quantised(graph, backend_of(SMALL), 0), keep=True)
    assert spans_of(kept) == [(node.name,) for node in graph.nodes]
    assert lowered.layers[0].bytes < sum(span.bytes for span in kept.layers)
    assert lowered.layers[0].cycles < sum(span.cycles for span in kept.layers)


@st.composite
def chains(draw):
    """A few layers that a chain may take, with strides, margins of all kinds and residuals."""
    made = Builder(
        "chain",
        (draw(st.integers(3, 9)), draw(st.integers(3, 7)), draw(st.integers(1, 5))),
        draw(st.integers(0, 9)),
    )
    outputs = []
    for _ in range(draw(st.integers(2, 6))):
        rows, columns, channels = made.shape()
        kind = draw(st.sampled_from(["conv", "conv", "deep", "residual", "pool", "act", "sub"]))
        if kind == "pool" and min(rows, columns) > 2:
            made.add(
                g.MaxPool,
                window=(draw(st.integers(1, 2)), 2),
                stride=(draw(st.integers(1, 2)), 1),
                padding=(0, draw(st.integers(0, 1)), 0, 0),
            )
        elif kind == "deep":
            made.conv(channels, (min(3, rows), min(3, columns)), groups=channels)
        elif kind == "act":
            made.act("clip", low=draw(st.sampled_from([-1.0, 0.0])), high=1.5)
        elif kind in ("residual", "sub"):
            x = made.here
            made.add(
                g.Binary,
                made.conv(channels, (3, 3), relu=draw(st.booleans())),
                x,
                function="add" if kind == "residual" else "sub",
            )
        else:
            size = draw(st.integers(1, min(3, rows))), draw(st.integers(1, min(3, columns)))
            made.conv(
                draw(st.integers(1, 6)),
                size,
                stride=(draw(st.integers(1, 2)), draw(st.integers(1, 2))),
                padding=tuple(draw(st.integers(0, 2)) for _ in range(4)),
            )
        if draw(st.integers(0, 5)) == 0:
            outputs.append(made.here)
    return made.finish(*dict.fromkeys([*outputs, made.here]))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(graph=chains(), cores=st.integers(1, 4), bits=st.sampled_from([8, 16]))
def test_chains(graph, cores, bits):
    with longest_chains():
        check(
            graph,
            SPACE.resolve(
                "sim", {"cores": cores, "arrays": 32, "lmem_bytes": 16384, "bias_words": 512}
            ),
            bits,
        )


def test_what_others_read_ends_a_chain():
    made = Builder("branch", (6, 6, 4))
    a = made.conv(4, (3, 3))
    b = made.conv(4, (3, 3))
    made.conv(4, (3, 3), groups=4)
    made.add(g.Binary, made.here, b, function="add")
    graph = made.finish(made.here)
    assert can_fuse(graph, graph.nodes[:2])
    assert not can_fuse(graph, graph.nodes[1:3]), "the sum reads what lies between"
    graph.outputs.append(g.Port(a, a, (0, 1, 2), graph.shape(a)))
    assert not can_fuse(graph, graph.nodes[:2]), "an output of the network"


def test_chain_that_local_memory_does_not_hold_is_not_chosen():
    made = Builder("wide", (8, 24, 8))
    for _ in range(3):
        made.conv(8, (3, 3))
    graph = made.finish()
    with longest_chains():
        assert len(check(graph).layers) == 1
        assert (
            len(
                check(
                    graph,
                    SPACE.resolve(
                        "sim", {"cores": 3, "arrays": 16, "lmem_bytes": 4096, "bias_words": 512}
                    ),
                ).layers
            )
            > 1
        )


def test_copies_that_gain_most_for_their_arrays_give_way():
    params = SPACE.resolve("85f", {"cores": 2, "arrays": 16})
    # The small one gains more for each array, but then the large one finds no space.
    needs = [
        Need("small", 6, 0, 1, 7000, 0, 2),
        Need("large", 10, 0, 1, 10000, 0, 2),
        Need("tiny", 4, 0, 1, 4700, 0, 2),
    ]
    assign(needs, params)
    assert sum(need.time(len(need.cores)) for need in needs) == min(
        3500 + 10000 + 4700, 7000 + 5000 + 4700
    )


def test_estimate_counts_load_once():
    made = Builder("load", (6, 6, 4))
    made.conv(4, (3, 3))
    made.conv(4, (3, 3))
    backend = backend_of(SMALL)
    quantised = random_quantised(made.finish(), backend, 0)
    writer = ProgramWriter(quantised, SMALL)
    writer.place_all(0)
    writer.write()
    (first, _), (second, _) = program_cycles(writer)
    assert load_cycles(writer) < first < load_cycles(writer) + 2 * second
    assert [span.cycles for span in backend.lower(quantised, keep=True).layers] == pytest.approx(
        [first, second], rel=0.1
    )
    (filled, _), (later, _) = program_cycles(writer, weights=True)
    assert filled - first == pytest.approx(
        sum(group.rows * SMALL["xb_cols"] for core in writer.cores for group in core.groups) / 2,
        rel=0.1,
    )
    assert later == pytest.approx(second, rel=0.05)
