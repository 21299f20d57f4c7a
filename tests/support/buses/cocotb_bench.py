# SPDX-License-Identifier: BSD-2-Clause
"""cocotb's side of ``test_bus_cocotb.py``: an AXI4 master against cocotbext-axi's memory, and an
AXI4-Lite slave against its master, with random pauses on every channel."""

import os
import random
from itertools import repeat

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from quintet.gateware.memory.port import RequestLayout, WriteLayout

__all__ = ["axi4_lite_slave", "axi4_master"]

BYTES, SIZE = 4, 1 << 15
#: Largest number of beats of a request.
LONGEST = 40


def pauses(rnd, probability=0.3):
    """True with this probability, without an end."""
    return (rnd.random() < probability for _ in repeat(None))


async def start(dut):
    """Clock and reset."""
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def send(dut, name, payloads, rnd):
    """Sends a stream, with pauses."""
    valid, ready = getattr(dut, f"port__{name}__valid"), getattr(dut, f"port__{name}__ready")
    for payload in payloads:
        while rnd.random() < 0.3:
            await RisingEdge(dut.clk)
        valid.value = 1
        getattr(dut, f"port__{name}__payload").value = payload
        await RisingEdge(dut.clk)
        while not int(ready.value):
            await RisingEdge(dut.clk)
        valid.value = 0


async def receive(dut, name, count, rnd):
    """Receives that many payloads of a stream, with pauses."""
    valid, ready = getattr(dut, f"port__{name}__valid"), getattr(dut, f"port__{name}__ready")
    found = []
    while len(found) < count:
        ready.value = now = int(rnd.random() < 0.7)
        await RisingEdge(dut.clk)
        if now and int(valid.value):
            found.append(int(getattr(dut, f"port__{name}__payload").value))
    ready.value = 0
    return found


def traffic(count, rnd):
    """Random requests: payloads of requests and of write data, the expected read data, the number
    of writes, and the memory afterwards."""
    memory = bytearray(SIZE)
    requests, written, read, writes = [], [], [], 0
    for _ in range(count):
        beats = rnd.randint(1, LONGEST)
        address = BYTES * rnd.randrange(SIZE // BYTES - beats)
        write = rnd.random() < 0.5
        writes += write
        fields = {"address": address, "beats": beats - 1, "write": int(write)}
        requests.append(RequestLayout().const(fields).as_bits())
        for at in range(address, address + BYTES * beats, BYTES):
            if not write:
                read.append(int.from_bytes(memory[at : at + BYTES], "little"))
                continue
            value, mask = rnd.getrandbits(8 * BYTES), rnd.getrandbits(BYTES)
            written.append(WriteLayout(BYTES).const({"data": value, "mask": mask}).as_bits())
            for lane in range(BYTES):
                if mask >> lane & 1:
                    memory[at + lane] = value >> 8 * lane & 0xFF
    return requests, written, read, writes, memory


@cocotb.test()
async def axi4_master(dut):
    rnd = random.Random(int(os.environ["SEED"]))
    for name in ("req__valid", "w__valid", "r__ready", "ack__ready"):
        getattr(dut, f"port__{name}").value = 0
    ram = AxiRam(AxiBus.from_prefix(dut, "bus_"), dut.clk, dut.rst, size=SIZE)
    ram.write(0, bytes(SIZE))
    for channel in ("aw", "w", "b"):
        getattr(ram.write_if, f"{channel}_channel").set_pause_generator(pauses(rnd))
    for channel in ("ar", "r"):
        getattr(ram.read_if, f"{channel}_channel").set_pause_generator(pauses(rnd))
    await start(dut)
    requests, written, expected, writes, memory = traffic(int(os.environ["COUNT"]), rnd)
    cocotb.start_soon(send(dut, "req", requests, rnd))
    cocotb.start_soon(send(dut, "w", written, rnd))
    acknowledged = cocotb.start_soon(receive(dut, "ack", writes, rnd))
    found = await receive(dut, "r", len(expected), rnd)
    assert [beat & (1 << 8 * BYTES) - 1 for beat in found] == expected
    assert not any(beat >> 8 * BYTES & 1 for beat in found)
    assert not any(await acknowledged)
    assert ram.read(0, SIZE) == memory


async def registers(dut, values, rnd):
    """Wishbone registers that answer after a random time."""
    while True:
        await RisingEdge(dut.clk)
        if not int(dut.registers__stb.value) or rnd.random() < 0.5:
            continue
        word = int(dut.registers__adr.value)
        if int(dut.registers__we.value):
            for lane in range(BYTES):
                if int(dut.registers__sel.value) >> lane & 1:
                    at = BYTES * word + lane
                    values[at] = int(dut.registers__dat_w.value) >> 8 * lane & 0xFF
        dut.registers__dat_r.value = int.from_bytes(values[BYTES * word :][:BYTES], "little")
        dut.registers__ack.value = 1
        await RisingEdge(dut.clk)
        dut.registers__ack.value = 0


@cocotb.test()
async def axi4_lite_slave(dut):
    rnd = random.Random(int(os.environ["SEED"]))
    dut.registers__ack.value = dut.registers__err.value = 0
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "bus_"), dut.clk, dut.rst)
    for side in (master.write_if, master.read_if):
        for channel in ("aw", "w", "b", "ar", "r"):
            if hasattr(side, f"{channel}_channel"):
                getattr(side, f"{channel}_channel").set_pause_generator(pauses(rnd))
    await start(dut)
    values, expected = bytearray(256), bytearray(256)
    cocotb.start_soon(registers(dut, values, rnd))
    for _ in range(int(os.environ["COUNT"])):
        size = rnd.randint(1, 12)
        at = rnd.randrange(len(expected) - size)
        if rnd.random() < 0.5:
            data = rnd.randbytes(size)
            await master.write(at, data)
            expected[at : at + size] = data
        else:
            assert bytes((await master.read(at, size)).data) == expected[at : at + size]
    assert values == expected
