# SPDX-License-Identifier: BSD-2-Clause
"""Control endpoint 0: answers the requests by which a host enumerates the device or opens its port
(USB 2.0, chapter 9; PSTN 1.2, section 6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from .descriptors import CONTROL_BYTES, descriptors
from .identity import USBIdentity
from .packets import Kind, Reply

__all__ = ["LINE_CODING", "ROM_BYTES", "Answers", "Control", "Request", "answers"]

#: Answer to GET_LINE_CODING: 115,200 baud, one stop bit, no parity, 8 data bits.
LINE_CODING = (115_200).to_bytes(4, "little") + bytes([0, 0, 8])
ROM_BYTES = 256


class Request(enum.Enum, shape=8):
    """Supported USB requests; others are stalled. Class requests are from 0x20 on."""

    GET_STATUS = 0
    CLEAR_FEATURE = 1
    SET_ADDRESS = 5
    GET_DESCRIPTOR = 6
    GET_CONFIGURATION = 8
    SET_CONFIGURATION = 9
    SET_LINE_CODING = 0x20
    GET_LINE_CODING = 0x21
    SET_CONTROL_LINE_STATE = 0x22


def _pattern(request: Any, *, of_class: int = 0, reads: int = 0) -> int:
    """Case pattern of a request: its number, whether it is a class request, and its direction."""
    return request.value | of_class << 8 | reads << 9


@dataclass(frozen=True)
class Answers:
    """Answers of endpoint 0. ``rom``: 256 bytes with all answers; ``descriptors``: (type, index) ->
    (address, length); addresses of the others."""

    rom: bytes
    descriptors: dict[tuple[int, int], tuple[int, int]]
    zeros: int
    line_coding: int


def answers(identity: USBIdentity) -> Answers:
    """Builds the :class:`Answers` of a device from its identity.

    Raises
    ------
    ValueError
        They do not fit; the strings of the identity are too long.
    """
    # The answer to GET_CONFIGURATION is the configuration's number, 0 or 1: the second of these, or
    # the third.
    rom = bytearray([0, 0, 1])
    places = {}
    for kind, index, text in descriptors(identity):
        places[int(kind), index] = len(rom), len(text)
        rom += bytes(text)
    line_coding = len(rom)
    rom += LINE_CODING
    if len(rom) > ROM_BYTES:
        raise ValueError(
            f"The descriptors take {len(rom)} bytes, more than {ROM_BYTES}: the strings of the "
            f"identity are too long"
        )
    return Answers(bytes(rom).ljust(ROM_BYTES, b"\0"), places, 0, line_coding)


class Control(wiring.Component):
    """Control endpoint: handles control transfers, in the domain ``usb``.

    Parameters
    ----------
    identity : USBIdentity

    Members
    -------
    kind, chosen, token, asked, byte, byte_valid, length, acknowledged : In, of
    :class:`~.packets.Packets`; ``chosen``: the
        endpoint is 0
    reply, reply_toggle, reply_length : Out
    place : Out(8), of the next bytes of the answer in the ROM
    bus_reset : In, for a cycle
    address : Out(7)
    configured : Out
    fresh : Out, for a cycle: the data toggles of all other endpoints begin anew
    clear_in, clear_out : Out, for a cycle: those of the data endpoint
    """

    def __init__(self, *, identity: USBIdentity) -> None:
        self.answers = answers(identity)
        super().__init__(
            {
                "kind": In(Kind),
                "chosen": In(1),
                "token": In(1),
                "asked": In(1),
                "byte": In(8),
                "byte_valid": In(1),
                "length": In(7),
                "acknowledged": In(1),
                "reply": Out(Reply),
                "reply_toggle": Out(1),
                "reply_length": Out(7),
                "place": Out(8),
                "bus_reset": In(1),
                "address": Out(7),
                "configured": Out(1),
                "fresh": Out(1),
                "clear_in": Out(1),
                "clear_out": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Fields of the request that are decoded.
        reads, of_class, request, value, kind = Signal(), Signal(), Signal(8), Signal(8), Signal(4)
        ended, index_in, wanted, much = Signal(), Signal(), Signal(7), Signal()
        count = Signal(range(9))
        in_setup = self.chosen & (self.kind == Kind.SETUP)
        m.d.usb += count.eq(
            Mux(
                self.byte_valid,
                Mux(count == 8, 8, count + 1),
                Mux(self.token | self.asked, 0, count),
            )
        )
        with m.If(self.byte_valid & in_setup):
            with m.Switch(count):
                with m.Case(0):
                    m.d.usb += [
                        reads.eq(self.byte[7]),
                        of_class.eq(self.byte[5]),
                        ended.eq(self.byte[6]),
                    ]
                with m.Case(1):
                    m.d.usb += request.eq(self.byte)
                with m.Case(2):
                    m.d.usb += value.eq(self.byte)
                with m.Case(3):
                    m.d.usb += [kind.eq(self.byte[:4]), ended.eq(ended | (self.byte[4:] != 0))]
                with m.Case(4):
                    m.d.usb += index_in.eq(self.byte[7])
                with m.Case(6):
                    m.d.usb += [wanted.eq(self.byte[:7]), much.eq(self.byte[7])]
                with m.Case(7):
                    m.d.usb += much.eq(much | (self.byte != 0))

        # The answer: where it stands and how long it is; nothing for a request that only sets
        # something.
        known, place, length = Signal(), Signal(8), Signal(7)
        m.d.comb += place.eq(self.answers.zeros)
        with m.Switch(Cat(request, of_class, reads)):
            for number, is_class, is_read in (
                (Request.CLEAR_FEATURE, 0, 0),
                (Request.SET_ADDRESS, 0, 0),
                (Request.SET_CONFIGURATION, 0, 0),
                (Request.SET_LINE_CODING, 1, 0),
                (Request.SET_CONTROL_LINE_STATE, 1, 0),
            ):
                with m.Case(_pattern(number, of_class=is_class, reads=is_read)):
                    m.d.comb += known.eq(1)
            with m.Case(_pattern(Request.GET_STATUS, reads=1)):
                m.d.comb += [known.eq(1), length.eq(2)]
            with m.Case(_pattern(Request.GET_CONFIGURATION, reads=1)):
                m.d.comb += [
                    known.eq(1),
                    place.eq(self.answers.zeros + 1 + self.configured),
                    length.eq(1),
                ]
            with m.Case(_pattern(Request.GET_LINE_CODING, of_class=1, reads=1)):
                m.d.comb += [
                    known.eq(1),
                    place.eq(self.answers.line_coding),
                    length.eq(len(LINE_CODING)),
                ]
            with m.Case(_pattern(Request.GET_DESCRIPTOR, reads=1)):
                with m.Switch(Cat(value, kind)):
                    for (number, index), (at, size) in self.answers.descriptors.items():
                        with m.Case(index | number << 8):
                            m.d.comb += [known.eq(1), place.eq(at), length.eq(size)]

        # A transfer: the rest of the answer. A request that only sets something has none, and its
        # status is an empty packet too.
        stalled, toggle, left, decode = Signal(init=1), Signal(), Signal(7), Signal()
        setting_address = Signal()
        sent = Signal(7)
        m.d.comb += [
            sent.eq(Mux(left[6], CONTROL_BYTES, left)),
            self.reply_length.eq(sent),
            self.reply_toggle.eq(toggle),
        ]
        with m.If(self.asked & self.chosen):
            with m.If(self.token):
                m.d.comb += self.reply.eq(Mux(stalled, Reply.STALL, Reply.DATA))
            with m.Elif(self.kind == Kind.SETUP):
                with m.If(self.length == 8):
                    m.d.comb += self.reply.eq(Reply.ACK)
                    m.d.usb += decode.eq(1)
            with m.Else():
                m.d.comb += self.reply.eq(Mux(stalled, Reply.STALL, Reply.ACK))
        with m.If(decode):
            simple = known & ~reads & ~of_class
            configures = simple & (request == Request.SET_CONFIGURATION)
            clears = simple & (request == Request.CLEAR_FEATURE) & ~ended
            refused = ~known | ended | (configures & (value[1:] != 0))
            m.d.usb += [
                decode.eq(0),
                toggle.eq(1),
                stalled.eq(refused),
                self.place.eq(place),
                left.eq(Mux(~much & (wanted < length), wanted, length)),
                setting_address.eq(simple & (request == Request.SET_ADDRESS)),
            ]
            # Done before the status is given: the host goes on when it has that, and whether its
            # acknowledgement arrives is open.
            with m.If(configures & ~refused):
                m.d.usb += self.configured.eq(value[0])
                m.d.comb += self.fresh.eq(1)
            m.d.comb += [self.clear_in.eq(clears & index_in), self.clear_out.eq(clears & ~index_in)]
        with m.If(self.acknowledged & self.chosen):
            m.d.usb += [
                toggle.eq(~toggle),
                self.place.eq(self.place + CONTROL_BYTES),
                left.eq(left - sent),
                setting_address.eq(0),
            ]
            # The status itself still goes by the old address (USB 2.0, section 9.4.6).
            with m.If(setting_address & ~stalled):
                m.d.usb += self.address.eq(value)
        with m.If(self.bus_reset):
            m.d.usb += [self.address.eq(0), self.configured.eq(0), stalled.eq(1)]
            m.d.comb += self.fresh.eq(1)
        return m
