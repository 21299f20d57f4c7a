# SPDX-License-Identifier: BSD-2-Clause
"""Program execution of the golden model: loops, contexts, address units (specification, sections
4.5 to 4.8), tile registers with their uniform and private copies, and each instruction's semantics
on them (4.1 to 4.6)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....isa.outcome import RunFault
from ....isa.parameters import Params
from ..asm.structure import sources
from ..image import ProgramImage
from ..isa import LOOPS, CherryIsa
from ..tables import FRAC, OPERATIONS
from . import arithmetic, special
from .arithmetic import narrow, widen
from .races import Race

if TYPE_CHECKING:
    from .races import Races

__all__ = ["ProgramRun", "Tiles", "Work", "compute"]


INPUT, WEIGHTS, OUTPUT, ACC = range(4)

_ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": special.div,
    "pow": special.power,
    "relu": arithmetic.relu,
    "gtz": arithmetic.gtz,
    "exp": special.exp,
    "log": special.log,
}
_TWO = ("add", "sub", "mul", "div", "pow")


class Tiles:
    """Tile register file of the model: four registers, each with a uniform copy and ``contexts``
    private copies.

    Elements of ACC have ``acc_frac`` fraction bits, all others 9.

    Attributes
    ----------
    uniform : int64 array (4, 4, 4): register, row, column
    private : int64 array (4, contexts, 4, 4)
    copies : list of int, ``np[r]``: number of contexts that see their private copy
    """

    def __init__(self, contexts: int, acc_frac: int) -> None:
        self.acc_frac = acc_frac
        self.uniform = np.zeros((4, 4, 4), np.int64)
        self.private = np.zeros((4, contexts, 4, 4), np.int64)
        self.copies = [0] * 4

    def read(self, register: int, first: int, last: int, copies: Sequence[int]) -> np.ndarray:
        """Reads the tiles of contexts ``first`` to ``last`` - 1, shape (contexts, 4, 4); ``copies``
        says which are private."""
        seen = min(max(copies[register], first), last)
        shared = np.broadcast_to(self.uniform[register], (last - seen, 4, 4))
        return np.concatenate([self.private[register, first:seen], shared])

    def write_uniform(self, register: int, tile: np.ndarray) -> None:
        """Writes the uniform copy and drops all private copies."""
        self.uniform[register] = tile
        self.copies[register] = 0

    def write_private(self, register: int, first: int, tiles: np.ndarray) -> None:
        """Writes the private copies of contexts from ``first`` on; the caller updates
        ``copies``."""
        self.private[register, first : first + len(tiles)] = tiles

    def narrowed(self, register: int, tiles: np.ndarray) -> np.ndarray:
        """Converts tiles of ``register`` to elements."""
        return narrow(tiles, self.acc_frac) if register == ACC else tiles

    def widened(self, register: int, tiles: np.ndarray) -> np.ndarray:
        """Converts elements to tiles of ``register``."""
        return widen(tiles, self.acc_frac) if register == ACC else tiles


def compute(
    name: str, values: dict[str, int], tiles: Tiles, first: int, last: int, copies: Sequence[int]
) -> tuple[int, np.ndarray] | None:
    """Result of an instruction except load, store and loops, for contexts ``first`` to ``last`` - 1
    with private tiles as ``copies`` says: (register, tiles), or ``None`` if it has no result."""

    def read(register):
        return tiles.read(register, first, last, copies)

    frac = tiles.acc_frac
    if name == "matmul":
        # products[c, y, x, k] = INPUT[y, k] * WEIGHTS[k, x]
        return ACC, arithmetic.dot(
            read(INPUT)[:, :, None, :], read(WEIGHTS).swapaxes(1, 2)[:, None, :, :], read(ACC), frac
        )
    if name == "mulacc":
        return ACC, arithmetic.dot(
            read(INPUT)[..., None], read(WEIGHTS)[..., None], read(ACC), frac
        )
    if name in _TWO:
        return OUTPUT, _ELEMENTWISE[name](read(INPUT), read(WEIGHTS))
    if name in _ELEMENTWISE:
        return OUTPUT, _ELEMENTWISE[name](read(INPUT))
    if name in ("max", "sum"):
        return ACC, _reduce(name, values, read(OUTPUT), np.array(read(ACC)), frac)
    if name == "zero":
        return values["reg"], np.zeros((last - first, 4, 4), np.int64)
    if name == "copy" and values["src"] != values["dst"]:
        source, target = values["src"], values["dst"]
        return target, tiles.widened(target, tiles.narrowed(source, read(source)))
    return None


def _reduce(name, values, output, acc, frac):
    """New ACC after the reduction ``max`` or ``sum`` (section 4.2); ``output``, ``acc``: (contexts,
    4, 4)."""
    axis, count, target, keep = values["axis"], values["count"], values["target"], values["acc"]
    if axis == 1:
        # Along the rows is down the columns of the transposed tiles.
        return _reduce(
            name, {**values, "axis": 0}, output.swapaxes(1, 2), acc.swapaxes(1, 2), frac
        ).swapaxes(1, 2)
    old = acc[:, target, :]
    rows = output[:, :count, :]
    if axis == 0:
        acc[:, target, :] = (
            _sum(rows.swapaxes(1, 2), old if keep else None, frac)
            if name == "sum"
            else _maximum(rows.swapaxes(1, 2), old if keep else None, frac)
        )
    elif name == "sum":
        columns = _sum(rows.swapaxes(1, 2), None, FRAC)
        acc[:, target, 0] = _sum(columns, old[:, 0] if keep else None, frac)
    else:
        acc[:, target, 0] = _maximum(rows.reshape(len(rows), -1), old[:, 0] if keep else None, frac)
    return acc


def _sum(terms, old, frac):
    """Sum over the last axis, added to ``old``."""
    return arithmetic.dot(terms, 0x0FE00, old, frac)


def _maximum(terms, old, frac):
    if old is not None:
        terms = np.concatenate([terms, narrow(old, frac)[..., None]], axis=-1)
    return widen(arithmetic.maximum(terms, -1), frac)


_LOW18 = (1 << 18) - 1
_ROWS, _COLUMNS = np.arange(4)[:, None], np.arange(4)
#: Every context sees the uniform copies.
_SHARED = (0, 0, 0, 0)


@dataclass
class Work:
    """Counters of a run: ``instructions``, ``operations`` (of elements), bytes; ``limit`` of
    instructions or ``None``."""

    instructions: int = 0
    operations: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    limit: int | None = None


@dataclass
class _Loop:
    """An active loop; for an independent loop, ``iteration`` is that of context 0."""

    index: int
    start: int
    count: int
    body: int
    independent: bool
    iteration: int = 0


class ProgramRun:
    """Execution of one program: its tile registers, active loops and address units.

    Parameters
    ----------
    isa, params, image : table, build parameters, :class:`~..image.ProgramImage`
    mem : int64 array, the scratchpad; read and written in place
    rebase : (elements, mask of address units) of the step
    races : Races or None
    shuffle : numpy Generator or None
        Runs contexts one after another in random order wherever a program allows it.

    Attributes
    ----------
    context, iteration : of the instruction that faulted inside an independent loop;
        ``None`` outside
    touched_read, touched_written : bool arrays, elements of MEM that the program read and wrote
    """

    def __init__(
        self,
        isa: CherryIsa,
        params: Params,
        image: ProgramImage,
        mem: np.ndarray,
        work: Work,
        *,
        rebase: tuple[int, int] = (0, 0),
        races: Races | None = None,
        shuffle: random.Random | None = None,
    ) -> None:
        self.isa, self.params, self.image, self.mem, self.work = isa, params, image, mem, work
        self.races, self.shuffle = races, shuffle
        self.tiles = Tiles(params["contexts"], params["acc_frac"])
        self.stack: list[_Loop] = []
        self.context = self.iteration = None
        self.touched_read, self.touched_written = np.zeros(len(mem), bool), np.zeros(len(mem), bool)
        amount, mask = rebase
        self._base = {
            k: unit.address + (amount if mask >> k & 1 else 0) & _LOW18
            for k, unit in image.units.items()
        }
        self._decoded: dict[int, Any] = {}

    def loop_variables(self) -> list[int]:
        """Iteration of each loop record, all ones if the loop is not active."""
        found = [0xFFFF_FFFF] * LOOPS
        for loop in self.stack:
            found[loop.index] = loop.iteration + (self.context or 0 if loop.independent else 0)
        return found

    def run(self) -> None:
        """Runs the program to its end.

        Raises
        ------
        RunFault, Race
        """
        pc, end = 0, len(self.image.words)
        while pc < end:
            pc = self._group(pc) if self.stack and self.stack[-1].independent else self._ordered(pc)
        if self.stack:
            raise RunFault("program_end", self.stack[-1].index, end - 1)

    # Instructions

    def _decode(self, index):
        word = self.image.words[index]
        if word not in self._decoded:
            self._decoded[word] = self.isa.decode(word, self.params)
        decoded = self._decoded[word]
        if decoded.fault is not None:
            raise RunFault(decoded.fault, decoded.detail, index)
        return decoded.instruction.mnemonic, decoded.values

    def _count(self, index, number):
        work = self.work
        if work.limit is not None and work.instructions + number > work.limit:
            raise RunFault("aborted", 0, index)

    def _ordered(self, pc):
        self._count(pc, 1)
        name, values = self._decode(pc)
        if name in ("start_loop", "start_independent_loop"):
            pc = self._start(pc, values["loop"], name == "start_independent_loop")
        elif name == "end_loop_or_jump_if_needed":
            pc = self._end(pc, values["loop"])
        else:
            if "apu" in values:
                self._declared(pc, values["apu"])
            self._execute(pc, name, values, 0, 1)
            pc += 1
        self.work.instructions += 1
        return pc

    def _start(self, pc, index, independent):
        if self.stack and self.stack[-1].independent:
            raise RunFault("state", index | 1 << 8, pc)
        if any(loop.index == index for loop in self.stack):
            raise RunFault("state", index | 2 << 8, pc)
        if index not in self.image.loops:
            raise RunFault("undeclared", index, pc)
        count, body = self.image.loops[index]
        if independent and self.image.contexts and count > self.image.contexts:
            raise RunFault("state", index | 6 << 8, pc)
        if not count:
            if pc + body + 2 > len(self.image.words):
                raise RunFault("program_end", index, pc)
            return pc + body + 2
        self.stack.append(_Loop(index, pc, count, body, independent))
        if independent and self.races is not None:
            self.races.start(count)
        return pc + 1

    def _end(self, pc, index):
        if not self.stack:
            raise RunFault("state", index | 3 << 8, pc)
        loop = self.stack[-1]
        if loop.index != index:
            raise RunFault("state", index | 4 << 8, pc)
        if pc - loop.start != loop.body + 1:
            raise RunFault("state", index | 5 << 8, pc)
        loop.iteration += self._size(loop)
        if loop.iteration < loop.count:
            return loop.start + 1
        self.stack.pop()
        return pc + 1

    def _size(self, loop):
        """Number of iterations that run together as a group."""
        return min(self.params["contexts"], loop.count - loop.iteration) if loop.independent else 1

    # Groups

    def _group(self, pc):
        """Ends one pass of a group through the body of an independent loop; returns the next pc."""
        loop = self.stack[-1]
        size = self._size(loop)
        waiting = []  # instructions that contexts may run in any order
        while pc < len(self.image.words):
            self._count_in_group(pc, size, waiting)
            try:
                name, values = self._decode(pc)
                if name == "end_loop_or_jump_if_needed":
                    self._run_waiting(waiting, size)
                    pc = self._end(pc, values["loop"])
                    self.work.instructions += size
                    return pc
                if name in ("start_loop", "start_independent_loop"):
                    raise RunFault("state", values["loop"] | 1 << 8, pc)
                if "apu" in values:
                    self._declared(pc, values["apu"])
            except RunFault:
                self._run_waiting(waiting, size)
                self._place(0)
                raise
            read, written = sources(name, values)
            moves = (
                name == "load"
                and loop.index in self.image.units[values["apu"]].coefficients
                and self.image.units[values["apu"]].coefficients[loop.index]
            )
            if name != "store" and not moves and not any(self.tiles.copies[r] for r in read):
                self._run_waiting(waiting, size)
                self._place(0)
                self._execute(pc, name, values, 0, 1)
                self.context = self.iteration = None
            else:
                waiting.append((pc, name, values, tuple(self.tiles.copies)))
                if written is not None:
                    self.tiles.copies[written] = max(self.tiles.copies[written], size)
                if self.shuffle is None:
                    self._run_waiting(waiting, size)
            self.work.instructions += size
            pc += 1
        self._run_waiting(waiting, size)
        return pc

    def _count_in_group(self, pc, size, waiting):
        try:
            self._count(pc, size)
        except RunFault:
            self._run_waiting(waiting, size)
            raise

    def _place(self, context):
        self.context, self.iteration = context, self.stack[-1].iteration + context

    def _run_waiting(self, waiting, size):
        """Runs the pending instructions of all contexts: together, or one context after another in
        shuffled order."""
        if self.shuffle is None or len(waiting) == 0:
            for entry in waiting:
                self._execute(*entry[:3], 0, size, entry[3])
        else:
            for context in self.shuffle.permutation(size):
                for entry in waiting:
                    self._execute(*entry[:3], int(context), int(context) + 1, entry[3])
        waiting.clear()

    # Effects

    def _execute(self, pc, name, values, first, last, copies=None):
        """Executes an instruction in contexts ``first`` to ``last`` - 1, with private tiles as
        ``copies`` says; without ``copies``, once for all contexts."""
        if name == "load":
            self._load(pc, values, first, last, copies)
        elif name == "store":
            self._store(pc, values, first, last, copies)
        else:
            result = compute(name, values, self.tiles, first, last, copies or _SHARED)
            if result is not None:
                self._write(*result, first, copies)
        self.work.operations += OPERATIONS.get(name, 0) * (last - first)

    @property
    def stack_is_independent(self) -> bool:
        """Whether the innermost loop is an independent one."""
        return bool(self.stack) and self.stack[-1].independent

    def _write(self, register, tiles, first, copies):
        if copies is None:
            self.tiles.write_uniform(register, tiles[0])
        else:
            self.tiles.write_private(register, first, tiles)

    def _declared(self, pc, apu):
        if apu not in self.image.units:
            raise RunFault("undeclared", apu | 1 << 8, pc)

    def _addresses(self, values, first, last):
        """Addresses of a tile access, shape (contexts, rows, columns)."""
        unit = self.image.units[values["apu"]]
        start = np.full(last - first, self._base[values["apu"]], np.int64)
        for loop in self.stack:
            iteration = loop.iteration + (np.arange(first, last) if loop.independent else 0)
            start = start + unit.coefficients.get(loop.index, 0) * iteration
        rows, columns = _ROWS[: values["len_y"]], _COLUMNS[: values["len_x"]]
        return start[:, None, None] + rows * unit.stride_y + columns * unit.stride_x & _LOW18

    def _outside(self, pc, addresses, first):
        """First access outside MEM: the number of contexts before it, and the fault; all contexts
        and ``None`` if there is none. Records the context."""
        wrong = addresses >= len(self.mem)
        if not wrong.any():
            return len(addresses), None
        bad = int(wrong.any((1, 2)).argmax())
        if self.stack_is_independent:
            self._place(first + bad)
        return bad, RunFault("mem_range", int(addresses[bad][wrong[bad]][0]), pc)

    def _note_accesses(self, kind, pc, addresses, first):
        """Reports an access to :class:`~.races.Races`, in contexts from ``first`` on (``None``:
        once for all)."""
        if self.races is None or not self.stack_is_independent:
            return
        try:
            if kind == "read" and first is not None:
                self.races.read_by_each(addresses, self.stack[-1].iteration + first)
                return
            for k, of_one in enumerate(addresses):
                getattr(self.races, kind)(
                    of_one, None if first is None else self.stack[-1].iteration + first + k
                )
        except Race as race:
            race.index = pc
            raise

    def _load(self, pc, values, first, last, copies):
        register, skip = values["reg"], values["skip"]
        addresses = self._addresses(values, first, last)
        _, fault = self._outside(pc, addresses, first)
        if fault is not None:
            raise fault
        self._note_accesses("read", pc, addresses, None if copies is None else first)
        self.touched_read[addresses] = True
        if values["zero"]:
            tiles = np.zeros((last - first, 4, 4), np.int64)
        else:
            tiles = np.array(self.tiles.read(register, first, last, copies or _SHARED))
        tiles[:, skip : skip + values["len_y"], : values["len_x"]] = self.tiles.widened(
            register, self.mem[addresses]
        )
        self._write(register, tiles, first, copies)

    def _store(self, pc, values, first, last, copies):
        register = values["reg"]
        addresses = self._addresses(values, first, last)
        good, fault = self._outside(pc, addresses, first)
        self._note_accesses("write", pc, addresses[:good], first)
        tiles = self.tiles.narrowed(
            register, self.tiles.read(register, first, last, copies or _SHARED)
        )
        for of_one, tile in zip(addresses[:good], tiles, strict=False):
            # In row-major order: of equal addresses the last value stays.
            self.mem[of_one.ravel()] = tile[: values["len_y"], : values["len_x"]].ravel()
            self.touched_written[of_one] = True
        if fault is not None:
            raise fault
