# SPDX-License-Identifier: BSD-2-Clause
"""UARTBone's gateware: bytes of its protocol against a small memory."""

import random

import pytest

from quintet.gateware.link.uartbone import UARTBone
from tests.support.simulating import simulate

PATIENCE = 50


def converse(requests, memory, *, stall=0.0, silent=()):
    """Answers to requests (bytes) one after the other; ``silent``: indices of requests after which
    the line rests."""
    dut, answers = UARTBone(clock_hz=10 * PATIENCE), []
    rnd = random.Random(1)

    async def slave(ctx):
        while True:
            await ctx.tick()
            if ctx.get(dut.bus.cyc):
                for _ in range(rnd.randrange(3)):
                    await ctx.tick()
                address = ctx.get(dut.bus.adr)
                bad = address not in memory
                if ctx.get(dut.bus.we) and not bad:
                    memory[address] = ctx.get(dut.bus.dat_w)
                ctx.set(dut.bus.dat_r, memory.get(address, 0))
                done = dut.bus.err if bad else dut.bus.ack
                ctx.set(done, 1)
                await ctx.tick()
                ctx.set(done, 0)

    async def host(ctx):
        for number, (request, size) in enumerate(requests):
            for byte in request:
                while rnd.random() < stall:
                    await ctx.tick()
                ctx.set(dut.rx.payload, byte)
                ctx.set(dut.rx.valid, 1)
                await ctx.tick().until(dut.rx.ready)
                ctx.set(dut.rx.valid, 0)
            answer = b""
            while len(answer) < size:
                ctx.set(dut.tx.ready, rnd.random() >= stall)
                _, _, valid, ready, payload = await ctx.tick().sample(
                    dut.tx.valid, dut.tx.ready, dut.tx.payload
                )
                if valid and ready:
                    answer += bytes([payload])
            ctx.set(dut.tx.ready, 0)
            answers.append(answer)
            if number in silent:
                await ctx.tick().repeat(2 * PATIENCE)
        await ctx.tick().repeat(20)

    simulate(dut, host, surroundings=[slave])
    return answers


def write(command, address, *words):
    return bytes([command, len(words) & 0xFF]) + (address // 4).to_bytes(4, "big") + b"".join(
        w.to_bytes(4, "big") for w in words
    ), 0


def read(command, address, count):
    return bytes([command, count & 0xFF]) + (address // 4).to_bytes(4, "big"), 4 * count


@pytest.mark.parametrize("stall", [0.0, 0.5])
def test_bursts(stall):
    memory = dict.fromkeys(range(0x100, 0x140), 0)
    answers = converse(
        [
            write(1, 0x400, 0x11223344, 5, 6),
            read(2, 0x400, 3),
            write(3, 0x410, 7, 8, 9),
            read(4, 0x400, 2),
        ],
        memory,
        stall=stall,
    )
    assert answers == [
        b"",
        bytes.fromhex("112233440000000500000006"),
        b"",
        bytes.fromhex("1122334411223344"),
    ]
    assert memory[0x104] == 9 and memory[0x105] == 0


def test_256_words():
    memory = {k: k * 0x01010101 & 0xFFFFFFFF for k in range(256)}
    assert converse([read(2, 0, 256)], memory)[0] == b"".join(
        memory[k].to_bytes(4, "big") for k in range(256)
    )


def test_nobody_there_reads_all_ones():
    assert converse([read(2, 0x8000, 2), write(1, 0x8000, 1), read(2, 0, 1)], {0: 3}) == [
        b"\xff" * 8,
        b"",
        bytes(3) + b"\3",
    ]


def test_an_unknown_command_is_dropped():
    assert converse([(bytes([9, 1, 0, 0, 0, 0]), 0), read(2, 0, 1)], {0: 3})[1] == bytes(3) + b"\3"


@pytest.mark.parametrize("piece", [b"\1", b"\1\2", b"\1\1\0\0", b"\1\1\0\0\0\0\xff\xff"])
def test_a_request_cut_short_is_forgotten(piece):
    assert converse([(piece, 0), read(2, 0, 1)], {0: 3}, silent=(0,))[1] == bytes(3) + b"\3"
