# SPDX-License-Identifier: BSD-2-Clause
"""LiteX's UARTBone: bus cycles over a serial line for its tools, without checksums, sequence
numbers or errors (docs/how/link.md)."""

from amaranth import Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from quintet.gateware.bus.soclib import wishbone

from ..arguments import check_integer

__all__ = ["Command", "UARTBone"]


class Command(enum.Enum, shape=8):
    """Command codes, the first byte of a request; followed by the number of words (0: 256), the
    word address, big-endian, and the words of a write."""

    WRITE_INCREMENT = 1
    READ_INCREMENT = 2
    WRITE_FIXED = 3
    READ_FIXED = 4


class UARTBone(wiring.Component):
    """UARTBone bridge: executes LiteX's requests. Words are 32 bits, big-endian on the line.

    A request that stays incomplete for 100 ms is forgotten. An unknown command is dropped with its
    length and address. A bus cycle that ends with ``err`` counts as done, and reads all ones: the
    protocol has no word for it.

    Parameters
    ----------
    clock_hz : int
        Main clock, for the 100 ms.

    Members
    -------
    rx : In, tx : Out, streams of bytes
    bus : Out, Wishbone master of 30 word-address bits, with ``err``; one classic cycle a word
    """

    def __init__(self, *, clock_hz: int) -> None:
        check_integer("Main clock", clock_hz, 10, unit="Hz")
        self._patience = clock_hz // 10
        super().__init__(
            {
                "rx": In(stream.Signature(8)),
                "tx": Out(stream.Signature(8)),
                "bus": Out(
                    wishbone.Signature(
                        addr_width=30, data_width=32, granularity=8, features={"err"}
                    )
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rx, tx, bus = self.rx, self.tx, self.bus
        command, left = Signal(8), Signal(8)  # words to come after this one, modulo 256
        address, word = Signal(32), Signal(32)
        byte = Signal(2)
        writes = (command == Command.WRITE_INCREMENT) | (command == Command.WRITE_FIXED)
        reads = (command == Command.READ_INCREMENT) | (command == Command.READ_FIXED)
        grows = (command == Command.WRITE_INCREMENT) | (command == Command.READ_INCREMENT)
        ended = bus.ack | bus.err
        begun = Signal()  # bytes of a request are outstanding
        waited = Signal(range(self._patience))
        forget = waited == self._patience - 1
        m.d.comb += [
            bus.adr.eq(address),
            bus.dat_w.eq(word),
            bus.sel.eq(0b1111),
            bus.stb.eq(bus.cyc),
            tx.payload.eq(word[24:]),
        ]
        m.d.sync += waited.eq(Mux(begun & ~rx.valid & ~forget, waited + 1, 0))

        with m.FSM():
            with m.State("COMMAND"):
                m.d.comb += rx.ready.eq(1)
                m.d.sync += byte.eq(0)
                with m.If(rx.valid):
                    m.d.sync += command.eq(rx.payload)
                    m.next = "LENGTH"
            with m.State("LENGTH"):
                m.d.comb += [rx.ready.eq(~forget), begun.eq(1)]
                with m.If(forget):
                    m.next = "COMMAND"
                with m.Elif(rx.valid):
                    m.d.sync += left.eq(rx.payload - 1)
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.comb += [rx.ready.eq(~forget), begun.eq(1)]
                with m.If(forget):
                    m.next = "COMMAND"
                with m.Elif(rx.valid):
                    m.d.sync += [address.eq((address << 8) | rx.payload), byte.eq(byte + 1)]
                    with m.If(byte == 3):
                        with m.If(writes):
                            m.next = "DATA"
                        with m.Elif(reads):
                            m.next = "READ"
                        with m.Else():
                            m.next = "COMMAND"
            with m.State("DATA"):
                m.d.comb += [rx.ready.eq(~forget), begun.eq(1)]
                with m.If(forget):
                    m.next = "COMMAND"
                with m.Elif(rx.valid):
                    m.d.sync += [word.eq((word << 8) | rx.payload), byte.eq(byte + 1)]
                    with m.If(byte == 3):
                        m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += [bus.cyc.eq(1), bus.we.eq(1)]
                with m.If(ended):
                    m.d.sync += [address.eq(address + grows), left.eq(left - 1)]
                    with m.If(left == 0):
                        m.next = "COMMAND"
                    with m.Else():
                        m.next = "DATA"
            with m.State("READ"):
                m.d.comb += bus.cyc.eq(1)
                with m.If(ended):
                    m.d.sync += [word.eq(bus.dat_r), address.eq(address + grows)]
                    with m.If(bus.err):
                        m.d.sync += word.eq(0xFFFF_FFFF)
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += tx.valid.eq(1)
                with m.If(tx.ready):
                    m.d.sync += [word.eq(word << 8), byte.eq(byte + 1)]
                    with m.If(byte == 3):
                        m.d.sync += left.eq(left - 1)
                        with m.If(left == 0):
                            m.next = "COMMAND"
                        with m.Else():
                            m.next = "READ"
        return m
