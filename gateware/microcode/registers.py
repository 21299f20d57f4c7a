# SPDX-License-Identifier: BSD-2-Clause
"""Register allocation of microprograms. Pure Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .statement import Statement

__all__ = ["RegisterFile", "Registers"]


@dataclass(frozen=True)
class RegisterFile:
    """Register file of a machine. ``fixed``: name -> number of registers that the gateware uses;
    ``arrays``: name -> (number, entries).

    A variable gets a number of ``variables`` where it is first named, a constant one of
    ``constants`` (``None``: of ``variables`` as well). An index is OR'ed to an array's number,
    which is therefore a multiple of a power of two that its entries do not exceed.

    Raises
    ------
    ValueError
        An array's number is none.
    """

    size: int
    fixed: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, tuple[int, int]] = field(default_factory=dict)
    variables: Sequence[int] = ()
    constants: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for name, (number, entries) in self.arrays.items():
            multiple = 1 << (entries - 1).bit_length()
            if number % multiple:
                raise ValueError(
                    f"Array {name} of {entries} entries has number {number}, expected a "
                    f"multiple of {multiple}"
                )


class Registers:
    """Register allocation of one microprogram; ``names``: name -> number, ``values``: initial
    contents of each register after configuration."""

    def __init__(
        self, file: RegisterFile, constants: Mapping[str, int], arrays: Mapping[str, Sequence[int]]
    ) -> None:
        self._file = file
        #: First reading statement of each register: (name, statement).
        self._read: dict[int, tuple[str, Statement]] = {}
        self._written: set[int] = set()
        self._fixed: set[int] = set()
        self.names = file.fixed | {name: number for name, (number, _) in file.arrays.items()}
        self.values = [0] * file.size
        self._variables = list(file.variables)
        self._constants = self._variables if file.constants is None else list(file.constants)
        for name, value in constants.items():
            self._constant(name, value, None)
        for name, given in arrays.items():
            number, count = file.arrays[name]
            if len(given) > count:
                raise ValueError(f"Array {name} has {count} entries, not {len(given)}")
            self.values[number : number + len(given)] = given

    def number(self, name: str, statement: Statement, written: bool = False) -> int:
        """Number of a register; a variable or constant (``#n``) is allocated on first use."""
        if name not in self.names:
            if name.startswith("#"):
                self._constant(name, int(name[1:]), statement)
            elif not self._file.variables:
                raise statement.error(
                    f"No register {name!r} for {statement}, expected one of {', '.join(self.names)}"
                )
            else:
                self.names[name] = self._next(self._variables, name, statement)
        number = self.names[name]
        if written and number in self._fixed:
            raise statement.error(
                f"Nothing can be stored in {statement}: {name} is a constant, expected a register"
            )
        if written:
            self._written.add(number)
        elif not name.startswith("#"):
            self._read.setdefault(number, (name, statement))
        return number

    def entry(self, name: str, entry: int, statement: Statement) -> int:
        """Number of an entry of an array."""
        number, count = self._file.arrays.get(name, (0, 0))
        if not 0 <= entry < count:
            raise statement.error(
                f"No array {name!r} with entry {entry} for {statement}, expected one of "
                f"{', '.join(f'{n}.0 to {n}.{c - 1}' for n, (_, c) in self._file.arrays.items())}"
            )
        return number + entry

    def alias(self, name: str, other: str, statement: Statement) -> None:
        """Defines ``name`` as another name of variable ``other``."""
        if name in self.names:
            raise statement.error(f"Variable {name} has a place, not that of {other}")
        if other not in self.names:
            self.names[other] = self._next(self._variables, other, statement)
        self.names[name] = self.names[other]

    def check_written(self) -> None:
        """Raises an error for variables that are read but never written, which indicates a misspelt
        name."""
        for number, (name, statement) in self._read.items():
            if number in self._file.variables and number not in self._written:
                raise statement.error(f"Variable {name} in {statement} is never written")

    def _constant(self, name, value, statement):
        self.names[name] = self._next(self._constants, name, statement)
        self.values[self.names[name]] = value
        self._fixed.add(self.names[name])

    def _next(self, free, name, statement):
        if not free:
            message = f"No register is left for {name}"
            raise statement.error(message) if statement else ValueError(message)
        return free.pop(0)
