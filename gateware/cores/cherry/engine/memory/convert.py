# SPDX-License-Identifier: BSD-2-Clause
"""Format converters of DMA: words of main memory to elements and back, row by row (specification,
section 7.2)."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from .....arguments import check_choice
from ...tables import NAN
from ..units.lsu_crossbar import choose

__all__ = ["Format", "Packer", "UnitLayout", "Unpacker", "from_bf16", "from_fp32", "to_bf16"]


class Format(enum.Enum, shape=2):
    """Element formats in main memory."""

    FP32 = 0
    BF16 = 1
    PACKED = 2
    RAW = 3


def from_fp32(bits: Value) -> Value:
    """Converter from IEEE binary32 to an element, rounded to nearest: 18 bits, combinational (a
    17-bit increment)."""
    sign, exponent, fraction = bits[31], bits[23:31], bits[:23]
    up = bits[13] & (bits[:13].any() | bits[14])
    finite = Cat((bits[14:31] + up)[:17], sign)
    return Mux(
        exponent == 0, Cat(Const(0, 17), sign), Mux(exponent.all() & fraction.any(), NAN, finite)
    )[:18]


def from_bf16(bits: Value) -> Value:
    """Converter from bfloat16 to an element: 18 bits, combinational."""
    exponent, fraction = bits[7:15], bits[:7]
    exact = Cat(Const(0, 2), bits)
    return Mux(
        exponent == 0, Cat(Const(0, 17), bits[15]), Mux(exponent.all() & fraction.any(), NAN, exact)
    )[:18]


def to_bf16(x: Value) -> Value:
    """Converter from an element to bfloat16, rounded to nearest: 16 bits, combinational (a
    15-bit increment)."""
    exponent, fraction = x[9:17], x[:9]
    up = x[1] & (x[0] | x[2]) & ~exponent.all()
    finite = Cat((x[2:17] + up)[:15], x[17])
    return Mux(
        exponent == 0,
        Cat(Const(0, 15), x[17]),
        Mux(exponent.all() & fraction.any(), 0x7FC0, finite),
    )[:16]


class UnitLayout(data.StructLayout):
    """Transfer unit of DMA: one element, or two with ``both``; ``last`` of its row."""

    def __init__(self) -> None:
        super().__init__({"first": unsigned(18), "second": unsigned(18), "both": 1, "last": 1})


def _check_lanes(lanes):
    check_choice("Lanes", lanes, (1, 2))


def _bits(fmt, lanes, both):
    """Width of a transfer unit in bits: with two lanes, bf16 and packed elements come in pairs."""
    pair = Mux(both, 1, 0) if lanes == 2 else Const(0, 1)
    return Mux(
        fmt == Format.BF16, Mux(pair, 32, 16), Mux(fmt == Format.PACKED, Mux(pair, 36, 18), 32)
    )


class Unpacker(wiring.Component):
    """Unpacker of DMA: words of rows to elements, at most one word per cycle and two transfer units
    per word. Every row begins with a new word.

    Parameters
    ----------
    lanes : 1 or 2
        2: elements of bf16 and packed come in pairs, an odd row's last one alone.

    Members
    -------
    start : In, forget all; ``format``, ``cols`` (1 to 65535) : In, stable from then on
    words : In(stream of 32 bits)
    units : Out(stream of UnitLayout), a register: a cycle after the word
    """

    def __init__(self, *, lanes: int = 1) -> None:
        _check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "start": In(1),
                "format": In(Format),
                "cols": In(16),
                "words": In(stream.Signature(32)),
                "units": Out(stream.Signature(UnitLayout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, units = self._lanes, self.units
        # Two words; the unit begins at bit `offset` of the first; from 32 on the first one is used
        # up.
        low, high, has_low, has_high = Signal(32), Signal(32), Signal(), Signal()
        offset, left = Signal(6), Signal(16)
        one_left, two_left = Signal(), Signal()  # of the row: worked out a unit ahead
        both, last = Signal(), Signal()
        paired = (
            (self.format == Format.BF16) | (self.format == Format.PACKED)
            if lanes == 2
            else Const(0)
        )
        m.d.comb += [both.eq(paired & ~one_left), last.eq(one_left | (both & two_left))]

        after, take, drop, room = Signal(7), Signal(), Signal(), Signal()
        # The format stands long before the first word comes.
        size_of_one, size_of_two = Signal(6), Signal(6)
        m.d.sync += [
            size_of_one.eq(_bits(self.format, lanes, Const(0))),
            size_of_two.eq(_bits(self.format, lanes, Const(1))),
        ]
        m.d.comb += [
            after.eq(offset[:5] + Mux(both, size_of_two, size_of_one)),
            room.eq(~units.valid | units.ready),
            take.eq(has_low & ~offset[5] & ((after <= 32) | has_high) & room),
            drop.eq((take & (last | (after >= 32))) | (has_low & offset[5])),
            self.words.ready.eq(~has_high | drop),
        ]
        window = Cat(low, high)
        step = 4 if lanes == 2 else 2
        span = 18 * lanes
        part = Signal(span)
        m.d.comb += part.eq(
            choose(
                [window[k : k + span] for k in range(0, 32, step)],
                offset[step.bit_length() - 1 : 5],
            )
        )
        with m.If(room):
            m.d.sync += [
                units.valid.eq(take),
                units.payload.both.eq(both),
                units.payload.last.eq(last),
            ]
            with m.Switch(self.format):
                with m.Case(Format.FP32):
                    m.d.sync += units.payload.first.eq(from_fp32(low))
                with m.Case(Format.BF16):
                    m.d.sync += units.payload.first.eq(from_bf16(part[:16]))
                with m.Case(Format.PACKED):
                    m.d.sync += units.payload.first.eq(part[:18])
                with m.Default():
                    m.d.sync += units.payload.first.eq(low[:18])
            if lanes == 2:
                m.d.sync += units.payload.second.eq(
                    Mux(self.format == Format.BF16, from_bf16(low[16:]), part[18:])
                )
        with m.If(take):
            m.d.sync += [
                left.eq(left - Mux(both, 2, 1)),
                one_left.eq(Mux(both, left == 3, left == 2)),
                two_left.eq(Mux(both, left == 4, left == 3)),
                offset.eq(Mux(after >= 32, after - 32, after)),
            ]
            with m.If(last):
                m.d.sync += offset.eq(Mux(after > 32, 32, 0))
        with m.Elif(drop):
            m.d.sync += offset.eq(offset[:5])
        # Words move up.
        gets = Signal()
        m.d.comb += gets.eq(self.words.valid & self.words.ready)
        with m.If(drop):
            m.d.sync += [
                low.eq(Mux(has_high, high, self.words.payload)),
                has_low.eq(has_high | gets),
                has_high.eq(has_high & gets),
                high.eq(self.words.payload),
            ]
        with m.Elif(gets):
            m.d.sync += [has_low.eq(1), has_high.eq(has_low), high.eq(self.words.payload)]
            with m.If(~has_low):
                m.d.sync += low.eq(self.words.payload)
        with m.If(self.start | (take & last)):
            m.d.sync += [
                left.eq(self.cols),
                one_left.eq(self.cols == 1),
                two_left.eq(self.cols == 2),
            ]
        with m.If(self.start):
            m.d.sync += [has_low.eq(0), has_high.eq(0), offset.eq(0), units.valid.eq(0)]
        return m


class Packer(wiring.Component):
    """Packer of DMA: elements to words of rows, one word per cycle. Every row begins with a new
    word; unused bits are 0.

    Parameters
    ----------
    lanes : 1 or 2, as for :class:`Unpacker`

    Members
    -------
    start : In, forget all; ``format`` : In, from the cycle after it on, stable
    units : In(stream of UnitLayout)
    words : Out(stream of 32 bits), a register; while a word waits no unit is taken
    """

    def __init__(self, *, lanes: int = 1) -> None:
        _check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "start": In(1),
                "format": In(Format),
                "units": In(stream.Signature(UnitLayout())),
                "words": Out(stream.Signature(32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, given, words = self._lanes, self.units.payload, self.words
        # First the elements as bits, then bits into their place.
        width = 18 * lanes if lanes == 2 else 32
        value, valid, size, last = Signal(width, reset_less=True), Signal(), Signal(6), Signal()
        accept = Signal()
        m.d.comb += self.units.ready.eq(~valid | accept)
        with m.If(self.units.ready):
            m.d.sync += [
                valid.eq(self.units.valid),
                size.eq(_bits(self.format, lanes, given.both)),
                last.eq(given.last),
            ]
            second = Mux(given.both, given.second, 0) if lanes == 2 else Const(0, 18)
            with m.Switch(self.format):
                with m.Case(Format.FP32):
                    m.d.sync += value.eq(Cat(Const(0, 14), given.first))
                with m.Case(Format.BF16):
                    m.d.sync += value.eq(
                        Cat(
                            to_bf16(given.first),
                            Mux(given.both, to_bf16(given.second), 0) if lanes == 2 else 0,
                        )
                    )
                with m.Case(Format.PACKED):
                    m.d.sync += value.eq(Cat(given.first, second))
                with m.Default():
                    m.d.sync += value.eq(given.first)

        part, offset = Signal(32), Signal(6)
        step = 4 if lanes == 2 else 2
        placed = Signal(64)
        m.d.comb += placed.eq(
            part
            | choose(
                [(value << k)[:64] for k in range(0, 32, step)], offset[step.bit_length() - 1 : 5]
            )
        )
        after, emits, room = Signal(7), Signal(), Signal()
        m.d.comb += [
            after.eq(offset[:5] + size),
            emits.eq(last | (after >= 32)),
            room.eq(~words.valid | words.ready),
            accept.eq(valid & ~offset[5] & room),
        ]  # whether or not it fills a word: that is known late
        with m.If(words.ready):
            m.d.sync += words.valid.eq(0)
        with m.If(accept):
            m.d.sync += [part.eq(placed[:32]), offset.eq(after)]
            with m.If(emits):
                m.d.sync += [
                    words.valid.eq(1),
                    words.payload.eq(placed[:32]),
                    part.eq(placed[32:]),
                    offset.eq(after - 32),
                ]
                with m.If(last):
                    # The remainder goes into a word of its own.
                    m.d.sync += offset.eq(Mux(after > 32, 32, 0))
        with m.Elif(offset[5] & room):
            m.d.sync += [words.valid.eq(1), words.payload.eq(part), part.eq(0), offset.eq(0)]
        with m.If(self.start):
            m.d.sync += [valid.eq(0), offset.eq(0), part.eq(0), words.valid.eq(0)]
        return m
