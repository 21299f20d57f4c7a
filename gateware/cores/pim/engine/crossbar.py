# SPDX-License-Identifier: BSD-2-Clause
"""Crossbar between processors: rendezvous of send and recv, and transfer of the words
(specification, section 4.4)."""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ....isa.parameters import Params
from .links import CrossbarPort

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Full crossbar between processors, with a word multiplexer for each receiver.

    Nothing moves before both ends are at the rendezvous, so no word is ever held here, and there is
    no order of messages that the programs do not have: what can meet, meets in the cycle after both
    are there (proved), and ``go`` says so in that cycle. Words and ``ready`` pass without latency.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    port : array of In(:class:`~.links.CrossbarPort`), one a core
    moving : Out(1), some pair has met and its message is not yet written, or is about to meet.
        Low means: nothing will move without a new ``meet``.
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self.cores = params["cores"]
        super().__init__(
            {
                "port": In(CrossbarPort(params)).array(self.cores),
                "moving": wiring.Out(1),
            }
        )
        # source[j][i]: core j receives from core i
        self._source = [Signal(self.cores, name=f"source_{j}") for j in range(self.cores)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.cores
        ports, source = self.port, self._source
        cores = range(n)
        sends, recvs = [], []  # one-hot peers, 0 while not at the rendezvous
        for i, port in enumerate(ports):
            there = port.meet & ~port.go
            one_hot = Signal(n, name=f"peer_{i}")
            m.d.comb += one_hot.eq(Cat(port.peer == j for j in cores))
            sends.append(one_hot & (there & port.sends).replicate(n))
            recvs.append(one_hot & (there & ~port.sends).replicate(n))
        pairs = [[sends[i][j] & recvs[j][i] for i in cores] for j in cores]  # [receiver][sender]
        meets = []
        for i, port in enumerate(ports):
            met = Signal(name=f"met_{i}")
            m.d.comb += met.eq(
                Cat([pairs[i][k] for k in cores] + [pairs[k][i] for k in cores]).any()
            )
            meets.append(met)
            # The other side's size, whoever it is: looked at with ``go`` alone.
            size = Signal.like(port.peer_size, name=f"peer_size_{i}")
            with m.Switch(port.peer):
                for k in cores:
                    with m.Case(k):
                        m.d.comb += size.eq(ports[k].size)
            m.d.sync += [port.go.eq(met), port.peer_size.eq(size)]
            m.d.comb += port.differs.eq(port.size != port.peer_size)
        for j, port in enumerate(ports):
            with m.If(port.written | port.go & port.differs):
                m.d.sync += source[j].eq(0)
            with m.Elif(Cat(pairs[j]).any()):
                m.d.sync += source[j].eq(Cat(pairs[j]))
            word, valid = Const(0, len(port.word_in)), Const(0)
            for i in (i for i in cores if i != j):  # no core is its own peer
                word = word | ports[i].word_out & source[j][i].replicate(len(word))
                valid = valid | ports[i].out_valid & source[j][i]
            m.d.comb += [port.word_in.eq(word), port.in_valid.eq(valid)]
        for i, port in enumerate(ports):
            m.d.comb += [
                port.out_ready.eq(Cat(source[j][i] & ports[j].in_ready for j in cores).any()),
                port.sent.eq(Cat(source[j][i] & ports[j].written for j in cores).any()),
            ]
        m.d.comb += self.moving.eq(Cat(*meets, *source, *(port.go for port in ports)).any())
        return m
