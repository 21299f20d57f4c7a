# SPDX-License-Identifier: BSD-2-Clause
"""Engine for Amaranth's simulator that takes a third of the processor time of its own.

Amaranth's engine looks through all processes of a design in every delta cycle, and through
a dozen of objects for every ``await ctx.tick()``. This one keeps a set of the processes that have
to run; its processes are compiled by :mod:`tests.support.simulation_code`. A test bench that waits
for a condition or for a number of cycles is resumed at the end of its wait only.

Everything that a test bench can see is as with Amaranth's engine:
`tests/gateware/test_simulation_engine.py` compares the two.
"""

from amaranth.hdl import (
    Const,
    DriverConflict,
    Shape,
    ShapeCastable,
    Signal,
    Value,
    ValueCastable,
    _ast,
)
from amaranth.hdl._mem import MemoryData
from amaranth.sim import pysim
from amaranth.sim._async import (
    AsyncProcess,
    DomainReset,
    ProcessContext,
    TestbenchContext,
    TickTrigger,
)
from amaranth.sim._base import BaseEngine
from amaranth.sim._pyeval import _eval_assign_inner, _eval_matches

from tests.support.simulation_code import processes
from tests.support.simulation_layouts import bits, find_flipped, from_bits, keep_sizes

__all__ = ["Engine", "install", "original"]

#: Amaranth's own engine.
original = pysim.PySimEngine


def install():
    """Makes :class:`Engine` that of every ``Simulator`` that names none."""
    pysim.PySimEngine = Engine
    keep_sizes()
    find_flipped()


class SignalState:
    """A signal's values, and who waits for it."""

    __slots__ = (
        "changes",
        "curr",
        "falls",
        "is_comb",
        "next",
        "pending",
        "rises",
        "signal",
        "ticks",
        "wakers",
    )

    def __init__(self, signal, pending):
        self.signal = signal
        self.pending = pending
        self.is_comb = False
        #: Functions of processes to run when it changes, becomes 1 or becomes 0.
        self.changes, self.rises, self.falls = [], [], []
        #: Waits for one edge, by the value after it; for clocks only.
        self.ticks = None
        #: Amaranth's triggers: functions of the old and the new value.
        self.wakers = []
        self.curr = self.next = signal.init

    def reset(self):
        self.curr = self.next = self.signal.init
        for waits in self.ticks or ():
            waits.clear()

    def add_waker(self, waker):
        self.wakers.append(waker)

    def update(self, value, mask=~0):
        value = self.next & ~mask | value & mask
        if self.next != value:
            self.next = value
            self.pending.append(self)


class MemoryState(pysim._PyMemoryState):
    """A memory's rows, and the processes that read it without a clock."""

    __slots__ = ("changes", "depth")

    def __init__(self, memory, pending):
        super().__init__(memory, pending)
        self.depth = memory.depth
        self.changes = []

    def read(self, addr):
        return self.data[addr] if addr < self.depth else 0


class State:
    """All signals and memories of a simulation."""

    def __init__(self):
        self.timeline = pysim._PyTimeline()
        self.slots = []
        self.signals = {}
        self.memories = {}
        #: Signals with a next value; one may be entered twice. Memories that were written.
        self.pending, self.written = [], set()

    def reset(self):
        self.timeline.reset()
        for state in self.slots:
            state.reset()
        self.pending.clear()
        self.written.clear()

    def get_signal(self, signal):
        number = self.signals.get(signal.duid)
        if number is None:
            number = self.signals[signal.duid] = len(self.slots)
            self.slots.append(SignalState(signal, self.pending))
        return number

    def signal(self, signal):
        return self.slots[self.get_signal(signal)]

    def get_memory(self, memory):
        number = self.memories.get(memory)
        if number is None:
            number = self.memories[memory] = len(self.slots)
            self.slots.append(MemoryState(memory, self.written))
        return number

    def set_delay_waker(self, interval, waker):
        self.timeline.set_waker(interval, waker)

    def add_signal_waker(self, signal, waker):
        self.signal(signal).add_waker(waker)


def _signal(state, value):
    return state.slots[state.get_signal(value)].curr


def _row(state, value):
    return state.slots[state.get_memory(value._memory)].read(value._index)


def _slice(state, value):
    width = value._stop - value._start
    return read(state, value._value) >> value._start & (1 << width) - 1


def _part(state, value):
    offset = read(state, value.offset) * value.stride
    return read(state, value.value) >> offset & (1 << value.width) - 1


def _concat(state, value):
    result = offset = 0
    for part in value.parts:
        width = len(part)
        result |= (read(state, part) & (1 << width) - 1) << offset
        offset += width
    return result


def _choice(state, value):
    test = read(state, value.test)
    for patterns, elem in value.cases:
        if _eval_matches(test, patterns):
            return read(state, elem)
    return 0


def _not(value, a):
    shape = value.shape()
    return ~a if shape.signed else ~a & (1 << shape.width) - 1


def _signed(value, a):
    width = value.shape().width
    a &= (1 << width) - 1
    return a | -1 << width if width and a & 1 << (width - 1) else a


def _ones(value):
    return (1 << len(value.operands[0])) - 1


_UNARY = {
    "u": lambda value, a: a & (1 << value.shape().width) - 1,
    "s": _signed,
    "+": lambda value, a: a,
    "-": lambda value, a: -a,
    "~": _not,
    "b": lambda value, a: int(a != 0),
    "r|": lambda value, a: int(a != 0),
    "r&": lambda value, a: int(a & _ones(value) == _ones(value)),
    "r^": lambda value, a: (a & _ones(value)).bit_count() & 1,
}
_BINARY = {
    "|": int.__or__,
    "&": int.__and__,
    "^": int.__xor__,
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
}


def _operator(state, value):
    operands = value._operands
    if len(operands) == 1:
        return _UNARY[value._operator](value, read(state, operands[0]))
    return _BINARY[value._operator](read(state, operands[0]), read(state, operands[1]))


_READ = {
    Const: lambda state, value: value._value,
    Signal: _signal,
    _ast.Operator: _operator,
    _ast.Slice: _slice,
    _ast.Part: _part,
    _ast.Concat: _concat,
    _ast.SwitchValue: _choice,
    MemoryData._Row: _row,
}


def read(state, value):
    """What a value is now."""
    reader = _READ.get(type(value))
    if reader is None:
        raise ValueError(f"Value {value!r} cannot be used in simulation")
    return reader(state, value)


def assign(state, target, start, value, width):
    """Sets ``width`` bits from bit ``start`` of a target on; bits beyond its end are dropped."""
    kind = type(target)
    if kind is Signal:
        slot = state.slots[state.get_signal(target)]
        if slot.is_comb:
            # Amaranth's function refuses it.
            _eval_assign_inner(state, target, start, value, width)
        length = len(target)
        if start or width < length:
            mask = (1 << min(start + width, length)) - (1 << start) if start < length else 0
            value = slot.next & ~mask | value << start & mask
        value &= (1 << length) - 1
        if target._signed and length and value >> (length - 1):
            value |= -1 << length
        if value != slot.next:
            slot.next = value
            slot.pending.append(slot)
    elif kind is _ast.Slice:
        width = min(width, len(target) - start)
        if width > 0:
            assign(state, target._value, start + target._start, value & (1 << width) - 1, width)
    else:
        _eval_assign_inner(state, target, start, value, width)


class Sample:
    """An expression that a test bench samples: bits, and what it makes of them."""

    __slots__ = ("shape", "value")

    def __init__(self, expression):
        self.shape = None
        if type(expression) is Signal:
            self.value = expression
            return
        self.value = Value.cast(expression)
        if isinstance(expression, ValueCastable):
            shape = expression.shape()
            if isinstance(shape, ShapeCastable):
                self.shape = shape

    def read(self, state):
        value = read(state, self.value)
        return value if self.shape is None else from_bits(self.shape, value)


class Wait:
    """A process's wait for an edge of a clock that has no asynchronous reset.

    It goes on at further edges while there are ``edges`` left or the ``condition`` does not hold,
    until the domain is reset.
    """

    __slots__ = ("condition", "edges", "process", "reset", "result", "tick")

    def __init__(self, tick, edges=1, condition=None):
        self.tick = tick
        self.process = tick._process
        self.edges = edges
        self.condition = condition
        self.reset = False
        self.result = ()
        tick.waits.append(self)

    def initial_eligible(self):
        return False

    def run(self):
        tick = self.tick
        state = tick._engine._state
        self.reset = tick.reset is not None and bool(tick.reset.curr)
        self.edges -= 1
        if self.condition is not None:
            going_on = not read(state, self.condition)
        else:
            going_on = self.edges > 0
        if going_on and not self.reset:
            tick.waits.append(self)
            return
        self.result = tuple([sample.read(state) for sample in tick.samples])
        self.process.waits_on = None
        self.process.runnable = True

    def __await__(self):
        yield self
        return self.result


class Tick(TickTrigger):
    """What ``ctx.tick()`` gives, for domains without an asynchronous reset."""

    def __init__(self, engine, process, *, domain):
        super().__init__(engine, process, domain=domain)
        clock = engine._state.signal(domain.clk)
        if clock.ticks is None:
            clock.ticks = [], []
        self.waits = clock.ticks[domain.clk_edge == "pos"]
        self.reset = None if domain.rst is None else engine._state.signal(domain.rst)
        self.samples = ()

    def sample(self, *exprs):
        more = object.__new__(Tick)
        more.__dict__.update(self.__dict__)
        more._sampled = (*self._sampled, *exprs)
        more.samples = (*self.samples, *map(Sample, exprs))
        return more

    def __await__(self):
        wait = Wait(self)
        yield wait
        return (True, wait.reset, *wait.result)

    async def until(self, condition):
        if not isinstance(condition, _ast.ValueLike):
            raise TypeError(f"Condition must be a value-like object, not {condition!r}")
        if isinstance(condition, ValueCastable) and not isinstance(condition.shape(), Shape):
            raise TypeError(
                "The shape of a condition may only be `signed` or `unsigned`, "
                f"not {condition.shape()!r}"
            )
        return await self._all(Wait(self, condition=Value.cast(condition)))

    async def repeat(self, count):
        count = count.__index__()
        if count <= 0:
            raise ValueError(f"Repeat count must be a positive integer, not {count!r}")
        return await self._all(Wait(self, edges=count))

    async def _all(self, wait):
        result = await wait
        if wait.reset:
            raise DomainReset
        return result


class Clock:
    """A clock."""

    critical = False

    def __init__(self, engine, signal, *, phase, period):
        self.engine = engine
        self.slot = engine._state.signal(signal)
        self.phase = phase
        self.period = period
        self.reset()

    def reset(self):
        self.initial = True
        self.wake()

    def wake(self):
        self.engine._ready.add(self.run)

    def run(self):
        if self.initial:
            self.initial = False
            interval = self.phase
        else:
            self.slot.update(int(not self.slot.curr))
            interval = self.period // 2
        self.engine._state.set_delay_waker(interval, self.wake)


class _Fast:
    """What contexts of processes and test benches share."""

    def tick(self, domain="sync", *, context=None):
        if context is None and domain in self._process.ticks:
            return self._process.ticks[domain]
        slow = super().tick(domain, context=context)
        if slow._domain.async_reset and slow._domain.rst is not None:
            return slow
        tick = Tick(self._engine, self._process, domain=slow._domain)
        if context is None:
            self._process.ticks[domain] = tick
        return tick

    def _assign(self, expr, value):
        """Assigns without running what follows."""
        if type(expr) is not Signal and isinstance(expr, ValueCastable):
            shape = expr.shape()
            if isinstance(shape, ShapeCastable):
                value = bits(shape, value)
        if type(value) is not int:
            value = Const.cast(value)._value
        self._engine.set_value(expr, value)


class _ProcessContext(_Fast, ProcessContext):
    def set(self, expr, value):
        self._assign(expr, value)


class _BenchContext(_Fast, TestbenchContext):
    def get(self, expr):
        if type(expr) is Signal:
            return self._engine._state.signal(expr).curr
        value = self._engine.get_value(expr)
        if isinstance(expr, ValueCastable):
            shape = expr.shape()
            if isinstance(shape, ShapeCastable):
                return from_bits(shape, value)
        return value

    def set(self, expr, value):
        self._assign(expr, value)
        self._engine.step_design()


class Bench(AsyncProcess):
    """A test bench."""

    def __init__(self, design, engine, constructor, *, background):
        self.ticks = {}
        self.constructor = constructor
        self.context = self._context(design, engine, self)
        self.background = background
        self.reset()

    _context = _BenchContext


class Process(Bench):
    """A process in Python that stands for a part of the design; it runs among the others."""

    _context = _ProcessContext

    def __init__(self, design, engine, constructor):
        self._ready = engine._ready
        super().__init__(design, engine, constructor, background=True)

    @property
    def runnable(self):
        return self.run in self._ready

    @runnable.setter
    def runnable(self, value):
        if value:
            self._ready.add(self.run)


class Engine(BaseEngine):
    """The engine; see the module. The interface is that of ``PySimEngine``."""

    def __init__(self, design):
        self._design = design
        self._state = State()
        #: Functions to run in this delta cycle, and triggers that fired in the last one.
        self._ready, self._active_triggers = set(), set()
        self._initial = processes(self._state, design.fragment)
        self._ready.update(self._initial)
        #: Signals and memories of the design; others are those of test benches.
        self._designed = len(self._state.slots)
        self._clocks, self._processes, self._testbenches = [], [], []
        self._vcd_writers = []
        self._delta_cycles = 0

    @property
    def state(self):
        return self._state

    @property
    def now(self):
        return self._state.timeline.now

    def reset(self):
        self._state.reset()
        self._active_triggers.clear()
        self._ready.clear()
        self._ready.update(self._initial)
        for process in (*self._clocks, *self._processes, *self._testbenches):
            process.reset()

    def drop_benches(self):
        """Drops all clocks, processes and test benches, and what waits for them."""
        for added in (self._clocks, self._processes, self._testbenches):
            added.clear()
        for slot in self._state.slots:
            slot.wakers.clear()

    def add_clock_process(self, clock, *, phase, period):
        if self._state.signal(clock).is_comb:
            raise DriverConflict("Clock signal is already driven by combinational logic")
        self._clocks.append(Clock(self, clock, phase=phase, period=period))

    def add_async_process(self, simulator, process):
        self._processes.append(Process(self._design, self, process))

    def add_async_testbench(self, simulator, process, *, background):
        self._testbenches.append(Bench(self._design, self, process, background=background))

    def add_trigger_combination(self, combination, *, oneshot):
        return pysim._PyTriggerState(self, combination, self._active_triggers, oneshot=oneshot)

    def get_value(self, expr):
        return read(self._state, Value.cast(expr))

    def set_value(self, expr, value):
        target = expr if type(expr) is Signal else Value.cast(expr)
        assign(self._state, target, 0, value, len(target))

    def step_design(self):
        active, ready, state = self._active_triggers, self._ready, self._state
        pending, written = state.pending, state.written
        while True:
            if active:
                # Their samples are those before this delta cycle.
                fired = list(active)
                active.clear()
                for trigger in fired:
                    trigger.run()
            if ready:
                for run in ready:
                    run()
                ready.clear()
            if not (pending or written):
                return
            changed = self._commit_signals(pending)
            if written:
                changed += self._commit_memories(written)
            if self._vcd_writers:
                self._write_changes(changed)
                self._delta_cycles += 1
            if not changed:
                return

    def _commit_signals(self, pending):
        """Makes next values current; returns the signals that changed."""
        ready = self._ready
        changed = []
        for slot in pending:
            old, new = slot.curr, slot.next
            if old == new:
                continue
            slot.curr = new
            changed.append(slot)
            if slot.changes:
                ready.update(slot.changes)
            if new == 1:
                if slot.rises:
                    ready.update(slot.rises)
            elif new == 0 and slot.falls:
                ready.update(slot.falls)
            if slot.wakers:
                pysim._run_wakers(slot.wakers, old, new)
            if slot.ticks is not None:
                waits = slot.ticks[new & 1]
                self._active_triggers.update(waits)
                waits.clear()
        pending.clear()
        return changed

    def _commit_memories(self, written):
        """Writes memories; returns the changed rows."""
        changed = []
        for slot in written:
            self._ready.update(slot.changes)
            rows = list(slot.write_queue)
            if slot.commit():
                changed += [pysim._PyMemoryChange(slot, row) for row in rows]
        written.clear()
        return changed

    def _write_changes(self, changed):
        for writer in self._vcd_writers:
            now = self.now + self._delta_cycles * writer.fs_per_delta
            for change in changed:
                if isinstance(change, SignalState):
                    writer.update_signal(now, change.signal)
                else:
                    writer.update_memory(now, change.state.memory, change.addr)

    def advance(self):
        self.step_design()
        benches = self._testbenches
        converged = False
        while not converged:
            converged = True
            # In the order in which they were added.
            for bench in benches:
                if bench.runnable:
                    bench.runnable = False
                    bench.run()
                    converged = False
        self._state.timeline.advance()
        return any(process.critical for process in (*benches, *self._processes))

    write_vcd = original.write_vcd
    _now_plus_deltas = original._now_plus_deltas
