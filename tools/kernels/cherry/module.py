# SPDX-License-Identifier: BSD-2-Clause
"""Matrices, where they lie, and the steps of a module."""
from dataclasses import dataclass, replace

from .elementwise import ElementwiseOps
from .errors import KernelError
from .normalise import NormaliseOps
from .products import ProductOps
from .program import Program
from .reduce import ReduceOps

__all__ = ["Matrix", "Module"]

TILE = 4
#: Bytes of an element in main memory.
_BYTES = {"fp32": 4, "bf16": 2}


@dataclass(frozen=True)
class Matrix:
    """A matrix in the scratchpad, padded to whole tiles: ``rows`` x ``cols`` of it are meant.

    ``stride_y`` elements from row to row, ``stride_x`` from column to column; 0 repeats.
    """
    address: int
    rows: int
    cols: int
    stride_y: int
    stride_x: int = 1

    @property
    def shape(self):
        return self.rows, self.cols

    @property
    def transposed(self):
        """The same elements, rows and columns exchanged."""
        return replace(self, rows=self.cols, cols=self.rows, stride_y=self.stride_x, stride_x=self.stride_y)

    def broadcast(self, rows, cols):
        """Repeated to ``rows`` x ``cols``; a dimension of 1 may be repeated."""
        if (self.rows not in (1, rows)) or (self.cols not in (1, cols)):
            raise KernelError(f"a matrix of {self.rows}x{self.cols} cannot be repeated to {rows}x{cols}")
        return replace(self, rows=rows, cols=cols, stride_y=self.stride_y if self.rows == rows else 0,
                       stride_x=self.stride_x if self.cols == cols else 0)


def tiles(size):
    """Tiles that cover ``size`` elements."""
    return -(-size // TILE)


def divisor(number, limit):
    """The largest divisor of ``number`` that is at most ``limit``."""
    return max(k for k in range(1, min(number, limit) + 1) if number % k == 0)


class Module(ElementwiseOps, ProductOps, ReduceOps, NormaliseOps):
    """Steps of a program list, and the matrices that they work on.

    Matrices lie in the scratchpad row after row, at a pitch that is an odd multiple of four (every tile access then takes one cycle with 16
    banks), padded to whole tiles. Arrays in main memory lie from ``base`` on, C order.

    Parameters
    ----------
    params : dict
        Build parameters; ``log_mem`` and ``contexts`` count here.
    base : int
        Address in main memory of the first array, a multiple of 4.
    """
    def __init__(self, params, base=0x0010_0000):
        self.elements, self.contexts = 1 << params["log_mem"], params["contexts"]
        self.inputs, self.outputs = {}, {}
        self._main, self._free = base, 0
        self._programs, self._steps = [], []
        self._fills, self._constants = [], {}

    # Matrices

    def matrix(self, rows, cols, fill=None):
        """Room for a matrix in the scratchpad; ``fill``: text of a value for its padding (``-inf``), else 0."""
        if rows < 1 or cols < 1:
            raise KernelError(f"a matrix of {rows}x{cols} has no elements")
        pitch = TILE * (tiles(cols) | 1)
        size = pitch * TILE * tiles(rows)
        if self._free + size > self.elements:
            raise KernelError(f"a matrix of {rows}x{cols} takes {size} elements of the scratchpad, {self.elements - self._free} of "
                              f"{self.elements} are free")
        address, self._free = self._free, self._free + size
        if rows % TILE or cols % TILE or fill is not None:
            self._fills.append(f".fill {fill or '0.0'} {address} {TILE * tiles(rows)} {pitch} mem_pitch={pitch}")
        return Matrix(address, rows, cols, pitch)

    def constant(self, text):
        """A matrix of one element, of this value (``"1.0"``, ``"-inf"``), to be repeated."""
        if text not in self._constants:
            if self._free + 1 > self.elements:
                raise KernelError("no element of the scratchpad is free for a constant")
            self._constants[text] = Matrix(self._free, 1, 1, 0, 0)
            self._fills.append(f".fill {text} {self._free} 1 1")
            self._free += TILE
        return self._constants[text]

    def input(self, name, rows, cols, fmt="fp32", fill=None):
        """An array of main memory that is there before the run, as a matrix."""
        matrix = self.matrix(rows, cols, fill)
        self.inputs[name] = self._place(rows, cols, fmt), fmt, matrix
        return matrix

    def output(self, name, matrix, fmt="fp32"):
        """Keeps ``matrix`` as an array of main memory after the run."""
        self.outputs[name] = self._place(matrix.rows, matrix.cols, fmt), fmt, matrix

    def _place(self, rows, cols, fmt):
        if fmt not in _BYTES:
            raise KernelError(f"arrays are {' or '.join(_BYTES)}, not {fmt!r}")
        if cols * _BYTES[fmt] % 4:
            raise KernelError(f"rows of {cols} elements in {fmt} are no whole words; add a column or take fp32")
        address = self._main
        self._main += rows * cols * _BYTES[fmt] + 63 & ~63
        return address

    # Steps

    def program(self, persistent=0):
        """A new program, run as the next step."""
        found = Program(f"p{len(self._programs)}", persistent)
        self._programs.append(found)
        self._steps.append(found)
        return found

    def access(self, program, matrix, row=None, col=None, **coefficients):
        """An address unit for tiles of ``matrix``: loop ``row`` walks down by tiles, ``col`` along the rows."""
        walk = dict(coefficients)
        if row is not None:
            walk[row] = TILE * matrix.stride_y
        if col is not None:
            walk[col] = TILE * matrix.stride_x
        return program.unit(matrix.address, matrix.stride_x, matrix.stride_y, **walk)

    def source(self):
        """The assembly source."""
        lines = [line for program in self._programs for line in program.text()]
        if not self._steps:
            self.program()
            lines = self._programs[0].text()
        moves = [f".in {fmt} {address:#x} {m.address} {m.rows} {m.cols} mem_pitch={m.stride_y}" for address, fmt, m in self.inputs.values()]
        results = [f".out {fmt} {address:#x} {m.address} {m.rows} {m.cols} mem_pitch={m.stride_y} mem_step={m.stride_x}"
                   for address, fmt, m in self.outputs.values()]
        for number, step in enumerate(self._steps):
            lines.append(f".step {step.name}")
            if number == 0:
                lines += [*self._fills, *moves]
            if number == len(self._steps) - 1:
                lines += results
        return "\n".join(lines) + "\n"
