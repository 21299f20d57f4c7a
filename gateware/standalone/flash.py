# SPDX-License-Identifier: BSD-2-Clause
"""Reader of SPI flash memory, with one or four data lines."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer

__all__ = ["FlashPins", "FlashReader", "flash_script"]

#: Commands of JEDEC SPI flash memories (data sheet of Winbond W25Q128JV, section 8.1).
_WAKE, _VOLATILE, _WRITE_STATUS_2 = 0xAB, 0x50, 0x31
_READ, _READ_QUAD = 0x03, 0x6B
#: Status register 2: four data lines.
_QUAD_ENABLE = 0x02


class FlashPins(wiring.Signature):
    """Lines of a flash memory, seen from the FPGA; all are driven from flip-flops.

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
    """Bytes of the commands before the data: leave power-down, enable four data lines until power
    is lost, and read from ``address`` on."""
    wanted = [*address.to_bytes(3, "big")]
    if not quad:
        return [[_WAKE], [_READ, *wanted]]
    # A byte of dummy clocks stands after the address.
    return [[_WAKE], [_VOLATILE], [_WRITE_STATUS_2, _QUAD_ENABLE], [_READ_QUAD, *wanted, 0]]


def _bits(command):
    """Pairs (1, bit) of a command, with the highest bit of each byte first."""
    return [(1, byte >> bit & 1) for byte in command for bit in range(7, -1, -1)]


class FlashReader(wiring.Component):
    """Reads a flash memory continuously from an address on, in SPI mode 0.

    The clock rests while nothing takes the bytes. On four lines a byte takes two periods of the
    chip's clock, on one line eight.

    Parameters
    ----------
    address : int
        First byte, below 2^24.
    quad : bool
        On four data lines, else on one each way.
    fallback : bool
        With ``quad``: adds the input ``single``.
    half : int
        Cycles of half a period of the chip's clock.
    wake : int
        Least cycles for which the chip is not selected after its release from power-down (3 us);
        they become more, so that all clocks of commands are a power of two.
    delay : int
        Cycles before the first command.

    Members
    -------
    enable : In(1)
        Reads while it is high; low: the chip is not selected, and the next read begins anew.
    single : In(1), with ``fallback``
        Reads on one data line each way all the same; looked at while ``enable`` is low.
    o : Out(stream.Signature(8))
    pins : Out(FlashPins)
    """

    def __init__(
        self,
        *,
        address: int,
        quad: bool,
        fallback: bool = False,
        half: int = 1,
        wake: int = 96,
        delay: int = 0,
    ) -> None:
        check_integer("Address", address, 0, (1 << 24) - 1)
        check_integer("Half a period", half, 1, unit="cycles")
        check_integer("Wake-up", wake, 1, unit="cycles")
        check_integer("Delay", delay, 0, unit="cycles")
        if fallback and not quad:
            raise ValueError("A fallback to one data line needs four lines to fall back from")
        self._quad, self._half, self._delay = bool(quad), half, delay
        self._fallback = bool(fallback)
        self._one = Signal(name="on_one_line")  # `single`, as of this read
        self._script = self._periods(flash_script(address, self._quad), wake, half)
        self._single = self._periods(
            flash_script(address, False), wake, half, len(self._script) if fallback else 0
        )
        super().__init__(
            {
                "enable": In(1),
                "o": Out(stream.Signature(8)),
                "pins": Out(FlashPins()),
                **({"single": In(1)} if fallback else {}),
            }
        )

    @staticmethod
    def _periods(commands, wake, half, length=0):
        """Pairs (chip is selected, bit), one for each period of the chip's clock, which also runs
        while the chip is not selected. Their number is a power of two, so that the carry of a
        counter ends it; ``length`` if that is not 0."""
        wake_up, *rest = commands
        behind = _bits(rest[0])
        for command in rest[1:]:
            behind += [(0, 0), *_bits(command)]
        least = 9 + -(-wake // (2 * half)) + len(behind)
        pause = (length or 1 << (least - 1).bit_length()) - 9 - len(behind)
        return [(0, 0), *_bits(wake_up), *[(0, 0)] * pause, *behind]

    @property
    def clocks(self) -> int:
        """Number of periods of the chip's clock before the first byte of data."""
        return len(self._script)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pins, o = self.pins, self.o
        length = len(self._script)
        index, following = Signal(range(length)), Signal(range(length))
        last = Signal()  # bit of the script
        reads = Signal()
        clocks = 2 if self._quad and not self._fallback else 8
        shift = Signal(4 if clocks == 2 else 7, reset_less=True)
        left = Signal(range(clocks))  # clocks of the byte after this one
        tick = self._ticks(m)
        falls, whole, holds = Signal(), Signal(), Signal()
        byte = Signal(8)  # with the bits that come now
        m.d.comb += [
            following.eq(index + 1),
            last.eq(index.all()),
            whole.eq(reads & (left == 0)),
            # The last bit of a byte waits for the one before to be taken.
            holds.eq(whole & o.valid & ~o.ready),
            falls.eq(tick & pins.clk & ~holds),
            pins.dq.o.eq(Cat(self._scripted(1, index), 0, 1, 1)),
            # Lines 2 and 3 are write protection and hold until the chip is on four lines. With the
            # byte of dummy clocks, the last one, all are released.
            pins.dq.oe.eq(0b1101),
            byte.eq(self._shifted(shift)),
        ]
        if self._quad:
            releases = reads | index[3:].all()
            with m.If(releases & ~self._one if self._fallback else releases):
                m.d.comb += pins.dq.oe.eq(0)

        with m.If(o.ready):
            m.d.sync += o.valid.eq(0)
        with m.If(tick & ~pins.clk):
            m.d.sync += pins.clk.eq(1)
        with m.If(falls):
            m.d.sync += [pins.clk.eq(0), shift.eq(byte), left.eq(left - 1)]
            with m.If(~reads):
                m.d.sync += [
                    index.eq(following),
                    pins.cs.eq(self._scripted(0, following) | last),
                ]
                with m.If(last):
                    m.d.sync += [reads.eq(1), left.eq(self._clocks(clocks) - 1)]
            with m.If(whole):
                m.d.sync += [o.payload.eq(byte), o.valid.eq(1)]
                if self._fallback:
                    m.d.sync += left.eq(self._clocks(clocks) - 1)
        with m.If(~self._go(m)):
            m.d.sync += [
                index.eq(0),
                reads.eq(0),
                pins.cs.eq(0),
                pins.clk.eq(0),
                o.valid.eq(0),
            ]
            if self._fallback:
                # Not before the chip is deselected, which drives its lines until then.
                m.d.sync += self._one.eq(self.single)
        return m

    def _clocks(self, clocks):
        """Clock periods of a byte."""
        return Mux(self._one, 8, 2) if self._fallback else clocks

    def _scripted(self, part, index):
        """Chip select (0) or bit (1) of the commands in a period."""

        def of(script):
            value = sum(pair[part] << at for at, pair in enumerate(script))
            return Const(value, len(script)).bit_select(index, 1)

        if not self._fallback:
            return of(self._script)
        return Mux(self._one, of(self._single), of(self._script))

    def _shifted(self, shift):
        """Shift register: the byte with the bits of this clock appended."""
        one, four = Cat(self.pins.dq.i[1], shift), Cat(self.pins.dq.i, shift[:4])
        if self._fallback:
            return Mux(self._one, one, four)
        return four if self._quad else one

    def _go(self, m):
        """Delayed ``enable``."""
        if not self._delay:
            return self.enable
        waited = Signal()
        cycles = Signal(range(self._delay))
        with m.If(~self.enable):
            m.d.sync += [cycles.eq(0), waited.eq(0)]
        with m.Elif(~waited):
            m.d.sync += [cycles.eq(cycles + 1), waited.eq(cycles == self._delay - 1)]
        return self.enable & waited

    def _ticks(self, m):
        """Tick at the end of each half period of the chip's clock."""
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
