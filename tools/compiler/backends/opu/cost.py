# SPDX-License-Identifier: BSD-2-Clause
"""Cycle model for choosing tilings: two queues, the scoreboard, and the durations of section 10.1.
It only ranks programs; the gateware gives their true cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from .....gateware.cores.opu import geometry
from .....gateware.cores.opu.model.sequence import FULL_REGION, Sequence
from .....gateware.cores.opu.types import SLOT

__all__ = ["DDR3", "SDRAM", "SDRAM_DOUBLE", "Estimate", "Timing", "estimate", "main_memory"]


#: Of the small engine: cycles of a configuration instruction, of the checks of a load or store, of
#: a convolution, of a channel of ``conv.bias``.
_CONFIGURE, _CHECK, _CONVOLVE, _BIAS = 60, 100, 90, 28
#: Bytes a cycle of its loads, cycles of an element of its ``store``.
_LOAD, _STORE = 2, 1.05


@dataclass(frozen=True)
class Timing:
    """Memory and unit speeds for :func:`estimate`.

    Attributes
    ----------
    rate : bytes a cycle of loads and stores
    write_rate : bytes a cycle of stores, where it is not ``rate``
    load, store : cycles of a load or store beside its bytes
    latency : cycles from the end of a load's transfers until its bytes can be used, in which other
        transfers go on
    settle : cycles from the end of a transfer's requests until it is complete, in which loads go
        on; a store waits for it
    conv : cycles of a ``conv*`` beside its steps
    drain : cycles from the last step until a result can be stored
    turn : fewest cycles of a ``conv.acc`` beside ``conv``
    queue : ``conv*`` that may wait
    page : cycles for each 1024 bytes of addresses that an array of a map reaches over,
        and for each jump between its rows
    slot : fewest cycles for a slot of ``store``
    gap : cycles of a slot of ``store`` beside its bytes, if results do not fill it
    read_slot : fewest cycles for a slot of ``ld.ifm``
    fetch : cycles of memory for each instruction
    on_chip : speeds of another memory, which holds the bytes below ``border``: the seven numbers
        of transfers
    """

    rate: float = 1.98
    load: int = 12
    store: int = 20
    conv: int = 2
    drain: int = 16
    turn: int = 16
    queue: int = 32
    page: float = 0.0
    slot: float = 0.0
    gap: float = 0.0
    read_slot: float = 0.0
    write_rate: float = 0.0
    latency: int = 0
    settle: int = 0
    fetch: float = 0.0
    on_chip: Timing | None = None
    border: int = 0

    def __post_init__(self) -> None:
        if not self.write_rate:
            object.__setattr__(self, "write_rate", self.rate)

    def at(self, address: int) -> Timing:
        """Speeds of the memory that holds an address."""
        on_chip = self.on_chip
        return self if on_chip is None or address % FULL_REGION >= self.border else on_chip

    def with_program_on_chip(self) -> Timing:
        """The same with instructions that lie in on-chip memory."""
        return self if self.on_chip is None else replace(self, fetch=self.on_chip.fetch)


#: Speeds measured on ULX3S's 16-bit SDRAM, instruction by instruction.
SDRAM = Timing(rate=1.977, load=5, store=45, page=2.2, slot=6.1, fetch=2.2)
#: Speeds of the same chip at twice the main clock, in beats of 4 bytes. With four requests under
#: way a slot of 16 channels takes a fourth of the latency of a read.
SDRAM_DOUBLE = Timing(rate=3.92, load=7, store=47, page=2.2, slot=6.1, read_slot=5.6, fetch=1.1)
#: Speeds fitted to programs of four networks on the OrangeCrab's 16-bit DDR3 in beats of 8 bytes.
#: Its reads of 16 channels wait for the engine, which asks for a slot every fourth cycle.
DDR3 = Timing(
    rate=7.4,
    write_rate=6.7,
    load=8,
    store=70,
    latency=12,
    page=0.8,
    slot=3.4,
    read_slot=4.2,
    fetch=0.52,
)


def _behind_split(memory):
    """Speeds of a chip behind a memory split, whose answers come later."""
    return replace(memory, load=memory.load + 15, store=memory.store + 25)


def _block_ram(beat_bytes):
    """Speeds of block RAM in beats of so many bytes."""
    return Timing(
        rate=float(beat_bytes),
        load=1,
        store=14,
        slot=3.34,
        gap=1.0,
        latency=51,
        settle=30,
        fetch=4 / beat_bytes,
    )


def main_memory(info: Mapping[str, Any]) -> Timing:
    """Speeds of a build's main memory, from its info text (``kind``, ``rate``, ``beat_bytes``,
    ``on_chip``). Memories other than block RAM and DDR3 are taken for a 16-bit SDRAM."""
    if info.get("kind") == "block RAM":
        return _block_ram(info["beat_bytes"])
    chip = SDRAM_DOUBLE if info.get("rate", 1) > 1 else SDRAM
    found = DDR3 if info.get("kind") == "DDR3" else chip
    if on_chip := info.get("on_chip"):
        if found is SDRAM_DOUBLE:
            # Sixteen requests are under way: the engine asks for a slot every fourth cycle. Fitted
            # to programs of four networks.
            found = replace(found, slot=4.1, read_slot=4.2)
        return replace(
            _behind_split(found),
            conv=0,
            drain=26,
            turn=8,
            on_chip=_block_ram(on_chip["beat_bytes"]),
            border=on_chip["size"],
        )
    return found


@dataclass
class Estimate:
    """Result of :func:`estimate`: total cycles, cycles of the DMA and of the convolution unit;
    ``marks``: completion cycles of the requested words."""

    cycles: int
    dma: int
    work: int
    marks: list[int] = field(default_factory=list)


def estimate(
    words: Iterable[int],
    params: Mapping[str, Any],
    timing: Timing | None = None,
    marks: Iterable[int] = (),
    most: float = inf,
) -> Estimate:
    """Estimates the cycles of a program that runs without a fault.

    Parameters
    ----------
    words : iterable of int
    params : dict, build parameters
    timing : Timing, optional, of the pipelined engine
    marks : numbers of words, ascending, whose time of completion is wanted
    most : cycles from which on nobody wants to know how many more there are

    Returns
    -------
    Estimate
    """
    timing = timing or Timing()
    engine = (
        _SmallEngineModel(params) if params["engine"] == "small" else _EngineModel(params, timing)
    )
    wanted, at = list(marks), []
    for count, word in enumerate(words):
        while wanted and wanted[0] <= count:
            at.append(round(max(engine.dma, engine.conv)))
            wanted.pop(0)
        if engine.step(word) or engine.dma > most:
            break
    end = max(engine.dma, engine.complete, engine.conv, engine.issue) + 8
    at += [round(end)] * len(wanted)
    return Estimate(round(end), round(engine.moved), engine.work, at)


class _EngineModel:
    def __init__(self, params, timing):
        self.t, self.params = timing, params
        self.sequence = Sequence(params)
        self.issue = self.dma = self.conv = 0.0
        self.complete = 0.0  # all transfers so far are complete
        self.moved, self.work = 0.0, 0
        self.convs = []  # ends of conv* that may still be queued
        banks = params["ifm_banks"]
        self.ifm_free = [0.0] * banks  # when a bank's last reader is done
        self.ifm_ready = 0.0
        self.ifm_bank = 0
        self.bias_ready = 0.0
        self.ker_start = self.ker_end = 0.0
        self.ker_rows = (0, 0)  # of the current kernel, of the one before
        self.ker_used = [0.0, 0.0]  # end of the last conv* of each
        self.ofm_free = [0.0] * params["ofm_banks"]
        self.ofm_bank = 0
        self.stored = False
        self.shapes, self.steps = None, 0  # of ofm and ifm, and the steps of a conv* with them

    def step(self, word):
        sequence = self.sequence
        self.issue += 1
        self.dma += self.t.fetch
        tap = sequence.tap(word)
        if tap is not None:
            self._conv(*tap)
            return False
        step = sequence.step(word)
        name = step.mnemonic
        if name in ("ld.ifm", "ld.ker", "ld.bias"):
            self._load(name, step)
        elif name == "store":
            self._store(step)
        elif name == "pad" and step.array is not None:
            memory = self.t.at(step.array.address)
            cycles = memory.store + step.bytes_written / memory.write_rate
            self._move(memory, self.complete, cycles)
        return name == "end"

    def _pages(self, memory, rows, columns, mem_w):
        """Cycles that SDRAM page changes add to the transfer of a map's array."""
        if not memory.page:
            return 0
        size = SLOT * self.sequence.types.ifm_bytes / 1024
        return memory.page * (rows * columns * size + (rows if mem_w > columns else 0))

    def _cycles(self, array, cost):
        """Cycles of the transfer of an array by ``cost`` (memory -> cycles), shared out where it
        lies in both memories."""
        first, last = self.t.at(array.address), self.t.at(array.address + array.span - 1)
        if first is last:
            return cost(first)
        share = (self.t.border - array.address % FULL_REGION) / array.span
        return share * cost(first) + (1 - share) * cost(last)

    def _move(self, memory, ready, cycles):
        start = max(self.dma, self.issue, ready)
        self.dma = start + cycles
        self.complete = self.dma + memory.settle
        self.moved += self.dma - start
        return start

    def _load(self, name, step):
        memory = self.t.at(step.array.address)
        if name == "ld.ifm":
            if len(self.ifm_free) > 1:
                self.ifm_bank ^= 1
            rows, columns = self.sequence.ifm[:2]
            mem_w = self.sequence.ifm_mem_w

            def cost(memory):
                least = rows * columns * memory.read_slot
                pages = self._pages(memory, rows, columns, mem_w)
                return memory.load + pages + max(step.bytes_read / memory.rate, least)

            self._move(memory, self.ifm_free[self.ifm_bank], self._cycles(step.array, cost))
            self.ifm_ready = self.dma + memory.latency
        elif name == "ld.bias":
            self._move(memory, 0, memory.load + step.bytes_read / memory.rate)
            self.bias_ready = self.dma + memory.latency
        else:
            s, p = self.sequence, self.params
            rows = geometry.ker_rows(s.ker_n, s.ofm[2], s.ifm[2], p["pi"], p["po"])
            tight = rows + self.ker_rows[0] > p["ker_rows"]
            start = self._move(
                memory,
                self.ker_used[0] if tight else self.ker_used[1],
                memory.load + step.bytes_read / memory.rate,
            )
            self.ker_start, self.ker_end = start + memory.latency, self.dma + memory.latency
            self.ker_rows = (rows, self.ker_rows[0])
            self.ker_used = [0.0, self.ker_used[0]]

    def _conv(self, name, number):
        s, p = self.sequence, self.params
        if len(self.convs) >= self.t.queue:
            self.issue = max(self.issue, self.convs[-self.t.queue])
        tap = self.ker_start + (self.ker_end - self.ker_start) * (number + 1) / s.ker_n
        start = max(self.conv, self.issue, self.ifm_ready, tap, self.bias_ready)
        if name != "conv.acc" and self.stored:
            if len(self.ofm_free) > 1:
                self.ofm_bank ^= 1
            self.stored = False
        start = max(start, self.ofm_free[self.ofm_bank])
        if self.shapes is None or self.shapes[0] is not s.ofm or self.shapes[1] is not s.ifm:
            h, w, ofm_c = s.ofm
            self.shapes = s.ofm, s.ifm
            self.steps = h * w * (s.ifm[2] // p["pi"]) * -(-ofm_c // p["po"])
        steps = self.steps
        self.conv = start + max(steps, self.t.turn if name == "conv.acc" else 0) + self.t.conv
        self.work += steps
        self.ifm_free[self.ifm_bank] = self.conv
        self.ker_used[0] = self.conv
        self.convs.append(self.conv)
        if len(self.convs) > 2 * self.t.queue:
            del self.convs[: self.t.queue]

    def _store(self, step):
        s, p = self.sequence, self.params
        rows, columns = s.result_shape()

        def cost(memory):
            slot = max(-(-s.ofm[2] // p["out_lanes"]) * s.pool[0] * s.pool[1], memory.slot)
            pages = self._pages(memory, rows, columns, s.ofm_mem[1])
            gaps = rows * columns * memory.gap if s.ofm[2] < SLOT else 0
            written = step.bytes_written / memory.write_rate + gaps
            return memory.store + pages + max(written, rows * columns * slot)

        memory = self.t.at(step.array.address)
        ready = max(self.conv + self.t.drain, self.complete)
        self._move(memory, ready, self._cycles(step.array, cost))
        self.ofm_free[self.ofm_bank] = self.dma
        self.stored = True
        if s.res:
            self.ifm_free[self.ifm_bank] = max(self.ifm_free[self.ifm_bank], self.dma)


class _SmallEngineModel:
    """The small engine, which executes instructions one at a time (specification, 9.6 and
    10.1)."""

    def __init__(self, params):
        self.params, self.sequence = params, Sequence(params)
        self.issue = self.moved = 0.0
        self.work = 0

    @property
    def dma(self):
        """Cycles of the DMA so far."""
        return self.issue

    conv = complete = dma

    def step(self, word):
        step, s = self.sequence.step(word), self.sequence
        name = step.mnemonic
        if name.startswith("conv"):
            self._conv(name)
        elif name.startswith("ld."):
            self._move(_CHECK + step.bytes_read / _LOAD)
        elif name in ("store", "pad"):
            window = s.pool[0] * s.pool[1] + (s.order == 2 and s.res) if name == "store" else 1
            self._move(_CHECK + step.bytes_written * _STORE * window)
        else:
            self.issue += _CONFIGURE
        return name == "end"

    def _move(self, cycles):
        self.issue += cycles
        self.moved += cycles

    def _conv(self, name):
        (h, w, ofm_c), ifm_c = self.sequence.ofm, self.sequence.ifm[2]
        steps = ifm_c * ofm_c // 16
        if self.params["multiplier"] == "dsp":  # weights are copied first; ofm has one port
            copied, slow = 8 * steps, 2 if name == "conv.acc" and ifm_c == 16 else 1
        else:  # sums and addends of the biases lie in one table
            copied, slow = 0, 2 if name == "conv.bias" else 1
        self.work += h * w * steps
        self.issue += (
            _CONVOLVE
            + copied
            + h * w * max(slow * steps, ifm_c // 2)
            + (_BIAS * ofm_c if name == "conv.bias" else 0)
        )
