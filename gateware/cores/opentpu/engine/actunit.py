# SPDX-License-Identifier: BSD-2-Clause
"""Activation unit: executes ACT between the accumulators and the unified buffer."""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from .activation import Activation
from .decode import candidate_layout
from .matrix import memory_latency, progress_layout

__all__ = ["ActivationUnit"]


class ActivationUnit(wiring.Component):
    """Activation unit: executes ACT; reads an accumulator row in every cycle in which the port is
    free, and writes the unified buffer without waiting.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    pending_bits : int, width of the matrix unit's counts of vectors

    Members
    -------
    issue, candidate : In: one cycle, while not ``active``; ``norm``, ``pool``,
        ``poolrow`` the CFG registers, ``compat`` the control register
    kill : In, level: read no further row
    behind_matrix : In: how the issuing ACT stands to the last MMC; ``pending``,
        ``old_pending``, ``written`` : In: see
        :class:`~.matrix.MatrixUnit`
    active : Out: rows are still to be written; ``exclusive``: an ACT.P runs,
        whose rows are checked as they are read
    acc_row, acc_last, ub_row, ub_last : Out: rows still to be read, rows still to be written
    acc_step, step : Out, one cycle: a row was read; a row was written,
        and may be read from the next cycle on
    range_fault, range_row : Out, one cycle: row of an ACT.P outside
    acc_read, acc_address : Out; acc_grant, acc_data : In; ub_write, ub_address, ub_data : Out
    """

    def __init__(self, *, params: Params, pending_bits: int) -> None:
        p = self.params = params
        n = p["n"]
        ub, acc = exact_log2(p["ub_rows"]), exact_log2(p["acc_rows"])
        self.latency = memory_latency(p)
        self.lanes = Activation(
            n=n,
            norm=None if p["ext_norm"] else p["norm_reset"],
            pool=p["ext_pool"],
            lean=p["banks"] == 1,
        )
        super().__init__(
            {
                "issue": In(1),
                "candidate": In(candidate_layout(p)),
                "norm": In(18),
                "pool": In(24),
                "poolrow": In(32),
                "compat": In(1),
                "kill": In(1),
                "behind_matrix": In(progress_layout(acc)),
                "pending": In(pending_bits),
                "old_pending": In(pending_bits),
                "written": In(1),
                "active": Out(1),
                "exclusive": Out(1),
                "acc_row": Out(acc),
                "acc_last": Out(acc),
                "ub_row": Out(ub),
                "ub_last": Out(ub),
                "acc_step": Out(1),
                "step": Out(1),
                "range_fault": Out(1),
                "range_row": Out(32),
                "acc_read": Out(1),
                "acc_address": Out(acc),
                "acc_grant": In(1),
                "acc_data": In(32 * n),
                "ub_write": Out(1),
                "ub_address": Out(ub),
                "ub_data": Out(8 * n),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, cand, n = self.params, self.candidate, self.params["n"]
        m.submodules.lanes = lanes = self.lanes
        left, unread = Signal(8), Signal()

        # The rows of older MMCs: all that are to be written, those of MMCs before the last, and how
        # far the last one is ahead (as in
        # :func:`~.tracker.tracker`).
        remain, wait = Signal.like(self.pending), Signal.like(self.pending)
        tracked, stepped = Signal(), Signal()
        distance = Signal.like(self.behind_matrix.slack, reset_less=True)
        with m.If(self.issue):
            m.d.sync += [
                remain.eq(self.pending - self.written),
                wait.eq(Mux(self.old_pending == 0, 0, self.old_pending - self.written)),
                tracked.eq(self.behind_matrix.follow),
                distance.eq(self.behind_matrix.slack),
            ]
        with m.Else():
            with m.If(self.written & (remain != 0)):
                m.d.sync += remain.eq(remain - 1)
            with m.If(self.written & (wait != 0)):
                m.d.sync += wait.eq(wait - 1)
            ahead = self.written & (wait == 0)
            m.d.sync += distance.eq(distance + Mux(ahead == stepped, 0, Mux(ahead, 1, -1)))
        # (known a cycle late, which is safe)
        ready, all_written, reached = Signal(), Signal(), Signal()
        m.d.sync += [
            stepped.eq(self.acc_step & ~self.issue),
            all_written.eq((remain == 0) & ~self.issue),
            reached.eq((wait == 0) & ~self.issue),
            ready.eq(~self.issue & (all_written | reached & (~tracked | ~distance[-1]))),
        ]

        first, last, inside = self._rows(m, unread)
        m.d.comb += [
            self.acc_read.eq(unread & ready & inside & ~self.kill),
            self.acc_step.eq(self.acc_grant),
        ]
        with m.If(self.acc_step & last):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.sync += unread.eq(0)
        func = Signal(2, reset_less=True)
        norm = Signal(18, reset_less=True)
        with m.If(self.issue):
            m.d.sync += [
                left.eq(cand.number),
                unread.eq(1),
                func.eq(cand.func),
                self.acc_last.eq(cand.acc_last),
                norm.eq(self.norm),
            ]

        # Into the lanes, and out of them into the unified buffer.
        valid, head, tail = self.acc_step, first, last
        for k in range(self.latency):
            later = [Signal(name=f"{name}_{k}") for name in ("valid", "first", "last")]
            m.d.sync += [
                held.eq(value) for held, value in zip(later, (valid, head, tail), strict=True)
            ]
            valid, head, tail = later
        m.d.comb += [
            lanes.valid.eq(valid),
            lanes.first.eq(head),
            lanes.last.eq(tail),
            lanes.func.eq(func),
            lanes.norm.eq(norm),
            lanes.compat.eq(self.compat),
            self.ub_write.eq(lanes.result_valid),
            self.ub_address.eq(self.ub_row),
            self.ub_data.eq(lanes.result),
        ]
        for j in range(n):
            m.d.comb += lanes.row[j].eq(self.acc_data.word_select(j, 32).as_signed())
        m.d.sync += self.step.eq(self.ub_write)
        with m.If(self.ub_write):
            m.d.sync += self.ub_row.eq(self.ub_row + 1)
            with m.If(self.ub_row == self.ub_last):
                m.d.sync += [self.active.eq(0), self.exclusive.eq(0)]
        with m.If(self.issue):
            m.d.sync += [
                self.active.eq(1),
                self.ub_row.eq(cand.ub),
                self.ub_last.eq(cand.ub_last),
                self.exclusive.eq(cand.pool if p["ext_pool"] else 0),
            ]
        with m.If(self.kill | self.range_fault):
            m.d.sync += [self.active.eq(0), self.exclusive.eq(0), unread.eq(0)]
        return m

    def _rows(self, m, unread):
        """Addresses of the accumulator rows to read. Returns whether a row is the first and the
        last of its window, and whether it lies inside the map."""
        p, cand = self.params, self.candidate
        if not p["ext_pool"]:
            with m.If(self.acc_step):
                m.d.sync += self.acc_row.eq(self.acc_row + 1)
            with m.If(self.issue):
                m.d.sync += self.acc_row.eq(cand.acc)
            m.d.comb += self.acc_address.eq(self.acc_row)
            return Const(1), Const(1), Const(1)
        # pool: PW [3:0], PH [7:4], OW [15:8], STEP [23:16]; poolrow: ROW [15:0], OROW [31:16].
        row, line, window, start = (
            Signal(32, name=name, reset_less=True) for name in ("row", "line", "window", "start")
        )
        across, down, column = Signal(4), Signal(4), Signal(8)
        pool, poolrow = Signal(24, reset_less=True), Signal(32, reset_less=True)
        pooling = Signal()
        first, last, line_end = Signal(), Signal(), Signal()
        origin = Signal(32)
        m.d.comb += [
            line_end.eq(across == 0),
            last.eq(line_end & (down == 0) | ~pooling),
            origin.eq(Mux(column == 0, start + poolrow[16:], window + pool[16:24])),
        ]
        with m.If(self.acc_step):
            m.d.sync += [first.eq(last), row.eq(row + 1), across.eq(across - 1)]
            with m.If(pooling & line_end):
                m.d.sync += [
                    row.eq(line + poolrow[:16]),
                    line.eq(line + poolrow[:16]),
                    across.eq(pool[0:4] - 1),
                    down.eq(down - 1),
                ]
                with m.If(last):
                    m.d.sync += [
                        row.eq(origin),
                        line.eq(origin),
                        window.eq(origin),
                        down.eq(pool[4:8] - 1),
                        column.eq(column - 1),
                    ]
                    with m.If(column == 0):
                        m.d.sync += [start.eq(origin), column.eq(pool[8:16] - 1)]
        with m.If(self.issue):
            m.d.sync += [
                pooling.eq(cand.pool),
                first.eq(1),
                pool.eq(self.pool),
                poolrow.eq(self.poolrow),
            ]
            m.d.sync += [
                signal.eq(Mux(cand.pool, cand.begin, cand.acc))
                for signal in (row, line, window, start)
            ]
            m.d.sync += [
                across.eq(self.pool[0:4] - 1),
                down.eq(self.pool[4:8] - 1),
                column.eq(self.pool[8:16] - 1),
            ]
        outside = row[len(self.acc_row) :].any()
        m.d.comb += [
            self.acc_row.eq(row),
            self.acc_address.eq(row),
            self.range_fault.eq(self.active & pooling & outside & unread),
            self.range_row.eq(row),
        ]
        return first, last, ~(pooling & outside)
