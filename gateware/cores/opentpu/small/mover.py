# SPDX-License-Identifier: BSD-2-Clause
"""Memory port of the small OpenTPU engine: fetches the next word, and executes the transfers of
RHM, WHM and RW burst by burst."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ....memory.port import MemoryPort

__all__ = ["Mover", "RowPort", "WordLayout"]

_BURST_BITS = 6  # bursts of 64 vectors
_WORD_BEATS = 4  # the beats in which a 14-byte word lies
_RUN_BEATS = 14, 28  # four words, eight words that begin with a beat
_RUN_BITS = 3  # of the number of words that a run may skip


class WordLayout(data.StructLayout):
    """Flags of a word, besides the registers of its fields; ``length``, ``high``, ``low`` (halves
    of addr), ``ub``: whether these fields are nonzero."""

    def __init__(self) -> None:
        super().__init__({"opcode": 8, "flags": 8, "length": 1, "high": 1, "low": 1, "ub": 1})


class RowPort(wiring.Signature):
    """Row port between memory and the unified buffer or the weights, seen from the mover.

    Members
    -------
    row : Out, of the unified buffer; store : Out, ``stored`` : In: ``data`` goes there;
        load : Out: read it, ``loaded`` has it a cycle later
    push : Out: ``data`` is a row of a tile
    """

    def __init__(self, row_bits: int) -> None:
        super().__init__(
            {
                "row": Out(row_bits),
                "store": Out(1),
                "stored": In(1),
                "data": Out(32),
                "load": Out(1),
                "loaded": In(32),
                "push": Out(1),
            }
        )


class Mover(wiring.Component):
    """Row mover: handles one word and one burst of a transfer at a time, and requests the second
    while the first is answered; a requested word has priority over the next burst.

    Vectors are beats of four bytes; addresses are kept in beats. Twelve cycles go by from a word
    wanted to a word there; that the requests overlap leaves memory time for a transfer beside them.

    Behind two NOPs, while no transfer is under way, four words are requested at once (a run), and
    behind such a run of NOPs eight. NOPs among them are counted and need no place; the first other
    word is the next one, and what comes behind it is dropped: answers never wait for an instruction
    to begin, which might wait for an answer behind them. Where the memory fails in a run, the word
    is requested by itself.

    Parameters
    ----------
    row_bits : int, of rows of the unified buffer

    Members
    -------
    fetch : In, one cycle: begin the program at beat ``value``; ``next`` : In:
        the word is taken, want the one after it; while ``skip``: a NOP is taken, that lies before
        the word
    skip : Out, a NOP was counted and not yet taken
    word : Out, the word is complete; parsed : Out, :class:`WordLayout`; ``error``:
        the memory failed in its request; ``odd``: the word begins in the middle of a beat
    field, field_address, field_data : Out, field_ready : In:
        fields of the word for the register file (number less one, -, low half of addr, ub)
    move : In, one cycle, not while ``active``:
        transfer ``number`` + 1 vectors at beat ``value``; ``write``, ``tile``: WHM, RW, else RHM;
        set_row : In: ``value`` is the first row
    active : Out; writing, tiling : Out: kind of the transfer; trouble : Out:
        the transfer failed in the request at ``address``, until ``clear``
    rows : Out, :class:`RowPort`; sent : Out: a row was written; done : Out:
        the transfer is over without error
    idle : Out: no request, none wanted
    """

    def __init__(self, *, row_bits: int) -> None:
        super().__init__(
            {
                "fetch": In(1),
                "next": In(1),
                "value": In(32),
                "skip": Out(1),
                "word": Out(1),
                "parsed": Out(WordLayout()),
                "error": Out(1),
                "odd": Out(1),
                "field": Out(1),
                "field_address": Out(3),
                "field_data": Out(32),
                "field_ready": In(1),
                "slot": In(1),
                "move": In(1),
                "number": In(8),
                "write": In(1),
                "tile": In(1),
                "set_row": In(1),
                "active": Out(1),
                "writing": Out(1),
                "tiling": Out(1),
                "trouble": Out(1),
                "address": Out(30),
                "clear": In(1),
                "rows": Out(RowPort(row_bits)),
                "done": Out(1),
                "sent": Out(1),
                "idle": Out(1),
                "memory": Out(MemoryPort(4)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.memory
        ask, ask_word = Signal(), Signal()  # current request
        wanted = Signal()
        # Requests under way; the word's answers come after those of the burst.
        word_out, burst_out, word_behind = Signal(), Signal(), Signal()
        rest = Signal()  # last field of a word that began in the middle of a beat
        position = Signal(31, reset_less=True)  # of the word, in half words
        left = Signal(8)  # vectors less one
        writes, tile = self.writing, self.tiling
        bad = Signal()  # an answer of this burst had an error
        beat = Signal(_BURST_BITS)
        final = left[_BURST_BITS:] == 0
        size = Mux(final, left[:_BURST_BITS], (1 << _BURST_BITS) - 1)
        asked = Signal(30, reset_less=True)  # address
        ended, failed = Signal(), Signal()
        take = Signal()  # the word goes
        run, long, drop = (
            Signal(),
            Signal(),
            Signal(),
        )  # the words requested are a run, of eight; its answers are dropped
        lost = Signal()  # an answer of a run failed
        m.d.comb += take.eq(self.next & ~self.skip)
        m.d.comb += [
            port.req.valid.eq(ask),
            port.req.payload.address.eq(Cat(Const(0, 2), asked)),
            self.rows.data.eq(port.r.payload.data),
            self.odd.eq(position[0]),
            self.idle.eq(~(ask | wanted | word_out | burst_out | rest)),
        ]

        # Requests
        rows_over, due = Signal(), Signal()
        # Answers that come while the word is there, or wanted, are what is left of a run.
        m.d.comb += [due.eq(wanted & ~word_out), drop.eq(self.word | wanted)]
        with m.If(self.fetch | take | lost):
            m.d.sync += wanted.eq(1)
        with m.If(ask):
            with m.If(port.req.ready):
                m.d.sync += ask.eq(0)
                with m.If(ask_word):
                    m.d.sync += [word_out.eq(1), word_behind.eq(burst_out & ~ended)]
                with m.Else():
                    m.d.sync += burst_out.eq(1)
        with m.Elif(due):
            m.d.sync += [ask.eq(1), ask_word.eq(1), wanted.eq(0)]
        with m.Elif(self.active & ~burst_out):
            m.d.sync += [ask.eq(1), ask_word.eq(0), bad.eq(0), rows_over.eq(0), beat.eq(size)]
        with m.If(~ask):
            # Fields of the request that begins now, if one does.
            m.d.sync += [
                asked.eq(Mux(due, position[1:], self.address)),
                port.req.payload.write.eq(~due & writes),
                port.req.payload.beats.eq(
                    Mux(
                        due,
                        Mux(run, Mux(long, _RUN_BEATS[1] - 1, _RUN_BEATS[0] - 1), _WORD_BEATS - 1),
                        size,
                    )
                ),
            ]

        # Answers Whose answers come next: the burst's where no word is requested, or after a burst
        # that reads. A flip-flop, since it steers `ready`, which goes through guard, arbiter and
        # memory.
        mine, taken, last = Signal(init=1), Signal(), Signal()
        with m.If(ended):
            m.d.sync += mine.eq(~word_out)
        with m.If(last & ~mine):
            m.d.sync += mine.eq(1)
        with m.If(ask & ask_word & port.req.ready):
            m.d.sync += mine.eq(burst_out & ~ended & ~writes)
        m.d.comb += [
            last.eq(taken & port.r.payload.last),
            self.rows.store.eq(mine & port.r.valid & ~tile & ~rest),
            self.rows.push.eq(mine & taken & tile),
            port.r.ready.eq(~rest & Mux(mine, tile | self.rows.stored, self.field_ready | drop)),
            taken.eq(port.r.valid & port.r.ready),
            port.ack.ready.eq(1),
            ended.eq(last & mine | port.ack.valid),
            failed.eq(bad | Mux(writes, port.ack.payload.error, port.r.payload.error)),
        ]
        with m.If(taken & mine):
            m.d.sync += bad.eq(bad | port.r.payload.error)
        with m.If(ended):
            m.d.sync += [burst_out.eq(0), word_behind.eq(0)]
        with m.If(last & ~mine):
            m.d.sync += word_out.eq(0)
        with m.If(rest & self.field_ready):
            m.d.sync += rest.eq(0)

        self._send(m, burst_out, beat, rows_over)
        self._advance(m, left, final, ended, failed)
        comes = taken & ~mine & ~drop
        m.d.comb += lost.eq(comes & run & port.r.payload.error)
        with m.If(lost):
            m.d.sync += run.eq(0)
        self._words(m, position, comes & ~lost, rest, take, run, long, word_out, lost)
        return m

    def _send(self, m, burst_out, beat, rows_over):
        """Writes rows: each is read from the buffer, held and sent, at best in two cycles. It is
        read before the previous one has been accepted, and read again if that was too early."""
        port, writes = self.memory, self.writing
        held, held_data, coming, kept = Signal(), Signal(32, reset_less=True), Signal(), Signal()
        m.d.comb += [
            self.rows.load.eq(burst_out & writes & ~coming & ~rows_over),
            port.w.valid.eq(held),
            kept.eq(coming & ~held),
            port.w.payload.data.eq(held_data),
            port.w.payload.mask.eq(0xF),
            self.sent.eq(held & port.w.ready),
        ]
        m.d.sync += coming.eq(self.rows.load)
        with m.If(kept):
            m.d.sync += [
                held.eq(1),
                held_data.eq(self.rows.loaded),
                beat.eq(beat - 1),
                rows_over.eq(beat == 0),
            ]
        with m.Elif(self.sent):
            m.d.sync += held.eq(0)
        with m.If(kept | self.rows.store & self.rows.stored):
            m.d.sync += self.rows.row.eq(self.rows.row + 1)

    def _advance(self, m, left, final, ended, failed):
        """Executes the bursts of a transfer in order, up to its end or an error."""
        writes, tile = self.writing, self.tiling
        m.d.comb += self.done.eq(ended & ~failed & final)
        with m.If(ended):
            with m.If(failed):
                m.d.sync += [self.trouble.eq(1), self.active.eq(0)]
            with m.Elif(final):
                m.d.sync += self.active.eq(0)
            with m.Else():
                m.d.sync += [
                    left[_BURST_BITS:].eq(left[_BURST_BITS:] - 1),
                    self.address[_BURST_BITS:].eq(self.address[_BURST_BITS:] + 1),
                ]
        with m.If(self.move):
            m.d.sync += [
                self.active.eq(1),
                self.address.eq(self.value),
                left.eq(Mux(self.tile, 3, self.number)),
                writes.eq(self.write),
                tile.eq(self.tile),
            ]
        with m.If(self.clear):
            m.d.sync += self.trouble.eq(0)
        with m.If(self.set_row):
            m.d.sync += self.rows.row.eq(self.value)

    def _words(self, m, position, taken, rest, take, run, long, word_out, lost):
        """Extracts the fields of a word from its four beats: opcode, flags, length | addr (two) |
        ub, most significant byte first. In a run, an odd word begins in the last beat of the even
        one."""
        port = self.memory
        begun = Signal()
        number = Signal(2)  # of the field
        first = self.odd & ~begun  # half a beat before the word
        step = Signal()
        m.d.comb += step.eq(taken | rest & self.field_ready)
        whole, blank = Signal(), Signal()  # the word is complete; all its bits are zero
        passed = Signal()
        m.d.comb += passed.eq(whole & blank & run & word_out)
        with m.If(step):
            m.d.sync += [begun.eq(1), number.eq(Mux(first, 0, number + 1))]
        with m.If(taken & self.odd & begun & (number == 2)):
            m.d.sync += rest.eq(1)
        with m.If(self.fetch):
            m.d.sync += position.eq(self.value << 1)
        with m.Elif(take | passed):
            m.d.sync += position.eq(position + 7)
        with m.If(self.fetch | take):
            m.d.sync += self.word.eq(0)
        with m.If(self.fetch | take | lost):
            m.d.sync += [begun.eq(0), number.eq(0)]
        old = Signal(24, reset_less=True)  # the last three bytes of the beat before
        with m.If(step):
            m.d.sync += old.eq(port.r.payload.data[8:])
        new = [port.r.payload.data.word_select(k, 8) for k in range(4)]
        last = [None, *(old.word_select(k, 8) for k in range(3))]
        is_ub = number == 3
        even = Mux(
            is_ub, Cat(new[1], new[0], last[3], Const(0, 8)), Cat(new[2], new[1], new[0], last[3])
        )
        odd = Mux(
            is_ub,
            Cat(last[3], last[2], last[1], Const(0, 8)),
            Cat(new[0], last[3], last[2], last[1]),
        )
        value = Signal(32)
        m.d.comb += value.eq(Mux(self.odd, odd, even))
        filled = Signal()
        m.d.comb += [
            filled.eq(step & ~first),
            self.field.eq(filled),
            self.field_address.eq(Cat(number, ~self.slot)),
            self.field_data.eq(Mux(number == 0, (value[:8] - 1)[:8], value)),
        ]
        some, marked = Signal(), Signal()  # (marked: a field of the word is not zero)
        before = Signal()  # the word at work is blank
        short = value[:24].any()
        m.d.comb += [
            some.eq(short | value[24:].any()),
            blank.eq(~marked & ~short),
            whole.eq(filled & is_ub),
        ]
        with m.If(filled):
            m.d.sync += marked.eq(Mux(number == 0, short, marked | some))
        with m.If(filled):
            with m.Switch(number):
                with m.Case(0):
                    m.d.sync += [
                        self.parsed.flags.eq(value[8:16]),
                        self.parsed.opcode.eq(value[16:24]),
                        self.parsed.length.eq(value[:8].any()),
                    ]
                with m.Case(1):
                    m.d.sync += self.parsed.high.eq(some)
                with m.Case(2):
                    m.d.sync += self.parsed.low.eq(some)
                with m.Case(3):
                    m.d.sync += [self.parsed.ub.eq(some), self.word.eq(~passed)]
        # A run begins where a word does.
        with m.If(self.fetch):
            m.d.sync += [run.eq(0), before.eq(0)]
        with m.Elif(take):
            m.d.sync += [
                run.eq(~marked & before & ~self.active & self.odd),
                long.eq(run),
                before.eq(~marked),
            ]
        skipped = Signal(_RUN_BITS)
        m.d.comb += self.skip.eq(skipped.any())
        with m.If(self.fetch):
            m.d.sync += skipped.eq(0)
        with m.Elif(passed ^ (self.next & self.skip)):
            # One more or one less, without a carry chain.
            second = ~(skipped[0] ^ passed)
            m.d.sync += skipped.eq(
                skipped ^ Cat(Const(1, 1), second, second & ~(skipped[1] ^ passed))
            )
        with m.If(self.fetch | take):
            m.d.sync += self.error.eq(0)
        with m.Elif(taken & port.r.payload.error):
            m.d.sync += self.error.eq(1)
