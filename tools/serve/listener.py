# SPDX-License-Identifier: BSD-2-Clause
"""TCP endpoint for one host at a time; other hosts are refused at once, as are hosts without the
required token."""

import hmac
import select
import socket
import time

from ..link.address import address_text, resolve
from ..link.notices import LONGEST, Notice, decode_notice, encode_notice
from ..link.pipe import BytesLike
from .errors import ServeError

__all__ = ["SocketEndpoint", "is_loopback"]

BUSY = "busy: another program holds it"
NO_TOKEN = "it wants a token, as in socket://HOST:PORT?token=..."
WRONG_TOKEN = "the token is wrong"

#: Seconds for a caller to show its token, and for a refused one to read why.
GREETING, PARTING = 5.0, 2.0
#: Most connections greeted or refused at a time, beside the served one.
CALLERS = 32

#: How a request of HTTP begins. A page in a browser may send one anywhere, with a body of its
#: choice, which a board would take for frames.
_HTTP = tuple(
    f"{method} ".encode()
    for method in (
        "CONNECT",
        "DELETE",
        "GET",
        "HEAD",
        "OPTIONS",
        "PATCH",
        "POST",
        "PRI",
        "PUT",
        "TRACE",
    )
)


def _looks_like_http(data):
    """Whether a connection that begins with ``data`` speaks HTTP; ``None`` if more bytes are
    needed."""
    if data.startswith(_HTTP):
        return True
    return None if any(method.startswith(data) for method in _HTTP) else False


class _Caller:
    """A connection that is not served: its token is awaited, or, with ``refused``, its end, so that
    the refusal is not lost."""

    def __init__(self, connection, seconds):
        self.socket, self.until = connection, time.monotonic() + seconds
        self.heard, self.refused = bytearray(), False

    def fileno(self):
        return self.socket.fileno()


class SocketEndpoint:
    """TCP socket of a served board; ``port`` 0 picks a free one. ``name`` is
    ``socket://host:port``.

    Parameters
    ----------
    host : str
    port : int
    token : str or None
        What a host must show before it is served.

    Raises
    ------
    ServeError
        The address cannot be had.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        try:
            family, address = resolve(host, port, socket.AI_PASSIVE)[0]
            self._listener = socket.create_server(address, family=family)
        except OSError as error:
            raise ServeError(
                f"cannot listen on {address_text(host, port)}: {error.strerror or error}"
            ) from None
        self._listener.setblocking(False)
        self._token = token
        self._client, self._first = None, b""
        #: First bytes of the host, held while they may be the beginning of HTTP.
        self._opening = None
        self._callers: list[_Caller] = []
        self.name = f"socket://{address_text(host, self._listener.getsockname()[1])}"

    @property
    def connected(self) -> bool:
        """Whether a host is being served."""
        return self._client is not None

    def publish(self) -> None:
        """Does nothing: the socket is listening already, and early connections wait."""

    def receive(self, wait: float) -> tuple[bool, bytes]:
        """Waits at most ``wait`` seconds; returns whether the served host has left, and the bytes
        received from it or from the next host."""
        places: list[socket.socket | _Caller] = [
            self._listener,
            *self._callers,
            *([self._client] if self._client else []),
        ]
        ready = select.select(places, [], [], 0 if self._first else wait)[0]
        # Hosts that have left are removed before new ones are admitted.
        gone, data = self._from_client() if self._client in ready else (False, b"")
        for caller in [caller for caller in self._callers if caller in ready]:
            self._attend(caller)
        if self._listener in ready:
            self._accept()
        now = time.monotonic()
        for caller in [caller for caller in self._callers if caller.until < now]:
            self._dismiss(caller) if caller.refused else self._refuse(caller, NO_TOKEN)
        first, self._first = self._first, b""
        return gone, first + data

    def _from_client(self):
        data = bytearray()
        try:
            while len(data) < 1 << 20:
                piece = self._client.recv(65536)
                if not piece:
                    break
                data += piece
            else:
                return self._screened(bytes(data))
        except (BlockingIOError, InterruptedError):
            return self._screened(bytes(data))
        except OSError:
            pass
        self._drop()
        return True, b""

    def _screened(self, data):
        """Checks the first bytes of a host: returns whether it was refused, and the bytes for the
        board (none from a host that speaks HTTP)."""
        if self._opening is None:
            return False, data
        self._opening += data
        speaks_http = _looks_like_http(self._opening)
        if speaks_http is None:
            return False, b""
        data, self._opening = self._opening, None
        if speaks_http:
            self._drop()
            return True, b""
        return False, data

    def _drop(self):
        self._client.close()
        self._client, self._first, self._opening = None, b"", None

    def _accept(self):
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # it has gone already
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A host whose machine vanished would be served for ever.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        caller = _Caller(connection, GREETING)
        if len(self._callers) >= CALLERS:
            # The oldest that has said nothing, so that nobody is locked out by the silent.
            self._dismiss(min(self._callers, key=lambda other: bool(other.heard)))
        if self._token is None:
            self._admit(caller)
        else:
            self._callers.append(caller)
            self._attend(caller)

    def _admit(self, caller):
        if caller in self._callers:
            self._callers.remove(caller)
        if self._client is None:
            self._client, self._first = caller.socket, bytes(caller.heard)
            # A client that has shown the token is no page of a browser.
            self._opening = b"" if self._token is None else None
        else:
            self._refuse(caller, BUSY)

    def _attend(self, caller):
        try:
            data = caller.socket.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._dismiss(caller)
        elif not caller.refused:
            caller.heard += data
            self._judge(caller)

    def _judge(self, caller):
        """Accepts or refuses a connection by its first frame."""
        if _looks_like_http(bytes(caller.heard)):
            self._dismiss(caller)
            return
        start = bytes(caller.heard).lstrip(b"\0")
        greeting, end, _ = start.partition(b"\0")
        if not end and len(greeting) <= LONGEST:
            return
        notice = decode_notice(greeting)
        if notice is None or notice[0] != Notice.HELLO or not notice[1]:
            self._refuse(caller, NO_TOKEN)
        elif not hmac.compare_digest(notice[1], self._token.encode()):
            self._refuse(caller, WRONG_TOKEN)
        else:
            self._admit(caller)

    def _refuse(self, caller, reason):
        try:
            caller.socket.send(b"\0" + encode_notice(Notice.REFUSED, reason.encode()))
            caller.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self._dismiss(caller)
            return
        # Closed now, with words of it unread, the connection would be reset, and the reason lost.
        caller.refused, caller.until = True, time.monotonic() + PARTING
        if caller not in self._callers:
            self._callers.append(caller)

    def _dismiss(self, caller):
        caller.socket.close()
        if caller in self._callers:
            self._callers.remove(caller)

    def send(self, data: BytesLike) -> int:
        """Sends bytes and returns the number accepted, possibly 0; without a host all are
        accepted."""
        if self._client is None:
            return len(data)
        try:
            return self._client.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            return len(data)  # it has gone, which `receive` will find

    def forget(self) -> None:
        """Does nothing: unread bytes are dropped with their connection."""

    def wait_to_send(self, seconds: float) -> None:
        """Waits until the socket accepts data, at most ``seconds``."""
        if self._client is not None:
            select.select([], [self._client], [], seconds)

    def close(self) -> None:
        for caller in list(self._callers):
            self._dismiss(caller)
        if self._client is not None:
            self._drop()
        self._listener.close()


def is_loopback(host: str) -> bool:
    """Whether ``host`` is reachable only from this machine; raises ``ServeError`` if there is no
    such host."""
    import ipaddress

    try:
        places = resolve(host, 0)
    except OSError as error:
        raise ServeError(f"cannot listen on {host}: {error.strerror or error}") from None
    return all(
        ipaddress.ip_address(address[0].partition("%")[0]).is_loopback for _, address in places
    )
