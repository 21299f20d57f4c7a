# SPDX-License-Identifier: BSD-2-Clause
"""One call of the link client: a list of requests (all writes, or none), several in flight, each
repeated until it is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quintet.gateware.link.protocol import Status

from .errors import BoardError, LinkError
from .frames import Request

if TYPE_CHECKING:
    from .client import LinkClient

__all__ = ["Call"]

#: Bytes that a request and its answer have besides data: contents, COBS, the frame's zero.
ROUND = 40


@dataclass
class _Flight:
    """A request in flight: when it was last sent, counted in transmissions of the call and in the
    pipe's time, and its number of transmissions."""

    request: Request
    encoded: bytes
    turn: int = 0
    times: int = 0
    sent: float = 0.0

    @property
    def weight(self):
        return len(self.request.data) + self.request.answer_data + ROUND


class Call:
    """The requests of one call and their transmission state. ``following_number`` is the first
    sequence number after them.

    ``run`` returns the data of the answers. If the board turns out to be in another session,
    ``complete`` is false and only the first requests, up to the first one without an answer, have
    theirs.
    """

    def __init__(
        self,
        client: LinkClient,
        requests: Sequence[Request],
        limit: int,
        session: bytes,
        base: int,
        progress: Callable[[int], object] | None,
        finished: int,
    ) -> None:
        self._client = client
        self._pipe = client.pipe
        self._requests = requests
        self._limit = limit
        self._session = session
        self._base = base  # number of request 0
        self._progress = progress
        self._finished = finished  # bytes, of earlier attempts too
        self._total = finished + sum(request.span for request in requests)
        self._results: dict[int, bytes] = {}  # by request: data of its answer
        self._first = 0  # all requests before this one are answered
        self._fresh = 0  # first request that was not sent yet
        self._flights: dict[int, _Flight] = {}  # by request: sent and not answered
        self._weight = 0  # bytes in flight
        self._unseen = 0  # bytes that the board goes over while the line rests
        self._turn = 0
        self._silences = 0  # times that all were sent again since the last answer
        self._gap: int | None = None  # request that was last sent again since the board missed it,
        self._echoes = 0  # and how many refusals are still due from before that
        self.complete = False

    @property
    def following_number(self) -> int:
        return self._base + len(self._requests) & 0xFF

    def run(self) -> list[bytes]:
        """Sends the requests until all are answered; returns the data of their answers, in
        order."""
        client, pipe = self._client, self._pipe
        client._idle = True
        self._fill()  # which may report a served board's time anew
        heard = self._repeated = pipe.now()
        while self._first < len(self._requests):
            self._fill()
            # Twice as long after each silence: a board that is slow (a simulated one is) must not
            # drown in repeats.
            patience = self._patience() * (1 << min(self._silences, 4))
            until = min(max(heard, self._repeated) + patience, heard + client._timeout)
            for answer in client._receive(until):
                index = self._index(answer.sequence)
                flight = self._flights.get(index)
                if flight is None or flight.request.operation != answer.operation:
                    continue
                if answer.status == Status.SESSION:
                    if answer.session == self._session:
                        continue  # to a frame of another session, which came late
                    if not self._still_ours():
                        return self._answered()
                    self._again(self._flights)
                    break
                if answer.session != self._session:
                    continue
                if answer.status == Status.OK:
                    if len(answer.data) == flight.request.answer_data:
                        heard, self._silences = pipe.now(), 0
                        self._take(index, answer)
                else:
                    self._refused(index, answer)
            now = pipe.now()
            if self._first == len(self._requests):
                break
            if now - heard >= client._timeout:
                raise LinkError(
                    f"no answer from {pipe.name} to the "
                    f"{self._flights[min(self._flights)].request} for "
                    f"{now - heard:.3g} s (limit {client._timeout:g} s, repeated "
                    f"{self._silences} times); "
                    f"{self._finished} of {self._total} bytes of this call are done"
                )
            if now - max(heard, self._repeated) >= patience:
                client._idle = True
                self._gap = None
                self._silences += 1
                self._again(self._flights)
        self.complete = True
        return self._answered()

    def _answered(self) -> list[bytes]:
        return [self._results[index] for index in range(self._first)]

    def _patience(self):
        """Retransmission timeout: seconds of silence after which the requests in flight count as
        lost."""
        client, rate = self._client, self._pipe.bytes_per_second
        most = (
            client._retry
            + (self._weight / rate if rate else 0)
            + self._unseen / client._checksum_rate
        )
        if not self._pipe.served:
            return most
        # A second of a served board's time lasts long, and nothing but its work delays answers.
        return max(
            client._trips.patience(flight.weight, flight.request.unseen, most)
            for flight in self._flights.values()
        )

    def _index(self, number):
        """Index of the request with this sequence number. Numbers of requests answered long ago
        give an index after all those in flight."""
        return self._first + (number - self._base - self._first & 0xFF)

    def _fill(self):
        """Sends as many new requests as the window allows."""
        while self._fresh < len(self._requests) and len(self._flights) < self._limit:
            request = self._requests[self._fresh]
            flight = _Flight(request, request.encode(self._session, self._base + self._fresh))
            if self._flights and self._weight + flight.weight > self._client._window:
                break
            # Numbers must distinguish requests in flight from answered ones.
            if self._fresh - self._first >= 100:
                break
            self._flights[self._fresh] = flight
            self._weight += flight.weight
            self._unseen += request.unseen
            self._send(self._fresh)
            self._fresh += 1

    def _send(self, index):
        flight = self._flights[index]
        self._turn += 1
        self._client.repeats += flight.times > 0
        flight.turn, flight.times = self._turn, flight.times + 1
        self._client._send(flight.encoded)
        flight.sent = self._pipe.now()

    def _again(self, indices):
        self._repeated = self._pipe.now()
        for index in sorted(indices):
            self._send(index)

    def _take(self, index, answer):
        flight = self._flights.pop(index)
        self._weight -= flight.weight
        self._unseen -= flight.request.unseen
        self._results[index] = answer.data
        while self._first in self._results:
            self._first += 1
        if flight.times == 1:
            self._client._trips.take(
                flight.weight, flight.request.unseen, self._pipe.now() - flight.sent
            )
            # Answers come in the order of the requests: one that was overtaken is lost.
            self._again(
                [other for other in self._flights if self._flights[other].turn < flight.turn]
            )
        self._finished += flight.request.span
        if self._progress is not None:
            self._progress(self._finished)

    def _refused(self, index, answer):
        if answer.status == Status.BUS_ERROR:
            failed = self._requests[min(self._index(answer.expected), len(self._requests) - 1)]
            raise BoardError(
                f"bus error at {answer.address & ~3:#010x}, in the {failed}",
                address=answer.address & ~3,
            )
        if answer.status == Status.BAD_REQUEST:
            raise LinkError(f"the board does not know the request: {self._requests[index]}")
        # The board missed a request, and refuses all after it. One refusal is enough to send them
        # all again; each of the others that were on their way gives one more.
        lost = self._index(answer.expected)
        if lost not in self._flights:
            return
        if lost == self._gap and self._echoes:
            self._echoes -= 1
            return
        self._gap = lost
        self._echoes = sum(other > index for other in self._flights)
        self._again([other for other in self._flights if other >= lost])

    def _still_ours(self):
        """Whether the board still serves our session."""
        answer = self._client._open(new=False)
        return answer.session == self._session and (
            answer.status != Status.OK or self._first <= self._index(answer.sequence) <= self._fresh
        )
