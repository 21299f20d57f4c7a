# SPDX-License-Identifier: BSD-2-Clause
"""Byte pipe on a serial port."""

from .errors import LinkError
from .pipe import BytesLike, Pipe

__all__ = ["BAUD", "SerialPipe"]

#: Rate of the boards' UARTs.
BAUD = 3_000_000


class SerialPipe(Pipe):
    """A serial port, or any other URL that pyserial supports.

    Parameters
    ----------
    port : str
        ``/dev/ttyUSB0``, ``COM3``, ``rfc2217://...``, a pseudo-terminal.
    baud : int
        Bits a second.
    write_timeout : float
        Seconds after which a write that makes no way is a :class:`LinkError`.

    Raises
    ------
    OSError, ValueError
        The port cannot be opened. (What happens to it later is a :class:`LinkError`.)
    """

    def __init__(self, port: str, *, baud: int = BAUD, write_timeout: float = 5.0) -> None:
        import serial  # late: a program that only simulates need not have it

        self.name = port
        self._errors = (serial.SerialException, OSError)
        self._closed = self._doubted = False
        self._port = serial.serial_for_url(port, do_not_open=True)
        self._port.baudrate = baud
        self._port.timeout = 0
        self._port.write_timeout = write_timeout
        if "://" not in port:
            # Two programs that talk to one board at a time would each see the other's answers.
            self._port.exclusive = True
        self._port.open()
        if "://" not in port:
            self.bytes_per_second = baud / 10
            self._quicken()

    def _quicken(self):
        """Disables the 16 ms latency timer with which FTDI's USB serial converters delay short
        answers (Linux only)."""
        try:
            self._port.set_low_latency_mode(True)
        except (AttributeError, ValueError, NotImplementedError, *self._errors):
            pass

    def _vanished(self, error):
        self.close()
        return LinkError(f"{self.name} went away: {_reason(error)}")

    def write(self, data: BytesLike) -> None:
        if self._closed:
            raise LinkError(f"{self.name} is closed")
        try:
            view = memoryview(data)
            while view:
                view = view[self._port.write(view) :]
        except self._errors as error:
            raise self._vanished(error) from error

    def read(self, limit: int, timeout: float) -> bytes:
        if self._closed:
            raise LinkError(f"{self.name} is closed")
        data = b""
        try:
            waiting = self._port.in_waiting
            self._port.timeout = 0 if waiting else max(timeout, 0)
            data = self._port.read(min(limit, max(waiting, 1)))
            if data and not waiting:
                waiting = self._port.in_waiting
                if waiting and len(data) < limit:
                    self._port.timeout = 0
                    data += self._port.read(min(limit - len(data), waiting))
            self._doubted = False
            return bytes(data)
        except (*self._errors, TypeError) as error:
            if isinstance(error, OSError) and error.errno is None and not self._doubted:
                # Bytes that were announced and are not there: the port is gone, or a served board
                # discarded its last host's answers in between. A port that is gone says so again.
                self._doubted = True
                return bytes(data)
            # pyserial trips over its own None when another thread closes the port: a TypeError.
            raise self._vanished(error) from error

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._port.close()
        except self._errors:
            pass  # it is gone already, which is what was wanted


def _reason(error):
    """One line of an exception's text, without pyserial's own prefix."""
    text = str(error).strip() or type(error).__name__
    return " ".join(text.split())
