# SPDX-License-Identifier: BSD-2-Clause
"""Proof of the queue of gates in front of the dispatch."""

import pytest
from amaranth.hdl import Assert, Assume, Cover, Mux, Signal

from quintet.gateware.parts.queues import PairQueue
from tests.support.formal import ProofFailed, Property, cover, prove


class QueueProperty(Property):
    """A queue of two beside a list of two: nothing is lost, doubled or turned round, readiness is
    that there is space, and the output of an empty queue is 0 (the dispatch would start an
    operation by it)."""

    def __init__(self, most=2):
        super().__init__()
        self.most = most

    def build(self, m):
        dut = m.submodules.dut = PairQueue(shape=3)
        self.free(dut.i.valid, dut.i.payload, dut.o.ready)
        first, second, count = Signal(3), Signal(3), Signal(2)
        put, take, left = Signal(), Signal(), Signal(2)
        m.d.comb += [
            Assume(~dut.o.ready | dut.o.valid),
            Assert(dut.i.ready == (count < self.most)),
            Assert(dut.o.valid == (count != 0)),
            Assert(dut.o.payload == Mux(count == 0, 0, first)),
            Assert(count <= 2),
            Assert((count < 2) | (dut.second == second)),
            put.eq(dut.i.valid & dut.i.ready),
            take.eq(dut.o.ready),
            left.eq(count - take),
            Cover((count == 2) & take),
            Cover((count == 1) & take & put),
        ]
        m.d.sync += count.eq(left + put)
        with m.If(take):
            m.d.sync += first.eq(second)
        with m.If(put & (left == 0)):
            m.d.sync += first.eq(dut.i.payload)
        with m.If(put & (left == 1)):
            m.d.sync += second.eq(dut.i.payload)


def test_queue_of_gates(tmp_path):
    prove(QueueProperty(), tmp_path, depth=3)
    cover(QueueProperty(), tmp_path, depth=6)


def test_a_wrong_claim_fails(tmp_path):
    with pytest.raises(ProofFailed):
        prove(QueueProperty(most=1), tmp_path, depth=3)
