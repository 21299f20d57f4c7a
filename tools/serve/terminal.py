# SPDX-License-Identifier: BSD-2-Clause
"""Pseudo-terminal endpoint: appears as a serial port to the programs that open it."""

import os
import select
import time

from ..link.pipe import BytesLike
from .errors import ServeError

__all__ = ["PtyEndpoint"]

#: Seconds between two looks at a terminal that nobody has open.
LOOK = 0.02


class PtyEndpoint:
    """Pseudo-terminal of a served board. ``name`` is the path that a program opens: the device, or
    ``link``, a symbolic link to it.

    Raises
    ------
    ServeError
        This system has none, or the link cannot be made.
    """

    def __init__(self, link: str | None = None) -> None:
        try:
            import tty

            self._master, slave = os.openpty()
        except (ImportError, AttributeError, OSError) as error:
            raise ServeError(f"no pseudo-terminal here ({error}); serve on a socket") from None
        # Raw, which it stays; and closed on our side, so that we see when nobody has it open.
        tty.setraw(slave)
        self._device = os.ttyname(slave)
        self._link: str | None = None
        os.close(slave)
        os.set_blocking(self._master, False)
        self.connected = self._closed = False
        self.name = self._device
        if link is not None:
            if os.path.lexists(link) and not os.path.islink(link):
                self.close()
                raise ServeError(f"cannot make the link {link}: something else has this name")
            self.name = str(link)

    def publish(self) -> None:
        """Creates the link once the board is ready."""
        if self.name == self._device:
            return
        try:
            if os.path.islink(self.name):
                os.unlink(self.name)
            os.symlink(self._device, self.name)
        except OSError as error:
            raise ServeError(
                f"cannot make the link {self.name}: {error.strerror or error}"
            ) from None
        self._link = self.name

    def receive(self, wait: float) -> tuple[bool, bytes]:
        """Waits at most ``wait`` seconds; returns whether the connected program has closed the
        terminal, and the bytes received from the next one since."""
        if not self.connected:
            wait = min(wait, LOOK)
            time.sleep(wait)  # a terminal that nobody has open always seems to have something
        elif not select.select([self._master], [], [], wait)[0]:
            return False, b""
        data = bytearray()
        try:
            while len(data) < 1 << 20:
                piece = os.read(self._master, 65536)
                if not piece:
                    return self._left()
                data += piece
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            return self._left()
        self.connected = True
        return False, bytes(data)

    def _left(self):
        """Discards unread bytes of both directions, since no host has the terminal open."""
        gone, self.connected = self.connected, False
        return gone, b""

    def forget(self) -> None:
        """Discards sent bytes that no program has read."""
        import termios

        try:
            # First the bytes that the system has not handed on yet: else they would come after the
            # flush of the rest, from the middle of a frame on.
            termios.tcflush(self._master, termios.TCOFLUSH)
            slave = os.open(self._device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            termios.tcflush(slave, termios.TCIFLUSH)
            os.close(slave)
        except (OSError, termios.error):
            pass

    def send(self, data: BytesLike) -> int:
        """Sends bytes and returns the number accepted, possibly 0; without a connected program all
        are accepted."""
        if not self.connected:
            return len(data)
        try:
            return os.write(self._master, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return len(data)

    def wait_to_send(self, seconds: float) -> None:
        """Waits until the terminal accepts data, at most ``seconds``."""
        select.select([], [self._master], [], seconds)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._master)
        # Another server may have made the name its own since.
        if (
            self._link is not None
            and os.path.islink(self._link)
            and os.readlink(self._link) == self._device
        ):
            os.unlink(self._link)
        self._link = None
