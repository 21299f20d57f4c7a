# SPDX-License-Identifier: BSD-2-Clause
"""Main memory of the build that a network is compiled for."""

import pytest

from quintet.tools.compiler.target_build import target_build

SDRAM = {"size": 32 << 20, "beat_bytes": 2, "kind": "SDRAM"}


@pytest.mark.parametrize(
    "target, memory",
    [
        ("ulx3s-85f/opentpu", SDRAM),
        (
            "sim:ulx3s-85f/opentpu?preset=85f-16x16-fast",
            {**SDRAM, "on_chip": {"size": 1 << 18, "beat_bytes": 16}},
        ),
        ("sim:ulx3s-85f/opentpu?preset=85f-16x16-fast&on_chip=0", SDRAM),
        (
            "sim:ulx3s-85f/opentpu?on_chip=65536",
            {**SDRAM, "on_chip": {"size": 65536, "beat_bytes": 8}},
        ),
        ("sim:ulx3s-85f/opentpu?sdram_rate=2", {**SDRAM, "beat_bytes": 4, "rate": 2}),
        ("sim:ulx3s-85f/opentpu?sdram_rate=1", SDRAM),
        (
            "sim:ulx3s-85f/opu?preset=85f-p256-fast&sdram_rate=2",
            {
                **SDRAM,
                "beat_bytes": 4,
                "rate": 2,
                "on_chip": {"size": 192 << 10, "beat_bytes": 8},
            },
        ),
        ("model:opentpu", None),
    ],
)
def test_memory_of_a_target(target, memory):
    build = target_build(target)
    assert build.memory == memory
    # The name to open it by is that of the same build.
    assert target_build(build.target).memory == memory
