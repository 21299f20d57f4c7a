# SPDX-License-Identifier: BSD-2-Clause
"""Protocol test with frames that a correct host rarely or never sends: damaged frames, wrong
numbers, runs, bus errors. A board's answers are compared with the link's model."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...gateware.info import INFO_BASE
from ...gateware.link.protocol import ANSWER, INFO_BYTES, Operation, Status
from ..link.device_model import DeviceModel, WordMemory
from ..link.errors import LinkError
from ..link.frames import Answer, Decoder, Request, frame
from ..link.pipe import BytePipe
from ..selftest.finding import Finding

if TYPE_CHECKING:
    from ...gateware.soc import SoC

__all__ = ["exchange"]

#: Of our session; its second byte is counted by the board.
_NONCE = 0x5A
#: Bytes that a board's buffer takes while it is busy.
_AT_ONCE = 900
#: Address that nothing answers.
_NOBODY = 0x7FFF_F00C
#: Cycles of a bit above which a line is slow: its frames are no longer than what they test needs.
_SLOW = 16
#: Silence, in bytes of the line, after which no answer comes any more, and cycles that the board
#: takes a byte it fills or sums up, or in vain for a bus cycle.
_SILENCE, _CYCLES = 40, 16_384


class _Exchange:
    """Frames sent together, and their answers, which are compared with
    :class:`~quintet.tools.link.device_model.DeviceModel`."""

    def __init__(self, pipe, soc):
        self._pipe, self.size = pipe, soc.backing.size
        self.slow = soc.clock_hz > _SLOW * 10 * pipe.bytes_per_second
        info = WordMemory(len(soc.info) + 3 & ~3, INFO_BASE)
        info.data[: len(soc.info)] = soc.info
        self.model = DeviceModel([WordMemory(self.size), info])
        self._out, self._expected = bytearray(), bytearray()
        self._silence = _SILENCE / pipe.bytes_per_second + _CYCLES / soc.clock_hz

    def open(self):
        """Opens a session, for which the board chooses the second byte and the next request number.
        Returns the other fields of the answer."""
        self._pipe.write(
            b"\0" + Request(Operation.IDENTIFY, length=INFO_BYTES).encode(bytes([_NONCE, 0]), 0)
        )
        found = self._collect(None)
        answers = [
            answer
            for contents in Decoder().feed(found)
            if (answer := Answer.decode(contents)) is not None
        ]
        if len(answers) != 1 or found[-1:] != b"\0":
            raise LinkError(
                f"no answer to identify at {self._pipe.name}, but {len(found)} bytes"
                if found
                else f"no answer to identify at {self._pipe.name}"
            )
        self.model.session, self.model.expected = answers[0].session, answers[0].sequence
        return answers[0].data

    def say(self, encoded):
        """Sends raw bytes."""
        self._out += encoded
        self._expected += self.model.feed(encoded)

    def ask(self, operation, address=0, length=0, data=b"", run=0, stride=0, off=0, session=None):
        """Sends a valid request whose number differs by ``off`` from the expected one."""
        request = Request(operation, address & 0xFFFF_FFFF, length, data, run, stride)
        self.say(request.encode(session or self.model.session, self.model.expected + off))

    def odd(self, operation, rest):
        """Sends a frame with a valid number followed by the contents ``rest``."""
        self.say(
            frame(struct.pack("<B2sB", operation, self.model.session, self.model.expected) + rest)
        )

    @property
    def full(self):
        return len(self._out) > _AT_ONCE - 64 or len(self._expected) > _AT_ONCE

    def flush(self):
        """Compares all answers with the model's: ``None`` if equal, else a description of the
        difference."""
        out, expected = bytes(self._out), bytes(self._expected)
        self._out, self._expected = bytearray(), bytearray()
        self._pipe.write(out)
        found = self._collect(len(expected), len(out))
        ours, theirs = _answers(found), _answers(expected)
        if ours == theirs and len(found) == len(expected):
            return None
        at, pair = next(
            (
                (k, pair)
                for k, pair in enumerate(zip(ours, theirs, strict=False))
                if pair[0] != pair[1]
            ),
            (0, None),
        )
        return f"{len(ours)} answers of {len(theirs)}, {len(found)} bytes of {len(expected)}" + (
            f"; answer {at} is {pair[0]}, expected {pair[1]}" if pair else ""
        )

    def _collect(self, wanted, sent=INFO_BYTES):
        """Receives bytes until there are ``wanted`` (``None``: until no more arrive)."""
        found = bytearray()
        while wanted is None or len(found) < wanted:
            part = self._pipe.read(4096, self._silence + sent / self._pipe.bytes_per_second)
            if not part:
                break
            found += part
        return bytes(found)


def _answers(sent):
    """Decodes answers from a board's bytes, with meaningless address fields cleared."""
    found = [Answer.decode(contents) for contents in Decoder().feed(sent)]
    return [
        answer
        and replace(
            answer,
            address=(answer.address or 0) & ~3 if answer.status == Status.BUS_ERROR else None,
        )
        for answer in found
    ]


def exchange(pipe: BytePipe, soc: SoC) -> Iterator[Finding]:
    """Runs the protocol test; yields one finding per kind of frame.

    Parameters
    ----------
    pipe : pipe of a board that has just been switched on
    soc : SoC in it

    Raises
    ------
    LinkError
        It does not even identify itself.
    """
    talk, rng = _Exchange(pipe, soc), random.Random(2)
    header = talk.open()
    good = header == soc.info[:INFO_BYTES]
    yield Finding(
        "link",
        "header",
        good,
        "as it was built" if good else f"{header.hex()}, expected {soc.info[:INFO_BYTES].hex()}",
    )
    for name, part in (
        ("damaged frames", _damaged),
        ("numbers and sessions", _numbers),
        ("requests that are none", _odd),
        ("runs", _runs),
        ("addresses", _addresses),
        ("sums", _sums),
        ("bus errors", _bus_errors),
        ("long frames", _long),
    ):
        wrong = next((wrong for _ in part(talk, rng) if (wrong := talk.flush()) is not None), None)
        yield Finding(
            "link", name, wrong is None, "as the protocol has them" if wrong is None else wrong
        )


# Each says what goes together, and yields.


def _damaged(talk, rng):
    """Tests damaged frames, which are dropped without an answer; the next frame is answered."""
    talk.ask(Operation.WRITE, 0x40, data=rng.randbytes(21))
    good = Request(Operation.READ, 0x40, 21).encode(talk.model.session, talk.model.expected)
    for place in range(1, len(good) - 1, 2):
        bit = good[place] ^ 1 << place % 8
        talk.say(good[:place] + bytes([bit or 0x80]) + good[place + 1 :])
    talk.say(good[:7] + b"\0\0\0" + good[9:])
    talk.say(frame(bytes([ANSWER | Operation.READ]) + bytes(9)))
    talk.say(good)
    yield


def _numbers(talk, rng):
    """Tests sequence numbers. A repeated request is answered again, but a repeated write is not
    executed again; requests ahead of the sequence and of other sessions are ignored."""
    talk.ask(Operation.WRITE, 0x61, data=rng.randbytes(9))
    talk.ask(Operation.WRITE, 0x61, data=rng.randbytes(9), off=-1)
    for off in (-1, -2, -3, -5, -9, -17, -33, -65, -128, 1, 2, 4, 8, 16, 32, 64, 85, 127):
        talk.ask(Operation.READ, 0x61, 9, off=off)
    yield
    session = talk.model.session
    for bit in range(0, 16, 3):
        other = (int.from_bytes(session, "little") ^ 1 << bit).to_bytes(2, "little")
        talk.ask(Operation.READ, 0x61, 9, session=other)
    talk.ask(Operation.CHECKSUM, 0x61, 9)
    yield
    # Numbers wrap; a write is executed only where the board counts as the host does.
    while talk.model.expected != 3 and not talk.slow:
        talk.ask(Operation.WRITE, 0x61, data=rng.randbytes(1))
        if talk.model.expected != 3:
            talk.ask(Operation.READ, 0x61, 1)
        if talk.full or talk.model.expected == 3:
            yield


def _odd(talk, rng):
    for operation in (8, 0x11, 0x22, 0x44, 0x7F):
        talk.odd(operation, struct.pack("<IH", 0x61, 9))
    talk.odd(Operation.WRITE, struct.pack("<I", 0x61))
    talk.odd(Operation.READ, struct.pack("<I", 0x61))
    talk.odd(Operation.READ, struct.pack("<IB", 0x61, 9))
    talk.odd(Operation.FILL, bytes(4) + struct.pack("<BhI", 4, 0, 0x61))
    talk.odd(Operation.CHECKSUM_STRIDED, struct.pack("<BhI", 4, 0, 0x61))
    talk.ask(Operation.READ, 0x61, 9)
    yield


def _runs(talk, rng):
    """Tests runs of all lengths modulo a word, at all offsets in a word, forwards and backwards,
    near and far."""
    far = min(0x2004, talk.size // 8 - 4)
    for run, stride, at in (
        (1, 3, 0x200),
        (2, 7, 0x241),
        (3, 5, 0x282),
        (5, 12, 0x303),
        (7, -11, 0x3F1),
        (9, far, 0x401),
        (6, -far - 3, 7 * talk.size // 8 + 2),
    ):
        size = 4 * run - run // 2
        talk.ask(Operation.WRITE_STRIDED, at, data=rng.randbytes(size), run=run, stride=stride)
        talk.ask(Operation.READ_STRIDED, at, size, run=run, stride=stride)
        talk.ask(Operation.CHECKSUM_STRIDED, at, size, run=run, stride=stride)
        talk.ask(Operation.FILL, at + 1, size - run, rng.randbytes(4), run, stride)
        talk.ask(Operation.READ_STRIDED, at, size, run=run, stride=stride)
        if talk.full:
            yield
    yield


def _addresses(talk, rng):
    """Tests the address lines with words across every power of two, so that each line is high and
    low and each carry occurs. Address 0, which a stuck line confuses with the others, comes last;
    all words are written before they are read."""
    places = [
        *((1 << n) - 3 for n in range(3, talk.size.bit_length()) if (1 << n) + 4 <= talk.size),
        0,
    ]
    for place in places:
        talk.ask(Operation.WRITE, place, data=rng.randbytes(6 if place else 4))
        if talk.full:
            yield
    for place in places:
        talk.ask(Operation.READ, place, 6 if place else 4)
        if talk.full:
            yield
    yield


def _sums(talk, rng):
    """Tests checksums that take longer than a refresh of the memory chip, and one of the whole info
    ROM."""
    talk.ask(Operation.FILL, 0x400, min(2560, talk.size - 0x400), rng.randbytes(4), 256, 256)
    talk.ask(Operation.CHECKSUM, 0x3FF, min(2560, talk.size - 0x400))
    talk.ask(Operation.CHECKSUM, INFO_BASE, len(talk.model.regions[1].data))
    yield


def _bus_errors(talk, rng):
    """Tests bus errors: the first one stops the session and is reported with its address; a new
    session continues."""
    for nonce, operation, length, data in (
        (0x33, Operation.READ, 9, b""),
        (0xC5, Operation.WRITE, 0, rng.randbytes(5)),
        (0x01, Operation.CHECKSUM, 77, b""),
    ):
        talk.ask(operation, _NOBODY + nonce % 4, length, data)
        talk.ask(Operation.READ, 0x61, 9)
        yield
        talk.say(Request(Operation.IDENTIFY, length=4).encode(bytes([nonce, 0]), 0))
        talk.ask(Operation.READ, 0x61, 9)
    yield


def _long(talk, rng):
    """Tests long frames: blocks of 254 bytes without a zero, both ways; on a fast line also a frame
    that is too long."""
    data = bytes(rng.randrange(1, 256) for _ in range(64 if talk.slow else 300))
    talk.ask(Operation.WRITE, 0x502, data=data)
    talk.ask(Operation.READ, 0x502, len(data))
    yield
    if not talk.slow:
        talk.say(bytes(rng.randrange(1, 256) for _ in range(1040)) + b"\0")
        talk.ask(Operation.READ, 0x502, 5)
        yield
