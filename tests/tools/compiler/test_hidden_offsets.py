# SPDX-License-Identifier: BSD-2-Clause
"""Offsets of hidden tensors: 8 bits hold what varies, the biases of the layers behind the rest; a
relu becomes the end of the numbers."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.tools.compiler import graph as g
from quintet.tools.compiler.api import Compiled
from quintet.tools.compiler.evaluate import run_graph
from quintet.tools.compiler.fidelity import measure, reference_tensors
from quintet.tools.compiler.passes.centring import results_centred
from quintet.tools.compiler.plan import PlanError, load_plan, save_plan
from quintet.tools.compiler.planning import Options, compile_graph
from quintet.tools.compiler.quantise import quantise
from quintet.tools.compiler.quantise.integers import fit_shifts, integer_bias
from quintet.tools.compiler.quantised import Arithmetic
from quintet.tools.compiler.target_build import target_build
from quintet.tools.compiler.values import check_inputs, from_graph
from quintet.tools.compiler.verification import verify_plan
from quintet.tools.targets import open_target
from tests.tools.compiler.ideal_machines import Exact, fused
from tests.tools.compiler.networks import Builder

#: Size of what is common to all values of a hidden unit, where the values vary by about 1.
COMMON = 30.0
#: Least dB of signal to noise on each core of a network with such units. With all of it in the 8
#: bits OpenTPU and OPU have 7 and 5. Cherry computes in floating point and is left as it is.
LEAST = {"imagine": 28, "opentpu": 31, "opu": 27, "pim": 36}


def normal(shape, count=256, seed=1):
    return np.random.default_rng(seed).normal(size=(count, *shape))


def lift(b, size=COMMON):
    """Gives the newest layer biases of this size, so that its units hardly differ from them."""
    layer = b.graph.nodes[-1]
    layer.bias = size * np.linspace(1, 2, len(layer.weights))


def vectors():
    """Two hidden layers behind relus, one without."""
    b = Builder("vectors", (8,), 4)
    b.dense(16)
    lift(b)
    b.act("relu")
    b.dense(12)
    lift(b, -COMMON)
    b.dense(12)
    lift(b)
    b.act("relu")
    b.dense(4)
    return b.finish()


def maps():
    """Convolutions without padding, a pool and a flattened map between them."""
    b = Builder("maps", (9, 9, 3), 2)
    b.conv(8, (3, 3), padding=(0, 0, 0, 0))
    lift(b)
    b.act("relu")
    b.conv(8, (2, 2), padding=(0, 0, 0, 0), groups=8)
    lift(b)
    b.act("relu")
    b.add(g.AveragePool, window=(2, 2), stride=(2, 2))
    b.add(g.Reshape, shape=(72,))
    b.dense(4)
    return b.finish()


def plain():
    """Relus as networks have them: zero for about half of all values."""
    b = Builder("plain", (8,), 3)
    b.dense(24, relu=True)
    b.dense(24, relu=True)
    b.dense(4)
    return b.finish()


def averages(size):
    """A global average of a map ``size`` to twice that away from zero, before a dense layer. A clip
    keeps the map itself from having an offset."""
    b = Builder("averages", (6, 5, 3), 5)
    b.conv(20, (3, 3), padding=(1, 1, 1, 1))
    lift(b, size)
    b.act("clip", low=0.0, high=100.0)
    b.add(g.AveragePool, window=(6, 5), stride=(1, 1))
    b.add(g.Reshape, shape=(20,))
    b.dense(4)
    return b.finish()


NETWORKS = {"vectors": vectors, "maps": maps, "plain": plain}


def offsets_of(quantised):
    """Name of each tensor that holds an offset less -> least and greatest offset."""
    return {c["name"]: c["value"] for c in quantised.choices if c["what"] == "offset"}


def quantised_on(network, machine=None, **options):
    name = network.inputs[0].tensor
    calibration = {name: normal(network.shape(name))}
    return quantise(fused(network), machine or Exact(), calibration, **options)


# On the cores


@pytest.mark.parametrize("isa", LEAST)
def test_units_far_from_zero_keep_their_accuracy(isa):
    network = vectors()
    plan = compile_graph(network, target_build(f"model:{isa}"), {"input_0": normal((8,))})
    found = measure(plan, network, {"input_0": normal((8,), seed=2)})
    assert min(plan.snr, found.snr) > LEAST[isa] and plan.notes == []


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("isa", ["opu", "opentpu", "pim"])
def test_cores_give_what_the_reference_gives(isa, name, tmp_path):
    """From a folder, on the golden model, also for inputs that calibration never saw."""
    check_on_core(isa, NETWORKS[name](), tmp_path)


def test_averages_leave_out_what_their_inputs_have_in_common(tmp_path):
    """On the OPU an average has an offset of its own where the map before it cannot have one."""
    size = 1.0  # the core's partial sums hold no more
    network = averages(size)
    plan = check_on_core("opu", network, tmp_path)
    pool = next(node for node in plan.core_steps[0].part.graph.nodes if node.kind == "averagepool")
    assert pool.output in offsets_of(plan) and np.all(pool.bias < -size / 2)
    found = measure(plan, network, {"input_0": normal((6, 5, 3), seed=2)})
    assert min(plan.snr, found.snr) > 28


def check_on_core(isa, network, tmp_path):
    """Compiles a network that gets an offset, stores and loads the plan, and compares the core's
    golden model with the reference; returns the plan."""
    port = network.inputs[0]
    build = target_build(f"model:{isa}")
    options = Options(bits=8 if isa == "pim" else None)
    plan = compile_graph(network, build, {port.name: normal(port.shape)}, options)
    assert offsets_of(plan)
    save_plan(plan, tmp_path / "net")
    plan = load_plan(tmp_path / "net")
    target = f"model:{isa}"
    for factor in 1, 50:
        values = factor * normal(port.shape, count=3, seed=3)
        inputs = check_inputs(plan.network, plan.inputs, {port.name: values})
        tensor = plan.outputs[0].tensor
        wanted = from_graph(plan.outputs[0], reference_tensors(plan, inputs)[1][tensor])
        with Compiled(plan).open(target) as session:
            assert np.array_equal(session(values), wanted)
        found = verify_plan(plan, inputs, target, lambda: open_target(target), "reference", None)
        assert found.equal
    return plan


# On machines that exist nowhere


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("equalise", [False, True])
def test_the_network_computes_the_same_in_floating_point(name, equalise):
    """Its relus are kept, for inputs far beyond those of calibration too: as floors."""
    network = NETWORKS[name]()
    quantised = quantised_on(network, equalise=equalise)
    assert offsets_of(quantised)
    inputs = {"input_0": 50 * normal(network.shape("input_0"), seed=5)}
    want, have = run_graph(network, inputs), run_graph(quantised.graph, inputs)
    tensor = network.outputs[0].tensor
    np.testing.assert_allclose(have[tensor], want[tensor], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_saturation_is_the_relu(name):
    """Numbers of hidden tensors stand for what the floating-point network has there, cut at the
    ends of their range, none of them less than a relu gives: on any inputs."""
    machine, network = Exact(), NETWORKS[name]()
    quantised = quantised_on(network, machine, equalise=False)
    values = 50 * normal(network.shape("input_0"), count=64, seed=6)
    real = run_graph(fused(network), {"input_0": values}, keep=True)
    first = next(node for node in quantised.graph.nodes if node.floor is not None)
    scale = quantised.scales[first.output]
    found = machine.reference(
        quantised, {"input_0": quantised.scales["input_0"].quantise(values)}, keep=True
    )
    # The source saturates as well: what the layer gives is that of the cut inputs.
    cut = quantised.scales["input_0"].value(found["input_0"])
    real = run_graph(fused(network), {"input_0": cut}, keep=True)[first.output]
    offset = -first.floor
    have = scale.value(found[first.output]) + offset
    want = np.clip(real, scale.value(scale.low) + offset, scale.value(scale.high) + offset)
    assert have.min() >= -1e-9
    assert (offset >= -scale.value(scale.low) * (1 - 1e-12)).all()
    assert np.abs(have - want).max() < 0.02 * (want.max() - want.min())


@settings(max_examples=300, deadline=None)
@given(
    st.integers(-(1 << 20), 1 << 20),
    st.integers(0, 12),
    st.integers(128, 5000),
)
def test_a_relu_with_an_offset_is_saturation(total, shift, offset):
    """Whole numbers, rounded half up: the bias holds the offset, the relu is gone."""

    def rounded(sums):
        return sums + (1 << shift >> 1) >> shift

    with_relu = min(max(max(rounded(total), 0) - offset, -128), 127)
    assert min(max(rounded(total - (offset << shift)), -128), 127) == with_relu


def test_plain_relus_fill_the_negative_numbers_too():
    """Half the step, hence 6 dB less noise of rounding."""
    network = plain()
    quantised = quantised_on(network)
    assert len(offsets_of(quantised)) == 2
    for node in quantised.graph.nodes[:2]:
        scale = quantised.scales[node.output]
        np.testing.assert_allclose(-node.floor, -scale.value(scale.low))


def between(b, kind, **attributes):
    """A layer with lifted units, and ``kind`` behind it."""
    b.conv(4, (3, 3), padding=(0, 0, 0, 0))
    lift(b)
    b.act("relu")
    b.add(kind, **attributes)


@pytest.mark.parametrize(
    "kind, attributes",
    [
        (g.MaxPool, {"window": (2, 2), "stride": (2, 2)}),
        (g.AveragePool, {"window": (2, 2), "stride": (2, 2)}),
        (g.Transpose, {"order": (1, 0, 2)}),
        (g.Slice, {"start": (0, 0, 0), "stop": (4, 4, 2), "step": (1, 1, 1)}),
        (g.Reshape, {"shape": (64,)}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_offsets_go_through_what_only_moves_elements(kind, attributes):
    b = Builder("moved", (6, 6, 3), 3)
    between(b, kind, **attributes)
    b.dense(4)
    network = b.finish()
    quantised = quantised_on(network)
    assert offsets_of(quantised)
    inputs = {"input_0": 9 * normal((6, 6, 3), seed=5)}
    tensor = network.outputs[0].tensor
    np.testing.assert_allclose(
        run_graph(quantised.graph, inputs)[tensor],
        run_graph(network, inputs)[tensor],
        rtol=1e-9,
        atol=1e-6,
    )


def untouched():
    """Name -> network whose hidden layer keeps what is common to its values."""
    made = {}

    def add(name, behind, relu="relu", layer=None):
        b = Builder(name, (6, 6, 3), 3)
        if layer is None:
            b.conv(4, (3, 3), padding=(0, 0, 0, 0))
        else:
            layer(b)
        lift(b)
        hidden = b.act(relu, high=6.0 * COMMON, low=0.0, alpha=0.1) if relu else b.here
        outputs = behind(b, hidden)
        made[name] = b.finish(*outputs or ())

    def padded(b, _):
        b.conv(4, (3, 3), padding=(1, 1, 1, 1))

    def two_readers(b, hidden):
        first = b.dense(4, hidden)
        b.conv(4, (3, 3), hidden, padding=(1, 1, 1, 1))
        return first, b.here

    def output_too(b, hidden):
        return b.dense(4, hidden), hidden

    def residual(b, hidden):
        b.conv(4, (1, 1), hidden, padding=(0, 0, 0, 0))
        b.add(g.Binary, b.here, hidden, function="add")
        b.dense(4)

    def joined(b, hidden):
        other = b.conv(4, (3, 3), "input_0", padding=(0, 0, 0, 0))
        b.add(g.Concat, hidden, other, axis=2)
        b.dense(4)

    def relu_behind(b, hidden):
        b.add(g.Reshape, hidden, shape=(64,))
        b.act("relu")
        b.dense(4)

    def padded_pool(b, _):
        b.add(g.MaxPool, window=(2, 2), stride=(2, 2), padding=(1, 1, 1, 1))
        b.dense(4)

    def counted_padding(b, _):
        b.add(g.AveragePool, window=(2, 2), stride=(2, 2), padding=(1, 1, 1, 1))
        b.dense(4)

    def channels_moved(b, _):
        b.add(g.Transpose, order=(2, 1, 0))
        b.conv(2, (1, 1), padding=(0, 0, 0, 0))

    def dense(b, _):
        b.dense(4)

    add("padded", padded)
    add("two_readers", two_readers)
    add("output_too", output_too)
    add("residual", residual)
    add("joined", joined)
    add("relu_behind", relu_behind)
    add("padded_pool", padded_pool)
    add("counted_padding", counted_padding)
    add("channels_moved", channels_moved)
    add("clip", dense, relu="clip")
    add("leaky", dense, relu="leaky")
    return made


@pytest.mark.parametrize("name", untouched())
def test_layers_that_keep_their_constants(name):
    """What reads them could not make up for it, or more than saturation follows them."""
    network = untouched()[name]
    quantised = quantised_on(network)
    made = network.nodes[1].output if len(network.nodes) > 1 else None
    assert {network.nodes[0].output, made}.isdisjoint(offsets_of(quantised))
    inputs = {"input_0": normal((6, 6, 3), seed=2)}
    want, have = run_graph(network, inputs), run_graph(quantised.graph, inputs)
    for tensor in want:
        np.testing.assert_allclose(have[tensor], want[tensor], rtol=1e-9, atol=1e-6)


class Changed(Exact):
    """The exact machine, but for ``fields`` of the arithmetic of its layers."""

    def __init__(self, **fields):
        super().__init__()
        self.fields = fields

    def arithmetic(self, graph, node):
        return replace(super().arithmetic(graph, node), **self.fields)


@pytest.mark.parametrize(
    "fields",
    [{"wraps": True}, {"reads": (16,), "out_bits": (16,)}, {"result_step": 0.25}],
    ids=["results wrap", "16 bits", "scale of a table"],
)
def test_machines_on_which_layers_keep_their_constants(fields):
    assert not offsets_of(quantised_on(vectors(), Changed(**fields)))


def test_pools_that_favour_positive_numbers_keep_them():
    class Favouring(Exact):
        def arithmetic(self, graph, node):
            found = super().arithmetic(graph, node)
            return replace(found, favours_positive=isinstance(node, g.MaxPool))

    b = Builder("pool", (6, 6, 3), 3)
    between(b, g.MaxPool, window=(2, 2), stride=(2, 2))
    b.dense(4)
    network = b.finish()
    assert offsets_of(quantised_on(network))
    assert not offsets_of(quantised_on(network, Favouring()))


@pytest.mark.parametrize("zero_point", [0, -128], ids=["taken over", "not taken over"])
def test_models_own_scales_stay(zero_point):
    """Also that of a tensor whose zero point the machine has none for: the model's range stays."""
    network = fused(vectors())
    hidden = network.nodes[0].output
    own = network.tensors[hidden]
    own.scale, own.bits, own.zero_point = 1.0, 8, zero_point
    assert hidden not in offsets_of(quantised_on(network))


def test_percentiles_hold_for_what_varies():
    network = vectors()
    wide = quantised_on(network, percentile=100, equalise=False)
    narrow = quantised_on(network, percentile=90, equalise=False)
    hidden = fused(network).nodes[0].output
    assert hidden in offsets_of(wide) and hidden in offsets_of(narrow)
    assert narrow.scales[hidden].step < wide.scales[hidden].step


def test_biases_wrap_where_sums_do():
    """What is added to them brings the sum back: modulo 2^8 all is the same."""
    numbers = Arithmetic(bias_bits=8, bias_in_result=True, wraps=True)
    bias, places = integer_bias(np.array([-1.0, 10.0, -200.0, 300.0]), np.zeros(4), 1.0, numbers)
    np.testing.assert_array_equal(bias, [-1, 10, 56, 44])
    assert not places.any()
    kept, _ = integer_bias(
        np.array([-200.0, 300.0]), np.zeros(2), 1.0, replace(numbers, wraps=False)
    )
    np.testing.assert_array_equal(kept, [-128, 127])


# Shifts of layers with offsets


def test_shifts_are_no_finer_than_a_short_bias_wants_where_nothing_depends_on_it():
    """Weights so small that all results are the bias: a finer unit of products buys nothing."""
    rows, bias, power = np.full((1, 4, 8), 1e-6), np.full(4, 0.5), np.ones((1, 8))
    numbers = Arithmetic(bias_bits=24, bias_tile=1000)
    fine, _ = fit_shifts(rows, bias, power, 0.01, 0.01, numbers)
    short, lost = fit_shifts(rows, bias, power, 0.01, 0.01, numbers, short_bias=True)
    assert (fine > short).all()
    assert (0.5 / 0.01 * 2.0**short <= 1000).all() and lost < 0.01**2 / 12 * 0.02
    # Where weights count they keep their shift.
    rows = np.random.default_rng(1).normal(size=(1, 4, 8))
    fine, _ = fit_shifts(rows, 100 * bias, power, 0.01, 0.01, numbers)
    short, _ = fit_shifts(rows, 100 * bias, power, 0.01, 0.01, numbers, short_bias=True)
    np.testing.assert_array_equal(short, fine)


# Outputs


def outputs():
    """Name -> network whose output lies far from zero."""
    made = {}

    def add(name, shape, build):
        b = Builder(name, shape, 3)
        build(b)
        made[name] = b.finish()

    def dense(b):
        b.dense(6)
        lift(b)

    def conv(b, **more):
        b.conv(6, (3, 3), padding=(1, 1, 1, 1))
        lift(b)

    def without_bias(b):
        b.add(g.Affine, scale=np.ones(4), shift=np.full(4, COMMON))
        b.dense(6, bias=False)
        b.graph.nodes[-1].weights[:] = np.abs(b.graph.nodes[-1].weights)

    def affine(b):
        b.add(g.Affine, scale=np.ones(4), shift=np.full(4, COMMON))

    def behind(kind, **attributes):
        def build(b):
            conv(b)
            b.add(kind, **attributes)

        return build

    def branches(b):
        first = b.conv(4, (1, 1), "input_0")
        lift(b)
        second = b.conv(2, (1, 1), "input_0")
        lift(b, -COMMON)
        b.add(g.Concat, first, second, axis=2)

    def stacked(b):
        first = b.conv(4, (1, 1), "input_0")
        lift(b)
        second = b.conv(4, (1, 1), "input_0")
        lift(b)
        b.add(g.Concat, first, second, axis=0)

    def added(b):
        first = b.conv(4, (1, 1), "input_0")
        lift(b)
        b.add(g.Binary, first, b.conv(4, (1, 1), "input_0"), function="add")

    add("dense", (8,), dense)
    add("conv", (6, 6, 4), conv)
    add("without_bias", (4,), without_bias)
    add("affine", (6, 6, 4), affine)
    add("average", (6, 6, 4), behind(g.AveragePool, window=(2, 2), stride=(2, 2)))
    add("maximum", (6, 6, 4), behind(g.MaxPool, window=(2, 2), stride=(2, 2)))
    add("transpose", (6, 5, 4), behind(g.Transpose, order=(1, 0, 2)))
    add("reshape", (6, 6, 4), behind(g.Reshape, shape=(36, 6)))
    add("flattened", (6, 6, 4), behind(g.Reshape, shape=(216,)))
    add("branches", (6, 6, 4), branches)
    add("stacked", (6, 6, 4), stacked)
    add("added", (6, 6, 4), added)
    return made


def centred_on(network, values):
    """The network with offsets in its outputs, for ``values`` of its input."""
    return results_centred(network, {"input_0": values})


@pytest.mark.parametrize("name", outputs())
def test_the_host_adds_what_outputs_have_in_common(name):
    network = outputs()[name]
    shape = network.inputs[0].shape
    made = centred_on(network, normal(shape))
    (port,) = made.outputs
    assert port.offset is not None
    values = {"input_0": normal(shape, count=4, seed=2)}
    have, want = run_graph(made, values)[port.tensor], run_graph(network, values)[port.tensor]
    assert np.abs(have).max() < 0.8 * np.abs(want).max()
    np.testing.assert_allclose(from_graph(port, have), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["dense", "conv", "average", "flattened", "branches", "added"])
def test_outputs_far_from_zero_keep_their_accuracy(name):
    network = outputs()[name]
    shape = network.inputs[0].shape
    plan = compile_graph(network, target_build("model:opentpu"), {"input_0": normal(shape)})
    (port,) = plan.outputs
    chosen = next(c for c in plan.choices if c["name"] == port.name and c["what"] == "offset")
    assert chosen["value"] == [min(port.offset), max(port.offset)]
    assert "the host adds it" in chosen["why"]
    assert plan.snr > 25 and plan.notes == []


def test_outputs_of_several_axes_and_their_order():
    """The offset is the tensor's: the user's array has its channels first."""
    network = outputs()["conv"]
    (port,) = network.outputs
    network.outputs = [replace(port, order=(1, 2, 0), shape=(6, 6, 6))]
    made = centred_on(network, normal((6, 6, 4)))
    (port,) = made.outputs
    values = {"input_0": normal((6, 6, 4), count=2, seed=2)}
    have = from_graph(port, run_graph(made, values)[port.tensor])
    want = from_graph(network.outputs[0], run_graph(network, values)[port.tensor])
    np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9)


def held_outputs():
    """Name -> network whose output keeps what is common to all inputs."""
    made = {}

    def add(name, build):
        b = Builder(name, (6, 6, 4), 3)
        b.conv(4, (1, 1))
        lift(b)
        made[name] = b.finish(*build(b) or ())

    def read_too(b):
        hidden = b.here
        return hidden, b.dense(4)

    add("relu", lambda b: b.act("relu") and None)
    add("read_too", read_too)
    add("input", lambda b: ["input_0"])
    add("softmax", lambda b: b.add(g.Softmax, axis=-1) and None)
    return made


@pytest.mark.parametrize("name", held_outputs())
def test_outputs_that_no_layer_leaves_an_offset_out_of(name):
    made = centred_on(held_outputs()[name], normal((6, 6, 4), count=16) + 100)
    assert made.outputs[0].offset is None


def test_outputs_with_whole_numbers_of_their_own_stay():
    network = outputs()["dense"]
    network.outputs = [replace(network.outputs[0], scale=0.5)]
    assert centred_on(network, normal((8,))) is network


@pytest.mark.parametrize("offset", [[1.0], ["x"] * 4, [float("inf")] * 4], ids=str)
def test_outputs_of_a_damaged_plan_are_refused(tmp_path, offset):
    plan = compile_graph(vectors(), target_build("model:opu"), {"input_0": normal((8,))})
    plan.outputs = [replace(plan.outputs[0], offset=tuple(offset))]
    save_plan(plan, tmp_path / "net")
    with pytest.raises(PlanError, match="the plan is damaged: "):
        load_plan(tmp_path / "net")


@pytest.mark.parametrize(
    "isa, bits, changed",
    [("opentpu", None, True), ("pim", 8, True), ("pim", None, False), ("imagine", None, False)],
)
def test_outputs_of_many_bits_stay_as_they_are(isa, bits, changed):
    """A constant in 16 bits costs nothing that could be gained."""
    network = outputs()["dense"]
    build = target_build(f"model:{isa}")
    plan = compile_graph(network, build, {"input_0": normal((8,))}, Options(bits=bits))
    assert (plan.outputs[0].offset is not None) == changed


def test_constant_outputs_stay_as_they_are():
    b = Builder("constant", (8,), 1)
    b.dense(4)
    lift(b)
    b.graph.nodes[-1].weights[:] = 0
    network = b.finish()
    assert centred_on(network, normal((8,))) is network


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.sampled_from([0.0, 3.0, 30.0]), st.booleans())
def test_random_stacks_compute_the_same(seed, size, equalise):
    """Layers of random widths and biases: in floating point the same function, in whole numbers no
    farther from it than without offsets, on the inputs that they were chosen for."""
    rng = np.random.default_rng(seed)
    b = Builder("stack", (6,), seed)
    for _ in range(int(rng.integers(1, 4))):
        b.dense(int(rng.integers(2, 20)))
        b.graph.nodes[-1].bias = size * rng.normal(size=len(b.graph.nodes[-1].weights))
        if rng.random() < 0.7:
            b.act("relu")
    b.dense(3)
    network = b.finish()
    machine = Exact()
    inputs = {"input_0": normal((6,))}
    tensor = network.outputs[0].tensor
    want = run_graph(network, inputs)[tensor]

    def noise(quantised):
        numbers = {"input_0": quantised.scales["input_0"].quantise(inputs["input_0"])}
        found = machine.reference(quantised, numbers)[tensor]
        return np.square(quantised.scales[tensor].value(found) - want).mean()

    quantised = quantised_on(network, machine, equalise=equalise)
    wild = {"input_0": 20 * inputs["input_0"]}
    np.testing.assert_allclose(
        run_graph(quantised.graph, wild)[tensor],
        run_graph(network, wild)[tensor],
        rtol=1e-9,
        atol=1e-6 * max(1, np.abs(want).max()),
    )
    with patch("quintet.tools.compiler.quantise.quantiser.movable", return_value=False):
        without = quantised_on(network, machine, equalise=equalise)
    assert not offsets_of(without)
    rounding = quantised.scales[tensor].step ** 2 / 12
    assert noise(quantised) < 1.1 * (noise(without) + rounding)
