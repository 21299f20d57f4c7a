# SPDX-License-Identifier: BSD-2-Clause
"""Load/store unit: moves tiles between the banks of MEM and the tile register file (specification,
sections 4.5 and 9)."""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.delays import Stages
from .....primitives.multiplexer import Multiplexer
from ..front.hazards import ContextGate
from ..memory.scratchpad import BankInterface, row_bits
from ..ops import (
    ProgressLayout,
    TileRead,
    TileWrite,
    Unit,
    element_bits,
    entries,
    lsu_op,
    tile_elements,
)
from .accumulator import from_accumulator, to_accumulator
from .bank_conflicts import followers, lanes, leaders
from .lsu_crossbar import Crossbar
from .lsu_operation import Operation, OperationQueue
from .lsu_results import DEPTH, Results

__all__ = ["LoadStore"]

_ACC = 3
#: Cycles in which no tile is read after another unit was refused one twice on end.
_YIELD = 3


class LoadStore(wiring.Component):
    """Load/store unit: processes slot by slot, each in as many cycles as the greatest number of
    distinct addresses in one bank.

    A pipeline that never stalls: a slot starts when its operands' waits are over and there is space
    for its result. Cycles from the start: addresses and banks (0), rows (1), a load's access (2),
    its elements through the crossbar (4), the tile (5), offered to the tile file (6). A store asks
    the tile file in cycle 0, has its tile in 2, crosses in 3, writes in 4. A load starts at the
    earliest three cycles after a store's last pass, a store two after a load's.

    Parameters
    ----------
    params : dict
        ``banks`` at least 2.
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    op, progress, fetched, finished, clear, tiles_read, tiles_write : the interfaces of a unit
    (:mod:`..ops`)
    loading, storing : Out, a load or a store is under way
    others : In, 4 bits: registers that dot unit and vector ALU write in the next cycle
    refused : In, another unit was refused tiles since this one read them in the cycle before;
        after two such cycles it reads none in three
    banks : Out, array of :class:`~..memory.scratchpad.BankInterface`
    fault : Out, level: MEM_RANGE. All slots before ``fault_slot`` of its operation are done,
        nothing else. ``fault_address`` : the first address outside, row by row. Until ``clear``

    Raises
    ------
    ValueError
        ``banks`` is 1.
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        if params["banks"] == 1:
            raise ValueError(
                "Parameter banks must be at least 2 for the parallel load/store unit, not 1"
            )
        self._params, self._family = params, family
        super().__init__(
            {
                "op": In(stream.Signature(lsu_op())),
                "progress": In(ProgressLayout()),
                "fetched": Out(1),
                "finished": Out(1),
                "loading": Out(1),
                "storing": Out(1),
                "clear": In(1),
                "others": In(4),
                "refused": In(1),
                "tiles_read": Out(TileRead(params)),
                "tiles_write": Out(TileWrite(params)),
                "banks": Out(BankInterface(row_bits(params))).array(params["banks"]),
                "fault": Out(1),
                "fault_address": Out(18),
                "fault_slot": Out(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, w = Module(), SimpleNamespace()  # `w`: signals that several steps use
        params = self._params
        log, frac = exact_log2(params["banks"]), params["acc_frac"]
        words = 16 // tile_elements(params)
        s = Stages(m)

        queue = m.submodules.queue = OperationQueue(banks=params["banks"])
        gate = m.submodules.gate = ContextGate(own=Unit.LSU)
        results = m.submodules.results = Results(params=params)
        connect(m, flipped(self.op), queue.op)
        connect(m, results.tiles_write, flipped(self.tiles_write))
        m.d.comb += [
            queue.clear.eq(self.clear),
            results.clear.eq(self.clear),
            results.others.eq(self.others),
            self.finished.eq(results.finished),
            gate.progress.eq(self.progress),
        ]

        self._start(m, w, queue, gate)
        self._find_space(m, w, log, queue, results)
        ask = self._ask(m, w, words, queue)

        # Passes: the lanes whose addresses this one serves, and what is left of others.
        first, left = Signal(16), Signal(16)
        first_later, left_later, final_later = (
            Signal(16, reset_less=True),
            Signal(16, reset_less=True),
            Signal(reset_less=True),
        )
        m.d.comb += [
            first.eq(Mux(w.going_on, first_later, w.op.first)),
            left.eq(Mux(w.going_on, left_later, w.op.left)),
            w.final.eq(Mux(w.going_on, final_later, w.op.only)),
        ]
        then = leaders(m, left, w.op.same_bank, "next")
        m.d.sync += [
            first_later.eq(then),
            left_later.eq(left & ~then),
            final_later.eq(~(left & ~then).any()),
            w.going_on.eq(w.issue & ~w.final),
        ]

        # Cycle 0: addresses of the lanes; which lane each bank serves.
        address = [Signal(18, name=f"address_{y}{x}") for y, x in lanes()]
        m.d.comb += [
            a.eq(w.op.rows[y] + w.op.along[x]) for a, (y, x) in zip(address, lanes(), strict=True)
        ]
        # For each bank, the lane that sends it an address: one at most.
        mine = [Signal(16, name=f"mine_{b}") for b in range(params["banks"])]
        m.d.comb += [
            of.eq(Cat(first[k] & (a[:log] == b) for k, a in enumerate(address)))
            for b, of in enumerate(mine)
        ]
        lane = [
            s(
                1,
                Cat(Cat(of[k] for k in range(16) if k >> bit & 1).any() for bit in range(4)),
                4,
                f"lane_{b}",
            )
            for b, of in enumerate(mine)
        ]
        hit = s(1, Cat(of.any() for of in mine), len(mine), "hit")
        bank_1 = [s(1, a[:log], log, f"bank_{k}") for k, a in enumerate(address)]
        down_1 = [s(1, row, 18, f"down_{y}") for y, row in enumerate(w.op.rows)]
        along_1 = [s(1, column, 18, f"along_{x}") for x, column in enumerate(w.op.along)]
        wrong = s(1, Cat(a[params["log_mem"] :].any() for a in address) & w.op.mask, 16, "wrong")
        number = Mux(w.going_on, w.passing, w.slot)
        slot_1 = s(1, number, 6, "slot")
        entry = s(
            1,
            Mux(w.op.uniform, params["contexts"] + w.op.phys, number),
            range(entries(params)),
            "entry",
        )
        store, reg, last, opens = (
            s(1, v, w, n)
            for v, w, n in (
                (w.op.store, 1, "store"),
                (w.op.reg, 2, "reg"),
                (w.final, 1, "last"),
                (w.op.reads & ~w.going_on, 1, "opens"),
            )
        )
        keeps, skip = s(1, w.op.reads & ~w.op.store, 1, "keeps"), s(1, w.op.skip, 1, "skip")
        mask, used = (
            s(1, w.op.mask, 16, "mask"),
            s(1, followers(w.op.mask, first, w.op.equal), 16, "used"),
        )

        # Cycle 1: rows; an access out of bounds of MEM ends everything from its slot on.
        # A bank's row is added up again, from a row and a column of lanes: two multiplexers of four
        # are smaller than one of sixteen sums.
        bits = params["log_mem"]
        rows = [
            self._address(m, f"bank_{b}", down_1, along_1, which, bits)[log:]
            for b, which in enumerate(lane)
        ]
        chain = Signal(5)  # cycles 1 to 5: a pass that counts
        good = Signal()
        m.d.comb += good.eq(chain[0] & ~w.dead & ~wrong.any())
        m.d.sync += chain.eq(Cat(w.issue, good, chain[1:4]))
        dies, lowest = Signal(), Signal(4)
        m.d.comb += dies.eq(chain[0] & ~w.dead & wrong.any())
        with m.If(dies):
            m.d.sync += [w.dead.eq(1), self.fault_slot.eq(slot_1)]
        for k in reversed(range(16)):
            with m.If(wrong[k]):
                m.d.comb += lowest.eq(k)
        # The address follows a cycle later, no later than `fault`.
        down_2 = [s(2, v, 18, f"down_{k}") for k, v in enumerate(down_1)]
        along_2 = [s(2, v, 18, f"along_{k}") for k, v in enumerate(along_1)]
        fault_address = self._address(
            m, "fault", down_2, along_2, s(2, lowest, 4, "lowest"), len(self.fault_address)
        )
        died = Signal()
        m.d.sync += died.eq(dies)
        with m.If(died):
            m.d.sync += self.fault_address.eq(fault_address)

        def shifted(lanes_of):
            """Shifts a mask of lanes to destination elements, one row down if the load skips a
            row."""
            return [Mux(skip, lanes_of[k - 4] if k >= 4 else 0, v) for k, v in enumerate(lanes_of)]

        bank_3 = [s.delay(s(2, v, log, f"bank_{k}"), 1) for k, v in enumerate(shifted(bank_1))]
        captures_4 = s.delay(s(2, Cat(shifted(list(used))), 16, "captures"), 2)
        present = s.delay(s(2, Cat(shifted(list(mask))), 16, "present"), 3)
        lane_2, store_2 = (
            [s(2, v, 4, f"lane_{b}") for b, v in enumerate(lane)],
            s(2, store, 1, "store"),
        )
        store_3 = s(3, store_2, 1, "store")
        row_2 = [s(2, v, len(v), f"row_{b}") for b, v in enumerate(rows)]
        row_3 = [s(3, v, len(v), f"row_{b}") for b, v in enumerate(row_2)]
        storing_3 = store_3 & chain[2]

        # Cycle 2: a load's rows are at the banks; a tile that was requested is there.
        tile = self._tile(m, s, ask, w.op, fill=s(2, opens, 1, "opens") & chain[1])

        # Cycle 3 of a store and 4 of a load: through the crossbar.
        if log == 4:
            select_bank = select_lane = [
                s(4, Mux(store_2 & chain[1], of_store, of_load), 4, f"select_{k}")
                for k, (of_store, of_load) in enumerate(zip(lane_2, bank_3, strict=True))
            ]
        else:
            select_bank = [s(4, v, log, f"select_bank_{k}") for k, v in enumerate(bank_3)]
            select_lane = [s(3, v, 4, f"select_lane_{b}") for b, v in enumerate(lane_2)]
        loading_4 = chain[3] & ~s(4, store_3, 1, "store")
        crossbar = Crossbar(
            m,
            from_banks=[bank.read_data for bank in self.banks],
            from_tile=[element[:18] for element in tile],
            select_bank=select_bank,
            select_lane=select_lane,
            captures=captures_4 & loading_4.replicate(16),
            storing=storing_3,
            family=self._family,
        )

        # A load's rows come from cycle 1, a store's from cycle 3.
        writing = s.delay(hit, 2)
        for b, bank in enumerate(self.banks):
            row_there = Signal.like(bank.row, name=f"row_{b}", reset_less=True)
            m.d.sync += [
                row_there.eq(Mux(storing_3, row_3[b], rows[b])),
                bank.write.eq(writing[b] & storing_3 & ~self.clear),
            ]
            m.d.comb += [bank.row.eq(row_there), bank.write_data.eq(crossbar.words[b])]

        # Cycle 5: the tile.
        result, wide = results.result, element_bits(params)
        store_5, reg_5, entry_5, last_5, keeps_5 = (
            s.delay(v, 4) for v in (store, reg, entry, last, keeps)
        )
        m.d.comb += [
            results.push.eq(chain[4] & last_5),
            result.store.eq(store_5),
            result.reg.eq(reg_5),
            result.entry.eq(entry_5),
        ]
        for k, element in enumerate(crossbar.elements):
            new = (
                Mux(reg_5 == _ACC, to_accumulator(element, frac), element) if wide > 18 else element
            )
            m.d.comb += result.tile[k].eq(Mux(present[k], new, Mux(keeps_5, tile[k], 0)))

        loads = Signal(4)
        m.d.sync += loads.eq(Cat(w.issue & ~w.op.store, loads))
        m.d.sync += [
            self.loading.eq(loads.any() | results.loading),
            self.storing.eq(w.stored.any() | storing_3),
        ]
        m.d.sync += self.fault.eq(w.dead & ~chain[1:].any() & ~good & results.empty)
        with m.If(self.clear):
            m.d.sync += [
                w.valid.eq(0),
                w.more.eq(0),
                w.go.eq(0),
                w.going_on.eq(0),
                w.slot.eq(0),
                w.owed.eq(0),
                w.dead.eq(0),
                chain.eq(0),
                w.ahead.eq(0),
                w.stored.eq(0),
                w.loaded.eq(0),
                w.kept.eq(0),
                loads.eq(0),
                self.fetched.eq(0),
                self.fault.eq(0),
                self.loading.eq(0),
                self.storing.eq(0),
            ]
        return m

    def _address(self, m, name, down, along, lane, bits):
        """Lower ``bits`` bits of the address of ``lane``, the sum of its row's and its column's
        offset."""
        parts = []
        for kind, offsets, select in (("down", down, lane[2:]), ("along", along, lane[:2])):
            mux = Multiplexer(width=bits, inputs=4, family=self._family)
            m.submodules[f"{name}_{kind}"] = mux
            m.d.comb += [
                mux.i.as_value().eq(Cat(offset[:bits] for offset in offsets)),
                mux.select.eq(select),
            ]
            parts.append(mux.o)
        return (parts[0] + parts[1])[:bits]

    @staticmethod
    def _start(m, w, queue, gate):
        """Tracks the current operation: `slot` is the next to start, while `more`; `passing` is the
        slot with outstanding passes."""
        w.op, w.valid, w.more = (
            Signal(Operation(), name="at_hand", reset_less=True),
            Signal(),
            Signal(),
        )
        w.slot, w.passing, w.going_on = (
            Signal(6),
            Signal(6, reset_less=True),
            Signal(name="going_on"),
        )
        w.start, w.issue, w.final, over = Signal(), Signal(), Signal(), Signal()
        last_slot = Signal()  # `slot` is the operation's last
        w.go, w.free = (
            Signal(),
            Signal(name="free"),
        )  # it may start as far as others are concerned, and as far as this unit is
        w.dead = Signal()
        m.d.comb += [
            over.eq(w.issue & w.final & Mux(w.going_on, ~w.more, last_slot)),
            queue.take.eq(~w.valid | over),
            w.issue.eq(w.start | w.going_on),
            gate.waits.eq(w.op.waits),
            gate.slot.eq(w.slot),
            gate.first_waits.eq(queue.next.waits),
        ]
        m.d.sync += w.go.eq(w.valid & w.more & gate.now & ~w.dead)
        with m.If(w.start):
            m.d.sync += w.go.eq(~last_slot & gate.after & ~w.dead)
        with m.If(queue.take):
            m.d.sync += [
                w.op.eq(queue.next),
                w.valid.eq(queue.ready),
                w.more.eq(queue.ready),
                w.slot.eq(0),
                last_slot.eq(queue.next.size == 1),
                w.go.eq(queue.ready & gate.first & ~w.dead),
            ]
        with m.Else():
            with m.If(w.start):
                m.d.sync += [
                    w.slot.eq(w.slot + 1),
                    w.more.eq(~last_slot),
                    last_slot.eq(w.slot + 2 == w.op.size),
                ]
            with m.If(w.issue & w.final):
                m.d.sync += (row.eq(row + w.op.step) for row in w.op.rows)
        with m.If(w.start):
            m.d.sync += w.passing.eq(w.slot)

    def _find_space(self, m, w, log, queue, results):
        """Checks that there is space for another slot. Passes in close succession need the same
        registers; slots that have started and not finished reserve space in the result queue."""
        w.owed, w.stored, w.loaded, w.kept = (
            Signal(range(DEPTH + 1)),
            Signal(2),
            Signal(2),
            Signal(2),
        )
        issues_store, issues_load = w.issue & w.op.store, w.issue & ~w.op.store
        m.d.sync += [
            w.stored.eq(Cat(issues_store, w.stored)),
            w.loaded.eq(Cat(issues_load, w.loaded)),
            w.kept.eq(Cat(issues_load & w.op.reads, w.kept)),
            w.owed.eq(w.owed + w.start - results.gone),
        ]

        def blocked(next_op):
            """Whether the next slot is blocked in the next cycle, with ``next_op`` as its
            operation."""
            near = issues_load if log == 4 else 0
            return Mux(next_op.store, near, issues_store | w.stored[0]) | (
                next_op.reads & ((issues_load & w.op.reads) | w.kept[0])
            )

        # The other units' turn at the tiles, lest the last slots that they have wait for all of an
        # operation's of this one.
        yields, before, hogs = Signal(2), Signal(), Signal()
        m.d.comb += hogs.eq(self.refused & before)
        m.d.sync += before.eq(self.refused)
        with m.If(hogs & (yields == 0)):
            m.d.sync += yields.eq(_YIELD)
        with m.Elif(yields != 0):
            m.d.sync += yields.eq(yields - 1)
        # Two less than there is space for: one may start in this cycle and one in the next.
        m.d.sync += w.free.eq(
            ~(w.issue & ~w.final)
            & ~Mux(queue.take, blocked(queue.next), blocked(w.op))
            & (w.owed < DEPTH - 1)
            & ~(Mux(queue.take, queue.next.reads, w.op.reads) & (hogs | (yields > 1)))
        )

    def _ask(self, m, w, words, queue):
        """Requests tiles to store, or tiles whose old elements are kept. The last word is requested
        when the slot starts, the others earlier."""
        params = self._params
        ask, w.ahead = self.tiles_read.request, Signal(range(words), name="ahead")
        whole = Signal()
        # Whether the slot's context sees a private tile, compared a slot ahead: the way to the
        # tile file's block RAMs begins here. The one slot of a uniform operation is number 0.
        private = Signal(reset_less=True)
        with m.If(w.start):
            m.d.sync += private.eq(private & (w.slot + 1 != w.op.copies))
        with m.If(queue.take):
            m.d.sync += private.eq(queue.next.copies != 0)
        m.d.comb += [
            whole.eq(w.ahead == words - 1),
            ask.valid.eq(w.go & w.op.reads & (~whole | w.free)),
            ask.payload.mask.eq(1 << w.op.reg),
            ask.payload.word.eq(w.ahead),
            *(
                e.eq(Mux(private, w.slot, params["contexts"] + w.op.from_phys))
                for e in ask.payload.entry
            ),
            w.start.eq(w.go & w.free & (~w.op.reads | (whole & ask.ready))),
        ]
        if words > 1:
            with m.If(ask.valid & ask.ready):
                m.d.sync += w.ahead.eq(w.ahead + 1)
        m.d.sync += self.fetched.eq(w.start)
        return ask

    def _tile(self, m, s, ask, op, fill):
        """Elements of the slot's tile in cycle 3 and later, in ACC's width; those of a store are
        converted. ``fill``: the slot that reads the tile is in cycle 2."""
        words, width, frac = (
            16 // tile_elements(self._params),
            element_bits(self._params),
            self._params["acc_frac"],
        )
        size = 16 // words
        reg, narrows = s.delay(op.reg, 2), s.delay(op.store & (op.reg == _ACC), 2)
        read = self.tiles_read.data
        m.submodules.reading = reading = Multiplexer(
            width=width * size, inputs=4, family=self._family
        )
        m.d.comb += [reading.i.eq(read), reading.select.eq(reg)]
        word = reading.o
        given = []
        for k in range(size):
            element = Signal(width, name=f"given_{k}")
            raw = word[width * k : width * (k + 1)]
            m.d.comb += element.eq(
                Mux(narrows, from_accumulator(raw, frac), raw) if width > 18 else raw
            )
            given.append(element)
        early = []
        arrives, which = s.delay(ask.valid & ask.ready, 2), s.delay(ask.payload.word, 2)
        for number in range(words - 1):
            row = [Signal(width, name=f"early_{number}_{k}", reset_less=True) for k in range(size)]
            with m.If(arrives & (which == number)):
                m.d.sync += (e.eq(v) for e, v in zip(row, given, strict=True))
            early += row
        tile = [Signal(width, name=f"tile_{k}", reset_less=True) for k in range(16)]
        with m.If(fill):
            m.d.sync += (e.eq(v) for e, v in zip(tile, early + given, strict=True))
        return tile
