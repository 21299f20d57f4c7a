# SPDX-License-Identifier: BSD-2-Clause
"""Loop checker of an assembled program: body lengths, nesting, and register copies
(specification, sections 3.2, 4.6). Pure Python."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from ....isa.asm.assembler import Item
from ....isa.asm.errors import Place
from ..isa import TILES

__all__ = ["Checker", "sources"]

_PAIRS = {
    "matmul": (0, 1, 3),
    "mulacc": (0, 1, 3),
    **dict.fromkeys(("add", "sub", "mul", "div", "pow"), (0, 1)),
    **dict.fromkeys(("relu", "exp", "log", "gtz"), (0,)),
    "max": (2, 3),
    "sum": (2, 3),
}
_RESULT = {"matmul": 3, "mulacc": 3, "max": 3, "sum": 3}
_DEEPEST = 8


def sources(name: str, values: dict[str, int]) -> tuple[tuple[int, ...], int | None]:
    """Tile registers that an instruction reads, whose private copies decide whether it is uniform
    (rule 2 of section 4.6), and the register that it writes.

    ``name``: mnemonic; ``values``: its fields. The result register is ``None`` where there is none.
    """
    if name in _PAIRS:
        return _PAIRS[name], _RESULT.get(name, 2)
    if name == "copy":
        same = values["src"] == values["dst"]
        return (values["src"],), None if same else values["dst"]
    if name == "zero":
        return (), values["reg"]
    if name == "load":
        whole = values["zero"] or (values["len_y"] == 4 and values["len_x"] == 4)
        return () if whole else (values["reg"],), values["reg"]
    if name == "store":
        return (values["reg"],), None
    return (), None


@dataclass
class _Open:
    loop: int
    start: int
    independent: bool


@dataclass
class Checker:
    """Loop checker: analyses the items of one program.

    ``items``: the assembler's, in order; ``loops``: index -> name; ``counts``: index -> iterations;
    ``units``: index -> (name, loops with a coefficient that is not 0, place); ``persistent``:
    ``.needs contexts`` stands there; ``fail(place, message, expected)`` raises; ``warn(place,
    message)``.
    """

    items: list[Item]
    loops: dict[int, str]
    counts: dict[int, int]
    units: dict[int, tuple[str, list[int], Place]]
    persistent: bool
    fail: Callable[..., NoReturn]
    warn: Callable[[Place, str], object]

    def __post_init__(self) -> None:
        self.bodies: dict[int, list[Any]] = {}
        self._tree = self._nest()

    # Nesting

    def _nest(self):
        """The program as nested lists: items, and (loop, independent, list) for the body of a
        loop."""
        opened, blocks = [], [[]]
        for index, item in enumerate(self.items):
            name = (
                item.instruction.mnemonic if item.instruction is not None and not item.raw else None
            )
            if name in ("start_loop", "start_independent_loop"):
                self._start(item, opened, index, name)
                blocks.append([])
            elif name == "end_loop_or_jump_if_needed":
                self._end(item, opened, index)
                ended = opened.pop()
                body = blocks.pop()
                blocks[-1].append((ended.loop, ended.independent, body))
            else:
                blocks[-1].append(item)
        if opened:
            self.fail(
                self.items[opened[-1].start].place,
                f"loop {self._loop(opened[-1].loop)} is never closed",
                "end_loop",
            )
        return blocks[0]

    def _loop(self, index):
        return self.loops.get(index, f"$d{index}")

    def _start(self, item, opened, index, name):
        loop = item.values["loop"]
        if opened and opened[-1].independent:
            self.fail(
                item.place,
                f"loop {self._loop(loop)} starts inside independent loop "
                f"{self._loop(opened[-1].loop)}",
                "its end first",
            )
        if any(o.loop == loop for o in opened):
            self.fail(item.place, f"loop {self._loop(loop)} is nested in itself", "another loop")
        if len(opened) == _DEEPEST:
            self.fail(item.place, f"loops nested {_DEEPEST + 1} deep", f"at most {_DEEPEST}")
        opened.append(_Open(loop, index, name == "start_independent_loop"))

    def _end(self, item, opened, index):
        loop = item.values["loop"]
        if not opened:
            self.fail(
                item.place,
                f"end of loop {self._loop(loop)}, which was not started",
                "its start before it",
            )
        if opened[-1].loop != loop:
            self.fail(
                item.place,
                f"end of loop {self._loop(loop)} inside loop {self._loop(opened[-1].loop)}",
                f"end_loop {self._loop(opened[-1].loop)}",
            )
        body = index - opened[-1].start - 1
        before = self.bodies.setdefault(loop, body)
        if before != body:
            self.fail(
                item.place,
                f"body of loop {self._loop(loop)} has {body} instructions, an earlier one {before}",
                "another loop record",
            )

    def accesses(
        self,
        block: list[Any] | None = None,
        ordered: tuple[int, ...] = (),
        independent: int | None = None,
    ) -> Iterator[tuple[Item, tuple[int, ...], int | None]]:
        """Loads and stores: (item, indices of the ordered loops around it, of the independent one
        or ``None``)."""
        for entry in self._tree if block is None else block:
            if isinstance(entry, tuple):
                loop, alone, body = entry
                yield from self.accesses(
                    body, *((ordered, loop) if alone else ((*ordered, loop), None))
                )
            elif "apu" in entry.values and not entry.raw:
                yield entry, ordered, independent

    # Registers and address units

    def look(self) -> None:
        """Warns of statements that are likely mistakes."""
        used: dict[int, set[int | None]] = {}
        for item, ordered, independent in self.accesses():
            used.setdefault(item.values["apu"], set()).update((*ordered, independent))
        for unit, (name, loops, place) in self.units.items():
            never = [self._loop(k) for k in loops if unit in used and k not in used[unit]]
            if never:
                self.warn(
                    place,
                    f"address unit {name} has a coefficient of loop {', '.join(never)}, which "
                    f"never encloses its use",
                )
        self._walk_ordered(self._tree, [False] * 4)

    @staticmethod
    def _effects(block):
        """Instructions of a block without its loops: (item, registers read, register written or
        ``None``)."""
        for entry in block:
            if not isinstance(entry, tuple) and entry.instruction is not None and not entry.raw:
                read, written = sources(entry.instruction.mnemonic, entry.values)
                # A copy to itself does nothing.
                yield (
                    entry,
                    () if written is None and entry.instruction.mnemonic == "copy" else read,
                    written,
                )

    def _walk_ordered(self, block, private):
        """Propagates ``private``, the registers that may have private copies, through a block.
        Returns the state at its end."""
        for entry in block:
            if isinstance(entry, tuple):
                private = self._walk_loop(*entry, private)
            for item, read, written in self._effects([entry]):
                for r in read:
                    if private[r]:
                        self.warn(
                            item.place,
                            f"{TILES[r]} is read in ordered code after an independent loop "
                            f"wrote it: the uniform "
                            "copy is read",
                        )
                if written is not None:
                    private[written] = False
        return private

    def _walk_loop(self, loop, independent, body, private):
        """State after a loop's iterations; an independent loop is analysed as groups of one
        iteration."""
        count = self.counts[loop]
        if not count:
            return private
        begin = list(private)
        while True:
            end = (
                self._walk_body(body, list(begin), loop, count)
                if independent
                else self._walk_ordered(body, list(begin))
            )
            # The next iteration, or group, begins where the last one ended.
            joined = [a or b for a, b in zip(begin, end, strict=True)]
            if joined == begin or count == 1 or independent and self.persistent:
                return end
            begin = joined

    def _walk_body(self, block, private, loop, count):
        body = list(self._effects(block))
        # The next iteration finds the values that one leaves, unless it is of the same group.
        left = {written for _, _, written in body} if count > 1 else set()
        written_here = set()
        for item, read, written in body:
            for r in read:
                if not self.persistent and r not in written_here and (private[r] or r in left):
                    self.warn(
                        item.place,
                        self._carried(r, loop)
                        if r in left
                        else f"{TILES[r]} holds what an earlier independent loop wrote, context "
                        f"by context: the result depends on the "
                        "number of contexts, expected .needs contexts=N",
                    )
            if written is not None:
                moves = (
                    item.instruction.mnemonic == "load"
                    and loop in self.units.get(item.values["apu"], ("", ()))[1]
                )
                private[written] = moves or any(private[r] for r in read)
                written_here.add(written)
        return private

    def _carried(self, register, loop):
        return (
            f"{TILES[register]} is read before the body of loop {self._loop(loop)} has written "
            f"all of it, and may hold what another "
            f"iteration left: the result depends on the number of contexts, expected all of "
            f"{TILES[register]} written before, or "
            ".needs contexts=N"
        )
