# SPDX-License-Identifier: BSD-2-Clause
"""USB identity: vendor, product and serial strings of the device. Pure Python, shared with the
host."""

from __future__ import annotations

from dataclasses import dataclass

from ...arguments import check_integer

__all__ = ["MANUFACTURER", "PRODUCT_ID", "VENDOR_ID", "USBIdentity", "identity_of"]

#: pid.codes sets 0x1209:0x0001 to 0x1209:0x0010 aside for tests: they are nobody's, and no product
#: may be shipped with them.
VENDOR_ID, PRODUCT_ID = 0x1209, 0x0001
MANUFACTURER = "quintet"


@dataclass(frozen=True)
class USBIdentity:
    """USB identity of a device: the numbers and strings of its descriptors.

    Raises
    ------
    ValueError
        A number outside 0 to 0xFFFF, or a string that is empty or longer than 31 characters.
    """

    vendor: int
    product_number: int
    manufacturer: str
    product: str
    serial: str

    def __post_init__(self) -> None:
        for name in ("vendor", "product_number"):
            check_integer(name, getattr(self, name), 0, 0xFFFF)
        for name in ("manufacturer", "product", "serial"):
            value = getattr(self, name)
            # A string descriptor must come in one packet of 64 bytes: two of header, two a
            # character.
            if not isinstance(value, str) or not 0 < len(value) <= 31:
                raise ValueError(f"{name} must be a string of 1 to 31 characters, not {value!r}")


def identity_of(board_name: str) -> USBIdentity:
    """Identity of a supported board: its name serves as serial number, since an FPGA has none."""
    return USBIdentity(VENDOR_ID, PRODUCT_ID, MANUFACTURER, "quintet link", board_name)
