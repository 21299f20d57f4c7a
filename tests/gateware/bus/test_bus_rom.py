# SPDX-License-Identifier: BSD-2-Clause
import random

import pytest

from quintet.gateware.bus.registers import SOC_REGISTERS, SoCRegisters
from quintet.gateware.bus.rom import ROM
from quintet.gateware.info import InfoError, info_rom, parse_header, parse_info
from tests.support.simulating import simulate


@pytest.mark.parametrize("registered, latency", [(False, 2), (True, 3)])
def test_rom_holds_its_bytes(registered, latency):
    data = random.Random(3).randbytes(151)
    dut = ROM(data=data, size=256, registered=registered)
    read, cycles = bytearray(), []

    async def testbench(ctx):
        ctx.set(dut.bus.cyc, 1)
        ctx.set(dut.bus.stb, 1)
        for word in range(38):
            ctx.set(dut.bus.adr, word)
            cycles.append(1)
            while not ctx.get(dut.bus.ack):
                await ctx.tick()
                cycles[-1] += 1
            read.extend(ctx.get(dut.bus.dat_r).to_bytes(4, "little"))
            await ctx.tick()

    simulate(dut, testbench)
    assert bytes(read[:151]) == data and read[151] == 0
    assert set(cycles) == {1 + latency}


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"data": b"", "size": 64}, "Contents of a ROM must be 1 to 64 bytes, not 0"),
        ({"data": bytes(65), "size": 64}, "Contents of a ROM must be 1 to 64 bytes, not 65"),
    ],
)
def test_bad_rom(kwargs, message):
    with pytest.raises(ValueError, match=message):
        ROM(**kwargs)


def test_info_goes_there_and_back():
    text = {"board": "a-board", "isa": "x", "params": {"n": 8, "flag": True, "word": "dsp"}}
    rom = info_rom(
        text=text,
        tag="ABCD",
        params_hash=0xFEDCBA98,
        memory_size=1 << 25,
        clock_hz=80_000_000,
        board="a-board",
    )
    info = parse_header(rom)
    assert (info.tag, info.params_hash, info.memory_size, info.clock_hz, info.board) == (
        "ABCD",
        0xFEDCBA98,
        1 << 25,
        80_000_000,
        "a-board",
    )
    start = info.info_address - 0x8002_0000
    assert parse_info(rom[start : start + info.info_length]) == text
    with pytest.raises(InfoError, match="info header has 10 bytes, not 64"):
        parse_header(rom[:10])
    with pytest.raises(InfoError, match="not the info header"):
        parse_header(bytes(64))
    with pytest.raises(InfoError, match="info text is damaged"):
        parse_info(rom[start : start + 10])


@pytest.mark.parametrize("before", [1, 10, 50, 61, 62, 63, 64, 65])
def test_reset_comes_once_and_after_the_answer(before):
    """Wherever the counter stands, the answer has as many cycles as its low bits count."""
    dut = SoCRegisters(reset_delay_bits=6)
    moments = []

    async def testbench(ctx):
        await ctx.tick().repeat(before)
        for signal, value in (
            (dut.bus.adr, 4),
            (dut.bus.dat_w, 1),
            (dut.bus.we, 1),
            (dut.bus.sel, 15),
            (dut.bus.cyc, 1),
            (dut.bus.stb, 1),
        ):
            ctx.set(signal, value)
        await ctx.tick().until(dut.bus.ack)
        ctx.set(dut.bus.cyc, 0)
        for cycle in range(300):
            if ctx.get(dut.reset):
                moments.append(cycle)
            await ctx.tick()

    simulate(dut, testbench)
    assert (
        len(moments) == 1 and 64 <= 1 + moments[0] < 128
    )  # the acknowledgement was a cycle after the write


def test_soc_registers_are_documented():
    from pathlib import Path

    text = (Path(__file__).parents[3] / "docs" / "how" / "contracts.md").read_text()
    for name, (offset, access, meaning) in SOC_REGISTERS.items():
        assert f"| 0x8001_{offset:04x} | `{name}` | {access} | {meaning} |" in text
