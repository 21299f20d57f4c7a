# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's memory map with on-chip memory: results do not depend on it, and it saves cycles."""

import itertools
from collections import Counter

import numpy as np
import pytest

from quintet.gateware.cores.opentpu.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu import BACKEND, lower, memory_map, schedule
from quintet.tools.compiler.backends.opentpu.codegen.program import Word
from quintet.tools.compiler.backends.opentpu.cost import main_memory
from tests.tools.compiler.networks import NETWORKS, Builder
from tests.tools.compiler.opentpu_networks import (
    differences,
    fused,
    quantised_of,
    run_model,
    whole_inputs,
)

#: Builds on which some tensors go through main memory, and on which none do.
BUILDS = {"ext": {}, "tight": {"ub_rows": 256, "acc_rows": 64, "wfifo_tiles": 1}}
NAMES = ("resnet8", "ds_cnn", "mobilenet", "autoencoder")


def memory_of(border, beat_bytes=4):
    found = {"kind": "SDRAM", "beat_bytes": 2, "size": 1 << 24}
    if border:
        found["on_chip"] = {"size": border, "beat_bytes": beat_bytes}
    return found


def backend_of(border, preset="sim-ext", **overrides):
    params = SPACE.resolve(preset, overrides)
    return BACKEND(params=params, memory_size=1 << 24, memory=memory_of(border))


def network(name, backend, small=True):
    return quantised_of(fused(NETWORKS[name][1 if small else 0](0)), backend)


def spans(lowered):
    """Bytes that must not overlap: (first, behind) of program, constants, inputs and outputs."""
    found = [(lowered.program_at, lowered.program_at + len(lowered.program))]
    found += [(at, at + data.size) for at, data, _ in lowered.constants]
    found += [(at, at + size) for at, size in lowered.zeros]
    found += [(p.layout.first, p.layout.end) for p in lowered.outputs.values()]
    return sorted(found)


@pytest.mark.parametrize("part", [0.2, 0.6])
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", NAMES)
def test_tensors_do_not_depend_on_the_map(name, build, part):
    plain = backend_of(0, **BUILDS[build])
    quantised = network(name, plain)
    border = int(part * plain.lower(quantised).memory) // 64 * 64
    backend = backend_of(border, **BUILDS[build])
    inputs = whole_inputs(quantised.graph)
    wanted = backend.reference(quantised, inputs, keep=True)
    for keep in (False, True):
        lowered = backend.lower(quantised, keep=keep)
        tensors, outcome = run_model(lowered, backend, inputs)
        assert outcome.fault is None
        assert set(quantised.graph.kept()) <= set(tensors)
        for tensor, values in tensors.items():
            assert np.array_equal(values, wanted[tensor]), tensor
        for (_, end), (begin, _) in itertools.pairwise(spans(lowered)):
            assert end <= begin
        assert max(end for _, end in spans(lowered)) <= lowered.memory


@pytest.mark.parametrize("name", NAMES)
def test_runs_one_after_another(name):
    """What a run leaves does not disturb the next one, nor that of the other places."""
    backend = backend_of(4096, **BUILDS["tight"])
    quantised = network(name, backend)
    lowered = backend.lower(quantised)
    copy = backend.buffered_copy(quantised, lowered, memory_map.align(lowered.memory))
    memory = np.random.default_rng(1).integers(
        0, 256, memory_map.align(copy.memory), dtype=np.uint8
    )
    for one in (lowered, copy):
        for at, size in one.zeros:
            memory[at : at + size] = 0
        for at, data, _ in one.constants:
            memory[at : at + data.size] = data
    program = np.frombuffer(lowered.program, np.uint8)
    memory[lowered.program_at : lowered.program_at + program.size] = program
    for number, one in enumerate((lowered, copy, lowered, copy)):
        inputs = whole_inputs(quantised.graph, seed=number)
        for tensor, placed in one.inputs.items():
            placed.layout.write(memory, inputs[tensor].astype(np.int8))
        assert Model(backend.params, memory).run(one.registers).fault is None
        wanted = backend.reference(quantised, inputs)
        for tensor, placed in one.outputs.items():
            assert np.array_equal(placed.layout.read(memory), wanted[tensor]), (number, tensor)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_that_fits_is_placed_as_without(name):
    plain = backend_of(0)
    quantised = network(name, plain)
    one = plain.lower(quantised)
    # The shortest program may be another one where memory is faster.
    other = backend_of(memory_map.align(one.memory)).lower(quantised)
    if other.program == one.program:
        assert other.registers == one.registers
    assert other.memory <= memory_map.align(one.memory)


@pytest.mark.parametrize("name", ["mobilenet", "autoencoder"])
def test_the_map_saves_cycles(name, monkeypatch):
    """Beside the map that has everything one behind another; of an autoencoder, whose tiles are
    all read once and never hidden, it saves nothing."""
    border = 1 << 17
    backend = backend_of(border, "85f-8x8-conv")
    quantised = network(name, backend, small=False)
    better = sum(layer.cycles for layer in backend.lower(quantised).layers)
    monkeypatch.setattr(lower, "maps_of", lambda *given: [memory_map.plain_map(*given)])
    plain = sum(layer.cycles for layer in backend.lower(quantised).layers)
    assert better < plain if name == "mobilenet" else better <= plain


def test_tiles_that_are_read_often_come_first():
    backend = backend_of(2048, **BUILDS["tight"])
    quantised = network("resnet8", backend)
    seen = {}

    def kept(compiled, params, memory, order, last):
        seen[order] = compiled
        return original(compiled, params, memory, order, last)

    original = memory_map._map
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_map, "_map", kept)
        patch.setattr(memory_map, "_SHARES", (0.0,))
        backend.lower(quantised)
    for order, compiled in seen.items():
        uses = {tile: 0 for tile in order}
        for word in compiled.program.words:
            if word.opcode == memory_map.RW:
                uses[word.addr] += 1
        counts = [uses[tile] for tile in order]
        assert counts == sorted(counts, reverse=True) and counts[0] > 1


def words_of(name, border, **overrides):
    backend = backend_of(border, **overrides)
    lowered = backend.lower(network(name, backend))
    return Word.unpack_all(lowered.program)


def test_a_tile_of_several_biases_is_read_once():
    """Each weight of an autoencoder is used once, so no tile is read twice."""
    words = words_of("autoencoder", 2048)
    reads = Counter(word.addr for word in words if word.opcode == memory_map.RW)
    assert set(reads.values()) == {1}
    assert len(reads) < sum(word.mnemonic == "MMC" for word in words)


def test_packed_biases_have_sizes_that_take_the_least_memory(monkeypatch):
    """A size has constant vectors for every position of a map, which the tiles must be worth."""
    backend = backend_of(1 << 16, "85f-16x16-fast", ext_bias=False)
    quantised = network("mobilenet", backend, small=False)
    best = backend.lower(quantised).memory
    original = schedule._packings
    monkeypatch.setattr(schedule, "_packings", lambda *given: original(*given)[:1])
    assert best < backend.lower(quantised).memory


def test_tensors_behind_the_tiles_of_an_array_of_twelve():
    """Vectors of 12 bytes do not begin at the multiple of 64 at which the tiles end."""
    builder = Builder("net", (6, 16, 3))
    builder.conv(6, (3, 3), stride=(1, 2))
    builder.conv(6, (3, 3), groups=6)
    builder.conv(6, (3, 3), groups=6, stride=(1, 2))
    builder.conv(4, (3, 3), stride=(2, 2))
    backend = backend_of(2048, n=12, ub_rows=64, acc_rows=64)
    bad, _, lowered = differences(fused(builder.finish()), backend, keep=False)
    size = lowered.registers["hostmem_limit"] - lowered.registers["hostmem_base"]
    assert not bad and size % 12 == 0
    assert lowered.registers["hostmem_limit"] > lowered.registers["weights_limit"]


def first_layer_and_small_ones(border):
    """Words of a network on chip in part: its first layer has a large map, whose biases are not
    packed; the others have biases of one tile."""
    b = Builder("net", (20, 10, 4))
    b.conv(4, (3, 3))
    b.global_average()
    b.dense(16)
    b.dense(16)
    backend = backend_of(border, ext_bias=False)
    quantised = quantised_of(fused(b.finish()), backend)
    return backend, quantised, backend.lower(quantised)


def loads_until(words, mnemonic, number):
    """Vectors of each RHM in front of the given one of the instructions of a mnemonic."""
    places = [k for k, word in enumerate(words) if word.mnemonic == mnemonic]
    return [word.count for word in words[: places[number]] if word.mnemonic == "RHM"]


def test_constants_of_packed_biases_are_loaded_behind_the_first_layer():
    """The first layer's constants come first, the others behind the loads of its input."""
    backend, quantised, lowered = first_layer_and_small_ones(512)
    words = Word.unpack_all(lowered.program)
    constants = sum(data.size // 4 for _, data, what in lowered.constants if "vectors" in what)
    first = loads_until(words, "MMC", 0)[0]
    assert 0 < first < constants
    later = [word for word in words if word.mnemonic == "RHM" and word.addr == first]
    assert [word.count for word in later] == [constants - first]
    assert words.index(later[0]) > next(k for k, word in enumerate(words) if word.mnemonic == "ACT")


def test_the_first_products_wait_for_few_lines_of_the_input():
    """Four lines of the result, which read five of the input, in one load; without a slow part of
    main memory, all lines that the accumulators hold."""
    pitch, lead = 11, 1
    _, _, lowered = first_layer_and_small_ones(512)
    loads = loads_until(Word.unpack_all(lowered.program), "ACT", 0)
    assert loads[1] == 5 * pitch + lead
    _, _, plain = first_layer_and_small_ones(0)
    assert loads_until(Word.unpack_all(plain.program), "ACT", 0)[1] == 32


def test_neighbouring_blocks_are_activated_together():
    """A change of the shift, before which a CFG stands, separates them."""
    builder = Builder("net", (1, 1, 8))
    builder.conv(48, (1, 1))
    backend = backend_of(256)
    quantised = quantised_of(fused(builder.finish()), backend)
    words = Word.unpack_all(backend.lower(quantised).program)
    results = [word for word in words if word.mnemonic == "WHM"]
    assert sum(word.count for word in results) == 48 // 4
    assert len(results) == sum(word.mnemonic == "CFG" for word in words) < 48 // 4


def test_memory_tells_what_a_request_takes():
    memory = main_memory(memory_of(4096, 16))
    assert memory.cycles(256) == 1.2 + 128 and memory.on_chip.cycles(256) == 16


def test_packed_biases_leave_a_small_unified_buffer_to_the_layers():
    builder = Builder("net", (9, 13, 1))
    builder.conv(24, (3, 3))
    backend = backend_of(1024, "sim", n=8, ub_rows=64, acc_rows=64)
    bad, _, _ = differences(fused(builder.finish()), backend)
    assert not bad
