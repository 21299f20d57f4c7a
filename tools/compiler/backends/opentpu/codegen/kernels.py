# SPDX-License-Identifier: BSD-2-Clause
"""Emission of steps that use activations as weights: copies the vectors of a tensor, or its
transpose, into weight tiles in main memory."""

import numpy as np

from ..chunks import slot_rows
from ..form import INT8

__all__ = ["Kernels"]


class Kernels:
    """Mixin of :class:`~.emit.Emitter` for :class:`~..form.KernelStep`."""

    def _kernel_step(self, number, step):
        source = self.plan.planes[step.sources[0]]
        self._fetch(number, step, 0)
        self._ask(1)
        view, home = self._view(number, step, 0, step.sources[0]), self.plan.home[step.target]
        if step.turned:
            self._turned(number, step, source, view, home)
        else:
            for block in range(source.blocks):
                for line in range(source.down):
                    self.program.whm(
                        view(block, line, 0),
                        home + block * step.rows + line * source.across,
                        source.across,
                    )
        # Who takes a tile may ask for it from here on.
        self._written[step.target] = len(self.program.words) - 1

    def _turned(self, number, step, source, view, home):
        """Emits a transpose, by as many tiles at a time as a slot of the accumulators holds."""
        n, positions = source.n, source.down * source.across
        pairs = [
            (block, group) for block in range(source.blocks) for group in range(-(-positions // n))
        ]
        most = max(1, slot_rows(self.params) // n)
        for at in range(0, len(pairs), most):
            some = pairs[at : at + most]
            acc = self._tiles_acc()
            places = [
                (block, range(group * n, min(group * n + n, positions))) for block, group in some
            ]
            self._turn(source, view, places, range(n), acc, len(some))
            self._write_tiles(number, step, some, range(n), acc)

    def _tiles_acc(self):
        """First accumulator row of the next slot."""
        self._slot = (self._slot + 1) % (self.params["acc_rows"] // slot_rows(self.params))
        return self._slot * slot_rows(self.params)

    def _turn(self, source, view, places, vectors, acc, spacing):
        """Emits the products of a transpose: element k of position t goes to element t of vector k,
        by tiles with a single one for each pair of a block and a group of positions, over many
        blocks at once.

        ``places``: of each pair, the block and those positions of the group that are in the buffer;
        ``vectors``: range of k. Vectors k of a tile lie ``spacing`` accumulator rows from each
        other."""
        n = source.n
        for index, k in enumerate(vectors):
            for t in range(n):
                tile = np.zeros((n, n), np.int8)
                tile[k, t] = 1
                row = acc + index * spacing
                self._ones(source, view, places, t, row, self.tiles.number(tile))

    def _write_tiles(self, number, step, some, vectors, acc):
        """Emits the activations and stores of the ``vectors`` (a range) of the tiles of ``some``
        pairs."""
        n, home, count = self.params["n"], self.plan.home[step.target], len(vectors)
        self._cfg("norm", INT8)
        for index, (block, group) in enumerate(some):
            self._outs += 1
            ub = self.plan.scratch[number, "out", self._outs % 2]
            if self.params["ext_pool"]:
                self._cfg("pool", 0x11 | (count & 0xFF) << 8 | len(some) << 16)
                self._cfg("poolrow", 0)
                self.program.act(acc + index, ub, count, pool=True)
            else:
                for k in range(count):
                    self.program.act(acc + k * len(some) + index, ub + k, 1)
            first = group * step.rows + block * n + vectors.start
            self.program.whm(ub, home + first, count)

    # In portions

    def _begin_tiles(self, number, step, group):
        self._tiles_at = self._tiles_acc()

    def _read_tiles(self, number, step, group, reads):
        """Emits the copies of positions into tiles or, turned, the products of a transpose."""
        source, home = self.plan.planes[step.sources[0]], self.plan.home[step.target]
        if not step.turned:
            for read, row in reads:
                block, first = read.what
                self.program.whm(row, home + block * step.rows + first, read.end - read.begin)
                self._ask_next()
            return
        n, rows, places = source.n, {}, {}
        for read, row in reads:
            block, first = read.what
            group_end = min(first // n * n + n, source.down * source.across)
            end = min(first + self._rows, group_end)
            rows |= {(block, at): row - read.begin for at in range(first, end)}
            # Reads of one tile follow each other.
            held = places.get((block, first // n), range(first, first))
            places[block, first // n] = range(held.start, end)

        def view(block, line, place):
            return rows[block, line * source.across + place] + source.vector(block, line, place)

        pairs = _pairs(group, n)
        at = self._tiles_at + pairs.index(next(iter(places)))
        some = [(block, held) for (block, _), held in places.items()]
        self._turn(source, view, some, _vectors(group), at, len(pairs))

    def _end_tiles(self, number, step, group):
        if step.turned:
            pairs = _pairs(group, self.params["n"])
            self._write_tiles(number, step, pairs, _vectors(group), self._tiles_at)

    def _ones(self, source, view, places, t, acc, tile):
        """Emits the products of position ``t`` of all groups and a tile, one accumulator row each;
        those of one block share a product if possible. ``places``: see :meth:`_turn`."""
        n, runs = source.n, []
        for index, (block, held) in enumerate(places):
            position = held.start // n * n + t
            if position not in held:
                continue
            if runs and runs[-1][1] == block and self.params["ext_conv"] and source.down == 1:
                runs[-1][3] += 1
            else:
                runs.append([index, block, position, 1])
        for index, block, position, count in runs:
            if count > 1:
                self._cfg("conv", 1 | n << 16)
            self._mmc(
                view(block, *divmod(position, source.across)),
                acc + index,
                count,
                tile,
                t == 0,
                convolve=count > 1,
            )


def _pairs(group, n):
    """Pairs (block, group of n positions) of the tiles whose vectors a group makes, in order."""
    return list(
        dict.fromkeys((block, first // n) for block, first in (r.what for r in group.reads))
    )


def _vectors(group):
    """Vectors of each tile that a group makes."""
    return range(group.chunk.first, group.chunk.end)
