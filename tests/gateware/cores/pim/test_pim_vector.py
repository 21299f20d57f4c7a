# SPDX-License-Identifier: BSD-2-Clause
"""The vector unit against the specification's section 4.3: all instructions, widths, overlaps, and
its cycles."""

import random

import pytest

from quintet.gateware.cores.pim.engine.commands import LMemRead, VectorOp
from quintet.gateware.cores.pim.engine.vector.unit import VectorUnit
from quintet.gateware.cores.pim.params import SPACE
from tests.gateware.cores.pim.bench.units import UnitBench, byw, put
from tests.gateware.cores.pim.oracle.vector import OPS, SAME_WIDTH, random_vector, vector
from tests.support.shares import shares, some
from tests.support.simulating import simulate


def make(preset="sim", **overrides):
    return UnitBench(preset, parts=("vector",), **{"lmem_bytes": 1024, **overrides})


def in_turn(commands):
    for k in range(1, len(commands)):
        commands[k].after = (k - 1,)
    return commands


@shares
@pytest.mark.parametrize(
    ("preset", "overrides"),
    [
        ("sim", {}),
        ("sim", {"vec_bytes": 8}),
        ("tiny", {}),
        ("narrow", {"lmem_bytes": 16384}),
        ("sim", {"max_biw": 16, "vec_bytes": 8}),
        ("sim", {"max_biw": 8, "vec_bytes": 1, "x_bits": 8}),
    ],
    ids=["sim", "wide", "tiny", "narrow", "16 bits", "bytes"],
)
def test_random_instructions(preset, overrides, share):
    rng = random.Random(f"{preset} {overrides}")
    bench = make(preset, **overrides)
    ops = OPS if bench.params["act_unit"] else [op for op in OPS if op not in ("vtanh", "vsigm")]
    within = {**bench.params, "lmem_bytes": 1024}
    count = some(80, share)
    commands = in_turn(
        [random_vector(rng, within, rng.choice(ops), longest=30) for _ in range(count)]
    )
    bench.check([], bytearray(rng.randbytes(1024)), commands, rng=rng, traffic=20)


@shares
@pytest.mark.parametrize("op", OPS)
def test_instruction_at_all_widths(op, share):
    rng = random.Random(op)
    bench = make(vec_bytes=8)
    widths = (1, 7, 8, 9, 10, 15, 16, 17, 20, 24, 31, 32)
    count = some(24, share, least=len(widths))
    commands = in_turn(
        [random_vector(rng, bench.params, op, longest=20, widths=widths) for _ in range(count)]
    )
    bench.check([], bytearray(rng.randbytes(1024)), commands)


def test_named_values():
    bench = make()
    memory = bytearray(1024)
    commands, at, to = [], 0, 512

    def one(op, a, b, ibiw, obiw, operand=0, **formats):
        nonlocal at, to
        a, b = ([value] if isinstance(value, int) else value for value in (a, b))
        for base, values in ((at, a), (at + 32, b)):
            for k, value in enumerate(values):
                put(memory, base + k * -(-ibiw // 8), value, ibiw)
        commands.append(vector(op, at, at + 32, to, len(a), operand, ibiw, obiw, **formats))
        at, to = (at + 36) % 400, to + 4

    for n in (0, 7, 8, 200, 255):
        one("vvsll", 3, n, 8, 8)
        one("vvsra", -1, n, 8, 8)
        one("vvsra", -128, n, 8, 16)
    in_turn(commands)
    bench.check([], memory, commands)
    commands.clear()
    one("vavg", [1, 2], 0, 8, 8, 1)
    one("vavg", [-1, -2], 0, 8, 8, 1)
    one("vavg", [5, 0, 0], 0, 8, 8, 0)
    one("vrsu", -7, 0, 8, 4, 1000)
    one("vrsl", -7, 0, 8, 4, -1000)
    one("vrsu", 100, 0, 8, 4, -100_000)
    one("vvmul", -(2**31), -(2**31), 32, 32)
    one("vtanh", 1000, 0, 16, 16, fi=12, fo=15)
    one("vsigm", -32768, 0, 16, 16, fi=12, fo=15)
    in_turn(commands)
    bench.check([], memory, commands)


def touched(command):
    """Bytes of a command without a stride: (read, written)."""
    f = command.fields
    step = byw(f["ibiw"])
    wide = step if f["op"].name.lower() in SAME_WIDTH else byw(f["obiw"])
    return {f[source] + k for source in ("src1", "src2") for k in range(f["len"] * step)}, {
        f["dst"] + k for k in range(f["len"] * wide)
    }


@shares
@pytest.mark.parametrize(
    ("preset", "vec_bytes"), [("sim", 4), ("sim", 8), ("tiny", 2), ("narrow", 2)]
)
def test_commands_in_a_row(preset, vec_bytes, share):
    """Given as the scoreboard gives them: two that have nothing to do with each other may be under
    way. Alike ones overlap, others do not."""
    rng = random.Random(f"{preset} {vec_bytes}")
    bench = make(
        preset, vec_bytes=vec_bytes, **({"lmem_bytes": 16384} if preset == "narrow" else {})
    )
    within, commands = {**bench.params, "lmem_bytes": 1024}, []
    plain = [op for op in OPS if op not in ("vavg", "vmv", "vvdmul", "vtanh", "vsigm")]
    while len(commands) < some(120, share):
        if not commands or rng.random() < 0.2:
            op, widths = rng.choice(plain), [rng.choice((8, 16, bench.params["max_biw"]))]
        command = random_vector(rng, within, op, longest=rng.choice((3, 12)), widths=widths)
        if commands:
            (read, written), (read_before, written_before) = touched(command), touched(commands[-1])
            if written & (read_before | written_before) or read & written_before:
                command.after = (len(commands) - 1,)
        commands.append(command)
    bench.check([], bytearray(rng.randbytes(1024)), commands, rng=rng, traffic=20)


def test_cycles_of_commands_in_a_row():
    """What a command waits for is the words of the one before, not its results; only two may be
    under way."""
    bench = make("85f", lmem_bytes=4096)
    for op, most in (("vvmax", 6), ("vvmul", 7), ("vrelu", 5)):
        commands = [vector(op, 64 * k, 64 * k + 16, 2048 + 16 * k, 8, 0, 16, 16) for k in range(20)]
        bench.check([], bytearray(random.Random(op).randbytes(4096)), commands)
        assert commands[-1].done - commands[0].taken <= 16 + 20 * most, (
            op,
            commands[-1].done - commands[0].taken,
        )


def test_cycles_of_section_10():
    """Words of eight bytes, as the preset 85f has them. Products of more than 16 bits take two
    cycles more than its 12, the table four."""
    bench = make("85f", lmem_bytes=4096)
    rng = random.Random(3)
    cases = [
        (vector("vvadd", 0, 1024, 2048, 400, 0, 16, 16), 2 * 100 + 12),
        (vector("vrelu", 0, 0, 2048, 400, 0, 16, 16), 100 + 12),
        (vector("vvdmul", 1, 1024, 2048, 500, 0, 16, 16), 2 * 125 + 36),
        (vector("vavg", 0, 0, 2048, 64, 3, 16, 16), 64 + 50),
        (vector("vmv", 5, 0, 2048, 50, 2, 16, 16), 50 + 50),
        (vector("vvmul", 0, 1024, 2048, 100, 0, 16, 16), 2 * 25 + 12),
        (vector("vvmul", 0, 1024, 2048, 100, 0, 32, 32), 2 * 50 + 14),
        (vector("vvmul", 0, 1024, 2048, 100, 0, 20, 20), 2 * 50 + 14),
        (vector("vvadd", 0, 1024, 2048, 8, 0, 16, 16), 16),
        (vector("vvmax", 0, 1024, 2048, 8, 0, 16, 16), 12),
        (vector("vtanh", 0, 0, 2048, 64, 0, 16, 16, 12, 15), 64 + 16),
        (vector("vvsra", 0, 1024, 2048, 64, 0, 16, 16), 2 * 16 + 12),
        (vector("vrsu", 0, 0, 2048, 64, 100, 16, 8), 64 // 4 + 12),
        (vector("vvadd", 0, 1024, 2048, 64, 0, 24, 24), 64 + 12),
    ]
    commands = in_turn([command for command, _ in cases])
    bench.check([], bytearray(rng.randbytes(4096)), commands)
    for command, bound in cases:
        assert command.done - command.taken <= bound, (
            command.fields,
            command.done - command.taken,
            bound,
        )


@pytest.mark.parametrize(
    ("overrides", "cycles"), [({}, 6), ({"max_biw": 16}, 33)], ids=["multipliers", "serial"]
)
def test_scalar_products(overrides, cycles):
    dut = VectorUnit(params=SPACE.resolve("sim", overrides))
    rng = random.Random(5)
    pairs = [
        (0xFFFF_FFFF, 0xFFFF_FFFF),
        (0x8000_0000, 2),
        (0x1_0001, 0x1_0001),
        *((rng.getrandbits(32), rng.getrandbits(32)) for _ in range(20)),
    ]

    async def drive(ctx):
        for a, b in pairs:
            ctx.set(dut.multiply.payload, {"a": a, "b": b})
            ctx.set(dut.multiply.valid, 1)
            await ctx.tick().until(dut.multiply.ready)
            ctx.set(dut.multiply.valid, 0)
            passed = 1
            while not ctx.get(dut.product_valid):
                await ctx.tick()
                passed += 1
            assert passed == cycles
            assert ctx.get(dut.product) == a * b & 0xFFFF_FFFF

    simulate(dut, drive)


@pytest.mark.parametrize("op", [VectorOp.VTANH, VectorOp.VVMUL])
def test_scalar_products_after_a_command(op):
    """The kind of the command before changes nothing."""
    dut = VectorUnit(params=SPACE.resolve("sim"))

    async def memory(ctx):
        ctx.set(dut.write.request.ready, 1)
        ctx.set(dut.read.request.ready, 1)
        due = [0] * LMemRead.READ_LATENCY
        while True:
            _, _, asked = await ctx.tick().sample(dut.read.request.valid)
            due = [asked, *due[:-1]]
            ctx.set(dut.read.valid, due[-1])
            ctx.set(dut.read.data, 0x1234_5678)

    async def drive(ctx):
        ctx.set(
            dut.command.payload,
            {
                "op": op,
                "src1": 0,
                "src2": 64,
                "dst": 128,
                "len": 2,
                "ibiw": 16,
                "obiw": 16,
                "fi": 12,
                "fo": 15,
            },
        )
        ctx.set(dut.command.valid, 1)
        await ctx.tick().until(dut.command.ready)
        ctx.set(dut.command.valid, 0)
        while ctx.get(dut.busy):
            await ctx.tick()
        for a, b in ((17074, 256), (0xFFFF_FFFF, 3), (0x1234_5678, 0x9ABC_DEF0)):
            ctx.set(dut.multiply.payload, {"a": a, "b": b})
            ctx.set(dut.multiply.valid, 1)
            await ctx.tick().until(dut.multiply.ready)
            ctx.set(dut.multiply.valid, 0)
            while not ctx.get(dut.product_valid):
                await ctx.tick()
            assert ctx.get(dut.product) == a * b & 0xFFFF_FFFF

    simulate(dut, drive, surroundings=[memory])
