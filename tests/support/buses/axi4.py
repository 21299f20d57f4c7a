# SPDX-License-Identifier: BSD-2-Clause
"""AXI4 slave with a protocol checker."""

from collections import deque

from tests.support.buses.asking import fails
from tests.support.buses.stepping import expect

__all__ = ["AXI4Slave"]

OKAY, SLVERR, DECERR = 0, 2, 3
ADDRESS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")


class AXI4Slave:
    """AXI4 memory whose reads and writes are independent: their relative order is random, as the
    specification allows.

    Parameters
    ----------
    size, beat_bytes, rnd, stall, errors : as of :class:`~.asking.Traffic`
    latency : (least, most) cycles from a burst's address, or a write's last beat, to the answer
    base : bus address of the memory
    burst : largest number of beats that the master may ask for
    """

    def __init__(
        self,
        size,
        beat_bytes,
        rnd,
        *,
        stall=0.25,
        errors=True,
        latency=(1, 30),
        base=0,
        burst=16,
        depth=16,
    ):
        self.bytes, self.rnd, self.stall, self.errors = beat_bytes, rnd, stall, errors
        self.latency, self.base, self.burst, self.depth = latency, base, burst, depth
        self.memory = bytearray(size)
        self.cycle = 0
        self.offered = deque()  # [address, beats] of offered write bursts without all their data
        self.accepted = 0  # of them, how many addresses were taken
        self.first = True  # an address on offer was counted
        self.beats = []  # data of the burst that comes
        self.writes = deque()  # [address, beats of data] whole
        self.answers = deque()  # (cycle, error, what is to be written at the answer)
        self.reads = deque()  # [cycle, address, beats, data sampled early or None]
        self.addresses = deque()
        self.drives = {
            f"bus__{name}": 0
            for name in (
                "awready",
                "wready",
                "bvalid",
                "bresp",
                "arready",
                "rvalid",
                "rdata",
                "rresp",
                "rlast",
            )
        }
        self.waiting = {}
        self.bursts = 0

    def _stands(self, seen, channel, names):
        valid, ready = seen[f"bus__{channel}valid"], self.drives[f"bus__{channel}ready"]
        payload = tuple(seen[f"bus__{channel}{name}"] for name in names) if valid else None
        before = self.waiting.get(channel)
        if before is not None:
            expect(valid, f"{channel}valid fell before {channel}ready")
            expect(payload == before, f"{channel} changed before {channel}ready")
        self.waiting[channel] = payload if valid and not ready else None
        return payload, before is None, valid and ready

    def _burst(self, payload, channel):
        number, address, beats, size, burst, *_ = payload
        beats += 1
        expect(number == 0, "not the one identifier")
        expect(1 << size == self.bytes, f"ax{channel}size {size}: expected whole beats")
        expect(burst == 1, "not a burst of incrementing addresses")
        expect(address % self.bytes == 0, f"unaligned burst at {address:#x}")
        expect(beats <= self.burst, f"{beats} beats, expected at most {self.burst}")
        end = address + beats * self.bytes
        expect((end - 1) // 4096 == address // 4096, f"a burst from {address:#x} crosses 4 KiB")
        address -= self.base
        expect(0 <= address and end - self.base <= len(self.memory), "outside the memory")
        self.bursts += 1
        return address, beats

    def _read(self, address, beats):
        """Answers of a read burst: (data, response) of each beat."""
        answers = []
        for at in range(address, address + beats * self.bytes, self.bytes):
            bad = self.errors and fails(at, self.bytes)
            data = (
                self.rnd.getrandbits(8 * self.bytes)
                if bad
                else int.from_bytes(self.memory[at : at + self.bytes], "little")
            )
            answers.append((data, self.rnd.choice((SLVERR, DECERR)) if bad else OKAY))
        return answers

    def _write(self, address, beats):
        for k, (data, strobe) in enumerate(beats):
            at = address + k * self.bytes
            if self.errors and fails(at, self.bytes):
                continue
            for lane in range(self.bytes):
                if strobe >> lane & 1:
                    self.memory[at + lane] = data >> 8 * lane & 0xFF

    def _due(self):
        return self.cycle + self.rnd.randint(*self.latency)

    def _take(self, seen):
        payload, new, taken = self._stands(seen, "aw", ADDRESS)
        if payload and new:
            self.offered.append(self._burst(payload, "w"))
        if taken:
            self.accepted += 1
        payload, _, taken = self._stands(seen, "w", ("data", "strb", "last"))
        if payload:
            expect(self.offered, "write data without an address on offer")
        if taken:
            self.beats.append(payload[:2])
            address, beats = self.offered[0]
            expect(payload[2] == (len(self.beats) == beats), "wlast in the wrong place")
            if payload[2]:
                self.offered.popleft()
                self.writes.append((address, self.beats))
                self.beats = []
        # A write whose address and data are both here is answered; its bytes are in memory at once
        # or, at the latest, with the answer.
        while self.writes and self.accepted:
            self.accepted -= 1
            address, beats = self.writes.popleft()
            bad = self.errors and any(
                fails(address + k * self.bytes, self.bytes) for k in range(len(beats))
            )
            late = self.rnd.random() < 0.5 or any(entry[2] for entry in self.answers)
            if not late:
                self._write(address, beats)
            self.answers.append((self._due(), bad, (address, beats) if late else None))
        payload, _, taken = self._stands(seen, "ar", ADDRESS)
        if taken:
            address, beats = self._burst(payload, "r")
            early = self._read(address, beats) if self.rnd.random() < 0.5 else None
            self.reads.append([self._due(), address, beats, early])

    def step(self, seen):
        """Checks a cycle, and returns the inputs of the next one."""
        self.cycle += 1
        drives, rnd, stall = dict(self.drives), self.rnd, self.stall
        expect(seen["bus__rready"] and seen["bus__bready"], "answers have to wait")
        self._take(seen)
        drives["bus__bvalid"] = drives["bus__rvalid"] = 0
        if self.answers and self.answers[0][0] <= self.cycle and rnd.random() >= stall:
            _, bad, late = self.answers.popleft()
            if late:
                self._write(*late)
            drives["bus__bvalid"] = 1
            drives["bus__bresp"] = rnd.choice((SLVERR, DECERR)) if bad else OKAY
        if self.reads and self.reads[0][0] <= self.cycle and rnd.random() >= stall:
            entry = self.reads[0]
            if entry[3] is None:
                entry[3] = self._read(entry[1], entry[2])
            data, response = entry[3].pop(0)
            drives["bus__rvalid"] = 1
            drives["bus__rdata"], drives["bus__rresp"] = data, response
            drives["bus__rlast"] = int(not entry[3])
            if not entry[3]:
                self.reads.popleft()
        drives["bus__awready"] = int(rnd.random() >= stall and self.accepted < self.depth)
        drives["bus__wready"] = int(rnd.random() >= stall)
        drives["bus__arready"] = int(rnd.random() >= stall and len(self.reads) < self.depth)
        changes = {name: value for name, value in drives.items() if value != self.drives[name]}
        self.drives = drives
        return changes
