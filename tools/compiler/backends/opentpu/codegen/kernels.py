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
            self._turn(source, view, some, acc, len(some))
            self._write_tiles(number, step, some, acc)

    def _tiles_acc(self):
        """First accumulator row of the next slot."""
        self._slot = (self._slot + 1) % (self.params["acc_rows"] // slot_rows(self.params))
        return self._slot * slot_rows(self.params)

    def _turn(self, source, view, some, acc, spacing):
        """Emits the products of a transpose: element k of position t goes to element t of vector k,
        by tiles with a single one for each pair of a block and a group of positions, over many
        blocks at once. Vectors k of a tile lie ``spacing`` accumulator rows from each other."""
        n = source.n
        for k in range(n):
            for t in range(n):
                tile = np.zeros((n, n), np.int8)
                tile[k, t] = 1
                self._ones(source, view, some, t, acc + k * spacing, self.tiles.number(tile))

    def _write_tiles(self, number, step, some, acc):
        """Emits the activations and stores of the tiles of ``some`` pairs."""
        n, home = self.params["n"], self.plan.home[step.target]
        self._cfg("norm", INT8)
        for index, (block, group) in enumerate(some):
            self._outs += 1
            ub = self.plan.scratch[number, "out", self._outs % 2]
            if self.params["ext_pool"]:
                self._cfg("pool", 0x11 | (n & 0xFF) << 8 | len(some) << 16)
                self._cfg("poolrow", 0)
                self.program.act(acc + index, ub, n, pool=True)
            else:
                for k in range(n):
                    self.program.act(acc + k * len(some) + index, ub + k, 1)
            self.program.whm(ub, home + group * step.rows + block * n, n)

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
        n = source.n
        rows = {read.what: row - read.begin for read, row in reads}

        def view(block, line, place):
            first = (line * source.across + place) // n * n
            return rows[block, first] + source.vector(block, line, place)

        some = [(block, first // n) for block, first in rows]
        at = self._tiles_at + group.reads.index(reads[0][0])
        self._turn(source, view, some, at, len(group.reads))

    def _end_tiles(self, number, step, group):
        if step.turned:
            some = [(read.what[0], read.what[1] // self.params["n"]) for read in group.reads]
            self._write_tiles(number, step, some, self._tiles_at)

    def _ones(self, source, view, some, t, acc, tile):
        """Emits the products of position ``t`` of all groups and a tile, one accumulator row each;
        those of one block share a product if possible."""
        n, positions = source.n, source.down * source.across
        runs = []
        for index, (block, group) in enumerate(some):
            if group * n + t >= positions:
                continue
            if runs and runs[-1][1] == block and self.params["ext_conv"] and source.down == 1:
                runs[-1][3] += 1
            else:
                runs.append([index, block, group * n + t, 1])
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
