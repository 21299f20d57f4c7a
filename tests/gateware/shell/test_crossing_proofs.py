# SPDX-License-Identifier: BSD-2-Clause
"""Proof of the FIFO between two clocks: whichever of them ticks when, nothing is lost, repeated or
out of order."""

import pytest
from amaranth import DomainRenamer, EnableInserter, Signal
from amaranth.hdl import Assert, Assume, Cover

from quintet.gateware.shell.crossing import CrossingFIFO
from tests.support.formal import ProofFailed, Property, check_bits, cover


class FifoProperty(Property):
    """Two clocks that tick as the solver likes, both at once too.

    * what is taken is what was put, in that order (of an entry whose number the solver chooses);
    * no more is inside than ``depth`` entries and the one that waits;
    * what ``room`` and ``level`` promise can be put and taken: above zero, ``ready`` and ``valid``
      are high.

    ``wrong``: that the entry taken is another.
    """

    def __init__(self, small=False, wrong=0):
        super().__init__()
        self.small, self.wrong = small, wrong

    def build(self, m):
        fifo = CrossingFIFO(shape=2, depth=4, w_domain="w", r_domain="r", small=self.small)
        ticks = {name: Signal(name=f"tick_{name}") for name in "wr"}
        m.submodules.fifo = DomainRenamer({"w": "sync", "r": "sync"})(EnableInserter(ticks)(fifo))
        self.free(*ticks.values(), fifo.i.valid, fifo.i.payload, fifo.o.ready)
        which, number_put, number_taken, kept = Signal(4), Signal(4), Signal(4), Signal(2)
        self.constant(m, which)
        put, taken = (
            ticks["w"] & fifo.i.valid & fifo.i.ready,
            ticks["r"] & fifo.o.valid & fifo.o.ready,
        )
        with m.If(put):
            m.d.sync += number_put.eq(number_put + 1)
            with m.If(number_put == which):
                m.d.sync += kept.eq(fifo.i.payload)
        with m.If(taken):
            m.d.sync += number_taken.eq(number_taken + 1)
        m.d.comb += [
            Assume(~number_put.all()),
            Assert(~(taken & (number_taken == which)) | (fifo.o.payload == kept + self.wrong)),
            Assert(~fifo.o.valid | (number_taken != number_put)),
            Assert(number_put - number_taken <= fifo.depth + 1),
            Assert((fifo.space == 0) | fifo.i.ready),
            Assert((fifo.level != 0) == fifo.o.valid),
            Assert(fifo.level <= number_put - number_taken),
            Assert(fifo.space + number_put <= number_taken + fifo.depth + 1),
            Cover((number_taken == 6) & taken),
            Cover(~fifo.i.ready & (number_put - number_taken == fifo.depth + 1)),
        ]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("depth", [14, pytest.param(20, marks=pytest.mark.long)])
def test_nothing_is_lost_between_clocks(depth, small, tmp_path):
    check_bits(FifoProperty(small), tmp_path, depth=depth)


@pytest.mark.parametrize("small", [False, True])
def test_entries_pass_and_it_fills(small, tmp_path):
    cover(FifoProperty(small), tmp_path, depth=20)


def test_that_another_entry_comes_out_is_wrong(tmp_path):
    with pytest.raises(ProofFailed):
        check_bits(FifoProperty(wrong=1), tmp_path, depth=12)
