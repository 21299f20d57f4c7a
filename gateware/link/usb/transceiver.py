# SPDX-License-Identifier: BSD-2-Clause
"""USB transceiver: LUNA's bit-level components, with a smaller and faster crossing from 48 to 12
MHz than LUNA's FIFOs."""

from amaranth import Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Out

from .lunalib import (
    BitstuffRemover,
    ClockDataRecovery,
    NRZIDecoder,
    PacketDetect,
    Shifter,
    TxPipeline,
)
from .packets import UTMI

__all__ = ["Transceiver", "USBPins"]


class USBPins(wiring.Signature):
    """USB pins, seen from the device: ``d_p`` and ``d_n`` with ``i``, ``o``, ``oe``; ``pullup`` of
    D+."""

    def __init__(self):
        line = wiring.Signature({"i": wiring.In(1), "o": Out(1), "oe": Out(1)})
        super().__init__({"d_p": Out(line), "d_n": Out(line), "pullup": Out(1)})


class Transceiver(wiring.Component):
    """Full-speed USB transceiver: clock recovery, NRZI, bit stuffing, SYNC and end of packet (USB
    2.0, section 7.1).

    Bits are sampled in ``usb_io``, 48 MHz; bytes are in ``usb``, 12 MHz. From a byte to the next
    pass at least 32 cycles of ``usb_io``, so a byte crosses as a register that rests and a bit that
    changes with it. The end of a packet takes a cycle of ``usb`` more than its last byte, so that
    it can never overtake it.

    Members
    -------
    pins : Out(USBPins)
    utmi : Out(UTMI)
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "pins": Out(USBPins()),
                "utmi": Out(UTMI()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pins, utmi = self.pins, self.utmi
        sender = m.submodules.sender = TxPipeline()
        quarter = Signal(2)
        m.d.usb_io += quarter.eq(quarter + 1)
        m.d.comb += [
            sender.i_bit_strobe.eq(quarter == 0),
            sender.i_data_payload.eq(utmi.tx_data),
            sender.i_oe.eq(utmi.tx_valid),
            utmi.tx_ready.eq(sender.o_data_strobe),
            pins.pullup.eq(1),
            pins.d_p.o.eq(sender.o_usbp),
            pins.d_n.o.eq(sender.o_usbn),
            pins.d_p.oe.eq(sender.o_oe),
            pins.d_n.oe.eq(sender.o_oe),
        ]

        # The device's own packets are not received.
        bits = m.submodules.bits = ClockDataRecovery(
            pins.d_p.i & ~sender.o_oe, pins.d_n.i & ~sender.o_oe
        )
        nrzi = m.submodules.nrzi = NRZIDecoder()
        detect = m.submodules.detect = PacketDetect()
        remover = BitstuffRemover()
        shifter = m.submodules.shifter = Shifter(width=8)
        # A cycle late, from a flip-flop, for the sake of the clock: a bit comes every four.
        before = Signal()
        m.d.usb_io += before.eq(detect.o_pkt_active)
        m.submodules.stuffing = ResetInserter({"usb_io": ~before})(remover)
        m.d.comb += [
            nrzi.i_valid.eq(bits.line_state_valid),
            nrzi.i_dj.eq(bits.line_state_dj),
            nrzi.i_dk.eq(bits.line_state_dk),
            nrzi.i_se0.eq(bits.line_state_se0),
            detect.i_valid.eq(nrzi.o_valid),
            detect.i_se0.eq(nrzi.o_se0),
            detect.i_data.eq(nrzi.o_data),
            remover.i_valid.eq(nrzi.o_valid),
            remover.i_data.eq(nrzi.o_data),
            shifter.reset.eq(detect.o_pkt_end),
            shifter.i_data.eq(remover.o_data),
            shifter.i_valid.eq(~remover.o_stall & before),
        ]

        byte, turn, active, broken = Signal(8), Signal(), Signal(), Signal()
        with m.If(shifter.o_put):
            m.d.usb_io += [byte.eq(shifter.o_data[::-1]), turn.eq(~turn)]
        with m.If(detect.o_pkt_start):
            m.d.usb_io += [active.eq(1), broken.eq(0)]
        with m.Elif(detect.o_pkt_end):
            m.d.usb_io += active.eq(0)
        with m.If(remover.o_error):
            m.d.usb_io += broken.eq(1)
        # The byte has a register in ``usb``, too, so that only a wire crosses, not the logic behind
        # it.
        come, seen, here = Signal(), Signal(), Signal(8)
        m.submodules.turn = FFSynchronizer(turn, come, o_domain="usb")
        m.submodules.active = FFSynchronizer(active, utmi.rx_active, o_domain="usb", stages=3)
        m.submodules.broken = FFSynchronizer(broken, utmi.rx_error, o_domain="usb")
        m.d.usb += [seen.eq(come), here.eq(byte)]
        m.d.comb += [utmi.rx_data.eq(here), utmi.rx_valid.eq(come ^ seen)]
        return m
