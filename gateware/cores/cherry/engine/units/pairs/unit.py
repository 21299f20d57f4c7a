# SPDX-License-Identifier: BSD-2-Clause
"""Load/store unit for two banks of MEM: two elements per cycle, no crossbar (specification, section
9)."""

from types import SimpleNamespace

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ......isa.parameters import Params
from ...memory.scratchpad import READ_LATENCY, BankInterface, row_bits
from ...memory.tilefile import ACC
from ...ops import ProgressLayout, TileRead, TileWrite, element_bits, lsu_op, tile_elements
from ..accumulator import from_accumulator, to_accumulator
from ..lsu_crossbar import choose
from .walk import AddressWalk, PairLayout, SlotLayout

__all__ = ["PairLoadStore", "in_pairs"]

#: Pairs, and slots, that wait for their turn: a slot of sixteen pairs must fit.
_DEPTH = 16


def in_pairs(params: Params) -> bool:
    """Whether a build uses this unit: it has two banks, and the tile file holds rows."""
    return params["banks"] == 2 and tile_elements(params) == 4


class PairLoadStore(wiring.Component):
    """Load/store unit for two banks: loads and stores in order, two elements per cycle.

    The walk (:mod:`.walk`) is ahead by up to sixteen pairs, since all addresses of a slot are
    checked before the first is used. A load's pairs go to the banks, and come three cycles later
    into registers of a tile, of which each row is written when it is complete; the next slot
    follows into rows that were written. A store reads its tile row by row, and starts when all
    loads are written.

    Parameters
    ----------
    params : dict; :func:`in_pairs` holds for it

    Members
    -------
    As :class:`~..lsu.LoadStore`'s; ``others`` and ``refused`` do not matter: it reads a tile in
    every other cycle at most. A slot counts as fetched when it is finished.

    Raises
    ------
    ValueError
        The build has more banks, or a word of its tile file is not a row.
    """

    def __init__(self, *, params: Params) -> None:
        if not in_pairs(params):
            raise ValueError(
                f"Load/store by pairs needs parameter banks 2 and macs below 32, not "
                f"{params['banks']} and {params['macs']}"
            )
        self._params = params
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
                "banks": Out(BankInterface(row_bits(params))).array(2),
                "fault": Out(1),
                "fault_address": Out(18),
                "fault_slot": Out(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, w = Module(), SimpleNamespace()  # `w`: signals that several steps use
        m.submodules.walk = walk = AddressWalk(params=self._params)
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        m.d.comb += [
            walk.progress.eq(self.progress),
            walk.clear.eq(self.clear),
            self.fault_slot.eq(walk.fault_slot),
            self.fault_address.eq(walk.fault_address),
        ]
        self._queues(m, w, walk)
        self._pass(m, w)
        w.writes, w.row_written = Signal(), Signal()  # a load is written; a row of it now
        m.d.comb += w.writes.eq(w.behind | w.loads)
        self._read(m, w)
        self._access(m, w)
        self._write(m, w)
        m.d.sync += [
            self.finished.eq((w.done & w.now.store) | w.written),
            self.fetched.eq((w.done & w.now.store) | w.written),
            self.loading.eq(w.writes),
            self.storing.eq(w.stores),
            self.fault.eq(w.there & w.now.bad & ~w.behind),
        ]
        with m.If(self.clear):
            m.d.sync += [
                self.finished.eq(0),
                self.fetched.eq(0),
                self.loading.eq(0),
                self.storing.eq(0),
                self.fault.eq(0),
            ]
        return m

    def _queues(self, m, w, walk):
        """Queues of pairs and of slots; `now` is the slot that is passed, `then` the one that is
        written: the same slot or, while one is `behind`, its predecessor."""
        m.submodules.pairs = pairs = memory.Memory(
            shape=PairLayout(self._params), depth=_DEPTH, init=[]
        )
        m.submodules.slots = slots = memory.Memory(
            shape=SlotLayout(self._params), depth=_DEPTH, init=[]
        )
        put_pair, get_pair = pairs.write_port(), pairs.read_port(domain="comb")
        put_slot, get_now, get_then = (
            slots.write_port(),
            slots.read_port(domain="comb"),
            slots.read_port(domain="comb"),
        )
        w.pair, w.now, w.then = get_pair.data, get_now.data, get_then.data
        w.issue, w.done, w.written = (
            Signal(),
            Signal(),
            Signal(),
        )  # a pair is passed; a slot's last one; a load's last row is written
        w.there, w.behind = Signal(), Signal()
        level, waiting = Signal(range(_DEPTH + 1)), Signal(range(_DEPTH + 1))
        left, kept = Signal.like(level), Signal.like(waiting)
        m.d.comb += [
            put_pair.en.eq(walk.push),
            put_pair.data.eq(walk.pair),
            put_slot.en.eq(walk.slot_valid),
            put_slot.data.eq(walk.slot),
            left.eq(level + walk.push - w.issue),
            kept.eq(waiting + walk.slot_valid - w.done),
        ]
        # Pairs to the last place: a slot may need all of them. A slot's place is free when its last
        # row is written.
        m.d.sync += [
            level.eq(left),
            waiting.eq(kept),
            w.there.eq(kept != 0),
            walk.space.eq((left + walk.step < _DEPTH) & (kept < _DEPTH - 4)),
            w.behind.eq((w.behind | (w.done & ~w.now.store)) & ~w.written),
        ]
        m.d.sync += [
            put_pair.addr.eq(put_pair.addr + walk.push),
            get_pair.addr.eq(get_pair.addr + w.issue),
            put_slot.addr.eq(put_slot.addr + walk.slot_valid),
            get_now.addr.eq(get_now.addr + w.done),
            get_then.addr.eq(get_then.addr + (w.written | (w.done & w.now.store))),
        ]
        with m.If(self.clear):
            m.d.sync += [
                level.eq(0),
                waiting.eq(0),
                w.there.eq(0),
                w.behind.eq(0),
                *(port.addr.eq(0) for port in (put_pair, get_pair, put_slot, get_now, get_then)),
            ]

    def _pass(self, m, w):
        """Passes the lanes of the current slot, in traversal order."""
        now, way = w.now, w.now.way
        w.x, w.y, w.row, w.ends_row, ends = Signal(2), Signal(2), Signal(2), Signal(), Signal()
        w.loads, w.stores, w.row_there, w.row_next = Signal(), Signal(), Signal(), Signal(2)
        below = Signal(3)  # the last row that the pair goes to
        x, y = Signal(4), Signal(4)  # the next lane, in this row and in the next
        m.d.comb += [
            x.eq(w.x + 1 + way.along),
            y.eq(w.y + 1 + way.down),
            w.ends_row.eq(x >= way.len_x),
            ends.eq(w.ends_row & (y >= way.len_y)),
            w.row.eq(w.y + now.skip),
            below.eq(w.row + (way.down & w.pair.two)),
            w.loads.eq(w.there & ~now.store & ~now.bad),
            w.stores.eq(w.there & now.store & ~now.bad & ~w.behind),
            # While the slot before is not written, only into rows of it that are, and not to the
            # end.
            w.issue.eq(
                Mux(
                    now.store,
                    w.stores & w.row_there,
                    w.loads & (~w.behind | ((w.row_next > below) & ~ends)),
                )
            ),
            w.done.eq(w.issue & ends),
        ]
        with m.If(w.issue):
            m.d.sync += w.x.eq(Mux(w.ends_row, 0, x))
            with m.If(w.ends_row):
                m.d.sync += w.y.eq(Mux(ends, 0, y))
        with m.If(self.clear):
            m.d.sync += [w.x.eq(0), w.y.eq(0)]

    def _read(self, m, w):
        """Reads a row of a tile: for a store the current slot's tile, for a load the tile whose old
        elements are kept."""
        params = self._params
        wide, frac = element_bits(params), params["acc_frac"]
        ask, way, reg = self.tiles_read.request, w.now.way, w.then.reg
        w.old = row = [Signal(wide, name=f"row_{k}", reset_less=True) for k in range(4)]
        reads, asked, coming = (
            Signal(),
            Signal(3),
            Signal(),
        )  # rows of a store that were requested; one is on its way
        m.d.comb += [
            # The next row of a store comes when the one at work is done with; in pairs that is two
            # cycles after its arrival.
            reads.eq((asked < way.len_y) & (~w.row_there | way.along | (w.x + 2 >= way.len_x))),
            ask.valid.eq(
                Mux(w.stores, reads, w.writes & w.then.keeps & ~w.row_there)
                & (~coming | (w.stores & way.along & self.tiles_read.valid))
            ),
            ask.payload.mask.eq(1 << reg),
            ask.payload.word.eq(Mux(w.stores, asked, w.row_next)),
            *(e.eq(w.then.source) for e in ask.payload.entry),
        ]
        m.d.sync += coming.eq((ask.valid & ask.ready) | (coming & ~self.tiles_read.valid))
        with m.If(ask.valid & ask.ready):
            m.d.sync += asked.eq(asked + w.stores)
        with m.If((w.stores & w.issue & w.ends_row) | w.row_written):
            m.d.sync += w.row_there.eq(0)
        with m.If(self.tiles_read.valid):
            word = choose(list(self.tiles_read.data), reg)
            m.d.sync += [
                w.row_there.eq(1),
                *(held.eq(word[wide * k : wide * (k + 1)]) for k, held in enumerate(row)),
            ]
        with m.If(w.done):
            m.d.sync += asked.eq(0)
        with m.If(self.clear):
            m.d.sync += [coming.eq(0), asked.eq(0), w.row_there.eq(0)]

        def narrowed(value):
            """Converts an element of the tile file to an element of MEM."""
            return (
                Mux(reg == ACC, from_accumulator(value, frac), value[:18]) if wide > 18 else value
            )

        # Of a store the first lane's element, and the second one's, which is its neighbour in the
        # row.
        w.elements = narrowed(choose(row, w.x)), narrowed(Mux(w.x[1], row[3], row[1]))

    def _access(self, m, w):
        """Requests to the banks: each bank serves the second lane if it can, else the first; loaded
        elements arrive three cycles later."""
        pair, (first, second) = w.pair, w.elements
        for number, bank in enumerate(self.banks):
            of_first, of_second = pair.first[0] == number, pair.two & (pair.second[0] == number)
            m.d.sync += [
                bank.row.eq(Mux(of_second, pair.second[1:], pair.first[1:])),
                bank.write_data.eq(Mux(of_second, second, first)),
                bank.write.eq(w.issue & w.now.store & (of_first | of_second) & ~self.clear),
            ]
        # The sum of row and column is even in one of the two lanes, odd in the other.
        layout = data.StructLayout(
            {"x": 2, "row": 2, "down": 1, "two": 1, "ends_row": 1, "bank_even": 1, "bank_odd": 1}
        )
        info, valid = Signal(layout), w.issue & ~w.now.store
        odd = w.x[0] ^ w.row[0]
        m.d.comb += [
            info.x.eq(w.x),
            info.row.eq(w.row),
            info.down.eq(w.now.way.down),
            info.two.eq(pair.two),
            info.ends_row.eq(w.ends_row),
            info.bank_even.eq(Mux(odd, pair.second[0], pair.first[0])),
            info.bank_odd.eq(Mux(odd, pair.first[0], pair.second[0])),
        ]
        for k in range(READ_LATENCY + 1):
            later, there = (
                Signal(layout, name=f"access_{k}", reset_less=True),
                Signal(name=f"accesses_{k}"),
            )
            m.d.sync += [later.eq(info), there.eq(valid & ~self.clear)]
            info, valid = later, there
        w.came, w.come = info, valid

    def _write(self, m, w):
        """Drives the write port of the tile file with the banks' data, one row per cycle."""
        came, then, way, wide = w.came, w.then, w.then.way, element_bits(self._params)
        below = came.row + 1
        values = [
            Mux(bank, self.banks[1].read_data, self.banks[0].read_data)
            for bank in (came.bank_even, came.bank_odd)
        ]
        tile = [
            [Signal(18, name=f"tile_{y}{x}", reset_less=True) for x in range(4)] for y in range(4)
        ]
        full, write = Signal(4), self.tiles_write.request
        m.d.comb += w.row_written.eq(write.valid & write.ready)
        for y in range(4):
            here, next_here = came.row == y, came.two & came.down & (below == y)
            with m.If(w.row_written & (w.row_next == y)):
                m.d.sync += full[y].eq(0)
            with m.If(w.come & came.ends_row & (here | next_here)):
                m.d.sync += full[y].eq(1)
            for x in range(4):
                takes = (here & ((came.x == x) | (came.two & ~came.down & (came.x + 1 == x)))) | (
                    next_here & (came.x == x)
                )
                with m.If(w.come & takes):
                    m.d.sync += tile[y][x].eq(values[(y + x) % 2])
        covered = Signal()
        m.d.comb += [
            covered.eq((w.row_next >= then.skip) & (w.row_next < way.len_y + then.skip)),
            write.valid.eq(
                w.writes & (full.bit_select(w.row_next, 1) | ~covered) & (~then.keeps | w.row_there)
            ),
            write.payload.reg.eq(then.reg),
            write.payload.entry.eq(then.entry),
            write.payload.word.eq(w.row_next),
            w.written.eq(w.row_written & (w.row_next == 3)),
        ]
        for x in range(4):
            element = choose([row[x] for row in tile], w.row_next)
            new = (
                Mux(then.reg == ACC, to_accumulator(element, self._params["acc_frac"]), element)
                if wide > 18
                else element
            )
            m.d.comb += write.payload.data[wide * x : wide * (x + 1)].eq(
                Mux(covered & (x < way.len_x), new, Mux(then.keeps, w.old[x], 0))
            )
        with m.If(w.row_written):
            m.d.sync += w.row_next.eq(w.row_next + 1)
        with m.If(self.clear):
            m.d.sync += [w.row_next.eq(0), full.eq(0)]
