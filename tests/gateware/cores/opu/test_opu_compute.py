# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's compute part against numpy: random tiles, commands back to back, loads and stores
beside them."""

import random

import pytest

from tests.gateware.cores.opu.bench.compute import make, random_phases, run

SMALL = {"ifm_lines": 256, "ofm_lines": 512, "ker_rows": 200, "ifm_banks": 2, "ofm_banks": 2}


@pytest.mark.parametrize(
    ("beat_bytes", "overrides"),
    [
        (2, {}),
        (4, {"pi": 16, "po": 8, **SMALL, "ofm_lines": 1024}),
        (1, {"pi": 8, "po": 4, "out_lanes": 1, **SMALL}),
        (8, {"pi": 16, "po": 16, "multiplier": "dsp_pair", "out_lanes": 8, **SMALL}),
        (16, {"pi": 16, "po": 16, "multiplier": "dsp_pair", **SMALL}),
        (2, {"pi": 4, "po": 1, "ifm_banks": 2, "ofm_lines": 2048}),
        (4, {"pi": 4, "po": 8, **SMALL}),
        (4, {"types": "8-8-32-32", "pi": 8, "po": 2, "multiplier": "lut", **SMALL}),
        (8, {"types": "16-16-32-32", "pi": 4, "po": 4, **SMALL}),
    ],
    ids=lambda value: (
        "-".join(str(v) for v in value.values()) if isinstance(value, dict) else str(value)
    ),
)
def test_random_tiles(beat_bytes, overrides):
    rng = random.Random(str(overrides))
    dut = make(beat_bytes=beat_bytes, **overrides)
    run(
        dut,
        random_phases(dut, rng, tiles=3, most=12),
        rng=rng,
        gaps=rng.choice((0, 30)),
        stalls=rng.choice((0, 50)),
    )
