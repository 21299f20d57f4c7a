# SPDX-License-Identifier: BSD-2-Clause
"""Opens the pipe of a port's name."""

from .serial_pipe import BAUD, SerialPipe
from .socket_pipe import SCHEME, SocketPipe

__all__ = ["open_pipe"]


def open_pipe(name, *, baud=BAUD):
    """The pipe of a port's name, which raises ``OSError`` or ``ValueError`` if it cannot be
    opened."""
    return SocketPipe(name) if name.startswith(SCHEME) else SerialPipe(name, baud=baud)
