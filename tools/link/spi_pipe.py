# SPDX-License-Identifier: BSD-2-Clause
"""Byte pipe over the transfers of an SPI link (docs/how/link.md, "SPI")."""

from __future__ import annotations

import re
import time
from typing import Protocol

from ...gateware.link.spi_format import HEADER, MARK, MOST, SPACE_UNIT
from ...gateware.requirements import extra_command
from .errors import LinkError
from .pipe import BytesLike, Pipe

__all__ = ["SCHEME", "SPIBus", "SPIPipe", "SpidevBus"]

#: Of the names of such ports.
SCHEME = "spi:"
#: Bytes for the host that a transfer has place for, if the host does not know of any that wait: a
#: short answer.
_GUESS = 16
#: Longest rest in seconds between two questions of a host that waits.
_REST = 0.001


class SPIBus(Protocol):
    """What carries the transfers: a device of the system's, or a virtual board's wires.

    ``transfer`` selects the board, exchanges bytes with it, and deselects it; ``wait`` returns when
    bytes may wait for the host, at the latest after so many seconds of ``now``, ``sleep`` after
    them; ``hz`` is the clock's frequency.
    """

    name: str
    hz: int

    def transfer(self, data: bytes) -> bytes: ...

    def wait(self, seconds: float) -> None: ...

    def sleep(self, seconds: float) -> None: ...

    def now(self) -> float: ...

    def close(self) -> None: ...


class SPIPipe(Pipe):
    """A pipe of bytes over transfers of at most 258 bytes.

    A transfer carries bytes both ways: those that :meth:`write` was given, as many as the board has
    announced space for, and those that the board has for the host.

    Parameters
    ----------
    bus : SPIBus
    write_timeout : float
        Seconds after which a write that makes no way is a :class:`LinkError`.
    """

    def __init__(self, bus: SPIBus, *, write_timeout: float = 5.0) -> None:
        self._bus, self.name = bus, bus.name
        self._write_timeout = write_timeout
        self._came = bytearray()
        self._space = 0  # bytes that the board surely takes
        self._waits = 0  # bytes that surely wait for the host
        self._closed = False
        self.bytes_per_second = bus.hz / 8 * MOST / (MOST + HEADER)

    def _exchange(self, data, least=0):
        """One transfer that gives the board ``data`` and has place for ``least`` bytes from it;
        returns whether a board was there."""
        wanted = max(least, self._waits)
        size = HEADER + min(MOST, max(len(data), wanted))
        sent = bytes((0, 0, len(data))) + data
        got = self._bus.transfer(sent.ljust(size, b"\0"))
        if got[0] != MARK:
            self._space = self._waits = 0
            return False
        # The space was counted before this transfer's own bytes.
        self._space = got[1] * SPACE_UNIT - len(data)
        here = got[HEADER : HEADER + got[2]]
        self._came += here
        self._waits = got[2] - len(here)
        return True

    def _check_open(self):
        if self._closed:
            raise LinkError(f"{self.name} is closed")

    def ask(self) -> None:
        """Raises :class:`LinkError` if no board is on the wires: for a host that opens them."""
        self._check_open()
        found = self._bus.transfer(bytes(HEADER))
        if found[0] != MARK:
            raise LinkError(
                f"no board on {self.name}: expected {MARK:#04x} as the first byte of a transfer, "
                f"found {found[0]:#04x}; check wires, chip select and mode 0"
            )

    def write(self, data: BytesLike) -> None:
        self._check_open()
        view, given_up = bytes(data), self.now() + self._write_timeout
        while view:
            part = view[: max(0, min(self._space, MOST))]
            if self._exchange(part) and part:
                view = view[len(part) :]
                given_up = self.now() + self._write_timeout
            elif self.now() > given_up:
                raise LinkError(
                    f"{self.name}: the board has taken nothing for {self._write_timeout:g} s"
                )

    def read(self, limit: int, timeout: float) -> bytes:
        self._check_open()
        until, rest = self.now() + timeout, _GUESS * 8 / self._bus.hz
        while not self._came:
            self._exchange(b"", _GUESS)
            left = until - self.now()
            if self._came or left <= 0:
                break
            if not self._waits:
                self._bus.wait(min(rest, left))
                rest = min(2 * rest, _REST)
        found = bytes(self._came[:limit])
        del self._came[:limit]
        return found

    def now(self) -> float:
        return self._bus.now()

    def sleep(self, seconds: float) -> None:
        self._bus.sleep(seconds)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._bus.close()


class SpidevBus:
    """A device of Linux's spidev, as ``/dev/spidev0.0``.

    Raises
    ------
    OSError
        There is no such device, or it may not be opened.
    ValueError
        The name is not that of such a device, or the library spidev is missing.
    """

    def __init__(self, path: str, hz: int) -> None:
        number = re.fullmatch(r"/dev/spidev(\d+)\.(\d+)", path)
        if number is None:
            raise ValueError(f"{path}: expected /dev/spidevBUS.DEVICE")
        try:
            import spidev  # late: only hosts with such wires have it
        except ImportError:
            raise ValueError(
                f"the library spidev, which speaks to it, is missing: {extra_command('spi')}"
            ) from None
        self.name, self.hz = f"{SCHEME}{path}", hz
        self._device = spidev.SpiDev()
        self._device.open(int(number[1]), int(number[2]))
        try:
            self._device.max_speed_hz = hz
            self._device.mode = 0
        except BaseException:
            self._device.close()
            raise

    def transfer(self, data: bytes) -> bytes:
        try:
            return bytes(self._device.xfer2(list(data)))
        except OSError as error:
            raise LinkError(f"{self.name} went away: {error.strerror or error}") from error

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)  # no wire says when bytes wait

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self._device.close()
