# SPDX-License-Identifier: BSD-2-Clause
"""OPU once more, element by element and in exact fractions, straight from sections 3 to 6 of
docs/isa/opu.md.

Shares nothing with the model: no table, no types module. For small programs only.
"""

from fractions import Fraction
from math import floor

WIDTHS = {"8-8-16-16": (8, 8, 16, 16), "8-8-32-32": (8, 8, 32, 32), "16-16-32-32": (16, 16, 32, 32)}
POSTS = {
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
}  # order, act, res


class Stop(Exception):
    pass


HALF = Fraction(1, 2)


def kappa(x, bits):
    return max(-(1 << bits - 1), min((1 << bits - 1) - 1, floor(x + HALF)))


def power(e):
    return Fraction(2) ** e


class Slow:
    """``memory`` is a bytearray, changed in place; ``params`` as of the model, for capacities
    alone."""

    def __init__(self, types, memory, params=None):
        self.widths = WIDTHS[types]
        self.memory = memory
        self.params = params

    def run(self, registers):
        """``("done", None)`` or ``("fault", (name, pc, detail, word))``."""
        self.r = registers
        self.reg = {
            "stride": (1, 1),
            "ifm_a": 0,
            "ker_a": 0,
            "bias_a": 0,
            "ofm_a": 0,
            "shift": (0, 0),
            "post": (0, 0, 0),
            "pool": (1, 1, 1, 1),
        }
        self.buf = {}
        begin = registers["program_address"]
        end = begin + registers["program_length"]
        program, pc, self.retired = bytes(self.memory[begin:end]), begin, 0
        self.macs = 0
        while True:
            word = 0
            try:
                if not (self.low() <= pc and pc + 4 <= self.high()):
                    raise Stop("window", pc)
                if pc + 4 > end:
                    raise Stop("fetch", pc)
                word = int.from_bytes(program[pc - begin : pc - begin + 4], "little")
                if self.execute(word):
                    self.retired += 1
                    return "done", None
                self.retired += 1
            except Stop as stop:
                return "fault", (stop.args[0], pc, stop.args[1], word)
            pc += 4

    def low(self):
        return self.r.get("window_base", 0)

    def high(self):
        return self.r.get("window_limit", len(self.memory))

    # Helpers

    def field(self, word, hi, lo):
        return word >> lo & (1 << hi - lo + 1) - 1

    def legal(self, word, op):
        """Lowest bit of the lowest bad field, or None."""
        bad, f = [], lambda hi, lo: self.field(word, hi, lo)
        if op in (16, 17):
            if not 1 <= f(12, 6) * f(19, 13) <= 2048:
                bad.append(6)
            if not (4 if op == 16 else 1) <= f(26, 20) <= 6:
                bad.append(20)
        elif op == 18:
            bad += [6] if not 1 <= f(11, 6) <= 36 else []
        elif op == 19:
            bad += [10] if f(19, 10) == 0 else []
        elif op == 22:
            bad += ([10] if f(19, 10) == 0 else []) + ([20] if f(29, 20) == 0 else [])
        elif op == 23:
            bad += ([6] if f(8, 6) == 0 else []) + ([9] if f(11, 9) == 0 else [])
        elif op == 25:
            bad += [6] if (f(9, 8), f(7, 6), f(10, 10)) not in POSTS else []
        elif op == 26:
            bad += [lo for hi, lo in ((9, 6), (13, 10), (16, 14), (19, 17)) if f(hi, lo) == 0]
        return min(bad) if bad else None

    def signed(self, value, bits):
        return value - (1 << bits) if value >> bits - 1 else value

    def need(self, *names):
        masks = {"ifm": 1, "ofm": 2, "ker": 4, "ifm_mem": 8, "ofm_mem": 16}
        missing = sum(masks[n] for n in names if n not in self.reg)
        if missing:
            raise Stop("undef_reg", missing)

    def valid(self, *names):
        masks = {"ifm": 1, "ker": 2, "bias": 4, "ofm": 8}
        missing = sum(masks[n] for n in names if n not in self.buf)
        if missing:
            raise Stop("undef_buf", missing)

    def place(self, region, addr, size):
        if addr * 64 + size > min(self.r.get(f"region_limit[{region}]", 1 << 28), 1 << 28):
            raise Stop("region", (region << 28) + addr * 64)
        at = self.r.get(f"region_base[{region}]", region << 28) + addr * 64
        if at < self.low() or at + size > self.high() or at + size > 1 << 32:
            raise Stop("window", at % (1 << 32))
        return at

    def read(self, at, bits):
        return int.from_bytes(self.memory[at : at + bits // 8], "little", signed=True)

    def write(self, at, bits, value):
        self.memory[at : at + bits // 8] = value.to_bytes(bits // 8, "little", signed=True)

    # Instructions

    def execute(self, word):
        op = word & 63
        wi, wk, wb, wo = self.widths
        s = wi // 8
        reg, buf = self.reg, self.buf
        if 9 <= op <= 15 or op >= 27:
            raise Stop("illegal_op", op)
        bad = self.legal(word, op)
        if bad is not None:
            raise Stop("bad_field", bad)

        def f(hi, lo):
            return self.field(word, hi, lo)

        addr = f(27, 6)
        if op == 0:
            return True
        if op == 1:
            self.need("ifm", "ifm_mem")
            h, w, c = reg["ifm"]
            m = reg["ifm_mem"]
            at = self.place(reg["ifm_a"], addr, ((h - 1) * m + w - 1) * 64 * s + c * s)
            buf["ifm"] = {
                (i, j, l): self.read(at + ((i * m + j) * 64 + l) * s, wi)
                for i in range(h)
                for j in range(w)
                for l in range(c)
            }
        elif op == 2:
            self.need("ifm", "ofm", "ker")
            n, k, l = reg["ker"], reg["ofm"][2], reg["ifm"][2]
            if n * max(Fraction(l * k, 1024), 1) > 36:
                raise Stop("range", 4)
            if (
                self.params
                and n * (l // self.params["pi"]) * -(-k // self.params["po"])
                > self.params["ker_rows"]
            ):
                raise Stop("capacity", 2)
            at = self.place(reg["ker_a"], addr, n * k * l * wk // 8)
            buf["ker"] = {
                (a, b, c): self.read(at + ((a * k + b) * l + c) * wk // 8, wk)
                for a in range(n)
                for b in range(k)
                for c in range(l)
            }
        elif op == 3:
            self.need("ofm")
            at = self.place(reg["bias_a"], addr, reg["ofm"][2] * wb // 8)
            buf["bias"] = [self.read(at + k * wb // 8, wb) for k in range(reg["ofm"][2])]
        elif op in (4, 5, 6):
            self.convolve(op, f(9, 6), f(13, 10), f(19, 14))
        elif op == 7:
            self.store(addr)
        elif op == 8:
            self.pad(addr, f(31, 28))
        elif op in (16, 17):
            name = "ifm" if op == 16 else "ofm"
            shape = f(12, 6), f(19, 13), 1 << f(26, 20)
            if self.params:
                lines, most = (
                    (shape[0] * shape[1] * (shape[2] // 16), self.params["ifm_lines"])
                    if op == 16
                    else (
                        shape[0] * shape[1] * -(-shape[2] // self.params["po"]),
                        self.params["ofm_lines"],
                    )
                )
                if lines > most:
                    raise Stop("capacity", 1 if op == 16 else 8)
            if op == 17 and reg.get("ofm", (0, 0, 0))[2] != shape[2]:
                buf.pop("bias", None)
            reg[name] = shape
            buf.pop(name, None)
            buf.pop("ker", None)
        elif op == 18:
            reg["ker"] = f(11, 6)
            buf.pop("ker", None)
        elif op == 19:
            reg["ifm_a"], reg["ifm_mem"] = f(9, 6), f(19, 10)
        elif op == 20:
            reg["ker_a"] = f(9, 6)
        elif op == 21:
            reg["bias_a"] = f(9, 6)
        elif op == 22:
            reg["ofm_a"], reg["ofm_mem"] = f(9, 6), (f(19, 10), f(29, 20))
        elif op == 23:
            reg["stride"] = f(8, 6), f(11, 9)
        elif op == 24:
            reg["shift"] = self.signed(f(13, 6), 8), self.signed(f(21, 14), 8)
        elif op == 25:
            reg["post"] = f(9, 8), f(7, 6), f(10, 10)
        elif op == 26:
            reg["pool"] = f(9, 6), f(13, 10), f(16, 14), f(19, 17)
        return False

    def convolve(self, op, h, w, n):
        reg, buf = self.reg, self.buf
        self.valid("ifm", "ker", *({5: ("bias",), 6: ("ofm",)}.get(op, ())))
        oh, ow, oc = reg["ofm"]
        ih, iw, ic = reg["ifm"]
        sh, sw = reg["stride"]
        for number, bad in (
            (1, h + (oh - 1) * sh >= ih),
            (2, w + (ow - 1) * sw >= iw),
            (3, n >= reg["ker"]),
        ):
            if bad:
                raise Stop("range", number)
        # As fractions once: 2^f of the sums and 2^b of the biases.
        sums, biases = map(power, reg["shift"])
        kernel, ifm = buf["ker"], buf["ifm"]
        new = {}
        for i in range(oh):
            for j in range(ow):
                for k in range(oc):
                    at = h + sh * i, w + sw * j
                    total = sums * sum([kernel[n, k, l] * ifm[(*at, l)] for l in range(ic)])
                    if op == 5:
                        total += buf["bias"][k] * biases
                    if op == 6:
                        total += buf["ofm"][i, j, k]
                    new[i, j, k] = kappa(total, self.widths[3])
        buf["ofm"] = new
        self.macs += oh * ow * oc * ic

    def store(self, addr):
        reg, buf = self.reg, self.buf
        wi, _, _, wo = self.widths
        s = wi // 8
        order, act, res = reg["post"]
        self.need("ofm_mem")
        self.valid("ofm", *(("ifm",) if res else ()))
        oh, ow, oc = reg["ofm"]
        ph, pw, di, dj = reg["pool"]
        for number, bad in ((5, ph > oh), (6, pw > ow)):
            if bad:
                raise Stop("range", number)
        bh, bw = floor(Fraction(oh - ph, di)) + 1, floor(Fraction(ow - pw, dj)) + 1
        if res:
            given = ((bh, bw) if order == 2 else (oh, ow)) + (oc,)
            for axis in range(3):
                if given[axis] > reg["ifm"][axis]:
                    raise Stop("range", 7 + axis)
        m = reg["ofm_mem"][1]
        at = self.place(reg["ofm_a"], addr, ((bh - 1) * m + bw - 1) * 64 * s + oc * s)
        unit = power((wi - 1) - (wo - 1))
        x = {e: kappa(v * unit, wi) for e, v in buf["ofm"].items()}

        def do_act(x):
            if act == 0:
                return x
            return {
                e: v if v >= 0 else 0 if act == 1 else kappa(Fraction(v, 8), wi)
                for e, v in x.items()
            }

        def do_res(x):
            return {e: kappa(v + buf["ifm"][e], wi) for e, v in x.items()} if res else x

        def do_pool(x):
            return {
                (i, j, k): max(x[i * di + a, j * dj + c, k] for a in range(ph) for c in range(pw))
                for i in range(bh)
                for j in range(bw)
                for k in range(oc)
            }

        steps = {
            0: (do_act, do_res, do_pool),
            1: (do_res, do_act, do_pool),
            2: (do_act, do_pool, do_res),
        }[order]
        for step in steps:
            x = step(x)
        for i in range(bh):
            for j in range(bw):
                for k in range(oc):
                    self.write(at + ((i * m + j) * 64 + k) * s, wi, x[i, j, k])

    def pad(self, addr, p):
        self.need("ofm_mem")
        if p == 0:
            return
        s = self.widths[0] // 8
        h, w = self.reg["ofm_mem"]
        at = self.place(self.reg["ofm_a"], addr, h * w * 64 * s)
        for r in range(h):
            for c in range(w):
                if r < p or r >= h - p or c < p or c >= w - p:
                    begin = at + (r * w + c) * 64 * s
                    self.memory[begin : begin + 64 * s] = bytes(64 * s)
