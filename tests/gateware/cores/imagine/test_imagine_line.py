# SPDX-License-Identifier: BSD-2-Clause
"""Delay lines in block RAM; what the core asks of synthesis."""
import random

import pytest
from amaranth import Module, Signal
from amaranth.sim import Simulator

from quintet.boards import open_board
from quintet.gateware.cores import open_room
from quintet.gateware.cores.imagine.line import Line
from quintet.tools.build import _scripts, _synthesis


@pytest.mark.parametrize("delay", (2, 3, 8))
def test_stored_lines_delay_as_registers_do(delay):
    m, value = Module(), Signal(16)
    stored, plain = Line.stored(m, value, "stored", delay), Line(m, value, "plain")
    pairs = [(stored[delay + k], plain[delay + k]) for k in range(2)]
    rng = random.Random(delay)

    async def drive(ctx):
        for cycle in range(60):
            ctx.set(value, rng.getrandbits(16))
            if cycle > 10:
                assert all(ctx.get(a) == ctx.get(b) for a, b in pairs)
            await ctx.tick()

    sim = Simulator(m)
    sim.add_clock(1e-8)
    sim.add_testbench(drive)
    sim.run()


def test_a_line_since_a_stage_is_that_stages():
    m, value = Module(), Signal(3)
    stored = Line.stored(m, value, "stored", 2)
    assert stored.since(1)[1] is stored[2]


@pytest.mark.parametrize("delay", (1, 9))
def test_refused(delay):
    with pytest.raises(ValueError, match=f"^Delay of a stored line must be 2 to 8, not {delay}$"):
        Line.stored(Module(), Signal(4), "line", delay)


def test_fast_modules_are_mapped_apart_on_an_ecp5():
    room = open_room("imagine")
    space = room.params.SPACE
    scripts = _scripts(room, open_board("ulx3s-25f"), space.resolve("25f"))
    for name in room.core.Engine.synth_apart["ecp5"]:
        assert f"setattr -mod -set keep_hierarchy 1 *.engine.{name}\n" in scripts["script_after_read"] + "\n"
    assert "flatten" in scripts["script_after_synth"]
    assert "script_after_synth" not in _scripts(room, open_board("icebreaker"), space.resolve("up5k"))
    assert "script_after_synth" not in _scripts(None, open_board("ulx3s-25f"), {})


def test_few_enables_on_an_ice40():
    assert _synthesis(open_room("imagine"), "ice40") == "-dffe_min_ce_use 4" and _synthesis(open_room("imagine"), "ecp5") == ""
