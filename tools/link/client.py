# SPDX-License-Identifier: BSD-2-Clause
"""Host side of the link: calls, made of requests that are repeated until they are answered
(docs/how/link.md)."""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral

from quintet.gateware.link.protocol import (
    FIRST_STRIDED,
    INFO_BYTES,
    MAX_DATA,
    MAX_RUN,
    VERSION,
    Operation,
    Status,
    step_of,
)

from .access import Access
from .call import Call
from .crc import combine
from .errors import BoardError, LinkError
from .frames import Answer, Decoder, Request, join_writes
from .pipe import BytePipe, BytesLike
from .timing import RoundTrips

__all__ = ["LinkClient"]

#: Addresses below this are main memory, where a write may be repeated.
MEMORY_END = 0x8000_0000

#: Bytes of one checksum or fill request: few enough that the board's answer never takes long, on a
#: simulated board too.
UNSEEN = 8192
#: Operation -> the same in runs, and the chunks of a frame that one request covers (0:
#: :data:`UNSEEN` bytes).
_REQUESTS = {
    Operation.READ: (Operation.READ_STRIDED, 2),
    Operation.WRITE: (Operation.WRITE_STRIDED, 1),
    Operation.CHECKSUM: (Operation.CHECKSUM_STRIDED, 0),
}
#: So many of them are in flight: a USB bridge may keep each answer for 16 ms, and a board goes over
#: all of them within 30.
UNSEEN_AT_ONCE = 16

#: Of the control block (docs/how/contracts.md, section 3): registers and bits for a reset of the
#: core.
CONTROL, CORE_RESET = 0x10, 4
STATUS, BUSY = 0x14, 1


class LinkClient:
    """Client of the link protocol: reads and writes a board's memory and registers.

    Parameters
    ----------
    pipe : Pipe
        Where to.
    timeout : float
        Seconds, in the pipe's time, that a call waits for an answer to any of its requests; then it
        ends with a :class:`LinkError`.
    retry : float
        Seconds of silence after which the unanswered requests are sent again. To it is added what
        the line needs for the bytes in flight. Of a board whose time a server tells, these are the
        most: it is learnt from round trips (``timing.py``).
    window : int
        Bytes of data in flight; limited to what the line carries in 30 ms.
    chunk : int
        Data bytes of a request, at most 512 for a write; reads are twice as long.
    checksum_rate : float
        Bytes a second that the slowest board checks or fills; a simulated one is slow.
    seed : int or None
        For the choice of sessions; ``None``: by chance.

    Attributes
    ----------
    repeats : int
        Requests sent again so far.
    traffic : list of int
        Bytes on the line so far: to the board and back, repeats left out.
    damaged : int
        Frames that came in damaged since the first answer to identify: what comes before may be the
        rest of one for another host, which opening the port cut off.
    """

    def __init__(
        self,
        pipe: BytePipe,
        *,
        timeout: float = 2.0,
        retry: float = 0.1,
        window: int = 8192,
        chunk: int = MAX_DATA,
        checksum_rate: float = 40_000,
        seed: int | None = None,
    ) -> None:
        for name, value in (
            ("timeout", timeout),
            ("retry", retry),
            ("window", window),
            ("checksum_rate", checksum_rate),
        ):
            if not value > 0:
                raise ValueError(f"{name} = {value!r}: expected a positive number")
        if not 1 <= chunk <= MAX_DATA:
            raise ValueError(f"chunk = {chunk!r}: expected 1 to {MAX_DATA}")
        self.pipe = pipe
        self.repeats = 0
        self.traffic = [0, 0]
        self._timeout = timeout
        self._retry = retry
        self._window = window
        self._checksum_rate = checksum_rate
        self._chunk = chunk
        if pipe.bytes_per_second:
            # A board whose host dies answers what was in flight before it hears the next host.
            self._window = min(window, int(pipe.bytes_per_second * 0.03))
            self._chunk = max(16, min(chunk, self._window // 4))
        self._random = random.Random(seed)
        self._decoder = Decoder()
        self._nonce = self._random.randrange(1, 256)
        self._session = None  # two bytes, once identify was answered
        self._next = 0  # number of the next request
        self._turn = 0
        self._answered = False  # an identify of ours was, ever
        self._idle = (
            True  # nothing was sent since the last call: noise may stand before the next frame
        )
        self._header = None
        self._trips = RoundTrips()

    @property
    def damaged(self) -> int:
        """Frames received with a wrong checksum (see the class)."""
        return self._decoder.damaged

    @property
    def quiet(self) -> bool:
        """Whether every request so far was answered, in other words no call has ended early since
        the session began."""
        return self._session is not None

    def close(self) -> None:
        """Closes the pipe."""
        self.pipe.close()

    # Calls

    def identify(self) -> bytes:
        """Opens a new session and returns the 64 bytes of the board's info header.

        Raises
        ------
        LinkError
            No answer in time, no quintet board, or a protocol of another version.
        """
        self._session = None
        header = self._open(new=True).data
        if len(header) != INFO_BYTES or header[:4] != b"QNTT":
            raise LinkError(
                f"what answers at {self.pipe.name} is no quintet board: its info header begins "
                f"with "
                f"{header[:4].hex(' ')}"
            )
        (version,) = struct.unpack_from("<H", header, 4)
        if not 1 <= version <= VERSION:
            raise LinkError(
                f"the board at {self.pipe.name} speaks version {version} of the link protocol, "
                f"this program "
                f"versions 1 to {VERSION}"
            )
        self._header = header
        return header

    def read(
        self,
        address: int,
        size: int,
        run: int | None = None,
        stride: int = 0,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> bytes:
        """Reads one :class:`~.access.Access` of memory or registers; arguments as there. Raises as
        :meth:`transfer`."""
        return self.transfer([Access(address, size, run, stride)], progress=progress)[0]

    def write(
        self,
        address: int,
        data: BytesLike,
        run: int | None = None,
        stride: int = 0,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Writes one :class:`~.access.Access`; arguments as there. Raises as :meth:`transfer`."""
        self.transfer([Access(address, run=run, stride=stride, data=data)], progress=progress)

    def transfer(
        self,
        accesses: Sequence[Access],
        *,
        progress: Callable[[int], object] | None = None,
    ) -> list[bytes]:
        """Executes accesses, all of them reads or all of them writes, in order and all in flight at
        once; returns the bytes of each (of a write none).

        Consecutive writes of one range each, of equal length and at equal distance, share a strided
        request. A board without strided requests gets one request per run. ``progress``, if given,
        is called with the number of bytes that have arrived, again and again.

        Raises
        ------
        BoardError
            The bus answered with an error (``address`` names the word).
        LinkError
            No answer in time.
        """
        if len({access.writes for access in accesses}) > 1:
            raise ValueError("accesses: expected reads or writes, found both")
        together: Sequence[Access | Request] = accesses
        if len(accesses) > 1 and accesses[0].writes and self._strided:
            together = join_writes(accesses, self._chunk)
        requests = [[one] if isinstance(one, Request) else self._requests(one) for one in together]
        parts = iter(self._call([request for some in requests for request in some], progress))
        return [b"".join(next(parts) for _ in some) for some in requests]

    def checksum(
        self,
        address: int,
        size: int,
        run: int | None = None,
        stride: int = 0,
        *,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """CRC-32 (that of ``zlib.crc32``) of the bytes that :meth:`read` reads, computed on the
        board. Raises as :meth:`transfer`."""
        requests = self._requests(Access(address, size, run, stride), Operation.CHECKSUM)
        crc = 0
        for request, data in zip(
            requests, self._call(requests, progress, limit=UNSEEN_AT_ONCE), strict=True
        ):
            crc = combine(crc, int.from_bytes(data, "little"), request.length)
        return crc

    def fill(
        self,
        address: int,
        size: int,
        value: int | BytesLike = 0,
        *,
        stride: int | None = None,
        count: int = 1,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Writes ``value`` into each of ``size`` bytes from ``address``, or into each byte of
        ``count`` runs of ``size`` bytes, ``stride`` apart.

        ``value`` is a byte (0 to 255), or bytes, which are repeated from the beginning of each run
        on. A pattern whose length is not 1, 2 or 4 or does not divide ``stride``, and a board that
        has no fill, take as many bytes on the line as are filled. Raises as
        :meth:`transfer`.
        """
        pattern = self._pattern(value)
        self._check(address, size)
        if not size:
            return
        stride = size if stride is None else stride
        runs = self._runs(Access(address, size * count, size, stride))
        if 4 % len(pattern) or (count > 1 and stride % len(pattern)) or not self._strided:
            once = (pattern * (size // len(pattern) + 1))[:size]
            self.write(address, once * count, size, stride, progress=progress)
            return
        # Each byte of the pattern has its lane of a word.
        lanes = bytes(pattern[lane - address & len(pattern) - 1] for lane in range(4))
        requests = [
            Request(
                Operation.FILL,
                place,
                length,
                lanes,
                **(group or {"run": MAX_RUN, "stride": MAX_RUN}),
            )
            for place, length, group in self._grouped(runs, UNSEEN)
        ]
        self._call(requests, progress, limit=UNSEEN_AT_ONCE)

    @staticmethod
    def _pattern(value):
        if isinstance(value, Integral):
            if not 0 <= value <= 255:
                raise ValueError(f"value = {value}: expected a byte, 0 to 255, or bytes")
            return bytes([value])
        if not len(value):
            raise ValueError("value = b'': expected a byte, 0 to 255, or at least one byte")
        return bytes(value)

    @property
    def _strided(self):
        """Whether the board supports strided requests."""
        return struct.unpack_from("<H", self._header or self.identify(), 4)[0] >= FIRST_STRIDED

    def _requests(self, access, operation=Operation.READ):
        """Requests of an access; ``operation``: of one that is no write."""
        runs, data = self._runs(access), access.data
        operation = Operation.WRITE if access.writes else operation
        if not access.size:
            return []
        strided, chunks = _REQUESTS[operation]
        found, at = [], 0
        for where, size, group in self._grouped(runs, chunks * self._chunk if chunks else UNSEEN):
            found.append(
                Request(
                    strided if group else operation,
                    where,
                    **({"length": size} if data is None else {"data": data[at : at + size]}),
                    **group,
                )
            )
            at += size
        return found

    def _runs(self, access):
        """Checks the runs of an access: address, bytes per run, stride, number. Adjacent runs are
        merged."""
        self._check(access.address, access.span)
        run, stride, count = access.runs
        return (
            (access.address, run * count, stride * count, 1)
            if stride == run and count
            else (access.address, run, stride, count)
        )

    def _grouped(self, runs, most):
        """Groups runs into requests of at most ``most`` bytes: address, bytes and run fields of
        each. A request covers several whole runs, or a part of one."""
        address, run, stride, count = runs
        together = (
            most // run
            if count > 1 and run <= MAX_RUN and step_of(run, stride) is not None and self._strided
            else 1
        )
        if together > 1:
            for first in range(0, count, together):
                yield (
                    address + first * stride,
                    min(together, count - first) * run,
                    {"run": run, "stride": stride},
                )
            return
        for place in range(address, address + count * stride, stride):
            for at in range(0, run, most):
                yield place + at, min(most, run - at), {}

    def read_word(self, address: int) -> int:
        """Reads a 32-bit register or word."""
        return int.from_bytes(self.read(address, 4), "little")

    def write_word(self, address: int, value: int) -> None:
        """Writes a 32-bit register or word."""
        self.write(address, (value & 0xFFFF_FFFF).to_bytes(4, "little"))

    def reset_core(self) -> None:
        """Resets the core and waits until it is ready.

        Raises
        ------
        LinkError
            The board has no core, or the core stays busy for ``timeout``.
        """
        control, size = struct.unpack_from("<2I", self._header or self.identify(), 24)
        if not size:
            raise LinkError("the board has no core to reset")
        self.write_word(control + CONTROL, CORE_RESET)
        end = self.pipe.now() + self._timeout
        while self.read_word(control + STATUS) & BUSY:
            if self.pipe.now() > end:
                raise LinkError(f"the core is still busy {self._timeout:g} s after its reset")

    @staticmethod
    def _check(address, size):
        if not 0 <= address < 2**32:
            raise ValueError(f"address = {address:#x}: expected 0 to 0xffffffff")
        if not 0 <= size <= 2**32 - address:
            raise ValueError(
                f"size = {size}: expected 0 to {2**32 - address} at address {address:#x}"
            )

    def _count(self, requests):
        for request in requests:
            for way, size in enumerate(request.line_bytes):
                self.traffic[way] += size

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Context manager: calls made within it are not counted in ``traffic``."""
        before = list(self.traffic)
        try:
            yield
        finally:
            self.traffic[:] = before

    def count(self, access: Access) -> None:
        """Adds to ``traffic`` the bytes that a transfer that bypasses the link would have
        carried."""
        self._count(self._requests(access))

    # Sessions

    def _open(self, *, new):
        """Opens a session, or joins the existing one, by an identify request; returns the
        answer."""
        if new:
            self._nonce = self._nonce % 255 + 1
        request = Request(Operation.IDENTIFY, length=INFO_BYTES)
        start = self.pipe.now()
        sent, tries, stopped = None, 0, 0
        while True:
            now = self.pipe.now()
            if now - start >= self._timeout:
                raise LinkError(
                    f"no answer to identify from {self.pipe.name} for {now - start:.3g} s "
                    f"({tries} tries): is the "
                    "board configured, and are port and rate right?"
                )
            if sent is None or now - sent >= self._retry:
                self._idle = True
                self._send(request.encode(bytes([self._nonce, 0]), 0))
                self.repeats += tries > 0
                sent = self.pipe.now()
                start = start if tries else sent
                tries += 1
            for answer in self._receive(min(sent + self._retry, start + self._timeout)):
                if answer.operation != Operation.IDENTIFY or answer.session[0] != self._nonce:
                    continue
                if not new:
                    return answer
                if answer.status == Status.OK:
                    if not self._answered:
                        self._answered, self._decoder.damaged = True, 0
                    self._session, self._next = answer.session, answer.sequence
                    return answer
                # By chance the last host used the same byte, and its session has stopped; or there
                # is no info ROM.
                stopped += 1
                if stopped > 1:
                    raise BoardError(
                        "the board cannot read its info ROM: bus error at "
                        f"{answer.address & ~3:#010x}",
                        address=answer.address & ~3,
                    )
                self._nonce = self._nonce % 255 + 1
                sent = None
                break

    def _send(self, encoded):
        self.pipe.write(b"\0" + encoded if self._idle else encoded)
        self._idle = False

    def _receive(self, until):
        """Receives answers; waits until ``until`` at the latest."""
        # A wait too short for the clock to show it would never reach its end.
        received = self.pipe.read(65536, max(1e-4, until - self.pipe.now()))
        answers = (Answer.decode(contents) for contents in self._decoder.feed(received))
        return [answer for answer in answers if answer is not None]

    # Requests in flight

    def _call(self, requests, progress=None, limit=64):
        """Executes a call, whose requests are all writes or contain none, in order; returns the
        data of the answers."""
        results, lost = [], 0
        self._count(requests)
        while len(results) < len(requests):
            if self._session is None:
                self._open(new=True)
            call = Call(
                self,
                requests[len(results) :],
                limit,
                self._session,
                self._next,
                progress,
                sum(request.span for request in requests[: len(results)]),
            )
            # Whatever ends this call early: what is in flight may still be executed, and a new
            # session keeps it apart from what follows.
            session, self._session = self._session, None
            results += call.run()
            if call.complete:
                self._session, self._next = session, call.following_number
                continue
            # Another session: the board was reset, or another host came. What was written before
            # may be gone then, but that is known only above: here a request is lost if it cannot
            # simply be made again.
            lost += 1
            request = requests[len(results)]
            if lost > 3 or request.operation.writes and request.end > MEMORY_END:
                raise LinkError(
                    f"{self.pipe.name}: the board was reset, or another program opened its "
                    f"link; whether the "
                    f"{request} was executed is not known"
                )
        return results
