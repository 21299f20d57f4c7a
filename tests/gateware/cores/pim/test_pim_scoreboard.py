# SPDX-License-Identifier: BSD-2-Clause
"""The scoreboard never lets two conflicting accesses of LMem overlap: proved for every byte, every
order of pushes and ends."""

import pytest
from amaranth import Cat, Module, Signal
from amaranth.hdl import Assert, Assume, Cover
from amaranth.lib import data

from quintet.gateware.cores.pim.engine.front.scoreboard import UNITS, Scoreboard, slots_of
from tests.support.formal import Property, cover, prove


class NoConflict(Property):
    """The front end as it is: ranges hold still for the cycle before a push, and only a clear one
    is pushed."""

    def __init__(self, vec_bytes, careless=False):
        super().__init__()
        # Comparisons do not depend on their width; three bits hold all orders of the ends of two
        # ranges and a byte.
        self.board = Scoreboard(params={"lmem_bytes": 8, "vec_bytes": vec_bytes})
        self.careless = careless

    def build(self, m: Module):
        m.submodules.board = board = self.board
        value = board.ranges.as_value()
        self.free(value)
        for name in ("written", "read_1", "read_2"):
            m.d.comb += Assume(board.ranges[name].first <= board.ranges[name].last)
        # Compared once, or twice where there are two sources; then as it was until it is pushed.
        self.free(board.look, board.more)
        before, looked, looked_more = Signal.like(value), Signal(), Signal()
        pushes = Cat(getattr(board, f"push_{unit}") for unit in UNITS)
        as_it_was = Signal()
        m.d.comb += [
            as_it_was.eq(before == value),
            Assume(~(board.look & board.more)),
            Assume(~(pushes.any() & (board.look | board.more))),
            Assume(~board.more | looked & as_it_was),
        ]
        with m.If(pushes.any()):
            m.d.sync += [looked.eq(0), looked_more.eq(0)]
        with m.Elif(board.look):
            m.d.sync += [looked.eq(1), looked_more.eq(0), before.eq(value)]
        with m.Elif(board.more):
            m.d.sync += looked_more.eq(1)
        # Sources beyond the first are the vector unit's alone.
        for unit in UNITS:
            push = getattr(board, f"push_{unit}")
            self.free(push)
            m.d.comb += Assume(
                ~push
                | getattr(board, f"free_{unit}")
                & looked
                & as_it_was
                & (looked_more | ~board.ranges.read_2.used)
            )
            if not self.careless:
                m.d.comb += Assume(~push | board.clear)
            if unit != "vector":
                m.d.comb += Assume(~push | ~board.ranges.read_2.used)
        m.d.comb += Assume((pushes & (pushes - 1)) == 0)
        self.free(board.done.as_value())
        for k, unit in enumerate(UNITS):
            done = board.done[k]
            slots = slots_of(board.params)[unit]
            m.d.comb += Assume(
                ~done.done | Cat((done.tag == s) & board.valid[s] for s in slots).any()
            )
        # A matrix command reads its source once, then says so.
        self.free(board.read.as_value())
        m.d.comb += Assume(
            ~board.read.done
            | Cat(
                (board.read.tag == s) & board.valid[s] for s in slots_of(board.params)["matrix"]
            ).any()
        )
        # What induction needs to know: what was compared stands in ``crosses`` and ``spoils``.
        kept = data.View(board.ranges.shape(), before)
        for s in range(board.count):
            held = board.held[s]

            def overlap(one, other):
                return (
                    one.used & other.used & (one.first <= other.last) & (~other.first <= one.last)
                )

            second = [held.read_2] if s in slots_of(board.params)["vector"] else []
            spoils = Cat(overlap(kept.written, r) for r in (held.read_1, *second)).any()
            crosses = overlap(kept.written, held.written) | overlap(kept.read_1, held.written)
            m.d.comb += [
                Assert(
                    ~(looked & board.valid[s] & spoils)
                    | (
                        board.spoils[s]
                        if s in slots_of(board.params)["matrix"]
                        else board.crosses[s]
                    )
                ),
                Assert(~(looked & board.valid[s] & crosses) | board.crosses[s]),
                Assert(
                    ~(looked_more & board.valid[s] & overlap(kept.read_2, held.written))
                    | board.crosses[s]
                ),
            ]
        byte = Signal(len(board.ranges.written.first))
        self.constant(m, byte)
        writes, reads = [], []
        for s in range(board.count):
            held, valid = board.held[s], board.valid[s]

            def inside(r, valid=valid):
                return valid & r.used & (~r.first <= byte) & (byte <= r.last)

            writes.append(inside(held.written))
            second = [inside(held.read_2)] if s in slots_of(board.params)["vector"] else []
            still = board.reads[s] if s in slots_of(board.params)["matrix"] else 1
            reads.append(Cat(inside(held.read_1) & still, *second).any())
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
