# SPDX-License-Identifier: BSD-2-Clause
"""Runs cycle functions against a component, in pysim or compiled by CXXRTL."""

from amaranth import Shape, Value
from amaranth.lib.wiring import Out

from tests.support.simulating import simulate

__all__ = ["Violation", "expect", "run_compiled", "run_pysim"]


class Violation(AssertionError):
    """Error: a protocol rule was broken, or a byte is wrong."""


def expect(condition, words):
    """Raises :class:`Violation` with the message `words` unless `condition` holds."""
    if not condition:
        raise Violation(words)


def _ports(component):
    """Ports by name in the netlist: (value, whether the component drives it)."""
    return {
        "__".join(map(str, path)): (Value.cast(value), member.flow == Out)
        for path, member, value in component.signature.flatten(component)
        if Shape.cast(value.shape()).width
    }


def run_pysim(component, step, limit):
    """Runs ``step(seen)`` in every cycle with the values of all outputs; it returns inputs to
    change, or ``None`` at the end. Returns the number of cycles."""
    ports = _ports(component)
    outputs = [name for name, (_, driven) in ports.items() if driven]
    values = [ports[name][0] for name in outputs]
    cycles = []

    async def bench(ctx):
        for cycle in range(limit):
            sampled = await ctx.tick().sample(*values)
            changes = step(dict(zip(outputs, sampled[2:], strict=True)))
            if changes is None:
                cycles.append(cycle)
                return
            for name, value in changes.items():
                ctx.set(ports[name][0], value)
        raise Violation(f"not done after {limit} cycles")

    simulate(component, bench)
    return cycles[0]


def run_compiled(component, step, limit):
    """Runs cycles like :func:`run_pysim`, in a compiled simulation."""
    from quintet.boards.virtual.simulation import Simulation

    outputs = [name for name, (_, driven) in _ports(component).items() if driven]
    with Simulation.build(component) as simulation:
        for cycle in range(limit):
            changes = step({name: simulation.get(name) for name in outputs})
            simulation.step()
            if changes is None:
                return cycle
            for name, value in changes.items():
                simulation.set(name, value)
    raise Violation(f"not done after {limit} cycles")
