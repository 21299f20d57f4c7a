# SPDX-License-Identifier: BSD-2-Clause
"""Simulators shared by many tests of one design, which is elaborated and compiled once per process.

That takes as long as a thousand cycles of a simulation; most tests of a unit are shorter.
"""

from collections import OrderedDict

from amaranth.sim import Simulator

__all__ = ["design", "simulate", "simulator"]

#: Designs that are kept: as many as one test file takes turns with.
KEEP = 12

_designs = OrderedDict()
_built = OrderedDict()


def design(make, *arguments, **options):
    """Result of ``make(*arguments, **options)``, shared by all tests with equal arguments.

    What is made must hold nothing of a test's but what a simulation's reset puts back. Arguments
    are plain data, whose ``repr`` tells all.
    """
    key = make, repr(arguments), repr(sorted(options.items()))
    assert " at 0x" not in key[1] + key[2], key
    if key not in _designs:
        _designs[key] = make(*arguments, **options)
        while len(_designs) > KEEP:
            _, oldest = _designs.popitem(last=False)
            _built.pop(id(oldest), None)
    _designs.move_to_end(key)
    return _designs[key]


def simulator(dut):
    """A simulator of ``dut`` in its initial state, without clocks and test benches.

    Amaranth's ``Simulator.reset`` is for this, but it keeps the test benches of the run before.
    """
    if all(dut is not kept for kept in _designs.values()):
        return Simulator(dut)
    if id(dut) not in _built:
        sim = Simulator(dut)
        _built[id(dut)] = sim, set(sim._engine._processes), _wakers(sim)
        return sim
    sim, processes, wakers = _built[id(dut)]
    engine = sim._engine
    engine._testbenches.clear()
    engine._processes.clear()
    engine._processes.update(processes)
    engine._active_triggers.clear()
    sim._clocked.clear()
    for number, slot in enumerate(engine.state.slots):
        # Signals that only a test bench looked at came later.
        slot.wakers[:] = wakers[number] if number < len(wakers) else ()
    sim.reset()
    return sim


def simulate(dut, *testbenches, surroundings=(), background=()):
    """Simulates ``dut``, with a clock, until all ``testbenches`` are done.

    Those of ``surroundings`` and ``background`` may still run then; in every cycle the former act
    before the ``testbenches``, the latter after them.
    """
    sim = simulator(dut)
    sim.add_clock(1e-6)
    for testbench in surroundings:
        sim.add_testbench(testbench, background=True)
    for testbench in testbenches:
        sim.add_testbench(testbench)
    for testbench in background:
        sim.add_testbench(testbench, background=True)
    sim.run()


def _wakers(sim):
    return [list(slot.wakers) for slot in sim._engine.state.slots]
