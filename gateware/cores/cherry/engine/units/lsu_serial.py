# SPDX-License-Identifier: BSD-2-Clause
"""The load/store unit for one bank: an element a cycle (specification, section 4.5)."""
from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring

from .....parts.stages import Stages
from ..front.hazards import SlotGate
from ..memory.scratchpad import READ_LATENCY
from ..ops import Unit, element_bits, tile_elements
from .accumulator import narrowed, widened
from .lsu import LoadStore, lsu_members

__all__ = ["SerialLoadStore", "load_store_unit"]

_ACC = 3


def load_store_unit(*, params):
    """The load/store unit of a build: :class:`SerialLoadStore` for one bank, else :class:`~.lsu.LoadStore`."""
    return (SerialLoadStore if params["banks"] == 1 else LoadStore)(params=params)


class _State(enum.Enum, shape=3):
    IDLE = 0
    GATE = 1        # a slot waits for what it needs
    CHECK = 2       # a store's addresses, an element a cycle: nothing is written before all are known to be good
    FETCH = 3       # a word of the old tile is asked for
    WAIT = 4        # and comes
    MOVE = 5        # the elements of a word, one a cycle
    DEAD = 6        # a fault


class SerialLoadStore(wiring.Component):
    """Loads and stores with one bank, slot after slot.

    A load takes 16 cycles and 6 more, a store 16 to look at its addresses and 28 to write; each word of a tile whose old elements are kept
    takes 3 more. With no other traffic in the tile file.

    Parameters
    ----------
    params : dict
        ``banks`` 1.

    Members
    -------
    Those of :class:`~.lsu.LoadStore`; ``others`` and ``refused`` are not used. Of a load that faults, words of its tile before the fault may have been written.

    Raises
    ------
    ValueError
        ``banks`` is not 1.
    """
    def __init__(self, *, params):
        if params["banks"] != 1:
            raise ValueError(f"Parameter banks must be 1 for the serial load/store unit, not {params['banks']}")
        self._params = params
        super().__init__(lsu_members(params))

    def elaborate(self, platform):
        m = Module()
        params = self._params
        contexts, frac, width, size = params["contexts"], params["acc_frac"], element_bits(params), tile_elements(params)
        words = 16 // size
        bank, s = self.banks[0], Stages(m)

        op = Signal.like(self.op.payload, name="at_hand", reset_less=True)
        gate = m.submodules.gate = SlotGate(own=Unit.LSU)
        state, slot, element = Signal(_State), Signal(6), Signal(4)
        base, row, at = (Signal(18, name=name, reset_less=True) for name in ("base", "row", "at"))
        go = Signal()           # of the slot at the gate, from its second cycle there on
        m.d.comb += [self.op.ready.eq(state == _State.IDLE), gate.slot.eq(slot), gate.progress.eq(self.progress), gate.waits.eq(op.waits)]
        m.d.sync += go.eq((state == _State.GATE) & gate.now)

        # Which of the tile's elements the access has. A load walks the tile's rows, of which the first is not from MEM if it skips.
        y, x, skip = element[2:], element[:2], op.skip & ~op.store
        active, outside, reads = Signal(), Signal(), Signal()
        context = Mux(op.uniform, 0, slot)
        view = op.view[op.reg]
        m.d.comb += [
            active.eq((y >= skip) & (y < op.len_y + skip) & (x < op.len_x)), outside.eq(active & at[params["log_mem"]:].any()),
            reads.eq(op.store | ~(op.zero | ((op.len_y == 4) & (op.len_x == 4))))]
        step_on = Signal()
        with m.If(step_on):
            m.d.sync += element.eq(element + 1)
            with m.If(x != 3):
                m.d.sync += at.eq(at + op.stride_x)
            with m.Elif((y == 0) & skip):
                m.d.sync += at.eq(row)
            with m.Else():
                m.d.sync += [row.eq(row + op.stride_y), at.eq(row + op.stride_y)]

        # Tiles: a word turns once past the elements that are read or written.
        ask, put = self.tiles_read.request, self.tiles_write.request
        word_number = element[(size - 1).bit_length():] if words > 1 else 0
        in_word_last = element[:(size - 1).bit_length()] == size - 1
        m.d.comb += [
            ask.payload.mask.eq(1 << op.reg), ask.payload.word.eq(word_number), ask.valid.eq(state == _State.FETCH),
            *(e.eq(Mux(context < view.copies, context, contexts + view.phys)) for e in ask.payload.entry)]
        word, out = Signal(width * size, reset_less=True), Signal(width * size, reset_less=True)
        there, unsent = Signal(), Signal()
        accepted, free = Signal(), Signal()
        m.d.comb += [accepted.eq(there & put.ready), put.valid.eq(there), free.eq(~unsent | accepted)]
        moving, moves = state == _State.MOVE, Signal()
        loads = moving & ~op.store
        # The last element of a word waits until the one before is written.
        m.d.comb += moves.eq(moving & (op.store | ~in_word_last | free) & ~(loads & outside))

        arrives, arrives_last = Signal(READ_LATENCY), Signal(READ_LATENCY + 1)
        m.d.sync += [arrives.eq(Cat(moves & ~op.store, arrives)), arrives_last.eq(Cat(moves & ~op.store & in_word_last, arrives_last))]
        fresh, keeps, wide = (s.delay(v, READ_LATENCY) for v in (active, reads, op.reg == _ACC))
        oldest = word[:width]
        read = Mux(wide, widened(bank.read_data, frac), bank.read_data) if width > 18 else bank.read_data
        turned = Signal(width)
        m.d.comb += turned.eq(Mux(arrives[-1], Mux(fresh, read, Mux(keeps, oldest, 0)), oldest))
        with m.If(arrives[-1] | (moves & op.store)):
            m.d.sync += word.eq(Cat(word[width:], turned))
        with m.If(arrives_last[-1]):
            m.d.sync += out.eq(word)
        number = s.delay(Cat(word_number) if words > 1 else Signal(1), READ_LATENCY + 1)
        with m.If(arrives_last[-1]):
            m.d.sync += put.payload.word.eq(number if words > 1 else 0)
        entry = Mux(op.uniform, contexts + op.phys, slot)
        m.d.comb += [put.payload.data.eq(out), put.payload.reg.eq(op.reg), put.payload.entry.eq(entry)]
        with m.If(moves & ~op.store & in_word_last):
            m.d.sync += unsent.eq(1)
        with m.Elif(accepted):
            m.d.sync += unsent.eq(0)
        with m.If(arrives_last[-1]):
            m.d.sync += there.eq(1)
        with m.Elif(accepted):
            m.d.sync += there.eq(0)

        # A tile's word comes two cycles after its request.
        given = self.tiles_read.data[op.reg]
        narrow = Cat(Mux(op.store & (op.reg == _ACC), narrowed(given[k * width:(k + 1) * width], frac), given[k * width:(k + 1) * width])
                     for k in range(size)) if width > 18 else given
        waited = Signal()
        parts = [Signal(width, name=f"part_{k}") for k in range(size)]
        m.d.comb += [p.eq(narrow[k * width:(k + 1) * width]) for k, p in enumerate(parts)]

        m.d.comb += [bank.row.eq(at), bank.write.eq(moving & op.store & active), bank.write_data.eq(word[:18])]
        over, fetched, finished = Signal(), Signal(), Signal()
        last_slot = slot + 1 == op.size
        tail = Signal()             # the elements of a load are on their way
        m.d.comb += [self.fetched.eq(fetched), self.finished.eq(finished)]
        first_of_word = Mux(reads, _State.FETCH, _State.MOVE)

        with m.Switch(state):
            with m.Case(_State.IDLE):
                m.d.sync += [op.eq(self.op.payload), base.eq(self.op.payload.address), slot.eq(0), element.eq(0)]
                with m.If(self.op.valid):
                    m.d.sync += state.eq(_State.GATE)
            with m.Case(_State.GATE):
                m.d.sync += [row.eq(base), at.eq(base)]
                with m.If(go & ~tail):
                    m.d.sync += state.eq(Mux(op.store, _State.CHECK, first_of_word))
                    m.d.comb += fetched.eq(~reads)
            with m.Case(_State.CHECK):
                m.d.comb += step_on.eq(1)
                with m.If(element == 15):
                    m.d.sync += [row.eq(base), at.eq(base), state.eq(_State.FETCH)]
            with m.Case(_State.FETCH):
                with m.If(ask.ready):
                    m.d.sync += [state.eq(_State.WAIT), waited.eq(0)]
            with m.Case(_State.WAIT):
                m.d.sync += waited.eq(1)
                with m.If(waited):
                    m.d.sync += [word.eq(Cat(parts)), state.eq(_State.MOVE)]
                    m.d.comb += fetched.eq(word_number == words - 1)
            with m.Case(_State.MOVE):
                m.d.comb += step_on.eq(moves)
                with m.If(moves & in_word_last):
                    with m.If(element != 15):
                        m.d.sync += state.eq(first_of_word)
                    with m.Elif(op.store):
                        m.d.comb += [over.eq(1), finished.eq(1)]
                    with m.Else():
                        m.d.sync += [tail.eq(1), state.eq(_State.GATE)]
        with m.If(((state == _State.CHECK) | loads) & outside):
            m.d.sync += [state.eq(_State.DEAD), self.fault_address.eq(at), self.fault_slot.eq(slot)]
        with m.If(tail & accepted):
            m.d.sync += tail.eq(0)
            m.d.comb += [over.eq(1), finished.eq(1)]
        with m.If(over):
            m.d.sync += [slot.eq(slot + 1), base.eq(base + op.step), row.eq(base + op.step), at.eq(base + op.step),
                         state.eq(Mux(last_slot, _State.IDLE, _State.GATE))]
        m.d.sync += self.fault.eq((state == _State.DEAD) & ~unsent)
        m.d.comb += [self.storing.eq((state != _State.IDLE) & (state != _State.GATE) & op.store),
                     self.loading.eq(((state != _State.IDLE) & (state != _State.GATE) | tail) & ~op.store)]
        with m.If(self.clear):
            m.d.sync += [state.eq(_State.IDLE), arrives.eq(0), arrives_last.eq(0), there.eq(0), unsent.eq(0), tail.eq(0), self.fault.eq(0)]
        return m
