# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the OPU's layers: text, order of instructions, borders, estimates, and what a build
refuses."""

from dataclasses import replace

import numpy as np
import pytest

from quintet.gateware.cores.opu.isa import ISA
from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.codegen.tiles import Area
from quintet.tools.compiler.backends.opu.cost import SDRAM, Timing, estimate
from quintet.tools.compiler.backends.opu.layers import Network
from quintet.tools.compiler.backends.opu.reference import run_network
from quintet.tools.compiler.backends.opu.schedule.tiling import Tiling
from quintet.tools.compiler.common.inputs import KernelError
from tests.support.opu_layers import build, check, random_values, random_weights


def chain(layers=3, side=16, channels=16, residual=False):
    """Convolutions of 3x3 taps one after the other."""
    rng = np.random.default_rng(1)
    network = Network()
    x = network.input("x", (side, side, channels))
    for k in range(layers):
        weights = random_weights(rng, channels, channels, 3, 3, most=20)
        after = {"act": "relu", "residual": x if residual else None}
        x = network.conv(f"l{k}", x, weights, shift=7, padding=(1, 1, 1, 1), **after)
    return network


def mnemonics(compiled):
    return [ISA.decode(word).instruction.mnemonic for word in compiled.words]


def loads_and_stores(compiled):
    return [name for name in mnemonics(compiled) if name in ("ld.ifm", "store")]


def layers_of(compiled):
    return [span.name for span in compiled.spans]


def test_text_assembles_to_the_same_words():
    compiled = compile_network(chain(), build())
    assert assemble_text(SOFTWARE, compiled.text).data == compiled.data
    assert layers_of(compiled) == ["l0", "l1", "l2"]
    assert "# l1" in compiled.text


# Order of instructions


def test_unscheduled_pads_after_every_layer():
    compiled = compile_network(chain(), build(), schedule=False)
    names = mnemonics(compiled)
    assert names.count("pad") == 2  # the last map has no border
    assert all(names[i - 1] == "store" for i, name in enumerate(names) if name == "pad")
    assert names.count("store") == names.count("ld.ifm") == 3


def test_scheduled_loads_stand_before_the_store_of_the_tile_before():
    tilings = {f"l{k}": Tiling(4, 16, 9) for k in range(3)}
    compiled = compile_network(chain(), build(), tilings=tilings)
    # 12 tiles; every one but the first is loaded before the store of the one before it.
    assert loads_and_stores(compiled) == ["ld.ifm"] + ["ld.ifm", "store"] * 11 + ["store"]
    # The third layer's result lies where the first one's map with its zero border was, if it needs
    # a border at all.
    assert mnemonics(compiled).count("pad") == 2


def split_chain(*kinds):
    """Layers of 64 channels in blocks of 16, on maps of 8x8: "wise" depthwise with 3x3 taps, or
    "point" with one."""
    rng, network = np.random.default_rng(9), Network()
    x = network.input("x", (8, 8, 64), split=True)
    for index, kind in enumerate(kinds):
        inner, taps = (1, 3) if kind == "wise" else (64, 1)
        weights = random_weights(rng, 64, inner, taps, taps, most=60)
        around = {"groups": 64 // inner, "padding": (taps // 2,) * 4, "shift": 7, "split": True}
        x = network.conv(f"l{index}", x, weights, **around)
    return network


def test_a_load_stands_before_a_store_to_other_channel_blocks_of_its_map():
    network = split_chain("wise", "wise")
    tilings = {f"l{k}": Tiling(8, 8, 9) for k in range(2)}
    values = random_values(np.random.default_rng(10), network)
    compiled, _ = check(network, build(), values, tilings=tilings)
    assert loads_and_stores(compiled) == ["ld.ifm"] + ["ld.ifm", "store"] * 7 + ["store"]


def test_a_kernel_stands_before_the_store_that_its_feature_map_waits_for():
    network = split_chain("wise", "point")
    tilings = {"l0": Tiling(8, 8, 9), "l1": Tiling(8, 8, 4)}
    values = random_values(np.random.default_rng(11), network)
    compiled, _ = check(network, build(), values, tilings=tilings)
    names = [name for name in mnemonics(compiled) if name in ("ld.ifm", "ld.ker", "store")]
    last = [i for i, name in enumerate(names) if name == "store"][3]  # of the first layer
    assert names[last - 1 : last + 2] == ["ld.ker", "store", "ld.ifm"]


@pytest.mark.parametrize("joint, loads", [(False, 8), (True, 1)])
def test_one_load_brings_the_kernels_of_all_output_channels(joint, loads):
    network = split_chain("point")
    tilings = {"l0": Tiling(4, 8, 4, kernel_first=False, joint=joint)}
    values = random_values(np.random.default_rng(12), network)
    compiled, _ = check(network, build(), values, tilings=tilings)
    assert mnemonics(compiled).count("ld.ker") == loads
    assert mnemonics(compiled).count("ld.ifm") == 2
    assert compiled.constants.size == 64 * 64


@pytest.mark.parametrize(
    "channels, taps",
    [
        pytest.param(64, 2, id="more taps than a load brings"),
        pytest.param(40, 1, id="blocks of different size"),
    ],
)
def test_kernels_that_one_load_cannot_bring_are_loaded_one_by_one(channels, taps):
    rng, network = np.random.default_rng(13), Network()
    x = network.input("x", (4, 4, 64), split=True)
    weights = random_weights(rng, channels, 64, taps, taps, most=60)
    network.conv("l0", x, weights, shift=8, split=True)
    tilings = {"l0": Tiling(2, 4, 36, kernel_first=False, joint=True)}
    values = random_values(rng, network)
    compiled, _ = check(network, build(), values, tilings=tilings)
    assert mnemonics(compiled).count("ld.ker") > 1


def test_loads_of_a_tall_window_have_one_size_and_share_a_kernel():
    network = Network()
    x = network.input("x", (25, 5, 64))
    network.conv("l0", x, None, taps=(25, 5), identity=1, shift=4)
    values = random_values(np.random.default_rng(14), network)
    compiled, _ = check(network, build(), values)
    names = mnemonics(compiled)
    assert [names.count(name) for name in ("@shape.ifm", "ld.ifm", "ld.ker")] == [1, 2, 1]


def test_areas_overlap_if_both_have_a_unit():
    rng = np.random.default_rng(15)

    def units(area):
        return {
            area.at + row * area.pitch + k for row in range(area.rows) for k in range(area.size)
        }

    found = set()
    for _ in range(2000):
        areas = [
            Area(*(int(n) for n in rng.integers((0, 1, 1, 1), (30, 6, 6, 12)))) for _ in range(2)
        ]
        both = bool(units(areas[0]) & units(areas[1]))
        assert areas[0].overlaps(areas[1]) == areas[1].overlaps(areas[0]) == both, areas
        found.add(both)
    assert found == {False, True}
    assert not Area(5, 2, 3, 4).overlaps(Area(0, 0, 0, 1))


def test_with_a_residual_the_next_tile_is_loaded_after_the_store():
    tilings = {f"l{k}": Tiling(4, 16, 9) for k in range(2)}
    compiled = compile_network(chain(2, residual=True), build(), tilings=tilings)
    assert loads_and_stores(compiled) == ["ld.ifm", "ld.ifm", "store"] * 8


def test_scheduling_saves_cycles_and_changes_no_result():
    network = chain(4, 24, 16, residual=True)
    params = build("85f-p64")
    values = random_values(np.random.default_rng(3), network)
    plain, _ = check(network, params, values, schedule=False)
    quick, _ = check(network, params, values)
    assert estimate(quick.words, params).cycles < 0.93 * estimate(plain.words, params).cycles


def block(side=16, stride=2, padding=1, swapped=False):
    """Two layers on one source: 3x3 taps, and a shortcut of 1x1."""
    rng = np.random.default_rng(2)
    network = Network()
    x = network.input("x", (side, side, 16))
    options = {"shift": 8, "stride": (stride, stride)}

    def a():
        bias = random_weights(rng, 32, most=900)
        weights, around = random_weights(rng, 32, 16, 3, 3), (padding,) * 4
        network.conv(
            "a", x, weights, bias=bias, bias_shift=3, act="relu", padding=around, **options
        )

    def b():
        weights, around = random_weights(rng, 32, 16, 1, 1), (padding - 1,) * 4
        network.conv("b", x, weights, padding=around, **options)

    for make in (b, a) if swapped else (a, b):
        make()
    network.outputs = [layer.result for layer in network.layers]
    return network


def test_two_layers_of_one_source_share_their_tiles():
    params, network = build("85f-p64"), block()
    values = random_values(np.random.default_rng(4), network)
    plain = {name: Tiling(2, 8, 36) for name in "ab"}
    shared = {name: Tiling(2, 8, 36, with_next=True) for name in "ab"}
    alone, _ = check(network, params, values, tilings=plain)
    both, _ = check(network, params, values, tilings={**plain, "a": shared["a"]})
    assert mnemonics(alone).count("ld.ifm") == 8 and mnemonics(both).count("ld.ifm") == 4
    assert mnemonics(both).count("ld.ker") == 1 and layers_of(both) == ["b and a"]
    # Layer after layer nothing is shared, nor where the second window leaves the first one's.
    apart = compile_network(network, params, schedule=False, tilings={"a": shared["a"]})
    assert layers_of(apart) == ["a", "b"]
    wide = block(side=14, stride=1, swapped=True)
    assert layers_of(compile_network(wide, params, tilings={"b": shared["b"]})) == ["b", "a"]


# Borders


def test_a_border_that_stays_zero_is_padded_once():
    deep = compile_network(chain(8), build())
    assert mnemonics(deep).count("pad") == 2 and len(deep.spans) == 8
    assert mnemonics(compile_network(chain(8), build(), schedule=False)).count("pad") == 7


def test_a_result_with_a_border():
    network = chain(1)
    (result,) = network.results()
    network.borders[result] = 2
    values = random_values(np.random.default_rng(1), network)
    for schedule in (False, True):
        compiled, _ = check(network, build(), values, schedule=schedule)
        buffer = compiled.buffers[result]
        assert mnemonics(compiled).count("pad") == 1 and (buffer.mem_h, buffer.mem_w) == (20, 20)


def depthwise_chain():
    """Three depthwise convolutions on tensors in channel blocks of 16."""
    rng, network = np.random.default_rng(6), Network()
    x = network.input("x", (7, 7, 64), split=True)
    for index in range(3):
        weights = random_weights(rng, 64, 1, 3, 3, most=100)
        options = {"groups": 64, "padding": (1, 1, 1, 1), "split": True}
        x = network.conv(f"y{index}", x, weights, shift=7, **options)
    return network


def run_again_and_again(network, compiled, tensors):
    """Runs a program three times in one memory; ``tensors`` are those of plain numpy each time."""
    memory = np.zeros(compiled.memory_size, np.uint8)
    for seed in range(3):
        values = random_values(np.random.default_rng(seed), network)
        if seed == 0:
            memory = compiled.image(values)
        for tensor in network.inputs:
            compiled.layout(tensor).write(memory, values[tensor.name])
        assert Model(build(), memory).run(compiled.all_registers).status == "done"
        for tensor, expected in run_network(network, values, tensors).items():
            if tensor in tensors:
                assert np.array_equal(compiled.layout(tensor).read(memory), expected), tensor.name


def test_borders_that_stay_zero_are_not_made_zero():
    network = depthwise_chain()
    compiled = compile_network(network, build(), separate=True, zeroed=True)
    padded = compile_network(network, build(), separate=True)
    assert "pad" not in compiled.text and "pad" in padded.text
    run_again_and_again(network, compiled, [layer.result for layer in network.layers])


def test_borders_that_a_run_writes_to_are_made_zero_again():
    """Memory that is used again for maps without a border: the next run finds no zeros there."""
    rng = np.random.default_rng(7)
    network = Network()
    x = network.input("x", (9, 9, 20))
    for index, taps in enumerate((3, 3, 1, 1, 1)):
        weights = random_weights(rng, 20, 20, taps, taps, most=60)
        x = network.conv(f"y{index}", x, weights, shift=8, padding=(taps // 2,) * 4)
    compiled = compile_network(network, build(), zeroed=True)
    assert "pad" in compiled.text
    run_again_and_again(network, compiled, [x])


def test_layers_of_one_shape_with_other_channels_in_memory_have_tiles_of_their_own():
    """The first one's tiles exceed ``ofm`` with the 64 channels in each slot of the second."""
    params = build(po=2, ofm_lines=1024, ofm_banks=1)
    network = Network()
    x = network.input("x", (6, 7, 2))
    network.identity("narrow", x)
    network.identity("full", x, full=True)
    compiled = compile_network(network, params)
    image = compiled.image({"x": np.ones((1, 6, 7, 2), np.int64)})
    outcome = Model(params, image).run({"window_limit": image.size, **compiled.all_registers})
    assert outcome.status == "done", outcome.fault


# Estimates


def test_estimate():
    params = build("85f-p64")
    compiled = compile_network(chain(1, 14, 64), params, schedule=False)
    found = estimate(compiled.words, params, marks=[span.end for span in compiled.spans])
    steps = 9 * 14 * 14 * 4 * 16
    assert found.work == steps and steps < found.cycles < 1.3 * steps
    assert found.marks[0] <= found.cycles
    slow = estimate(compiled.words, params, Timing(rate=0.5))
    assert slow.cycles > found.cycles and slow.work == steps
    serial = build("85f-p64", ifm_banks=1, ofm_banks=1)
    many = compile_network(chain(3, 32, 16), params)
    assert estimate(many.words, serial).cycles > estimate(many.words, params).cycles


def test_an_estimate_that_ends_early_is_not_below_its_bound():
    """Else a search takes the beginning of a slow program for a quick one."""
    compiled, dear = compile_network(chain(), build()), replace(SDRAM, fetch=50)
    full = estimate(compiled.words, build(), dear).cycles
    for most in range(0, full, full // 40):
        assert most <= estimate(compiled.words, build(), dear, most=most).cycles <= full


def test_pages_and_fetches_cost_cycles():
    compiled = compile_network(depthwise_chain(), build())
    plain = estimate(compiled.words, build(), SDRAM)
    for name in ("page", "fetch", "slot", "gap", "settle", "turn"):
        dear = replace(SDRAM, **{name: 5000})
        assert estimate(compiled.words, build(), dear).cycles > plain.cycles


def test_comparing_a_layer_with_its_neighbours_gives_a_program_as_good():
    rng = np.random.default_rng(8)
    network = Network()
    x = network.input("x", (24, 24, 16))
    for index in range(3):
        weights = random_weights(rng, 16 << index, x.channels, 3, 3)
        x = network.conv(f"y{index}", x, weights, shift=8, padding=(1, 1, 1, 1))
    cycles = []
    for local in (False, True):
        compiled = compile_network(network, build(), local=local, timing=SDRAM)
        cycles.append(estimate(compiled.words, build(), SDRAM).cycles)
    assert cycles[1] <= cycles[0]


# Refusals


def ones(side=8, channels=64, out=64, taps=(3, 3), **options):
    """A network of one convolution with weights of one."""
    network = Network()
    x = network.input("x", (side, side, channels))
    network.conv("y", x, np.ones((out, channels, *taps), int), shift=7, **options)
    return network


@pytest.mark.parametrize(
    "network, params, options, message",
    [
        (
            ones(taps=(3, 5)),
            build("hx8k", ifm_lines=16),
            {},
            r"layer y: one result needs ifm \[1, 5, 64\] and ofm .*; this build has ifm_lines = 16",
        ),
        (
            ones(),
            build("hx8k", ker_rows=128),
            {},
            "layer y: one tap of 64 to 64 channels takes 256 rows of kernel memory, this build has "
            "ker_rows = 128",
        ),
        (
            ones(),
            build(types="16-16-32-32"),
            {},
            "the network is for types 8-8-16-16, the build has 16-16-32-32",
        ),
        (
            ones(),
            build(),
            {"memory": 4096},
            r"the program takes [\d,]+ bytes of main memory .*, there are 4,096",
        ),
        (Network(), build(), {}, "the network has no layer"),
        (
            ones(),
            build(),
            {"tilings": {"z": Tiling(1, 1, 1)}},
            "tilings: no layer 'z'",
        ),
        (
            ones(side=60, out=4, padding=(1, 1, 1, 1)),
            build("up5k"),
            {"tilings": {"y": Tiling(1000, 1000, 9)}},
            r"tilings: layer y: 60 x 60 results need ifm \[62, 62, 64\] and ofm \[60, 60, 4\]; "
            r"this build has ifm_lines = 1024, ofm_lines = 16384",
        ),
    ],
    ids=["window", "tap", "types", "memory", "empty", "unknown layer", "tiling"],
)
def test_builds_refuse(network, params, options, message):
    with pytest.raises(KernelError, match=message):
        compile_network(network, params, **options)


def test_rows_of_taps_are_loaded_one_by_one_where_a_window_does_not_fit():
    network, params = ones(), build("hx8k", ifm_lines=16)
    check(network, params, random_values(np.random.default_rng(0), network))
