# SPDX-License-Identifier: BSD-2-Clause
"""Issue stage: finds an operation's hazards with those in flight, and feeds an instruction queue
per unit."""

from amaranth import Cat, Const, Module, Signal, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....shell.layouts import fields_of
from ...isa import ISA, LOOPS
from ..ops import POSITION, ProgressLayout, Unit, alu_op, dot_op, header, lsu_op, sfu_op, unhurried
from .apu import AddressLayout, RequestLayout
from .fetch import INDEX
from .hazards import DEPTH, EntryLayout, InFlight, depth
from .loops import VersionsLayout
from .predecode import RecordLayout

__all__ = ["COUNT", "Issue", "IssuedLayout", "OpPlace", "OpQueue", "SnapshotLayout", "WRITTEN"]

#: Bits of the counts of instructions, and of element operations in sixteens, between two loads or
#: stores.
COUNT = 12
#: Bits of the number of values that loops' iterations have taken.
WRITTEN = 4


class SnapshotLayout(data.StructLayout):
    """Snapshot of the program position of a load or store, for its fault report and for the
    counters.

    index; ``active`` loops and the ``versions`` of their iterations; ``inside`` an independent
    loop, ``along``
    written : how many versions there had been, modulo 2^:data:`WRITTEN`
    instructions, operations : what was counted from the load or store before it on,
        that one included
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "index": unsigned(INDEX),
                "active": unsigned(LOOPS),
                "versions": VersionsLayout(),
                "inside": unsigned(1),
                "along": unsigned(3),
                "written": unsigned(WRITTEN),
                "instructions": unsigned(COUNT),
                "operations": unsigned(COUNT),
            }
        )


class IssuedLayout(data.StructLayout):
    """Issued operation on its way to a unit: the fields of :func:`~..ops.header` except ``waits``,
    the instruction's ``record``, masks of the tiles (as in :class:`~.hazards.EntryLayout`), and for
    a load or store the ``request`` for its address and its ``snapshot``."""

    def __init__(self) -> None:
        fields = header()
        del fields["waits"]
        super().__init__(
            fields
            | {
                "record": RecordLayout(),
                "reads": unsigned(12),
                "writes": unsigned(12),
                "request": RequestLayout(),
                "snapshot": SnapshotLayout(),
            }
        )


class OpQueue(wiring.Component):
    """Instruction queue of :data:`~.hazards.DEPTH` operations in distributed RAM; it accepts one in
    every cycle, since it can never overflow.

    Members
    -------
    push : In; i : In, payload; o : Out, stream, a cycle later; clear : In
    """

    def __init__(self, *, shape: data.StructLayout) -> None:
        super().__init__(
            {"push": In(1), "i": In(shape), "o": Out(stream.Signature(shape)), "clear": In(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.places = places = memory.Memory(
            shape=data.Layout.cast(self.i.shape()).size, depth=DEPTH, init=[]
        )
        put, get = places.write_port(), places.read_port(domain="comb")
        pop = Signal()
        level = Signal(range(DEPTH + 1))
        m.d.comb += [
            put.en.eq(self.push),
            put.data.eq(self.i),
            self.o.valid.eq(level != 0),
            self.o.payload.eq(get.data),
            pop.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            put.addr.eq(put.addr + self.push),
            get.addr.eq(get.addr + pop),
            level.eq(level + self.push - pop),
        ]
        with m.If(self.clear):
            m.d.sync += [level.eq(0), put.addr.eq(0), get.addr.eq(0)]
        return m


class OpPlace(wiring.Component):
    """Instruction queue of one operation in flip-flops, for units with at most two operations in
    flight.

    Members
    -------
    As :class:`OpQueue`'s; full : Out, nothing may be pushed
    """

    def __init__(self, *, shape: data.StructLayout) -> None:
        super().__init__(
            {
                "push": In(1),
                "i": In(shape),
                "o": Out(stream.Signature(shape)),
                "clear": In(1),
                "full": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal.like(self.i, reset_less=True)
        m.d.comb += [self.o.valid.eq(self.full), self.o.payload.eq(held)]
        with m.If(self.o.ready):
            m.d.sync += self.full.eq(0)
        with m.If(self.push):
            m.d.sync += [held.eq(self.i), self.full.eq(1)]
        with m.If(self.clear):
            m.d.sync += self.full.eq(0)
        return m


class Issue(wiring.Component):
    """Issue stage: accepts one operation per cycle, and sends it to its unit together with its
    hazards.

    At most :func:`~.hazards.depth` operations of a unit are under way. Positions are compared
    modulo 2^:data:`~..ops.POSITION`: an operation that may pass a multiple of 64 slots of its unit,
    since it begins 32 before it or fewer, is issued when all that were under way at the multiple
    before are complete.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    op : In, stream of :class:`IssuedLayout`; ``ready`` only with ``valid``
    hold : In, nothing is taken; clear : In, all is forgotten
    progress : In, :class:`~..ops.ProgressLayout`
    lsu, dot, alu, sfu : Out, streams of :mod:`..ops`
    request : Out, payload and ``valid`` for the address units (always taken); address : In,
        stream of :class:`~.apu.AddressLayout`
    sure : Out, what is offered in this cycle is taken, unless ``hold``; from a register
    idle : Out, no operation is under way; lsu_idle : Out, no load or store
    oldest : Out, snapshot of the oldest load or store under way
    settled : Out, what that one stands for was counted
    retired, operations : Out: increments, when a load or store has become the oldest:
        its snapshot's counts
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "op": In(stream.Signature(IssuedLayout())),
                "hold": In(1),
                "clear": In(1),
                "progress": In(ProgressLayout()),
                "lsu": Out(stream.Signature(lsu_op())),
                "dot": Out(stream.Signature(dot_op())),
                "alu": Out(stream.Signature(alu_op())),
                "sfu": Out(stream.Signature(sfu_op())),
                "request": Out(RequestLayout()),
                "request_valid": Out(1),
                "address": In(stream.Signature(AddressLayout())),
                "sure": Out(1),
                "idle": Out(1),
                "lsu_idle": Out(1),
                "oldest": Out(SnapshotLayout()),
                "settled": Out(1),
                "retired": Out(COUNT),
                "operations": Out(COUNT),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        op, unit = self.op.payload, self.op.payload.record.unit
        tables = [InFlight(depth=depth(self.params)) for _ in Unit]
        issued = [Signal(POSITION, name=f"issued_{u.name.lower()}") for u in Unit]
        waits = Signal(header()["waits"])
        base, passes, accept = Signal(POSITION), Signal(), Signal()
        pushes = [Signal(name=f"mine_{u.name.lower()}") for u in Unit]
        end = Signal(POSITION)
        entry = Signal(EntryLayout())
        marks = Signal(4)
        m.d.comb += [
            base.eq(Cat(*issued).word_select(unit.as_value(), POSITION)),
            end.eq(base + op.size),
            passes.eq(base[6] != end[6]),
            entry.reads.eq(op.reads),
            entry.writes.eq(op.writes),
            entry.base.eq(base),
            entry.size.eq(op.size),
            entry.end.eq(end),
            entry.marks.eq(0),
            accept.eq(Cat(pushes).any()),
            self.op.ready.eq(accept),
        ]
        # A cycle late: what follows one that passes a multiple does not come near the next.
        m.d.sync += marks.eq(tables[0].marks | tables[1].marks | tables[2].marks | tables[3].marks)
        # A cycle ahead: no unit can become full with one more. The one place before a unit is still
        # taken in the cycle after a push.
        m.d.sync += self.sure.eq(
            ~Cat(t.nearly for t in tables).any()
            & (marks == 0)
            & ~(accept if unhurried(self.params) else Const(0))
        )
        for u in Unit:
            table = m.submodules[f"under_way_{u.name.lower()}"] = tables[u.value]
            # Each unit by itself, so that the way to its table is short.
            mine, space = pushes[u.value], Signal(name=f"room_{u.name.lower()}")
            m.d.comb += [
                mine.eq(
                    self.op.valid
                    & (unit == u)
                    & ~self.hold
                    & ~table.full
                    & space
                    & ~(issued[u.value][5] & marks[u.value])
                ),
                table.push.eq(mine),
                table.entry.eq(entry),
                table.mark[u.value].eq(mine & passes),
                table.finished.eq(self.progress[u.value].finished),
                table.clear.eq(self.clear),
                table.reads.eq(op.reads),
                # What all contexts share is overwritten when the last of them has read it.
                table.all.eq(op.uniform),
                table.writes.eq(op.writes),
                waits[u.value].eq(table.waits),
            ]
            for other in Unit:
                if other is not u:
                    m.d.comb += table.mark[other.value].eq(pushes[other.value] & passes)
            with m.If(mine):
                m.d.sync += issued[u.value].eq(end)
            with m.If(self.clear):
                m.d.sync += issued[u.value].eq(0)
            self._queue(m, u, mine, waits, space)
        m.d.comb += [
            self.idle.eq(Cat(t.empty for t in tables).all()),
            self.lsu_idle.eq(tables[Unit.LSU.value].empty),
        ]
        self._account(m, tables[Unit.LSU.value])
        return m

    def _queue(self, m, unit, push, waits, space):
        """Instruction queue of a unit; ``space``: it can accept another operation."""
        op = self.op.payload
        name = unit.name.lower()
        out = getattr(self, name)
        fields = dict(out.payload.shape())
        if unit is Unit.LSU:
            # The address comes from the address units, in the same order.
            for late in ("address", "step", "stride_x", "stride_y"):
                del fields[late]
        shape = data.StructLayout({k: field.shape for k, field in fields.items()})
        alone = unhurried(self.params) and unit is not Unit.LSU
        queue = m.submodules[f"queue_{name}"] = (OpPlace if alone else OpQueue)(shape=shape)
        m.d.comb += space.eq(~queue.full if alone else 1)
        m.d.comb += [queue.push.eq(push), queue.clear.eq(self.clear), queue.i.waits.eq(waits)]
        for field in ("size", "uniform", "phys", "view"):
            m.d.comb += queue.i[field].eq(op[field])
        access, reduce, copy = (
            fields_of(ISA, name, op.record.word) for name in ("load", "sum", "copy")
        )

        def length(field):
            return Cat(field, field == 0)

        m.d.comb += [out.payload[field].eq(queue.o.payload[field]) for field in fields]
        if unit is Unit.LSU:
            m.d.comb += [
                queue.i.store.eq(op.record.store),
                queue.i.reg.eq(access.reg),
                queue.i.len_y.eq(length(access.len_y)),
                queue.i.len_x.eq(length(access.len_x)),
                queue.i.zero.eq(op.record.load & access.zero),
                queue.i.skip.eq(op.record.load & access.skip),
                self.request.eq(op.request),
                self.request_valid.eq(push),
                out.valid.eq(queue.o.valid & self.address.valid),
                queue.o.ready.eq(out.ready & self.address.valid),
                self.address.ready.eq(out.ready & queue.o.valid),
                *(
                    out.payload[field].eq(self.address.payload[field])
                    for field in ("address", "step", "stride_x", "stride_y")
                ),
            ]
            return
        m.d.comb += [
            out.valid.eq(queue.o.valid),
            queue.o.ready.eq(out.ready),
            queue.i.kind.eq(op.record.code),
        ]
        if unit is not Unit.SFU:
            m.d.comb += [
                queue.i.acc.eq(reduce.acc),
                queue.i.axis.eq(reduce.axis),
                queue.i.count.eq(length(reduce.count)),
                queue.i.target.eq(reduce.target),
            ]
        if unit is Unit.ALU:
            m.d.comb += [queue.i.dst.eq(op.record.dst), queue.i.src.eq(copy.src)]

    def _account(self, m, table):
        """Keeps snapshots of the loads and stores in flight, and updates the counters in program
        order."""
        snapshot = SnapshotLayout()
        m.submodules.snapshots = snapshots = memory.Memory(
            shape=snapshot.size, depth=DEPTH, init=[]
        )
        put, get = snapshots.write_port(), snapshots.read_port(domain="comb")
        counted = Signal()
        oldest = data.View(snapshot, get.data)
        m.d.comb += [
            put.en.eq(table.push),
            put.data.eq(self.op.payload.snapshot),
            self.oldest.eq(oldest),
            table.hold.eq(~counted),
            self.settled.eq(counted),
        ]
        m.d.sync += [
            put.addr.eq(put.addr + table.push),
            get.addr.eq(get.addr + table.retire),
            self.retired.eq(0),
            self.operations.eq(0),
        ]
        with m.If(table.retire):
            m.d.sync += counted.eq(0)
        with m.Elif(~table.empty & ~counted):
            m.d.sync += [
                counted.eq(1),
                self.retired.eq(oldest.instructions),
                self.operations.eq(oldest.operations),
            ]
        with m.If(self.clear):
            m.d.sync += [counted.eq(0), put.addr.eq(0), get.addr.eq(0)]
