# SPDX-License-Identifier: BSD-2-Clause
"""Python code of a design's processes for :mod:`tests.support.simulation_engine`.

Amaranth's own simulator masks every operand and looks every signal up in a list. Here a value is
masked only if bits beyond its width may be set, a signal is a global name of its process, and equal
processes (banks, queues, lanes) share one compiled code object.
"""

from dataclasses import dataclass, replace
from functools import cache

from amaranth.hdl._ast import (
    Assign,
    Concat,
    Print,
    Property,
    Signal,
    SignalDict,
    Switch,
)
from amaranth.hdl._mem import MemoryInstance
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim._pyrtl import _PythonEmitter, _StatementCompiler

__all__ = ["processes"]

#: Characters of an expression from which on it is computed in a statement of its own, so that
#: parentheses do not nest deeper than Python's parser takes.
LONGEST = 1000
#: Bits of the widest value, Amaranth's own limit.
WIDEST = 2**16

HELPERS = {
    "sign": lambda value, sign: value | sign if value & sign else value,
    "zdiv": lambda lhs, rhs: 0 if rhs == 0 else lhs // rhs,
    "zmod": lambda lhs, rhs: 0 if rhs == 0 else lhs % rhs,
    **_StatementCompiler.helpers,
}


@dataclass(frozen=True)
class Code:
    """An expression, and what is known of its value."""

    text: str
    width: int
    signed: bool = False
    #: The value lies in the range of its shape; else its lowest bits are those of the value.
    exact: bool = True
    #: It is ``True`` or ``False``, not 1 or 0.
    boolean: bool = False

    def pattern(self) -> str:
        """Its bits as a number that is not negative."""
        if self.exact and not self.signed:
            return self.text
        return f"({(1 << self.width) - 1:#x} & {self.text})"

    def value(self) -> str:
        """Its value as a number."""
        if self.exact:
            return self.text
        if self.signed and self.width:
            return f"sign({self.pattern()}, {-1 << (self.width - 1):#x})"
        return self.pattern()

    def stored(self, width: int, signed: bool) -> str:
        """The number that a signal of a shape takes when it is assigned."""
        if not self.exact and self.width < width:
            return replace(self, text=self.value(), exact=True).stored(width, signed)
        fits = self.exact and (
            self.width <= width if self.signed == signed else signed and self.width < width
        )
        if fits:
            return f"+{self.text}" if self.boolean else self.text
        masked = f"{(1 << width) - 1:#x} & {self.text}"
        return f"sign({masked}, {-1 << (width - 1):#x})" if signed and width else masked


def unified(codes: list[Code]) -> tuple[int, bool]:
    """Shape that holds the values of all: (width, signed)."""
    if not any(code.signed for code in codes):
        return max((code.width for code in codes), default=0), False
    return max(code.width + (not code.signed) for code in codes), True


class Names:
    """Names of the signals of a process in its code: ``s0`` is the state of one, ``n0`` the value
    that it takes next. They are numbered by first use, so that equal processes have equal code."""

    def __init__(self, state):
        self.state = state
        self.numbers = {}

    def number(self, index: int) -> int:
        return self.numbers.setdefault(index, len(self.numbers))

    def signal(self, signal: Signal) -> int:
        return self.number(self.state.get_signal(signal))

    def memory(self, memory) -> int:
        return self.number(self.state.get_memory(memory))

    def globals(self) -> dict:
        slots = self.state.slots
        return {f"s{number}": slots[index] for index, number in self.numbers.items()}


class Reader:
    """Compiles values that are read."""

    def __init__(self, names, emitter, *, inputs=None, following=None):
        self.names = names
        self.emitter = emitter
        #: Signals that were read, by their identity.
        self.inputs = inputs
        #: The reader of current values, for offsets and tests, if this one reads next values.
        self.current = following or self
        self.reads_next = following is not None

    def __call__(self, value) -> Code:
        code = getattr(self, f"on_{type(value).__name__}")(value)
        if code.width > WIDEST:
            place = "{}:{}".format(*value.src_loc) if value.src_loc else "unknown location"
            raise OverflowError(
                f"Value defined at {place} is {code.width} bits wide, which is unlikely to "
                "simulate in reasonable time"
            )
        if len(code.text) > LONGEST:
            code = replace(code, text=self.emitter.def_var("split", code.text))
        return code

    def sign(self, value) -> str:
        return self(value).value()

    def on_Const(self, value):
        text = f"({value.value})" if value.value < 0 else f"{value.value}"
        return Code(text, value._shape.width, value._shape.signed)

    def on_Signal(self, value):
        if self.inputs is not None:
            self.inputs[value.duid] = value
        number = self.names.signal(value)
        text = f"n{number}" if self.reads_next else f"s{number}.curr"
        return Code(text, len(value), value._signed)

    def on_Operator(self, value):
        operands = [self(operand) for operand in value.operands]
        if len(operands) == 1:
            return self._unary(value.operator, *operands)
        return self._binary(value.operator, *operands)

    def _unary(self, operator, a):
        ones = (1 << a.width) - 1
        match operator:
            case "~" if a.signed:
                return Code(f"(~{a.value()})", a.width, True)
            case "~":
                return Code(f"({ones:#x} ^ {a.pattern()})", a.width)
            case "-":
                return Code(f"(-{a.value()})", a.width + 1, True)
            case "+":
                return a
            case "b" | "r|":
                return Code(f"(0 != {a.pattern()})", 1, boolean=True)
            case "r&":
                return Code(f"({ones:#x} == {a.pattern()})", 1, boolean=True)
            case "r^":
                return Code(f"(({a.pattern()}).bit_count() & 1)", 1)
            case "u" | "s":
                signed = operator == "s"
                return replace(a, signed=signed, exact=a.exact and a.signed == signed)
        raise NotImplementedError(f"operator {operator!r}")

    def _binary(self, operator, a, b):
        x, y = a.value(), b.value()
        text = f"({x} {operator} {y})"
        either = a.signed or b.signed
        match operator:
            case "+" | "-":
                width, signed = unified([a, b])
                return Code(text, width + 1, signed or operator == "-")
            case "*":
                return Code(text, a.width + b.width, either)
            case "//":
                return Code(f"zdiv({x}, {y})", a.width + b.signed, either)
            case "%":
                return Code(f"zmod({x}, {y})", b.width, b.signed)
            case "&" | "|" | "^":
                return Code(text, *unified([a, b]), boolean=a.boolean and b.boolean)
            case "<<":
                return Code(text, a.width + 2**b.width - 1, a.signed)
            case ">>":
                return Code(text, a.width, a.signed)
            case "==" | "!=" | "<" | "<=" | ">" | ">=":
                return Code(text, 1, boolean=True)
        raise NotImplementedError(f"operator {operator!r}")

    def on_Slice(self, value):
        inner = self(value.value)
        width = value.stop - value.start
        text = f"({inner.text} >> {value.start})" if value.start else inner.text
        if inner.exact and not inner.signed and value.stop == inner.width:
            return Code(text, width, boolean=inner.boolean and not value.start)
        return Code(f"({(1 << width) - 1:#x} & {text})", width)

    def on_Part(self, value):
        inner = self(value.value)
        offset = self.current(value.offset).pattern()
        if value.stride != 1:
            offset = f"({value.stride} * {offset})"
        return Code(f"({(1 << value.width) - 1:#x} & {inner.text} >> {offset})", value.width)

    def on_Concat(self, value):
        texts, offset = [], 0
        for part in map(self, value.parts):
            texts.append(f"({part.pattern()} << {offset})" if offset else f"{part.pattern()}")
            offset += part.width
        return Code(f"({' | '.join(texts)})" if texts else "0", offset)

    def on_SwitchValue(self, value):
        test = self.current(value.test)
        if [patterns for patterns, _ in value.cases] == [("0" * test.width,), None]:
            return self._mux(test, *(elem for _, elem in value.cases))
        name = self.emitter.def_var("test", test.pattern())
        result = self.emitter.def_var("switch", "0")
        elems = []

        def case(elem):
            elems.append(self(elem))
            self.emitter.append(f"{result} = {elems[-1].value()}")

        switch(self.emitter, name, [(patterns, (elem,)) for patterns, elem in value.cases], case)
        return Code(result, *unified(elems))

    def _mux(self, test, if_zero, if_not):
        """A choice of two, as an expression unless one of them needs statements of its own."""
        emitter, texts, elems = self.emitter, [], []
        for elem in (if_not, if_zero):
            before, emitter._buffer = emitter._buffer, []
            with emitter.indent():
                elems.append(self(elem))
            texts.append(emitter._buffer)
            emitter._buffer = before
        width, signed = unified(elems)
        boolean = elems[0].boolean or elems[1].boolean
        if not any(texts):
            chosen, other = (elem.value() for elem in elems)
            return Code(
                f"({chosen} if {test.pattern()} else {other})", width, signed, True, boolean
            )
        result = emitter.gen_var("switch")
        for head, text, elem in zip((f"if {test.pattern()}:", "else:"), texts, elems, strict=True):
            emitter.append(head)
            emitter._buffer += text
            with emitter.indent():
                emitter.append(f"{result} = {elem.value()}")
        return Code(result, width, signed, True, boolean)


def switch(emitter, test, cases, handle):
    """Emits a choice by a pattern: ``handle(*arguments)`` emits what is done.

    ``test`` is a name or a short expression; cases are (patterns, arguments).
    """
    head = "if"
    for patterns, arguments in cases:
        if patterns == ():
            continue
        conditions = None if patterns is None else [_matches(test, p) for p in patterns]
        if conditions is None:
            # What stands behind a default is never reached.
            emitter.append("else:" if head == "elif" else "if True:")
        else:
            emitter.append(f"{head} {' or '.join(conditions)}:")
        with emitter.indent():
            handle(*arguments)
        if conditions is None:
            return
        head = "elif"


def _matches(test, pattern):
    value = int(pattern.replace("-", "0") or "0", 2)
    if "-" in pattern:
        mask = int("".join("0" if bit == "-" else "1" for bit in pattern), 2)
        return f"{value} == ({mask} & {test})"
    if len(pattern) == 1:
        return test if value else f"not {test}"
    return f"{value} == {test}"


class Writer:
    """Compiles assignments: ``writer(value)`` gives a function that emits one of a `Code`."""

    def __init__(self, names, emitter, reader):
        self.names = names
        self.emitter = emitter
        self.reader = reader
        #: Reads what earlier assignments left, for those of some bits.
        self.next_reader = Reader(names, emitter, following=reader)

    def __call__(self, value):
        return getattr(self, f"on_{type(value).__name__}")(value)

    def on_Signal(self, value):
        number = self.names.signal(value)
        return lambda code: self.emitter.append(
            f"n{number} = {code.stored(len(value), value._signed)}"
        )

    def on_Operator(self, value):
        if value.operator not in ("u", "s"):
            raise TypeError(f"operator {value.operator!r} on the left of an assignment")
        return self(value.operands[0])

    def on_Slice(self, value):
        width = value.stop - value.start
        if width == len(value.value):
            return self(value.value)

        def emit(code):
            before = self.next_reader(value.value)
            ones = (1 << width) - 1
            kept = f"{before.text} & {~(ones << value.start):#x}"
            text = f"({kept} | (({code.stored(width, False)}) << {value.start}))"
            exact = before.exact and not before.signed
            self(value.value)(Code(text, before.width, before.signed, exact))

        return emit

    def on_Part(self, value):
        def emit(code):
            before = self.next_reader(value.value)
            ones = (1 << value.width) - 1
            offset = f"({value.stride} * {self.reader(value.offset).pattern()})"
            bits = f"({code.stored(value.width, False)})"
            text = f"({before.text} & ~({ones:#x} << {offset}) | ({bits} << {offset}))"
            self(value.value)(Code(text, before.width, before.signed, exact=False))

        return emit

    def on_Concat(self, value):
        def emit(code):
            name = self.emitter.def_var("cat", code.value())
            offset = 0
            for part in value.parts:
                width = len(part)
                self(part)(Code(f"({(1 << width) - 1:#x} & ({name} >> {offset}))", width))
                offset += width

        return emit

    def on_SwitchValue(self, value):
        def emit(code):
            test = self.emitter.def_var("test", self.reader(value.test).pattern())
            cases = [(patterns, (elem,)) for patterns, elem in value.cases]
            switch(self.emitter, test, cases, lambda elem: self(elem)(code))

        return emit


class Statements(_StatementCompiler):
    """Compiles statements; Amaranth's own for messages and properties."""

    def __init__(self, names, emitter, *, inputs=None):
        self.emitter = emitter
        self.rhs = Reader(names, emitter, inputs=inputs)
        self.lhs = Writer(names, emitter, self.rhs)

    def on_statement(self, stmt):
        if type(stmt) is Assign:
            self.lhs(stmt.lhs)(self.rhs(stmt.rhs))
        elif type(stmt) is Switch:
            self._switch(stmt)
        elif type(stmt) in (Print, Property):
            super().on_statement(stmt)
        else:
            self.on_statements(stmt)

    __call__ = on_statement

    def on_statements(self, stmts):
        emitted = len(self.emitter._buffer)
        for stmt in stmts:
            self.on_statement(stmt)
        if len(self.emitter._buffer) == emitted:
            self.emitter.append("pass")

    def _switch(self, stmt):
        test = self.rhs(stmt.test).pattern()
        compared = [len(patterns) for patterns, _, _ in stmt.cases if patterns is not None]
        if compared != [1]:
            test = self.emitter.def_var("test", test)
        cases = [(patterns, (body,)) for patterns, body, _ in stmt.cases]
        switch(self.emitter, test, cases, self.on_statement)


@cache
def _compiled(text):
    return compile(text, "<process>", "exec")


def _function(text, names, pend):
    """The function ``run`` that a process's code defines."""
    scope = {"pend": pend, **HELPERS, **names.globals()}
    exec(_compiled(text), scope)
    return scope["run"]


class _Process:
    """Code of one domain of a fragment."""

    def __init__(self, state, fragment, domain_name):
        self.state = state
        self.fragment = fragment
        self.domain_name = domain_name
        self.names = Names(state)
        self.emitter = _PythonEmitter()
        self.emitter.append("def run():")
        self.emitter._level += 1
        self.inputs = {}
        self.memory = fragment if isinstance(fragment, MemoryInstance) else None
        self.statements = fragment.statements.get(domain_name, ())
        self.masks = self._driven()

    def _driven(self) -> SignalDict:
        """Signals that the process drives, with their driven bits."""
        collector = LHSMaskCollector()
        collector.visit_stmt(self.statements)
        for port in self._read_ports():
            collector.visit_value(port._data, ~0)
        return collector.lhs

    def _read_ports(self):
        ports = self.memory._read_ports if self.memory is not None else ()
        return [port for port in ports if port._domain == self.domain_name]

    def combinational(self):
        """Compiles the process of the domain ``comb``; returns its function."""
        for signal in self.masks:
            self.state.slots[self.state.get_signal(signal)].is_comb = True
            self.emitter.append(f"n{self.names.signal(signal)} = {signal.init}")
        compiler = Statements(self.names, self.emitter, inputs=self.inputs)
        compiler(self.statements)
        for port in self._read_ports():
            data = self.emitter.def_var("data", self._cell(compiler.rhs(port._addr).pattern()))
            self._take(compiler, port, data)
        return self._finish()

    def _cell(self, address):
        """What the memory holds at an address; zero beyond its end."""
        return f"s{self.names.memory(self.memory._data)}.read({address})"

    def _take(self, compiler, port, data):
        """Assigns a read port's data."""
        shape = port._data.shape()
        compiler.lhs(port._data)(Code(data, shape.width, shape.signed, exact=False))

    def clocked(self, domain):
        """Compiles the process of a clock domain; returns its function."""
        for signal in self.masks:
            number = self.names.signal(signal)
            self.emitter.append(f"n{number} = s{number}.next")
        compiler = Statements(self.names, self.emitter)
        compiler(self.statements)
        if domain.rst is not None:
            self._reset(compiler.rhs(domain.rst).pattern())
        if self.memory is not None:
            self._memory_ports(compiler)
        return self._finish()

    def _reset(self, condition):
        kept = [signal for signal in self.masks if not signal.reset_less]
        if kept:
            self.emitter.append(f"if {condition}:")
        with self.emitter.indent():
            for signal in kept:
                self.emitter.append(f"n{self.names.signal(signal)} = {signal.init}")

    def _memory_ports(self, compiler):
        emitter, rhs = self.emitter, compiler.rhs
        written = {}
        for number, port in enumerate(self.memory._write_ports):
            if port._domain != self.domain_name:
                continue
            address = emitter.def_var("address", rhs(port._addr).pattern())
            data = emitter.def_var("data", rhs(port._data).pattern())
            lanes = Concat(bit.replicate(port._granularity) for bit in port._en)
            enable = emitter.def_var("enable", rhs(lanes).pattern())
            emitter.append(f"if {enable}:")
            with emitter.indent():
                name = f"s{self.names.memory(self.memory._data)}"
                emitter.append(f"{name}.write({address}, {data}, {enable})")
            written[number] = address, data, enable
        for port in self._read_ports():
            emitter.append(f"if {rhs(port._en).pattern()}:")
            with emitter.indent():
                address = emitter.def_var("address", rhs(port._addr).pattern())
                data = emitter.def_var("data", self._cell(address))
                for number in port._transparent_for:
                    self._pass_through(address, data, *written[number])
                self._take(compiler, port, data)

    def _pass_through(self, address, data, write_address, write_data, enable):
        """A read port sees what a write port writes to the same address in this cycle."""
        self.emitter.append(f"if {address} == {write_address}:")
        with self.emitter.indent():
            self.emitter.append(f"{data} = {data} & ~{enable} | {write_data} & {enable}")

    def _finish(self):
        for signal, mask in self.masks.items():
            number, width = self.names.signal(signal), len(signal)
            self.emitter.append(f"if n{number} != s{number}.next:")
            with self.emitter.indent():
                if mask == (1 << width) - 1:
                    self.emitter.append(f"s{number}.next = n{number}")
                    self.emitter.append(f"pend(s{number})")
                else:
                    # Another process drives the other bits.
                    if signal._signed and mask & 1 << (width - 1):
                        mask |= -1 << width
                    self.emitter.append(f"s{number}.update(n{number}, {mask})")
        self.emitter.append("return")
        return _function(self.emitter.flush(), self.names, self.state.pending.append)


def processes(state, fragment):
    """Compiles the processes of a fragment and of those below it: functions to run at first.

    All functions are entered with the signals and memories that wake them.
    """
    domains = dict.fromkeys(fragment.statements)
    if isinstance(fragment, MemoryInstance):
        ports = (*fragment._read_ports, *fragment._write_ports)
        domains |= dict.fromkeys(port._domain for port in ports)
    initial = []
    for name in domains:
        process = _Process(state, fragment, name)
        if name == "comb":
            run = process.combinational()
            initial.append(run)
            for signal in process.inputs.values():
                state.signal(signal).changes.append(run)
            if process.memory is not None:
                state.slots[state.get_memory(process.memory._data)].changes.append(run)
            continue
        domain = fragment.domains[name]
        run = process.clocked(domain)
        edges = "rises" if domain.clk_edge == "pos" else "falls"
        getattr(state.signal(domain.clk), edges).append(run)
        if domain.async_reset and domain.rst is not None:
            state.signal(domain.rst).rises.append(run)
    for below, _name, _src_loc in fragment.subfragments:
        initial += processes(state, below)
    return initial
