# SPDX-License-Identifier: BSD-2-Clause
"""Start from flash memory: the reader on the chip's model, and the boot engine on images whole,
damaged, and cut off."""

import random
import zlib

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from quintet.gateware.link.crc import CRC32Check
from quintet.gateware.standalone.boot import BootEngine
from quintet.gateware.standalone.chip import FlashChip, FlashViolation, follow_pins
from quintet.gateware.standalone.flash import FlashPins, FlashReader
from quintet.gateware.standalone.image import BootReason, Segment, pack
from tests.support.simulating import design, simulator

PERIOD_NS = 1000 / 24
AT = 0x1234  # of the image in flash memory
BUILD = 0x89ABCDEF


def _differs(data):
    """Whether the CRC at the end of ``data`` is found to be wrong."""
    crc, found = design(CRC32Check), []
    sim = simulator(crc)
    sim.add_clock(PERIOD_NS * 1e-9)

    async def feed(ctx):
        ctx.set(crc.init, 1)
        await ctx.tick()
        ctx.set(crc.init, 0)
        ctx.set(crc.step, 1)
        for number, byte in enumerate(data):
            ctx.set(crc.data, byte)
            ctx.set(crc.check, number >= len(data) - 4)
            for step in range(4):
                assert ctx.get(crc.number) == step
                assert ctx.get(crc.pair) == byte >> 2 * step & 3
                found.append(ctx.get(crc.differs) and ctx.get(crc.check))
                await ctx.tick()

    sim.add_testbench(feed)
    sim.run()
    return any(found)


def test_check_finds_every_flipped_bit():
    data = random.Random(2).randbytes(9)
    data += zlib.crc32(data).to_bytes(4, "little")
    assert not _differs(data)
    for bit in range(8 * len(data)):
        spoilt = bytearray(data)
        spoilt[bit // 8] ^= 1 << bit % 8
        assert _differs(spoilt), bit


class _Reader:
    """A reader and its chip; takes a byte every ``pace`` cycles at most."""

    def __init__(self, contents, pace=1, period_ns=PERIOD_NS, chip=None, **reader):
        self.reader = design(FlashReader, **{"address": AT, "quad": True, **reader})
        self.chip = FlashChip(contents, period_ns=period_ns, **(chip or {}))
        self.pace, self.taken, self.cycles, self.first = pace, bytearray(), 0, None

    def run(self, count, limit=100_000):
        sim = simulator(self.reader)
        sim.add_clock(PERIOD_NS * 1e-9)

        async def chip(ctx):
            await follow_pins(ctx, self.chip, self.reader.pins)

        async def take(ctx):
            o = self.reader.o
            ctx.set(self.reader.enable, 1)
            wait = 0
            while len(self.taken) < count and self.cycles < limit:
                ctx.set(o.ready, wait == 0)
                _, _, valid, byte = await ctx.tick().sample(o.valid, o.payload)
                self.cycles += 1
                if valid and wait == 0:
                    self.taken.append(byte)
                    self.first = self.first or self.cycles
                    wait = self.pace - 1
                elif wait:
                    wait -= 1

        sim.add_process(chip)
        sim.add_testbench(take)
        sim.run()
        return bytes(self.taken)


def _contents(count=300):
    data = random.Random(3).randbytes(count)
    return b"\x55" * AT + data, data


@pytest.mark.parametrize("half", [1, 2, 3])
@pytest.mark.parametrize("pace", [1, 7, 40], ids=lambda pace: f"a byte in {pace}")
@pytest.mark.parametrize("quad", [False, True], ids=["one line", "four lines"])
def test_reader_reads_all_bytes(quad, pace, half):
    contents, data = _contents(60)
    bench = _Reader(contents, pace=pace, quad=quad, half=half)
    assert bench.run(60) == data
    assert bench.chip.commands[0] == b"\xab"


@pytest.mark.parametrize("quad, clocks", [(False, 8), (True, 2)])
def test_reader_keeps_to_the_clock(quad, clocks):
    contents, data = _contents()
    bench = _Reader(contents, quad=quad)
    assert bench.run(300) == data
    assert bench.cycles - bench.first == 299 * clocks * 2


def test_chip_that_wakes_late_is_waited_for():
    contents, _ = _contents()
    with pytest.raises(FlashViolation, match="within 3000 ns of its release from power-down"):
        _Reader(contents, wake=32, period_ns=20).run(20)


def test_clock_that_is_too_fast_breaks_a_rule():
    contents, _ = _contents()
    with pytest.raises(FlashViolation, match="a clock of 66.7 MHz: expected at most 50"):
        _Reader(contents, quad=False, period_ns=7.5, wake=1000).run(20)


def test_lines_that_both_sides_drive_break_a_rule():
    chip = FlashChip(b"", period_ns=50, asleep=False)
    with pytest.raises(FlashViolation, match="lines 0010 are driven from both sides"):
        for bit in [*f"{0x03:08b}", *"0" * 24, "0", "0"]:
            for clk in (0, 1):
                chip.cycle(True, bool(clk), int(bit), 0b0011)


class _Boot(wiring.Component):
    """A boot engine on a reader, without the bus behind it."""

    def __init__(self, quad=True, fallback=False):
        self.engine = BootEngine(build=BUILD, retry=fallback)
        self.reader = FlashReader(address=AT, quad=quad, fallback=fallback)
        self._fallback = fallback
        super().__init__({"pins": Out(FlashPins())})

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine, m.submodules.reader = self.engine, self.reader
        wiring.connect(m, self.reader.o, self.engine.i)
        wiring.connect(m, self.reader.pins, wiring.flipped(self.pins))
        m.d.comb += self.reader.enable.eq(self.engine.enable)
        if self._fallback:
            m.d.comb += self.reader.single.eq(self.engine.again)
        return m


class _Result:
    """What a boot has done: words written, and how it ended after how many cycles."""

    def __init__(self):
        self.written, self.ready, self.reason, self.cycles = [], False, 0, 0
        self.host = []  # accesses of the host that were answered: (address, word read or None)

    def memory(self):
        return dict(self.written)


def _boot(
    image,
    latency=6,
    limit=60_000,
    quad=True,
    fallback=False,
    chip_quad=True,
    refuses=None,
    host=(),
    **chip,
):
    """``host``: accesses of the host beside the start, (cycles before it, address, word that is
    written, or None)."""
    dut, found = design(_Boot, quad, fallback), _Result()
    model = FlashChip(b"\xaa" * AT + image, period_ns=PERIOD_NS, quad=chip_quad, **chip)
    found.chip = model
    sim = simulator(dut)
    sim.add_clock(PERIOD_NS * 1e-9)

    async def follow(ctx):
        await follow_pins(ctx, model, dut.pins)

    async def bus(ctx):
        line, engine = dut.engine.bus, dut.engine
        busy = 0
        while found.cycles < limit:
            _, _, cyc, adr, data, ready, refused, reason = await ctx.tick().sample(
                line.cyc, line.adr, line.dat_w, engine.ready, engine.refused, engine.reason
            )
            found.cycles += 1
            ended = ctx.get(line.ack) or ctx.get(line.err)
            ctx.set(line.ack, 0)
            ctx.set(line.err, 0)
            if cyc and not ended:
                busy += 1
                if busy == latency:
                    busy = 0
                    bad = refuses == 4 * adr
                    ctx.set(line.err if bad else line.ack, 1)
                    ctx.set(line.dat_r, adr ^ 0x5555_5555)
                    if not bad and ctx.get(line.we):
                        found.written.append((4 * adr, data))
            elif not cyc:
                assert busy == 0, "a bus cycle that ends before its answer"
            if ready or refused:
                found.ready, found.reason = bool(ready), reason
                return

    async def access(ctx):
        line = dut.engine.host
        for wait, address, word in host:
            for _ in range(wait):
                await ctx.tick()
            for member, value in (
                (line.adr, address // 4),
                (line.we, word is not None),
                (line.dat_w, word or 0),
                (line.sel, 0xF),
                (line.cyc, 1),
                (line.stb, 1),
            ):
                ctx.set(member, value)
            (read,) = await ctx.tick().sample(line.dat_r).until(line.ack)
            found.host.append((address, None if word is not None else read))
            ctx.set(line.cyc, 0)
            ctx.set(line.stb, 0)
            await ctx.tick()

    sim.add_process(follow)
    sim.add_testbench(bus)
    sim.add_testbench(access, background=True)
    sim.run()
    return found


def _words(data):
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


DATA = random.Random(5).randbytes(96)
SEGMENTS = (
    Segment(0x400, DATA),
    Segment(0x1000, b"\1\2\3\4", 20),
    Segment(0x8000_0020, b"\0\4\0\0\x60\0\0\0"),
)
IMAGE = pack(BUILD, SEGMENTS)


@pytest.mark.parametrize("quad", [False, True], ids=["one line", "four lines"])
def test_whole_image_is_written(quad):
    found = _boot(IMAGE, quad=quad)
    assert found.ready and found.reason == 0
    expected = [(0x400 + 4 * k, word) for k, word in enumerate(_words(DATA))]
    expected += [(0x1000 + 4 * k, 0x04030201) for k in range(20)]
    expected += [(0x8000_0020, 0x400), (0x8000_0024, 0x60)]
    assert found.written == expected


@pytest.mark.parametrize("chip_quad", [False, True], ids=["other chip", "quad chip"])
def test_fallback_to_one_line(chip_quad):
    """A chip whose four lines are enabled otherwise gives all ones for the read on four."""
    found = _boot(IMAGE, fallback=True, chip_quad=chip_quad)
    assert found.ready and found.written == _boot(IMAGE).written
    reads = [command[0] for command in found.chip.commands if command[0] in (0x03, 0x6B)]
    # The last read has not ended.
    assert reads == ([] if chip_quad else [0x6B])


@pytest.mark.parametrize("chip_quad", [False, True], ids=["other chip", "quad chip"])
def test_fallback_refuses_as_ever(chip_quad):
    nothing = _boot(b"", fallback=True, chip_quad=chip_quad)
    assert not nothing.ready and nothing.reason == BootReason.NO_IMAGE and not nothing.written
    for at, reason in ((3, BootReason.VERSION), (6, BootReason.BUILD)):
        header = bytearray(IMAGE[:8])
        header[at] ^= 1
        other = header + zlib.crc32(header).to_bytes(4, "little") + IMAGE[12:]
        assert _boot(bytes(other), fallback=True, chip_quad=chip_quad).reason == reason
    damaged = bytearray(IMAGE)
    damaged[30] ^= 4
    assert _boot(bytes(damaged), fallback=True, chip_quad=chip_quad).reason == BootReason.DAMAGED


@pytest.mark.parametrize("byte", range(3))
@pytest.mark.parametrize("bit", [0, 7])
def test_fallback_at_any_byte_of_the_mark(byte, bit):
    """What is no image is read once more, whatever bits of the mark are wrong."""
    wrong = bytearray(IMAGE)
    wrong[byte] ^= 1 << bit
    found = _boot(bytes(wrong), fallback=True)
    assert found.reason == BootReason.NO_IMAGE and not found.written
    assert [command[0] for command in found.chip.commands].count(0xAB) == 2


@pytest.mark.parametrize("latency", [1, 3, 30])
def test_slow_and_fast_buses_get_the_same(latency):
    assert _boot(IMAGE, latency=latency).memory() == _boot(IMAGE).memory()


@pytest.mark.parametrize("latency", [1, 3, 30])
def test_host_reads_and_writes_beside_the_start(latency):
    """Every access of the host is answered, with its own data; the image is written as without."""
    chance = random.Random(latency)
    host, expected = [], []
    for number in range(60):
        address, writes = 0x2000 + 4 * number, chance.random() < 0.5
        word = chance.getrandbits(32) if writes else None
        host.append((chance.choice([0, 1, 2, 30]), address, word))
        expected.append((address, None if writes else (address // 4) ^ 0x5555_5555))
    found = _boot(IMAGE, latency=latency, host=host)
    assert found.ready and len(found.host) > 20
    assert found.host == expected[: len(found.host)]
    own = {address: word for _, address, word in host if word is not None}
    assert [entry for entry in found.written if entry[0] not in own] == _boot(IMAGE).written
    assert all(own[address] == word for address, word in found.written if address in own)


def test_host_reads_beside_a_fill_and_writes_behind_it():
    image = pack(BUILD, [Segment(0x1000, b"\1\2\3\4", 500), Segment(0, b"abcd")])
    host = [(420, 0x2000, None), (0, 0x2004, None), (0, 0x2008, 77)]
    found = _boot(image, host=host)
    assert found.ready and [address for address, _ in found.host] == [0x2000, 0x2004, 0x2008]
    addresses = [address for address, _ in found.written]
    filled = [0x1000 + 4 * k for k in range(500)]
    assert addresses.index(0x2008) >= 500
    assert [address for address in addresses if address != 0x2008] == [*filled, 0]
    assert (0x2008, 77) in found.written


def test_ready_within_the_time_of_the_clock():
    """4 KiB on four lines, a bus cycle shorter than a word: 5 per cent above the chip's time."""
    image = pack(BUILD, [Segment(0, random.Random(1).randbytes(4096))])
    found = _boot(image, latency=10, limit=40_000)
    clocks = FlashReader(address=AT, quad=True).clocks + 2 * len(image)
    assert found.ready and found.cycles <= 1.05 * 2 * clocks


@pytest.mark.parametrize(
    "image, reason",
    [
        (b"\xff" * 64, BootReason.NO_IMAGE),
        (bytes(64), BootReason.NO_IMAGE),
        (pack(BUILD + 1, SEGMENTS), BootReason.BUILD),
        (IMAGE[:-1] + bytes([IMAGE[-1] ^ 1]), BootReason.DAMAGED),
        (IMAGE[:40], BootReason.DAMAGED),
    ],
    ids=["erased", "zeros", "another build", "last byte", "cut off"],
)
def test_other_images_are_refused(image, reason):
    found = _boot(image)
    assert not found.ready and found.reason == reason


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr("quintet.gateware.standalone.image.VERSION", 1)
    image = pack(BUILD, SEGMENTS)
    monkeypatch.undo()
    found = _boot(image)
    assert not found.ready and found.reason == BootReason.VERSION and not found.written


def test_failed_bus_cycle_is_refused():
    found = _boot(IMAGE, refuses=0x404)
    assert not found.ready and found.reason == BootReason.BUS
    assert [address for address, _ in found.written] == [0x400]


SMALL = pack(BUILD, [Segment(0x40, b"abcdefgh"), Segment(0x80, b"\0\0\0\0", 9)])


@pytest.mark.parametrize("at", range(0, len(SMALL)))
def test_power_lost_at_any_byte_is_no_start(at):
    found = _boot(SMALL, dies_after=at + 4, limit=20_000)
    if at + 4 < len(SMALL):
        assert not found.ready and found.reason in (BootReason.DAMAGED, BootReason.NO_IMAGE)


@pytest.mark.parametrize("at", range(0, len(SMALL)))
def test_damaged_byte_writes_no_wrong_address(at):
    spoilt = bytearray(SMALL)
    spoilt[at] ^= random.Random(at).randrange(1, 256)
    found = _boot(bytes(spoilt), limit=20_000)
    assert not found.ready and found.reason
    assert set(found.memory()) <= {0x40, 0x44, *range(0x80, 0x80 + 36, 4)}
