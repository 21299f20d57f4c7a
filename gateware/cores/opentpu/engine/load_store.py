# SPDX-License-Identifier: BSD-2-Clause
"""Load and store units: RHM (host memory to unified buffer), WHM (unified buffer to host memory),
RW (tiles to the weight FIFO)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from ....memory.port import MemoryPort
from .decode import candidate_layout
from .matrix import progress_layout, ub_latency
from .movers import RowReader, RowWriter
from .tracker import tracker

__all__ = ["LoadUnit", "WeightUnit", "StoreUnit", "trouble_layout"]


def trouble_layout() -> data.StructLayout:
    """Layout of a bus error: ``pc`` of the instruction, ``address`` of the request."""
    return data.StructLayout({"pc": 32, "address": 32})


class LoadUnit(wiring.Component):
    """Load unit: executes RHM. It issues only when no other instruction still needs the rows that
    it writes, so that it accepts read data without waiting. A second RHM may wait in a queue of one
    entry (not in the small build).

    Members: ``issue``, ``candidate``, ``pc`` : In, while ``ready``; ``stop`` : In, level: request
    nothing more, drop received data;
    ``active``, ``row``, ``last`` : Out: rows still to be written; ``queued``,
        ``queued_row``, ``queued_last``: those of the queue;
    ``step`` : Out: a row was written; ``done`` : Out: it was the last;
        ``ub_write``, ``ub_address``, ``ub_data``, ``ub_grant``: write
    port; ``error``, ``trouble`` : Out, ``error_ready`` : In: the row that comes has an error, it is
    taken when the engine has noted it; ``memory``.
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        p = self.params = params
        ub = exact_log2(p["ub_rows"])
        self.reader = RowReader(
            row_bytes=p["n"],
            beat_bytes=beat_bytes,
            most_rows=256,
            tag_bits=0,
            flight=1 if p["banks"] == 1 else 2,
        )
        super().__init__(
            {
                "issue": In(1),
                "candidate": In(candidate_layout(p)),
                "pc": In(32),
                "stop": In(1),
                "ready": Out(1),
                "active": Out(1),
                "row": Out(ub),
                "last": Out(ub),
                "step": Out(1),
                "done": Out(1),
                "queued": Out(1),
                "queued_row": Out(ub),
                "queued_last": Out(ub),
                "ub_write": Out(1),
                "ub_address": Out(ub),
                "ub_data": Out(8 * p["n"]),
                "ub_grant": In(1),
                "error": Out(1),
                "trouble": Out(trouble_layout()),
                "error_ready": In(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = self.reader
        wiring.connect(m, reader.memory, wiring.flipped(self.memory))
        cand, ub_bits = self.candidate, len(self.row)
        pc = Signal(32, reset_less=True)
        allowed = ~self.error | self.error_ready
        m.d.comb += [
            reader.stop.eq(self.stop),
            self.ub_write.eq(reader.valid & allowed & ~self.stop),
            self.ub_address.eq(self.row),
            self.ub_data.eq(reader.data),
            reader.ready.eq(self.ub_grant | self.stop),
            self.error.eq(reader.valid & reader.error & ~self.stop),
            self.trouble.pc.eq(pc),
            self.trouble.address.eq(reader.error_address),
        ]
        m.d.sync += [self.step.eq(self.ub_grant), self.done.eq(0)]
        with m.If(self.ub_grant):
            m.d.sync += self.row.eq(self.row + 1)
            with m.If(self.row == self.last):
                m.d.sync += [self.active.eq(0), self.done.eq(1)]
        with m.If(self.stop & ~reader.asking & ~reader.answering):
            m.d.sync += self.active.eq(0)
        begin = Signal()
        work = Signal(
            data.StructLayout(
                {"row": ub_bits, "last": ub_bits, "address": 32, "number": 8, "pc": 32}
            )
        )
        fresh = Signal.like(work)
        m.d.comb += [
            fresh.row.eq(cand.ub),
            fresh.last.eq(cand.ub_last),
            fresh.address.eq(cand.begin),
            fresh.number.eq(cand.number),
            fresh.pc.eq(self.pc),
        ]
        if self.params["banks"] == 1:
            m.d.comb += [work.eq(fresh), begin.eq(self.issue), self.ready.eq(~self.active)]
        else:
            # Through the queue always: between two RHMs ``active`` is low for a cycle.
            queue = Signal.like(work, reset_less=True)
            m.d.comb += [
                work.eq(queue),
                begin.eq(self.queued & ~self.active & ~self.stop),
                self.ready.eq(~self.queued),
                self.queued_row.eq(queue.row),
                self.queued_last.eq(queue.last),
            ]
            with m.If(begin | self.stop):
                m.d.sync += self.queued.eq(0)
            with m.If(self.issue):
                m.d.sync += [self.queued.eq(1), queue.eq(fresh)]
        m.d.comb += [
            reader.start.eq(begin),
            reader.address.eq(work.address),
            reader.rows.eq(work.number),
        ]
        with m.If(begin):
            m.d.sync += [
                self.active.eq(1),
                self.row.eq(work.row),
                self.last.eq(work.last),
                pc.eq(work.pc),
            ]
        return m


class WeightUnit(wiring.Component):
    """Weight load unit: executes RW, with two tiles in flight. A diagonal is one row of memory,
    which becomes the N rows of its tile, one in each cycle.

    Members: ``issue``, ``candidate``, ``pc`` : In, not while ``asking``; ``stop`` : In; ``active``
    : Out: tiles are outstanding, ``tiles`` of them; ``done`` : Out, one cycle: one has arrived;
    ``push``, ``row`` : Out: its rows; ``taken`` : Out: the row that is pushed comes from memory
    (with ``ext_diag``; without it every row does); errors and memory as :class:`LoadUnit`.
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        p = self.params = params
        self.reader = RowReader(
            row_bytes=p["n"],
            beat_bytes=beat_bytes,
            most_rows=p["n"],
            tag_bits=32 + p["ext_diag"],
            flight=1 if p["banks"] == 1 else 2,
        )
        super().__init__(
            {
                "issue": In(1),
                "candidate": In(candidate_layout(p)),
                "pc": In(32),
                "stop": In(1),
                "asking": Out(1),
                "active": Out(1),
                "tiles": Out(2),
                "done": Out(1),
                "push": Out(1),
                "row": Out(8 * p["n"]),
                **({"taken": Out(1)} if p["ext_diag"] else {}),
                "error": Out(1),
                "trouble": Out(trouble_layout()),
                "error_ready": In(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = self.reader
        wiring.connect(m, reader.memory, wiring.flipped(self.memory))
        n = self.params["n"]
        count = Signal(range(n))
        m.d.comb += [
            reader.start.eq(self.issue),
            reader.address.eq(self.candidate.begin),
            reader.stop.eq(self.stop),
            self.active.eq(self.tiles != 0),
            self.done.eq(self.push & (count == n - 1)),
            self.trouble.address.eq(reader.error_address),
        ]
        if self.params["ext_diag"]:
            self._expand(m)
        else:
            m.d.comb += [
                reader.rows.eq(n - 1),
                reader.tag.eq(self.pc),
                reader.ready.eq(~self.error | self.error_ready),
                self.push.eq(reader.valid & reader.ready & ~self.stop),
                self.row.eq(reader.data),
                self.error.eq(reader.valid & reader.error & ~self.stop),
                self.trouble.pc.eq(reader.answer_tag),
            ]
        # With one request in flight the reader keeps one address and tag: those of the tile that is
        # still to come. A diagonal that becomes rows is none of the reader's tiles any more, but
        # counts in ``tiles``.
        waits = reader.answering if reader.flight == 1 else Const(0)
        if self.params["ext_diag"]:
            waits = waits | self.tiles.all()
        m.d.comb += self.asking.eq(reader.asking | waits)
        with m.If(self.push):
            m.d.sync += count.eq(Mux(count == n - 1, 0, count + 1))
        m.d.sync += self.tiles.eq(self.tiles + self.issue - self.done)
        with m.If(self.stop & ~reader.asking & ~reader.answering):
            m.d.sync += [self.tiles.eq(0), count.eq(0)]
        return m

    def _expand(self, m):
        """Rows of whole tiles as they come, and those of diagonals.

        A diagonal is taken from the reader in the cycle in which its first row is pushed. Its other
        bytes stay here for the other rows, so that the memory can answer other ports meanwhile.
        """
        reader, n = self.reader, self.params["n"]
        pc_bits = len(self.pc)
        expanding = Signal()  # a row is pushed of the diagonal that was taken
        place = Signal(n - 1)  # bit k - 1: that row is row k
        rest = Signal(8 * (n - 1), reset_less=True)
        diagonal, whole = Signal(), Signal()
        m.d.comb += [
            reader.rows.eq(Mux(self.candidate.diagonal, 0, n - 1)),
            reader.tag.eq(Cat(self.pc, self.candidate.diagonal)),
            diagonal.eq(reader.answer_tag[pc_bits]),
            self.trouble.pc.eq(reader.answer_tag[:pc_bits]),
            # (A WHM between two tiles must not hear of the second one's error while it waits for
            # the first.)
            self.error.eq(reader.valid & reader.error & ~expanding & ~self.stop),
            reader.ready.eq(~expanding & (~self.error | self.error_ready)),
            self.taken.eq(reader.valid & reader.ready & ~self.stop),
            self.push.eq(self.taken | expanding & ~self.stop),
            whole.eq(~expanding & ~diagonal),
            self.row[:8].eq(reader.data[:8] & ~expanding.replicate(8)),
        ]
        for k in range(1, n):
            m.d.comb += self.row.word_select(k, 8).eq(
                reader.data.word_select(k, 8) & whole.replicate(8)
                | rest.word_select(k - 1, 8) & place[k - 1].replicate(8)
            )
        begins = self.taken & diagonal
        m.d.sync += [
            expanding.eq((begins | expanding & ~place[-1]) & ~self.stop),
            place.eq(Mux(self.stop, 0, Cat(begins, place))),
        ]
        with m.If(~expanding):
            m.d.sync += rest.eq(reader.data[8:])


class StoreUnit(wiring.Component):
    """Store unit: executes WHM. Its first write waits until all older reads and writes have ended
    without error.

    Members: ``issue``, ``candidate``, ``pc`` : In, while ``ready``; ``kill`` : In, level: no
    further burst; ``clear`` : In: after the run; ``older_readers``, ``older_tiles`` : In: RHMs and
    RWs outstanding when it issues; ``reader_done``, ``reader_error``,
    ``tile_done``, ``tile_error`` : In; ``behind_act``, ``act_active``, ``act_step`` : In,
        as elsewhere; ``active`` : Out: until all is
    acknowledged; ``earlier`` : Out: the WHM before is not yet; ``reading``, ``row``, ``last`` :
    Out: rows still to be read; ``begin``,
    ``end`` : Out: its bytes; ``row_done``: a row went to the memory; ``ub_read``, ``ub_address``,
    ``ub_grant``, ``ub_data``: read port; ``error``, ``trouble``, ``error_ready``, ``memory``.
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        p = self.params = params
        ub = exact_log2(p["ub_rows"])
        self.latency = ub_latency(p)
        self.writer = RowWriter(
            row_bytes=p["n"], beat_bytes=beat_bytes, flight=1 if p["banks"] == 1 else 4
        )
        super().__init__(
            {
                "issue": In(1),
                "candidate": In(candidate_layout(p)),
                "pc": In(32),
                "kill": In(1),
                "ready": Out(1),
                "clear": In(1),
                "earlier": Out(1),
                "older_readers": In(2),
                "older_tiles": In(2),
                "reader_done": In(1),
                "reader_error": In(1),
                "tile_done": In(1),
                "tile_error": In(1),
                "behind_act": In(progress_layout(ub)),
                "act_active": In(1),
                "act_step": In(1),
                "active": Out(1),
                "reading": Out(1),
                "row": Out(ub),
                "last": Out(ub),
                "begin": Out(32),
                "end": Out(32),
                "row_done": Out(1),
                "ub_read": Out(1),
                "ub_address": Out(ub),
                "ub_grant": In(1),
                "ub_data": In(8 * p["n"]),
                "error": Out(1),
                "trouble": Out(trouble_layout()),
                "error_ready": In(1),
                "memory": Out(MemoryPort(beat_bytes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.writer = writer = self.writer
        wiring.connect(m, writer.memory, wiring.flipped(self.memory))
        cand = self.candidate
        pc, earlier_pc = Signal(32, reset_less=True), Signal(32, reset_less=True)
        after_readers, after_tiles, poisoned = Signal(2), Signal(2), Signal()
        act_ok = tracker(
            m,
            "act",
            load=self.issue,
            follow=self.behind_act.follow,
            start=self.behind_act.slack,
            older_active=self.act_active,
            older_step=self.act_step,
            younger_step=self.ub_grant,
        )
        pipelined = (
            self.params["banks"] == 2
        )  # the next WHM may issue while the last bursts are on their way
        m.d.comb += [
            writer.start.eq(self.issue),
            writer.address.eq(cand.begin),
            writer.rows.eq(cand.number),
            writer.kill.eq(self.kill | poisoned),
            writer.permit.eq((after_readers == 0) & (after_tiles == 0) & ~writer.earlier),
            writer.clear.eq(self.clear),
            self.ub_read.eq(self.reading & (after_readers == 0) & act_ok & writer.space),
            self.ub_address.eq(self.row),
            writer.reserve.eq(self.ub_grant),
            writer.data.eq(self.ub_data),
            self.row_done.eq(writer.row_done),
            self.error.eq(writer.error),
            writer.error_ready.eq(self.error_ready),
            self.trouble.pc.eq(Mux(writer.earlier, earlier_pc, pc)),
            self.earlier.eq(writer.earlier),
            self.ready.eq(~self.active | (~self.reading & writer.ready & pipelined)),
            self.trouble.address.eq(writer.error_address),
        ]
        pushes = Signal(self.latency)  # rows that were read and are still to be pushed
        m.d.sync += pushes.eq(Cat(self.ub_grant, pushes))
        m.d.comb += writer.push.eq(pushes[-1])
        with m.If(self.ub_grant):
            m.d.sync += self.row.eq(self.row + 1)
            with m.If(self.row == self.last):
                m.d.sync += self.reading.eq(0)
        with m.If(self.kill | poisoned):
            m.d.sync += self.reading.eq(0)
        with m.If(self.reader_done & (after_readers != 0)):
            m.d.sync += after_readers.eq(after_readers - 1)
        with m.If(self.tile_done & (after_tiles != 0)):
            m.d.sync += after_tiles.eq(after_tiles - 1)
        # An error of an older access kills the WHM that waits for it, and every one that issues
        # from then on, until the run ends.
        failed, wrong = Signal(), Signal()
        m.d.comb += wrong.eq(self.reader_error | self.tile_error | writer.error)
        with m.If(wrong):
            m.d.sync += failed.eq(1)
        with m.If(
            (after_readers != 0) & self.reader_error
            | (after_tiles != 0) & self.tile_error
            | writer.error
        ):
            m.d.sync += poisoned.eq(1)
        with m.If(self.active & ~self.reading & ~writer.busy & ~pushes.any()):
            m.d.sync += self.active.eq(0)
        with m.If(self.kill):
            m.d.sync += [after_readers.eq(0), after_tiles.eq(0)]
        with m.If(self.issue):
            m.d.sync += [
                self.active.eq(1),
                self.reading.eq(1),
                self.row.eq(cand.ub),
                self.last.eq(cand.ub_last),
                self.begin.eq(cand.begin),
                self.end.eq(cand.end),
                pc.eq(self.pc),
                earlier_pc.eq(pc),
                poisoned.eq(poisoned | failed | wrong),
                after_readers.eq(self.older_readers),
                after_tiles.eq(self.older_tiles - self.tile_done),
            ]
        with m.If(self.clear):
            m.d.sync += [failed.eq(0), poisoned.eq(0)]
        return m
