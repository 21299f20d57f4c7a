# SPDX-License-Identifier: BSD-2-Clause
import random
import warnings
from collections import deque

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from quintet.gateware.memory.ddr3.gate import RequestGate
from quintet.gateware.memory.ddr3.memory import DDR3Memory
from quintet.gateware.memory.ddr3.parts import PARTS, DDR3Part, find_ddr3
from tests.support.memory_model import MemoryModel, PortDriver
from tests.support.shares import fewer

warnings.filterwarnings("ignore", category=ResourceWarning)

#: A chip of 16 KiB.
SMALL = DDR3Part("small", row_bits=1, column_bits=9, t_rfc=260.0)


class Controller:
    """LiteDRAM's controller at the native port: data of a write are taken, and those of a read
    given, a fixed time after the command, whether the other side is ready or not."""

    READ, WRITE = 14, 4

    def __init__(self, pins, size, *, ready_at=0, fails=False):
        self.pins, self.memory = pins, bytearray(size)
        self.ready_at, self.fails = ready_at, fails
        self.commands = 0

    async def process(self, ctx):
        native, cycle, rnd = self.pins.native, 0, random.Random(5)
        commands, answers, data_due = deque(), deque(), deque()
        while True:
            sampled = await ctx.tick().sample(
                native.cmd_valid, native.cmd_ready, native.cmd_we, native.cmd_addr,
                native.wdata_valid, native.wdata_ready, native.wdata_data, native.wdata_we,
            )  # fmt: skip
            valid, ready, we, address, wvalid, wready, data, mask = sampled[2:]
            cycle += 1
            if wready:
                assert wvalid, "data of a write are not there"
                data_due.popleft()
                next(c for c in commands if c[0] and c[2] is None)[2] = data, mask
            if valid and ready:
                self.commands += 1
                commands.append([we, address, None])
                (data_due if we else answers).append(cycle + (self.WRITE if we else self.READ))
            # In order: a write takes effect when its data are there.
            while commands and commands[0][0] and commands[0][2] is not None:
                _, place, (word, bytes_written) = commands.popleft()
                for k in range(16):
                    if bytes_written >> k & 1:
                        self.memory[16 * place + k] = word >> 8 * k & 0xFF
            going = cycle >= self.ready_at
            ctx.set(self.pins.ready, going and not self.fails)
            ctx.set(self.pins.failed, going and self.fails)
            ctx.set(native.cmd_ready, going and rnd.random() < 0.6)
            ctx.set(native.wdata_ready, bool(data_due) and data_due[0] <= cycle)
            due = bool(answers) and answers[0] <= cycle
            assert not due or not commands[0][0], "a write before this read has no data"
            ctx.set(native.rdata_valid, due)
            if due:
                answers.popleft()
                at = 16 * commands.popleft()[1]
                ctx.set(native.rdata_data, int.from_bytes(self.memory[at : at + 16], "little"))


def simulate(dut, driver, *processes, cycles=40_000):
    sim = Simulator(dut)
    sim.add_clock(1e-6)
    for process in (driver.process, *processes):
        sim.add_testbench(process, background=True)
    done = []

    async def bench(ctx):
        await driver.drain(ctx)
        done.append(True)

    sim.add_testbench(bench)
    sim.run()
    assert done


@pytest.mark.parametrize("beat_bytes", [4, 8, 16])
def test_random_traffic(beat_bytes):
    dut = DDR3Memory(part=SMALL, beat_bytes=beat_bytes)
    rnd = random.Random(beat_bytes)
    driver = PortDriver(dut.port, seed=3, stall=0.2)
    controller = Controller(dut.pins, dut.size, ready_at=50)
    shadow, checks = bytearray(dut.size), []
    for k in range(fewer(60)):
        beats = rnd.choice((1, 1, 2, 3, 9))
        at = rnd.choice((0, dut.size - 20 * beat_bytes)) + rnd.randrange(20) * beat_bytes
        if k % 9 == 0:
            at += rnd.choice((dut.size, 1 << 24, 1 << 31))
        outside = at + beats * beat_bytes > dut.size
        if rnd.random() < 0.5:
            data = rnd.randbytes(beats * beat_bytes)
            masks = [rnd.randrange(1 << beat_bytes) for _ in range(beats)]
            checks.append((driver.write(at, data, masks), outside, None))
            for i in range(0 if outside else len(data)):
                if masks[i // beat_bytes] >> i % beat_bytes & 1:
                    shadow[at + i] = data[i]
        else:
            expected = bytes(shadow[at : at + beats * beat_bytes])
            checks.append((driver.read(at, beats), outside, expected))
    simulate(dut, driver, controller.process)
    for answer, outside, data in checks:
        assert answer.errors == [outside] * len(answer.errors)
        if data is not None and not outside:
            assert answer.bytes(beat_bytes) == data
    assert controller.memory == shadow


def test_requests_wait_until_the_chip_is_ready():
    dut = DDR3Memory(part=SMALL, beat_bytes=16)
    driver = PortDriver(dut.port)
    answers = [driver.write(0, bytes(range(16))), driver.read(0, 1)]
    controller = Controller(dut.pins, dut.size, ready_at=500)
    simulate(dut, driver, controller.process)
    assert all(answer.time > 500 for answer in answers)
    assert answers[1].bytes(16) == bytes(range(16))


def test_every_request_is_refused_if_the_chip_has_failed():
    dut = DDR3Memory(part=SMALL, beat_bytes=8)
    driver = PortDriver(dut.port)
    answers = [driver.write(0, bytes(64)), driver.read(0, 5), driver.write(8, bytes(8))]
    controller = Controller(dut.pins, dut.size, ready_at=100, fails=True)
    simulate(dut, driver, controller.process)
    assert [answer.errors for answer in answers] == [[1], [1] * 5, [1]]
    assert not controller.commands


@pytest.mark.parametrize("seed", range(2))
def test_gate_keeps_the_order_of_answers(seed):
    """Requests inside and outside in turn, against a memory with random latency."""
    dut = RequestGate(beat_bytes=4, size=1024, outstanding=4)
    m = Module()
    m.submodules.dut = dut
    m.d.comb += [dut.ready.eq(1), dut.failed.eq(0)]
    model = MemoryModel(dut.memory, size=1024, seed=seed)
    driver = PortDriver(dut.port, seed=seed, stall=0.3)
    rnd, checks = random.Random(seed), []
    for _ in range(60):
        beats, outside = rnd.choice((1, 2, 5)), rnd.random() < 0.3
        at = 4 * rnd.randrange(0, 250) + (1024 if outside else 0)
        outside = at + 4 * beats > 1024
        checks.append((driver.write(at, bytes(4 * beats)) if rnd.random() < 0.5
                       else driver.read(at, beats), outside))  # fmt: skip
    simulate(m, driver, model.process)
    for answer, outside in checks:
        assert answer.errors == [outside] * len(answer.errors)
    assert all(address + 4 * beats <= 1024 for address, beats, _ in model.log)


def test_parts():
    assert find_ddr3("MT41K64M16").size == 1 << 27
    assert find_ddr3("MT41K256M16").size == 1 << 29
    assert all(part.burst_bytes == 16 for part in PARTS.values())
    with pytest.raises(ValueError, match="DDR3 part = 'X': expected one of MT41K64M16, "):
        find_ddr3("X")


@pytest.mark.parametrize("mhz", [48, 64])
def test_waits_are_litedrams(mhz):
    """The virtual board's model takes the waits that LiteDRAM's controller is built with."""
    pytest.importorskip("litedram")
    from quintet.gateware.memory.ddr3.generated import generate

    part = find_ddr3("MT41K64M16")
    generated, own = generate(part=part, clock_hz=mhz * 1e6).timing, part.timing(mhz * 1e6)
    names = {"tRP": "t_rp", "tRCD": "t_rcd", "tWR": "t_wr", "tREFI": "t_refi", "tRFC": "t_rfc",
             "tWTR": "t_wtr", "tFAW": "t_faw", "tCCD": "t_ccd", "tRRD": "t_rrd", "tRC": "t_rc",
             "tRAS": "t_ras", "read_latency": "read", "write_latency": "write"}  # fmt: skip
    assert {name: getattr(own, name) for name in names.values()} == {
        name: generated[key] for key, name in names.items()
    }


def test_geometry_is_litedrams():
    modules = pytest.importorskip("litedram.modules")
    for name, part in PARTS.items():
        chip = getattr(modules, name)
        assert (chip.nrows, chip.ncols, chip.nbanks) == (
            1 << part.row_bits, 1 << part.column_bits, 1 << part.bank_bits
        )  # fmt: skip


def test_generated_module_is_the_same_every_time():
    pytest.importorskip("litedram")
    from quintet.gateware.memory.ddr3.generated import generate

    first, second = (
        generate(part=find_ddr3("MT41K64M16"), clock_hz=64e6, address_lines=16) for _ in range(2)
    )
    assert first == second
    assert first.mode_registers == ((2, 0x200), (3, 0), (1, 0x6), (0, 0x320))


def test_memory_interface_is_a_backing():
    dut = DDR3Memory(part="MT41K64M16")
    assert (dut.kind, dut.beat_bytes, dut.size, dut.masks) == ("DDR3", 8, 1 << 27, True)
    assert isinstance(dut, wiring.Component)
