# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the issue: nothing starts before the specification lets it, whatever the decoder offers
and whenever; and every start has its own operation."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Cover, Signal

from quintet.gateware.cores.imagine.engine.issue import Issue
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.engine.ops import GateLayout
from tests.support.formal import ProofFailed, Property, check, cover, prove

#: Registers of 4 bits: every instruction of several slots is short.
MAPPING = Mapping(1, 1, 4, 64, "tdp")
#: What a word of the decoder may be: the bits of its gate.
KINDS = (
    ("array", "at_once"),
    ("array", "odd", "multi"),
    ("array", "even", "multi"),
    ("array", "calm", "multi"),
    ("array", "calm"),
    ("pause",),
    ("mode",),
    ("emit",),
    ("stop",),
    ("stop", "end"),
)
#: What may wait in the queue: with two ports ``calm`` is as good as ``at_once``; a hazard has
#: robbed some of what would let them overlap.
QUEUED = tuple(tuple("at_once" if n == "calm" else n for n in bits) for bits in KINDS)
QUEUED += tuple(tuple(n for n in bits if n not in ("odd", "even", "at_once")) for bits in QUEUED)


def _legal(gate, kinds=KINDS):
    names = GateLayout().members
    return Cat(
        Cat(gate[n] if n in bits else ~gate[n] for n in names).all() for bits in set(kinds)
    ).any()


class TimingProperty(Property):
    """By clocks of its own, counted from the starts alone:

    * nothing of the array starts while an instruction of several slots has slots left;
    * what a hazard holds back starts when everything before it has landed, and so does one of two
      operands behind one of one operand;
    * two instructions of two operands that overlap use the second port in different slots;
    * a word of the columns (but ``vv_nop``) does not start while a captured instruction has slots
      left, none while a shift-out runs.

    That a start has the operation of its gate is assumed here and is :class:`OrderProperty`.
    ``wrong``: that nothing overlaps.
    """

    def __init__(self, wrong=False):
        super().__init__()
        self.wrong = wrong

    def build(self, m):
        drain = MAPPING.drain
        dut = m.submodules.dut = Issue(mapping=MAPPING)
        ops, op = dut.ops, dut.op
        over, enabled = Signal(), Signal()
        self.free(
            ops.gate.valid,
            ops.gate.payload.as_value(),
            ops.hazard,
            ops.op.as_value(),
            ops.put,
            dut.capture,
            dut.enable,
            dut.emit,
            dut.discard,
            dut.release,
            over,
        )
        said = Signal(GateLayout())
        begun, array, busy, land = dut.state["started"], dut.array[0], Signal(6), Signal(6)
        captured, dual, phase = Signal(), Signal(), Signal()
        m.d.sync += [
            enabled.eq(dut.enable),
            said.eq(dut.gates.o.payload),
            dut.emitting.eq(dut.emits | dut.emitting & ~over),
            busy.eq(busy - (busy != 0)),
            land.eq(land - (land != 0)),
            phase.eq(~phase),
        ]
        with m.If(begun):
            # The phase is that of the bits: those of a step begin a slot later.
            m.d.sync += [
                busy.eq(op.slots + 1),
                land.eq(op.slots + 1 + drain),
                captured.eq(dut.capture),
                dual.eq(~op.one),
                phase.eq(op.step),
            ]
        overlaps = array & (land != 0)
        m.d.comb += [
            Assume(_legal(ops.gate.payload)),
            Assume(~dut.release | dut.gates.o.payload.end),
            Assume(~dut.discard | ~dut.enable),
            Assume(
                ~begun
                | (op.add + op.step + op.one == 1)
                & (~said.odd | op.add)
                & (~said.even | op.step)
                & (~said.at_once | op.one)
            ),
            Assume(
                ~begun | (op.slots >= 2) & (op.slots <= 10) & (op.one | (op.slots[0] == op.add))
            ),
            Assert(~array | (busy == 0)),
            Assert(~overlaps | said.odd | said.even | said.at_once),
            Assert(~(overlaps & (said.odd | said.even)) | dual & (phase == said.odd)),
            Assert(~dut.modes | ~(captured & (busy != 0))),
            Assert(~(dut.go & ~array) | ~dut.emitting),
        ]
        if self.wrong:
            m.d.comb += Assert(~overlaps | said.at_once & ~said.multi)
        m.d.comb += [Cover(overlaps & said[name]) for name in ("odd", "even", "at_once")]
        m.d.comb += Cover(overlaps & said.at_once & said.multi)
        m.d.comb += [Cover(dut.modes & (busy != 0)), Cover(dut.emits & dut.go)]
        self._invariants(m, dut, busy, land, captured, dual, phase, said)

    def _invariants(self, m, dut, busy, land, captured, dual, phase, said):
        """Invariants for the induction: how the issue's own state follows from those clocks."""
        s, may, gates = dut.state, dut.may, dut.gates
        counts, begun, ends = s["counts"], s["started"], s["ends"]
        rests = ~counts & ~begun
        of_array = Cat(may[n] for n in ("array", "at_once", "odd", "even", "calm")).any()
        of_columns = Cat(may[n] for n in ("pause", "mode", "emit")).any()
        m.d.comb += [
            Assert(value)
            for value in (
                ~counts
                | (busy == s["slots"] + 1)
                & (s["slots"] != 0)
                & (land == busy + MAPPING.drain)
                & ~begun
                & (s["plain"] == ~captured),
                ends == (counts & (s["slots"] == 1)),
                s["free"] == rests,
                ~rests | (busy <= 1),
                ~(rests & s["drained"]) | (land <= 1),
                ~(rests & ~s["drained"]) | (s["landing"] != 0) & (land == s["landing"] + 1),
                ~of_array | s["free"],
                ~may["array"] | s["drained"],
                ~may["odd"] | s["odd"],
                ~may["even"] | s["even"],
                ~s["stored"],
                begun | (s["dual"] == dual),
                ~(counts & dual) | (s["slots"][0] != phase),
                ~rests | (s["even"] == (dual & phase)) & (s["odd"] == (dual & ~phase)),
                begun == (dut.array[0] & said.multi),
                ~begun | ~s["plain"],
                ~of_columns | ~dut.emitting & ~dut.emits,
                ~(may["mode"] | may["emit"]) | s["free"] | s["plain"],
                ~dut.modes | dut.go,
                ~dut.emits | dut.modes,
                ~dut.array[0] | dut.go,
                gates.o.valid | (gates.o.payload.as_value() == 0),
                ~gates.o.valid | _legal(gates.o.payload, QUEUED),
                gates.i.ready | gates.o.valid & _legal(GateLayout()(gates.second), QUEUED),
            )
        ]


class OrderProperty(Property):
    """Behind a decoder whose gates follow their operations by a stage: operations leave in the
    order in which they came, each with its gate, and what stops is shown as the next one.
    ``wrong``: a number too high."""

    def __init__(self, wrong=0):
        super().__init__()
        self.wrong = wrong

    def build(self, m):
        dut = m.submodules.dut = Issue(mapping=MAPPING)
        gate, said, ready = dut.ops.gate, dut.gates.o.payload, dut.ops.gate.ready
        comes, kind, hazard, enabled = Signal(), Signal(GateLayout()), Signal(), Signal()
        self.free(
            comes,
            kind.as_value(),
            hazard,
            dut.enable,
            dut.capture,
            dut.emit,
            dut.discard,
            dut.release,
        )
        put, taken, number = Signal(4), Signal(4), Signal(4)
        stops, leaves = Signal(), Signal()
        m.d.comb += [
            Assume(~dut.release | said.end),
            Assume(~dut.discard | ~dut.enable & ~enabled),
            Assume(_legal(kind)),
            dut.ops.put.eq(comes),
            dut.ops.op.word.eq(put),
            dut.ops.op.one.eq(1),
            dut.ops.op.slots.eq(2),
        ]
        with m.If(ready):
            m.d.sync += [
                gate.valid.eq(comes),
                gate.payload.eq(kind),
                dut.ops.hazard.eq(hazard),
                put.eq(put + comes),
            ]
        m.d.sync += [
            enabled.eq(dut.enable),
            number.eq(taken),
            leaves.eq(dut.gates.o.ready),
            stops.eq(said.stop),
        ]
        with m.If(dut.gates.o.ready):
            m.d.sync += taken.eq(taken + 1)
        m.d.comb += [
            Assert(~(leaves | stops) | (dut.op.word[:4] == (number + self.wrong)[:4])),
            Assert(dut.stopped == stops),
            Cover(leaves & (number == 6)),
        ]


def test_starts_wait_for_what_they_need(tmp_path):
    prove(TimingProperty(), tmp_path, depth=4)


def test_what_may_overlap_does(tmp_path):
    cover(TimingProperty(), tmp_path, depth=22)


def test_that_nothing_overlaps_is_wrong(tmp_path):
    with pytest.raises(ProofFailed):
        check(TimingProperty(wrong=True), tmp_path, depth=22)


def test_every_start_has_its_operation(tmp_path):
    """Of the first 14 cycles; the store is gone through three times."""
    check(OrderProperty(), tmp_path, depth=14)
    cover(OrderProperty(), tmp_path, depth=14)
    with pytest.raises(ProofFailed):
        check(OrderProperty(wrong=1), tmp_path, depth=14)
