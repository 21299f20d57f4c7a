# SPDX-License-Identifier: BSD-2-Clause
"""Class requests of a CDC-ACM device. A link has no line to code: what the host sets is accepted and means nothing."""
from amaranth import Array, C, Module, Signal
from amaranth.lib import enum
from usb_protocol.types import USBRequestType

from .lunalib import USBRequestHandler

__all__ = ["LINE_CODING", "Request", "SerialRequests"]

#: What GET_LINE_CODING answers: 115,200 baud, one stop bit, no parity, 8 data bits.
LINE_CODING = (115_200).to_bytes(4, "little") + bytes([0, 0, 8])


class Request(enum.Enum, shape=8):
    """Requests of PSTN 1.2, section 6.3, that are answered; others are stalled."""
    SET_LINE_CODING = 0x20
    GET_LINE_CODING = 0x21
    SET_CONTROL_LINE_STATE = 0x22


class SerialRequests(USBRequestHandler):
    """Handler for LUNA's control endpoint.

    ``SET_LINE_CODING`` and ``SET_CONTROL_LINE_STATE`` are accepted, ``GET_LINE_CODING`` answers :data:`LINE_CODING`.
    """
    def elaborate(self, platform):
        m = Module()
        interface, setup = self.interface, self.interface.setup
        answer = Array(C(byte, 8) for byte in LINE_CODING)
        at = Signal(range(len(LINE_CODING)))
        sending = Signal()
        m.d.comb += interface.tx_data_pid.eq(1)
        with m.If(setup.type == USBRequestType.CLASS):
            with m.Switch(setup.request):
                with m.Case(Request.SET_LINE_CODING):
                    m.d.comb += [interface.claim.eq(1), interface.handshakes_out.ack.eq(interface.rx_ready_for_response)]
                    with m.If(interface.status_requested):
                        m.d.comb += self.send_zlp()
                with m.Case(Request.SET_CONTROL_LINE_STATE):
                    m.d.comb += interface.claim.eq(1)
                    with m.If(interface.status_requested):
                        m.d.comb += self.send_zlp()
                with m.Case(Request.GET_LINE_CODING):
                    # A host may ask for fewer bytes than there are.
                    last = (at == len(LINE_CODING) - 1) | (at + 1 == setup.length)
                    m.d.comb += [
                        interface.claim.eq(1), interface.handshakes_out.ack.eq(interface.status_requested),
                        interface.tx.payload.eq(answer[at]), interface.tx.valid.eq(sending),
                        interface.tx.first.eq(sending & (at == 0)), interface.tx.last.eq(sending & last),
                    ]
                    with m.If(interface.data_requested):
                        m.d.usb += [sending.eq(1), at.eq(0)]
                    with m.Elif(interface.tx.ready & sending):
                        m.d.usb += [sending.eq(~last), at.eq(at + 1)]
        return m
