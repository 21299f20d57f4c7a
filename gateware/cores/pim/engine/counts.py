# SPDX-License-Identifier: BSD-2-Clause
"""Performance counters of the whole engine and of each processor (specification, section 7)."""

from dataclasses import replace

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import bits_for

from ....isa.parameters import Params
from ....shell.engine import EngineControl, Stall
from ..isa import COUNTERS, ISA, KINDS

__all__ = ["MACS_BITS", "count", "engine_control"]

#: MACs of a mvmul of 1024 x 1024.
MACS_BITS = 21
_BYTES = 4


def engine_control(params: Params) -> EngineControl:
    """Control interface of the engine: the view of the whole engine, and one for each of several
    processors."""
    cores = params["cores"]
    more = bits_for(cores) if cores > 1 else 0
    own = {c.name: _BYTES if c.name.endswith("_bytes") else 1 for c in COUNTERS}
    return EngineControl(
        registers=ISA.registers,
        operations_bits=MACS_BITS + more,
        bytes_bits=_BYTES + more,
        counters=[replace(c, bits=own[c.name] + more) for c in COUNTERS],
        views=cores + 1 if cores > 1 else 1,
        retired_bits=bits_for(len(KINDS) * cores),
        part_bits={
            "retired": bits_for(len(KINDS)),
            "operations": MACS_BITS,
            "bytes": _BYTES,
            **own,
        },
    )


def count(
    m: Module,
    *,
    params: Params,
    states: list[wiring.PureInterface],
    running: Value,
    control: wiring.PureInterface,
) -> None:
    """Drives the counters of ``control`` from the states of the processors. Sums arrive two cycles
    late, classes one.

    A cycle is *work* if any matrix or vector unit works. Otherwise it belongs to the lowest core
    that is not finished; before RUN the engine waits for instructions. A finished core's cycles
    count as other unit.

    Parameters
    ----------
    m : Module
    params : dict of ``SPACE.resolve``
    states : sequence of interfaces of :class:`~.links.StatePort`
    running : Value, level: RUN
    control : interface of :func:`engine_control`
    """
    parts = (
        [control.part[k] for k in range(len(states))]
        if params["cores"] > 1
        else [None] * len(states)
    )
    classes, taken = [], []
    for k, (state, part) in enumerate(zip(states, parts, strict=True)):
        now = Signal(Stall, name=f"class_{k}")
        with m.If(~running):
            m.d.comb += now.eq(Stall.FETCH)
        with m.Elif(state.working):
            m.d.comb += now.eq(Stall.WORK)
        with m.Elif(state.finished):
            m.d.comb += now.eq(Stall.OTHER)
        with m.Else():
            m.d.comb += now.eq(state.stall)
        classes.append(now)
        own = {}
        for name, width in (
            ("macs", MACS_BITS),
            *((f"{what}_bytes", _BYTES) for what in ("code", "comm")),
            ("bytes_read", _BYTES),
            ("bytes_written", _BYTES),
            *((f"done_{kind}", 1) for kind in KINDS),
        ):
            own[name] = Signal(width, name=f"{name}_{k}")
            m.d.sync += own[name].eq(getattr(state, name))
        own["blocked"] = Signal(name=f"was_blocked_{k}")
        m.d.sync += own["blocked"].eq(state.blocked & running)
        taken.append(own)
        if part is not None:
            m.d.sync += part.stall.eq(now)
            _drive(m, part, [own])
    _drive(m, control, taken)

    whole = Signal(Stall)
    m.d.comb += whole.eq(Mux(running, Stall.OTHER, Stall.FETCH))
    for now, state in reversed(list(zip(classes, states, strict=True))):
        with m.If(running & ~state.finished):
            m.d.comb += whole.eq(now)
    with m.If(Cat(state.working for state in states).any() & running):
        m.d.comb += whole.eq(Stall.WORK)
    m.d.sync += control.stall.eq(whole)


def _drive(m, control, cores):
    """Drives a view's increments with sums over ``cores``."""

    def total(name):
        return sum(core[name] for core in cores)

    m.d.sync += [
        control.retired.eq(sum(total(f"done_{kind}") for kind in KINDS)),
        control.operations.eq(total("macs")),
        control.bytes_read.eq(total("bytes_read")),
        control.bytes_written.eq(total("bytes_written")),
        *(control.inc[kind].eq(total(f"done_{kind}")) for kind in KINDS),
        control.inc.code_bytes.eq(total("code_bytes")),
        control.inc.comm_bytes.eq(total("comm_bytes")),
        control.inc.blocked.eq(total("blocked")),
    ]
