# SPDX-License-Identifier: BSD-2-Clause
"""Byte pipe on a TCP socket."""

import select
import socket
import time

from .address import parse_address, resolve
from .errors import LinkError
from .pipe import BytesLike, Pipe

__all__ = ["SCHEME", "SocketPipe"]

SCHEME = "socket://"


class SocketPipe(Pipe):
    """A TCP connection to ``socket://HOST:PORT``.

    Parameters
    ----------
    name : str
    connect_timeout, write_timeout : float
        Seconds; after those of a write that makes no way it is a :class:`LinkError`.

    Raises
    ------
    ValueError
        The name is malformed.
    OSError
        Nothing listens there. (What happens to the connection later is a :class:`LinkError`.)
    """

    def __init__(
        self, name: str, *, connect_timeout: float = 5.0, write_timeout: float = 5.0
    ) -> None:
        self.name = name
        self._write_timeout = write_timeout
        host, port = parse_address(name.removeprefix(SCHEME))
        self._socket = _connect(resolve(host or "localhost", port), connect_timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._socket.setblocking(False)

    def _open(self):
        if self._socket is None:
            raise LinkError(f"{self.name} is closed")
        return self._socket

    def _vanished(self, reason):
        self.close()
        return LinkError(f"{self.name} went away: {reason}")

    def write(self, data: BytesLike) -> None:
        connection, view = self._open(), memoryview(data)
        given_up = time.monotonic() + self._write_timeout
        while view:
            try:
                view = view[connection.send(view) :]
                given_up = time.monotonic() + self._write_timeout
            except BlockingIOError:
                if time.monotonic() > given_up:
                    raise self._vanished(
                        f"it has taken nothing for {self._write_timeout:g} s"
                    ) from None
                select.select([], [connection], [], 0.1)
            except OSError as error:
                # The last words of the other side can still be read, and say why it left.
                if not select.select([connection], [], [], 0)[0]:
                    raise self._vanished(error.strerror or error) from error
                return

    def read(self, limit: int, timeout: float) -> bytes:
        connection = self._open()
        try:
            if not select.select([connection], [], [], max(timeout, 0))[0]:
                return b""
            data = connection.recv(limit)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._vanished(error.strerror or error) from error
        except ValueError as error:  # another thread has closed it
            raise self._vanished(error) from error
        if not data:
            raise self._vanished("the other side closed the connection")
        return data

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _connect(places, timeout):
    refused = None
    for family, address in places:
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            refused = error
    raise refused
