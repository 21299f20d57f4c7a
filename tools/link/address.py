# SPDX-License-Identifier: BSD-2-Clause
"""Socket addresses as text: ``HOST:PORT`` or ``[::1]:PORT``."""

import socket
from typing import Any

__all__ = ["address_text", "parse_address", "resolve"]


def parse_address(text: str) -> tuple[str, int]:
    """The host (empty if none is given) and port of an address; raises ``ValueError`` if it is
    malformed."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("expected an IPv6 address in brackets, as in [::1]:7000")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536):
        raise ValueError("expected a port from 0 to 65535, or HOST:PORT")
    return host, int(port)


def address_text(host: str, port: int) -> str:
    """Formats an address as ``HOST:PORT``, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def resolve(
    host: str, port: int, flags: int = 0
) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    """TCP addresses of a host and port from ``getaddrinfo``, as a list of (family, address); raises
    ``OSError`` if there are none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:
        raise OSError("no name of a host") from None
    return [(family, address) for family, _, _, _, address in found]
