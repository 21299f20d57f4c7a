# SPDX-License-Identifier: BSD-2-Clause
"""Server of virtual boards for other programs: on a pseudo-terminal, as a serial port, or on a TCP
socket (docs/how/link.md)."""

from .errors import ServeError
from .listener import SocketEndpoint
from .server import serve
from .terminal import PtyEndpoint

__all__ = ["PtyEndpoint", "ServeError", "SocketEndpoint", "serve"]
