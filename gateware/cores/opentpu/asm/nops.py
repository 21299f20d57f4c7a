# SPDX-License-Identifier: BSD-2-Clause
"""NOP passes: ``strip-nops`` and ``pad-nops`` of ``quintet asm opentpu``
(docs/cores/opentpu-software.md). Pure Python.

This core interlocks: NOPs mean nothing but time, so that a program without them does the same. The
published hardware does not: its programs wait for every result by NOPs, as many as the distances of
section 10.2 say.
"""

from collections import deque
from dataclasses import replace
from typing import NamedTuple

from ....isa.asm.program import Program
from ....isa.parameters import ParameterError, Params
from ....isa.software import Software

__all__ = ["pad_nops", "strip_nops"]

_BYTES = 14
_NOP = bytes(_BYTES)
_CAPACITY = 5  # tiles requested and not yet switched to: four in the FIFO, one in the array


def _split(program):
    """Splits a program into the words up to the first HLT and the remaining bytes, which are never
    executed."""
    words = [program.data[at : at + _BYTES] for at in range(0, len(program.data), _BYTES)]
    end = next((k for k, word in enumerate(words) if word[0] == 7), len(words) - 1) + 1
    return words[:end], program.data[end * _BYTES :]


def _rebuilt(program, words, rest, notes=()):
    """Rebuilds ``program`` from ``words``, pairs (index in the old program, or ``None`` for a new
    NOP; bytes), followed by ``rest``."""
    moved = {old: new for new, (old, _) in enumerate(words) if old is not None}
    before = (len(program.data) - len(rest)) // _BYTES
    moved.update({before + k: len(words) + k for k in range(len(rest) // _BYTES)})
    lines = {
        moved[at // _BYTES] * _BYTES: line
        for at, line in program.lines.items()
        if at // _BYTES in moved
    }
    return replace(
        program,
        data=b"".join(word for _, word in words) + rest,
        lines=lines,
        warnings=[*program.warnings, *(f"warning: {note}" for note in notes)],
    )


def strip_nops(software: Software, program: Program, params: Params | None = None) -> Program:
    """Removes the NOPs of a program. Bytes after the first HLT are kept, and so is an illegal NOP,
    which faults; a program of NOPs alone keeps the last."""
    words, rest = _split(program)
    kept = [(k, word) for k, word in enumerate(words) if word != _NOP]
    return _rebuilt(program, kept or [*enumerate(words)][-1:], rest)


class _Step(NamedTuple):
    """Resources of an instruction: its row ranges in each memory, and the cycle of its dispatch."""

    name: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which is unused
    switch: bool
    ub: range
    acc: range
    host: range
    time: int = 0


_NOTHING = range(0)


def _step(isa, word):
    found = isa.decode(int.from_bytes(word, "big"))
    if found.fault is not None:
        return _Step("", 1, False, _NOTHING, _NOTHING, _NOTHING)
    name, values = found.instruction.mnemonic, found.values
    count = values.get("length", 1)

    def rows(field, *names):
        return range(values[field], values[field] + count) if name in names else _NOTHING

    return _Step(
        name,
        count,
        name == "MMC" and bool(values["switch"]),
        rows("ub", "RHM", "WHM", "MMC", "ACT"),
        rows("addr", "MMC", "ACT"),
        rows("addr", "RHM", "WHM"),
    )


def _meet(a, b):
    return max(a.start, b.start) < min(a.stop, b.stop)


def _transfer(n):
    """Cycles to transfer a tile from weight memory at 64 bytes per cycle."""
    return -(-n * n // 64)


def _distance(old, new, n):
    """Least number of cycles from the dispatch of ``old`` to that of ``new``; 1 if they are
    independent."""
    rows = old.count
    done = {"RHM": rows, "WHM": rows + 1, "MMC": rows + 2 * n, "ACT": rows + 1}.get(old.name, 1)
    if new.name == "HLT":
        return done  # it cuts running instructions
    need = 1
    if old.name == new.name:  # a unit takes one at a time
        need = max(_transfer(n), 4) if new.name == "RW" else rows + 1 if done > 1 else 1
        if old.switch and new.switch:
            need = max(need, 2 * n + 3)
    writers = ("RHM", "ACT")
    if _meet(old.ub, new.ub) and (old.name in writers or new.name in writers):
        need = max(need, done if old.name in writers else rows)
    if _meet(old.acc, new.acc) and old.name != new.name:
        need = max(need, done if old.name == "MMC" else rows)
    if _meet(old.host, new.host) and old.name != new.name:
        need = max(need, done)
    return need


def pad_nops(software: Software, program: Program, params: Params | None = None) -> Program:
    """Adds the NOPs that the published hardware needs; existing ones count.

    Raises
    ------
    ParameterError
        ``params`` is ``None``: the latencies are those of an array of side ``n``.
    """
    if params is None:
        raise ParameterError("pad-nops needs the side of the array: give a preset, or -P n=8")
    n = params["n"]
    arrive = n + _transfer(n) + 9  # a tile's way into the array, after up to three others
    # The longest distance: from an MMC to an instruction that needs its rows, or from a RW to the
    # next one.
    reach = max(256 + 2 * n + 1, _transfer(n))
    words, rest = _split(program)
    padded: list[tuple[int | None, bytes]] = []
    notes: dict[str, int] = {}
    recent: deque[_Step] = deque()
    # Dispatch of every RW, of every MMC.S.
    asked: list[int] = []
    taken: list[int] = []

    def note(text):
        notes[text] = notes.get(text, 0) + 1

    time = 0
    ahead = sum(1 for word in words if word[0] == 2)
    for index, word in enumerate(words):
        step = _step(software.isa, word)
        while recent and recent[0].time + reach <= time:
            recent.popleft()
        earliest = max([time, *(old.time + _distance(old, step, n) for old in recent)])
        if step.name == "RW" and len(asked) >= _CAPACITY and len(taken) > len(asked) - _CAPACITY:
            earliest = max(earliest, taken[len(asked) - _CAPACITY] + 2 * n + 3)
        if step.switch:
            # Its own tile, and the next one, which a switch takes in only if it stands at the end
            # of the FIFO by then.
            mine = len(taken)
            for tile in (mine, mine + 1):
                if tile < len(asked):
                    earliest = max(earliest, asked[tile] + arrive)
            if mine + 1 >= len(asked) and mine + 1 < ahead:
                note(
                    "an RW behind the MMC.S before the one that takes its tile: the published "
                    "hardware never loads that tile"
                )
        if step.count == 256 and step.name == "MMC":
            note("an MMC of 256 vectors: the published hardware takes 65536")
        if step.name == "RW" and word[1]:
            note("RW.D: the published hardware reads a whole tile")
        if step.name == "MMC" and word[1] & 0x80:
            note("MMC.B: the published hardware adds to each row")
        if step.name == "CFG":
            note("CFG: the published hardware does not know it")
        padded += [(None, _NOP)] * (earliest - time)
        padded.append((index, word))
        step = step._replace(time=earliest)
        if step.name == "RW":
            asked.append(earliest)
        if step.switch:
            taken.append(earliest)
        if step.name not in ("", "NOP", "HLT"):
            recent.append(step)
        time = earliest + 1
    return _rebuilt(
        program,
        padded,
        rest,
        [
            text + (f" ({count - 1} more of this kind)" if count > 1 else "")
            for text, count in notes.items()
        ],
    )
