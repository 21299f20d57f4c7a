# SPDX-License-Identifier: BSD-2-Clause
"""Vector unit: processes as many elements per cycle as LMem has bytes for (specification, sections
4.3 and 9)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .....arguments import check_family
from .....isa.parameters import Params
from ..commands import (
    LMemRead,
    LMemWrite,
    VectorOp,
    multiply_layout,
    progress_layout,
    vector_layout,
)
from ..front.scoreboard import slots_of
from ..front.serial_multiply import SerialMultiply
from ..saturation import gathered
from .activation import Activation
from .divider import AverageDivider
from .fetch import VectorFetch
from .lanes import VectorAdders, VectorUnpack
from .plan import Result, VectorClass, count_bits, multipliers, plan_command, plan_layout
from .products import VectorProducts
from .store import VectorStore, result_bits

__all__ = ["VectorUnit"]

#: Whose results take the same way in the same time, with no other operand than vectors.
_IN_A_ROW = (
    VectorOp.VVADD,
    VectorOp.VVSUB,
    VectorOp.VVMAX,
    VectorOp.VRELU,
    VectorOp.VVMUL,
    VectorOp.VVSLL,
    VectorOp.VVSRA,
)


class VectorUnit(wiring.Component):
    """Vector unit: executes all vector instructions. If ranges overlap as section 4.4 allows,
    results are as if all operands were read first.

    Words of the sources are read in order and in turns, each before a result of its elements is
    written, and results are written in order: so no element is overwritten before it is read where
    the destination begins at or below the sources and advances no faster.

    A command like the one before, of those in :data:`_IN_A_ROW`, begins while results of that are
    still to come.

    ``vtanh`` and ``vsigm`` must not be sent where ``act_unit`` is 0.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    command : In(stream of :func:`~..commands.vector_layout`), taken when the one before is done,
        or all its words are requested
    progress : Out, see :func:`~..commands.progress_layout`; ends : Out,
        the same a cycle earlier; busy : Out: a command is under way
    read : Out(LMemRead), write : Out(LMemWrite): the local memory's interfaces of the vector unit
    multiply : In(stream of :func:`~..commands.multiply_layout`), product_valid, product :
        Out: scalar products modulo 2**32, in order; they go between the unit's own, but wait for a
        ``vtanh`` or ``vsigm`` to end
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        super().__init__(
            {
                "command": In(stream.Signature(vector_layout(params))),
                "progress": Out(progress_layout()),
                "ends": Out(progress_layout()),
                "busy": Out(1),
                "read": Out(LMemRead(params)),
                "write": Out(LMemWrite(params)),
                "multiply": In(stream.Signature(multiply_layout())),
                "product_valid": Out(1),
                "product": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, bits = self.params, self.params["max_biw"]
        m.submodules.fetch = fetch = VectorFetch(params=params)
        m.submodules.unpack = unpack = VectorUnpack(params=params)
        m.submodules.adders = adders = VectorAdders(params=params)
        m.submodules.products = products = VectorProducts(params=params, family=self.family)
        m.submodules.divider = divider = AverageDivider(bits=bits, family=self.family)
        m.submodules.store = store = VectorStore(params=params)
        connect(m, fetch.read, flipped(self.read))
        connect(m, store.write, flipped(self.write))

        # A command
        start, busy = Signal(), Signal()
        planned, plan = Signal(plan_layout(params)), Signal(plan_layout(params), reset_less=True)
        plan_command(m, params, self.command.payload, planned)
        follows = (
            self._in_a_row(m, start, busy, fetch, store)
            if len(slots_of(params)["vector"]) > 1
            else 0
        )
        m.d.comb += [
            self.command.ready.eq(~busy | follows),
            start.eq(self.command.valid & self.command.ready),
            self.busy.eq(busy | self.progress.done),
            fetch.start.eq(start),
            fetch.joins.eq(follows),
            fetch.command.eq(self.command.payload),
            fetch.next_plan.eq(planned),
            fetch.plan.eq(plan),
            store.start.eq(start),
            store.dst.eq(self.command.payload.dst),
            store.tag.eq(self.command.payload.tag),
            store.plan.eq(plan),
            store.joins.eq(follows & ~store.ends.done),
            unpack.plan.eq(plan),
            adders.plan.eq(plan),
            products.plan.eq(plan),
            self.progress.eq(store.progress),
            self.ends.eq(store.ends),
        ]
        with m.If(store.ends.done):
            m.d.sync += busy.eq(store.waiting)
        with m.If(start):
            m.d.sync += [busy.eq(1), plan.eq(planned)]

        # Elements; a scalar multiplication takes the place of a step.
        scalar, tables = Signal(), params["act_unit"] == 1
        m.d.comb += [
            unpack.a_word.eq(fetch.a),
            unpack.b_word.eq(fetch.b),
            unpack.count.eq(fetch.count),
        ]
        waits = self._multiply(m, fetch, unpack, products, busy, plan, scalar)
        for lane in range(len(unpack.bits)):
            a, b = getattr(unpack, f"a_{lane}"), getattr(unpack, f"b_{lane}")
            m.d.comb += [getattr(adders, f"a_{lane}").eq(a), getattr(adders, f"b_{lane}").eq(b)]
            if lane < multipliers(params):
                m.d.comb += [
                    getattr(products, f"a_{lane}").eq(a),
                    getattr(products, f"b_{lane}").eq(b),
                ]
        m.d.comb += [products.long.eq(plan.long | scalar), products.scalar.eq(scalar)]

        along = self._along(m, fetch, products, start, busy, tables)

        # Sums
        total = Signal.like(products.total, reset_less=True)
        ended = Signal()
        valid, last, _ = along[products.TOTAL]
        with m.If(start):
            m.d.sync += total.eq(0)
        with m.Elif(valid):
            m.d.sync += total.eq(total + products.total)
        m.d.sync += ended.eq(valid & last & (plan.way == VectorClass.SUM))
        m.d.comb += [
            divider.start.eq(ended & plan.average),
            divider.total.eq(total),
            divider.count.eq(plan.len),
            divider.short.eq(~plan.ib[1]),
        ]

        y = 0
        if tables:
            m.submodules.table = table = Activation(bits=bits, family=self.family)
            m.d.comb += [
                table.fi.eq(plan.fi),
                table.fo.eq(plan.fo),
                table.sigmoid.eq(plan.sigmoid),
                table.x.eq(unpack.b_0),
                # The plan of the last command holds on: a scalar multiplication has the multipliers
                # for itself.
                products.table.eq((plan.way == VectorClass.TABLE) & ~scalar),
                products.table_a.eq(table.slope),
                products.table_b.eq(table.fraction),
                table.product.eq(products.table_product),
            ]
            y = table.y

        # Results, as they come out of the ways
        taps = {
            VectorClass.ALU: 0,
            VectorClass.SHORT: products.SHORT,
            VectorClass.LONG: products.TOTAL,
        }
        if bits < 32:
            del taps[VectorClass.LONG]
        if tables:
            taps[VectorClass.TABLE] = Activation.LATENCY
        with m.Switch(plan.way):
            for way, tap in taps.items():
                with m.Case(way):
                    m.d.sync += [
                        store.valid.eq(along[tap][0]),
                        store.last.eq(along[tap][1]),
                        store.count.eq(along[tap][2]),
                    ]
            with m.Default():
                m.d.sync += [
                    store.valid.eq(Mux(plan.average, divider.done, ended)),
                    store.last.eq(1),
                    store.count.eq(1),
                ]
        for lane, wide in enumerate(result_bits(params)):
            result = Signal(wide, name=f"result_{lane}", reset_less=True)
            simple = getattr(adders, f"result_{lane}")
            choices = {Result.ADDERS: simple}
            if lane == 0:
                choices |= {Result.SUM: total, Result.AVERAGE: divider.quotient}
                if bits == 32:
                    choices |= {Result.PRODUCT: products.total, Result.SHIFT: products.shifted}
                if tables:
                    choices[Result.TABLE] = y
            if lane < multipliers(params):
                short = getattr(products, f"short_{lane}")
                m.d.sync += result.eq(
                    gathered(choices.values(), [plan.chosen[one] for one in choices]).as_signed()
                    | short
                )
            else:
                m.d.sync += result.eq(simple)  # looked at of adders only
            m.d.comb += getattr(store, f"result_{lane}").eq(result)

        m.d.comb += fetch.hold.eq(waits)
        return m

    def _multiply(self, m, fetch, unpack, products, busy, plan, scalar):
        """Scalar products. Returns whether a step must wait for one."""
        bits = self.params["max_biw"]
        waits = 0
        if bits == 32:
            operands = self.multiply.payload
            m.d.comb += [
                self.multiply.ready.eq(~fetch.step & ~(busy & (plan.way == VectorClass.TABLE))),
                unpack.scalar_a.eq(operands.a),
                unpack.scalar_b.eq(operands.b),
                unpack.scalar.eq(self.multiply.valid & self.multiply.ready),
            ]
            m.d.sync += scalar.eq(unpack.scalar)
            waits = self.multiply.valid & plan.again
            under_way = scalar
            for k in range(products.TOTAL):
                later = Signal(name=f"scalar_{k}")
                m.d.sync += later.eq(under_way)
                under_way = later
            m.d.comb += [self.product_valid.eq(under_way), self.product.eq(products.total)]
        else:
            m.submodules.scalar = serial = SerialMultiply()
            connect(m, flipped(self.multiply), serial.multiply)
            m.d.comb += [
                self.product_valid.eq(serial.product_valid),
                self.product.eq(serial.product),
            ]
        return waits

    def _along(self, m, fetch, products, start, busy, tables):
        """Flags of the elements k cycles after unpacking: whether there are any, whether they are
        the last, and their number."""
        params = self.params
        length = max(products.TOTAL + 2, Activation.LATENCY + 1 if tables else 0)
        along = []
        before = fetch.step, fetch.last, fetch.count
        for k in range(length):
            after = (
                Signal(name=f"valid_{k}"),
                Signal(name=f"last_{k}", reset_less=True),
                Signal(count_bits(params), name=f"count_{k}", reset_less=True),
            )
            m.d.sync += [now.eq(value) for now, value in zip(after, before, strict=True)]
            with m.If(start & ~busy):  # what left the pipeline by a nearer tap
                m.d.sync += after[0].eq(0)
            along.append(after)
            before = after
        return along

    def _in_a_row(self, m, start, busy, fetch, store):
        """Whether the current command may begin while the previous one is in progress."""
        command = self.command.payload
        kind = Cat(command.op, command.ibiw, command.obiw)
        last = Signal.like(kind, reset_less=True)
        # The command stands still until it is taken: compared a cycle before.
        alike, follows = Signal(), Signal()
        m.d.sync += alike.eq(
            self.command.valid
            & ~start
            & Cat(command.op == one for one in _IN_A_ROW).any()
            & (kind == last)
        )
        with m.If(start):
            m.d.sync += last.eq(kind)
        m.d.comb += follows.eq(busy & alike & ~fetch.reading & ~store.waiting)
        return follows
