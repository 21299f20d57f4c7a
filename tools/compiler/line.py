# SPDX-License-Identifier: BSD-2-Clause
"""Transfer times over a board's link."""

__all__ = ["line_seconds"]

#: Bits of a byte on a serial line.
_UART_BITS = 10
#: Bytes a second that bulk transfers of full-speed USB carry at most: 19 packets of 64 bytes in a
#: frame of a millisecond.
_USB_BYTES = 19 * 64 * 1000


def line_seconds(link: object, sent: float, received: float) -> float | None:
    """Lower bound in seconds for sending and receiving so many bytes, ``None`` if the link's rate
    is not known; ``link`` is the link entry of a target's info."""
    link = link if isinstance(link, dict) else {}
    if link.get("baud"):  # both directions at once
        return max(sent, received) * _UART_BITS / link["baud"]
    return (sent + received) / _USB_BYTES if link.get("kind") == "usb" else None
