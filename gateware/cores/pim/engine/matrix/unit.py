# SPDX-License-Identifier: BSD-2-Clause
"""Matrix unit: executes ``mvmul`` instructions in order with ``lanes`` products per cycle
(specification, sections 4.2 and 9)."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from .....arguments import check_family
from .....isa.parameters import Params
from .. import commands
from ..commands import LMemRead, LMemWrite, lmem_word_bytes, matrix_layout, progress_layout
from .bias import SHIFT_MOST, SUM_BITS, Addends
from .input import InputReader, InputSelect
from .lanes import MatrixLanes
from .post import MatrixPost, post_layout
from .steps import ArrayIds, MatrixSteps
from .weights import WeightMemory

__all__ = ["MatrixUnit"]


class MatrixUnit(wiring.Component):
    """Matrix unit: multiplies vectors in LMem by the matrices of array groups.

    A command takes ``rows * ceil(cols / lanes)`` cycles; the next one's follow without a gap where
    matrices have at least some 16 rows (with biases: as many rows as a tile has columns). Its
    results are written while the next tile, or command, is computed.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    family : as the primitives'

    Members
    -------
    command : In(stream of :func:`~..commands.matrix_layout`)
    progress : Out, see :func:`~..commands.progress_layout`; ends : Out,
        the same a cycle earlier; reads : Out, likewise: the command's source has been read, and may
        be overwritten
    busy : Out: a command is under way (from the cycle after it was taken until ``done``)
    read : Out(LMemRead), write : Out(LMemWrite): the local memory's interfaces of the matrix unit
    weights_write : In(stream of :func:`~..commands.weights_layout`)
    ids_group, ids_index : Out; ids : In; bias_address : Out; bias : In:
        see :class:`~..load.groups.GroupStore`
    """

    def __init__(self, *, params: Params, family: str | None = None) -> None:
        check_family(family)
        self.params, self.family = params, family
        self.weights = WeightMemory(params=params, family=family)
        super().__init__(
            {
                "command": In(stream.Signature(matrix_layout(params))),
                "progress": Out(progress_layout()),
                "ends": Out(progress_layout()),
                "reads": Out(progress_layout()),
                "busy": Out(1),
                "read": Out(LMemRead(params)),
                "write": Out(LMemWrite(params)),
                "weights_write": In(self.weights.write.signature.flip()),
                "ids_group": Out(commands.group_bits(params)),
                "ids_index": Out(4),
                "ids": In(commands.ids_layout(params)),
                "bias_address": Out(commands.bias_bits(params)),
                "bias": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, family = self.params, self.family
        m.submodules.weights = weights = self.weights
        m.submodules.reader = reader = InputReader(params=params)
        m.submodules.array_ids = array_ids = ArrayIds(params=params)
        m.submodules.addends = addends = Addends(params=params, family=family)
        m.submodules.steps = steps = MatrixSteps(params=params)
        m.submodules.select = select = InputSelect(params=params, family=family)
        m.submodules.lanes = lanes = MatrixLanes(params=params, family=family)
        m.submodules.post = post = MatrixPost(params=params, sum_width=lanes.width, family=family)
        connect(m, flipped(self.weights_write), weights.write)
        connect(m, reader.read, flipped(self.read))
        connect(m, post.write, flipped(self.write))

        # The front: a command is read for while the one before is computed.
        command, start, waiting = self.command.payload, Signal(), Signal()
        rows, cols = (command.rows - 1)[:10], (command.cols - 1)[:10]
        wide = command.ibiw > 8
        half = Signal(SUM_BITS)
        front = Signal(post_layout(params), reset_less=True)
        front_rows, front_width, front_wide = (
            Signal(10, reset_less=True),
            Signal(4, reset_less=True),
            Signal(reset_less=True),
        )
        last_word = Signal(11)
        m.d.comb += [
            self.command.ready.eq(
                ~(waiting & ~steps.taken | reader.active | array_ids.active | addends.busy)
            ),
            start.eq(self.command.valid & self.command.ready),
            half.eq(Cat(command.round & (command.shift == k + 1) for k in range(SHIFT_MOST - 1))),
            last_word.eq(Mux(wide, rows << 1 | 1, rows)),
            reader.start.eq(start),
            reader.src.eq(command.src),
            reader.words.eq(last_word[exact_log2(lmem_word_bytes(params)) :]),
            reader.tiles.eq(cols[exact_log2(params["lanes"]) :]),
            array_ids.start.eq(start),
            array_ids.rows.eq(rows),
            array_ids.cols.eq(cols),
            addends.start.eq(start),
            addends.cols.eq(cols),
            addends.half.eq(half),
            addends.has_bias.eq(command.has_bias if params["bias_words"] else 0),
        ]
        # All words have been requested: what is written from now on comes after them.
        reading = Signal()
        m.d.sync += reading.eq(reader.active)
        m.d.comb += [self.reads.done.eq(reading & ~reader.active), self.reads.tag.eq(front.tag)]
        with m.If(command.shift >= SHIFT_MOST):
            m.d.comb += half[SHIFT_MOST - 1].eq(command.round)
        with m.If(steps.taken):
            m.d.sync += waiting.eq(0)
        with m.If(start):
            m.d.sync += [
                waiting.eq(1),
                front.dst.eq(command.dst),
                front.cols.eq(cols),
                front.obiw.eq(command.obiw),
                front.shift.eq(command.shift),
                front.relu.eq(command.relu),
                front.tag.eq(command.tag),
                front_rows.eq(rows),
                front_width.eq(command.ibiw - 1),
                front_wide.eq(wide),
                self.ids_group.eq(command.group),
            ]
        m.d.comb += [
            self.ids_index.eq(array_ids.index),
            array_ids.ids.eq(self.ids),
            addends.base_valid.eq(array_ids.first),
            addends.base.eq(self.ids.bias),
            self.bias_address.eq(addends.address),
            addends.bias.eq(self.bias),
        ]

        # Steps
        current = Signal.like(front, reset_less=True)
        with m.If(steps.taken):
            m.d.sync += current.eq(front)
        m.d.comb += [
            steps.offer.eq(waiting),
            steps.rows.eq(front_rows),
            steps.cols.eq(front.cols),
            steps.width.eq(front_width),
            steps.wide.eq(front_wide),
            steps.word.eq(reader.available),
            steps.array_valid.eq(array_ids.valid),
            steps.array.eq(array_ids.array),
            steps.space.eq(post.space),
            array_ids.next.eq(steps.next_array),
            reader.use.eq(steps.step & steps.word_last),
            weights.row.eq(steps.row),
            lanes.step.eq(steps.step),
            lanes.last.eq(steps.tile_last),
        ]
        # An element is taken out of its word two cycles after its step.
        index, width, drop = steps.index, steps.element_width, reader.use
        for k in range(2):
            later = (
                Signal.like(index, name=f"index_{k}", reset_less=True),
                Signal.like(width, name=f"width_{k}", reset_less=True),
                Signal(name=f"drop_{k}"),
            )
            m.d.sync += [
                after.eq(now) for after, now in zip(later, (index, width, drop), strict=True)
            ]
            index, width, drop = later
        m.d.comb += [
            select.word.eq(reader.word),
            select.index.eq(index),
            select.width.eq(width),
            reader.drop.eq(drop),
            lanes.x.eq(select.x),
        ]
        for g in range(lanes.groups):
            m.d.comb += lanes.weights[g].eq(weights.data[g])

        # Results
        arrived = steps.tile_last
        for k in range(MatrixLanes.LATENCY):
            later = Signal(name=f"arrived_{k}")
            m.d.sync += later.eq(arrived)
            arrived = later
        m.d.comb += [
            post.tile.eq(steps.tile_last),
            post.first.eq(steps.first_tile),
            post.last.eq(steps.last_tile),
            post.command.eq(current),
            post.arrived.eq(arrived),
            post.available.eq(addends.available),
            addends.take.eq(post.take),
            self.progress.eq(post.progress),
            self.ends.eq(post.ends),
            self.busy.eq(waiting | steps.running | post.busy | self.progress.done),
        ]
        for k in range(params["lanes"]):
            m.d.comb += post.sums[k].eq(lanes.sums[k])
        for k in range(lanes.group_lanes):
            m.d.comb += post.values[k].eq(addends.values[k])
        return m
