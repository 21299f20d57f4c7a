# SPDX-License-Identifier: BSD-2-Clause
"""Codec of the JSON dialect: instructions to words and back (specification, section 3.7)."""

from collections import Counter
from typing import Any

from ..isa import ISA, SELECTED

__all__ = ["Encoder", "Problem", "instruction_text"]

_OPS = {name: i.opcode for i in ISA.instructions for name in (i.mnemonic, *i.aliases)}
_NAMES = {i.opcode: i.mnemonic for i in ISA.instructions}
_LOW32 = (1 << 32) - 1

_RD, _RS1, _RS2 = ("rd", 6, 31), ("rs1", 11, 31), ("rs2", 16, 31)
_LEN, _CORE = ("len", 21, 2047), ("core", 11, 1023)
#: Opcode -> (key, lowest bit, highest value) of the fields that are plain unsigned numbers.
_PLAIN = {
    0: (),
    1: (_RD,),
    2: (_RD, _RS1),
    3: (_RD, _RS1, _RS2),
    4: (_RD, _RS1, _RS2),
    5: (_RD, _RS1, _RS2),
    6: (_RD, _RS1),
    7: (_RD, _RS1),
    8: (),
    9: (_RD, _RS1, ("group", 21, 1023)),
    17: (_RD, _RS1, _RS2, _LEN),
    22: (_RD, _RS1, _RS2, _LEN),
    **dict.fromkeys((10, 11, 12, 13, 14, 15, 16, 23, 24), (_RD, _RS1, _RS2, _LEN)),
    **dict.fromkeys((18, 19, 20), (_RD, _RS1, _LEN)),
    **dict.fromkeys((25, 26, 28), (_RD, _RS1)),
    27: (_RD,),
    29: (_CORE,),
    30: (_RD, _CORE),
    31: (("event_register", 6, 31), ("wait_value", 11, 1023)),
    32: (("event_register", 6, 31), _CORE),
}
_WIDTHS = {8: (("ibiw", 6), ("obiw", 11)), 9: (("mbiw", 16),)}
#: Opcodes whose offset counts by its value alone.
_VALUES = frozenset((17, 27, 29, 30))
_SIZED = frozenset((25, 26, 27, 28, 29, 30))
#: Opcode -> key of the register that must be even.
_PAIRS = {2: "rs1", 25: "rs1", 26: "rd"}


class Problem(Exception):
    """Error in an instruction of the dialect."""


class Encoder:
    """Encoder of instructions given as dicts.

    Parameters
    ----------
    raw : bool
        Accept the known deviations of streams that are not programs; ``kinds`` counts it, by
        sentence.
    """

    def __init__(self, raw: bool = False) -> None:
        self.raw = raw
        self.kinds: Counter[str] = Counter()

    def tolerate(self, kind: str) -> None:
        """Counts a tolerated deviation, or raises an error for it."""
        if not self.raw:
            raise Problem(kind)
        self.kinds[kind] += 1

    def _whole(self, value, key):
        if type(value) is float and value.is_integer():
            return int(value)
        raise Problem(f"{key} is {_shown(value)}, expected a whole number")

    def _immediate(self, d, bits):
        value = d.get("imm", 0)
        if type(value) is not int:
            if type(value) is not float or value != value or value in (float("inf"), float("-inf")):
                raise Problem(f"imm is {_shown(value)}, expected a number")
            if not value.is_integer():
                self.tolerate("imm is a fraction")
            value = int(value)
        if not -1 << bits - 1 <= value < 1 << bits:
            self.tolerate(f"imm does not fit {bits} bits")
        return value & (1 << bits) - 1

    def _offset(self, d, op):
        offset = d.get("offset", 0)
        if not offset and op != 2:
            return 0
        if op == 2:
            value, select = d.get("offset_value", 0), 0
        elif type(offset) is dict:
            value, select = offset.get("offset_value", 0), offset.get("offset_select", 0)
        else:
            raise Problem(f"offset is {_shown(offset)}, expected offset_value and offset_select")
        if type(value) is not int:
            value = self._whole(value, "offset_value")
        if not -1 << 28 <= value < 1 << 28:
            raise Problem(f"offset_value is {_number(value)}, expected -268435456 to 268435455")
        if op in _VALUES or op == 2:
            return (value << 35) & (1 << 64) - 1
        if type(select) is not int:
            select = self._whole(select, "offset_select")
        if not 0 <= select < 8:
            raise Problem(f"offset_select is {_number(select)}, expected 0 to 7")
        if select & ~SELECTED[op]:
            self.tolerate("offset_select names an operand that the instruction does not have")
        return (value << 35) & (1 << 64) - 1 | select << 32

    def _size(self, d):
        if "size" in d and "len" in d and d["size"] != d["len"]:
            raise Problem(
                f"size is {_shown(d['size'])} and len {_shown(d['len'])}, expected one of them"
            )
        return self._field(d, "size" if "size" in d else "len", 2047)

    def _field(self, d, key, most):
        value = d.get(key, 0)
        if type(value) is not int:
            value = self._whole(value, key)
        if not 0 <= value <= most:
            raise Problem(f"{key} is {_number(value)}, expected 0 to {most}")
        return value

    def word(self, d: dict[str, Any]) -> int:
        """Encodes an instruction as a word. Raises :class:`Problem`."""
        name = d.get("op")
        op = _OPS.get(name) if type(name) is str else None
        if op is None:
            raise Problem(f"op is {_shown(name)}, which is no instruction")
        word = op
        for key, low, most in _PLAIN[op]:
            value = d.get(key, 0)
            if type(value) is not int:
                value = self._whole(value, key)
            if not 0 <= value <= most:
                raise Problem(f"{key} is {_number(value)}, expected 0 to {most}")
            word |= value << low
        if op == 1 or op == 6 or op == 7:
            word |= self._immediate(d, 32) << 32
        elif op in _SIZED:
            word |= self._size(d) << 21
            if op == 27:
                word |= self._immediate(d, 8) << 11
            elif op == 29:
                if "rd" in d and "rs1" in d and d["rd"] != d["rs1"]:
                    raise Problem(
                        f"rd is {_shown(d['rd'])} and rs1 {_shown(d['rs1'])}, expected one of them"
                    )
                word |= self._field(d, "rs1" if "rs1" in d else "rd", 31) << 6
        elif op in _WIDTHS:
            for key, low in _WIDTHS[op]:
                value = self._field(d, key, 32)
                if not value:
                    raise Problem(f"{key} is 0, expected 1 to 32")
                word |= (value & 31) << low
            if op == 9:
                relu = d.get("relu", 0)
                if relu not in (0, 1):
                    raise Problem(f"relu is {_shown(relu)}, expected 0 or 1")
                word |= int(relu) << 31
        if op in SELECTED or op in _VALUES or op == 2:
            word |= self._offset(d, op)
        if op in _PAIRS and d.get(_PAIRS[op], 0) & 1:
            self.tolerate("a pair's register is odd")
        return word


def _number(value):
    return str(value) if abs(value) < 1 << 64 else "too large"


def _shown(value):
    text = str(value) if not isinstance(value, int) else _number(value)
    return f"'{text[:40]}'" if isinstance(value, str) else text[:40] or "empty"


# Words to text


def _offset_text(high):
    return (
        f', "offset": {{"offset_value": {high >> 3}, "offset_select": {high & 7}}}' if high else ""
    )


def _value_text(high):
    return f', "offset": {{"offset_value": {high >> 3}}}' if high else ""


def instruction_text(op: int, a: int, b: int, c: int, d: int, high: int) -> str:
    """JSON text of a legal instruction, given its opcode, the fields at bits 6, 11, 16 and 21, and
    its high word."""
    begin = f'{{"op": "{_NAMES[op]}"'
    if op == 1:
        return f'{begin}, "rd": {a}, "imm": {high}}}'
    if op in (6, 7):
        return f'{begin}, "rd": {a}, "rs1": {b}, "imm": {high}}}'
    if op in (3, 4, 5):
        return f'{begin}, "rd": {a}, "rs1": {b}, "rs2": {c}}}'
    if op == 28 or op in (25, 26):
        key = "len" if op == 28 else "size"
        return f'{begin}, "rd": {a}, "rs1": {b}, "{key}": {d}{_offset_text(high)}}}'
    if op in (18, 19, 20):
        return f'{begin}, "rd": {a}, "rs1": {b}, "len": {d}{_offset_text(high)}}}'
    if op == 17:
        return f'{begin}, "rd": {a}, "rs1": {b}, "rs2": {c}, "len": {d}{_value_text(high)}}}'
    if op in SELECTED or op == 22:
        return f'{begin}, "rd": {a}, "rs1": {b}, "rs2": {c}, "len": {d}{_offset_text(high)}}}'
    if op == 27:
        return f'{begin}, "rd": {a}, "imm": {(b | c << 5) & 255}, "len": {d}{_value_text(high)}}}'
    if op in (29, 30):
        return (
            f'{begin}, "{"rs1" if op == 29 else "rd"}": {a}, "core": {b | c << 5}, "size": '
            f"{d}{_value_text(high)}}}"
        )
    if op == 9:
        return (
            f'{begin}, "rd": {a}, "rs1": {b}, "mbiw": {c or 32}, "relu": {d >> 10}, "group": '
            f"{d & 1023}}}"
        )
    if op == 8:
        return f'{begin}, "ibiw": {a or 32}, "obiw": {b or 32}}}'
    if op == 2:
        return (
            f'{begin}, "rd": {a}, "rs1": {b}'
            + (f', "offset_value": {high >> 3}' if high else "")
            + "}"
        )
    if op in (31, 32):
        return (
            f'{begin}, "event_register": {a}, "{"wait_value" if op == 31 else "core"}": '
            f"{b | c << 5}}}"
        )
    return begin + "}"
