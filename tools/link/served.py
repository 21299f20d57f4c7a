# SPDX-License-Identifier: BSD-2-Clause
"""Client of a board's server: sends the hello notice, keeps the board's time, and reports a refusal
(docs/how/link.md, "Served boards")."""

import struct

from ..text import visible
from .errors import LinkError, RefusedError
from .frames import LONGEST
from .notices import Notice, decode_notice, encode_notice
from .pipe import BytePipe, BytesLike, Pipe

__all__ = ["ServedPipe"]

#: Longest silence in seconds of a server that reports the time, however busy its computer is.
PATIENCE = 30.0


class ServedPipe(Pipe):
    """A byte pipe that measures time by the board behind it, if a server reports that.

    A served board is simulated, faster or slower than the wall's clock goes on. Its server reports
    the board's time, and from then on
    :meth:`now`, the deadlines of :meth:`read` and so the repeats of ``LinkClient`` count that: what
    the board is still
    working through is never late. Without a server, at a board of its own, everything behaves as
    ``pipe`` alone.

    Parameters
    ----------
    pipe : Pipe
    token : str
        For a server that wants one.
    """

    def __init__(self, pipe: BytePipe, token: str = "") -> None:
        self._pipe = pipe
        self.name, self.bytes_per_second = pipe.name, pipe.bytes_per_second
        self._rest = bytearray()  # of a frame that has not ended
        self._heard = bytearray()  # what is for the client
        self._reported: float | None = None  # the board's time, once it was reported,
        self._ahead = 0.0  # and its lag behind the wall clock at that moment
        pipe.write(b"\0" + encode_notice(Notice.HELLO, token.encode()))

    @property
    def served(self) -> bool:
        return self._reported is not None

    def now(self) -> float:
        return self._pipe.now() if self._reported is None else self._reported + self._ahead

    def write(self, data: BytesLike) -> None:
        # Notices from before this call are outdated: the wait for an answer begins at the
        # board's present.
        while self.served and (told := self._pipe.read(1 << 16, 0)):
            self._sort(told)
        self._pipe.write(data)

    def read(self, limit: int, timeout: float) -> bytes:
        """Reads bytes as :meth:`Pipe.read` does. Raises ``RefusedError`` if the server refuses."""
        end = self.now() + timeout
        while not self._heard:
            self._listen(max(end - self.now(), 0))
            if self.now() >= end:
                break
        data = bytes(self._heard[:limit])
        del self._heard[:limit]
        return data

    def sleep(self, seconds: float) -> None:
        """Waits for ``seconds`` of :meth:`now`; bytes received meanwhile are kept for
        :meth:`read`."""
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            self._listen(left)

    def _listen(self, timeout):
        """Waits until bytes arrive; ``timeout`` applies if no server reports the time."""
        data = self._pipe.read(1 << 16, timeout if self._reported is None else PATIENCE)
        if not data and self._reported is not None:
            raise LinkError(f"{self.name}: the server has said nothing for {PATIENCE:g} s")
        self._sort(data)

    def _sort(self, data):
        """Separates notices, which are handled here, from frames for the client."""
        *frames, self._rest = (self._rest + data).split(b"\0")
        for encoded in frames:
            notice = decode_notice(encoded)
            if notice is None:
                self._heard += encoded + b"\0"
            elif notice[0] == Notice.TIME and len(notice[1]) == 8:
                self._tell(struct.unpack("<Q", notice[1])[0] * 1e-9)
            elif notice[0] == Notice.REFUSED:
                self.close()
                text = notice[1].decode("ascii", "replace")
                raise RefusedError(visible(text))
        if len(self._rest) > LONGEST:
            self._heard += self._rest  # no frame; the client counts what is damaged
            self._rest = bytearray()

    def _tell(self, seconds):
        if self._reported is None:
            self._ahead = self._pipe.now() - seconds
        # A server that was started again begins anew; time never runs back.
        elif seconds < self._reported:
            self._ahead += self._reported - seconds
        self._reported = seconds

    def close(self) -> None:
        self._pipe.close()
