# SPDX-License-Identifier: BSD-2-Clause
"""What the Cherry engine and its front end refuse, and what their faces say."""
import pytest

from quintet.firmware.cherry.measure.workloads import PRESETS, WORKLOADS, source
from quintet.gateware.cores.cherry.core import Engine, PipelinedEngine
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.small.core import MicroEngine
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text


@pytest.mark.parametrize("change, message", [
    ({"beat_bytes": 3}, "Beat size must be 1, 2, 4 or 8 bytes, not 3"), ({"beat_bytes": 16}, "Beat size must be 1, 2, 4 or 8 bytes, not 16"),
    ({"beat_bytes": True}, "Beat size must be 1, 2, 4 or 8 bytes, not True"),
    ({"memory_size": 0}, "Memory size must be a positive number of bytes, not 0"),
    ({"family": "gowin"}, "Family must be one of None, 'ecp5', 'ice40', not 'gowin'")])
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        Engine(**{"params": SPACE.resolve("sim"), "beat_bytes": 4, "memory_size": 1 << 16, **change})


@pytest.mark.parametrize("preset", ["85f", "85f-max", "25f", "up5k", "hx8k", "sim"])
def test_every_preset_makes_an_engine(preset):
    engine = Engine(params=SPACE.resolve(preset), beat_bytes=2, memory_size=1 << 16)
    small = preset in ("up5k", "hx8k")
    assert isinstance(engine, MicroEngine if small else PipelinedEngine)
    assert len(engine.memory) == (1 if small else 2)


def test_workloads_are_programs_of_the_machine():
    for workload in WORKLOADS:
        for preset in PRESETS:
            text, names = source(workload, preset)
            assert assemble_text(SOFTWARE, "\n".join((text, *(f".step {name}" for name in names), ""))).data
