# SPDX-License-Identifier: BSD-2-Clause
"""Element-serial building blocks of the small engine: reader and writer of elements, and their
base class."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ..engine.ops import ProgressLayout, TileRead, TileWrite, Unit, element_bits, entries
from ..engine.units.contexts import ContextIterator

__all__ = ["AskLayout", "ElementReader", "ElementUnit", "ElementWriter"]


class AskLayout(data.StructLayout):
    """Element request: element (``y``, ``x``) of the tile in ``entry`` of register ``reg``; ``tag``
    is returned with it."""

    def __init__(self, params: Params, tag: ShapeLike) -> None:
        super().__init__({"reg": 2, "entry": range(entries(params)), "y": 2, "x": 2, "tag": tag})


class ElementReader(wiring.Component):
    """Element reader, one per cycle; ``tag`` is the shape of the tag that is returned with each
    element.

    Members
    -------
    ask : In, stream of :class:`AskLayout`
    valid, tag, value : Out, two cycles later, in order
    pending : Out, an element is still to come after this cycle
    clear : In, what is asked for does not come
    tiles_read : Out, :class:`~..engine.ops.TileRead`
    """

    def __init__(self, *, params: Params, tag: ShapeLike) -> None:
        self.params, self._tag = params, tag
        super().__init__(
            {
                "ask": In(stream.Signature(AskLayout(params, tag))),
                "valid": Out(1),
                "tag": Out(tag),
                "clear": In(1),
                "value": Out(element_bits(params)),
                "pending": Out(1),
                "tiles_read": Out(TileRead(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, ask = self.tiles_read.request, self.ask.payload
        m.d.comb += [
            request.valid.eq(self.ask.valid),
            self.ask.ready.eq(request.ready),
            request.payload.mask.eq(Const(1, 4) << ask.reg),
            request.payload.word.eq(Cat(ask.x, ask.y)),
        ]
        m.d.comb += [request.payload.entry[reg].eq(ask.entry) for reg in range(4)]
        coming = [
            Signal(data.StructLayout({"valid": 1, "reg": 2, "tag": self._tag}), name=f"coming_{k}")
            for k in range(2)
        ]
        m.d.sync += [
            coming[0].valid.eq(request.valid & request.ready & ~self.clear),
            coming[0].reg.eq(ask.reg),
            coming[0].tag.eq(ask.tag),
            coming[1].eq(coming[0]),
        ]
        with m.If(self.clear):
            m.d.sync += coming[1].valid.eq(0)
        words = self.tiles_read.data
        word = Signal(len(words[0]))
        with m.Switch(coming[1].reg):
            for reg in range(4):
                with m.Case(reg):
                    m.d.comb += word.eq(words[reg])
        m.d.comb += [
            self.valid.eq(coming[1].valid),
            self.tag.eq(coming[1].tag),
            self.value.eq(word),
            self.pending.eq(coming[0].valid),
        ]
        return m


class ElementWriter(wiring.Component):
    """Element writer of tiles, row by row from (0, 0).

    Members
    -------
    put : In, the next element is ``value``; only where ``ready``
    reg, entry : In, where the tile goes; constant until ``done``
    ready : Out
    done : Out, pulse: the last element is written
    clear : In, forgets the tile
    tiles_write : Out, :class:`~..engine.ops.TileWrite`
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "put": In(1),
                "value": In(element_bits(params)),
                "reg": In(2),
                "entry": In(range(entries(params))),
                "ready": Out(1),
                "done": Out(1),
                "clear": In(1),
                "tiles_write": Out(TileWrite(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = self.tiles_write.request
        element, count, full = Signal.like(self.value, reset_less=True), Signal(4), Signal()
        m.d.comb += [
            request.valid.eq(full),
            request.payload.reg.eq(self.reg),
            request.payload.entry.eq(self.entry),
            request.payload.data.eq(element),
            request.payload.word.eq(count - 1),
            self.ready.eq(~full),
            self.done.eq(full & request.ready & (count == 0)),
        ]
        with m.If(self.put):
            m.d.sync += [element.eq(self.value), count.eq(count + 1), full.eq(1)]
        with m.If(full & request.ready):
            m.d.sync += full.eq(0)
        with m.If(self.clear):
            m.d.sync += [full.eq(0), count.eq(0)]
        return m


class ElementUnit(wiring.Component):
    """Base class of element-serial units; a slot counts as fetched when it is finished.

    Parameters
    ----------
    params : dict, of a build with the small engine
    layout, own : as :class:`~..engine.units.contexts.ContextIterator`'s
    tag : shape of what comes back with an element read

    Members
    -------
    op : In, stream of operations; progress : In, :class:`~..engine.ops.ProgressLayout`
    fetched, finished : Out, pulse: a slot is; working : Out, one is at work
    clear : In, forgets all operations
    tiles_read, tiles_write : Out, :class:`~..engine.ops.TileRead` and
        :class:`~..engine.ops.TileWrite`; both may wait
    """

    def __init__(
        self, *, params: Params, layout: data.StructLayout, own: Unit, tag: ShapeLike
    ) -> None:
        self.params, self._layout, self._own, self._tag = params, layout, own, tag
        super().__init__(
            {
                "op": In(stream.Signature(layout)),
                "progress": In(ProgressLayout()),
                "fetched": Out(1),
                "finished": Out(1),
                "working": Out(1),
                "clear": In(1),
                "tiles_read": Out(TileRead(params)),
                "tiles_write": Out(TileWrite(params)),
            }
        )

    def _parts(self, m):
        """Context iterator, :class:`ElementReader` and :class:`ElementWriter` of the current slot;
        the caller drives register and value of the writes."""
        m.submodules.walk = walk = ContextIterator(
            params=self.params, layout=self._layout, own=self._own
        )
        m.submodules.reader = reader = ElementReader(params=self.params, tag=self._tag)
        m.submodules.writer = writer = ElementWriter(params=self.params)
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        wiring.connect(m, wiring.flipped(self.tiles_read), reader.tiles_read)
        wiring.connect(m, wiring.flipped(self.tiles_write), writer.tiles_write)
        ask = reader.ask.payload
        m.d.comb += [
            *(part.clear.eq(self.clear) for part in (walk, reader, writer)),
            walk.progress.eq(self.progress),
            ask.entry.eq(walk.entry[ask.reg]),
            writer.entry.eq(walk.target),
        ]
        return walk, reader, writer

    def _reduced(self, held, place):
        """Whether a reduction computes the element at ``place``."""
        y, x = place[2:], place[:2]
        here = y == held.target
        return (
            Mux(held.axis == 0, here, Mux(held.axis == 1, x == held.target, here & (x == 0)))
            if self.params["reduce_axes"]
            else here
        )
