# SPDX-License-Identifier: BSD-2-Clause
"""Loop sequencer of a ``mvmul``: iterates over tiles, and over the rows of each; one step is a row
of weights with its input element."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....isa.parameters import Params
from ..commands import array_bits, ids_layout, lmem_word_bytes
from .input import input_element_layout
from .weights import weight_rows

__all__ = ["ArrayIds", "MatrixSteps"]


class ArrayIds(wiring.Component):
    """Array id prefetch: the ids of the blocks in a tile's column from top to bottom, read ahead of
    the loops.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    start : In, one cycle, while not ``active``; rows, cols : In, with it, less one
    active : Out: ids are still to be fetched
    index : Out; ids : In, one cycle later, see :class:`~..load.groups.GroupStore`
    first : Out: ``ids`` is the first of the command now
    array : Out, valid : Out: the array of the current block; next : In: the next block's, please
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "start": In(1),
                "rows": In(10),
                "cols": In(10),
                "active": Out(1),
                "index": Out(4),
                "ids": In(ids_layout(params)),
                "first": Out(1),
                "array": Out(array_bits(params)),
                "valid": Out(1),
                "next": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, cols, lanes = (
            exact_log2(self.params[name]) for name in ("xb_rows", "xb_cols", "lanes")
        )
        down, across, tiles = (
            Signal(10 - rows),
            Signal(5),
            Signal(10 - lanes),
        )  # blocks down less one, blocks across, tiles left
        block, column = Signal(10 - rows), Signal(10 - cols)
        part = Signal(cols - lanes)  # tile within the block
        waiting, begun = Signal(), Signal()
        fetch = Signal()
        held, held_valid, spare, spare_valid = (
            Signal.like(self.array),
            Signal(),
            Signal.like(self.array),
            Signal(),
        )
        # With none held, an arriving one is shown at once.
        m.d.comb += [
            self.valid.eq(held_valid | waiting),
            self.array.eq(Mux(held_valid, held, self.ids.array)),
        ]
        m.d.comb += fetch.eq(self.active & ~waiting & (~spare_valid | self.next))
        m.d.sync += [waiting.eq(fetch), begun.eq((begun | fetch) & ~self.start)]
        first = Signal()
        m.d.sync += first.eq(fetch & ~begun)
        m.d.comb += self.first.eq(first)
        with m.If(fetch):
            m.d.sync += [self.index.eq(self.index + across), block.eq(block - 1)]
            with m.If(block == 0):
                onward = Signal.like(column)
                m.d.comb += onward.eq(column + (part.all() if len(part) else 1))
                m.d.sync += [
                    self.index.eq(onward),
                    column.eq(onward),
                    block.eq(down),
                    part.eq(part + 1),
                    tiles.eq(tiles - 1),
                ]
                with m.If(tiles == 0):
                    m.d.sync += self.active.eq(0)
        with m.If(self.start):
            m.d.sync += [
                self.active.eq(1),
                self.index.eq(0),
                column.eq(0),
                part.eq(0),
                block.eq(self.rows[rows:]),
                down.eq(self.rows[rows:]),
                across.eq(self.cols[cols:] + 1),
                tiles.eq(self.cols[lanes:]),
            ]
        with m.If(self.next):
            m.d.sync += [held_valid.eq(spare_valid), held.eq(spare), spare_valid.eq(0)]
        with m.If(waiting & (held_valid | ~self.next)):
            with m.If(~held_valid | self.next & ~spare_valid):
                m.d.sync += [held_valid.eq(1), held.eq(self.ids.array)]
            with m.Else():
                m.d.sync += [spare_valid.eq(1), spare.eq(self.ids.array)]
        return m


class MatrixSteps(wiring.Component):
    """Loop sequencer: issues one step per cycle while input words and array ids are available and,
    for the last step of a tile, there is space for its results.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    offer : In: a command waits; rows, cols : In, less one; width : In:
        bits of an input element less one; wide : In: two bytes
    taken : Out, one cycle: the command has been taken over (its first step comes in the next cycle
        at the earliest)
    running : Out
    word, array_valid, space : In: requirements of a step; array : In
    step : Out: a step is made; row : Out: of the weights; element : Out, with it: index,
        width, last of its word
    next_array : Out: the block's last step; tile_last : Out: the tile's; first_tile,
        last_tile : Out: of its command
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        element = input_element_layout(params)
        super().__init__(
            {
                "offer": In(1),
                "rows": In(10),
                "cols": In(10),
                "width": In(element["width"]),
                "wide": In(1),
                "taken": Out(1),
                "running": Out(1),
                "word": In(1),
                "array_valid": In(1),
                "space": In(1),
                "array": In(array_bits(params)),
                "step": Out(1),
                "row": Out(ceil_log2(weight_rows(params))),
                "index": Out(element["index"]),
                "element_width": Out(element["width"]),
                "word_last": Out(1),
                "next_array": Out(1),
                "tile_last": Out(1),
                "first_tile": Out(1),
                "last_tile": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        block_rows, cols, lanes = (
            exact_log2(self.params[name]) for name in ("xb_rows", "xb_cols", "lanes")
        )
        rows, left = Signal(10, reset_less=True), Signal(10, reset_less=True)
        last = Signal(reset_less=True)  # left == 0
        done = Signal(block_rows, reset_less=True)  # row within the block
        tiles, part = Signal(10 - lanes, reset_less=True), Signal(cols - lanes, reset_less=True)
        index, wide = Signal.like(self.index), Signal(reset_less=True)
        word_ends = Signal()
        step = lmem_word_bytes(self.params)
        m.d.comb += word_ends.eq(Mux(wide, index == max(0, step // 2 - 1), index == step - 1))
        finishing = Signal()
        m.d.comb += [
            self.step.eq(self.running & self.word & self.array_valid & (~last | self.space)),
            self.row.eq(Cat(part, done, self.array)),
            self.index.eq(index),
            self.word_last.eq(word_ends | last),
            self.next_array.eq(self.step & (last | done.all())),
            self.tile_last.eq(self.step & last),
            self.last_tile.eq(tiles == 0),
            finishing.eq(self.tile_last & self.last_tile),
            self.taken.eq(self.offer & (~self.running | finishing)),
        ]
        with m.If(self.step):
            m.d.sync += [
                left.eq(left - 1),
                last.eq(left == 1),
                done.eq(done + 1),
                index.eq(index + 1),
            ]
            with m.If(self.word_last):
                m.d.sync += index.eq(0)
            with m.If(last):
                m.d.sync += [
                    left.eq(rows),
                    last.eq(rows == 0),
                    done.eq(0),
                    tiles.eq(tiles - 1),
                    part.eq(part + 1),
                    self.first_tile.eq(0),
                ]
        with m.If(finishing):
            m.d.sync += self.running.eq(0)
        with m.If(self.taken):
            m.d.sync += [
                self.running.eq(1),
                rows.eq(self.rows),
                left.eq(self.rows),
                last.eq(self.rows == 0),
                done.eq(0),
                index.eq(0),
                tiles.eq(self.cols[lanes:]),
                part.eq(0),
                self.first_tile.eq(1),
                self.element_width.eq(self.width),
                wide.eq(self.wide),
            ]
        return m
