# SPDX-License-Identifier: BSD-2-Clause
"""Initialisation and refresh of an SDR SDRAM."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .parts import SDRAMPart, SDRAMTiming

__all__ = ["RefreshTimer", "RefreshSequencer"]

#: Refreshes due before a change of row is used for them, and before they interrupt a burst.
BATCH, LIMIT = 4, 8
#: Cycles without a request before a single refresh is made.
PAUSE = 16
INIT_REFRESHES = 8


class RefreshTimer(wiring.Component):
    """Refresh timer: counts due refreshes and requests them.

    Members
    -------
    idle : In(1), the controller has nothing to do; change : In(1),
        all that it has to do needs another row
    done : In(1), a refresh command was given
    hold : Out(1), open no further rows; request : Out(1), refresh now; more : Out(1),
        at least one more is due
    """

    def __init__(self, *, interval: int) -> None:
        self.interval = interval
        super().__init__(
            {
                "idle": In(1),
                "change": In(1),
                "done": In(1),
                "hold": Out(1),
                "request": Out(1),
                "more": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(range(self.interval), init=self.interval - 1)
        tick = Signal()
        due = Signal(range(2 * LIMIT))
        pause = Signal(range(PAUSE + 1))
        m.d.comb += tick.eq(left == 0)
        m.d.sync += left.eq(left - 1)
        with m.If(tick):
            m.d.sync += left.eq(self.interval - 1)
        with m.If(tick & ~self.done):
            m.d.sync += due.eq(due + 1)
        with m.Elif(self.done & ~tick):
            m.d.sync += due.eq(due - 1)
        with m.If(~self.idle):
            m.d.sync += pause.eq(0)
        with m.Elif(pause != PAUSE):
            m.d.sync += pause.eq(pause + 1)
        m.d.comb += self.more.eq(due != 0)
        m.d.sync += [
            self.hold.eq(due >= BATCH),
            self.request.eq(
                (due >= LIMIT)
                | ((due >= BATCH) & self.change)
                | ((due != 0) & (pause == PAUSE) & self.idle)
            ),
        ]
        return m


class RefreshSequencer(wiring.Component):
    """Command sequencer of initialisation and refresh; reopens the rows that a refresh closed.

    ``burst``: words that the chip moves for each READ or WRITE.

    Members
    -------
    run : Out(1), the controller may give commands of its own; ready : Out(1), initialised
    request : In(1), refresh (looked at while ``run``); more : In(1),
        another refresh is due; refreshes : Out(1)
    hold : In(1), some bank may not be precharged yet; closes : Out(1),
        all banks are precharged in this cycle
    used : In, banks in which a segment waits to be served; activate : Out(1), ``bank`` is opened
    command : Out(3), we_n, cas_n, ras_n; bank : Out; a : Out
    """

    def __init__(
        self, *, part: SDRAMPart, timing: SDRAMTiming, powerup: int, burst: int = 1
    ) -> None:
        self.part, self.timing, self.powerup, self._burst = part, timing, powerup, burst
        super().__init__(
            {
                "run": Out(1),
                "ready": Out(1),
                "request": In(1),
                "more": In(1),
                "refreshes": Out(1),
                "hold": In(1),
                "closes": Out(1),
                "used": In(1 << part.bank_bits),
                "activate": Out(1),
                "command": Out(3, init=7),
                "bank": Out(part.bank_bits),
                "a": Out(max(part.row_bits, 11)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timing = self.timing
        # Mode register: CAS latency, and the burst length as a power of two.
        mode = timing.cas << 4 | (self._burst.bit_length() - 1)
        wait = Signal(
            range(max(self.powerup, timing.t_rfc, timing.t_rp, timing.t_mrd, timing.t_rrd) + 1),
            init=self.powerup,
        )
        waited = Signal()
        initial = Signal(range(INIT_REFRESHES + 1), init=INIT_REFRESHES)
        m.d.comb += [waited.eq(wait == 0), self.command.eq(0b111)]
        with m.If(~waited):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("CLOSE"):  # entered at power-up, with the long wait before it
                with m.If(waited & ~self.hold):
                    m.d.comb += [self.closes.eq(1), self.command.eq(0b010), self.a.eq(1 << 10)]
                    m.d.sync += wait.eq(timing.t_rp - 1)
                    m.next = "REFRESH"
            with m.State("REFRESH"):
                with m.If(waited):
                    m.d.comb += self.command.eq(0b001)
                    # One cycle less: the next state takes it.
                    m.d.sync += wait.eq(max(timing.t_rfc - 2, 1))
                    with m.If(self.ready):
                        m.d.comb += self.refreshes.eq(1)
                    with m.Else():
                        m.d.sync += initial.eq(initial - 1)
                    m.next = "REFRESHED"
            with m.State("REFRESHED"):
                with m.If(waited):
                    with m.If(~self.ready & (initial == 0)):
                        m.next = "MODE"
                    with m.Elif(~self.ready | self.more):
                        m.next = "REFRESH"
                    with m.Else():
                        m.next = "OPEN"
            with m.State("MODE"):
                m.d.comb += [self.command.eq(0b000), self.a.eq(mode)]
                m.d.sync += [wait.eq(timing.t_mrd - 1), self.ready.eq(1)]
                m.next = "OPEN"
            with m.State("OPEN"):
                with m.If(waited):
                    m.d.comb += self.activate.eq(self.used.bit_select(self.bank, 1))
                    m.d.sync += self.bank.eq(self.bank + 1)
                    with m.If(self.activate):
                        m.d.comb += self.command.eq(0b011)
                        m.d.sync += wait.eq(timing.t_rrd - 1)
                    with m.If(self.bank.all() | ~self.used.any()):
                        m.d.sync += [self.run.eq(1), self.bank.eq(0)]
                        m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.request):
                    m.d.sync += self.run.eq(0)
                    m.next = "CLOSE"
        return m
