# SPDX-License-Identifier: BSD-2-Clause
"""End-of-run detection: the first fault, deadlock, abort, or the end of every program
(specification, sections 2, 6 and 7)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....arguments import check_family
from ....isa.parameters import Params
from ....primitives.multiplexer import selected
from ..isa import ISA
from .links import core_bits

__all__ = ["RunEnd", "trouble_layout"]

_CODE = ISA.fault_codes
#: Cycles for which everything must have been quiet.
_SETTLE = 4


def trouble_layout() -> data.StructLayout:
    """Layout of a core's fault report: ``fault``, ``code``, ``detail``; ``base`` is the address of
    its code, ``offset`` that of the instruction within it."""
    return data.StructLayout({"fault": 1, "code": 8, "detail": 32, "base": 32, "offset": 32})


class RunEnd(wiring.Component):
    """End-of-run detection: watches a run, stops all processors, and reports the outcome.

    Whatever ends the run is caught with the state of its core in the cycle before ``stop`` rises,
    three cycles after a core raised its fault. Of several in one cycle: a fault before a deadlock
    before an abort before the end; of cores the lowest.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    begin : In, one cycle: RUN begins; refused : In, one cycle, LOAD ended without:
        ``load_code``, ``load_detail`` (0: aborted), ``image`` : In
    abort : In, level
    core : In, array of :func:`trouble_layout`; finished, blocked, quiet : In, one bit a core
    deadlock : In, level; settled : In, level: nothing is outstanding anywhere else
    running : Out, RUN; stop : Out, level
    finish : Out, one cycle; code, pc, detail, fault_core, done, stuck : Out:
        hold still until the next run (``done``, ``stuck``: bitmaps)
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        n = self.cores = params["cores"]
        super().__init__(
            {
                "begin": In(1),
                "refused": In(1),
                "load_code": In(8),
                "load_detail": In(32),
                "image": In(32),
                "abort": In(1),
                "core": In(trouble_layout()).array(n),
                "finished": In(n),
                "blocked": In(n),
                "quiet": In(n),
                "deadlock": In(1),
                "settled": In(1),
                "running": Out(1),
                "stop": Out(1),
                "finish": Out(1),
                "code": Out(8),
                "pc": Out(32),
                "detail": Out(32),
                "fault_core": Out(core_bits(params)),
                "done": Out(n),
                "stuck": Out(n),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.cores
        faults = Signal(n)
        which = Signal(n)  # among these cores the lowest is meant
        first = Signal(core_bits(self.params))
        dead, aborted, blocked = Signal(), Signal(), Signal(n)
        m.d.sync += faults.eq(Cat(core.fault for core in self.core))
        m.d.comb += [
            dead.eq(~faults.any() & self.deadlock),
            aborted.eq(~faults.any() & ~self.deadlock & self.abort),
        ]
        with m.If(faults.any()):
            m.d.comb += which.eq(faults)
        with m.Elif(self.deadlock):
            m.d.comb += which.eq(self.blocked)
        with m.Else():
            m.d.comb += which.eq(~self.finished)
        for k in reversed(range(n)):
            with m.If(which[k]):
                m.d.comb += first.eq(k)
        cores = [core.as_value() for core in self.core]
        culprit = data.View(
            trouble_layout(), selected(m, "culprit", cores, self.fault_core, self.family)
        )
        offset = Signal(32)  # still to be added to `pc`: choice and sum are a cycle each
        own = Signal()  # the core's own fault
        settle = Signal(range(_SETTLE + 1))
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += settle.eq(0)
                with m.If(self.refused):
                    m.d.sync += [
                        self.fault_core.eq(0),
                        self.code.eq(Mux(self.load_code != 0, self.load_code, _CODE["aborted"])),
                        self.detail.eq(self.load_detail),
                        self.pc.eq(self.image),
                        self.done.eq(0),
                        self.stuck.eq(0),
                    ]
                    m.next = "STOP"
                with m.Elif(self.begin):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                m.d.sync += [
                    self.fault_core.eq(first),
                    blocked.eq(self.blocked),
                    own.eq(faults.any()),
                ]
                with m.If(which.any() & (faults.any() | dead | aborted)):
                    m.d.sync += [
                        self.code.eq(Mux(dead, _CODE["deadlock"], _CODE["aborted"])),
                        self.detail.eq(Mux(dead, self.blocked, 0)),
                    ]
                    m.next = "CATCH"
                with m.Elif(self.finished.all()):
                    m.d.sync += [
                        self.fault_core.eq(0),
                        self.code.eq(0),
                        self.pc.eq(0),
                        self.detail.eq(0),
                        self.done.eq(~0),
                        self.stuck.eq(0),
                    ]
                    m.next = "STOP"
            with m.State("CATCH"):
                m.d.sync += [
                    self.pc.eq(culprit.base),
                    offset.eq(culprit.offset),
                    self.done.eq(self.finished),
                    self.stuck.eq(blocked),
                ]
                with m.If(own):
                    m.d.sync += [self.code.eq(culprit.code), self.detail.eq(culprit.detail)]
                m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += self.stop.eq(1)
                m.d.sync += [self.pc.eq(self.pc + offset), offset.eq(0)]
                m.d.sync += settle.eq(Mux(self.quiet.all() & self.settled, settle + 1, 0))
                with m.If(settle == _SETTLE):
                    m.d.comb += self.finish.eq(1)
                    m.next = "IDLE"
        return m
