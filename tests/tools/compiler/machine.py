# SPDX-License-Identifier: BSD-2-Clause
"""Networks in random whole numbers, and programs of back ends on golden models."""

import numpy as np

from quintet.gateware.cores import open_core
from quintet.tools.compiler.graph import Conv, Dense
from quintet.tools.compiler.quantised import Integer, Quantised, Scale

__all__ = ["pruned", "random_numbers", "random_quantised", "run_lowered"]


def pruned(rng, weights):
    """Weights [out, ..., in], at times with zeros that programs may leave out: of output channels,
    of input channels, of the taps in between, of single weights, or of blocks of 8 channels."""
    axes = [(), (0,), (weights.ndim - 1,), range(1, weights.ndim - 1), range(weights.ndim)]
    kind = rng.integers(0, 2 * len(axes) + 1)
    if kind == 2 * len(axes):
        block = np.arange(len(weights)) // 8
        kept = rng.integers(0, 2, (block[-1] + 1, *weights.shape[1:-1], 1))
        return weights * kept[block]
    if kind >= len(axes):
        return weights
    shape = [n if at in axes[kind] else 1 for at, n in enumerate(weights.shape)]
    return weights * rng.integers(0, 2, shape)


def random_quantised(graph, backend, seed, bits=None, most=None, shift=None):
    """A :class:`Quantised` of a legalised graph: one scale everywhere, random weights of the
    machine's width, shifts near where results fit."""
    rng, layers, scales = np.random.default_rng(seed), {}, {}
    for node in graph.nodes:
        arithmetic = backend.arithmetic(graph, node)
        width = bits or arithmetic.out_bits[0]
        for name in (*node.inputs, node.output):
            scales.setdefault(name, Scale(2.0**-4, width))
        if isinstance(node, Conv | Dense):
            limit = most or (1 << arithmetic.weight_bits - 1)
            weights = pruned(rng, rng.integers(-limit, limit, node.weights.shape))
            out = node.weights.shape[0]
            low, high = arithmetic.shifts
            most_bias = min(limit << 4, 1 << arithmetic.bias_bits - 1)
            places = (
                int(np.clip(np.log2(limit * np.sqrt(weights[0].size)) - 1, low, high))
                if shift is None
                else shift
            )
            bias = None if node.bias is None else rng.integers(-most_bias, most_bias, out)
            layers[node.name] = Integer(
                weights=weights,
                bias=bias,
                shift=np.full(out, places),
                bias_shift=np.zeros(out, np.int64),
            )
    return Quantised(graph=graph, scales=scales, layers=layers)


def random_numbers(quantised, count, seed):
    """Whole numbers for the inputs of the graph, tensor name -> int64 [count, ...]; corners among
    them."""
    rng, found = np.random.default_rng(seed), {}
    for port in quantised.graph.inputs:
        scale = quantised.scales[port.tensor]
        values = rng.integers(
            scale.low, scale.high + 1, (count, *quantised.graph.shape(port.tensor))
        )
        found[port.tensor] = np.where(
            rng.random(values.shape) < 0.1,
            rng.choice([scale.low, scale.high], values.shape),
            values,
        )
    return found


def run_lowered(isa, params, lowered, inputs, memory_size=1 << 22):
    """Tensors of every run on the golden model, name -> [inputs, ...]: constants once, then each
    group of ``lowered.images`` inputs."""
    package, memory = open_core(isa), np.zeros(memory_size, np.uint8)
    # What is not written must not matter.
    memory[:] = np.random.default_rng(0).integers(0, 256, memory_size)

    def put(address, data):
        memory[address : address + len(data)] = np.frombuffer(bytes(data), np.uint8)

    for address, size in lowered.zeros:
        memory[address : address + size] = 0
    put(lowered.program_at, lowered.program)
    for address, data, _ in lowered.constants:
        put(address, np.asarray(data).tobytes())
    model = package.model.Model(params, memory)

    def run(registers):
        outcome = model.run(
            {"window_base": 0, "window_limit": memory_size, **registers}, None, None
        )
        assert outcome.status == "done", outcome
        return outcome

    for data, address in lowered.setup:
        put(address, data)
        run({**lowered.registers, "program_address": address, "program_length": len(data)})
    count, parts, registers = len(next(iter(inputs.values()))), [], dict(lowered.registers)
    for at in range(0, count, lowered.images):
        for name, placed in lowered.inputs.items():
            first, end = placed.layout.first, placed.layout.end
            if not placed.layout.in_program:
                memory[first:end] = 0
            placed.layout.write(memory, inputs[name][at : at + lowered.images])
        run(registers)
        registers = {**registers, **lowered.again}
        parts.append(
            {
                name: placed.layout.read(memory)
                for name, placed in {**lowered.outputs, **lowered.tensors}.items()
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
