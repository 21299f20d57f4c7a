# SPDX-License-Identifier: BSD-2-Clause
"""Module: placement of matrices, and the list of program steps that work on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....gateware.cores.cherry.asm.decimals import element
from ....gateware.cores.cherry.tables import INF, NAN
from ..inputs import KernelError, check_name, check_whole
from .blocks import BlockOps
from .elementwise import ElementwiseOps
from .matrix import TILE, Matrix, tiles
from .normalise import NormaliseOps
from .operands import operands
from .padding import Area, clearing
from .products import ProductOps
from .program import ProgramText
from .reduce import ReduceOps
from .stored import FORMATS, Stored
from .values import value_text

__all__ = ["Matrix", "Module"]

#: Bytes of an element in main memory.
_BYTES = {"fp32": 4, "bf16": 2}
#: Bytes that addresses of main memory reach, and steps of a list.
_MOST_BYTES, _MOST_STEPS = 1 << 32, 65535
#: What a module is made for.
_PARAMS = ("log_mem", "contexts", "macs", "banks", "sfu_lanes", "imem", "acc_frac")
#: Numbers that are no decimals.
_SPECIAL = {"inf": INF, "-inf": INF | 1 << 17, "nan": NAN}


@dataclass
class _Step:
    """A step of the list: its program, lines of its in and out list, whether these run beside other
    programs."""

    program: ProgramText
    lines: list
    results: list
    prefetch: bool = False
    defer: bool = False


def _pattern(text):
    """The element that a number's text is."""
    return _SPECIAL[text] if text in _SPECIAL else element(text)


class Module(ElementwiseOps, ProductOps, ReduceOps, NormaliseOps, BlockOps):
    """Program list under construction, and the matrices that it works on.

    Matrices lie in the scratchpad row after row, at a pitch that is an odd multiple of four (every
    tile access then takes one cycle with 16 banks), padded to whole tiles. Arrays in main memory
    lie from ``base`` on, C order.

    Parameters
    ----------
    params : dict
        Build parameters, as ``SPACE.resolve`` gives them; ``macs`` and ``banks`` count where a
        product is cut into blocks.
    base : int
        Address in main memory of the first array, a multiple of 4.
    """

    def __init__(self, params: Mapping[str, Any], base: int = 0x0010_0000):
        missing = [name for name in _PARAMS if not isinstance(params, dict) or name not in params]
        if missing:
            raise KernelError(
                f"params must be those of a build of Cherry; {', '.join(missing)} is not there"
            )
        if check_whole("base", base, 0) % 4:
            raise KernelError(f"base must be a multiple of 4, not {base:#x}")
        self.elements, self.contexts = 1 << params["log_mem"], params["contexts"]
        self.macs, self.banks = params["macs"], params["banks"]
        self.sfu_lanes, self.imem, self.acc_frac = (
            params["sfu_lanes"],
            params["imem"],
            params["acc_frac"],
        )
        #: Where arrays begin in main memory.
        self.base = base
        self.inputs: dict[str, tuple[Any, ...]] = {}
        self.outputs: dict[str, tuple[Any, ...]] = {}
        self._main, self._free = base, 0
        self._programs: list[ProgramText] = []
        self._steps: list[_Step] = []
        # The step at which matrices made from now on are filled: what works block by block before
        # it uses their places.
        self._epoch = 0
        self._fills: dict[int, list[str]] = {}
        self._moves: dict[int, list[str]] = {}
        self._constants: dict[str, Matrix] = {}

    # Matrices

    def matrix(self, rows: int, cols: int, fill: float | str | None = None) -> Matrix:
        """Allocates a matrix in the scratchpad; ``fill``: a number (or ``"-inf"``) that it holds,
        padding included, until it is written; without ``fill`` the padding is 0, and the matrix
        must be written before it is read."""
        rows, cols = self._shape(rows, cols)
        value = "0.0" if fill is None else value_text(fill, "fill")
        pitch = TILE * (tiles(cols) | 1)
        size = pitch * TILE * tiles(rows)
        if self._free + size > self.elements:
            raise KernelError(
                f"a matrix of {rows}x{cols} takes {size} elements of the scratchpad, "
                f"{self.elements - self._free} of "
                f"{self.elements} are free"
            )
        address, self._free = self._free, self._free + size
        if rows % TILE or cols % TILE or fill is not None:
            self._fill(f".fill {value} {address} {TILE * tiles(rows)} {pitch} mem_pitch={pitch}")
        found = Matrix(
            address, rows, cols, pitch, area=Area(self, fill is not None, padding=_pattern(value))
        )
        found.area.home = found
        return found

    @staticmethod
    def _shape(rows, cols):
        rows, cols = check_whole("rows", rows, 0), check_whole("cols", cols, 0)
        if rows < 1 or cols < 1:
            raise KernelError(f"a matrix of {rows}x{cols} has no elements")
        return rows, cols

    def constant(self, value: float | str) -> Matrix:
        """A one-element matrix of this value (a number or its text, ``"-inf"``), to be
        broadcast."""
        text = value_text(value, "a constant")
        if text not in self._constants:
            if self._free + 1 > self.elements:
                raise KernelError("no element of the scratchpad is free for a constant")
            self._constants[text] = Matrix(
                self._free, 1, 1, 0, 0, Area(self, everywhere=_pattern(text))
            )
            self._fill(f".fill {text} {self._free} 1 1")
            self._free += TILE
        return self._constants[text]

    def input(
        self, name: str, rows: int, cols: int, fmt: str = "fp32", fill: float | str | None = None
    ) -> Matrix:
        """Declares an input array in main memory and loads it as a matrix; ``fill``: initial value
        of its padding."""
        self._new_input(name)
        rows, cols = self._shape(rows, cols)
        self._check_format(cols, fmt)
        matrix = self.matrix(rows, cols, fill)
        address = self._place(rows, cols, fmt)
        matrix.area.written = True
        self.inputs[name] = address, fmt, matrix
        self._moves.setdefault(self._epoch, []).append(
            f".in {fmt} {address:#x} {matrix.address} {rows} {cols} mem_pitch={matrix.stride_y}"
        )
        return matrix

    def _fill(self, line):
        self._fills.setdefault(self._epoch, []).append(line)

    def _new_input(self, name):
        check_name("input", name)
        if name in self.inputs:
            raise KernelError(f"input {name}: there is one of this name")

    def output(self, name: str, matrix: Matrix | Stored, fmt: str | None = None) -> None:
        """Declares ``matrix`` as an output array in main memory (fp32, or ``fmt``); a matrix in
        main memory keeps its format."""
        check_name("output", name)
        if name in self.outputs:
            raise KernelError(f"output {name}: there is one of this name")
        operands(self, f"output {name}", matrix)
        self.holding((matrix, None))
        if isinstance(matrix, Stored):
            if matrix.flipped:
                raise KernelError(
                    f"output {name} is a transposed matrix in main memory; copy it first"
                )
            if fmt not in (None, matrix.fmt):
                raise KernelError(f"output {name} lies in main memory in {matrix.fmt}, not {fmt}")
            self.outputs[name] = matrix.address, matrix.fmt, matrix
            return
        fmt = "fp32" if fmt is None else fmt
        self._check_format(matrix.cols, fmt)
        self.outputs[name] = self._place(matrix.rows, matrix.cols, fmt), fmt, matrix

    @staticmethod
    def _check_format(cols, fmt):
        if fmt not in _BYTES:
            raise KernelError(f"arrays are {' or '.join(_BYTES)}, not {fmt!r}")
        if cols * _BYTES[fmt] % 4:
            raise KernelError(
                f"rows of {cols} elements in {fmt} are no whole words; add a column or take fp32"
            )

    def _place(self, rows, cols, fmt):
        return self._take(rows * cols * _BYTES[fmt])

    def _take(self, size):
        """The address of ``size`` bytes of main memory that are free until now."""
        address, end = self._main, self._main + (size + 63 & ~63)
        if end > _MOST_BYTES:
            raise KernelError(
                f"arrays reach to {end:#x}, beyond the 4 GiB that addresses of main memory have"
            )
        self._main = end
        return address

    # Matrices in main memory

    def stored(self, rows: int, cols: int, fmt: str = "fp32") -> Stored:
        """Allocates a matrix in main memory: fp32, bf16 or packed."""
        rows, cols = self._shape(rows, cols)
        if fmt not in FORMATS:
            raise KernelError(f"matrices in main memory are {', '.join(FORMATS)}, not {fmt!r}")
        found = Stored(self._main, rows, cols, fmt, area=Area(self, False))
        self._take(found.bytes)
        return found

    def stored_input(self, name: str, rows: int, cols: int, fmt: str = "fp32") -> Stored:
        """Declares an input matrix that stays in main memory."""
        self._new_input(name)
        found = self.stored(rows, cols, fmt)
        found.area.written = True
        self.inputs[name] = found.address, fmt, found
        return found

    @property
    def special(self) -> bool:
        """Whether its programs need the special-function unit."""
        return any(program.special for program in self._programs)

    @property
    def end(self) -> int:
        """Byte address after the last array in main memory."""
        return self._main

    # Steps

    def _new_program(self, persistent=0):
        found = ProgramText(f"p{len(self._programs)}", persistent, self.acc_frac)
        self._programs.append(found)
        return found

    def _append(self, program, lines, results, prefetch=False, defer=False):
        self._steps.append(_Step(program, lines, results, prefetch, defer))

    @staticmethod
    def holding(*reads: tuple[Matrix | Stored, int | None]) -> None:
        """Raises KernelError for a pair (matrix, required padding pattern; ``None``: any) that
        cannot be read so."""
        for matrix, needed in reads:
            if not matrix.area.written:
                raise KernelError(
                    f"a matrix of {matrix.rows}x{matrix.cols} is read before anything is "
                    f"written to it"
                )
            if (
                needed is not None
                and isinstance(matrix, Matrix)
                and matrix.padding != needed
                and (matrix.runs_on or matrix.area.everywhere is not None)
            ):
                raise KernelError(
                    f"a repeated matrix of {matrix.rows}x{matrix.cols} has no padding of its "
                    f"own; copy it first"
                )

    def program(
        self,
        persistent: int = 0,
        *,
        reads: Sequence[tuple[Matrix, int | None]],
        writes: Sequence[tuple[Matrix, int | None]],
    ) -> ProgramText:
        """Appends a new program as the next step.

        ``reads``: pairs (matrix, pattern that its padding must hold, ``None``: any); it is filled
        before the program where it holds another. ``writes``: pairs (matrix, pattern that is in its
        padding afterwards, ``None``: unknown).
        """
        self.holding(*reads)
        for matrix, _ in (*reads, *writes):
            last = matrix.address + sum(
                (TILE * tiles(size) - 1) * stride
                for size, stride in zip(
                    matrix.shape, (matrix.stride_y, matrix.stride_x), strict=True
                )
            )
            if last >= self.elements:
                raise KernelError(
                    f"a matrix of {matrix.rows}x{matrix.cols} reaches to element {last}, the "
                    f"scratchpad has {self.elements}"
                )
        for matrix, _ in writes:
            if matrix.repeated:
                raise KernelError(
                    "a result cannot be written to a constant or to a matrix that is repeated"
                )
        fills = []
        for matrix, needed in reads:
            if needed is not None and matrix.padding != needed:
                fills += clearing(matrix.area.home or matrix, needed)
                matrix.area.padding = needed
        for matrix, left in writes:
            matrix.area.written, matrix.area.padding = True, left
        found = self._new_program(persistent)
        self._append(found, fills, [])
        return found

    def access(
        self,
        program: ProgramText,
        matrix: Matrix,
        row: str | None = None,
        col: str | None = None,
        **coefficients: int,
    ) -> str:
        """Declares an address unit over the tiles of ``matrix``: loop ``row`` walks down by tiles,
        ``col`` along the rows."""
        walk = dict(coefficients)
        if row is not None:
            walk[row] = TILE * matrix.stride_y
        if col is not None:
            walk[col] = TILE * matrix.stride_x
        return program.unit(matrix.address, matrix.stride_x, matrix.stride_y, **walk)

    def _matrix_outputs(self):
        return [
            (
                f".out {fmt} {address:#x} {m.address} {m.rows} {m.cols} mem_pitch={m.stride_y} "
                f"mem_step={m.stride_x}"
            )
            for address, fmt, m in self.outputs.values()
            if not isinstance(m, Stored)
        ]

    def _check_sizes(self):
        for program in self._programs:
            if program.instructions > self.imem:
                raise KernelError(
                    f"an operation takes {program.instructions} instructions, this build has "
                    f"room for {self.imem} (imem)"
                )
        if len(self._steps) >= _MOST_STEPS:
            raise KernelError(
                f"{len(self._steps)} steps and one for what is moved last, a list holds "
                f"{_MOST_STEPS}"
            )

    def source(self) -> str:
        """The assembly source."""
        self._check_sizes()
        if len(self._steps) == self._epoch:
            # A step without instructions, for what is filled and moved last.
            if (
                not self._steps
                or self._fills.get(self._epoch)
                or self._moves.get(self._epoch)
                or self._matrix_outputs()
            ):
                self.program(reads=(), writes=())
        lines = [line for program in self._programs for line in program.text()]
        for number, step in enumerate(self._steps):
            lines.append(
                f".step {step.program.name}" + " prefetch" * step.prefetch + " defer" * step.defer
            )
            lines += [
                *self._fills.get(number, ()),
                *self._moves.get(number, ()),
                *step.lines,
                *step.results,
            ]
        lines += self._matrix_outputs()
        return "\n".join(lines) + "\n"
