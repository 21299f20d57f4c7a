# SPDX-License-Identifier: BSD-2-Clause
"""Front end: runs a program's instructions in order and issues their operations to the units
(specification, sections 4.6 to 4.8, 6).

::

    Fetch -> record -> this stage: loops, faults, uniform or not
        -> Issue: waits -> queues of the units
                       \\-> AddressUnits -> load/store
"""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from .....shell.layouts import fields_of
from ...isa import ISA, LOOPS
from ..ops import ProgressLayout, Unit, alu_op, dot_op, lsu_op, sfu_op
from .apu import AddressUnits
from .fetch import INDEX, Fetch
from .hazards import Progress
from .issue import COUNT, WRITTEN, Issue, IssuedLayout
from .loops import VERSION, Loops, VersionsLayout
from .predecode import Class, WordFault
from .program_tables import ProgramLayout, TableKind, TableWrite

__all__ = ["FrontEnd"]

_CODE = ISA.fault_codes
#: Cycles from a unit's last event to what follows of it in :class:`~.issue.Issue`.
_SETTLE = 15


class _State(enum.Enum, shape=5):
    IDLE = 0
    RUN = 16  # a bit of its own: most decisions are made here
    LOOK = 1  # where a loop without iterations ends
    START = 2  # of a loop whose record was looked up
    SKIP = 3  # of a loop without iterations
    DRAIN = 4  # program over
    FAULT = 5  # until earlier loads and stores are complete
    MEMORY = 6  # a load or store faulted
    REPORT = 7
    CLEAR = 8
    FINISH = 9


class _Kind(enum.Enum, shape=4):
    """Kinds of instruction faults; 1 to 6 are the reasons of fault ``state``."""

    INSIDE = 1
    ACTIVE = 2
    EMPTY = 3
    OTHER = 4
    DISTANCE = 5
    COUNT = 6
    WORD = 7
    UNDECLARED_UNIT = 8
    UNDECLARED_LOOP = 9
    OPEN = 10  # program end with a loop open
    BEYOND = 11  # or beyond it


def _unit_of(word):
    """Address unit of a load or store instruction."""
    return fields_of(ISA, "load", word).apu


def _loop_of(word):
    """Loop record of a loop start or end instruction."""
    return fields_of(ISA, "start_loop", word).loop


class FrontEnd(wiring.Component):
    """Front end, which keeps several operations in flight.

    A body's instruction costs a cycle (two, where its unit has three or more operations under way),
    a start of a loop two, an end one, a jump four more.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    multiplier : ``"dsp"`` or ``"lut"``, of the address units
    family : as the primitives'

    Members
    -------
    table : In(TableWrite); a unit's words come in ascending order, all of them
    program : In, :class:`~.program_tables.ProgramLayout`, stable from ``start`` to ``finish``
    prepared, next_resident : In, number of the resident program that starts next;
        its first words are fetched while the units finish
    start : In, one cycle: runs the program; stop : In, level: ends it soon
    finish : Out, one cycle: the units are idle (after a fault or stop: cleared),
        and the following hold until the next ``start``
    fault_code : Out, 0: done, 8: stopped; detail : Out; index : Out, instruction that faulted,
        or would come next
    context : Out, register ``fault_context``; var_loop : In, var_value : Out,
        register ``loop_var[var_loop]``, a cycle later
    retired, operations : Out: increments of instructions,
        and of element operations in sixteens; up to ``finish``
    waiting : Out, nothing is under way that could keep a unit busy:
        the program waits for the front end
    lsu, dot, alu, sfu : Out, streams of operations
    clear : Out, to the units; progress : Out, :class:`~..ops.ProgressLayout`, to the units
    fetched, finished : In, a bit for each unit
    mem_fault, mem_address, mem_slot : In, fault of the load/store unit
    """

    def __init__(
        self, *, params: Params, multiplier: str = "dsp", family: str | None = None
    ) -> None:
        self.params, self.family, self._multiplier = params, family, multiplier
        super().__init__(
            {
                "table": In(TableWrite()),
                "program": In(ProgramLayout()),
                "prepared": In(1),
                "next_resident": In(1),
                "start": In(1),
                "stop": In(1),
                "finish": Out(1),
                "fault_code": Out(8),
                "index": Out(16),
                "detail": Out(32),
                "context": Out(32),
                "var_loop": In(3),
                "var_value": Out(32),
                "retired": Out(COUNT),
                "operations": Out(COUNT),
                "waiting": Out(1),
                "lsu": Out(stream.Signature(lsu_op())),
                "dot": Out(stream.Signature(dot_op())),
                "alu": Out(stream.Signature(alu_op())),
                "sfu": Out(stream.Signature(sfu_op())),
                "clear": Out(1),
                "progress": Out(ProgressLayout()),
                "fetched": In(4),
                "finished": In(4),
                "mem_fault": In(1),
                "mem_address": In(18),
                "mem_slot": In(6),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._fetch = m.submodules.fetch = Fetch(params=self.params, family=self.family)
        self._loops = m.submodules.loops = Loops(params=self.params)
        self._units = m.submodules.units = AddressUnits(
            params=self.params, multiplier=self._multiplier, family=self.family
        )
        self._issue = m.submodules.issue = Issue(params=self.params)
        #: Operations on their way to the units. Exported for tracing.
        self.issued = self._issue.op
        progress = m.submodules.progress = Progress()
        self._tables(m)
        issue, units, loops = self._issue, self._units, self._loops
        for name in ("lsu", "dot", "alu", "sfu"):
            wiring.connect(m, getattr(issue, name), wiring.flipped(getattr(self, name)))
        wiring.connect(m, units.result, issue.address)
        m.d.comb += [
            progress.fetched.eq(self.fetched),
            progress.finished.eq(self.finished),
            progress.clear.eq(self.clear),
            self.progress.eq(progress.progress),
            issue.progress.eq(progress.progress),
            issue.clear.eq(self.clear),
            units.request.valid.eq(issue.request_valid),
            units.request.payload.eq(issue.request),
            units.resident.eq(self.program.resident),
            units.rebase.eq(self.program.rebase),
            units.rebase_mask.eq(self.program.rebase_mask),
            units.iteration.eq(loops.iteration),
        ]
        self._state, self._kind = Signal(_State), Signal(_Kind, init=_Kind.WORD, reset_less=True)
        self._held, self._full = Signal(IssuedLayout(), reset_less=True), Signal()
        self._index = Signal(INDEX)
        # Where a fault stands: the active loops, the versions of their iterations, the context
        # inside an independent loop.
        self._active, self._versions = Signal(LOOPS), Signal(VersionsLayout(), reset_less=True)
        self._inside, self._along, self._context = Signal(), Signal(3), Signal(6)
        self._written = Signal(WRITTEN)
        self._shows = Signal()  # no program runs
        self._accept = Signal()  # an operation leaves this stage
        self._amount = Signal(6)  # instructions done in this cycle
        self._counts(m)
        self._operation(m)
        self._control(m)
        self._report(m)
        return m

    def _tables(self, m):
        fetch, loops, units = self._fetch, self._loops, self._units
        low = (self.params["imem"] - 1).bit_length()
        m.d.comb += [
            fetch.write.eq(self.table.en & (self.table.kind == TableKind.INSTRUCTION)),
            fetch.write_data.eq(self.table.data),
            fetch.write_address.eq(Cat(self.table.address[:low], self.table.resident)),
            loops.write.eq(self.table.en & (self.table.kind == TableKind.LOOP)),
            loops.write_data.eq(self.table.data),
            loops.write_address.eq(Cat(self.table.address[:4], self.table.resident)),
            loops.resident.eq(self.program.resident),
            units.write.eq(self.table.en & (self.table.kind == TableKind.UNIT)),
            units.write_data.eq(self.table.data),
            units.write_address.eq(Cat(self.table.address[:9], self.table.resident)),
        ]

    # Counter increments, in the order of loads and stores

    def _counts(self, m):
        issue = self._issue
        self._instructions, self._operations = Signal(COUNT), Signal(COUNT)
        self._weight = Signal(8)
        self._lsu_accept, self._lsu_held = Signal(), Signal()
        instructions, operations = self._instructions, self._operations
        flushed, flushed_operations = Signal(COUNT), Signal(COUNT)
        m.d.comb += [
            self._lsu_held.eq(self._full & (self._held.record.unit == Unit.LSU)),
            self.retired.eq(issue.retired | flushed),
            self.operations.eq(issue.operations | flushed_operations),
        ]
        m.d.sync += [flushed.eq(0), flushed_operations.eq(0)]
        # Instructions after a load or store that faulted were not executed. Without one under way
        # nothing
        # can come between what was done and the counters.
        with m.If((self._state == _State.MEMORY) | (self._state == _State.REPORT)):
            m.d.sync += [instructions.eq(0), operations.eq(0)]
        with m.Elif(self._lsu_accept):
            m.d.sync += [instructions.eq(self._amount), operations.eq(self._weight)]
        with m.Elif(issue.lsu_idle & ~self._lsu_held):
            m.d.sync += [
                flushed.eq(instructions),
                flushed_operations.eq(operations),
                instructions.eq(self._amount),
                operations.eq(self._weight),
            ]
        with m.Else():
            m.d.sync += [
                instructions.eq(instructions + self._amount),
                operations.eq(operations + self._weight),
            ]

    # An operation

    def _operation(self, m):
        """Decodes a record that is an operation, and the number of its private copies."""
        top, units, loops = self._loops.top, self._units, self._loops
        record = self._record = self._fetch.record.payload
        copies = [Signal(6, name=f"copies_{r}") for r in range(4)]
        some = [Signal(name=f"some_{r}") for r in range(4)]  # copies other than 0
        phys = Signal(4)
        moves, private = Signal(), Signal()
        size = Signal(6)
        coefficients = Signal(
            LOOPS, reset_less=True
        )  # of the record's unit, looked up with the word that it comes from
        with m.If(self._fetch.take):
            m.d.sync += coefficients.eq(units.coefficients)
        m.d.comb += [
            units.look.eq(_unit_of(self._fetch.next_word)),
            moves.eq(record.load & coefficients.bit_select(top.loop, 1)),
            private.eq(top.independent & (record.store | moves | (record.reads & Cat(some)).any())),
            size.eq(Mux(private, top.size, 1)),
        ]
        op = Signal(IssuedLayout())
        m.d.comb += [
            op.record.eq(record),
            op.size.eq(size),
            op.uniform.eq(~private),
            op.phys.eq(~phys.bit_select(record.dst, 1)),
        ]
        for r in range(4):
            reads, writes = record.reads[r], record.writes & (record.dst == r)
            # Which contexts have a private copy matters to units alone: a register with some is as
            # good as both kinds here.
            m.d.comb += [
                op.view[r].copies.eq(Mux(private, copies[r], 0)),
                op.view[r].phys.eq(phys[r]),
                op.reads[3 * r].eq(reads & private & some[r]),
                op.reads[3 * r + 1].eq(reads & ~phys[r]),
                op.reads[3 * r + 2].eq(reads & phys[r]),
                op.writes[3 * r].eq(writes & private),
                op.writes[3 * r + 1].eq(writes & ~private & phys[r]),
                op.writes[3 * r + 2].eq(writes & ~private & ~phys[r]),
            ]
            with m.If(self._accept & writes):
                with m.If(~private):
                    m.d.sync += [copies[r].eq(0), some[r].eq(0), phys[r].eq(~phys[r])]
                with m.Else():
                    m.d.sync += some[r].eq(1)
                    with m.If(copies[r] < top.size):
                        m.d.sync += copies[r].eq(top.size)
            with m.If(self.start):
                m.d.sync += [copies[r].eq(0), some[r].eq(0)]
        snapshot, request = op.snapshot, op.request
        m.d.comb += [
            request.unit.eq(_unit_of(record.word)),
            request.loops.eq(coefficients & loops.active),
            request.versions.eq(loops.versions),
            request.move.eq(private),
            request.along.eq(top.loop),
            snapshot.index.eq(self._index),
            snapshot.active.eq(loops.active),
            snapshot.versions.eq(loops.versions),
            snapshot.inside.eq(top.independent),
            snapshot.along.eq(top.loop),
            snapshot.written.eq(self._written),
            snapshot.instructions.eq(self._instructions),
            snapshot.operations.eq(self._operations),
        ]
        wiring_op = self._issue.op
        m.d.comb += [wiring_op.valid.eq(self._full), wiring_op.payload.eq(self._held)]
        self._room = Signal()
        m.d.comb += self._room.eq(~self._full | self._issue.sure)
        with m.If(self._accept):
            m.d.sync += [self._held.eq(op), self._full.eq(1)]
        with m.Elif(wiring_op.ready):
            m.d.sync += self._full.eq(0)
        m.d.comb += self._lsu_accept.eq(self._accept & (record.unit == Unit.LSU))
        with m.If(self._accept):
            m.d.comb += self._weight.eq(
                Mux(record.weight[2], size << 2, Mux(record.weight[0], size, 0))
            )

    # Instructions

    def _control(self, m):
        state, top, loops, fetch, issue = (
            self._state,
            self._loops.top,
            self._loops,
            self._fetch,
            self._issue,
        )
        record, index, program = self._record, self._index, self.program
        count, body = Signal(18, reset_less=True), Signal(18, reset_less=True)
        self._wait = Signal(range(_SETTLE + 1))
        # `pop`: the record is finished. `ahead`: the first words of the next program are fetched.
        jump, target, pop = Signal(), Signal(INDEX), Signal()
        ahead, primed = Signal(), Signal()
        crowded, renewable = Signal(), Signal()
        # Of a loop's start, worked out while its record is looked up: it is active, undeclared, has
        # too many iterations, or none.
        active, undeclared_loop, many, none = Signal(), Signal(), Signal(), Signal()
        loop = _loop_of(record.word)
        # A new value of an iteration takes the place of the oldest of its loop: nobody may need
        # that any more. Worked out a cycle ahead, in which one more may be made.
        m.d.sync += [
            renewable.eq(
                ~self._lsu_held
                & (
                    issue.lsu_idle
                    | ((self._written - issue.oldest.written)[:WRITTEN] < (1 << VERSION) - 2)
                )
            ),
            active.eq(loops.active.bit_select(loop, 1)),
            undeclared_loop.eq(~program.loops.bit_select(loop, 1)),
            many.eq(
                record.independent & (program.contexts != 0) & (loops.count > program.contexts)
            ),
            none.eq(loops.count == 0),
        ]
        m.d.comb += [
            crowded.eq(self._instructions[-1] | self._operations[-1]),
            fetch.jump.eq(jump | ahead),
            fetch.target.eq(target),
            fetch.resident.eq(Mux(ahead, self.next_resident, program.resident)),
            fetch.hold.eq(primed & ~self.start),
            fetch.record.ready.eq(pop | jump),
            ahead.eq(
                self.prepared
                & ~primed
                & ~self.start
                & ((state == _State.IDLE) | (state == _State.DRAIN))
            ),
            loops.look.eq(loop),
            loops.index.eq(index),
            loops.independent.eq(record.independent),
            loops.push_count.eq(count),
            loops.push_body.eq(body),
            loops.starts.eq(state == _State.START),
            loops.clear.eq(self.start),
        ]
        with m.If(loops.push | loops.advance):
            m.d.sync += self._written.eq(self._written + 1)
        # Whether the program's end is reached, for the next cycle; after a jump nothing comes that
        # soon.
        ended, last_index, all_of_them = (
            Signal(),
            Signal(INDEX, reset_less=True),
            Signal(INDEX + 1, reset_less=True),
        )
        m.d.sync += [
            all_of_them.eq(program.instructions),
            last_index.eq(program.instructions - 1),
            ended.eq(index == all_of_them),
        ]
        with m.If(pop):
            m.d.sync += [index.eq(index + 1), ended.eq(index == last_index)]
        with m.If(jump):
            m.d.sync += [index.eq(target), ended.eq(0)]
        # A program that did not start after all is written anew.
        with m.If(ahead):
            m.d.sync += primed.eq(1)
        with m.Elif(self.start | self.table.en):
            m.d.sync += primed.eq(0)
        one = Mux(top.independent, top.size, 1)
        beyond, too_far = Signal(20, reset_less=True), Signal(reset_less=True)
        m.d.sync += [beyond.eq(index + body + 2), too_far.eq(beyond > all_of_them)]
        # Action of the record, one-hot, decoded in the cycle of its word.
        wrong, undeclared_unit, starts, ends, nothing, operates = flags = [
            Signal(name=name, reset_less=True)
            for name in ("wrong", "undeclared_unit", "starts", "ends", "nothing", "operates")
        ]
        coming = fetch.next_record
        well, works = coming.fault == WordFault.NONE, coming.kind == Class.OPERATION
        unknown = (coming.unit == Unit.LSU) & ~program.units.bit_select(
            _unit_of(fetch.next_word), 1
        )
        with m.If(fetch.take):
            m.d.sync += Cat(flags).eq(
                Cat(
                    ~well,
                    well & works & unknown,
                    well & (coming.kind == Class.START),
                    well & (coming.kind == Class.END),
                    well & (coming.kind == Class.NOTHING),
                    well & works & ~unknown,
                )
            )

        with m.Switch(state.as_value()):
            with m.Case(_State.IDLE.value):
                with m.If(self.start):
                    m.d.comb += jump.eq(~primed)
                    m.d.sync += [state.eq(_State.RUN), index.eq(0), ended.eq(0)]
            with m.Case("1----"):
                with m.If(ended):
                    m.d.sync += state.eq(_State.DRAIN)
                    with m.If(top.valid):
                        self._fail(m, _Kind.OPEN)
                with m.Elif(fetch.record.valid & loops.settled & ~crowded):
                    with m.If(wrong):
                        self._fail(m, _Kind.WORD)
                    with m.If(undeclared_unit):
                        self._fail(m, _Kind.UNDECLARED_UNIT)
                    with m.If(starts):
                        m.d.sync += [
                            count.eq(loops.count),
                            body.eq(loops.body),
                            state.eq(_State.START),
                        ]
                    with m.If(ends):
                        with m.If(~top.valid):
                            self._fail(m, _Kind.EMPTY)
                        with m.Elif(top.loop != loop):
                            self._fail(m, _Kind.OTHER)
                        with m.Elif(top.far | (top.end != index)):
                            self._fail(m, _Kind.DISTANCE)
                        with m.Elif(top.last):
                            m.d.comb += [loops.pop.eq(1), pop.eq(1), self._amount.eq(one)]
                        with m.Elif(renewable):
                            m.d.comb += [
                                loops.advance.eq(1),
                                jump.eq(1),
                                target.eq(top.start + 1),
                                self._amount.eq(one),
                            ]
                    with m.If(nothing):
                        m.d.comb += [pop.eq(1), self._amount.eq(one)]
                    with m.If(operates & self._room):
                        m.d.comb += [self._accept.eq(1), pop.eq(1), self._amount.eq(one)]
            with m.Case(_State.START.value):
                with m.If(top.independent):
                    self._fail(m, _Kind.INSIDE)
                with m.Elif(active):
                    self._fail(m, _Kind.ACTIVE)
                with m.Elif(undeclared_loop):
                    self._fail(m, _Kind.UNDECLARED_LOOP)
                with m.Elif(many):
                    self._fail(m, _Kind.COUNT)
                with m.Elif(none):
                    m.d.sync += state.eq(_State.LOOK)
                with m.Elif(renewable):
                    m.d.comb += [loops.push.eq(1), pop.eq(1), self._amount.eq(1)]
                    m.d.sync += state.eq(_State.RUN)
            with m.Case(_State.LOOK.value):
                m.d.sync += state.eq(_State.SKIP)
            with m.Case(_State.SKIP.value):
                with m.If(too_far):
                    self._fail(m, _Kind.BEYOND)
                with m.Else():
                    m.d.comb += [jump.eq(1), target.eq(beyond), self._amount.eq(1)]
                    m.d.sync += state.eq(_State.RUN)
            with m.Case(_State.DRAIN.value):
                # The counts since the last load or store leave in this cycle.
                with m.If(issue.idle & ~self._full):
                    m.d.sync += state.eq(_State.FINISH)
            with m.Case(_State.FAULT.value):
                self._note_fault(m)
                with m.If(
                    issue.lsu_idle
                    & ~self._lsu_held
                    & (self._instructions == 0)
                    & (self._operations == 0)
                ):
                    m.d.sync += state.eq(_State.REPORT)
            with m.Case(_State.MEMORY.value):
                m.d.sync += self._wait.eq(self._wait + 1)
                with m.If(self._wait == _SETTLE):
                    self._note_memory(m)
            with m.Case(_State.REPORT.value):
                m.d.sync += [state.eq(_State.CLEAR), self._wait.eq(0)]
            with m.Case(_State.CLEAR.value):
                m.d.sync += [self._wait.eq(self._wait + 1), self._full.eq(0)]
                with m.If(self._wait == 3):
                    m.d.sync += state.eq(_State.FINISH)
            with m.Case(_State.FINISH.value):
                m.d.sync += state.eq(_State.IDLE)
        running = Signal()
        m.d.comb += running.eq(
            state.as_value()[4]
            | ((state != _State.IDLE) & (state.as_value()[:4] < _State.MEMORY.value))
        )
        m.d.sync += self._shows.eq(~running)
        # A program that ended well left nothing in the address units; clearing them takes longer
        # than the first load of the next program.
        m.d.sync += [
            self._units.clear.eq(state == _State.REPORT),
            self.clear.eq(((state == _State.IDLE) & self.start) | (state == _State.REPORT)),
        ]
        m.d.comb += [
            self.finish.eq(state == _State.FINISH),
            self.waiting.eq(issue.idle & ~self._full & running),
        ]
        with m.If(self.stop & running):
            m.d.sync += state.eq(_State.REPORT)
            self._note(m, code=_CODE["aborted"], index=index, detail=0, inside=0)
        with m.Elif(self.mem_fault & running):
            m.d.sync += [state.eq(_State.MEMORY), self._wait.eq(0)]
        # A cycle late: what is issued in between is forgotten with the rest.
        m.d.sync += issue.hold.eq(~running | self.stop | self.mem_fault)

    # Faults

    def _fail(self, m, kind):
        """Stops at an instruction with a fault, which is recorded in the following cycles."""
        m.d.sync += [self._state.eq(_State.FAULT), self._kind.eq(kind)]

    def _note_fault(self, m):
        """Records fault code, index and detail of an instruction that :meth:`_fail` stopped at."""
        kind, word, top = self._kind, self._record.word, self._loops.top
        loop = _loop_of(word)
        of_word = Array([0, _CODE["opcode"], _CODE["field"], _CODE["feature"]])[
            self._record.fault.as_value()
        ]
        ends = kind == _Kind.OPEN
        with m.Switch(kind):
            with m.Case(_Kind.WORD):
                self._note(m, code=of_word, index=self._index, detail=word, inside=top.independent)
            with m.Case(_Kind.UNDECLARED_UNIT, _Kind.UNDECLARED_LOOP):
                self._note(
                    m,
                    code=_CODE["undeclared"],
                    index=self._index,
                    inside=top.independent,
                    detail=Mux(kind == _Kind.UNDECLARED_UNIT, _unit_of(word) | 1 << 8, loop),
                )
            with m.Case(_Kind.OPEN, _Kind.BEYOND):
                self._note(
                    m,
                    code=_CODE["program_end"],
                    index=Mux(ends, self._index - 1, self._index),
                    detail=Mux(ends, top.loop, loop),
                    inside=~ends & top.independent,
                )
            with m.Default():
                self._note(
                    m,
                    code=_CODE["state"],
                    index=self._index,
                    detail=Cat(loop, Const(0, 5), kind.as_value()[:3]),
                    inside=top.independent,
                )

    def _note(self, m, *, code, index, detail, inside, snapshot=None, context=0):
        loops = self._loops
        m.d.sync += [
            self.fault_code.eq(code),
            self.index.eq(index),
            self.detail.eq(detail),
            self._inside.eq(inside),
            self._context.eq(context),
        ]
        if snapshot is None:
            m.d.sync += [
                self._active.eq(loops.active),
                self._versions.eq(loops.versions),
                self._along.eq(loops.top.loop),
            ]
        else:
            m.d.sync += [
                self._active.eq(snapshot.active),
                self._versions.eq(snapshot.versions),
                self._along.eq(snapshot.along),
            ]

    def _note_memory(self, m):
        oldest = self._issue.oldest
        m.d.sync += self._state.eq(_State.REPORT)
        self._note(
            m,
            code=_CODE["mem_range"],
            index=oldest.index,
            detail=self.mem_address,
            inside=oldest.inside,
            snapshot=oldest,
            context=self.mem_slot,
        )

    def _report(self, m):
        """Drives the registers ``fault_context`` and ``loop_var`` from the state at the end of the
        run."""
        loops = self._loops
        # A cycle late, nothing changes meanwhile; the sum a cycle later, so that a look at
        # ``loop_var`` goes through no adder.
        reports, adds, first = Signal(), Signal(), Signal(18, reset_less=True)
        m.d.sync += [
            reports.eq(self._state == _State.REPORT),
            adds.eq(reports & self._inside),
            first.eq(loops.iteration),
        ]
        loop = Mux(reports, self._along, self.var_loop)
        with m.If(adds):
            m.d.sync += self.context.eq(
                Cat(self._context, Const(0, 8), (first + self._context)[:18])
            )
        inside, value = Signal(), Signal(18)
        # While a program runs the address units look iterations up.
        m.d.comb += [
            loops.read_loop.eq(Mux(self._shows, loop, self._units.loop)),
            loops.read_version.eq(Mux(self._shows, self._versions[loop], self._units.version)),
            inside.eq(self._inside & (loop == self._along)),
            value.eq(Mux(inside, self.context[14:], loops.iteration)),
        ]
        m.d.sync += self.var_value.eq(Mux(self._active.bit_select(loop, 1), value, 0xFFFF_FFFF))
        with m.If(self.start):
            m.d.sync += [
                self.context.eq(0xFFFF_FFFF),
                self._active.eq(0),
                self.fault_code.eq(0),
                self.detail.eq(0),
            ]
