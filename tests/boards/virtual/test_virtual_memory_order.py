# SPDX-License-Identifier: BSD-2-Clause
"""Answers of the core bench's memory: in order, reads and writes together, one in a cycle, however
contrary it is."""

from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import Module, Signal

from quintet.boards.virtual.bench import Behaviour, CoreBench
from quintet.gateware.shell.engine import Engine, EngineControl, Stall
from tests.support import tiny_core

#: Requests of a run.
COUNT = 200


class Asker(Engine):
    """Asks for one beat after another, reads and writes as a shift register has them; register
    ``last`` counts answers that are not the oldest request's, and cycles of two answers."""

    def prepare(self):
        return EngineControl(registers=tiny_core.REGISTERS, counters=tiny_core.COUNTERS), 1

    def elaborate(self, platform):
        m = Module()
        c, port = self.control, self.memory[0]
        running, asked, paid, answered = Signal(), Signal(16), Signal(16), Signal(16)
        writes, due = (
            Signal(16, init=0b1011001110001011),
            Signal(64),
        )  # due: the oldest request in bit 0
        level = Signal(range(65))
        read, acked = Signal(), Signal()
        owed = Signal(16)
        asks, beat = Signal(), Signal()
        m.d.comb += [
            c.ready.eq(~running),
            c.stall.eq(Stall.OTHER),
            read.eq(port.r.valid),
            acked.eq(port.ack.valid),
            port.r.ready.eq(1),
            port.ack.ready.eq(1),
            port.req.valid.eq(running & (asked != COUNT) & (level < 30)),
            port.req.payload.address.eq(asked[:6] << 2),
            port.req.payload.write.eq(writes[0]),
            port.w.payload.mask.eq(-1),
            asks.eq(port.req.valid & port.req.ready),
            port.w.valid.eq(running & (paid != owed)),
            beat.eq(port.w.valid & port.w.ready),
            c.finish.eq(running & (answered == COUNT) & (paid == owed)),
        ]
        after = Signal(64)
        m.d.comb += after.eq(due >> (read | acked))
        m.d.sync += [
            due.eq(after),
            level.eq(level + asks - (read | acked)),
            answered.eq(answered + read + acked),
            paid.eq(paid + beat),
        ]
        with m.If(asks):
            m.d.sync += [
                asked.eq(asked + 1),
                writes.eq(writes.rotate_left(1)),
                owed.eq(owed + writes[0]),
                due.eq(after | (writes[0] << (level - (read | acked))[:5])),
            ]
        with m.If(read & acked | (read | acked) & (acked != due[0])):
            m.d.sync += c.val.last.eq(c.val.last + 1)
        with m.If(c.start):
            m.d.sync += [
                running.eq(1),
                asked.eq(0),
                paid.eq(0),
                owed.eq(0),
                answered.eq(0),
                level.eq(0),
                c.val.last.eq(0),
            ]
        with m.If(c.finish):
            m.d.sync += running.eq(0)
        return m


PACKAGE = SimpleNamespace(
    name="asker",
    isa=tiny_core.PACKAGE.isa,
    params=tiny_core.PACKAGE.params,
    core=SimpleNamespace(variant=lambda params, beat_bytes: Asker),
)


@pytest.mark.parametrize("ports", ["bare", "shell"])
def test_answers_come_in_order(ports):
    with CoreBench(PACKAGE, beat_bytes=4, memory_size=4096, ports=ports) as bench:
        for seed, behaviour in enumerate(
            (
                Behaviour(),
                Behaviour(latency=8),
                Behaviour(latency=1, latency_spread=40),
                Behaviour(
                    latency=5, latency_spread=5, gap=3, gap_percent=50, stall_percent=30, answers=2
                ),
                Behaviour(latency=30, latency_spread=3, depth=2),
            )
        ):
            bench.behave(behaviour, seed=seed)
            bench.load(np.zeros(4096, np.uint8))
            outcome = bench.run({}, 100_000)
            assert outcome.status == "done" and outcome.values["last"] == 0
            assert sum(bench.traffic(0)[2:]) == COUNT
