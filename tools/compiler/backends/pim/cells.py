# SPDX-License-Identifier: BSD-2-Clause
"""Instructions of LSTM and GRU: products of weights by the matrix unit, or by the vector unit where
the layer is streamed, and the gates' arithmetic by the vector unit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from ...graph import Gru, Lstm
from .codegen import CoreBuilder
from .flat import Products
from .maps import share
from .recurrent import (
    ALIGNED,
    BITS,
    ONE,
    PLACES,
    WIDE,
    Tile,
    cell_numbers,
    columns_of,
    features_of,
    gates_of,
    held_tiles,
    late_biases,
    rows_of,
    spread_of,
    tiles_of,
)

if TYPE_CHECKING:
    from ...quantised import Integer
    from .program import ProgramWriter

__all__ = ["Cell", "StreamedCell", "cells_of"]

#: Events of the barrier between steps of a streamed layer: arrived, go on.
_STEP_EVENTS = 2, 3


def cells_of(
    writer: ProgramWriter, node: Lstm | Gru, cores: Sequence[int]
) -> dict[int, Cell | StreamedCell]:
    """The part of a recurrent layer that each of ``cores`` has, with its weights in arrays or in
    the program's constants."""
    numbers = writer.q.layers[node.name]
    if spread_of(node, writer.params).tiling is None:
        return {c: Cell(writer.cores[c], node, numbers, cores) for c in cores}
    vectors = _Vectors(writer, node)
    return {c: StreamedCell(writer, writer.cores[c], node, cores, vectors) for c in cores}


def _initial(node):
    """First states as 16-bit numbers, int64 [states]."""
    return np.clip(np.rint(node.initial * (1 << PLACES)), -ONE - 1, ONE).astype(np.int64)


def _biases(node, numbers):
    """Biases of the input's and of the states' sums, ``None`` where there are none."""
    return (numbers.bias, None) if isinstance(node, Lstm) else numbers.bias


class Gates:
    """Arithmetic of the gates of ``hidden`` states on one core: from the gates' sums in local
    memory to the new states.

    Attributes
    ----------
    hidden : number of states
    given, past : addresses of the sums of the input and of the states, 32 bits, gate after gate
    gates : of the gates, 16 bits
    state, spare : of the states, and of as many numbers in between
    cell, ones : of an LSTM's cell, of a GRU's ones
    product, aligned : :class:`~.flat.Products` of two gates, and of a gate and a cell
    """

    hidden: int
    given: int
    past: int
    gates: int
    state: int
    spare: int
    cell: int
    ones: int
    product: Products
    aligned: Products

    def __init__(self, core: CoreBuilder, node: Lstm | Gru):
        self.core, self.node = core, node

    def _constant(self, target, values):
        """Emits a vector of 16-bit constants, two per word."""
        values = np.asarray(values, "<i2")
        self.core.constants(
            target, np.pad(values, (0, len(values) % 2)).view("<i4")[: len(values) // 2]
        )
        if len(values) % 2:
            low, high = values[-1:].tobytes()
            for k, byte in enumerate((low, high)):
                self.core.fill(target + 2 * len(values) - 2 + k, byte, 1)

    def _added_sums(self, first, count, target):
        """Emits the sums of the input and recurrent products, added up and narrowed to 16 bits."""
        core = self.core
        core.widths(WIDE, WIDE)
        core.vector2(
            "vvadd",
            self.given + 4 * first,
            self.given + 4 * first,
            self.past + 4 * first,
            count,
            size=4,
        )
        self._narrow(self.given + 4 * first, count, target)

    def _narrow(self, source, count, target):
        """Emits the conversion of 32-bit numbers to 16 bits, saturated."""
        core = self.core
        core.widths(WIDE, BITS)
        for k in range(0, count, 2047):
            used = []
            for value in (target + 2 * k, source + 4 * k, (1 << 31) - 1):
                used.append(core.register(value, used))
            core.emit("vrsu", rd=used[0], rs1=used[1], rs2=used[2], len=min(2047, count - k))

    def _table(self, mnemonic, target, source, count):
        self.core.widths(BITS, BITS)
        self.core.vector1(mnemonic, target, source, count, size=2)

    def _multiply(self, target, first, second, count):
        self.core.widths(BITS, WIDE)
        self.core.vector2("vvmul", target, first, second, count, size=2, out=4)

    def _added(self, count):
        """Emits the addition of the two products, at the scale of the first."""
        self.core.widths(WIDE, WIDE)
        self.core.vector2(
            "vvadd", self.product.wide, self.product.wide, self.aligned.wide, count, size=4
        )

    def _blocks(self):
        return [
            (first, min(Products.MOST, self.hidden - first))
            for first in range(0, self.hidden, Products.MOST)
        ]

    @property
    def _is_linear(self):
        return isinstance(self.node, Gru) and self.node.linear_before_reset

    def lstm_states(self) -> None:
        """Emits an LSTM's cell and states, from the sums of all gates."""
        hidden, gates = self.hidden, self.gates
        self._added_sums(0, 4 * hidden, gates)
        self._table("vsigm", gates, gates, 3 * hidden)
        self._table("vtanh", gates + 6 * hidden, gates + 6 * hidden, hidden)
        for first, count in self._blocks():
            i, o, f, g = (gates + 2 * (k * hidden + first) for k in range(4))
            cell, state = self.cell + 2 * first, self.state + 2 * first
            self._multiply(self.aligned.wide, i, g, count)
            self.aligned.narrow(self.aligned.wide, count, 4)
            self._multiply(self.product.wide, f, cell, count)
            self._added(count)
            self.product.narrow(cell, count, 2)
            self._table("vtanh", self.spare, cell, count)
            self._multiply(self.product.wide, o, self.spare, count)
            self.product.narrow(state, count, 2)

    def gru_reset(self) -> None:
        """Emits a GRU's first two gates. The reset of the states' sum goes to :attr:`past` if the
        recurrence is linear before it, else that of the states to :attr:`spare`."""
        hidden, gates, linear = self.hidden, self.gates, self._is_linear
        self._added_sums(0, 2 * hidden, gates)
        self._table("vsigm", gates, gates, 2 * hidden)
        reset = gates + 2 * hidden
        if linear:
            self._narrow(self.past + 8 * hidden, hidden, self.spare)
        for first, count in self._blocks():
            self._multiply(
                self.product.wide,
                reset + 2 * first,
                (self.spare if linear else self.state) + 2 * first,
                count,
            )
            if linear:
                self.product.narrow(self.past + 8 * hidden + 4 * first, count, 4)
            else:
                self.product.narrow(self.spare + 2 * first, count, 2)

    def gru_states(self) -> None:
        """Emits a GRU's states, from the update gate and the sums of the last gate."""
        hidden, gates, late = self.hidden, self.gates, self.gates + 4 * self.hidden
        self._added_sums(2 * hidden, hidden, late)
        self._table("vtanh", late, late, hidden)
        for first, count in self._blocks():
            update, new, state = gates + 2 * first, late + 2 * first, self.state + 2 * first
            self._multiply(self.product.wide, update, state, count)
            self.core.widths(BITS, BITS)
            self.core.vector2(
                "vvsub", self.spare + 2 * first, self.ones + 2 * first, update, count, size=2
            )
            self._multiply(self.aligned.wide, self.spare + 2 * first, new, count)
            self._added(count)
            self.product.narrow(state, count, 2)


class Cell(Gates):
    """The part of a recurrent layer that ``core``, one of ``cores``, has, with all weights in its
    arrays; ``numbers``: :class:`~quintet.tools.compiler.quantised.Integer`."""

    def __init__(self, core: CoreBuilder, node: Lstm | Gru, numbers: Integer, cores: Sequence[int]):
        super().__init__(core, node)
        states = node.recurrent.shape[1]
        #: First and behind last state of each core.
        self.units = dict(zip(cores, share(states, len(cores)), strict=True))
        self.first, end = self.units[core.number]
        self.hidden = end - self.first
        biased = spread_of(node, core.params).biased
        biases = _biases(node, numbers)
        assert numbers.recurrent is not None and numbers.recurrent_shift is not None
        self.columns = columns_of(node, self.hidden, core.params["xb_cols"])
        rows = rows_of(node, self.units[core.number])
        chunks = [rows[first : first + count] for first, count in self.columns]
        #: Of the input and of the recurrence: (first element of the vector that it reads, group) of
        #: each chunk of columns; biases that are added to sums.
        self.groups, self.biases = [], []
        for weights, bias, shift, read in (
            (numbers.weights, biases[0], numbers.shift, [features_of(node, c) for c in chunks]),
            (numbers.recurrent, biases[1], numbers.recurrent_shift, [(0, states)] * len(chunks)),
        ):
            places, groups = int(shift.flat[0]), []
            for chunk, (first, end) in zip(chunks, read, strict=True):
                part = np.ascontiguousarray(weights[chunk, first:end].T, np.int8)
                held = bias is not None and biased
                own = np.ascontiguousarray(bias[chunk], np.int32) if held else None
                groups.append((first, core.group(part, own, places, node.name)))
            self.groups.append(groups)
            late = bias is not None and not biased
            self.biases.append(late_biases(bias[rows], places) if late else None)

    def emit(self, pointer: int, source: int, target: int, steps: int, size: int) -> None:
        """Emits all steps of a sequence at the global address ``source``, elements of ``size``
        bytes; stores all states, or only the last, to ``target``."""
        core, node, hidden, what = self.core, self.node, self.hidden, self.node.name
        features, states = node.weights.shape[1], node.recurrent.shape[1]
        gates = gates_of(node) * hidden
        some = min(hidden, Products.MOST)
        self.x = [core.allocate(features * size, what) for _ in range(2)]
        self.states, self.gates = core.allocate(2 * states, what), core.allocate(2 * gates, what)
        #: The core's own part of all states.
        self.state = self.states + 2 * self.first
        self.given, self.past = core.allocate(4 * gates, what), core.allocate(4 * gates, what)
        self.product, self.aligned = (
            Products(core, some, PLACES, what),
            Products(core, some, ALIGNED, what),
        )
        self.spares = core.allocate(2 * states, what)
        self.spare = self.spares + 2 * self.first
        self._constant(self.states, _initial(node))
        if isinstance(node, Lstm):
            self.cell = core.allocate(2 * hidden, what)
            self._constant(self.cell, cell_numbers(node)[self.first : self.first + hidden])
        else:
            self.ones = core.allocate(2 * hidden, what)
            self._constant(self.ones, np.full(hidden, ONE))
        self.late = [self._late(numbers) for numbers in self.biases]
        for number in range(steps):
            place = steps - 1 - number if node.reverse else number
            x = self.x[number % 2]
            core.load(x, pointer, features * size, source + place * features * size)
            self._sums(self.given, x, 0, range(len(self.columns)), 8 * size)
            self._step()
            if not node.last:
                to = target + 2 * (place * states + self.first)
                core.store(pointer, self.state, 2 * hidden, to)
            if number < steps - 1:
                self._exchange(self.states)
        if node.last:
            core.store(pointer, self.state, 2 * hidden, target + 2 * self.first)

    def _step(self):
        """Emits new states from the input's sums."""
        hidden = self.hidden
        if isinstance(self.node, Lstm):
            self._sums(self.past, self.states, 1, range(len(self.columns)), BITS)
            self.lstm_states()
            return
        edge = (3 if self._is_linear else 2) * hidden
        early = [k for k, (first, _) in enumerate(self.columns) if first < edge]
        self._sums(self.past, self.states, 1, early, BITS)
        self.gru_reset()
        if not self._is_linear:
            self._exchange(self.spares)
            late = [k for k in range(len(self.columns)) if k not in early]
            self._sums(self.past, self.spares, 1, late, BITS)
        self.gru_states()

    def _late(self, numbers):
        """Emits biases that are added to sums; their address, ``None`` if there are none."""
        if numbers is None:
            return None
        at = self.core.allocate(4 * len(numbers), self.node.name)
        self.core.constants(at, numbers)
        return at

    def _exchange(self, vector):
        """Emits the exchange of all cores' parts of a vector, which lies at the same local address
        on each of them. The pairs come in one order, so that none waits for another in a circle."""
        core = self.core
        for pair in combinations(self.units, 2):
            if core.number not in pair:
                continue
            (other,) = set(pair) - {core.number}
            moves = [(core.send, core.number), (core.recv, other)]
            for move, owner in moves if core.number == pair[0] else reversed(moves):
                first, end = self.units[owner]
                move(vector + 2 * first, other, 2 * (end - first))

    def _sums(self, target, vector, which, chunks, bits):
        """Emits the 32-bit sums of the input product (``which`` 0) or the recurrent product."""
        self.core.widths(bits, WIDE)
        for chunk in chunks:
            read, group = self.groups[which][chunk]
            source = vector + read * bits // 8
            self.core.mvmul(target + 4 * self.columns[chunk][0], source, group)
        late = self.late[which]
        if late is not None:
            self.core.widths(WIDE, WIDE)
            for chunk in chunks:
                first, count = self.columns[chunk]
                sums = target + 4 * first
                self.core.vector2("vvadd", sums, sums, late + 4 * first, count, size=4)


class _Vectors:
    """Vectors of a streamed layer in main memory, which its cores share; elements of 16 bits.

    Attributes
    ----------
    initial : address of the first states
    states : of the states before a step and behind it, in turns
    reset : of the states that a GRU has reset
    """

    def __init__(self, writer: ProgramWriter, node: Lstm | Gru):
        size = 2 * node.recurrent.shape[1]
        self.initial = writer.constant(_initial(node).astype("<i2"), f"{node.name}: states")
        self.states = [writer.scratch(size) for _ in range(2)] if node.last else []
        is_reset = isinstance(node, Gru) and not node.linear_before_reset
        self.reset = writer.scratch(size) if is_reset else 0


class StreamedCell(Gates):
    """The part of a streamed recurrent layer that ``core``, one of ``cores``, has: its states block
    by block, with the weights that the arrays do not hold from main memory in every step.

    Every tile of weights gives rounded sums, which the input's or the states' sums are of.
    """

    def __init__(
        self,
        writer: ProgramWriter,
        core: CoreBuilder,
        node: Lstm | Gru,
        cores: Sequence[int],
        vectors: _Vectors,
    ):
        super().__init__(core, node)
        numbers, spread = writer.q.layers[node.name], spread_of(node, core.params)
        assert spread.tiling is not None
        assert numbers.recurrent is not None and numbers.recurrent_shift is not None
        self.tiling, self.vectors, self.cores = spread.tiling, vectors, cores
        units = share(node.recurrent.shape[1], len(cores))[list(cores).index(core.number)]
        self.shifts = [int(s.flat[0]) for s in (numbers.shift, numbers.recurrent_shift)]
        tiles = tiles_of(node, self.tiling, units)
        self._tiles: dict[tuple[int, int], list[Tile]] = {}
        for tile in tiles:
            self._tiles.setdefault(tile.block, []).append(tile)
        held = set(held_tiles(tiles, *writer.left[core.number], core.params))
        #: Group of each tile that arrays hold, address in main memory of each other.
        self._groups: dict[Tile, int] = {}
        self._weights: dict[Tile, int] = {}
        streamed, size = [], 0
        for tile in tiles:
            matrix = (numbers.weights, numbers.recurrent)[tile.which]
            rows = rows_of(node, tile.block)[tile.column : tile.column + tile.count]
            part = matrix[rows, tile.first : tile.first + tile.length].astype(np.int8)
            if tile in held:
                group = core.group(part.T.copy(), None, self.shifts[tile.which], node.name)
                self._groups[tile] = group
                writer.take(core.number, tile.arrays(core.params), 1)
            else:
                self._weights[tile] = size
                size += part.size
                streamed.append(part.ravel())
        what = f"{node.name}: core {core.number}"
        if streamed:
            at = writer.constant(np.concatenate(streamed), f"{what}, weights")
            self._weights = {tile: at + offset for tile, offset in self._weights.items()}
        #: Address in main memory of each block's biases, 32 bits, ``None`` where there are none.
        self._biases = {}
        for block in self._tiles:
            rows = rows_of(node, block)
            for which, bias in enumerate(_biases(node, numbers)):
                if bias is None:
                    continue
                late = late_biases(bias[rows], self.shifts[which]).astype("<i4")
                self._biases[which, block] = writer.constant(late, f"{what}, biases")
        self._cell = self._first_cell = self._update = 0
        self._begin = units[0]
        if isinstance(node, Lstm):
            cell = cell_numbers(node)[slice(*units)].astype("<i2")
            self._first_cell = writer.constant(cell, f"{what}, cell")
            self._cell = writer.scratch(2 * len(cell))
        elif not self._is_linear:
            self._update = writer.scratch(2 * (units[1] - units[0]))

    def emit(self, pointer: int, source: int, target: int, steps: int, size: int) -> None:
        """Emits all steps of a sequence, as :meth:`Cell.emit`."""
        node, states = self.node, self.node.recurrent.shape[1]
        self._pointer = pointer
        self._allocate()
        before, cell = self.vectors.initial, self._first_cell
        for number in range(steps):
            place = steps - 1 - number if node.reverse else number
            is_end = number == steps - 1
            after = target + 2 * states * (0 if node.last else place)
            if node.last and not is_end:
                after = self.vectors.states[number % 2]
            x = source + place * node.weights.shape[1] * size
            for block in self._tiles:
                self._open(block)
                edge = self._edge
                self._sums(self.given, 0, range(edge), x, size)
                self._sums(self.past, 1, range(edge), before, BITS // 8)
                self._load(self.state, before, block)
                if isinstance(node, Lstm):
                    self._load(self.cell, cell - 2 * self._begin, block)
                    self.lstm_states()
                    self._store(self.cell, self._cell - 2 * self._begin, block)
                    self._store(self.state, after, block)
                    continue
                self.gru_reset()
                if self._is_linear:
                    self.gru_states()
                    self._store(self.state, after, block)
                else:
                    self._store(self.spare, self.vectors.reset, block)
                    self._store(self.gates, self._update - 2 * self._begin, block)
            if isinstance(node, Gru) and not self._is_linear:
                self._meet()
                for block in self._tiles:
                    self._open(block)
                    late = range(self._edge, gates_of(node) * self.hidden)
                    self._sums(self.given, 0, late, x, size)
                    self._sums(self.past, 1, late, self.vectors.reset, BITS // 8)
                    self._load(self.state, before, block)
                    self._load(self.gates, self._update - 2 * self._begin, block)
                    self.gru_states()
                    self._store(self.state, after, block)
            if not is_end:
                self._meet()
            before, cell = after, self._cell

    def _allocate(self):
        """Allocates local memory for the largest block (:func:`~.recurrent.spread_of`)."""
        core, node, tiling, what = self.core, self.node, self.tiling, self.node.name
        units, gates = tiling.units, gates_of(node) * tiling.units
        self.gates = core.allocate(2 * gates, what)
        self.given, self.past = (core.allocate(4 * gates, what) for _ in range(2))
        self.state, self.spare, other = (core.allocate(2 * units, what) for _ in range(3))
        self.product = Products(core, units, PLACES, what)
        self.aligned = Products(core, units, ALIGNED, what)
        if isinstance(node, Lstm):
            self.cell = other
        else:
            self.ones = other
            self._constant(self.ones, np.full(units, ONE))
        self._rounded = [Products(core, tiling.columns, shift, what) for shift in self.shifts]
        self._vector = core.allocate(2 * tiling.split, what)
        each = tiling.rows * tiling.split
        self._raw, self._wide = core.allocate(each, what), core.allocate(2 * each, what)

    def _open(self, block):
        """Begins a block of states: its tiles are those of the sums that follow."""
        self.block, self.hidden = block, block[1] - block[0]

    @property
    def _edge(self):
        """Rows of the gates whose sums read the states before the step."""
        is_late = isinstance(self.node, Gru) and not self._is_linear
        return (gates_of(self.node) - is_late) * self.hidden

    def _load(self, to, vector, block):
        self.core.load(to, self._pointer, 2 * self.hidden, vector + 2 * block[0])

    def _store(self, source, vector, block):
        self.core.store(self._pointer, source, 2 * self.hidden, vector + 2 * block[0])

    def _meet(self):
        if len(self.cores) > 1:
            self.core.meet(self.cores, _STEP_EVENTS)

    def _sums(self, target, which, rows, vector, size):
        """Emits the 32-bit sums of the block's ``rows`` of the input (``which`` 0) or of the
        states, a vector in main memory with elements of ``size`` bytes."""
        core, rounded = self.core, self._rounded[which]
        tiles = [t for t in self._tiles[self.block] if t.which == which and t.column in rows]
        parts = self._parts([tile for tile in tiles if tile in self._weights])
        self._bring(parts)
        for first, some in groupby(tiles, key=lambda tile: tile.first):
            some = list(some)
            length = some[0].length
            core.load(self._vector, self._pointer, length * size, vector + first * size)
            for tile in some:
                sums = target + 4 * tile.column
                part = rounded.wide if first else sums
                if tile in self._groups:
                    core.widths(8 * size, WIDE)
                    core.mvmul(part, self._vector, self._groups[tile])
                else:
                    for row in range(0, tile.count, self.tiling.rows):
                        count = min(self.tiling.rows, tile.count - row)
                        self._multiply_rows(rounded.wide + 4 * row, count, length, size, parts)
                    rounded.narrow(part, tile.count, 4)
                if first:
                    core.widths(WIDE, WIDE)
                    core.vector2("vvadd", sums, sums, part, tile.count, size=4)
        biases = self._biases.get((which, self.block))
        if biases is None:
            return
        for tile in tiles:
            if tile.first == 0:
                at, sums = biases + 4 * tile.column, target + 4 * tile.column
                core.load(rounded.wide, self._pointer, 4 * tile.count, at)
                core.widths(WIDE, WIDE)
                core.vector2("vvadd", sums, sums, rounded.wide, tile.count, size=4)

    def _parts(self, tiles):
        """Iterates over the rows of streamed tiles that come together: (address in main memory,
        bytes)."""
        for tile in tiles:
            for row in range(0, tile.count, self.tiling.rows):
                rows = min(self.tiling.rows, tile.count - row)
                yield self._weights[tile] + row * tile.length, rows * tile.length

    def _bring(self, parts):
        """Emits the load of the next rows of weights, if any."""
        for address, size in islice(parts, 1):
            self.core.load(self._raw, self._pointer, size, address)

    def _multiply_rows(self, target, count, length, size, parts):
        """Emits the products of ``count`` rows of weights, which are loaded, and the vector, 32
        bits; loads the next of ``parts``."""
        core, weights = self.core, self._raw
        if size == 2:
            core.widths(8, BITS)
            used: list[int] = []
            for value in (self._wide, weights, 127):
                used.append(core.register(value, used))
            core.emit("vrsu", rd=used[0], rs1=used[1], rs2=used[2], len=count * length)
            weights = self._wide
            # The next rows come while these are multiplied: while the vector unit widens, a load
            # stands still, since local memory has one write port.
            self._bring(parts)
        core.widths(8 * size, WIDE)
        for row in range(count):
            rs1 = core.register(self._vector)
            rs2 = core.register(weights, (rs1,))
            core.emit(
                "vvdmul",
                rd=core.register(target + 4 * row, (rs1, rs2)),
                rs1=rs1,
                rs2=rs2,
                len=length,
                offset_value=row * length,
                offset_select=4 if row else 0,
            )
        if size == 1:
            self._bring(parts)
