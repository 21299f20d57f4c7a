# SPDX-License-Identifier: BSD-2-Clause
"""The USB device: LUNA's, with two bulk endpoints that carry bytes."""
from types import SimpleNamespace

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .descriptors import DATA_ENDPOINT, PACKET_BYTES, STATUS_BYTES, STATUS_ENDPOINT, descriptors
from .endpoints import Receiver, Sender, Status
from .lunalib import USBDevice
from .requests import SerialRequests

__all__ = ["LastByte", "USBPins", "USBSerial"]

#: Cycles of 12 MHz without another byte after which a packet is sent though it is not full: 5 us.
PATIENCE = 64


class USBPins(wiring.Signature):
    """The wires, seen from the device: ``d_p`` and ``d_n`` with ``i``, ``o``, ``oe``; ``pullup``, of D+."""
    def __init__(self):
        line = wiring.Signature({"i": In(1), "o": Out(1), "oe": Out(1)})
        super().__init__({"d_p": Out(line), "d_n": Out(line), "pullup": Out(1)})


class LastByte(wiring.Component):
    """Marks the last byte of what comes in a row: one that nothing follows for ``patience`` cycles of the domain ``usb``.

    A byte is kept back until the next one comes or it is known to be the last. A host's driver ends a transfer at a short
    packet only, so the byte in front of a rest must end a packet, and be followed by an empty one if that was full.

    Members
    -------
    i : In, stream of bytes
    o : Out, stream of ``data`` (8) and ``last`` (1)
    """
    def __init__(self, *, patience=PATIENCE):
        if not isinstance(patience, int) or isinstance(patience, bool) or patience < 1:
            raise ValueError(f"patience must be a positive number of cycles, not {patience!r}")
        self._patience = patience
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(9))})

    def elaborate(self, platform):
        m = Module()
        kept, full = Signal(8), Signal()
        waited = Signal(range(self._patience + 1))
        last = waited == self._patience
        # Once a byte was offered as the last one it stays that, whatever comes.
        m.d.comb += [
            self.o.valid.eq(full & (last | self.i.valid)), self.o.payload[:8].eq(kept), self.o.payload[8].eq(last),
            self.i.ready.eq(~full | (self.o.ready & ~last)),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.usb += [kept.eq(self.i.payload), full.eq(1), waited.eq(0)]
        with m.Elif(full):
            with m.If(last):
                with m.If(self.o.ready):
                    m.d.usb += full.eq(0)
            with m.Elif(~self.i.valid):
                m.d.usb += waited.eq(waited + 1)
        return m


class USBSerial(wiring.Component):
    """A CDC-ACM device at full speed that carries bytes both ways, in the domain ``usb`` (12 MHz).

    LUNA's transceiver samples the wires in ``usb_io`` (48 MHz), from which ``usb`` must be divided. A reset of the bus and a
    change of the configuration clear both directions and their data toggles.

    Parameters
    ----------
    identity : USBIdentity
    utmi : LUNA's UTMI bus, optional
        Instead of the pins, for LUNA's own simulated host.

    Members
    -------
    pins : Out(USBPins), without ``utmi``
    rx : Out, bytes from the host; tx : In, bytes to it
    """
    def __init__(self, *, identity, utmi=None):
        self._identity, self._utmi = identity, utmi
        members = {"rx": Out(stream.Signature(8)), "tx": In(stream.Signature(8))}
        super().__init__(members if utmi is not None else members | {"pins": Out(USBPins())})

    def elaborate(self, platform):
        m = Module()
        bus = self._utmi
        if bus is None:
            bus = SimpleNamespace(d_p=self.pins.d_p, d_n=self.pins.d_n, pullup=SimpleNamespace(o=self.pins.pullup))
        usb = m.submodules.device = USBDevice(bus=bus)
        control = usb.add_standard_control_endpoint(descriptors(self._identity))
        control.add_request_handler(SerialRequests())
        receiver = Receiver(endpoint_number=DATA_ENDPOINT, max_packet_size=PACKET_BYTES, buffer_size=2 * PACKET_BYTES)
        sender = Sender(endpoint_number=DATA_ENDPOINT, max_packet_size=PACKET_BYTES)
        status = Status(endpoint_number=STATUS_ENDPOINT, max_packet_size=STATUS_BYTES)
        last = m.submodules.last = LastByte()
        for endpoint in (receiver, sender, status):
            usb.add_endpoint(endpoint)
            m.d.comb += endpoint.fresh.eq(usb.reset_detected | control.interface.config_changed)
        wiring.connect(m, wiring.flipped(self.tx), last.i)
        m.d.comb += [
            usb.connect.eq(1),
            sender.stream.payload.eq(last.o.payload[:8]), sender.stream.last.eq(last.o.payload[8]),
            sender.stream.valid.eq(last.o.valid), last.o.ready.eq(sender.stream.ready),
            self.rx.payload.eq(receiver.stream.payload), self.rx.valid.eq(receiver.stream.valid),
            receiver.stream.ready.eq(self.rx.ready),
        ]
        return m
