# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of Cherry's workloads (specification, section 10) in Amaranth's simulator, without
compiled gateware: from a program's start in the front end to its end, without comparison of
results.

Some 100 cycles a second. What :mod:`.run` finds is a few cycles more: the sequencer's from one
program to the next.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np

from ....gateware.cores.cherry.core import variant
from ....gateware.cores.cherry.image import Step, list_bytes
from ....gateware.cores.cherry.params import SPACE
from ....tools.measure import Choice, Row
from .run import image_of, row_of
from .workloads import PRESETS, WORKLOADS, source

__all__ = ["alone_rows", "cycles_of"]

_LIST_AT, _MEMORY, _BEAT, _LIMIT = 0x1000, 1 << 16, 4, 100_000


def cycles_of(image: bytes, preset: str) -> int:
    """Cycles of one program, whose image is loaded over a memory port with one beat per cycle.

    Raises
    ------
    RuntimeError
        It does not end.
    """
    from amaranth.sim import Simulator

    data = list_bytes([(image, Step(0), [], [])])
    memory = np.zeros(_MEMORY, np.uint8)
    memory[_LIST_AT : _LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
    params = SPACE.resolve(preset)
    engine = variant(params, _BEAT)(params=params, beat_bytes=_BEAT, memory_size=_MEMORY)
    found = []

    async def bench(ctx):
        control, port, beats = engine.control, engine.memory[0], deque()
        ctx.set(control.program_address, _LIST_AT)
        ctx.set(control.window_limit, _MEMORY)
        ctx.set(port.req.ready, 1)
        ctx.set(control.start, 1)
        begun = None
        for cycle in range(_LIMIT):
            ctx.set(port.r.valid, bool(beats))
            if beats:
                at, last = beats[0]
                ctx.set(
                    port.r.payload,
                    {
                        "data": int.from_bytes(memory[at : at + _BEAT].tobytes(), "little"),
                        "error": 0,
                        "last": last,
                    },
                )
            *_, asked, ask, taken, starts, ends = await ctx.tick().sample(
                port.req.valid,
                port.req.payload,
                port.r.ready,
                engine.front.start,
                engine.front.finish,
            )
            ctx.set(control.start, 0)
            if beats and taken:
                beats.popleft()
            if asked:
                beats.extend(
                    (ask.address + _BEAT * k, k == ask.beats) for k in range(ask.beats + 1)
                )
            begun = cycle if starts else begun
            if ends:
                found.append(cycle - begun)
                return
        raise RuntimeError(f"no end within {_LIMIT} cycles")

    simulator = Simulator(engine)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found[0]


def alone_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the workloads in Amaranth's simulator; requirements apply to compiled
    gateware."""
    for preset in choice.presets:
        for workload in WORKLOADS:
            if choice.takes(workload.name):
                text, names = source(workload, preset)
                cycles = sum(cycles_of(image_of(text, name), preset) for name in names)
                yield row_of(
                    workload,
                    preset,
                    cycles,
                    PRESETS.index(preset),
                    SPACE.resolve(preset)["macs"],
                    required=False,
                )
