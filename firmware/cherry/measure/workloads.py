# SPDX-License-Identifier: BSD-2-Clause
"""Workloads of the specification's section 10: lists of programs on matrices in MEM, stored as
assembly in ``programs/``."""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "PRESETS", "WORKLOADS", "Workload", "source"]

#: The builds that have bounds, in the order of the columns.
PRESETS = ("85f", "85f-max", "45f", "25f")
#: Folder of the programs.
FOLDER = Path(__file__).resolve().parent / "programs"


@dataclass(frozen=True)
class Workload:
    """A workload. ``bounds`` and ``estimates`` (``None``: no estimate) in cycles by preset;
    ``macs``: multiply-accumulate operations, 0 if they are not the metric."""

    name: str
    bounds: tuple[int | None, ...]
    estimates: tuple[int | None, ...]
    macs: int = 0


_SUMS, _MAXIMA = (((272, 272, 1040, last), (281, 281, 1049, None)) for last in (4096, 2080))
_MATMUL_64 = ((8192, 4608, 18432, 65536), (8526, 4668, 18444, None), 262144)
_MATMUL_96 = ((27648, 15552, 62208, 221184), (28622, 17006, 62220, None), 884736)
WORKLOADS = (
    Workload("vector add 4096", (768, 768, 3072, 6144), (1078, 822, 3078, None)),
    Workload("saxpy 4096", (769, 769, 3073, 6152), (1079, 823, 3079, None)),
    Workload("matmul 16", (128, 96, 384, 1024), (306, 278, 432, None), 4096),
    Workload("matmul 64", *_MATMUL_64),
    Workload("matmul 64, A transposed", *_MATMUL_64),
    Workload("matmul 64, B transposed", *_MATMUL_64),
    Workload("matmul 96", *_MATMUL_96),
    Workload("matmul 96, A transposed", *_MATMUL_96),
    Workload("matmul 96, B transposed", *_MATMUL_96),
    Workload("conv 3x3", (9216, 5440, 20608, 73728), (10622, 6014, 22046, None), 294912),
    Workload("column sum 64x64", *_SUMS),
    Workload("row sum 64x64", *_SUMS),
    Workload("column max 64x64", *_MAXIMA),
    Workload("row max 64x64", *_MAXIMA),
    Workload("softmax 64x64", (4096, 4096, 8192, 14368), (5655, 5639, 10743, None)),
)


def source(workload: Workload, preset: str) -> tuple[str, list[str]]:
    """Assembly of a workload for a preset (its programs, without steps or DMA), and the programs'
    names. Presets whose scratchpad cannot hold three matrices of 96x96 have separate programs for
    these."""
    stem = re.sub(r"[^a-z0-9]+", "_", workload.name.lower())
    path = FOLDER / f"{stem}_small.s"
    if preset not in ("45f", "25f") or not path.exists():
        path = FOLDER / f"{stem}.s"
    text = path.read_text(encoding="utf-8")
    return text, re.findall(r"^\.program (\w+)$", text, re.MULTILINE)
