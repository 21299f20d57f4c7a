# SPDX-License-Identifier: BSD-2-Clause
"""LUNA's bulk endpoints, made to begin anew when the bus does.

LUNA's keep their data toggles and what they hold through a reset of the bus and a change of the configuration, after either of
which the host begins with DATA0. Each is a class of its own, since LUNA names a second one of a class by its place in
memory, and a netlist must be the same every time.
"""
from amaranth import ResetInserter, Signal

from .lunalib import StreamInEndpoint, StreamOutEndpoint

__all__ = ["Receiver", "Sender", "Status"]


class _Fresh:
    """``fresh``: for a cycle, the host has begun anew."""
    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.fresh = Signal()

    def elaborate(self, platform):
        return ResetInserter({"usb": self.fresh})(super().elaborate(platform))


class Receiver(_Fresh, StreamOutEndpoint):
    """Bytes from the host."""


class Sender(_Fresh, StreamInEndpoint):
    """Bytes to the host."""


class Status(Sender):
    """The interrupt endpoint: it never has anything to say."""
