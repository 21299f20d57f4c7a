# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's memory map with on-chip memory: results do not depend on it, and it saves cycles."""

import itertools
from dataclasses import replace

import pytest

from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.types import type_set
from quintet.tools.compiler.backends.opu import OpuBackend
from quintet.tools.compiler.backends.opu.codegen.emitter import Emitter
from quintet.tools.compiler.backends.opu.codegen.tiles import border_pads
from quintet.tools.compiler.backends.opu.layers import Tensor
from quintet.tools.compiler.backends.opu.schedule import memory_map
from quintet.tools.compiler.backends.opu.schedule.memory import Buffer, Maps, OnChip
from tests.tools.compiler.networks import NETWORKS
from tests.tools.compiler.opu_runs import check, fused, random_inputs, running_part, whole_numbers

NAMES = ("resnet8", "ds_cnn", "mobilenet", "autoencoder")
SDRAM = {"kind": "SDRAM", "beat_bytes": 2, "size": 1 << 25}


def backend_of(border):
    memory = SDRAM | ({"on_chip": {"size": border, "beat_bytes": 16}} if border else {})
    params = SPACE.resolve("85f-p256-fast")
    return OpuBackend(params=params, memory_size=1 << 25, memory=memory)


def network(name, machine, small=True):
    graph = machine.legalise(fused(NETWORKS[name][1 if small else 0](0)))
    return whole_numbers(running_part(graph, machine), machine)


def cycles(lowered):
    return sum(layer.cycles for layer in lowered.layers)


@pytest.mark.parametrize("part", [0.2, 0.6, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_map(name, part):
    plain = backend_of(0)
    quantised = network(name, plain)
    border = int(part * plain.lower(quantised).memory) // 64 * 64
    machine = backend_of(border)
    for keep in (False, True):
        lowered = check(quantised, machine, random_inputs(quantised.graph, 2), keep=keep)
        spans = [(lowered.program_at, lowered.program_at + len(lowered.program))]
        spans += [(at, at + data.size) for at, data, _ in lowered.constants]
        spans += [(p.layout.first, p.layout.end) for p in lowered.outputs.values()]
        for (_, end), (begin, _) in itertools.pairwise(sorted(spans)):
            assert end <= begin


@pytest.mark.parametrize("name", NAMES)
def test_on_chip_memory_saves_cycles(name):
    found = [backend_of(border).lower(network(name, backend_of(0))) for border in (0, 192 << 10)]
    assert cycles(found[1]) < 0.75 * cycles(found[0])


def test_sums_and_tensors_take_the_place_of_what_was_read():
    """In ResNet-8 the first sum lies where its residual did, and another tensor where the input
    did: a second input gives the results that it has alone."""
    machine = backend_of(192 << 10)
    quantised = network("resnet8", machine, small=False)
    lowered = check(quantised, machine, random_inputs(quantised.graph, 2))
    (name,) = lowered.inputs
    assert name not in lowered.tensors
    assert set(lowered.outputs) <= set(lowered.tensors)
    assert lowered.registers["region_base[1]"] == lowered.registers["region_base[2]"] == 0


def test_a_program_without_on_chip_memory_does_not_change():
    plain = OpuBackend(params=SPACE.resolve("85f-p256-fast"), memory_size=1 << 25)
    machine = backend_of(0)
    quantised = network("ds_cnn", plain)
    one, other = plain.lower(quantised), machine.lower(quantised)
    assert (one.program, one.registers, one.memory) == (
        other.program,
        other.registers,
        other.memory,
    )


def test_a_tensor_lies_on_both_sides_of_the_border(monkeypatch):
    machine = backend_of(64 << 10)
    quantised = network("mobilenet", machine)
    layers = machine._layers(quantised, True)[1].network
    largest = max(
        (layer.result for layer in layers.layers[:-1]),
        key=lambda tensor: tensor.height * tensor.width * tensor.maps,
    )
    crossing = []

    def place(network, on_chip):
        buffers = Maps(network, 1, on_chip=on_chip).buffers
        return next(buffer for tensor, buffer in buffers.items() if tensor.name == largest.name)

    def across(network, params, empty, items, share, program):
        # The border lies in the middle of the largest tensor.
        units = place(network, empty).units
        on_chip = replace(
            empty, first=empty.size - 64 * (units // 2), crossing=frozenset((largest.name,))
        )
        buffer = place(network, on_chip)
        crossing.append(buffer.base < on_chip.units < buffer.base + buffer.units)
        yield on_chip

    monkeypatch.setattr(memory_map, "_densest", across)
    check(quantised, machine, random_inputs(quantised.graph, 2))
    assert crossing and all(crossing)


def test_tensors_with_a_border_lie_at_the_end():
    machine = backend_of(192 << 10)
    layers = machine._layers(network("mobilenet", machine), True)[1].network
    names = frozenset(layer.result.name for layer in layers.layers)
    on_chip = OnChip(192 << 10, tensors=names, first=16 << 10)
    buffers = Maps(layers, 1, on_chip=on_chip).buffers
    bordered = [buffer for buffer in buffers.values() if any(buffer.border)]
    assert max(buffer.base + buffer.units for buffer in bordered) == on_chip.units
    assert all(buffer.base >= on_chip.first_unit for buffer in buffers.values())


def test_a_border_stays_zero_while_no_data_are_written_to_it():
    """Of channel blocks that share a map three pads make the border zero. They are emitted once."""
    tensor = Tensor("x", 6, 6, 64, split=True)
    pads = border_pads(Buffer(tensor, 0, images=1, border=(1, 1), slot_units=1), 0, 0)
    assert len(pads) == 3
    emitter = Emitter(type_set({"types": "8-8-16-16"}), 1)
    emitter.clean_inputs(pads)
    written = len(emitter.words)
    emitter.clean_inputs(pads)
    assert len(emitter.words) == written
