# SPDX-License-Identifier: BSD-2-Clause
"""The OPU's compute part under test: tiles, kernels and commands in, numpy arrays out, all of it at
once where it may be."""

from dataclasses import dataclass, field

import numpy as np

from quintet.gateware.cores.opu.engine.compute.compute import Compute
from quintet.gateware.cores.opu.geometry import ofm_lines, pooled
from quintet.gateware.cores.opu.model.arithmetic import (
    activate,
    conv_acc,
    conv_bias,
    dot,
    pool,
    requantise,
)
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.types import type_set
from tests.support.simulating import design, simulator

BYTES = {8: np.int8, 16: np.dtype("<i2"), 32: np.dtype("<i4")}


def make(preset="sim", beat_bytes=2, family=None, **overrides):
    params = SPACE.resolve(preset, overrides)
    return design(Compute, params=params, beat_bytes=beat_bytes, family=family)


@dataclass
class Load:
    """``face`` is "ifm", "ker" or "bias"; ``start`` its fields."""

    face: str
    start: dict
    array: np.ndarray
    bits: int


@dataclass
class Conv:
    fields: dict


@dataclass
class Store:
    fields: dict
    expected: np.ndarray  # [rows, columns, channels]


@dataclass
class Phase:
    """One phase of a random test: loads, convolutions and stores, each one after another, all
    three at the same time."""

    loads: list = field(default_factory=list)
    convs: list = field(default_factory=list)
    stores: list = field(default_factory=list)


@dataclass
class Figures:
    """Of each phase: cycles from the first command offered to the last done, steps, cycles from
    first to last step; of each store: cycles from its command to the last group."""

    cycles: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    span: list = field(default_factory=list)
    stores: list = field(default_factory=list)


def log2(value):
    return value.bit_length() - 1


def conv_fields(
    kind,
    tap,
    shape,
    row,
    *,
    window=(0, 0),
    stride=(1, 1),
    shifts=(0, 0),
    ifm_bank=0,
    ofm_bank=0,
    copy=0,
):
    """``tap``: [outputs, channels]; ``shape``: ifm's (rows, columns) and ofm's."""
    (ifm_h, ifm_w), (ofm_h, ofm_w) = shape
    return {
        "kind": kind,
        "h": window[0],
        "w": window[1],
        "stride_h": stride[0],
        "stride_w": stride[1],
        "ifm_w": ifm_w,
        "ofm_h": ofm_h,
        "ofm_w": ofm_w,
        "ifm_c": log2(tap.shape[1]) - 4,
        "ofm_c": log2(tap.shape[0]),
        "row": row,
        "ifm_bank": ifm_bank,
        "ofm_bank": ofm_bank,
        "bias_copy": copy,
        "ifm_shift": shifts[0],
        "bias_shift": shifts[1],
    }


def window_of(ifm, ofm_shape, window, stride):
    (h, w), (down, right), (rows, columns) = window, stride, ofm_shape
    return ifm[h : h + (rows - 1) * down + 1 : down, w : w + (columns - 1) * right + 1 : right]


def convolve(kind, ofm, ifm, tap, bias, ofm_shape, window, stride, shifts, types):
    sums = dot(window_of(ifm, ofm_shape, window, stride).astype(np.int64), tap.astype(np.int64))
    if kind == 1:
        return conv_bias(bias.astype(object), sums.astype(object), *shifts, types)
    return conv_acc(ofm if kind == 2 else 0, sums, shifts[0], types)


def stored(ofm, ifm, act, order, add, window, types):
    low, high = types.ifm_range

    def res(x):
        part = ifm[: x.shape[0], : x.shape[1], : x.shape[2]].astype(np.int64)
        return np.clip(x + part, low, high) if add else x

    x = requantise(ofm, types)
    if order == 0:
        return pool(res(activate(x, act)), window)
    if order == 1:
        return pool(activate(res(x), act), window)
    return res(pool(activate(x, act), window))


def store_fields(
    ofm, ifm_shape, act=0, order=0, add=0, window=(1, 1, 1, 1), ofm_bank=0, ifm_bank=0
):
    rows, columns = pooled(*ofm.shape[:2], window)
    return {
        "ofm_h": ofm.shape[0],
        "ofm_w": ofm.shape[1],
        "ofm_c": log2(ofm.shape[2]),
        "act": act,
        "order": order,
        "add_ifm": add,
        "pool_h": window[0],
        "pool_w": window[1],
        "pool_h_stride": window[2],
        "pool_w_stride": window[3],
        "out_h": rows,
        "out_w": columns,
        "ofm_bank": ofm_bank,
        "ifm_bank": ifm_bank,
        "ifm_w": ifm_shape[1],
        "ifm_c": log2(ifm_shape[2]) - 4,
    }


def run(dut, phases, *, rng, gaps=0, stalls=0, limit=200_000):
    """Run ``phases``; each begins when all of the one before is done. Returns :class:`Figures`.

    ``gaps``, ``stalls``: cycles of a hundred without a beat, and in which ``out`` is not taken.
    """
    figures = Figures()
    types, params = type_set(dut.params), dut.params
    parties = 3
    arrived, number = [0] * parties, [0]

    async def barrier(ctx, who):
        arrived[who] += 1
        while min(arrived) < arrived[who]:
            await ctx.tick()

    async def drive_loads(ctx):
        faces = {"ifm": dut.ifm_load, "ker": dut.ker_load, "bias": dut.bias_load}
        for phase in phases:
            for load in phase.loads:
                face = faces[load.face]
                for name, value in load.start.items():
                    ctx.set(face[name], value)
                ctx.set(face.start, 1)
                await ctx.tick()
                ctx.set(face.start, 0)
                raw = load.array.astype(BYTES[load.bits]).tobytes()
                raw += bytes(-len(raw) % dut.beat_bytes)
                for k in range(0, len(raw), dut.beat_bytes):
                    while rng.randrange(100) < gaps:
                        await ctx.tick()
                    ctx.set(face.valid, 1)
                    ctx.set(face.data, int.from_bytes(raw[k : k + dut.beat_bytes], "little"))
                    await ctx.tick()
                    ctx.set(face.valid, 0)
            await barrier(ctx, 0)

    async def drive_convs(ctx):
        for phase in phases:
            waiting, cycles, steps, first, last = len(phase.convs), 0, 0, None, 0
            pending = list(phase.convs)
            while waiting:
                if pending:
                    ctx.set(dut.conv.payload, pending[0].fields)
                ctx.set(dut.conv.valid, bool(pending))
                *_, ready, done, step = await ctx.tick().sample(
                    dut.conv.ready, dut.conv_done, dut.conv_step
                )
                if pending and ready:
                    pending.pop(0)
                waiting -= done
                cycles += 1
                steps += step
                if step:
                    first, last = cycles if first is None else first, cycles
                assert cycles < limit, "the convolutions hang"
            figures.cycles.append(cycles)
            figures.steps.append(steps)
            figures.span.append(last - (first or 0) + 1)
            await barrier(ctx, 1)

    async def drive_stores(ctx):
        lanes = params["out_lanes"]
        for phase in phases:
            for store in phase.stores:
                ctx.set(dut.post.payload, store.fields)
                ctx.set(dut.post.valid, 1)
                await ctx.tick().until(dut.post.ready)
                ctx.set(dut.post.valid, 0)
                rows, columns, channels = store.expected.shape
                groups = rows * columns * -(-channels // lanes)
                got, waited = [], 0
                while len(got) < groups:
                    ctx.set(dut.out.ready, rng.randrange(100) >= stalls)
                    *_, valid, ready, value, end = await ctx.tick().sample(
                        dut.out.valid, dut.out.ready, dut.out.payload.data, dut.out.payload.last
                    )
                    waited += 1
                    assert waited < limit, f"the store hangs after {len(got)} of {groups} groups"
                    if valid and ready:
                        raw = value.to_bytes(lanes * types.ifm_bytes, "little")
                        got.append(np.frombuffer(raw, BYTES[types.ifm])[:channels])
                        assert end == (len(got) == groups), "last comes with the last group"
                figures.stores.append(waited)
                ctx.set(dut.out.ready, 1)
                *_, done = await ctx.tick().sample(dut.post_done)
                for _ in range(4):
                    if done:
                        break
                    *_, done = await ctx.tick().sample(dut.post_done)
                assert done, "post_done is late"
                result = np.concatenate(got).reshape(store.expected.shape)
                np.testing.assert_array_equal(
                    result, store.expected, f"phase {number[0]}: {store.fields}"
                )
            number[0] += 1
            await barrier(ctx, 2)

    sim = simulator(dut)
    sim.add_clock(1e-8)
    for drive in (drive_loads, drive_convs, drive_stores):
        sim.add_testbench(drive)
    sim.run()
    return figures


def random_shift(rng, types):
    usual = types.ofm - types.ifm - types.ker - 4  # the largest S just fits
    return rng.choice(
        (
            rng.randint(usual - 3, usual + 6),
            rng.randint(usual - 3, usual + 6),
            rng.randint(-20, 20),
            rng.randint(-128, 127),
        )
    )


def random_array(rng, shape, bits):
    generator = np.random.default_rng(rng.randrange(1 << 30))
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    kind = rng.randrange(4)
    if kind == 0:
        return generator.choice([low, high, low + 1, -1, 0, 1], shape)
    if kind == 1:
        return generator.integers(low, high, shape, endpoint=True) >> rng.randrange(bits)
    return generator.integers(low, high, shape, endpoint=True)


POSTS = (
    (0, 0, 0),
    (0, 0, 1),
    (0, 1, 0),
    (0, 1, 1),
    (0, 2, 0),
    (0, 2, 1),
    (1, 1, 1),
    (1, 2, 1),
    (2, 0, 1),
    (2, 1, 1),
    (2, 2, 1),
)


def random_phases(dut, rng, tiles, most=60):
    """Tiles of random shape: while one is convolved, the next is loaded and the last one stored,
    where there are two banks.

    ``most``: positions of an ofm.
    """
    params, types = dut.params, type_set(dut.params)
    two_ifm, two_ofm = params["ifm_banks"] == 2, params["ofm_banks"] == 2
    pi, po = params["pi"], params["po"]
    phases, row = [], 0
    waiting = None  # the store of the tile before
    for tile in range(tiles):
        bank_in, bank_out, copy = tile % 2 if two_ifm else 0, tile % 2 if two_ofm else 0, tile % 2
        while True:
            ifm_c, ofm_c = rng.choice((16, 32, 64)), rng.choice((2, 4, 8, 16, 32, 64))
            ofm_h, ofm_w = rng.choice(
                ((1, 1), (1, 2), (2, 1), (rng.randint(1, 12), rng.randint(1, 12)))
            )
            stride = rng.choice(((1, 1), (1, 1), (rng.randint(1, 7), rng.randint(1, 7))))
            extra = rng.randint(0, 3), rng.randint(0, 3)
            ifm_h, ifm_w = (
                (ofm_h - 1) * stride[0] + 1 + extra[0],
                (ofm_w - 1) * stride[1] + 1 + extra[1],
            )
            taps = rng.randint(1, 4)
            rows = taps * (ifm_c // pi) * -(-ofm_c // po)
            if (
                ofm_h * ofm_w <= most
                and ifm_h * ifm_w * ifm_c // 16 <= params["ifm_lines"]
                and max(ifm_h, ifm_w) <= 127
                and ofm_lines((ofm_h, ofm_w, ofm_c), po) <= params["ofm_lines"]
                and rows <= params["ker_rows"] // 2
            ):
                break
        ifm = random_array(rng, (ifm_h, ifm_w, ifm_c), types.ifm)
        ker = random_array(rng, (taps, ofm_c, ifm_c), types.ker)
        bias = random_array(rng, (ofm_c,), types.bias)
        loads = [
            Load("ifm", {"bank": bank_in}, ifm, types.ifm),
            Load(
                "ker", {"row": row, "ifm_c": log2(ifm_c) - 4, "ofm_c": log2(ofm_c)}, ker, types.ker
            ),
            Load("bias", {"copy": copy, "ofm_c": log2(ofm_c)}, bias, types.bias),
        ]
        rng.shuffle(loads)
        convs, ofm = [], None
        for n in range(rng.randint(1, 6)):
            kind = rng.choice((0, 1)) if n == 0 else rng.choice((0, 1, 2, 2, 2, 2))
            tap = rng.randrange(taps)
            window = rng.randint(0, extra[0]), rng.randint(0, extra[1])
            shifts = random_shift(rng, types), random_shift(rng, types)
            if rng.randrange(3) == 0:
                shifts = shifts[0], max(-128, min(127, shifts[0] + rng.randint(-3, 3)))
            start = (row + tap * (rows // taps)) % params["ker_rows"]
            convs.append(
                Conv(
                    conv_fields(
                        kind,
                        ker[tap],
                        ((ifm_h, ifm_w), (ofm_h, ofm_w)),
                        start,
                        window=window,
                        stride=stride,
                        shifts=shifts,
                        ifm_bank=bank_in,
                        ofm_bank=bank_out,
                        copy=copy,
                    )
                )
            )
            ofm = convolve(
                kind, ofm, ifm, ker[tap], bias, (ofm_h, ofm_w), window, stride, shifts, types
            )
        stores = []
        for _ in range(rng.choice((1, 1, 2))):
            window = (
                rng.randint(1, min(15, ofm_h)),
                rng.randint(1, min(15, ofm_w)),
                rng.randint(1, 7),
                rng.randint(1, 7),
            )
            if rng.randrange(3) == 0:
                window = 1, 1, 1, 1
            order, act, add = rng.choice(POSTS)
            size = pooled(ofm_h, ofm_w, window) if order == 2 else (ofm_h, ofm_w)
            if add and (size[0] > ifm_h or size[1] > ifm_w or ofm_c > ifm_c):
                order, act, add = 0, act, 0
            stores.append(
                Store(
                    store_fields(ofm, ifm.shape, act, order, add, window, bank_out, bank_in),
                    stored(ofm, ifm, act, order, add, window, types),
                )
            )
        overlapped = (
            two_ifm
            and two_ofm
            and waiting is not None
            and not any(s.fields["add_ifm"] for s in waiting)
        )
        if waiting is not None:
            phases.append(
                Phase(loads=loads, stores=waiting) if overlapped else Phase(stores=waiting)
            )
        if not overlapped:
            phases.append(Phase(loads=loads))
        # Convolution of this tile beside the store of the last one is what two banks are for.
        phases.append(Phase(convs=convs, stores=waiting if overlapped and two_ofm else []))
        waiting, row = stores, (row + rows) % params["ker_rows"]
    phases.append(Phase(stores=waiting))
    return phases
