# SPDX-License-Identifier: BSD-2-Clause
"""Address generator of the link bridge: addresses, byte lanes and counts for one or several runs of
bytes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .protocol import OVERHEAD

__all__ = ["RunWalker"]


class RunWalker(wiring.Component):
    """Address generator for the bytes of a request: four lanes per word, one lane per step.

    A run begins at the address. When its bytes are over while others are to go, the address moves
    on to the next run: the engine's program has it pass words (``data`` and ``advance``) until it
    lies behind as many as a run takes that does not begin at a word's first byte, and then the step
    is added (``data`` and ``stride``). Of the address the low two bits stay the run's first lane
    meanwhile, so that ``spare`` is known from the lanes of the last word.

    Strobes (``receive`` to ``land``) take effect in their cycle; the others only in one in which
    ``go`` is high too.

    Members
    -------
    byte : In(8)
    go : In(1)
        The engine's step ends.
    receive, begin : In(1)
        Of the first pass over a frame: one more byte; none so far, where those around data count
        less than nothing.
    size : In(1)
        The byte goes to the top of the length.
    land : In(1)
        A run begins; the byte is the lowest of its address.
    place : In(1)
        The byte goes to the top of the address.
    stride : In(1)
        Without ``data`` the byte goes to the top of step and run, and is none of the data: step (16
        bits, signed) in front of run (8 bits, 0: 256). With ``data`` the step is added to the
        address.
    data : In(1)
        One lane of a word; four such steps make a word, in which the address goes round once.
    advance : In(1)
        With ``data``: afterwards the address is that of the next word.
    many : In(1)
        Runs end; without, there is one, of all bytes.
    active : Out(1)
        This lane has a byte of the data, or the step is for no lane.
    inside : Out(1)
        The word goes on.
    over : Out(1)
        The run has no bytes to go.
    left : Out(16)
        Bytes to go; in the first pass: those of the frame that are data, if it is plain.
    empty, one, two : Out(1)
        ``left`` is 0, 1 or 2.
    spare : Out(1)
        The run's last word has the lane in which the run began.
    address : Out(32)
    select : Out(4)
        Lanes of the last word with a byte.
    """

    def __init__(self):
        super().__init__(
            {
                "byte": In(8),
                "go": In(1),
                **dict.fromkeys(
                    (
                        "receive",
                        "begin",
                        "size",
                        "land",
                        "place",
                        "stride",
                        "data",
                        "advance",
                        "many",
                    ),
                    In(1),
                ),
                **dict.fromkeys(
                    ("active", "inside", "over", "empty", "one", "two", "spare"), Out(1)
                ),
                "left": Out(16),
                "address": Out(32),
                "select": Out(4),
            }
        )
        # Proofs look at these.
        self.run = Signal(8, reset_less=True)
        self.step = Signal(16, reset_less=True)
        self.place_in_run = Signal(8, reset_less=True)  # of the next byte, from 1
        self.skip = Signal(2, reset_less=True)  # lanes before the data
        self.lane = Signal(2)
        self.carry = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(16, reset_less=True)
        over = Signal(reset_less=True)
        address = Signal(32, reset_less=True)
        select = Signal(4, reset_less=True)
        run, step, place, skip, lane, carry = (
            self.run,
            self.step,
            self.place_in_run,
            self.skip,
            self.lane,
            self.carry,
        )

        short = left[2:] == 0
        m.d.comb += [
            self.active.eq(~self.data | ((skip == 0) & ~over)),
            self.inside.eq(lane != 3),
            self.over.eq(over),
            self.left.eq(left),
            self.empty.eq(short & (left[:2] == 0)),
            self.one.eq(short & (left[:2] == 1)),
            self.two.eq(short & (left[:2] == 2)),
            self.spare.eq(select.bit_select(address[:2], 1)),
            self.address.eq(address),
            self.select.eq(select),
        ]

        moved = Signal(16)
        m.d.comb += moved.eq(left + Mux(self.data | self.stride, 0xFFFF, 1))
        with m.If(self.receive | (Mux(self.data, self.active, self.stride) & self.go)):
            m.d.sync += left.eq(moved)
        with m.If(self.size):
            m.d.sync += left.eq(Cat(left[8:], self.byte))
        with m.If(self.begin):
            m.d.sync += left.eq(-OVERHEAD & 0xFFFF)

        # The address goes round a byte a lane, its carry with it.
        ahead, addend = Signal(9), Signal(8)
        m.d.comb += [
            addend.eq(
                Mux(
                    self.stride,
                    Mux(lane[1], step[-1].replicate(8), step[:8]),
                    Cat(Const(0, 2), self.advance & (lane == 0)),
                )
            ),
            ahead.eq((Cat(Const(1, 1), address[:8]) + Cat(carry, addend)) >> 1),
        ]
        with m.If(self.stride & self.go & ~lane[1]):
            m.d.sync += step.eq(Cat(step[8:], Mux(self.data, step[:8], self.byte)))
            with m.If(~self.data):
                m.d.sync += run.eq(step[:8])
        with m.If((self.place | self.data) & self.go):
            m.d.sync += address.eq(Cat(address[8:], Mux(self.data, ahead[:8], self.byte)))

        with m.If(self.data & self.go):
            m.d.sync += [
                lane.eq(lane + 1),
                select.eq(Cat(select[1:], self.active)),
                carry.eq(ahead[8] & (lane != 3)),
                over.eq(over | (self.active & (self.one | (self.many & (place == run))))),
            ]
            with m.If(skip != 0):
                m.d.sync += skip.eq(skip - 1)
            with m.If(self.active):
                m.d.sync += place.eq(place + 1)
        with m.If(self.land):
            m.d.sync += [
                skip.eq(self.byte[:2]),
                over.eq(0),
                place.eq(1),
            ]
        return m
