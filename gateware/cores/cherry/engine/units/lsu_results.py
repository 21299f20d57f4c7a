# SPDX-License-Identifier: BSD-2-Clause
"""Result queue of the load/store unit, in order: tiles for the tile register file, and completed
stores."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..ops import TileWrite, element_bits, entries, tile_elements

__all__ = ["DEPTH", "ResultLayout", "Results"]

#: Slots that the unit may have under way.
DEPTH = 16


class ResultLayout(data.StructLayout):
    """A completed slot: ``store``, or a tile (elements in ACC's width) for ``entry`` of ``reg``;
    ``reported``: it counts as finished."""

    def __init__(self, params: Params) -> None:
        super().__init__(
            {
                "reported": 1,
                "store": 1,
                "reg": 2,
                "entry": range(entries(params)),
                "tile": data.ArrayLayout(element_bits(params), 16),
            }
        )


class Results(wiring.Component):
    """Result queue of :data:`DEPTH` entries in distributed RAM.

    Parameters
    ----------
    params : dict

    Members
    -------
    push : In; ``result`` : In, :class:`ResultLayout` without ``reported``;
        never while :data:`DEPTH` are there
    others : In, 4 bits: registers that others write in the next cycle
    tiles_write : Out(TileWrite): from the cycle after the push
    finished : Out, one slot: its tile is taken, or will be in the next cycle for certain,
        or it is a store
    gone : Out, one slot has left
    empty, loading : Out; ``loading``: a tile waits to be taken
    clear : In
    """

    def __init__(self, *, params: Params) -> None:
        self._params = params
        super().__init__(
            {
                "push": In(1),
                "result": In(ResultLayout(params)),
                "others": In(4),
                "gone": Out(1),
                "tiles_write": Out(TileWrite(params)),
                "finished": Out(1),
                "empty": Out(1),
                "loading": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = mem = memory.Memory(
            shape=ResultLayout(self._params), depth=DEPTH, init=[]
        )
        # The head is a register: the way from it through the tile file to its block RAMs is long.
        # The RAM is read for the entry after it.
        put, following = mem.write_port(), mem.read_port(domain="comb")
        head = Signal(ResultLayout(self._params), reset_less=True)
        second = Signal(range(DEPTH), init=1)
        m.d.comb += following.addr.eq(second)
        count = Signal(range(DEPTH + 1))
        size = tile_elements(self._params)
        words = 16 // size
        word = Signal(range(words))
        request = self.tiles_write.request
        pop = Signal()
        there, alone, last = (
            Signal(),
            Signal(),
            Signal(),
        )  # registers of their own: count is not 0, count is 1
        tells = Signal()
        m.d.comb += [
            put.en.eq(self.push),
            put.data.eq(self.result),
            put.data.reported.eq(tells),
            last.eq(word == words - 1),
            request.valid.eq(there & ~head.store),
            request.payload.reg.eq(head.reg),
            request.payload.entry.eq(head.entry),
            request.payload.word.eq(word),
            pop.eq(there & (head.store | (request.ready & last))),
            self.gone.eq(pop),
            # One that comes to an empty queue is offered in the next cycle, and taken where nobody
            # else writes its register then.
            tells.eq(
                self.push
                & (words == 1)
                & (~there | (alone & pop & head.reported))
                & (self.result.store | ~self.others.bit_select(self.result.reg, 1))
            ),
            self.finished.eq((pop & ~head.reported) | tells),
            self.empty.eq(~there),
            self.loading.eq(request.valid),
        ]
        bits = size * element_bits(self._params)
        m.d.comb += request.payload.data.eq(
            head.tile.as_value().word_select(word, bits) if words > 1 else head.tile
        )
        with m.If(request.valid & request.ready):
            m.d.sync += word.eq(word + 1 if words > 1 else 0)
        after = Signal.like(count)
        m.d.comb += after.eq(count + self.push - pop)
        m.d.sync += [count.eq(after), there.eq(after != 0), alone.eq(after == 1)]
        with m.If(self.push):
            m.d.sync += put.addr.eq(put.addr + 1)
        with m.If(pop):
            m.d.sync += second.eq(second + 1)
        with m.If(pop | ~there):
            m.d.sync += head.eq(Mux(there & ~alone, following.data, put.data))
        with m.If(self.clear):
            m.d.sync += [
                count.eq(0),
                there.eq(0),
                alone.eq(0),
                word.eq(0),
                put.addr.eq(0),
                second.eq(1),
            ]
        return m
