# SPDX-License-Identifier: BSD-2-Clause
"""A second Cherry, slow and plain: one element after another in exact fractions, contexts as
separate machines.

It shares nothing with the golden model but the table's decoder; programs come as a list of words
with their records. No faults.
"""

from fractions import Fraction

from quintet.gateware.cores.cherry.isa import ISA

NAN, INF, ONE = 0x1FF00, 0x1FE00, 0x0FE00
INPUT, WEIGHTS, OUTPUT, ACC = range(4)


def parts(x, frac=9):
    return x >> frac + 8, x >> frac & 255, x & (1 << frac) - 1


def is_nan(x, frac=9):
    _, e, f = parts(x, frac)
    return e == 255 and f != 0


def is_inf(x, frac=9):
    _, e, f = parts(x, frac)
    return e == 255 and f == 0


def number(x, frac=9):
    s, e, f = parts(x, frac)
    return (
        Fraction(0)
        if e == 0
        else (-1) ** s * Fraction((1 << frac) + f) * Fraction(2) ** (e - 127 - frac)
    )


def nearest(value, frac=9):
    """A nonzero fraction to a pattern."""
    sign, value = int(value < 0), abs(value)
    e = 0
    while value >= Fraction(2) ** (e + 1):
        e += 1
    while value < Fraction(2) ** e:
        e -= 1
    kept = round(value / Fraction(2) ** (e - frac))
    if kept == 2 << frac:
        kept, e = kept >> 1, e + 1
    if e > 127:
        return sign << frac + 8 | 255 << frac
    if e < -126:
        return sign << frac + 8
    return sign << frac + 8 | e + 127 << frac | kept - (1 << frac)


def dot(pairs, addend, frac=9):
    """Section 4.1, step by step."""
    negative = []
    terms = []  # value, scale
    bad, plus, minus = False, False, False
    for a, b in pairs:
        sign = (a ^ b) >> 17
        negative.append(sign)
        if (
            is_nan(a)
            or is_nan(b)
            or (is_inf(a) and parts(b)[1] == 0)
            or (is_inf(b) and parts(a)[1] == 0)
        ):
            bad = True
        elif is_inf(a) or is_inf(b):
            plus, minus = plus or not sign, minus or bool(sign)
        else:
            terms.append((number(a) * number(b), parts(a)[1] + parts(b)[1] - 254))
    if addend is not None:
        negative.append(addend >> frac + 8)
        if is_nan(addend, frac):
            bad = True
        elif is_inf(addend, frac):
            plus, minus = plus or not negative[-1], minus or bool(negative[-1])
        else:
            terms.append((number(addend, frac), parts(addend, frac)[1] - 127))
    if bad or (plus and minus):
        return NAN << frac - 9
    if plus or minus:
        return (INF | minus << 17) << frac - 9
    if not any(t for t, _ in terms):
        return all(negative) << frac + 8
    unit = Fraction(2) ** (max(scale for t, scale in terms if t) - 22)
    total = 0
    for t, _ in terms:
        whole, rest = divmod(abs(t) / unit, 1)
        total += (1 if t > 0 else -1) * (int(whole) | (rest != 0))
    return nearest(total * unit, frac) if total else 0


def wide(x, frac):
    return x << frac - 9


def narrow(x, frac):
    if frac == 9:
        return x
    s, e, f = parts(x, frac)
    if e in (0, 255):
        cut = f >> frac - 9
        return s << 17 | e << 9 | (cut | 0x100 if e == 255 and f and not cut else cut)
    return nearest(number(x, frac))


def largest(values):
    if any(is_nan(v) for v in values):
        return NAN
    values = [v & 1 << 17 if parts(v)[1] == 0 else v for v in values]

    def order(v):
        if is_inf(v):
            return (1 if v < 1 << 17 else -1, Fraction(0), 0)
        return (0, number(v), 0 if v >> 17 else 1)

    return max(values, key=order)


class Slow:
    """Runs one program on ``mem``, a list. ``special(name, x, y)`` computes div, pow, exp and log
    (proven elsewhere)."""

    def __init__(self, image, mem, contexts, frac, special):
        self.image, self.mem, self.width, self.frac, self.special = (
            image,
            mem,
            contexts,
            frac,
            special,
        )
        self.uniform = [[[0] * 4 for _ in range(4)] for _ in range(4)]
        self.private = [[[[0] * 4 for _ in range(4)] for _ in range(4)] for _ in range(contexts)]
        self.copies = [0] * 4
        self.active = {}  # loop -> iteration
        self.instructions = self.operations = 0

    def run(self):
        """To the end."""
        self._block(0, len(self.image.words))

    def _block(self, pc, end):
        while pc < end:
            decoded = ISA.decode(self.image.words[pc])
            name, values = decoded.instruction.mnemonic, decoded.values
            self.instructions += 1
            if name.startswith("start"):
                loop = values["loop"]
                count, body = self.image.loops[loop]
                if name == "start_loop":
                    for iteration in range(count):
                        self.active[loop] = iteration
                        self._block(pc + 1, pc + 1 + body)
                        self.instructions += 1
                    self.active.pop(loop, None)
                else:
                    self._groups(loop, count, pc + 1, body)
                pc += body + 2
                continue
            self._one(name, values, None)
            pc += 1

    def _groups(self, loop, count, first, body):
        for base in range(0, count, self.width):
            size = min(self.width, count - base)
            for pc in range(first, first + body):
                decoded = ISA.decode(self.image.words[pc])
                name, values = decoded.instruction.mnemonic, decoded.values
                self.instructions += size
                if self._uniform(name, values, loop):
                    self.active[loop] = base
                    self._one(name, values, None)
                    continue
                seen = list(self.copies)
                for context in range(size):
                    self.active[loop] = base + context
                    self._one(name, values, context, seen)
                written = self._written(name, values)
                if written is not None:
                    self.copies[written] = max(seen[written], size)
            self.instructions += size
        self.active.pop(loop, None)

    def _uniform(self, name, values, loop):
        if name == "store" or name == "nop":
            return name == "nop"
        if name == "load":
            if self.image.units[values["apu"]].coefficients.get(loop, 0):
                return False
            whole = values["zero"] or (values["len_y"], values["len_x"]) == (4, 4)
            needs = () if whole else (values["reg"],)
        elif name in ("matmul", "mulacc"):
            needs = (INPUT, WEIGHTS, ACC)
        elif name in ("max", "sum"):
            needs = (OUTPUT, ACC)
        elif name == "copy":
            needs = (values["src"],)
        elif name == "zero":
            needs = ()
        else:
            needs = (INPUT, WEIGHTS) if name in ("add", "sub", "mul", "div", "pow") else (INPUT,)
        return not any(self.copies[r] for r in needs)

    @staticmethod
    def _written(name, values):
        if name in ("store", "nop") or (name == "copy" and values["src"] == values["dst"]):
            return None
        return {"matmul": ACC, "mulacc": ACC, "max": ACC, "sum": ACC}.get(
            name, values.get("dst", values.get("reg", OUTPUT))
        )

    def _one(self, name, values, context, seen=(0, 0, 0, 0)):
        """An instruction in one context, or once for all (``context`` None)."""

        def tile(r):
            return (
                self.private[context][r]
                if context is not None and context < seen[r]
                else self.uniform[r]
            )

        if name in ("load", "store"):
            self._move(name, values, tile, context)
            return
        result = self._result(name, values, tile)
        if result is not None:
            self._put(self._written(name, values), result, context)
        self.operations += {"matmul": 64, "copy": 0, "zero": 0, "nop": 0}.get(name, 16)

    def _put(self, register, result, context):
        if context is None:
            self.uniform[register] = result
            self.copies[register] = 0
        else:
            self.private[context][register] = result

    def _move(self, name, values, tile, context):
        unit, register = self.image.units[values["apu"]], values["reg"]
        start = unit.address + sum(
            unit.coefficients.get(loop, 0) * i for loop, i in self.active.items()
        )
        rows, columns = range(values["len_y"]), range(values["len_x"])
        at = {
            (y, x): (start + y * unit.stride_y + x * unit.stride_x) % (1 << 18)
            for y in rows
            for x in columns
        }
        frac = self.frac if register == ACC else 9
        if name == "store":
            for (y, x), address in sorted(at.items()):
                self.mem[address] = narrow(tile(register)[y][x], frac)
            return
        result = (
            [[0] * 4 for _ in range(4)] if values["zero"] else [list(row) for row in tile(register)]
        )
        for (y, x), address in at.items():
            result[y + values["skip"]][x] = wide(self.mem[address], frac)
        self._put(register, result, context)

    def _result(self, name, values, tile):
        x, w, o, a, f = tile(INPUT), tile(WEIGHTS), tile(OUTPUT), tile(ACC), self.frac
        span = range(4)
        if name == "matmul":
            return [
                [dot([(x[i][k], w[k][j]) for k in span], a[i][j], f) for j in span] for i in span
            ]
        if name == "mulacc":
            return [[dot([(x[i][j], w[i][j])], a[i][j], f) for j in span] for i in span]
        if name in ("max", "sum"):
            return self._reduce(name, values, o, [list(row) for row in a])
        if name == "zero":
            return [[0] * 4 for _ in span]
        if name == "nop" or (name == "copy" and values["src"] == values["dst"]):
            return None
        if name == "copy":
            source = [
                [narrow(v, f) if values["src"] == ACC else v for v in row]
                for row in tile(values["src"])
            ]
            return [[wide(v, f) if values["dst"] == ACC else v for v in row] for row in source]
        element = {
            "add": lambda p, q: dot([(p, ONE), (q, ONE)], None),
            "sub": lambda p, q: dot([(p, ONE), (q ^ 1 << 17, ONE)], None),
            "mul": lambda p, q: dot([(p, q)], None),
            "relu": lambda p, q: NAN if is_nan(p) else p if p >> 17 == 0 and parts(p)[1] else 0,
            "gtz": lambda p, q: ONE if not is_nan(p) and p >> 17 == 0 and parts(p)[1] else 0,
        }.get(name, lambda p, q: self.special(name, p, q))
        return [[element(x[i][j], w[i][j]) for j in span] for i in span]

    def _reduce(self, name, values, o, a):
        axis, n, t, keep, f = (
            values["axis"],
            values["count"],
            values["target"],
            values["acc"],
            self.frac,
        )

        def combine(elements, old):
            if name == "sum":
                return dot([(e, ONE) for e in elements], old, f)
            return wide(largest(elements + ([narrow(old, f)] if old is not None else [])), f)

        if axis == 0:
            for x in range(4):
                a[t][x] = combine([o[y][x] for y in range(n)], a[t][x] if keep else None)
        elif axis == 1:
            for y in range(4):
                a[y][t] = combine([o[y][x] for x in range(n)], a[y][t] if keep else None)
        elif name == "sum":
            columns = [dot([(o[y][x], ONE) for y in range(n)], None) for x in range(4)]
            a[t][0] = combine(columns, a[t][0] if keep else None)
        else:
            a[t][0] = combine(
                [o[y][x] for y in range(n) for x in range(4)], a[t][0] if keep else None
            )
        return a
