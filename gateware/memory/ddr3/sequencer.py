# SPDX-License-Identifier: BSD-2-Clause
"""Start of a DDR3 chip behind LiteDRAM's controller and ECP5 PHY: initialisation, and calibration
of the read delays."""

from collections.abc import Sequence
from math import ceil

from amaranth import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arguments import check_integer
from ...bus.signatures import NativePort
from .parts import DDR3Part, find_ddr3

__all__ = ["PATTERN", "DDR3Sequencer", "InitSignals", "LevelSignals", "start_cycles"]

#: Microseconds of RESET# low, and then of CKE low (JESD79-3F, section 3.3.1, steps 1 and 3).
_RESET_US, _CKE_US = 200, 500
#: Microseconds from CKE to the first mode register (tXPR: tRFC and 10 ns).
_EXIT_US = 1
#: Cycles of the controller after a mode register (tMOD: 12 of the chip's clock, or 15 ns), and
#: after the last one (tDLLK) and ZQCL (tZQinit), each 512 of the chip's clock.
_MODE_CYCLES, _LOCK_CYCLES = 16, 300
#: Cycles for which a byte lane's strobe logic pauses for a new setting; all lanes pause once
#: together after it, so that their strobes stay aligned.
_PAUSE = 16
#: Reads of the pattern, and cycles from the last data to the look at the burst detector.
_ROUNDS, _DETECT = 4, 8


def _pattern(beats: int, bits: int) -> tuple[int, ...]:
    """Pseudo-random beats, by the maximal LFSR of 32 bits x^32 + x^22 + x^2 + x + 1."""
    state, found = 42, []
    for _ in range(beats):
        value = 0
        for bit in range(bits):
            state = state << 1 & 0xFFFF_FFFF | (state >> 31 ^ state >> 21 ^ state >> 1 ^ state) & 1
            value |= (state & 1) << bit
        found.append(value)
    return tuple(found)


#: Beats that are written to the lowest addresses and read back.
PATTERN = _pattern(4, 128)


def start_cycles(clock_hz: float) -> int:
    """Cycles from the end of reset until a chip of 16 bits is ready, about: the waits of the
    standard, and 75 settings of two lanes with all reads of the pattern."""
    waits = (_RESET_US + _CKE_US + _EXIT_US) * clock_hz / 1e6
    setting = 4 * _PAUSE + 2 * _ROUNDS * len(PATTERN) + _DETECT + 24
    return ceil(waits) + 2 * _LOCK_CYCLES + 75 * setting


class InitSignals(wiring.Signature):
    """Commands of the initialisation, seen from their source: the ports ``init_*`` of the generated
    module."""

    def __init__(self, row_bits: int, bank_bits: int) -> None:
        lines = ("enable", "cke", "odt", "reset_n", "cs_n", "ras_n", "cas_n", "we_n")
        super().__init__(
            {name: Out(1) for name in lines} | {"address": Out(row_bits), "bank": Out(bank_bits)}
        )


class LevelSignals(wiring.Signature):
    """Settings of the read delays, seen from their source: the ports ``level_*`` of the generated
    module.

    Members
    -------
    select : Out, a bit for each byte lane. A selected lane takes settings, and does not read.
    delay_reset, delay_step, slip_reset, slip_step : Out(1)
    burst_clear : Out(1)
    burst : In, a bit for each byte lane: its strobe logic has seen a burst
    """

    def __init__(self, lanes: int) -> None:
        strobes = ("delay_reset", "delay_step", "slip_reset", "slip_step", "burst_clear")
        super().__init__(
            {"select": Out(lanes), "burst": In(lanes)} | {name: Out(1) for name in strobes}
        )


class DDR3Sequencer(wiring.Component):
    """Initialises a DDR3 chip, sets the read delay of each byte lane, and then connects the
    controller's port.

    Each lane has ``slips`` bit slips of ``delays`` delays each. A setting works if a pattern is
    read back several times and the lane's strobe logic has seen the bursts. The middle of the
    longest row of delays that work in one bit slip is taken. At the end all lanes read the pattern
    once more.

    The lowest 64 bytes of the chip are overwritten.

    Parameters
    ----------
    part : DDR3Part or str
    clock_hz : float
        Frequency of ``sync``.
    mode_registers : sequence of (number, value)
        In the order in which they are loaded, as LiteDRAM has computed them.
    delays, slips : int
        Settings of a lane.
    short : bool
        Waits of a few cycles, for simulation.

    Members
    -------
    user : In(NativePort(16))
        The port that the memory's user drives.
    port : Out(NativePort(16))
        That of the controller.
    init : Out(InitSignals)
    level : Out(LevelSignals)
    ready : Out(1)
        ``user`` is connected to ``port``.
    failed : Out(1)
        A lane has no setting that works.
    """

    def __init__(
        self,
        *,
        part: DDR3Part | str,
        clock_hz: float,
        mode_registers: Sequence[tuple[int, int]],
        delays: int = 8,
        slips: int = 4,
        short: bool = False,
    ) -> None:
        self.part = find_ddr3(part)
        check_integer("Number of delays", delays, 2, 64)
        check_integer("Number of bit slips", slips, 1, 64)
        self._registers = tuple(mode_registers)
        self._delays, self._slips = delays, slips
        self._cycles_us = 0.01 if short else clock_hz / 1e6
        super().__init__(
            {
                "user": In(NativePort(self.part.burst_bytes)),
                "port": Out(NativePort(self.part.burst_bytes)),
                "init": Out(InitSignals(self.part.row_bits, self.part.bank_bits)),
                "level": Out(LevelSignals(self.part.lanes)),
                "ready": Out(1),
                "failed": Out(1),
            }
        )
        #: Setting of the lane that is tried. For tests.
        self.lane = Signal(range(self.part.lanes))
        self.slip, self.delay = Signal(range(slips)), Signal(range(delays))

    def _wait(self, us):
        return max(4, ceil(us * self._cycles_us))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self._wait(_CKE_US) + _LOCK_CYCLES + 1), init=self._wait(_RESET_US))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        writing, reading = Signal(), Signal()
        same, traffic_done = self._traffic(m, writing, reading)
        with m.FSM():
            self._initialise(m, timer)
            self._level(m, timer, writing, reading, same, traffic_done)
            with m.State("READY"):
                m.d.sync += self.ready.eq(1)
            with m.State("FAILED"):
                m.d.sync += self.failed.eq(1)
        return m

    def _initialise(self, m, timer):
        """States of the initialisation (JESD79-3F, section 3.3.1)."""
        init = self.init
        number = Signal(range(len(self._registers) + 1))
        values = Array(Const(value, self.part.row_bits) for _, value in self._registers)
        banks = Array(Const(bank, self.part.bank_bits) for bank, _ in self._registers)
        held = Signal()  # the controller has the PHY
        cke, reset_n = Signal(), Signal()
        m.d.comb += [
            init.enable.eq(~held),
            init.cke.eq(cke),
            init.odt.eq(reset_n),
            init.reset_n.eq(reset_n),
            init.cs_n.eq(1),
            init.ras_n.eq(1),
            init.cas_n.eq(1),
            init.we_n.eq(1),
        ]
        with m.State("RESET"):
            with m.If(timer == 0):
                m.d.sync += [reset_n.eq(1), timer.eq(self._wait(_CKE_US))]
                m.next = "WAIT FOR CKE"
        with m.State("WAIT FOR CKE"):
            with m.If(timer == 0):
                m.d.sync += [cke.eq(1), timer.eq(self._wait(_EXIT_US))]
                m.next = "MODE REGISTERS"
        with m.State("MODE REGISTERS"):
            m.d.comb += [init.address.eq(values[number]), init.bank.eq(banks[number])]
            with m.If((timer == 0) & (number != len(self._registers))):
                m.d.comb += [init.cs_n.eq(0), init.ras_n.eq(0), init.cas_n.eq(0), init.we_n.eq(0)]
                m.d.sync += [
                    number.eq(number + 1),
                    timer.eq(Mux(number == len(self._registers) - 1, _LOCK_CYCLES, _MODE_CYCLES)),
                ]
            with m.Elif(timer == 0):
                # ZQCL: A10 high.
                m.d.comb += [init.cs_n.eq(0), init.we_n.eq(0), init.address.eq(1 << 10)]
                m.d.sync += timer.eq(_LOCK_CYCLES)
                m.next = "CALIBRATE OUTPUTS"
        with m.State("CALIBRATE OUTPUTS"):
            with m.If(timer == 0):
                m.d.sync += [held.eq(1), timer.eq(_MODE_CYCLES)]
                m.next = "WRITE PATTERN"

    def _traffic(self, m, writing, reading):
        """Port of the controller: writes the pattern while ``writing``, reads it some times while
        ``reading``.

        Returns
        -------
        same : Signal, a bit for each lane: no byte of it differed in what was read
        done : Signal, one cycle
        """
        port, user, ready = self.port, self.user, self.ready
        beats = len(PATTERN)
        total = _ROUNDS * beats
        asked, moved = Signal(range(total + 1)), Signal(range(total + 1))
        index, beat = Signal(range(beats)), Signal(unsigned(len(port.wdata_data)))
        goal = Mux(writing, beats, total)
        m.d.comb += [
            index.eq(moved[: len(index)]),
            beat.eq(Array(Const(value, len(beat)) for value in PATTERN)[index]),
            port.cmd_valid.eq(Mux(ready, user.cmd_valid, (writing | reading) & (asked != goal))),
            port.cmd_last.eq(user.cmd_last | ~ready),
            port.cmd_we.eq(Mux(ready, user.cmd_we, writing)),
            port.cmd_addr.eq(Mux(ready, user.cmd_addr, asked[: len(index)])),
            port.wdata_valid.eq(Mux(ready, user.wdata_valid, writing)),
            port.wdata_data.eq(Mux(ready, user.wdata_data, beat)),
            port.wdata_we.eq(user.wdata_we | ~ready.replicate(len(user.wdata_we))),
            port.rdata_ready.eq(1),
            user.cmd_ready.eq(port.cmd_ready & ready),
            user.wdata_ready.eq(port.wdata_ready & ready),
            user.rdata_valid.eq(port.rdata_valid & ready),
            user.rdata_data.eq(port.rdata_data),
        ]
        same, done = Signal(self.part.lanes), Signal()
        # What was read stands in registers before it is compared.
        read, expected, valid = Signal.like(beat), Signal.like(beat), Signal()
        differs = [
            read[8 * lane :].bit_select(0, 8) != expected[8 * lane :].bit_select(0, 8)
            for lane in range(len(beat) // 8)
        ]
        with m.If(~ready):
            m.d.sync += [valid.eq(port.rdata_valid & reading), read.eq(port.rdata_data)]
            m.d.sync += expected.eq(beat)
        with m.If(~writing & ~reading):
            m.d.sync += [asked.eq(0), moved.eq(0), same.eq(-1)]
        with m.Else():
            with m.If(port.cmd_valid & port.cmd_ready):
                m.d.sync += asked.eq(asked + 1)
            with m.If(Mux(writing, port.wdata_ready, port.rdata_valid)):
                m.d.sync += moved.eq(moved + 1)
            with m.If(valid):
                for lane in range(self.part.lanes):
                    with m.If(Cat(*differs[lane :: self.part.lanes]).any()):
                        m.d.sync += same[lane].eq(0)
            m.d.comb += done.eq((moved == goal) & ~valid)
        return same, done

    def _level(self, m, timer, writing, reading, same, traffic_done):
        """States of the calibration of the lanes' read delays."""
        level, lane, slip, delay = self.level, self.lane, self.slip, self.delay
        run, best = Signal(range(self._delays + 1)), Signal(range(self._delays + 1))
        best_slip, best_end = Signal.like(slip), Signal.like(delay)
        middle = Signal.like(delay)
        works, last_check = Signal(), Signal()
        m.d.comb += [
            works.eq((same & level.burst).bit_select(lane, 1)),
            middle.eq(best_end - (best >> 1)),
        ]
        #: Strobes that the next change of setting gives.
        strobes = Signal(4)
        order = ("delay_reset", "delay_step", "slip_reset", "slip_step")
        strobe = {name: 1 << bit for bit, name in enumerate(order)}
        fresh = strobe["delay_reset"] | strobe["slip_reset"]
        phase = Signal(range(4 * _PAUSE))
        setting = Signal()  # the lane is being set to the middle

        with m.State("WRITE PATTERN"):
            m.d.comb += writing.eq(timer == 0)
            with m.If(traffic_done & writing):
                m.d.sync += [timer.eq(_MODE_CYCLES), strobes.eq(fresh)]
                m.next = "CHANGE SETTING"
        with m.State("CHANGE SETTING"):
            m.d.sync += phase.eq(phase + 1)
            with m.If(phase < _PAUSE):
                m.d.comb += level.select.eq(1 << lane)
            with m.Elif(phase[_PAUSE.bit_length() - 1 :] == 2):
                m.d.comb += level.select.eq(-1)
            with m.If(phase == _PAUSE // 2):
                m.d.comb += [
                    getattr(level, name).eq(strobes[bit]) for bit, name in enumerate(order)
                ]
            with m.If(phase.all()):
                m.next = "STEP TO MIDDLE"
                with m.If(~setting):
                    m.d.comb += level.burst_clear.eq(1)
                    m.next = "READ PATTERN"
        with m.State("READ PATTERN"):
            m.d.comb += reading.eq(1)
            with m.If(traffic_done):
                m.d.sync += timer.eq(_DETECT)
                m.next = "JUDGE"
        with m.State("JUDGE"):
            # The result of the comparison must stand until here.
            m.d.comb += reading.eq(1)
            with m.If((timer == 0) & last_check):
                m.next = "FAILED"
                with m.If((same & level.burst).all()):
                    m.next = "READY"
            with m.Elif(timer == 0):
                m.d.sync += run.eq(Mux(works, run + 1, 0))
                with m.If(works & (run >= best)):
                    m.d.sync += [best.eq(run + 1), best_slip.eq(slip), best_end.eq(delay)]
                m.next = "NEXT SETTING"
        with m.State("NEXT SETTING"):
            m.next = "CHANGE SETTING"
            with m.If(delay != self._delays - 1):
                m.d.sync += [delay.eq(delay + 1), strobes.eq(strobe["delay_step"])]
            with m.Elif(slip != self._slips - 1):
                m.d.sync += [
                    delay.eq(0),
                    slip.eq(slip + 1),
                    run.eq(0),
                    strobes.eq(strobe["delay_reset"] | strobe["slip_step"]),
                ]
            with m.Elif(best == 0):
                m.next = "FAILED"
            with m.Else():
                m.d.sync += [delay.eq(0), slip.eq(0), setting.eq(1), strobes.eq(fresh)]
        with m.State("STEP TO MIDDLE"):
            m.next = "CHANGE SETTING"
            with m.If(slip != best_slip):
                m.d.sync += [slip.eq(slip + 1), strobes.eq(strobe["slip_step"])]
            with m.Elif(delay != middle):
                m.d.sync += [delay.eq(delay + 1), strobes.eq(strobe["delay_step"])]
            with m.Elif(lane != self.part.lanes - 1):
                m.d.sync += [
                    lane.eq(lane + 1),
                    delay.eq(0),
                    slip.eq(0),
                    run.eq(0),
                    best.eq(0),
                    setting.eq(0),
                    strobes.eq(fresh),
                ]
            with m.Else():
                # Once more, with all lanes set and no strobe.
                m.d.sync += [last_check.eq(1), setting.eq(0), strobes.eq(0)]
