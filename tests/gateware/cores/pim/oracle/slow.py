# SPDX-License-Identifier: BSD-2-Clause
"""PIM once more, written from the document alone: byte by byte, in Python's integers, one
instruction of a random core at a time. Slow; it checks the golden model. Nothing of the model is
imported."""

import math
import struct
from fractions import Fraction

__all__ = ["SlowFault", "SlowMachine"]

M32 = (1 << 32) - 1
T = [math.floor(Fraction(65536) * Fraction(math.tanh(i / 64)) + Fraction(1, 2)) for i in range(513)]


class SlowFault(Exception):
    def __init__(self, name, detail=0):
        super().__init__(name)
        self.name, self.detail = name, detail


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def sat(value, bits):
    top = (1 << bits - 1) - 1
    return top if value > top else -top - 1 if value < -top - 1 else value


def sh(value, n):
    return value << n if n >= 0 else value >> -n


def tab(u):
    if u >= 1 << 19:
        return 65536
    i, f = u >> 10, u & 1023
    return T[i] + (((T[i + 1] - T[i]) * f + 512) >> 10)


def vtanh(x, fi, fo, obiw):
    t = tab(sh(abs(x), 16 - fi))
    m = t << (fo - 16) if fo >= 16 else (t + (1 << (15 - fo))) >> (16 - fo)
    return sat(-m if x < 0 else m, obiw)


def vsigm(x, fi, fo, obiw):
    t = tab(sh(abs(x), 15 - fi))
    p = 65536 + (-t if x < 0 else t)
    return sat((p * (1 << fo) + 65536) >> 17, obiw)


class SlowCore:
    def __init__(self, number, machine, entry_at):
        m, self.number, self.m = machine, number, machine
        self.code, self.count, size = m.u32(entry_at), m.u32(entry_at + 4), m.u32(entry_at + 8)
        self.mode, self.count_mode, self.ibiw, self.obiw = m.image(entry_at + 12, 4)
        table, number_of_groups = m.u32(entry_at + 16), m.u16(entry_at + 20)
        self.fi, self.fo = m.image(entry_at + 22, 2)
        self.end = self.code + size
        self.R, self.E, self.pc, self.at = [0] * 32, [0] * 32, 0, self.code
        self.L = [0] * m.params["lmem_bytes"]
        self.arrays, self.biases, self.groups, self.waiting = {}, [], [], None
        for n in range(number_of_groups):
            self.group(table + 64 * n)
        self.retired = 0

    def group(self, at):
        m, rows_x, cols_x = self.m, self.m.params["xb_rows"], self.m.params["xb_cols"]
        g = {
            "rows": m.u16(at),
            "cols": m.u16(at + 2),
            "mbiw": m.image(at + 4, 1)[0],
            "shift": m.image(at + 5, 1)[0],
        }
        g["round"], g["has"] = m.image(at + 6, 1)[0] & 1, m.image(at + 6, 1)[0] >> 1
        tiles = math.ceil(g["cols"] / cols_x)
        g["ids"] = [m.u16(at + 16 + 2 * k) for k in range(m.image(at + 7, 1)[0])]
        place = m.u32(at + 8)
        if place:
            for k, array in enumerate(g["ids"]):
                for r in range(min(rows_x, g["rows"] - k // tiles * rows_x)):
                    for c in range(cols_x):
                        self.arrays[array, r, c] = signed(m.image(place, 1)[0], 8)
                        place += 1
        g["tiles"] = tiles
        g["bias"] = (
            [signed(m.u32(m.u32(at + 12) + 4 * c), 32) for c in range(g["cols"])]
            if g["has"]
            else [0] * g["cols"]
        )
        self.groups.append(g)

    # Elements and addresses

    def get(self, address, bits):
        return signed(sum(self.L[address + k] << 8 * k for k in range(-(-bits // 8))), bits)

    def put(self, address, value, bits):
        for k in range(-(-bits // 8)):
            self.L[address + k] = value >> 8 * k & 255

    def local(self, *ranges):
        for address, size in ranges:
            if address + size > len(self.L):
                raise SlowFault("lmem_range", address)

    def distant(self, address, size):
        address %= 1 << 64
        m, place = self.m, self.m.base + address
        if (
            address > M32
            or m.size
            and address + size > m.size
            or place + size > 1 << 32
            or place < m.window[0]
            or place + size > m.window[1]
        ):
            raise SlowFault("gmem_range", address & M32)
        return place

    def pair(self, register):
        if register % 2:
            raise SlowFault("odd_pair", register)
        return self.R[register] * (1 << 32) + self.R[register + 1]

    def step(self):
        """One instruction. ``False``: it waits."""
        if self.pc == self.count:
            if self.at < self.end and self.mode == 2:
                raise SlowFault("code_end", (self.at - self.code) // 4)
            return False
        if self.waiting is None:
            word, size = self.fetch()
            self.execute(word, size)
        if self.waiting is not None and self.waiting[0] == "wait":
            _, event, value = self.waiting
            held = self.E[event]
            if (held >= value) if self.count_mode else (held == value):
                self.E[event] = held - value if self.count_mode else 0
                self.go_on()
                return True
        return self.waiting is None

    def fetch(self):
        m, at = self.m, self.at
        if self.mode == 0:
            return m.u32(at) + (m.u32(at + 4) << 32), 8
        if self.mode == 2 and at + 4 > self.end:
            raise SlowFault("code_end", (at - self.code) // 4)
        low = m.u32(at)
        if self.mode == 2 and low % 64 > 32:
            if at + 8 > self.end:
                raise SlowFault("code_end", (at - self.code) // 4)
            return (low - 32) + (m.u32(at + 4) << 32), 8
        if low % 64 == 1:
            return (low & 0x7FF) + ((signed(low >> 11, 21) & M32) << 32), 4
        if low % 64 in (6, 7):
            return (low & 0xFFFF) + ((signed(low >> 16, 16) & M32) << 32), 4
        return low, 4

    def go_on(self):
        self.pc, self.at, self.waiting, self.retired = (
            self.pc + 1,
            self.at + self.size,
            None,
            self.retired + 1,
        )

    def execute(self, w, size):
        self.size = size
        op, rd, rs1, rs2, length = w & 63, w >> 6 & 31, w >> 11 & 31, w >> 16 & 31, w >> 21 & 2047
        imm, o, sD, s1, s2 = w >> 32, signed(w >> 35, 29), w >> 32 & 1, w >> 33 & 1, w >> 34 & 1
        R, core, low = self.R, w >> 11 & 1023, w & M32
        if op == 21 or op > 32:
            raise SlowFault("illegal_opcode", low)
        high_zero = {0, 3, 4, 5, 8, 9, 22, 31, 32}
        plain = {2, 17, 27, 29, 30}
        two = {18, 19, 20, 25, 26, 28}
        zero = {
            0: 0xFFFFFFC0,
            1: 0xFFFFF800,
            2: 0xFFFF0000,
            3: 0xFFE00000,
            4: 0xFFE00000,
            5: 0xFFE00000,
            6: 0xFFFF0000,
            7: 0xFFFF0000,
            8: 0xFFFF0000,
            18: 0x1F0000,
            19: 0x1F0000,
            20: 0x1F0000,
            25: 0x1F0000,
            26: 0x1F0000,
            28: 0x1F0000,
            27: 0x180000,
            31: 0xFFE00000,
            32: 0xFFE00000,
        }.get(op, 0)
        if low & zero or op in high_zero and imm or op in plain and imm & 7 or op in two and s2:
            raise SlowFault("illegal_field", low)
        ib, ob, ibiw, obiw = -(-self.ibiw // 8), -(-self.obiw // 8), self.ibiw, self.obiw
        if op in (19, 20) and not self.m.params["act_unit"]:
            raise SlowFault("unsupported", op)
        if op == 1:
            R[rd] = imm
        elif op == 2:
            place = self.distant(self.pair(rs1) + o, 4)
            R[rd] = sum(self.m.memory[place + k] << 8 * k for k in range(4))
        elif op in (3, 4, 5):
            R[rd] = {3: R[rs1] + R[rs2], 4: R[rs1] - R[rs2], 5: R[rs1] * R[rs2]}[op] % (1 << 32)
        elif op in (6, 7):
            R[rd] = (R[rs1] + imm if op == 6 else R[rs1] * imm) % (1 << 32)
        elif op == 8:
            for width in (rd or 32, rs1 or 32):
                if width > self.m.params["max_biw"]:
                    raise SlowFault("width", width)
            self.ibiw, self.obiw = rd or 32, rs1 or 32
        elif op == 9:
            self.mvmul(R[rd], R[rs1], rs2 or 32, w >> 21 & 1023, w >> 31 & 1)
        elif op in (10, 11, 12, 14, 15, 16, 18, 19, 20, 23, 24) and length:
            wide = self.ibiw if op in (10, 11, 14, 18) else self.obiw
            wb = -(-wide // 8)
            D = (R[rd] + sD * o * wb) % (1 << 32)
            S = [(R[rs1] + s1 * o * ib) % (1 << 32)]
            if op in (10, 11, 12, 14, 15, 16):
                S.append((R[rs2] + s2 * o * ib) % (1 << 32))
            self.local((D, length * wb), *((s, length * ib) for s in S))
            for s in S:
                if s < D + length * wb and D < s + length * ib and not (D <= s and wb <= ib):
                    raise SlowFault("overlap", D)
            bound, out = signed(R[rs2], 32), []
            for k in range(length):
                a = self.get(S[0] + k * ib, ibiw)
                b = self.get(S[1] + k * ib, ibiw) if len(S) > 1 else 0
                out.append(self.element(op, a, b, bound))
            for k, value in enumerate(out):
                self.put(D + k * wb, sat(value, wide), wide)
        elif op == 13 and length:
            a, b = ((R[r] + s * o * ib) % (1 << 32) for r, s in ((rs1, s1), (rs2, s2)))
            self.local((R[rd], ob), (a, length * ib), (b, length * ib))
            total = sum(
                self.get(a + k * ib, ibiw) * self.get(b + k * ib, ibiw) for k in range(length)
            )
            self.put(R[rd], sat(signed(total, 64), obiw), obiw)
        elif op in (17, 22) and length:
            start = (R[rs1] + (o * ib if op == 17 else 0)) % (1 << 32)
            places = [start + k * signed(R[rs2], 32) * ib for k in range(length)]
            self.local((R[rd], ob if op == 17 else length * ib))
            if min(places) < 0 or max(places) + ib > len(self.L):
                raise SlowFault("lmem_range", start)
            values = [self.get(p, ibiw) for p in places]
            if op == 17:
                mean = Fraction(sum(values), length)
                self.put(
                    R[rd],
                    sat(int(math.copysign(math.floor(abs(mean) + Fraction(1, 2)), mean)), obiw),
                    obiw,
                )
            else:
                if R[rd] < max(places) + ib and min(places) < R[rd] + length * ib:
                    raise SlowFault("overlap", R[rd])
                for k, value in enumerate(values):
                    self.put(R[rd] + k * ib, value, ibiw)
        elif op in (25, 26):
            far = self.pair(rs1 if op == 25 else rd) + o * (s1 if op == 25 else sD)
            if length:
                near = (R[rd] + sD * o if op == 25 else R[rs1] + s1 * o) % (1 << 32)
                self.local((near, length))
                place = self.distant(far, length)
                for k in range(length):
                    if op == 25:
                        self.L[near + k] = int(self.m.memory[place + k])
                    else:
                        self.m.memory[place + k] = self.L[near + k]
        elif op == 27 and length:
            D = (R[rd] + o) % (1 << 32)
            self.local((D, length))
            self.L[D : D + length] = [w >> 11 & 255] * length
        elif op == 28 and length:
            D, S = (R[rd] + sD * o) % (1 << 32), (R[rs1] + s1 * o) % (1 << 32)
            self.local((D, length), (S, length))
            if D < S + length and S < D + length and D > S:
                raise SlowFault("overlap", D)
            self.L[D : D + length] = self.L[S : S + length]
        elif op in (29, 30):
            if core >= len(self.m.cores) or core == self.number:
                raise SlowFault("core_range", core)
            if length:
                D = (R[rd] + o) % (1 << 32)
                self.local((D, length))
                self.waiting = ("send" if op == 29 else "recv", core, length, D)
                return
        elif op == 31:
            self.waiting = ("wait", rd, core)
            return
        elif op == 32:
            if core >= len(self.m.cores):
                raise SlowFault("core_range", core)
            if self.m.cores[core].E[rd] == 1023:
                raise SlowFault("event_overflow", core * 256 + rd)
            self.m.cores[core].E[rd] += 1
        self.go_on()

    def element(self, op, a, b, bound):
        ibiw, obiw, n = self.ibiw, self.obiw, b % (1 << self.ibiw)
        fi = max(ibiw - 4, 0) if self.fi == 255 else self.fi
        fo = obiw - 1 if self.fo == 255 else self.fo
        return {
            10: lambda: a + b,
            11: lambda: a - b,
            12: lambda: a * b,
            14: lambda: max(a, b),
            15: lambda: signed(a << n, obiw) if n < 64 else 0,
            16: lambda: a >> n,
            18: lambda: max(a, 0),
            19: lambda: vtanh(a, fi, fo, obiw),
            20: lambda: vsigm(a, fi, fo, obiw),
            23: lambda: min(a, bound),
            24: lambda: max(a, bound),
        }[op]()

    def mvmul(self, D, S, mbiw, number, relu):
        if self.ibiw > self.m.params["x_bits"]:
            raise SlowFault("width", self.ibiw)
        g = self.groups[number] if number < len(self.groups) else None
        if g is not None and g["mbiw"] != mbiw:
            raise SlowFault("width", mbiw)
        if g is None:
            raise SlowFault("group", number)
        ib, ob, xr, xc = (
            -(-self.ibiw // 8),
            -(-self.obiw // 8),
            self.m.params["xb_rows"],
            self.m.params["xb_cols"],
        )
        self.local((D, g["cols"] * ob), (S, g["rows"] * ib))
        if D < S + g["rows"] * ib and S < D + g["cols"] * ob:
            raise SlowFault("overlap", D)
        x, out = [self.get(S + r * ib, self.ibiw) for r in range(g["rows"])], []
        for c in range(g["cols"]):
            total = g["bias"][c]
            for r, value in enumerate(x):
                total += (
                    value * self.arrays[g["ids"][r // xr * g["tiles"] + c // xc], r % xr, c % xc]
                )
            if g["shift"]:
                total = math.floor(
                    Fraction(total + g["round"] * (1 << (g["shift"] - 1)), 1 << g["shift"])
                )
            out.append(sat(max(total, 0) if relu else total, self.obiw))
        for c, value in enumerate(out):
            self.put(D + c * ob, value, self.obiw)


class SlowMachine:
    """``memory``: a list or array of bytes, changed in place; the image (a right one) lies at
    ``at``."""

    def __init__(self, params, memory, at, rng, window=None):
        self.params, self.memory, self.at, self.rng = params, memory, at, rng
        self.window = window or (0, len(memory))
        self.base, self.size = self.u32(0x18), self.u32(0x1C)
        self.cores = []
        for k in range(self.u16(0x0C)):
            self.cores.append(SlowCore(k, self, self.u32(0x10) + 32 * k))

    def image(self, offset, size):
        return bytes(int(b) for b in self.memory[self.at + offset : self.at + offset + size])

    def u16(self, offset):
        return struct.unpack("<H", self.image(offset, 2))[0]

    def u32(self, offset):
        return struct.unpack("<I", self.image(offset, 4))[0]

    def run(self):
        """``None``, or (name of the fault, core, its address in main memory, detail)."""
        current = 0
        try:
            while True:
                moving = [c for c in self.cores if self.ready(c)]
                if not moving:
                    break
                core = self.rng.choice(moving)
                current = core.number
                # Sometimes one goes on for a while, sometimes they take turns.
                for _ in range(self.rng.choice((1, 1, 3, 40))):
                    if not core.step():
                        break
                current = self.meet(core)
            blocked = [c.number for c in self.cores if c.waiting is not None]
            if blocked:
                current = blocked[0]
                raise SlowFault("deadlock", sum(1 << k for k in blocked))
        except SlowFault as fault:
            if fault.name == "size_mismatch":
                current = fault.core
            return fault.name, current, self.at + self.cores[current].at, fault.detail
        return None

    def ready(self, core):
        if core.waiting is None:
            return core.pc < core.count or core.mode == 2 and core.at < core.end
        if core.waiting[0] == "wait":
            held = core.E[core.waiting[1]]
            return held >= core.waiting[2] if core.count_mode else held == core.waiting[2]
        return False

    def meet(self, core):
        if core.waiting is None or core.waiting[0] == "wait":
            return core.number
        other = self.cores[core.waiting[1]]
        if (
            other.waiting is None
            or {core.waiting[0], other.waiting[0]} != {"send", "recv"}
            or other.waiting[1] != core.number
        ):
            return core.number
        a, b = (core, other) if core.waiting[0] == "send" else (other, core)
        if a.waiting[2] != b.waiting[2]:
            fault = SlowFault("size_mismatch", (a.waiting[2] << 16) + b.waiting[2])
            fault.core = a.number
            raise fault
        size, S, D = a.waiting[2], a.waiting[3], b.waiting[3]
        b.L[D : D + size] = a.L[S : S + size]
        a.go_on()
        b.go_on()
        return core.number
