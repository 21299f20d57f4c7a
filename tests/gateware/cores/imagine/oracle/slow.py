# SPDX-License-Identifier: BSD-2-Clause
"""IMAGine as a machine of single bits: one RAM of rows a block, one adder with a carry a PE. Slow,
and no part of the model.

Words are taken apart by shifts of their own; it shares nothing with the table or the golden model.
"""

__all__ = ["SlowMachine"]


class SlowMachine:
    """R x C blocks of ``depth`` rows of 16 bits, registers of ``width`` bits."""

    def __init__(self, rows, cols, width, depth):
        self.rows, self.cols, self.width = rows, cols, width
        self.ram = [[[0] * depth for _ in range(cols)] for _ in range(rows)]
        self.selected = {(r, c) for r in range(rows) for c in range(cols)}
        self.prevm = {}
        self.columns = [[0] * width for _ in range(rows)]  # bits, lowest first
        self.mode = "off"
        self.emitted = []

    def _bit(self, r, c, p, register, b):
        return self.ram[r][c][register * self.width + b] >> p & 1

    def _put(self, r, c, p, register, b, bit):
        row = self.ram[r][c]
        at = register * self.width + b
        row[at] = row[at] & ~(1 << p) | bit << p
        if self.mode == "serial" and c == 0 and p == 0:
            self.columns[r] = self.columns[r][1:] + [bit]

    def _pes(self):
        return [(r, c, p) for r in range(self.rows) for c in range(self.cols) for p in range(16)]

    def run(self, word):
        """Executes one legal word."""
        submodule, op = word >> 30, word >> 26 & 15
        if submodule == 1:
            self._shift(op)
            return
        fn, low, high = word >> 22 & 3, word & 63, word >> 6 & 63
        if op == 1:
            for r, c in self.selected:
                self.ram[r][c][word >> 16 & 1023] = word & 0xFFFF
        elif op == 3:
            for pe in self._pes():
                self._booth(
                    *pe, pp=word >> 16 & 63, multiplicand=high, multiplier=low, k=word >> 22 & 15
                )
        elif op == 4 and fn == 0:
            self._fold(16 >> (word >> 16 & 15), high, low)
        elif op == 4:
            self._accumulate(1 << (word >> 16 & 15), low)
        elif op == 5:
            for pe in self._pes():
                self._add(*pe, word >> 16 & 63, low, high, subtract=fn == 3)
        elif op == 6:
            row, col = word >> 8 & 255, word & 255
            self.selected = {
                (r, c)
                for r in range(self.rows)
                for c in range(self.cols)
                if fn == 3 or (fn not in (1, 2) or r == row) and (fn not in (0, 1) or c == col)
            }
        elif op == 7:
            for pe in self._pes():
                for b in range(self.width):
                    at = b + (word >> 16 & 15)
                    self._put(*pe, high, b, self._bit(*pe, low + at // self.width, at % self.width))
        elif op == 8:
            self.prevm = {}

    def _add(self, r, c, p, rd, rs1, rs2, subtract):
        carry = int(subtract)
        for b in range(self.width):
            x, y = self._bit(r, c, p, rs1, b), self._bit(r, c, p, rs2, b) ^ subtract
            self._put(r, c, p, rd, b, x ^ y ^ carry)
            carry = x + y + carry >> 1

    def _booth(self, r, c, p, pp, multiplicand, multiplier, k):
        m, before = self._bit(r, c, p, multiplier, k), self.prevm.get((r, c, p), 0)
        add, subtract = before > m, m > before
        carry, x = int(subtract), 0
        for b in range(self.width + 1):
            held = min(b, self.width - 1)  # the last step holds the sign bits
            at = held + k
            if k and b < self.width:
                x = self._bit(r, c, p, pp + at // self.width, at % self.width)
            y = self._bit(r, c, p, multiplicand, held) ^ subtract if add or subtract else 0
            at = b + k
            self._put(r, c, p, pp + at // self.width, at % self.width, x ^ y ^ carry)
            carry = x + y + carry >> 1
        self.prevm[r, c, p] = m

    def _fold(self, half, rd, rs):
        for r in range(self.rows):
            for c in range(self.cols):
                carry = [0] * 16
                for b in range(self.width):
                    bits = [self._bit(r, c, p, rs, b) for p in range(16)]
                    for p in range(16):
                        y = bits[p + half] if p < half else 0
                        self._put(r, c, p, rd, b, bits[p] ^ y ^ carry[p])
                        carry[p] = bits[p] + y + carry[p] >> 1

    def _accumulate(self, step, register):
        for r in range(self.rows):
            for c in range(0, self.cols, 2 * step):
                carry = 0
                for b in range(self.width):
                    x = self._bit(r, c, 0, register, b)
                    y = self._bit(r, c + step, 0, register, b) if c + step < self.cols else 0
                    self._put(r, c, 0, register, b, x ^ y ^ carry)
                    carry = x + y + carry >> 1

    def _shift(self, op):
        if op == 1:
            self.mode = "serial"
        elif op == 2:
            self.mode = "parallel"
            for r, bits in enumerate(self.columns):
                data = sum(bit << b for b, bit in enumerate(bits + [bits[-1]] * (16 - self.width)))
                self.emitted.append(data | 1 << 24 | (r == self.rows - 1) << 25)
            self.columns = [[0] * self.width for _ in range(self.rows)]
        elif op == 3:
            self.mode = "off"
