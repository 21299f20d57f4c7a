# SPDX-License-Identifier: BSD-2-Clause
"""Behavioural model of the board's end of the link: computes the bytes that a board answers
(docs/how/link.md).

For tests of the host without gateware, and of the gateware against the protocol.
"""

import zlib
from collections.abc import Iterable, Sequence

from quintet.gateware.link.protocol import ANSWER, INFO_ADDRESS, Operation, Status, stride_of

from .frames import Answer, Decoder
from .pipe import BytesLike

__all__ = ["DeviceModel", "WordMemory"]


class WordMemory:
    """A memory on the bus: ``size`` bytes from ``base``; other accesses are bus errors.

    Attributes
    ----------
    data : bytearray
    writes : int
        Bus cycles that wrote.
    """

    def __init__(self, size: int, base: int = 0) -> None:
        self.base, self.data, self.writes = base, bytearray(size), 0

    def covers(self, address: int) -> bool:
        """Whether the memory contains a byte at ``address``."""
        return 0 <= address - self.base < len(self.data)

    def read(self, address: int) -> bytes | None:
        """Reads the word at an aligned address; ``None`` is a bus error."""
        if not self.covers(address):
            return None
        return bytes(self.data[address - self.base : address - self.base + 4])

    def write(self, address: int, word: BytesLike, lanes: Sequence[int]) -> bool:
        """Writes the bytes of a word whose lane is enabled; returns ``False`` for a bus error."""
        if not self.covers(address):
            return False
        self.writes += 1
        for lane in range(4):
            if lanes[lane]:
                self.data[address - self.base + lane] = word[lane]
        return True


class DeviceModel:
    """Model of a board's link: takes received bytes, returns the bytes that the board sends.

    Parameters
    ----------
    regions : list of WordMemory
        What is on the bus.
    buffer : int
        Bytes of the receive buffer.
    """

    def __init__(
        self, regions: Iterable[WordMemory], *, info_address: int = INFO_ADDRESS, buffer: int = 1024
    ) -> None:
        self.regions = list(regions)
        self._info_address = info_address
        self._buffer = buffer
        self._encoded = bytearray()
        self._long = False
        self.reset()

    def reset(self) -> None:
        """Resets the link as a board reset does; memory keeps its contents."""
        self.session = b"\0\0"
        self.expected = 0
        self.stopped = None  # address of the failure
        self.executed = 0

    def feed(self, received: BytesLike) -> bytes:
        """Processes received bytes; returns the bytes that the board sends in answer."""
        answers = bytearray()
        for byte in received:
            if byte:
                self._encoded.append(byte)
                if len(self._encoded) == self._buffer - 1:
                    self._encoded.clear()
                    self._long = True
                continue
            for contents in Decoder().feed(bytes(self._encoded) + b"\0"):
                if not self._long:
                    answers += self._request(contents)
            self._encoded.clear()
            self._long = False
        return bytes(answers)

    def _region(self, address):
        return next((region for region in self.regions if region.covers(address)), None)

    def _read(self, address, length):
        """Reads up to the first bus error; returns the data and the address of the error."""
        data = bytearray()
        at, end = address & ~3, address + length
        while at < end:
            region = self._region(at & 0xFFFF_FFFC)
            word = region.read(at & 0xFFFF_FFFC) if region else None
            if word is None:
                return bytes(data[address & 3 :]), at & 0xFFFF_FFFC
            data += word
            at += 4
        return bytes(data[address & 3 :][:length]), None

    def _write(self, address, data):
        padded = bytes(address & 3) + data + bytes(-(address + len(data)) % 4)
        used = [False] * (address & 3) + [True] * len(data) + [False] * (-(address + len(data)) % 4)
        for offset in range(0, len(padded), 4):
            at = ((address & ~3) + offset) & 0xFFFF_FFFC
            region = self._region(at)
            if region is None or not region.write(
                at, padded[offset : offset + 4], used[offset : offset + 4]
            ):
                return at
        return None

    def _execute(self, operation, runs, data):
        """Executes a request, run by run; returns the data and the address of a bus error."""
        found = b""
        for address, size in runs:
            if operation.writes:
                failed = self._write(address, bytes(data[:size]))
                data = data[size:]
            else:
                more, failed = self._read(address, size)
                found += more
            if failed is not None:
                return found, failed
        return found, None

    @staticmethod
    def _runs(address, length, run, stride):
        """Address and size of each run of ``length`` bytes; the last may be shorter."""
        for done in range(0, length, run):
            yield address & 0xFFFF_FFFF, min(run, length - done)
            address += stride

    def _request(self, contents):
        if len(contents) < 8 or contents[0] & ANSWER:
            return b""
        operation, session, sequence = Operation(contents[0] & 7), contents[1:3], contents[3]
        unknown, rest = contents[0] > 7, contents[4:]
        pattern = shape = b""
        if operation == Operation.FILL:
            pattern, rest = rest[:4], rest[4:]
        if operation.strided:
            shape, rest = rest[:3], rest[3:]
        address, body = int.from_bytes(rest[:4], "little"), rest[4:]
        identify = operation == Operation.IDENTIFY
        if identify:
            if session[0] != self.session[0]:
                self.session = bytes([session[0], (self.session[1] + 1) & 0xFF])
                self.stopped = None
            session, sequence, address = self.session, self.expected, self._info_address

        def answer(status, data=b"", address=None):
            return Answer(
                operation,
                self.session,
                sequence,
                status,
                data,
                self.expected,
                address if address is not None else 0,
            ).encode()

        distance = (sequence - self.expected) & 0xFF
        if session != self.session:
            return answer(Status.SESSION)
        if self.stopped is not None:
            return answer(Status.BUS_ERROR, address=self.stopped)
        if 0 < distance < 128:
            return answer(Status.SEQUENCE)
        if unknown or not body or (not operation.carries and len(body) != 2):
            return answer(Status.BAD_REQUEST)
        if operation.writes and distance:
            return answer(Status.OK)

        length = len(body) if operation.carries else int.from_bytes(body, "little") or 65536
        runs = [(address, length)]
        if operation.strided:
            run = shape[0] or 256
            runs = self._runs(
                address,
                length,
                run,
                stride_of(run, int.from_bytes(shape[1:], "little", signed=True)),
            )
        if operation == Operation.FILL:
            # Each byte of the pattern has its lane.
            runs = [*runs]
            body = b"".join((pattern * (size // 4 + 2))[at & 3 :][:size] for at, size in runs)
        data, failed = self._execute(operation, runs, body)
        if failed is not None:
            self.stopped = failed
            return answer(Status.BUS_ERROR, b"" if operation.sums else data, failed)
        if operation.sums:
            data = zlib.crc32(data).to_bytes(4, "little")
        if distance == 0 and not identify:
            self.executed += 1
            self.expected = (self.expected + 1) & 0xFF
            # The answer carries no number of its own; only failures show the one expected.
        return answer(Status.OK, data)
