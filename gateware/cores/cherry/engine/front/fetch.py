# SPDX-License-Identifier: BSD-2-Clause
"""Instruction memory of the front end: delivers predecoded words in order, from a given index
on."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from .....isa.parameters import Params
from .....primitives.bram import BlockRAM
from .predecode import Predecode, RecordLayout

__all__ = ["Fetch", "INDEX"]

#: Bits of an instruction's index, one past the last included.
INDEX = 12
#: Words asked for and not yet handed on: more than are on their way at one a cycle.
_DEPTH = 4
_LATENCY = 2


class Fetch(wiring.Component):
    """Instruction fetch: delivers the words from ``target`` on, one per cycle; words past the
    program's end are undefined.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    write, write_address, write_data : In: writes a word;
        the address holds the resident program in its top bit, where there are two
    jump, target, resident : In: what comes next is the word at ``target`` of the program
        ``resident``; :attr:`PENALTY` cycles later
    hold : In: words are fetched, but none becomes the record
    record : Out, stream of :class:`~.predecode.RecordLayout`, from registers
    take, next_word, next_record : Out, the record is from the next cycle on that of this word
    """

    #: Cycles from ``jump`` to the record.
    PENALTY = 2 + _LATENCY

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        self.params, self.family = params, family
        self._words = params["imem"] * params["slots"]
        super().__init__(
            {
                "write": In(1),
                "write_address": In(ceil_log2(self._words)),
                "write_data": In(18),
                "resident": In(1),
                "jump": In(1),
                "target": In(INDEX),
                "hold": In(1),
                "take": Out(1),
                "next_word": Out(18),
                "next_record": Out(RecordLayout()),
                "record": Out(stream.Signature(RecordLayout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ram = m.submodules.ram = BlockRAM(
            width=18, depth=self._words, latency=_LATENCY, family=self.family
        )
        decode = m.submodules.decode = Predecode(params=self.params)
        m.submodules.waiting = waiting = memory.Memory(shape=18, depth=_DEPTH, init=[])
        put, get = waiting.write_port(), waiting.read_port(domain="comb")
        pc, resident = Signal(INDEX), Signal()
        low = ceil_log2(self.params["imem"])
        head, tail, queued = Signal(range(_DEPTH)), Signal(range(_DEPTH)), Signal(range(_DEPTH + 1))
        held, asked = Signal(), Signal(range(_DEPTH + 1))  # asked: on the way or queued
        coming = Signal(_LATENCY)
        ask, arrives, take = Signal(), Signal(), self.take
        record = Signal(RecordLayout(), reset_less=True)
        m.d.comb += [
            ram.write_en.eq(self.write),
            ram.write_addr.eq(self.write_address),
            ram.write_data.eq(self.write_data),
            ram.read_addr.eq(Cat(pc[:low], resident)[: ceil_log2(self._words)]),
            ask.eq(asked != _DEPTH),
            arrives.eq(coming[-1]),
            take.eq(((queued != 0) | arrives) & (~held | self.record.ready) & ~self.hold),
            put.addr.eq(tail),
            put.data.eq(ram.read_data),
            put.en.eq(arrives),
            get.addr.eq(head),
            self.next_word.eq(Mux(queued != 0, get.data, ram.read_data)),
            decode.word.eq(self.next_word),
            self.next_record.eq(decode.record),
            self.record.valid.eq(held),
            self.record.payload.eq(record),
        ]
        m.d.sync += [
            coming.eq(Cat(ask, coming)),
            pc.eq(pc + ask),
            asked.eq(asked + ask - take),
            tail.eq(tail + arrives),
            head.eq(head + take),
            queued.eq(queued + arrives - take),
        ]
        with m.If(take):
            m.d.sync += [record.eq(decode.record), held.eq(1)]
        with m.Elif(self.record.ready):
            m.d.sync += held.eq(0)
        with m.If(self.jump):
            m.d.sync += [
                pc.eq(self.target),
                resident.eq(self.resident),
                coming.eq(0),
                asked.eq(0),
                queued.eq(0),
                head.eq(0),
                tail.eq(0),
                held.eq(0),
            ]
        return m
