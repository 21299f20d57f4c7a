# SPDX-License-Identifier: BSD-2-Clause
"""Cycle-level simulation of a program's issue (docs/isa/pim.md, sections 9 and 10): all cores'
clocks of issue and units, and the memory they share.

A core issues in order. An instruction is checked in three cycles, or four with a second source or a
global address, and then stands in front of its unit until nothing in flight is in its way, so that
one long instruction may hold up all behind it. Where two cores meet, both clocks go on from the
later one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any

from .....gateware.cores.pim.isa import ISA

__all__ = ["SDRAM", "Clock", "Memory", "Timing", "main_memory", "simulate"]


@dataclass(frozen=True)
class Timing:
    """Timing of main memory.

    Attributes
    ----------
    rate : bytes a cycle inside a burst
    latency : cycles from a request, through arbiters and guard to an open row and back, until its
        first beat is where it belongs
    turn : cycles that a burst costs beside its beats: another row, or another direction
    share : of the cycles, those that refreshes and their rows leave
    """

    rate: float = 2.0
    latency: int = 30
    turn: int = 3
    share: float = 0.985


#: 16-bit SDRAM.
SDRAM = Timing()
#: 16-bit DDR3 in beats of 8 bytes, fitted to programs of four networks on the OrangeCrab.
DDR3 = Timing(rate=7.7, latency=40, share=0.97)


def main_memory(info: Mapping[str, Any]) -> Timing:
    """Timing of a build's main memory, from its info text (``kind``, ``beat_bytes``). Memories
    other than DDR3 are taken for a 16-bit SDRAM."""
    if info.get("kind") == "DDR3":
        return DDR3
    return SDRAM


_OP = ISA.opcodes
_TWO = {_OP[name] for name in ("vvadd", "vvsub", "vvmul", "vvmax", "vvsll", "vvsra", "vvdmul")}
_ONE = {_OP[name] for name in ("vrelu", "vtanh", "vsigm", "vrsu", "vrsl")}
_TABLES = {_OP["vtanh"], _OP["vsigm"]}
_PRODUCTS = {_OP[name] for name in ("vvmul", "vvsll", "vvsra")}
_STRIDED = {_OP["vavg"], _OP["vmv"]}
_GLOBAL, _PASSES, _MOVES = (
    {_OP[a], _OP[b]} for a, b in (("ld", "st"), ("send", "recv"), ("lmv", "lldi"))
)
_PRODUCT, _MOVE = _OP["mvmul"], _OP["lmv"]
_SCALAR = {_OP[name] for name in ("nop", "sldi", "sadd", "ssub", "smul", "saddi", "smuli", "setbw")}
#: Word of local memory; code in a burst; bursts of code on their way; beats of a burst of data.
_WORD, _BURST, _FLYING, _BEATS = 8, 64, 4, 64


class Memory:
    """Queue at main memory: time slices of a fixed number of cycles, granted in the order of
    requests.

    A request waits behind those of others, the longer the busier the memory is: as a queue of
    bursts of one length does on average.
    """

    _SLICE, _RECENT, _LONGEST = 64, 16, 6

    def __init__(self, timing: Timing):
        self.rate, self._timing = timing.rate, timing
        self._used: dict[int, Any] = {}

    def wait(self, now: float) -> float:
        """Queueing delay in cycles of a request made at ``now``."""
        at = int(now) // self._SLICE
        busy = sum(self._used.get(k, 0) for k in range(at - self._RECENT, at)) / (
            self._RECENT * self._SLICE
        )
        return min(busy / (2 * max(1 - busy, 0.01)), self._LONGEST) * (
            _BURST / self.rate + self._timing.turn
        )

    def ask(self, now: float, size: int) -> tuple[float, float]:
        """Grants a transfer of ``size`` bytes requested at ``now``: (cycle at which it moves, cycle
        at which its last byte has arrived)."""
        left = size / self.rate
        left += self._timing.turn * -(-left // _BEATS)
        begin = now + self.wait(now)
        at = int(begin) // self._SLICE
        first = at
        while True:
            space = self._timing.share * self._SLICE - self._used.get(at, 0)
            if at == first:
                space = min(space, (at + 1) * self._SLICE - begin)
            if space > 0:
                taken = min(space, left)
                self._used[at] = self._used.get(at, 0) + taken
                left -= taken
                if left <= 0:
                    moved = max(
                        begin + size / self.rate,
                        at * self._SLICE + min(self._used[at], self._SLICE),
                    )
                    return moved, moved + self._timing.latency
            at += 1


@lru_cache(1 << 17)
def _decoded(word):
    """Opcode, the three registers, length, upper half of an instruction and its bytes of code."""
    op, high = word & 63, (word >> 32) - ((word >> 63) << 32)
    short = (
        word >> 32 == 0
        or op == _OP["sldi"]
        and -(1 << 20) <= high < 1 << 20
        or op == _OP["saddi"]
        and -(1 << 15) <= high < 1 << 15
    )
    a, b, c, d = word >> 6 & 31, word >> 11 & 31, word >> 16 & 31, word >> 21 & 2047
    return op, a, b, c, d, high, 4 if short else 8


class Clock:
    """Clock of one core. ``now``: earliest cycle of its next instruction. ``ended``, ``moved``: end
    cycle and main memory bytes of each of its stretches."""

    def __init__(
        self,
        number: int,
        words: Sequence[int],
        groups: Sequence[Any],
        marks: Sequence[int],
        params: Mapping[str, Any],
        memory: Memory,
        begin: float,
    ):
        self.number, self.groups, self.marks, self.memory, self.lanes = (
            number,
            groups,
            list(marks),
            memory,
            params["lanes"],
        )
        self.words = words
        self.now, self.at, self._moved = begin, 0, 0
        self.ended: list[float] = []
        self.moved: list[int] = []
        self.regs, self.ib, self.ob = [0] * 32, 1, 1
        self.taken = begin  # when the last command was taken by its unit
        self.flight: list[tuple[Any, ...]] = []  # (unit, written, reads, when read, when done)
        self.matrix_end = self.matrix_next = self.vector_next = self.move_next = self.load_next = (
            begin
        )
        self.events: dict[int, list[float]] = {}
        self.blocked = False
        self._wanted: tuple[int, int] | None = None
        self._bytes = 0
        self._arrived: dict[Any, Any] = {}
        self._passed: dict[Any, Any] = {}
        self._ring = params["prefetch_words"] * 8 // _BURST

    @property
    def done(self) -> bool:
        """Whether all words have been executed."""
        return self.at >= len(self.words)

    def _fetch(self, size):
        """Waits until the instruction's bytes have been fetched."""
        first, last = self._bytes // _BURST, (self._bytes + size - 1) // _BURST
        if first == last and first in self._arrived:
            self.now = max(self.now, self._arrived[first])
            self._bytes += size
            if self._bytes // _BURST > first:
                self._passed[first] = self.now
            return
        for burst in range(first, last + 1):
            if burst not in self._arrived:
                asked = max(
                    self._arrived.get(burst - _FLYING, 0), self._passed.get(burst - self._ring, 0)
                )
                self._arrived[burst] = self.memory.ask(asked, _BURST)[1]
            self.now = max(self.now, self._arrived[burst])
        self._bytes += size
        for burst in range(first, self._bytes // _BURST):
            self._passed[burst] = self.now

    def advance(self, until: float | None) -> tuple[Any, ...] | None:
        """Executes instructions in order until the clock passes ``until`` or needs another core:
        then (operation, number of the other core, bytes or event)."""
        while self.at < len(self.words):
            while len(self.ended) < len(self.marks) and self.marks[len(self.ended)] <= self.at:
                self._end()
            op, a, b, c, d, high, size = _decoded(int(self.words[self.at]))
            self._fetch(size)
            self._moved += size + (d if op in _GLOBAL else 0)
            self.at += 1
            if op in _SCALAR:
                self._scalar(op, a, b, high)
                continue
            self.now = max(self.now, self.taken + 1)
            if op in _PASSES:
                place = self.regs[a] + (high >> 3)
                span = (place, place + d)
                self.now = max(
                    [
                        self.now + 6,
                        *(f[4] for f in self.flight if f[0] == "transfer"),
                        self._clear(*((None, [span]) if op == _OP["send"] else (span, []))),
                    ]
                )
                return "send" if op == _OP["send"] else "recv", b | c << 5, d
            if op == _OP["sync"]:
                self.now = self._idle() + 6
                return "sync", b | c << 5, a
            if op == _OP["wait"]:
                self.now += 2
                self._wanted = a, b | c << 5
                return "wait", self.number, 0
            self._command(op, a, b, c, d, high)
            if until is not None and self.now > until and not self.done:
                return None
        while len(self.ended) < len(self.marks):
            self._end()
        return None

    def _end(self):
        self.ended.append(self._idle())
        self.moved.append(self._moved)
        self._moved = 0

    def _scalar(self, op, a, b, high):
        self.now += 1
        if op == _OP["sldi"]:
            self.regs[a] = high
        elif op == _OP["saddi"]:
            self.regs[a] = self.regs[b] + high
        elif op == _OP["setbw"]:
            self.ib, self.ob = -(-(a or 32) // 8), -(-(b or 32) // 8)

    def _idle(self):
        return max([self.now, *(f[4] for f in self.flight)])

    def _clear(self, written, reads):
        """First cycle in which an access has no hazard with instructions in flight."""
        when = 0
        for _, theirs, sources, read, done in self.flight:
            if theirs is not None:
                low, high = theirs
                touched = written is not None and low < written[1] and written[0] < high
                for begin, end in reads:
                    touched = touched or low < end and begin < high
                if touched:
                    if done + 1 > when:
                        when = done + 1
                    continue
            if written is not None:
                low, high = written
                for begin, end in sources:
                    if low < end and begin < high and read + 1 > when:
                        when = read + 1
        return when

    def _offer(self, unit, most, written, reads, free, long):
        """Cycle in which the unit accepts a command: its checks are done, no hazard remains, and
        the unit's queue has space."""
        checked = self.now + (4 if long else 3)
        own = sorted([f[4] for f in self.flight if f[0] == unit])
        place = own[-most] + 1 if len(own) >= most else 0
        self.taken = max(checked, self._clear(written, reads), place, free)
        self.now = checked + 1
        self.flight = [f for f in self.flight if f[4] >= self.taken]
        return self.taken

    def _slow(self, at):
        """Fraction of local memory reads that the matrix unit leaves to the other units."""
        return 1 + self.ib / (_WORD - self.ib) if at < self.matrix_end else 1

    def _command(self, op, a, b, c, d, high):
        offset, regs = high >> 3, self.regs
        if op == _PRODUCT:
            self._mvmul(regs[a], regs[b], self.groups[d & 1023])
        elif op in _GLOBAL:
            place = regs[a] if op == _OP["ld"] else regs[b]
            span = (place, place + d)
            if op == _OP["ld"]:
                at = self._offer("transfer", 4, span, [], self.load_next, True)
                self.load_next = at + 2 + d // self.memory.rate // _BEATS
                done = self.memory.ask(at, d)[1] + 6
                self.flight.append(("transfer", span, [], done, done))
            else:
                at = self._offer(
                    "transfer", 4, None, [span], max(self.move_next, self.load_next), True
                )
                # Its words go out as memory takes them; until then no move begins.
                moved, done = self.memory.ask(at + 8, d)
                self.move_next = self.load_next = max(
                    at + d / self.memory.rate * self._slow(at) + 4, moved
                )
                done = max(done, self.move_next + 10)
                self.flight.append(("transfer", None, [span], done, done))
        elif op in _MOVES:
            moves = op == _MOVE
            to = regs[a] + (offset if high & 1 or not moves else 0)
            source = regs[b] + (offset if high & 2 else 0)
            reads = [(source, source + d)] if moves else []
            at = self._offer("transfer", 4, (to, to + d), reads, self.move_next, False)
            words = -(-d // _WORD) * (self._slow(at) if moves else 1)
            self.move_next = at + words + 1
            done = at + words + (6 if moves else 2)
            self.flight.append(("transfer", (to, to + d), reads, done, done))
        else:
            self._vector(op, a, b, c, d, high, offset)

    def _mvmul(self, to, source, group):
        rows, cols = group.rows, group.cols
        tiles, words = -(-cols // self.lanes), -(-rows * self.ib // _WORD)
        written, reads = (to, to + cols * self.ob), [(source, source + rows * self.ib)]
        at = self._offer("matrix", 2, written, reads, self.matrix_next, False)
        # A tile's results go out a word of local memory a cycle.
        out = min(cols, self.lanes) * max(1, -(-self.ob * 4 // _WORD)) / 4
        begin = max(at + 3, self.matrix_end)
        self.matrix_end = begin + tiles * max(rows, out + 4)
        # Four words are requested ahead.
        read = max(at + tiles * words, self.matrix_end - 4 * _WORD / self.ib + 3)
        self.matrix_next = max(read + 1, at + (cols + 6 if group.bias is not None else 4))
        done = self.matrix_end + 8 + (cols - (tiles - 1) * self.lanes) * self.ob / _WORD
        self.flight.append(("matrix", written, reads, read, done))

    def _vector(self, op, a, b, c, d, high, offset):
        ib, ob, regs = self.ib, self.ob, self.regs
        out = (
            ib if op in (_OP["vvadd"], _OP["vvsub"], _OP["vvmax"], _OP["vrelu"], _OP["vmv"]) else ob
        )
        single = op in (_OP["vavg"], _OP["vvdmul"])
        to = regs[a] + (offset * out if high & 1 and op not in _STRIDED and not single else 0)
        written = (to, to + (1 if single else d) * out)
        first = regs[b] + (offset * ib if op == _OP["vavg"] or high & 2 and op != _OP["vmv"] else 0)
        if op in _STRIDED:
            stride = regs[c] - (1 << 32 if regs[c] >> 31 else 0)
            span = (d - 1) * stride * ib
            reads = [(first + min(span, 0), first + max(span, 0) + ib)]
            self.now += 2 + max((d - 1) * ib, 1).bit_length()
            fetch = d
        else:
            reads = [(first, first + d * ib)]
            words = -(-d * ib // _WORD)
            if op in _TWO:
                second = regs[c] + (offset * ib if high & 4 else 0)
                reads.append((second, second + d * ib))
                words *= 2
            fetch = max(
                words,
                -(-d * out // _WORD),
                d if op in _TABLES or ib == 3 else 0,
                -(-d // (4 if ib < 3 else 1)) if op in _PRODUCTS else 0,
            )
        at = self._offer("vector", 2, written, reads, self.vector_next, op in _TWO)
        fetch *= self._slow(at)
        done = at + fetch + (46 if op == _OP["vavg"] else 32 if op == _OP["vvdmul"] else 10)
        # The unit goes on when the sum of a row of products is complete.
        self.vector_next = at + fetch + (14 if op == _OP["vvdmul"] else 4)
        self.flight.append(("vector", written, reads, done, done))

    # Other cores

    def transfer_cycles(self, at: float, size: int) -> float:
        """Cycles to transfer the words of a ``send``."""
        return -(-size // _WORD) * self._slow(at) + 14

    def met(self, ends: float) -> None:
        """Completes a ``send`` or ``recv`` at cycle ``ends``."""
        self.now = self.taken = ends

    def try_event(self) -> bool:
        """Whether the awaited event has occurred often enough; if so, advances the clock past the
        wait."""
        assert self._wanted is not None
        event, value = self._wanted
        found = sorted(self.events.get(event, ()))
        self.blocked = len(found) < value
        if not self.blocked:
            self.events[event] = found[value:]
            self.now = max([self.now, *(t + 5 for t in found[:value])])
        return not self.blocked


def simulate(
    codes: Sequence[Sequence[int]],
    groups: Sequence[Sequence[Any]],
    marks: Sequence[Sequence[int]],
    params: Mapping[str, Any],
    load: float,
    timing: Timing,
    most: float = float("inf"),
) -> list[tuple[float, int]]:
    """Simulates a program: (cycle of the run at which it ends, bytes of main memory it moves) of
    each stretch.

    Parameters
    ----------
    codes : of every core, its words in the 64-bit form
    groups : of every core, its groups, objects with ``rows``, ``cols`` and ``bias``
    marks : of every core, numbers of instructions at which stretches end
    params : build parameters
    load : cycles of LOAD
    timing : of main memory
    most : cycles from which on nothing is given, and the rest not looked at
    """
    memory = Memory(timing)
    cores = [
        Clock(n, words, own, ends, params, memory, load)
        for n, (words, own, ends) in enumerate(zip(codes, groups, marks, strict=True))
    ]
    ready: list[tuple[float, int]] = []
    meets: dict[Any, Any] = {}
    for core in cores:
        heappush(ready, (core.now, core.number))
    while ready:
        # Stretches are rounded one by one.
        if ready[0][0] > most + len(marks[0]):
            return []
        core = cores[heappop(ready)[1]]
        waits = core.advance(ready[0][0] if ready else None)
        if waits is None:
            if not core.done:
                heappush(ready, (core.now, core.number))
            continue
        what, other, amount = waits
        if what == "sync":
            cores[other].events.setdefault(amount, []).append(core.now)
            woken = cores[other]
            if woken.blocked and woken.try_event():
                heappush(ready, (woken.now, woken.number))
            heappush(ready, (core.now, core.number))
        elif what == "wait":
            if core.try_event():
                heappush(ready, (core.now, core.number))
        else:
            key = (core.number, other) if what == "send" else (other, core.number)
            peer = meets.pop(key, None)
            if peer is None:
                meets[key] = core
                continue
            begin, sender = max(core.now, peer.now), core if what == "send" else peer
            ends = begin + sender.transfer_cycles(begin, amount)
            for one in (core, peer):
                one.met(ends)
                heappush(ready, (one.now, one.number))
    return [
        (max(core.ended[k] for core in cores), sum(core.moved[k] for core in cores))
        for k in range(len(marks[0]))
    ]
