# SPDX-License-Identifier: BSD-2-Clause
"""UART: 8 data bits, no parity, 1 stop bit, at any baud rate that the clock allows."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

__all__ = ["UARTReceiver", "UARTTransmitter", "divider"]

#: Largest error of the rate that :func:`divider` accepts.
TOLERANCE = 0.002


def divider(clock_hz: float, baud: float) -> tuple[int, int]:
    """Phase increment and accumulator width of a baud-rate generator.

    An accumulator of ``width`` bits that grows by ``increment`` each cycle overflows once a bit.
    The width is the smallest with which the rate is right within 0.2 %.

    Returns
    -------
    (int, int)
        ``increment``, ``width``.

    Raises
    ------
    TypeError
        ``clock_hz`` or ``baud`` is not a number.
    ValueError
        One of them is not positive, or a bit lasts less than 4 clock cycles.
    """
    for name, value in (("clock_hz", clock_hz), ("baud", baud)):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not 0 < value < float("inf"):
            raise ValueError(f"{name} must be positive, not {value!r}")
    if baud * 4 > clock_hz:
        raise ValueError(
            f"baud must be at most a quarter of clock_hz ({clock_hz / 4:g}), not {baud!r}"
        )
    width = 3
    while True:
        increment = round(baud / clock_hz * 2**width)
        if increment and abs(increment * clock_hz / 2**width / baud - 1) <= TOLERANCE:
            return increment, width
        width += 1


class UARTReceiver(wiring.Component):
    """UART receiver with oversampling: turns the line's signal into a stream of bytes.

    The line is synchronised by two flip-flops. A falling edge starts a byte; every bit is sampled
    in its middle, the start bit too, which must still be low (a shorter pulse is noise). After the
    middle of the stop bit the next edge is awaited, so a sender may be some percent fast.

    Parameters
    ----------
    clock_hz : number
        Frequency of the domain ``sync``.
    baud : number
        Bits a second; at most a quarter of ``clock_hz``.

    Members
    -------
    line : In(1)
        The pin, asynchronous, high when idle.
    o : Out(stream.Signature(8))
        Received bytes. A byte that waits is kept; bytes that arrive meanwhile are lost.
    framing : Out(1)
        For a cycle: a byte was dropped since its stop bit was low. The next byte is awaited once
        the line is high.
    overrun : Out(1)
        For a cycle: a byte was dropped since the one before it still waits.

    Latency: a byte is offered half a bit before the end of its stop bit, plus two cycles.

    Raises: see :func:`divider`.
    """

    def __init__(self, *, clock_hz: float, baud: float) -> None:
        self._increment, self._width = divider(clock_hz, baud)
        super().__init__(
            {
                "line": In(1, init=1),
                "o": Out(stream.Signature(8)),
                "framing": Out(1),
                "overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.line, line, init=1)

        phase = Signal(self._width)
        following = Signal(self._width + 1)
        tick = following[-1]
        m.d.comb += following.eq(phase + self._increment)
        m.d.sync += phase.eq(following)

        count = Signal(3)
        lost = Signal()

        with m.If(self.o.valid & self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.FSM(init="BREAK"):
            with m.State("IDLE"):
                # Half a bit to the middle of the start bit, less the cycle this takes.
                m.d.sync += phase.eq((1 << (self._width - 1)) + self._increment)
                with m.If(~line):
                    m.next = "START"
            with m.State("START"):
                with m.If(tick):
                    m.next = "IDLE"
                    with m.If(~line):
                        # A byte that waits stays as it is: this one is counted through and dropped.
                        m.d.sync += lost.eq(self.o.valid & ~self.o.ready)
                        m.next = "DATA"
            with m.State("DATA"):
                with m.If(tick):
                    m.d.sync += count.eq(count + 1)
                    with m.If(~lost):
                        m.d.sync += self.o.payload.eq(Cat(self.o.payload[1:], line))
                    with m.If(count == 7):
                        m.next = "STOP"
            with m.State("STOP"):
                with m.If(tick):
                    m.next = "IDLE"
                    with m.If(~line):
                        m.d.comb += self.framing.eq(1)
                        m.next = "BREAK"
                    with m.Elif(lost):
                        m.d.comb += self.overrun.eq(1)
                    with m.Else():
                        m.d.sync += self.o.valid.eq(1)
            with m.State("BREAK"):
                with m.If(line):
                    m.next = "IDLE"
        return m


class UARTTransmitter(wiring.Component):
    """UART transmitter; sends bytes back to back if they are offered in time.

    Parameters
    ----------
    clock_hz, baud : number
        As of :class:`UARTReceiver`.

    Members
    -------
    i : In(stream.Signature(8))
        Bytes to send; taken while the line is idle and in the last cycle of a stop bit.
    line : Out(1)
        The pin, high when idle.

    Latency: the start bit begins in the cycle after the byte was taken.

    Raises: see :func:`divider`.
    """

    def __init__(self, *, clock_hz: float, baud: float) -> None:
        self._increment, self._width = divider(clock_hz, baud)
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "line": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        phase = Signal(self._width)
        following = Signal(self._width + 1)
        tick = following[-1]
        m.d.comb += following.eq(phase + self._increment)

        # Bits still to be sent, above them a marker and zeros: 1 is an idle line, 2 and 3 the last
        # bit of a byte.
        shift = Signal(11, init=1)
        idle = shift[1:] == 0
        last = shift[2:] == 0
        m.d.comb += [
            self.line.eq(shift[0]),
            self.i.ready.eq(idle | (last & tick)),
        ]
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += shift.eq(Cat(Const(0, 1), self.i.payload, Const(0b11, 2)))
            # From idle a bit begins here; at the end of a byte the phase goes on, so that no
            # fraction is lost.
            m.d.sync += phase.eq(following)
            with m.If(idle):
                m.d.sync += phase.eq(0)
        with m.Elif(~idle):
            m.d.sync += phase.eq(following)
            with m.If(tick):
                m.d.sync += shift.eq(shift[1:])
        return m
