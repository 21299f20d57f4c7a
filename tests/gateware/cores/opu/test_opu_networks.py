# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the compiler's layers on the OPU's gateware: tiles, hoisted loads, residuals, kernels
in parts, compared with the golden model in all of memory."""

import random

import numpy as np
import pytest

from quintet.boards.virtual.bench import IDEAL
from quintet.gateware.cores.opu.model.model import Model
from quintet.tools.compiler.backends.opu.codegen.compiler import compile_network
from quintet.tools.compiler.backends.opu.layers import Network
from quintet.tools.compiler.backends.opu.reference import run_network
from quintet.tools.compiler.common.inputs import KernelError
from tests.gateware.cores.opu.bench import compare
from tests.support.campaigns import Campaign, random_behaviour
from tests.support.comparing import class_problems, first_difference
from tests.support.opu_layers import random_network, random_values

#: Multiplications of a network, at most.
MOST_WORK = 150_000

_open = {}


def bench_of(name):
    if name not in _open:
        _open[name] = compare.open_build(name)
    return _open[name]


def small_program(seed, params):
    """A random network with few multiplications, and its program, scheduled or not."""
    chance = random.Random(seed)
    while True:
        network = random_network(
            chance,
            types=params["types"],
            sides=(3, 4, 5, 6, 7),
            channels=(1, 2, 10, 16, 20, 33),
            most=4,
        )
        work = network.batch * sum(layer.macs for layer in network.layers)
        try:
            compiled = compile_network(network, params, schedule=chance.random() < 0.7)
        except KernelError:  # a product's operand has a border for another layer
            continue
        if work <= MOST_WORK and compiled.memory_size < compare.MEMORY:
            return network, compiled


def far_apart():
    """Windows of a line as the rows of a load, wide padding, and rows and columns left out."""
    chance, network = np.random.default_rng(5), Network()
    x = network.input("x", (40, 20, 3))
    weights = chance.integers(-100, 100, (5, 3, 3, 10))
    x = network.conv("a", x, weights, shift=7, stride=(9, 8), padding=(17, 1, 0, 0))
    network.identity("b", x, padding=(-1, -2, 3, 0))
    return network


def run_case(bench, seed):
    """One random network; what differs from model and numpy."""
    return run_network_on(bench, *small_program(seed, bench.params), seed)


def run_network_on(bench, network, compiled, seed):
    """A network; what differs from model and numpy."""
    values = random_values(np.random.default_rng(seed), network)
    image = compiled.image(values)
    image = np.concatenate(
        [image, np.random.default_rng(seed).integers(0, 256, -len(image) % 64 + 64, np.uint8)]
    )
    registers = {"window_limit": image.size, **compiled.all_registers}
    expected = image.copy()
    wanted = Model(bench.params, expected).run(registers)
    bench.behave(IDEAL if seed % 3 == 0 else random_behaviour(seed), seed=seed)
    bench.load(image)
    got = bench.run(registers, compare.CYCLES)
    memory = bench.memory[: image.size]
    problems = class_problems(got) if got.status == "done" else [f"{got.status}: {got.fault}"]
    problems += [first_difference(memory, expected)] if (memory != expected).any() else []
    problems += [
        f"counter {name} {got.counters[name]}, expected {value}"
        for name, value in wanted.counters.items()
        if got.counters[name] != value
    ]
    found = compiled.results(memory)
    problems += [
        f"{tensor.name} is not numpy's"
        for tensor, numbers in run_network(network, values).items()
        if not np.array_equal(found[tensor.name], numbers)
    ]
    return problems


@pytest.mark.parametrize("name", compare.QUICK)
def test_random_networks_on_gateware(name):
    for seed in range(12):
        problems = run_case(bench_of(name), seed)
        assert not problems, (seed, problems)


def test_windows_far_apart_on_gateware():
    bench, network = bench_of(compare.QUICK[0]), far_apart()
    assert not run_network_on(bench, network, compile_network(network, bench.params), 3)


@pytest.mark.long
@pytest.mark.parametrize("name", compare.QUICK)
def test_campaign_of_networks(name):
    for seed in Campaign("opu-networks", share=1 / len(compare.QUICK)).seeds(name):
        problems = run_case(bench_of(name), seed)
        assert not problems, (seed, problems)
