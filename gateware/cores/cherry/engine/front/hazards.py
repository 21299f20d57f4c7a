# SPDX-License-Identifier: BSD-2-Clause
"""Scoreboard of the units: progress counters, the interlock of contexts, and operations in
flight."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..ops import POSITION, ProgressLayout, Unit, Waits, unhurried

__all__ = ["DEPTH", "EntryLayout", "InFlight", "Progress", "ContextGate", "depth"]

#: Operations of a unit that are under way at most, in any build.
DEPTH = 4


def depth(params: Params) -> int:
    """Greatest number of operations in flight in a unit: two if each takes long, else
    :data:`DEPTH`."""
    return 2 if unhurried(params) else DEPTH


class Progress(wiring.Component):
    """Progress counters of the units: numbers of slots fetched and finished.

    Members
    -------
    fetched, finished : In, a bit for each :class:`~..ops.Unit`: one more slot
    clear : In, a program starts or ends: all counts are 0 from the next cycle on
    progress : Out, :class:`~..ops.ProgressLayout`, registers: a pulse shows in the next cycle
    """

    def __init__(self) -> None:
        super().__init__(
            {"fetched": In(4), "finished": In(4), "clear": In(1), "progress": Out(ProgressLayout())}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for unit in range(4):
            counts = self.progress[unit]
            m.d.sync += [
                counts.fetched.eq(counts.fetched + self.fetched[unit]),
                counts.finished.eq(counts.finished + self.finished[unit]),
            ]
        with m.If(self.clear):
            m.d.sync += self.progress.eq(0)
        return m


class ContextGate(wiring.Component):
    """Interlock of contexts: decides which slots of an operation may start, since all their wait
    conditions are met. Combinational, from registers; the outputs should feed a register.

    Parameters
    ----------
    own : :class:`~..ops.Unit` or None
        The unit whose slots these are: its operands are fetched in order, so there is nothing to
        wait for.

    Members
    -------
    waits : In, :class:`~..ops.Waits` of the operation at work; slot : In, 6 bits,
        its slot in question
    first_waits : In, those of the operation that comes next
    progress : In, :class:`~..ops.ProgressLayout`
    now, after : Out, ``slot`` may go, and the one after it; first : Out,
        slot 0 of the operation that comes next may. What may go once may go for ever.
    """

    def __init__(self, *, own: Unit | None = None) -> None:
        self._own = own
        super().__init__(
            {
                "waits": In(Waits()),
                "slot": In(6),
                "first_waits": In(Waits()),
                "progress": In(ProgressLayout()),
                "now": Out(1),
                "after": Out(1),
                "first": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now, after, first = [], [], []
        for unit in Unit:
            for kind in ("fetched", "finished"):
                if kind == "fetched" and unit is self._own:
                    continue
                count, name = self.progress[unit.value][kind], f"{unit.name.lower()}_{kind}"
                wait, done, past = self._done(m, count, self.waits, unit, kind, f"done_{name}")
                # Past the end of what is waited for all slots may go.
                past = past & (done[6:-1].any() | (done[:6] >= wait.size))
                now.append(~wait.valid | past | (~done[-1] & (done[:-1] > self.slot)))
                after.append(~wait.valid | past | (~done[-1] & (done[:-1] > self.slot + 1)))
                wait, done, past = self._done(
                    m, count, self.first_waits, unit, kind, f"first_{name}"
                )
                first.append(~wait.valid | (past & (done[:-1].any() | (wait.size == 0))))
        m.d.comb += [
            self.now.eq(Cat(now).all()),
            self.after.eq(Cat(after).all()),
            self.first.eq(Cat(first).all()),
        ]
        return m

    @staticmethod
    def _done(m, count, waits, unit, kind, name):
        """Progress of a wait condition: the number of slots that are done, and whether it is not
        negative, in other words the awaited operation has begun."""
        wait, done = waits[unit.value][kind], Signal(POSITION, name=name)
        m.d.comb += done.eq(count - wait.base)
        return wait, done, ~done[-1]


class EntryLayout(data.StructLayout):
    """Operation in flight: masks of the tiles that it reads and writes (bit 3r: private tiles of
    register r, 3r + 1 and 3r + 2: its uniform ones), its first slot, number of slots and end slot,
    and the units whose positions passed a mark since it was issued."""

    def __init__(self) -> None:
        super().__init__(
            {"reads": 12, "writes": 12, "base": POSITION, "size": 6, "end": POSITION, "marks": 4}
        )


class InFlight(wiring.Component):
    """Operations in flight of one unit, youngest first, with the dependencies of a new operation on
    them.

    Parameters
    ----------
    depth : int, how many may be

    Members
    -------
    push : In; ``entry`` : In, :class:`EntryLayout`: another one is issued; not while ``full``
    mark : In, 4 bits: sets these marks of all that are under way (not of one pushed in this cycle)
    finished : In, slots that the unit has finished, as in :class:`Progress`
    hold : In, the oldest stays although it is finished
    clear : In, forget all
    reads, writes : In, 12 bits: masks of a new operation of any unit; ``all`` : In,
        it waits for all slots of another, not slot by slot
    waits : Out, structure of :class:`~..ops.Waits` for this unit:
        for ``finished`` of the youngest whose result the new one reads or overwrites, for
        ``fetched`` of the youngest whose operands it overwrites
    full, empty : Out; nearly : Out, there is space for one at most
    oldest : Out, the oldest entry
    retire : Out, it leaves in this cycle
    marks : Out, 4 bits: marks that any of them carries
    """

    def __init__(self, *, depth: int = DEPTH) -> None:
        self._depth = depth
        super().__init__(
            {
                "push": In(1),
                "entry": In(EntryLayout()),
                "mark": In(4),
                "finished": In(POSITION),
                "hold": In(1),
                "clear": In(1),
                "reads": In(12),
                "writes": In(12),
                "all": In(1),
                "waits": Out(Waits().elem_shape),
                "full": Out(1),
                "nearly": Out(1),
                "empty": Out(1),
                "oldest": Out(EntryLayout()),
                "retire": Out(1),
                "marks": Out(4),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entries = [Signal(EntryLayout(), name=f"entry_{k}") for k in range(self._depth)]
        valid = Signal(self._depth)  # ones from bit 0 on
        m.d.comb += [
            self.full.eq(valid[-1]),
            self.nearly.eq(valid[-2]),
            self.empty.eq(~valid[0]),
            self.marks.eq(
                Cat(
                    Cat(e.marks[k] & v for e, v in zip(entries, valid, strict=True)).any()
                    for k in range(4)
                )
            ),
        ]
        for k, entry in enumerate(entries):
            with m.If(valid[k]):
                m.d.comb += self.oldest.eq(entry)
        done = Signal(POSITION)
        m.d.comb += [
            done.eq(self.finished - self.oldest.end),
            self.retire.eq(valid[0] & ~self.hold & ~done[-1]),
        ]
        for kind, conflicts in (
            ("finished", [(e.writes & (self.reads | self.writes)).any() for e in entries]),
            ("fetched", [(e.reads & self.writes).any() for e in entries]),
        ):
            wait = self.waits[kind]
            m.d.comb += wait.valid.eq((Cat(conflicts) & valid).any())
            for entry, conflict, is_valid in reversed(
                list(zip(entries, conflicts, valid, strict=True))
            ):
                with m.If(conflict & is_valid):
                    m.d.comb += [
                        wait.base.eq(Mux(self.all, entry.end, entry.base)),
                        wait.size.eq(Mux(self.all, 0, entry.size)),
                    ]
        marked = [Signal(EntryLayout(), name=f"marked_{k}") for k in range(self._depth)]
        for old, new in zip(entries, marked, strict=True):
            m.d.comb += [new.eq(old), new.marks.eq(old.marks | self.mark)]
        # Valid bits: fewer by one of the old end, shifted by one with a push.
        kept = Mux(self.retire, valid >> 1, valid)
        with m.If(self.push):
            m.d.sync += [entries[0].eq(self.entry), valid.eq(kept << 1 | 1)]
            m.d.sync += [
                entry.eq(before) for entry, before in zip(entries[1:], marked[:-1], strict=True)
            ]
        with m.Else():
            m.d.sync += valid.eq(kept)
            m.d.sync += [entry.eq(new) for entry, new in zip(entries, marked, strict=True)]
        with m.If(self.clear):
            m.d.sync += valid.eq(0)
        return m
