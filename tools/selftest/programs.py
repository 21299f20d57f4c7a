# SPDX-License-Identifier: BSD-2-Clause
"""Test programs for builds that the compiler does not support: OpenTPU as published, without a
shift after its sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Plain", "plain_program"]

#: Every instruction of the published set but NOP, on three vectors and two tiles.
_OPENTPU = """
RHM 0, 0, 3
RW 0
RW 1
MMC.SO 0, 0, 3
ACT.R 0, 4, 3
MMC.SO 4, 8, 3
MMC 0, 8, 3
ACT.Q 8, 8, 3
WHM 8, 4, 3
ACT 8, 12, 3
WHM 12, 7, 3
HLT
"""


@dataclass(frozen=True)
class Plain:
    """A test program: ``loads`` are (address, bytes), with the program among them; ``registers`` of
    the run; ``results``: (address, size) of its output."""

    loads: tuple[tuple[int, bytes], ...]
    registers: dict[str, int]
    results: tuple[int, int]


def _aligned(size):
    return -(-size // 64) * 64


def plain_program(isa: str, params: Mapping[str, Any], memory_size: int) -> Plain | None:
    """The :class:`Plain` program of a core; ``None`` if there is none, or if it exceeds
    ``memory_size`` bytes."""
    if isa != "opentpu":
        return None
    from ...gateware.cores.opentpu.software import SOFTWARE
    from ...gateware.isa.asm import assemble_text

    n, rng = params["n"], np.random.default_rng(1)
    program = bytes(assemble_text(SOFTWARE, _OPENTPU, "selftest.a", params=dict(params)).data)
    vectors, tiles = (
        rng.integers(-128, 128, size, np.int8).tobytes() for size in (3 * n, 2 * n * n)
    )
    host = _aligned(len(program))
    weights = end = host + _aligned(10 * n)
    if weights + len(tiles) > memory_size:
        return None
    registers = {
        "program_address": 0,
        "program_length": len(program),
        "hostmem_base": host,
        "hostmem_limit": end,
        "weights_base": weights,
        "weights_limit": weights + len(tiles),
    }
    return Plain(
        ((0, program), (host, vectors), (weights, tiles)), registers, (host + 4 * n, 6 * n)
    )
