# SPDX-License-Identifier: BSD-2-Clause
"""Special-function pipeline, from operations to result tiles: div, pow, exp and log (specification,
sections 4.3 and 4.4)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..memory.tilefile import OUTPUT
from ..memory.wordqueue import WordQueue
from ..ops import (
    ProgressLayout,
    SfuKind,
    TileRead,
    TileWrite,
    Unit,
    element_bits,
    entries,
    sfu_op,
    tile_elements,
)
from .contexts import ContextIterator
from .sfu import SpecialLane

__all__ = ["SfuPath"]


class SfuPath(wiring.Component):
    """Special-function pipeline: div, pow, exp and log in order, ``sfu_lanes`` elements per cycle.

    Words of tiles are read, go through the lanes element by element, and wait in a queue until the
    tile file takes them; a word is read only where the queue will have space. From the request of a
    word to the write of its result are 39 cycles and those that the word takes in the lanes.

    Parameters
    ----------
    params : dict
        ``sfu_lanes`` at least 1.
    family : as the primitives'

    Members
    -------
    As :class:`~.dotpath.DotPath`'s; ``op`` is a stream of :func:`~..ops.sfu_op`, and
    ``tiles_write`` may wait.
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        if params["sfu_lanes"] < 1:
            raise ValueError(
                f"Special functions need a lane at least, not sfu_lanes {params['sfu_lanes']}"
            )
        self.params, self.family = params, family
        self.lanes = params["sfu_lanes"]
        self._elements = tile_elements(params)
        self._words, self._passes = 16 // self._elements, self._elements // self.lanes
        # Words in registers, lanes and queue.
        self._depth = 1 << (SpecialLane.LATENCY // self._passes + 5).bit_length()
        super().__init__(
            {
                "op": In(stream.Signature(sfu_op())),
                "progress": In(ProgressLayout()),
                "fetched": Out(1),
                "finished": Out(1),
                "working": Out(1),
                "clear": In(1),
                "tiles_read": Out(TileRead(params)),
                "tiles_write": Out(TileWrite(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.walk = walk = ContextIterator(
            params=self.params, layout=sfu_op(), own=Unit.SFU
        )
        wiring.connect(m, wiring.flipped(self.op), walk.op)
        m.d.comb += [walk.progress.eq(self.progress), walk.clear.eq(self.clear)]
        request, write = self.tiles_read.request, self.tiles_write.request
        word, ahead, sent, written = (
            Signal(range(max(2, self._words))),
            Signal(range(self._passes + 1)),
            Signal(),
            Signal(),
        )
        room = Signal(range(self._depth + 1), init=self._depth)
        free = Signal()  # the lanes take a word and the queue has space for it, known a cycle ahead
        two = (walk.held.kind == SfuKind.DIV) | (walk.held.kind == SfuKind.POW)
        last = word == self._words - 1
        m.d.comb += [
            request.valid.eq(walk.valid & free),
            request.payload.mask.eq(Mux(two, 3, 1)),
            request.payload.entry.eq(walk.entry),
            request.payload.word.eq(word),
            sent.eq(request.valid & request.ready),
            walk.take.eq(sent & last),
        ]
        # Told a cycle late: nobody needs it at once, and the way from the tile file's grants is
        # long.
        m.d.sync += self.fetched.eq(walk.take & ~self.clear)
        m.d.sync += [room.eq(room + written - sent), free.eq((ahead <= 1) & (room > 1))]
        with m.If(ahead != 0):
            m.d.sync += ahead.eq(ahead - 1)
        with m.If(sent):
            m.d.sync += [word.eq(Mux(last, 0, word + 1)), ahead.eq(self._passes - 1)]
            if self._passes > 1:
                m.d.sync += free.eq(0)
        with m.If(self.clear):
            m.d.sync += [word.eq(0), ahead.eq(0), room.eq(self._depth)]

        result, done = self._through(m, sent, walk.held.kind)
        m.submodules.queue = queue = WordQueue(
            width=18 * self._elements, depth=self._depth, family=self.family
        )
        m.d.comb += [queue.push.eq(done), queue.data.eq(result), queue.clear.eq(self.clear)]
        where = self._where(m, sent, written, walk, word, last)
        wide = element_bits(self.params)
        m.d.comb += [
            write.valid.eq(queue.output.valid),
            queue.output.ready.eq(write.ready),
            written.eq(write.valid & write.ready),
            write.payload.reg.eq(OUTPUT),
            write.payload.entry.eq(where.entry),
            write.payload.word.eq(where.word),
        ]
        m.d.sync += self.finished.eq(written & where.last & ~self.clear)
        for k in range(self._elements):
            m.d.comb += write.payload.data[wide * k : wide * k + 18].eq(
                queue.output.payload[18 * k : 18 * k + 18]
            )
        return m

    def _through(self, m, sent, kind):
        """Passes words through the lanes; returns a word of results, and whether it is valid."""
        read, wide, passes, lanes = (
            self.tiles_read.data,
            element_bits(self.params),
            self._passes,
            self.lanes,
        )
        coming = [Signal(name=f"coming_{k}") for k in range(2)]
        kinds = [Signal(SfuKind, name=f"kind_{k}", reset_less=True) for k in range(3)]
        m.d.sync += [
            coming[0].eq(sent),
            coming[1].eq(coming[0]),
            kinds[0].eq(kind),
            kinds[1].eq(kinds[0]),
        ]
        x, y = (
            Signal(data.ArrayLayout(18, self._elements), name=name, reset_less=True)
            for name in "xy"
        )
        running, count = Signal(), Signal(range(max(2, passes)))
        for reg, held in enumerate((x, y)):
            with m.If(coming[1]):
                m.d.sync += [
                    held[k].eq(read[reg][wide * k : wide * k + 18]) for k in range(self._elements)
                ]
            with m.Else():
                m.d.sync += [held[k].eq(held[k + lanes]) for k in range(self._elements - lanes)]
        with m.If(running):
            m.d.sync += [count.eq(count + 1), running.eq(count != passes - 1)]
        with m.If(coming[1]):
            m.d.sync += [running.eq(1), count.eq(0), kinds[2].eq(kinds[1])]
        results = []
        for k in range(lanes):
            m.submodules[f"lane_{k}"] = lane = SpecialLane(family=self.family)
            m.d.comb += [lane.op.eq(kinds[2]), lane.x.eq(x[k]), lane.y.eq(y[k])]
            results.append(lane.result)
        # What comes out of the lanes: a valid pass, a word's last.
        valid, ends = Signal(SpecialLane.LATENCY), Signal(SpecialLane.LATENCY)
        m.d.sync += [
            valid.eq(Cat(running, valid)),
            ends.eq(Cat(running & (count == passes - 1), ends)),
        ]
        with m.If(self.clear):
            m.d.sync += [coming[0].eq(0), coming[1].eq(0), running.eq(0), valid.eq(0), ends.eq(0)]
        m.d.comb += self.working.eq(running | valid.any())
        before = Signal(18 * lanes * (passes - 1), reset_less=True)
        word = Cat(before, *results)
        with m.If(valid[-1]):
            m.d.sync += before.eq(word[18 * lanes :])
        return word, ends[-1]

    def _where(self, m, sent, written, walk, word, last):
        """Destination of the oldest word in flight."""
        layout = data.StructLayout(
            {"entry": range(entries(self.params)), "word": range(max(2, self._words)), "last": 1}
        )
        m.submodules.where = memory = Memory(shape=layout, depth=self._depth, init=[])
        put, get = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            put.en.eq(sent),
            put.data.entry.eq(walk.target),
            put.data.word.eq(word),
            put.data.last.eq(last),
        ]
        with m.If(sent):
            m.d.sync += put.addr.eq(put.addr + 1)
        with m.If(written):
            m.d.sync += get.addr.eq(get.addr + 1)
        with m.If(self.clear):
            m.d.sync += [put.addr.eq(0), get.addr.eq(0)]
        return get.data
