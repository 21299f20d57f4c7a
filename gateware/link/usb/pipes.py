# SPDX-License-Identifier: BSD-2-Clause
"""Bulk endpoint: its two queues, which share a block RAM with the answers of endpoint 0."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .descriptors import PACKET_BYTES
from .packets import Kind, Reply

__all__ = ["PATIENCE", "Pipes"]

#: Cycles of 12 MHz without another byte after which a packet is sent though it is not full: 5 us.
PATIENCE = 63
_RING = 2 * PACKET_BYTES


class Pipes(wiring.Component):
    """Bulk endpoint: transfers of one endpoint number in both directions, and their memory: 128
    bytes to the host, 128 from it, 256 of ``rom``.

    Two packets fit each queue, so that one is filled or emptied while another is on the bus. A
    packet to the host stays the same until it is acknowledged, whatever comes meanwhile. A packet
    shorter than 64 bytes is sent when nothing has come for ``PATIENCE`` cycles; behind a full one
    that nothing follows goes an empty one, since a host's driver hands on what it has at a short
    packet only. The queue from the host is not emptied while an answer of the device is being read:
    the memory has one read port.

    Parameters
    ----------
    rom : bytes, 256

    Members
    -------
    kind, chosen, token, asked, byte, byte_valid, first, length, toggle, read, sending, acknowledged
    : In, of
        :class:`~.packets.Packets`; ``chosen``: the endpoint is this one's
    reply, reply_toggle, reply_length : Out
    rom_chosen : In, the answer comes from ``rom``, beginning at ``place`` : In(8)
    data : Out(8), of the answer
    clear, clear_in, clear_out : In, for a cycle: empties both queues, begins anew with DATA0;
        only the toggles, of one way
    rx : Out, tx : In, streams of bytes, in ``usb``
    """

    def __init__(self, *, rom: bytes) -> None:
        if len(rom) != 256:
            raise ValueError(f"rom must have 256 bytes, not {len(rom)}")
        self._rom = bytes(rom)
        super().__init__(
            {
                "kind": In(Kind),
                "chosen": In(1),
                "token": In(1),
                "asked": In(1),
                "byte": In(8),
                "byte_valid": In(1),
                "first": In(1),
                "length": In(7),
                "toggle": In(1),
                "read": In(1),
                "sending": In(1),
                "acknowledged": In(1),
                "reply": Out(Reply),
                "reply_toggle": Out(1),
                "reply_length": Out(7),
                "rom_chosen": In(1),
                "place": In(8),
                "data": Out(8),
                "clear": In(1),
                "clear_in": In(1),
                "clear_out": In(1),
                "rx": Out(stream.Signature(8)),
                "tx": In(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # No address is read and written in the same cycle: each queue is read where it was written
        # before.
        memory = m.submodules.pipe_disjoint = Memory(
            shape=8, depth=512, init=[0] * 256 + list(self._rom)
        )
        write, read = memory.write_port(domain="usb"), memory.read_port(domain="usb")

        # From the host: bytes go to `end` on as they come, and count once their packet is known to
        # be good.
        begin, good, end = Signal(7), Signal(7), Signal(7)
        out_toggle, room = Signal(), Signal()
        held, fetched = Signal(), Signal()
        level = Signal(7)
        m.d.comb += level.eq(good - begin)
        arriving = self.byte_valid & self.chosen & room & (self.kind == Kind.OUT)
        with m.If(self.first):
            m.d.usb += end.eq(good)
        with m.If(arriving):
            m.d.usb += end.eq(end + 1)
        with m.If(self.token):
            # With its CRC a packet takes two bytes more.
            m.d.usb += room.eq(level < _RING - PACKET_BYTES - 2)

        # To the host: bytes between `base` and `top`; `base` moves on with an acknowledgement.
        base, top, size, pending = Signal(7), Signal(7), Signal(7), Signal()
        in_toggle, owed, quiet = Signal(), Signal(), Signal(range(PATIENCE + 1))
        waiting = Signal(7)
        rests = quiet == PATIENCE
        m.d.comb += [
            waiting.eq(top - base),
            self.tx.ready.eq((waiting != _RING - 1) & ~arriving & ~self.clear),
        ]
        taken = self.tx.valid & self.tx.ready
        with m.If(taken):
            m.d.usb += [top.eq(top + 1), quiet.eq(0)]
        with m.Elif(~rests):
            m.d.usb += quiet.eq(quiet + 1)
        m.d.comb += [
            write.en.eq(arriving | taken),
            write.addr.eq(Cat(Mux(arriving, end, top), arriving, Const(0, 1))),
            write.data.eq(Mux(arriving, self.byte, self.tx.payload)),
        ]

        # Answers.
        m.d.comb += [
            self.reply_toggle.eq(in_toggle),
            self.reply_length.eq(Mux(pending, size, Mux(waiting[6], PACKET_BYTES, waiting))),
        ]
        ready = pending | waiting[6] | (rests & ((waiting != 0) | owed))
        with m.If(self.asked & self.chosen):
            with m.If(self.token):
                m.d.comb += self.reply.eq(Mux(ready, Reply.DATA, Reply.NAK))
                m.d.usb += [size.eq(self.reply_length), pending.eq(ready)]
            with m.Elif(self.toggle != out_toggle):
                # Our acknowledgement was lost: this one has come before.
                m.d.comb += self.reply.eq(Reply.ACK)
            with m.Elif(room):
                m.d.comb += self.reply.eq(Reply.ACK)
                m.d.usb += [out_toggle.eq(~out_toggle), good.eq(end - 2)]
            with m.Else():
                m.d.comb += self.reply.eq(Reply.NAK)
        with m.If(self.acknowledged & self.chosen):
            m.d.usb += [
                base.eq(base + size),
                in_toggle.eq(~in_toggle),
                pending.eq(0),
                owed.eq(size[6]),
            ]

        # The read port: an answer's next byte, else the next one for the board, held until that
        # takes it.
        at, rom = Signal(8), Signal()
        following = Signal(8)
        m.d.comb += [following.eq(at + self.read), self.data.eq(read.data), self.rx.valid.eq(held)]
        m.d.usb += at.eq(following)
        with m.If(self.asked):
            m.d.usb += [at.eq(Mux(self.rom_chosen, self.place, base)), rom.eq(self.rom_chosen)]
        with m.If(self.sending):
            m.d.comb += read.addr.eq(Cat(following[:7], following[7] & rom, rom))
        with m.Else():
            m.d.comb += read.addr.eq(Cat(begin, Const(0b01, 2)))
        wanted = (level != 0) & ~held & ~fetched & ~self.sending & ~self.clear
        m.d.usb += fetched.eq(wanted)
        with m.If(wanted):
            m.d.usb += begin.eq(begin + 1)
        with m.If(fetched):
            m.d.usb += [self.rx.payload.eq(read.data), held.eq(1)]
        with m.If(held & self.rx.ready):
            m.d.usb += held.eq(0)

        with m.If(self.clear):
            for register in (begin, good, end, base, top, pending, owed, fetched):
                m.d.usb += register.eq(0)
        with m.If(self.clear | self.clear_in):
            m.d.usb += in_toggle.eq(0)
        with m.If(self.clear | self.clear_out):
            m.d.usb += out_toggle.eq(0)
        return m
