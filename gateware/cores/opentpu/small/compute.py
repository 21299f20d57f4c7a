# SPDX-License-Identifier: BSD-2-Clause
"""Compute unit of the small OpenTPU engine: weights, products, accumulators and activation, with
one MMC or ACT at a time and one queued."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from ....isa.parameters import Params
from ....primitives.bram import BlockRAM
from ....primitives.held import HeldMultipliers
from ..engine.activation import SIGMOID
from .mover import RowPort

__all__ = ["ComputeUnit"]

N = 4


class ComputeUnit(wiring.Component):
    """Compute unit: executes MMC and ACT, one row per cycle.

    A vector that is read in cycle c meets the weights of row k in cycle c + 1 + k; the sum goes
    down from row to row, is added to its accumulator row in cycle c + 5 and written at the end of
    it. Weights are kept in the multipliers: row k of the next tile is loaded a cycle after row k -
    1, behind the last vector that needs the old one, so that a switch costs nothing but the one
    cycle between two instructions. A row of ACT goes the same way without a vector: its
    accumulators are read in cycle c + 4, as an MMC's, and what becomes of them is written in cycle
    c + 5. So ACT follows MMC, and MMC ACT, like MMC MMC. Only an MMC that begins with one of the
    last rows of an ACT waits until they are written.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``, of a small build
    family : as the primitives'

    Members
    -------
    set_row, issue, value : In: the queue takes first the row of the unified buffer,
        then the accumulator row and the rest: ``number`` (rows less one), ``activate`` (ACT),
        ``switch``, ``overwrite``, ``func``. Neither counts while ``queued``.
    compat : In
    queued : Out: no place; busy : Out: anything under way; starved : Out: an MMC waits for its tile
    kill : In: drop everything; clear : In: forget all tiles; sweep : In, one cycle:
        write zeros everywhere, ``sweeping`` until done
    rows : In, :class:`~.mover.RowPort`: RHM, WHM, whose reading goes first, and RW; tile : In,
        one cycle: a tile is complete
    work : Out: a vector is taken in
    """

    def __init__(self, *, params: Params, family: str | None) -> None:
        self.params, self.family = params, family
        ub, acc = exact_log2(params["ub_rows"]), exact_log2(params["acc_rows"])
        super().__init__(
            {
                "set_row": In(1),
                "issue": In(1),
                "value": In(32),
                "number": In(8),
                "activate": In(1),
                "switch": In(1),
                "overwrite": In(1),
                "func": In(2),
                "compat": In(1),
                "queued": Out(1),
                "busy": Out(1),
                "starved": Out(1),
                "kill": In(1),
                "clear": In(1),
                "sweep": In(1),
                "sweeping": Out(1, init=1),
                "rows": In(RowPort(ub)),
                "tile": In(1),
                "work": Out(1),
            }
        )
        self._ub, self._acc = ub, acc

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self.params
        m.submodules.ub = ub = BlockRAM(width=32, depth=p["ub_rows"], latency=1, family=self.family)
        m.submodules.accumulators = acc = BlockRAM(
            width=32 * N, depth=p["acc_rows"], latency=1, family=self.family
        )

        # The queue's one place
        waiting, begun = Signal(), Signal()  # begun: its first row has not been read yet
        next_row, next_acc, next_number = Signal(self._ub), Signal(self._acc), Signal(8)
        next_act, next_switch, next_overwrite, next_func = Signal(), Signal(), Signal(), Signal(2)
        with m.If(self.set_row & ~self.queued):
            m.d.sync += next_row.eq(self.value)
        with m.If(self.issue):
            m.d.sync += [
                waiting.eq(1),
                next_acc.eq(self.value),
                next_number.eq(self.number),
                next_act.eq(self.activate),
                next_switch.eq(self.switch & ~self.activate),
                next_overwrite.eq(self.overwrite),
                next_func.eq(self.func),
            ]

        # The instruction that runs
        running, acting, left = Signal(), Signal(), Signal(8)
        row = Signal(self._ub)
        stages = Signal(5)  # a row is 1..5 cycles after its beginning
        firsts = Signal(4)  # ... and is its instruction's first
        go, vector, take = Signal(), Signal(), Signal()
        loading = Signal(N)
        arrived = Signal(range(self._tiles + 1))
        # Row that reaches the accumulators now; it changes in the cycle between two instructions
        # only.
        acc_row, overwrite, activate, func = Signal(self._acc), Signal(), Signal(), Signal(2)
        act_row = Signal(self._ub)  # that ACT (or the sweep) writes next
        acted = Signal()  # ... in this cycle
        apart = Signal()  # the MMC that waits begins with none of the rows that ACT still writes
        m.d.sync += apart.eq((next_row - act_row)[3 : self._ub].any())
        m.d.comb += [
            go.eq(running & (acting | ~self.rows.load)),
            vector.eq(go & ~acting),
            self.work.eq(vector),
            self.starved.eq(waiting & ~running & next_switch & (arrived == 0)),
            take.eq(
                waiting
                & ~running
                & ~self.kill
                & (
                    next_act
                    | (
                        (~next_switch | (arrived != 0) & ~loading[: N - 1].any())
                        & (~acting | ~stages.any() | apart & ~firsts[:3].any())
                    )
                )
            ),
            self.queued.eq(waiting | begun | firsts[:3].any()),
            self.busy.eq(waiting | running | stages.any() | self.sweeping),
        ]
        m.d.sync += [
            stages.eq(Cat(go, stages)),
            firsts.eq(Cat(go & begun, firsts)),
            acted.eq(stages[3] & activate),
        ]
        with m.If(go):
            m.d.sync += [left.eq(left - 1), begun.eq(0)]
            with m.If(left == 0):
                m.d.sync += running.eq(0)
        with m.If(vector):
            m.d.sync += row.eq(row + 1)
        with m.If(stages[3] | self.sweeping):
            m.d.sync += acc_row.eq(acc_row + 1)
        with m.If(acted | self.sweeping):
            m.d.sync += act_row.eq(act_row + 1)
        with m.If(take):
            m.d.sync += [
                waiting.eq(0),
                running.eq(1),
                begun.eq(1),
                acting.eq(next_act),
                left.eq(next_number),
                row.eq(next_row),
            ]
        with m.If(firsts[2]):
            m.d.sync += [
                acc_row.eq(next_acc),
                act_row.eq(next_row),
                overwrite.eq(next_overwrite),
                activate.eq(next_act),
                func.eq(next_func),
            ]
        with m.If(self.kill):
            m.d.sync += [waiting.eq(0), running.eq(0), begun.eq(0)]

        # Zeros everywhere
        with m.If(self.sweeping & act_row.all()):
            m.d.sync += self.sweeping.eq(0)
        with m.If(self.sweep):
            m.d.sync += [self.sweeping.eq(1), act_row.eq(0)]

        # Unified buffer
        sums = self._products(m, ub.read_data, take & next_switch, loading, arrived)
        activated = Signal(8 * N)
        own = Signal()
        m.d.comb += [
            ub.read_addr.eq(Mux(self.rows.load, self.rows.row, row)),
            self.rows.loaded.eq(ub.read_data),
            own.eq(acted | self.sweeping),
            self.rows.stored.eq(~acted),
            ub.write_en.eq(own | self.rows.store),
            ub.write_addr.eq(Mux(own, act_row, self.rows.row)),
            ub.write_data.eq(Mux(acted, activated, self.rows.data) & ~self.sweeping.replicate(32)),
        ]

        # Accumulators
        late_row = Signal(self._acc)
        m.d.sync += late_row.eq(acc_row)
        m.d.comb += [
            acc.read_addr.eq(acc_row),
            acc.write_en.eq(stages[4] & ~acted | self.sweeping),
            acc.write_addr.eq(late_row),
        ]
        for j in range(N):
            old = acc.read_data.word_select(j, 32)
            m.d.comb += [
                acc.write_data.word_select(j, 32).eq(
                    (old & ~(overwrite | self.sweeping).replicate(32)) + sums[j]
                ),
                activated.word_select(j, 8).eq(self._activate(m, j, old.as_signed(), func)),
            ]
        return m

    @property
    def _tiles(self):
        """Number of entries of the weight queue: those that a program may request, and those of the
        running and waiting MMC."""
        return 1 << ceil_log2(self.params["wfifo_tiles"] + 3)

    def _products(self, m, data, switch, loading, arrived):
        """Weight queue and multipliers. Returns the sums of the columns, 5 cycles after the vector
        is read."""
        p = self.params
        m.submodules.queue = queue = BlockRAM(
            width=32, depth=N * self._tiles, latency=1, family=self.family
        )
        write, read = Signal(range(N * self._tiles)), Signal(range(N * self._tiles))
        m.d.comb += [
            queue.write_en.eq(self.rows.push),
            queue.write_addr.eq(write),
            queue.write_data.eq(self.rows.data),
            queue.read_addr.eq(read),
        ]
        m.d.sync += [loading.eq(Cat(switch, loading)), arrived.eq(arrived + self.tile - switch)]
        with m.If(self.rows.push):
            m.d.sync += write.eq(write + 1)
        with m.If(switch | loading[: N - 1].any()):
            m.d.sync += read.eq(read + 1)
        with m.If(self.clear):
            m.d.sync += [write.eq(0), read.eq(0), arrived.eq(0)]

        sums = None
        for k in range(N):
            element = data.word_select(k, 8).as_signed()
            for d in range(k):
                later = Signal(signed(8), name=f"element_{k}_{d}", reset_less=True)
                m.d.sync += later.eq(element)
                element = later
            m.submodules[f"row_{k}"] = products = HeldMultipliers(
                lanes=N, registered=k == 0, kind=p["multiplier"], family=self.family
            )
            m.d.comb += [products.load.eq(loading[k]), products.a.eq(element)]
            for j in range(N):
                m.d.comb += products.weight[j].eq(queue.read_data.word_select(j, 8).as_signed())
            if k == 0:
                sums = [products.p[j] for j in range(N)]
            else:
                added = [
                    Signal(signed(16 + ceil_log2(k + 1)), name=f"sum_{k}_{j}") for j in range(N)
                ]
                for j in range(N):
                    m.d.sync += added[j].eq(sums[j] + products.p[j])
                    with m.If(self.sweeping):
                        m.d.sync += added[j].eq(0)
                sums = added
        return sums

    def _activate(self, m, j, value, func):
        """Activation (section 4.6) of one lane."""
        result, sigmoid = Signal(8, name=f"byte_{j}"), Signal(8, name=f"sigmoid_{j}")
        negative = value[31]
        upper = value[3:31]
        large, small = Signal(name=f"large_{j}"), Signal(name=f"small_{j}")
        m.d.comb += [large.eq(upper.any()), small.eq(upper.all())]
        with m.If(negative):
            with m.Switch(value[:3]):
                for v in range(1, 8):
                    with m.Case(8 - v):
                        m.d.comb += sigmoid.eq(255 - SIGMOID[v])
            with m.If(~small):
                m.d.comb += sigmoid.eq(0)
            with m.If(self.compat):
                m.d.comb += sigmoid.eq(255)
        with m.Else():
            with m.Switch(value[:3]):
                for v in range(8):
                    with m.Case(v):
                        m.d.comb += sigmoid.eq(SIGMOID[v])
            with m.If(large):
                m.d.comb += sigmoid.eq(255)
        m.d.comb += result.eq(
            Mux(func == 2, sigmoid, value[:8] & ~(negative & (func == 1)).replicate(8))
        )
        return result
