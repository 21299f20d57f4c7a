# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of compiled OPU networks on the golden model with plain numpy."""

import random

import numpy as np

from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.compiler.backends.opu.codegen import Network, compile_network, run_network

__all__ = ["build", "check", "random_network", "random_values", "random_weights"]


def build(preset="85f", **overrides):
    return SPACE.resolve(preset, overrides)


def random_weights(rng, *shape, most=40):
    return rng.integers(-most, most + 1, shape)


def random_values(rng, network, bits=8):
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return {t.name: rng.integers(low, high + 1, (network.batch, *t.shape)) for t in network.inputs}


def check(network, params, values, *, varied=True, **options):
    """Compiles and runs a network on memory with random contents, compares every output, and
    returns the Compiled and the Outcome.

    ``varied``: an output of which all values are equal says nothing, and fails.
    """
    compiled = compile_network(network, params, **options)
    memory = compiled.image(values)
    loaded = np.zeros(memory.size, bool)
    loaded[compiled.program_at : compiled.program_at + len(compiled.data)] = True
    for address, data, _ in compiled.loads(values):
        loaded[address : address + data.size] = True
    memory[~loaded] = np.random.default_rng(0).integers(0, 256, int((~loaded).sum()))
    outcome = Model(params, memory).run(compiled.all_registers)
    assert outcome.status == "done", outcome.fault
    expected = run_network(network, values)
    for name, got in compiled.results(memory).items():
        assert np.array_equal(got, expected[name]), (
            f"{name}: {(got != expected[name]).sum()} of {got.size} differ"
        )
        values_of = expected[name]
        assert not varied or values_of.size < 64 or values_of.min() != values_of.max(), (
            f"{name} says nothing: all {values_of.min()}"
        )
    return compiled, outcome


def random_network(
    seed,
    *,
    types="8-8-16-16",
    most_side=12,
    channels=(1, 3, 16, 40, 70),
    out=(1, 2, 10, 16, 33, 64, 70),
):
    """Random network of up to four layers of all kinds; every layer's result is an output."""
    chance, rng = random.Random(f"network {seed}"), np.random.default_rng(seed)
    network = Network(types=types, batch=chance.choice((1, 1, 2)))
    tensors = [
        network.input(
            "x",
            (chance.randint(3, most_side), chance.randint(3, most_side), chance.choice(channels)),
            fraction=5,
        )
    ]
    for index in range(chance.randint(1, 4)):
        source, name = chance.choice(tensors), f"y{index}"
        taps = chance.randint(1, min(3, source.height)), chance.randint(1, min(4, source.width))
        options = {
            "fraction": 5,
            "weight_fraction": chance.randint(6, 9),
            "act": chance.choice((None, "relu", "leaky")),
        }
        kind = chance.random()
        if kind < 0.15:
            tensors.append(network.average(name, source, taps))
            continue
        if kind < 0.3 and source.height * source.width * source.channels < 3000:
            weights = random_weights(
                rng, chance.choice(out), source.height * source.width * source.channels
            )
            tensors.append(network.dense(name, source, weights, **options))
            continue
        if kind < 0.55:
            by_tap = chance.random() < 0.4
            options.update(
                residual=source,
                by_tap=by_tap,
                order=1 if by_tap else chance.choice((0, 1)),
                bias=random_weights(rng, source.channels, most=900),
                bias_fraction=9,
            )
            weights = random_weights(rng, source.channels, source.channels, 1, 1)
        else:
            options.update(
                padding=chance.choice((0, 1, (1, 0, 0, 2))), stride=chance.choice((1, 1, 2, 3))
            )
            weights = random_weights(rng, chance.choice(out), source.channels, *taps)
        tensors.append(network.conv(name, source, weights, **options))
    network.output(*tensors[1:])
    return network
