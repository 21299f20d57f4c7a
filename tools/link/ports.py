# SPDX-License-Identifier: BSD-2-Clause
"""Opening of ports, serial or socket, by name."""

from .pipe import Pipe
from .serial_pipe import BAUD, SerialPipe
from .socket_pipe import SCHEME, SocketPipe

__all__ = ["open_pipe"]


def open_pipe(name: str, *, baud: int = BAUD) -> Pipe:
    """Opens the pipe named ``port``; raises ``OSError`` or ``ValueError`` if that is not
    possible."""
    return SocketPipe(name) if name.startswith(SCHEME) else SerialPipe(name, baud=baud)
