# SPDX-License-Identifier: BSD-2-Clause
"""Bounds checker of a run, and its fault report (specification, section 6), with a single adder
that is used step by step.

A run begins and ends rarely, and nothing waits for a single cycle of either; so all sums and
comparisons of addresses take turns at one adder with registers on both sides. While the run lasts,
it holds how many results may be written.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ..isa import ISA

__all__ = ["Bounds"]

_CODE = ISA.fault_codes


class _Op(enum.Enum, shape=2):
    ADD = 0  # x + y; the carry is the sum's top bit
    LEAST = 1  # x - y; the carry says x >= y
    MORE = 2  # x - y - 1; the carry says x > y


class _X(enum.Enum, shape=2):
    ADDRESS = 0
    AT = 1
    TOTAL = 2
    OUTPUT = 3


class _Y(enum.Enum, shape=3):
    LENGTH = 0
    BASE = 1
    LIMIT = 2
    OUTPUT = 3
    PLACE = 4
    VECTOR = 5


class Bounds(wiring.Component):
    """Bounds checker: checks a start and the space for results, and computes address and detail of
    a fault.

    Parameters
    ----------
    bits : int
        Width of addresses.
    rows : int
        Words of a vector.

    Members
    -------
    address, length, window_base, window_limit, output_limit : In(bits), hold still; at : In(bits),
    where the next result goes
    judge : In(1), level: a start is looked at; conclude : In(1), level: the run is over.
        Not both; each from low to ``done``
    over : In(5), how the run ended but for its start; place : In(bits - 2),
        word that it ended at; lost : In(1), a result was not written
    good : Out(1), the program may be fetched; the run may begin when ``done``
    done : Out(1), the last cycle of ``judge`` or ``conclude``:
        ``code`` 0 of ``judge`` is a run to be made (``empty``: to be left out)
    allowance : Out(bits - 2), results that may be written, from ``done`` of ``judge`` on
    code : Out(5), pc : Out(bits), detail : Out(bits),
        of the fault's detail what is no word of the program; word : Out(1), it is one
    """

    def __init__(self, *, bits: int, rows: int) -> None:
        self.bits, self.rows = bits, rows
        super().__init__(
            {
                **{
                    name: In(bits)
                    for name in (
                        "address",
                        "length",
                        "window_base",
                        "window_limit",
                        "output_limit",
                        "at",
                    )
                },
                "judge": In(1),
                "conclude": In(1),
                "over": In(5),
                "place": In(bits - 2),
                "lost": In(1),
                "good": Out(1),
                "empty": Out(1),
                "done": Out(1),
                "allowance": Out(bits - 2),
                "code": Out(5),
                "pc": Out(bits),
                "detail": Out(bits),
                "word": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.bits
        x, y = Signal(bits, reset_less=True), Signal(bits, reset_less=True)
        carry_in, carry = Signal(reset_less=True), Signal(reset_less=True)
        total = Signal(bits, reset_less=True)
        both = Signal(bits + 2)
        # Not the carry twice: nextpnr's router1 does not end where a carry of an iCE40 wants one
        # net at both of its inputs.
        m.d.comb += both.eq(Cat(Const(1), x) + Cat(carry_in, y))
        m.d.sync += [total.eq(both[1 : bits + 1]), carry.eq(both[bits + 1])]
        first, second, op, asks = Signal(_X), Signal(_Y), Signal(_Op), Signal()
        from_x, from_y = first.as_value(), second.as_value()
        right = Mux(
            from_y[2],
            Mux(from_y[0], 4 * self.rows, Cat(Const(0, 2), self.place)),
            Mux(
                from_y[1],
                Mux(from_y[0], self.output_limit, self.window_limit),
                Mux(from_y[0], self.window_base, self.length),
            ),
        )[:bits]
        with m.If(asks):
            m.d.sync += [
                x.eq(
                    Mux(
                        from_x[1],
                        Mux(from_x[0], self.output_limit, total),
                        Mux(from_x[0], self.at, self.address),
                    )
                ),
                y.eq(right ^ (op != _Op.ADD).replicate(bits)),
                carry_in.eq(op == _Op.LEAST),
            ]

        def ask(left, right, does=_Op.ADD):
            """Requests a comparison, whose result is valid two steps later."""
            return [first.eq(left), second.eq(right), op.eq(does), asks.eq(1)]

        step = Signal(4)
        below, past, outside, under, wraps, full = (
            Signal(name=name, reset_less=True)
            for name in ("below", "past", "outside", "under", "wraps", "full")
        )
        skewed = Signal()
        # Looked at from the fifth step on, when they have long come to rest.
        m.d.sync += [
            skewed.eq((self.length[:2] != 0) | (self.at[:2] != 0)),
            self.empty.eq(~skewed & (self.length == 0)),
        ]
        m.d.comb += [
            self.good.eq(self.judge & (step == 6) & (self.code == 0) & ~self.empty),
            self.allowance.eq(Mux(carry | under, 0, ~total[2:])),
        ]
        takes_x, takes_y = Signal(), Signal()
        m.d.comb += self.detail.eq((x & takes_x.replicate(bits)) | (y & takes_y.replicate(bits)))
        with m.If(self.judge | self.conclude):
            m.d.sync += step.eq(Mux(self.done, 0, step + 1))
        with m.If(self.judge):
            m.d.comb += self.done.eq((step == 9) | (step == 6) & ((self.code != 0) | self.empty))
            with m.Switch(step):
                with m.Case(0):
                    m.d.comb += ask(_X.ADDRESS, _Y.LENGTH)
                    m.d.sync += [self.code.eq(0), takes_x.eq(0), takes_y.eq(0), self.word.eq(0)]
                with m.Case(1):
                    m.d.comb += ask(_X.ADDRESS, _Y.BASE, _Op.LEAST)
                with m.Case(2):
                    m.d.comb += ask(_X.TOTAL, _Y.LIMIT, _Op.MORE)
                    m.d.sync += wraps.eq(carry)
                with m.Case(3):
                    m.d.comb += ask(_X.ADDRESS, _Y.LIMIT, _Op.LEAST)
                    m.d.sync += below.eq(~carry)
                with m.Case(4):
                    m.d.comb += ask(_X.AT, _Y.BASE, _Op.LEAST)
                    m.d.sync += outside.eq(carry | wraps)
                with m.Case(5):
                    m.d.comb += ask(_X.OUTPUT, _Y.LIMIT, _Op.LEAST)
                    m.d.sync += past.eq(carry)
                    with m.If(skewed):
                        m.d.sync += self.code.eq(_CODE["program_align"])
                    with m.Elif((below | outside) & ~self.empty):
                        m.d.sync += self.code.eq(_CODE["program_window"])
                with m.Case(6):
                    m.d.sync += under.eq(~carry)
                with m.Case(7):
                    m.d.comb += ask(_X.AT, Mux(carry, _Y.LIMIT, _Y.OUTPUT), _Op.MORE)
        with m.If(self.conclude):
            with m.Switch(step):
                with m.Case(0):
                    m.d.comb += ask(_X.ADDRESS, _Y.PLACE)
                    with m.If(self.lost):
                        m.d.sync += self.code.eq(_CODE["bus_write"])
                    with m.Elif(self.over != 0):
                        m.d.sync += self.code.eq(self.over)
                with m.Case(2):
                    m.d.sync += self.pc.eq(total)
                    m.d.comb += self.done.eq(self.code != _CODE["output_full"])
                    with m.Switch(self.code):
                        with m.Case(0, _CODE["aborted"]):
                            pass
                        with m.Case(_CODE["output_full"]):
                            m.d.comb += ask(_X.AT, _Y.VECTOR)
                        with m.Case(_CODE["program_align"]):
                            m.d.comb += ask(_X.AT, _Y.LENGTH)
                            m.d.sync += [
                                takes_y.eq(self.length[:2] != 0),
                                takes_x.eq(self.length[:2] == 0),
                            ]
                        with m.Case(_CODE["program_window"]):
                            m.d.comb += ask(_X.ADDRESS, _Y.LIMIT)
                            m.d.sync += [takes_x.eq(below | past), takes_y.eq(~(below | past))]
                        with m.Case(_CODE["bus_read"]):
                            m.d.comb += ask(_X.TOTAL, _Y.PLACE)
                            m.d.sync += takes_x.eq(1)
                        with m.Case(_CODE["bus_write"]):
                            m.d.comb += ask(_X.AT, _Y.PLACE)
                            m.d.sync += takes_x.eq(1)
                        with m.Default():
                            m.d.sync += self.word.eq(1)
                # The space ended at the lower of two limits: which?
                with m.Case(4):
                    m.d.comb += ask(_X.TOTAL, _Y.OUTPUT, _Op.MORE)
                    m.d.sync += wraps.eq(carry)
                with m.Case(6):
                    m.d.comb += ask(_X.AT, Mux(carry | wraps, _Y.OUTPUT, _Y.LIMIT), _Op.LEAST)
                    m.d.sync += full.eq(carry | wraps)
                with m.Case(8):
                    m.d.comb += ask(_X.AT, Mux(full, _Y.OUTPUT, _Y.LIMIT))
                    m.d.sync += [
                        takes_x.eq(carry | under & ~full),
                        takes_y.eq(~(carry | under & ~full)),
                    ]
                    with m.If(~full):
                        m.d.sync += self.code.eq(_CODE["output_window"])
                    m.d.comb += self.done.eq(1)
        return m
