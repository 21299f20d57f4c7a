# SPDX-License-Identifier: BSD-2-Clause
"""PIM builds for the comparison with the golden model; compiled once per machine."""

from ....boards.virtual.bench import bench_opener

__all__ = ["BUILDS", "MEMORY", "open_build"]

#: Bytes of main memory; a case's image lies in the lower half, GMem in the upper.
MEMORY = 1 << 17

#: name -> (preset, overrides, beat bytes, ports).
BUILDS = {
    # Two cores as they stand in an SoC with 16-bit memory.
    "sim": ("sim", {}, 2, "shell"),
    # Four cores, memory of 8 bytes a cycle; groups of many arrays.
    "four": ("sim", {"cores": 4, "lanes": 8, "arrays": 8, "lmem_bytes": 2048}, 8, "bare"),
    # One core with the widest ports of the ULX3S.
    "wide": (
        "85f",
        {"cores": 1, "arrays": 4, "lmem_bytes": 4096, "bias_words": 64, "prefetch_words": 64},
        4,
        "shell",
    ),
    # Small chips; the pipelined engine on narrow memory.
    "narrow": (
        "sim",
        {"cores": 1, "arrays": 4, "lmem_bytes": 2048, "max_biw": 16, "vec_bytes": 2, "act_unit": 0},
        2,
        "shell",
    ),
    "up5k": ("up5k", {"arrays": 4, "lmem_bytes": 2048}, 2, "shell"),
    "hx8k": ("hx8k", {}, 1, "bare"),
}

open_build = bench_opener("pim", BUILDS, MEMORY)
