# SPDX-License-Identifier: BSD-2-Clause
"""Writes random instructions of one core, each with the instructions that set its registers
(``bench/programs.py`` makes programs of them)."""

import numpy as np

from quintet.firmware.pim.measure.builds import MEMORY
from quintet.gateware.cores.pim.image.image import Group
from tests.gateware.cores.pim.bench.scratch import Rejected

__all__ = ["LOW32", "MEMORY", "REGION", "CoreWriter", "small"]

#: Bytes of a region of GMem, which one core has at a time.
REGION = 1024
LOW32 = 0xFFFF_FFFF


def small(rng, most):
    """1 to ``most``, small ones more often."""
    return rng.randint(1, min(most, rng.choice((2, 8, 20, 64, most))))


class CoreWriter:
    """Writes the instructions of one core."""

    def __init__(self, rng, scratch, number, regions):
        self.rng, self.scratch, self.number, self.regions = rng, scratch, number, regions
        self.core = scratch.model.cores[number]
        self.size = self.core.lmem.size
        self.touched = np.zeros(self.size, bool)
        self.hot = rng.randrange(0, self.size - 600)
        self.recent = []
        self.cycles = 0
        self.free_events = list(range(32))
        self.wild = False  # True: any operands; "overlap": only these

    # Operands

    def put(self, mnemonic, cost=3, **values):
        self.scratch.append(self.number, mnemonic, **values)
        self.cycles += cost

    def place(self, size):
        """A local address for ``size`` bytes, near others just used."""
        rng, kind = self.rng, self.rng.random()
        if self.wild is True and kind < 0.7:
            return rng.choice(
                (
                    self.size - size + 1,
                    self.size,
                    self.size - 1,
                    rng.getrandbits(32),
                    LOW32,
                    LOW32 - size,
                )
            )
        if kind < 0.65 and self.recent:
            start, length = rng.choice(self.recent[-6:])
            at = start + rng.choice((0, 0, 0, length, -size, length - 1, rng.randint(-16, 16)))
        elif kind < 0.93:
            at = self.hot + rng.randrange(512)
        else:
            at = rng.choice((0, self.size - size))
        return min(max(at, 0), max(self.size - size, 0))

    def wrote(self, address, size):
        self.touched[address : address + size] = True
        self.recent.append((address, size))

    def used(self, address, size):
        self.recent.append((address, size))

    def register(self, value, taken=()):
        """A register that holds ``value``, set if none does."""
        rng, value = self.rng, value & LOW32
        holding = [r for r in range(32) if self.core.regs[r] == value]
        if holding and rng.random() < 0.6:
            return rng.choice(holding)
        number = rng.choice([r for r in range(32) if r not in taken])
        kind = rng.random()
        source = rng.randrange(32)
        difference = value - self.core.regs[source] & LOW32
        try:
            if kind < 0.15:
                self.put("saddi", rd=number, rs1=source, imm=difference)
            else:
                self.put("sldi", rd=number, imm=value)
        except Rejected:  # mode 32: the immediate does not fit; build it of halves
            self.put("sldi", rd=number, imm=value >> 16 & 0xFFFF)
            for _ in range(2):
                self.put("smuli", rd=number, rs1=number, imm=256)
            low = value & 0xFFFF
            for part in (low >> 1, low - (low >> 1)):
                self.put("saddi", rd=number, rs1=number, imm=part)
        return number

    def pair(self, address, taken=()):
        """An even register of a pair that holds a global address."""
        address &= (1 << 64) - 1
        even = self.rng.choice(
            [r for r in range(0, 32, 2) if r not in taken and r + 1 not in taken]
        )
        for number, value in ((even, address >> 32), (even + 1, address & LOW32)):
            if self.core.regs[number] != value:
                self.fill(number, value)
        return even

    def fill(self, number, value):
        others = [r for r in range(32) if r != number]
        got = self.register(value, taken=others) if self.core.regs[number] != value else number
        if got != number:
            self.put("saddi", rd=number, rs1=got, imm=0)

    def offset(self):
        if self.rng.random() < 0.5 or self.scratch.image.cores[self.number].mode == 1:
            return 0
        return self.rng.choice(
            (1, -1, 8, -9, self.rng.randint(-40, 40), self.rng.choice((-1 << 28, (1 << 28) - 1)))
        )

    # Instructions

    def scalar(self):
        rng, regs = self.rng, {"rd": self.rng.randrange(32), "rs1": self.rng.randrange(32)}
        kind = rng.choice(("sldi", "sadd", "ssub", "smul", "saddi", "smuli", "nop", "setbw", "sld"))
        imm = rng.choice(
            (0, 1, -1, rng.randint(-100, 100), rng.getrandbits(32), rng.randint(-32768, 32767))
        )
        if kind == "nop":
            self.put("nop")
        elif kind == "sldi":
            self.put(kind, rd=regs["rd"], imm=imm)
        elif kind in ("saddi", "smuli"):
            self.put(kind, **regs, imm=imm)
        elif kind == "setbw":
            self.setbw()
        elif kind == "sld":
            self.sld()
        else:
            self.put(kind, **regs, rs2=rng.randrange(32), cost=8 if kind == "smul" else 3)

    def setbw(self):
        rng, most = self.rng, self.scratch.params["max_biw"]
        widths = [rng.choice((8, 16, most, rng.randint(1, most))) for _ in range(2)]
        self.put("setbw", ibiw=rng.choice((32, 17, 24)) if self.wild else widths[0], obiw=widths[1])

    def matrix(self):
        rng, groups = self.rng, self.scratch.image.cores[self.number].groups
        number = rng.randrange(len(groups)) if groups else 0
        if self.wild:
            number = rng.choice((number, len(groups), 1023))
        group = groups[number] if number < len(groups) else Group(4, 4)
        rows, cols = group.rows, group.cols
        if self.core.ibiw > self.scratch.params["x_bits"] and not self.wild:
            self.put(
                "setbw", ibiw=rng.randint(1, self.scratch.params["x_bits"]), obiw=self.core.obiw
            )
        size_in, size_out = rows * ((self.core.ibiw + 7) // 8), cols * ((self.core.obiw + 7) // 8)
        source, target = self.place(size_in), self.place(size_out)
        if source < target + size_out and target < source + size_in and not self.wild:
            target = (
                source + size_in
                if source + size_in + size_out <= self.size
                else max(source - size_out, 0)
            )
        rs1 = self.register(source)
        rd = self.register(target, (rs1,))
        mbiw = group.mbiw if not self.wild or rng.random() < 0.5 else group.mbiw % 32 + 1
        self.put(
            "mvmul",
            30 + rows * -(-cols // self.scratch.params["lanes"]),
            rd=rd,
            rs1=rs1,
            mbiw=mbiw,
            relu=rng.randint(0, 1),
            group=number,
        )
        self.used(source, size_in)
        self.wrote(target, size_out)

    def length(self, width):
        rng = self.rng
        if rng.random() < 0.03:
            return 0
        return min(small(rng, rng.choice((6, 24, 24, 80, 200))), self.size // width, 2047)

    def vector(self):
        rng, mnemonic = self.rng, self.rng.choice(_VECTOR)
        if mnemonic in ("vtanh", "vsigm") and not self.scratch.params["act_unit"] and not self.wild:
            mnemonic = "vrelu"
        inwards, outwards = (self.core.ibiw + 7) // 8, (self.core.obiw + 7) // 8
        if mnemonic in ("vvadd", "vvsub", "vvmax", "vrelu"):
            outwards = inwards
        length, offset = self.length(max(inwards, outwards)), self.offset()
        one = mnemonic == "vvdmul"
        size_out = outwards if one else length * outwards
        target = self.place(size_out)
        sources = [self.place(length * inwards) for _ in range(1 if mnemonic in _ONE else 2)]
        select = (rng.randrange(4) if mnemonic in _ONE3 else rng.randrange(8)) if offset else 0
        scales = (0 if one else outwards, inwards, 0 if mnemonic in ("vrsu", "vrsl") else inwards)
        values = [
            at - (offset * scale if select >> k & 1 else 0)
            for k, (at, scale) in enumerate(zip((target, *sources), scales, strict=False))
        ]
        operands, taken = {}, []
        for name, value in zip(("rs2", "rs1", "rd")[-len(values) :], reversed(values), strict=True):
            operands[name] = self.register(value, taken)
            taken.append(operands[name])
        if mnemonic in ("vrsu", "vrsl"):
            operands["rs2"] = self.bound(taken)
        self.put(
            mnemonic,
            20 + 3 * length,
            **operands,
            len=length,
            offset_value=offset,
            offset_select=select,
        )
        for at in sources:
            self.used(at, length * inwards)
        self.wrote(target, size_out)

    def bound(self, taken):
        rng = self.rng
        return self.register(
            rng.choice((0, -1, 100, -100, rng.getrandbits(32), rng.randint(-40000, 40000))), taken
        )

    def strided(self):
        rng, mnemonic = self.rng, self.rng.choice(("vavg", "vmv"))
        inwards, outwards = (self.core.ibiw + 7) // 8, (self.core.obiw + 7) // 8
        length, offset = self.length(max(inwards, outwards)), 0
        stride = rng.choice((0, 1, -1, 2, 3, -3, rng.randint(-20, 20), 1 << 30 if self.wild else 5))
        span = abs(stride) * inwards * max(length - 1, 0) + inwards
        if span > self.size and not self.wild:
            stride, span = 0, inwards
        low = self.place(span)
        source = low if stride >= 0 else low + span - inwards
        size_out = outwards if mnemonic == "vavg" else length * inwards
        target = self.place(size_out)
        if mnemonic == "vavg":
            offset = self.offset()
        elif low < target + size_out and target < low + span and not self.wild:
            target = low + span if low + span + size_out <= self.size else max(low - size_out, 0)
        rs2 = self.register(stride)
        rs1 = self.register(source - offset * inwards, (rs2,))
        rd = self.register(target, (rs1, rs2))
        extra = {"offset_value": offset} if mnemonic == "vavg" else {}
        self.put(mnemonic, 50 + 2 * length, rd=rd, rs1=rs1, rs2=rs2, len=length, **extra)
        self.used(low, span)
        self.wrote(target, size_out)

    def global_place(self, size, write):
        own = [
            r
            for r, (owner, _) in enumerate(self.regions)
            if owner == self.number or owner is None and not write
        ]
        if not own:
            raise Rejected("no region")
        size = min(size, REGION)
        at = self.rng.choice(own) * REGION + self.rng.randrange(REGION - size + 1)
        if self.wild and self.rng.random() < 0.7:
            at = self.rng.choice(
                (-1, -size, 1 << 32, LOW32, LOW32 - size + 2, MEMORY // 2, self.rng.getrandbits(64))
            )
        return at, size

    def sld(self):
        at, _ = self.global_place(4, False)
        offset = self.offset()
        rs1 = self.pair(at - offset)
        if self.wild and self.rng.random() < 0.2:
            rs1 |= 1
        self.put("sld", 40, rd=self.rng.randrange(32), rs1=rs1, offset_value=offset)

    def load_store(self):
        rng, mnemonic = self.rng, self.rng.choice(("ld", "ld", "st"))
        size = 0 if rng.random() < 0.03 else small(rng, rng.choice((8, 17, 64, 300)))
        at, size = self.global_place(size, mnemonic == "st")
        local, offset = self.place(size), self.offset()
        select = rng.randrange(4) if offset else 0
        far, near = (2, 1) if mnemonic == "ld" else (1, 2)
        pair = self.pair(at - (offset if select & far else 0))
        reg = self.register(local - (offset if select & near else 0), (pair, pair + 1))
        if self.wild and rng.random() < 0.2:
            pair |= 1
        rd, rs1 = (reg, pair) if mnemonic == "ld" else (pair, reg)
        self.put(
            mnemonic,
            40 + size,
            rd=rd,
            rs1=rs1,
            size=size,
            offset_value=offset,
            offset_select=select,
        )
        if mnemonic == "ld":
            self.wrote(local, size)
        else:
            self.used(local, size)

    def move(self):
        rng, mnemonic = self.rng, self.rng.choice(("lmv", "lmv", "lldi"))
        size, offset = self.length(1), self.offset()
        target = self.place(size)
        if mnemonic == "lldi":
            rd = self.register(target - offset)
            self.put(
                mnemonic,
                10 + size,
                rd=rd,
                imm=rng.randint(-128, 255),
                size=size,
                offset_value=offset,
            )
        else:
            source, select = self.place(size), rng.randrange(4) if offset else 0
            rs1 = self.register(source - (offset if select & 2 else 0))
            rd = self.register(target - (offset if select & 1 else 0), (rs1,))
            self.put(
                mnemonic,
                10 + size,
                rd=rd,
                rs1=rs1,
                size=size,
                offset_value=offset,
                offset_select=select,
            )
            self.used(source, size)
        self.wrote(target, size)

    def events(self):
        """A sync to itself and the wait for it."""
        if self.free_events:
            event = self.free_events.pop()
            for _ in range(count := self.rng.randint(0, 2)):
                self.put("sync", 30, event=event, core=self.number)
            self.put("wait", 10, event=event, value=count)

    def core_range(self):
        """Another core's number where there is none; only ``wild``."""
        entries = len(self.scratch.image.cores)
        mnemonic = self.rng.choice(("send", "recv", "sync"))
        other = self.rng.choice((entries, 1023, self.number if mnemonic != "sync" else entries))
        operand = {"send": {"rs1": 3}, "recv": {"rd": 3}, "sync": {"event": 3}}[mnemonic]
        self.put(
            mnemonic,
            core=other,
            **operand,
            **({} if mnemonic == "sync" else {"size": self.rng.choice((0, 5))}),
        )

    def step(self):
        """Appends one instruction and what sets its registers; nothing, if what was drawn is not
        legal."""
        kind = self.rng.choices(
            (
                self.scalar,
                self.matrix,
                self.vector,
                self.strided,
                self.load_store,
                self.move,
                self.events,
            ),
            (16, 10 if self.scratch.image.cores[self.number].groups else 0, 30, 10, 16, 14, 2),
        )[0]
        try:
            kind()
        except Rejected:
            pass

    def dump(self, base, limit):
        """Stores out what it changed, from ``base`` on, as far as there is space; returns where it
        ends."""
        places = np.flatnonzero(self.touched)
        cuts = np.flatnonzero(np.diff(places) > 64)
        begins, ends = (
            (places[[0, *(cuts + 1)]], places[[*cuts, -1]] + 1) if places.size else ((), ())
        )
        for first, last in zip(begins, ends, strict=True):
            for at in range(int(first), int(last), 2000):
                size = min(2000, int(last) - at)
                if base + size <= limit:
                    pair = self.pair(base)
                    self.put(
                        "st", 40 + size, rd=pair, rs1=self.register(at, (pair, pair + 1)), size=size
                    )
                    base += size
        return base


_VECTOR = (
    "vvadd",
    "vvsub",
    "vvmul",
    "vvdmul",
    "vvmax",
    "vvsll",
    "vvsra",
    "vrelu",
    "vtanh",
    "vsigm",
    "vrsu",
    "vrsl",
)
_ONE = ("vrelu", "vtanh", "vsigm", "vrsu", "vrsl")
_ONE3 = ("vrelu", "vtanh", "vsigm")
