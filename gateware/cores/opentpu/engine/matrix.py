# SPDX-License-Identifier: BSD-2-Clause
"""Matrix unit: weight queue, MMC execution, systolic array, and the read-modify-write of the
accumulators."""

from amaranth import Const, Module, Mux, ResetInserter, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ....isa.parameters import Params
from ....parts.queues import RAMQueue
from ....primitives.bram import BlockRAM
from ..params import crowded
from .array import SystolicArray
from .decode import candidate_layout
from .tracker import tracker

__all__ = ["MatrixUnit", "memory_latency", "progress_layout", "ub_latency"]


def memory_latency(params: Params) -> int:
    """Read latency of the accumulators and the weight FIFO: the small build (one bank) has no
    output registers."""
    return 1 if params["banks"] == 1 else 2


def ub_latency(params: Params) -> int:
    """Read latency of the unified buffer. A row's read enable is known too late to address a large
    memory in the same cycle, hence one cycle more than :func:`memory_latency`, except in the small
    build."""
    return 1 if params["banks"] == 1 else 3


def progress_layout(bits: int) -> data.StructLayout:
    """Layout of an older instruction's progress, seen by a younger one: ``follow`` and ``slack``
    (:mod:`.tracker`), when it issues."""
    return data.StructLayout({"follow": 1, "slack": signed(bits + 2)})


class MatrixUnit(wiring.Component):
    """Matrix unit: executes MMC; one vector per cycle enters the array, and the results reach the
    accumulators :attr:`delay` cycles later.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    issue, candidate : In: one cycle, while not ``active``; ``conv`` the CFG register
    kill : In, level: read no further vector; ``clear``:
        forget the tiles of the queue (nothing runs, nothing is requested)
    behind_reader, behind_act, behind_act_acc : In: how the issuing MMC stands to RHM and ACT (UB),
    and to ACT (ACC) reader_active, reader_step, act_active, act_step, act_acc_step : In: their
    progress; steps are rows written (UB), read (ACC);
        reader_row, reader_last : In: rows that RHM has still to load
    active : Out: vectors are still to be read
    exclusive : Out: an MMC.C runs, whose rows are checked as they are read
    near : Out: the last vector is so near that an MMC that is not ``overwrite`` must wait if the
        last MMC was ``short`` or began below it (``acc_base``)
    ub_row, ub_last, acc_base, acc_row, acc_last : Out: rows still to be read; rows of the last MMC
    not yet written
    pending, old_pending : Out: vectors not yet written, those of MMCs before the last one
    written : Out, one cycle: a row was written; it may be read from the next cycle on
    work : Out: a vector is taken in; wait_tile, wait_reader : Out: why not
    range_fault, range_row : Out, one cycle: row of an MMC.C outside
    ub_read, ub_address : Out, ub_data : In (:func:`ub_latency` later)
    acc_read, acc_address, acc_write, acc_write_row, acc_write_data : Out; acc_data : In
    push, row : In: a row of a tile arrived
    place : Out: a further tile may be requested; ``reserve`` : In: it is
    """

    def __init__(self, *, params: Params, family: str | None) -> None:
        p = self.params = params
        self.family = family
        n = p["n"]
        lean = p["banks"] == 1
        ub, acc = exact_log2(p["ub_rows"]), exact_log2(p["acc_rows"])
        self.array = SystolicArray(
            n=n,
            multiplier=p["multiplier"],
            dsp_limit=p["dsp_limit"],
            fabric_register=not lean,
            family=family,
            local=crowded(p),
        )
        self.latency, self.ub_latency = memory_latency(p), ub_latency(p)
        self.entry = self.ub_latency + (not lean)  # from reading a vector to the array's input
        self.delay = self.entry + self.array.latency + 1  # to the write of its row
        self.pending_bits = (256 + self.delay).bit_length()
        pending = self.pending_bits
        super().__init__(
            {
                "issue": In(1),
                "candidate": In(candidate_layout(p)),
                "conv": In(32),
                "kill": In(1),
                "clear": In(1),
                "behind_reader": In(progress_layout(ub)),
                "behind_act": In(progress_layout(ub)),
                "behind_act_acc": In(progress_layout(acc)),
                "reader_active": In(1),
                "reader_step": In(1),
                "reader_row": In(ub),
                "reader_last": In(ub),
                "act_active": In(1),
                "act_step": In(1),
                "act_acc_step": In(1),
                "active": Out(1),
                "exclusive": Out(1),
                "near": Out(1),
                "short": Out(1),
                "ub_row": Out(ub),
                "ub_last": Out(ub),
                "acc_base": Out(acc),
                "acc_row": Out(acc),
                "acc_last": Out(acc),
                "pending": Out(pending),
                "old_pending": Out(pending),
                "written": Out(1),
                "work": Out(1),
                "wait_tile": Out(1),
                "wait_reader": Out(1),
                "range_fault": Out(1),
                "range_row": Out(32),
                "ub_read": Out(1),
                "ub_address": Out(ub),
                "ub_data": In(8 * n),
                "acc_read": Out(1),
                "acc_address": Out(acc),
                "acc_data": In(32 * n),
                "acc_write": Out(1),
                "acc_write_row": Out(acc),
                "acc_write_data": Out(32 * n),
                "push": In(1),
                "row": In(8 * n),
                "place": Out(1),
                "reserve": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.array = self.array
        go = Signal()
        switch = Signal()
        ready = self._weights(m, go & switch)
        self._sequence(m, go, switch, ready)
        self._datapath(m, go, switch)
        return m

    def _weights(self, m, taken):
        """Weight FIFO, and loader of the array's second weight buffer. Returns whether the next
        tile is being loaded into the array."""
        p, n = self.params, self.params["n"]
        depth = p["wfifo_tiles"] * n
        m.submodules.queue = queue = BlockRAM(
            width=8 * n, depth=depth, latency=self.latency, family=self.family
        )
        used = Signal(range(p["wfifo_tiles"] + 1))  # tiles in the FIFO or requested
        arrived = Signal(range(p["wfifo_tiles"] + 1))  # complete in the FIFO
        write, read = Signal(range(depth)), Signal(range(depth))
        write_count, read_count = Signal(range(n)), Signal(range(n))
        complete, load, reading, loaded = Signal(), Signal(), Signal(), Signal()
        settle = Signal(range(n + 1))  # cycles until the last switch has passed the array

        def following(pointer):
            return Mux(pointer == depth - 1, 0, pointer + 1)

        m.d.comb += [
            self.place.eq(used != p["wfifo_tiles"]),
            queue.write_en.eq(self.push),
            queue.write_addr.eq(write),
            queue.write_data.eq(self.row),
            queue.read_addr.eq(read),
            load.eq((arrived != 0) & ~loaded & (settle == 0) & ~reading),
        ]
        m.d.sync += complete.eq(self.push & (write_count == n - 1))
        with m.If(self.push):
            m.d.sync += [
                write.eq(following(write)),
                write_count.eq(Mux(write_count == n - 1, 0, write_count + 1)),
            ]
        m.d.sync += [used.eq(used + self.reserve - load), arrived.eq(arrived + complete - load)]
        with m.If(load):
            m.d.sync += [reading.eq(1), loaded.eq(1), read.eq(following(read)), read_count.eq(1)]
        with m.Elif(reading):
            m.d.sync += [read.eq(following(read)), read_count.eq(read_count + 1)]
            with m.If(read_count == n - 1):
                m.d.sync += reading.eq(0)
        with m.If(taken):
            m.d.sync += [loaded.eq(0), settle.eq(n - 1)]
        with m.Elif(settle != 0):
            m.d.sync += settle.eq(settle - 1)

        with m.If(self.clear):
            m.d.sync += [
                signal.eq(0)
                for signal in (used, arrived, write, read, write_count, reading, loaded)
            ]

        first, row = load, queue.read_data
        for k in range(self.latency):
            later = Signal(name=f"load_{k}")
            m.d.sync += later.eq(first)
            first = later
        # As late as vectors, so that loads and switches keep their distance.
        for k in range(self.entry - self.latency):
            held, late = (
                Signal(8 * n, reset_less=True, name=f"row_held_{k}"),
                Signal(name=f"load_held_{k}"),
            )
            m.d.sync += [held.eq(row), late.eq(first)]
            row, first = held, late
        m.d.comb += self.array.load.eq(first)
        for j in range(n):
            m.d.comb += self.array.row[j].eq(row.word_select(j, 8).as_signed())
        return loaded

    def _sequence(self, m, go, switch, ready):
        """Sequencer of the current MMC."""
        p, cand = self.params, self.candidate
        left = Signal(8)
        ub_ok = tracker(
            m,
            "reader",
            load=self.issue,
            follow=self.behind_reader.follow,
            start=self.behind_reader.slack,
            older_active=self.reader_active,
            older_step=self.reader_step,
            younger_step=go,
        )
        act_ok = tracker(
            m,
            "act",
            load=self.issue,
            follow=self.behind_act.follow,
            start=self.behind_act.slack,
            older_active=self.act_active,
            older_step=self.act_step,
            younger_step=go,
        )
        acc_ok = tracker(
            m,
            "act_acc",
            load=self.issue,
            follow=self.behind_act_acc.follow,
            start=self.behind_act_acc.slack,
            older_active=self.act_active,
            older_step=self.act_acc_step,
            younger_step=go,
        )
        inside = self._rows(m, go)
        m.d.comb += [
            go.eq(self.active & ub_ok & act_ok & acc_ok & (ready | ~switch) & inside & ~self.kill),
            self.work.eq(go),
            self.wait_tile.eq(self.active & switch & ~ready),
            self.wait_reader.eq(self.active & ~ub_ok),
        ]
        with m.If(go):
            m.d.sync += [switch.eq(0), left.eq(left - 1)]
            with m.If(left == 0):
                m.d.sync += [self.active.eq(0), self.exclusive.eq(0)]
        with m.If(self.issue):
            m.d.sync += [
                self.active.eq(1),
                switch.eq(cand.switch),
                left.eq(cand.number),
                self.ub_last.eq(cand.ub_last),
                self.exclusive.eq(cand.convolve if p["ext_conv"] else 0),
            ]
        with m.If(self.kill | self.range_fault):
            m.d.sync += [self.active.eq(0), self.exclusive.eq(0)]

        # A row must not be read again before its write: that takes ``latency`` + 3 cycles from
        # reading to reading. Behind an MMC of as many rows that begins no higher, an MMC can begin
        # at once.
        distance = self.latency + 3
        gap = Signal(range(distance + 1))
        with m.If(go):
            m.d.sync += [gap.eq(distance - 3), self.near.eq(1)]
        with m.Else():
            m.d.sync += self.near.eq(gap != 0)
            with m.If(gap != 0):
                m.d.sync += gap.eq(gap - 1)
        with m.If(self.issue):
            m.d.sync += self.short.eq(cand.number < distance - 2)

        # Vectors on their way: all (an MMC's from the second cycle after its issue on), those of
        # MMCs before the last, rows of the last.
        coming = Signal(9)
        m.d.sync += [
            coming.eq(Mux(self.issue, cand.number + 1, 0)),
            self.pending.eq(self.pending + coming - self.written),
        ]
        killed = self.kill | self.range_fault
        flying = Signal(range(self.delay + 2))
        m.d.sync += flying.eq(flying + go - self.written)
        with m.If(killed):
            m.d.sync += [coming.eq(0), self.pending.eq(flying + go - self.written)]
        with m.If(self.issue):
            m.d.sync += [
                self.old_pending.eq(self.pending - self.written),
                self.acc_base.eq(cand.acc),
                self.acc_row.eq(cand.acc),
                self.acc_last.eq(cand.acc_last),
            ]
        with m.Elif(self.written):
            with m.If(self.old_pending != 0):
                m.d.sync += self.old_pending.eq(self.old_pending - 1)
            with m.Else():
                m.d.sync += self.acc_row.eq(self.acc_row + 1)

    def _rows(self, m, go):
        """Addresses of the unified buffer rows to read. Returns whether a row lies inside the
        map."""
        p, cand = self.params, self.candidate
        if not p["ext_conv"]:
            with m.If(go):
                m.d.sync += self.ub_row.eq(self.ub_row + 1)
            with m.If(self.issue):
                m.d.sync += self.ub_row.eq(cand.ub)
            m.d.comb += self.ub_address.eq(self.ub_row)
            return Const(1)
        # conv: OW [7:0] columns STEP [15:8] apart, lines ROW [31:16] apart. The sum has no more
        # than 26 bits.
        row, line = Signal(26), Signal(26, reset_less=True)
        column = Signal(8)
        conv = Signal(32, reset_less=True)
        window = Signal()
        with m.If(go):
            m.d.sync += row.eq(row + Mux(window, conv[8:16], 1))
            with m.If(window):
                m.d.sync += column.eq(column - 1)
                with m.If(column == 0):
                    m.d.sync += [
                        row.eq(line + conv[16:]),
                        line.eq(line + conv[16:]),
                        column.eq(conv[:8] - 1),
                    ]
        with m.If(self.issue):
            m.d.sync += [
                row.eq(Mux(cand.convolve, cand.end, cand.ub)),
                line.eq(cand.end),
                conv.eq(self.conv),
                window.eq(cand.convolve),
                column.eq(self.conv[:8] - 1),
            ]
        outside = row[len(self.ub_row) :].any()
        # Rows that an older RHM has not loaded, as they were a cycle ago: by then they can be read.
        loading, loaded = Signal(), Signal.like(self.reader_row)
        m.d.sync += [loading.eq(self.reader_active), loaded.eq(self.reader_row)]
        absent = window & loading & (row >= loaded) & (row <= self.reader_last)
        m.d.comb += [
            self.ub_row.eq(row),
            self.ub_address.eq(row),
            self.range_fault.eq(self.active & window & outside),
            self.range_row.eq(row),
        ]
        return ~(window & outside) & ~absent

    def _datapath(self, m, go, switch):
        n, array = self.params["n"], self.array
        m.d.comb += self.ub_read.eq(go)
        first, vector = go & switch, self.ub_data
        for k in range(self.ub_latency):
            later = Signal(name=f"switch_{k}")
            m.d.sync += later.eq(first)
            first = later
        if self.entry != self.ub_latency:
            held, late = (
                Signal(8 * n, reset_less=True, name="vector_held"),
                Signal(name="switch_held"),
            )
            m.d.sync += [held.eq(vector), late.eq(first)]
            vector, first = held, late
        m.d.comb += array.switch.eq(first)
        for k in range(n):
            m.d.comb += array.vector[k].eq(vector.word_select(k, 8).as_signed())

        # Row and mode travel beside the vector.
        target = Signal.like(self.acc_base, name="target")
        overwrite = Signal()
        with m.If(go):
            m.d.sync += target.eq(target + 1)
        with m.If(self.issue):
            m.d.sync += [target.eq(self.candidate.acc), overwrite.eq(self.candidate.overwrite)]
        reads = self.delay - 2 - self.latency  # stage in which the accumulators are read
        valid, row, mode = go, target, overwrite
        for k in range(self.delay):
            if k == reads - 1 and self.params["ext_bias"]:
                bias_row = self._bias_rows(m, go, reads - 1, valid, row)
            if k == reads:
                m.d.comb += [
                    self.acc_read.eq(valid & ~mode),
                    self.acc_address.eq(bias_row if self.params["ext_bias"] else row),
                ]
            if k == self.delay - 2:
                old = Signal(32 * n, reset_less=True)
                m.d.sync += old.eq(self.acc_data & ~mode.replicate(32 * n))
            if k == self.delay - 1:
                m.d.comb += [self.acc_write.eq(valid), self.acc_write_row.eq(row)]
                for j in range(n):
                    m.d.comb += self.acc_write_data.word_select(j, 32).eq(
                        old.word_select(j, 32).as_signed() + array.sums[j]
                    )
            later = [
                Signal.like(s, name=f"{name}_{k}", reset_less=name != "valid", init=0)
                for s, name in ((valid, "valid"), (row, "row"), (mode, "mode"))
            ]
            m.d.sync += [
                held.eq(value) for held, value in zip(later, (valid, row, mode), strict=True)
            ]
            valid, row, mode = later
        m.d.comb += self.written.eq(valid)

    def _bias_rows(self, m, go, stage, valid, row):
        """Row of the accumulators that is read for the vector of the stage behind ``stage``, in
        which there are ``valid`` and ``row``: its own, or for all vectors of an MMC.B the last.

        Last rows wait in a queue for the first vector of their MMC.
        """
        cand = self.candidate
        # Between two MMCs there is a cycle.
        m.submodules.lasts = ResetInserter(self.clear)(
            lasts := RAMQueue(shape=len(self.acc_last), depth=1 << ceil_log2(stage // 2 + 2))
        )
        begins, bias = Signal(), Signal()
        with m.If(go):
            m.d.sync += begins.eq(0)
        with m.If(self.issue):
            m.d.sync += [begins.eq(cand.bias), bias.eq(cand.bias)]
        first, keep = begins, bias
        for k in range(stage):
            later = Signal(name=f"begins_{k}"), Signal(name=f"bias_{k}")
            m.d.sync += [later[0].eq(first), later[1].eq(keep)]
            first, keep = later
        found = Signal.like(row, name="read_row", reset_less=True)
        with m.If(valid & first):
            m.d.sync += found.eq(lasts.o.payload)
        with m.Elif(valid & ~keep):
            m.d.sync += found.eq(row)
        m.d.comb += [
            lasts.put.eq(self.issue & cand.bias),
            lasts.entry.eq(cand.acc_last),
            lasts.o.ready.eq(valid & first),
        ]
        return found
