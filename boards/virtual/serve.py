# SPDX-License-Identifier: BSD-2-Clause
"""Offers a virtual board to other programs: on a pseudo-terminal, as a serial port, or on a TCP socket."""
import os
import select
import socket
import time

__all__ = ["PtyEndpoint", "ServeError", "SocketEndpoint", "serve"]

#: Cycles simulated at a time, so that the host's next bytes are not kept waiting.
SLICE = 20_000
#: After so many cycles with nothing to do the simulation rests until bytes come: longer than any request takes.
REST = 4_000_000
#: A host that takes nothing for so many seconds loses what the board sends, as on a wire.
PATIENCE = 1.0


class ServeError(Exception):
    """The place to serve on cannot be had; the message names it."""


class PtyEndpoint:
    """A pseudo-terminal. ``name`` is what a program opens: its device, or ``link``, a symbolic link to it.

    Raises
    ------
    ServeError
        This system has none, or the link cannot be made.
    """
    def __init__(self, link=None):
        try:
            import tty
            self._master, self._slave = os.openpty()
        except (ImportError, AttributeError, OSError) as error:
            raise ServeError(f"no pseudo-terminal here ({error}); serve on a socket") from None
        # Raw on our side; and held open, so that a program that closes it does not hang it up.
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self._device, self._link = os.ttyname(self._slave), None
        self.name = self._device
        if link is not None:
            if os.path.lexists(link) and not os.path.islink(link):
                self.close()
                raise ServeError(f"cannot make the link {link}: something else has this name")
            self.name = str(link)

    def publish(self):
        """Make the link: the board is ready."""
        if self.name == self._device:
            return
        try:
            if os.path.islink(self.name):
                os.unlink(self.name)
            os.symlink(self._device, self.name)
        except OSError as error:
            raise ServeError(f"cannot make the link {self.name}: {error.strerror or error}") from None
        self._link = self.name

    def fileno(self):
        return self._master

    def read(self):
        """What has come, possibly nothing."""
        try:
            return os.read(self._master, 65536)
        except (BlockingIOError, InterruptedError):
            return b""

    def write(self, data):
        """Bytes taken, perhaps none."""
        try:
            return os.write(self._master, data)
        except (BlockingIOError, InterruptedError):
            return 0

    def close(self):
        for handle in (self._master, self._slave):
            try:
                os.close(handle)
            except OSError:
                pass
        # Another server may have made the name its own since.
        if self._link is not None and os.path.islink(self._link) and os.readlink(self._link) == self._device:
            os.unlink(self._link)
        self._link = None


class SocketEndpoint:
    """A TCP socket, one client at a time; ``port`` 0: any that is free. ``name`` is ``socket://host:port``.

    Raises
    ------
    ServeError
        The address cannot be had.
    """
    def __init__(self, host="127.0.0.1", port=0):
        try:
            self._listener = socket.create_server((host, port))
        except (OSError, OverflowError) as error:
            raise ServeError(f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}") from None
        self._client = None
        self.name = f"socket://{host}:{self._listener.getsockname()[1]}"

    def publish(self):
        """Nothing: it is listening already, and who connects early waits."""

    def fileno(self):
        return (self._client or self._listener).fileno()

    def read(self):
        """What has come, possibly nothing; takes a new client where there is none."""
        if self._client is None:
            self._client, _ = self._listener.accept()
            self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._client.setblocking(False)
        try:
            data = self._client.recv(65536)
        except (BlockingIOError, InterruptedError):
            return b""
        except OSError:
            data = b""
        if not data:
            self._drop()
        return data

    def _drop(self):
        self._client.close()
        self._client = None

    def write(self, data):
        """Bytes taken, perhaps none; all of them where nobody is there to take any."""
        if self._client is None:
            return len(data)
        try:
            return self._client.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self._drop()
            return len(data)

    def close(self):
        if self._client is not None:
            self._drop()
        self._listener.close()


def serve(board, endpoint, stopped=lambda: False):
    """Carry bytes between ``endpoint`` and ``board`` until ``stopped()``, which is asked a few times a second.

    The board runs as fast as the machine simulates it while it has something to do, and rests otherwise: its clock is not the
    host's. A host counts cycles by the board's counter, and its deadlines are long against the answers of a simulation.

    Raises
    ------
    SimulationError
        A rule was broken in simulation.
    """
    active = board.cycle
    while not stopped():
        resting = not board.busy and not board.waiting and board.cycle - active > REST
        if select.select([endpoint], [], [], 0.1 if resting else 0)[0]:
            data = endpoint.read()
            if data:
                board.pipe.write(data)
                active = board.cycle
        elif resting:
            continue
        board.advance(SLICE, wanted=1 << 15, silence=board.pipe.silence)
        answers = board.pipe.take()
        if answers or board.busy or board.waiting:
            active = board.cycle
        _deliver(endpoint, answers, stopped)


def _deliver(endpoint, data, stopped):
    given_up = time.monotonic() + PATIENCE
    while data and not stopped():
        taken = endpoint.write(data)
        data = data[taken:]
        if taken:
            given_up = time.monotonic() + PATIENCE
        elif time.monotonic() > given_up:
            return
        else:
            select.select([], [endpoint], [], 0.05)
