# SPDX-License-Identifier: BSD-2-Clause
"""Instruction emission for steps: products, activations, and overlapped memory transfers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..chunks import front_rows, needed, slot_rows, term_lines
from ..form import (
    InterleaveStep,
    KernelStep,
    PackedBias,
    PoolStep,
    Step,
    StoredTile,
    norm_word,
    spread_of,
)
from .interleaving import Interleaving
from .kernels import Kernels
from .pooling import Pooling
from .portioned import Portioned
from .program import Program, Tiles, split

if TYPE_CHECKING:
    from ..schedule import Plan

__all__ = ["Emitter"]

#: Vectors that are loaded at a time, so that tiles and instructions come in between.
_MOST_VECTORS = 32
#: Blocks with a common activation, at most: more save few words, and that of a layer's last blocks
#: is beside no product.
_TOGETHER = 8

#: Cycles from a bias' product to the sums that begin with it.
_WAIT = 5


class Emitter(Pooling, Kernels, Interleaving, Portioned):
    """Emits the instructions of a plan's steps, one after another.

    Parameters
    ----------
    plan : Plan
    inputs, stored : names as of :func:`~..schedule.make_plan`
    params : build parameters

    Attributes
    ----------
    program : Program; ``tiles`` : Tiles
    marks : list, a step's first word
    """

    def __init__(
        self,
        plan: Plan,
        *,
        inputs: Collection[str],
        stored: Collection[str],
        params: Mapping[str, Any],
    ):
        self.plan, self.stored, self.params = plan, stored, params
        # Where tensors are tiles, host memory comes first in weight memory.
        n = params["n"]
        self.program = Program()
        self.tiles = Tiles(-(-plan.vectors // n) if plan.kernels else 0)
        self.marks: list[int] = []
        self._written: dict[
            str, int
        ] = {}  # tensor of tiles -> number of the word that writes its last
        self._norm = self._conv = self._pool = self._poolrow = None
        self._tile = None  # the array's
        self._slot = 0
        self._rows = 0  # of a chunk of the present step, at most
        self._biases: list[Any] = []  # of the present step's blocks
        self._loaded = {
            name: 0 for name in inputs if name in plan.base
        }  # lines of inputs that stay
        self._outs = 0
        self._waiting: list[Any] = []  # loads of the next chunk, still to be requested
        self._first = True  # no chunk is loaded yet
        self._constants = 0  # constant vectors that are requested

    # Small things

    def _cfg(self, name, value):
        wired = name == "norm" and not self.params["ext_norm"]
        if getattr(self, f"_{name}") != value and not wired:
            setattr(self, f"_{name}", value)
            self.program.cfg(name, value)

    def _number(self, tile):
        """Tile number of a term, and the word after which the tile is available."""
        if isinstance(tile, StoredTile):
            return (self.plan.home[tile.tensor] + tile.vector) // self.params["n"], self._written[
                tile.tensor
            ]
        return self.tiles.number(tile), -1

    def _mmc(
        self, ub, acc, count, tile=None, overwrite=False, convolve=False, bias=False, after=-1
    ):
        """Emits an MMC; ``tile``: number of its weight tile, ``None`` to keep the array's present
        one."""
        fresh = tile is not None and tile != self._tile
        if fresh:
            self._tile = tile
        self.program.mmc(
            ub,
            acc,
            count,
            overwrite=overwrite,
            convolve=convolve,
            bias=bias,
            tile=tile if fresh else None,
            after=after,
        )

    def _constant(self, tile, acc, rows, overwrite):
        """Emits the product of a constant vector and a tile, over ``rows`` rows."""
        ones = self.plan.ones
        for at in reversed(range(0, rows, ones)):
            self._mmc(self.plan.zeros, acc + at, min(ones, rows - at), tile, overwrite)

    def _zero(self, acc, rows):
        for at, count in split(rows, min(256, self.plan.zeros)):
            self._mmc(0, acc + at, count, overwrite=True)

    # Lines from main memory

    def _load(self, name, first, end, target, step_lines):
        """Emits loads of lines of all blocks of a tensor; ``target``: (block, line) -> row."""
        map_, home = self.plan.planes[name], self.plan.home[name]
        for block in range(map_.blocks):
            lead = map_.lead if first == step_lines else 0
            self._rhm(
                home + map_.vector(block, first, 0) - lead,
                target(block, first) - lead,
                (end - first) * map_.pitch + lead,
            )

    def _rhm(self, host, ub, count):
        # Nothing comes in between before the first products.
        most = 256 if self.plan.first_at_once and self._first else _MOST_VECTORS
        self._waiting += [
            (host + at, ub + at, min(most, count - at)) for at in range(0, count, most)
        ]

    def _ask(self, products):
        """Emits the loads that are due when ``products`` products remain before the next chunk."""
        for _ in range(-(-len(self._waiting) // products)):
            self.program.rhm(*self._waiting.pop(0))
            self._first = False

    def _fetch(self, number, step, part):
        """Queues the main memory loads of chunk ``part`` of a step; none if there is no such
        chunk."""
        plan = self.plan
        if part >= len(plan.parts[number]):
            return
        for index, name in enumerate(dict.fromkeys(step.sources)):
            map_ = plan.planes[name]
            index = step.sources.index(name)
            low, high = needed(step, plan.parts[number][part], index, plan.planes)
            if name in self._loaded:
                if self._loaded[name] == 0 and high == map_.down and map_.down == 1:
                    self._rhm(plan.home[name], plan.base[name], map_.size)
                elif high > self._loaded[name]:
                    base = plan.base[name]
                    self._load(
                        name,
                        self._loaded[name],
                        high,
                        lambda b, x, base=base, map_=map_: base + map_.vector(b, x, 0),
                        0,
                    )
                self._loaded[name] = max(self._loaded[name], high)
            elif name not in plan.base and high > low:
                view = self._view(number, step, part, name)
                self._load(name, low, high, lambda b, x, view=view: view(b, x, 0), low)

    def _view(self, number, step, part, name):
        """Function (block, line, place) -> row of a source, for the current chunk."""
        plan, map_ = self.plan, self.plan.planes[name]
        if name in plan.base:
            base = plan.base[name]
            return lambda block, line, place: base + map_.vector(block, line, place)
        parts = plan.parts[number]
        base = plan.scratch[number, "band", name, part % plan.bands[number]]
        low, high = needed(step, parts[part], step.sources.index(name), plan.planes)
        size = map_.lead + (high - low) * map_.pitch
        return lambda block, line, place: (
            base + block * size + map_.lead + (line - low) * map_.pitch + place
        )

    def _load_constants(self, number):
        """Emits the loads of constant vectors that are due before step ``number``. Those of packed
        biases come after the first step, which waits for its input, unless it needs them."""
        plan = self.plan
        packed = number > 0 or any(isinstance(bias, PackedBias) for bias in self._biases)
        at, end = self._constants, plan.constants if packed else plan.ones
        if at < end:
            self.program.rhm(at, plan.zeros + at, end - at)
            self._constants = end

    # Steps

    def step(self, number: int, step: Step | PoolStep | KernelStep | InterleaveStep) -> None:
        """Appends the instructions of a step."""
        plan = self.plan
        self._biases = plan.biases(step) if isinstance(step, Step) else []
        self._load_constants(number)
        self.marks.append(len(self.program.words))
        self._rows = plan.slot(number) or slot_rows(self.params)
        self._long_front(step)
        if number in plan.portions:
            return self._portioned(number, step)
        if isinstance(step, PoolStep):
            return self._pool_step(number, step)
        if isinstance(step, KernelStep):
            return self._kernel_step(number, step)
        if isinstance(step, InterleaveStep):
            return self._interleave_step(number, step)
        places = spread_of(step, plan.planes[step.sources[0]])
        if places is not None and self._spread(number, step, places):
            return None
        ahead = plan.bands[number] - 1
        for part, chunk in enumerate(plan.parts[number]):
            if part == 0 or not ahead:
                self._fetch(number, step, part)
            self._ask(1)
            if ahead:
                self._fetch(number, step, part + 1)
            views = [self._view(number, step, part, name) for name in step.sources]
            self._left = sum(len(terms) for terms in step.terms)
            for blocks in self._runs(step, chunk):
                sums_at = self._begin_run(step, chunk, blocks)
                for together in self._together(step, chunk, blocks):
                    for block in together:
                        self._group(step, chunk, block, views, sums_at)
                    self._leave(number, step, chunk, together, sums_at[together[0]])
        return None

    def _runs(self, step, chunk):
        """Splits the blocks of a chunk into runs whose sums are in the accumulators together: as
        many as a slot holds where biases share tiles, otherwise single ones."""
        blocks = range(len(step.terms))
        packed = any(isinstance(bias, PackedBias) for bias in self._biases)
        rows = front_rows(self.plan.planes[step.target], self._rows) + chunk.rows
        count = max(1, slot_rows(self.params) // rows) if packed else 1
        return [blocks[at : at + count] for at in range(0, len(blocks), count)]

    def _begin_run(self, step, chunk, blocks):
        """Emits the biases of a run of several blocks in the order of their tiles, each of which is
        read once. Returns the first accumulator row of each block."""
        target = self.plan.planes[step.target]
        rows = front_rows(target, self._rows) + chunk.rows
        self._slot = (self._slot + 1) % (self.params["acc_rows"] // slot_rows(self.params))
        sums_at = {
            block: self._slot * slot_rows(self.params)
            + index * rows
            + self._front(step, chunk, block)
            for index, block in enumerate(blocks)
        }
        if len(blocks) > 1:
            shared: dict[bytes, list[int]] = {}
            for block in blocks:
                bias = self._biases[block]
                tile = bias.tile if isinstance(bias, PackedBias) else bias[0]
                shared.setdefault(tile.tobytes(), []).append(block)
            for block in chain(*shared.values()):
                _, begins = self._spans(step, chunk, block)
                self._bias(self._biases[block], sums_at[block], chunk, target, begins)
        return sums_at

    def _together(self, step, chunk, blocks):
        """Splits a run into blocks that one ACT and one WHM serve: neighbours with one shift and no
        vectors between them, which stay in the unified buffer."""
        target, found = self.plan.planes[step.target], [[blocks[0]]]
        resident = step.target in self.plan.base
        adjacent = resident and target.plane == chunk.rows and not target.lead
        for block in blocks[1:]:
            same = step.shifts[block] == step.shifts[found[-1][0]]
            if adjacent and same and len(found[-1]) < _TOGETHER:
                found[-1].append(block)
            else:
                found.append([block])
        return found

    def _group(self, step, chunk, block, views, sums_at):
        """Emits the sums of one block of a chunk. ``sums_at``: first accumulator row of each block
        of its run (:meth:`_begin_run`)."""
        target, acc = self.plan.planes[step.target], sums_at[block]
        bias, real = self._biases[block], chunk.real(target)
        spans, begins = self._spans(step, chunk, block)
        if bias is None and not begins:
            bias = [np.zeros((target.n, target.n), np.int8)]
        if len(sums_at) == 1:
            self._bias(bias, acc, chunk, target, begins)
        for index, (term, span) in enumerate(spans):
            first = bool(begins) and index == 0
            self._product(
                step,
                term,
                span,
                chunk,
                real,
                acc,
                views[term.source],
                overwrite=first and bias is None,
                bias=first and bias is not None,
            )
            self._ask(max(1, self._left))
            self._left -= 1
        self._zero_gaps(step, chunk, block, acc)

    def _spans(self, step, chunk, block):
        """Terms of a block with the lines of a chunk that they add to, and the MMCs of the first of
        them, as (accumulator row in the chunk, rows), if they begin all sums of the chunk: without
        a bias they overwrite them, with one they add to the bias in their last rows (MMC.B)."""
        target, biased = self.plan.planes[step.target], self._biases[block] is not None
        real = chunk.real(target)
        if real <= 0:
            return [], []
        spans = [
            (term, term_lines(step, term, chunk, self.plan.planes)) for term in step.terms[block]
        ]
        spans = [(term, span) for term, span in spans if span[0] < span[1]]
        for k, (term, span) in enumerate(spans):
            if span == (chunk.first, chunk.end) and (self.params["ext_bias"] or not biased):
                begins = self._products(step, term, span, chunk, real)
                if not biased or len(begins) * _WAIT < chunk.rows:
                    return [spans[k], *spans[:k], *spans[k + 1 :]], begins
        return spans, []

    def _bias(self, bias, acc, chunk, target, begins=()):
        """Emits the products of a block's bias, which overwrite the sums of a chunk, or of the MMCs
        that ``begins`` tells (:meth:`_spans`) only the last."""
        rows = max(1, chunk.rows - chunk.width + chunk.real(target))
        held = self.plan.packed[bias.rows] if isinstance(bias, PackedBias) else self.plan.ones
        if begins:
            for at, count in reversed(begins):
                self._bias_rows(bias, acc + at + count - 1, 1)
        elif self.params["ext_bias"] and held < rows <= self.params["ub_rows"]:
            # Products by zeros carry it from the last sum to the others.
            self._bias_rows(bias, acc + rows - 1, 1)
            zeros = np.zeros((target.n, target.n), np.int8)
            self._mmc(0, acc, rows, self.tiles.number(zeros), bias=True)
        else:
            self._bias_rows(bias, acc, rows)

    def _bias_rows(self, bias, acc, rows):
        if isinstance(bias, PackedBias):
            row, tile = self.plan.packed_row(bias), self.tiles.number(bias.tile)
            for at, count in split(rows, self.plan.packed[bias.rows]):
                self._mmc(row, acc + at, count, tile, overwrite=True)
            return
        for index, tile in enumerate(bias or ()):
            self._constant(self.tiles.number(tile), acc, rows, index == 0)

    def _zero_gaps(self, step, chunk, block, acc):
        """Emits the zeros before a map, behind the lines of a chunk, and of the vectors in them
        that lie outside the map."""
        if front := self._front(step, chunk, block):
            self._zero(acc - front, front)
        begin = max(0, chunk.real(self.plan.planes[step.target]))
        runs = [
            (place - chunk.begin, 1)
            for name, outer, place in sorted(self.plan.outside)
            if (name, outer) == (step.target, block) and 0 <= place - chunk.begin < begin
        ]
        if step.target in self.plan.zeroed and begin < chunk.width:
            runs.append((begin, chunk.width - begin))
        for line in reversed(range(chunk.end - chunk.first)):
            for at, count in reversed(runs):
                self._zero(acc + line * chunk.width + at, count)

    def _front(self, step, chunk, block):
        """Emits the zeros before a map, with its first chunk."""
        first = block == 0 and chunk.first == 0 and chunk.begin == 0
        zeroed = first and step.target in self.plan.zeroed
        return front_rows(self.plan.planes[step.target], self._rows) if zeroed else 0

    def _long_front(self, step):
        """Emits the zeros before a map that are too many for its first chunk."""
        plan, target = self.plan, self.plan.planes[step.target]
        if step.target not in plan.zeroed or front_rows(target, self._rows) == target.lead:
            return
        pieces = split(target.lead, min(256, plan.zeros, self.params["acc_rows"]))
        if step.target in plan.base:
            self._zero(0, pieces[0][1])
            for at, count in pieces:
                self.program.act(0, plan.base[step.target] + at, count)
        for at, count in pieces:
            self._store(step, 0, at, count)

    def _products(self, step, term, span, chunk, real):
        """MMCs of a term's product with some lines of a chunk: (accumulator row, rows) of each, the
        first line's first."""
        source, across = self.plan.planes[step.sources[term.source]], step.stride[1]
        lines, width = span[1] - span[0], chunk.width
        if self._adjacent(step, source, chunk, real, lines) or self._convolves(
            step, source, chunk, real
        ):
            return [(0, (lines - 1) * width + real)]
        if across == 1 or real == 1:
            return [(line * width, real) for line in range(lines)]
        return [(line * width + place, 1) for line in range(lines) for place in range(real)]

    @staticmethod
    def _adjacent(step, source, chunk, real, lines):
        """Whether the vectors of a product lie one behind the other, as its sums do."""
        down, across = step.stride
        return (across == 1 or real == 1) and (
            lines == 1 or across == 1 and down * source.pitch == chunk.width
        )

    def _product(self, step, term, span, chunk, real, acc, view, *, overwrite, bias=False):
        source, (down, across) = self.plan.planes[step.sources[term.source]], step.stride
        first, width = span[0], chunk.width
        tile, after = self._number(term.tile)
        acc += (first - chunk.first) * width
        found = self._products(step, term, span, chunk, real)
        convolve = len(found) == 1 and not self._adjacent(
            step, source, chunk, real, span[1] - first
        )
        if convolve:
            self._cfg("conv", width & 0xFF | across << 8 | down * source.pitch << 16)
        # From the last line to the first: a product after one that begins higher need not wait
        # for its sums.
        for row, rows in reversed(found):
            line, place = divmod(row, width)
            at = view(
                term.block,
                (first + line) * down + term.line,
                (chunk.begin + place) * across + term.place,
            )
            self._mmc(at, acc + row, rows, tile, overwrite, convolve, bias, after)

    def _convolves(self, step, source, chunk, real):
        """Whether MMC.C may read all lines of a chunk at once: rows between the used lines must be
        rows of the buffer as well."""
        down, across = step.stride
        apart = down * source.pitch
        return (
            self.params["ext_conv"]
            and across < 256
            and apart < 1 << 16
            and (chunk.width - real) * across <= apart
        )

    def _leave(self, number, step, chunk, blocks, acc):
        """Emits the activation of adjacent blocks of a chunk, whose sums begin at row ``acc``, and
        their store to main memory."""
        target, block = self.plan.planes[step.target], blocks[0]
        front = self._front(step, chunk, block)
        rows = front + len(blocks) * chunk.rows
        self._cfg("norm", norm_word(step.shifts[block]))
        ub = self._out_rows(number, step, target.vector(block, chunk.first, chunk.begin) - front)
        self.program.act(acc - front, ub, rows, "relu" if step.relu else "none")
        self._store(step, ub, target.vector(block, chunk.first, chunk.begin) - front, rows)

    def _out_rows(self, number, step, vector):
        """Row of the unified buffer for a vector of the result."""
        if step.target in self.plan.base:
            return self.plan.base[step.target] + vector
        self._outs += 1
        return self.plan.scratch[number, "out", self._outs % 2]

    def _store(self, step, ub, vector, rows):
        if step.target in self.stored or step.target not in self.plan.base:
            self.program.whm(ub, self.plan.home[step.target] + vector, rows)

    def _spread(self, number, step, places):
        """Emits a sum over all positions in which every product covers all blocks of channels;
        returns false if the build or the map does not allow that."""
        plan, name, target = self.plan, step.sources[0], self.plan.planes[step.target]
        source = plan.planes[name]
        if not (
            self.params["ext_conv"]
            and name in plan.base
            and target.size == target.blocks <= slot_rows(self.params)
            and source.plane < 1 << 16
        ):
            return False
        self._fetch(number, step, 0)
        self._ask(1)
        self._slot = (self._slot + 1) % (self.params["acc_rows"] // slot_rows(self.params))
        acc, tile = self._slot * slot_rows(self.params), self.tiles.number(step.terms[0][0].tile)
        self._cfg("conv", 1 | source.plane << 16)
        for index, place in enumerate(places):
            self._mmc(
                plan.base[name] + source.vector(0, *place),
                acc,
                source.blocks,
                tile,
                index == 0,
                convolve=True,
            )
        self._cfg("norm", norm_word(step.shifts[0]))
        ub = self._out_rows(number, step, 0)
        self.program.act(acc, ub, source.blocks, "relu" if step.relu else "none")
        self._store(step, ub, 0, source.blocks)
        return True
