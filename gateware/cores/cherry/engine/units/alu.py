# SPDX-License-Identifier: BSD-2-Clause
"""Vector ALU of a build: processes whole tiles or rows per cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....isa.parameters import Params
from ..ops import tile_elements
from .alurows import AluRows
from .alutile import AluTiles

if TYPE_CHECKING:
    from amaranth.lib import wiring


__all__ = ["Alu", "alu_latency"]


def _kind(params):
    return AluTiles if tile_elements(params) == 16 else AluRows


def Alu(*, params: Params, family: str | None = None) -> wiring.Component:  # noqa: N802
    """Vector ALU for words of the tile file: whole tiles (16 lanes) or rows (4 lanes), independent
    of ``alu_lanes``."""
    return _kind(params)(params=params, family=family)


def alu_latency(params: Params) -> int:
    """Latency of the vector ALU from the read of a word to its write; the dot unit gives notice of
    its own writes this many cycles ahead."""
    return _kind(params).LATENCY
