# SPDX-License-Identifier: BSD-2-Clause
"""USB packet layer: tokens, data and handshakes between the transceiver and the endpoints (USB 2.0,
section 8)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from .crc import CRC5_GOOD, CRC16_GOOD, crc5, crc16

__all__ = ["UTMI", "Kind", "Packets", "Reply"]

#: Bytes of a data packet after its PID: 64 and the CRC.
LONGEST = 66


class Kind(enum.Enum, shape=2):
    """Kind of a token: the upper half of its PID."""

    OUT = 0
    SOF = 1
    IN = 2
    SETUP = 3


class Reply(enum.Enum, shape=3):
    """Reply of an endpoint to a token."""

    NONE = 0
    ACK = 1
    NAK = 2
    STALL = 3
    DATA = 4


_PIDS = {Reply.ACK: 0b0010, Reply.NAK: 0b1010, Reply.STALL: 0b1110}
_ACK = 0b0010


class UTMI(wiring.Signature):
    """UTMI-like byte interface, seen from the transceiver."""

    def __init__(self):
        super().__init__(
            {
                "rx_data": Out(8),
                "rx_valid": Out(1),
                "rx_active": Out(1),
                "rx_error": Out(1),
                "tx_data": In(8),
                "tx_valid": In(1),
                "tx_ready": Out(1),
            }
        )


class Packets(wiring.Component):
    """Packet engine: receives and sends USB packets, in the domain ``usb``.

    At rest ``tx_data`` is zero: LUNA's transmitter shifts it out meanwhile, into a counter of ones
    that must be at zero when a packet begins.

    A token that is ours is looked at, with the data packet behind it, in the cycle of ``asked``:
    the endpoints give the answer in ``reply``. Tokens for another address, damaged packets and
    data packets without a token are dropped.

    Members
    -------
    utmi : In(UTMI), the transceiver's
    address : In(7), of the device
    kind, endpoint : Out, of the last token of ours
    token : Out, for a cycle: that token has come (for OUT and SETUP its data is still to come)
    byte, byte_valid, first : Out, bytes of a data packet as they come, its CRC too,
        before it is known to be good; ``first`` in the cycle before them
    asked : Out, for a cycle: an IN token,
        or a good data packet of ``length`` bytes (CRC left out) and ``toggle``
    reply : In(Reply), ``reply_toggle`` : In, ``reply_length`` : In(7), answer to ``asked``,
        in that cycle
    data : In(8), byte of the answer, the first from the second cycle after ``asked`` on
    read : Out, for a cycle: that byte was taken,
        and the one behind it is to stand there in the next cycle
    sending : Out, the answer's bytes are being read
    acknowledged : Out, for a cycle: the host has taken the data that was sent
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "utmi": In(UTMI()),
                "address": In(7),
                "kind": Out(Kind),
                "endpoint": Out(4),
                "token": Out(1),
                "byte": Out(8),
                "byte_valid": Out(1),
                "first": Out(1),
                "asked": Out(1),
                "length": Out(7),
                "toggle": Out(1),
                "reply": In(Reply),
                "reply_toggle": In(1),
                "reply_length": In(7),
                "read": Out(1),
                "data": In(8),
                "sending": Out(1),
                "acknowledged": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        utmi = self.utmi
        layout = data.StructLayout({"type": 2, "kind": 2})
        pid, intact = Signal(layout), Signal()
        count = Signal(range(LONGEST + 2))
        sum16, sum5 = Signal(16), Signal(5)
        ours, due, waiting = (
            Signal(),
            Signal(),
            Signal(),
        )  # token's address; data to come; an ACK to come
        left, sent_pid = Signal(7), Signal(4)
        with_data = Signal()
        second = Signal()  # byte of the CRC
        m.d.comb += [
            self.byte.eq(utmi.rx_data),
            self.length.eq(count - 2),
            self.toggle.eq(pid.kind[1]),
        ]
        good16, good5 = sum16 == CRC16_GOOD, sum5 == CRC5_GOOD
        crc_byte = Mux(utmi.tx_valid, self.data, utmi.rx_data)

        with m.FSM(domain="usb"):
            with m.State("IDLE"):
                m.d.comb += self.first.eq(1)
                m.d.usb += [count.eq(0), intact.eq(1), sum16.eq(-1), sum5.eq(-1)]
                with m.If(utmi.rx_active):
                    m.next = "PID"
            with m.State("PID"):
                # A handshake may end in the very cycle of its PID.
                with m.If(utmi.rx_valid):
                    m.d.usb += [
                        pid.eq(utmi.rx_data[:4]),
                        intact.eq(utmi.rx_data[:4] == ~utmi.rx_data[4:]),
                    ]
                    m.next = "BYTES"
                with m.Elif(~utmi.rx_active):
                    m.next = "IDLE"
            with m.State("BYTES"):
                with m.If(utmi.rx_error):
                    m.d.usb += intact.eq(0)
                with m.If(utmi.rx_valid):
                    m.d.comb += self.byte_valid.eq((pid.type == 3) & due & (count < LONGEST))
                    m.d.usb += [sum16.eq(crc16(sum16, crc_byte)), sum5.eq(crc5(sum5, utmi.rx_data))]
                    with m.If(count <= LONGEST):
                        m.d.usb += count.eq(count + 1)
                    # Of a token; other packets leave its kept fields as they are.
                    with m.If(pid.type == 1):
                        with m.If(count == 0):
                            m.d.usb += [
                                ours.eq(utmi.rx_data[:7] == self.address),
                                self.endpoint[0].eq(utmi.rx_data[7]),
                            ]
                        with m.If(count == 1):
                            m.d.usb += self.endpoint[1:].eq(utmi.rx_data[:3])
                with m.If(~utmi.rx_active):
                    m.next = "DECIDE"
            with m.State("DECIDE"):
                m.next = "IDLE"
                m.d.usb += [waiting.eq(0), due.eq(0)]
                with m.If(intact):
                    with m.If(
                        (pid.type == 1) & good5 & (count == 2) & ours & (pid.kind != Kind.SOF)
                    ):
                        m.d.comb += [self.token.eq(1), self.asked.eq(pid.kind == Kind.IN)]
                        m.d.usb += due.eq(pid.kind != Kind.IN)
                    with m.If((pid.type == 3) & due & good16 & (count >= 2) & (count <= LONGEST)):
                        m.d.comb += self.asked.eq(1)
                    with m.If((Cat(pid.type, pid.kind) == _ACK) & (count == 0) & waiting):
                        m.d.comb += self.acknowledged.eq(1)
                with m.If(self.asked & (self.reply != Reply.NONE)):
                    m.next = "SEND PID"
                m.d.usb += [
                    left.eq(self.reply_length),
                    with_data.eq(self.reply == Reply.DATA),
                    sum16.eq(-1),
                    second.eq(0),
                ]
                with m.Switch(self.reply):
                    for reply, value in _PIDS.items():
                        with m.Case(reply):
                            m.d.usb += sent_pid.eq(value)
                    with m.Default():
                        m.d.usb += sent_pid.eq(Cat(Const(0b011, 3), self.reply_toggle))
            with m.State("SEND PID"):
                m.d.comb += [
                    utmi.tx_valid.eq(1),
                    utmi.tx_data.eq(Cat(sent_pid, ~sent_pid)),
                    self.sending.eq(1),
                ]
                with m.If(utmi.tx_ready):
                    m.next = "IDLE"
                    with m.If(with_data):
                        m.next = "SEND CRC"
                        with m.If(left != 0):
                            m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [
                    utmi.tx_valid.eq(1),
                    utmi.tx_data.eq(self.data),
                    self.sending.eq(1),
                    self.read.eq(utmi.tx_ready),
                ]
                with m.If(utmi.tx_ready):
                    m.d.usb += [left.eq(left - 1), sum16.eq(crc16(sum16, crc_byte))]
                    with m.If(left == 1):
                        m.next = "SEND CRC"
            with m.State("SEND CRC"):
                m.d.comb += [utmi.tx_valid.eq(1), utmi.tx_data.eq(~sum16[:8])]
                with m.If(utmi.tx_ready):
                    m.d.usb += [sum16.eq(sum16[8:]), second.eq(1)]
                    with m.If(second):
                        m.d.usb += waiting.eq(1)
                        m.next = "IDLE"
        with m.If(self.token):
            m.d.usb += self.kind.eq(pid.kind)
        return m
