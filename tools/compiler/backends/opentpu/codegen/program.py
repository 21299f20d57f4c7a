# SPDX-License-Identifier: BSD-2-Clause
"""Program builder with one method per instruction, and scheduling of weight reads (specification,
sections 3 and 10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quintet.gateware.cores.opentpu.isa import CFG_NAMES, ISA

__all__ = [
    "DIAGONAL",
    "FUNCTIONS",
    "RW",
    "Program",
    "Tiles",
    "Word",
    "array_time",
    "schedule_weights",
    "split",
]

#: Name of an activation -> field ``func``.
FUNCTIONS = {"none": 0, "relu": 1, "sigmoid": 2}

_OP = ISA.opcodes

_NAMES = {number: name for name, number in _OP.items()}

#: Opcode of a weight read.
RW = _OP["RW"]

#: Flag D of a weight read: memory holds the tile's diagonal alone, a row of n bytes.
DIAGONAL = 1 << 6


@dataclass(frozen=True)
class Word:
    """One instruction word by its fields; ``tile`` is the number of the weight tile of an MMC.S
    whose RW is not yet placed; the RW must follow word number ``after``, which writes the tile."""

    opcode: int
    flags: int = 0
    length: int = 0
    addr: int = 0
    ub: int = 0
    tile: int | None = None
    after: int = -1

    @property
    def count(self) -> int:
        """Number of vectors that the instruction processes."""
        return self.length or 256

    def tile_bytes(self, n: int) -> int:
        """Bytes of main memory that a RW reads in an array of ``n`` x ``n``."""
        return n if self.flags & DIAGONAL else n * n

    @property
    def mnemonic(self) -> str:
        """Mnemonic of a legal word."""
        return _NAMES[self.opcode]

    def pack(self) -> bytes:
        """Encodes the word in 14 bytes, big-endian."""
        return (
            self.opcode << 104 | self.flags << 96 | self.length << 88 | self.addr << 24 | self.ub
        ).to_bytes(14, "big")

    @classmethod
    def unpack_all(cls, program: bytes) -> list[Word]:
        """Decodes the words of a program in its binary form."""
        words = (program[at : at + 14] for at in range(0, len(program), 14))
        return [
            cls(w[0], w[1], w[2], int.from_bytes(w[3:11], "big"), int.from_bytes(w[11:], "big"))
            for w in words
        ]

    def text(self) -> str:
        """Assembly text of a legal word, in the canonical form."""
        name, flags = self.mnemonic, self.flags
        if name == "MMC":
            letters = "S" * (flags & 1) + "O" * (flags >> 2 & 1)
            letters += "C" * (flags >> 1 & 1) + "B" * (flags >> 7 & 1)
        elif name == "ACT":
            letters = "R" * (flags >> 3 & 1) + "Q" * (flags >> 4 & 1) + "P" * (flags >> 5 & 1)
        elif name == "RW":
            letters = "D" if flags & DIAGONAL else ""
        else:
            letters = "I" if name == "SYNC" and flags & 1 else ""
        if name in ("WHM", "MMC"):
            operands = (self.ub, self.addr, self.count)
        elif name in ("ACT", "RHM"):
            operands = (self.addr, self.ub, self.count)
        elif name == "CFG":
            operands = (CFG_NAMES[self.ub] if self.ub < len(CFG_NAMES) else self.ub, self.addr)
        else:
            operands = (self.addr,) if name == "RW" or name == "SYNC" and self.addr else ()
        return f"{name}{'.' if letters else ''}{letters} {', '.join(map(str, operands))}".strip()


def split(count: int, most: int = 256) -> list[tuple[int, int]]:
    """Splits ``count`` vectors into pairs (offset, length) of at most ``most``."""
    return [(at, min(most, count - at)) for at in range(0, count, most)]


class Program:
    """An instruction list with one append method per mnemonic; operands are in the assembler's
    order.

    Attributes
    ----------
    words : list of Word
    """

    def __init__(self, words: Iterable[Word] = ()):
        self.words = list(words)

    def _add(self, mnemonic, flags=0, length=0, addr=0, ub=0, tile=None, after=-1):
        if not 0 <= length <= 256:
            raise ValueError(f"{mnemonic}: length must be 1 to 256, not {length}")
        self.words.append(Word(_OP[mnemonic], flags, length & 0xFF, addr, ub, tile, after))

    def nop(self, count: int = 1) -> None:
        """Appends ``count`` NOPs."""
        for _ in range(count):
            self._add("NOP")

    def whm(self, ub: int, host: int, count: int) -> None:
        """Appends WHM: unified buffer to host memory, ``count`` vectors."""
        for at, length in split(count):
            self._add("WHM", 0, length, host + at, ub + at)

    def rhm(self, host: int, ub: int, count: int) -> None:
        """Appends RHM: host memory to unified buffer, ``count`` vectors."""
        for at, length in split(count):
            self._add("RHM", 0, length, host + at, ub + at)

    def rw(self, tile: int, *, diagonal: bool = False) -> None:
        """Appends RW: reads a weight tile; with ``diagonal`` row ``tile`` of weight memory as the
        diagonal of a tile."""
        self._add("RW", DIAGONAL if diagonal else 0, addr=tile)

    def mmc(
        self,
        ub: int,
        acc: int,
        count: int,
        *,
        switch: bool = False,
        overwrite: bool = False,
        convolve: bool = False,
        bias: bool = False,
        tile: int | None = None,
        after: int = -1,
    ) -> None:
        """Appends MMC, at most 256 vectors. ``tile``: load this weight tile (sets S);
        :func:`schedule_weights` inserts its RW, after word ``after``."""
        flags = int(switch or tile is not None) | int(convolve) << 1 | int(overwrite) << 2
        flags |= int(bias) << 7
        self._add("MMC", flags, count, acc, ub, tile, after)

    def act(
        self, acc: int, ub: int, count: int, func: str | int = "none", *, pool: bool = False
    ) -> None:
        """Appends ACT, at most 256 vectors; ``func`` is a key of :data:`FUNCTIONS` or the field's
        value."""
        self._add(
            "ACT",
            (func if isinstance(func, int) else FUNCTIONS[func]) << 3 | int(pool) << 5,
            count,
            acc,
            ub,
        )

    def sync(self, tag: int = 0, *, interrupt: bool = False) -> None:
        """Appends SYNC: sets the tag register and, with ``interrupt``, requests an interrupt."""
        self._add("SYNC", int(interrupt), addr=tag)

    def cfg(self, register: str | int, value: int) -> None:
        """Appends CFG: writes a configuration register."""
        self._add(
            "CFG",
            addr=value,
            ub=CFG_NAMES.index(register) if isinstance(register, str) else register,
        )

    def hlt(self) -> None:
        """Appends HLT: ends the program."""
        self._add("HLT")

    def scheduled(self, ahead: int = 2, beside: int = 0) -> Program:
        """Returns the program with every RW hoisted ``ahead`` tiles before the MMC.S that uses it
        (:func:`schedule_weights`)."""
        return Program(schedule_weights(self.words, ahead, beside))

    def data(self) -> bytes:
        """Encodes the program in its binary form."""
        if any(word.tile is not None for word in self.words):
            raise ValueError("this program has tiles without RW; call scheduled() first")
        return b"".join(word.pack() for word in self.words)

    def text(self, comment: str = "") -> str:
        """Assembly source, preceded by ``comment``."""
        head = "".join(f"# {line}\n" for line in comment.splitlines())
        return head + "".join(word.text() + "\n" for word in self.words)


class Tiles:
    """Deduplicated weight tiles, numbered from ``first`` on."""

    def __init__(self, first: int = 0):
        self.first = first
        self._numbers: dict[bytes, int] = {}
        self.list: list[np.ndarray] = []

    def number(self, tile: np.ndarray) -> int:
        """Number of a tile int8 [n, n], which is added on first use."""
        key = tile.tobytes()
        if key not in self._numbers:
            self._numbers[key] = self.first + len(self.list)
            self.list.append(tile)
        return self._numbers[key]


def schedule_weights(words: Iterable[Word], ahead: int = 2, beside: int = 0) -> list[Word]:
    """Inserts an RW for each ``tile``, hoisted ``ahead`` tiles before its MMC.S.

    ``beside``: in front of an RHM or WHM so many more are requested, where an engine has one
    transfer at a time and an RW would wait for the whole of it. The queue must hold ``ahead`` + 1
    tiles, or ``ahead`` + ``beside`` if that is more.
    """
    tiles = [(word.tile, word.after) for word in words if word.tile is not None]
    result, asked, taken = [], 0, 0
    for number, word in enumerate(words):
        moves = word.opcode in (_OP["RHM"], _OP["WHM"]) and taken
        if word.tile is not None or moves:
            while (
                asked < min(taken + ahead + (beside if moves else 1), len(tiles))
                and tiles[asked][1] < number
            ):
                result.append(Word(RW, addr=tiles[asked][0]))
                asked += 1
        if word.tile is not None:
            taken += 1
            word = Word(word.opcode, word.flags, word.length, word.addr, word.ub)
        result.append(word)
    return result


def array_time(words: Iterable[Word], n: int) -> int:
    """Cycles T_a of the matrix array (section 10.1): the sum over all MMC of L + 1, with at least
    2n + 3 from an MMC with S to the next (or the end)."""
    total, segment, switched = 0, 0, False
    for word in words:
        if word.opcode != _OP["MMC"]:
            continue
        if word.flags & 1:
            total += max(segment, 2 * n + 3) if switched else segment
            segment, switched = 0, True
        segment += word.count + 1
    return total + (max(segment, 2 * n + 3) if switched else segment)
