# SPDX-License-Identifier: BSD-2-Clause
"""Input stream of a ``mvmul``: prefetched words of LMem, delivered one element per cycle."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .....primitives.multiplexer import selected
from ..commands import LMemRead, address_bits, lmem_word_bytes
from ..saturation import thermometer

__all__ = ["InputReader", "InputSelect", "input_element_layout"]

#: Words requested and not used up yet, at most.
DEPTH = 4


class InputReader(wiring.Component):
    """Input prefetch: reads the words of a vector once per tile, and buffers a few.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while not ``active``; src, words, tiles : In, with it:
        byte address, words of the vector less one, tiles less one
    active : Out: words are still to be requested
    read : Out(LMemRead)
    available : Out: there is a word to take steps from; use : In:
        this cycle's step is the last with its word
    word : Out: the oldest word, from two cycles after ``available`` says so; drop : In,
        two cycles after ``use``: the next, please
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "start": In(1),
                "src": In(address_bits(params)),
                "words": In(11),
                "tiles": In(10),
                "active": Out(1),
                "read": Out(LMemRead(params)),
                "available": Out(1),
                "use": In(1),
                "word": Out(8 * lmem_word_bytes(params)),
                "drop": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = lmem_word_bytes(self.params)
        src, pointer = (
            Signal.like(self.src, reset_less=True),
            Signal.like(self.src, reset_less=True),
        )
        words, left = (
            Signal.like(self.words, reset_less=True),
            Signal.like(self.words, reset_less=True),
        )
        tiles = Signal.like(self.tiles, reset_less=True)
        owed = Signal(range(DEPTH + 1))  # words requested and not dropped yet
        asked = Signal()
        m.d.comb += [
            self.read.request.valid.eq(self.active & (owed != DEPTH)),
            self.read.request.payload.eq(pointer),
            asked.eq(self.read.request.valid & self.read.request.ready),
        ]
        m.d.sync += owed.eq(owed + asked - self.drop)
        with m.If(asked):
            m.d.sync += [pointer.eq(pointer + step), left.eq(left - 1)]
            with m.If(left == 0):
                m.d.sync += [pointer.eq(src), left.eq(words), tiles.eq(tiles - 1)]
                with m.If(tiles == 0):
                    m.d.sync += self.active.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.active.eq(1),
                src.eq(self.src),
                pointer.eq(self.src),
                words.eq(self.words),
                left.eq(self.words),
                tiles.eq(self.tiles),
            ]

        promised, count = Signal(), Signal(range(DEPTH + 1))
        m.d.comb += promised.eq(asked)
        m.d.sync += count.eq(count + promised - self.use)
        m.d.comb += self.available.eq(count != 0)

        m.submodules.stock = stock = memory.Memory(shape=8 * step, depth=DEPTH, init=[])
        write, read = stock.write_port(), stock.read_port(domain="comb")
        put, get = Signal(range(DEPTH)), Signal(range(DEPTH))
        m.d.sync += [put.eq(put + self.read.valid), get.eq(get + self.drop)]
        m.d.comb += [
            write.en.eq(self.read.valid),
            write.addr.eq(put),
            write.data.eq(self.read.data),
            read.addr.eq(get),
            # The first word is wanted in the cycle in which it comes.
            self.word.eq(Mux(self.read.valid & (put == get), self.read.data, read.data)),
        ]
        return m


def input_element_layout(params: Params) -> dict[str, int]:
    """Position of an element in a word: ``index`` in units of its size, ``width``: its bits minus
    one, ``last``: whether it is the last one used in the word."""
    return {
        "index": exact_log2(lmem_word_bytes(params)),
        "width": exact_log2(params["x_bits"]),
        "last": 1,
    }


class InputSelect(wiring.Component):
    """Element selector: extracts an element from a word and sign-extends it; latency two cycles.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    word : In; index, width : In, see :func:`input_element_layout`
    x : Out, one cycle later, of one cycle's logic: to be registered
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        layout = input_element_layout(params)
        super().__init__(
            {
                "word": In(8 * lmem_word_bytes(params)),
                "index": In(layout["index"]),
                "width": In(layout["width"]),
                "x": Out(signed(params["x_bits"])),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, step = self.params["x_bits"], lmem_word_bytes(self.params)
        data = [self.word.word_select(k, 8) for k in range(step)]
        element = Signal(bits, reset_less=True)
        if bits == 8:
            m.d.sync += element.eq(self._selected(m, "low", data, self.index))
        else:
            wide = self.width[3]
            low = Mux(wide, (self.index << 1)[: len(self.index)], self.index)
            high = self._selected(m, "high", data[1::2], self.index[:-1])
            m.d.sync += [element[:8].eq(self._selected(m, "low", data, low)), element[8:].eq(high)]
        keep, sign = Signal(bits, reset_less=True), Signal(bits, reset_less=True)
        m.d.sync += [
            keep.eq(Cat(1, thermometer(m, Cat(self.width, 0), bits - 1, "width"))),
            sign.eq(Cat(self.width == b for b in range(bits))),
        ]
        negative = Signal()
        m.d.comb += negative.eq((element & sign).any())
        m.d.comb += self.x.eq(
            Cat(Mux(keep[b], element[b], negative) for b in range(bits)).as_signed()
        )
        return m

    def _selected(self, m, name, values, select):
        return selected(m, name, values, select, self.family) if len(values) > 1 else values[0]
