# SPDX-License-Identifier: BSD-2-Clause
"""Proof of the addresses and lanes of runs: every byte of the runs once and in order, and none
besides, for any address, run, step and length."""

import enum

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Mux, Signal

from quintet.gateware.link.runs import RunWalker
from tests.support.formal import ProofFailed, Property, cover, prove


class Phase(enum.IntEnum):
    """Phases of the engine's program (gateware/link/microcode.py)."""

    LOAD = 0  # run and step, address, length
    WORD = 1  # four lanes
    BUS = 2
    HOP = 3
    SPARE = 4  # hop_spare
    WRITE = 5  # hop_write
    LEAP = 6
    LAND = 7
    ASK = 8  # behind a read's lanes: has_read
    STOP = 9


_LANES = (Phase.WORD, Phase.SPARE, Phase.WRITE, Phase.LEAP)


class RunsProperty(Property):
    """A request of which the solver chooses all figures, walked over as the program does it.

    ``word`` is where the address should be (its lowest two bits those of the run's first byte),
    ``offset`` what lies between there and the run's first byte, which so is that at ``word -
    offset``; ``done`` bytes of the run have passed before this word.

    * In the cycle of a bus cycle the address is that of the word with byte ``done`` of the run.
    * A lane is active whose byte is one of the run's, not passed yet, while bytes are to go.
    * The step is added to an address that lies ``run`` rounded up and 4 behind the run's first
      byte: so the next run begins there and ``step`` further.
    """

    def __init__(self, walker=None):
        super().__init__()
        self.walker = walker or RunWalker()

    def build(self, m):
        dut = m.submodules.dut = self.walker
        base, run, step, total, writes = (
            Signal(bits, name=name)
            for name, bits in (
                ("base", 32),
                ("run_bits", 8),
                ("step_bits", 16),
                ("total", 16),
                ("writes", 1),
            )
        )
        for signal in (base, run, step, total, writes):
            self.constant(m, signal)
        self.free(dut.byte)
        phase, at = Signal(Phase), Signal(4)
        word, offset, done, before, left = Signal(32), Signal(10), Signal(9), Signal(9), Signal(17)
        advances = Signal()  # behind a write's first word
        runs = Signal(2)  # begun, up to 2
        size, rounded = Signal(9), Signal(10)
        lane, within = dut.lane, word[:2]
        first, most, count, lanes, mask = Signal(2), Signal(3), Signal(3), Signal(4), Signal(4)
        m.d.comb += [
            size.eq(Cat(run, run == 0)),
            rounded.eq(Cat(Const(0, 2), (size + 3)[2:])),
            first.eq(within + done),
            most.eq(Mux(size - done < 4 - first, size - done, 4 - first)),
            count.eq(Mux(left < most, left, most)),
            lanes.eq(((1 << count) - 1)[:4] << first),
        ]

        # The program.
        m.d.comb += [
            dut.go.eq(1),
            dut.many.eq(1),
            dut.stride.eq((phase == Phase.LEAP) | ((phase == Phase.LOAD) & (at < 3))),
            dut.place.eq((phase == Phase.LOAD) & (at >= 3) & (at < 7)),
            dut.land.eq((phase == Phase.LAND) | ((phase == Phase.LOAD) & (at == 3))),
            dut.size.eq((phase == Phase.LOAD) & (at >= 7)),
            dut.advance.eq(
                (phase == Phase.SPARE)
                | (phase == Phase.WRITE)
                | ((phase == Phase.WORD) & (advances | ~writes))
            ),
        ]
        with m.Switch(phase):
            with m.Case(*_LANES):
                m.d.comb += dut.data.eq(1)
        # Word and offset after these four lanes.
        addend = Signal(32)
        m.d.comb += addend.eq(Mux(phase == Phase.LEAP, step.as_signed(), Mux(dut.advance, 4, 0)))
        with m.If(dut.data & (lane == 3)):
            m.d.sync += [word.eq(word + addend), offset.eq(offset + Mux(dut.advance, 4, 0))]
        ends = Signal(Phase)  # behind a word and its bus cycle
        m.d.comb += ends.eq(
            Mux(
                ~dut.over, Mux(writes, Phase.WORD, Phase.BUS), Mux(dut.empty, Phase.STOP, Phase.HOP)
            )
        )
        with m.Switch(phase):
            with m.Case(Phase.LOAD):
                m.d.comb += Assume(dut.byte == Cat(run, step, base, total).word_select(at, 8))
                m.d.sync += at.eq(at + 1)
                with m.If(at == 8):
                    m.d.sync += [
                        phase.eq(Mux(writes, Phase.WORD, Phase.BUS)),
                        word.eq(base),
                        left.eq(Cat(total, total == 0)),
                        runs.eq(1),
                    ]
            with m.Case(Phase.WORD):
                with m.If(lane == 3):
                    m.d.sync += [
                        mask.eq(lanes),
                        before.eq(done),
                        done.eq(done + count),
                        left.eq(left - count),
                        advances.eq(1),
                        phase.eq(Mux(writes, Phase.BUS, Phase.ASK)),
                    ]
            with m.Case(Phase.BUS):
                m.d.sync += phase.eq(Mux(writes, ends, Phase.WORD))
            with m.Case(Phase.ASK):
                m.d.sync += phase.eq(ends)
            with m.Case(Phase.HOP):
                m.d.sync += phase.eq(
                    Mux(dut.spare, Phase.SPARE, Mux(writes, Phase.WRITE, Phase.LEAP))
                )
            with m.Case(Phase.SPARE):
                with m.If(lane == 3):
                    m.d.sync += phase.eq(Mux(writes, Phase.WRITE, Phase.LEAP))
            with m.Case(Phase.WRITE):
                with m.If(lane == 3):
                    m.d.sync += phase.eq(Phase.LEAP)
            with m.Case(Phase.LEAP):
                with m.If(lane == 3):
                    m.d.sync += phase.eq(Phase.LAND)
            with m.Case(Phase.LAND):
                m.d.comb += Assume(dut.byte == dut.address[:8])
                m.d.sync += [
                    phase.eq(Mux(writes, Phase.WORD, Phase.BUS)),
                    offset.eq(0),
                    done.eq(0),
                    advances.eq(0),
                    runs.eq(2),
                ]

        # What is promised.
        with m.If(phase == Phase.BUS):
            m.d.comb += [
                Assert(dut.address == word),
                Assert(offset == Cat(Const(0, 2), (within + Mux(writes, before, done))[2:])),
                Assert(~writes | (dut.select == mask)),
            ]
        with m.If(phase == Phase.WORD):
            m.d.comb += Assert(dut.active == lanes.bit_select(lane, 1))
        with m.If(phase == Phase.LEAP):
            m.d.comb += Assert(offset == rounded + 4)
        with m.If(phase == Phase.LAND):
            m.d.comb += Assert(dut.address == word)
        m.d.comb += Cover(
            (phase == Phase.STOP) & (runs == 2) & (size == 1) & (within == 1) & ~step[-1]
        )
        self._invariants(
            m, **{name: value for name, value in locals().items() if name not in ("self", "m")}
        )

    @staticmethod
    def _invariants(
        m,
        *,
        dut,
        phase,
        at,
        base,
        run,
        step,
        total,
        writes,
        word,
        offset,
        done,
        before,
        left,
        advances,
        size,
        rounded,
        lane,
        within,
        mask,
        addend,
        **_,
    ):
        """Invariants between the registers and those figures, for induction."""
        with m.Switch(phase):
            with m.Case(*_LANES):
                pass
            with m.Default():
                m.d.comb += Assert(lane == 0)
        m.d.comb += [Assert(phase <= Phase.STOP), Assert((lane != 0) | ~dut.carry)]
        shape = Cat(run, step)
        with m.If(phase == Phase.LOAD):
            m.d.comb += [Assert(at <= 8), Assert(done == 0), Assert(~advances), Assert(offset == 0)]
            # What has come so far lies at the top of its register.
            m.d.comb += [
                Assert((at != n) | (Cat(dut.run, dut.step)[24 - 8 * n :] == shape[: 8 * n]))
                for n in (1, 2)
            ]
            m.d.comb += Assert((at < 3) | (Cat(dut.run, dut.step) == shape))
            m.d.comb += [
                Assert((at != 3 + n) | (dut.address[32 - 8 * n :] == base[: 8 * n]))
                for n in (1, 2, 3)
            ]
            m.d.comb += [
                Assert((at < 7) | (dut.address == base)),
                Assert((at < 8) | (dut.left[8:] == total[:8])),
            ]
            m.d.comb += Assert(
                (at < 4) | (~dut.over & (dut.place_in_run == 1) & (dut.skip == base[:2]))
            )
        with m.If((phase != Phase.LOAD) & (phase != Phase.STOP)):
            m.d.comb += [
                Assert(dut.run == run),
                Assert((lane != 0) | (dut.left == left[:16])),
                Assert(left <= 1 << 16),
                Assert(done <= size),
            ]
            m.d.comb += Assert(
                dut.step == Mux((phase == Phase.LEAP) & (lane == 1), Cat(step[8:], step[:8]), step)
            )
            # The address goes round: above lies what is added up, below what is to be.
            sum = (word + addend)[:32]
            for n in range(4):
                with m.If(lane == n):
                    m.d.comb += Assert(dut.address == Cat(word[8 * n :], sum[: 8 * n]))
                    if n:
                        m.d.comb += Assert(dut.carry == word[8 * n] ^ addend[8 * n] ^ sum[8 * n])
        fresh = ((phase == Phase.WORD) | (phase == Phase.BUS) & ~writes) & (lane == 0)
        gone = (phase == Phase.BUS) & writes | (phase == Phase.ASK) | (phase == Phase.HOP)

        def words_to(byte):
            return Cat(Const(0, 2), (within + byte)[2:])

        with m.If(fresh):
            m.d.comb += [
                Assert(left != 0),
                Assert(done < size),
                Assert(~dut.over),
                Assert(dut.place_in_run == (done + 1)[:8]),
                Assert(dut.skip == Mux(done == 0, within, 0)),
                Assert((done == 0) | ((within + done)[:2] == 0)),
                Assert(~writes | (advances == (done != 0))),
                Assert(offset + Mux(writes & (done != 0), 4, 0) == words_to(done)),
            ]
        with m.If(gone):
            m.d.comb += [
                Assert(before < done),
                Assert((before == 0) | ((within + before)[:2] == 0)),
                Assert(done - before <= 4),
                Assert(((within + before)[:2] + (done - before)) <= 4),
                Assert(dut.over == ((done == size) | (left == 0))),
                Assert(dut.over | ((within + done)[:2] == 0)),
                Assert(dut.over | (dut.place_in_run == (done + 1)[:8])),
                Assert(dut.skip == 0),
                Assert(dut.select == mask),
                Assert(mask == (((1 << (done - before)[:3]) - 1)[:4] << (within + before)[:2])[:4]),
                Assert(offset == words_to(before) + Mux(writes, 0, 4)),
                Assert(~writes | advances),
                Assert((phase != Phase.ASK) | ~writes),
            ]
        with m.If((phase >= Phase.HOP) & (phase <= Phase.LAND)):
            m.d.comb += [Assert(dut.over), Assert(left != 0), Assert(done == size)]
        with m.If(phase == Phase.SPARE):
            m.d.comb += Assert(offset == rounded - Mux(writes, 4, 0))
        with m.If(phase == Phase.WRITE):
            m.d.comb += [Assert(writes), Assert(offset == rounded)]


def test_every_byte_of_the_runs_and_no_other(tmp_path):
    prove(RunsProperty(), tmp_path, depth=5)


def test_requests_are_walked_over_at_all(tmp_path):
    cover(RunsProperty(), tmp_path, depth=34)


class Forgetful(RunWalker):
    """Takes every run for one that was spared no word."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.spare.eq(0)
        return m


def test_a_wrong_walker_is_found(tmp_path):
    with pytest.raises(ProofFailed):
        prove(RunsProperty(Forgetful()), tmp_path, depth=5)
