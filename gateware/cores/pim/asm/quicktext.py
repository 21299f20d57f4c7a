# SPDX-License-Identifier: BSD-2-Clause
"""Fast reader of long runs of instructions in the disassembler's canonical form.

Only unambiguous lines are accepted: canonical mnemonics, plain decimal numbers, one blank behind
each comma. Anything else is left to the assembler, with its messages.
"""

import re

import numpy as np

from ....isa.asm.assembler import Assembler
from ....isa.asm.errors import Place
from .drafts import Block

__all__ = ["QuickText"]

#: A run shorter than this is not worth it: its lines keep their places in the source map.
LEAST = 4096
_LOW = (1 << 32) - 1

_R, _N = r"\$([12]?\d|3[01])", r"(-?\d{1,10})"
_AT = r"(?:, @(-?\d{1,9}):(d?1?2?)|, offset=(0x[0-9a-f]{1,8}))?"
_PLAIN = r"(?:, (-?\d{1,9}))?"
_SELECT = {
    letters: sum(1 << k for k, c in enumerate("d12") if c in letters)
    for letters in ("d", "1", "2", "d1", "d2", "12", "d12")
}


def _imm(text):
    value = int(text)
    if not -1 << 31 <= value < 1 << 32:
        raise ValueError
    return (value & _LOW) << 32


def _up_to(text, most, least=0):
    value = int(text)
    if not least <= value <= most:
        raise ValueError
    return value


def _value(text):
    if text is None:
        return 0
    value = int(text)
    if not -1 << 28 <= value < 1 << 28:
        raise ValueError
    return (value & (1 << 29) - 1) << 35


def _offset(value, select, raw, letters):
    if value is None:
        if raw is None:
            return 0
        high = int(raw, 16)
        if high & 7 & ~letters:
            raise ValueError
        return high << 32
    bits = _SELECT[select]
    if bits & ~letters:
        raise ValueError
    return _value(value) | bits << 32


def _even(text):
    value = int(text)
    if value & 1:
        raise ValueError
    return value


def _forms():
    three = f"{_R}, {_R}, {_R}"
    forms = {
        "nop": ("", lambda: 0),
        "sldi": (f"{_R}, {_N}", lambda a, i: 1 | int(a) << 6 | _imm(i)),
        "sld": (
            f"{_R}, {_R}{_PLAIN}",
            lambda a, b, v: 2 | int(a) << 6 | _even(b) << 11 | _value(v),
        ),
        "setbw": (
            f"{_N}, {_N}",
            lambda a, b: 8 | (_up_to(a, 32, 1) & 31) << 6 | (_up_to(b, 32, 1) & 31) << 11,
        ),
        "mvmul": (
            f"{_R}, {_R}, {_N}, ([01]), {_N}",
            lambda a, b, w, r, g: (
                9
                | int(a) << 6
                | int(b) << 11
                | (_up_to(w, 32, 1) & 31) << 16
                | int(r) << 31
                | _up_to(g, 1023) << 21
            ),
        ),
        "vavg": (
            f"{three}, {_N}{_PLAIN}",
            lambda a, b, c, n, v: (
                17 | int(a) << 6 | int(b) << 11 | int(c) << 16 | _up_to(n, 2047) << 21 | _value(v)
            ),
        ),
        "vmv": (
            f"{three}, {_N}",
            lambda a, b, c, n: (
                22 | int(a) << 6 | int(b) << 11 | int(c) << 16 | _up_to(n, 2047) << 21
            ),
        ),
        "lldi": (
            f"{_R}, {_N}, {_N}{_PLAIN}",
            lambda a, i, n, v: (
                27
                | int(a) << 6
                | (_up_to(i, 255, -128) & 255) << 11
                | _up_to(n, 2047) << 21
                | _value(v)
            ),
        ),
        "wait": (f"{_N}, {_N}", lambda e, v: 31 | _up_to(e, 31) << 6 | _up_to(v, 1023) << 11),
        "sync": (f"{_N}, {_N}", lambda e, v: 32 | _up_to(e, 31) << 6 | _up_to(v, 1023) << 11),
    }

    def add(name, text, function):
        forms[name] = text, function

    for op, name in ((3, "sadd"), (4, "ssub"), (5, "smul")):
        add(name, three, lambda a, b, c, op=op: op | int(a) << 6 | int(b) << 11 | int(c) << 16)
    for op, name in ((6, "saddi"), (7, "smuli")):
        add(
            name,
            f"{_R}, {_R}, {_N}",
            lambda a, b, i, op=op: op | int(a) << 6 | int(b) << 11 | _imm(i),
        )
    for op, name in (
        (10, "vvadd"),
        (11, "vvsub"),
        (12, "vvmul"),
        (13, "vvdmul"),
        (14, "vvmax"),
        (15, "vvsll"),
        (16, "vvsra"),
        (23, "vrsu"),
        (24, "vrsl"),
    ):
        add(
            name,
            f"{three}, {_N}{_AT}",
            lambda a, b, c, n, v, s, r, op=op: (
                op
                | int(a) << 6
                | int(b) << 11
                | int(c) << 16
                | _up_to(n, 2047) << 21
                | _offset(v, s, r, 7)
            ),
        )
    for op, name in ((18, "vrelu"), (19, "vtanh"), (20, "vsigm"), (28, "lmv")):
        add(
            name,
            f"{_R}, {_R}, {_N}{_AT}",
            lambda a, b, n, v, s, r, op=op: (
                op | int(a) << 6 | int(b) << 11 | _up_to(n, 2047) << 21 | _offset(v, s, r, 3)
            ),
        )
    add(
        "ld",
        f"{_R}, {_R}, {_N}{_AT}",
        lambda a, b, n, v, s, r: (
            25 | int(a) << 6 | _even(b) << 11 | _up_to(n, 2047) << 21 | _offset(v, s, r, 3)
        ),
    )
    add(
        "st",
        f"{_R}, {_R}, {_N}{_AT}",
        lambda a, b, n, v, s, r: (
            26 | _even(a) << 6 | int(b) << 11 | _up_to(n, 2047) << 21 | _offset(v, s, r, 3)
        ),
    )
    for op, name in ((29, "send"), (30, "recv")):
        add(
            name,
            f"{_R}, {_N}, {_N}{_PLAIN}",
            lambda a, c, n, v, op=op: (
                op | int(a) << 6 | _up_to(c, 1023) << 11 | _up_to(n, 2047) << 21 | _value(v)
            ),
        )
    return {
        name: (re.compile(text, re.ASCII).fullmatch, function)
        for name, (text, function) in forms.items()
    }


class QuickText:
    """Fast reader of instruction lines, the ``Software.bulk`` of PIM."""

    def __init__(self) -> None:
        self._forms = _forms()

    def read(self, lines: list[str], begin: int) -> tuple[np.ndarray | None, int]:
        """Reads lines from line ``begin`` on: ``(words, number of lines)``; words are ``None`` if
        fast reading is not worthwhile."""
        words: list[int] = []
        forms, at = self._forms, begin
        append = words.append
        try:
            for at in range(begin, len(lines)):  # noqa: B007
                head, _, rest = lines[at].partition(" ")
                match, function = forms[head]
                append(function(*match(rest).groups()))
        except (KeyError, ValueError, AttributeError):
            pass
        count = len(words)
        if count < LEAST:
            return None, count + 1
        return np.array(words, np.uint64), count

    @staticmethod
    def emit(assembler: Assembler, words: np.ndarray, place: Place) -> None:
        """Appends the result of :meth:`read`."""
        assembler.section.items.append(Block(words, place, lines=True))
