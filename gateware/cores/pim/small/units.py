# SPDX-License-Identifier: BSD-2-Clause
"""Units of the small engine: access to elements in memory, and products of mvmul with their
accumulators."""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....isa.parameters import Params
from ....primitives.dsp import MultiplierArray
from .instructions import MAC, REGION_BITS, SHIFT, STORE, TWO
from .store import Store

__all__ = ["ACC_BITS", "Units"]

#: A sum of products and a bias needs 36; shifts by 39 give what longer ones do.
ACC_BITS = 40


class Units(wiring.Component):
    """Units of the small engine: execute the operations of ``run`` one at a time.

    An element takes 4 cycles behind the first, n rows 2n + 4, a shift by 8n + k n + k + 1.
    Products: inputs come byte by byte, two cycles a row, the weights of two columns at once;
    multiplier and adder take one column after the other, and the two accumulators turn.

    Members
    -------
    begin : In, one cycle; operation : In (:mod:`.instructions`), until finished : Out, one cycle
    place : In, 18 bits, P, a cycle before ``begin``
    a : In, 32 bits, taken by take_value, take_row, take_mask, take_acc : In
    value : Out, 32 bits; acc : Out, signed, the accumulator that was shifted last
    """

    def __init__(
        self, *, params: Params, multiplier: str = "dsp", family: str | None = None
    ) -> None:
        self._store, self._row_bytes = Store(params=params, family=family), params["xb_cols"]
        self._multiplier = MultiplierArray(lanes=1, kind=multiplier, width=16, family=family)
        super().__init__(
            {
                "begin": In(1),
                "operation": In(TWO.bit_length()),
                "finished": Out(1),
                "place": In(REGION_BITS + 2),
                "a": In(32),
                **{f"take_{name}": In(1) for name in ("value", "row", "mask", "acc")},
                "value": Out(32),
                "acc": Out(signed(ACC_BITS)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = store = self._store
        stores, products, shifts, more = (
            self.operation[bit.bit_length() - 1] for bit in (STORE, MAC, SHIFT, TWO)
        )
        at, row, left, step, upper = (
            Signal(REGION_BITS + 2),
            Signal(REGION_BITS),
            Signal(9),
            Signal(2),
            Signal(),
        )
        moves, captured, shifted, eight, turned = Signal(), Signal(), Signal(), Signal(), Signal()
        busy = self._multiply(m, captured, shifted, eight, turned)
        m.d.comb += [store.address.eq(at), store.data.eq(self.value), store.row.eq(row)]
        with m.If(self.take_row):
            m.d.sync += row.eq(self.a)

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [at.eq(self.place), left.eq(self.operation), step.eq(0), upper.eq(1)]
                with m.If(self.begin):
                    m.d.sync += at.eq(at + (more | ~products))
                    with m.If(products):
                        m.next = "ROWS"
                    with m.Elif(shifts):
                        m.next = "SHIFT"
                    with m.Else():
                        m.d.comb += [store.write.eq(stores), moves.eq(stores)]
                        m.next = "ELEMENT"
            with m.State("ELEMENT"):
                m.d.comb += [
                    store.write.eq(stores & (step + 1 < self.operation[:3])),
                    moves.eq(1),
                    self.finished.eq(step == 3),
                ]
                m.d.sync += [step.eq(step + 1), at.eq(at + 1)]
                with m.If(self.finished):
                    m.next = "IDLE"
            with m.State("ROWS"):
                # A row's lower byte was requested a cycle ago, its upper byte is now; then, with
                # the next row's lower byte, it is whole.
                m.d.sync += [upper.eq(~upper), at.eq(at + (upper | more))]
                with m.If(upper):
                    m.d.sync += row.eq(row + self._row_bytes)
                with m.Else():
                    m.d.comb += captured.eq(1)
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.comb += self.finished.eq(~busy)
                with m.If(self.finished):
                    m.next = "IDLE"
            with m.State("SHIFT"):
                m.d.comb += [
                    eight.eq(left[3:6].any()),
                    turned.eq(left[:6] == 0),
                    shifted.eq(~turned),
                    self.finished.eq(turned),
                ]
                m.d.sync += left.eq(Mux(eight, Cat(left[:3], left[3:6] - 1), left[:3] - 1))
                with m.If(turned):
                    m.next = "IDLE"

        # An element moves through VALUE, lowest byte first; after its last byte comes its sign.
        with m.If(self.take_value):
            m.d.sync += self.value.eq(self.a)
        with m.Elif(moves):
            m.d.sync += self.value.eq(
                Cat(
                    self.value[8:],
                    Mux(step < self.operation[:3], store.read, self.value[-1].replicate(8)),
                )
            )
        return m

    def _multiply(self, m, captured, shifted, eight, turned):
        """Multiplier and accumulators; returns whether products are outstanding, other than one
        that is added in this cycle."""
        store = self._store
        m.submodules.multiplier = multiplier = self._multiplier
        # An input's bits beyond its width are its sign.
        mask, before = Signal(16), Signal(8)
        whole, extended = Signal(16), Signal(16)
        top = mask & ~Cat(mask[1:], 0)
        sign = (whole & top).any()
        m.d.comb += [
            whole.eq(Cat(before, store.read)),
            extended.eq((whole & mask) | (~mask & sign.replicate(16))),
        ]
        m.d.sync += before.eq(store.read)
        with m.If(self.take_mask):
            m.d.sync += mask.eq(self.a)
        x, weights = Signal(16), Signal(16)
        with m.If(captured):
            m.d.sync += [x.eq(extended), weights.eq(store.weights)]
        first, second, on_the_way = Signal(), Signal(), Signal(multiplier.latency)
        column = Mux(first, weights[:8], weights[8:]) & (first | second).replicate(8)
        m.d.comb += [multiplier.a[0].eq(x), multiplier.b[0].eq(column.as_signed())]
        m.d.sync += [
            first.eq(captured),
            second.eq(first),
            on_the_way.eq(Cat(first | second, on_the_way)),
        ]

        # Both turn with every product: the accumulator that was added to is the second. The
        # multiplier gives 0
        # where there is none.
        one, other, last = (
            Signal(signed(ACC_BITS), reset_less=True),
            Signal(signed(ACC_BITS), reset_less=True),
            Signal(),
        )
        added, rounds = on_the_way[-1], self.operation[TWO.bit_length() - 1]
        with m.If(self.take_acc | added | turned):
            m.d.sync += [
                other.eq(one + multiplier.p[0] + (turned & rounds & last)),
                one.eq(Mux(self.take_acc, self.a.as_signed(), other)),
            ]
        with m.If(shifted):
            m.d.sync += one.eq(Mux(eight, one >> 8, one >> 1))
        m.d.sync += last.eq(shifted & Mux(eight, one[7], one[0]))
        m.d.comb += self.acc.eq(other)
        return first | second | on_the_way[:-1].any()
