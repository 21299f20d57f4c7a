# SPDX-License-Identifier: BSD-2-Clause
"""Run sequencer: executes the steps of a program list with their images and DMA lists, overlapped
with programs where the list allows it (specification, sections 3.4, 6 and 7.3)."""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .....isa.parameters import Params
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
_HEADER_BYTES = 4 * HEADER_WORDS  # of a list's header and of an entry


class Phase(enum.Enum, shape=3):
    """Phases of a run: program, fetch of lists and images, in list, out list, and rest."""

    PROGRAM = 0
    FETCH = 1  # a list's header, an entry, an image
    IN = 2  # an in list
    OUT = 3  # an out list
    REST = 4


class _Thread:
    """Actions of the sequencer's prefetch thread: starts tasks, reads words, executes lists, and
    holds faults until they take effect."""

    def __init__(self, m, s, run):
        self._m, self._s, self._run = m, s, run

    def go(self, state):
        """Moves to the next state, whose task starts anew."""
        m, s = self._m, self._s
        m.d.sync += s.begin.eq(1)
        m.next = state

    def hold(self, code, pc, detail):
        """Stores a fault in the form in which the run reports it."""
        run = self._run
        self._m.d.sync += [run.fault.eq(code), run.pc.eq(pc), run.detail.eq(detail)]

    def trouble(self, code, pc, detail):
        """Stores a fault of the thread, which takes effect at its turn in program order."""
        m, s = self._m, self._s
        self.hold(code, pc, detail)
        with m.If(s.ahead):
            m.d.sync += [s.late.eq(1), s.ahead.eq(0)]
            m.next = "WAIT"
        with m.Else():
            m.next = "END"

    def leave(self, pc):
        """Abandons the thread's task, for an abort or because the program that it runs ahead of has
        ended."""
        m, s = self._m, self._s
        with m.If(s.ahead):
            m.d.sync += s.ahead.eq(0)
            m.next = "WAIT"
        with m.Else():
            self.hold(_ABORTED, pc, 0)
            m.next = "END"

    def reading(self, user, k):
        """Reads words for ``user``: returns the condition that they were read without error."""
        m, s = self._m, self._s
        words = s.reader.words.payload
        m.d.comb += [s.choice.eq(k), user.start.eq(s.beginning & ~s.quits)]
        with m.If(s.quits):
            m.d.comb += [s.quit_reading.eq(1), s.cancel.eq(1)]
            m.d.sync += s.begin.eq(0)
            self.leave(s.entry_address)
        with m.Elif(user.done & (user.fault != 0)):
            with m.If(s.image.misfit if user is s.image else 0):
                self.trouble(user.fault, s.image.address + 4, Cat(Const(VERSION, 16), s.image.size))
            with m.Elif(words.came == Came.WELL):
                self.trouble(user.fault, words.address, words.word)
            with m.Else():
                self.trouble(user.fault, s.entry_address, words.address)
        return m.If(~s.quits & user.done & (user.fault == 0))

    def moving(self, where, stop):
        """Executes the DMA list at ``where``: returns the condition that it ended without error."""
        m, s = self._m, self._s
        m.d.comb += [
            s.choice.eq(2),
            s.lists.start.eq(s.beginning),
            s.lists.address.eq(where),
            s.lists.stop.eq(stop),
            s.cancel.eq(s.begin | stop),
        ]
        with m.If(s.lists.done & stop):
            self.leave(s.lists.pc)
        with m.Elif(s.lists.done & (s.lists.fault != 0)):
            self.trouble(s.lists.fault, s.lists.pc, s.lists.detail)
        return m.If(~stop & s.lists.done & (s.lists.fault == 0))


class Sequencer(wiring.Component):
    """Run sequencer: controls a run from start to end.

    One thread reads, moves and starts programs. While a program runs it goes on with the deferred
    out list of the step before, then with entry, image and in list of the next step where that is
    marked for it. A fault that it meets ahead of its turn takes effect at its turn: a fault is kept
    until
    the program and its own out list are done, bytes are held back. (A fault of a deferred list
    comes before what its successor did meanwhile; that is not undone.)

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int

    Members
    -------
    start : In, one cycle; abort : In, level
    program_address, program_length, window_base, window_limit, dma_in_list, dma_out_list : In, 32
    bits; sequential : In
    finish : Out, one cycle; with it and until the next start ``fault`` (code), ``pc``,
        ``detail``, ``step``, and ``in_program``: a program faulted or was stopped
    bytes_read, bytes_written : Out, increments
    phase : Out, :class:`Phase`
    request : Out(stream of RequestLayout), answer : In(stream of ReadLayout):
        of a memory port that is only read
    descriptor, mover_stop, mover_done, mover_error, mover_detail : as in
    :class:`~.listreader.ListReader`
    mover_read, mover_written : In, bytes that the mover counts
    table : Out(TableWrite), program : Out(ProgramLayout)
    prepared, next_resident : Out, number of the next step's image, while a program runs
    program_start : Out, one cycle; program_stop : Out, level
    program_finish : In, one cycle: the program is over;
        with it and until the next start ``program_fault`` (code; 8: stopped), ``program_index``,
        ``program_detail``
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        self.params, self.beat_bytes = params, beat_bytes
        self._reader = WordReader(beat_bytes=beat_bytes)
        words = (
            "program_address",
            "program_length",
            "window_base",
            "window_limit",
            "dma_in_list",
            "dma_out_list",
        )
        super().__init__(
            {
                "start": In(1),
                "abort": In(1),
                **{name: In(32) for name in words},
                "sequential": In(1),
                "finish": Out(1),
                "fault": Out(8),
                "pc": Out(32),
                "detail": Out(32),
                "step": Out(16),
                "in_program": Out(1),
                "bytes_read": Out(8),
                "bytes_written": Out(8),
                "phase": Out(Phase),
                "request": Out(stream.Signature(RequestLayout())),
                "answer": In(stream.Signature(ReadLayout(beat_bytes))),
                "descriptor": Out(stream.Signature(DescriptorLayout())),
                "mover_stop": Out(1),
                "mover_done": In(1),
                "mover_error": In(8),
                "mover_detail": In(32),
                "mover_read": In(8),
                "mover_written": In(8),
                "table": Out(TableWrite()),
                "program": Out(ProgramLayout()),
                "prepared": Out(1),
                "next_resident": Out(1),
                "program_start": Out(1),
                "program_stop": Out(1),
                "program_finish": In(1),
                "program_fault": In(8),
                "program_index": In(16),
                "program_detail": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        overlap = self.params["slots"] == 2
        s.quit_reading, s.cancel = Signal(), Signal()
        m.submodules.reader = s.reader = self._reader
        m.submodules.entry = s.entry = ResetInserter(s.quit_reading)(EntryReader())
        m.submodules.image = s.image = ResetInserter(s.quit_reading)(
            ImageReader(params=self.params)
        )
        m.submodules.lists = s.lists = ListReader()
        m.submodules.read = s.read = ByteCount()
        m.submodules.written = s.written = ByteCount()
        connect(m, s.reader.request, flipped(self.request))
        connect(m, flipped(self.answer), s.reader.answer)
        connect(m, s.lists.descriptor, flipped(self.descriptor))
        connect(m, s.image.table, flipped(self.table))
        m.d.comb += [
            s.reader.window_base.eq(self.window_base),
            s.reader.window_limit.eq(self.window_limit),
            s.reader.cancel.eq(s.cancel),
            self.mover_stop.eq(s.lists.mover_stop),
            s.lists.mover_done.eq(self.mover_done),
            s.lists.mover_error.eq(self.mover_error),
            s.lists.mover_detail.eq(self.mover_detail),
            s.read.moved.eq(self.mover_read),
            s.written.moved.eq(self.mover_written),
            self.bytes_read.eq(s.read.count),
            self.bytes_written.eq(s.written.count),
        ]

        s.base = Signal(30)  # of the list or the only image, in words
        s.number = Signal(16)  # step that is prepared
        s.image_resident = Signal()  # number of its image
        s.loaded, s.loaded_image = (
            Signal(),
            Signal(32, name="loaded_image"),
        )  # the image that lies there, from the list's start
        s.running, s.failed = (
            Signal(),
            Signal(name="failed"),
        )  # a program runs; it ended with a fault
        s.ahead = Signal()  # the thread is a step ahead of the program
        s.ready, s.late = (
            Signal(),
            Signal(),
        )  # the next step is prepared; something is wrong with it
        s.held = Signal()  # bytes of the next step are held back
        s.drop = Signal()
        s.out_list, s.defer = Signal(32), Signal(name="defer")  # of the step that runs or ran
        s.pending, s.pending_list = Signal(), Signal(32, name="pending_list")  # a deferred out list
        s.stopping = Signal()  # the run ends beside a program
        s.kept = data.StructLayout(
            {"code": 32, "instructions": 12, "loops": 8, "units": 32, "contexts": 8}
        )
        s.residents = [Signal(s.kept, name=f"resident{k}") for k in range(1 + overlap)]
        s.resident = Signal(s.kept)  # that runs
        m.d.comb += s.resident.eq(Mux(self.program.resident, s.residents[-1], s.residents[0]))
        m.d.comb += [
            getattr(self.program, name).eq(getattr(s.resident, name))
            for name in ("instructions", "loops", "units", "contexts")
        ]
        m.d.comb += [self.prepared.eq(s.ready), self.next_resident.eq(s.image_resident)]
        s.last, s.entry_address, s.address = Signal(), Signal(32), Signal(32)
        s.heading = Signal()  # the kind of program is not known yet
        m.d.comb += [
            s.last.eq(~s.entry.listed | (self.step + 1 == s.entry.steps)),
            s.entry_address.eq(
                (s.base + Mux(s.entry.listed & ~s.heading, HEADER_WORDS + (s.number << 3), 0)) << 2
            ),
            s.read.hold.eq(s.held),
            s.written.hold.eq(s.held),
            s.read.aside.eq(s.ahead),
            s.written.aside.eq(s.ahead),
            s.read.drop.eq(s.drop),
            s.written.drop.eq(s.drop),
            self.program_stop.eq(self.abort | s.stopping),
        ]
        with m.If(self.program_finish):
            m.d.sync += [s.running.eq(0), s.failed.eq(self.program_fault != 0)]
        m.d.sync += self.program_start.eq(0)

        self._choose_reader(m, s)

        # A task begins when the remaining words of the task before it are gone.
        s.begin, s.beginning, s.quits = Signal(), Signal(), Signal()
        m.d.comb += [
            s.beginning.eq(s.begin & s.reader.idle),
            s.quits.eq(self.abort | (s.ahead & s.failed)),
        ]
        with m.If(s.begin):
            m.d.comb += s.cancel.eq(1)
        with m.If(s.beginning):
            m.d.sync += s.begin.eq(0)

        thread = _Thread(m, s, self)
        s.phase = Signal(Phase, init=Phase.REST)
        # Exported for tracing: what the thread does, beside a program too, for the step whose entry
        # lies at `entry`; where the code lies that runs.
        self.traced = SimpleNamespace(phase=s.phase, entry=s.entry_address, code=s.resident.code)
        m.d.comb += self.phase.eq(Mux(s.running, Phase.PROGRAM, s.phase))
        with m.FSM():
            self._begin(m, s, thread)
            self._prepare(m, s, thread)
            self._launch(m, s, thread)
            self._end(m, s, thread)
        return m

    @staticmethod
    def _choose_reader(m, s):
        """Multiplexer of the unit that reads words; registered, since the first word is requested a
        cycle later."""
        readers = s.entry, s.image, s.lists
        s.choice, chosen = Signal(2), Signal(2)
        m.d.sync += chosen.eq(s.choice)
        with m.Switch(chosen):
            for k, user in enumerate(readers):
                with m.Case(k):
                    m.d.comb += [
                        s.reader.command.payload.eq(user.command.payload),
                        s.reader.command.valid.eq(user.command.valid),
                        user.command.ready.eq(s.reader.command.ready),
                        user.words.valid.eq(s.reader.words.valid),
                        s.reader.words.ready.eq(user.words.ready),
                    ]
        m.d.comb += [user.words.payload.eq(s.reader.words.payload) for user in readers]
        m.d.comb += s.read.more.eq(Mux(s.lists.counted, _HEADER_BYTES, 0))

    def _begin(self, m, s, thread):
        """States before the first step: check whether it is a list or a program, and execute the
        run's own in list."""
        with m.State("IDLE"):
            m.d.sync += [
                signal.eq(0)
                for signal in (
                    s.ahead,
                    s.ready,
                    s.late,
                    s.held,
                    s.failed,
                    s.pending,
                    s.stopping,
                    s.loaded,
                    s.image_resident,
                    s.number,
                )
            ]
            with m.If(self.start):
                m.d.sync += [
                    self.fault.eq(0),
                    self.detail.eq(0),
                    self.in_program.eq(0),
                    self.step.eq(0),
                    s.base.eq(self.program_address[2:]),
                ]
                with m.If(self.dma_in_list != 0):
                    thread.go("FIRST")
                with m.Else():
                    thread.go("HEADER")
        with m.State("FIRST"):
            m.d.comb += s.phase.eq(Phase.IN)
            with thread.moving(self.dma_in_list, self.abort):
                thread.go("HEADER")
        with m.State("HEADER"):
            m.d.comb += [
                s.phase.eq(Phase.FETCH),
                s.heading.eq(1),
                s.entry.header.eq(1),
                s.entry.address.eq(s.base << 2),
                s.entry.limit.eq(self.program_length),
            ]
            with thread.reading(s.entry, 0):
                with m.If(s.entry.listed):
                    m.d.comb += s.read.more.eq(_HEADER_BYTES)
                    thread.go("ENTRY")
                with m.Else():
                    thread.go("IMAGE")

    def _prepare(self, m, s, thread):
        """States that prepare a step: read its entry, image and in list."""
        overlap = self.params["slots"] == 2
        with m.State("ENTRY"):
            m.d.comb += [s.phase.eq(Phase.FETCH), s.entry.address.eq(s.entry_address)]
            with m.If(s.ahead & s.entry.done & ((s.entry.fault != 0) | ~s.entry.prefetch)):
                # Not to be prepared ahead of its turn, when it will be read again.
                m.d.comb += s.drop.eq(1)
                m.d.sync += [s.ahead.eq(0), s.held.eq(0)]
                m.next = "WAIT"
            with m.Else():
                with thread.reading(s.entry, 0):
                    m.d.comb += s.read.more.eq(_HEADER_BYTES)
                    with m.If(s.loaded & (s.entry.image == s.loaded_image)):
                        thread.go("IN")
                    with m.Else():
                        thread.go("IMAGE")
        with m.State("IMAGE"):
            m.d.comb += [
                s.phase.eq(Phase.FETCH),
                s.image.address.eq((s.base << 2) + Mux(s.entry.listed, s.entry.image, 0)),
                s.image.resident.eq(~s.image_resident if overlap else 0),
                s.image.limit.eq(
                    Mux(s.entry.listed, s.entry.size - s.entry.image, self.program_length)
                ),
            ]
            with thread.reading(s.image, 1):
                m.d.comb += s.read.more.eq(s.image.size << 2)
                m.d.sync += [s.loaded.eq(1), s.loaded_image.eq(s.entry.image)]
                if overlap:
                    m.d.sync += s.image_resident.eq(~s.image_resident)
                for k, place in enumerate(s.residents):
                    with m.If(s.image.resident == k):
                        m.d.sync += [
                            getattr(place, name).eq(getattr(s.image, name))
                            for name in s.kept.members
                        ]
                thread.go("IN")
        with m.State("IN"):
            m.d.comb += [s.phase.eq(Phase.IN), s.address.eq((s.base << 2) + s.entry.in_list)]
            with m.If(~s.entry.listed | (s.entry.in_list == 0)):
                m.d.sync += s.begin.eq(0)
                m.next = "PREPARED"
            with m.Else():
                with thread.moving(s.address, s.quits):
                    m.next = "PREPARED"
        with m.State("PREPARED"):
            m.d.sync += s.ahead.eq(0)
            with m.If(s.ahead):
                m.d.sync += s.ready.eq(1)
                m.next = "WAIT"
            with m.Elif(self.abort):
                thread.leave(s.entry_address)
            with m.Else():
                m.next = "LAUNCH"

    def _launch(self, m, s, thread):
        """States from the start of a program to the end of the transfers that overlap it."""
        overlap = self.params["slots"] == 2
        with m.State("LAUNCH"):
            m.d.sync += [
                self.program_start.eq(1),
                s.running.eq(1),
                s.failed.eq(0),
                s.ready.eq(0),
                self.step.eq(s.number),
                self.program.resident.eq(s.image_resident),
                self.program.rebase.eq(s.entry.rebase),
                self.program.rebase_mask.eq(Mux(s.entry.listed, s.entry.mask, 0)),
                s.out_list.eq(Mux(s.entry.listed, s.entry.out_list, 0)),
                s.defer.eq(s.entry.defer & overlap),
            ]
            with m.If(s.pending):
                thread.go("DEFERRED")
            with m.Else():
                m.next = "BESIDE"
        with m.State("DEFERRED"):
            # It goes on though the program beside it fails: it comes before it.
            m.d.comb += [s.phase.eq(Phase.OUT), s.address.eq(s.pending_list)]
            with m.If(s.lists.done & (s.lists.fault != 0) & ~self.abort):
                m.d.sync += [s.stopping.eq(1), self.step.eq(self.step - 1)]
            with thread.moving(s.address, self.abort):
                m.d.sync += s.pending.eq(0)
                m.next = "BESIDE"
        with m.State("BESIDE"):
            with m.If(~s.running | s.last | self.sequential | (not overlap)):
                m.next = "WAIT"
            with m.Elif(s.read.empty & s.written.empty):
                m.d.sync += [s.held.eq(1), s.ahead.eq(1), s.number.eq(self.step + 1)]
                thread.go("ENTRY")

    def _end(self, m, s, thread):
        """States from the end of a program to the end of the run."""
        with m.State("WAIT"):
            over = (
                Signal()
            )  # what follows a program that ended well does not wait for another cycle
            m.d.comb += s.address.eq((s.base << 2) + s.out_list)
            m.d.comb += over.eq(~s.running | (self.program_finish & (self.program_fault == 0)))
            with m.If(over):
                with m.If(s.failed):
                    thread.hold(
                        self.program_fault,
                        s.resident.code + (self.program_index << 2),
                        self.program_detail,
                    )
                    m.d.sync += self.in_program.eq(1)
                    m.next = "END"
                with m.Elif(self.abort):
                    thread.leave(s.entry_address)
                with m.Elif((s.out_list == 0) & ~s.ready):
                    m.next = "NEXT"
                with m.Elif((s.out_list == 0) | (s.defer & s.ready & ~self.sequential)):
                    # The last step is not before the ready one.
                    m.d.sync += [
                        s.held.eq(0),
                        s.number.eq(self.step + 1),
                        s.pending.eq(s.out_list != 0),
                        s.pending_list.eq(s.address),
                    ]
                    m.next = "LAUNCH"
                with m.Else():
                    thread.go("OUT")
        with m.State("OUT"):
            m.d.comb += [s.phase.eq(Phase.OUT), s.address.eq((s.base << 2) + s.out_list)]
            with thread.moving(s.address, self.abort):
                m.next = "NEXT"
        with m.State("NEXT"):
            m.d.sync += [s.held.eq(0), s.number.eq(self.step + 1)]
            with m.If(s.last):
                with m.If(self.dma_out_list != 0):
                    thread.go("LAST")
                with m.Else():
                    m.next = "END"
            with m.Elif(s.late):
                m.d.sync += self.step.eq(self.step + 1)
                m.next = "END"
            with m.Elif(s.ready):
                m.next = "LAUNCH"
            with m.Else():
                m.d.sync += self.step.eq(self.step + 1)
                thread.go("ENTRY")
        with m.State("LAST"):
            m.d.comb += s.phase.eq(Phase.OUT)
            with thread.moving(self.dma_out_list, self.abort):
                m.next = "END"
        with m.State("END"):
            m.d.comb += [s.cancel.eq(1), s.quit_reading.eq(1), s.drop.eq(s.held)]
            m.d.sync += [s.held.eq(0), s.begin.eq(0)]
            with m.If(~s.held & ~s.running & s.read.empty & s.written.empty & s.reader.idle):
                m.d.comb += self.finish.eq(1)
                m.next = "IDLE"
