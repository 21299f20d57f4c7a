# SPDX-License-Identifier: BSD-2-Clause
"""Padding of matrices in the scratchpad up to whole tiles: its contents are tracked at compile
time, and cleared before a reader that needs another value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....gateware.cores.cherry.asm.structure import sources
from ....gateware.cores.cherry.isa import OUTPUT
from ....gateware.cores.cherry.model.tiles import Tiles, compute
from ....gateware.cores.cherry.operands import TILE as TILE_NAMES
from ....gateware.cores.cherry.operands import TILES
from ....gateware.cores.cherry.tables import FRAC
from ..inputs import KernelError

if TYPE_CHECKING:
    from .base import ModuleBase
    from .matrix import Matrix
    from .stored import Stored

__all__ = ["LOWEST", "ZERO", "Area", "clearing", "left_by", "read_part"]

#: Patterns that readers ask for: 0 changes no sum, minus infinity no maximum.
ZERO, LOWEST = 0, 0x3FE00
#: Elements along a tile.
_SIDE = 4
_TEXT = {ZERO: "0.0", LOWEST: "-inf"}
#: Instructions that work on each element alone: those of a tile's padding stay there.
_EACH = ("mulacc", "add", "sub", "mul", "div", "pow", "relu", "gtz", "exp", "log", "copy", "zero")


@dataclass(eq=False)
class Area:
    """Storage that a matrix and all views of it share, in the scratchpad or in main memory.

    ``owner``: its module, ``None`` for a place that was chosen by hand; ``written``: something is
    there; ``home``: the matrix as it lies; ``padding``: pattern of all elements between it and the
    border of its tiles, ``None``: unknown; ``everywhere``: that of all of a constant. Of matrices
    that were placed by hand over others each knows what was done through it alone.
    """

    owner: ModuleBase | None = None
    written: bool = True
    home: Matrix | None = None
    padding: int | None = None
    everywhere: int | None = None


def clearing(matrix: Matrix, value: int = ZERO) -> list[str]:
    """Lines of an in list that write ``value`` into the padding of ``matrix``."""
    rows, cols = (size + -size % _SIDE for size in matrix.shape)
    step = f"mem_pitch={matrix.stride_y}" + (
        f" mem_step={matrix.stride_x}" if matrix.stride_x != 1 else ""
    )
    lines = []
    if cols > matrix.cols:
        lines.append(
            f".fill {_TEXT[value]} {matrix.address + matrix.cols * matrix.stride_x} {rows} "
            f"{cols - matrix.cols} {step}"
        )
    if rows > matrix.rows:
        lines.append(
            f".fill {_TEXT[value]} {matrix.address + matrix.rows * matrix.stride_y} "
            f"{rows - matrix.rows} {cols} {step}"
        )
    return lines


def read_part(text: str) -> tuple[str, dict[str, int]]:
    """Parses an instruction of a chain: (mnemonic, fields)."""
    name, *operands = text.replace(",", " ").split() or [""]
    name = name.lower()
    if name not in _EACH:
        raise KernelError(
            f"{text!r} is no instruction of a chain; there are {', '.join(_EACH)}, and pairs "
            f"(register, matrix) to load"
        )
    fields = {"copy": ("dst", "src"), "zero": ("reg",)}.get(name, ())
    numbers = {
        **{key: k for k, key in enumerate(TILES)},
        **{f"{TILE_NAMES.prefix}{k}": k for k in range(len(TILES))},
    }
    if len(operands) != len(fields) or any(o not in numbers for o in operands):
        raise KernelError(
            f"{text!r}: {name} takes {' and '.join(fields) or 'no operands'}"
            + f", of {', '.join(TILES)}" * bool(fields)
        )
    return name, {field: numbers[operand] for field, operand in zip(fields, operands, strict=True)}


def left_by(
    parts: Sequence[str | tuple[str, Matrix | Stored]],
    padding: Callable[[Matrix | Stored], int | None],
    acc_frac: int = FRAC,
) -> int | None:
    """Bit pattern that a chain leaves in the padding of its result, ``None`` if it is not known.

    ``padding``: matrix -> pattern that a load of it finds there. The instructions are worked out as
    the core does it.
    """
    tiles, known, loaded = Tiles(1, acc_frac), [False] * 4, [False] * 4
    for part in parts:
        if isinstance(part, str):
            name, values = read_part(part)
            read, written = sources(name, values)
            missing = [TILES[r] for r in read if not loaded[r]]
            if missing:
                raise KernelError(
                    f"{part!r} reads {missing[0]}, which nothing before it in the chain fills"
                )
            if written is None:
                continue
            known[written] = all(known[r] for r in read)
            if known[written]:
                result = compute(name, values, tiles, 0, 1, [0] * 4)
                assert result is not None  # the instruction writes a register
                register, found = result
                tiles.write_uniform(register, found[0])
        else:
            written, pattern = TILES.index(part[0]), padding(part[1])
            known[written] = pattern is not None
            if pattern is not None:
                tile = np.full((_SIDE, _SIDE), pattern)
                tiles.write_uniform(written, tiles.widened(written, tile))
        loaded[written] = True
    if not loaded[OUTPUT]:
        raise KernelError("no part of the chain leaves OUTPUT")
    return int(tiles.uniform[OUTPUT][0, 0]) if known[OUTPUT] else None
