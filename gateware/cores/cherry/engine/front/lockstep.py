# SPDX-License-Identifier: BSD-2-Clause
"""The front end of builds with one context and one resident program: an instruction is complete before the next one begins."""
from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.utils import ceil_log2

from .....primitives.bram import BlockRAM
from ...isa import ISA, LOOPS
from ..ops import Unit
from .frontend import front_members
from .predecode import Class, Predecode, WordFault
from .program_tables import TableKind

__all__ = ["SmallFrontEnd"]

_CODE = ISA.fault_codes
#: Words of a loop in its RAM: its record, then its iteration and the index of its start.
_COUNT, _BODY, _ITERATION, _START = range(4)
#: Cycles from an address to its word: of code and units, and of the loops, which the control block reads too.
_LATENCY, _LOOP_LATENCY = 2, 1
_BITS = 18


class _State(enum.Enum, shape=5):
    IDLE = 0
    FETCH = 1
    DECODE = 2
    LOOKUP = 3          # of a loop: words of its RAM, one after the other
    LOOP = 4            # what they say
    BEGIN = 5           # of a loop: its two words are written
    ADDRESS = 6         # of an access: the words of its unit, one after the other
    TERM = 7            # a coefficient and an iteration
    TIMES = 8           # their product, a bit a cycle
    ISSUE = 9
    WAIT = 10
    REPORT = 11
    CLEAR = 12
    FINISH = 13


class SmallFrontEnd(wiring.Component):
    """Front end in lockstep with the units, without hazards, queues and snapshots. Loops, records and their
    iterations lie in block RAM; addresses are worked out with one adder, 18 cycles for each active loop.

    An instruction takes some 6 cycles and those of its unit; a start of a loop 11, an end 9, an access 12 and 22 for each active loop.

    Parameters
    ----------
    params : dict
        ``contexts`` 1 and ``slots`` 1.
    family : as the primitives'

    Members
    -------
    As :class:`~.frontend.FrontEnd`'s; ``var_value`` is right while no program runs.

    Raises
    ------
    ValueError
        ``contexts`` or ``slots`` is not 1.
    """
    def __init__(self, *, params, family=None):
        for name in ("contexts", "slots"):
            if params[name] != 1:
                raise ValueError(f"Parameter {name} must be 1 for the small front end, not {params[name]}")
        self.params, self.family = params, family
        super().__init__(front_members())

    def elaborate(self, platform):
        m = Module()
        self._rams(m)
        self._registers(m)
        self._operation(m)
        self._programs(m)
        self._loop_states(m)
        self._address_states(m)
        self._ends(m)
        return m

    # Storage

    def _rams(self, m):
        params, family = self.params, self.family
        code = m.submodules.code = BlockRAM(width=_BITS, depth=params["imem"], latency=_LATENCY, family=family)
        units = m.submodules.units = BlockRAM(width=_BITS, depth=512, latency=_LATENCY, family=family)
        loops = m.submodules.loops = BlockRAM(width=_BITS, depth=4 * LOOPS, latency=_LOOP_LATENCY, family=family)
        self._code, self._unit_words, self._loop_words = code, units, loops
        self._index = Signal(12)
        # A loop's word that this front end writes itself.
        self._put, self._put_word, self._put_value = Signal(), Signal(2), Signal(_BITS)
        self._ask_loop, self._ask_word = Signal(3), Signal(2)
        m.d.comb += [
            code.write_en.eq(self.table.en & (self.table.kind == TableKind.INSTRUCTION)), code.write_addr.eq(self.table.address), code.write_data.eq(self.table.data),
            units.write_en.eq(self.table.en & (self.table.kind == TableKind.UNIT)), units.write_addr.eq(self.table.address), units.write_data.eq(self.table.data),
            code.read_addr.eq(self._index[:ceil_log2(params["imem"])]), loops.read_addr.eq(Cat(self._ask_word, self._ask_loop))]
        with m.If(self._put):
            m.d.comb += [loops.write_en.eq(1), loops.write_addr.eq(Cat(self._put_word, self._ask_loop)), loops.write_data.eq(self._put_value)]
        with m.Else():
            m.d.comb += [loops.write_en.eq(self.table.en & (self.table.kind == TableKind.LOOP)), loops.write_data.eq(self.table.data),
                         loops.write_addr.eq(Cat(self.table.address[0], Const(0, 1), self.table.address[1:4]))]

    def _registers(self, m):
        self._state = Signal(_State)
        self._step = Signal(4)
        # Active loops: their indices, innermost lowest; a mask; the innermost is independent.
        self._stack, self._depth, self._active, self._independent = Signal(3 * LOOPS), Signal(4), Signal(LOOPS), Signal()
        # Registers with a private copy; uniform copy that counts.
        self._private, self._phys = Signal(4), Signal(4)
        # Words of a loop's record, or of an access: count or address, body, iteration or factor, start.
        self._found = [Signal(_BITS, name=f"found_{k}", reset_less=True) for k in range(4)]
        self._moves = Signal()
        decode = m.submodules.decode = Predecode(params=self.params)
        m.d.comb += decode.word.eq(self._code.read_data)
        self._record = decode.record
        self._top = self._stack[:3]

    # An operation

    def _operation(self, m):
        record, word = self._record, self._record.word
        private = self._independent & (record.store | (self._moves & record.load) | (record.reads & self._private).any())
        self._is_private = private
        address, stride_x, _, stride_y = self._found
        self._valid = Signal()

        def length(field):
            return Cat(field, field == 0)
        taken = Signal()
        for unit in Unit:
            name = unit.name.lower()
            op = getattr(self, name)
            mine = record.unit == unit
            m.d.comb += [op.valid.eq(self._valid & mine), op.payload.size.eq(1), op.payload.uniform.eq(~private),
                         op.payload.phys.eq(~self._phys.bit_select(record.dst, 1))]
            with m.If(op.valid & op.ready):
                m.d.comb += taken.eq(1)
            for r in range(4):
                m.d.comb += [op.payload.view[r].copies.eq(private & self._private[r]), op.payload.view[r].phys.eq(self._phys[r])]
            if unit is not Unit.LSU:
                m.d.comb += op.payload.kind.eq(record.code)
            if unit in (Unit.DOT, Unit.ALU):
                m.d.comb += [op.payload.acc.eq(word[12]), op.payload.axis.eq(word[10:12]), op.payload.count.eq(length(word[8:10])),
                             op.payload.target.eq(word[6:8])]
        m.d.comb += [
            self.alu.payload.dst.eq(record.dst), self.alu.payload.src.eq(word[9:11]),
            self.lsu.payload.store.eq(record.store), self.lsu.payload.reg.eq(word[6:8]), self.lsu.payload.len_y.eq(length(word[4:6])),
            self.lsu.payload.len_x.eq(length(word[2:4])), self.lsu.payload.zero.eq(record.load & word[1]),
            self.lsu.payload.skip.eq(record.load & word[0]), self.lsu.payload.address.eq(address), self.lsu.payload.step.eq(0),
            self.lsu.payload.stride_x.eq(stride_x), self.lsu.payload.stride_y.eq(stride_y)]
        self._taken = taken

    # States

    def _go(self, m, state):
        m.d.sync += [self._state.eq(state), self._step.eq(0)]

    def _next(self, m, target=None, *, counts=True):
        """On to the next instruction, or to ``target``; this one is counted."""
        m.d.sync += self._index.eq(self._index + 1 if target is None else target)
        self._go(m, _State.FETCH)
        m.d.comb += self._done.eq(counts)

    def _fail(self, m, name, detail, index=None, inside=True):
        code = _CODE[name] if isinstance(name, str) else name
        m.d.sync += [self.fault_code.eq(code), self.detail.eq(detail), self.index.eq(self._index if index is None else index),
                     self._inside.eq(self._independent & inside)]
        self._go(m, _State.REPORT)

    def _misplaced(self, m, reason):
        self._fail(m, "state", Cat(self._record.word[10:13], Const(0, 5), Const(reason, 8)))

    def _programs(self, m):
        record, program, step = self._record, self.program, self._step
        self._done, self._inside = Signal(), Signal()
        loop = record.word[10:13]
        m.d.comb += self._ask_loop.eq(Mux(self._state == _State.IDLE, self.var_loop, loop))
        with m.Switch(self._state):
            with m.Case(_State.IDLE):
                m.d.comb += self._ask_word.eq(_ITERATION)
                with m.If(self.start):
                    m.d.sync += [self._index.eq(0), self._depth.eq(0), self._active.eq(0), self._independent.eq(0), self._private.eq(0),
                                 self.fault_code.eq(0), self.detail.eq(0), self.context.eq(0xFFFF_FFFF), self._inside.eq(0)]
                    self._go(m, _State.FETCH)
            with m.Case(_State.FETCH):
                m.d.sync += [step.eq(step + 1), self._moves.eq(0)]
                with m.If(self._index == program.instructions):
                    with m.If(self._depth != 0):
                        self._fail(m, "program_end", self._top, self._index - 1, inside=False)
                    with m.Else():
                        self._go(m, _State.FINISH)
                with m.Elif(step == _LATENCY - 1):
                    self._go(m, _State.DECODE)
            with m.Case(_State.DECODE):
                with m.If(record.fault == WordFault.OPCODE):
                    self._fail(m, "opcode", record.word)
                with m.Elif(record.fault == WordFault.FIELD):
                    self._fail(m, "field", record.word)
                with m.Elif(record.fault == WordFault.FEATURE):
                    self._fail(m, "feature", record.word)
                with m.Elif((record.kind == Class.START) | (record.kind == Class.END)):
                    self._go(m, _State.LOOKUP)
                with m.Elif(record.kind == Class.NOTHING):
                    self._next(m)
                with m.Elif(record.unit != Unit.LSU):
                    self._go(m, _State.ISSUE)
                with m.Elif(~program.units.bit_select(record.word[8:13], 1)):
                    self._fail(m, "undeclared", record.word[8:13] | 1 << 8)
                with m.Else():
                    self._go(m, _State.ADDRESS)
            with m.Case(_State.ISSUE):
                m.d.comb += self._valid.eq(1)
                with m.If(self._taken):
                    self._go(m, _State.WAIT)
            with m.Case(_State.WAIT):
                with m.If(self.mem_fault):
                    self._fail(m, "mem_range", self.mem_address)
                with m.Elif(self.finished.any()):
                    with m.If(record.writes):
                        with m.If(self._is_private):
                            m.d.sync += self._private.bit_select(record.dst, 1).eq(1)
                        with m.Else():
                            m.d.sync += [self._private.bit_select(record.dst, 1).eq(0),
                                         self._phys.bit_select(record.dst, 1).eq(~self._phys.bit_select(record.dst, 1))]
                    self._next(m)

    def _loop_states(self, m):
        record, program, step = self._record, self.program, self._step
        loop, ends = record.word[10:13], record.kind == Class.END
        count, body, iteration, start = self._found
        beyond = Signal(20)
        m.d.comb += beyond.eq(self._index + body + 2)
        with m.Switch(self._state):
            with m.Case(_State.LOOKUP):
                m.d.comb += self._ask_word.eq(step[:2])
                m.d.sync += step.eq(step + 1)
                for k, word in enumerate(self._found):
                    with m.If(step == k + _LOOP_LATENCY):
                        m.d.sync += word.eq(self._loop_words.read_data)
                with m.If(step == 3 + _LOOP_LATENCY):
                    self._go(m, _State.LOOP)
            with m.Case(_State.LOOP):
                m.d.comb += [self._put_word.eq(_ITERATION), self._put_value.eq(iteration + 1)]
                with m.If(ends):
                    with m.If(self._depth == 0):
                        self._misplaced(m, 3)
                    with m.Elif(self._top != loop):
                        self._misplaced(m, 4)
                    with m.Elif(start + body + 1 != self._index):
                        self._misplaced(m, 5)
                    with m.Elif(iteration + 1 == count):
                        m.d.sync += [self._stack.eq(self._stack >> 3), self._depth.eq(self._depth - 1), self._independent.eq(0),
                                     self._active.bit_select(loop, 1).eq(0)]
                        self._next(m)
                    with m.Else():
                        m.d.comb += self._put.eq(1)
                        self._next(m, start + 1)
                with m.Elif(self._independent):
                    self._misplaced(m, 1)
                with m.Elif(self._active.bit_select(loop, 1)):
                    self._misplaced(m, 2)
                with m.Elif(~program.loops.bit_select(loop, 1)):
                    self._fail(m, "undeclared", loop)
                with m.Elif(record.independent & (program.contexts != 0) & (count > program.contexts)):
                    self._misplaced(m, 6)
                with m.Elif(count != 0):
                    self._go(m, _State.BEGIN)
                with m.Elif(beyond > program.instructions):
                    self._fail(m, "program_end", loop)
                with m.Else():
                    self._next(m, beyond)
            with m.Case(_State.BEGIN):
                m.d.comb += [self._put.eq(1), self._put_word.eq(Mux(step == 0, _ITERATION, _START)),
                             self._put_value.eq(Mux(step == 0, 0, self._index))]
                m.d.sync += step.eq(1)
                with m.If(step == 1):
                    m.d.sync += [self._stack.eq(Cat(loop, self._stack)), self._depth.eq(self._depth + 1),
                                 self._active.bit_select(loop, 1).eq(1), self._independent.eq(record.independent)]
                    self._next(m)

    def _address_states(self, m):
        step, unit = self._step, self._record.word[8:13]
        address, stride_x, factor, stride_y = self._found
        coefficient = Signal(_BITS, reset_less=True)
        left, lowest = Signal(LOOPS, reset_less=True), Signal(3)
        bits = Signal(5, reset_less=True)
        for k in reversed(range(LOOPS)):
            with m.If(left[k]):
                m.d.comb += lowest.eq(k)
        words = self._unit_words
        m.d.comb += words.read_addr.eq(Cat(step, unit))
        data = words.read_data
        rebased = self.program.rebase_mask.bit_select(unit, 1)
        with m.Switch(self._state):
            with m.Case(_State.ADDRESS):
                m.d.sync += [step.eq(step + 1), left.eq(self._active)]
                with m.If(step == _LATENCY):
                    m.d.sync += address.eq(data + Mux(rebased, self.program.rebase, 0))
                with m.If(step == 1 + _LATENCY):
                    m.d.sync += stride_x.eq(data)
                with m.If(step == 2 + _LATENCY):
                    m.d.sync += stride_y.eq(data)
                    self._go(m, _State.TERM)
            with m.Case(_State.TERM):
                m.d.comb += [words.read_addr.eq(Cat(lowest, Const(1, 1), unit)), self._ask_loop.eq(lowest), self._ask_word.eq(_ITERATION)]
                m.d.sync += [step.eq(step + 1), bits.eq(_BITS - 1)]
                with m.If(left == 0):
                    self._go(m, _State.ISSUE)
                with m.Elif(step == _LATENCY):
                    m.d.sync += [coefficient.eq(data), factor.eq(self._loop_words.read_data), left.bit_select(lowest, 1).eq(0)]
                    with m.If((lowest == self._top) & (data != 0)):
                        m.d.sync += self._moves.eq(1)
                    self._go(m, _State.TIMES)
            with m.Case(_State.TIMES):
                m.d.sync += [bits.eq(bits - 1), coefficient.eq(coefficient << 1), factor.eq(factor >> 1)]
                with m.If(factor[0]):
                    m.d.sync += address.eq(address + coefficient)
                with m.If(bits == 0):
                    self._go(m, _State.TERM)

    def _ends(self, m):
        state, step = self._state, self._step
        with m.Switch(state):
            with m.Case(_State.REPORT):
                # The iteration of the independent loop.
                m.d.comb += [self._ask_loop.eq(self._top), self._ask_word.eq(_ITERATION)]
                m.d.sync += step.eq(step + 1)
                with m.If(step == _LATENCY):
                    with m.If(self._inside):
                        m.d.sync += self.context.eq(Cat(Const(0, 14), self._loop_words.read_data))
                    self._go(m, _State.CLEAR)
            with m.Case(_State.CLEAR):
                m.d.comb += self.clear.eq(step == 0)
                m.d.sync += step.eq(step + 1)
                with m.If(step == 3):
                    self._go(m, _State.FINISH)
            with m.Case(_State.FINISH):
                self._go(m, _State.IDLE)
        running = (state != _State.IDLE) & (state.as_value() < _State.REPORT.value)
        with m.If(running & self.stop):
            self._fail(m, "aborted", 0, inside=False)
        with m.If((state == _State.IDLE) & self.start):
            m.d.comb += self.clear.eq(1)
        weight = self._record.weight
        m.d.comb += [
            self.finish.eq(state == _State.FINISH),
            self.waiting.eq(running & (state != _State.WAIT))]
        m.d.sync += [self.retired.eq(self._done),
                     self.operations.eq(Mux(self._done & (self._record.kind == Class.OPERATION), weight, 0))]
        asked = Signal(3)
        m.d.sync += asked.eq(self.var_loop)
        m.d.comb += self.var_value.eq(Mux((self.fault_code != 0) & self._active.bit_select(asked, 1), self._loop_words.read_data,
                                          0xFFFF_FFFF))
