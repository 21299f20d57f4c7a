# SPDX-License-Identifier: BSD-2-Clause
"""Vector ALU on rows of tiles: relu, gtz, max, copy and zero, one row per cycle (specification,
sections 4.2, 4.3 and 9)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring

from .....isa.parameters import Params
from .....parts.delays import Stages
from ..memory.tilefile import ACC
from ..ops import AluKind, Unit, alu_op, element_bits, entries
from .accumulator import from_accumulator, to_accumulator
from .alu_interface import bits, blocked, elements_of, members, source, target
from .compare import LOWEST, from_key, larger, passed, sort, to_key
from .contexts import ContextIterator

__all__ = ["AluRows"]


class AluRows(wiring.Component):
    """Vector ALU for tile file words of one row: a slot takes four cycles, in a pipeline that never
    stalls.

    A row is read in one cycle and written exactly :attr:`LATENCY` cycles later. A maximum over rows
    (axes 0 and 2) is known only after the tile's last row; hence ACC's rows are read after those of
    OUTPUT, together with OUTPUT's rows of the slot that follows, where that is a maximum of the
    same kind and may go; else alone.

    Parameters
    ----------
    params : dict
    family : as the primitives'

    Members
    -------
    As :class:`~.alutile.AluTiles`'s.
    """

    LATENCY = 8

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        super().__init__(members(params))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = ContextIterator(
            params=self.params, layout=alu_op(), own=Unit.ALU
        )
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        m.d.comb += [walk.progress.eq(self.progress), walk.clear.eq(self.clear)]
        sent, control = self._fetch(m, walk)
        stage = Stages(m)
        self._control = [control]
        for number in range(1, self.LATENCY + 1):
            self._control.append(stage(number, self._control[-1], control.shape(), "control"))
        valid = Signal(self.LATENCY)
        m.d.sync += valid.eq(Mux(self.clear, 0, Cat(sent, valid)))
        self._work(m, stage, valid)
        write, done, ending = self.tiles_write.request, self._control[-1], self._control[-2]
        m.d.comb += [
            write.valid.eq(valid[-1] & done.writes),
            write.payload.reg.eq(done.reg),
            write.payload.entry.eq(done.entry),
            write.payload.word.eq(done.row),
            self.writes.eq((1 << ending.reg) & (valid[-2] & ending.writes).replicate(4)),
            self.finished.eq(valid[-2] & ending.writes & (ending.row == 3)),
            self.working.eq(valid.any()),
        ]
        return m

    # Reads

    def _fetch(self, m, walk):
        """Requests operands row by row; returns whether a request is accepted, and the pipeline's
        control fields for it."""
        request, held, params = self.tiles_read.request, walk.held, self.params
        entry = range(entries(params))
        tail = Signal(
            data.StructLayout({"old": entry, "entry": entry, "acc": 1, "axis": 2, "target": 2}),
            reset_less=True,
        )
        control = Signal(
            data.StructLayout(
                {
                    "kind": AluKind,
                    "reads": 2,
                    "axis": 2,
                    "count": 3,
                    "row": 2,
                    "tail": 1,
                    "writes": 1,
                    "reg": 2,
                    "entry": entry,
                    "is_max": 1,
                    "old_axis": 2,
                    "target": 2,
                    "acc": 1,
                    "collects": 1,
                }
            )
        )
        waiting, row, sent = Signal(), Signal(2), Signal()  # a tail waits; row of both
        chosen, with_slot = Signal(), Signal()
        is_max = held.kind == AluKind.MAX
        two = is_max & ((held.axis != 1) if params["reduce_axes"] else 1)
        m.d.comb += [
            with_slot.eq(Mux(row == 0, walk.valid & (~waiting | two), chosen)),
            sent.eq(request.valid & request.ready),
            walk.take.eq(sent & with_slot & (row == 3)),
        ]
        # Told a cycle late: nobody needs it at once, and the way from the tile file's grants is
        # long.
        m.d.sync += self.fetched.eq(sent & (row == 3) & (waiting | ~two) & ~self.clear)
        with m.If(sent):
            m.d.sync += [row.eq(row + 1), chosen.eq(with_slot)]
            with m.If(row == 3):
                m.d.sync += waiting.eq(with_slot & two)
                m.d.sync += [
                    tail.old.eq(walk.entry[ACC]),
                    tail.entry.eq(walk.target),
                    tail.acc.eq(held.acc),
                    tail.axis.eq(held.axis),
                    tail.target.eq(held.target),
                ]
        with m.If(self.clear):
            m.d.sync += [waiting.eq(0), row.eq(0)]

        reads = source(held)
        m.d.comb += [
            control.kind.eq(held.kind),
            control.reads.eq(reads),
            control.axis.eq(held.axis),
            control.count.eq(held.count),
            control.row.eq(row),
            control.tail.eq(waiting),
            control.writes.eq(waiting | ~two),
            control.collects.eq(with_slot & two),
            control.reg.eq(Mux(waiting, ACC, target(held))),
            control.entry.eq(Mux(waiting, tail.entry, walk.target)),
            control.is_max.eq(waiting | is_max),
            control.old_axis.eq(Mux(waiting, tail.axis, held.axis)),
            control.target.eq(Mux(waiting, tail.target, held.target)),
            control.acc.eq(Mux(waiting, tail.acc, held.acc)),
            request.valid.eq(
                (with_slot | waiting) & ~(control.writes & blocked(self.soon, control.reg))
            ),
            request.payload.word.eq(row),
        ]
        needs = with_slot & (held.kind != AluKind.ZERO)
        for reg in range(4):
            wanted = needs & (reads == reg)
            if reg == ACC:
                wanted = wanted | waiting | (with_slot & is_max & ~two)
            m.d.comb += [
                request.payload.mask[reg].eq(wanted),
                request.payload.entry[reg].eq(
                    Mux(waiting, tail.old, walk.entry[reg]) if reg == ACC else walk.entry[reg]
                ),
            ]
        return sent, control

    # Results

    def _work(self, m, stage, valid):
        params, control, read = self.params, self._control, self.tiles_read.data
        axes, wide, frac = bool(params["reduce_axes"]), element_bits(params), params["acc_frac"]
        x = elements_of(m, read, control[2].reads, params, self.family, "x")
        x = [stage(3, value, 18, "x") for value in x]
        old = [stage(3, read[ACC][wide * k : wide * (k + 1)], wide, "old") for k in range(4)]

        now, then = control[3], control[4]
        known = [stage(4, sort(value), 2, "known") for value in x]
        later = [stage(4, value, 18, "later") for value in x]
        old = [stage(4, value, wide, "old") for value in old]
        plain = [
            stage(
                5,
                Mux(
                    then.is_max,
                    old[k],
                    bits(passed(then.kind, later[k], known[k]), then.reg == ACC, params),
                ),
                wide,
                "plain",
            )
            for k in range(4)
        ]
        along = (now.axis == 1) if axes else Const(0)
        out = [Mux(along, now.count <= k, now.count <= now.row) for k in range(4)]
        keys = [stage(4, Mux(out[k], LOWEST, to_key(x[k])), 18, "key") for k in range(4)]

        plain = [stage.delay(value, 1) for value in plain]  # 6
        pairs = [stage(5, larger(keys[k], keys[k + 1]), 18, "pair") for k in (0, 2)]
        keys = [stage(5, key, 18, "key") for key in keys]
        total = larger(*pairs)
        values = [
            stage(6, Mux(control[5].axis == 0, key, total) if axes else key, 18, "value")
            for key in keys
        ]

        # Stage 7: the maximum of the rows so far; of one row alone along axis 1. Stage 8: of a
        # tile, for the rows of ACC that follow.
        begins = (control[6].row == 0) | ((control[6].axis == 1) if axes else 0)
        best = [Signal(18, name=f"best_{k}", reset_less=True) for k in range(4)]
        for held, value in zip(best, values, strict=True):
            with m.If(valid[5] & (control[6].collects | begins)):
                m.d.sync += held.eq(Mux(begins, value, larger(held, value)))
        ready = [Signal(18, name=f"ready_{k}", reset_less=True) for k in range(4)]
        with m.If(valid[6] & control[7].collects & (control[7].row == 3)):
            m.d.sync += [held.eq(value) for held, value in zip(ready, best, strict=True)]

        before = [
            stage(
                7, Mux(control[6].acc, to_key(from_accumulator(value, frac)), LOWEST), 18, "before"
            )
            for value in plain
        ]
        plain = [stage.delay(value, 2) for value in plain]  # 8
        result = [
            stage(8, larger(Mux(control[7].tail, ready[k], best[k]), before[k]), 18, "result")
            for k in range(4)
        ]
        here = control[7].is_max & (control[7].row == control[7].target)
        for k in range(4):
            taken = here
            if axes:
                taken = Mux(
                    control[7].old_axis == 0,
                    here,
                    Mux(
                        control[7].old_axis == 1,
                        control[7].is_max & (control[7].target == k),
                        here if k == 0 else 0,
                    ),
                )
            taken = stage(8, taken, 1, f"taken_{k}")
            m.d.comb += self.tiles_write.request.payload.data[wide * k : wide * (k + 1)].eq(
                Mux(taken, to_accumulator(from_key(result[k]), frac), plain[k])
            )
