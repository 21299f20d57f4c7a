# SPDX-License-Identifier: BSD-2-Clause
"""Behavioural model of an SDR SDRAM chip for pysim, which checks every timing rule; the C++ model
is ``gateware/memory/chips/sdr_sdram.hpp``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .parts import SDRAMPart, find_part
from .phase import ClockPath
from .phy import SDRAMPins

if TYPE_CHECKING:
    from amaranth import Signal


__all__ = ["SDRAMChip", "SDRAMViolation"]

NEVER = float("-inf")

# Levels of ras_n, cas_n, we_n.
MODE, REFRESH, PRECHARGE, ACTIVATE, WRITE, READ, STOP, NOP = range(8)


class SDRAMViolation(AssertionError):
    """Violation of a timing or protocol rule of an SDRAM's data sheet."""


class SDRAMChip:
    """Behavioural SDRAM model: one chip (or two side by side) on the lines of an
    :class:`~.phy.SDRAMPins`.

    Its edges are looked at in the middle of the main clock's cycles (with a ``rate`` of 2, of the
    halves of these cycles); when they really come, and when data are back, ``path`` says. Lines
    that change within the set-up or hold time break a rule. Data that are in time for no edge of
    the main clock are never seen, only rubbish. Bytes lie in :attr:`data` in the order of the
    controller's addresses: row, bank, column, byte. Bursts have one or two words; a command within
    one breaks a rule.

    Parameters
    ----------
    part : SDRAMPart or str
    clock_hz : float
    pins : interface of SDRAMPins, or None when :meth:`edge` is called by hand
    path : ClockPath
        By default data are in time for a ``capture`` of 1.
    rate : int
        Cycles of the chip for each of the main clock. ``clock_hz`` is the chip's.
    powerup_ns : float
        Time that must pass before the first command.
    init_refreshes : int
        Refreshes before the mode register is set.
    postponed : int
        Refreshes that may be postponed.

    Attributes
    ----------
    data : numpy uint8
    counts : dict
        Commands seen, by name.
    """

    def __init__(
        self,
        *,
        part: SDRAMPart | str,
        clock_hz: float,
        pins: SDRAMPins | None = None,
        path: ClockPath | None = None,
        rate: int = 1,
        powerup_ns: int = 200_000,
        init_refreshes: int = 8,
        postponed: int = 8,
    ) -> None:
        self.part = part = find_part(part)
        self.rate = rate
        self.period = 1e9 / clock_hz
        self.clock_mhz = clock_hz / 1e6
        self.pins = pins
        self.path = path or ClockPath.centred(part, clock_hz, 1)
        self.powerup, self.init_refreshes = powerup_ns, init_refreshes
        self.postponed = postponed
        self.data = np.zeros(part.size, np.uint8)
        self.counts = dict(read=0, write=0, activate=0, precharge=0, refresh=0)
        self.now = 0
        self.start: int | None = None
        self.cas = 0
        self.burst = 1  # words of a READ or WRITE
        self.busy = False  # the next edge belongs to a burst
        self.second = None  # bank and column of the word that the next edge writes
        self.seen_after = None  # edges until data of the chip are in time
        self.banks = [
            SimpleNamespace(row=None, activated=NEVER, precharged=NEVER, written=NEVER)
            for _ in range(1 << part.bank_bits)
        ]
        self.refreshed = self.mode_set = self.activated = NEVER
        self.precharged_all = False
        self.init_count = 0
        self.pipe = deque([None] * 4, maxlen=4)
        self.driven = deque([False] * 2, maxlen=2)  # last two intervals between edges, newest first
        self.late = deque([None] * 4, maxlen=4)
        self.dqm_before = 0

    def fail(self, rule: str) -> NoReturn:
        """Raises :class:`SDRAMViolation` of ``rule``."""
        raise SDRAMViolation(f"SDRAM: {rule} (edge {self.now})")

    def require(self, holds: object, rule: str) -> None:
        """Raises :class:`SDRAMViolation` of ``rule`` if the condition ``holds`` is false."""
        if not holds:
            self.fail(rule)

    def passed(self, since: float, nanoseconds: float, rule: str) -> None:
        # A thousandth of a nanosecond of slack for the rounding of the period.
        """Checks that ``nanoseconds`` have passed since the edge ``since``."""
        self.require((self.now - since) * self.period >= nanoseconds - 1e-3, rule)

    def edge(
        self,
        *,
        cke: int = 1,
        cs_n: int = 1,
        ras_n: int = 1,
        cas_n: int = 1,
        we_n: int = 1,
        ba: int = 0,
        a: int = 0,
        dqm: int = 0,
        dq: int = 0,
        dq_oe: int = 0,
    ) -> int | None:
        """Simulates one rising edge of the chip's clock; returns the value on DQ until the next
        edge (None: not driven)."""
        self.now += 1
        if dq_oe:
            self.require(not self.driven[0], "both sides drive DQ")
            self.require(not self.driven[1], "DQ driven without a turn-around cycle after a read")
        self.require(cke or self.start is None, "CKE low")
        command = ras_n << 2 | cas_n << 1 | we_n
        second, self.second = self.second, None
        busy, self.busy = self.busy, False
        if not cs_n and cke and command != NOP:
            self.require(not busy, "a command within a burst is not modelled")
            self._execute(command, ba, a, dqm, dq, dq_oe)
        if second is not None:
            self._write(*second, dqm, dq, dq_oe)
        due = self.pipe.popleft()
        self.pipe.append(None)
        self.driven.appendleft(due is not None)
        if due is not None:
            for i in range(self.part.beat_bytes):
                if self.dqm_before >> i & 1:  # two edges from DQM to data
                    due = due & ~(0xFF << 8 * i) | 0x5A << 8 * i
        self.dqm_before = dqm
        self.late.appendleft(due)
        if self.start is not None:
            owed = (self.now - self.start) * self.period / self.part.t_refi - self.counts["refresh"]
            self.require(owed <= self.postponed + 1, "refresh overdue")
        return None if self.seen_after is None else self.late[self.seen_after]

    def _find_seen_after(self):
        first, last = (
            self.path.returns[1] + self.part.t_ac(self.cas),
            self.path.returns[0] + self.part.t_oh,
        )
        return next(
            (
                n
                for n in range(len(self.late))
                if first <= (n + 1) * self.period + 1e-3 and n * self.period <= last + 1e-3
            ),
            None,
        )

    def _place(self, ba, column):
        """Index of the first byte of a column of an open row."""
        part = self.part
        row = self.banks[ba].row << part.bank_bits | ba
        return (row << part.column_bits | column) * part.beat_bytes

    def _write(self, ba, column, dqm, dq, dq_oe):
        """Writes a word and notes when."""
        self.require(dq_oe, "WRITE without data")
        at = self._place(ba, column)
        for i in range(self.part.beat_bytes):
            if not dqm >> i & 1:
                self.data[at + i] = dq >> 8 * i & 0xFF
        self.banks[ba].written = self.now

    def _idle(self, rule):
        for bank in self.banks:
            self.require(bank.row is None, rule)
            self.passed(bank.precharged, self.part.t_rp, "tRP")

    def _execute(self, command, ba, a, dqm, dq, dq_oe):
        part, bank = self.part, self.banks[ba]
        self.require(self.path.rises[0] >= part.t_is - 1e-3, "set-up time of the lines")
        self.require(self.path.rises[1] + part.t_ih <= self.period + 1e-3, "hold time of the lines")
        self.require(self.now * self.period >= self.powerup, "command before the power-up time")
        self.require(
            self.start is not None or command in (PRECHARGE, REFRESH, MODE),
            "command before initialisation",
        )
        self.passed(self.refreshed, part.t_rfc, "tRFC")
        self.require(self.now - self.mode_set >= part.t_mrd, "tMRD")
        if command == ACTIVATE:
            self.require(bank.row is None, "ACTIVATE of an open bank")
            self.passed(bank.precharged, part.t_rp, "tRP")
            self.passed(bank.activated, part.t_rc, "tRC")
            self.passed(self.activated, part.t_rrd, "tRRD")
            self.require(not a >> part.row_bits, "row out of range")
            bank.row = a
            bank.activated = self.activated = self.now
            self.counts["activate"] += 1
        elif command in (READ, WRITE):
            name = "READ of a closed bank" if command == READ else "WRITE to a closed bank"
            self.require(bank.row is not None, name)
            self.passed(bank.activated, part.t_rcd, "tRCD")
            self.require(not a >> 10 & 1, "auto-precharge is not modelled")
            self.require(not (a & ~(1 << 10)) >> part.column_bits, "column out of range")
            self.busy = self.burst > 1
            if command == READ:
                for n in range(self.burst):
                    # A burst of two stays within a pair of columns.
                    at, size = self._place(ba, a ^ n), part.beat_bytes
                    self.pipe[self.cas - 1 + n] = int.from_bytes(
                        self.data[at : at + size].tobytes(), "little"
                    )
                self.counts["read"] += 1
            else:
                self._write(ba, a, dqm, dq, dq_oe)
                self.second = (ba, a ^ 1) if self.burst == 2 else None
                self.counts["write"] += 1
        elif command == PRECHARGE:
            for i, each in enumerate(self.banks):
                if not (a >> 10 & 1 or i == ba):
                    continue
                if each.row is None:
                    if self.start is None:
                        each.precharged = self.now
                    continue
                self.passed(each.activated, part.t_ras, "tRAS")
                self.require(
                    (self.now - each.activated) * self.period < part.t_ras_max, "tRAS(max)"
                )
                self.passed(each.written, part.t_wr, "tWR")
                each.row, each.precharged = None, self.now
            self.precharged_all |= bool(a >> 10 & 1)
            self.counts["precharge"] += 1
        elif command == REFRESH:
            self.require(self.precharged_all, "REFRESH before PRECHARGE ALL")
            self._idle("REFRESH with an open bank")
            self.refreshed = self.now
            if self.start is None:
                self.init_count += 1
            else:
                self.counts["refresh"] += 1
        elif command == MODE:
            self.require(self.precharged_all, "MODE REGISTER SET before PRECHARGE ALL")
            self.require(
                self.init_count >= self.init_refreshes,
                "MODE REGISTER SET before the initial refreshes",
            )
            self._idle("MODE REGISTER SET with an open bank")
            self.require(not a & 0xE and not ba, "only bursts of one or two words are modelled")
            self.burst = 1 << (a & 1)
            self.cas = a >> 4 & 7
            self.require(self.cas in (2, 3), "CAS latency")
            self.seen_after = self._find_seen_after()
            self.require(
                self.clock_mhz <= (part.cl2_mhz if self.cas == 2 else part.cl3_mhz),
                "clock too fast for the CAS latency",
            )
            self.mode_set = self.now
            if self.start is None:
                self.start = self.now
        else:
            self.fail("command is not modelled")

    def process(self, clock: Signal) -> Callable[..., Coroutine[Any, Any, None]]:
        """Testbench process; ``clock`` is the ``clk`` signal of the main clock domain."""
        pins = self.pins

        async def process(ctx):
            bits = self.part.data_bits
            while True:
                await ctx.edge(clock, 0)
                seen = 0
                for half in range(self.rate):
                    # The command lines rest in the second half.
                    rest = int(half > 0)
                    dq = self.edge(
                        cke=ctx.get(pins.cke),
                        cs_n=ctx.get(pins.cs_n),
                        ras_n=ctx.get(pins.ras_n) | rest,
                        cas_n=ctx.get(pins.cas_n) | rest,
                        we_n=ctx.get(pins.we_n) | rest,
                        ba=ctx.get(pins.ba),
                        a=ctx.get(pins.a),
                        dqm=ctx.get(pins.dqm) >> half * bits // 8 & (1 << bits // 8) - 1,
                        dq=ctx.get(pins.dq.o) >> half * bits & (1 << bits) - 1,
                        dq_oe=ctx.get(pins.dq.oe),
                    )
                    word = (0xA5A5A5A5 if dq is None else dq) & (1 << bits) - 1
                    seen |= word << half * bits
                ctx.set(pins.dq.i, seen)

        return process
