# SPDX-License-Identifier: BSD-2-Clause
"""Transfer unit of one processor: executes ld, st, lldi, lmv, send and recv (specification, section
4.4).

::

    command ---+--> Bursts --> memory.req          memory.ack --> Bursts --> done (st)
               +--> Loads  <-- memory.r, --> LMem writes                --> done (ld)
               +--> LMemReader <-- LMem reads
               +--> sink: words --> LMem writes (lmv, lldi, recv), memory.w (st),
                                    crossbar (send)                     --> done

LMem reads and writes words of any alignment, so bytes are shifted nowhere: a word goes to its place
as it is, a beat of memory too, with a mask for those bytes of the first and the last one that are
not meant. Copying goes upwards, a word is read before it is written, and the destination lies at or
below the source where they overlap: that is capture (section 4.4).

A command is taken when the parts that it needs can take it; what the sink has to do waits in one
more place behind it, so the next words are read while the last ones are written. Loads are answered
while others go on; done comes in any order.
"""

from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .....arguments import check_beat_bytes, check_family
from .....isa.parameters import Params
from .....memory.port import MemoryPort
from .....parts.queues import StreamBuffer
from .....primitives.multiplexer import selected
from ...isa import ISA
from ..commands import (
    TAG_BITS,
    LMemRead,
    LMemWrite,
    TransferOp,
    address_bits,
    lmem_word_bytes,
    transfer_layout,
)
from ..links import SIZE_BITS, CrossbarPort, core_bits
from .bursts import Bursts
from .lmem_reader import LMemReader
from .loads import Loads, piece_bytes

__all__ = ["TransferUnit", "transfer_progress_layout"]


def transfer_progress_layout() -> data.StructLayout:
    """Layout of a completion. ``done``, for one cycle: the command of ``tag`` is complete; with
    ``error`` it failed, and ``code`` and ``detail`` describe the fault."""
    return data.StructLayout({"done": 1, "tag": TAG_BITS, "error": 1, "code": 8, "detail": 32})


class TransferUnit(wiring.Component):
    """Transfer unit, at most one command per cycle. Cycles from acceptance to ``done`` of an
    unhindered command: ``words`` + 6 for lmv, ``words`` + 1 for lldi; two lmv follow each other at
    the larger of ``words`` + 1 and 2 cycles.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int, 1, 2, 4 or 8
    memory_size : int, bytes of main memory
    family : as the primitives'

    Members
    -------
    command : In(stream of ``transfer_layout``)
    progress : Out, :func:`transfer_progress_layout`
    stop : In, level: ld and st go on to their end, send and recv are given up (they report done)
    waiting : Out, level: a send or recv waits for its peer; waiting_read : it is a recv
    quiet : Out, nothing is outstanding on the memory port
    read : Out(LMemRead), write : Out(LMemWrite)
    memory : Out(MemoryPort), crossbar : Out(CrossbarPort)
    bytes_read, bytes_written, comm_bytes : Out, 4 bits: bytes of ld,
        st and send that pass in this cycle
    """

    def __init__(
        self, *, params: Params, beat_bytes: int, memory_size: int, family: str | None = None
    ) -> None:
        check_beat_bytes(beat_bytes)
        check_family(family)
        self.params, self.beat_bytes, self.memory_size = params, beat_bytes, memory_size
        self.family = family
        super().__init__(
            {
                "command": In(stream.Signature(transfer_layout(params))),
                "progress": Out(transfer_progress_layout()),
                "stop": In(1),
                "waiting": Out(1),
                "waiting_read": Out(1),
                "quiet": Out(1),
                "read": Out(LMemRead(params)),
                "write": Out(LMemWrite(params)),
                "memory": Out(MemoryPort(beat_bytes)),
                "crossbar": Out(CrossbarPort(params)),
                "bytes_read": Out(4),
                "bytes_written": Out(4),
                "comm_bytes": Out(4),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, size = self.params, self.beat_bytes
        word = lmem_word_bytes(self.params)
        port, bar, command = self.memory, self.crossbar, self.command.payload
        m.submodules.bursts = bursts = Bursts(beat_bytes=size, memory_size=self.memory_size)
        m.submodules.loads = loads = Loads(params=p, beat_bytes=size, memory_size=self.memory_size)
        m.submodules.words = words = LMemReader(params=p)
        connect(m, bursts.request, flipped(port.req))
        m.d.comb += [
            bursts.ack.payload.eq(port.ack.payload),
            bursts.ack.valid.eq(port.ack.valid),
            port.ack.ready.eq(bursts.ack.ready),
            loads.r.payload.eq(port.r.payload),
            loads.r.valid.eq(port.r.valid),
            port.r.ready.eq(loads.r.ready),
        ]
        connect(m, words.read, flipped(self.read))

        sinks, taken, waits = self._take(m, bursts, loads, words)

        # The sink
        op, part = command.op, exact_log2(size)
        layout = data.StructLayout(
            {
                **dict.fromkeys(("send", "recv", "store", "move", "fill", "short"), 1),
                "place": address_bits(p),
                "left": SIZE_BITS,
                "size": SIZE_BITS,
                "tag": TAG_BITS,
                "imm": 8,
                "peer": core_bits(p),
                "at": max(1, part),
            }
        )
        now, after, given = Signal(layout), Signal(layout), Signal(layout)
        # For send and recv: the peer is there; every word has gone; the receiver has them all.
        active, met, sent, confirmed = Signal(), Signal(), Signal(), Signal()
        broken = Signal()  # the sizes of send and recv differ
        peer_size = Signal(SIZE_BITS)
        m.d.comb += [
            given.send.eq(op == TransferOp.SEND),
            given.recv.eq(op == TransferOp.RECV),
            given.store.eq(op == TransferOp.ST),
            given.move.eq(op == TransferOp.LMV),
            given.fill.eq(op == TransferOp.LLDI),
            given.short.eq(command.size <= word),
            given.place.eq(command.dst),
            given.left.eq(command.size),
            given.size.eq(command.size),
            given.tag.eq(command.tag),
            given.imm.eq(command.imm),
            given.peer.eq(command.core),
            given.at.eq(command.gmem[:part] if part else 0),
        ]
        is_send, is_recv, is_store = now.send, now.recv, now.store
        ends, over = Signal(), Signal()  # the last word goes; the command leaves the sink

        # Rendezvous
        away = self.stop | broken  # of a send: words go nowhere
        m.submodules.arrived = arrived = ResetInserter(self.stop)(StreamBuffer(shape=8 * word))
        m.d.comb += [
            bar.meet.eq(active & (is_send | is_recv) & ~met & ~self.stop),
            bar.sends.eq(is_send),
            bar.peer.eq(now.peer),
            bar.size.eq(now.size),
            self.waiting.eq(bar.meet),
            self.waiting_read.eq(is_recv),
        ]
        with m.If(bar.meet & bar.go):
            m.d.sync += [met.eq(1), broken.eq(bar.differs), peer_size.eq(bar.peer_size)]

        # Words: where from, where to
        last_word, valid = Signal(), Signal()
        m.d.comb += [last_word.eq(now.short), valid.eq(active & words.valid)]
        with m.If(now.fill):
            m.d.comb += valid.eq(active)
        with m.If(is_recv):
            m.d.comb += valid.eq(active & arrived.o.valid & ~self.stop)
        progress_free, load_free = Signal(), Signal()  # the sink may report, a load may
        go = Signal()
        request = self.write.request
        into = Signal.like(request.payload)
        m.d.comb += [
            into.address.eq(now.place),
            into.mask.eq(Cat((now.left > k) | ~last_word for k in range(word))),
        ]
        writes = Signal()  # the sink wants to write
        loaded = loads.write.request.payload.data
        data_in = selected(
            m,
            "data_in",
            [words.word, now.imm.replicate(word), arrived.o.payload, loaded],
            Cat(now.fill, is_recv) | loads.write.request.valid.replicate(2),
            self.family,
        )
        may_write, written = self._leave(m, loads, ends, load_free, into, data_in, writes)
        m.d.comb += [
            bar.word_out.eq(words.word),
            bar.out_valid.eq(active & is_send & met & ~sent & words.valid & ~away),
            arrived.i.payload.eq(bar.word_in),
            arrived.i.valid.eq(bar.in_valid),
            bar.in_ready.eq(arrived.i.ready),
            arrived.o.ready.eq(go & is_recv),
        ]
        store_go, store_ends = self._store(m, words, active & is_store, now, port)
        with m.If(is_send):
            m.d.comb += [
                go.eq(valid & ~sent & (met & bar.out_ready | away)),
                ends.eq(go & last_word),
                over.eq(active & progress_free & (confirmed | away & sent)),
            ]
        with m.Elif(is_store):
            m.d.comb += [go.eq(store_go), ends.eq(store_ends), over.eq(ends)]
        with m.Else():
            m.d.comb += [
                writes.eq(valid & progress_free),
                go.eq(writes & may_write),
                ends.eq(go & last_word),
                over.eq(ends | active & is_recv & self.stop & progress_free),
            ]
        m.d.comb += [
            words.take.eq(go & (now.move | is_send | is_store)),
            self.comm_bytes.eq(Mux(go & is_send & ~away, Mux(last_word, now.left, word), 0)),
        ]
        m.d.sync += bar.written.eq(ends & is_recv)
        with m.If(active & bar.sent):
            m.d.sync += confirmed.eq(1)
        with m.If(go & ~is_store):
            m.d.sync += [
                now.left.eq(now.left - word),
                now.short.eq(now.left <= 2 * word),
                now.place.eq(now.place + word),
            ]
            with m.If(ends & is_send):
                m.d.sync += sent.eq(1)

        with m.If(over | ~active):
            m.d.sync += [
                met.eq(0),
                sent.eq(0),
                confirmed.eq(0),
                broken.eq(0),
                active.eq(waits | taken & sinks),
                waits.eq(0),
            ]
            with m.If(waits):
                m.d.sync += now.eq(after)
            with m.Else():
                m.d.sync += now.eq(given)
        with m.Elif(taken & sinks):
            m.d.sync += [waits.eq(1), after.eq(given)]

        self._progress(
            m,
            loads,
            bursts,
            over & ~is_store,
            now,
            peer_size,
            broken & is_send,
            (progress_free, load_free),
            written,
        )
        m.d.comb += [
            self.quiet.eq(
                loads.quiet & bursts.quiet & ~(active & is_store) & ~(waits & after.store)
            ),
            self.bytes_read.eq(loads.bytes),
        ]
        return m

    def _take(self, m, bursts, loads, words):
        """Accepts commands and starts their datapath. Returns whether the command is for the sink,
        whether one is accepted, and whether one waits for the sink."""
        p, size, word, command = (
            self.params,
            self.beat_bytes,
            lmem_word_bytes(self.params),
            self.command.payload,
        )
        op = command.op
        is_ld, is_st = op == TransferOp.LD, op == TransferOp.ST
        memory, reads, sinks = Signal(), Signal(), Signal()
        taken = Signal()
        waits = Signal()  # a command for the sink waits for its current one
        m.d.comb += [
            memory.eq(is_ld | is_st),
            sinks.eq(~is_ld),
            reads.eq(is_st | (op == TransferOp.LMV) | (op == TransferOp.SEND)),
            self.command.ready.eq(
                (bursts.free | ~memory)
                & (loads.free | ~is_ld)
                & (words.free | ~reads)
                & (~waits | ~sinks)
            ),
            taken.eq(self.command.valid & self.command.ready),
        ]
        # A transfer that leaves the memory fails; it is blamed on the first byte outside. Another
        # error on its first byte.
        leaves = Signal()
        m.d.comb += leaves.eq(command.gmem + command.size > self.memory_size)
        piece = piece_bytes(p, size)
        low = exact_log2(piece)
        skip = (
            command.gmem[:low] if low else 0
        )  # bytes of the first word of a st that are not stored
        m.d.comb += [
            bursts.start.eq(taken & memory),
            bursts.address.eq(command.gmem),
            bursts.size.eq(command.size),
            bursts.write.eq(is_st),
            bursts.tag.eq(command.tag),
            bursts.leaves.eq(leaves),
            loads.leaves.eq(leaves),
            loads.start.eq(taken & is_ld),
            loads.address.eq(command.gmem),
            loads.place.eq(command.dst),
            loads.size.eq(command.size),
            loads.tag.eq(command.tag),
            words.start.eq(taken & reads),
            words.first.eq(Mux(is_st, command.src - skip, command.src)),
            words.step.eq(Mux(is_st, piece, word)),
            words.count.eq(
                Mux(
                    is_st,
                    (command.size + skip + (piece - 1)) >> low,
                    (command.size + (word - 1)) >> exact_log2(word),
                )
            ),
        ]
        return sinks, taken, waits

    def _leave(self, m, loads, ends, load_free, into, data_in, writes):
        """Buffered words for LMem, so that the LMem arbiter and this unit do not depend on each
        other combinationally. A load's answer has priority, since it blocks the memory. Returns
        whether the sink may write, and whether the last word of a command was written."""
        request = self.write.request
        m.submodules.leaving = leaving = StreamBuffer(
            shape=data.StructLayout({"request": into.shape(), "ending": 1})
        )
        may_write, given_up, load = Signal(), leaving.i.payload, loads.write.request
        m.d.comb += [
            leaving.i.valid.eq(Mux(loads.write.request.valid, load_free, writes)),
            loads.write.request.ready.eq(leaving.i.ready & load_free),
            may_write.eq(leaving.i.ready & ~loads.write.request.valid),
            given_up.ending.eq(loads.done | ends),
            given_up.request.address.eq(Mux(load.valid, load.payload.address, into.address)),
            given_up.request.mask.eq(Mux(load.valid, load.payload.mask, into.mask)),
            given_up.request.data.eq(data_in),
            request.valid.eq(leaving.o.valid),
            request.payload.eq(leaving.o.payload.request),
            leaving.o.ready.eq(request.ready),
        ]
        # The last word of a command has gone, or goes now: with a second word after the first it
        # is not looked at closer.
        written = (
            request.ready & leaving.i.ready
            | ~request.valid
            | leaving.i.ready & ~leaving.o.payload.ending
        )
        return may_write, written

    def _store(self, m, words, storing, now, port):
        """Converts words to beats of ``st``: whether a word is accepted, and whether it is the last
        one."""
        size = self.beat_bytes
        piece = piece_bytes(self.params, size)
        low, part, places = exact_log2(piece), exact_log2(size), size // piece
        # `at` is where in its beat the next byte goes.
        at = now.at
        lo, hi, room = (
            Signal(range(max(2, piece))),
            Signal(range(piece + 1)),
            Signal(range(piece + 1)),
        )
        go, last, whole = Signal(), Signal(), Signal()
        m.d.comb += [
            lo.eq(at[:low] if low else 0),
            room.eq(piece - lo),
            last.eq(now.left <= room),
            hi.eq(Mux(last, lo + now.left, piece)),
        ]
        mask = Cat((lo <= k) & (hi > k) for k in range(piece))
        if places == 1:
            m.d.comb += [
                port.w.valid.eq(storing & words.valid),
                port.w.payload.data.eq(words.word),
                port.w.payload.mask.eq(mask),
                go.eq(port.w.valid & port.w.ready),
            ]
        else:
            # Pieces gather; the beat goes with its last one.
            gathered, masks = Signal(8 * size), Signal(size)
            beat, beat_mask = Signal(8 * size), Signal(size)
            m.d.comb += [
                whole.eq(at[low:part].all() | last),
                beat.eq(gathered),
                beat_mask.eq(masks),
            ]
            with m.Switch(at[low:part]):
                for k in range(places):
                    with m.Case(k):
                        m.d.comb += [
                            beat.word_select(k, 8 * piece).eq(words.word),
                            beat_mask.word_select(k, piece).eq(mask),
                        ]
            m.d.comb += [
                port.w.valid.eq(storing & words.valid & whole),
                port.w.payload.data.eq(beat),
                port.w.payload.mask.eq(beat_mask),
                go.eq(storing & words.valid & (port.w.ready | ~whole)),
            ]
            with m.If(go):
                m.d.sync += [gathered.eq(beat), masks.eq(Mux(whole, 0, beat_mask))]
        with m.If(go):
            m.d.sync += [now.left.eq(now.left - room), now.at.eq(at + room)]
        m.d.comb += self.bytes_written.eq(Mux(go, hi - lo, 0))
        return go, go & last

    def _progress(self, m, loads, bursts, over, now, peer_size, broken, free, written):
        """Completion reports, one per cycle: loads first, then stores. Each unit stalls while its
        report waits, and a writer of LMem reports after its last word was written. Only the first
        error is kept, until the unit is reset."""
        layout = data.StructLayout({"done": 1, "tag": TAG_BITS, "error": 1})
        load, store, sink = (
            Signal(layout, name=f"report_{name}") for name in ("load", "store", "sink")
        )
        code, detail, failed = Signal(8), Signal(32), Signal()
        differs = broken & ~self.stop
        shown_load, shown_store, shown_sink = (
            load.done & written,
            ~load.done,
            ~load.done & ~store.done & written,
        )
        m.d.comb += [bursts.hold.eq(store.done), free[0].eq(~sink.done), free[1].eq(~load.done)]
        for report, done, tag, error, shown in (
            (load, loads.done, loads.done_tag, loads.error, shown_load),
            (store, bursts.done, bursts.done_tag, bursts.error, shown_store),
            (sink, over, now.tag, differs, shown_sink),
        ):
            with m.If(done):
                m.d.sync += [report.done.eq(1), report.tag.eq(tag), report.error.eq(error)]
            with m.Elif(shown):
                m.d.sync += report.done.eq(0)
        gap = Const(0, 16 - SIZE_BITS)
        with m.If(~failed):
            m.d.sync += [
                failed.eq(loads.done & loads.error | bursts.done & bursts.error | over & differs),
                code.eq(
                    Mux(
                        over & differs,
                        ISA.fault_codes["size_mismatch"],
                        ISA.fault_codes["bus_error"],
                    )
                ),
                detail.eq(
                    Mux(
                        over & differs,
                        Cat(peer_size, gap, now.size),
                        Mux(loads.done & loads.error, loads.error_address, bursts.error_address),
                    )
                ),
            ]
        m.d.comb += [
            self.progress.code.eq(code),
            self.progress.detail.eq(detail),
            Cat(self.progress.tag, self.progress.error).eq(
                Mux(
                    load.done,
                    Cat(load.tag, load.error),
                    Mux(store.done, Cat(store.tag, store.error), Cat(sink.tag, sink.error)),
                )
            ),
            self.progress.done.eq(Mux(load.done, written, store.done | sink.done & written)),
        ]
