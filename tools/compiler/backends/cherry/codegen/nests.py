# SPDX-License-Identifier: BSD-2-Clause
"""Loop nests as trees that are lowered to programs when complete; consecutive nests share loop
records and address units."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ......gateware.cores.cherry.image import ProgramImage, Unit
from ......gateware.cores.cherry.isa import ISA, LOOPS, SPECIAL, TILES, UNITS
from ......gateware.cores.cherry.tables import FRAC
from ....common.inputs import KernelError

__all__ = ["Body", "Loop", "Nests", "Operation", "Program", "TooLarge", "body_key", "programs"]

#: Instructions and loops, in order.
Body = list["Loop | Operation"]


@lru_cache(1 << 16)
def _word(mnemonic, values, **more):
    """Encodes an instruction; ``values``: pairs (operand, value). Cached, since a program has few
    different ones."""
    return ISA.encode(mnemonic, **dict(values), **more)


class TooLarge(KernelError):
    """Error: loop nests exceed the capacity of one program on the build."""


@dataclass(eq=False)
class Loop:
    """A loop of ``count`` iterations; ``body``: instructions and nested loops."""

    independent: bool
    count: int
    body: Body = field(default_factory=list)

    @property
    def length(self) -> int:
        """Number of instructions between its start and its end."""
        return sum(item.length + 2 if isinstance(item, Loop) else 1 for item in self.body)


@dataclass(frozen=True)
class _Access:
    """Address function of an address unit; coefficients are pairs (Loop, elements)."""

    address: int
    stride_x: int
    stride_y: int
    walk: tuple[tuple[Loop, int], ...]


class Operation(NamedTuple):
    """An instruction: its operands except the address unit as pairs (name, value), and the
    addresses of a load or store, which a unit generates."""

    mnemonic: str
    values: tuple[tuple[str, int], ...]
    access: _Access | None = None


def body_key(body: Body, active: tuple[Loop, ...] = ()) -> tuple[Any, ...]:
    """Hashable key of a body's timing: equal for bodies that differ only in addresses."""

    def walk(access):
        return (
            None
            if access is None
            else (
                access.stride_x,
                access.stride_y,
                tuple((active.index(loop), bool(n)) for loop, n in access.walk),
            )
        )

    return tuple(
        (item.independent, item.count, body_key(item.body, (*active, item)))
        if isinstance(item, Loop)
        else (item.mnemonic, item.values, walk(item.access))
        for item in body
    )


class Nests:
    """Builder of loop nests.

    Parameters
    ----------
    contexts : int, of the build; no independent loop has more iterations

    Attributes
    ----------
    bodies : list of lists, as :class:`Program` takes them;
        each may be the last of a program, the next one the first of another; together they may
        need more loop records than a program has: :func:`programs` divides them
    """

    def __init__(self, contexts: int):
        self.contexts = contexts
        self.bodies: list[Body] = []
        self._open: list[Body] = []

    def begin(self) -> None:
        """Starts a body that can become a program of its own."""
        self.bodies.append([])
        self._open = [self.bodies[-1]]

    def __call__(self, mnemonic: str, **values: int) -> None:
        """Appends an instruction without an address."""
        self._open[-1].append(Operation(mnemonic, tuple(values.items())))

    def part(self, part: str) -> None:
        """Appends an instruction of a chain (:func:`~.tilework.chain`)."""
        mnemonic, *registers = part.replace(",", " ").split()
        names = {"copy": ("dst", "src"), "zero": ("reg",)}.get(mnemonic, ())
        self(mnemonic, **dict(zip(names, map(TILES.index, registers), strict=True)))

    def move(
        self,
        mnemonic: str,
        register: str,
        address: int,
        stride_y: int,
        stride_x: int,
        walk: Sequence[tuple[Loop | None, int]] = (),
        height: int = 4,
        width: int = 4,
    ) -> None:
        """Appends a ``load`` or ``store`` of ``height`` x ``width`` elements of a tile; a load
        fills the other elements with 0.

        ``walk``: pairs (loop or ``None``, elements an iteration).
        """
        values = [("reg", TILES.index(register)), ("len_y", height), ("len_x", width)]
        if mnemonic == "load":
            values.append(("zero", int(height < 4 or width < 4)))
        terms: dict[Loop, int] = {}
        for loop, elements in walk:
            if loop is not None and elements:
                terms[loop] = terms.get(loop, 0) + elements
        access = _Access(
            address,
            stride_x if width > 1 else 0,
            stride_y if height > 1 else 0,
            tuple(terms.items()),
        )
        self._open[-1].append(Operation(mnemonic, tuple(values), access))

    @contextmanager
    def _loop(self, independent, count):
        if count == 1:
            yield None
            return
        loop = Loop(independent, count)
        self._open[-1].append(loop)
        self._open.append(loop.body)
        yield loop
        self._open.pop()

    def ordered(self, count: int) -> AbstractContextManager[Loop | None]:
        """Context manager of a sequential loop; omitted for a single iteration."""
        return self._loop(False, count)

    def independent(self, count: int) -> AbstractContextManager[Loop]:
        """Context manager of a parallel loop, with at most one iteration per context."""
        if count > self.contexts:
            raise KernelError(
                f"{count} iterations side by side, there are {self.contexts} contexts"
            )
        return self._loop(True, count)

    def groups(self, count: int) -> list[tuple[int, int, int]]:
        """Splits ``count`` iterations into nearly equal groups: [(first, groups, size)]."""
        parts = -(-count // self.contexts)
        size = -(-count // parts)
        full = count // size
        rest = count - full * size
        return [(0, full, size)] + ([(full * size, 1, rest)] if rest else [])


class Program:
    """A program made from the bodies of :class:`Nests`, with its resource counts.

    Attributes
    ----------
    image : ProgramImage
    loops, units, instructions : how many it has

    Raises
    ------
    TooLarge
        More than the core's loop records or address units, or than ``imem`` instructions.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        *,
        imem: int,
        acc_frac: int = FRAC,
    ):
        self._records: dict[Any, list[int]] = {}
        self._units: dict[Any, int] = {}
        self._items: list[tuple[str, Any, dict[str, int]]] = []
        self._widest = 1
        self._wide = acc_frac != FRAC
        for body in bodies:
            self._emit(body, {})
        self.loops, self.units, self.instructions = (
            sum(len(records) for records in self._records.values()),
            len(self._units),
            len(self._items),
        )
        for what, number, most in (
            ("loop records", self.loops, LOOPS),
            ("address units", self.units, UNITS),
            ("instructions", self.instructions, imem),
        ):
            if number > most:
                raise TooLarge(f"a program takes {number} {what}, there are {most}")

    def _emit(self, body, active):
        """Emits a body; ``active``: Loop -> record, for the enclosing loops."""
        for item in body:
            if isinstance(item, Loop):
                record = self._record(item, active)
                self._widest = max(self._widest, item.count if item.independent else 1)
                start = "start_independent_loop" if item.independent else "start_loop"
                self._items.append((start, (), {"loop": record}))
                self._emit(item.body, {**active, item: record})
                self._items.append(("end_loop_or_jump_if_needed", (), {"loop": record}))
            else:
                unit = {} if item.access is None else {"apu": self._unit(item.access, active)}
                self._items.append((item.mnemonic, item.values, unit))

    def _record(self, loop, active):
        """Allocates a loop record with this count and length that no enclosing loop uses."""
        found = self._records.setdefault((loop.count, loop.length), [])
        free = [record for record in found if record not in active.values()]
        if not free:
            free = [sum(map(len, self._records.values()))]
            found.append(free[0])
        return free[0]

    def _unit(self, access, active):
        walk = sorted((active[loop], elements) for loop, elements in access.walk)
        key = access.address, access.stride_x, access.stride_y, tuple(walk)
        return self._units.setdefault(key, len(self._units))

    @property
    def image(self) -> ProgramImage:
        """Encodes the program image."""
        return ProgramImage(
            contexts=self._widest if self._widest > 1 else 0,
            special=any(mnemonic in SPECIAL for mnemonic, *_ in self._items),
            wide=self._wide,
            loops={record: key for key, found in self._records.items() for record in found},
            units={
                number: Unit(address, stride_x, stride_y, dict(walk))
                for (address, stride_x, stride_y, walk), number in self._units.items()
            },
            words=[_word(name, values, **more) for name, values, more in self._items],
        )


def programs(bodies: Sequence[Body], *, imem: int, acc_frac: int = FRAC) -> list[Program]:
    """Distributes bodies, in order, over as few programs as possible.

    Raises :class:`TooLarge` only if a single body exceeds a program.
    """
    found: list[Program] = []
    held: list[Body] = []
    for body in bodies:
        try:
            source = Program([*held, body], imem=imem, acc_frac=acc_frac)
        except TooLarge:
            if not held:
                raise
            held = []
            source = Program([body], imem=imem, acc_frac=acc_frac)
        found[len(found) - bool(held) :] = [source]
        held.append(body)
    return found
