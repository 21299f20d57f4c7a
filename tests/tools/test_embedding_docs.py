# SPDX-License-Identifier: BSD-2-Clause
"""docs/guides/own-soc.md: its example works as it stands there."""

import re
from pathlib import Path

from amaranth.sim import Simulator

ROOT = Path(__file__).resolve().parents[2]


def test_example():
    (source,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs/guides/own-soc.md").read_text(), re.M | re.S
    )
    names = {"__name__": "example"}
    exec(compile(source, "embedding.md", "exec"), names)
    design = names["Accelerator"]()
    seen = {}

    async def host(ctx):
        async def access(address, value=None):
            bus = design.bus
            ctx.set(bus.adr, address // 4)
            ctx.set(bus.sel, 15)
            ctx.set(bus.we, value is not None)
            ctx.set(bus.dat_w, value or 0)
            ctx.set(bus.cyc, 1)
            ctx.set(bus.stb, 1)
            *_, data = await ctx.tick().sample(bus.dat_r).until(bus.ack)
            ctx.set(bus.cyc, 0)
            await ctx.tick()
            return data

        while await access(0x10014) & 1:
            pass
        seen["ident"] = (await access(0x10000)).to_bytes(4, "little")
        # A program of zeros: the core looks at it in its memory, and ends the run.
        await access(0x10018, 1)
        await access(0x10020, 0x1000)
        await access(0x10024, 8)
        await access(0x10010, 1)
        for _ in range(200):
            seen["interrupt"] = ctx.get(design.interrupt)
            if seen["interrupt"]:
                break
            await ctx.tick()
        seen["status"] = await access(0x10014)

    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.run()
    assert (
        seen["ident"] == b"OTPU"
        and seen["interrupt"]
        and seen["status"] & 1 == 0
        and seen["status"] & 2
    ), seen
    text = names["convert"](names["Accelerator"](), name="accelerator")
    assert "module accelerator(" in text and "port$" not in text
