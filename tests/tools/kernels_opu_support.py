# SPDX-License-Identifier: BSD-2-Clause
"""Compiled networks on the golden model against plain numpy."""
import numpy as np

from quintet.gateware.cores.opu.model import Model
from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.kernels.opu import compile_network, run_network

__all__ = ["build", "check", "random_values", "random_weights"]


def build(preset="85f", **overrides):
    return SPACE.resolve(preset, overrides)


def random_weights(rng, *shape, most=40):
    return rng.integers(-most, most + 1, shape)


def random_values(rng, network, bits=8):
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return {t.name: rng.integers(low, high + 1, (network.batch, *t.shape)) for t in network.inputs}


def check(network, params, values, **options):
    """Compile, run on memory full of rubbish, compare every output; the Compiled and the Outcome."""
    compiled = compile_network(network, params, **options)
    memory = compiled.image(values)
    loaded = np.zeros(memory.size, bool)
    loaded[compiled.program_at:compiled.program_at + len(compiled.data)] = True
    for address, data, _ in compiled.loads(values):
        loaded[address:address + data.size] = True
    memory[~loaded] = np.random.default_rng(0).integers(0, 256, int((~loaded).sum()))
    outcome = Model(params, memory).run(compiled.all_registers)
    assert outcome.status == "done", outcome.fault
    expected = run_network(network, values)
    for name, got in compiled.results(memory).items():
        assert np.array_equal(got, expected[name]), f"{name}: {(got != expected[name]).sum()} of {got.size} differ"
        values_of = expected[name]
        assert values_of.size < 64 or values_of.min() != values_of.max(), f"{name} says nothing: all {values_of.min()}"
    return compiled, outcome
