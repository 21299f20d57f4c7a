# SPDX-License-Identifier: BSD-2-Clause
"""Runs the small engine's microprogram of exp, log, div and pow without its gateware: what :mod:`.micro_machine` does, in Python."""
from quintet.gateware.cores.cherry.isa import ISA
from quintet.gateware.cores.cherry.small.instructions import RETURNS, Mode, Op, Sink, Source
from quintet.gateware.cores.cherry.small.lists import TILE_WORDS, tile_table
from quintet.gateware.cores.cherry.small.program import microprogram

__all__ = ["Functions"]

_LOW32 = 0xFFFF_FFFF
_LD, _ADD, _SUB, _AND, _ST, _SHL, _SHR, _MUL, _OUT, _JZ, _JNZ, _JC, _JNC, _CALL, _RET = (
    int(Op[name]) for name in ("LD", "ADD", "SUB", "AND", "ST", "SHL", "SHR", "MUL", "OUT", "JZ", "JNZ", "JC", "JNC", "CALL", "RET"))


class Functions:
    """The special functions of a build; :meth:`tile` carries out one instruction.

    Attributes
    ----------
    cycles : of the last instruction, from the jump to it to the jump to the next
    """
    def __init__(self, params):
        self.program = program = microprogram(params, 1 << 17)
        self._tiles, self._table = tile_table(params), [0] * (tile_table(params) + TILE_WORDS)
        self._words = [(word >> 11, word & 0x7FF) for word in program.words]
        self._places = list(program.registers)
        for name, value in {"NP": 0, "INDEP": 0}.items():
            self._places[program.names[name]] = value

    def run(self, start, end, a=0):
        """The accumulator at label ``end``, begun at ``start`` with ``a``."""
        return self._run(self.program.labels[start], self.program.labels[end], a)

    def variable(self, name):
        """What a variable holds."""
        return self._places[self.program.names[name]]

    def set(self, name, value):
        """Gives a variable a value."""
        self._places[self.program.names[name]] = value

    def tile(self, name, x, y):
        """OUTPUT after instruction ``name`` on 16 elements of INPUT and WEIGHTS."""
        word = ISA.encode(name)
        self.set("WORD", word)
        self.set("OPCODE", word >> 13)
        self.set("I", self._places[0x80 | word >> 13])
        self._table[self._tiles + 16:self._tiles + 32], self._table[self._tiles + 48:self._tiles + 64] = x, y
        self.run("op_special", "next")
        return self._table[self._tiles + 80:self._tiles + 96]

    def _run(self, at, end, a):
        places, table, words = self._places, self._table, self._words
        carry = index = p = depth = cycles = 0
        while at != end:
            op, x = words[at]
            at += 1
            cycles += 2
            if op in (_LD, _ADD, _SUB, _AND, _MUL):
                mode = x >> 9
                if mode == Mode.NUMBER:
                    r = x & 511
                elif mode == Mode.PLACE:
                    r = places[x]
                elif mode == Mode.INDEXED:
                    r = places[x & 255 | index]
                else:
                    assert x & 15 == Source.TABLE
                    r = table[p]
                if op == _LD:
                    a = r
                elif op == _AND:
                    a &= r
                elif op == _MUL:
                    cycles += 31 + a.bit_count()
                    a, carry = a * r >> 32, a * r >> 31 & 1
                else:
                    total = a + r if op == _ADD else a + (r ^ _LOW32) + 1
                    a, carry = total & _LOW32, total >> 32
            elif op == _ST:
                places[x & 255 | index if x >> 9 == Mode.INDEXED else x] = a
            elif op in (_SHL, _SHR):
                count = index & 31 if x & 1024 else x
                cycles += max(0, count - 1)
                if count and op == _SHL:
                    a, carry = a << count & _LOW32, a >> 32 - count & 1
                elif count:
                    a, carry = a >> count, a >> count - 1 & 1
            elif op == _OUT:
                if x == Sink.X:
                    index = a & 255
                elif x == Sink.P:
                    p = a
                else:
                    assert x == Sink.TABLE
                    table[p] = a & 0x3FFFF
            elif op == _CALL:
                places[RETURNS | depth] = at
                depth += 1
                at = x
            elif op == _RET:
                depth -= 1
                at = places[RETURNS | depth]
            elif (op == Op.JMP or (op == _JZ and a == 0) or (op == _JNZ and a != 0) or (op == _JC and carry)
                  or (op == _JNC and not carry)):
                at = x
            else:
                assert op in (_JZ, _JNZ, _JC, _JNC, Op.JABORT, Op.CNT, Op.CLS)
        self.cycles = cycles
        return a
