# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the dispatch: whatever the decoder offers, whatever the memory and the host do, a run
ends once, says truly how, and what it shifts out is whole. Decoder, controller and array are left
out: what they say is the solver's choice."""

import pytest
from amaranth import Module
from amaranth.hdl import Assert, Assume, Cat, Cover, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.cores.imagine.engine.controller import RootLayout
from quintet.gateware.cores.imagine.engine.decode import WordLayout
from quintet.gateware.cores.imagine.engine.dispatch import Dispatch, Kind
from quintet.gateware.cores.imagine.engine.mapping import Mapping
from quintet.gateware.cores.imagine.engine.ops import Decoded, GateLayout, OpLayout
from quintet.gateware.cores.imagine.isa import ISA
from tests.support.formal import ProofFailed, Property, check_bits, cover

CODE = ISA.fault_codes
#: Two rows of registers of 4 bits.
SMALL = Mapping(2, 1, 4, 64, "tdp")
#: What the decoder says of a word, by the bits of its gate: of the array, of one cycle and of
#: several; of the columns; a fault; the end.
KINDS = (
    ("array", "at_once"),
    ("array", "at_once", "multi"),
    ("pause",),
    ("mode",),
    ("emit",),
    ("stop",),
    ("stop", "end"),
)


class _Stub(wiring.Component):
    """Drives nothing: the solver does."""

    def __init__(self, **members):
        super().__init__(members)

    def elaborate(self, platform):
        return Module()


def _dispatch(mapping):
    dut = Dispatch(mapping=mapping, address_bits=20)
    for left_out in (dut.decoder, dut.controller, dut.array):
        left_out._MustUse__used = True
    dut.decoder = _Stub(words=In(stream.Signature(WordLayout())), ops=Out(Decoded(mapping)))
    dut.controller = _Stub(
        op=In(OpLayout(mapping)),
        go=In(2),
        capture=In(1),
        out=In(1),
        root=Out(RootLayout(mapping)),
        swept=Out(1),
    )
    dut.array = _Stub(root=In(RootLayout(mapping)), word=Out(mapping.width))
    # A short way to the column registers and back: a whole run in few steps.
    dut.controller.latency_out, dut.array.latency = 1, 1
    return dut


class RunProperty(Property):
    """Runs, seen from outside, beside a decoder that offers operations of any kind and then the
    end:

    * nothing starts and nothing leaves but within a run, and nothing behind the mark of its end, of
      which there is one;
    * from the mark on, ``count`` is the number of operations that started, and ``code`` and
      ``detail`` say what kept the next one from it: the end, a fault, a ``vv_parallelEn`` without
      room in main memory, or the host; results never exceed ``allowance``;
    * of a run that the host did not stop, each shift-out has left whole before the mark: a word for
      each row, the last one marked as such, then the number of its ``vv_parallelEn``.

    ``steady``: nobody hesitates, and the host does not stop a run, so that more steps can be seen;
    ``wrong``: that ``count`` is one more.
    """

    def __init__(self, steady=False, wrong=0):
        super().__init__()
        self.steady, self.wrong = steady, wrong

    def build(self, m):
        rows = SMALL.rows
        dut = m.submodules.dut = _dispatch(SMALL)
        put = self._decoder(m, dut)
        self._host(m, dut)
        items, issue, kind = dut.items, dut.issue, dut.items.payload.kind
        self.free(items.ready)
        ends = items.valid & (kind == Kind.END)
        marked, stopped, run = Signal(), Signal(), Signal()
        gone, vectors, words, places, number = (
            Signal(5),
            Signal(3),
            Signal(range(64)),
            Signal(4),
            Signal(5),
        )
        row = Signal(range(rows))
        word, place = (
            (items.valid & (kind == Kind.WORD) | items.valid & (kind == Kind.LAST)),
            items.valid & (kind == Kind.PLACE),
        )
        m.d.sync += [
            run.eq(dut.run),
            gone.eq(gone + issue.go),
            vectors.eq(vectors + issue.emits),
            words.eq(words + word),
            places.eq(places + (place & items.ready)),
            marked.eq(marked | ends & items.ready),
            stopped.eq(stopped | dut.stop),
        ]
        with m.If(word):
            m.d.sync += row.eq(Mux(kind == Kind.LAST, 0, row + 1))
        with m.If(issue.emits):
            m.d.sync += number.eq(gone)
        with m.If(~dut.run):
            m.d.sync += [
                gone.eq(0),
                vectors.eq(0),
                words.eq(0),
                places.eq(0),
                row.eq(0),
                marked.eq(0),
                stopped.eq(0),
            ]
        said, over = issue.gates.o.payload, ends | marked & dut.run
        all_left = (words == vectors * rows) & (places == vectors << 1)
        unstopped = ~over | stopped
        claims = {
            "starts": ~issue.go | dut.run & ~over,
            "leaves": ~items.valid | dut.run & ~marked,
            "count": ~over | (dut.count == gone + self.wrong),
            "aborted": ~over | (dut.code != CODE["aborted"]) | stopped,
            "ended": ~over | (dut.code != 0) | said.end & (gone == put),
            "full": ~over
            | (dut.code != CODE["output_full"])
            | ((vectors + 1) * rows > dut.allowance),
            "fault": ~over
            | (dut.code != CODE["illegal_opcode"])
            | (dut.detail[:5] == gone) & dut.detail[31],
            "codes": ~over
            | Cat(dut.code == CODE[n] for n in ("aborted", "output_full", "illegal_opcode")).any()
            | (dut.code == 0),
            "allowance": vectors * rows <= dut.allowance,
            "whole": unstopped | all_left,
            "last": ~word | ((kind == Kind.LAST) == (row == rows - 1)) | stopped,
            "place": ~place
            | stopped
            | (row == 0)
            & (items.payload.value[:5] == Mux(places[0], 0, number))
            & (words == vectors * rows),
        }
        m.d.comb += [Assert(value) for value in claims.values()]
        m.d.comb += [
            Cover(marked & (vectors == 1) & (dut.code == 0)),
            Cover(marked & (dut.code == CODE["output_full"])),
            Cover(marked & (dut.code == CODE["illegal_opcode"]) & (gone == 2)),
            Cover(marked & (dut.code == 0) & (gone == 3)),
        ]

    def _decoder(self, m, dut):
        """Operations in order, their gates a stage later, then the end, and no more before the next
        run: how many came before the end. Their words count them; a fault's has its top bit set."""
        ops = dut.decoder.ops
        comes, kind, ended, put = Signal(), Signal(GateLayout()), Signal(), Signal(5)
        self.free(comes, kind.as_value())
        legal = Cat(
            Cat(kind[n] if n in bits else ~kind[n] for n in GateLayout().members).all()
            for bits in KINDS
        ).any()
        fault = kind.stop & ~kind.end
        m.d.comb += [
            Assume(legal),
            Assume(~comes | ~ended),
            ops.put.eq(comes),
            ops.op.word.eq(Cat(put, Mux(fault, 1 << 26, 0))),
            ops.op.end.eq(kind.end),
            ops.op.fault.eq(Mux(fault, 4, 0)),
            ops.op.array.eq(kind.array),
            ops.op.one.eq(kind.multi),
            ops.op.slots.eq(3),
            ops.op.serial.eq(kind.mode),
            ops.op.parallel.eq(kind.emit),
        ]
        if self.steady:
            m.d.comb += Assume(comes | ended)
        with m.If(ops.gate.ready):
            m.d.sync += [
                ops.gate.valid.eq(comes),
                ops.gate.payload.eq(kind),
                put.eq(put + (comes & ~kind.end)),
                ended.eq(ended | comes & kind.end),
            ]
        with m.If(dut.issue.release & dut.issue.gates.o.ready):
            m.d.sync += [ended.eq(0), put.eq(0)]
        return put

    def _host(self, m, dut):
        """``run`` after the sweep and while no other is active, until the mark was seen; ``stop``
        only in a run, until it is over, and not up to the next one."""
        run, stop, seen, swept = Signal(), Signal(), Signal(), Signal()
        self.free(dut.run, dut.stop, dut.controller.swept, dut.space)
        self.constant(m, dut.allowance)
        m.d.sync += [run.eq(dut.run), stop.eq(dut.stop), swept.eq(dut.controller.swept)]
        with m.If(~dut.run):
            m.d.sync += seen.eq(0)
        with m.If(dut.items.valid & (dut.items.payload.kind == Kind.END) & dut.items.ready):
            m.d.sync += seen.eq(1)
        m.d.comb += [
            Assume(dut.allowance < 16),
            Assume(~swept | dut.controller.swept),
            Assume(~run | dut.run | seen),
            Assume(run | ~dut.run | ~(stop | dut.stop | dut.active) & dut.swept),
            Assume(stop | ~dut.stop | run),
            Assume(~stop | dut.stop | ~run),
        ]
        if self.steady:
            m.d.comb += [
                Assume(value)
                for value in (
                    dut.controller.swept,
                    dut.space,
                    dut.items.ready,
                    ~dut.stop,
                    dut.run | Mux(run, seen, dut.active | ~dut.swept),
                )
            ]


@pytest.mark.parametrize("depth", [15, pytest.param(18, marks=pytest.mark.long)])
def test_runs_end_once_and_say_how(depth, tmp_path):
    check_bits(RunProperty(), tmp_path, depth=depth)


@pytest.mark.parametrize("depth", [21, pytest.param(25, marks=pytest.mark.long)])
def test_shift_outs_are_whole(depth, tmp_path):
    check_bits(RunProperty(steady=True), tmp_path, depth=depth)


def test_runs_of_every_kind_end(tmp_path):
    cover(RunProperty(steady=True), tmp_path, depth=24)


def test_that_count_is_one_more_is_wrong(tmp_path):
    with pytest.raises(ProofFailed):
        check_bits(RunProperty(wrong=1), tmp_path, depth=13)
