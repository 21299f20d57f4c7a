# SPDX-License-Identifier: BSD-2-Clause
"""Convolution queue before the convolution unit."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import conv_layout
from ..records import NUMBER_BITS, conv_entry, passed

__all__ = ["ConvQueue"]

#: Convolutions that wait, and that the unit may have begun.
DEPTH, UNDER_WAY = 16, 8
#: Transfers that may be handed out after the oldest waiting convolution, so that the numbers it
#: waits for stay in range.
_AHEAD = 1 << NUMBER_BITS - 2


class ConvQueue(wiring.Component):
    """Convolution queue: holds convolutions until their dependencies are met.

    A convolution that needs nothing is offered four cycles after it came; after that one every
    third cycle.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    entries : In(stream of :func:`~..records.conv_entry`)
    released_count : In, transfers released, modulo
    next_transfer : In, number that the next transfer gets
    loading : In: ``valid``, ``number``, ``taps``: the ``ld.ker`` whose data come,
        and how many taps of it are there
    commands : Out(stream of :func:`~..commands.conv_layout`)
    done : In, one cycle: the unit has finished one
    finished : Out, the same a cycle later, with ``operations``, its MACs
    wait_load, wait_ker, wait_store : Out, why the oldest one waits; at most one of them
    crowded : Out, no transfer may be handed out now
    empty : Out, none waits, none is under way
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        super().__init__(
            {
                "entries": In(stream.Signature(conv_entry(params))),
                "released_count": In(NUMBER_BITS),
                "next_transfer": In(NUMBER_BITS),
                "loading": In(data.StructLayout({"valid": 1, "number": NUMBER_BITS, "taps": 6})),
                "commands": Out(stream.Signature(conv_layout(params))),
                "done": In(1),
                "finished": Out(1),
                "operations": Out(24),
                "wait_load": Out(1),
                "wait_ker": Out(1),
                "wait_store": Out(1),
                "crowded": Out(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entry = conv_entry(self.params)
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=entry.size, depth=DEPTH)
        m.d.comb += [
            queue.w_data.eq(self.entries.payload),
            queue.w_en.eq(self.entries.valid),
            self.entries.ready.eq(queue.w_rdy),
        ]

        # The oldest one, and what it has got. What was once there stays.
        head = Signal(entry, reset_less=True)
        valid, load_met, store_met, ker_met = Signal(), Signal(), Signal(), Signal()
        go, take, room = Signal(), Signal(), Signal()
        row = Signal(range(self.params["ker_rows"]))
        in_tap = (
            self.loading.valid
            & (self.loading.number == head.ker.number)
            & (self.loading.taps > head.tap)
        )
        m.d.comb += [
            go.eq(self.commands.valid & self.commands.ready),
            take.eq(~valid & queue.r_rdy),
            queue.r_en.eq(take),
            self.commands.payload.eq(head.command),
            self.commands.payload.row.eq(row),
            self.commands.valid.eq(valid & load_met & store_met & ker_met & room),
        ]
        # The ring ends; this is looked at a cycle before the first one can go.
        rows = self.params["ker_rows"]
        m.d.sync += row.eq(Mux(head.row >= rows, head.row - rows, head.row))
        fresh = Signal()  # the comparisons of this cycle are of the entry in ``head``
        m.d.comb += fresh.eq(valid & ~go)
        m.d.sync += [
            load_met.eq(fresh & (load_met | passed(self.released_count, head.load))),
            store_met.eq(fresh & (store_met | passed(self.released_count, head.store))),
            ker_met.eq(fresh & (ker_met | passed(self.released_count, head.ker) | in_tap)),
        ]
        with m.If(take):
            m.d.sync += [head.eq(queue.r_data), valid.eq(1)]
        with m.Elif(go):
            m.d.sync += valid.eq(0)
        looked = Signal()  # the answers are those of the entry
        m.d.sync += looked.eq(fresh)
        m.d.comb += [
            self.wait_load.eq(looked & valid & ~load_met),
            self.wait_ker.eq(looked & valid & load_met & ~ker_met),
            self.wait_store.eq(looked & valid & load_met & ker_met & ~store_met),
        ]
        distance = Signal(NUMBER_BITS)
        m.d.comb += distance.eq(self.next_transfer - head.at)
        m.d.sync += self.crowded.eq(valid & (distance >= _AHEAD))

        # MACs of those under way
        sizes = data.StructLayout({"positions": 12, "shift": 4})
        m.submodules.under_way = under_way = fifo.SyncFIFOBuffered(
            width=sizes.size, depth=UNDER_WAY
        )
        size = data.View(sizes, under_way.r_data)
        begun = data.View(sizes, under_way.w_data)
        m.d.comb += [
            begun.positions.eq(head.positions),
            begun.shift.eq(head.command.ifm_c + head.command.ofm_c + 4),
            under_way.w_en.eq(go),
            room.eq(under_way.w_rdy),
            under_way.r_en.eq(self.done),
        ]
        m.d.sync += [
            self.finished.eq(self.done),
            self.operations.eq(Mux(self.done, size.positions << size.shift, 0)),
        ]
        m.d.sync += self.empty.eq(
            ~valid
            & (queue.level == 0)
            & (under_way.level == 0)
            & ~self.entries.valid
            & ~self.done
            & ~self.finished
        )
        return m
