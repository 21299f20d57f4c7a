# SPDX-License-Identifier: BSD-2-Clause
"""Matrices, where they lie, and the steps of a module."""
from dataclasses import dataclass, replace

from .blocks import BlockOps
from .elementwise import ElementwiseOps
from .errors import KernelError
from .normalise import NormaliseOps
from .products import ProductOps
from .program import Program
from .reduce import ReduceOps
from .stored import FORMATS, Stored

__all__ = ["Matrix", "Module"]

TILE = 4
#: Bytes of an element in main memory.
_BYTES = {"fp32": 4, "bf16": 2}


@dataclass
class _Step:
    """A step of the list: its program, lines of its in and out list, whether these run beside other programs."""
    program: Program
    lines: list
    results: list
    prefetch: bool = False
    defer: bool = False


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


class Module(ElementwiseOps, ProductOps, ReduceOps, NormaliseOps, BlockOps):
    """Steps of a program list, and the matrices that they work on.

    Matrices lie in the scratchpad row after row, at a pitch that is an odd multiple of four (every tile access then takes one cycle with 16
    banks), padded to whole tiles. Arrays in main memory lie from ``base`` on, C order.

    Parameters
    ----------
    params : dict
        Build parameters; ``log_mem`` and ``contexts`` count here, and ``macs`` and ``banks`` where a product is cut into blocks.
    base : int
        Address in main memory of the first array, a multiple of 4.
    """
    def __init__(self, params, base=0x0010_0000):
        self.elements, self.contexts = 1 << params["log_mem"], params["contexts"]
        self.macs, self.banks = params["macs"], params["banks"]
        self.inputs, self.outputs = {}, {}
        self._main, self._free = base, 0
        self._programs, self._steps = [], []
        # The step at which matrices made from now on are filled: what works block by block before it uses their places.
        self._epoch, self._fills, self._moves, self._constants = 0, {}, {}, {}

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
            self._fill(f".fill {fill or '0.0'} {address} {TILE * tiles(rows)} {pitch} mem_pitch={pitch}")
        return Matrix(address, rows, cols, pitch)

    def constant(self, text):
        """A matrix of one element, of this value (``"1.0"``, ``"-inf"``), to be repeated."""
        if text not in self._constants:
            if self._free + 1 > self.elements:
                raise KernelError("no element of the scratchpad is free for a constant")
            self._constants[text] = Matrix(self._free, 1, 1, 0, 0)
            self._fill(f".fill {text} {self._free} 1 1")
            self._free += TILE
        return self._constants[text]

    def input(self, name, rows, cols, fmt="fp32", fill=None):
        """An array of main memory that is there before the run, as a matrix."""
        matrix = self.matrix(rows, cols, fill)
        address = self._place(rows, cols, fmt)
        self.inputs[name] = address, fmt, matrix
        self._moves.setdefault(self._epoch, []).append(f".in {fmt} {address:#x} {matrix.address} {rows} {cols} mem_pitch={matrix.stride_y}")
        return matrix

    def _fill(self, line):
        self._fills.setdefault(self._epoch, []).append(line)

    def output(self, name, matrix, fmt="fp32"):
        """Keeps ``matrix`` as an array of main memory after the run; one that lies there keeps its format."""
        if isinstance(matrix, Stored):
            if matrix.flipped:
                raise KernelError(f"output {name} is a transposed matrix in main memory; copy it first")
            self.outputs[name] = matrix.address, matrix.fmt, matrix
            return
        self.outputs[name] = self._place(matrix.rows, matrix.cols, fmt), fmt, matrix

    def _place(self, rows, cols, fmt):
        if fmt not in _BYTES:
            raise KernelError(f"arrays are {' or '.join(_BYTES)}, not {fmt!r}")
        if cols * _BYTES[fmt] % 4:
            raise KernelError(f"rows of {cols} elements in {fmt} are no whole words; add a column or take fp32")
        address = self._main
        self._main += rows * cols * _BYTES[fmt] + 63 & ~63
        return address

    # Matrices in main memory

    def stored(self, rows, cols, fmt="fp32"):
        """Room for a matrix that stays in main memory: fp32, bf16 or packed."""
        if rows < 1 or cols < 1:
            raise KernelError(f"a matrix of {rows}x{cols} has no elements")
        if fmt not in FORMATS:
            raise KernelError(f"matrices in main memory are {', '.join(FORMATS)}, not {fmt!r}")
        found = Stored(self._main, rows, cols, fmt)
        self._main += found.bytes + 63 & ~63
        return found

    def stored_input(self, name, rows, cols, fmt="fp32"):
        """A matrix in main memory that is there before the run."""
        found = self.stored(rows, cols, fmt)
        self.inputs[name] = found.address, fmt, found
        return found

    # Steps

    def _new_program(self, persistent=0):
        found = Program(f"p{len(self._programs)}", persistent)
        self._programs.append(found)
        return found

    def _append(self, program, lines, results, prefetch=False, defer=False):
        self._steps.append(_Step(program, lines, results, prefetch, defer))

    def program(self, persistent=0):
        """A new program, run as the next step."""
        found = self._new_program(persistent)
        self._append(found, [], [])
        return found

    def access(self, program, matrix, row=None, col=None, **coefficients):
        """An address unit for tiles of ``matrix``: loop ``row`` walks down by tiles, ``col`` along the rows."""
        walk = dict(coefficients)
        if row is not None:
            walk[row] = TILE * matrix.stride_y
        if col is not None:
            walk[col] = TILE * matrix.stride_x
        return program.unit(matrix.address, matrix.stride_x, matrix.stride_y, **walk)

    def _matrix_outputs(self):
        return [f".out {fmt} {address:#x} {m.address} {m.rows} {m.cols} mem_pitch={m.stride_y} mem_step={m.stride_x}"
                for address, fmt, m in self.outputs.values() if not isinstance(m, Stored)]

    def source(self):
        """The assembly source."""
        if len(self._steps) == self._epoch:
            # A step without instructions, for what is filled and moved last.
            if not self._steps or self._fills.get(self._epoch) or self._moves.get(self._epoch) or self._matrix_outputs():
                self.program()
        lines = [line for program in self._programs for line in program.text()]
        for number, step in enumerate(self._steps):
            lines.append(f".step {step.program.name}" + " prefetch" * step.prefetch + " defer" * step.defer)
            lines += [*self._fills.get(number, ()), *self._moves.get(number, ()), *step.lines, *step.results]
        lines += self._matrix_outputs()
        return "\n".join(lines) + "\n"
