# SPDX-License-Identifier: BSD-2-Clause
"""MEM side of DMA: accesses the elements of a row, one or two per cycle (specification, section
7.2)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .....isa.parameters import Params
from .....parts.delays import Stages
from .convert import Format, UnitLayout
from .mover_rows import DescriptorLayout, MoverOp
from .scratchpad import DMA_LATENCY, DmaInterface

__all__ = ["ROWS_AHEAD", "Walk"]

#: Rows that may be approved and not yet moved.
ROWS_AHEAD = 15
#: Units between MEM and main memory: as many as distributed RAM has.
_DEPTH = 16


class Walk(wiring.Component):
    """Address generator of DMA in MEM: moves elements between streams and MEM. With two lanes, bf16
    and packed elements move in pairs; a pair that shares a bank takes two cycles.

    Parameters
    ----------
    params : dict
    lanes : 1 or 2

    Members
    -------
    start : In, forget all; ``descriptor`` (stable from then on)
    approve : In, one more row may move; ``ahead`` : Out, another may be approved; ``idle`` :
        Out, all approved rows have moved
    freeze : In, MEM is not to be written any more
    inward : In(stream of UnitLayout), to MEM; outward : Out(stream of UnitLayout), from MEM
    scratch : Out, array of :class:`~.scratchpad.DmaInterface`
    """

    def __init__(self, *, params: Params, lanes: int) -> None:
        self._params, self._lanes = params, lanes
        super().__init__(
            {
                "start": In(1),
                "descriptor": In(DescriptorLayout()),
                "approve": In(1),
                "ahead": Out(1),
                "idle": Out(1),
                "freeze": In(1),
                "inward": In(stream.Signature(UnitLayout())),
                "outward": Out(stream.Signature(UnitLayout())),
                "scratch": Out(DmaInterface(params["log_mem"])).array(lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        d, lanes = self.descriptor, self._lanes
        log_mem, log_banks = self._params["log_mem"], exact_log2(self._params["banks"])
        s = Stages(m)
        inward, outward = d.op == MoverOp.IN, d.op == MoverOp.OUT

        rows, in_row, row, at, left = Signal(4), Signal(), Signal(18), Signal(18), Signal(16)
        first_row = Signal()
        step, row_over = Signal(), Signal()
        m.d.comb += [self.ahead.eq(rows != ROWS_AHEAD), self.idle.eq(rows == 0)]
        m.d.sync += rows.eq(rows + self.approve - row_over)

        both, last, conflict, second = Signal(), Signal(), Signal(), Signal()
        if lanes == 2:
            paired = ((d.format == Format.BF16) | (d.format == Format.PACKED)) & (
                d.op != MoverOp.FILL
            )
            m.d.comb += both.eq(paired & (left != 1))
            m.d.sync += conflict.eq((d.mem_step[:log_banks] == 0) if log_banks else 1)
        m.d.comb += last.eq((left == 1) | (both & (left == 2)))

        # A step is a cycle of access; a unit is one step, or two if it is a pair in one bank.
        room, can, unit_over = Signal(init=1), Signal(), Signal()
        m.d.comb += [
            can.eq(in_row & Mux(outward, room, ~self.freeze & (~inward | self.inward.valid))),
            step.eq(can),
            unit_over.eq(step & (~(both & conflict) | second)),
            self.inward.ready.eq(unit_over & inward),
            row_over.eq(unit_over & last),
        ]
        with m.If(step):
            m.d.sync += second.eq(both & conflict & ~second)
        begin = Signal()
        m.d.comb += begin.eq((~in_row & (rows != 0)) | (row_over & (rows > 1)))
        here = Signal(18)  # where the next row begins
        m.d.comb += here.eq(Mux(first_row, d.mem, row))
        with m.If(unit_over):
            m.d.sync += [
                at.eq(at + Mux(both, (d.mem_step << 1)[:18], d.mem_step)),
                left.eq(left - Mux(both, 2, 1)),
            ]
            with m.If(last):
                m.d.sync += in_row.eq(0)
        with m.If(begin):
            m.d.sync += [
                in_row.eq(1),
                first_row.eq(0),
                at.eq(here),
                row.eq(here + d.mem_pitch),
                left.eq(d.cols),
            ]
        with m.If(self.start):
            m.d.sync += [rows.eq(0), in_row.eq(0), first_row.eq(1), second.eq(0)]

        # Accesses, from registers.
        given = self.inward.payload
        for lane, face in enumerate(self.scratch):
            mine = step & Mux(conflict & both, second == lane, both | (lane == 0))
            address = at if lane == 0 else (at + d.mem_step)[:18]
            value = given.first if lane == 0 else given.second
            m.d.sync += [
                face.enable.eq(mine & ~self.start),
                face.address.eq(address[:log_mem]),
                face.write.eq(~outward),
                face.write_data.eq(Mux(d.op == MoverOp.FILL, d.main[:18], value)),
            ]

        # What was read goes through a queue that has space for all that is under way.
        late = DMA_LATENCY + 1
        arrives = Signal(late)
        m.d.sync += arrives.eq(Cat(unit_over & outward & ~self.start, arrives))
        arrived = Signal(UnitLayout())
        first = self.scratch[0].read_data
        if lanes == 2:
            before = s.delay(first, 1)
            m.d.comb += [
                arrived.first.eq(Mux(s.delay(both & conflict, late), before, first)),
                arrived.second.eq(self.scratch[1].read_data),
            ]
        else:
            m.d.comb += arrived.first.eq(first)
        m.d.comb += [arrived.both.eq(s.delay(both, late)), arrived.last.eq(s.delay(last, late))]
        m.submodules.queue = queue = memory.Memory(shape=UnitLayout(), depth=_DEPTH, init=[])
        put, get = queue.write_port(), queue.read_port(domain="comb")
        count, owed = Signal(range(_DEPTH + 1)), Signal(range(_DEPTH + 1))
        pop = Signal()
        m.d.comb += [
            put.en.eq(arrives[-1]),
            put.data.eq(arrived),
            self.outward.valid.eq(count != 0),
            self.outward.payload.eq(get.data),
            pop.eq(self.outward.valid & self.outward.ready),
        ]
        issued = unit_over & outward
        m.d.sync += [
            count.eq(count + arrives[-1] - pop),
            owed.eq(owed + issued - pop),
            room.eq(owed + issued - pop < _DEPTH),
        ]
        with m.If(put.en):
            m.d.sync += put.addr.eq(put.addr + 1)
        with m.If(pop):
            m.d.sync += get.addr.eq(get.addr + 1)
        with m.If(self.start):
            m.d.sync += [
                arrives.eq(0),
                count.eq(0),
                owed.eq(0),
                room.eq(1),
                put.addr.eq(0),
                get.addr.eq(0),
            ]
        return m
