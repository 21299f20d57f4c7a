# SPDX-License-Identifier: BSD-2-Clause
"""Whole-number networks for the tests of OpenTPU's back end, and their runs on the golden model."""

import numpy as np

from quintet.gateware.cores.opentpu.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu import BACKEND
from quintet.tools.compiler.backends.opentpu.arithmetic import wired_norm
from quintet.tools.compiler.graph import (
    AveragePool,
    Binary,
    Conv,
    Dense,
    Graph,
    MatMul,
    Softmax,
)
from quintet.tools.compiler.quantised import Integer, Quantised, Scale
from tests.tools.compiler.machine import pruned

__all__ = ["backend_of", "differences", "fused", "quantised_of", "run_model", "whole_inputs"]


def backend_of(preset="sim-ext", memory_size=1 << 24, **overrides):
    return BACKEND(params=SPACE.resolve(preset, overrides), memory_size=memory_size)


def fused(graph):
    """The graph with each relu that alone reads a layer's result put into the layer, and without a
    softmax at its end."""
    result, tensors = (
        Graph(graph.name, list(graph.inputs), list(graph.outputs), [], dict(graph.tensors)),
        {},
    )
    for node in graph.nodes:
        node.inputs = [tensors.get(name, name) for name in node.inputs]
        before = result.maker(node.inputs[0])
        if isinstance(node, Softmax) and node.output in graph.kept():
            result.outputs = [
                type(p)(p.name, node.inputs[0], p.order, p.shape) for p in graph.outputs
            ]
        elif (
            node.kind == "activation"
            and node.function == "relu"
            and isinstance(before, Conv | Dense | Binary)
            and before.activation is None
            and len(graph.readers(before.output)) == 1
            and before.output not in graph.kept()
        ):
            before.activation, before.output = node, node.output
        else:
            result.nodes.append(node)
    return result


def quantised_of(graph, backend, seed=0):
    """Random whole numbers for a legalised graph: shifts such that results use their byte, biases
    to match; without ext_norm the shift that the build has."""
    random, n = np.random.default_rng(seed), backend.params["n"]
    norm = wired_norm(backend.params)
    legalised = backend.legalise(graph)
    result = Quantised(
        graph=legalised,
        scales={name: Scale(0.05, 8) for name, t in legalised.tensors.items() if t.data is None},
    )
    for node in legalised.nodes:
        if isinstance(node, Binary | AveragePool):
            result.scales[node.output] = Scale(0.05 * random.uniform(0.4, 2.0), 8)
    for node in legalised.nodes:
        if isinstance(node, Conv | Dense):
            out, terms = len(node.weights), int(np.prod(node.weights.shape[1:]))
            weights = np.where(
                node.weights == 0, 0, random.integers(-128, 128, node.weights.shape)
            ).astype(np.int64)
            weights = pruned(random, weights)
            usual = max(0, int(np.log2(70 * 20 * np.sqrt(terms) / 30)))
            shift = np.repeat(random.integers(max(0, usual - 1), usual + 2, -(-out // n)), n)[:out]
            if norm is not None:
                shift = np.full(out, norm.shift)
            bias = None if node.bias is None else random.integers(-40 << usual, 41 << usual, out)
            result.layers[node.name] = Integer(
                weights=weights, bias=bias, shift=shift, bias_shift=np.zeros(out, np.int64)
            )
        elif isinstance(node, Binary) and seed % 3:
            result.layers[node.name] = Integer(
                weights=random.integers(20, 128, 2),
                bias=None,
                shift=np.array([6]),
                bias_shift=np.array([0]),
            )
        elif isinstance(node, MatMul):
            usual = max(0, int(np.log2(70 * np.sqrt(legalised.shape(node.inputs[0])[-1]))))
            result.layers[node.name] = Integer(
                weights=np.ones(1, np.int64),
                bias=None,
                shift=np.array([usual]),
                bias_shift=np.array([0]),
            )
        elif isinstance(node, AveragePool) and seed % 2:
            result.layers[node.name] = Integer(
                weights=random.integers(64, 128, 1),
                bias=None,
                bias_shift=np.array([0]),
                shift=np.array([6 + (node.window[0] * node.window[1] - 1).bit_length()]),
            )
    return result


def whole_inputs(graph, count=1, seed=0):
    random = np.random.default_rng(seed)
    return {
        port.tensor: random.integers(-128, 128, (count, *graph.shape(port.tensor)))
        for port in graph.inputs
    }


def run_model(lowered, backend, inputs):
    """Tensors after a run on the golden model, from memory full of rubbish where nothing else is
    asked for; and the outcome."""
    memory = np.random.default_rng(1).integers(0, 256, lowered.memory, dtype=np.uint8)
    for at, size in lowered.zeros:
        memory[at : at + size] = 0
    for at, data, _ in lowered.constants:
        memory[at : at + data.size] = data
    memory[lowered.program_at : lowered.program_at + len(lowered.program)] = np.frombuffer(
        lowered.program, np.uint8
    )
    for name, placed in lowered.inputs.items():
        placed.layout.write(memory, inputs[name].astype(np.int8))
    outcome = Model(backend.params, memory).run(lowered.registers)
    return {name: placed.layout.read(memory) for name, placed in lowered.tensors.items()}, outcome


def differences(graph, backend, *, seed=0, keep=True, images=1):
    """Names of tensors in which the golden model and the reference differ, ``[]`` if none; those
    that both have, and the lowered program."""
    quantised = quantised_of(graph, backend, seed)
    inputs = whole_inputs(graph, images, seed)
    lowered = backend.lower(quantised, keep=keep, images=images)
    tensors, outcome = run_model(lowered, backend, inputs)
    assert outcome.fault is None, outcome.fault
    wanted = backend.reference(quantised, inputs, keep=True)
    assert set(graph.kept()) <= set(tensors)
    return (
        [name for name in tensors if not np.array_equal(tensors[name], wanted[name])],
        tensors,
        lowered,
    )
