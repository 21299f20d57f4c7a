# SPDX-License-Identifier: BSD-2-Clause
"""The directed tests of section 11 as programs, for model and gateware alike: ``import
opu_directed``.

Memory of every case: program from 0, region 1 (feature maps) from 0x1000, region 2 (kernels and
bias) from 0x6000, region 3 (results) from 0x9000 to the end; all other regions are closed. Where a
fault is meant, ``notes["fault"]`` is (name, detail), written down by hand.
"""

import random
from functools import cache

import numpy as np

from quintet.gateware.cores.opu.isa import ISA, POST_FORMS, REGIONS
from quintet.gateware.cores.opu.model.sequence import Regions, Sequence
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.cores.opu.types import type_set
from quintet.gateware.isa.asm import assemble_text
from quintet.gateware.isa.outcome import RunFault
from tests.gateware.cores.opu.bench.programs import Case

__all__ = ["directed_cases", "every_value_cases", "fault_cases", "group_names"]

MAPS, KERNELS, RESULTS = 0x1000, 0x6000, 0x9000
SIZE = 1 << 16


def registers_of(more=None, size=SIZE):
    found = {f"region_limit[{r}]": 0 for r in range(REGIONS)}
    for r, base, limit in (
        (1, MAPS, KERNELS - MAPS),
        (2, KERNELS, RESULTS - KERNELS),
        (3, RESULTS, size - RESULTS),
    ):
        found[f"region_base[{r}]"], found[f"region_limit[{r}]"] = base, limit
    return {**found, "program_address": 0, **(more or {})}


@cache
def _random_memory(seed, size):
    return np.random.default_rng(seed).integers(0, 256, size).astype(np.uint8)


def case_of(name, params, text, arrays=(), *, registers=None, fault=None, size=SIZE, end=True):
    """A :class:`Case` of assembly ``text`` and pairs (address, array); memory elsewhere is random,
    the same every time."""
    if end:
        text += "\nend"
    words = ISA.load(assemble_text(SOFTWARE, text + ("" if end else "\nend"), name=name).data)
    words = words if end else words[:-1]
    memory = _random_memory(len(name), size).copy()
    for at, array in arrays:
        raw = np.frombuffer(array.tobytes(), np.uint8)
        memory[at : at + raw.size] = raw
    program = np.frombuffer(ISA.store(words), np.uint8)
    given = {"program_length": program.size, **registers_of(registers, size)}
    memory[given["program_address"] : given["program_address"] + program.size] = program
    return Case(
        name,
        dict(params),
        words,
        given,
        memory,
        fault[0] if fault else None,
        0,
        {"fault": fault} if fault else {},
    )


def fits(case):
    """Whether no instruction of the case asks for more than its build holds (unless it is meant
    to)."""
    machine = Sequence(case.params, case.params, Regions(case.registers, case.memory.size))
    try:
        for word in case.words:
            if machine.step(word).mnemonic == "end":
                break
    except RunFault as fault:
        return fault.name != "capacity" or case.fault == "capacity"
    return True


class _Text:
    """Arrays and usual configurations for one type set."""

    def __init__(self, params):
        self.params, self.types = params, type_set(params)
        self.itype, self.ktype, self.btype = (
            f"<i{bits // 8}" for bits in (self.types.ifm, self.types.ker, self.types.bias)
        )

    def slots(self, values):
        """[h, w, c] -> full slots of 64, the other channels 0x3C."""
        values = np.asarray(values)
        full = np.full((*values.shape[:2], 64), 0x3C, self.itype)
        full[..., : values.shape[2]] = values
        return full

    def ker(self, values):
        return np.asarray(values).astype(self.ktype)

    def bias(self, values):
        return np.asarray(values).astype(self.btype)

    def config(self, ifm, ofm, taps, mem_w=None, out=None):
        h, w = out or ofm[:2]
        return (
            f"@shape.ifm [{ifm[0]},{ifm[1]},{ifm[2]}]\n@shape.ofm "
            f"[{ofm[0]},{ofm[1]},{ofm[2]}]\n@shape.ker {taps}\n"
            f"@mem.ifm 1, {mem_w or ifm[1]}\n@mem.ker 2\n@mem.bias 2\n@mem.ofm 3, [{h},{w}]\n"
        )


LOADS = "ld.ifm 0\nld.ker 0\n"
BIAS_AT = KERNELS + 0x2000
LOAD_BIAS = f"ld.bias {0x2000 // 64}\n"


# Rounding and saturation


def _rounding(t):
    """Ties and ends in conv, conv.acc and conv.bias. Results near 0 are told apart one by one: x +
    2^(k-1) + v, k places of the store, is 1 after it exactly if x >= -v."""
    types, k = t.types, t.types.store_shift
    x = np.zeros((2, 4, 16), int)
    x[..., 0] = np.array([1, 2, 3, 5, -1, -7, 100, -128]).reshape(2, 4)
    x[..., 1] = 1
    taps = np.zeros((7, 8, 16), int)
    taps[0, :, 0] = np.arange(8) - 4  # S
    taps[1, :, 1] = 1  # 2^(k-1), by its shift
    for n, v in enumerate((-2, -1, 0, 1, 2)):
        taps[2 + n, :, 1] = v
    bias = np.zeros(8, int)
    bias[:6] = 1, -1, 3, -3, 1 << types.bias - 2, -(1 << types.bias - 1)
    arrays = [(MAPS, t.slots(x)), (KERNELS, t.ker(taps)), (BIAS_AT, t.bias(bias))]
    edges = (
        -1,
        -2,
        -3,
        0,
        1,
        8,
        127,
        -128,
        -types.right_most,
        -types.right_most - 1,
        types.left_most,
        types.left_most + 1,
        -types.fraction_bits,
        -types.fraction_bits - 1,
        types.left_cap,
        types.left_cap + 1,
    )
    for f in edges:
        for first, shifts in (("conv", (0,)), ("conv.bias", (-1, f))):
            for b in shifts:
                text, at = t.config((2, 4, 16), (2, 4, 8), 7) + LOADS + LOAD_BIAS, 0
                for n in range(5):
                    text += (
                        f"@shift {f}, {b}\n{first} ifm:[0,0], ker:0\n@shift {k - 1}, 0\n"
                        f"conv.acc ifm:[0,0], ker:1\n"
                        f"@shift 0, 0\nconv.acc ifm:[0,0], ker:{2 + n}\nstore {at}\n"
                    )
                    at += 16
                # The same as it is, and through conv.acc on 0.
                text += (
                    f"@shift {f}, {b}\n{first} ifm:[0,0], ker:0\nstore {at}\n@shift 0, 0\nconv "
                    f"ifm:[0,0], ker:4\n"
                    f"@shift {f}, 0\nconv.acc ifm:[0,0], ker:0\n@shift {k - 1}, 0\nconv.acc "
                    f"ifm:[0,0], ker:1\n"
                    f"store {at + 16}\n"
                )
                yield case_of(f"{first} f {f} b {b}", t.params, text, arrays)


def _cancelling(t):
    """Huge terms of conv.bias that cancel exactly, or all but one unit."""
    x = np.zeros((1, 8, 16), int)
    x[..., 0] = [[1, 1, 2, 2, 4, 4, -1, 1]]
    x[..., 1] = [[0, 1, 0, -1, 0, 1, 0, -1]]
    taps = np.zeros((1, 4, 16), int)
    taps[0, :, 0] = 64, -64, 32, 1
    taps[0, :, 1] = 1, 1, 1, 1
    bias = [-64, 64, -32, -1]
    arrays = [(MAPS, t.slots(x)), (KERNELS, t.ker(taps)), (BIAS_AT, t.bias(bias))]
    for f, b in (
        (127, 127),
        (126, 127),
        (120, 121),
        (40, 40),
        (30, 31),
        (-30, -30),
        (-128, -128),
        (127, -128),
        (-128, 127),
    ):
        yield case_of(
            f"cancel {f} {b}",
            t.params,
            t.config((1, 8, 16), (1, 8, 4), 1)
            + LOADS
            + LOAD_BIAS
            + f"@shift {f}, {b}\nconv.bias ifm:[0,0], ker:0\nstore 0\n",
            arrays,
        )


def _order_of_taps(t):
    """Partial sums that saturate between taps and come back: another order gives another result."""
    x = np.full((1, 2, 16), 127)
    taps = np.zeros((3, 2, 16), int)
    taps[0], taps[1], taps[2] = 127, 127, -127
    f = max(t.types.ofm - t.types.dot_log2, 0) + 3
    arrays = [(MAPS, t.slots(x)), (KERNELS, t.ker(taps))]
    text = t.config((1, 2, 16), (1, 2, 2), 3) + LOADS + f"@shift {f - 3}, 0\n"
    for at, order in enumerate(((0, 1, 2), (0, 2, 1), (2, 0, 1), (2, 2, 0))):
        for number, n in enumerate(order):
            text += f"{'conv.acc' if number else 'conv'} ifm:[0,0], ker:{n}\n"
        text += f"store {8 * at}\n"
    yield case_of("order of taps", t.params, text, arrays)
    text = t.config((1, 2, 16), (1, 2, 2), 3) + LOADS + f"@shift {f}, 0\n"
    yield case_of(
        "saturated at once",
        t.params,
        text + "conv ifm:[0,0], ker:0\nconv.acc ifm:[0,0], ker:2\nstore 0\n",
        arrays,
    )


def _back_to_back(t):
    """Every pair of convolutions without anything between, or a change of shifts, on shapes of very
    few steps: the second meets the first in the pipeline, in its sums, its bias and its shifts."""
    rng = np.random.default_rng(11)
    arrays = [
        (MAPS, rng.integers(-128, 128, (2, 8, 64)).astype(t.itype)),
        (KERNELS, rng.integers(-128, 128, 8192).astype(t.ktype)),
        (BIAS_AT, (rng.integers(-128, 128, 64) << t.types.bias - 9).astype(t.btype)),
    ]
    f = t.types.ofm - t.types.ifm - t.types.ker + 1
    kinds = ("conv", "conv.bias", "conv.acc")
    for shape, c, k in (
        ((1, 1), 16, 2),
        ((1, 4), 16, 16),
        ((1, 4), 16, 32),
        ((2, 2), 32, 8),
        ((1, 1), 64, 64),
        ((1, 2), 16, 64),
    ):
        for first in kinds:
            for second in kinds:
                for between in ("", f"@shift {f - 1}, -2\n", "ld.bias 0x82\n"):
                    text = (
                        t.config((*shape, c), (*shape, k), 2)
                        + LOADS
                        + LOAD_BIAS
                        + f"@shift {f}, -1\n"
                        "conv ifm:[0,0], ker:1\n"
                        + f"{first} ifm:[0,0], ker:0\n{between}{second} ifm:[0,0], ker:1\n" * 2
                        + f"store 0\n{second} ifm:[0,0], ker:0\nstore 8\n"
                    )
                    name = f"{first} then {second} {shape} {c} {k} {between.strip()}"
                    yield case_of(name, t.params, text, arrays)


def _posts(t):
    """Every form of @post on sums of both signs and near the ends, with a residual larger than
    needed."""
    rng = np.random.default_rng(3)
    low, high = t.types.ifm_range
    x = rng.integers(low, high + 1, (6, 7, 16))
    x[0, :, :4] = [[low, high, 0, -1]] * 7
    taps = rng.integers(-128, 128, (1, 8, 16))
    taps[0, 0] = 0
    arrays = [(MAPS, t.slots(x)), (KERNELS, t.ker(taps))]
    f = t.types.ofm - t.types.ifm - t.types.ker - 1
    for post in POST_FORMS.values():
        for pool in (
            "[1,1], [1,1]",
            "[2,2], [2,2]",
            "[3,2], [1,3]",
            "[2,3], [3,1]",
            "[1,2], [7,7]",
            "[5,6], [1,1]",
        ):
            text = (
                t.config((6, 7, 16), (5, 6, 8), 1, out=(5, 6))
                + LOADS
                + f"@shift {f}, 0\nconv ifm:[1,1], ker:0\n"
                f"@post {post}\n@pool {pool}\nstore 0\n"
            )
            yield case_of(f"post {post} pool {pool}", t.params, text, arrays)


# Buffers that stay and go


def _validity(t):
    base = t.config((3, 3, 16), (2, 2, 4), 2) + LOADS + LOAD_BIAS + "conv.bias ifm:[0,0], ker:0\n"
    after = {
        "@shape.ifm [3,3,16]": {
            "conv ifm:[0,0], ker:0": 3,
            "store 0": None,
            "@post res, pool\nstore 0": 1,
            "ld.ifm 0\nconv ifm:[0,0], ker:0": 2,
            "ld.ker 0\nconv ifm:[0,0], ker:0": 1,
            "ld.ifm 0\nld.ker 0\nconv.acc ifm:[0,0], ker:0\nstore 0": None,
        },
        "@shape.ofm [2,2,4]": {
            "conv ifm:[0,0], ker:0": 2,
            "store 0": 8,
            "ld.ker 0\nconv.acc ifm:[0,0], ker:0": 8,
            "ld.ker 0\nconv.bias ifm:[0,0], ker:1\nstore 0": None,
        },
        "@shape.ofm [1,2,4]": {"ld.ker 0\nconv.bias ifm:[0,0], ker:1\nstore 0": None},
        "@shape.ofm [2,2,2]": {
            "ld.ker 0\nconv.bias ifm:[0,0], ker:1": 4,
            "ld.ker 0\nconv ifm:[0,0], ker:1\nstore 0": None,
        },
        "@shape.ker 2": {
            "conv ifm:[0,0], ker:0": 2,
            "store 0": None,
            "ld.ker 0\nconv.acc ifm:[1,1], ker:1\nstore 0": None,
        },
        "@mem.ifm 1, 3\n@mem.ker 2\n@mem.bias 2\n@mem.ofm 3, [2,2]\n@stride [1,1]\n@shift 1, "
        "1\n@post res, pool\n"
        "@pool [1,1], [1,1]": {
            "conv.acc ifm:[0,0], ker:0\nconv.bias ifm:[0,0], ker:1\nstore 0": None
        },
        "store 0": {"store 4\nconv.acc ifm:[0,0], ker:0\nstore 8\nstore 12": None},
        "ld.ifm 1": {"@post res, pool\nstore 0": None},
        "pad 0, 1": {"conv.acc ifm:[0,0], ker:0\nstore 0": None},
    }
    rng = np.random.default_rng(1)
    arrays = [(MAPS, rng.integers(-9, 10, (1, 20, 64)).astype(t.itype))]
    for change, follow in after.items():
        for text, mask in follow.items():
            name = f"{change} then {text}".replace("\n", "; ")
            yield case_of(
                name,
                t.params,
                f"{base}{change}\n{text}\n",
                arrays,
                fault=("undef_buf", mask) if mask else None,
            )


# Geometry


def _geometry(t):
    rng = np.random.default_rng(2)
    arrays = [
        (MAPS, rng.integers(-128, 128, (5, 64, 64)).astype(t.itype)),
        (KERNELS, rng.integers(-128, 128, 4096).astype(t.ktype)),
    ]
    shift = f"@shift {t.types.ofm - t.types.ifm - t.types.ker}, 0\n"

    def run(
        name,
        ifm,
        ofm,
        conv,
        *,
        taps=1,
        stride="1,1",
        mem_w=None,
        out=None,
        pool=None,
        fault=None,
        more="",
    ):
        # Large tiles overlap themselves in memory, so that they fit.
        mem_w = mem_w or (3 if ifm[0] * ifm[1] > 150 else ifm[1])
        text = (
            t.config(ifm, ofm, taps, mem_w, out)
            + LOADS
            + shift
            + f"@stride [{stride}]\n"
            + (f"@pool {pool}\n" if pool else "")
            + f"conv {conv}\n{more}store 0\n"
        )
        return case_of(name, t.params, text, arrays, fault=fault)

    at = "ifm:[0,0], ker:0"
    yield run("mem_w larger", (3, 4, 16), (3, 4, 8), at, mem_w=9)
    yield run("mem_w smaller", (3, 4, 16), (3, 4, 8), at, mem_w=3)
    yield run("mem_w 1", (4, 4, 16), (4, 4, 8), at, mem_w=1)
    yield run("out wider", (3, 3, 16), (3, 3, 8), at, out=(3, 7))
    yield run("out overlaps", (3, 3, 16), (3, 3, 8), at, out=(3, 2))
    yield run("out overlaps whole slots", (4, 4, 64), (4, 4, 64), at, out=(3, 1))
    yield run("last row and column", (5, 6, 16), (2, 3, 4), "ifm:[3,3], ker:0")
    yield run("one row past", (5, 6, 16), (2, 3, 4), "ifm:[4,3], ker:0", fault=("range", 1))
    yield run("one column past", (5, 6, 16), (2, 3, 4), "ifm:[3,4], ker:0", fault=("range", 2))
    yield run("row and column past", (5, 6, 16), (2, 3, 4), "ifm:[4,4], ker:5", fault=("range", 1))
    yield run("strided to the end", (8, 15, 16), (2, 3, 4), "ifm:[0,0], ker:0", stride="7,7")
    yield run(
        "strided past the end",
        (8, 15, 16),
        (2, 3, 4),
        "ifm:[1,0], ker:0",
        stride="7,7",
        fault=("range", 1),
    )
    yield run(
        "strided columns past",
        (8, 15, 16),
        (2, 3, 4),
        "ifm:[0,1], ker:0",
        stride="7,7",
        fault=("range", 2),
    )
    yield run(
        "tap beyond the kernel",
        (2, 2, 16),
        (2, 2, 4),
        "ifm:[0,0], ker:2",
        taps=2,
        fault=("range", 3),
    )
    yield run("last tap", (2, 2, 16), (2, 2, 4), "ifm:[0,0], ker:1", taps=2)
    yield run("one by one", (1, 1, 16), (1, 1, 2), at)
    yield run("one by one of all channels", (1, 1, 64), (1, 1, 64), at)
    yield run("fifteen", (16, 16, 16), (1, 1, 2), "ifm:[15,15], ker:0")
    yield run("pool 15x15", (16, 16, 16), (16, 16, 2), at, pool="[15,15], [1,1]")
    yield run("pool stride beyond its size", (13, 16, 16), (13, 16, 2), at, pool="[2,2], [7,5]")
    yield run("left-over rows", (5, 7, 16), (5, 7, 4), at, pool="[2,3], [2,3]")
    yield run("pool of all", (5, 7, 16), (5, 7, 4), at, pool="[5,7], [1,1]")
    yield run("pool too high", (5, 7, 16), (5, 7, 4), at, pool="[6,8], [1,1]", fault=("range", 5))
    yield run("pool too wide", (5, 7, 16), (5, 7, 4), at, pool="[5,8], [1,1]", fault=("range", 6))
    for channels in (2, 4, 8, 16, 32, 64):
        yield run(f"ofm_c {channels}", (2, 3, 16), (2, 3, channels), at, out=(2, 4))
    for shape in ((127, 16, 16), (16, 127, 16), (127, 1, 16), (1, 127, 16)):
        yield run(f"tile {shape}", shape, (*shape[:2], 2), at, mem_w=1, out=(2, 1))

    def residual(name, ifm, ofm, post, fault=None, pool="[1,1], [1,1]"):
        # Convolved with one ifm, stored with another.
        text = (
            t.config((6, 6, 64), ofm, 1)
            + LOADS
            + shift
            + f"conv {at}\n@shape.ifm [{ifm[0]},{ifm[1]},{ifm[2]}]\nld.ifm 3\n"
            f"@post {post}\n@pool {pool}\nstore 0\n"
        )
        return case_of(name, t.params, text, arrays, fault=fault)

    for order, post in enumerate(("res, pool", "res, act.relu, pool", "pool, res")):
        yield residual(f"residual exact {order}", (4, 5, 32), (4, 5, 32), post)
        yield residual(f"residual larger {order}", (6, 7, 64), (4, 5, 16), post)
        yield residual(f"residual rows {order}", (3, 4, 16), (4, 5, 32), post, ("range", 7))
        yield residual(f"residual columns {order}", (4, 4, 16), (4, 5, 32), post, ("range", 8))
        yield residual(f"residual channels {order}", (4, 5, 16), (4, 5, 32), post, ("range", 9))
    yield residual("residual of pooled", (2, 2, 32), (4, 5, 32), "pool, res", pool="[2,2], [2,2]")
    yield residual(
        "residual not pooled",
        (2, 2, 32),
        (4, 5, 32),
        "res, pool",
        ("range", 7),
        pool="[2,2], [2,2]",
    )
    yield residual(
        "residual of pooled, rows",
        (1, 2, 32),
        (4, 5, 32),
        "pool, res",
        ("range", 7),
        pool="[2,2], [2,2]",
    )
    yield residual(
        "pool before residual",
        (1, 1, 16),
        (4, 5, 32),
        "pool, res",
        ("range", 5),
        pool="[5,5], [2,2]",
    )
    yield case_of(
        "kernel 16x2x36",
        t.params,
        t.config((6, 6, 16), (1, 1, 2), 36)
        + LOADS
        + shift
        + "".join(f"conv{'.acc' if n else ''} ifm:[{n // 6},{n % 6}], ker:{n}\n" for n in range(36))
        + "store 0\n",
        arrays,
    )
    yield case_of(
        "kernel 64x64x9",
        t.params,
        t.config((3, 3, 64), (1, 1, 64), 9)
        + LOADS
        + shift
        + "".join(f"conv{'.acc' if n else ''} ifm:[{n // 3},{n % 3}], ker:{n}\n" for n in range(9))
        + "store 0\n",
        arrays,
        registers={"region_base[2]": MAPS, "region_limit[2]": SIZE - MAPS},
    )
    for c, k, taps in ((64, 64, 10), (32, 64, 19), (64, 32, 19)):
        yield case_of(
            f"kernel {c}x{k}x{taps}",
            t.params,
            t.config((1, 1, c), (1, 1, k), taps) + "ld.ker 0\n",
            fault=("range", 4),
        )


def _padding(t):
    for h, w in ((4, 5), (1, 6), (6, 1), (2, 2), (1, 1), (9, 3)):
        for p in (0, 1, 2, 3, 15):
            yield case_of(f"pad {h}x{w} {p}", t.params, f"@mem.ofm 3, [{h},{w}]\npad 2, {p}\n")
    store = t.config((2, 2, 16), (2, 2, 4), 1, out=(4, 4)) + LOADS + "conv ifm:[0,0], ker:0\n"
    s = t.types.ifm_bytes
    yield case_of("store then pad", t.params, store + f"store {5 * s}\npad 0, 1\n")
    yield case_of("pad then store", t.params, store + f"pad 0, 1\nstore {5 * s}\n")
    yield case_of("pad over store", t.params, store + "store 0\npad 0, 1\n")
    yield case_of("pad 0 far outside", t.params, "@mem.ofm 3, [4,4]\npad 0x3fffff, 0\n")
    yield case_of("pad 0 of a closed region", t.params, "@mem.ofm 9, [4,4]\npad 0, 0\n")


# Memory


def _memory_order(t):
    """Loads behind the stores that wrote their bytes, with and without a pad between."""
    rng = np.random.default_rng(7)
    arrays = [
        (MAPS, rng.integers(-128, 128, (1, 32, 64)).astype(t.itype)),
        (KERNELS, rng.integers(-128, 128, 4096).astype(t.ktype)),
    ]
    shift = f"@shift {t.types.ofm - t.types.ifm - t.types.ker + 1}, 0\n"
    base = (
        t.config((4, 4, 16), (4, 4, 16), 2, out=(4, 4)) + LOADS + shift + "conv ifm:[0,0], ker:0\n"
    )
    for pad in ("", "pad 0, 1\n", "pad 0, 15\n"):
        yield case_of(
            f"load behind store {pad!r}",
            t.params,
            base + f"store 0\n{pad}@mem.ifm 3, 4\nld.ifm 0\nconv ifm:[0,0], ker:1\nstore 16\n",
            arrays,
        )
    yield case_of(
        "store behind load",
        t.params,
        base + "@mem.ofm 1, [4,4]\nld.ifm 0\nstore 0\nconv.acc ifm:[0,0], ker:1\n"
        "@mem.ofm 3, [4,4]\nstore 0\n",
        arrays,
    )
    yield case_of(
        "kernels behind a convolution",
        t.params,
        base
        + "".join(f"ld.ker {n}\nconv.acc ifm:[0,0], ker:{n % 2}\n" for n in range(8))
        + "store 0\n",
        arrays,
    )
    yield case_of(
        "kernels behind a store",
        t.params,
        base + "@mem.ofm 2, [4,4]\nstore 0\nld.ker 0\nconv ifm:[0,0], ker:1\n"
        "@mem.ofm 3, [4,4]\nstore 0\n",
        arrays,
    )
    yield case_of(
        "bias behind a store",
        t.params,
        base + "@mem.ofm 2, [4,4]\nstore 0\nld.bias 0\nconv.bias ifm:[0,0], ker:1\n"
        "@mem.ofm 3, [4,4]\nstore 0\n",
        arrays,
    )
    yield case_of(
        "two banks by turns",
        t.params,
        base
        + "".join(f"ld.ifm {n}\nconv ifm:[0,0], ker:{n % 2}\nstore {16 * n}\n" for n in range(6)),
        arrays,
    )
    yield case_of(
        "next load before store",
        t.params,
        base
        + "".join(f"ld.ifm {n}\nstore {16 * n}\nconv ifm:[0,0], ker:{n % 2}\n" for n in range(6))
        + "store 96\n",
        arrays,
    )
    yield case_of(
        "residual of the loaded one",
        t.params,
        base + "@post res, pool\nld.ifm 4\nstore 0\nconv.acc ifm:[0,0], ker:0\n"
        "ld.ifm 8\nstore 16\n",
        arrays,
    )


def _spans(t):
    """Pairs (set-up and instruction with {region} and {unit}, span in bytes) of every DMA
    instruction."""
    i, k, b = t.types.ifm_bytes, t.types.ker_bytes, t.types.bias_bytes
    conv = t.config((2, 2, 16), (2, 2, 16), 1) + LOADS + "conv ifm:[0,0], ker:0\n"
    yield (
        "ld.ifm",
        "@shape.ifm [2,3,16]\n@mem.ifm {region}, 4\nld.ifm {unit}\n",
        ((4 + 2) * 64 + 16) * i,
    )
    yield (
        "ld.ker",
        "@shape.ifm [1,1,16]\n@shape.ofm [1,1,4]\n@shape.ker 3\n@mem.ker {region}\nld.ker {unit}\n",
        3 * 4 * 16 * k,
    )
    yield "ld.bias", "@shape.ofm [1,1,32]\n@mem.bias {region}\nld.bias {unit}\n", 32 * b
    yield "store", conv + "@mem.ofm {region}, [9,3]\nstore {unit}\n", ((3 + 1) * 64 + 16) * i
    yield (
        "pooled",
        conv + "@pool [2,1], [1,1]\n@mem.ofm {region}, [9,3]\nstore {unit}\n",
        (64 + 16) * i,
    )
    yield "pad", "@mem.ofm {region}, [3,2]\npad {unit}, 1\n", 3 * 2 * 64 * i


def _regions(t):
    base = 0xA000
    for name, text, span in _spans(t):
        room = -(-span // 64) * 64
        for region in range(REGIONS) if name in ("ld.bias", "pad") else (0, 7, 15):
            if region in (1, 2):
                continue
            here = {f"region_base[{region}]": base, f"region_limit[{region}]": room}
            yield case_of(
                f"{name} region {region}",
                t.params,
                text.format(region=region, unit=0),
                registers=here,
            )
            yield case_of(
                f"{name} region {region} past",
                t.params,
                text.format(region=region, unit=1),
                registers=here,
                fault=("region", region << 28 | 64),
            )
        here = {"region_base[5]": base, "region_limit[5]": room + 640}
        yield case_of(
            f"{name} at the limit", t.params, text.format(region=5, unit=10), registers=here
        )
        yield case_of(
            f"{name} one past",
            t.params,
            text.format(region=5, unit=11),
            registers=here,
            fault=("region", 5 << 28 | 704),
        )
        yield case_of(
            f"{name} far past",
            t.params,
            text.format(region=5, unit=0x3FFFFF),
            registers=here,
            fault=("region", 5 << 28 | 0xFFFFFC0),
        )
        less = {"region_base[5]": base, "region_limit[5]": max((span - 1) // 64 * 64, 0)}
        yield case_of(
            f"{name} limit too small",
            t.params,
            text.format(region=5, unit=0),
            registers=less,
            fault=("region", 5 << 28),
        )
        yield case_of(
            f"{name} closed", t.params, text.format(region=9, unit=0), fault=("region", 9 << 28)
        )
        whole = {"region_base[5]": 0, "region_limit[5]": 1 << 28}
        if span > 64:
            yield case_of(
                f"{name} across 2^28",
                t.params,
                text.format(region=5, unit=0x3FFFFF),
                registers=whole,
                fault=("region", 5 << 28 | 0xFFFFFC0),
            )
        yield case_of(
            f"{name} window's end",
            t.params,
            text.format(region=5, unit=(SIZE - room) // 64),
            registers=whole,
        )
        yield case_of(
            f"{name} past the window",
            t.params,
            text.format(region=5, unit=(SIZE - room) // 64 + 1),
            registers=whole,
            fault=("window", SIZE - room + 64),
        )
        for what, at in (("past 2^32", 0xFFFFFFC0), ("above", 0x8000_0000)):
            here = {"region_base[5]": at, "region_limit[5]": 1 << 28}
            yield case_of(
                f"{name} {what}",
                t.params,
                text.format(region=5, unit=2),
                registers=here,
                fault=("window", (at + 128) % (1 << 32)),
            )
    two = {
        "region_base[4]": 0xC000,
        "region_limit[4]": 0x1000,
        "region_base[6]": 0xC000,
        "region_limit[6]": 0x1000,
    }
    yield case_of(
        "two regions on one memory",
        t.params,
        t.config((2, 2, 16), (2, 2, 16), 1)
        + LOADS
        + "conv ifm:[0,0], ker:0\n@mem.ofm 4, [2,2]\nstore 1\n@mem.ifm 6, 2\nld.ifm 1\nconv "
        "ifm:[0,0], ker:0\n"
        "@mem.ofm 3, [2,2]\nstore 0\n",
        registers=two,
    )
    yield case_of(
        "window base",
        t.params,
        "@shape.ofm [1,1,16]\n@mem.bias 5\nld.bias 2\n",
        registers={
            "region_base[5]": 0,
            "region_limit[5]": 0x1000,
            "program_address": 0x40,
            "window_base": 0x40,
        },
    )


# Faults

_READY = "@mem.ofm 3, [2,2]\n"


def fault_cases(params):
    """Every fault and detail of section 6, each right behind a load and a store, then something
    that would be seen."""
    t = _Text(params)
    conv = t.config((3, 3, 16), (2, 2, 4), 2) + LOADS + "conv ifm:[0,0], ker:0\nstore 0\nld.ifm 0\n"
    after = "pad 32, 15\nstore 48\n"
    for op in (*range(9, 16), *range(27, 64)):
        yield case_of(
            f"op {op}",
            params,
            conv + f".word {op | 0xABCDE << 6}\n{after}",
            fault=("illegal_op", op),
        )
    for word, detail in (
        (16, 6),
        (16 | 1 << 6 | 1 << 13 | 3 << 20, 20),
        (17 | 1 << 6 | 1 << 13 | 7 << 20, 20),
        (17 | 127 << 6 | 127 << 13 | 3 << 20, 6),
        (18, 6),
        (18 | 37 << 6, 6),
        (19, 10),
        (22, 10),
        (22 | 1 << 10, 20),
        (23 | 1 << 9, 6),
        (23 | 1 << 6, 9),
        (25 | 3 << 6, 6),
        (25 | 1 << 8, 6),
        (25 | 3 << 8, 6),
        (26, 6),
        (26 | 1 << 6, 10),
        (26 | 1 << 6 | 1 << 10, 14),
        (26 | 1 << 6 | 1 << 10 | 1 << 14, 17),
    ):
        yield case_of(
            f"field {word:#x}", params, conv + f".word {word}\n{after}", fault=("bad_field", detail)
        )
    sets = {
        1: "@shape.ifm [1,1,16]\n",
        2: "@shape.ofm [1,1,4]\n",
        4: "@shape.ker 1\n",
        8: "@mem.ifm 1, 1\n",
        16: "@mem.ofm 3, [1,1]\n",
    }
    for insn, needs in (
        ("ld.ifm 0", 9),
        ("ld.ker 0", 7),
        ("ld.bias 0", 2),
        ("store 0", 16),
        ("pad 0, 1", 16),
    ):
        for given in range(32):
            if given & ~needs == 0 and given != needs:
                text = "".join(line for bit, line in sets.items() if given & bit)
                yield case_of(
                    f"{insn} with {given}",
                    params,
                    f"{text}{insn}\npad 0, 1\n",
                    fault=("undef_reg", needs & ~given),
                )
        # All others set: still missing.
        for bit in (b for b in sets if b & needs):
            text = "".join(line for other, line in sets.items() if other != bit)
            yield case_of(
                f"{insn} without {bit}", params, f"{text}{insn}\n", fault=("undef_reg", bit)
            )
    yield case_of(
        "unset register before invalid buffer",
        params,
        "@shape.ofm [1,1,4]\nstore 0\n",
        fault=("undef_reg", 16),
    )
    shapes = (
        "@shape.ifm [2,2,16]\n@shape.ofm [2,2,4]\n@shape.ker 1\n@mem.ifm 1, 2\n@mem.ker 2\n"
        "@mem.bias 2\n"
    ) + _READY
    loads = {1: "ld.ifm 0\n", 2: "ld.ker 0\n", 4: LOAD_BIAS}
    for insn, needs in (("conv", 3), ("conv.bias", 7), ("conv.acc", 11)):
        for given in range(8):
            if needs & ~given:
                text = "".join(line for bit, line in loads.items() if given & bit)
                yield case_of(
                    f"{insn} with {given}",
                    params,
                    f"{shapes}{text}{insn} ifm:[9,9], ker:9\n",
                    fault=("undef_buf", needs & ~given),
                )
    yield case_of("store of nothing", params, _READY + "store 0\n", fault=("undef_buf", 8))
    yield case_of(
        "store of nothing with residual",
        params,
        _READY + "@post res, pool\nstore 0\n",
        fault=("undef_buf", 9),
    )
    yield case_of(
        "conv before anything", params, "conv.bias ifm:[0,0], ker:0\n", fault=("undef_buf", 7)
    )
    most = params["ifm_lines"]
    if most < 2048 * 4:
        h = next(
            h
            for h in range(1, 128)
            for w in (most * 16 // (h * 64) + 1,)
            if w <= 127 and h * w <= 2048
        )
        w = most * 16 // (h * 64) + 1
        yield case_of(
            "ifm too large",
            params,
            conv + f".word {ISA.encode('@shape.ifm', h=h, w=w, c=64)}\n{after}",
            fault=("capacity", 1),
        )
    if params["ofm_lines"] < 131072 // params["po"]:
        # The largest that fits in one channel count, and one position more.
        groups = -(-64 // params["po"])
        h = next(
            h
            for h in range(1, 128)
            if params["ofm_lines"] // groups // h + 1 <= 127
            and h * (params["ofm_lines"] // groups // h + 1) <= 2048
        )
        w = params["ofm_lines"] // groups // h + 1
        yield case_of(
            "ofm too large",
            params,
            conv + f".word {ISA.encode('@shape.ofm', h=h, w=w, c=64)}\n{after}",
            fault=("capacity", 8),
        )
    if params["ker_rows"] * params["pi"] * params["po"] < 9 * 4096:
        yield case_of(
            "kernel too large",
            params,
            "@shape.ifm [1,1,64]\n@shape.ofm [1,1,64]\n@shape.ker 9\n.word 2\npad 0, 1\n",
            fault=("capacity", 2),
        )
    yield case_of(
        "kernel volume before capacity",
        params,
        "@shape.ifm [1,1,64]\n@shape.ofm [1,1,64]\n@shape.ker 36\nld.ker 0\n",
        fault=("range", 4),
    )
    yield case_of("no end", params, conv, end=False, fault=("fetch", 4 * len(conv.splitlines())))
    yield case_of("length 0", params, conv, registers={"program_length": 0}, fault=("fetch", 0))
    for length in (1, 2, 3, 5, 4 * len(conv.splitlines()) - 1):
        yield case_of(
            f"length {length}",
            params,
            conv,
            registers={"program_length": length},
            fault=("fetch", length & -4),
        )
    lines = "@stride [1,1]\n" * 40
    for limit in (0x40, 0x80):
        yield case_of(
            f"window at {limit:#x}",
            params,
            lines,
            registers={"window_limit": limit},
            fault=("window", limit),
        )
    yield case_of(
        "window behind", params, lines, registers={"window_base": 0x40}, fault=("window", 0)
    )
    yield case_of("empty window", params, lines, registers={"window_limit": 0}, fault=("window", 0))
    yield case_of(
        "window before length",
        params,
        lines,
        registers={"window_limit": 0x40, "program_length": 0x40},
        fault=("window", 0x40),
    )
    yield case_of("first word", params, ".word 63\n" + conv, fault=("illegal_op", 63))
    yield case_of("last word", params, conv + ".word 63", end=False, fault=("illegal_op", 63))
    yield case_of(
        "region before window",
        params,
        _READY.replace("3", "5") + "pad 0, 1\n",
        registers={"region_base[5]": 0x8000_0000, "region_limit[5]": 0xC0},
        fault=("region", 5 << 28),
    )
    yield case_of("length and rubbish", params, "end\n.word 0xffffffff\n")
    yield case_of(
        "end with ignored bits", params, _READY + "pad 0, 1\n.word 0xffffffc0\n.word 9\n", end=False
    )
    yield case_of("only end", params, "")


_GROUPS = {
    "rounding": _rounding,
    "cancelling": _cancelling,
    "order of taps": _order_of_taps,
    "back to back": _back_to_back,
    "posts": _posts,
    "validity": _validity,
    "geometry": _geometry,
    "padding": _padding,
    "memory order": _memory_order,
    "regions": _regions,
}


def group_names():
    """Names of the groups of :func:`directed_cases`."""
    return tuple(_GROUPS) + ("faults",)


def directed_cases(params, group):
    """Cases of one group that this build can hold."""
    if group == "faults":
        yield from filter(fits, fault_cases(params))
    else:
        yield from filter(fits, _GROUPS[group](_Text(params)))


def every_value_cases(params, act):
    """All 65,536 values of a 16-bit ofm through ``store`` with activation ``act``, in four programs
    (types 8-8-16-16).

    The value is 512*a + 64*b + k: a and b come from the position, k is the output channel. Its
    result lies at ``RESULTS`` + value - first value of the program; ``notes["first"]`` is that.
    """
    t = _Text(params)
    taps = np.zeros((1, 64, 16), int)
    taps[0, :, :9] = 64
    taps[0, :, 9] = np.arange(64)
    form = {0: "pool", 1: "act.relu, pool", 2: "act.leaky, pool"}[act]
    for quarter in range(4):
        position = np.arange(256 * quarter, 256 * (quarter + 1)) - 512  # value // 64
        x = np.zeros((1, 256, 16), int)
        x[0, :, :8] = (position // 8)[:, None]
        x[0, :, 8] = position % 8
        x[0, :, 9] = 1
        text = t.config((1, 16, 16), (1, 16, 64), 1) + f"ld.ker 0\n@post {form}\n"
        for n in range(16):
            text += f"ld.ifm {16 * n}\nconv ifm:[0,0], ker:0\nstore {16 * n}\n"
        case = case_of(
            f"every value {form} {quarter}",
            params,
            text,
            [(MAPS, t.slots(x)), (KERNELS, t.ker(taps))],
        )
        case.notes["first"] = 64 * int(position[0])
        yield case


def shuffled(cases, seed, count):
    """``count`` of ``cases``, drawn with ``seed``: for gateware, where all of them take too long
    every time."""
    cases = list(cases)
    return random.Random(seed).sample(cases, min(count, len(cases)))
