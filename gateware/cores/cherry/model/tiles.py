# SPDX-License-Identifier: BSD-2-Clause
"""Tile registers with their uniform and private copies, and the semantics of each instruction on
them (specification, sections 4.1 to 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..tables import FRAC
from . import arithmetic, special
from .numbers import narrow, widen

__all__ = ["Tiles", "compute"]

INPUT, WEIGHTS, OUTPUT, ACC = range(4)

_ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": special.div,
    "pow": special.power,
    "relu": arithmetic.relu,
    "gtz": arithmetic.gtz,
    "exp": special.exp,
    "log": special.log,
}
_TWO = ("add", "sub", "mul", "div", "pow")


class Tiles:
    """Tile register file of the model: four registers, each with a uniform copy and ``contexts``
    private copies.

    Elements of ACC have ``acc_frac`` fraction bits, all others 9.

    Attributes
    ----------
    uniform : int64 array (4, 4, 4): register, row, column
    private : int64 array (4, contexts, 4, 4)
    copies : list of int, ``np[r]``: number of contexts that see their private copy
    """

    def __init__(self, contexts: int, acc_frac: int) -> None:
        self.acc_frac = acc_frac
        self.uniform = np.zeros((4, 4, 4), np.int64)
        self.private = np.zeros((4, contexts, 4, 4), np.int64)
        self.copies = [0] * 4

    def read(self, register: int, first: int, last: int, copies: Sequence[int]) -> np.ndarray:
        """Reads the tiles of contexts ``first`` to ``last`` - 1, shape (contexts, 4, 4); ``copies``
        says which are private."""
        seen = min(max(copies[register], first), last)
        shared = np.broadcast_to(self.uniform[register], (last - seen, 4, 4))
        return np.concatenate([self.private[register, first:seen], shared])

    def write_uniform(self, register: int, tile: np.ndarray) -> None:
        """Writes the uniform copy and drops all private copies."""
        self.uniform[register] = tile
        self.copies[register] = 0

    def write_private(self, register: int, first: int, tiles: np.ndarray) -> None:
        """Writes the private copies of contexts from ``first`` on; the caller updates
        ``copies``."""
        self.private[register, first : first + len(tiles)] = tiles

    def narrowed(self, register: int, tiles: np.ndarray) -> np.ndarray:
        """Converts tiles of ``register`` to elements."""
        return narrow(tiles, self.acc_frac) if register == ACC else tiles

    def widened(self, register: int, tiles: np.ndarray) -> np.ndarray:
        """Converts elements to tiles of ``register``."""
        return widen(tiles, self.acc_frac) if register == ACC else tiles


def compute(
    name: str, values: dict[str, int], tiles: Tiles, first: int, last: int, copies: Sequence[int]
) -> tuple[int, np.ndarray] | None:
    """Result of an instruction except load, store and loops, for contexts ``first`` to ``last`` - 1
    with private tiles as ``copies`` says: (register, tiles), or ``None`` if it has no result."""

    def read(register):
        return tiles.read(register, first, last, copies)

    frac = tiles.acc_frac
    if name == "matmul":
        # products[c, y, x, k] = INPUT[y, k] * WEIGHTS[k, x]
        return ACC, arithmetic.dot(
            read(INPUT)[:, :, None, :], read(WEIGHTS).swapaxes(1, 2)[:, None, :, :], read(ACC), frac
        )
    if name == "mulacc":
        return ACC, arithmetic.dot(
            read(INPUT)[..., None], read(WEIGHTS)[..., None], read(ACC), frac
        )
    if name in _TWO:
        return OUTPUT, _ELEMENTWISE[name](read(INPUT), read(WEIGHTS))
    if name in _ELEMENTWISE:
        return OUTPUT, _ELEMENTWISE[name](read(INPUT))
    if name in ("max", "sum"):
        return ACC, _reduce(name, values, read(OUTPUT), np.array(read(ACC)), frac)
    if name == "zero":
        return values["reg"], np.zeros((last - first, 4, 4), np.int64)
    if name == "copy" and values["src"] != values["dst"]:
        source, target = values["src"], values["dst"]
        return target, tiles.widened(target, tiles.narrowed(source, read(source)))
    return None


def _reduce(name, values, output, acc, frac):
    """New ACC after the reduction ``max`` or ``sum`` (section 4.2); ``output``, ``acc``: (contexts,
    4, 4)."""
    axis, count, target, keep = values["axis"], values["count"], values["target"], values["acc"]
    if axis == 1:
        # Along the rows is down the columns of the transposed tiles.
        return _reduce(
            name, {**values, "axis": 0}, output.swapaxes(1, 2), acc.swapaxes(1, 2), frac
        ).swapaxes(1, 2)
    old = acc[:, target, :]
    rows = output[:, :count, :]
    if axis == 0:
        acc[:, target, :] = (
            _sum(rows.swapaxes(1, 2), old if keep else None, frac)
            if name == "sum"
            else _maximum(rows.swapaxes(1, 2), old if keep else None, frac)
        )
    elif name == "sum":
        columns = _sum(rows.swapaxes(1, 2), None, FRAC)
        acc[:, target, 0] = _sum(columns, old[:, 0] if keep else None, frac)
    else:
        acc[:, target, 0] = _maximum(rows.reshape(len(rows), -1), old[:, 0] if keep else None, frac)
    return acc


def _sum(terms, old, frac):
    """Sum over the last axis, added to ``old``."""
    return arithmetic.dot(terms, 0x0FE00, old, frac)


def _maximum(terms, old, frac):
    if old is not None:
        terms = np.concatenate([terms, narrow(old, frac)[..., None]], axis=-1)
    return widen(arithmetic.maximum(terms, -1), frac)
