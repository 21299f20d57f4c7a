# SPDX-License-Identifier: BSD-2-Clause
"""Server loop: transfers bytes between a virtual board and the hosts that connect to it."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from quintet.gateware.link.protocol import Operation, Status

from ..link.frames import Answer, Decoder, Request
from ..link.notices import LONGEST, Notice, decode_notice, encode_notice
from ..link.pipe import BytesLike

if TYPE_CHECKING:
    from ...boards.virtual.board import VirtualBoard

__all__ = ["serve"]

#: Wall seconds simulated at a time, so that neither the host's next bytes nor its end are kept
#: waiting.
SLICE = 0.01
#: After so many cycles with nothing to do the simulation rests until bytes come: longer than any
#: request takes.
REST = 4_000_000
#: Wall seconds between two looks while it rests, and at most between two notices of the board's
#: time.
LOOK = 0.05
#: A host that takes nothing for so many wall seconds loses what the board sends, as on a wire.
PATIENCE = 1.0
#: Bytes that wait for the board, beyond which a host's are lost (hosts keep to some thousand), and
#: that wait for the host, beyond which the board stands still.
BACKLOG, OUTBOX = 1 << 24, 1 << 16


class Endpoint(Protocol):
    """Endpoint to which hosts connect: a pseudo-terminal or a socket."""

    @property
    def connected(self) -> bool: ...

    def receive(self, wait: float) -> tuple[bool, bytes]: ...

    def send(self, data: BytesLike) -> int: ...

    def forget(self) -> None: ...

    def wait_to_send(self, seconds: float) -> None: ...


def serve(
    board: VirtualBoard,
    endpoint: Endpoint,
    stopped: Callable[[], bool] = lambda: False,
    *,
    framed: bool = True,
) -> None:
    """Transfers bytes between ``endpoint`` and ``board`` until ``stopped()``, which is called a few
    times per second.

    The board runs as fast as the machine simulates it while it has something to do, and rests
    otherwise. A host that says hello receives the board's time. Requests of a host that has left
    are dropped, and the next host gets none of its answers.

    Parameters
    ----------
    board : VirtualBoard
    endpoint : PtyEndpoint or SocketEndpoint
    framed : bool
        The board speaks the protocol of docs/how/link.md (and not UARTBone).

    Raises
    ------
    SimulationError
        A rule was broken in simulation.
    """
    server = _Server(board, endpoint, framed)
    while not stopped():
        server.turn()


class _Fence:
    """Filter that discards the board's bytes up to the answer to an identify request of the server;
    later bytes belong to the next host.

    The board answers in order. No host opens sessions of the first byte 0, and each fence asks for
    another number of bytes.
    """

    def __init__(self, number):
        self._length = number % 60 + 1
        self._decoder = Decoder()
        self.request = b"\0" + Request(Operation.IDENTIFY, length=self._length).encode(b"\0\0", 0)

    def passes(self, received):
        """Bytes after the answer, or ``None`` before it has arrived."""
        *frames, rest = received.split(b"\0")
        for place, encoded in enumerate(frames):
            for contents in self._decoder.feed(encoded + b"\0"):
                answer = Answer.decode(contents)
                if (
                    answer
                    and answer.operation == Operation.IDENTIFY
                    and answer.session[0] == 0
                    and (answer.status != Status.OK or len(answer.data) == self._length)
                ):
                    return b"\0".join([*frames[place + 1 :], rest])
        self._decoder.feed(rest)
        return None


class _Server:
    def __init__(self, board, endpoint, framed):
        self._board, self._endpoint, self._framed = board, endpoint, framed
        self._active = board.cycle  # cycle in which there last was something to do
        self._slice = 1000  # cycles at a time, as they fit into SLICE
        self._rested = (
            0.0  # seconds of the board's time in which nothing happened that had to be simulated
        )
        self._fence, self._fences = None, 0
        self._quiet = 0  # cycle in which the board last sent something that was discarded
        self._used = False  # the board has got something since the last host went
        self._reports = False  # the host wants the time
        self._frame = b""  # of the host's, not ended
        self._out = bytearray()  # for the host
        self._whole = True  # it ends with the end of a frame
        self._taken = self._reported = (
            0.0  # wall's time of the last byte that the host took, and of the last notice
        )

    def turn(self):
        board = self._board
        resting = (
            not board.busy
            and not board.waiting
            and self._fence is None
            and board.cycle - self._active > REST
        )
        began = time.monotonic()
        gone, data = self._endpoint.receive(LOOK if resting else 0)
        if gone:
            self._parted()
        if data:
            self._received(data)
        elif resting:
            self._rested += time.monotonic() - began
        answered = (data or not resting) and len(self._out) < OUTBOX and self._simulate()
        self._report(answered)
        self._deliver()

    def _received(self, data):
        """Handles bytes for the board. A hello notice among them begins a new host, even if the end
        of the previous one was not seen."""
        *frames, rest = (self._frame + data).split(b"\0")
        if self._framed:
            for place in reversed(range(len(frames))):
                notice = decode_notice(frames[place])
                if notice is not None and notice[0] == Notice.HELLO:
                    # A zero comes in front of every hello.
                    if self._used or place > 1 or any(frames[:place]):
                        self._parted()
                    # At once: the host's clock is the wall's until it hears the board's.
                    self._reports, self._reported = True, 0.0
                    self._report(False)
                    self._deliver()
                    data = b"\0".join([*frames[place + 1 :], rest])
                    break
            # A longer message is no hello.
            self._frame = rest if len(rest) <= LONGEST else b"\1" * (LONGEST + 1)
        if self._board.waiting < BACKLOG:
            self._used = self._used or len(data) > 1 or any(data)
            self._board.pipe.write(data)
        self._active = self._board.cycle

    def _parted(self):
        """Handles the departure of a host."""
        self._board.pipe.forget()
        self._endpoint.forget()
        # The next host may already have a part of the last frame: this ends it.
        self._out[:] = b"\0" * self._framed
        self._whole, self._reports, self._frame = True, False, b""
        self._fences += 1
        self._fence, self._used = _Fence(self._fences), False
        if self._framed:
            self._board.pipe.write(self._fence.request)
        self._active = self._quiet = self._board.cycle

    def _simulate(self):
        """Simulates the board; returns whether it has sent bytes for the host."""
        board = self._board
        before, began = board.cycle, time.monotonic()
        board.advance(self._slice, wanted=1 << 15, silence=board.pipe.silence)
        seconds, cycles = time.monotonic() - began, board.cycle - before
        if cycles >= self._slice:
            self._slice = max(500, min(2 * self._slice, int(cycles * SLICE / max(seconds, 1e-6))))
        answers = board.pipe.take()
        if answers or board.busy or board.waiting:
            self._active = board.cycle
        if self._fence is not None:
            answers = self._discard(answers)
        if answers:
            self._out += answers
            self._whole = answers[-1] == 0
        return bool(answers)

    def _discard(self, answers):
        """Removes answers to departed hosts from the board's output; returns the rest."""
        board = self._board
        if answers:
            self._quiet = board.cycle
        rest = self._fence.passes(answers) if self._framed else None
        # No request keeps the board silent for so long: it was reset, or does not answer identify.
        if rest is None and board.cycle - self._quiet < (
            REST // 4 if self._framed else 4 * board.pipe.silence
        ):
            return b""
        self._fence = None
        return rest or b""

    def _report(self, answered):
        now = time.monotonic()
        # Behind answers, so that a host that has one knows when; never inside of one.
        if (
            self._reports
            and self._whole
            and (answered or not self._out and now - self._reported >= LOOK)
        ):
            nanoseconds = round((self._board.cycle / self._board.clock_hz + self._rested) * 1e9)
            self._out += encode_notice(Notice.TIME, struct.pack("<Q", nanoseconds))
            self._reported = now

    def _deliver(self):
        if not self._out:
            self._taken = time.monotonic()
            return
        taken = self._endpoint.send(bytes(self._out))
        del self._out[:taken]
        now = time.monotonic()
        if taken:
            self._taken = now
        elif now - self._taken > PATIENCE:
            self._out[:] = b"\0"  # the end of what was cut off
            self._whole, self._taken = True, now
        elif len(self._out) >= OUTBOX:
            self._endpoint.wait_to_send(LOOK)
