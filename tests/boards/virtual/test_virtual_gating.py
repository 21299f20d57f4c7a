# SPDX-License-Identifier: BSD-2-Clause
"""Activity gating: a gated design behaves as the whole one, and idle parts are not evaluated."""

import ctypes
import random

import pytest
from amaranth import Assert, Cat, ClockDomain, Module, Mux, Print, Signal
from amaranth.back import rtlil
from amaranth.lib import fifo, memory, wiring
from amaranth.lib.wiring import In, Out

from quintet.boards.virtual import compile as compiling
from quintet.boards.virtual import gating
from quintet.boards.virtual.simulation import Simulation, SimulationError

CYCLES = 3000
UNITS = 70
#: What stands in front of the lines of a harness that counts the parts that are to be evaluated.
COUNTING = """\
#include "design.cc"
#include "simulation.hpp"
struct Counting : quintet::Simulation {};
#define HARNESS Counting
#include "exports.hpp"
extern "C" void quintet_step(Counting *h, uint64_t count) {
	h->enter();
	while (count-- && h->error.empty()) h->tick([] {});
}
extern "C" unsigned stale_parts(Counting *h) {
	unsigned count = 0;
	for (uint64_t word : h->top.stale) count += __builtin_popcountll(word);
	return count;
}
"""


class Unit(wiring.Component):
    """A counter that runs while ``enable`` is high, and a wide value that it changes."""

    enable: In(1)
    step: In(5)
    total: Out(70)

    def elaborate(self, platform):
        m = Module()
        count = Signal(9)
        with m.If(self.enable):
            m.d.sync += [count.eq(count + self.step), self.total.eq(self.total + (count << 40) + 1)]
        return m


class Mixture(wiring.Component):
    """Units one of which is enabled, a memory with two write ports, a FIFO, an assertion, and a way
    through without registers."""

    unit: In(7)
    step: In(5)
    totals: Out(70)
    a_address: In(3)
    a_data: In(40)
    a_write: In(1)
    b_address: In(3)
    b_data: In(40)
    b_write: In(2)
    early: Out(40)
    late: Out(40)
    push: In(1)
    pop: In(1)
    first: Out(8)
    level: Out(4)
    through: Out(8)
    forbidden: In(1)

    def elaborate(self, platform):
        m = Module()
        total = 0
        for number in range(UNITS):
            m.submodules[f"unit_{number}"] = unit = Unit()
            m.d.comb += [unit.enable.eq(self.unit == number), unit.step.eq(self.step)]
            total ^= unit.total
        m.d.comb += self.totals.eq(total)
        m.submodules.cells = cells = memory.Memory(shape=40, depth=8, init=[1, 2, 3])
        a, b = cells.write_port(), cells.write_port(granularity=20)
        early, late = cells.read_port(domain="comb"), cells.read_port(transparent_for=(a,))
        m.d.comb += [
            Cat(a.addr, a.data, a.en).eq(Cat(self.a_address, self.a_data, self.a_write)),
            Cat(b.addr, b.data, b.en).eq(Cat(self.b_address, self.b_data, self.b_write)),
            Cat(early.addr, late.addr).eq(Cat(self.b_address, self.a_address)),
            Cat(self.early, self.late).eq(Cat(early.data, late.data)),
        ]
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=8, depth=9)
        m.d.comb += [
            queue.w_data.eq(self.a_data),
            queue.w_en.eq(self.push),
            queue.r_en.eq(self.pop),
            self.first.eq(queue.r_data),
            self.level.eq(queue.level),
            self.through.eq(Mux(self.push, self.a_data[8:16], ~queue.r_data)),
        ]
        m.d.sync += Assert(~self.forbidden, "forbidden is forbidden")
        return m


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds ``Mixture``, gated or whole."""

    def build(gated, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "_CUT_ABOVE", 0)
            patch.setattr(gating, "_SMALLEST", 1)
            patch.setattr(gating, "_LARGEST", 2_000)
            if not gated:
                patch.setattr(compiling, "gate", lambda source, header: None)
            cache = tmp_path_factory.mktemp("gated" if gated else "whole")
            return compiling.build_library(Mixture(), cache=cache, **options)

    return build


@pytest.fixture(scope="module")
def libraries(built):
    return built(gated=True), built(gated=False)


def test_all_outputs_of_random_traffic_are_the_same(libraries):
    rng = random.Random(7)
    with Simulation(libraries[0]) as gated, Simulation(libraries[1]) as whole:
        ports = [(name, *port) for name, port in whole.ports.items() if name not in ("clk", "rst")]
        inputs = [(name, width) for name, way, width in ports if way == "input"]
        outputs = [name for name, way, _ in ports if way == "output"]
        for cycle in range(CYCLES):
            # Long stretches in which few inputs change, since skipped parts are of interest.
            for name, width in inputs:
                if name != "forbidden" and rng.random() < 0.2:
                    value = rng.getrandbits(width)
                    gated.set(name, value), whole.set(name, value)
            level = rng.random() < 0.01
            gated.set("rst", level), whole.set("rst", level)
            for moment in ("before", "after"):
                # Outputs are looked at in some cycles only, since that evaluates the design.
                if cycle % 3 or moment == "after":
                    found = [(name, gated.get(name)) for name in outputs]
                    assert found == [(name, whole.get(name)) for name in outputs], (cycle, moment)
                if moment == "before":
                    gated.step(), whole.step()
        assert (gated.memory_at("cells") == whole.memory_at("cells")).all()


def test_a_memory_that_the_host_changes_is_read_anew(libraries):
    with Simulation(libraries[0]) as sim:
        cells = sim.memory_at("cells")
        sim.set("b_address", 5)
        sim.step(10)
        assert sim.get("early") == 0
        cells[5] = 77, 0
        sim.step()
        assert sim.get("early") == 77


def test_an_assertion_that_still_fails_is_told_again(libraries):
    with Simulation(libraries[0]) as sim:
        sim.set("forbidden", 1)
        for _ in range(3):
            with pytest.raises(SimulationError, match="forbidden is forbidden"):
                sim.step()
            sim.clear_error()


def test_idle_parts_are_not_evaluated(built, tmp_path):
    harness = tmp_path / "counting.cpp"
    harness.write_text(COUNTING)
    with Simulation(built(gated=True, harness=harness)) as sim:
        stale = sim.c.stale_parts
        stale.argtypes, stale.restype = [ctypes.c_void_p], ctypes.c_uint
        sim.set("unit", 127)
        sim.step(3)
        assert stale(sim.handle) == 0
        sim.set("step", 3)
        sim.set("unit", 5)
        sim.step(3)
        # The unit itself, and the exclusive-or of all units.
        assert 1 <= stale(sim.handle) <= 4


class Printing(wiring.Component):
    """A design that prints in every cycle."""

    a: In(8)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Print("a is", self.a)
        return m


class Resetting(wiring.Component):
    """A register with an asynchronous reset."""

    a: In(8)
    reset: In(1)
    held: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.domains.slow = slow = ClockDomain(async_reset=True)
        m.d.comb += [slow.clk.eq(self.a[0]), slow.rst.eq(self.reset)]
        m.d.slow += self.held.eq(self.a)
        return m


@pytest.mark.parametrize("design", [Printing, Resetting])
def test_designs_whose_statements_cannot_be_left_out_stay_whole(design, tmp_path):
    compiling.write_cxx(rtlil.convert(design(), name="top", emit_src=False), tmp_path)
    source, header = ((tmp_path / f"design.{kind}").read_text() for kind in ("cc", "h"))
    assert gating.gate(source, header) is None
