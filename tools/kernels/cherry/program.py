# SPDX-License-Identifier: BSD-2-Clause
"""Builds the text of one program: loops, address units, instructions."""

from contextlib import contextmanager

from ....gateware.cores.cherry.isa import SPECIAL
from ....gateware.cores.cherry.tables import FRAC

__all__ = ["ProgramText"]


class ProgramText:
    """Text of a program in the making.

    Parameters
    ----------
    name : str
    persistent : int
        Contexts whose private tiles live from loop to loop (``.needs contexts``); 0: the program is
        portable.
    acc_frac : int
        Fraction bits of ACC in the build.
    """

    def __init__(self, name, persistent=0, acc_frac=FRAC):
        self.name = name
        self._head = [f".needs contexts={persistent}"] if persistent else []
        self._head += [f".needs acc_frac={acc_frac}"] if acc_frac != FRAC else []
        self._body = []
        self._depth = 0
        self._units = {}
        self._loops = 0

    def loop(self, count):
        """Declares a loop record and gives its name."""
        name = f"l{self._loops}"
        self._loops += 1
        self._head.append(f".loop {name} {count}")
        return name

    def outer(self, count):
        """As :meth:`loop`; ``None`` where there is but one iteration, for which :meth:`ordered`
        needs no loop."""
        return self.loop(count) if count > 1 else None

    @staticmethod
    def along(loop, elements):
        """Coefficients of an address unit by a loop of :meth:`outer`: none where there is no such
        loop."""
        return {} if loop is None else {loop: elements}

    def unit(self, address, stride_x, stride_y, **coefficients):
        """Declares an address unit, or finds an equal one, and gives its name; ``coefficients``:
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
    def ordered(self, loop):
        """Iterations one after the other; ``None``: the only one there is."""
        if loop is None:
            yield
        else:
            yield from self._nest("start_loop", loop)

    @contextmanager
    def independent(self, loop):
        """Iterations in any order."""
        yield from self._nest("start_independent_loop", loop)

    def _nest(self, start, loop):
        self(f"{start} {loop}")
        self._depth += 1
        yield
        self._depth -= 1
        self(f"end_loop {loop}")

    @property
    def instructions(self):
        """Instructions so far."""
        return len(self._body)

    @property
    def special(self):
        """Whether it has instructions of the special-function unit."""
        return any(line.split()[0] in SPECIAL for line in self._body)

    def text(self):
        """The source lines."""
        return [f".program {self.name}", *self._head, *self._body]
