# SPDX-License-Identifier: BSD-2-Clause
"""USB device: LUNA's transceiver, a control endpoint, and a bulk endpoint for bytes in both
directions."""

from typing import Any

from amaranth import Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .control import Control
from .descriptors import DATA_ENDPOINT, STATUS_ENDPOINT
from .identity import USBIdentity
from .packets import Packets, Reply
from .pipes import Pipes
from .reset import BusReset
from .transceiver import Transceiver, USBPins

__all__ = ["USBSerial"]


class USBSerial(wiring.Component):
    """A full-speed CDC-ACM device that transfers bytes in both directions, in the domain ``usb``
    (12 MHz).

    LUNA's transceiver samples the wires in ``usb_io`` (48 MHz), from which ``usb`` must be divided.
    A reset of the bus and a change of the configuration clear both directions and their data
    toggles.

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

    def __init__(self, *, identity: USBIdentity, utmi: Any = None) -> None:
        self._utmi = utmi
        self._control = Control(identity=identity)
        members = {"rx": Out(stream.Signature(8)), "tx": In(stream.Signature(8))}
        super().__init__(members if utmi is not None else members | {"pins": Out(USBPins())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packets = m.submodules.packets = Packets()
        control = m.submodules.control = self._control
        pipes = m.submodules.pipes = Pipes(rom=control.answers.rom)
        reset = m.submodules.reset = BusReset()
        utmi = self._utmi
        if utmi is None:
            transceiver = m.submodules.transceiver = Transceiver()
            utmi = transceiver.utmi
            wiring.connect(m, transceiver.pins, wiring.flipped(self.pins))
            m.d.comb += [reset.d_p.eq(self.pins.d_p.i), reset.d_n.eq(self.pins.d_n.i)]
        else:
            m.d.comb += [reset.d_p.eq(utmi.line_state[0]), reset.d_n.eq(utmi.line_state[1])]
        m.d.comb += [
            getattr(packets.utmi, name).eq(getattr(utmi, name))
            for name in ("rx_data", "rx_valid", "rx_active", "rx_error", "tx_ready")
        ]
        m.d.comb += [
            utmi.tx_data.eq(packets.utmi.tx_data),
            utmi.tx_valid.eq(packets.utmi.tx_valid),
            control.bus_reset.eq(reset.reset),
            packets.address.eq(control.address),
            packets.data.eq(pipes.data),
            pipes.first.eq(packets.first),
            pipes.toggle.eq(packets.toggle),
            pipes.read.eq(packets.read),
            pipes.sending.eq(packets.sending),
            pipes.rom_chosen.eq(control.chosen),
            pipes.place.eq(control.place),
            pipes.clear.eq(control.fresh),
            pipes.clear_in.eq(control.clear_in),
            pipes.clear_out.eq(control.clear_out),
        ]
        for endpoint in (control, pipes):
            m.d.comb += [
                getattr(endpoint, name).eq(getattr(packets, name))
                for name in (
                    "kind",
                    "token",
                    "asked",
                    "byte",
                    "byte_valid",
                    "length",
                    "acknowledged",
                )
            ]
        m.d.comb += [
            control.chosen.eq(packets.endpoint == 0),
            pipes.chosen.eq((packets.endpoint == DATA_ENDPOINT) & control.configured),
        ]
        with m.If(control.chosen):
            m.d.comb += packets.reply.eq(control.reply)
        with m.Elif(pipes.chosen):
            m.d.comb += packets.reply.eq(pipes.reply)
        with m.Elif((packets.endpoint == STATUS_ENDPOINT) & control.configured):
            # The interrupt endpoint never has anything to say.
            m.d.comb += packets.reply.eq(Reply.NAK)
        m.d.comb += [
            packets.reply_toggle.eq(Mux(control.chosen, control.reply_toggle, pipes.reply_toggle)),
            packets.reply_length.eq(Mux(control.chosen, control.reply_length, pipes.reply_length)),
        ]
        wiring.connect(m, pipes.rx, wiring.flipped(self.rx))
        wiring.connect(m, wiring.flipped(self.tx), pipes.tx)
        return m
