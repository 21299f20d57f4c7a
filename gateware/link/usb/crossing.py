# SPDX-License-Identifier: BSD-2-Clause
"""The USB device as a byte pipe of the main clock."""
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from .device import USBPins, USBSerial

__all__ = ["USBLink"]

#: Bytes of each queue between the clocks. A byte comes every eight cycles of 12 MHz at most, so that the few cycles of the
#: pointers' synchronisers are covered from a main clock of 3 MHz on.
DEPTH = 4


class USBLink(wiring.Component):
    """The link's byte streams on the wires of a USB device (:class:`~.device.USBSerial`).

    The streams are in ``sync``; two asynchronous FIFOs cross to ``usb`` (12 MHz), so the main clock may be any. ``usb`` and
    ``usb_io`` (48 MHz) are to be driven from outside, and not reset with ``sync``: a host must not see the device vanish when
    it resets the SoC.

    Parameters
    ----------
    identity : USBIdentity

    Members
    -------
    pins : Out(USBPins)
    rx : Out, tx : In, byte streams, facing the SoC's of the same name
    """
    def __init__(self, *, identity):
        self.device = USBSerial(identity=identity)
        super().__init__({"pins": Out(USBPins()), "rx": Out(stream.Signature(8)), "tx": In(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        device = m.submodules.device = self.device
        wiring.connect(m, device.pins, wiring.flipped(self.pins))
        inward = m.submodules.inward = AsyncFIFO(width=8, depth=DEPTH, w_domain="usb", r_domain="sync")
        outward = m.submodules.outward = AsyncFIFO(width=8, depth=DEPTH, w_domain="sync", r_domain="usb")
        m.d.comb += [
            inward.w_data.eq(device.rx.payload), inward.w_en.eq(device.rx.valid), device.rx.ready.eq(inward.w_rdy),
            self.rx.payload.eq(inward.r_data), self.rx.valid.eq(inward.r_rdy), inward.r_en.eq(self.rx.ready),
            outward.w_data.eq(self.tx.payload), outward.w_en.eq(self.tx.valid), self.tx.ready.eq(outward.w_rdy),
            device.tx.payload.eq(outward.r_data), device.tx.valid.eq(outward.r_rdy), outward.r_en.eq(device.tx.ready),
        ]
        return m
