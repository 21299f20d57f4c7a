# SPDX-License-Identifier: BSD-2-Clause
"""Reader of SPI flash memory, on one or four data lines."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["FlashPins", "FlashReader", "flash_script"]

#: Commands of JEDEC SPI flash memories (data sheet of Winbond W25Q128JV, section 8.1).
_WAKE, _VOLATILE, _WRITE_STATUS_2 = 0xAB, 0x50, 0x31
_READ, _READ_QUAD = 0x03, 0x6B
#: Status register 2: four data lines.
_QUAD_ENABLE = 0x02


class FlashPins(wiring.Signature):
    """Lines of a flash memory as the FPGA drives them, all from flip-flops.

    Members
    -------
    cs : Out, the chip is selected (high; its pin is inverted)
    clk : Out
    dq : ``o`` Out(4), ``oe`` Out(4), ``i`` In(4); data to the chip is on line 0, from it on line 1,
        or on all four
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "cs": Out(1),
                "clk": Out(1),
                "dq": Out(wiring.Signature({"o": Out(4), "oe": Out(4), "i": In(4)})),
            }
        )


def flash_script(address: int, quad: bool) -> list[list[int]]:
    """Bytes of each command until data come: the chip leaves power-down, is set to four lines for
    as long as it has power, and reads from ``address`` on."""
    wanted = [*address.to_bytes(3, "big")]
    if not quad:
        return [[_WAKE], [_READ, *wanted]]
    # A byte of dummy clocks stands behind the address.
    return [[_WAKE], [_VOLATILE], [_WRITE_STATUS_2, _QUAD_ENABLE], [_READ_QUAD, *wanted, 0]]


class _Stage(enum.Enum, shape=2):
    PAUSE = 0  # the chip is not selected
    COMMAND = 1
    DATA = 2


class FlashReader(wiring.Component):
    """Reads a flash memory from an address on, without end, SPI mode 0.

    The clock rests while nothing takes the bytes. On four lines a byte takes two periods of the
    chip's clock, on one line eight.

    Parameters
    ----------
    address : int
        First byte, below 2^24.
    quad : bool
        On four data lines, else on one each way.
    half : int
        Cycles of half a period of the chip's clock.
    wake : int
        Cycles from the end of a command to the next one; at least those of the chip's release from
        power-down (3 us).

    Members
    -------
    enable : In(1)
        Reads while it is high; low: the chip is not selected, and the next read begins anew.
    o : Out(stream.Signature(8))
    pins : Out(FlashPins)
    """

    def __init__(self, *, address: int, quad: bool, half: int = 1, wake: int = 128) -> None:
        if not isinstance(address, int) or not 0 <= address < 1 << 24:
            raise ValueError(f"Address must be an integer from 0 to 2^24 - 1, not {address!r}")
        for name, value in (("Half a period", half), ("Wake-up", wake)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a positive number of cycles, not {value!r}")
        self._quad, self._half, self._wake = bool(quad), half, wake
        self._script = flash_script(address, self._quad)
        super().__init__({"enable": In(1), "o": Out(stream.Signature(8)), "pins": Out(FlashPins())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pins, o = self.pins, self.o
        layout = data.StructLayout({"byte": 8, "last": 1})
        steps = [
            layout.const({"byte": byte, "last": number == len(command) - 1})
            for command in self._script
            for number, byte in enumerate(command)
        ]
        stage = Signal(_Stage)
        index = Signal(range(len(steps) + 1))  # byte of the script that comes next
        step = Signal(layout)
        with m.Switch(index):
            for number, value in enumerate(steps):
                with m.Case(number):
                    m.d.comb += step.eq(value)
        pause = Signal(range(self._wake), init=self._wake - 1)
        shift = Signal(8, reset_less=True)
        bits = Signal(3, reset_less=True)  # clocks of the byte behind this one
        final = Signal(reset_less=True)  # byte of its command
        tick = self._ticks(m)
        reads, sent = Signal(), Signal()  # the script has been sent, but for its last byte
        falls, whole, holds = Signal(), Signal(), Signal()
        following = Signal(8)
        m.d.comb += [
            reads.eq(stage == _Stage.DATA),
            sent.eq(index == len(steps)),
            whole.eq(bits == 0),
            # The last bit of a byte waits for the one before to be taken.
            holds.eq(reads & whole & o.valid & ~o.ready),
            falls.eq(tick & pins.clk & ~holds),
            pins.dq.o.eq(Cat(shift[7], 0, 1, 1)),
            # Lines 2 and 3 are write protection and hold until the chip is on four lines. With the
            # byte of dummy clocks all are released.
            pins.dq.oe.eq(Mux(sent, 0, 0b1101) if self._quad else 0b1101),
            following.eq(Cat(pins.dq.i[1], shift[:7])),
        ]
        if self._quad:
            with m.If(reads):
                m.d.comb += following.eq(Cat(pins.dq.i, shift[:4]))
        clocks = 1 if self._quad else 7  # of a byte of data, behind its first

        with m.If(o.ready):
            m.d.sync += o.valid.eq(0)
        with m.If(stage == _Stage.PAUSE):
            m.d.sync += [
                pause.eq(pause - 1),
                shift.eq(step.byte),
                final.eq(step.last),
                bits.eq(7),
            ]
            with m.If(pause == 0):
                m.d.sync += [stage.eq(_Stage.COMMAND), pins.cs.eq(1), index.eq(index + 1)]
        with m.Else():
            with m.If(tick & ~pins.clk):
                m.d.sync += pins.clk.eq(1)
            with m.If(falls):
                m.d.sync += [pins.clk.eq(0), shift.eq(following), bits.eq(bits - 1)]
        with m.If(falls & whole):
            with m.If(reads):
                m.d.sync += [o.payload.eq(following), o.valid.eq(1), bits.eq(clocks)]
            with m.Elif(~final):
                m.d.sync += [
                    shift.eq(step.byte),
                    final.eq(step.last),
                    index.eq(index + 1),
                    bits.eq(7),
                ]
            with m.Elif(sent):
                m.d.sync += [stage.eq(_Stage.DATA), bits.eq(clocks)]
            with m.Else():
                m.d.sync += [stage.eq(_Stage.PAUSE), pause.eq(self._wake - 1), pins.cs.eq(0)]
        with m.If(~self.enable):
            m.d.sync += [
                stage.eq(_Stage.PAUSE),
                pause.eq(self._wake - 1),
                index.eq(0),
                pins.cs.eq(0),
                pins.clk.eq(0),
                o.valid.eq(0),
            ]
        return m

    def _ticks(self, m):
        """High at the end of each half of a period of the chip's clock."""
        tick = Signal()
        if self._half == 1:
            m.d.comb += tick.eq(1)
            return tick
        cycles = Signal(range(self._half))
        m.d.comb += tick.eq(cycles == self._half - 1)
        m.d.sync += cycles.eq(cycles + 1)
        with m.If(tick):
            m.d.sync += cycles.eq(0)
        return tick
