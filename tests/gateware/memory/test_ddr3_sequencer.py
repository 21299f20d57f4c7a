# SPDX-License-Identifier: BSD-2-Clause
import warnings

import pytest

from quintet.gateware.memory.ddr3.sequencer import PATTERN, DDR3Sequencer
from tests.support.simulating import simulate

warnings.filterwarnings("ignore", category=ResourceWarning)

#: (number, value), as LiteDRAM computes them for CAS latency 6.
MODE_REGISTERS = ((2, 0x200), (3, 0), (1, 2), (0, 0x320))
LANES, DELAYS, SLIPS = 2, 4, 2
#: Cycles from a read command to its data, and from a write command to the look at its data.
READ, WRITE = 17, 4


class Lane:
    """Read delay of a byte lane, which returns what was written for ``works`` (slip, delay)."""

    def __init__(self, works):
        self.works, self.slip, self.delay = works, 0, 0
        self.paused = 0  # cycles of the present pause

    @property
    def good(self):
        return (self.slip, self.delay) in self.works


class Phy:
    """PHY, controller and chip as the sequencer sees them."""

    def __init__(self, dut, works):
        self.dut, self.lanes = dut, [Lane(lane) for lane in works]
        self.memory, self.commands, self.tried = {}, [], []

    async def process(self, ctx):
        port, level, init = self.dut.port, self.dut.level, self.dut.init
        reads, writes, burst, cycle = [], [], 0, 0
        ctx.set(port.cmd_ready, 1)
        while True:
            *sampled, _ = await ctx.tick().sample(
                port.cmd_valid, port.cmd_we, port.cmd_addr, port.wdata_data, port.wdata_we,
                port.wdata_ready, level.select, level.delay_reset, level.delay_step,
                level.slip_reset, level.slip_step, level.burst_clear, init.enable, init.reset_n,
                init.cke, init.cs_n, init.ras_n, init.cas_n, init.we_n, init.bank, init.address,
                port.wdata_valid,
            )  # fmt: skip
            (valid, we, address, wdata, mask, wready, select, delay_reset, delay_step, slip_reset,
             slip_step, clear, enable, reset_n, cke, cs_n, ras_n, cas_n, we_n, bank, row) = (
                sampled[2:]
            )  # fmt: skip
            cycle += 1
            if not cs_n:
                assert enable and reset_n and cke
                self.commands.append((ras_n, cas_n, we_n, bank, row))
            for number, lane in enumerate(self.lanes):
                lane.paused = lane.paused + 1 if select >> number & 1 else 0
                if not select >> number & 1:
                    continue
                assert not reads, "a lane reads while its strobe logic pauses"
                lane.delay = 0 if delay_reset else (lane.delay + delay_step) % DELAYS
                lane.slip = 0 if slip_reset else (lane.slip + slip_step) % SLIPS
            if clear:
                burst = 0
                self.tried.append([(lane.slip, lane.delay) for lane in self.lanes])
            if valid:
                assert not enable, "a command while the initialisation has the PHY"
                (writes if we else reads).append((cycle + (WRITE if we else READ), address))
            if wready:
                assert mask == 0xFFFF
                self.memory[writes.pop(0)[1]] = wdata
            ctx.set(port.wdata_ready, bool(writes) and writes[0][0] <= cycle)
            answer = bool(reads) and reads[0][0] <= cycle
            ctx.set(port.rdata_valid, answer)
            if answer:
                word = self.memory[reads.pop(0)[1]]
                for number, lane in enumerate(self.lanes):
                    if lane.good:
                        burst |= 1 << number
                    else:
                        word ^= 0xFF << 8 * (number + 2 * (cycle % 8))
                ctx.set(port.rdata_data, word)
            ctx.set(level.burst, burst)


def run(works, cycles=60_000):
    dut = DDR3Sequencer(
        part="MT41K64M16",
        clock_hz=64e6,
        mode_registers=MODE_REGISTERS,
        delays=DELAYS,
        slips=SLIPS,
        short=True,
    )
    phy = Phy(dut, works)
    ended = []

    async def bench(ctx):
        for _ in range(cycles):
            *_, ready, failed = await ctx.tick().sample(dut.ready, dut.failed)
            if ready or failed:
                ended.append((ready, failed))
                return

    simulate(dut, bench, surroundings=[phy.process])
    assert ended, "the sequencer does not end"
    return phy, ended[0]


def window(slip, first, last):
    return {(slip, delay) for delay in range(first, last + 1)}


@pytest.mark.parametrize(
    "works, middles",
    [
        pytest.param([window(0, 0, 3), window(0, 0, 3)], [(0, 1), (0, 1)], id="all"),
        pytest.param([window(1, 1, 3), window(0, 3, 3)], [(1, 2), (0, 3)], id="lanes-differ"),
        pytest.param(
            [window(0, 3, 3) | window(1, 0, 2), window(0, 0, 0) | window(0, 2, 3)],
            [(1, 1), (0, 2)],
            id="longest-row",
        ),
    ],
)
def test_sets_each_lane_to_the_middle_of_its_longest_row(works, middles):
    phy, ended = run(works)
    assert ended == (1, 0)
    assert [(lane.slip, lane.delay) for lane in phy.lanes] == middles
    # Every setting of each lane, and all of them once more.
    assert len(phy.tried) == LANES * SLIPS * DELAYS + 1
    assert phy.tried[-1] == middles


@pytest.mark.parametrize("lane", range(LANES))
def test_fails_if_a_lane_has_no_setting_that_works(lane):
    works = [window(1, 0, 2)] * LANES
    works[lane] = set()
    _, ended = run(works)
    assert ended == (0, 1)


def test_initialises_in_the_order_of_the_standard():
    phy, _ = run([window(0, 1, 3)] * LANES)
    mode, calibration = phy.commands[:-1], phy.commands[-1]
    assert mode == [(0, 0, 0, bank, value) for bank, value in MODE_REGISTERS]
    assert calibration[:3] == (1, 1, 0) and calibration[4] == 1 << 10


def test_writes_the_pattern():
    phy, _ = run([window(0, 1, 3)] * LANES)
    assert [phy.memory[beat] for beat in range(len(PATTERN))] == list(PATTERN)
    assert len(set(PATTERN)) == len(PATTERN)
