# SPDX-License-Identifier: BSD-2-Clause
"""Post-processing unit, from partial sums to a feature map: requantisation (kappa), activation,
residual, max pooling (specification, section 4.5)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from .....isa.parameters import Params
from .....parts.datapath import small_product
from .....parts.delays import delay
from ...types import type_set
from ..commands import out_layout, post_layout
from .buffers import IfmBuffer, OfmBuffer, ifm_row_elements
from .postlane import LEAKY, RELU, PostLane
from .walker import WindowLoop, WindowWalker

__all__ = ["PostUnit"]

_READ = IfmBuffer.LATENCY
assert OfmBuffer.POST_LATENCY == _READ
#: Cycles from a read to the lanes.
_LANES = _READ + 1
#: Groups of channels that may be read and not yet taken; more than the stages from a read to
#: ``out``.
_SLOTS = 16


class PostUnit(wiring.Component):
    """Post-processing unit: executes one ``store`` at a time, with one window position per cycle
    for each group of ``out_lanes`` channels.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    clear : In
    command : In(stream), see :func:`~..commands.post_layout`
    active, ofm_bank, ifm_bank : Out: a command runs, and on which banks; residual : Out:
        it reads ``ifm``
    ofm_line, ifm_row : Out; ofm_data, ifm_data : In, five cycles later
    out : Out(stream), see :func:`~..commands.out_layout`
    done : Out, one cycle, after the last group was taken
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self.types = type_set(params)
        self.row_bits = ceil_log2(params["ifm_lines"] * 16 // ifm_row_elements(params))
        super().__init__(
            {
                "clear": In(1),
                "command": In(stream.Signature(post_layout(params))),
                "active": Out(1),
                "residual": Out(1),
                "ofm_bank": Out(1),
                "ifm_bank": Out(1),
                "ofm_line": Out(ceil_log2(params["ofm_lines"])),
                "ofm_data": In(self.types.ofm * params["po"]),
                "ifm_row": Out(self.row_bits),
                "ifm_data": In(self.types.ifm * ifm_row_elements(params)),
                "out": Out(stream.Signature(out_layout(params))),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command = Signal(post_layout(self.params), reset_less=True)
        loop, parts = self._addresses(m, command)
        issue = loop.step

        # Products, what the loops need, then a read each cycle while there is space for what it
        # makes.
        phase = Signal(3)
        reading = Signal()
        room = Signal(range(_SLOTS + 1), init=_SLOTS)
        m.d.comb += [
            self.command.ready.eq(~self.active & ~self.clear),
            loop.load.eq(phase[2]),
            issue.eq(reading & (room != 0)),
            self.ofm_bank.eq(command.ofm_bank),
            self.ifm_bank.eq(command.ifm_bank),
            self.residual.eq(self.active & command.add_ifm),
        ]
        m.d.sync += phase.eq(phase << 1)
        with m.If(self.command.valid & self.command.ready):
            m.d.sync += [command.eq(self.command.payload), self.active.eq(1), phase.eq(1)]
        with m.If(phase[2]):
            m.d.sync += reading.eq(1)
        with m.If(issue & loop.end):
            m.d.sync += reading.eq(0)

        # Into the lanes, and after them into a queue. One more stage chooses among a line's lanes.
        enter = delay(m, issue, _LANES + PostLane.MAXIMUM, "enter", clear=self.clear)
        first = delay(m, loop.first, _LANES + PostLane.MAXIMUM, "first")
        push = delay(m, issue & loop.last, _LANES + PostLane.LATENCY, "push", clear=self.clear)
        end = delay(m, loop.end, _LANES + PostLane.LATENCY, "end")
        sums, residuals = self._choose(m, *parts)
        # The lanes lie all over the FPGA, so that what the command means for them comes from
        # registers. It stands long before the first value, as reads begin three cycles later.
        add, relu, leaky = (
            Signal(3, reset_less=True),
            Signal(reset_less=True),
            Signal(reset_less=True),
        )
        m.d.sync += [
            add.eq(Mux(command.add_ifm, Cat(command.order == o for o in range(3)), 0)),
            relu.eq(command.act == RELU),
            leaky.eq(command.act == LEAKY),
        ]
        results = []
        for k in range(self.params["out_lanes"]):
            m.submodules[f"lane_{k}"] = lane = PostLane(types=self.types)
            m.d.comb += [
                lane.total.eq(sums.word_select(k, self.types.ofm)),
                lane.residual.eq(residuals.word_select(k, self.types.ifm)),
                lane.add.eq(add),
                lane.relu.eq(relu),
                lane.leaky.eq(leaky),
                lane.enter.eq(enter),
                lane.first.eq(first),
            ]
            results.append(lane.result)
        pop = self._queue(m, push, Cat(Cat(*results), end))

        taken = issue & loop.last
        with m.If(taken & ~pop):
            m.d.sync += room.eq(room - 1)
        with m.Elif(~taken & pop):
            m.d.sync += room.eq(room + 1)
        finished = pop & self.out.payload.last
        m.d.sync += self.done.eq(finished)
        with m.If(finished):
            m.d.sync += self.active.eq(0)
        with m.If(self.clear):
            m.d.sync += [
                self.active.eq(0),
                reading.eq(0),
                phase.eq(0),
                room.eq(_SLOTS),
                self.done.eq(0),
            ]
        return m

    def _addresses(self, m, command):
        """Address generation by a loop nest and two walkers. Returns the loop, and the numbers of
        the group's section in a line of ``ofm`` and in a row of ``ifm``."""
        params = self.params
        lanes = exact_log2(params["out_lanes"])
        ofm_parts = exact_log2(params["po"]) - lanes  # groups of out_lanes in a line, as logarithms
        ifm_parts = exact_log2(ifm_row_elements(params)) - lanes
        m.submodules.loop = loop = WindowLoop()
        m.submodules.ofm = ofm = WindowWalker(bits=len(self.ofm_line))
        m.submodules.ifm = ifm = WindowWalker(bits=len(self.ifm_row))

        def scale(value, log2, name, bits):
            held = Signal(bits, name=name, reset_less=True)
            m.d.sync += held.eq(value << log2)
            return held

        ofm_rows, ifm_rows = Signal(10, reset_less=True), Signal(10, reset_less=True)
        m.d.sync += [
            ofm_rows.eq(small_product(command.ofm_w, command.pool_h_stride)),
            ifm_rows.eq(small_product(command.ifm_w, command.pool_h_stride)),
        ]
        last = command.order == 2
        groups = Mux(command.ofm_c > ofm_parts + lanes, command.ofm_c - (ofm_parts + lanes), 0)[:3]
        rows = command.ifm_c + (4 - lanes - ifm_parts)
        for walker, log2, name, steps in (
            (ofm, groups, "ofm", (ofm_rows, command.pool_w_stride, command.ofm_w, 1)),
            (
                ifm,
                rows[:3],
                "ifm",
                (
                    Mux(last, command.ifm_w, ifm_rows),
                    Mux(last, 1, command.pool_w_stride),
                    Mux(last, 0, command.ifm_w),
                    ~last,
                ),
            ),
        ):
            members = (walker.by_row, walker.by_column, walker.by_line, walker.by_place)
            for member, step, move in zip(
                members, steps, ("row", "column", "line", "place"), strict=True
            ):
                m.d.comb += member.eq(scale(step, log2, f"{name}_by_{move}", len(member)))
            m.d.comb += [
                walker.load.eq(loop.load),
                walker.step.eq(loop.step),
                walker.row.eq(loop.row),
                walker.column.eq(loop.column),
                walker.group.eq(loop.group),
                walker.line.eq(loop.line),
            ]
        for name, count in (
            ("rows", command.out_h),
            ("columns", command.out_w),
            ("lines", command.pool_h),
            ("places", command.pool_w),
        ):
            m.d.sync += [loop.counts[name].eq(count - 1), loop.counts[f"one_{name}"].eq(count == 1)]
        m.d.sync += [
            loop.counts.groups.eq(
                (1 << Mux(command.ofm_c > lanes, command.ofm_c - lanes, 0)[:3]) - 1
            ),
            loop.counts.one_groups.eq(command.ofm_c <= lanes),
        ]
        m.d.comb += [
            self.ofm_line.eq(ofm.address | (loop.index >> ofm_parts)),
            self.ifm_row.eq(ifm.address | (loop.index >> ifm_parts)),
        ]
        return loop, (
            delay(m, loop.index[:ofm_parts], _READ, "ofm_part"),
            delay(m, loop.index[:ifm_parts], _READ, "ifm_part"),
        )

    def _choose(self, m, ofm_part, ifm_part):
        """Selects the group's lanes from both lines, registered."""
        chosen = []
        for name, line, part, width in (
            ("sums", self.ofm_data, ofm_part, self.types.ofm),
            ("residuals", self.ifm_data, ifm_part, self.types.ifm),
        ):
            bits = width * self.params["out_lanes"]
            held = Signal(bits, name=name, reset_less=True)
            m.d.sync += held.eq(line.word_select(part, bits) if len(part) else line)
            chosen.append(held)
        return chosen

    def _queue(self, m, push, entry):
        """Queue of results in distributed memory. Returns whether one is taken."""
        m.submodules.queue = queue = memory.Memory(shape=len(entry), depth=_SLOTS, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        head, tail = Signal(range(_SLOTS)), Signal(range(_SLOTS))
        pop = Signal()
        count = Signal(range(_SLOTS + 1))
        full = Signal()
        m.d.comb += [
            write.en.eq(push),
            write.addr.eq(tail),
            write.data.eq(entry),
            read.addr.eq(head),
            self.out.valid.eq(full),
            Cat(self.out.payload.data, self.out.payload.last).eq(read.data),
            pop.eq(self.out.valid & self.out.ready),
        ]
        with m.If(push):
            m.d.sync += tail.eq(tail + 1)
        with m.If(pop):
            m.d.sync += head.eq(head + 1)
        with m.If(push & ~pop):
            m.d.sync += [count.eq(count + 1), full.eq(1)]
        with m.Elif(pop & ~push):
            m.d.sync += [count.eq(count - 1), full.eq(count != 1)]
        with m.If(self.clear):
            m.d.sync += [head.eq(0), tail.eq(0), count.eq(0), full.eq(0)]
        return pop
