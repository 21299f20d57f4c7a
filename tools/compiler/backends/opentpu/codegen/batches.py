# SPDX-License-Identifier: BSD-2-Clause
"""Emission for networks of dense layers: all layers for one batch of inputs, then the next batch.

The order of instructions decides the speed, not the results:

* Tiles are requested two ahead, inputs one block ahead, results leave soon after their activation.
  Where the engine has one transfer at a time (one bank, no chaining), the tiles of the next
  products are requested before inputs or results move.
* Output blocks are finished one after another: activation and results of one go under the products
  of the next. Only while inputs still come from memory several are under way, as many as the
  accumulators hold: an input block is used by all of them before the next one is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....common.inputs import KernelError
from ..form import Step, Term, bias_tiles, norm_word
from ..schedule import ONES, Item, allocate
from .program import Program, Tiles

if TYPE_CHECKING:
    from ..layout import Planes

__all__ = ["BatchEmitter", "in_batches", "product_order"]

#: Greatest number of vectors of an instruction.
_MOST = 256
#: Share of main memory's bandwidth that transfers of rows are spread over, where the engine has one
#: transfer at a time (measured; elsewhere all of it).
_ONE_AT_A_TIME = 0.8


def in_batches(steps: Sequence[Any], planes: Mapping[str, Planes]) -> bool:
    """Whether every step multiplies whole vectors by constant tiles, position by position."""
    shapes = {(map_.lines, map_.length, map_.phases) for map_ in planes.values()}
    return (
        len(shapes) == 1
        and shapes <= {(1, length, (1, 1)) for _, length, _ in shapes}
        and all(
            isinstance(step, Step)
            and step.stride == (1, 1)
            and all(
                term.line == term.place == 0 and isinstance(term.tile, np.ndarray)
                for terms in step.terms
                for term in terms
            )
            for step in steps
        )
    )


def product_order(arrival: Sequence[Sequence[float]], slots: int) -> Iterator[tuple[int, int]]:
    """Schedules the products of one layer: pairs (term, output block).

    Parameters
    ----------
    arrival : for each output block, when the input of each of its terms is there, in products from
        the layer's begin
    slots : slots of the accumulators; output blocks take them in turn, so that the blocks under way
        lie within so many of each other

    Each time the lowest output block whose next input is there goes; if there is none, the one that
    waits least.
    """
    now, opened = 0.0, 0
    active: dict[int, int] = {}  # output block, in ascending order -> its next term
    while opened < len(arrival) or active:
        while opened < len(arrival) and opened < next(iter(active), opened) + slots:
            active[opened] = 0
            opened += 1
        j = next((j for j, k in active.items() if arrival[j][k] <= now), None)
        if j is None:
            j = min(active, key=lambda j: arrival[j][active[j]])
            now = arrival[j][active[j]]
        yield active[j], j
        now += 1
        active[j] += 1
        if active[j] == len(arrival[j]):
            del active[j]


@dataclass(frozen=True)
class _Transfer:
    """Vectors on their way between host memory and the unified buffer."""

    ub: int
    host: int
    count: int


class BatchEmitter:
    """Emits the program of a network of dense layers (:func:`in_batches`).

    ``_loads``: input blocks still to be requested, (tensor, block) -> transfer; ``_stores``:
    results still to be written. Both units take one instruction at a time, and issue is in order:
    two of them too close together would hold up the products behind them.

    Parameters
    ----------
    steps, planes : of the network; each position is an input
    inputs : names of tensors that are in main memory before a run
    stored : names of tensors that must be there after it
    params : build parameters
    bandwidth : bytes that main memory moves in a cycle
    shared : whether tensors that are not there at the same time share rows of the unified buffer:
        more inputs in a batch, but the next batch comes in when it is needed

    Attributes
    ----------
    program : Program; ``tiles`` : Tiles
    marks : list of (first word, number of the step whose part of a batch begins there)
    ones : constant vectors for biases, at the begin of host memory and of the unified buffer
    home : dict, tensor -> first host vector
    vectors : host vectors in all
    batch : inputs at a time

    Raises
    ------
    KernelError
        A build whose unified buffer does not hold one input.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        planes: Mapping[str, Planes],
        *,
        inputs: Collection[str],
        stored: Collection[str],
        params: Mapping[str, Any],
        bandwidth: float,
        shared: bool,
    ):
        self._steps, self._planes, self._params = steps, planes, params
        self._inputs, self._stored = list(inputs), stored
        self._images = next(iter(planes.values())).length
        #: Tiles to ask for in front of a transfer of rows, where there is one at a time.
        self.beside = 1 if params["banks"] == 1 and not params["chain"] else 0
        self._bandwidth = bandwidth * (_ONE_AT_A_TIME if self.beside else 1)
        # A block without products gets one by zeros.
        n = params["n"]
        nothing = [Term(0, 0, 0, 0, np.zeros((n, n), np.int8))]
        self._terms = [[terms or nothing for terms in step.terms] for step in steps]
        self._biases: list[list[list[np.ndarray]]] = [
            [[] for _ in step.terms] if step.bias is None else bias_tiles(step.bias, n)
            for step in steps
        ]
        self._reads = [
            dict.fromkeys((step.sources[t.source], t.block) for block in terms for t in block)
            for step, terms in zip(steps, self._terms, strict=True)
        ]
        self._fit(shared)
        self.home, self.vectors = {}, self.ones
        for name, map_ in planes.items():
            if name in inputs or name in stored:
                self.home[name] = self.vectors
                self.vectors += map_.size
        self.program, self.tiles = Program(), Tiles()
        self.marks: list[tuple[int, int]] = []
        self._loads: dict[tuple[str, int], _Transfer] = {}
        self._stores: list[_Transfer] = []
        self._norm = self._tile = None
        self._slot = 0
        self._products = self._last = self._activated = 0
        self._emit()

    # Rows of the unified buffer

    def _fit(self, shared):
        """Chooses the batch and the rows of every tensor."""
        most = min(_MOST, self._images, max(1, self._params["acc_rows"] // 2))
        place = self._shared if shared else self._side_by_side
        found = next((b for b in range(most, 0, -1) if place(b) is not None), None)
        if found is None:
            raise KernelError(
                f"the vectors of one input do not fit the unified buffer of "
                f"{self._params['ub_rows']}",
                self._steps[0].name,
            )
        # As few batches as fit, of equal size.
        self.batch = -(-self._images // -(-self._images // found))
        self.ones, self._base = self._ones(self.batch), place(self.batch)
        #: Number of the step from which on the inputs' rows are free for the next batch.
        last = max((k for k, step in enumerate(self._steps) if self._reads_input(step)), default=-1)
        self._free = len(self._steps) if shared else last + 1

    def _reads_input(self, step):
        return any(name in self._inputs for name in step.sources)

    def _ones(self, batch):
        biased = any(tiles for step in self._biases for tiles in step)
        return min(ONES, batch) if biased else 0

    def _tensors(self):
        return [*self._inputs, *(step.target for step in self._steps)]

    def _side_by_side(self, batch):
        """First rows of all tensors, each with rows of its own; ``None`` if these do not fit."""
        at, places = self._ones(batch), {}
        for name in self._tensors():
            places[name] = at
            at += self._planes[name].blocks * batch
        return places if at <= self._params["ub_rows"] else None

    def _shared(self, batch):
        """First rows of all tensors, shared by those that are not there at the same time; ``None``
        if these do not fit."""
        lives = {name: [0, 0] for name in self._inputs}
        for number, step in enumerate(self._steps):
            lives.setdefault(step.target, [number, number])
            for name in step.sources:
                lives[name][1] = number
        items = [
            Item(name, self._planes[name].blocks * batch, *life) for name, life in lives.items()
        ]
        places = allocate(items, self._ones(batch), self._params["ub_rows"])
        return places if isinstance(places, dict) else None

    # Emission

    def _emit(self):
        if self.ones:
            self.program.rhm(0, 0, self.ones)
        each = sum(len(terms) for blocks in self._terms for terms in blocks)
        self._ahead = each * -(-self._images // self.batch)  # products still to come
        self._loads = self._requests(0)
        for start in range(0, self._images, self.batch):
            following = self._requests(start + self.batch)
            for number in range(len(self._steps)):
                # Inputs of the next batch come in under the later layers, where they have rows of
                # their own.
                if number == self._free:
                    self._loads, following = following, {}
                self.marks.append((len(self.program.words), number))
                self._step(number, start, min(self.batch, self._images - start))
            self._loads |= following
        while self._stores:
            self._store()
        self.program.hlt()

    def _requests(self, start):
        """Transfers of the input blocks of the batch that begins at input ``start``, in the order
        of their use."""
        count = min(self.batch, self._images - start)
        keys = dict.fromkeys(key for reads in self._reads for key in reads)
        return {
            (name, block): _Transfer(
                self._base[name] + block * count,
                self.home[name] + self._planes[name].vector(block, 0, start),
                count,
            )
            for name, block in keys
            if name in self._inputs and count > 0
        }

    def _step(self, number, start, count):
        """Emits one layer of the batch of ``count`` inputs that begins at input ``start``."""
        step, terms, params = self._steps[number], self._terms[number], self._params
        n, slots = params["n"], params["acc_rows"] // count
        # A block of vectors takes memory so many products of this layer, beside tiles and
        # instructions.
        spare = (count + 1) * self._bandwidth - (n**2 + 28)
        interval = count * n / spare if spare > 0 else 1 << 20
        # An activation starts when the product's first row is through the array. Where products are
        # shorter than that, another product goes in between (which needs a slot more: its own may
        # not be the waiting one's).
        delay = 0 if count >= 2 * n + 16 or slots == 1 else 1
        waiting = []  # output blocks whose sums are complete, not yet activated
        missing = [key for key in self._reads[number] if key in self._loads]
        place = {key: k for k, key in enumerate(missing)}
        arrival = [
            [place.get((step.sources[t.source], t.block), 0) * interval for t in block]
            for block in terms
        ]
        newest = -1
        for k, j in product_order(arrival, slots - delay):
            term = terms[j][k]
            key = step.sources[term.source], term.block
            # An input block must be requested before its first product, the next one right after
            # that.
            self._request(key)
            acc = j % slots * count
            if k == 0:
                while any(w % slots == j % slots for w in waiting):
                    self._activate(number, waiting.pop(0), start, count, slots)
                self._bias(self._biases[number][j], acc, count)
            self._product(
                self._base[key[0]] + term.block * count,
                acc,
                count,
                self.tiles.number(term.tile),
                overwrite=k == 0 and not self._biases[number][j],
            )
            self._products += 1
            self._ahead -= 1
            if place.get(key, -1) > newest:
                newest = place[key]
                if newest + 1 < len(missing):
                    self._request(missing[newest + 1])
            while len(waiting) > delay - 1 and waiting:
                self._activate(number, waiting.pop(0), start, count, slots)
            if k == len(terms[j]) - 1:
                waiting.append(j)
                if not delay:
                    self._activate(number, waiting.pop(), start, count, slots)
            self._schedule_memory(number, interval)
        for j in waiting:
            self._activate(number, j, start, count, slots)

    def _bias(self, tiles, acc, count):
        for index, tile in enumerate(tiles):
            number = self.tiles.number(tile)
            for at in reversed(range(0, count, self.ones)):
                rows = min(self.ones, count - at)
                self._product(0, acc + at, rows, number, overwrite=index == 0)

    def _product(self, ub, acc, count, tile, *, overwrite):
        fresh = tile != self._tile
        self._tile = tile
        self.program.mmc(ub, acc, count, tile=tile if fresh else None, overwrite=overwrite)

    def _activate(self, number, j, start, count, slots):
        step = self._steps[number]
        ub = self._base[step.target] + j * count
        self._overwrite(ub, count)
        if self._params["ext_norm"] and norm_word(step.shifts[j]) != self._norm:
            self._norm = norm_word(step.shifts[j])
            self.program.cfg("norm", self._norm)
        self.program.act(j % slots * count, ub, count, "relu" if step.relu else "none")
        if step.target in self._stored:
            host = self.home[step.target] + self._planes[step.target].vector(j, 0, start)
            self._stores.append(_Transfer(ub, host, count))
            self._activated = self._products

    def _schedule_memory(self, number, interval):
        if self._products - self._last >= interval:
            if self._stores:
                # Behind so many products its rows are written, and nothing waits for them.
                if self._products - self._activated >= 2 * self.beside:
                    self._store()
            elif self._loads and number >= self._free:
                self._request(next(iter(self._loads)))
        # At the end there are too few products left to be held up.
        while self._stores and self._ahead <= interval * len(self._stores):
            self._store()

    def _request(self, key):
        """Emits the loads up to that of an input block, if it is still to be requested."""
        while key in self._loads:
            load = self._loads.pop(next(iter(self._loads)))
            self._overwrite(load.ub, load.count)
            self.program.rhm(load.host, load.ub, load.count)
            self._last = self._products

    def _store(self):
        store = self._stores.pop(0)
        self.program.whm(store.ub, store.host, store.count)
        self._last = self._products

    def _overwrite(self, ub, count):
        """Emits the stores of results that are still in these rows, before they are overwritten."""
        while any(s.ub < ub + count and ub < s.ub + s.count for s in self._stores):
            self._store()
