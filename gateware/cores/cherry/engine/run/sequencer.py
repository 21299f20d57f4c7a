# SPDX-License-Identifier: BSD-2-Clause
"""Run sequencer: steps of a program list, their images and DMA lists, overlapped with programs where so marked (specification, sections 3.4, 6 and 7.3)."""
from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .....memory.port import ReadLayout, RequestLayout
from ...image import HEADER_WORDS, VERSION
from ...isa import ISA
from ..front.program_tables import ProgramLayout, TableWrite
from ..memory.mover_rows import DescriptorLayout
from .bytecount import ByteCount
from .entryreader import EntryReader
from .imagereader import ImageReader
from .listreader import ListReader
from .wordreader import Came, WordReader

__all__ = ["Phase", "Sequencer"]

_ABORTED = ISA.fault_codes["aborted"]
_HEADER_BYTES = 4 * HEADER_WORDS                    # of a list's header and of an entry


class Phase(enum.Enum, shape=3):
    """What the run waits for."""
    PROGRAM = 0
    FETCH = 1       # a list's header, an entry, an image
    IN = 2          # an in list
    OUT = 3         # an out list
    REST = 4


class Sequencer(wiring.Component):
    """Carries a run from start to end.

    One thread reads, moves and starts programs. While a program runs it goes on with the deferred out list of the step before, then with
    entry, image and in list of the next step where that is marked for it. What it meets ahead of its turn counts when the turn comes: a fault
    is kept until the program and its own out list are done, bytes are held back. (A fault of a deferred list comes before what its successor
    did meanwhile; that is not undone.)

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int

    Members
    -------
    start : In, one cycle; abort : In, level
    program_address, program_length, window_base, window_limit, dma_in_list, dma_out_list : In, 32 bits; sequential : In
    finish : Out, one cycle; with it and until the next start ``fault`` (code), ``pc``, ``detail``, ``step``, and ``in_program``: a program
        faulted or was stopped
    bytes_read, bytes_written : Out, increments
    phase : Out, :class:`Phase`
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout): of a memory port that is only read
    descriptor, mover_stop, mover_done, mover_error, mover_detail : as in :class:`~.listreader.ListReader`
    mover_read, mover_written : In, bytes that the mover counts
    table : Out(TableWrite), program : Out(ProgramLayout)
    prepared, next_slot : Out, the image of the next step lies there, while a program runs
    program_start : Out, one cycle; program_stop : Out, level
    program_finish : In, one cycle: the program is over; with it and until the next start ``program_fault`` (code; 8: stopped),
        ``program_index``, ``program_detail``
    """
    def __init__(self, *, params, beat_bytes):
        self.params, self.beat_bytes = params, beat_bytes
        self._reader = WordReader(beat_bytes=beat_bytes)
        words = ("program_address", "program_length", "window_base", "window_limit", "dma_in_list", "dma_out_list")
        super().__init__({
            "start": In(1), "abort": In(1), **{name: In(32) for name in words}, "sequential": In(1),
            "finish": Out(1), "fault": Out(8), "pc": Out(32), "detail": Out(32), "step": Out(16), "in_program": Out(1),
            "bytes_read": Out(8), "bytes_written": Out(8), "phase": Out(Phase),
            "request": Out(stream.Signature(RequestLayout())), "answer": In(stream.Signature(ReadLayout(beat_bytes))),
            "descriptor": Out(stream.Signature(DescriptorLayout())), "mover_stop": Out(1), "mover_done": In(1), "mover_error": In(8),
            "mover_detail": In(32), "mover_read": In(8), "mover_written": In(8),
            "table": Out(TableWrite()), "program": Out(ProgramLayout()), "prepared": Out(1), "next_slot": Out(1), "program_start": Out(1), "program_stop": Out(1),
            "program_finish": In(1), "program_fault": In(8), "program_index": In(16), "program_detail": In(32)})

    def elaborate(self, platform):
        m = Module()
        overlap = self.params["slots"] == 2
        quit_reading, cancel = Signal(), Signal()
        m.submodules.reader = reader = self._reader
        m.submodules.entry = entry = ResetInserter(quit_reading)(EntryReader())
        m.submodules.image = image = ResetInserter(quit_reading)(ImageReader(params=self.params))
        m.submodules.lists = lists = ListReader()
        m.submodules.read = read = ByteCount()
        m.submodules.written = written = ByteCount()
        connect(m, reader.request, flipped(self.request))
        connect(m, flipped(self.answer), reader.answer)
        connect(m, lists.descriptor, flipped(self.descriptor))
        connect(m, image.table, flipped(self.table))
        m.d.comb += [
            reader.window_base.eq(self.window_base), reader.window_limit.eq(self.window_limit), reader.cancel.eq(cancel),
            self.mover_stop.eq(lists.mover_stop), lists.mover_done.eq(self.mover_done), lists.mover_error.eq(self.mover_error),
            lists.mover_detail.eq(self.mover_detail), read.moved.eq(self.mover_read), written.moved.eq(self.mover_written),
            self.bytes_read.eq(read.count), self.bytes_written.eq(written.count)]

        base = Signal(30)                           # of the list or the only image, in words
        number = Signal(16)                         # step that is prepared
        slot = Signal()                             # of its image
        loaded, loaded_image = Signal(), Signal(32)  # the image that lies there, from the list's start
        running, failed = Signal(), Signal()        # a program runs; it ended with a fault
        ahead = Signal()                            # the thread is a step ahead of the program
        ready, late = Signal(), Signal()            # the next step is prepared; something is wrong with it
        held = Signal()                             # bytes of the next step are held back
        drop = Signal()
        out_list, defer = Signal(32), Signal()      # of the step that runs or ran
        pending, pending_list = Signal(), Signal(32)  # a deferred out list
        stopping = Signal()                         # the run ends beside a program
        kept = data.StructLayout({"code": 32, "instructions": 12, "loops": 8, "units": 32, "contexts": 8})
        residents = [Signal(kept, name=f"resident{k}") for k in range(1 + overlap)]
        resident = Signal(kept)                     # that runs
        m.d.comb += resident.eq(Mux(self.program.slot, residents[-1], residents[0]))
        m.d.comb += [getattr(self.program, name).eq(getattr(resident, name)) for name in ("instructions", "loops", "units", "contexts")]
        m.d.comb += [self.prepared.eq(ready), self.next_slot.eq(slot)]
        last, entry_address, address = Signal(), Signal(32), Signal(32)
        heading = Signal()                          # what kind of program it is is not known yet
        m.d.comb += [
            last.eq(~entry.listed | (self.step + 1 == entry.steps)),
            entry_address.eq((base + Mux(entry.listed & ~heading, HEADER_WORDS + (number << 3), 0)) << 2),
            read.hold.eq(held), written.hold.eq(held), read.aside.eq(ahead), written.aside.eq(ahead),
            read.drop.eq(drop), written.drop.eq(drop),
            self.program_stop.eq(self.abort | stopping)]
        with m.If(self.program_finish):
            m.d.sync += [running.eq(0), failed.eq(self.program_fault != 0)]
        m.d.sync += self.program_start.eq(0)

        # Who reads words: known a cycle late, which is when the first of them can be asked for.
        readers = entry, image, lists
        choice, chosen = Signal(2), Signal(2)
        m.d.sync += chosen.eq(choice)
        with m.Switch(chosen):
            for k, user in enumerate(readers):
                with m.Case(k):
                    m.d.comb += [reader.command.payload.eq(user.command.payload), reader.command.valid.eq(user.command.valid),
                                 user.command.ready.eq(reader.command.ready), user.words.valid.eq(reader.words.valid),
                                 reader.words.ready.eq(user.words.ready)]
        m.d.comb += [user.words.payload.eq(reader.words.payload) for user in readers]
        m.d.comb += read.more.eq(Mux(lists.counted, _HEADER_BYTES, 0))

        # A task begins when what was left of the words before it is gone.
        here = reader.words.payload.address
        begin, beginning, quits = Signal(), Signal(), Signal()
        m.d.comb += [beginning.eq(begin & reader.idle), quits.eq(self.abort | (ahead & failed))]
        with m.If(begin):
            m.d.comb += cancel.eq(1)
        with m.If(beginning):
            m.d.sync += begin.eq(0)

        def go(state):
            m.d.sync += begin.eq(1)
            m.next = state

        def hold(code, pc, detail):
            m.d.sync += [self.fault.eq(code), self.pc.eq(pc), self.detail.eq(detail)]

        def trouble(code, pc, detail):
            """A fault of the thread, which counts at its turn."""
            hold(code, pc, detail)
            with m.If(ahead):
                m.d.sync += [late.eq(1), ahead.eq(0)]
                m.next = "WAIT"
            with m.Else():
                m.next = "END"

        def leave(pc):
            """The thread gives up what it does, for an abort or since the program that it is ahead of came to an end."""
            with m.If(ahead):
                m.d.sync += ahead.eq(0)
                m.next = "WAIT"
            with m.Else():
                hold(_ABORTED, pc, 0)
                m.next = "END"

        def reading(user, k):
            """Words are read by ``user``: a condition in which they are, and well."""
            m.d.comb += [choice.eq(k), user.start.eq(beginning & ~quits)]
            with m.If(quits):
                m.d.comb += [quit_reading.eq(1), cancel.eq(1)]
                m.d.sync += begin.eq(0)
                leave(entry_address)
            with m.Elif(user.done & (user.fault != 0)):
                with m.If(image.misfit if user is image else 0):
                    trouble(user.fault, image.address + 4, Cat(Const(VERSION, 16), image.size))
                with m.Elif(reader.words.payload.came == Came.WELL):
                    trouble(user.fault, here, reader.words.payload.word)
                with m.Else():
                    trouble(user.fault, entry_address, here)
            return m.If(~quits & user.done & (user.fault == 0))

        def moving(where, stop):
            """The list at ``where`` is carried out: a condition in which it is, and well."""
            m.d.comb += [choice.eq(2), lists.start.eq(beginning), lists.address.eq(where), lists.stop.eq(stop), cancel.eq(begin | stop)]
            with m.If(lists.done & stop):
                leave(lists.pc)
            with m.Elif(lists.done & (lists.fault != 0)):
                trouble(lists.fault, lists.pc, lists.detail)
            return m.If(~stop & lists.done & (lists.fault == 0))

        phase = Signal(Phase, init=Phase.REST)
        m.d.comb += self.phase.eq(Mux(running, Phase.PROGRAM, phase))
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [signal.eq(0) for signal in (ahead, ready, late, held, failed, pending, stopping, loaded, slot, number)]
                with m.If(self.start):
                    m.d.sync += [self.fault.eq(0), self.detail.eq(0), self.in_program.eq(0), self.step.eq(0), base.eq(self.program_address[2:])]
                    with m.If(self.dma_in_list != 0):
                        go("FIRST")
                    with m.Else():
                        go("HEADER")
            with m.State("FIRST"):
                m.d.comb += phase.eq(Phase.IN)
                with moving(self.dma_in_list, self.abort):
                    go("HEADER")
            with m.State("HEADER"):
                m.d.comb += [phase.eq(Phase.FETCH), heading.eq(1), entry.header.eq(1), entry.address.eq(base << 2), entry.limit.eq(self.program_length)]
                with reading(entry, 0):
                    with m.If(entry.listed):
                        m.d.comb += read.more.eq(_HEADER_BYTES)
                        go("ENTRY")
                    with m.Else():
                        go("IMAGE")
            with m.State("ENTRY"):
                m.d.comb += [phase.eq(Phase.FETCH), entry.address.eq(entry_address)]
                with m.If(ahead & entry.done & ((entry.fault != 0) | ~entry.prefetch)):
                    # Not to be prepared ahead of its turn, when it will be read again.
                    m.d.comb += drop.eq(1)
                    m.d.sync += [ahead.eq(0), held.eq(0)]
                    m.next = "WAIT"
                with m.Else():
                    with reading(entry, 0):
                        m.d.comb += read.more.eq(_HEADER_BYTES)
                        with m.If(loaded & (entry.image == loaded_image)):
                            go("IN")
                        with m.Else():
                            go("IMAGE")
            with m.State("IMAGE"):
                m.d.comb += [phase.eq(Phase.FETCH), image.address.eq((base << 2) + Mux(entry.listed, entry.image, 0)),
                             image.slot.eq(~slot if overlap else 0),
                             image.limit.eq(Mux(entry.listed, entry.size - entry.image, self.program_length))]
                with reading(image, 1):
                    m.d.comb += read.more.eq(image.size << 2)
                    m.d.sync += [loaded.eq(1), loaded_image.eq(entry.image)]
                    if overlap:
                        m.d.sync += slot.eq(~slot)
                    for k, place in enumerate(residents):
                        with m.If(image.slot == k):
                            m.d.sync += [getattr(place, name).eq(getattr(image, name)) for name in kept.members]
                    go("IN")
            with m.State("IN"):
                m.d.comb += [phase.eq(Phase.IN), address.eq((base << 2) + entry.in_list)]
                with m.If(~entry.listed | (entry.in_list == 0)):
                    m.d.sync += begin.eq(0)
                    m.next = "PREPARED"
                with m.Else():
                    with moving(address, quits):
                        m.next = "PREPARED"
            with m.State("PREPARED"):
                m.d.sync += ahead.eq(0)
                with m.If(ahead):
                    m.d.sync += ready.eq(1)
                    m.next = "WAIT"
                with m.Elif(self.abort):
                    leave(entry_address)
                with m.Else():
                    m.next = "LAUNCH"
            with m.State("LAUNCH"):
                m.d.sync += [
                    self.program_start.eq(1), running.eq(1), failed.eq(0), ready.eq(0), self.step.eq(number), self.program.slot.eq(slot),
                    self.program.rebase.eq(entry.rebase), self.program.rebase_mask.eq(Mux(entry.listed, entry.mask, 0)),
                    out_list.eq(Mux(entry.listed, entry.out_list, 0)), defer.eq(entry.defer & overlap)]
                with m.If(pending):
                    go("DEFERRED")
                with m.Else():
                    m.next = "BESIDE"
            with m.State("DEFERRED"):
                # It goes on though the program beside it fails: it comes before it.
                m.d.comb += [phase.eq(Phase.OUT), address.eq(pending_list)]
                with m.If(lists.done & (lists.fault != 0) & ~self.abort):
                    m.d.sync += [stopping.eq(1), self.step.eq(self.step - 1)]
                with moving(address, self.abort):
                    m.d.sync += pending.eq(0)
                    m.next = "BESIDE"
            with m.State("BESIDE"):
                with m.If(~running | last | self.sequential | (not overlap)):
                    m.next = "WAIT"
                with m.Elif(read.empty & written.empty):
                    m.d.sync += [held.eq(1), ahead.eq(1), number.eq(self.step + 1)]
                    go("ENTRY")
            with m.State("WAIT"):
                over = Signal()         # what follows a program that ended well does not wait for another cycle
                m.d.comb += address.eq((base << 2) + out_list)
                m.d.comb += over.eq(~running | (self.program_finish & (self.program_fault == 0)))
                with m.If(over):
                    with m.If(failed):
                        hold(self.program_fault, resident.code + (self.program_index << 2), self.program_detail)
                        m.d.sync += self.in_program.eq(1)
                        m.next = "END"
                    with m.Elif(self.abort):
                        leave(entry_address)
                    with m.Elif((out_list == 0) & ~ready):
                        m.next = "NEXT"
                    with m.Elif((out_list == 0) | (defer & ready & ~self.sequential)):
                        # What is ready is not behind the last step.
                        m.d.sync += [held.eq(0), number.eq(self.step + 1), pending.eq(out_list != 0), pending_list.eq(address)]
                        m.next = "LAUNCH"
                    with m.Else():
                        go("OUT")
            with m.State("OUT"):
                m.d.comb += [phase.eq(Phase.OUT), address.eq((base << 2) + out_list)]
                with moving(address, self.abort):
                    m.next = "NEXT"
            with m.State("NEXT"):
                m.d.sync += [held.eq(0), number.eq(self.step + 1)]
                with m.If(last):
                    with m.If(self.dma_out_list != 0):
                        go("LAST")
                    with m.Else():
                        m.next = "END"
                with m.Elif(late):
                    m.d.sync += self.step.eq(self.step + 1)
                    m.next = "END"
                with m.Elif(ready):
                    m.next = "LAUNCH"
                with m.Else():
                    m.d.sync += self.step.eq(self.step + 1)
                    go("ENTRY")
            with m.State("LAST"):
                m.d.comb += phase.eq(Phase.OUT)
                with moving(self.dma_out_list, self.abort):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += [cancel.eq(1), quit_reading.eq(1), drop.eq(held)]
                m.d.sync += [held.eq(0), begin.eq(0)]
                with m.If(~held & ~running & read.empty & written.empty & reader.idle):
                    m.d.comb += self.finish.eq(1)
                    m.next = "IDLE"
        return m
