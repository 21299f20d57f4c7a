# SPDX-License-Identifier: BSD-2-Clause
"""The engine alone in Amaranth's simulator, with a memory of given latency and stalls behind each
of its ports."""

import random
from collections import deque

import numpy as np

from quintet.gateware.cores.opentpu.core import variant
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.isa.outcome import FaultReport, Outcome
from quintet.gateware.isa.registers import COMMON_REGISTERS
from tests.support.simulating import design, simulator

_COUNTED = ("instructions", "operations", "bytes_read", "bytes_written")
_STALLS = ("work", "stall_fetch", "stall_operand", "stall_write", "stall_other")


class EngineBench:
    """Runs programs on one engine, one after another; each port is served in order, a beat a cycle
    at most.

    ``latency``: cycles from request to first beat; ``stall``: probability that a beat, request or
    answer waits a cycle; ``bad``: addresses of beats that are answered with an error.
    """

    def __init__(self, params, *, beat_bytes, latency=4, stall=0.0, seed=0, family=None):
        self.params, self.beat, self.latency, self.stall = params, beat_bytes, latency, stall
        self.rng = random.Random(seed)
        self.bad = set()
        self.engine = design(
            variant(params, beat_bytes),
            params=params,
            beat_bytes=beat_bytes,
            memory_size=1 << 20,
            family=family,
        )

    def run(self, cases, limit=100_000, abort_at=None):
        """Outcomes of ``(registers, memory)`` pairs; memories (numpy uint8) are written in
        place."""
        outcomes = []
        sim = simulator(self.engine)
        sim.add_clock(1e-8)
        self.memory = None
        for port in self.engine.memory:
            sim.add_testbench(self._port(port), background=True)
        sim.add_testbench(self._driver(cases, outcomes, limit, abort_at))
        sim.run()
        return outcomes

    def _driver(self, cases, outcomes, limit, abort_at):
        control = self.engine.control

        async def drive(ctx):
            for registers, memory in cases:
                self.memory = memory
                values = {r.name: r.reset for r in (*COMMON_REGISTERS, *ISA.registers)}
                values["window_limit"], values["cfg_norm"] = memory.size, self.params["norm_reset"]
                values.update(registers)
                for name in ("program_address", "program_length", "window_base", "window_limit"):
                    ctx.set(getattr(control, name), values[name])
                for name, _field in control.reg.shape():
                    ctx.set(control.reg[name], values[name])
                while not ctx.get(control.ready):
                    await ctx.tick()
                ctx.set(control.start, 1)
                await ctx.tick()
                ctx.set(control.start, 0)
                counters = dict.fromkeys(("cycles", *_COUNTED, *_STALLS), 0)
                interrupts = 0
                while True:
                    counters["cycles"] += 1
                    counters["instructions"] += ctx.get(control.retired)
                    for name in _COUNTED[1:]:
                        counters[name] += ctx.get(getattr(control, name))
                    counters[_STALLS[ctx.get(control.stall).value]] += 1
                    interrupts += ctx.get(control.interrupt)
                    if abort_at is not None and counters["cycles"] >= abort_at:
                        ctx.set(control.abort, 1)
                    if ctx.get(control.finish):
                        break
                    assert counters["cycles"] < limit, "the engine does not finish"
                    await ctx.tick()
                code = ctx.get(control.fault_code)
                fault = None
                if code:
                    fault = FaultReport(
                        code,
                        ISA.fault_names[code],
                        ctx.get(control.fault_pc),
                        ctx.get(control.fault_detail),
                    )
                status = "done" if not code else "aborted" if code == 8 else "fault"
                await ctx.tick()
                ctx.set(control.abort, 0)
                values = {"sync_tag": ctx.get(control.val.sync_tag), "interrupts": interrupts}
                outcomes.append(Outcome(status, fault, counters, values))

        return drive

    def _port(self, port):
        async def serve(ctx):
            queue = deque()  # [address, beats, write, ready_at]
            acks = deque()
            now = done = 0
            offered_r = offered_ack = False
            while True:
                # What happened in the cycle that ends now.
                draw = self.rng.random
                req_ready = ctx.get(port.req.ready)
                if ctx.get(port.req.valid) and req_ready:
                    payload = ctx.get(port.req.payload)
                    assert payload.address % self.beat == 0
                    queue.append(
                        [payload.address, payload.beats + 1, payload.write, now + self.latency]
                    )
                if offered_r and ctx.get(port.r.ready):
                    offered_r = False
                    done += 1
                if offered_ack and ctx.get(port.ack.ready):
                    offered_ack = False
                    acks.popleft()
                if ctx.get(port.w.valid) and ctx.get(port.w.ready):
                    address = queue[0][0] + done * self.beat
                    word = ctx.get(port.w.payload)
                    if not self._wrong(address):
                        self.memory[address : address + self.beat] = np.frombuffer(
                            int(word.data).to_bytes(self.beat, "little"), np.uint8
                        )
                    done += 1
                    self.write_error = getattr(self, "write_error", False) or self._wrong(address)
                if queue and done == queue[0][1]:
                    if queue[0][2]:
                        acks.append(self.write_error)
                        self.write_error = False
                    queue.popleft()
                    done = 0
                # The next cycle.
                now += 1
                await ctx.tick()
                ctx.set(port.req.ready, len(queue) < 3 and draw() >= self.stall)
                head = queue[0] if queue else None
                if not offered_r:
                    offered_r = bool(
                        head and not head[2] and now >= head[3] and draw() >= self.stall
                    )
                    if offered_r:
                        address = head[0] + done * self.beat
                        wrong = self._wrong(address)
                        data = (
                            0
                            if wrong
                            else int.from_bytes(
                                self.memory[address : address + self.beat].tobytes(), "little"
                            )
                        )
                        ctx.set(
                            port.r.payload,
                            {"data": data, "error": wrong, "last": done + 1 == head[1]},
                        )
                    ctx.set(port.r.valid, offered_r)
                ctx.set(
                    port.w.ready, bool(head and head[2] and now >= head[3]) and draw() >= self.stall
                )
                if not offered_ack:
                    offered_ack = bool(acks) and draw() >= self.stall
                    if offered_ack:
                        ctx.set(port.ack.payload, {"error": acks[0]})
                    ctx.set(port.ack.valid, offered_ack)

        return serve

    def _wrong(self, address):
        return address in self.bad or address + self.beat > self.memory.size
