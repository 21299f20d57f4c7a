# SPDX-License-Identifier: BSD-2-Clause
"""Graphs in whole numbers for the OPU's back end, and runs of what it makes on the golden model."""

from dataclasses import replace

import numpy as np

from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.compiler.backends.opu import OpuBackend
from quintet.tools.compiler.graph import Activation, Conv, Dense, Graph, Port, Reshape
from quintet.tools.compiler.quantised import Integer, Quantised, Scale
from tests.tools.compiler.machine import pruned

__all__ = [
    "backend",
    "check",
    "fused",
    "initial_memory",
    "random_inputs",
    "running_part",
    "whole_numbers",
]


def backend(preset="85f", memory=1 << 25, **overrides):
    return OpuBackend(params=SPACE.resolve(preset, overrides), memory_size=memory)


def running_part(graph, machine):
    """The nodes before the first one that does not run, each result without a reader an output;
    ``None`` if they do nothing."""
    nodes = []
    for node in graph.nodes:
        if not machine.check_support(graph, node).runs:
            break
        nodes.append(node)
    read = {name for node in nodes for name in node.inputs}
    names = [
        node.output for node in nodes if node.output not in read or node.output in graph.kept()
    ]
    part = Graph(
        graph.name,
        graph.inputs,
        [Port(n, n, tuple(range(len(graph.shape(n)))), graph.shape(n)) for n in names],
        nodes,
        graph.tensors,
    )
    return (
        part
        if not all(isinstance(node, Reshape) for node in nodes)
        and all(machine.check_support(part, node).runs for node in nodes)
        else None
    )


def whole_numbers(graph, machine, seed=0):
    """Quantised of a graph: random weights, shifts and biases within what the machine's arithmetic
    allows; legalised first."""
    random, graph = np.random.default_rng(seed), machine.legalise(graph)
    layers = {}
    for node in graph.nodes:
        if not isinstance(node, Conv | Dense):
            continue
        numbers = machine.arithmetic(graph, node)
        out, most = len(node.weights), 1 << numbers.weight_bits - 1
        of = np.arange(out) // numbers.shift_group
        products = np.sqrt(node.weights[0].size) * most * 64
        shift = (np.log2(products / 64).round().astype(int) + random.integers(-1, 2, of[-1] + 1))[
            of
        ]
        bias_shift = random.integers(0, 7, of[-1] + 1)[of]
        bias = None if node.bias is None else random.integers(-(1 << 9), 1 << 9, out)
        layers[node.name] = Integer(
            weights=pruned(random, random.integers(-most, most, node.weights.shape)),
            bias=bias,
            shift=shift,
            bias_shift=bias_shift,
        )
    scales = {
        name: Scale(1.0, machine.types.ifm)
        for name, tensor in graph.tensors.items()
        if tensor.data is None
    }
    return Quantised(graph=graph, scales=scales, layers=layers)


def random_inputs(graph, count=1, seed=0, bits=8):
    random = np.random.default_rng(seed)
    return {
        port.tensor: random.integers(
            -(1 << bits - 1), 1 << bits - 1, (count, *graph.shape(port.tensor))
        )
        for port in graph.inputs
    }


def initial_memory(lowered, size):
    """Main memory as a session leaves it before the first input: random bytes, but for those
    that it writes once."""
    memory = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    for address, count in lowered.zeros:
        memory[address : address + count] = 0
    for address, data, _ in lowered.constants:
        memory[address : address + data.size] = data
    memory[lowered.program_at : lowered.program_at + len(lowered.program)] = np.frombuffer(
        lowered.program, np.uint8
    )
    return memory


def check(quantised, machine, inputs, *, keep=False, images=1):
    """Lowered program on the golden model, input after input in one memory, against the reference;
    the Lowered."""
    lowered = machine.lower(quantised, keep=keep, images=images)
    expected = machine.reference(quantised, inputs, keep=True)
    assert lowered.memory <= machine.memory_size
    assert set(lowered.outputs) == quantised.graph.kept() and (
        not keep or {n.output for n in quantised.graph.nodes} <= set(lowered.tensors)
    )
    memory = initial_memory(lowered, -(-lowered.memory // 64) * 64)
    model = Model(machine.params, memory)
    for index in range(0, len(next(iter(inputs.values()))), images):
        for name, placed in lowered.inputs.items():
            placed.layout.write(memory, inputs[name][index : index + images])
        outcome = model.run(lowered.registers)
        assert outcome.status == "done", outcome.fault
        for name, placed in {**lowered.outputs, **lowered.tensors}.items():
            got, want = placed.layout.read(memory), expected[name][index : index + images]
            assert np.array_equal(got, want), (
                f"{name}, input {index}: {(got != want).sum()} of {got.size} differ"
            )
    return lowered


def fused(graph):
    """``graph`` with its activations in the layers before them, as the passes leave it."""
    nodes = []
    for node in graph.nodes:
        maker = next((n for n in nodes if n.output == node.inputs[0]), None)
        if (
            isinstance(node, Activation)
            and getattr(maker, "activation", node) is None
            and len(graph.readers(maker.output)) == 1
        ):
            nodes[nodes.index(maker)] = replace(maker, output=node.output, activation=node)
        else:
            nodes.append(node)
    names = {name for node in nodes for name in (*node.inputs, node.output)} | {
        port.tensor for port in graph.inputs
    }
    return Graph(
        graph.name,
        graph.inputs,
        graph.outputs,
        nodes,
        {name: t for name, t in graph.tensors.items() if name in names},
    )
