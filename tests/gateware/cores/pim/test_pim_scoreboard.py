# SPDX-License-Identifier: BSD-2-Clause
"""The scoreboard never lets two conflicting accesses of LMem overlap: proved for every byte, every order of pushes and ends."""
import pytest
from amaranth import Cat, Module, Signal
from amaranth.hdl import Assert, Assume, Cover

from gateware.cores.pim.scoreboard import UNITS, Scoreboard, slots_of
from tests.support.formal import Property, cover, prove


class NoConflict(Property):
    """The front end as it is: ranges hold still for the cycle before a push, and only a clear one is pushed."""
    def __init__(self, vec_bytes, careless=False):
        super().__init__()
        # Comparisons do not depend on their width; five bits hold all orders of the ends of three ranges and a byte.
        self.board = Scoreboard(params={"lmem_bytes": 32, "vec_bytes": vec_bytes})
        self.careless = careless

    def build(self, m: Module):
        m.submodules.board = board = self.board
        value = board.ranges.as_value()
        self.free(value)
        for name in ("written", "read_1", "read_2"):
            m.d.comb += Assume(board.ranges[name].first <= board.ranges[name].last)
        before, steady = Signal.like(value), Signal()
        pushes = Cat(getattr(board, f"push_{unit}") for unit in UNITS)
        m.d.sync += before.eq(value)
        m.d.comb += steady.eq(before == value)
        pushed = Signal()
        m.d.sync += pushed.eq(pushes.any())
        # Sources beyond the first are the vector unit's alone.
        for unit in UNITS:
            push = getattr(board, f"push_{unit}")
            self.free(push)
            m.d.comb += Assume(~push | getattr(board, f"free_{unit}") & steady & ~pushed)
            if not self.careless:
                m.d.comb += Assume(~push | board.clear)
            if unit != "vector":
                m.d.comb += Assume(~push | ~board.ranges.read_2.used)
        m.d.comb += Assume((pushes & (pushes - 1)) == 0)
        self.free(board.done.as_value())
        for k, unit in enumerate(UNITS):
            done = board.done[k]
            slots = slots_of(board.params)[unit]
            m.d.comb += Assume(~done.done | Cat((done.tag == s) & board.valid[s] for s in slots).any())
        # Register ``crosses`` is of the cycle before: induction needs to know that it is so.
        byte = Signal(len(board.ranges.written.first))
        self.constant(m, byte)
        writes, reads = [], []
        for s in range(board.count):
            held, valid = board.held[s], board.valid[s]

            def inside(r, valid=valid):
                return valid & r.used & (r.first <= byte) & (byte <= r.last)

            writes.append(inside(held.written))
            second = [inside(held.read_2)] if s in slots_of(board.params)["vector"] else []
            reads.append(Cat(inside(held.read_1), *second).any())
        for s in range(board.count):
            others = [writes[t] | reads[t] for t in range(board.count) if t != s]
            conflict = writes[s] & Cat(others).any()
            m.d.comb += [Cover(conflict)] if self.careless else [Assert(~conflict)]
        if not self.careless:
            m.d.comb += Cover(Cat(board.valid).all())


@pytest.mark.parametrize("vec_bytes", (2, 8))
def test_two_conflicting_accesses_never_overlap(tmp_path, vec_bytes):
    prove(NoConflict(vec_bytes), tmp_path, depth=2)


def test_all_slots_are_used_and_a_careless_push_is_a_conflict(tmp_path):
    for folder in ("careful", "careless"):
        (tmp_path / folder).mkdir()
    cover(NoConflict(2), tmp_path / "careful", depth=12)
    cover(NoConflict(2, careless=True), tmp_path / "careless", depth=6)
