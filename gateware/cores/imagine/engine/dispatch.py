# SPDX-License-Identifier: BSD-2-Clause
"""Dispatch: executes a run on the array, from input FIFO to output FIFO (specification, sections 4
and 6).

Everything here is in one clock domain, the array's. A run comes as a level, its words as a stream
that ends with a mark; what leaves are the words of the shift-outs, each shift-out followed by the
place of its ``vv_parallelEn`` in the program, and at the end a mark.
"""

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ....parts.delays import DelayLine
from ..isa import ISA
from .array import Array
from .controller import Controller
from .decode import Decoder, WordLayout
from .issue import Issue
from .mapping import Mapping
from .ops import fault_code

__all__ = ["EVENTS", "Dispatch", "ItemLayout", "Kind", "NEEDED_SPACE", "place_parts"]

#: Events that are counted, one bit each: the classes of a cycle, words retired, rounds of
#: multiplications.
EVENTS = ("work", "write", "other", "fetch", "retired", "products")
#: Space in FIFO-out without which nothing is shifted: more than is on its way.
NEEDED_SPACE = 16
_CODE = ISA.fault_codes
#: Bits of the lower part of the count of words.
_LOW = 8


class Kind(enum.Enum, shape=unsigned(2)):
    """Kinds of output FIFO entries: a word, the last word of a vector, half an address, the end of
    the run."""

    WORD = 0
    LAST = 1
    PLACE = 2
    END = 3


class ItemLayout(data.StructLayout):
    """Entry of the output FIFO: ``value`` holds the N bits of a row or, for an address, 16 bits of
    a word's number, low half first."""

    def __init__(self) -> None:
        super().__init__({"value": 16, "kind": Kind})


def place_parts(address_bits: int) -> int:
    """Number of output FIFO entries for a word number, given the width of addresses."""
    return -(-(address_bits - 2) // 16)


#: States of a run, one flip-flop each.
_STATES = (
    "reset",  # the array clears itself
    "idle",
    "runs",
    "settle",  # an abort: what runs ends, what was shifted out arrives
    "clear",  # the column registers are cleared
    "discard",  # words that came too late
    "mark",
    "wait",
)


class Dispatch(wiring.Component):
    """Dispatch: decoder, issue stage, controller and array, with the control of a run.

    Parameters
    ----------
    mapping : Mapping
    family : ``"ecp5"``, ``"ice40"`` or ``None``
    address_bits : int
        Width of main memory's addresses: no program and no results are longer.
    parts : int
        Entries of FIFO-out that the number of a word takes; else as many as ``address_bits`` need.

    Members
    -------
    words : In(stream of WordLayout), items : Out(stream of ItemLayout); space : In(1),
        there is space for ``NEEDED_SPACE`` items
    run : In(1), level: a run; low again after the mark of the end was seen; stop : In(1),
        level: end it now
    allowance : In(address_bits - 2), words of results that may be written;
        holds still from before ``run`` on
    code : Out(5), count : Out(address_bits - 2), detail : Out(32) :
        how the run ended (``output_full``: that a shift-out had no space), words dispatched, the
        word that faulted; hold still from the mark on
    active : Out(1), a run is under way; event : Out, the events of this cycle
    swept : Out(1), the sweep after a reset is over
    """

    def __init__(
        self,
        *,
        mapping: Mapping,
        family: str | None = None,
        address_bits: int = 32,
        parts: int | None = None,
    ) -> None:
        self.mapping = mapping
        self._parts = parts or place_parts(address_bits)
        self.decoder, self.issue = Decoder(mapping=mapping), Issue(mapping=mapping, family=family)
        self.controller, self.array = (
            Controller(mapping=mapping),
            Array(mapping=mapping, family=family),
        )
        super().__init__(
            {
                "words": In(stream.Signature(WordLayout())),
                "items": Out(stream.Signature(ItemLayout())),
                "space": In(1),
                "run": In(1),
                "stop": In(1),
                "allowance": In(address_bits - 2),
                "code": Out(5),
                "count": Out(address_bits - 2),
                "detail": Out(32),
                "active": Out(1),
                "event": Out(len(EVENTS)),
                "swept": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder, m.submodules.issue = decoder, issue = self.decoder, self.issue
        m.submodules.controller, m.submodules.array = controller, array = (
            self.controller,
            self.array,
        )
        wiring.connect(m, wiring.flipped(self.words), decoder.words)
        wiring.connect(m, decoder.ops, issue.ops)
        op, go = issue.op, issue.go
        at = {name: Signal(init=name == "reset", name=f"at_{name}") for name in _STATES}
        serial, fresh = (
            Signal(),
            Signal(init=1),
        )  # of a run after a reset: the column registers are not cleared yet
        m.d.comb += [
            controller.op.eq(op),
            controller.go.eq(issue.array),
            controller.capture.eq(serial),
            issue.capture.eq(serial),
            array.root.eq(controller.root),
            self.swept.eq(~at["reset"] & ~fresh),
        ]
        with m.If(issue.modes):
            m.d.sync += serial.eq(op.serial)
        cut, clear = Signal(), Signal()
        shifting, emitting = self._columns(m, cut, clear)
        checked, bad = self._fits(m, at["idle"])
        m.d.comb += [issue.emit.eq(checked & ~bad), issue.emitting.eq(emitting)]

        # A run
        wait, over = (
            Signal(range(max(64, self.mapping.rows + 1)), reset_less=True),
            Signal(reset_less=True),
        )
        stopped, stop = Signal(), Signal()
        m.d.sync += [
            wait.eq(wait - 1),
            over.eq(over | (wait == 1)),
            stop.eq(self.stop),
            issue.enable.eq(at["runs"] & ~stop & ~stopped),
        ]

        def pause(cycles):
            return [wait.eq(cycles), over.eq(cycles == 0)]

        # In two parts, so that no chain is long: the upper one follows a cycle later, and so does
        # whoever copies it.
        low, high, wraps = Signal(_LOW), Signal(len(self.count) - _LOW), Signal()
        m.d.comb += self.count.eq(Cat(low, high))
        #: Words dispatched before this cycle. Exported for tracing.
        self.dispatched = self.count + (wraps << _LOW)
        m.d.sync += [low.eq(low + go), high.eq(high + wraps), wraps.eq(go & low.all())]
        m.d.comb += [cut.eq(at["settle"]), clear.eq(at["clear"]), issue.discard.eq(at["discard"])]
        m.d.sync += issue.release.eq(at["wait"] & ~self.run)
        settled, fault = Signal(), Signal(5, reset_less=True)
        m.d.sync += [
            fault.eq(fault_code(op.fault)),  # long there when it is looked at
            settled.eq(issue.quiet & ~emitting & ~go),
        ]
        moves = {
            ("reset", "clear"): controller.swept,
            ("idle", "runs"): self.run,
            ("runs", "settle"): stop & ~stopped,
            ("runs", "mark"): stopped & issue.ended,
            ("runs", "discard"): stopped & ~issue.ended,
            # The last operation may have started in the cycle before.
            ("settle", "clear"): over & settled,
            ("clear", "idle"): over & fresh,
            ("clear", "discard"): over & ~fresh,
            ("discard", "mark"): issue.ended & issue.stopped,
            ("mark", "wait"): self.items.ready & ~emitting,
            ("wait", "idle"): ~self.run,
        }
        for name, here in at.items():
            enters = Cat(at[a] & when for (a, b), when in moves.items() if b == name).any()
            leaves = Cat(when for (a, _), when in moves.items() if a == name).any()
            m.d.sync += here.eq(enters | here & ~leaves)
        with m.If(at["reset"] | at["settle"] & over & settled):
            m.d.sync += pause(self.mapping.rows - 1)
        with m.If(at["idle"] & self.run):
            # Not before: the count stands until it was read.
            m.d.sync += [low.eq(0), high.eq(0), stopped.eq(0)]
        code, detail = Signal(5, reset_less=True), Signal(32, reset_less=True)
        m.d.comb += [self.code.eq(code), self.detail.eq(detail)]
        with m.If(at["runs"]):
            # The state at the end of the run is kept.
            m.d.sync += [
                detail.eq(op.word),
                code.eq(
                    Mux(
                        stop & ~stopped,
                        _CODE["aborted"],
                        Mux(issue.ended, 0, Mux(issue.blocked, _CODE["output_full"], fault)),
                    )
                ),
            ]
            with m.If(stop):
                m.d.sync += pause(32)
            with m.Elif(settled & ~go & (issue.stopped | issue.blocked & checked & bad)):
                m.d.sync += stopped.eq(1)
        with m.If(at["settle"]):
            m.d.sync += serial.eq(0)
        with m.If(at["clear"] & over):
            m.d.sync += fresh.eq(0)
        self._leave(m, at["mark"])

        # The class of the cycle: the first that applies An operation that starts right after
        # another leaves no gap: its initial values come a cycle after its slot. All of it a cycle
        # later, out of flip-flops, where the clock is high.
        running = Signal()
        m.d.sync += running.eq(issue.running)
        event = Signal(len(EVENTS))
        then = {
            name: Signal(name=f"then_{name}")
            for name in ("work", "held", "ending", "other", "go", "products", "active")
        }
        m.d["comb" if self.mapping.small else "sync"] += [
            then[name].eq(value)
            for name, value in {
                "work": issue.array[0] | running,
                "held": emitting & ~shifting,
                "ending": ~at["runs"],
                "other": emitting | go,
                "go": go,
                "products": go & op.step & op.final,
                "active": ~at["idle"] & ~fresh,
            }.items()
        ]
        work, held, ending = then["work"], then["held"], then["ending"]
        m.d.comb += [
            self.active.eq(then["active"]),
            event.eq(
                Cat(
                    work,
                    ~work & (ending | held),
                    ~work & ~ending & ~held & then["other"],
                    ~work & ~ending & ~held & ~then["other"],
                    then["go"],
                    then["products"],
                )
            ),
        ]
        m.d.sync += self.event.eq(event & self.active.replicate(len(EVENTS)))
        return m

    def _columns(self, m, cut, clear):
        """State of the shift-out: (a row moves or need not wait, a shift-out is in progress)."""
        rows, controller, array, issue = self.mapping.rows, self.controller, self.array, self.issue
        emitting, moving, allowed = Signal(), Signal(), Signal()
        left = Signal(range(rows + 1), reset_less=True)
        self._latency = controller.latency_out + array.latency
        rest = Signal(range(self._latency + 3), reset_less=True)
        last = Signal()
        shift = Signal()
        m.d.sync += [allowed.eq(self.space), rest.eq(rest - 1)]
        m.d.comb += [
            shift.eq(moving & allowed & ~cut),
            last.eq(left == 1),
            controller.out.eq(shift | clear),
        ]
        self._place, self._tail = Signal(16 * self._parts, reset_less=True), Signal(self._parts)
        begun = Signal()
        m.d.sync += begun.eq(issue.emits)
        with m.If(issue.emits):
            m.d.sync += [
                emitting.eq(1),
                moving.eq(1),
                left.eq(rows),
                self._place[:_LOW].eq(self.count[:_LOW]),
            ]
        with m.If(begun):
            m.d.sync += self._place[_LOW:].eq(self.count[_LOW:])
        with m.If(moving):
            m.d.sync += rest.eq(self._latency + 2)
            with m.If(shift):
                m.d.sync += left.eq(left - 1)
            with m.If(shift & last | cut):
                m.d.sync += moving.eq(0)
        # When its last word has left, its place follows.
        waits = Signal()
        m.d.sync += waits.eq(emitting & moving | waits & (rest != 0))
        with m.If(waits & ~moving & (rest == 1)):
            m.d.sync += self._tail.eq(1)
        with m.If((self._tail != 0) & self.items.ready):
            m.d.sync += self._tail.eq(self._tail << 1)
            with m.If(self._tail[-1]):
                m.d.sync += [self._tail.eq(0), emitting.eq(0)]
        told = DelayLine(m, Cat(shift, last), "told")
        self._told = told[self._latency]
        # Counted as held only while rows are left that do not move.
        return shift | ~moving, emitting

    def _leave(self, m, ends):
        """Writes to the output FIFO: result words, for which space was reserved, and ends."""
        items = self.items
        word = Signal(ItemLayout(), reset_less=True)
        there = Signal()
        m.d.sync += [
            there.eq(self._told[0]),
            word.value.eq(self.array.word),
            word.kind.eq(Mux(self._told[1], Kind.LAST, Kind.WORD)),
        ]
        m.d.comb += [items.valid.eq(there | (self._tail != 0) | ends), items.payload.eq(word)]
        with m.If(~there):
            m.d.comb += [
                items.payload.kind.eq(Mux(self._tail != 0, Kind.PLACE, Kind.END)),
                items.payload.value.eq(Mux(self._tail[0], self._place[:16], self._place[-16:])),
            ]

    def _fits(self, m, idle):
        """Whether the words of the next shift-out may be written; computed in three cycles after
        the start of the previous one."""
        left = Signal.like(self.allowance, reset_less=True)
        less = Signal(len(left) + 1, reset_less=True)
        known, anew, clear = Signal(2, reset_less=True), Signal(), Signal()
        # A cycle later: nobody asks while a shift-out begins. Not cleared by a reset's wire, which
        # is long.
        m.d.comb += clear.eq(idle | anew)
        m.d.sync += [
            less.eq(left - self.mapping.rows),
            anew.eq(self.issue.emits),
            known.eq(Cat(~clear, known[0] & ~clear)),
        ]
        with m.If(idle):
            m.d.sync += left.eq(self.allowance)
        with m.If(self.issue.emits):
            m.d.sync += left.eq(less[:-1])
        return known[1], less[-1]
