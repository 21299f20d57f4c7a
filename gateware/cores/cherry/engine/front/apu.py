# SPDX-License-Identifier: BSD-2-Clause
"""Address units: compute the base address of a MEM access from the iterations of the active loops
(specification, section 4.7)."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .....isa.parameters import Params
from .....parts.delays import Stages
from .....parts.queues import ShiftQueue
from .....primitives.bram import BlockRAM
from .....primitives.dsp import MultiplierArray
from ...isa import LOOPS, UNITS
from .hazards import DEPTH, depth
from .loops import VERSION, VersionsLayout

__all__ = ["AddressLayout", "AddressUnits", "RequestLayout"]


class RequestLayout(data.StructLayout):
    """Address request: its ``unit``, the active ``loops`` for which the unit has a coefficient, the
    ``versions`` of their iterations, and whether the address ``move``s from context to context with
    the loop ``along``."""

    def __init__(self) -> None:
        super().__init__(
            {
                "unit": range(UNITS),
                "loops": LOOPS,
                "versions": VersionsLayout(),
                "move": 1,
                "along": 3,
            }
        )


class AddressLayout(data.StructLayout):
    """Address of an access: ``address`` of context 0's element (0, 0), ``step`` from context to
    context, and strides; all in elements modulo 2^18."""

    def __init__(self) -> None:
        super().__init__(
            {name: unsigned(18) for name in ("address", "step", "stride_x", "stride_y")}
        )


class AddressUnits(wiring.Component):
    """Address generator, pipelined, with one multiplier: evaluates accesses in order, with one
    cycle for the initial address and one for each loop.

    Latency: 9 cycles (8 with the multiplier of logic) and one for each loop. Of at most
    :func:`~.hazards.depth` accesses neither is the request taken back nor the result taken away:
    the queues of both never overflow.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    multiplier : ``"dsp"`` or ``"lut"``
    family : as the primitives'

    Members
    -------
    write, write_address, write_data : In, writes a record: resident program in bit 9,
        unit in 8:4, word of the record in 3:0 (0: address, 1: stride_x, 2: stride_y, 8 + l:
        coefficient of loop l). A unit's words come in ascending order, all of them
    resident : In, number of the resident program that runs; rebase : In, 18 bits,
        added to the addresses of the units in ``rebase_mask``
    clear : In, forget what is under way
    look : In, unit in question; coefficients : Out,
        loops of which it has a coefficient other than 0, combinational
    request : In, stream of :class:`RequestLayout`
    loop, version : Out; iteration : In, combinational, of the loop's version
    result : Out, stream of :class:`AddressLayout`
    """

    def __init__(
        self, *, params: Params, multiplier: str = "dsp", family: str | None = None
    ) -> None:
        self.params, self.family = params, family
        self._units, self._depth = UNITS * params["slots"], depth(params)
        self._multiplier = MultiplierArray(
            lanes=1, kind=multiplier, width=16, fabric_register=True, family=family
        )
        super().__init__(
            {
                "write": In(1),
                "write_address": In(10),
                "write_data": In(18),
                "resident": In(1),
                "rebase": In(18),
                "rebase_mask": In(UNITS),
                "clear": In(1),
                "look": In(range(UNITS)),
                "coefficients": Out(LOOPS),
                "request": In(stream.Signature(RequestLayout())),
                "loop": Out(3),
                "version": Out(VERSION),
                "iteration": In(18),
                "result": Out(stream.Signature(AddressLayout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = m.submodules.words = BlockRAM(
            width=18, depth=16 * self._units, latency=2, family=self.family
        )
        strides = m.submodules.strides = BlockRAM(
            width=36, depth=self._units, latency=2, family=self.family
        )
        # Long enough for all places of the queues; nothing new comes that soon.
        flushing = Signal(range(DEPTH))
        self._flush = Signal()
        m.d.comb += self._flush.eq(self.clear | (flushing != 0))
        with m.If(self.clear):
            m.d.sync += flushing.eq(DEPTH - 1)
        with m.Elif(flushing != 0):
            m.d.sync += flushing.eq(flushing - 1)
        self._write(m, words, strides)
        tags = self._walk(m, words)
        self._sum(m, words, strides, *tags)
        return m

    def _unit_address(self, unit):
        return Cat(unit, self.resident)[: ceil_log2(self._units)]

    def _write(self, m, words, strides):
        word, unit = self.write_address[:4], self.write_address[4 : 4 + ceil_log2(self._units)]
        stride_x, seen = Signal(18, reset_less=True), Signal(LOOPS, reset_less=True)
        masks = memory.Memory(shape=LOOPS, depth=self._units, init=[])
        m.submodules.masks = masks
        put, get = masks.write_port(), masks.read_port(domain="comb")
        now = Cat(seen[1:], self.write_data != 0)
        m.d.comb += [
            words.write_en.eq(self.write),
            words.write_addr.eq(self.write_address),
            words.write_data.eq(self.write_data),
            strides.write_en.eq(self.write & (word == 2)),
            strides.write_addr.eq(unit),
            strides.write_data.eq(Cat(stride_x, self.write_data)),
            put.en.eq(self.write & (word == 8 + LOOPS - 1)),
            put.addr.eq(unit),
            put.data.eq(now),
            get.addr.eq(self._unit_address(self.look)),
            self.coefficients.eq(get.data),
        ]
        with m.If(self.write):
            m.d.sync += seen.eq(now)
            with m.If(word == 1):
                m.d.sync += stride_x.eq(self.write_data)

    def _walk(self, m, words):
        """Reads one word of the record and one iteration per cycle; returns the metadata of the
        word that arrives two cycles later."""
        stage = Stages(m)
        queue = m.submodules.requests = ShiftQueue(shape=RequestLayout(), depth=self._depth)
        wiring.connect(m, wiring.flipped(self.request), queue.i)
        asked = queue.o.payload
        first, left = Signal(init=1), Signal(LOOPS)
        here = Mux(first, 0, left)
        lowest, rest, last, moves = Signal(3), Signal(LOOPS), Signal(), Signal()
        for l in reversed(range(LOOPS)):
            with m.If(here[l]):
                m.d.comb += [lowest.eq(l), rest.eq(here & ~((2 << l) - 1))]
        with m.If(first):
            m.d.comb += rest.eq(asked.loops)
        m.d.comb += [
            last.eq(
                Mux(
                    first,
                    asked.loops == 0,
                    ~Cat(left[l] & left[l + 1 :].any() for l in range(LOOPS - 1)).any(),
                )
            ),
            queue.o.ready.eq(last | self._flush),
            moves.eq(~first & asked.move & (lowest == asked.along)),
            words.read_addr.eq(Cat(Mux(first, 0, 8 | lowest), self._unit_address(asked.unit))),
            self.loop.eq(lowest),
            self.version.eq(asked.versions[lowest]),
        ]
        with m.If(queue.o.valid):
            m.d.sync += [first.eq(last), left.eq(rest)]
        valid = Signal(2)
        m.d.sync += valid.eq(Cat(queue.o.valid, valid))
        with m.If(self._flush):
            m.d.sync += [first.eq(1), valid.eq(0)]
        factor = Mux(first, 1, self.iteration)
        tag = stage.delay(Cat(first, last, moves, self.rebase_mask.bit_select(asked.unit, 1)), 2)
        return valid[-1], tag, stage.delay(factor, 2), stage.delay(asked.unit, 2)

    def _sum(self, m, words, strides, valid, tag, factor, unit):
        stage = Stages(m)
        multiplier = m.submodules.multiplier = self._multiplier
        word = words.read_data
        m.d.comb += [multiplier.a[0].eq(word[:16]), multiplier.b[0].eq(factor[:16])]

        def upper(x):
            """Upper two bits of ``x``, as a correction to its lower 16 bits, which are read as
            signed."""
            return (x[16:18] + x[15])[:2]

        def product_of(x, y):
            """Product modulo 4, in logic: a multiplication operator would infer a DSP."""
            return Cat(x[0] & y[0], (x[1] & y[0]) ^ (x[0] & y[1]))

        # Modulo 2^18: products of upper parts do not matter, nor do other bits of the lower ones
        # beside them.
        corrected = stage(
            1, (product_of(upper(word), factor) + product_of(upper(factor), word))[:2], 2, "upper"
        )
        later = multiplier.latency
        corrected = stage.delay(corrected, later - 1)
        product = Cat(multiplier.p[0][:16], (multiplier.p[0][16:18] + corrected)[:2])
        valids = Signal(later)
        m.d.sync += valids.eq(Cat(valid, valids))
        first, last, moves, rebased = stage.delay(tag, later)
        word = stage.delay(word, later)
        m.d.comb += strides.read_addr.eq(self._unit_address(stage.delay(unit, later - 2)))
        total, step = Signal(18, reset_less=True), Signal(18, reset_less=True)
        new_total, new_step = Signal(18), Signal(18)
        m.d.comb += [
            new_total.eq(Mux(first, Mux(rebased, self.rebase, 0), total) + product),
            new_step.eq(Mux(moves, word, Mux(first, 0, step))),
        ]
        with m.If(valids[-1]):
            m.d.sync += [total.eq(new_total), step.eq(new_step)]
        queue = m.submodules.results = ShiftQueue(shape=AddressLayout(), depth=self._depth)
        m.d.comb += [
            queue.i.valid.eq(valids[-1] & last),
            queue.i.payload.address.eq(new_total),
            queue.i.payload.step.eq(new_step),
            queue.i.payload.stride_x.eq(strides.read_data[:18]),
            queue.i.payload.stride_y.eq(strides.read_data[18:]),
            self.result.valid.eq(queue.o.valid & ~self._flush),
            self.result.payload.eq(queue.o.payload),
            queue.o.ready.eq(self.result.ready | self._flush),
        ]
        with m.If(self._flush):
            m.d.sync += valids.eq(0)
