# SPDX-License-Identifier: BSD-2-Clause
"""Opens a port, serial, SPI or socket, by its name."""

from ...gateware.link.spi_format import SPI_HZ
from .pipe import Pipe
from .serial_pipe import BAUD, SerialPipe
from .socket_pipe import SCHEME, SocketPipe
from .spi_pipe import SCHEME as SPI_SCHEME
from .spi_pipe import SpidevBus, SPIPipe

__all__ = ["open_pipe"]


def open_pipe(name: str, *, baud: int = BAUD, speed: int = SPI_HZ) -> Pipe:
    """Opens the pipe of a port's name, at ``baud`` on a serial line or ``speed`` in Hz on SPI
    wires.

    Raises
    ------
    OSError, ValueError
        That is not possible.
    LinkError
        No board is on the SPI wires.
    """
    if name.startswith(SCHEME):
        return SocketPipe(name)
    if not name.startswith(SPI_SCHEME):
        return SerialPipe(name, baud=baud)
    pipe = SPIPipe(SpidevBus(name.removeprefix(SPI_SCHEME), speed))
    try:
        pipe.ask()
    except BaseException:
        pipe.close()
        raise
    return pipe
