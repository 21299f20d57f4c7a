# SPDX-License-Identifier: BSD-2-Clause
"""Shapes of netlists: equal whatever modules and wires are called, and another for any other
circuit."""

import pytest
from amaranth import Elaboratable, Module, Signal
from amaranth.back import rtlil
from amaranth.lib import memory

from tests.support.netlist_shapes import shape_digest


class _Counter(Elaboratable):
    """Counts up by ``step`` from ``init`` on, where ``table`` at the count is not 0."""

    def __init__(
        self, *, name="count", split=False, step=1, init=0, table=(1, 0, 1, 1), turned=False
    ):
        self.name, self.split, self.step, self.init, self.table, self.turned = (
            name,
            split,
            step,
            init,
            table,
            turned,
        )
        self.out, self.other = Signal(2, name="out"), Signal(2, name="other")

    def elaborate(self, platform):
        m = Module()
        inner = m
        if self.split:
            m.submodules.inner = inner = Module()
        count, later = Signal(2, name=self.name, init=self.init), Signal(2)
        inner.submodules.rom = rom = memory.Memory(shape=1, depth=4, init=self.table)
        port = rom.read_port(domain="comb")
        inner.d.comb += port.addr.eq(count)
        with inner.If(port.data):
            inner.d.sync += count.eq(count + self.step)
        inner.d.sync += later.eq(count)
        m.d.comb += [
            self.out.eq(later if self.turned else count),
            self.other.eq(count if self.turned else later),
        ]
        return m


def _shape(**changes):
    counter = _Counter(**changes)
    return shape_digest(rtlil.convert(counter, name="top", ports=[counter.out, counter.other]))


@pytest.fixture(scope="module")
def plain():
    return _shape()


@pytest.mark.parametrize("changes", [{"name": "number"}, {"split": True}], ids=str)
def test_names_and_modules_do_not_count(plain, changes):
    assert _shape(**changes) == plain


@pytest.mark.parametrize(
    "changes", [{"step": 2}, {"init": 1}, {"table": (1, 0, 1, 0)}, {"turned": True}], ids=str
)
def test_any_other_circuit_has_another_shape(plain, changes):
    assert _shape(**changes) != plain
