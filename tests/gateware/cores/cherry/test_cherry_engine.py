# SPDX-License-Identifier: BSD-2-Clause
"""Refusals of the Cherry engine and its front end, and their interfaces."""

import pytest

from quintet.firmware.cherry.measure.workloads import PRESETS, WORKLOADS, source
from quintet.gateware.cores.cherry.core import variant
from quintet.gateware.cores.cherry.engine.core import PipelinedEngine
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.small.core import SmallEngine
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text


def test_the_fast_preset_has_on_chip_memory_and_the_scratchpad_of_the_85f():
    assert SPACE.resolve("45f-fast") == {**SPACE.resolve("45f"), "log_mem": 16}
    found = SPACE.presets["45f-fast"]
    assert (found.on_chip, found.on_chip_beat) == (32 << 10, 4)


@pytest.mark.parametrize(
    "preset", ["85f", "85f-max", "45f", "45f-fast", "25f", "up5k", "hx8k", "sim"]
)
def test_every_preset_makes_an_engine(preset):
    params = SPACE.resolve(preset)
    engine = variant(params, 2)(params=params, beat_bytes=2, memory_size=1 << 16)
    small = preset in ("up5k", "hx8k")
    assert isinstance(engine, SmallEngine if small else PipelinedEngine)
    assert len(engine.memory) == (1 if small else 2)


def test_workloads_are_programs_of_the_machine():
    for workload in WORKLOADS:
        for preset in PRESETS:
            text, names = source(workload, preset)
            assert assemble_text(
                SOFTWARE, "\n".join((text, *(f".step {name}" for name in names), ""))
            ).data
