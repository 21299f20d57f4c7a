# SPDX-License-Identifier: BSD-2-Clause
"""Both ends of a memory port for pysim: a memory with random latency and back-pressure, and a
requester."""

import random
from collections import deque

import numpy as np

__all__ = ["MemoryModel", "PortDriver", "StreamWatch"]


class StreamWatch:
    """Asserts the stream rule on sampled values: a waiting payload is stable."""

    def __init__(self, name):
        self.name = name
        self.waiting = None

    def check(self, valid, ready, payload):
        if self.waiting is not None:
            assert valid, f"{self.name}: valid fell before ready"
            assert payload == self.waiting, f"{self.name}: payload changed before ready"
        self.waiting = payload if valid and not ready else None


def _bits(value):
    """Converts a sampled view to an int."""
    return (
        value
        if isinstance(value, int)
        else value.as_bits()
        if hasattr(value, "as_bits")
        else int(value)
    )


class MemoryModel:
    """A memory at the port of a device under test.

    Use: ``model = MemoryModel(dut.memory, size=4096, seed=1)``, then
    ``sim.add_testbench(model.process, background=True)``. Contents: ``model.memory`` (numpy
    ``uint8``).

    Parameters
    ----------
    port : interface of MemoryPort as the device has it (``Out``)
    size : int, bytes; requests past it are answered with error
    seed : of the random delays
    latency : (least, most) cycles from a request to its first answer; (1, 1) is as fast as it gets
    stall : probability of a cycle in which nothing is taken or offered on a stream
    depth : requests it takes before answering
    fail : function of (address of a beat, write) -> bool,
        injects errors (a beat that fails is not written)
    """

    def __init__(self, port, *, size, seed=0, latency=(1, 12), stall=0.25, depth=4, fail=None):
        self.port = port
        self.beat_bytes = (
            port.signature.beat_bytes
            if hasattr(port.signature, "beat_bytes")
            else len(port.w.payload.mask)
        )
        self.memory = np.zeros(size, np.uint8)
        self.random = random.Random(seed)
        self.latency, self.stall, self.depth = latency, stall, depth
        self.fail = fail or (lambda address, write: False)
        self.log = []  # (address, beats, write) of every request taken
        self.cycles = 0
        self.outstanding = 0  # requests and write beats not yet answered

    def _beat(self, address, write):
        return address + self.beat_bytes > len(self.memory) or self.fail(address, write)

    async def process(self, ctx):
        port, rnd, size = self.port, self.random, self.beat_bytes
        queue = deque()  # [address, beats, write, earliest cycle]
        beats = deque()  # write beats taken: (data, mask)
        answers = deque()  # (stream, value, earliest cycle)
        watches = {name: StreamWatch(name) for name in ("req", "w")}
        shown = {"r": False, "ack": False}
        req_ready = w_ready = 0
        ports = (
            port.req.valid,
            port.req.payload,
            port.w.valid,
            port.w.payload,
            port.r.ready,
            port.ack.ready,
        )
        while True:
            sampled = await ctx.tick().sample(*ports)
            _, reset, req_valid, req, w_valid, w, r_taken, ack_taken = sampled
            self.cycles += 1
            if reset:
                continue
            watches["req"].check(req_valid, req_ready, _bits(req) if req_valid else None)
            watches["w"].check(w_valid, w_ready, _bits(w) if w_valid else None)
            if req_valid and req_ready:
                assert req.address % size == 0, f"unaligned request at {req.address:#x}"
                assert req.address + (req.beats + 1) * size <= 1 << 32, "request runs past 2^32"
                queue.append(
                    [
                        req.address,
                        req.beats + 1,
                        req.write,
                        self.cycles + rnd.randint(*self.latency) - 1,
                    ]
                )
                self.log.append((req.address, req.beats + 1, req.write))
                self.outstanding += 1
            if w_valid and w_ready:
                beats.append((w.data, w.mask))
            for name, taken in (("r", r_taken), ("ack", ack_taken)):
                if shown[name] and taken:
                    answers.popleft()
                    shown[name] = False
            # Serve in order: a write when all its beats are here.
            while queue and self.cycles >= queue[0][3]:
                address, count, write, _ = queue[0]
                whole = address + count * size <= len(self.memory)
                if write:
                    if len(beats) < count:
                        break
                    error = not whole
                    for i in range(count):
                        data, mask = beats.popleft()
                        at = address + i * size
                        if not whole or self.fail(at, 1):
                            error = True
                            continue
                        for byte in range(size):
                            if mask >> byte & 1:
                                self.memory[at + byte] = data >> 8 * byte & 0xFF
                    answers.append(("ack", {"error": int(error)}))
                else:
                    for i in range(count):
                        at = address + i * size
                        error = not whole or self.fail(at, 0)
                        data = (
                            rnd.getrandbits(8 * size)
                            if error
                            else int.from_bytes(self.memory[at : at + size].tobytes(), "little")
                        )
                        answers.append(
                            ("r", {"data": data, "error": int(error), "last": int(i == count - 1)})
                        )
                queue.popleft()
                self.outstanding -= 1
            # Outputs of the next cycle: an answer that waits stays.
            if not any(shown.values()) and answers and rnd.random() >= self.stall:
                name, value = answers[0]
                shown[name] = True
                ctx.set(getattr(port, name).payload, value)
            ctx.set(port.r.valid, shown["r"])
            ctx.set(port.ack.valid, shown["ack"])
            req_ready = int(len(queue) < self.depth and rnd.random() >= self.stall)
            w_ready = int(len(beats) < 512 and rnd.random() >= self.stall)
            ctx.set(port.req.ready, req_ready)
            ctx.set(port.w.ready, w_ready)


class PortDriver:
    """Requester on a port that a device under test serves.

    ``driver.read(address, beats)`` and ``driver.write(address, data, mask=None)`` put requests in
    the queue (``data``: bytes; ``mask``: one int a beat) and return an answer object whose
    ``done``, ``error`` and ``data`` (list of int) fill in later;
    ``sim.add_testbench(driver.process, background=True)`` runs them, ``await driver.drain(ctx)``
    waits for all.
    """

    class Answer:
        def __init__(self, write, beats):
            self.write, self.beats = write, beats
            self.done = False
            self.data, self.errors = [], []
            self.time = None

        @property
        def error(self):
            return any(self.errors)

        def bytes(self, beat_bytes):
            return b"".join(value.to_bytes(beat_bytes, "little") for value in self.data)

    def __init__(self, port, *, seed=0, stall=0.0, depth=1000, early_data=False):
        self.port = port
        self.beat_bytes = len(port.w.payload.mask)
        self.random = random.Random(seed)
        self.stall, self.depth, self.early_data = stall, depth, early_data
        self.requests, self.beats, self.waiting = deque(), deque(), deque()
        self.asked = 0  # write beats of requests that were taken, and not yet taken themselves
        self.cycles = 0
        self.pending = 0

    def read(self, address, beats):
        answer = self.Answer(False, beats)
        self.requests.append(({"address": address, "beats": beats - 1, "write": 0}, answer, ()))
        self.pending += 1
        return answer

    def write(self, address, data, mask=None):
        size = self.beat_bytes
        data = bytes(data)
        assert data and len(data) % size == 0
        beats = len(data) // size
        masks = mask if mask is not None else [(1 << size) - 1] * beats
        answer = self.Answer(True, beats)
        words = [
            (int.from_bytes(data[i * size : (i + 1) * size], "little"), masks[i])
            for i in range(beats)
        ]
        self.requests.append(({"address": address, "beats": beats - 1, "write": 1}, answer, words))
        self.pending += 1
        return answer

    async def drain(self, ctx, limit=200000):
        start = self.cycles
        while self.pending:
            await ctx.tick()
            assert self.cycles - start < limit, f"{self.pending} requests never answered"

    async def process(self, ctx):
        port, rnd = self.port, self.random
        watches = {name: StreamWatch(name) for name in ("r", "ack")}
        req_shown = w_shown = False
        readies = {"r": 0, "ack": 0}
        ports = (
            port.req.ready,
            port.w.ready,
            port.r.valid,
            port.r.payload,
            port.ack.valid,
            port.ack.payload,
        )
        while True:
            _, reset, req_taken, w_taken, r_valid, r, ack_valid, ack = await ctx.tick().sample(
                *ports
            )
            self.cycles += 1
            if reset:
                continue
            watches["r"].check(r_valid, readies["r"], _bits(r) if r_valid else None)
            watches["ack"].check(ack_valid, readies["ack"], _bits(ack) if ack_valid else None)
            if req_shown and req_taken:
                payload, answer, words = self.requests.popleft()
                self.waiting.append(answer)
                req_shown = False
                if not self.early_data:
                    self.beats.extend(words)
            if w_shown and w_taken:
                self.beats.popleft()
                w_shown = False
            if r_valid and readies["r"]:
                assert self.waiting and not self.waiting[0].write, "read data that no one asked for"
                answer = self.waiting[0]
                answer.data.append(r.data)
                answer.errors.append(r.error)
                assert r.last == (len(answer.data) == answer.beats), "last in the wrong place"
                if r.last:
                    self._finish(self.waiting.popleft())
            if ack_valid and readies["ack"]:
                assert self.waiting and self.waiting[0].write, (
                    "acknowledgement that no one waits for"
                )
                self.waiting[0].errors.append(ack.error)
                self._finish(self.waiting.popleft())
            if (
                not req_shown
                and self.requests
                and len(self.waiting) < self.depth
                and rnd.random() >= self.stall
            ):
                req_shown = True
                ctx.set(port.req.payload, self.requests[0][0])
                if self.early_data:
                    self.beats.extend(self.requests[0][2])
            if not w_shown and self.beats and rnd.random() >= self.stall:
                w_shown = True
                ctx.set(port.w.payload, {"data": self.beats[0][0], "mask": self.beats[0][1]})
            ctx.set(port.req.valid, req_shown)
            ctx.set(port.w.valid, w_shown)
            for name in readies:
                readies[name] = int(rnd.random() >= self.stall)
                ctx.set(getattr(port, name).ready, readies[name])

    def _finish(self, answer):
        answer.done = True
        answer.time = self.cycles
        self.pending -= 1
