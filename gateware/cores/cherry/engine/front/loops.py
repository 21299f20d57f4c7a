# SPDX-License-Identifier: BSD-2-Clause
"""Loop records and active loops of the front end (specification, section 4.6)."""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .....isa.parameters import Params
from ...isa import LOOPS
from .fetch import INDEX

__all__ = ["Loops", "TopLayout", "VERSION", "VersionsLayout"]

#: Bits of a version of a loop's iteration.
VERSION = 3


class VersionsLayout(data.ArrayLayout):
    """Version of each loop's iteration count, which selects among its latest values."""

    def __init__(self) -> None:
        super().__init__(unsigned(VERSION), LOOPS)


class TopLayout(data.StructLayout):
    """Innermost active loop.

    valid : there is one; loop : its record; independent; start, end :
        indices of its start and, unless ``far`` (nowhere), of its end
    size : iterations that run at a time now; last : they are the last ones
    iteration : (of the first of them); left : iterations from there on
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": unsigned(1),
                "loop": unsigned(3),
                "independent": unsigned(1),
                "start": unsigned(INDEX),
                "end": unsigned(INDEX),
                "far": unsigned(1),
                "last": unsigned(1),
                "size": unsigned(6),
                "iteration": unsigned(18),
                "left": unsigned(18),
            }
        )


#: What is kept of a loop that is not the innermost: it is an ordered one.
_KEPT = {"loop": 3, "start": INDEX, "end": INDEX, "far": 1, "last": 1, "iteration": 18, "left": 18}


class Loops(wiring.Component):
    """Loop stack: the loop records of the resident programs, the active loops, and the latest
    iterations of each.

    An operation under way refers to iterations that its loops have left behind meanwhile: each loop
    keeps the last 2^:data:`VERSION`. Whoever makes a new one (``push``, ``advance``) knows that
    nobody refers to the oldest any more.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    write, write_address (resident program in bit 4, loop in 3:1, 0: count or 1: body), write_data :
    In, writes a record
    resident : In, number of the resident program that runs; clear : In, no loop is active
    look : In, loop in question; count, body : Out, its record, combinational; active : Out,
        mask of the active loops
    push : In, loop ``look`` starts at ``index``, ``independent`` or not,
        of ``push_count`` (not 0) iterations and ``push_body`` instructions
    starts : In, nothing but a loop's start may come in this cycle; else no ``push``
    advance : In, the innermost loop goes on to its next iterations (not when ``top.last``);
        ``top`` is not ``settled`` in the next cycle
    pop : In, it is over
    top : Out, :class:`TopLayout`; settled : Out, its ``size`` and ``last`` are right
    versions : Out, :class:`VersionsLayout`
    read_loop, read_version : In; iteration : Out, combinational
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self._slots = params["slots"]
        super().__init__(
            {
                "write": In(1),
                "write_address": In(5),
                "write_data": In(18),
                "resident": In(1),
                "clear": In(1),
                "look": In(3),
                "count": Out(18),
                "body": Out(18),
                "active": Out(LOOPS),
                "push": In(1),
                "index": In(INDEX),
                "independent": In(1),
                "starts": In(1),
                "push_count": In(18),
                "push_body": In(18),
                "advance": In(1),
                "pop": In(1),
                "top": Out(TopLayout()),
                "settled": Out(1),
                "versions": Out(VersionsLayout()),
                "read_loop": In(3),
                "read_version": In(VERSION),
                "iteration": Out(18),
            }
        )

    def _table(self, m, name, bit):
        """One half of the loop records, indexed by ``look``."""
        table = memory.Memory(shape=18, depth=LOOPS * self._slots, init=[])
        m.submodules[name] = table
        put, get = table.write_port(), table.read_port(domain="comb")
        bits = ceil_log2(LOOPS * self._slots)
        m.d.comb += [
            put.addr.eq(self.write_address[1 : 1 + bits]),
            put.data.eq(self.write_data),
            put.en.eq(self.write & (self.write_address[0] == bit)),
            get.addr.eq(Cat(self.look, self.resident)[:bits]),
        ]
        return get.data

    def elaborate(self, platform: object) -> Module:
        m = Module()
        top, active, versions = self.top, self.active, self.versions
        m.d.comb += [
            self.count.eq(self._table(m, "counts", 0)),
            self.body.eq(self._table(m, "bodies", 1)),
        ]
        contexts = self.params["contexts"]
        low = ceil_log2(contexts)

        def sizes(left, independent):
            """Number of iterations of the next group out of ``left``, and whether it is the last
            group."""
            many = independent & left[low:].any()
            whole = ~left[low + 1 :].any() & left[low] & ~left[:low].any() if low else left == 1
            alone = left == 1
            size = Mux(independent, Mux(many, contexts, left[:low] if low else 1), 1)
            return size, Mux(independent, ~many | whole, alone)

        # The stack below the innermost loop.
        kept = data.StructLayout(_KEPT)
        m.submodules.stack = stack = memory.Memory(shape=kept, depth=LOOPS, init=[])
        put, get = stack.write_port(), stack.read_port(domain="comb")
        depth, below = Signal(4), Signal(3)  # entries, and the place of the last
        m.d.comb += [
            put.addr.eq(depth[:3]),
            get.addr.eq(below),
            *(put.data[name].eq(top[name]) for name in _KEPT),
        ]
        m.submodules.iterations = iterations = memory.Memory(
            shape=18, depth=LOOPS << VERSION, init=[]
        )
        new, read = iterations.write_port(), iterations.read_port(domain="comb")
        changed = Signal(3)
        version = Signal(VERSION)
        # Written a cycle late: nobody asks for it that soon.
        renewed = Signal()
        m.d.sync += [
            new.addr.eq(Cat(version, changed)),
            new.en.eq(renewed),
            new.data.eq(Mux(self.starts, 0, top.iteration + top.size)),
        ]
        m.d.comb += [
            changed.eq(Mux(self.starts, self.look, top.loop)),
            version.eq(versions[changed] + 1),
            renewed.eq(self.push | self.advance),
            read.addr.eq(Cat(self.read_version, self.read_loop)),
            self.iteration.eq(read.data),
        ]
        with m.If(renewed):
            m.d.sync += versions[changed].eq(version)
        size, last = sizes(top.left, top.independent)
        with m.If(~self.settled):
            m.d.sync += [top.size.eq(size), top.last.eq(last), self.settled.eq(1)]
        with m.If(self.push):
            size, last = sizes(self.push_count, self.independent)
            end = Signal(20)
            m.d.comb += [end.eq(self.index + self.push_body + 1), put.en.eq(top.valid)]
            m.d.sync += [
                top.valid.eq(1),
                top.loop.eq(self.look),
                top.independent.eq(self.independent),
                top.start.eq(self.index),
                top.end.eq(end),
                top.far.eq(end[INDEX:].any()),
                top.iteration.eq(0),
                top.left.eq(self.push_count),
                top.size.eq(size),
                top.last.eq(last),
                active.bit_select(self.look, 1).eq(1),
            ]
            with m.If(top.valid):
                m.d.sync += [depth.eq(depth + 1), below.eq(depth)]
        with m.If(self.advance):
            m.d.sync += [
                top.iteration.eq(top.iteration + top.size),
                top.left.eq(top.left - top.size),
                self.settled.eq(0),
            ]
        with m.If(self.pop):
            m.d.sync += [
                active.bit_select(top.loop, 1).eq(0),
                depth.eq(depth - 1),
                below.eq(below - 1),
                top.independent.eq(0),
                top.size.eq(1),
                *(top[name].eq(get.data[name]) for name in _KEPT),
            ]
            with m.If(depth == 0):
                m.d.sync += [top.valid.eq(0), depth.eq(0)]
        with m.If(self.clear):
            m.d.sync += [
                top.valid.eq(0),
                top.independent.eq(0),
                top.size.eq(1),
                self.settled.eq(1),
                active.eq(0),
                depth.eq(0),
            ]
        return m
