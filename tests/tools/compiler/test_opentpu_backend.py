# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's back end: the golden model gives what plain numpy gives, every tensor, on every
build."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.backends.opentpu.codegen.emit import Emitter
from quintet.tools.compiler.backends.opentpu.codegen.program import Word
from quintet.tools.compiler.backends.opentpu.form import (
    KernelStep,
    PoolStep,
    Step,
    packed_biases,
    packed_rows,
    packed_vector,
)
from quintet.tools.compiler.backends.opentpu.legalise import StoredError, axes_of, dense_parts
from quintet.tools.compiler.backends.opentpu.sharing import Sharing, shared_places
from quintet.tools.compiler.backends.opentpu.steps import Steps
from tests.tools.compiler.networks import NETWORKS, Builder, autoencoder, graphs
from tests.tools.compiler.opentpu_networks import (
    backend_of,
    differences,
    fused,
    quantised_of,
    run_model,
    whole_inputs,
)

#: Builds: arrays of 4 and 8, with the extensions and without, and so small that tensors go through
#: main memory.
BUILDS = {
    "ext": ("sim-ext", {"ext_diag": True}),
    "plain": ("sim", {}),
    "eight": ("85f-8x8-conv", {"ext_diag": False}),
    "tight": ("sim-ext", {"ext_diag": True, "ub_rows": 64, "acc_rows": 64, "wfifo_tiles": 1}),
    "narrow": ("sim", {"ub_rows": 128, "acc_rows": 64}),
}

RUNS = (
    "conv",
    "depthwise",
    "grouped",
    "dense",
    "dense_steps",
    "add",
    "sub",
    "mul",
    "div",
    "affine",
    "maxpool",
    "averagepool",
    "globalaverage",
    "reduce",
    "reshape",
    "concat",
    "pad",
    "relu",
    "leaky",
    "clip",
    "neg",
    "abs",
)


def product(columns, turned=False):
    """A product of the input with a second one."""

    def build(b):
        shape = b.shape()
        other = (columns, shape[1]) if turned else (shape[1], columns)
        return b.add(g.MatMul, "input_0", b.input(other), turned=turned)

    return build


#: Layers whose whole lines of all channels do not fit a small unified buffer: shape of the
#: input, and function that adds the layer.
LARGE = {
    "conv": ((6, 8, 70), lambda b: b.conv(12, (3, 3), relu=True)),
    "long line": ((2, 250, 5), lambda b: b.conv(6, (1, 5), stride=(1, 2))),
    "wide dilation": ((4, 40, 6), lambda b: b.conv(5, (3, 5), dilation=(1, 17))),
    "depthwise": ((7, 7, 60), lambda b: b.conv(60, (5, 5), stride=(2, 2), groups=60)),
    "dense": ((1200,), lambda b: b.dense(30, relu=True)),
    "steps": ((40, 60), lambda b: b.dense(20, steps=True)),
    "average": (
        (9, 9, 30),
        lambda b: b.add(g.AveragePool, window=(3, 3), stride=(2, 2)),
    ),
    "global average": ((8, 8, 64), lambda b: b.global_average()),
    "maximum": ((9, 9, 40), lambda b: b.add(g.MaxPool, window=(2, 2), stride=(2, 2))),
    "maximum of a long line": (
        (5, 90, 6),
        lambda b: b.add(g.MaxPool, window=(3, 5), stride=(1, 2), padding=(1, 2, 1, 0)),
    ),
    "add": ((3, 50, 12), lambda b: b.add(g.Binary, b.here, b.act("relu"), function="add")),
    "concat": ((3, 40, 9), lambda b: b.add(g.Concat, b.here, b.act("relu"), axis=-1)),
    "product": ((20, 30), product(70)),
    "turned product": ((20, 30), product(70, turned=True)),
}


def check(graph, backend, seed=0):
    """Every tensor equal with all kept, and the outputs without; or refused."""
    if not all(backend.check_support(graph, node).runs for node in graph.nodes):
        return False
    try:
        for keep in (True, False):
            bad, tensors, _ = differences(graph, backend, seed=seed, keep=keep)
            assert not bad
            legalised = backend.legalise(graph)
            if keep:
                assert {
                    node.output for node in legalised.nodes if not isinstance(node, g.Reshape)
                } <= set(tensors)
    except LoweringError:
        return False
    return True


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("kind", RUNS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_every_kind_equals_the_golden_model(kind, build, data):
    kinds = (
        (kind, "conv")
        if kind in ("maxpool", "reshape", "concat", "add", "sub", "clip")
        else (kind,)
    )
    graph = data.draw(graphs(kinds, most=2))
    preset, overrides = BUILDS[build]
    check(graph, backend_of(preset, **overrides), data.draw(st.integers(0, 99)))


@pytest.mark.parametrize("build", BUILDS)
@settings(deadline=None, max_examples=60)
@given(graph=graphs(RUNS), seed=st.integers(0, 99))
def test_random_networks_equal_the_golden_model(build, graph, seed):
    preset, overrides = BUILDS[build]
    check(graph, backend_of(preset, **overrides), seed)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "mobilenet", "autoencoder"])
def test_small_variants_of_well_known_networks(name, build):
    preset, overrides = BUILDS[build]
    backend, graph = (
        backend_of(preset, **{**overrides, **({"ub_rows": 256} if build == "tight" else {})}),
        fused(NETWORKS[name][1](0)),
    )
    assert all(backend.check_support(graph, node).runs for node in graph.nodes)
    assert check(graph, backend)


@pytest.mark.parametrize("n", [2, 64, 66, 128, 254, 256])
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "mobilenet", "autoencoder", "wide"])
def test_networks_on_arrays_of_every_size(name, n):
    wide = name == "wide"  # more inputs and outputs than any array has
    if wide:
        graph = fused(autoencoder(0, features=520, width=300, inner=4, depth=1))
    else:
        graph = fused(NETWORKS[name][1](0))
    backend = backend_of("sim-ext", n=n, ub_rows=4096, acc_rows=1024)
    assert all(backend.check_support(graph, node).runs for node in graph.nodes)
    assert check(graph, backend)


#: Cycles that a network takes at most on the board, and that an estimate must therefore say.
CYCLES = {"resnet8": 245_000, "ds_cnn": 92_000, "mobilenet": 385_000, "autoencoder": 215_000}


@pytest.mark.parametrize("name", CYCLES)
def test_whole_networks(name):
    backend, graph = backend_of("85f-8x8-conv"), fused(NETWORKS[name][0](0))
    bad, _, lowered = differences(graph, backend, keep=False)
    assert not bad and sum(layer.cycles for layer in lowered.layers) < CYCLES[name]
    macs = {layer.name: layer.macs for layer in lowered.layers}
    assert all(macs[node.name] == graph.macs(node) for node in graph.nodes)
    assert lowered.layers[-1].end == len(lowered.program) and all(
        layer.bytes > 0 for layer in lowered.layers
    )


def test_strides_without_the_extension_are_made_of_phases_where_that_is_shorter():
    backend, graph = backend_of("85f-8x8"), fused(NETWORKS["resnet8"][0](0))
    bad, _, lowered = differences(graph, backend, keep=False)
    assert not bad and sum(layer.cycles for layer in lowered.layers) < 265_000
    # Both convolutions of a block read the same phase; a convolution of one tap and one block of
    # outputs makes none.
    small = map_graph(
        lambda b: b.conv(8, (1, 1)), lambda b: b.conv(8, (1, 1), stride=(2, 2)), shape=(8, 8, 8)
    )
    assert differences(small, backend)[2].text.count("ACT") == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["resnet8", "mobilenet"])
def test_a_network_that_exceeds_the_unified_buffer(name):
    backend, graph = backend_of("85f-8x8-conv", ub_rows=1024), fused(NETWORKS[name][0](0))
    for keep in (False, True):
        assert not differences(graph, backend, keep=keep)[0]


def map_graph(*steps, shape=(5, 6, 3)):
    """A chain of ``steps``, functions of a builder."""
    b = Builder("one", shape)
    for step in steps:
        step(b)
    return b.finish()


@pytest.mark.parametrize("turned", [False, True])
def test_positions_of_few_channels_share_vectors_until_a_stride(turned):
    """Two columns of two channels share a vector of four: a depthwise convolution takes half the
    products, and the next one, whose stride separates the columns, finds them in two blocks."""
    graph = fused(
        map_graph(
            lambda b: b.conv(2, (3, 3), relu=True),
            lambda b: b.conv(2, (3, 3), groups=2, relu=True),
            lambda b: b.conv(4, (1, 1), relu=True),
            lambda b: b.conv(4, (3, 3), groups=4, stride=(2, 2), relu=True),
            shape=(12, 7, 3) if turned else (7, 12, 3),
        )
    )
    backend = backend_of("sim-ext")
    assert check(graph, backend)
    legalised = backend.legalise(graph)
    stored = {node.output: legalised.shape(node.output) for node in legalised.nodes}
    stored |= {port.tensor: port.shape for port in legalised.inputs}
    found = shared_places(legalised, stored, 4, turned)
    # The depthwise convolution's pairs begin a column earlier: its window lies in two vectors.
    assert list(found.values()) == [Sharing(2), Sharing(2, shift=1), Sharing(2, shift=1)]
    # The other axis has an odd length, which does not share.
    assert not shared_places(legalised, stored, 4, not turned)


@pytest.mark.parametrize("padding", [(1, 1, 1, 1), (1, 0, 1, 1), (1, 1, 1, 0)])
def test_vectors_outside_a_shifted_map_are_zero(padding):
    """A pair that begins a column earlier leaves a column outside at either end of a line: zero
    where the next window reads it."""
    graph = fused(
        map_graph(
            lambda b: b.conv(2, (1, 1)),
            lambda b: b.conv(2, (3, 3), groups=2),
            lambda b: b.conv(4, (1, 1)),
            lambda b: b.conv(4, (3, 3), groups=4, stride=(2, 2), padding=padding),
            shape=(5, 12, 4),
        )
    )
    assert check(graph, backend_of("sim-ext"))


def test_elements_outside_a_map_are_not_beside_others_that_a_window_reads():
    graph = fused(
        map_graph(
            lambda b: b.conv(2, (1, 1)),
            lambda b: b.conv(2, (3, 3), groups=2),
            lambda b: b.conv(2, (1, 1)),
            lambda b: b.conv(2, (3, 3), groups=2),
            lambda b: b.conv(4, (1, 1)),
            lambda b: b.conv(4, (3, 3), groups=4, stride=(2, 2)),
            shape=(5, 12, 4),
        )
    )
    backend = backend_of("sim-ext")
    assert check(graph, backend)
    legalised = backend.legalise(graph)
    stored = {node.output: legalised.shape(node.output) for node in legalised.nodes}
    stored |= {port.tensor: port.shape for port in legalised.inputs}
    found = shared_places(legalised, stored, 4, False)
    assert [sharing.shift for sharing in found.values()] == [0, 1, 0, 1, 1]


@pytest.mark.parametrize("padding, columns", [((0, 0, 1, 1), 4), ((1, 1, 0, 0), 2)])
def test_an_input_is_stored_for_neighbours_of_the_result(padding, columns):
    """Four columns of the input in a vector: two of the result, at a stride of two. With a column
    of padding in front, only the two of the stride."""
    graph = fused(
        map_graph(
            lambda b: b.conv(8, (3, 3), stride=(2, 2), padding=padding),
            lambda b: b.conv(8, (3, 3), groups=8),
            lambda b: b.conv(16, (1, 1)),
            lambda b: b.conv(16, (3, 3), groups=16, stride=(2, 2)),
            shape=(8, 16, 3),
        )
    )
    backend = backend_of("sim-ext", n=16, ub_rows=1024)
    assert check(graph, backend)
    steps = Steps(quantised_of(graph, backend), backend.params, swap=False)
    assert steps.planes[graph.inputs[0].tensor].phases == (2, columns)


def test_a_packed_bias_takes_the_next_size_that_there_is():
    bias = np.arange(-8, 8) * 100
    (needed,) = packed_rows(bias, 16)
    assert needed == 2
    (packed,) = packed_biases(bias, 16, [4, 8])
    assert packed.rows == 4
    vector = packed_vector(16, packed.rows, packed.slot).astype(np.int64)
    assert np.array_equal(vector @ packed.tile.astype(np.int64), bias)
    assert packed_biases(bias, 16, []) == [None]


def test_steps_of_many_channels_and_a_tensor_added_to_itself():
    graph = map_graph(
        lambda b: b.conv(20, (3, 3), stride=(2, 1)),
        lambda b: b.add(g.Binary, b.here, b.here, function="sub"),
        lambda b: b.add(g.Concat, b.here, b.here, "conv_0:0", axis=2),
        lambda b: b.conv(5, (1, 1)),
    )
    for preset, overrides in BUILDS.values():
        assert check(graph, backend_of(preset, **{**overrides, "ub_rows": 512}))


@pytest.mark.parametrize("relu", [False, True])
def test_window_maxima_without_the_extension_over_the_whole_range(relu):
    backend = backend_of("sim")
    graph = map_graph(
        *[lambda b: b.act("relu")] * relu,
        lambda b: b.add(
            g.MaxPool, window=(2, 3), stride=(2, 1), padding=(0, 1, 0, 0) if relu else (0,) * 4
        ),
    )
    assert all(backend.check_support(graph, node).runs for node in graph.nodes)
    quantised, random = quantised_of(graph, backend), np.random.default_rng(0)
    lowered, output = backend.lower(quantised), graph.nodes[-1].output
    for _ in range(8):
        inputs = {"input_0": random.choice([-128, -127, -1, 0, 1, 126, 127], (1, 5, 6, 3))}
        assert np.array_equal(
            run_model(lowered, backend, inputs)[0][output],
            backend.reference(quantised, inputs)[output],
        )


def test_extreme_numbers_saturate_and_sums_wrap():
    graph, backend = map_graph(lambda b: b.conv(4, (3, 3), padding=(0, 0, 0, 0))), backend_of()
    quantised = quantised_of(graph, backend)
    integer, inputs = quantised.layers["conv_0"], {"input_0": np.full((1, 5, 6, 3), -128)}
    integer.weights[:] = -128
    for bias, shift, wanted in (
        (0, 0, 127),
        (-(27 << 14), 0, 0),
        (-(28 << 14), 7, -128),
        (-(27 << 14) - 64, 7, 0),
        (-(27 << 14) - 65, 7, -1),
    ):
        integer.bias, integer.shift = np.full(4, bias), np.full(4, shift)
        tensors, _ = run_model(backend.lower(quantised), backend, inputs)
        assert (tensors["conv_0:0"] == wanted).all() and (
            backend.reference(quantised, inputs)["conv_0:0"] == wanted
        ).all()


@pytest.mark.parametrize("shape", [(12, 10, 3), (3, 5, 9)])
@pytest.mark.parametrize("built", [False, True])
def test_a_bias_is_a_product_of_one_vector_a_part(shape, built):
    """MMC.B begins all sums of a part with the bias in its last row."""
    graph = map_graph(lambda b: b.conv(6, (3, 3), relu=True), shape=shape)
    graph, backend = fused(graph), backend_of("sim-ext", ext_bias=built)
    assert check(graph, backend)
    words = Word.unpack_all(backend.lower(quantised_of(graph, backend)).program)
    begun = [word for word in words if word.mnemonic == "MMC" and word.flags & 0x80]
    constant = [word for word in words if word.mnemonic == "MMC" and word.flags & 4]
    assert bool(begun) == built
    if built:
        assert {word.addr + word.count - 1 for word in begun} <= {word.addr for word in constant}
        assert max(word.count for word in begun) >= 15


def test_a_bias_where_no_term_covers_a_part_goes_to_every_sum():
    """Each of two taps, a line above and a line below, reads nothing at one end of the map."""
    graph = map_graph(
        lambda b: b.conv(4, (2, 1), dilation=(2, 1), padding=(1, 0, 1, 0)), shape=(5, 6, 4)
    )
    graph, backend = fused(graph), backend_of("sim-ext")
    assert check(graph, backend)
    words = Word.unpack_all(backend.lower(quantised_of(graph, backend)).program)
    assert not any(word.mnemonic == "MMC" and word.flags & 0x80 for word in words)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_biases_that_saturate_cost_no_more_than_that_takes(relu, positive):
    graph = map_graph(
        *[lambda b: b.act("relu")] * positive,
        lambda b: b.conv(4, (1, 1), relu=relu),
        shape=(1, 64, 2),
    )
    graph, backend = fused(graph), backend_of()
    quantised, node = quantised_of(graph, backend), graph.nodes[-1]
    integer, random = quantised.layers[node.name], np.random.default_rng(0)
    for bias in (1 << 23, -(1 << 23), 60_000, -60_000, 32_766, -1_000, 3):
        for shift in (0, 1, 7):
            integer.weights, integer.shift = (
                random.integers(-128, 128, integer.weights.shape),
                np.full(4, shift),
            )
            integer.bias = np.full(4, bias) + random.integers(-3, 4, 4)
            lowered, inputs = (
                backend.lower(quantised),
                {"input_0": random.choice([-128, -1, 0, 127], (1, 1, 64, 2))},
            )
            assert np.array_equal(
                run_model(lowered, backend, inputs)[0][node.output],
                backend.reference(quantised, inputs)[node.output],
            )
            assert sum(layer.cycles for layer in lowered.layers) < 1500


@pytest.mark.parametrize("limit", [0.5, 3.0, 6.0, 6.35, 9.0])
def test_a_clip_is_exact_at_any_scale(limit):
    graph = map_graph(lambda b: b.conv(5, (1, 1)), lambda b: b.act("clip", low=0.0, high=limit))
    bad, tensors, lowered = differences(graph, backend_of())
    assert (
        not bad
        and tensors["activation_1:0"].max() <= min(127, round(limit / 0.05))
        and tensors["activation_1:0"].min() >= 0
    )
    assert lowered.text.count("ACT") == (2 if limit < 6.35 else 0) * 2 + 4


@pytest.mark.parametrize("build", BUILDS)
@settings(deadline=None, max_examples=15)
@given(
    graph=graphs(
        ("dense", "add", "mul", "relu", "leaky", "concat", "clip"),
        shapes=st.tuples(st.integers(1, 30)),
    ),
    images=st.integers(1, 9),
    seed=st.integers(0, 9),
)
def test_several_inputs_a_run(build, graph, images, seed):
    preset, overrides = BUILDS[build]
    backend = backend_of(preset, **overrides)
    if all(backend.check_support(graph, node).runs for node in graph.nodes):
        assert backend.most_images(backend.legalise(graph)) >= 32
        for keep in (False, True):
            try:
                bad, _, lowered = differences(graph, backend, seed=seed, keep=keep, images=images)
            except LoweringError:
                assert overrides["ub_rows"] <= 128
            else:
                assert not bad and lowered.images == images


def test_several_inputs_a_run_read_each_tile_once():
    backend, graph = backend_of("85f-8x8-conv"), fused(NETWORKS["autoencoder"][0](0))
    bad, _, lowered = differences(graph, backend, keep=False, images=16)
    assert not bad and sum(layer.cycles for layer in lowered.layers) < 16 * 17_000


def test_several_inputs_a_run_want_vectors():
    graph, backend = map_graph(lambda b: b.conv(5, (1, 1))), backend_of()
    with pytest.raises(LoweringError, match="2 inputs a run, expected 1 to 1"):
        backend.lower(quantised_of(graph, backend), images=2)


def test_shifts_of_a_block_must_be_equal():
    graph, backend = map_graph(lambda b: b.conv(5, (1, 1))), backend_of()
    quantised = quantised_of(graph, backend)
    quantised.layers["conv_0"].shift[1] += 1
    with pytest.raises(ValueError, match="shifts .*: those of 4 channels must be equal"):
        backend.lower(quantised)


def test_memory_that_does_not_hold_it_is_said():
    graph, backend = (
        map_graph(lambda b: b.conv(64, (3, 3)), shape=(5, 6, 16)),
        backend_of(memory_size=4096),
    )
    with pytest.raises(
        LoweringError,
        match=(
            r"the network takes at least [\d,]+ bytes of main memory, there are 4,096; largest "
            r"layer: conv_0 with [\d,]+ bytes \(program [\d,]+, weights [\d,]+, tensors 2,400\)"
        ),
    ) as caught:
        backend.lower(quantised_of(graph, backend))
    assert caught.value.node == "conv_0" and caught.value.bytes_needed > 4096


def test_memory_that_no_single_layer_exceeds_is_that_of_the_network():
    graph = map_graph(*[lambda b: b.conv(8, (3, 3))] * 3, shape=(5, 6, 8))
    needed = backend_of().lower(quantised_of(graph, backend_of())).memory
    backend = backend_of(memory_size=needed - 64)
    with pytest.raises(
        LoweringError,
        match=(
            rf"the network takes {needed:,} bytes of main memory, there are {needed - 64:,}; "
            r"largest layer: conv_\d with [\d,]+ bytes \(program "
        ),
    ) as caught:
        backend.lower(quantised_of(graph, backend))
    assert caught.value.node is None and caught.value.bytes_needed == needed


@pytest.mark.parametrize(
    "kind, build",
    [
        ("conv", {"ub_rows": 128}),
        ("long line", {"ub_rows": 64}),
        ("long line", {"ub_rows": 128, "ext_conv": False}),
        ("wide dilation", {"ub_rows": 64, "acc_rows": 64}),
        ("depthwise", {"ub_rows": 128}),
        ("dense", {"ub_rows": 64}),
        ("steps", {"ub_rows": 128}),
        ("average", {"ub_rows": 64}),
        ("global average", {"ub_rows": 128}),
        ("maximum", {"ub_rows": 128}),
        ("maximum of a long line", {"ub_rows": 128, "acc_rows": 64}),
        ("add", {"ub_rows": 64}),
        ("concat", {"ub_rows": 64}),
        ("product", {"ub_rows": 128}),
        ("turned product", {"ub_rows": 128}),
        ("turned product", {"ub_rows": 128, "ext_conv": False, "ext_pool": False}),
        # Tiles of fewer rows than the array has: for the unified buffer, and the accumulators.
        ("turned product", {"n": 32, "ub_rows": 64, "acc_rows": 128}),
        ("turned product", {"n": 36, "ub_rows": 64, "acc_rows": 64, "ext_pool": False}),
        ("turned product", {"n": 36, "ub_rows": 256, "acc_rows": 64}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_sources_that_exceed_the_unified_buffer_are_read_in_portions(kind, build, monkeypatch):
    kinds = set()
    portioned = Emitter._portioned

    def traced(self, number, step):
        kinds.add(type(step))
        return portioned(self, number, step)

    monkeypatch.setattr(Emitter, "_portioned", traced)
    backend, graph = backend_of("sim-ext", **build), map_graph(LARGE[kind][1], shape=LARGE[kind][0])
    for seed in range(3):
        assert check(graph, backend, seed)
    expected = {"maximum": PoolStep, "product": KernelStep}
    assert next((expected[word] for word in kind.split() if word in expected), Step) in kinds


def test_leading_zeros_beyond_a_chunk_are_written_by_themselves():
    """A window that reaches 34 positions beyond a map of 20, where chunks have 32 rows."""
    graph = map_graph(
        lambda b: b.conv(4, (1, 1)),
        lambda b: b.conv(4, (1, 3), dilation=(1, 34)),
        shape=(3, 20, 4),
    )
    for rows in (64, 512):
        assert check(graph, backend_of("sim-ext", acc_rows=64, ub_rows=rows))


def test_text_is_the_program_in_assembly():
    from quintet.gateware.cores.opentpu.software import SOFTWARE
    from quintet.gateware.isa.asm import assemble_text

    graph, backend = (
        map_graph(
            lambda b: b.conv(5, (3, 3), stride=(2, 2)),
            lambda b: b.add(g.MaxPool, window=(2, 2), stride=(1, 1)),
        ),
        backend_of(),
    )
    lowered = backend.lower(quantised_of(graph, backend))
    assert assemble_text(SOFTWARE, lowered.text, params=backend.params).data == lowered.program


def refused(answer, reason, *steps, shape=(5, 6, 3), preset="sim-ext", **overrides):
    graph, backend = map_graph(*steps, shape=shape), backend_of(preset, **overrides)
    support = backend.check_support(graph, graph.nodes[-1])
    assert (support.answer, support.runs) == (answer, False) and reason in support.reason, support


@pytest.mark.parametrize(
    ("answer", "reason", "step", "options"),
    [
        (
            "host",
            "a build with ext_norm; without it expected dense layers with a relu or no activation. "
            "Boards whose default preset has it: ",
            lambda b: b.conv(4, (3, 3)),
            {"preset": "sim-plain"},
        ),
        (
            "host",
            "norm_reset saturates to uint8, but activations are signed: expected mode 0 or 1",
            lambda b: b.dense(4),
            {"preset": "sim-plain", "norm_reset": 0x20000},
        ),
        (
            "host",
            "it wants ext_pool, or a relu in front",
            lambda b: b.add(g.MaxPool, window=(2, 2), stride=(1, 1), padding=(0, 1, 0, 0)),
            {"preset": "sim"},
        ),
        (
            "host",
            "dilation (2, 1) of a window: expected 1",
            lambda b: b.add(g.MaxPool, window=(2, 2), stride=(1, 1), dilation=(2, 1)),
            {},
        ),
        (
            "host",
            "padding (2, 0, 0, 0) as wide as the window",
            lambda b: b.add(g.MaxPool, window=(2, 2), stride=(1, 1), padding=(2, 0, 0, 0)),
            {},
        ),
        (
            "host",
            "count_include_pad",
            lambda b: b.add(
                g.AveragePool,
                window=(2, 2),
                stride=(1, 1),
                padding=(1, 0, 0, 0),
                include_padding=False,
            ),
            {},
        ),
        (
            "host",
            "slope 1.5 of a leaky relu: expected 0 to 1",
            lambda b: b.act("leaky", alpha=1.5),
            {},
        ),
        ("host", "clip from -1.0, taken from 0", lambda b: b.act("clip", low=-1.0, high=1.0), {}),
        (
            "host",
            "sigmoid: no table of the core's is fine enough",
            lambda b: b.act("sigmoid"),
            {},
        ),
        (
            "host",
            "mul of two tensors: expected add or sub",
            lambda b: b.add(g.Binary, b.here, b.here, function="mul"),
            {},
        ),
        (
            "host",
            "constant of shape (5, 6, 3): expected one number or one per channel",
            lambda b: b.add(g.Binary, b.here, b.constant(np.ones((5, 6, 3))), function="add"),
            {},
        ),
        (
            "host",
            "a constant divided by a tensor",
            lambda b: b.add(g.Binary, b.constant(np.ones(3)), b.here, function="div"),
            {},
        ),
        (
            "host",
            "shapes (5, 6, 3) and (1, 1, 3): expected equal ones",
            lambda b: b.add(g.Binary, b.here, b.global_average(), function="add"),
            {},
        ),
        (
            "host",
            "slice by steps (2, 1, 1): expected 1",
            lambda b: b.add(g.Slice, start=(0, 0, 0), stop=(5, 6, 3), step=(2, 1, 1)),
            {},
        ),
        (
            "host",
            "padding with 1.0: expected 0",
            lambda b: b.add(g.Pad, before=(1, 0, 0), after=(0, 0, 0), value=1.0),
            {},
        ),
        (
            "host",
            "rows and columns of a map are padded",
            lambda b: b.add(g.Pad, before=(0, 0, 1), after=(0, 0, 0)),
            {},
        ),
        (
            "host",
            "max over axes (0,): expected a mean over rows and columns",
            lambda b: b.add(g.Reduce, function="max", axes=(0,)),
            {},
        ),
        ("host", "would change their channels", lambda b: b.add(g.Reshape, shape=(9, 10)), {}),
        (
            "host",
            "5 channels do not fill blocks of whole vectors",
            lambda b: b.add(g.Reshape, shape=(30,)),
            {"shape": (2, 3, 5)},
        ),
        (
            "host",
            "a map that was made of another shape's elements",
            lambda b: (b.add(g.Reshape, shape=(6, 5, 3)), b.conv(2, (1, 1))),
            {"shape": (5, 6, 3)},
        ),
        (
            "host",
            "a map that was reshaped to a vector",
            lambda b: (
                b.conv(3, (1, 1)),
                b.add(g.Reshape, shape=(90,)),
                b.add(g.Concat, b.here, b.here, axis=0),
            ),
            {},
        ),
        ("host", "of 4 axes: expected 1 to 3", lambda b: b.act("relu"), {"shape": (2, 2, 2, 2)}),
        (
            "host",
            "two constants",
            lambda b: b.add(
                g.Binary, b.constant(np.ones(3)), b.constant(np.ones(3)), function="add"
            ),
            {},
        ),
        ("host", "this core has no exponential function", lambda b: b.add(g.Softmax), {}),
        (
            "host",
            "this core moves whole rows, no single elements",
            lambda b: b.add(g.Transpose, order=(1, 0)),
            {"shape": (3, 4)},
        ),
        (
            "host",
            "this core has no sigmoid and tanh, which the gates need",
            lambda b: b.lstm(3),
            {"shape": (3, 4)},
        ),
    ],
)
def test_refusals_say_what_is_taken_instead(answer, reason, step, options):
    refused(answer, reason, step, **options)


def test_axes_are_counted_by_digits_or_refused():
    assert axes_of((6, 20), dense_parts((2, 3, 20), 4)) == [[(2, 1), (3, 1)], [(5, 4), (4, 1)]]
    assert axes_of((2, 3, 4), dense_parts((1, 1, 24), 32)) == [[(2, 12)], [(3, 4)], [(4, 1)]]
    with pytest.raises(StoredError, match="an axis that ends inside a block"):
        axes_of((7,), dense_parts((1, 1, 6), 4))
    with pytest.raises(StoredError, match="more elements than are stored"):
        axes_of((12,), dense_parts((1, 1, 4), 4))


def test_what_the_host_does_keeps_nothing_from_the_machine():
    graph = map_graph(
        lambda b: b.conv(4, (3, 3)),
        lambda b: b.add(g.Reshape, shape=(10, 12)),
        lambda b: b.add(g.Reshape, shape=(2, 3, 4, 5)),
        lambda b: b.add(g.Reshape, shape=(120,)),
        lambda b: b.act("sigmoid"),
        lambda b: b.dense(3),
    )
    assert [backend_of().check_support(graph, node).runs for node in graph.nodes] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_an_addition_of_operands_that_are_stored_differently_is_refused():
    b, backend = Builder("two", (2, 3, 4)), backend_of()
    flat = b.add(g.Reshape, b.conv(4, (1, 1)), shape=(24,))
    b.add(g.Binary, flat, b.input((24,), "other"), function="add")
    graph = b.finish()
    assert not backend.check_support(graph, graph.nodes[-1]).runs
    with pytest.raises(
        LoweringError,
        match=r"binary_2: operands stored as \(2, 3, 4\) and \(1, 1, 24\), expected one shape",
    ):
        backend.lower(quantised_of(graph, backend))


def test_channels_of_positions_that_are_counted_anew_are_joined():
    """A map of 2 x 2 as four positions, beside itself: its lines may have gaps."""
    graph = map_graph(
        lambda b: b.conv(1, (1, 1), padding=(0, 0, 0, 1)),
        lambda b: b.add(g.Reshape, shape=(4, 1)),
        lambda b: b.add(g.Concat, b.here, b.here, axis=1),
        shape=(2, 1, 1),
    )
    assert check(graph, backend_of("sim-ext"))


def test_an_output_that_no_layout_describes_is_refused():
    graph, backend = (
        map_graph(lambda b: b.conv(5, (1, 1)), lambda b: b.add(g.Reshape, shape=(150,))),
        backend_of(),
    )
    assert not backend.check_support(graph, graph.nodes[-1]).runs
    with pytest.raises(
        LoweringError,
        match=(
            r"output reshape_1:0: its elements are stored as \(5, 6, 5\), no layout makes it "
            r"one axis"
        ),
    ):
        backend.lower(quantised_of(graph, backend))


def test_inputs_layouts_and_zeros_leave_other_bytes_alone():
    graph, backend = map_graph(lambda b: b.conv(4, (3, 3), stride=(2, 2))), backend_of()
    lowered = backend.lower(quantised_of(graph, backend))
    (at, size), placed = lowered.zeros[0], lowered.inputs["input_0"].layout
    assert (
        at <= placed.first
        and placed.end <= at + size
        and len(np.unique(placed.offsets())) == 5 * 6 * 3
    )
    assert (
        lowered.params == {key: backend.params[key] for key in lowered.params}
        and lowered.images == 1
    )
    inputs = whole_inputs(graph)
    first, _ = run_model(lowered, backend, inputs)
    assert np.array_equal(first["input_0"], inputs["input_0"])


@pytest.mark.long
def test_a_virtual_board_gives_the_same_in_the_cycles_that_were_estimated():
    from quintet.tools.targets import open_target

    backend, machine = (
        backend_of("85f-8x8-conv"),
        open_target("sim:ulx3s-85f/opentpu?preset=85f-8x8-conv"),
    )
    for name in CYCLES:
        graph = fused(NETWORKS[name][0](0))
        estimated, measured = cycles_on(machine, backend, graph)
        assert abs(estimated / measured - 1) < 0.03, name


def cycles_on(machine, backend, graph):
    """Cycles of a network on a virtual board, whose results are those of the reference:
    (estimated, measured)."""
    quantised, inputs = quantised_of(graph, backend), whole_inputs(graph)
    lowered = backend.lower(quantised)
    machine.reset_core()
    memory = machine.board.chip
    memory[: lowered.memory] = 0
    for at, data, _ in [
        *lowered.constants,
        (0, np.frombuffer(lowered.program, np.uint8), "program"),
    ]:
        memory[at : at + data.size] = data
    for tensor, placed in lowered.inputs.items():
        placed.layout.write(memory, inputs[tensor].astype(np.int8))
    outcome = machine.run(lowered.registers)
    wanted = backend.reference(quantised, inputs)
    for tensor, placed in lowered.outputs.items():
        assert np.array_equal(placed.layout.read(memory[: lowered.memory]), wanted[tensor])
    return sum(layer.cycles for layer in lowered.layers), outcome.counters["cycles"]


def test_a_virtual_board_reads_sources_in_portions():
    """Maps of 10,000 and more vectors, where the unified buffer has 8,192: an average, a depthwise
    convolution and maxima."""
    from quintet.tools.targets import open_target

    backend, machine = (
        backend_of("85f-8x8-conv"),
        open_target("sim:ulx3s-85f/opentpu?preset=85f-8x8-conv"),
    )
    for shape, add in (
        ((9, 9, 1024), lambda b: b.global_average()),
        ((3, 9, 4096), lambda b: b.conv(4096, (3, 3), stride=(3, 3), groups=4096)),
        ((2, 10, 5000), lambda b: b.add(g.MaxPool, window=(2, 2), stride=(2, 2))),
    ):
        estimated, measured = cycles_on(machine, backend, map_graph(add, shape=shape))
        assert abs(estimated / measured - 1) < 0.1


@pytest.mark.parametrize("padding", [(0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 1, 1)])
@pytest.mark.parametrize("shape", [(3, 2, 1), (2, 3, 1), (4, 4, 1)])
def test_zeros_between_lines_are_no_padding_of_a_maximum(shape, padding):
    """The map's lines lie as far apart as the padded ones."""
    b = Builder("pool", shape)
    b.conv(1, (2, 1))
    b.add(
        g.MaxPool,
        window=(2, 1) if padding[3] == 0 else (1, 2) if padding[2] == 0 else (2, 2),
        stride=(1, 1),
        padding=padding,
    )
    graph = b.finish()
    assert all(check(graph, backend_of("sim-ext"), seed) for seed in range(6))


@pytest.mark.parametrize("stride, padding", [((2, 3), (0, 0, 1, 0)), ((1, 1), (0, 1, 1, 1))])
def test_windows_do_not_reach_into_the_next_input(stride, padding):
    """Inputs of a run lie side by side where all maps have one element."""
    made = Builder("window", (1, 1), 1)
    made.add(g.Reshape, shape=(1, 1, 1))
    made.conv(3, (2, 1 + sum(padding[1::2])), stride=stride, padding=padding)
    graph, backend = made.finish(), backend_of("sim-ext")
    assert backend.most_images(backend.legalise(graph)) == 1
    for images in range(1, backend.most_images(graph) + 1):
        assert not differences(graph, backend, images=images)[0]
