# SPDX-License-Identifier: BSD-2-Clause
"""Requester on a memory port: random requests, compared with a byte memory."""

from collections import deque
from dataclasses import dataclass

from tests.support.buses.stepping import expect

__all__ = ["Asking", "Traffic", "fails"]

#: One beat in so many is answered with an error.
FAILING = 23


def fails(address, beat_bytes):
    """Whether the tests' memory answers a beat at this address with an error."""
    return address // beat_bytes % FAILING == FAILING - 1


@dataclass(frozen=True)
class Traffic:
    """Random requests of a test.

    Attributes
    ----------
    requests : number of them
    size : bytes of the memory
    longest : beats of the longest request; most have few
    writes : share of writes
    stall : share of cycles in which a stream of this side rests
    errors : whether addresses that fail are among them
    flying : largest number of unanswered requests
    exact : every request has ``longest`` beats, aligned
    """

    requests: int
    size: int = 4096
    longest: int = 40
    writes: float = 0.5
    stall: float = 0.25
    errors: bool = True
    flying: int = 8
    exact: bool = False


class Asking:
    """Requester: sends requests, offers write data before, with or after them, and compares the
    answers.

    Parameters
    ----------
    traffic : Traffic
    beat_bytes : int
    rnd : random.Random
    prefix : name of the port
    """

    def __init__(self, traffic, beat_bytes, rnd, prefix="port"):
        self.traffic, self.size, self.rnd = traffic, beat_bytes, rnd
        self.memory = bytearray(traffic.size)
        self.made = self.beats_done = 0
        self.unasked = deque()  # payloads of requests
        self.data = deque()  # write beats to offer
        self.expected = deque()  # (write, [(data or None, error)]) of unanswered requests
        self.given = 0  # beats of the oldest that were answered
        self.names = {
            name: f"{prefix}__{name}"
            for stream in ("req", "w", "r", "ack")
            for name in (f"{stream}__payload", f"{stream}__valid", f"{stream}__ready")
        }
        self.drives = {
            "req__valid": 0,
            "w__valid": 0,
            "r__ready": 0,
            "ack__ready": 0,
            "req__payload": 0,
            "w__payload": 0,
        }
        self.waiting = {}

    @property
    def done(self):
        """Whether all requests were answered."""
        return self.made == self.traffic.requests and not self.expected

    def _make(self):
        traffic, rnd, size = self.traffic, self.rnd, self.size
        words = traffic.size // size
        if traffic.exact:
            beats = traffic.longest
            first = rnd.randrange(words // beats) * beats
        else:
            longest = min(traffic.longest, words)
            beats = rnd.choice((1, rnd.randint(1, min(4, longest)), rnd.randint(1, longest)))
            # Often near the request before, so that reads and writes meet.
            near = getattr(self, "near", 0)
            first = near + rnd.randint(-8, 8) if rnd.random() < 0.6 else rnd.randrange(words)
            first = self.near = max(0, min(words - beats, first))
        write = rnd.random() < traffic.writes
        answers = []
        for k in range(beats):
            at = (first + k) * size
            bad = traffic.errors and fails(at, size)
            if write:
                beat = rnd.getrandbits(8 * size)
                mask = (1 << size) - 1 if rnd.random() < 0.5 else rnd.getrandbits(size)
                self.data.append(beat | mask << 8 * size)
                answers.append((None, bad))
                for lane in range(size):
                    if mask >> lane & 1 and not bad:
                        self.memory[at + lane] = beat >> 8 * lane & 0xFF
            else:
                value = int.from_bytes(self.memory[at : at + size], "little")
                answers.append((value, bad))
        self.unasked.append(first * size | (beats - 1) << 32 | write << 40)
        self.expected.append((write, answers))
        self.made += 1

    def _stands(self, name, valid, ready, payload):
        before = self.waiting.get(name)
        if before is not None:
            expect(valid, f"{name}: valid fell before ready")
            expect(payload == before, f"{name}: payload changed before ready")
        self.waiting[name] = payload if valid and not ready else None

    def _take(self, seen):
        size, mask = self.size, (1 << 8 * self.size) - 1
        names, drives = self.names, self.drives
        r, ack = seen[names["r__valid"]], seen[names["ack__valid"]]
        if r:
            payload = seen[names["r__payload"]]
            self._stands("r", r, drives["r__ready"], payload)
            if drives["r__ready"]:
                expect(self.expected and not self.expected[0][0], "read data that nobody waits for")
                _, answers = self.expected[0]
                value, bad = answers[self.given]
                error, last = payload >> 8 * size & 1, payload >> 8 * size + 1
                expect(error == bad, f"beat {self.given} of {len(answers)}: error is {error}")
                if not bad:
                    expect(
                        payload & mask == value,
                        f"request {self.made - len(self.expected)}, beat {self.given}: "
                        f"{payload & mask:x}, expected {value:x}",
                    )
                self.given += 1
                self.beats_done += 1
                expect(last == (self.given == len(answers)), "last in the wrong place")
                if last:
                    self.expected.popleft()
                    self.given = 0
        else:
            self._stands("r", 0, 0, None)
        if ack:
            payload = seen[names["ack__payload"]]
            self._stands("ack", ack, drives["ack__ready"], payload)
            if drives["ack__ready"]:
                expect(self.expected and self.expected[0][0], "acknowledgement of nothing")
                _, answers = self.expected.popleft()
                expect(
                    payload == any(bad for _, bad in answers), f"acknowledged with error {payload}"
                )
                self.beats_done += len(answers)
        else:
            self._stands("ack", 0, 0, None)

    def step(self, seen):
        """Samples a cycle, and returns the inputs of the next one."""
        names, drives, traffic, rnd = self.names, dict(self.drives), self.traffic, self.rnd
        self._take(seen)
        if drives["req__valid"] and seen[names["req__ready"]]:
            drives["req__valid"] = 0
        if drives["w__valid"] and seen[names["w__ready"]]:
            drives["w__valid"] = 0
        while (
            self.made < traffic.requests
            and len(self.expected) < traffic.flying
            and len(self.unasked) < traffic.flying
        ):
            self._make()
        stall = traffic.stall
        if not drives["req__valid"] and self.unasked and rnd.random() >= stall:
            drives["req__valid"], drives["req__payload"] = 1, self.unasked.popleft()
        if not drives["w__valid"] and self.data and rnd.random() >= stall:
            drives["w__valid"], drives["w__payload"] = 1, self.data.popleft()
        drives["r__ready"] = int(rnd.random() >= stall)
        drives["ack__ready"] = int(rnd.random() >= stall)
        changes = {names[k]: v for k, v in drives.items() if v != self.drives[k]}
        self.drives = drives
        return changes
