# SPDX-License-Identifier: BSD-2-Clause
"""Speed of a virtual board: cycles per second of the compiled SoC, and of the same SoC in
Amaranth's simulator.

Both do the same job: the link is asked to write and read back memory again and again.
"""

import time
from collections.abc import Iterator

from .. import Row
from ..choice import Choice

__all__ = ["compiled_rate", "pysim_rate", "speed_rows"]


def _requests():
    """Link bytes that open a session and write memory; the gateware's work does not depend on the
    answers."""
    return bytes(range(256)) * 64


def compiled_rate(board: str, isa: str | None, cycles: int) -> float:
    """Cycles per second of processor time of the compiled SoC."""
    from ....boards.virtual.board import open_virtual

    with open_virtual(board, isa) as virtual:
        virtual.advance(20_000)
        start = time.process_time()
        done = 0
        while done < cycles:
            virtual.pipe.write(_requests())
            virtual.advance(20_000)
            virtual.pipe.read(1 << 16, 0)
            done = virtual.cycle - 20_000
        return done / (time.process_time() - start)


def pysim_rate(board: str, isa: str | None, cycles: int) -> float:
    """Cycles per second of processor time of the same SoC in Amaranth's simulator."""
    from amaranth.sim import Simulator

    from ....boards import open_board
    from ....boards.virtual.top import VirtualTop
    from ....gateware.cores import open_core

    top = VirtualTop(soc=open_board(board).make_soc(package=open_core(isa), family=None))
    simulator = Simulator(top)
    simulator.add_clock(1e-8)
    data = _requests()
    seconds = []

    async def host(ctx):
        start = time.process_time()
        ctx.set(top.tx.ready, 1)
        sent = 0
        ctx.set(top.rx.valid, 1)
        for _ in range(cycles):
            ctx.set(top.rx.payload, data[sent % len(data)])
            _, _, ready = await ctx.tick().sample(top.rx.ready)
            sent += ready
        seconds.append(time.process_time() - start)

    simulator.add_testbench(host)
    simulator.run()
    return cycles / seconds[0]


def speed_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of a SoC, compiled and in Amaranth's simulator."""
    chosen = choice.settings
    soc = chosen["board"], chosen["isa"]
    fast = compiled_rate(*soc, chosen["cycles"])
    yield Row(f"{'/'.join(soc)}, compiled", fast, "cycles a second")
    if chosen["pysim"]:
        slow = pysim_rate(*soc, chosen["pysim"])
        yield Row(
            f"{'/'.join(soc)}, Amaranth's simulator",
            slow,
            "cycles a second",
            more={"compiled is faster by": fast / slow},
        )
