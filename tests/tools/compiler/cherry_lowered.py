# SPDX-License-Identifier: BSD-2-Clause
"""Runs networks lowered for Cherry on its golden model, which looks for races and broken promises
of double buffering."""

import numpy as np

from quintet.gateware.cores.cherry.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.tools.compiler.backends.cherry import Cherry
from quintet.tools.compiler.quantised import Quantised
from tests.tools.compiler.networks import inputs_of

__all__ = ["MEMORY", "backend", "bits", "check", "lowered", "run_lowered"]

MEMORY = 1 << 22


def backend(preset="85f", memory=MEMORY, **sizes):
    return Cherry(params=SPACE.resolve(preset, sizes), memory_size=memory)


def lowered(graph, keep=False, preset="85f", **sizes):
    return backend(preset, **sizes).lower(Quantised(graph=graph), keep=keep)


def run_lowered(program, inputs, params, shuffle=None):
    """Tensor -> array, of all that is there after a run on ``inputs`` (one of each)."""
    model = Model(params, np.zeros(MEMORY, np.uint8), shuffle=shuffle)
    model.mem[:] = 0x1FF00  # nothing may depend on what the scratchpad held
    for address, data, _ in program.constants:
        model.memory[address : address + data.size] = data
    model.memory[program.program_at : program.program_at + len(program.program)] = np.frombuffer(
        program.program, np.uint8
    )
    for name, placed in program.inputs.items():
        placed.layout.write(model.memory, inputs[name])
    outcome = model.run(program.registers)
    assert outcome.status == "done", outcome
    return {name: placed.layout.read(model.memory) for name, placed in program.tensors.items()}


def bits(array):
    """Patterns, every NaN the same."""
    return np.where(np.isnan(array), 0x7FC00000, np.asarray(array, np.float32).view(np.uint32))


def check(graph, keep=False, preset="85f", shuffle=None, **sizes):
    """Asserts that reference and golden model give the same bits for every tensor; the lowered
    program and the reference's tensors."""
    side = backend(preset, **sizes)
    inputs = {name: values.astype(np.float32) for name, values in inputs_of(graph, 1).items()}
    program = side.lower(Quantised(graph=graph), keep=keep)
    wanted = side.reference(Quantised(graph=graph), inputs, keep=keep)
    found = run_lowered(program, inputs, side.params, shuffle)
    assert {port.tensor for port in graph.outputs} <= set(wanted)
    if keep:
        assert set(wanted) >= {node.output for node in graph.nodes}
    for name, values in wanted.items():
        assert found[name].shape == values.shape, name
        different = np.argwhere(bits(found[name]) != bits(values))
        assert not len(different), (name, different[:3])
    return program, wanted
