# SPDX-License-Identifier: BSD-2-Clause
"""Text builder of one program: loops, address units, instructions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....gateware.cores.cherry.isa import SPECIAL
from ....gateware.cores.cherry.tables import FRAC

__all__ = ["ProgramText"]


class ProgramText:
    """Text of a program under construction.

    Parameters
    ----------
    name : str
    persistent : int
        Contexts whose private tiles live from loop to loop (``.needs contexts``); 0: the program is
        portable.
    acc_frac : int
        Fraction bits of ACC in the build.
    """

    def __init__(self, name: str, persistent: int = 0, acc_frac: int = FRAC):
        self.name = name
        self._head = [f".needs contexts={persistent}"] if persistent else []
        self._head += [f".needs acc_frac={acc_frac}"] if acc_frac != FRAC else []
        self._body: list[str] = []
        self._depth = 0
        self._units: dict[Any, str] = {}
        self._loops = 0

    def loop(self, count: int) -> str:
        """Declares a loop record and returns its name."""
        name = f"l{self._loops}"
        self._loops += 1
        self._head.append(f".loop {name} {count}")
        return name

    def outer(self, count: int) -> str | None:
        """Declares a loop as :meth:`loop` does; returns ``None`` for a single iteration, for which
        :meth:`ordered` needs no loop."""
        return self.loop(count) if count > 1 else None

    @staticmethod
    def along(loop: str | None, elements: int) -> dict[str, int]:
        """Coefficients of an address unit along a loop of :meth:`outer`; empty if there is no
        loop."""
        return {} if loop is None else {loop: elements}

    def unit(self, address: int, stride_x: int, stride_y: int, **coefficients: int) -> str:
        """Declares an address unit, or reuses an equal one, and returns its name; ``coefficients``:
        loop -> elements."""
        terms = "".join(f" {loop}:{value}" for loop, value in coefficients.items() if value)
        text = f"{address} {stride_x} {stride_y}{terms}"
        if text not in self._units:
            self._units[text] = f"a{len(self._units)}"
            self._head.append(f".apu {self._units[text]} {text}")
        return self._units[text]

    def __call__(self, *lines):
        """Appends instructions."""
        self._body += ["  " * self._depth + line for line in lines]

    @contextmanager
    def ordered(self, loop: str | None) -> Iterator[None]:
        """Context manager of a sequential loop; ``None``: a single iteration without a loop."""
        if loop is None:
            yield
        else:
            yield from self._nest("start_loop", loop)

    @contextmanager
    def independent(self, loop: str) -> Iterator[None]:
        """Context manager of a loop whose iterations may run in any order."""
        yield from self._nest("start_independent_loop", loop)

    def _nest(self, start, loop):
        self(f"{start} {loop}")
        self._depth += 1
        yield
        self._depth -= 1
        self(f"end_loop {loop}")

    @property
    def instructions(self) -> int:
        """Number of instructions so far."""
        return len(self._body)

    @property
    def special(self) -> bool:
        """Whether it uses the special-function unit."""
        return any(line.split()[0] in SPECIAL for line in self._body)

    def text(self) -> list[str]:
        """The source lines."""
        return [f".program {self.name}", *self._head, *self._body]
