# SPDX-License-Identifier: BSD-2-Clause
"""Opens a board on a serial port, a socket, or wherever ``auto`` finds one."""
import errno
import re

from ..errors import NoDeviceError, TargetError

__all__ = ["candidates", "open_port"]

#: USB vendor and product of the serial bridges on the boards quintet builds for.
KNOWN_USB = {
    (0x0403, 0x6015): "FT231X (ULX3S)", (0x0403, 0x6010): "FT2232H (iCEBreaker, HX8K)", (0x0403, 0x6014): "FT232H",
    (0x0403, 0x6001): "FT232R", (0x1D50, 0x602B): "iCELink", (0x1D50, 0x6130): "iCELink", (0x1209, 0x5BF0): "OrangeCrab",
    (0x1A86, 0x7523): "CH340", (0x1A86, 0x55D4): "CH9102", (0x10C4, 0xEA60): "CP210x", (0x16D0, 0x0F3B): "LUNA",
}


def candidates():
    """Ports that may be a board: those with a known serial bridge first, then every other USB one."""
    from serial.tools import list_ports
    ports = [port for port in list_ports.comports() if port.vid is not None]
    ports.sort(key=lambda port: ((port.vid, port.pid) not in KNOWN_USB, port.device))
    return ports


def open_port(port):
    """A :class:`~.link.LinkTarget` on ``port``.

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
    from ..link.pipe import open_pipe
    from .link import LinkTarget
    place, rate, deadline = _options(port)
    try:
        pipe = open_pipe(place, **rate)
    except (OSError, ValueError) as error:
        raise NoDeviceError(f"cannot open {place}: {_reason(error)}") from None
    client = LinkClient(pipe, **deadline)
    try:
        return LinkTarget(client=client, name=port)
    except BaseException:
        client.close()
        raise


def _options(port):
    """``/dev/ttyUSB0?baud=115200&timeout=10``: another rate than the boards' own, another deadline for answers."""
    place, mark, query = port.rpartition("?")
    if not mark or "=" not in query:
        return port, {}, {}
    pipe, client = {}, {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name == "baud":
            if not value.isdigit() or int(value) == 0:
                raise TargetError(f"target {port}: baud = {value}: expected a number of bits a second")
            pipe["baud"] = int(value)
        elif name == "timeout":
            if not re.fullmatch(r"\d+(\.\d+)?", value) or not 0 < float(value) <= 3600:
                raise TargetError(f"target {port}: timeout = {value}: expected seconds, more than 0 and at most 3600")
            client["timeout"] = float(value)
        else:
            raise TargetError(f"target {port}: {part}: a port takes baud=N and timeout=SECONDS")
    return place, pipe, client


def _reason(error):
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "no such port (quintet doctor lists the ports there are)"
    if number in (errno.EACCES, errno.EPERM):
        return "permission denied (quintet doctor says how to get it)"
    if number in (errno.EBUSY, errno.EWOULDBLOCK):
        return "another program holds it"
    return " ".join(str(error).split())


def _ask(device):
    """The board on a port, at whichever rate of our boards' it answers.

    Raises
    ------
    LinkError
        It does not answer at any; that of the usual rate.
    """
    from ...boards import board_names, open_board
    from ..link.errors import LinkError
    from ..link.pipe import BAUD
    others = {open_board(name).link.baud for name in board_names()} - {BAUD}
    silent = None
    for rate in (BAUD, *sorted(others, reverse=True)):
        try:
            return _open(device if rate == BAUD else f"{device}?baud={rate}")
        except LinkError as error:
            silent = silent or error
    raise silent


def _find():
    from ..link.errors import LinkError
    found, tried = [], []
    for port in candidates():
        try:
            found.append(_ask(port.device))
        except (LinkError, NoDeviceError) as error:
            tried.append(f"{port.device}: {error}")
    if len(found) == 1:
        return found[0]
    for target in found:
        target.close()
    if found:
        raise NoDeviceError("several boards are attached: name one of "
                            + ", ".join(f"{t.name} ({t.info.board})" for t in found))
    raise NoDeviceError("no board found" + (f" ({'; '.join(tried)})" if tried else ": no USB serial port is attached"))
