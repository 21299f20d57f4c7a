# SPDX-License-Identifier: BSD-2-Clause
"""Microprogram of the link bridge, and its assembler. Pure Python.

The engine does one step a cycle. A step names the step that follows, or two of them and a
condition; the two then lie side by side, so that the condition is the lowest bit of the next
address and nothing has to be counted or added. A step that follows in several such pairs has a copy
in each: the memory is a block RAM, and has space.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .protocol import Status

__all__ = ["Action", "Source", "Step", "When", "assemble"]


class Source(enum.IntEnum):
    """Source of a step's byte."""

    FRAME = 0
    OPERATION = 1
    NONCE = 2
    COUNT = 3
    SEQUENCE = 4
    EXPECTED = 5
    ADDRESS = 6
    WORD = 7
    STATUS = 8
    CRC = 9
    INFO0 = 12
    INFO1 = 13
    INFO2 = 14
    INFO3 = 15


class Action(enum.IntEnum):
    """Further action of a step on its byte."""

    NONE = 0
    OPERATION = 1  # a request begins
    SAME_NONCE = 2  # compare with the session's first byte,
    SAME_COUNT = 3  # and its second
    NONCE = 4  # compare with the session's first byte, and replace it
    COUNT = 5  # if it was another: count the session, and leave the stopped state
    SEQUENCE = 6
    LAND = 7  # a run begins at the address; the byte is its lowest
    LENGTH = 8
    STATUS = 9  # the source's number is the status
    STOP = 10  # the same, and the session stops
    ACCEPT = 11  # the number expected goes on, if it was this request's
    COUNT_UP = 12  # one more byte in the frame
    DROP = 13  # give up the frame
    REWIND = 14  # go through the frame again
    END = 15  # end the answer


class When(enum.IntEnum):
    """Branch conditions of a step."""

    NEVER = 0
    MORE = 1  # the frame goes on
    GOOD = 2  # the frame's CRC, length and encoding are right
    ANSWER = 3  # bit 7 of the byte
    BLANK = 4  # identify or fill
    WRITES = 5
    SUMS = 6
    FOREIGN = 7  # another session's
    STOPPED = 8
    AHEAD = 9  # a number that is not due yet
    PAST = 10  # a number that was executed before
    BAD = 11  # a bad request
    LANES = 12  # the word goes on
    UNFINISHED = 13  # the data goes on
    ERROR = 14  # of the bus
    FAILED = 15  # the status is not ok
    STRIDED = 16  # the request goes over runs
    RUNS = 17  # bytes are to go, after this run
    SPARE = 18  # the run took no more words than it must have


@dataclass(frozen=True)
class Step:
    """One micro-instruction. It waits for the frame (``take``), the transmitter (``emit``) or the
    bus (``bus``) if it uses them."""

    source: int = 0
    action: int = 0
    take: bool = False  # the byte is the next of the frame, or is replaced by the source
    emit: bool = False  # the byte goes to the answer
    bus: bool = False  # a bus cycle
    crc: bool = False  # the byte goes through the CRC
    crc_shift: bool = False  # no: the CRC is shifted out by a byte
    crc_init: bool = False
    address: bool = False  # the byte goes to the top of the address
    word: bool = False  # the byte goes to the top of the word
    data: bool = (
        False  # for one lane of the word; without data in this lane, nothing of the above but word
    )
    advance: bool = False  # with data, in the first lane: the address is that of the next word
    # the byte goes to the top of run and step; with data: the step is added to the address
    stride: bool = False
    when: int = When.NEVER
    then: str = ""
    goto: str = ""

    FLAGS = (
        "take",
        "emit",
        "bus",
        "crc",
        "crc_shift",
        "crc_init",
        "address",
        "word",
        "data",
        "advance",
        "stride",
    )


def _program(program):
    """Collects the steps by name; each is followed by the next unless it names another."""
    names = [name for name, _ in program]
    steps = {}
    for number, (name, step) in enumerate(program):
        steps[name] = step if step.goto else replace(step, goto=names[number + 1])
    return steps


def _times(name, count, step, **last):
    """Repeats a step ``count`` times; the last one differs by ``last``."""
    names = [name] + [f"{name}{number}" for number in range(1, count)]
    return [(n, replace(step, **last) if n == names[-1] else step) for n in names]


def _crc(name, step):
    """Repeats ``step`` for each byte of the CRC."""
    return [
        pair
        for number in range(4)
        for pair in (
            (f"{name}{number or ''}", step),
            (f"{name}_shift{number}", Step(crc=True, crc_shift=True)),
        )
    ]


_TAKE = Step(take=True)
_EMIT = Step(emit=True, crc=True)
_PLACE = Step(take=True, address=True)
_SHAPE = Step(take=True, stride=True)
_PAINT = Step(Source.WORD, data=True, word=True)
_PASS = Step(
    data=True, advance=True
)  # after a run, so without data: the address goes round and is that of the next word


def _refuse(name, status):
    return name, Step(source=status, action=Action.STATUS, goto="answer")


PROGRAM = _program(
    [
        # First pass over a frame.
        ("start", Step(goto="drop")),
        ("check", Step(take=True, crc=True, action=Action.COUNT_UP, when=When.MORE, then="check")),
        ("checked", Step(when=When.GOOD, then="rewind")),
        ("drop", Step(action=Action.DROP, crc_init=True, goto="check")),
        ("rewind", Step(action=Action.REWIND, crc_init=True)),
        # Second pass: whether to execute it.
        ("operation", Step(take=True, action=Action.OPERATION, when=When.ANSWER, then="release")),
        ("kind", Step(when=When.STRIDED, then="same")),
        ("kind_plain", Step(when=When.BLANK, then="nonce")),
        ("same", replace(_TAKE, action=Action.SAME_NONCE)),
        ("same_too", replace(_TAKE, action=Action.SAME_COUNT)),
        ("sequence", replace(_TAKE, action=Action.SEQUENCE)),
        ("ours", Step(when=When.FOREIGN, then="refuse_session")),
        ("alive", Step(when=When.STOPPED, then="refuse_stopped")),
        ("due", Step(when=When.AHEAD, then="refuse_sequence")),
        ("shaped", Step(when=When.STRIDED, then="patterned")),
        ("sound", Step(when=When.BAD, then="refuse_bad")),
        ("new", Step(when=When.WRITES, then="new_write", goto="place")),
        ("new_write", Step(when=When.PAST, then="answer", goto="place")),
        # Run and step still hold a pattern; it moves on when these come.
        ("patterned", Step(when=When.BLANK, then="pattern", goto="shape")),
        *_times("pattern", 4, replace(_SHAPE, word=True)),
        *_times("shape", 3, _SHAPE, goto="sound"),
        ("nonce", replace(_TAKE, action=Action.NONCE)),
        ("count", replace(_TAKE, action=Action.COUNT)),
        ("number", replace(_TAKE, source=Source.EXPECTED, action=Action.SEQUENCE)),
        ("info_alive", Step(when=When.STOPPED, then="refuse_stopped")),
        ("info_sound", Step(when=When.BAD, then="refuse_bad")),
        ("info0", replace(_PLACE, source=Source.INFO0, action=Action.LAND)),
        ("info1", replace(_PLACE, source=Source.INFO1)),
        ("info2", replace(_PLACE, source=Source.INFO2)),
        ("info3", replace(_PLACE, source=Source.INFO3, goto="length")),
        ("place", replace(_PLACE, action=Action.LAND)),
        *_times("place_more", 3, _PLACE, when=When.WRITES, then="given"),
        *_times("length", 2, replace(_TAKE, action=Action.LENGTH), when=When.SUMS, then="sum_bus"),
        ("sized", Step(when=When.WRITES, then="paint", goto="answer")),
        ("given", Step(when=When.BLANK, then="length", goto="first")),
        # A write fills a word, then goes to the bus.
        (
            "first",
            Step(take=True, data=True, word=True, when=When.LANES, then="first", goto="write_bus"),
        ),
        ("fill", Step(take=True, data=True, word=True, advance=True, when=When.LANES, then="fill")),
        ("write_bus", Step(bus=True, when=When.ERROR, then="write_failed")),
        ("written", Step(when=When.UNFINISHED, then="fill", goto="next")),
        # A fill leaves the word as it is.
        ("paint", replace(_PAINT, when=When.LANES, then="paint", goto="paint_bus")),
        ("paint_more", replace(_PAINT, advance=True, when=When.LANES, then="paint_more")),
        ("paint_bus", Step(bus=True, when=When.ERROR, then="write_failed")),
        ("painted", Step(when=When.UNFINISHED, then="paint_more")),
        # From the last word of a run to the next run. The address is made to stand after the words
        # of a run that begins within a word. This run may have one word fewer; a write has not
        # passed its last. The step leads from there.
        ("next", Step(when=When.RUNS, then="hop", goto="ended")),
        ("hop", Step(when=When.SPARE, then="hop_spare", goto="hop_kind")),
        ("hop_spare", replace(_PASS, when=When.LANES, then="hop_spare")),
        ("hop_kind", Step(when=When.WRITES, then="hop_write", goto="leap")),
        ("hop_write", replace(_PASS, when=When.LANES, then="hop_write")),
        ("leap", Step(data=True, stride=True, when=When.LANES, then="leap")),
        ("land", Step(Source.ADDRESS, Action.LAND, when=When.WRITES, then="land_write")),
        ("land_read", Step(when=When.SUMS, then="sum_bus", goto="read_bus")),
        ("land_write", Step(when=When.BLANK, then="paint", goto="first")),
        ("ended", Step(when=When.SUMS, then="total")),
        ("ended_too", Step(when=When.WRITES, then="answer", goto="accept")),
        # A checksum reads a word. What comes out in the end moves to the word, since the answer
        # needs a CRC itself.
        ("sum_bus", Step(bus=True, when=When.ERROR, then="write_failed")),
        (
            "sum",
            Step(
                Source.WORD,
                crc=True,
                data=True,
                word=True,
                advance=True,
                when=When.LANES,
                then="sum",
            ),
        ),
        ("summed", Step(when=When.UNFINISHED, then="sum_bus", goto="next")),
        *_crc("total", Step(Source.CRC, word=True)),
        ("totalled", Step(crc_init=True)),
        ("answer", replace(_EMIT, source=Source.OPERATION)),
        ("answer_nonce", replace(_EMIT, source=Source.NONCE)),
        ("answer_count", replace(_EMIT, source=Source.COUNT)),
        (
            "answer_sequence",
            replace(_EMIT, source=Source.SEQUENCE, when=When.FAILED, then="failure"),
        ),
        ("content", Step(when=When.WRITES, then="accept")),
        ("content_too", Step(when=When.SUMS, then="result")),
        # A read answers while it reads.
        ("read_bus", Step(bus=True, when=When.ERROR, then="read_failed")),
        (
            "read",
            replace(
                _EMIT,
                source=Source.WORD,
                data=True,
                word=True,
                advance=True,
                when=When.LANES,
                then="read",
            ),
        ),
        ("has_read", Step(when=When.UNFINISHED, then="read_bus", goto="next")),
        *_times("result", 4, replace(_EMIT, source=Source.WORD, word=True)),
        ("accept", Step(action=Action.ACCEPT, goto="status")),
        ("failure", replace(_EMIT, source=Source.EXPECTED)),
        *_times("failure_at", 4, replace(_EMIT, source=Source.ADDRESS, address=True)),
        ("status", replace(_EMIT, source=Source.STATUS)),
        *_crc("crc", Step(Source.CRC, emit=True)),
        ("end", Step(emit=True, action=Action.END)),
        ("release", Step(take=True, when=When.MORE, then="release", goto="drop")),
        _refuse("refuse_session", Status.SESSION),
        _refuse("refuse_stopped", Status.BUS_ERROR),
        _refuse("refuse_sequence", Status.SEQUENCE),
        _refuse("refuse_bad", Status.BAD_REQUEST),
        ("write_failed", Step(Status.BUS_ERROR, Action.STOP, crc_init=True, goto="answer")),
        ("read_failed", Step(Status.BUS_ERROR, Action.STOP, goto="failure")),
    ]
)


def assemble(program: Mapping[str, Step] | None = None) -> list[dict[str, int]]:
    """Assembles the microprogram: a list of words from address 0, each a dict of field values.

    Fields are ``source``, ``action``, ``when``, ``target`` and the flags of :class:`Step`. The step
    after one is at ``target``, with the lowest bit set if the condition holds. Unused addresses
    hold zeros, which is a step to address 0.

    Raises
    ------
    ValueError
        The program names a step that it has not, or is longer than 256.
    """
    program = PROGRAM if program is None else program
    places: dict[tuple[str, ...], int] = {("start",): 0}
    free = 2
    waiting: list[tuple[str, ...]] = [("start",)]
    words: dict[int, dict[str, int]] = {}
    while waiting:
        group = waiting.pop(0)
        for offset, name in enumerate(group):
            if name not in program:
                raise ValueError(f"the program has no step {name!r}")
            step = program[name]
            following: tuple[str, ...] = (step.goto, step.then) if step.when else (step.goto,)
            if following not in places:
                places[following] = free
                free += 2
                waiting.append(following)
            words[places[group] + offset] = {
                "source": int(step.source),
                "action": int(step.action),
                "when": int(step.when),
                "target": places[following],
                **{flag: int(getattr(step, flag)) for flag in Step.FLAGS},
            }
    if free > 256:
        raise ValueError(f"the program needs {free} steps, expected at most 256")
    empty = dict.fromkeys(words[0], 0)
    return [words.get(address, empty) for address in range(free)]
