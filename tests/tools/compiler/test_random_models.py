# SPDX-License-Identifier: BSD-2-Clause
"""Random ONNX models on every core: near onnxruntime, and refused with a reason or equal to the
reference in every tensor of every layer."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx.reference  # noqa: E402
from onnxruntime.capi.onnxruntime_pybind11_state import (  # noqa: E402
    Fail,
    InvalidArgument,
    InvalidGraph,
    RuntimeException,
)
from onnxruntime.capi.onnxruntime_pybind11_state import (
    NotImplemented as NoKernel,
)

from quintet.gateware.cores import open_core  # noqa: E402
from quintet.tools.compiler.backends import backend_names  # noqa: E402
from quintet.tools.compiler.backends.base import LoweringError  # noqa: E402
from quintet.tools.compiler.onnx_import import OnnxError  # noqa: E402
from quintet.tools.compiler.onnx_import.operators import OPERATORS  # noqa: E402
from quintet.tools.compiler.partition import PartitionError  # noqa: E402
from quintet.tools.compiler.passes import simplify  # noqa: E402
from quintet.tools.compiler.planning import (  # noqa: E402
    Options,
    compile_graph,
    random_calibration,
)
from quintet.tools.compiler.target_build import TargetBuild  # noqa: E402
from quintet.tools.compiler.verification import random_inputs, verify_plan  # noqa: E402
from quintet.tools.errors import InputError  # noqa: E402
from quintet.tools.targets import open_target  # noqa: E402
from tests.support.campaigns import Campaign  # noqa: E402
from tests.support.shares import fewer  # noqa: E402
from tests.tools.compiler import random_layers, random_steps  # noqa: E402, F401
from tests.tools.compiler.onnx_models import (  # noqa: E402
    feeds_of,
    import_model,
    run_here,
    run_there,
)
from tests.tools.compiler.operator_texts import (  # noqa: E402
    OPERATORS_BY_TEXT,
    in_double,
    without_ambiguities,
)
from tests.tools.compiler.random_models import LATER, Maker  # noqa: E402

#: Builds to draw from; small ones, so that layers are cut and what does not fit is met.
PRESETS = {
    "cherry": ("25f", "sim", "up5k"),
    "imagine": ("sim", "up5k", "25f"),
    "opentpu": ("sim-ext", "85f-8x8-conv", "25f-4x4", "85f-12x12"),
    "opu": ("sim", "85f", "25f", "up5k", "85f-p64"),
    "pim": ("25f", "sim", "up5k"),
}
#: Most steps of a model.
MOST = 5
#: Operators whose results jump: a rounding error of float32 may change them altogether.
JUMPS = {
    "ArgMax", "ArgMin", "BipolarQuant", "Ceil", "DynamicQuantizeLinear", "Equal", "Floor",
    "Greater", "GreaterOrEqual", "Hardmax", "IntQuant", "Less", "LessOrEqual", "LinearClassifier",
    "QLinearConv", "QLinearMatMul", "Quant", "QuantizeLinear", "Round", "Shrink", "Sign",
    "ThresholdedRelu", "TopK", "Trunc",
}  # fmt: skip
#: Those of them whose results jump by the steps of grids alone.
TO_GRIDS = {"QLinearConv", "QLinearMatMul", "QuantizeLinear"}
#: Operators behind whose slope a grid's lower end is not kept.
SLOPES = {"LeakyRelu", "PRelu"}
#: Steps for one of a grid (:func:`with_finer_grids`).
FINER = 1 << 30
#: Errors of onnxruntime about models that it has no kernel for.
UNKNOWN = (Fail, InvalidArgument, InvalidGraph, NoKernel, RuntimeException)


def model_of(seed, most=MOST):
    """The :class:`Maker` and the ONNX model of a seed."""
    maker = Maker(seed)
    maker.run(random.Random(f"steps {seed}").randint(1, most))
    return maker, maker.finish()


def by_runtime(model, feeds):
    """What onnxruntime gives, ``None`` if it has no kernel for this model."""
    try:
        return run_there(model, feeds)
    except UNKNOWN:
        return None


def misread(node):
    """Whether ONNX's evaluator reads a node in another way than the text: it leaves out ``clip`` of
    recurrent layers, and gives every group of a ConvTranspose the first channels' bias."""
    given = {one.name: one for one in node.attribute}
    groups = node.op_type == "ConvTranspose" and "group" in given and given["group"].i > 1
    return "clip" in given or groups and len(node.input) > 2


def by_evaluator(model, feeds):
    """What ONNX's own evaluator gives, which computes in another order; ``None`` if it fails, or is
    no judge (:func:`misread`)."""
    if any(map(misread, model.graph.node)):
        return None
    names = [output.name for output in model.graph.output]
    evaluator = onnx.reference.ReferenceEvaluator
    try:
        found = evaluator(model, new_ops=OPERATORS_BY_TEXT).run(None, feeds)
    except Exception:
        return None
    return dict(zip(names, found, strict=True))


def distance(results, wanted):
    """Largest difference of two dicts of arrays, as a share of each array's largest number."""
    most = 0.0
    for name, value in wanted.items():
        if not np.isfinite(value).all():
            return np.nan
        size = max(1e-3, np.abs(value).max(initial=0.0))
        most = max(most, np.abs(results[name] - value).max(initial=0.0) / size)
    return most


def with_finer_grids(graph):
    """The graph with grids that end where its own do, but of so many steps that no result jumps."""
    finer = {
        name: replace(
            tensor,
            scale=tensor.scale / FINER,
            zero_point=tensor.zero_point * FINER,
            bits=tensor.bits + FINER.bit_length() - 1,
        )
        for name, tensor in graph.tensors.items()
        if tensor.scale is not None and tensor.data is None
    }
    return replace(graph, tensors=graph.tensors | finer)


def check_passes(graph, feeds, jumps, grids=False):
    """The simplified graph gives what the graph does; the graph's results, and how far they move
    with the inputs, ``None`` if a number is not finite. ``jumps``: they are not compared."""
    with np.errstate(all="ignore"):
        here = run_here(graph, feeds, grids)
        apart = distance(run_here(simplify(graph), feeds, grids), here)
        near = {name: data * np.float32(1 + 1e-5) for name, data in feeds.items()}
        moved = distance(run_here(graph, near, grids), here)
    if not (np.isfinite(apart) and np.isfinite(moved)):
        return here, None
    if apart > 1e-6 + moved * 1e-3 and not jumps:
        what = "with grids " if grids else ""
        raise AssertionError(f"the passes change results {what}by {apart}")
    return here, moved


def check_floats(maker, model, graph, seen):
    """The graph is near what onnxruntime gives, before and after the passes, and the passes leave
    values cut where grids end."""
    feeds, operators = feeds_of(graph), {node.op_type for node in model.graph.node}
    finer, unlike = with_finer_grids(graph), operators & (JUMPS - TO_GRIDS | SLOPES)
    check_passes(finer, feeds, unlike, grids=True)
    jumps = bool(operators & JUMPS)
    here, moved = check_passes(graph, feeds, jumps)
    if moved is None:
        seen["floats: not finite"] += 1
        return
    if not maker.plain:
        seen["floats: not in onnxruntime"] += 1
        return
    far = []
    model = without_ambiguities(model, maker.shapes)
    double = {
        name: data.astype(np.float64) if data.dtype == np.float32 else data
        for name, data in feeds.items()
    }
    for evaluate, single in (
        (by_runtime, True),
        (by_evaluator, True),
        (by_runtime, False),
        (by_evaluator, False),
    ):
        found = evaluate(model, feeds) if single else evaluate(in_double(model), double)
        # The importer has compared shapes with those that the model declares: these are ONNX's, and
        # each of the two has an operator with others.
        if found is not None and all(found[name].shape == here[name].shape for name in found):
            far.append(distance(here, found))
            if far[-1] <= 1e-4:
                seen["floats: near"] += 1
                return
    if not far or np.isnan(far).all():
        seen["floats: no other result"] += 1
    elif jumps or moved > 1e-3:
        seen["floats: jump" if jumps else "floats: badly conditioned"] += 1
    else:
        raise AssertionError(f"{far} from onnxruntime and ONNX's evaluator")


def build_of(isa, rng):
    space = open_core(isa).params.SPACE
    preset = rng.choice(PRESETS[isa])
    memory = rng.choice((1 << 20, 1 << 20, 1 << 22))
    return TargetBuild(isa, preset, space.resolve(preset), memory, None, None, f"model:{isa}")


def inputs_of(plan, rng):
    """Random inputs, of which one in ten numbers is an extreme or zero."""
    numbers = np.random.default_rng(rng.randrange(1 << 32))
    found = random_inputs(plan, 2, rng.randrange(1 << 32))
    for name, values in found.items():
        odd = numbers.choice([values.min(), values.max(), 0.0], values.shape)
        found[name] = np.where(numbers.random(values.shape) < 0.1, odd, values)
    return found


def reason(error):
    """The kind of an error, for counts."""
    if isinstance(error, PartitionError):
        return "partition: " + error.refusals[0].reason
    return f"{type(error).__name__}: {error}"


def check_core(graph, isa, seed, seen):
    """One network on one core; ``seen`` counts what became of it."""
    rng = random.Random(f"core {isa} {seed}")
    options = Options(
        bits=rng.choice((None, None, 8, 16)) if isa == "pim" else None,
        equalise=rng.random() < 0.8,
        percentile=rng.choice((None, None, None, 100, 99.9)),
        host_steps=rng.random() < 0.95,
        images=rng.choice((1, 1, 2, None)),
    )
    given = random_calibration(graph, 8, seed) if rng.random() < 0.7 else None
    try:
        with np.errstate(all="ignore"):
            plan = compile_graph(graph, build_of(isa, rng), given, options)
    except (PartitionError, LoweringError, InputError) as error:
        assert str(error).strip()
        seen["refused"] += 1
        return reason(error)
    if not plan.core_steps:
        seen["host alone"] += 1
        return "host alone"
    with np.errstate(all="ignore"):
        found = verify_plan(
            plan, inputs_of(plan, rng), "model", lambda: open_target(f"model:{isa}"), "numpy", None
        )
    assert found.equal, found.difference
    assert np.isfinite(plan.cycles) and plan.cycles >= 0
    seen["equal"] += 1
    return plan


def check(seed, folder, cores, most=MOST):
    """One model on some cores; counts by core."""
    maker, model = model_of(seed, most)
    seen = {isa: Counter() for isa in ("import", *cores)}
    try:
        graph = import_model(model, folder)
    except OnnxError as error:
        assert str(error).strip()
        seen["import"]["refused"] += 1
        return seen
    check_floats(maker, model, graph, seen["import"])
    for isa in cores:
        check_core(graph, isa, seed, seen[isa])
    return seen


def campaign(isa, seeds, folder):
    """Counts of what became of the models of some seeds on one core; a failure names the seed."""
    total = Counter()
    for seed in seeds:
        try:
            total += check(seed, folder, [isa])[isa]
        except Exception as error:
            raise AssertionError(f"model of seed {seed} on {isa}: {error}") from error
    return total


@pytest.mark.parametrize("isa", backend_names())
def test_random_models(isa, tmp_path):
    seen = campaign(isa, range(fewer(24)), tmp_path)
    assert seen["equal"] >= fewer(8)


@pytest.mark.long
@pytest.mark.parametrize("isa", backend_names())
def test_many_random_models(isa, tmp_path):
    seeds = Campaign("compiler-graphs", 1 / len(backend_names())).seeds(isa)
    print(isa, dict(campaign(isa, seeds, tmp_path)))


def test_random_models_are_near_onnxruntime(tmp_path):
    seen = Counter()
    for seed in range(LATER, LATER + fewer(160)):
        seen += check(seed, tmp_path, [])["import"]
    assert seen["floats: near"] >= fewer(100) and seen["refused"] < 20, seen


@pytest.mark.parametrize(
    "seed",
    [
        20000350,  # MaxPool with dilations and SAME_LOWER
        20002327,  # BatchNormalization of opset 13, before a Resize without a kernel
        20002185,  # MeanVarianceNormalization of a channel whose mean is much larger
        20003414,  # MeanVarianceNormalization of a channel that is nearly constant
        20004055,  # LayerNormalization behind sums of large numbers: near in float64 alone
        20000630,  # Resize by 1.5 with align_corners, which onnxruntime has no kernel for
        20001288,  # LpNormalization with p = 1, after a pool that onnxruntime refuses
        20001816,  # the same after SwiGLU, which onnxruntime does not have
        20002114,  # the same after Conv with dilations and SAME_LOWER
        30002474,  # GroupNormalization of groups of nearly equal numbers: near in float64 alone
    ],
)
def test_models_that_an_evaluator_reads_in_another_way_than_the_text(tmp_path, seed):
    assert check(seed, tmp_path, [])["import"] == {"floats: near": 1}


def test_a_transpose_beside_a_concat_of_rows(tmp_path):
    """The OPU asks how all readers of a tensor read it, also where it computes one by itself."""
    assert check(30003969, tmp_path, ["opu"])["opu"]["equal"] == 1


def test_random_models_have_every_operator():
    """Except Upsample, which ends with opset 9."""
    seen = set()
    for seed in range(LATER, LATER + 2500):
        seen |= {node.op_type for node in model_of(seed)[1].graph.node}
    assert seen == OPERATORS.keys() - {"Upsample"}


def test_shorter_models_are_the_beginning_of_longer_ones():
    """So that a model that fails can be made smaller."""
    makers = Maker(3), Maker(3)
    for maker, count in zip(makers, (2, 4), strict=True):
        maker.run(count)
    short, long = ([str(node) for node in maker.nodes] for maker in makers)
    assert short and long[: len(short)] == short
