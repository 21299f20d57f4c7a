# SPDX-License-Identifier: BSD-2-Clause
"""Refusals of the arguments that all engines share, and the defaults of a build."""

import pytest

from quintet.gateware.cores import core_names, open_core
from quintet.gateware.shell.engine import Engine

#: One build of each engine class there is: room, preset, beat.
BUILDS = [
    (name, preset, 4)
    for name in core_names()
    for preset in ("sim", "up5k-4x4" if name == "opentpu" else "up5k")
]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"beat_bytes": 0}, "Beat size must be .* bytes, not 0"),
        ({"beat_bytes": True}, "Beat size must be .* bytes, not True"),
        ({"beat_bytes": "4"}, "Beat size must be .* bytes, not '4'"),
        ({"memory_size": 0}, r"Memory size must be a positive multiple of 64 up to 2\^32, not 0"),
        (
            {"memory_size": 100},
            r"Memory size must be a positive multiple of 64 up to 2\^32, not 100",
        ),
        (
            {"memory_size": True},
            r"Memory size must be a positive multiple of 64 up to 2\^32, not True",
        ),
        (
            {"memory_size": 1 << 33},
            r"Memory size must be a positive multiple of 64 up to 2\^32, not 8589934592",
        ),
        ({"family": "gowin"}, "Family must be one of None, 'ecp5', 'ice40', not 'gowin'"),
    ],
)
@pytest.mark.parametrize("name, preset, beat_bytes", BUILDS)
def test_bad_arguments(name, preset, beat_bytes, change, message):
    package = open_core(name)
    params = package.params.SPACE.resolve(preset)
    engine = package.core.variant(params, beat_bytes)
    assert issubclass(engine, Engine)
    with pytest.raises(ValueError, match=f"^{message}$"):
        engine(**{"params": params, "beat_bytes": beat_bytes, "memory_size": 1 << 16, **change})


@pytest.mark.parametrize("name, preset, beat_bytes", BUILDS)
def test_a_beat_of_three_bytes(name, preset, beat_bytes):
    package = open_core(name)
    params = package.params.SPACE.resolve(preset)
    with pytest.raises(
        ValueError,
        match=(
            "^Beat size must be (1, )?2,? .*4.* bytes, not 3$|a multiple of the memory port's "
            "beat of 3 bytes, not 4$"
        ),
    ):
        package.core.variant(params, beat_bytes)(params=params, beat_bytes=3, memory_size=1 << 16)


def test_an_engine_asks_for_nothing_by_default():
    assert (Engine.port_buffers, Engine.synth_opts, Engine.synth_before, Engine.synth_apart) == (
        0,
        {},
        {},
        {},
    )
    assert (Engine.spram_blocks({}), Engine.domains({}), Engine.floorplan("LFE5U-85F", {})) == (
        0,
        {},
        {},
    )
