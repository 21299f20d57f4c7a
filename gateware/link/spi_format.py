# SPDX-License-Identifier: BSD-2-Clause
"""Transfers of the link over SPI: header and limits (docs/how/link.md, "SPI")."""

__all__ = ["HEADER", "MARK", "MOST", "SPACE_UNIT", "SPI_HZ"]

#: Highest clock of a host.
SPI_HZ = 20_000_000
#: First byte of each transfer to the host, by which it knows a board from a line at rest.
MARK = 0x51
#: Bytes of a transfer before the link's own.
HEADER = 3
#: Most bytes of the link in one transfer, each way: their number is one byte.
MOST = 255
#: The header counts space in units of so many bytes.
SPACE_UNIT = 2
