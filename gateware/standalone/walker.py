# SPDX-License-Identifier: BSD-2-Clause
"""Run list walker: executes run lists, which copy bytes, write registers and start the core,
without a host (docs/how/standalone.md)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from ..bus.soclib import MemoryMap, wishbone
from .runlist import MARK, RUN_LIST_REGISTERS

__all__ = ["RunListWalker"]

_WORD = {name: offset // 4 for name, (offset, *_) in RUN_LIST_REGISTERS.items()}


class _State(enum.Enum, shape=4):
    IDLE = 0
    COMMAND = 1  # reads a command,
    DESTINATION = 2  # and the addresses after it
    SOURCE = 3
    STRIDE = 4
    WAIT = 5  # for the end of a run, if the command asks for it
    READ = 6  # a word that is moved
    WRITE = 7
    START = 8  # the core


class RunListWalker(wiring.Component):
    """Bus master that executes the commands of a run list (:mod:`.runlist`), one word at a time.

    A word of the list or of a copy takes a bus cycle to read and one to write; between two bus
    cycles ``cyc`` falls. The steps of a command that need no idle core are done while it runs: the
    command and its addresses are read before the wait.

    Parameters
    ----------
    control : int
        Byte address of the register that starts the core by a write of 1.
    address_bits : int
        Bits of an address that are kept beside bit 31; those between are taken as 0.

    Members
    -------
    registers : In, Wishbone of 2 word-address bits, 32 data bits, granularity 8:
        ``RUN_LIST_REGISTERS``. Whole words only: a write with any ``sel`` bit low is ignored.
    bus : Out, Wishbone of 30 word-address bits, 32 data bits, granularity 8, with ``err``
    core_busy : In, from the cycle in which the write of a start is answered at the latest
    core_ok : In, the core's last run ended, without a fault and without an abort
    interrupt : Out, the list that requested it has ended; low again when another one begins
    """

    def __init__(self, *, control: int, address_bits: int = 31) -> None:
        check_integer("Address of the start", control, 0, (1 << 32) - 1, multiple_of=4)
        check_integer("Address bits", address_bits, 17, 31)
        self._control, self._address_bits = control, address_bits
        signature = wishbone.Signature(
            addr_width=30, data_width=32, granularity=8, features={"err"}
        )
        super().__init__(
            {
                "registers": In(wishbone.Signature(addr_width=2, data_width=32, granularity=8)),
                "bus": Out(signature),
                "core_busy": In(1),
                "core_ok": In(1),
                "interrupt": Out(1),
            }
        )
        memory_map = MemoryMap(addr_width=4, data_width=8)
        memory_map.add_resource(self, name=("list",), size=16)
        self.registers.memory_map = memory_map

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, registers = self.bus, self.registers
        state = Signal(_State)
        kept = self._address_bits - 2
        # Word addresses: the low bits, and bit 31 above them.
        pointer = Signal(kept + 1)  # of the list
        source = Signal(kept + 1, reset_less=True)
        destination = Signal(kept + 1, reset_less=True)
        place, following = Signal(kept + 1), Signal(kept + 1)

        def taken(word):
            return Cat(word[2 : 2 + kept], word[31])

        size = Signal(16, reset_less=True)  # bytes of a run,
        left = Signal(16, reset_less=True)  # those that are still to be moved,
        more = Signal(16, reset_less=True)  # and runs after this one
        step = Signal(15, reset_less=True)  # words to the next run
        gathers = Signal(reset_less=True)  # the source is strided, not the destination
        word = Signal(32, reset_less=True)
        waits, moves, inline = Signal(), Signal(), Signal()  # of the command
        starts, ends, strided = Signal(), Signal(), Signal()
        runs = Signal(16)
        ended, failed, wrong, stopped = Signal(), Signal(), Signal(), Signal()
        asked, stopping = Signal(), Signal()  # the host asks for an interrupt; for a stop

        begin, busy = Signal(), state != _State.IDLE
        self._registers(
            m,
            begin=begin,
            stopping=stopping,
            status=Cat(busy, ended, failed, wrong, stopped),
            runs=runs,
            position=Cat(Const(0, 2), pointer[:kept], Const(0, 29 - kept), pointer[kept]),
        )
        m.d.comb += self.interrupt.eq(ended & asked)

        # Bus
        rest = Signal()  # between two bus cycles
        answered = Signal()
        last = Signal()  # word of a run
        jumps = Signal()  # the next word is that of the next run
        m.d.comb += [
            answered.eq(bus.ack | bus.err),
            jumps.eq(last & strided & Mux(gathers, state == _State.READ, state == _State.WRITE)),
            following.eq(Cat((place[:kept] + Mux(jumps, step, 1))[:kept], place[kept])),
            bus.cyc.eq(busy & (state != _State.WAIT) & ~rest),
            bus.stb.eq(bus.cyc),
            bus.we.eq((state == _State.WRITE) | (state == _State.START)),
            bus.sel.eq(0b1111),
            bus.dat_w.eq(Mux(state == _State.START, 1, word)),
            place.eq(pointer),
            bus.adr.eq(Cat(place[:kept], Const(0, 29 - kept), place[kept])),
        ]
        m.d.sync += rest.eq(answered)
        part = left[2:] == 0  # the last word, of less than four bytes
        m.d.comb += last.eq(part | ((left[3:] == 0) & (left[:2] == 0)))
        with m.Switch(state):
            with m.Case(_State.READ):
                with m.If(~inline):
                    m.d.comb += place.eq(source)
            with m.Case(_State.WRITE):
                m.d.comb += place.eq(destination)
                with m.If(part):
                    m.d.comb += bus.sel.eq(Cat(1, left[1], left[:2].all(), 0))
            with m.Case(_State.START):
                m.d.comb += place.eq(taken(Const(self._control, 32)))

        after = Signal()  # all of the command is done but start and end
        finish = Signal()
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(begin):
                    m.d.sync += [
                        pointer.eq(taken(registers.dat_w)),
                        asked.eq(registers.dat_w[0]),
                        runs.eq(0),
                        Cat(ended, failed, wrong, stopped, stopping).eq(0),
                        state.eq(_State.COMMAND),
                    ]
            with m.Case(_State.COMMAND):
                m.d.sync += [
                    Cat(waits, moves, inline, starts, ends, strided).eq(bus.dat_r),
                    size.eq(bus.dat_r[8:]),
                    more.eq(0),
                ]
                with m.If(bus.ack):
                    m.d.sync += [
                        pointer.eq(following),
                        state.eq(Mux(bus.dat_r[1], _State.DESTINATION, _State.WAIT)),
                    ]
                    with m.If((bus.dat_r[6:8] != MARK) | (bus.dat_r[24:] != 0)):
                        m.d.sync += wrong.eq(1)
                        m.d.comb += finish.eq(1)
            with m.Case(_State.DESTINATION):
                m.d.sync += destination.eq(taken(bus.dat_r))
                with m.If(bus.ack):
                    m.d.sync += [
                        pointer.eq(following),
                        state.eq(Mux(inline, _State.WAIT, _State.SOURCE)),
                    ]
            with m.Case(_State.SOURCE):
                m.d.sync += source.eq(taken(bus.dat_r))
                with m.If(bus.ack):
                    m.d.sync += [
                        pointer.eq(following),
                        state.eq(Mux(strided, _State.STRIDE, _State.WAIT)),
                    ]
            with m.Case(_State.STRIDE):
                m.d.sync += Cat(more, step, gathers).eq(bus.dat_r)
                with m.If(bus.ack):
                    m.d.sync += [pointer.eq(following), state.eq(_State.WAIT)]
            with m.Case(_State.WAIT):
                m.d.sync += left.eq(size)
                with m.If(stopping):
                    m.d.comb += finish.eq(1)
                with m.Elif(~waits | ~self.core_busy):
                    with m.If(waits & ~self.core_ok):
                        m.d.sync += failed.eq(1)
                        m.d.comb += finish.eq(1)
                    with m.Elif(moves & (size != 0)):
                        m.d.sync += state.eq(_State.READ)
                    with m.Else():
                        m.d.comb += after.eq(1)
            with m.Case(_State.READ):
                m.d.sync += word.eq(bus.dat_r)
                with m.If(bus.ack):
                    m.d.sync += state.eq(_State.WRITE)
                    with m.If(inline):
                        m.d.sync += pointer.eq(following)
                    with m.Else():
                        m.d.sync += source.eq(following)
            with m.Case(_State.WRITE):
                with m.If(bus.ack):
                    m.d.sync += [
                        destination.eq(following),
                        left[2:].eq(left[2:] - 1),
                        state.eq(_State.READ),
                    ]
                    with m.If(last):
                        m.d.sync += [left.eq(size), more.eq(more - 1)]
                        with m.If(more == 0):
                            m.d.comb += after.eq(1)
            with m.Case(_State.START):
                with m.If(bus.ack):
                    m.d.sync += [runs.eq(runs + 1), starts.eq(0)]
                    m.d.comb += after.eq(1)
        with m.If(after):
            m.d.sync += state.eq(_State.COMMAND)
            with m.If(starts & (state != _State.START)):
                m.d.sync += state.eq(_State.START)
            with m.Elif(ends):
                m.d.comb += finish.eq(1)
        with m.If(bus.err):
            m.d.sync += wrong.eq(1)
        with m.If(finish | bus.err | (bus.ack & stopping)):
            m.d.sync += [state.eq(_State.IDLE), ended.eq(1), stopped.eq(stopping)]
        return m

    def _registers(self, m, *, begin, stopping, status, runs, position):
        """Control registers of the walker. ``begin`` is high in the cycle in which a list begins.
        Writing the status sets ``stopping``; its bit 0 is high while a list is executed."""
        registers, busy, write = self.registers, status[0], Signal()
        m.d.sync += registers.ack.eq(registers.cyc & registers.stb & ~registers.ack)
        m.d.comb += write.eq(
            registers.cyc & registers.stb & registers.we & registers.sel.all() & ~registers.ack
        )
        with m.Switch(registers.adr):
            with m.Case(_WORD["list_start"]):
                m.d.comb += begin.eq(write & ~busy)
            with m.Case(_WORD["list_status"]):
                m.d.comb += registers.dat_r.eq(status)
                with m.If(write & busy):
                    m.d.sync += stopping.eq(1)
            with m.Case(_WORD["list_runs"]):
                m.d.comb += registers.dat_r.eq(runs)
            with m.Case(_WORD["list_position"]):
                m.d.comb += registers.dat_r.eq(position)
