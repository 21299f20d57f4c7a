# SPDX-License-Identifier: BSD-2-Clause
"""Layers of any kind and size on every core: each compiles, or its refusal names the largest size
that fits, and the layer of that size compiles."""

import os
import random
import re
from dataclasses import dataclass

import numpy as np
import pytest

from quintet.gateware.cores import open_core
from quintet.tools.compiler import graph as g
from quintet.tools.compiler.backends import backend_names
from quintet.tools.compiler.backends.base import LoweringError
from quintet.tools.compiler.partition import PartitionError
from quintet.tools.compiler.planning import Options, compile_graph, random_calibration
from quintet.tools.compiler.target_build import TargetBuild
from tests.tools.compiler.networks import Builder
from tests.tools.compiler.test_random_networks import PRESETS

#: Weights, and elements of a map, above which a layer takes long to compile.
MOST_WEIGHTS, MOST_ELEMENTS = 100_000, 20_000
#: Elements, likewise, on a core whose scheduler looks at every tile several times, and bytes of
#: main memory for each: programs of a dozen candidates that exceed it by far take long as well.
FEWER_ELEMENTS, BYTES_AN_ELEMENT = {"cherry": 5_000}, 16
#: Multiplications, likewise, and on cores whose programs have words of their own for every position
#: or tap.
MOST_MACS = {"cherry": 1_000_000, "imagine": 1_000_000, "opentpu": 5_000_000}
NAMED = re.compile(r"the largest ([a-z ]+?)(?: with [\d,]+ channels)? that fits is ([\d,]+)")


MEMORY = re.compile(r"takes ([\d,]+) bytes of main memory, there are")
#: Of main memory, by which placeholder numbers may take less than real ones.
MARGIN = 1.25


def windowed(kind, s):
    reach = (s["kernel"] - 1) * s["dilation"] + 1
    b = Builder("net", (s["map"], s["map"], s["channels"]))
    if reach > s["map"]:
        return None
    groups = s["channels"] if kind == "depthwise" else 1
    b.conv(
        groups if kind == "depthwise" else s["outputs"],
        (s["kernel"], s["kernel"]),
        stride=(s["stride"], s["stride"]),
        padding=(0, 0, 0, 0),
        dilation=(s["dilation"], s["dilation"]),
        groups=groups,
    )
    return b


def pooled(kind, s):
    side = s["map"]
    window = s.get("window", side)
    if window > side:
        return None
    b = Builder("net", (side, side, s["channels"]))
    stride = s.get("stride", 1)
    b.add(kind, window=(window, window), stride=(stride, stride))
    return b


def signal(add, s):
    """A layer along the columns of a map of one row; ``None`` if its window exceeds it."""
    if (s["window"] - 1) * s.get("dilation", 1) >= s["length"]:
        return None
    b = Builder("net", (1, s["length"], s["channels"]))
    window, stride, dilation = ((1, s.get(name, 1)) for name in ("window", "stride", "dilation"))
    if add == "conv":
        b.conv(s["outputs"], window, stride=stride, padding=(0, 0, 0, 0), dilation=dilation)
    else:
        b.add(add, window=window, stride=stride)
    return b


def dense(s):
    b = Builder("net", (s["inputs"],))
    b.dense(s["outputs"])
    return b


def stepwise(s):
    b = Builder("net", (s["sequence"], s["inputs"]))
    b.dense(s["outputs"], steps=True)
    return b


def product(turned, s):
    b = Builder("net", (s["rows"], s["inner"]))
    other = (s["columns"], s["inner"]) if turned else (s["inner"], s["columns"])
    b.add(g.MatMul, "input_0", b.input(other), turned=turned)
    return b


def of_rows(kind, s):
    b = Builder("net", (s["sequence"], s["row"]))
    if kind is g.LayerNorm:
        b.add(kind, scale=np.ones(s["row"]), shift=np.zeros(s["row"]))
    else:
        b.add(kind)
    # The host may do what stands last.
    b.dense(2, steps=True)
    return b


def of_map(add, s):
    b = Builder("net", (s["rows"], s["columns"], s["channels"]))
    add(b)
    return b


def recurrent(kind, s):
    b = Builder("net", (s["sequence"], s["features"]))
    getattr(b, kind)(s["states"], last=True)
    return b


@dataclass(frozen=True)
class Layer:
    """A kind of layer: the function that builds it from its sizes, and the greatest of these."""

    build: object
    most: dict


CONV = {"map": 40, "kernel": 30, "channels": 400, "stride": 9, "dilation": 18}
LAYERS = {
    "conv": Layer(lambda s: windowed("conv", s), CONV | {"outputs": 300}),
    "depthwise": Layer(lambda s: windowed("depthwise", s), CONV),
    "max": Layer(
        lambda s: pooled(g.MaxPool, s), {"map": 60, "window": 40, "channels": 400, "stride": 9}
    ),
    "global max": Layer(lambda s: pooled(g.MaxPool, s), {"map": 60, "channels": 400}),
    "average": Layer(
        lambda s: pooled(g.AveragePool, s), {"map": 60, "window": 20, "channels": 300, "stride": 9}
    ),
    "global average": Layer(lambda s: pooled(g.AveragePool, s), {"map": 60, "channels": 400}),
    "signal": Layer(
        lambda s: signal("conv", s),
        {
            "length": 20_000,
            "window": 300,
            "channels": 20,
            "outputs": 20,
            "stride": 40,
            "dilation": 300,
        },
    ),
    "signal's max": Layer(
        lambda s: signal(g.MaxPool, s),
        {"length": 20_000, "window": 100, "channels": 20, "stride": 40},
    ),
    "signal's average": Layer(
        lambda s: signal(g.AveragePool, s),
        {"length": 20_000, "window": 20_000, "channels": 20, "stride": 40},
    ),
    "dense": Layer(dense, {"inputs": 20_000, "outputs": 5_000}),
    "product": Layer(lambda s: product(False, s), {"inner": 4000, "rows": 60, "columns": 60}),
    "turned product": Layer(lambda s: product(True, s), {"inner": 1000, "rows": 60, "columns": 60}),
    "softmax": Layer(lambda s: of_rows(g.Softmax, s), {"sequence": 40, "row": 4000}),
    "layer norm": Layer(lambda s: of_rows(g.LayerNorm, s), {"sequence": 40, "row": 4000}),
    "dense of steps": Layer(
        lambda s: stepwise(s), {"sequence": 200, "inputs": 1500, "outputs": 400}
    ),
    "residual": Layer(
        lambda s: of_map(lambda b: b.add(g.Binary, b.here, b.act("relu"), function="add"), s),
        {"rows": 60, "columns": 60, "channels": 400},
    ),
    "transpose": Layer(
        lambda s: of_map(
            lambda b: b.act("relu", b.add(g.Transpose, b.act("relu"), order=(1, 0, 2))), s
        ),
        {"rows": 60, "columns": 60, "channels": 300},
    ),
    "lstm": Layer(
        lambda s: recurrent("lstm", s), {"sequence": 80, "features": 1500, "states": 150}
    ),
    "gru": Layer(lambda s: recurrent("gru", s), {"sequence": 20, "features": 1500, "states": 150}),
}
#: Cores that refuse no layer for its size, but where main memory ends.
UNLIMITED = {"cherry", "imagine", "opentpu", "opu", "pim"}
#: Name of a dimension in a message -> that of a size, where they differ.
SIZES = {
    "number of channels": "channels",
    "number of groups": "channels",
    "number of columns": "columns",
    "number of rows": "rows",
    "number of outputs": "outputs",
    "number of inputs": "inputs",
    "number of summed elements": "inner",
    "number of features": "features",
    "number of states": "states",
}
#: The same of layers on maps of one row.
SIGNAL_SIZES = SIZES | {"number of columns": "length", "kernel": "window"}


#: Builds of OpenTPU with small buffers and little main memory: preset, parameters, bytes.
SMALL = {
    "small buffers": ("sim-ext", {"ub_rows": 64, "acc_rows": 64}, 1 << 25),
    "little memory": ("sim", {"ub_rows": 256}, 1 << 16),
    "iCE40": ("hx8k-4x4-mini", {}, 12 << 10),
}
#: Core -> preset, and values of parameters that are drawn: builds whose buffers hold few tiles of
#: their array, or not one.
DRAWN = {
    "opentpu": (
        "sim-ext",
        {
            "n": (4, 8, 20, 32, 36),
            "ub_rows": (64, 64, 128),
            "acc_rows": (64, 64, 128),
            "wfifo_tiles": (1, 2),
            "ext_conv": (False, True),
            "ext_pool": (False, True),
        },
    ),
    "pim": (
        "25f",
        {
            "cores": (1, 2),
            "xb_rows": (16, 64, 256),
            "xb_cols": (16, 64, 256),
            "arrays": (1, 4, 64),
            "lmem_bytes": (1024, 1024, 2048),
            # With 16 there are no products of tensors, functions of rows or recurrent layers.
            "max_biw": (16, 32, 32),
        },
    ),
}


def build_of(isa, preset=None, params=None, memory=1 << 25):
    preset = preset or PRESETS[isa]
    resolved = open_core(isa).params.SPACE.resolve(preset, params or {})
    return TargetBuild(isa, preset, resolved, memory, None, None, f"model:{isa}")


def drawn_build(isa, chance):
    """A small build of a core, of random parameters."""
    preset, values = DRAWN[isa]
    return build_of(isa, preset, {name: chance.choice(some) for name, some in values.items()})


def multiplications(graph, node):
    """Those of a node; an average has one for each element of a window."""
    if isinstance(node, g.AveragePool):
        return graph.tensors[node.output].size * node.window[0] * node.window[1]
    return graph.macs(node)


def network(kind, sizes, build):
    """The layer as a network; ``None`` if it has no such sizes, or too many elements."""
    graph = LAYERS[kind].build(sizes)
    if graph is None:
        return None
    graph = graph.finish()
    weights = sum(np.size(getattr(node, "weights", ())) for node in graph.nodes)
    elements = max(tensor.size for tensor in graph.tensors.values())
    macs = sum(multiplications(graph, node) for node in graph.nodes)
    most = FEWER_ELEMENTS.get(build.isa, MOST_ELEMENTS)
    small = weights <= MOST_WEIGHTS and elements <= min(most, build.memory_size // BYTES_AN_ELEMENT)
    return graph if small and macs <= MOST_MACS.get(build.isa, macs) else None


def drawn(kind, chance, build):
    """Random sizes of a layer, each of any order of magnitude."""
    while True:
        sizes = {name: round(most ** chance.random()) for name, most in LAYERS[kind].most.items()}
        if network(kind, sizes, build) is not None:
            return sizes


def refusal(graph, build):
    """Text of the refusal of a network, empty if it compiles."""
    try:
        compile_graph(graph, build, random_calibration(graph, 1), Options(dry=True))
    except (PartitionError, LoweringError) as error:
        return str(error)
    return ""


def check(kind, sizes, build):
    """Whether a layer compiles; if it does not, and not for what it is, the largest one does."""
    text = refusal(network(kind, sizes, build), build)
    if not text:
        return True
    least = dict.fromkeys(sizes, 1) | ({"channels": 2} if kind == "depthwise" else {})
    if refusal(network(kind, least, build), build) or "expected dense layers" in text:
        return False  # the core has no such layer
    assert build.isa not in UNLIMITED or "bytes of main memory" in text, (kind, sizes, text)
    named = NAMED.search(text)
    assert named, (kind, sizes, text)
    what, size = named[1], int(named[2].replace(",", ""))
    name = (SIGNAL_SIZES if kind.startswith("signal") else SIZES).get(what, what)
    assert size < sizes[name], (kind, sizes, text)
    smaller = {**sizes, name: size}
    if name in ("map", "length"):
        for window in {"window", "kernel"} & sizes.keys():
            smaller[window] = min(sizes[window], size)
    again = refusal(LAYERS[kind].build(smaller).finish(), build)
    needed = MEMORY.search(again)
    if needed:
        # The largest is found with placeholder numbers; biases of real ones may take more.
        again = int(needed[1].replace(",", "")) > MARGIN * build.memory_size
    assert not again, (kind, sizes, text)
    return False


def campaign(build, count, first):
    taken, isa = 0, build.isa
    for number in range(first, first + count):
        for kind in LAYERS:
            sizes = drawn(kind, random.Random(f"{isa} {kind} {number}"), build)
            taken += check(kind, sizes, build)
    return taken


@pytest.mark.parametrize("isa", backend_names())
def test_a_layer_compiles_or_its_refusal_names_the_largest(isa):
    assert campaign(build_of(isa), 3, 0)


@pytest.mark.parametrize("name", SMALL)
def test_a_layer_of_a_small_opentpu_compiles_or_its_refusal_names_the_largest(name):
    assert campaign(build_of("opentpu", *SMALL[name]), 3, 0)


@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense", "max", "average", "residual"])
def test_no_layer_of_opentpu_is_refused_for_its_buffers(kind):
    build = build_of("opentpu", *SMALL["small buffers"])
    for number in range(3):
        sizes = drawn(kind, random.Random(f"{kind} {number}"), build)
        assert not refusal(network(kind, sizes, build), build), sizes


def campaign_of_builds(isa, count, first):
    """Counts of layers that compile on small builds, each drawn for itself."""
    taken = 0
    for number in range(first, first + count):
        for kind in LAYERS:
            chance = random.Random(f"build {isa} {kind} {number}")
            build = drawn_build(isa, chance)
            taken += check(kind, drawn(kind, chance, build), build)
    return taken


@pytest.mark.parametrize(
    "isa, params, kind",
    [
        # Neither buffer holds three tiles.
        ("opentpu", {"n": 32, "ub_rows": 64, "acc_rows": 64}, "turned product"),
        # Local memory holds fewer inputs than the arrays.
        ("pim", {"arrays": 64, "lmem_bytes": 1024}, "dense"),
    ],
    ids=["opentpu", "pim"],
)
def test_no_layer_of_a_tight_build_is_refused_for_its_size(isa, params, kind):
    build = build_of(isa, DRAWN[isa][0], params)
    for number in range(3):
        sizes = drawn(kind, random.Random(f"{kind} {number}"), build)
        assert not refusal(network(kind, sizes, build), build), sizes


@pytest.mark.long
@pytest.mark.parametrize("isa", DRAWN)
def test_many_layers_of_random_small_builds_compile_or_their_refusals_name_the_largest(isa):
    begin = int(os.environ.get("QUINTET_SEED", 1))
    print(isa, campaign_of_builds(isa, 8, 1000 * begin))


@pytest.mark.long
@pytest.mark.parametrize("isa", backend_names())
def test_many_layers_compile_or_their_refusals_name_the_largest(isa):
    begin = int(os.environ.get("QUINTET_SEED", 1))
    print(isa, campaign(build_of(isa), 40, 1000 * begin))


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_many_layers_of_a_small_opentpu_compile_or_their_refusals_name_the_largest(name):
    begin = int(os.environ.get("QUINTET_SEED", 1))
    print(name, campaign(build_of("opentpu", *SMALL[name]), 40, 1000 * begin))
