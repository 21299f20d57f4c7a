# SPDX-License-Identifier: BSD-2-Clause
"""``quintet.gateware.Core``: a core on the buses of another system."""

import random

import pytest

from quintet import gateware
from quintet.gateware import core as module
from quintet.gateware.cores import CoreError
from quintet.gateware.isa.parameters import ParameterError
from tests.support.buses.axi4 import AXI4Slave
from tests.support.buses.native import NativeController
from tests.support.buses.registers import AXI4LiteHost, WishboneHost
from tests.support.buses.stepping import run_pysim
from tests.support.buses.wishbone import WishboneSlave
from tests.support.tiny_core import PACKAGE

SIZE, BASE = 4096, 0x4000_0000
CONTROL, STATUS, IRQ_ENABLE, PROGRAM, LENGTH, WINDOW_LIMIT = 0x10, 0x14, 0x18, 0x20, 0x24, 0x2C
TARGET, KEY = 0x100, 0x104
BUSY, DONE, FAULT = 1, 2, 4
SLAVES = {"wishbone": WishboneSlave, "axi4": AXI4Slave, "native": NativeController}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """The core `tiny` copies memory, XORed with a key."""
    original = module.open_core
    monkeypatch.setattr(
        module, "open_core", lambda name: PACKAGE if name == "tiny" else original(name)
    )


def run_on_bus(core, bus, script, seed, registers="wishbone", contents=b""):
    """Runs ``script``, a generator that yields (address, value or None) and is sent what a read
    gave, on the core's registers; returns the memory and whether the interrupt came."""
    rnd = random.Random(seed)
    host = (WishboneHost if registers == "wishbone" else AXI4LiteHost)(rnd)
    options = {} if bus == "native" else {"errors": False}
    slave = SLAVES[bus](SIZE, core.bus_bytes, rnd, base=BASE, **options)
    slave.memory[: len(contents)] = contents
    interrupts = []
    host.start(*next(script))

    def step(seen):
        interrupts.append(seen["interrupt"])
        at_slave = {f"bus__{k[8:]}": v for k, v in seen.items() if k.startswith("memory__")}
        changes = {f"memory__{k[5:]}": v for k, v in slave.step(at_slave).items()}
        if host.result is not None:
            try:
                host.start(*script.send(host.result[0]))
            except StopIteration:
                return None
        return {**changes, **host.step(seen)}

    run_pysim(core, step, 60_000)
    return slave.memory, any(interrupts)


def copy(length, target=0x800, program=0x100, limit=SIZE):
    """Copies ``length`` bytes; with a window that is too large the run must end with a fault."""
    while (yield STATUS, None) & BUSY:
        pass
    # Not `yield from`: what the host sends back goes nowhere.
    for register, value in {  # noqa: UP028
        IRQ_ENABLE: 1,
        PROGRAM: program,
        LENGTH: length,
        WINDOW_LIMIT: limit,
        TARGET: target,
        KEY: 0x0F,
        CONTROL: 1,
    }.items():
        yield register, value
    while (status := (yield STATUS, None)) & BUSY:
        pass
    assert status == (DONE if limit <= SIZE else DONE | FAULT), status


CASES = [
    ("wishbone", 32, {}),
    ("wishbone", 8, {"beat_bytes": 4}),
    ("wishbone", 128, {"registers": "axi4-lite"}),
    ("axi4", 32, {"registers": "axi4-lite"}),
    ("axi4", 64, {"beat_bytes": 2, "pipelined": True}),
    ("native", 128, {"beat_bytes": 4}),
    ("native", 16, {"beat_bytes": 16}),
]


@pytest.mark.parametrize("bus, width, options", CASES)
def test_a_run_on_each_bus(bus, width, options):
    core = gateware.Core(
        "tiny", bus=bus, bus_width=width, memory_size=SIZE, memory_base=BASE, **options
    )
    contents = random.Random(1).randbytes(SIZE)
    memory, interrupted = run_on_bus(
        core, bus, copy(64), 2, options.get("registers", "wishbone"), contents
    )
    expected = bytearray(contents)
    expected[0x800:0x840] = bytes(byte ^ 0x0F for byte in contents[0x100:0x140])
    assert bytes(memory) == bytes(expected) and interrupted


def test_nothing_outside_the_memory_is_reached():
    """The host may open the window as far as it likes: the slave's checker would see it."""
    core = gateware.Core("tiny", bus="axi4", memory_size=SIZE, memory_base=BASE)
    contents = random.Random(1).randbytes(SIZE)
    memory, _ = run_on_bus(
        core, "axi4", copy(64, target=SIZE - 32, limit=1 << 20), 3, contents=contents
    )
    assert bytes(memory[: SIZE - 32]) == contents[: SIZE - 32]


def test_beats_follow_the_bus():
    widths = {}
    for isa, width in (("opentpu", 16), ("opentpu", 64), ("opu", 128), ("imagine", 128)):
        core = gateware.Core(isa, preset="sim", bus_width=width)
        widths[isa, width] = core.beat_bytes
    # Four rows of OpenTPU's `sim` are four bytes, and so is the line of the OPU's.
    assert widths == {
        ("opentpu", 16): 2,
        ("opentpu", 64): 4,
        ("opu", 128): 4,
        ("imagine", 128): 16,
    }


def test_memory_map_and_second_clock():
    core = gateware.Core("imagine", preset="25f")
    assert core.registers.memory_map is core.memory_map
    names = {resource.path[0][0] for resource in core.memory_map.all_resources()}
    assert {"control", "status", "cnt_cycles"} <= names
    assert (core.second_clock.name, core.second_clock.ratio) == ("array", 2)
    assert gateware.Core("imagine", preset="25f", shared_clock=True).second_clock is None
    assert gateware.Core("opentpu", preset="sim", registers="axi4-lite").memory_map is not None


def test_memory_port_without_a_bus():
    core = gateware.Core("opu", preset="sim", bus="port", beat_bytes=2)
    assert core.memory.signature.beat_bytes == 2
    assert gateware.Core("opu", preset="sim", bus="port").memory.signature.beat_bytes == 4


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"bus": "pci"}, ValueError, "bus = 'pci': expected wishbone, axi4, native, port"),
        ({"registers": "csr"}, ValueError, "registers = 'csr': expected wishbone, axi4-lite"),
        ({"bus_width": 24}, ValueError, "bus_width = 24: expected 8, 16, 32, 64 or 128"),
        ({"preset": "none"}, ParameterError, "none"),
        ({"memory_size": 100}, ValueError, "multiple of 64"),
        ({"memory_size": 1 << 32}, ValueError, "expected at most 2.31"),
        ({"memory_size": 3 << 20, "memory_base": 1 << 20}, ValueError, "multiple of 4194304"),
        ({"bus": "port", "bus_width": 64, "beat_bytes": 4}, ValueError, "bus_width = 64: the mem"),
    ],
)
def test_arguments(options, error, message):
    with pytest.raises(error, match=message):
        gateware.Core("opentpu", **{"preset": "sim", **options})


def test_unknown_core():
    with pytest.raises(CoreError, match="no ISA named 'opentqu'"):
        gateware.Core("opentqu")


def test_nothing_else_is_offered():
    with pytest.raises(AttributeError, match="no attribute 'Cores'"):
        gateware.Cores  # noqa: B018
