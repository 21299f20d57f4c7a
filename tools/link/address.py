# SPDX-License-Identifier: BSD-2-Clause
"""Addresses of sockets as they are written: ``HOST:PORT``, ``[::1]:PORT``."""

import socket

__all__ = ["address_text", "parse_address", "resolve"]


def parse_address(text):
    """Host (empty if none is named) and port; raises ``ValueError``."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("expected an IPv6 address in brackets, as in [::1]:7000")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 65536):
        raise ValueError("expected a port from 0 to 65535, or HOST:PORT")
    return host, int(port)


def address_text(host, port):
    """``HOST:PORT``, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def resolve(host, port, flags=0):
    """What ``getaddrinfo`` knows of TCP there, as a list of (family, address); ``OSError`` if
    nothing."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:
        raise OSError("no name of a host") from None
    return [(family, address) for family, _, _, _, address in found]
