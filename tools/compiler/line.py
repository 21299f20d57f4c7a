# SPDX-License-Identifier: BSD-2-Clause
"""How long bytes take on a board's line."""

__all__ = ["line_seconds"]

#: Bits of a byte on a serial line.
_UART_BITS = 10
#: Bytes a second that bulk transfers of full-speed USB carry at most: 19 packets of 64 bytes in a
#: frame of a millisecond.
_USB_BYTES = 19 * 64 * 1000


def line_seconds(link, sent, received):
    """Seconds that bytes to a board and back take at least, ``None`` where the line's rate is not
    known; ``link``: as a target's info has it."""
    link = link if isinstance(link, dict) else {}
    if link.get("baud"):  # both directions at once
        return max(sent, received) * _UART_BITS / link["baud"]
    return (sent + received) / _USB_BYTES if link.get("kind") == "usb" else None
