# SPDX-License-Identifier: BSD-2-Clause
"""Random OPU programs, legal and illegal, for comparing gateware, model and exact fractions
(specification, section 11).

Everything gives a :class:`Case`; a legal one is cheap to simulate: at most about ``budget`` cycles
of a core with these parameters. Legality is judged by ``Sequence``, so every case is legal, or
raises the fault asked for, by construction.
"""

import random

import numpy as np

from quintet.gateware.cores.opu import geometry
from quintet.gateware.cores.opu.isa import IFM, ISA, POST_FORMS, REGIONS
from quintet.gateware.cores.opu.model.sequence import Regions, Sequence
from quintet.gateware.cores.opu.types import type_set
from quintet.gateware.isa.outcome import RunFault
from quintet.gateware.isa.words import random_word
from quintet.tools.measure.case import Case as BaseCase

__all__ = ["FAULTS", "Case", "cycles", "random_case"]

#: What :func:`random_case` can be asked to run into; ``window_fetch`` is ``window`` raised by the
#: next word.
FAULTS = (
    "illegal_op",
    "bad_field",
    "undef_reg",
    "undef_buf",
    "range",
    "capacity",
    "region",
    "window",
    "fetch",
    "window_fetch",
)

_PROGRAM = 2048  # bytes kept for the program
_CONV = ("conv", "conv.bias", "conv.acc")


class Case(BaseCase):
    """A program and everything around it."""

    @property
    def program(self):
        """The program's bytes."""
        return ISA.store(self.words)

    def __iter__(self):
        """(words, memory image, registers)."""
        return iter((self.words, self.memory, self.registers))


def cycles(step, sequence, params):
    """Cycles that ``step``, just taken by ``sequence``, may cost, memory answering at one byte a
    cycle (section 10.1)."""
    if step.macs:
        h, w, c = sequence.ofm
        return h * w * (sequence.ifm[2] // params["pi"]) * -(-c // params["po"]) + 32
    cost = 2 + step.bytes_read + step.bytes_written + (40 if step.array else 0)
    if step.mnemonic == "store":
        rows, columns = sequence.result_shape()
        cost += (
            rows
            * columns
            * sequence.pool[0]
            * sequence.pool[1]
            * -(-sequence.ofm[2] // params["out_lanes"])
        )
    return cost


class _Writer:
    """Writes legal instructions, each tried on a copy of the machine's state before it is taken."""

    def __init__(self, rng, params, memory_size, budget, *, program_last=None, trap=False):
        self.rng, self.params, self.left = rng, params, budget
        self.types = type_set(params)
        self.words, self.spent = [], 0
        last = rng.random() < 0.5 if program_last is None else program_last
        gap = 64 * rng.randrange(4)
        self.program_at = memory_size - _PROGRAM if last else gap
        low, high = (
            (gap, memory_size - _PROGRAM)
            if last
            else (gap + _PROGRAM, memory_size - 64 * rng.randrange(3))
        )
        self.low, self.high = low, high
        self.registers = {"program_address": self.program_at}
        self.used = rng.sample(range(REGIONS), rng.randrange(3, 7))
        self.trap = None
        self._lay_out_regions(memory_size, trap)
        self.table = Regions(self.registers, memory_size)
        self.machine = Sequence(params, params, self.table)
        self.stored = []  # (region, unit) of maps written, worth reading again

    def _lay_out_regions(self, memory_size, trap):
        rng, span = self.rng, self.high - self.low
        for r in range(REGIONS):
            if r not in self.used:
                base, limit = (
                    (rng.randrange(1 << 26) * 64, 0)
                    if rng.random() < 0.9
                    else (rng.randrange(1 << 26) * 64, 64)
                )
                self.registers[f"region_base[{r}]"], self.registers[f"region_limit[{r}]"] = (
                    base,
                    limit,
                )
        for number, r in enumerate(self.used):
            if number == 0 or rng.random() < 0.4:
                base, size = self.low, span  # several regions on the same memory
            else:
                size = rng.randrange(min(4096, span // 2), span, 64) & -64
                base = self.low + 64 * rng.randrange((span - size) // 64 + 1)
            self.registers[f"region_base[{r}]"], self.registers[f"region_limit[{r}]"] = base, size
        if rng.random() < 0.5 or trap:  # a window as narrow as can be
            ends = sorted((self.low, self.high, self.program_at, self.program_at + _PROGRAM))
            self.registers["window_base"] = ends[0] & -64
            self.registers["window_limit"] = min(-(-ends[-1] // 64) * 64, memory_size)
        if trap:
            self.trap = rng.choice([r for r in range(REGIONS) if r not in self.used])
            below, above = self.registers["window_base"], self.registers["window_limit"]
            base = rng.choice(
                (
                    max(below - 64 * rng.randrange(1, 4), 0),
                    above - 64 * rng.randrange(1, 4),
                    above,
                    0xFFFF_FFC0,
                    0xFFFF_FF00,
                    1 << 30,
                )
            )
            self.registers[f"region_base[{self.trap}]"] = base
            self.registers[f"region_limit[{self.trap}]"] = rng.choice((1 << 28, 1 << 16))

    # Instructions

    def put(self, mnemonic, **values):
        """Appends the instruction if it is legal here and the budget bears it; whether it was."""
        return self.take(ISA.encode(mnemonic, **values))

    def take(self, word):
        machine = self.machine.copy()
        try:
            step = machine.step(word)
        except RunFault:
            return False
        cost = cycles(step, machine, self.params)
        if cost > self.left or step.mnemonic == "end" or len(self.words) * 4 > _PROGRAM - 512:
            return False
        self.machine = machine
        self.left -= cost
        self.spent += cost
        self.words.append(self._decorated(word))
        return True

    def _decorated(self, word):
        """``word``, now and then with ignored bits set."""
        if self.rng.random() > 0.05:
            return word
        used = 0x3F
        for f in ISA.match(word).fields:
            used |= f.mask
        return word | self.rng.getrandbits(32) & ~used & 0xFFFF_FFFF

    def force(self, word, fault):
        """Appends ``word`` if it raises ``fault`` here; whether it does."""
        try:
            self.machine.copy().step(word)
        except RunFault as stop:
            if stop.name == fault:
                self.words.append(word)
                return True
        return False

    # Choices

    def some(self, *weighted):
        """One of pairs (value, weight)."""
        return self.rng.choices([v for v, _ in weighted], [w for _, w in weighted])[0]

    def unit(self, region, span):
        """An address in ``region`` where ``span`` bytes fit: its ends often, a map stored before
        often; or ``None``."""
        most = (self.table.limit[region] - span) // 64
        if most < 0:
            return None
        near = [u for r, u in self.stored if r == region and u <= most]
        if near and self.rng.random() < 0.4:
            return self.rng.choice(near)
        return self.rng.choice(
            (0, most, self.rng.randrange(most + 1), self.rng.randrange(most + 1))
        )

    def region(self):
        return self.rng.choice(self.used)

    def shifts(self):
        """``f`` and ``b``: mostly such that results are neither 0 nor saturated, extremes mixed
        in."""
        rng, t = self.rng, self.types
        if rng.random() < 0.15:
            edge = [
                -128,
                127,
                -t.right_most,
                -t.right_most - 1,
                t.left_most,
                t.left_most - 1,
                t.left_cap,
                t.left_cap + 1,
                -t.fraction_bits,
                -t.fraction_bits - 1,
                rng.randrange(-128, 128),
                rng.randrange(-128, 128),
            ]
            return rng.choice(edge), rng.choice(edge)
        channels = (self.machine.ifm or (0, 0, 16))[2]
        typical = t.ifm + t.ker - 4 + channels.bit_length() // 2
        wanted = rng.randrange(t.ofm - t.ifm - 1, t.ofm)
        return (
            max(-128, min(127, wanted - typical + rng.choice((-1, 0, 0, 1)))),
            max(-128, min(127, wanted - t.bias + rng.choice((0, 1, 2)))),
        )

    # Parts of a tile

    def shape(self, ih, iw, c, oh, ow, k, taps):
        """The shapes, in any order; whether all fit."""
        parts = [
            ("@shape.ifm", {"h": ih, "w": iw, "c": c}, self.machine.ifm == (ih, iw, c)),
            ("@shape.ofm", {"h": oh, "w": ow, "c": k}, self.machine.ofm == (oh, ow, k)),
            ("@shape.ker", {"n": taps}, self.machine.ker_n == taps),
        ]
        self.rng.shuffle(parts)
        return all(
            same and self.rng.random() < 0.7 or self.put(name, **values)
            for name, values, same in parts
        )

    def load_ifm(self):
        h, w, c = self.machine.ifm
        mem_w = w + self.some(
            (0, 5), (1, 2), (self.rng.randrange(2, 9), 2), (-self.rng.randrange(w), 1)
        )
        region = self.region()
        unit = self.unit(region, geometry.ifm_span((h, w, c), mem_w, self.types.ifm_bytes))
        if unit is None:
            return False
        if (self.machine.ifm_region, self.machine.ifm_mem_w) != (
            region,
            mem_w,
        ) or self.rng.random() < 0.2:
            if not self.put("@mem.ifm", addr=region, w=mem_w):
                return False
        return self.put("ld.ifm", addr=unit)

    def load_ker(self):
        m, region = self.machine, self.region()
        unit = self.unit(
            region, geometry.ker_span(m.ker_n, m.ofm[2], m.ifm[2], self.types.ker_bytes)
        )
        return (
            unit is not None and self.put("@mem.ker", addr=region) and self.put("ld.ker", addr=unit)
        )

    def load_bias(self):
        region = self.region()
        unit = self.unit(region, geometry.bias_span(self.machine.ofm[2], self.types.bias_bytes))
        return (
            unit is not None
            and self.put("@mem.bias", addr=region)
            and self.put("ld.bias", addr=unit)
        )

    def convolve(self, kh, kw):
        """The taps of a kernel, in any order; now and then not all, some twice, or another start in
        between."""
        rng = self.rng
        taps = [(h, w, h * kw + w) for h in range(kh) for w in range(kw)]
        if rng.random() < 0.3:
            rng.shuffle(taps)
        if rng.random() < 0.3:
            taps = taps[: rng.randrange(1, len(taps) + 1)]
        if rng.random() < 0.1:
            taps.append(rng.choice(taps))
        first = self.some(("conv.bias", 5), ("conv", 3), ("conv.acc", 1))
        for number, (h, w, n) in enumerate(taps):
            mnemonic = (
                first if number == 0 else self.some(("conv.acc", 18), ("conv", 2), ("conv.bias", 3))
            )
            if (
                not self.put(mnemonic, h=h, w=w, n=n)
                and number == 0
                and not self.put("conv", h=h, w=w, n=n)
            ):
                return False
            if rng.random() < 0.05:
                f, b = self.shifts()
                self.put("@shift", f=f, b=b)
            if rng.random() < 0.03:
                self.load_bias()
        return True

    def post(self):
        """``@post`` and ``@pool``, then whatever makes a residual fit."""
        rng, m = self.rng, self.machine
        form = rng.choice(sorted(POST_FORMS))
        self.put("@post", post=form)
        oh, ow, k = m.ofm
        if rng.random() < 0.6:
            # A pool of 15 x 15 in nearly every tile large enough for one.
            high = self.some((1, 2), (2, 3), (min(3, oh), 2), (oh, 1), (min(15, oh), 1))
            wide = self.some((1, 2), (2, 3), (min(3, ow), 2), (ow, 1), (min(15, ow), 1))
            down, right = (
                self.some((1, 3), (2, 3), (3, 1), (rng.randrange(1, 8), 1)) for _ in range(2)
            )
            if rng.random() < 0.3:
                down, right = min(high, 7), min(wide, 7)
            self.put(
                "@pool", h=max(1, min(high, oh, 15)), w=max(1, min(wide, ow, 15)), i=down, j=right
            )
        if self.machine.pool[0] > oh or self.machine.pool[1] > ow:
            self.put("@pool", h=1, w=1, i=1, j=1)
        if form >> 4 and rng.random() < 0.7:
            # Residual: the ifm that was convolved fits, or another one is loaded for it.
            if self.machine.pool[0] > oh or self.machine.pool[1] > ow:
                return
            rows, columns = self.machine.result_shape() if form >> 2 & 3 == 2 else (oh, ow)
            ih, iw, c = m.ifm
            if rows > ih or columns > iw or k > c or not m.valid & IFM or rng.random() < 0.3:
                fit = (rows + rng.randrange(2), columns + rng.randrange(2), max(16, k))
                if self.put("@shape.ifm", h=fit[0], w=fit[1], c=fit[2]):
                    self.load_ifm()

    def store(self):
        """A store, in the end one without residual; the map's border before or after it."""
        rng, region = self.rng, self.region()
        before = rng.random() < 0.15
        for _ in range(3):
            m = self.machine
            if (m.pool[0] > m.ofm[0] or m.pool[1] > m.ofm[1]) and not self.put(
                "@pool", h=1, w=1, i=1, j=1
            ):
                return False
            rows, columns = self.machine.result_shape()
            border = rng.choice((0, 0, 1, 1, 2, 3))
            mem_h = rows + 2 * border
            mem_w = max(
                1, columns + 2 * border + self.some((0, 6), (1, 1), (-rng.randrange(columns), 1))
            )
            if rng.random() < 0.1:
                mem_h = rng.randrange(1, 9)
            size = self.types.ifm_bytes
            inner = border * mem_w + border
            span = max(
                geometry.pad_span(mem_h, mem_w, border, size),
                inner * 64 * size + geometry.store_span(rows, columns, m.ofm[2], mem_w, size),
            )
            unit = self.unit(region, span)
            if unit is not None and self.put("@mem.ofm", addr=region, h=mem_h, w=mem_w):
                width = self.some((border, 6), (0, 1), (rng.randrange(16), 1))
                if before:
                    self.put("pad", addr=unit, p=width)
                if self.put("store", addr=unit + inner * size):
                    if not before and (border or rng.random() < 0.2):
                        self.put("pad", addr=unit, p=width)
                    self.stored = [*self.stored[-5:], (region, unit), (region, unit + inner * size)]
                    return True
            region = self.used[0]
            self.put("@post", post=0)
        return False

    def tile(self):
        """A whole tile, after the manner of real programs."""
        rng, p = self.rng, self.params
        for _ in range(20):
            kh, kw = self.some(
                ((1, 1), 4),
                ((3, 3), 4),
                ((2, 2), 2),
                ((1, 3), 1),
                ((6, 6), 1),
                ((6, 1), 1),
                ((rng.randrange(1, 7), rng.randrange(1, 7)), 2),
            )
            c = self.some((16, 5), (32, 3), (64, 2))
            k = rng.choice((2, 4, 8, 16, 32, 64))
            sh, sw = (self.some((1, 6), (2, 3), (rng.randrange(1, 8), 1)) for _ in range(2))
            oh, ow = (
                self.some(
                    (1, 1),
                    (rng.randrange(1, 5), 4),
                    (rng.randrange(1, 9), 3),
                    (rng.randrange(8, 22), 1),
                )
                for _ in range(2)
            )
            ih, iw = (
                (oh - 1) * sh + kh + rng.choice((0, 0, 0, 1, 2)),
                (ow - 1) * sw + kw + rng.choice((0, 0, 0, 1, 2)),
            )
            steps = oh * ow * (c // p["pi"]) * -(-k // p["po"])
            traffic = ih * iw * c + kh * kw * k * c
            if (
                ih < 128
                and iw < 128
                and ih * iw <= 2048
                and geometry.kernel_legal(kh * kw, k, c)
                and geometry.ifm_lines((ih, iw, c)) <= p["ifm_lines"]
                and geometry.ofm_lines((oh, ow, k), p["po"]) <= p["ofm_lines"]
                and geometry.ker_rows(kh * kw, k, c, p["pi"], p["po"]) <= p["ker_rows"]
                and (steps * kh * kw + traffic) * 1.5 < self.left
            ):
                break
        else:
            return False
        taps = kh * kw
        spare = rng.choice((0, 0, 0, 1, 2))  # kernels that no conv asks for
        if taps + spare <= 36 and geometry.kernel_legal(taps + spare, k, c):
            taps += spare
        if not self.shape(ih, iw, c, oh, ow, k, taps):
            return False
        self.put("@stride", h=sh, w=sw)
        f, b = self.shifts()
        self.put("@shift", f=f, b=b)
        loads = [self.load_ifm, self.load_ker] + ([self.load_bias] if rng.random() < 0.8 else [])
        rng.shuffle(loads)
        for load in loads:
            load()
        if not self.convolve(kh, kw):
            return False
        for _ in range(self.some((1, 5), (2, 2), (3, 1))):
            # Between convolutions and store: the next tile's loads, if they do not disturb this
            # one.
            if rng.random() < 0.3:
                self.load_ker()
            self.post()
            if rng.random() < 0.2 and not self.machine.res:
                self.load_ifm()
            self.store()
            if self.machine.valid & 3 == 3:
                self.convolve(kh, kw)
        return self.store()

    def free(self, count):
        """Instructions of any kind, whatever is legal."""
        rng = self.rng
        loaders = (self.load_ifm, self.load_ker, self.load_bias)
        for _ in range(count):
            if rng.random() < 0.3 and None not in (
                self.machine.ifm,
                self.machine.ofm,
                self.machine.ker_n,
            ):
                rng.choice(loaders)()
            elif rng.random() < 0.3 and self.machine.valid & 8:
                self.post()
                self.store()
            else:
                word = random_word(ISA, rng, limits={"p": range(0, 4), "n": range(1, 5)})
                if ISA.match(word).mnemonic not in ("ld.ifm", "ld.ker", "ld.bias", "store", "pad"):
                    self.take(word)

    # Faults

    def fail(self, fault):
        """Appends an instruction that raises ``fault``, with what it needs before it; whether it
        could."""
        return any(getattr(self, "_fail_" + fault)() for _ in range(400))

    def _fail_illegal_op(self):
        op = self.rng.choice((*range(9, 16), *range(27, 64)))
        return self.force(self.rng.getrandbits(26) << 6 | op, "illegal_op")

    def _fail_bad_field(self):
        return self.force(self.rng.getrandbits(26) << 6 | self.rng.randrange(16, 27), "bad_field")

    def _fail_undef_reg(self):
        return self.force(
            random_word(ISA, self.rng, mnemonics=("ld.ifm", "ld.ker", "ld.bias", "store", "pad")),
            "undef_reg",
        )

    def _fail_undef_buf(self):
        kill = self.rng.choice(("@shape.ifm", "@shape.ofm", "@shape.ker", None))
        if kill:
            self.take(random_word(ISA, self.rng, mnemonics=(kill,), params=self.params))
        if self.machine.ofm_mem is None:
            self.put("@mem.ofm", addr=self.region(), h=3, w=3)
        self.put("@post", post=self.rng.choice(sorted(POST_FORMS)))
        return self.force(
            random_word(ISA, self.rng, mnemonics=(self.rng.choice(_CONV), "store")), "undef_buf"
        )

    def _fail_range(self):
        rng, m = self.rng, self.machine
        kind = rng.randrange(4)
        if kind == 0:
            return self.force(random_word(ISA, rng, mnemonics=_CONV), "range")
        if kind == 1 and m.ofm is not None:
            self.put("@pool", h=rng.randrange(1, 16), w=rng.randrange(1, 16), i=1, j=1)
        if kind == 2 and m.valid & 8:
            # A residual too small in one way or more.
            self.left += 2000
            h, w, c = m.ofm
            axis = rng.randrange(3)
            rows, columns = (
                rng.randrange(1, max(size, 2)) if axis == number else min(size, 127)
                for number, size in enumerate((h, w))
            )
            channels = max(16, c // 2 if axis == 2 else c)
            self.put("@shape.ifm", h=rows, w=columns, c=channels)
            self.load_ifm()
            self.put("@pool", h=1, w=1, i=1, j=1)
            self.put("@post", post=rng.choice([v for v in POST_FORMS if v >> 4]))
            if m.ofm_mem is None:
                self.put("@mem.ofm", addr=self.region(), h=3, w=3)
        if kind == 3:
            self.put("@shape.ifm", h=1, w=1, c=rng.choice((16, 32, 64)))
            self.put("@shape.ofm", h=1, w=1, c=rng.choice((32, 64)))
            self.put("@shape.ker", n=rng.randrange(10, 37))
            return self.force(ISA.encode("ld.ker", addr=0), "range")
        return self.force(ISA.encode("store", addr=0), "range")

    def _fail_capacity(self):
        rng = self.rng
        if rng.random() < 0.5 or self.machine.ker_n is None:
            h = rng.randrange(1, 128)
            w = rng.randrange(1, min(127, 2048 // h) + 1)
            name = rng.choice(("@shape.ifm", "@shape.ofm"))
            c = rng.choice((16, 32, 64) if name == "@shape.ifm" else (2, 4, 8, 16, 32, 64))
            return self.force(ISA.encode(name, h=h, w=w, c=c), "capacity")
        self.put("@shape.ifm", h=1, w=1, c=rng.choice((16, 32, 64)))
        self.put("@shape.ofm", h=1, w=1, c=rng.choice((16, 32, 64)))
        self.put("@shape.ker", n=rng.randrange(1, 37))
        return self.force(ISA.encode("ld.ker", addr=0), "capacity")

    def _aim(self, region):
        """Points one of the loads, store or pad at ``region``: its mnemonic, or ``None``."""
        rng, m = self.rng, self.machine
        name = rng.choice(("ld.ifm", "ld.ker", "ld.bias", "store", "pad"))
        if m.ifm is None:
            self.put("@shape.ifm", h=2, w=2, c=16)
        if m.ofm is None:
            self.put("@shape.ofm", h=2, w=2, c=16)
        if m.ker_n is None:
            self.put("@shape.ker", n=2)
        setting = {
            "ld.ifm": lambda: self.put("@mem.ifm", addr=region, w=rng.randrange(1, 20)),
            "ld.ker": lambda: self.put("@mem.ker", addr=region),
            "ld.bias": lambda: self.put("@mem.bias", addr=region),
        }
        ok = setting.get(
            name,
            lambda: self.put("@mem.ofm", addr=region, h=rng.randrange(1, 9), w=rng.randrange(1, 9)),
        )()
        return name if ok else None

    def _fail_region(self):
        rng, region = self.rng, self.rng.randrange(REGIONS)
        name = self._aim(region)
        if name is None:
            return False
        limit = self.table.limit[region] // 64
        unit = rng.choice(
            (
                limit,
                max(limit - 1, 0),
                max(limit - rng.randrange(1, 40), 0),
                rng.randrange(1 << 22),
                0x3FFFFF,
            )
        )
        return self.force(self._at(name, unit), "region")

    def _fail_window(self):
        name = self._aim(self.trap)
        return name is not None and self.force(
            self._at(name, self.rng.choice((0, 0, 0, 1, self.rng.randrange(256)))), "window"
        )

    def _at(self, name, unit):
        return ISA.encode(
            name, addr=unit, **({"p": self.rng.randrange(1, 16)} if name == "pad" else {})
        )


def _memory(rng, size):
    """Random bytes with patches of extremes, of small values and of constants."""
    data = np.frombuffer(rng.randbytes(size), np.uint8).copy()
    for _ in range(rng.randrange(6)):
        at = rng.randrange(size)
        part = data[at : at + rng.randrange(64, 8192)]
        kind = rng.randrange(3)
        if kind == 0:
            part[:] = rng.choice((0x80, 0x7F, 0, 0xFF, 1))
        elif kind == 1:
            part[:] = (part.view(np.int8) >> rng.randrange(1, 7)).view(np.uint8)
        else:
            part[::2], part[1::2] = 0x80, 0x7F
    return data


def random_case(seed, params, *, legal=True, fault=None, budget=20_000, memory_size=1 << 16):
    """A random program and its surroundings.

    Parameters
    ----------
    seed : int
        The same seed and parameters give the same case.
    params : dict
        Build parameters, as ``SPACE.resolve`` gives them: shapes fit their capacities.
    legal : bool
        False: the program raises a fault, ``fault`` (one of :data:`FAULTS`) or any.
    budget : int
        Cycles that a legal program may take, roughly.
    memory_size : int
        Bytes of main memory, a multiple of 64, at least 16384; the image fills it.

    Returns
    -------
    Case
        ``fault`` names what it raises. A build too large for any capacity fault gives another
        illegal program instead.
    """
    rng = random.Random(f"{seed} {params['types']} {legal} {fault}")
    if not legal and fault is None:
        fault = rng.choice(FAULTS)
    if fault is not None:
        legal = False
    writer = _Writer(
        rng,
        params,
        memory_size,
        budget if legal else budget // 2,
        trap=fault == "window",
        program_last=True if fault == "window_fetch" else None,
    )
    if fault == "undef_reg":
        for name, values in rng.sample(
            [
                ("@shape.ifm", {"h": 2, "w": 2, "c": 16}),
                ("@shape.ofm", {"h": 2, "w": 2, "c": 4}),
                ("@shape.ker", {"n": 3}),
                ("@mem.ifm", {"addr": writer.region(), "w": 2}),
                ("@mem.ofm", {"addr": writer.region(), "h": 2, "w": 2}),
            ],
            rng.randrange(5),
        ):
            writer.put(name, **values)
    else:
        for _ in range(rng.randrange(1, 5)):
            if rng.random() < 0.75 or not writer.machine.valid & 8:
                writer.tile() or writer.tile()
            else:
                writer.free(rng.randrange(1, 20))
    name, raised = "legal", None
    if not legal and fault not in ("fetch", "window_fetch"):
        if rng.random() < 0.5:
            # Right behind something slow.
            rng.choice(
                (
                    lambda: writer.load_ifm() if writer.machine.ifm else None,
                    lambda: writer.store() if writer.machine.valid & 8 else None,
                )
            )()
        if not writer.fail(fault):
            fault = "illegal_op"
            writer.fail(fault)
        name, raised = fault, fault
    elif writer.machine.valid & 8:
        writer.left += budget
        writer.put("@post", post=0)
        writer.store()
    words = writer.words
    if raised:
        # What comes after it would be seen.
        words += [
            ISA.encode("@mem.ofm", addr=writer.used[0], h=3, w=3),
            ISA.encode("pad", addr=0, p=1),
            ISA.encode("store", addr=rng.randrange(8)),
        ]
    words.append(ISA.encode("end") | (rng.getrandbits(26) << 6 if rng.random() < 0.1 else 0))
    length = 4 * len(words)
    words += [
        rng.choice(
            (ISA.encode("pad", addr=0, p=1), rng.getrandbits(32), ISA.encode("store", addr=0))
        )
        for _ in range(rng.randrange(4))
    ]
    if rng.random() < 0.5:
        length = 4 * len(words)
    if fault == "fetch":
        name = raised = "fetch"
        words = words[: words.index(next(w for w in words if w & 63 == 0))] or [
            ISA.encode("@stride", h=1, w=1)
        ]
        length = rng.choice(
            (4 * len(words), 4 * rng.randrange(len(words)), 4 * len(words) - rng.randrange(1, 4), 0)
        )
        words += [ISA.encode("pad", addr=0, p=1)] * 4
    if fault == "window_fetch":
        name = raised = "window"
        words = words[: words.index(next(w for w in words if w & 63 == 0))]
        words += [ISA.encode("@stride", h=1, w=1)] * (-len(words) % 16 or 16)
        writer.registers["window_limit"] = writer.program_at + 64 * rng.randrange(
            len(words) // 16 + 1
        )
        words += [
            ISA.encode("@mem.ofm", addr=writer.used[0], h=3, w=3),
            ISA.encode("pad", addr=0, p=1),
            0,
        ]
        length = 4 * len(words)
    memory = _memory(rng, memory_size)
    program = np.frombuffer(ISA.store(words), np.uint8)
    memory[writer.program_at : writer.program_at + program.size] = program
    writer.registers["program_length"] = length
    return Case(
        f"{name} {seed}",
        dict(params),
        words,
        writer.registers,
        memory,
        raised,
        writer.spent + 4 * len(words) + 200,
    )
