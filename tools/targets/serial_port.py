# SPDX-License-Identifier: BSD-2-Clause
"""Opens a board on a serial port, a socket, or wherever ``auto`` finds one."""
import errno

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
    place, options = _options(port)
    try:
        pipe = open_pipe(place, **options)
    except (OSError, ValueError) as error:
        raise NoDeviceError(f"cannot open {place}: {_reason(error)}") from None
    client = LinkClient(pipe)
    try:
        return LinkTarget(client=client, name=port)
    except BaseException:
        client.close()
        raise


def _options(port):
    """``/dev/ttyUSB0?baud=115200``: another rate than the boards' own."""
    place, mark, query = port.rpartition("?baud=")
    if not mark:
        return port, {}
    if not query.isdigit() or int(query) == 0:
        raise TargetError(f"target {port}: baud = {query}: expected a number of bits a second")
    return place, {"baud": int(query)}


def _reason(error):
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        return "no such port (quintet doctor lists the ports there are)"
    if number in (errno.EACCES, errno.EPERM):
        return "permission denied (quintet doctor says how to get it)"
    if number in (errno.EBUSY, errno.EWOULDBLOCK):
        return "another program holds it"
    return " ".join(str(error).split())


def _find():
    from ..link.errors import LinkError
    found, tried = [], []
    for port in candidates():
        try:
            found.append(_open(port.device))
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
