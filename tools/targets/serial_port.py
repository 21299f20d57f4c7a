# SPDX-License-Identifier: BSD-2-Clause
"""Opens a board on a serial port, SPI wires or a socket, or finds one (``auto``)."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ...gateware.suggestions import MOST
from ..errors import NoDeviceError, TargetError, close_names

if TYPE_CHECKING:
    from serial.tools.list_ports_common import ListPortInfo

    from .link import LinkTarget

__all__ = [
    "Identity",
    "candidates",
    "identities",
    "meant_targets",
    "open_port",
    "port_options",
    "public_name",
]


@dataclass(frozen=True)
class Identity:
    """A USB serial bridge of known boards: its name, the baud rates of boards that use it, and the
    interface that carries the link."""

    name: str
    rates: tuple[int, ...]
    interface: int | None = None


@cache
def identities() -> dict[tuple[int, int], Identity]:
    """Known bridges, (vendor, product) -> :class:`Identity`: those of all supported boards, and
    quintet's own USB device."""
    from ...boards import board_names, open_board
    from ...boards.board import UARTLink
    from ...gateware.link.usb.identity import PRODUCT_ID, VENDOR_ID

    found = {(VENDOR_ID, PRODUCT_ID): Identity("quintet link", ())}
    for board in map(open_board, board_names()):
        for bridge in board.bridges:
            key = bridge.vendor, bridge.product
            before = found.get(key)
            rates = set(before.rates if before else ())
            if isinstance(board.link, UARTLink):
                rates.add(board.link.baud)
            found[key] = Identity(bridge.name, tuple(sorted(rates, reverse=True)), bridge.interface)
    return found


def candidates() -> list[ListPortInfo]:
    """Serial ports that may belong to a known board: ports of known bridges; for a bridge with
    several interfaces only that of the link."""
    from serial.tools import list_ports

    found = []
    for port in list_ports.comports():
        identity = identities().get((port.vid, port.pid))
        if identity is None:
            continue
        # Where the system says which interface a port is, as in 1-2:1.1.
        interface = re.search(r":\d+\.(\d+)$", port.location or "")
        if (
            identity.interface is None
            or interface is None
            or int(interface[1]) == identity.interface
        ):
            found.append(port)
    return sorted(found, key=lambda port: port.device)


def public_name(text: str) -> str:
    """A target's name for messages and reports, with its token hidden."""
    return re.sub(r"(?i)(?<=[?&]token=)[^&]*", "..", text)


def open_port(port: str) -> LinkTarget:
    """Opens ``port`` as a :class:`~.link.LinkTarget`.

    Raises
    ------
    NoDeviceError
        Nothing of that name, or it may not be opened; the message says how to put it right.
    LinkError
        It does not speak the protocol.
    """
    if port == "auto":
        return _find()
    return _open(port)


def _open(port):
    from ..link.client import LinkClient
    from ..link.errors import RefusedError
    from ..link.ports import open_pipe
    from ..link.served import ServedPipe
    from .link import LinkTarget

    place, rate, deadline, token = port_options(port)
    try:
        pipe = open_pipe(place, **rate)
    except (OSError, ValueError) as error:
        raise NoDeviceError(f"cannot open {place}: {_reason(error, place)}") from None
    try:
        return LinkTarget(
            client=LinkClient(ServedPipe(pipe, token), **deadline), name=public_name(port)
        )
    except RefusedError as error:
        raise NoDeviceError(f"cannot open {place}: {error}") from None
    except BaseException:
        pipe.close()
        raise


def port_options(port: str) -> tuple[str, dict[str, Any], dict[str, Any], str]:
    """Parses a port with options, ``/dev/ttyUSB0?baud=115200&timeout=10``: port, baud rate,
    deadline for answers, token. Of ``spi:/dev/spidev0.0?speed=8000000`` the rate is the clock.

    Raises
    ------
    TargetError
        An option that there is not, or an impossible value.
    """
    from ..link.address import parse_address
    from ..link.notices import TOKEN
    from ..link.socket_pipe import SCHEME
    from ..link.spi_pipe import SCHEME as SPI_SCHEME

    shown = public_name(port)
    place, mark, query = port.rpartition("?")
    if not mark or "=" not in query:
        place, query = port, ""
    pipe, client, token = {}, {}, ""
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name == ("speed" if place.startswith(SPI_SCHEME) else "baud"):
            if not (value.isascii() and value.isdigit()) or int(value) == 0:
                unit = "bits a second" if name == "baud" else "Hz"
                raise TargetError(f"target {shown}: {name} = {value}: expected a number of {unit}")
            pipe[name] = int(value)
        elif name == "timeout":
            if not re.fullmatch(r"\d+(\.\d+)?", value) or not 0 < float(value) <= 3600:
                raise TargetError(
                    f"target {shown}: timeout = {value}: expected seconds, more than 0 and at "
                    f"most 3600"
                )
            client["timeout"] = float(value)
        elif name == "token" and place.startswith(SCHEME):
            if not TOKEN.fullmatch(value):
                raise TargetError(
                    f"target {shown}: token: expected 8 to 128 letters, digits, and . _ ~ -"
                )
            token = value
        else:
            raise TargetError(
                f"target {shown}: {name}: expected baud=N or timeout=SECONDS for a port, "
                f"speed=HZ for SPI, token=TEXT for a socket"
            )
    if place.startswith(SCHEME):
        try:
            host, number = parse_address(place.removeprefix(SCHEME))
        except ValueError:
            host, number = None, 0
        if not host or not number:
            raise TargetError(
                f"target {place}: expected socket://HOST:PORT with a port from 1 to 65535"
            )
    return place, pipe, client, token


def _reason(error, place):
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return f"no such port{meant_targets(place)} (quintet doctor lists the ports there are)"
    if number in (errno.EACCES, errno.EPERM):
        return "permission denied (quintet doctor says how to get it)"
    if number in (errno.EBUSY, errno.EWOULDBLOCK):
        return "another program holds it"
    # pyserial's errors have no text of the system's own.
    return " ".join((getattr(error, "strerror", None) or str(error)).split())


def meant_targets(place: str) -> str:
    """The end of the message about a name that is no port's: the targets that it may stand for,
    such as the virtual board of a board's name."""
    from ...boards import board_names
    from ...gateware.cores import core_names

    kind, _, name = place.rpartition(":")  # "simm:" is a misspelt kind of target
    board, slash, isa = name.partition("/")
    meant = close_names(board, board_names(), MOST)
    if meant:
        isas = close_names(isa, core_names(), 1) if slash else []
        core = isas[0] if isas else "ISA"
        meant = [f"sim:{board}/{core}" for board in meant]
    elif not slash:
        meant = [f"model:{isa}" for isa in close_names(name, core_names(), 1)]
        meant += [] if kind else close_names(name, ("auto", "model"), 1)
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def _ask(port):
    """Identifies the board on a port; tries the baud rates of all boards with its bridge.

    Raises
    ------
    LinkError
        It does not answer at any; that of the first rate.
    """
    from ..link.errors import LinkError
    from ..link.serial_pipe import BAUD

    identity = identities().get((port.vid, port.pid))
    silent = None
    for rate in (identity.rates if identity else ()) or (BAUD,):
        try:
            return _open(port.device if rate == BAUD else f"{port.device}?baud={rate}")
        except LinkError as error:
            silent = silent or error
    raise silent


def _shown(port):
    """Name of a port in messages."""
    identity = identities().get((port.vid, port.pid))
    return f"{port.device} ({identity.name})" if identity else port.device


def _find():
    from ..link.errors import LinkError

    found, tried = [], []
    for port in candidates():
        try:
            found.append(_ask(port))
        except (LinkError, NoDeviceError) as error:
            tried.append(f"{_shown(port)}: {error}")
    if len(found) == 1:
        return found[0]
    for target in found:
        target.close()
    if found:
        raise NoDeviceError(
            "several boards are attached: name one of "
            + ", ".join(f"{t.name} ({t.info.board})" for t in found)
        )
    raise NoDeviceError("no board found" + (f" ({'; '.join(tried)})" if tried else _others()))


def _others():
    """Remainder of the error if no port belongs to a known bridge."""
    from serial.tools import list_ports

    others = [port.device for port in list_ports.comports() if port.vid is not None]
    if not others:
        return ": no USB serial port is attached"
    return (
        f": no USB serial port is that of a known board; name one of "
        f"{', '.join(sorted(others))} if it is"
    )
