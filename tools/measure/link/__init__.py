# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of the host link: transfer rates over UART and USB, in compiled simulation."""

from .. import Measure
from .rates import rate_rows

MEASURES = {
    "rates": Measure(
        "payload to the board and back; UART at 3 Mbaud, USB at full speed",
        rate_rows,
        ("uart", "usb"),
        settings={"size": 1 << 16, "mhz": 24},
    )
}
