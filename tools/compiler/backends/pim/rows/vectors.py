# SPDX-License-Identifier: BSD-2-Clause
"""Recipes: functions of rows of numbers as straight-line code of the vector unit. One recipe gives
both the instructions (:class:`RowProgram`) and the integer reference (:meth:`Recipe.run`), so that
the two cannot differ.

All values between a recipe's operands and its result have 32 bits. A value is *wide*, one number
for each element of a row, or *narrow*, one number for each row.

Rows that local memory does not hold come in parts, in a pass over all parts for each number that a
row is reduced to, and one for the result. Each pass computes the wide values that it needs anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from quintet.gateware.cores.pim.isa import LENGTH_MOST

if TYPE_CHECKING:
    from ..codegen import CoreBuilder

__all__ = ["Recipe", "RowProgram", "Value"]

_BITS, _BYTES = 32, 4
_LEAST, _MOST = -(1 << _BITS - 1), (1 << _BITS - 1) - 1
#: Vectors of constants of each kind that local memory keeps at a time.
_KEPT = 3
#: Steps that reduce a row to one number: name -> instruction.
_REDUCTIONS = {"largest": "vvmax", "total": "vvadd"}
#: Elements of a part of a row, where local memory holds parts of several rows.
_PART = 64

#: Emits the load of an operand's part to local memory: (number of the operand, local address, first
#: element of each row, elements of each row).
Load: TypeAlias = Callable[[int, int, int, int], None]
#: Emits the store of a result's part: (local address, first element, elements of each row).
Store: TypeAlias = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Value:
    """A value of a recipe: its ``number``, and whether it is ``wide``."""

    number: int
    wide: bool


@dataclass(frozen=True)
class _Step:
    """A step of a recipe: an instruction or reduction ``name``, its ``result``, and its
    ``operands``, values or integers."""

    name: str
    result: Value
    operands: tuple[Value | int, ...]


class Recipe:
    """A function of rows under construction: each method adds a step and returns its result.
    Integers stand for vectors of equal numbers. Sums and products saturate at 32 bits."""

    def __init__(self, sources: int = 1):
        #: The operands, wide.
        self.sources = [Value(number, True) for number in range(sources)]
        self.steps: list[_Step] = []
        self.result: Value | None = None
        #: Numbers of a value that holds one for each position of a row.
        self.positions: dict[int, np.ndarray] = {}
        #: Whether the steps are those of rows in parts.
        self.parted = False
        self._count = sources

    def _value(self, wide: bool) -> Value:
        self._count += 1
        return Value(self._count - 1, wide)

    def _step(self, name: str, *operands: Value | int, wide: bool | None = None) -> Value:
        if wide is None:
            (wide,) = {one.wide for one in operands if isinstance(one, Value)}
        self.steps.append(_Step(name, self._value(wide), operands))
        return self.steps[-1].result

    def by_position(self, numbers: np.ndarray) -> Value:
        """A wide value of constants, one for each position of a row."""
        value = self._value(True)
        self.positions[value.number] = np.asarray(numbers, np.int64)
        return value

    def add(self, a: Value | int, b: Value | int) -> Value:
        """The sum a + b."""
        return self._step("vvadd", a, b)

    def sub(self, a: Value | int, b: Value | int) -> Value:
        """The difference a - b."""
        return self._step("vvsub", a, b)

    def mul(self, a: Value | int, b: Value | int) -> Value:
        """The product a * b."""
        return self._step("vvmul", a, b)

    def right(self, a: Value | int, places: Value | int) -> Value:
        """``a`` divided by two to the power of ``places`` (not negative), rounded down."""
        return self._step("vvsra", a, places)

    def left(self, a: Value | int, places: Value | int) -> Value:
        """``a`` times two to the power of ``places`` (not negative), which must not overflow."""
        return self._step("vvsll", a, places)

    def largest_of(self, a: Value, b: Value) -> Value:
        """The larger of two values, element by element."""
        return self._step("vvmax", a, b)

    def at_most(self, a: Value, bound: int) -> Value:
        """The smaller of ``a`` and a bound."""
        return self._step("vrsu", a, bound)

    def at_least(self, a: Value, bound: int) -> Value:
        """The larger of ``a`` and a bound."""
        return self._step("vrsl", a, bound)

    def largest(self, a: Value) -> Value:
        """The largest number of each row, narrow."""
        return self._step("largest", a, wide=False)

    def total(self, a: Value) -> Value:
        """The sum of each row, narrow; no partial sum may need more than 32 bits."""
        return self._step("total", a, wide=False)

    def spread(self, a: Value) -> Value:
        """A narrow value, repeated for each element of its row."""
        return self._step("spread", a, wide=True)

    def rounded(self, a: Value, less_one: Value | int) -> Value:
        """``a`` divided by two to the power of ``less_one`` + 1, rounded to the nearest."""
        return self.right(self.add(self.right(a, less_one), 1), 1)

    def in_parts(self) -> Recipe:
        """The recipe for rows that come in parts: in front of each reduction, and of the result,
        are all steps with wide results that lead to it."""
        made = Recipe(len(self.sources))
        made.positions, made.parted, made._count = self.positions, True, self._count
        for step in self.steps:
            if step.name in _REDUCTIONS:
                operands = (made._again(self, *step.operands),)
                made.steps.append(replace(step, operands=operands))
            elif not step.result.wide:
                made.steps.append(step)
        made.result = made._again(self, self.result)
        return made

    def _again(self, other, value):
        """Adds the steps of another recipe that lead from narrow values to a wide one, which is
        returned."""
        needed, steps = {value}, []
        for step in reversed(other.steps):
            if step.result in needed and step.result.wide:
                steps.insert(0, step)
                needed |= set(step.operands)
        new: dict[Value | int, Value] = {}
        for step in steps:
            operands = (new.get(one, one) for one in step.operands)
            new[step.result] = self._step(step.name, *operands, wide=True)
        return new.get(value, value)

    # In plain numpy

    def run(self, sources: Sequence[np.ndarray], bits: int) -> np.ndarray:
        """The result, saturated to ``bits``; ``sources``: int64 [..., elements of a row]."""
        assert self.result is not None
        values = {value.number: x for value, x in zip(self.sources, sources, strict=True)}
        values |= self.positions
        for step in self.steps:
            operands = [
                np.int64(one) if isinstance(one, int) else values[one.number]
                for one in step.operands
            ]
            values[step.result.number] = _computed(step.name, operands)
        return np.clip(values[self.result.number], -(1 << bits - 1), (1 << bits - 1) - 1)

    # Local memory

    def lifetimes(self) -> dict[int, int]:
        """Number of each value -> index of the last step that reads it."""
        last: dict[int, int] = {}
        for index, step in enumerate(self.steps):
            for one in step.operands:
                if isinstance(one, Value):
                    last[one.number] = index
        assert self.result is not None
        last[self.result.number] = len(self.steps)
        return last

    def slots(self) -> tuple[dict[int, int], int, int]:
        """Slots of local memory: (number of each value -> slot, slots of wide values, of narrow
        ones). A step may write to the slot of an operand that nothing reads later."""
        last = self.lifetimes()
        free: dict[bool, list[int]] = {True: [], False: []}
        taken = {True: 0, False: 0}
        place: dict[int, int] = {}
        later: list[int] = []  # slots of narrow values that the next part reads again

        def claim(value):
            if not free[value.wide]:
                free[value.wide].append(taken[value.wide])
                taken[value.wide] += 1
            place[value.number] = free[value.wide].pop()

        for value in self.sources:
            claim(value)
        for index, step in enumerate(self.steps):
            dying = {
                one.number: one
                for one in step.operands
                if isinstance(one, Value)
                and one.number not in self.positions
                and last[one.number] == index
            }
            reduces = step.name in _REDUCTIONS
            if reduces:
                # Its slot holds what is left of each row in the meantime.
                claim(_scratch(step))
            for value in dying.values():
                again = self.parted and step.result.wide and not value.wide
                (later if again else free[value.wide]).append(place[value.number])
            claim(step.result)
            if not step.result.wide:
                free[False] += later
                later.clear()
            if reduces:
                free[True].append(place[_scratch(step).number])
        return place, taken[True], taken[False]


def _scratch(step):
    """The wide value that a reduction works in."""
    return Value(-1 - step.result.number, True)


def _saturated(values):
    return np.clip(values, _LEAST, _MOST)


def _computed(name, operands):
    """Result of a step in int64, as the instruction of that name gives it."""
    if name == "spread":
        return operands[0]
    if name == "largest":
        return operands[0].max(axis=-1, keepdims=True)
    if name == "total":
        return _saturated(operands[0].sum(axis=-1, keepdims=True))
    a, b = operands
    if name == "vvsra":
        return a >> np.minimum(b & (1 << _BITS) - 1, 31)
    if name == "vvsll":
        # The product of 64 bits wraps, which leaves its lower half right.
        wrapped = (a << np.minimum(b & (1 << _BITS) - 1, 32)) & (1 << _BITS) - 1
        return wrapped - ((wrapped >> 31) << _BITS)
    if name == "vvmul":
        return _saturated(a * b)
    if name in ("vrsu", "vrsl"):
        return (np.minimum if name == "vrsu" else np.maximum)(a, b)
    if name == "vvmax":
        return np.maximum(a, b)
    return _saturated(a + b if name == "vvadd" else a - b)


class RowProgram:
    """Instructions of a recipe on one core, for at most ``most`` rows at a time.

    Parameters
    ----------
    core : CoreBuilder
    recipe : Recipe
    length : elements of a row
    rows : rows that the core works on in all, which :attr:`most` does not exceed
    size, out_size : bytes per element of the operands and of the result
    what : name of the layer
    """

    def __init__(
        self,
        core: CoreBuilder,
        recipe: Recipe,
        *,
        length: int,
        rows: int,
        size: int,
        out_size: int,
        what: str,
    ):
        free = core.params["lmem_bytes"] - core.used
        #: Elements of a row, and those that come together.
        self._whole = self._part = length
        taken = self.bytes_of_row(recipe, length, size, out_size)
        if taken > free:
            recipe = recipe.in_parts()
            fixed, with_one = (self.bytes_of_row(recipe, n, size, out_size) for n in (0, 1))
            most = (free - fixed) // (with_one - fixed)
            rows = min(rows, max(1, most // _PART))
            self._part = (free // rows - fixed) // (with_one - fixed)
            taken = self.bytes_of_row(recipe, self._part, size, out_size)
        self.core, self.recipe, self.length = core, recipe, self._part
        self._size, self._out_size = size, out_size
        self._place, self._wide, self._narrow = recipe.slots()
        #: Rows at a time.
        self.most = min(rows, free // taken)
        count = self.most * self._part
        self._sources = [core.allocate(count * size, what) for _ in recipe.sources]
        self._target = core.allocate(count * out_size, what)
        self._values = {
            True: [core.allocate(_BYTES * count, what) for _ in range(self._wide)],
            False: [
                # One more for what the parts before are reduced to.
                core.allocate(_BYTES * self.most, what)
                for _ in range(self._narrow + recipe.parted)
            ],
        }
        self._constants = {
            True: [core.allocate(_BYTES * count, what) for _ in range(_KEPT)],
            False: [core.allocate(_BYTES * self.most, what) for _ in range(_KEPT)],
        }
        #: Constant of each vector that holds one now, the least recently used first.
        self._held: dict[bool, dict[int, int]] = {True: {}, False: {}}
        self._rows = 0
        self._by_position = {
            number: core.allocate(_BYTES * count, what) for number in recipe.positions
        }
        if not recipe.parted:
            self._emit_positions(0, self.most)

    @staticmethod
    def bytes_of_row(recipe: Recipe, length: int, size: int, out_size: int) -> int:
        """Bytes of local memory that a row takes, or a part of ``length`` elements."""
        _, wide, narrow = recipe.slots()
        wide += _KEPT + len(recipe.positions)
        narrow += _KEPT + recipe.parted
        own = len(recipe.sources) * size + out_size
        return length * (own + wide * _BYTES) + narrow * _BYTES

    def emit(self, rows: int, load: Load, store: Store) -> None:
        """Appends the instructions for ``rows`` rows, whose elements ``load`` and ``store``
        transfer."""
        if rows != self._rows:
            # Constants are as long as the rows for which they were written.
            self._held = {True: {}, False: {}}
        self._rows = rows
        if not self.recipe.parted:
            self._load(load, 0)
            for step in self.recipe.steps:
                self._emit(step)
            self._store(store, 0)
            return
        some: list[_Step] = []
        for step in self.recipe.steps:
            if step.result.wide:
                some.append(step)
            elif step.name in _REDUCTIONS:
                self._reduce_parts([*some, step], load)
                some = []
            else:
                self._emit(step)
        for first in self._parts():
            self._load(load, first)
            self._emit_positions(first, rows)
            for step in some:
                self._emit(step)
            self._store(store, first)

    def _parts(self):
        """Iterates over the first elements of a row's parts; makes each the one worked on."""
        for first in range(0, self._whole, self._part):
            length = min(self._part, self._whole - first)
            if length != self.length:
                self._held[True] = {}
            self.length = length
            yield first

    def _reduce_parts(self, steps, load):
        """Appends the steps of a pass, the last of which reduces each row to one number."""
        reduction = steps[-1]
        total, so_far = self._at(reduction.result), self._values[False][-1]
        for first in self._parts():
            self._load(load, first)
            if first:
                self.core.move(so_far, total, self._rows * _BYTES)
            for step in steps:
                self._emit(step)
            if first:
                self.core.widths(_BITS, _BITS)
                self.core.vector2(
                    _REDUCTIONS[reduction.name], total, total, so_far, self._rows, size=_BYTES
                )

    def _load(self, load, first):
        """Appends the loads of the operands' part from element ``first`` on, and their conversion
        to 32 bits."""
        for number, source in enumerate(self._sources):
            load(number, source, first, self.length)
        for value, source in zip(self.recipe.sources, self._sources, strict=True):
            self._bound("vrsu", self._at(value), source, _MOST, self._count(True), self._size, 4)

    def _store(self, store, first):
        """Appends the conversion of the result's part from element ``first`` on, and its store."""
        assert self.recipe.result is not None
        at, count = self._at(self.recipe.result), self._count(self.recipe.result.wide)
        self._bound("vrsu", self._target, at, _MOST, count, _BYTES, self._out_size)
        store(self._target, first, self.length)

    def _count(self, wide):
        return self._rows * (self.length if wide else 1)

    def _at(self, value):
        if value.number in self._by_position:
            return self._by_position[value.number]
        return self._values[value.wide][self._place[value.number]]

    def _emit(self, step):
        if step.name == "spread":
            return self._spread(self._at(step.result), self._at(step.operands[0]))
        if step.name in _REDUCTIONS:
            return self._reduce(step)
        result, count = self._at(step.result), self._count(step.result.wide)
        first, second = step.operands
        if step.name in ("vrsu", "vrsl"):
            return self._bound(step.name, result, self._at(first), second, count)
        operands = [
            self._constant(one, step.result.wide) if isinstance(one, int) else self._at(one)
            for one in step.operands
        ]
        self.core.widths(_BITS, _BITS)
        return self.core.vector2(step.name, result, *operands, count, size=_BYTES, out=_BYTES)

    def _bound(self, mnemonic, target, source, bound, count, size=_BYTES, out=_BYTES):
        """Appends the smaller or larger of each element and ``bound``, with any change of width."""
        self.core.widths(8 * size, 8 * out)
        for k in range(0, count, LENGTH_MOST):
            used: list[int] = []
            for value in (target + k * out, source + k * size, bound):
                used.append(self.core.register(value, used))
            some = min(LENGTH_MOST, count - k)
            self.core.emit(mnemonic, rd=used[0], rs1=used[1], rs2=used[2], len=some)

    def _constant(self, number, wide):
        """Address of a vector of equal numbers."""
        held = self._held[wide]
        if number in held:
            held[number] = held.pop(number)
            return held[number]
        free = [one for one in self._constants[wide] if one not in held.values()]
        at = free[0] if free else held.pop(next(iter(held)))
        # Whatever the vector holds, the smaller and then the larger of it and the number is that.
        for mnemonic in ("vrsu", "vrsl"):
            self._bound(mnemonic, at, at, number, self._count(wide))
        held[number] = at
        return at

    def _emit_positions(self, first, rows):
        """Appends the constants by position of the part from element ``first`` on, for ``rows``
        rows."""
        for number, at in self._by_position.items():
            numbers = self.recipe.positions[number][first : first + self.length]
            for k, one in enumerate(numbers.tolist()):
                for mnemonic in ("vrsu", "vrsl"):
                    self._bound(mnemonic, at + k * _BYTES, at + k * _BYTES, one, 1)
            self._doubled(at, len(numbers) * _BYTES, rows * len(numbers) * _BYTES)

    def _doubled(self, at, have, want):
        """Appends moves that repeat the first ``have`` bytes up to ``want``."""
        while have < want:
            some = min(have, want - have)
            self.core.move(at + have, at, some)
            have += some

    def _spread(self, target, source):
        for row in range(self._rows):
            at = target + row * self.length * _BYTES
            self.core.move(at, source + row * _BYTES, _BYTES)
            self._doubled(at, _BYTES, self.length * _BYTES)

    def _reduce(self, step):
        """Appends a reduction of each row by halves."""
        work = self._values[True][self._place[_scratch(step).number]]
        source, target = self._at(step.operands[0]), self._at(step.result)
        for row in range(self._rows):
            begin = row * self.length * _BYTES
            at = source + begin
            for count in self._halves(self.length):
                half, rest = count // 2, count - count // 2
                self.core.widths(_BITS, _BITS)
                self.core.vector2(
                    _REDUCTIONS[step.name], work + begin, at, at + rest * _BYTES, half, size=_BYTES
                )
                if rest > half and at != work + begin:
                    self.core.move(work + begin + half * _BYTES, at + half * _BYTES, _BYTES)
                at = work + begin
            self.core.move(target + row * _BYTES, at, _BYTES)

    @staticmethod
    def _halves(count) -> Iterator[int]:
        """Numbers of elements of which each step of a reduction leaves half, rounded up."""
        while count > 1:
            yield count
            count -= count // 2
