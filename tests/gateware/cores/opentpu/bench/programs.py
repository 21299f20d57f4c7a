# SPDX-License-Identifier: BSD-2-Clause
"""Programs for comparing OpenTPU's gateware with its model: random ones, directed hazards, and NOP
padding.

The workloads of section 10.3 are in ``quintet.firmware.opentpu.measure``. Everything here gives a
:class:`Case`: a program, registers, a memory image, the ranges to compare.
"""

import math
import random

import numpy as np

from quintet.firmware.opentpu.measure.case import Case, align
from quintet.gateware.cores.opentpu.isa import ISA
from quintet.gateware.cores.opentpu.model.model import conv_rows, pool_rows
from quintet.tools.compiler.backends.opentpu.codegen.program import Program, Word

__all__ = ["FAULTS", "Case", "case_of", "hazard_cases", "pad", "random_case", "scatter"]

OP = ISA.opcodes


def case_of(
    name,
    params,
    words,
    host,
    tiles,
    *,
    rng=None,
    weights_in_host=None,
    program_last=False,
    extra=None,
):
    """A :class:`Case` with program, host memory and weights laid out one after another.

    ``host``: int8 [vectors, n]; ``tiles``: int8 [tiles, n, n]; ``weights_in_host``: weight memory
    begins at this multiple of its alignment inside host memory instead. All bases are multiples of
    lcm(16, n), for beats of n bytes.
    """
    n = params["n"]
    step = math.lcm(16, n)
    data = b"".join(word.pack() if isinstance(word, Word) else word for word in words)
    gap = step * (rng.randrange(4) if rng else 0)
    address = {}
    at = step + gap
    regions = [("program", len(data)), ("host", host.size), ("weights", tiles.size)]
    if program_last:
        regions = regions[1:] + regions[:1]
    for region, size in regions:
        address[region] = at
        at = align(at + size, step) + gap
    size = align(at + 64, 64)
    memory = np.zeros(size, np.uint8)
    if rng:
        memory[:] = np.frombuffer(rng.randbytes(size), np.uint8)
    memory[address["host"] : address["host"] + host.size] = host.view(np.uint8).ravel()
    if weights_in_host is None:
        memory[address["weights"] : address["weights"] + tiles.size] = tiles.view(np.uint8).ravel()
    else:
        room = host.size - tiles.size
        address["weights"] = address["host"] + min(weights_in_host, max(room, 0) // step) * step
    memory[address["program"] : address["program"] + len(data)] = np.frombuffer(data, np.uint8)
    registers = {
        "program_address": address["program"],
        "program_length": len(data),
        "hostmem_base": address["host"],
        "hostmem_limit": address["host"] + host.size,
        "weights_base": address["weights"],
        "weights_limit": address["weights"] + tiles.size,
        **(extra or {}),
    }
    return Case(
        name,
        dict(params),
        [w for w in words if isinstance(w, Word)],
        registers,
        memory,
        program=data,
        ranges=[(address["host"], host.size)],
    )


# Random programs

_WINDOW = 24  # rows on which most instructions meet
_TILES = 8


class _Writer:
    """Random legal instructions, with what the checks of section 6 need to know."""

    def __init__(self, rng, params):
        self.rng, self.params, self.n = rng, params, params["n"]
        self.program = Program()
        self.pending, self.switched = 0, False
        self.capacity = params["wfifo_tiles"] + 1
        self.host_rows = _WINDOW * 8
        # The common rows lie at the start, at the end, or somewhere odd.
        self.ub0 = rng.choice(
            (0, params["ub_rows"] - _WINDOW, rng.randrange(params["ub_rows"] - _WINDOW))
        )
        self.acc0 = rng.choice(
            (0, params["acc_rows"] - _WINDOW, rng.randrange(params["acc_rows"] - _WINDOW))
        )
        self.cfg = [params["norm_reset"], 0x100, 0x10011, 0]
        self.long = rng.random() < 0.25  # whether lengths have a tail to 256

    def span(self, *limits):
        """A length, and for each (common base, rows) of ``limits`` a start that fits."""
        rng = self.rng
        count = rng.randint(1, 8)
        if self.long and rng.random() < 0.12:
            count = rng.choice((255, 256, rng.randint(9, 256)))
        count = min([count] + [rows for _, rows in limits])
        starts = []
        for base, rows in limits:
            low, high = base, base + _WINDOW - count
            if high < low or high + count > rows:
                low, high = 0, rows - count
            starts.append(rng.randint(low, high))
        return count, starts

    def ub_host(self):
        return self.span((self.ub0, self.params["ub_rows"]), (0, self.host_rows))

    def ub_acc(self):
        return self.span((self.ub0, self.params["ub_rows"]), (self.acc0, self.params["acc_rows"]))

    def rw(self):
        if self.pending < self.capacity:
            if self.params["ext_diag"] and self.rng.random() < 0.5:
                self.program.rw(self.rng.randrange(_TILES * self.n), diagonal=True)
            else:
                self.program.rw(self.rng.randrange(_TILES))
            self.pending += 1

    def mmc(self):
        rng = self.rng
        if not self.switched and not self.pending:
            self.rw()
        count, (ub, acc) = self.ub_acc()
        switch = self.pending > 0 and (not self.switched or rng.random() < 0.6)
        convolve = rng.random() < 0.3
        if convolve and self.params["ext_conv"]:
            rows = conv_rows(self.cfg[1], ub, count)
            convolve = bool(rows.max() < self.params["ub_rows"])
        self.program.mmc(
            ub,
            acc,
            count,
            switch=switch,
            overwrite=rng.random() < 0.4,
            convolve=convolve,
            bias=self.params["ext_bias"] and rng.random() < 0.4,
        )
        if switch:
            self.pending -= 1
            self.switched = True

    def act(self):
        rng = self.rng
        count, (ub, acc) = self.ub_acc()
        pool = self.params["ext_pool"] and rng.random() < 0.3
        if pool:
            pool = bool(
                pool_rows(self.cfg[2], self.cfg[3], acc, count).max() < self.params["acc_rows"]
            )
        self.program.act(acc, ub, count, rng.choice((0, 1, 2, 3)), pool=pool)

    def host(self):
        count, (ub, host) = self.ub_host()
        if self.rng.random() < 0.5:
            self.program.rhm(host, ub, count)
        else:
            self.program.whm(ub, host, count)

    def other(self):
        rng, params = self.rng, self.params
        choices = ["nop", "sync"]
        choices += [
            name
            for name, ext in (
                ("norm", "ext_norm"),
                ("conv", "ext_conv"),
                ("pool", "ext_pool"),
                ("poolrow", "ext_pool"),
            )
            if params[ext]
        ] * 2
        kind = rng.choice(choices)
        if kind == "nop":
            self.program.nop(rng.choice((1, 1, 2, rng.randint(1, 2 * self.n + 4))))
        elif kind == "sync":
            self.program.sync(rng.randrange(1 << 16), interrupt=rng.random() < 0.5)
        else:
            value = {
                "norm": rng.choice((0, 1, 4, 8, 16, 24, 31))
                | rng.getrandbits(1) << 8
                | rng.randrange(3) << 16,
                "conv": rng.choice((0, 1, 3, 4, 7))
                | rng.randrange(4) << 8
                | rng.randrange(8) << 16,
                "pool": rng.randint(1, 3)
                | rng.randint(1, 3) << 4
                | rng.choice((0, 1, 3, 7)) << 8
                | rng.randrange(4) << 16,
                "poolrow": rng.randrange(6) | rng.randrange(10) << 16,
            }[kind]
            self.program.cfg(kind, value)
            self.cfg[("norm", "conv", "pool", "poolrow").index(kind)] = value

    def step(self):
        draw = self.rng.random()
        if self.rng.random() < 0.25:
            self.rw()
        if draw < 0.40:
            self.mmc()
        elif draw < 0.68:
            self.act()
        elif draw < 0.90:
            self.host()
        elif draw < 0.95:
            self.rw()
        else:
            self.other()

    def dump(self):
        """Show the common rows: unified buffer as it is, accumulators through ACT, all 32 bits
        where norm is built."""
        rows, host = _WINDOW, 2 * _WINDOW
        self.program.whm(self.ub0, host, rows)
        for k, shift in enumerate((0, 8, 16, 24) if self.params["ext_norm"] else (0,)):
            if self.params["ext_norm"]:
                self.program.cfg("norm", shift)
            self.program.act(self.acc0, self.ub0, rows)
            self.program.whm(self.ub0, host + (k + 1) * rows, rows)


def _random_data(rng, *shape):
    kind = rng.random()
    size = math.prod(shape)
    data = np.frombuffer(rng.randbytes(size), np.int8).copy()
    if kind < 0.15:
        data = np.where(data & 1, np.int8(-128), np.int8(127))  # extremes
    elif kind < 0.4:
        data = (data >> 5).astype(np.int8)  # small: ReLU and sigmoid show their middle
    return data.reshape(shape)


#: Faults that :func:`random_case` can inject, start faults included; ``"bitflip"`` flips one bit of
#: one word.
FAULTS = (
    "bad_register",
    "bad_config",
    "window",
    "illegal_opcode",
    "bad_field",
    "ub_range",
    "acc_range",
    "host_range",
    "weight_range",
    "no_weights",
    "weight_underflow",
    "weight_overflow",
    "program_end",
    "bitflip",
)


def random_case(seed, params, *, legal=True, fault=None, length=None):
    """A random program (specification, section 11, "Randomised").

    Parameters
    ----------
    seed : int
    params : dict of build parameters
    legal : without ``fault``: False injects one of :data:`FAULTS`, drawn by the seed
    fault : name out of :data:`FAULTS` to inject. What the outcome is, the model says:
        an injected fault may come after another one (``bitflip``), or not be one in this build.
    length : instructions before the closing dump; by default 5 to 60

    Returns
    -------
    Case
    """
    rng = random.Random(f"{seed}/{params['n']}/{fault}")
    if fault is None and not legal:
        fault = rng.choice(FAULTS)
    writer = _Writer(rng, params)
    steps = length if length is not None else rng.randint(5, 60)
    at = rng.randrange(steps + 1)
    if fault == "no_weights":  # before the first MMC.S
        at = 0
    for index in range(steps):
        if index == at and fault is not None:
            _inject(writer, fault)
        writer.step()
    if at == steps and fault is not None:
        _inject(writer, fault)
    writer.dump()
    if fault != "program_end":
        writer.program.hlt()
        if rng.random() < 0.5:  # never executed, whatever it is
            writer.program.words.append(
                Word(rng.choice((0xFF, OP["MMC"], OP["WHM"])), 0xC0, 3, 1 << 60, 7)
            )
    words = list(writer.program.words)
    if fault == "bitflip":
        index = rng.randrange(len(words))
        word = int.from_bytes(words[index].pack(), "big") ^ 1 << rng.randrange(112)
        words[index] = Word(
            word >> 104,
            word >> 96 & 0xFF,
            word >> 88 & 0xFF,
            word >> 24 & (1 << 64) - 1,
            word & 0xFFFFFF,
        )
    n = params["n"]
    extra = {"sigmoid_compat": rng.getrandbits(1)}
    if params["ext_norm"] and rng.random() < 0.2:
        extra["cfg_norm"] = rng.choice((0, 0x103, 0x10104, 0x2001F))
    in_host = (
        rng.randrange(8) if rng.random() < 0.3 and writer.host_rows * n >= _TILES * n * n else None
    )
    case = case_of(
        f"random {seed}" + (f" {fault}" if fault else ""),
        params,
        words,
        _random_data(rng, writer.host_rows, n),
        _random_data(rng, _TILES, n, n),
        rng=rng,
        weights_in_host=in_host,
        program_last=rng.random() < 0.3,
        extra=extra,
    )
    if fault in ("bad_register", "bad_config", "window"):
        _spoil(case, fault, rng)
    elif rng.random() < 0.3:  # the tightest window that the run fits
        used = [
            (case.registers[a], case.registers[b])
            for a, b in (("hostmem_base", "hostmem_limit"), ("weights_base", "weights_limit"))
        ]
        used.append(
            (
                case.registers["program_address"],
                case.registers["program_address"] + len(case.program),
            )
        )
        case.registers["window_base"] = min(a for a, _ in used) & -64
        # (whole beats of 12 bytes, where a memory has such)
        case.registers["window_limit"] = align(max(b for _, b in used), math.lcm(64, params["n"]))
    return case


def _inject(writer, fault):
    """Put a word that raises ``fault`` at the end of the program (start faults: :func:`_spoil`)."""
    rng, program, params = writer.rng, writer.program, writer.params
    wide = rng.choice((0, 1 << 32, 1 << 63))  # low bits alone would be legal
    if fault == "illegal_opcode":
        legal = set(OP.values())
        program.words.append(
            Word(rng.choice([k for k in range(256) if k not in legal]), rng.getrandbits(8), 1, 2, 3)
        )
    elif fault == "bad_field":
        program.words.append(
            rng.choice(
                (
                    Word(OP["NOP"], 1),
                    Word(OP["NOP"], 0, 1),
                    Word(OP["HLT"], 0, 0, 1 << 63),
                    Word(OP["HLT"], 0, 0, 0, 1 << 23),
                    Word(OP["WHM"], 1, 1),
                    Word(OP["RHM"], 0x80, 1),
                    Word(OP["RW"], 0, 1),
                    Word(OP["RW"], 0, 0, 0, 1),
                    Word(OP["RW"], 0xC0 if params["ext_diag"] else 0x40),
                    Word(OP["RW"], 0x40, 1),
                    Word(OP["MMC"], 0x41, 1),
                    Word(OP["MMC"], 0xC0 if params["ext_bias"] else 0x80, 1),
                    Word(OP["MMC"], 0x08, 1),
                    Word(OP["ACT"], 0x40, 1),
                    Word(OP["ACT"], 0x01, 1),
                )
            )
        )
    elif fault == "ub_range":
        count = rng.randint(1, 256)
        ub = params["ub_rows"] - count + rng.randint(1, count)
        program.words.append(
            rng.choice(
                (
                    Word(OP["RHM"], 0, count & 255, 0, ub),
                    Word(OP["WHM"], 0, count & 255, 0, ub),
                    Word(OP["ACT"], 0, count & 255, 0, ub),
                    Word(OP["RHM"], 0, 1, 0, 0xFFFFFF),
                )
            )
        )
    elif fault == "acc_range":
        count = rng.randint(1, min(256, params["acc_rows"]))
        acc = params["acc_rows"] - count + rng.randint(1, count)
        program.words.append(
            rng.choice(
                (
                    Word(OP["ACT"], 0, count & 255, acc, 0),
                    Word(OP["ACT"], 8, 1, 1 << 32, 0),
                    Word(OP["MMC"], 5, 1, (1 << 64) - 1, 0),
                )
            )
        )
    elif fault == "host_range":
        count = rng.randint(1, 64)
        host = writer.host_rows - count + rng.randint(1, count)
        program.words.append(Word(rng.choice((OP["RHM"], OP["WHM"])), 0, count, host | wide, 0))
    elif fault == "weight_range":
        diagonal = params["ext_diag"] and rng.random() < 0.5
        past = _TILES * params["n"] if diagonal else _TILES
        row = rng.choice((past, 1 << 32, (1 << 64) - 1))
        program.words.append(Word(OP["RW"], 0x40 if diagonal else 0, 0, row, 0))
    elif fault == "no_weights":
        program.words.append(Word(OP["MMC"], rng.choice((0, 4)), 1, writer.acc0, writer.ub0))
    elif fault == "weight_underflow":
        while writer.pending:
            writer.program.mmc(writer.ub0, writer.acc0, 1, switch=True)
            writer.pending -= 1
            writer.switched = True
        program.words.append(Word(OP["MMC"], 1, 1, writer.acc0, writer.ub0))
    elif fault == "weight_overflow":
        while writer.pending < writer.capacity:
            writer.rw()
        program.rw(0)
    elif fault == "bad_config" and any(params[ext] for ext in ("ext_norm", "ext_conv", "ext_pool")):
        program.words.append(
            rng.choice(
                (
                    Word(OP["CFG"], 0, 0, 0x30000, 0),
                    Word(OP["CFG"], 0, 0, 0, 4),
                    Word(OP["CFG"], 0, 0, 0x20, 0),
                    Word(OP["CFG"], 0, 0, 0x10010, 2),
                )
            )
        )


def _spoil(case, fault, rng):
    registers = case.registers
    if fault == "bad_register":
        name, value = rng.choice(
            (
                ("program_length", 0),
                ("program_length", registers["program_length"] + 1),
                ("hostmem_base", registers["hostmem_base"] + 8),
                ("hostmem_limit", registers["hostmem_base"] - 1),
                ("weights_base", registers["weights_base"] + 4),
                ("weights_limit", registers["weights_base"] - 16),
                ("hostmem_limit", 0),
                ("weights_limit", 0),
            )
        )
        registers[name] = max(value, 0)
    elif fault == "window" and rng.random() < 0.3:  # the program itself
        registers["window_limit"] = (registers["program_address"] + len(case.program) // 2) & -64
    elif fault == "window":  # host memory or weights end early
        low, high = registers["hostmem_base"], registers["hostmem_limit"]
        if registers["program_address"] < low:
            registers["window_limit"] = align(rng.randrange(low, high), 64)
        else:
            registers["window_base"] = rng.randrange(low, high) & -64
    elif fault == "bad_config" and case.params["ext_norm"] and rng.random() < 0.3:
        registers["cfg_norm"] = rng.choice((0x30000, 0x20, 1 << 31))


# Changes that must not change results


def pad(words, n, *, extra=0):
    """``words`` with NOPs behind each instruction for its documented latency (section 10.2), as
    published programs have."""
    result = Program()
    for word in words:
        result.words.append(word)
        count = {
            OP["RHM"]: word.count,
            OP["WHM"]: word.count,
            OP["RW"]: -(-n * n // 64) + 3 + n,
            OP["MMC"]: word.count + 2 * n,
            OP["ACT"]: word.count + 1,
        }.get(word.opcode, 0)
        result.nop(count + extra)
    return result.words


def scatter(words, seed, *, sync=False):
    """``words`` with NOPs (or SYNCs) inserted at random places."""
    rng = random.Random(seed)
    result = Program()
    for word in words:
        if rng.random() < 0.4:
            if sync and rng.random() < 0.6:
                result.sync(rng.randrange(1 << 16))
            else:
                result.nop(rng.randint(1, 6))
        result.words.append(word)
    return result.words


def nop_runs(words, seed):
    """``words`` with runs of NOPs at random places: short ones, and some longer than any fetch asks
    for at once."""
    rng = random.Random(f"runs {seed}")
    result = Program()
    for word in words:
        if rng.random() < 0.5:
            result.nop(rng.choice((1, 2, 3, rng.randint(4, 12), rng.randint(4, 60))))
        result.words.append(word)
    return result.words


# Directed hazards


def hazard_cases(params, *, distances=None):
    """One :class:`Case` for each hazard of section 11 item 7, overlap and length.

    Each program repeats setup, producer, d NOPs, consumer and a look at the result, for d = 0 .. 2n
    + 4.
    """
    n = params["n"]
    distances = range(2 * n + 5) if distances is None else distances
    for name, (producer, consumer) in _HAZARDS.items():
        if any(flag in name and not params[extension] for flag, extension in _EXTENDED):
            continue
        for count, shift in ((1, 0), (5, 0), (5, 2), (5, -2), (2 * n + 3, 1)):
            rng = random.Random(f"{name}/{count}/{shift}/{n}")
            program = Program()
            for distance in distances:
                # Fresh contents: two blocks of host memory, one product in the accumulators, a new
                # tile.
                program.rhm(rng.randrange(32), 0, 60)
                program.rw(rng.randrange(_TILES))
                program.mmc(0, 0, 40, switch=True, overwrite=True)
                program.act(0, 100, 40, "relu")
                if params["ext_sync"]:
                    program.sync(distance)
                else:
                    program.nop(120)
                producer(program, 10, count)
                program.nop(distance)
                consumer(program, 10 + shift, count)
                # Everything that can have changed, into rows of host memory that grow with the
                # distance.
                program.act(0, 140, 40)
                out = 160 + distance % 4 * 224
                program.whm(0, out, 180)
            program.hlt()
            host = _random_data(rng, 160 + 4 * 224, n)
            yield case_of(
                f"hazard {name} n={count} shift={shift}",
                params,
                program.words,
                host,
                _random_data(rng, _TILES, n, n),
                rng=rng,
                weights_in_host=0 if "RW" in name else None,
            )


#: Instructions of hazards that need an extension.
_EXTENDED = (("RW.D", "ext_diag"), ("MMC.B", "ext_bias"))

_HAZARDS = {
    "RHM -> MMC": (
        lambda p, at, c: p.rhm(40, at, c),
        lambda p, at, c: p.mmc(at, 0, c, overwrite=True),
    ),
    "RHM -> WHM": (lambda p, at, c: p.rhm(40, at, c), lambda p, at, c: p.whm(at, 100, c)),
    "RHM -> RHM": (lambda p, at, c: p.rhm(40, at, c), lambda p, at, c: p.rhm(70, at, c)),
    "ACT -> MMC": (lambda p, at, c: p.act(0, at, c), lambda p, at, c: p.mmc(at, 20, c)),
    "ACT -> WHM": (lambda p, at, c: p.act(0, at, c, "sigmoid"), lambda p, at, c: p.whm(at, 100, c)),
    "RHM -> ACT": (lambda p, at, c: p.rhm(40, at, c), lambda p, at, c: p.act(0, at, c)),
    "ACT -> RHM": (lambda p, at, c: p.act(0, at, c), lambda p, at, c: p.rhm(40, at, c)),
    "ACT -> ACT": (lambda p, at, c: p.act(0, at, c), lambda p, at, c: p.act(4, at, c, "sigmoid")),
    "MMC -> ACT": (lambda p, at, c: p.mmc(50, at, c), lambda p, at, c: p.act(at, 100, c)),
    "MMC -> MMC": (lambda p, at, c: p.mmc(0, at, c), lambda p, at, c: p.mmc(3, at, c)),
    "MMC -> MMC.B": (
        lambda p, at, c: p.mmc(0, at, c),
        lambda p, at, c: p.mmc(3, at, c, bias=True),
    ),
    "MMC.B -> MMC.B": (
        lambda p, at, c: p.mmc(0, at, c, bias=True),
        lambda p, at, c: p.mmc(3, at, c, bias=True),
    ),
    "MMC.B -> ACT": (
        lambda p, at, c: p.mmc(50, at, c, bias=True),
        lambda p, at, c: p.act(at, 100, c),
    ),
    "ACT reads, MMC.B writes": (
        lambda p, at, c: p.act(at, 100, c),
        lambda p, at, c: p.mmc(0, at, c, bias=True),
    ),
    "MMC -> MMC.O": (
        lambda p, at, c: p.mmc(0, at, c),
        lambda p, at, c: p.mmc(3, at, c, overwrite=True),
    ),
    "ACT reads, MMC overwrites": (
        lambda p, at, c: p.act(at, 100, c),
        lambda p, at, c: p.mmc(0, at, c, overwrite=True),
    ),
    "MMC reads, RHM overwrites": (
        lambda p, at, c: p.mmc(at, 0, c),
        lambda p, at, c: p.rhm(40, at, c),
    ),
    "MMC reads, ACT overwrites": (
        lambda p, at, c: p.mmc(at, 20, c),
        lambda p, at, c: p.act(0, at, c),
    ),
    "WHM reads, RHM overwrites": (
        lambda p, at, c: p.whm(at, 100, c),
        lambda p, at, c: p.rhm(40, at, c),
    ),
    "WHM reads, ACT overwrites": (
        lambda p, at, c: p.whm(at, 100, c),
        lambda p, at, c: p.act(0, at, c),
    ),
    "WHM -> RHM host": (
        lambda p, at, c: p.whm(100, 90 + at, c),
        lambda p, at, c: p.rhm(90 + at, 20, c),
    ),
    "RHM -> WHM host": (
        lambda p, at, c: p.rhm(90 + at, 20, c),
        lambda p, at, c: p.whm(100, 90 + at, c),
    ),
    "WHM -> WHM host": (
        lambda p, at, c: p.whm(100, 90 + at, c),
        lambda p, at, c: p.whm(3, 90 + at, c),
    ),
    # Weight memory begins where host memory does: tile 0 is its first n vectors.
    "WHM -> RW": (
        lambda p, at, c: p.whm(100, max(at - 10, 0), c),
        lambda p, at, c: (p.rw(0), p.mmc(0, 0, c, switch=True, overwrite=True)),
    ),
    "RW -> WHM": (
        lambda p, at, c: p.rw(0),
        lambda p, at, c: (
            p.whm(100, max(at - 10, 0), c),
            p.mmc(0, 0, c, switch=True, overwrite=True),
        ),
    ),
    # The last row that the WHM writes, or would write without a shift.
    "WHM -> RW.D": (
        lambda p, at, c: p.whm(100, max(at - 10, 0), c),
        lambda p, at, c: (
            p.rw(c - 1, diagonal=True),
            p.mmc(0, 0, c, switch=True, overwrite=True),
        ),
    ),
    "RW.D -> WHM": (
        lambda p, at, c: p.rw(c - 1, diagonal=True),
        lambda p, at, c: (
            p.whm(100, max(at - 10, 0), c),
            p.mmc(0, 0, c, switch=True, overwrite=True),
        ),
    ),
}
