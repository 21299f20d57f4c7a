# SPDX-License-Identifier: BSD-2-Clause
"""The tile file: who is served first, and when the load/store unit hears that it keeps others
waiting."""

import random

import pytest

from quintet.gateware.cores.cherry.engine.memory.tilefile import READERS, TileFile
from quintet.gateware.cores.cherry.engine.ops import Unit
from quintet.gateware.cores.cherry.params import SPACE
from tests.support.simulating import simulate

LSU, DOT, ALU, SFU = (unit.value for unit in Unit)
#: In the order in which they are served.
ORDER = LSU, SFU, ALU, DOT


@pytest.mark.parametrize("follows", [0, 1])
def test_reads_in_order_and_refusals(follows):
    """Whoever shares a register with a unit before it waits. Refusals by the load/store unit are
    told in the next cycle, but those of a dot unit that follows it anyway."""
    dut, rnd = TileFile(params=SPACE.resolve("sim", {})), random.Random(follows)
    told = {0: 0, 1: 0}

    async def drive(ctx):
        ctx.set(dut.follows, follows)
        refused = 0
        for cycle in range(600):
            assert ctx.get(dut.refused) == refused, cycle
            wanted = {}
            for unit in ORDER:
                mask = sum(
                    rnd.getrandbits(1) << reg for reg, units in READERS.items() if unit in units
                )
                wanted[unit] = mask if rnd.random() < 0.6 else 0
                ctx.set(dut.read[unit].request.valid, wanted[unit] != 0)
                ctx.set(dut.read[unit].request.payload.mask, wanted[unit])
            for place, unit in enumerate(ORDER):
                if wanted[unit]:
                    expected = not any(wanted[other] & wanted[unit] for other in ORDER[:place])
                    assert ctx.get(dut.read[unit].request.ready) == expected, (cycle, unit)
            heard = (SFU, ALU) if follows else (SFU, ALU, DOT)
            refused = int(any(wanted[unit] & wanted[LSU] for unit in heard))
            told[refused] += 1
            await ctx.tick()

    simulate(dut, drive)
    assert min(told.values()) > 100
