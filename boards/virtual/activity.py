# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a core's timeline, and the probe in a virtual board's top level that exposes them to the
harness. Bitstreams do not contain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ...gateware.isa.registers import StallClass
from ...gateware.shell.activity import Activity, Row

if TYPE_CHECKING:
    from ...gateware.shell.core import CoreShell
    from ...gateware.soc import SoC

__all__ = ["CLASSES", "ActivityProbe", "Shown", "rows_of"]

#: Names of the classes of a cycle by number: those of their counters.
CLASSES = {
    StallClass.WORK: "work",
    StallClass.FETCH: "stall_fetch",
    StallClass.OPERAND: "stall_operand",
    StallClass.WRITE: "stall_write",
    StallClass.OTHER: "stall_other",
}
#: Name of the row of the core's classes, for which an engine with a clock of its own gives the
#: signals.
_CLASS = "class"


@dataclass(frozen=True)
class Shown:
    """A row of the timeline: its :class:`~quintet.gateware.shell.activity.Row` and the kind of its
    slices.

    ``kind``: ``"run"``, ``"class"``, ``"unit"``, or ``"pulses"``, of which those that are near each
    other are one slice.
    """

    row: Row
    kind: str = "unit"


def rows_of(core: CoreShell) -> tuple[Shown, ...]:
    """Timeline rows of a core (:class:`~quintet.gateware.shell.core.CoreShell`) in display order,
    beginning with the run."""
    control = core.engine.control.signature
    own = {row.name: row for row in core.engine.rows()}
    classes = own.pop(_CLASS, Row(_CLASS) if control.cycle_bits == 1 else None)
    whole = [] if classes is None else [Shown(classes, "class")]
    cores = [Shown(Row(f"{_CLASS} of core {k}"), "class") for k in range(control.views - 1)]
    return (
        Shown(Row("run", numbered=False), "run"),
        *whole,
        *cores,
        *map(Shown, own.values()),
        *(Shown(Row(name, numbered=False)) for name in ("memory reads", "memory writes")),
        *(Shown(Row(name, numbered=False), "pulses") for name in ("link to board", "link to host")),
    )


class ActivityProbe(wiring.Component):
    """Probe of a SoC with a core, for tracing; elaborated after the SoC.

    Parameters
    ----------
    soc : SoC

    Members
    -------
    flags : Out, array of 9 bits a row: [0] busy, [1] takes, [2] leaves, [8:3] parts
    number : Out, array of 32 bits a row: address of the instruction;
        of classes the number of the class
    """

    def __init__(self, *, soc: SoC) -> None:
        if soc.core is None:
            raise ValueError("a SoC without a core has no activity")
        self.soc, self.core = soc, soc.core
        self.rows = rows_of(self.core)
        super().__init__(
            {"flags": Out(9).array(len(self.rows)), "number": Out(32).array(len(self.rows))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        own, counting = self.core.engine.activity(), self.core.control.counting
        activity = {**self._shell(m), **own}
        shown: dict[str, Signal] = {}
        for k, (flags, number) in enumerate(zip(self.flags, self.number, strict=True)):
            row = self.rows[k].row
            signals = activity[row.name]
            domain = row.domain if self.soc.domain is not None else "sync"
            busy = signals.busy
            if isinstance(busy, tuple):
                begins, ends = busy
                kept = Signal(name=f"busy_{k}")
                with m.If(begins | ends):
                    m.d[domain] += kept.eq(begins)
                busy = begins | kept & ~ends
            if row.name in own and domain == "sync" and not row.queue:
                busy = Value.cast(busy).any() & counting  # not in what comes after a run
            m.d.comb += flags.eq(
                Cat(
                    Value.cast(busy).any(),
                    signals.takes,
                    signals.leaves,
                    Const(0, 6) + signals.parts,
                )
            )
            if row.numbered:
                shown[row.name] = self._number(m, k, row, signals, domain, shown)
                m.d.comb += number.eq(shown[row.name])
        return m

    def _number(self, m, k, row, signals, domain, shown):
        """Number of the instruction that a row shows in this cycle."""
        if isinstance(signals.base, tuple):
            take, value = signals.base
            kept = Signal(32, name=f"base_{k}")
            with m.If(take):
                m.d[domain] += kept.eq(value)
            base = Mux(take, value, kept)
        else:
            base = signals.base
        if signals.each:
            at = Signal(32, name=f"next_{k}")
            with m.If(~self.soc.core.control.counting):
                m.d[domain] += at.eq(0)
            with m.Elif(signals.takes):
                m.d[domain] += at.eq(at + signals.each)
            new = base + at
        else:
            new = base + (
                shown[signals.number] if isinstance(signals.number, str) else signals.number
            )
        if row.queue or isinstance(signals.takes, Const):
            return new
        kept = Signal(32, name=f"number_{k}")
        with m.If(signals.takes):
            m.d[domain] += kept.eq(new)
        return Mux(signals.takes, new, kept)

    def _shell(self, m):
        """Rows that exist for all cores."""
        soc, core = self.soc, self.soc.core
        counting, engine = core.control.counting, core.control.engine
        found = {"run": Activity(counting)}
        if hasattr(engine, "stall"):
            found[_CLASS] = Activity(counting, number=engine.stall.as_value())
        if core.engine.control.signature.views > 1:
            for k in range(core.engine.control.signature.views - 1):
                found[f"{_CLASS} of core {k}"] = Activity(
                    counting, number=engine.part[k].stall.as_value()
                )
        found |= dict(
            zip(("memory reads", "memory writes"), self._memory(m, core.memory), strict=True)
        )
        for name, line in (("link to board", soc.rx), ("link to host", soc.tx)):
            found[name] = Activity(line.valid & line.ready)
        return found

    def _memory(self, m, port):
        """Whether reads, and writes, of the core are outstanding at its memory."""
        beats, requests = Signal(32), Signal(32)
        asked = port.req.valid & port.req.ready
        writes = port.req.payload.write
        came, acked = port.r.valid & port.r.ready, port.ack.valid & port.ack.ready
        m.d.sync += [
            beats.eq(beats + Mux(asked & ~writes, port.req.payload.beats + 1, 0) - came),
            requests.eq(requests + (asked & writes) - acked),
        ]
        return Activity(beats.any()), Activity(requests.any())
