# SPDX-License-Identifier: BSD-2-Clause
"""USB device with byte streams in the main clock domain."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from .device import USBSerial
from .identity import USBIdentity
from .transceiver import USBPins

__all__ = ["ByteCrossing", "USBLink"]


class ByteCrossing(wiring.Component):
    """Asynchronous FIFO of one byte: the register is stable while a toggle bit crosses to the other
    domain and returns.

    A byte takes some three cycles of each clock: at 12 MHz on one side and any clock from 8 MHz on
    the other less than the
    0.67 us that it takes on the bus. Nothing of it is reset with its domains, so that a reset of
    one side alone neither
    loses nor repeats a byte.

    Parameters
    ----------
    source, sink : str, clock domains

    Members
    -------
    i : In, stream of bytes in ``source``; o : Out, the same in ``sink``
    """

    def __init__(self, *, source: str, sink: str) -> None:
        for name, value in (("source", source), ("sink", sink)):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be the name of a clock domain, not {value!r}")
        self._source, self._sink = source, sink
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        byte = Signal(8, reset_less=True)
        given, given_there, taken, taken_here = (
            Signal(reset_less=True, name=name)
            for name in ("given", "given_there", "taken", "taken_here")
        )
        m.submodules.there = FFSynchronizer(given, given_there, o_domain=self._sink)
        m.submodules.here = FFSynchronizer(taken, taken_here, o_domain=self._source)
        m.d.comb += [
            self.i.ready.eq(given == taken_here),
            self.o.valid.eq(given_there != taken),
            self.o.payload.eq(byte),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d[self._source] += [byte.eq(self.i.payload), given.eq(~given)]
        with m.If(self.o.valid & self.o.ready):
            m.d[self._sink] += taken.eq(~taken)
        return m


class USBLink(wiring.Component):
    """USB link: byte streams of the main clock domain on the wires of a USB device
    (:class:`~.device.USBSerial`).

    The streams are in ``sync``; each crosses to ``usb`` (12 MHz) by a handshake of its own, so the
    main clock may be any from 8 MHz on. ``usb`` and ``usb_io`` (48 MHz) are to be driven from
    outside, and not reset with ``sync``: a host must not see the device vanish when it resets the
    SoC.

    Parameters
    ----------
    identity : USBIdentity

    Members
    -------
    pins : Out(USBPins)
    rx : Out, tx : In, byte streams, facing the SoC's of the same name
    """

    def __init__(self, *, identity: USBIdentity) -> None:
        self.device = USBSerial(identity=identity)
        super().__init__(
            {"pins": Out(USBPins()), "rx": Out(stream.Signature(8)), "tx": In(stream.Signature(8))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        device = m.submodules.device = self.device
        wiring.connect(m, device.pins, wiring.flipped(self.pins))
        inward = m.submodules.inward = ByteCrossing(source="usb", sink="sync")
        outward = m.submodules.outward = ByteCrossing(source="sync", sink="usb")
        wiring.connect(m, device.rx, inward.i)
        wiring.connect(m, inward.o, wiring.flipped(self.rx))
        wiring.connect(m, wiring.flipped(self.tx), outward.i)
        wiring.connect(m, outward.o, device.tx)
        return m
