# SPDX-License-Identifier: BSD-2-Clause
"""Cycle estimate of a program: units, memory and queues by the specification's sections 9 and
10."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from quintet.gateware.cores.opentpu.isa import ISA

if TYPE_CHECKING:
    from .codegen.program import Word

__all__ = ["Memory", "SDRAM16", "main_memory", "word_times"]

_OP = ISA.opcodes
_WORD = 14


@dataclass(frozen=True)
class Memory:
    """Timing of main memory: ``bandwidth`` bytes per cycle, ``latency`` cycles from a request to
    its first beat, ``overhead`` cycles per request.

    ``on_chip``: another memory that holds the bytes below ``border``.
    """

    bandwidth: float
    latency: int
    overhead: float
    on_chip: Memory | None = None
    border: int = 0

    def cycles(self, size: int) -> float:
        """Port cycles of a request of ``size`` bytes."""
        return self.overhead + size / self.bandwidth

    def at(self, address: int) -> Memory:
        """Timing of the memory that contains this byte."""
        return self if self.on_chip is None or address >= self.border else self.on_chip


#: 16-bit SDRAM of a board, mixed traffic.
SDRAM16 = Memory(bandwidth=2.0, latency=12, overhead=1.2)
#: Cycles that a memory split adds to the latency of a chip: the guard, both arbiters, the split,
#: the width adapter and the registers between them.
_SPLIT_LATENCY = 18


def main_memory(info: Mapping[str, Any]) -> Memory:
    """The memory timing of a build, from its info text (``kind``, ``beat_bytes``, ``on_chip``).

    A memory of unknown kind is taken for a 16-bit SDRAM.
    """

    kind = info.get("kind")
    if kind == "block RAM":
        return Memory(bandwidth=float(info["beat_bytes"]), latency=12, overhead=4)
    found = SDRAM16
    if kind == "SDRAM":
        found = replace(SDRAM16, bandwidth=float(info["beat_bytes"]))
    elif kind == "SPRAM":
        # Measured, as those of SRAM, on boards of small engines.
        found = Memory(bandwidth=float(info["beat_bytes"]), latency=6, overhead=1.2)
    elif kind == "SRAM":
        found = Memory(bandwidth=1.5, latency=4, overhead=1.0)
    elif kind == "DDR3":
        # Refresh and changes of the bank leave 92 % of the cycles.
        found = Memory(bandwidth=0.92 * info["beat_bytes"], latency=36, overhead=4.0)
    if on_chip := info.get("on_chip"):
        return replace(
            found,
            latency=found.latency + _SPLIT_LATENCY,
            # It takes requests back to back (`PipelinedBlockRAM`).
            on_chip=Memory(bandwidth=float(on_chip["beat_bytes"]), latency=12, overhead=0),
            border=on_chip["size"],
        )
    return found


#: Overhead of a request for one row, in those of a longer one: measured with depthwise layers from
#: SDRAM, whose change of page no transfer hides.
_ROW_SHARE = 7.0

#: Cycles of decode, from the array's input to a row's write, from a row's read to its write by ACT;
#: vectors after which ACT follows.
_DECODE, _DECODE_MEMORY, _ISSUE = 2, 7, 2


class _Clock:
    """Simulation state: the units of a core, each with the cycle at which it becomes free."""

    def __init__(self, params, memory, host, weights, program=0):
        self.host, self.weights, self.next_word = host, weights, program
        n = self.n = params["n"]
        self.params, self.memory = params, memory
        self.split = memory.on_chip is not None  # two memories
        self.port = 0.0  # the memory port
        self.read = {True: 0.0, False: 0.0}  # each of two memories, on chip or not
        self.words = deque()  # when the words that fetch has asked for are there
        # Bytes of a request of fetch: eight words, or less by wide beats (four are outstanding).
        width = 0 if memory.on_chip is None else memory.on_chip.bandwidth
        self.request = 112 if width < 8 else 32 if width == 8 else 16
        outstanding = 2 if width < 8 else 4
        self.fetches = deque([0.0] * outstanding, outstanding)  # when the last ones were there
        self.held, self.buffer = 0, max(params["fetch_words"] * _WORD, 2 * self.request)
        self.there = deque()  # of the requests whose words are not all taken: (end, bytes left)
        self.put = self.issued = 0.0
        self.array = self.written = self.switch = 0.0
        self.act = self.act_begin = 0.0
        self.act_rows = (0, 0)
        self.blocked = 0.0  # end of an instruction beside which none issues
        self.tiles, self.asked = deque(), deque([0.0] * 3, 3)
        self.waiting = deque()  # issued RWs without a request: (issue, address, bytes)
        self.loads = deque([], 4)  # (first row, end, begin, end of RHM)
        self.rhm = deque([0.0] * 2, 2)
        self.whm = 0.0
        self.pool = 1
        self.depth = 2 * n + 8  # from a vector's read to its row's write
        self.first = True
        self.near = (0.0, 0, 1 << 30)  # end, rows and first row of the last MMC

    def transfer(self, address, size, when, share=1.0):
        """Moves ``size`` bytes through the port for a request of cycle ``when``; returns the cycle
        after the transfer, without latency if there is one memory. ``share``: their fraction of a
        request."""
        memory = self.memory.at(address)
        cycles = memory.overhead * share + size / memory.bandwidth
        chip = self.memory.on_chip
        if chip is None:
            self.port = max(self.port, when) + cycles
            return self.port
        # Both memories work at the same time; their answers come in order, in beats of the chip's:
        # one from block RAM waits for the whole latency of an earlier request to SDRAM.
        within = memory is chip
        self.read[within] = max(self.read[within], when) + cycles
        self.port = max(self.read[within] + memory.latency, self.port + size / chip.bandwidth)
        return self.port

    def word(self, word):
        """Issues one word; returns the cycle at which its work is complete."""
        there = self._fetch_requests() if self.split else self._fetch_words()
        moves = word.opcode in (_OP["RHM"], _OP["WHM"], _OP["RW"])
        decoded = max(self.put, there) + (_DECODE_MEMORY if moves else _DECODE)
        self.put = max(decoded, self.issued + 1)
        ready = max(self.put + _ISSUE, self.blocked)
        self.issued, done = self.units[word.opcode](self, word, ready)
        return done

    def _fetch_words(self):
        """Fetches from one memory, word by word; returns when the next word is there."""
        while len(self.words) < self.params["fetch_words"]:
            end = self.transfer(self.next_word, _WORD, self.issued, share=1 / 8)
            self.words.append(end + self.memory.latency)
            self.next_word += _WORD
        return self.words.popleft()

    def _fetch_requests(self):
        """Fetches from two memories, where every request matters: tiles that are asked for later
        wait for its answer. Returns when the next word is there."""
        while self.held + self.request <= self.buffer:
            asked = max(self.issued, self.fetches[0])
            self.load_tiles(until=asked)
            end = self.transfer(self.next_word, self.request, asked)
            self.fetches.append(end)
            self.there.append([end, self.request])
            self.next_word += self.request
            self.held += self.request
        self.held -= _WORD
        left = _WORD
        while self.there[0][1] < left:
            left -= self.there.popleft()[1]
        self.there[0][1] -= left
        return self.there[0][0]

    def _plain(self, word, ready):
        if word.opcode == _OP["CFG"] and word.ub == 2:
            self.pool = (word.addr & 15) * (word.addr >> 4 & 15)
        return ready, ready

    def _rw(self, word, ready):
        size = word.tile_bytes(self.n)
        address = self.weights + word.addr * size
        if self.split:
            self.load_tiles(keep=2)
            ready = max(ready, self.asked[len(self.waiting) - 3])
            self.waiting.append((ready, address, size))
            return ready, ready
        ready = max(ready, self.asked[0])
        share = _ROW_SHARE if size == self.n else 1.0
        self._push(self.transfer(address, size, ready + self.memory.latency, share), size)
        return ready, ready

    def _push(self, end, size):
        """Notes a tile whose last byte is there at cycle ``end``. A diagonal tile's row is pushed
        as n rows, one a cycle, behind those of the tile before."""
        if size == self.n:
            end = max(end, self.asked[-1]) + self.n
        self.asked.append(end)
        self.tiles.append(end)

    def load_tiles(self, until=inf, keep=0):
        """Transfers tiles of RWs that have issued, until ``keep`` are left or the next one's
        request is later than ``until``. Two are in flight; meanwhile fetch goes first."""
        while len(self.waiting) > keep:
            ready, address, size = self.waiting[0]
            when = max(ready, self.asked[-2])
            if when > until:
                return
            self.waiting.popleft()
            self._push(self.transfer(address, size, when), size)

    def _rhm(self, word, ready):
        ready = max(ready, self.rhm[0], self.array if self._reads(word) else 0)
        self.load_tiles(until=ready)
        address = self.host + word.addr * self.n
        latency = self.memory.at(address).latency
        begin = max(self.port, ready + latency, self.rhm[1] + latency)
        if not self.split:
            begin = max(begin, self.port + latency)
        end = self.transfer(address, word.count * self.n, ready)
        self.rhm.append(end)
        there = end if self.split else end + latency
        self.loads.append((word.ub, word.ub + word.count, begin, there))
        return ready, end

    def _reads(self, word):
        return False

    def _whm(self, word, ready):
        # Later instructions need not wait for the port until its rows are there.
        ready = max(ready, self.whm)
        self.load_tiles(until=ready)
        size, address = word.count * self.n, self.host + word.addr * self.n
        self.whm = max(
            self.transfer(address, size, ready),
            self.act_begin + size / self.memory.at(address).bandwidth,
            self.act,
        )
        return ready, self.whm

    def _mmc(self, word, ready):
        convolves = word.flags & 2 and self.params["ext_conv"]
        count = word.count
        ready = max(ready, self.array)
        end, rows, base = self.near
        if not word.flags & 4 and (rows < 3 or word.addr > base or word.flags & 0x80):
            ready = max(ready, end + 4)
        if convolves:
            ready = max(ready, self.act)
        begin = ready + 1
        if word.flags & 1:
            if not self.tiles:
                self.load_tiles(keep=len(self.waiting) - 1)
            begin = max(
                begin,
                (self.tiles.popleft() if self.tiles else 0) + self.n + 4,
                self.switch + self.n + 2,
            )
            self.switch = begin
        for low, high, first, last in self.loads:
            if word.ub < high and low < word.ub + count:
                pace = (last - first) / (high - low)
                need = min(high, word.ub + count)
                begin = max(
                    begin,
                    first + (need - low) * pace - (need - word.ub) if not convolves else last,
                    0,
                )
        low, high = self.act_rows
        if word.ub < high and low < word.ub + count and not convolves:
            begin = max(
                begin,
                self.act_begin + 12 + (max(word.ub, low) - low) - (max(word.ub, low) - word.ub),
            )
        self.array = begin + count
        self.written = self.array + self.depth
        self.near = (self.array, count, word.addr)
        if convolves:
            self.blocked = self.array + 3
        return ready, self.array

    def _act(self, word, ready):
        pools = word.flags & 0x20 and self.params["ext_pool"]
        ready = max(ready, self.act)
        if pools:
            ready = max(ready, self.written)
            self.act_begin, self.act = ready, ready + word.count * self.pool + 12
            self.blocked = self.act + 2
        else:
            self.act_begin = max(ready, self.written - word.count)
            self.act = self.act_begin + word.count + 12
        self.act_rows = (word.ub, word.ub + word.count)
        return ready, self.act

    def _hlt(self, word, ready):
        ready = max(ready, self.act, self.whm, self.array)
        return ready, ready

    units = {
        _OP["RW"]: _rw,
        _OP["RHM"]: _rhm,
        _OP["WHM"]: _whm,
        _OP["MMC"]: _mmc,
        _OP["ACT"]: _act,
        _OP["HLT"]: _hlt,
        _OP["CFG"]: _plain,
        _OP["NOP"]: _plain,
        _OP["SYNC"]: _plain,
    }


def word_times(
    words: Sequence[Word],
    params: Mapping[str, Any],
    memory: Memory = SDRAM16,
    host: int = 0,
    weights: int = 0,
    program: int = 0,
) -> tuple[list[float], float]:
    """Simulates a program: (issue cycle of each word, cycle at which the last one is complete).
    ``host``, ``weights`` and ``program`` are the base addresses of host memory, weight memory and
    the program."""
    clock, times, end = _Clock(params, memory, host, weights, program), [], 0.0
    for word in words:
        end = max(end, clock.word(word))
        times.append(clock.issued)
    return times, end
