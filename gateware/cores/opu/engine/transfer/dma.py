# SPDX-License-Identifier: BSD-2-Clause
"""DMA engine: queues transfers and executes them in program order over one memory port (section 9).

One port answers in order, so a load may be asked for while the data of older loads, or the
acknowledgements of an older store, are still to come. What writes memory waits until everything
older is complete without an error: a fault leaves no trace of what comes after it.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....memory.port import MemoryPort
from .....parts.datapath import without_reset
from .....parts.queues import StreamBuffer
from ...types import type_set
from ..commands import bias_load_layout, ifm_load_layout, ker_load_layout, out_layout, post_layout
from ..records import NUMBER_BITS, PC_BITS, UNIT_BITS, DMAKind, dma_entry, passed
from .loads import TAP_BITS, Loads
from .requests import Requests, geometry_layout, slot_beats_log2
from .stores import Stores

__all__ = ["DMA"]

#: Transfers that wait, and requests under way.
DEPTH, FLYING = 8, 15
#: Convolutions that may be handed out after the oldest waiting transfer, so that the numbers it
#: waits for stay in range.
_AHEAD = 1 << NUMBER_BITS - 2


class DMA(wiring.Component):
    """DMA engine: executes loads, stores and pads.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    beat_bytes : int

    Members
    -------
    entries : In(stream of :func:`~..records.dma_entry`)
    next_conv, finished_count : In, number that the next convolution gets,
        and convolutions finished, modulo
    ifm, ker, bias : Out, load interfaces of the compute part; post : Out(stream),
        its commands for ``store``; out : In(stream), its groups; post_done : In
    memory : Out(MemoryPort); answers are taken as they come,
        with a rest of a cycle between two loads
    stop : In, level: no further request; what was asked for is drained;
        ``quiet`` once nothing is outstanding
    released : Out, one cycle: the oldest transfer need not be waited for any more (a load can be
        read, a store has read)
    loading : Out, progress of a ``ld.ker`` (:class:`~.loads.Loads`)
    retired_load, retired_write : Out, one cycle: a transfer is complete
    crowded : Out, no convolution may be handed out now
    empty : Out, none waits, none is under way
    failed : Out, memory reported an error: ``failed_pc``, ``failed_word``,
        ``failed_unit`` (of the request) are of the oldest
    oldest, oldest_pc : Out, there is a transfer that is not complete,
        and the word address of the oldest
    reading, writing : Out, a load, a store or pad is under way; bytes_read, bytes_written :
        Out, of this cycle
    """

    def __init__(self, *, params: Params, beat_bytes: int) -> None:
        self.params, self.beat_bytes = params, beat_bytes
        count = range(beat_bytes + 1)
        super().__init__(
            {
                "entries": In(stream.Signature(dma_entry(params))),
                "next_conv": In(NUMBER_BITS),
                "finished_count": In(NUMBER_BITS),
                "ifm": Out(ifm_load_layout(params, beat_bytes)),
                "ker": Out(ker_load_layout(params, beat_bytes)),
                "bias": Out(bias_load_layout(params, beat_bytes)),
                "post": Out(stream.Signature(post_layout(params))),
                "out": In(stream.Signature(out_layout(params))),
                "post_done": In(1),
                "memory": Out(MemoryPort(beat_bytes)),
                "stop": In(1),
                "quiet": Out(1),
                "released": Out(1),
                "loading": Out(data.StructLayout({"valid": 1, "number": NUMBER_BITS, "taps": 6})),
                "retired_load": Out(1),
                "retired_write": Out(1),
                "crowded": Out(1),
                "empty": Out(1),
                "failed": Out(1),
                "failed_pc": Out(PC_BITS),
                "failed_word": Out(32),
                "failed_unit": Out(UNIT_BITS),
                "oldest": Out(1),
                "oldest_pc": Out(PC_BITS),
                "reading": Out(1),
                "writing": Out(1),
                "bytes_read": Out(count),
                "bytes_written": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, size = self.params, self.beat_bytes
        types = type_set(p)
        m.submodules.requests = requests = Requests(beat_bytes=size, element_bytes=types.ifm_bytes)
        m.submodules.loads = loads = Loads(params=p, beat_bytes=size, bias_bytes=types.bias_bytes)
        m.submodules.stores = stores = Stores(params=p, beat_bytes=size)

        stop = Signal()
        m.d.comb += stop.eq(self.stop | self.failed)

        # The transfer that comes next
        entry = dma_entry(p)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=entry.size, depth=DEPTH)
        m.d.comb += [
            queue.w_data.eq(self.entries.payload),
            queue.w_en.eq(self.entries.valid),
            self.entries.ready.eq(queue.w_rdy),
        ]
        head, valid, ready = Signal(entry, reset_less=True), Signal(), Signal()
        go, take, met = Signal(), Signal(), Signal()
        m.d.comb += [take.eq((~valid | go) & queue.r_rdy), queue.r_en.eq(take)]
        with m.If(take):
            m.d.sync += [head.eq(queue.r_data), valid.eq(1)]
        with m.Elif(go):
            m.d.sync += valid.eq(0)
        measured = Signal()  # what takes two steps to work out stands
        m.d.sync += [
            measured.eq(valid & ~go),
            ready.eq(measured & ~go),
            met.eq(valid & ~go & (met | passed(self.finished_count, head.conv))),
        ]
        distance = Signal(NUMBER_BITS)
        m.d.comb += distance.eq(self.next_conv - head.at)
        m.d.sync += self.crowded.eq(valid & (distance >= _AHEAD))

        is_store, is_pad, writes = Signal(), Signal(), Signal()
        m.d.comb += [
            is_store.eq(head.kind == DMAKind.STORE),
            is_pad.eq(head.kind == DMAKind.PAD),
            writes.eq(is_store | is_pad),
        ]
        geometry, expected = (
            Signal(geometry_layout(), reset_less=True),
            Signal(loads.expect.payload.shape(), reset_less=True),
        )
        self._measure(m, head, geometry, expected)

        # At work: loads in flight, and at most one store or pad.
        in_flight = Signal(range(16))
        writing, made_all, read_out, asked = Signal(), Signal(), Signal(), Signal()
        acks = Signal(range(FLYING + 1))
        idle = Signal()
        m.d.comb += idle.eq((in_flight == 0) & ~writing)
        clear_way = Signal()  # nothing older than the head is incomplete
        m.d.sync += clear_way.eq(idle & ~go)
        # What the head waits for stays once it has come, so its turn may be decided a cycle before
        # it is taken. One that is taken as ``stop`` rises makes no request.
        m.d.sync += go.eq(
            ready & met & requests.free & ~stop & ~go & Mux(writes, clear_way, loads.expect.ready)
        )
        m.d.comb += [
            requests.start.eq(go),
            requests.geometry.eq(geometry),
            requests.stop.eq(stop),
            loads.expect.valid.eq(go & ~writes),
            loads.expect.payload.eq(expected),
            loads.stop.eq(stop),
            stores.start.eq(go & writes),
            stores.zeros.eq(is_pad),
            stores.ofm_c.eq(head.post.ofm_c),
            stores.pooled.eq((head.post.pool_h != 1) | (head.post.pool_w != 1)),
            stores.stop.eq(stop),
            stores.made.eq(requests.made & requests.made_write),
            stores.made_beats.eq(requests.made_beats),
        ]
        m.d.sync += in_flight.eq(in_flight + (go & ~writes) - loads.done)
        write_pc, write_word = Signal(PC_BITS, reset_less=True), Signal(32, reset_less=True)
        last_made = Signal()
        m.d.comb += last_made.eq(requests.made & requests.last & requests.made_write)
        zeros = Signal()
        over = Signal()  # the store or pad is complete
        m.d.comb += over.eq(
            writing & made_all & read_out & (acks == 0) & ~stores.outstanding & ~stop
        )
        post = without_reset(m, self.post.payload)
        with m.If(go & writes):
            m.d.sync += [
                writing.eq(1),
                made_all.eq(0),
                read_out.eq(is_pad),
                zeros.eq(is_pad),
                write_pc.eq(head.pc),
                write_word.eq(head.word),
                asked.eq(is_store),
                post.eq(head.post),
            ]
        with m.Else():
            with m.If(last_made):
                m.d.sync += made_all.eq(1)
            with m.If(self.post_done):
                m.d.sync += read_out.eq(1)
            with m.If(self.post.ready):
                m.d.sync += asked.eq(0)
            with m.If(over):
                m.d.sync += writing.eq(0)
        m.d.comb += [
            self.post.valid.eq(asked),
            self.released.eq(loads.done | self.post_done | last_made & zeros),
        ]
        connect(m, flipped(self.out), stores.out)

        self._exchange(m, requests, loads, stores, acks, write_pc, write_word)

        # Reports to the engine
        first = data.View(entry, queue.r_data)
        old_pc = Signal(PC_BITS)  # of the oldest load whose data are to come
        with m.If(~loads.active & loads.waiting):
            m.d.comb += old_pc.eq(loads.following.pc)
        with m.Else():
            m.d.comb += old_pc.eq(loads.now.pc)
        m.d.sync += [
            self.oldest.eq(~idle | valid | (queue.level != 0)),
            without_reset(m, self.oldest_pc).eq(
                Mux(writing, write_pc, Mux(in_flight != 0, old_pc, Mux(valid, head.pc, first.pc)))
            ),
            self.reading.eq(in_flight != 0),
            self.writing.eq(writing),
            self.retired_load.eq(loads.done & ~stop),
            self.retired_write.eq(over),
            self.empty.eq(
                idle
                & ~valid
                & (queue.level == 0)
                & ~self.entries.valid
                & ~go
                & ~loads.done
                & ~over
                & ~self.retired_load
                & ~self.retired_write
            ),
        ]
        m.d.comb += [
            self.ifm.eq(loads.ifm),
            self.ker.eq(loads.ker),
            self.bias.eq(loads.bias),
            self.loading.eq(loads.loading),
            self.bytes_read.eq(loads.bytes),
            self.bytes_written.eq(stores.bytes),
        ]
        return m

    def _exchange(self, m, requests, loads, stores, acks, write_pc, write_word):
        """Memory port interface. The start of each request is kept until it is answered; answers
        are evaluated two cycles later."""
        port = self.memory
        m.submodules.units = units = fifo.SyncFIFOBuffered(width=UNIT_BITS, depth=FLYING + 1)
        flying = Signal(range(FLYING + 1))
        room = Signal()
        ended, ended_write = Signal(2), Signal(2)
        bad = Signal(2)
        read_ends, acked = Signal(), Signal()
        m.d.comb += [
            read_ends.eq(port.r.valid & port.r.ready & port.r.payload.last),
            acked.eq(port.ack.valid),
            port.ack.ready.eq(1),
            room.eq(flying < FLYING - 1),
            requests.allow.eq(room & (~requests.made_write | stores.allow)),
            units.w_data.eq(requests.made_unit),
            units.w_en.eq(requests.made),
            units.r_en.eq(ended[1]),
            loads.r.payload.eq(port.r.payload),
            loads.r.valid.eq(port.r.valid),
            port.r.ready.eq(loads.r.ready),
        ]
        m.submodules.offer = offer = StreamBuffer(shape=port.req.payload.shape())
        connect(m, requests.request, offer.i)
        connect(m, offer.o, flipped(port.req))
        connect(m, stores.w, flipped(port.w))
        m.d.sync += [
            ended.eq(Cat(read_ends | acked, ended)),
            ended_write.eq(Cat(acked, ended_write)),
            bad.eq(
                Cat(
                    port.r.valid & port.r.ready & port.r.payload.error
                    | acked & port.ack.payload.error,
                    bad,
                )
            ),
            flying.eq(flying + requests.made - ended[1]),
            acks.eq(acks + (requests.made & requests.made_write) - ended_write[1]),
        ]
        read_pc, read_word = Signal(PC_BITS, reset_less=True), Signal(32, reset_less=True)
        m.d.sync += [read_pc.eq(loads.now.pc), read_word.eq(loads.now.word)]
        failed_pc, failed_word, failed_unit = (
            without_reset(m, member)
            for member in (self.failed_pc, self.failed_word, self.failed_unit)
        )
        with m.If(bad[1] & ~self.failed):
            m.d.sync += [self.failed.eq(1), failed_unit.eq(units.r_data)]
            with m.If(ended_write[1]):
                m.d.sync += [failed_pc.eq(write_pc), failed_word.eq(write_word)]
            with m.Else():
                m.d.sync += [failed_pc.eq(read_pc), failed_word.eq(read_word)]
        m.d.comb += self.quiet.eq((flying == 0) & ~stores.outstanding)

    def _measure(self, m, head, geometry, expected):
        """Sizes and addresses of the requests and answers for the transfer in ``head``, registered
        twice."""
        p, size = self.params, self.beat_bytes
        types = type_set(p)
        slot = slot_beats_log2(size, types.ifm_bytes)
        ones = (1 << slot) - 1
        element = exact_log2(types.ifm_bytes)

        def beats(bytes_):
            return max(1, bytes_ // size) - 1

        post, g = head.post, geometry
        whole = Signal()  # all channels of a slot: a row is one segment
        row_beats, side = Signal(len(g.beats)), Signal(len(g.side))
        m.d.comb += [
            row_beats.eq((head.columns << slot) | ones),
            side.eq((((head.p - 1)[:4]) << slot) | ones),
            whole.eq(Mux(head.kind == DMAKind.IFM, post.ifm_c == 2, post.ofm_c == 6)),
        ]
        m.d.sync += [
            g.unit.eq(head.unit),
            g.rows.eq(0),
            g.segments.eq(0),
            g.row_pitch.eq(head.mem_w << element),
            g.pitch.eq(1 << element),
            g.write.eq(0),
            g.pad.eq(0),
            g.border.eq(head.p),
            g.side.eq(side),
            g.solid.eq((head.p << 1) >= head.mem_w),
            g.beats.eq(row_beats),
        ]
        taps_log = Signal(4)  # log2 of the beats of a tap
        m.d.sync += taps_log.eq(
            post.ifm_c + post.ofm_c + (4 + exact_log2(types.ker_bytes) - exact_log2(size))
        )
        kernel, tap = Signal(len(g.beats)), Signal(TAP_BITS)
        with m.Switch(taps_log):
            for k in range(14):
                with m.Case(k):
                    m.d.comb += [tap.eq((1 << k) - 1), kernel.eq((head.taps << k) | ((1 << k) - 1))]
        with m.Switch(head.kind):
            with m.Case(DMAKind.IFM):
                m.d.sync += g.rows.eq(head.rows)
                with m.If(~whole):
                    m.d.sync += g.segments.eq(head.columns)
                    with m.Switch(post.ifm_c):
                        for k in range(2):
                            with m.Case(k):
                                m.d.sync += g.beats.eq(beats(types.ifm_bytes << k + 4))
            with m.Case(DMAKind.STORE):
                m.d.sync += [g.rows.eq(head.rows), g.write.eq(1)]
                with m.If(~whole):
                    m.d.sync += g.segments.eq(head.columns)
                    with m.Switch(post.ofm_c):
                        for k in range(1, 6):
                            with m.Case(k):
                                m.d.sync += g.beats.eq(beats(types.ifm_bytes << k))
            with m.Case(DMAKind.PAD):
                m.d.sync += [
                    g.rows.eq(head.rows),
                    g.write.eq(1),
                    g.pad.eq(1),
                    g.pitch.eq((head.mem_w - head.p) << element),
                ]
            with m.Case(DMAKind.KER):
                m.d.sync += g.beats.eq(kernel)
            with m.Case(DMAKind.BIAS):
                with m.Switch(post.ofm_c):
                    for k in range(1, 7):
                        with m.Case(k):
                            m.d.sync += g.beats.eq(beats(types.bias_bytes << k))
        # All beats of ifm: rows * columns slots, of which the channels are read.
        total = Signal(len(g.beats))
        with m.Switch(post.ifm_c):
            for k in range(3):
                with m.Case(k):
                    per = types.ifm_bytes * (16 << k) // size
                    m.d.comb += total.eq((head.total << exact_log2(per)) | (per - 1))
        bias = Signal(len(g.beats))
        with m.Switch(post.ofm_c):
            for k in range(1, 7):
                with m.Case(k):
                    m.d.comb += bias.eq(beats(types.bias_bytes << k))
        m.d.sync += [
            expected.kind.eq(head.kind),
            expected.pc.eq(head.pc),
            expected.word.eq(head.word),
            expected.number.eq(head.number),
            expected.bank.eq(head.bank),
            expected.row.eq(head.row),
            expected.ifm_c.eq(post.ifm_c),
            expected.ofm_c.eq(post.ofm_c),
            expected.tap.eq(tap),
            expected.beats.eq(
                Mux(head.kind == DMAKind.IFM, total, Mux(head.kind == DMAKind.KER, kernel, bias))
            ),
        ]
