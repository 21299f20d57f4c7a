# SPDX-License-Identifier: BSD-2-Clause
"""Random programs on a board with on-chip memory, whose data lie on both sides of the border."""

import numpy as np
import pytest

from quintet.boards import open_board
from quintet.boards.virtual.board import open_virtual
from quintet.gateware.cores.cherry.image import relocated
from quintet.gateware.cores.cherry.model import Model as CherryModel
from quintet.gateware.cores.opentpu.model import Model
from quintet.gateware.cores.opu.model.model import Model as OpuModel
from quintet.tools.link.client import LinkClient
from quintet.tools.targets.sim import SimTarget
from tests.gateware.cores.cherry.bench.programs import SPAN
from tests.gateware.cores.cherry.bench.programs import random_case as random_cherry_case
from tests.gateware.cores.opentpu.bench.programs import random_case
from tests.gateware.cores.opu.bench.programs import random_case as random_opu_case
from tests.support.comparing import first_difference, registers_of
from tests.support.shares import shares, some

#: Inside the host memory or the weights of nearly every random case.
BORDER = 2048
SIZE = 1 << 16
#: Registers of a run that hold addresses.
ADDRESSES = (
    "program_address",
    "hostmem_base",
    "hostmem_limit",
    "weights_base",
    "weights_limit",
)


#: The presets with on-chip memory, as they are built, and a small core with little of it.
BUILDS = {
    "16x16": {"board": "ulx3s-85f", "preset": "85f-16x16-fast"},
    "8x8": {"board": "ulx3s-85f", "preset": "85f-8x8-fast"},
    "45F": {"board": "ulx3s-45f", "preset": "45f-8x8-fast"},
    "25F": {"board": "ulx3s-25f", "preset": "25f-8x8-fast"},
    "small": {"board": "ulx3s-25f", "preset": "sim-ext", "params": {"n": 8}, "on_chip": BORDER},
    "SDRAM at twice the clock": {
        "board": open_board("ulx3s-25f").with_sdram_rate(2),
        "preset": "sim-ext",
        "params": {"n": 8},
        "on_chip": BORDER,
    },
}


#: OPU's presets, whose cases are cut somewhere in their data.
OPU_BUILDS = {
    "85F": {"board": "ulx3s-85f", "preset": "85f-p256-fast"},
    "45F": {"board": "ulx3s-45f", "preset": "45f-fast"},
}
OPU_REGIONS = 16

#: Cherry's preset, whose cases are cut within their program list, data or result.
CHERRY_BUILD = {"board": "ulx3s-45f", "preset": "45f-fast"}


@pytest.fixture(scope="module", params=BUILDS)
def target(request):
    yield from opened("opentpu", BUILDS[request.param])


@pytest.fixture(scope="module", params=OPU_BUILDS)
def opu(request):
    yield from opened("opu", OPU_BUILDS[request.param])


@pytest.fixture(scope="module")
def cherry():
    yield from opened("cherry", CHERRY_BUILD)


def opened(isa, build):
    build = dict(build)
    virtual = open_virtual(build.pop("board"), isa, **build)
    virtual.pipe.sleep(virtual.soc.backing.powerup_ns * 1e-9 + 20e-6)
    client = LinkClient(virtual.pipe, seed=1)
    with SimTarget(client=client, name="test", board=virtual, direct=True) as opened:
        yield opened


def check(target, seed):
    """Run one case, so far below the border that its data reach over it, on board and model;
    returns whether they do."""
    case = random_case(seed, target.info.params)
    base = target.info.memory["on_chip"]["size"] - BORDER
    expected = np.zeros(base + SIZE, np.uint8)
    expected[base : base + case.memory.size] = case.memory
    registers = registers_of(case)
    for name in ADDRESSES:
        registers[name] += base
    registers |= {"window_base": base, "window_limit": base + SIZE}
    compare(target, case.params, registers, base, expected, Model, seed)
    return case.memory.size > BORDER


def check_opu(target, seed):
    """The same for OPU; returns whether the program has changed memory on both sides."""
    case = random_opu_case(seed, target.info.params, budget=4000)
    border = target.info.memory["on_chip"]["size"]
    base = border - 2048 - 64 * (37 * seed % 600)
    expected = np.zeros(base + SIZE, np.uint8)
    expected[base : base + case.memory.size] = case.memory
    before, registers = expected.copy(), registers_of(case)
    for number in range(OPU_REGIONS):
        name = f"region_base[{number}]"
        registers[name] = (registers.get(name, number << 28) + base) % (1 << 32)
    for name in ("program_address", "window_base"):
        registers[name] = registers.get(name, 0) + base
    registers["window_limit"] = registers.get("window_limit", SIZE) + base
    compare(target, case.params, registers, base, expected, OpuModel, seed)
    changed = np.flatnonzero(before != expected)
    return changed.size > 0 and changed[0] < border <= changed[-1]


def check_cherry(target, seed):
    """The same for Cherry; the border is in the program list, in the data or in the result."""
    params = target.info.params
    case = random_cherry_case(seed, params)
    at = case.registers["program_address"]
    begin, size = (
        (at, len(case.data)),
        (case.data_at, 4 * SPAN),
        (case.result_at, 4 * SPAN),
    )[seed % 3]
    base = target.info.memory["on_chip"]["size"] - begin - 64 * (37 * seed % (size // 64))
    expected = np.zeros(base + SIZE, np.uint8)
    expected[base : base + len(case.memory)] = np.frombuffer(case.memory, np.uint8)
    data = relocated(case.data, lambda address: address + base)
    expected[base + at : base + at + len(data)] = np.frombuffer(data, np.uint8)
    registers = case.registers | {"program_address": base + at}
    registers |= {"window_base": base, "window_limit": base + SIZE}
    compare(target, params, registers, base, expected, CherryModel, seed)


def compare(target, params, registers, base, expected, model, seed):
    """Run a case on board and model, whose memory is ``expected``: outcome and memory are
    equal."""
    # The model begins as after a core reset; settings would outlast a run.
    target.reset_core()
    target.write(base, expected[base:].tobytes())
    outcome = model(params, expected).run(registers)
    found = target.run(registers)
    assert (found.status, found.fault) == (outcome.status, outcome.fault), seed
    memory = np.frombuffer(target.read(base, SIZE), np.uint8)
    difference = first_difference(memory, expected[base:])
    assert not difference, (seed, difference)


@shares
def test_random_programs_over_the_border(target, share):
    count = some(500, share)
    over = [check(target, seed) for seed in range(count)]
    assert sum(over) > 0.8 * count


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_random_programs_over_the_border(target, part):
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check(target, seed)


def test_random_opu_programs_over_the_border(opu):
    over = [check_opu(opu, seed) for seed in range(500)]
    assert sum(over) > 100


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_random_opu_programs_over_the_border(opu, part):
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check_opu(opu, seed)


@shares
def test_random_cherry_programs_over_the_border(cherry, share):
    for seed in range(some(500, share)):
        check_cherry(cherry, seed)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_random_cherry_programs_over_the_border(cherry, part):
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check_cherry(cherry, seed)
