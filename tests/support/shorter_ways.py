# SPDX-License-Identifier: BSD-2-Clause
"""Shorter ways through Amaranth's simulator for what test benches do most; results stay the same.

A quarter of the processor time of `make quick` went into that simulator. It writes each process as
a Python function that looks up every signal in a list by number and calls a method for every
result. Here the function gets its signals as arguments, so that they are local variables, and
compares and stores results itself. Signals are numbered by their first use in the text: equal
modules, of one design or of two tests, then have equal texts, which are compiled once per process.

Half of the rest is what a bench reads, sets and waits for: each access builds constants, shapes and
triggers anew, and asks abstract classes about them. Signals, slices of signals and whole numbers go
a shorter way; everything else takes Amaranth's own.
"""

import re
from contextlib import contextmanager
from functools import lru_cache

from amaranth.hdl import Const, Signal, _ast, _nir
from amaranth.hdl._ast import Slice
from amaranth.sim import _async, _pyrtl, pysim

__all__ = ["install", "rewritten", "used"]

_SLOT = re.compile(r"\bslots\[(\d+)\]|\bnext_(\d+)\b")
_UPDATE = re.compile(r"^( *)slots\[(\d+)\]\.update\(next_(\d+), (-?\d+)\)$", re.M)
_HEAD = "def run():\n"


def rewritten(code, slots):
    """The text of a process in its faster form, and the numbers of the signals that it gets."""
    numbers = {}

    def renumber(found):
        number = numbers.setdefault(int(found[1] or found[2]), len(numbers))
        return f"s{number}" if found[1] else f"next_{number}"

    def update(found):
        indent, slot, value, mask = found.groups()
        # A result has the width of its signal, so only a mask of some bits needs the method.
        if slot != value or int(mask) != _all_bits(slots[int(slot)].signal):
            return found[0]
        return (
            f"{indent}if slots[{slot}].next != next_{slot}:\n"
            f"{indent}    slots[{slot}].next = next_{slot}\n"
            f"{indent}    pending(slots[{slot}])"
        )

    body = _SLOT.sub(renumber, _UPDATE.sub(update, code.removeprefix(_HEAD)))
    arguments = "".join(f", s{number}" for number in numbers.values())
    return f"def run(pending{arguments}):\n{body}", list(numbers)


def _all_bits(signal):
    return -1 if signal.shape().signed else (1 << len(signal)) - 1


@lru_cache(maxsize=4096)
def _compiled(text):
    return compile(text, "<string>", "exec")


def _compile(code, filename, mode):
    return code if code.startswith(_HEAD) else compile(code, filename, mode)


def _execute(code, names):
    if not isinstance(code, str):
        exec(code, names)
        return
    slots = names["slots"]
    text, numbers = rewritten(code, slots)
    exec(_compiled(text), names)
    states = [slots[number] for number in numbers]
    # As defaults, the arguments cost nothing at a call.
    names["run"].__defaults__ = (states[0].pending.add if states else None, *states)


# Methods of Amaranth's classes, with a shorter way each.


def _get_signal(self, signal):
    index = self.__dict__.setdefault("by_identity", {}).get(id(signal))
    if index is None:
        index = _THEIRS[pysim._PyEngineState, "get_signal"](self, signal)
        # A signal that has a slot lives as long as the slot.
        if self.slots[index].signal is signal:
            self.by_identity[id(signal)] = index
    return index


def _get_value(self, value):
    kind = type(value)
    if kind is Signal:
        state = self._state
        return state.slots[state.get_signal(value)].curr
    if kind is Slice and type(value.value) is Signal:
        state = self._state
        bits = state.slots[state.get_signal(value.value)].curr
        return bits >> value.start & (1 << value.stop - value.start) - 1
    if kind is Const:
        return value.value
    return _THEIRS[pysim.PySimEngine, "get_value"](self, value)


def _set_value(self, target, value):
    if type(target) is Signal:
        state = self._state
        slot = state.slots[state.get_signal(target)]
        if not slot.is_comb:
            width = len(target)
            value &= (1 << width) - 1
            if target._signed and value >> width - 1:
                value -= 1 << width
            if slot.next != value:
                slot.next = value
                slot.pending.add(slot)
            return
    _THEIRS[pysim.PySimEngine, "set_value"](self, target, value)


def _set(self, target, value):
    if type(target) is Signal and type(value) in (int, bool):
        engine = self._engine
        engine.set_value(target, int(value))
        # The design has settled before a bench runs: nothing follows from a value that it has.
        if engine._state.pending:
            engine.step_design()
    else:
        _THEIRS[_async.TestbenchContext, "set"](self, target, value)


def _get(self, value):
    if type(value) is Signal:
        return self._engine.get_value(value)
    return _THEIRS[_async.TestbenchContext, "get"](self, value)


def _sample(self, value):
    if type(value) in (Signal, Slice, Const):
        # The shape matters only where it makes something of the bits.
        self.value, self.shape = value, None
    else:
        _THEIRS[_async.SampleTrigger, "__init__"](self, value)


def _collect_trigger(self):
    domain = self._domain
    if domain.async_reset and domain.rst is not None:
        return _THEIRS[_async.TickTrigger, "_collect_trigger"](self)
    # Triggers hold nothing of a wait, so that each is made once for its domain.
    kept = self._engine.__dict__.setdefault("edges", {})
    if id(domain) not in kept:
        edge = _async.EdgeTrigger(domain.clk, int(domain.clk_edge == "pos"))
        reset = Const(0) if domain.rst is None else domain.rst
        # The domain is kept, so that its identity stays its own.
        kept[id(domain)] = domain, (edge, *map(_async.SampleTrigger, (Const(0), reset)))
    return _async.TriggerCombination(
        self._engine,
        self._process,
        triggers=(*kept[id(domain)][1], *map(_async.SampleTrigger, self._sampled)),
    )


def _step_design(self):
    if self._vcd_writers:
        _THEIRS[pysim.PySimEngine, "step_design"](self)
        return
    state, triggers = self._state, self._active_triggers
    while True:
        for trigger in triggers:
            trigger.run()
        triggers.clear()
        for process in self._processes:
            if process.runnable:
                process.runnable = False
                process.run()
        self._delta_cycles += 1
        if not state.pending or state.commit():
            return


def _kept(method):
    """A method without arguments whose result each object keeps."""

    def shape(self):
        try:
            return self.kept_shape
        except AttributeError:
            self.kept_shape = found = method(self)
            return found

    return shape


def _nets(kind, nets=()):
    return tuple.__new__(kind, (nets,) if isinstance(nets, _nir.Net) else nets)


_OURS = {
    (pysim._PyEngineState, "get_signal"): _get_signal,
    (pysim.PySimEngine, "get_value"): _get_value,
    (pysim.PySimEngine, "set_value"): _set_value,
    (pysim.PySimEngine, "step_design"): _step_design,
    (_async.TestbenchContext, "set"): _set,
    (_async.TestbenchContext, "get"): _get,
    (_async.SampleTrigger, "__init__"): _sample,
    (_async.TickTrigger, "_collect_trigger"): _collect_trigger,
    (_nir.Value, "__new__"): _nets,
}
_OURS |= {
    (kind, "shape"): _kept(kind.shape)
    for kind in (Signal, _ast.Operator, _ast.Slice, _ast.Part, _ast.Concat, _ast.SwitchValue)
}
_THEIRS = {(owner, name): getattr(owner, name) for owner, name in _OURS}


def install():
    """Has Amaranth's simulator go the shorter ways, in this process."""
    _pyrtl.compile, _pyrtl.exec = _compile, _execute
    for (owner, name), method in _OURS.items():
        setattr(owner, name, method)


def _uninstall():
    del _pyrtl.compile, _pyrtl.exec
    for (owner, name), method in _THEIRS.items():
        setattr(owner, name, method)


@contextmanager
def used(shorter):
    """Context manager: simulators go the shorter ways, or with ``False`` Amaranth's own."""
    before = hasattr(_pyrtl, "exec")
    if shorter != before:
        (install if shorter else _uninstall)()
    try:
        yield
    finally:
        if shorter != before:
            (_uninstall if shorter else install)()
