# SPDX-License-Identifier: BSD-2-Clause
"""Processor of the PIM engine: code buffer, issue stage, local memory, and matrix, vector and
transfer unit (sections 2 and 9)."""

from amaranth import Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ....isa.parameters import Params
from ....memory.port import MemoryPort
from .commands import bias_layout, group_write_layout, ids_write_layout, weights_layout
from .front.issue import Issue
from .front.prefetch import Prefetch
from .front.wordload import WordLoad
from .links import CrossbarPort, EventPort, StartPort, StatePort
from .load.groups import GroupStore
from .matrix.unit import MatrixUnit
from .memory.lmem import MATRIX, TRANSFER, VECTOR, LocalMemory
from .transfer.unit import TransferUnit
from .vector.unit import VectorUnit

__all__ = ["CODE_PORT", "DATA_PORT", "Processor"]

#: Memory ports of a processor.
CODE_PORT, DATA_PORT = 0, 1

_STATE = (
    "finished",
    "blocked",
    "blocked_read",
    "fault",
    "fault_code",
    "fault_detail",
    "pc",
    "pc_offset",
    "working",
    "stall",
    "done_scalar",
    "done_matrix",
    "done_vector",
    "done_transfer",
    "macs",
    "debug_value",
)


class Processor(wiring.Component):
    """Processor: one core of the engine.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    number : int, of this core
    beat_bytes : int, 1, 2, 4 or 8
    memory_size : int, bytes of main memory
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    start : Out(:class:`~.links.StartPort`), state : Out(:class:`~.links.StatePort`)
    group, ids, bias : In; weights : In(stream): what LOAD writes, layouts of :mod:`.commands`
    memory : array of Out(MemoryPort): :data:`CODE_PORT`, :data:`DATA_PORT`
    crossbar : Out(:class:`~.links.CrossbarPort`), events : Out(:class:`~.links.EventPort`)
    """

    def __init__(
        self,
        *,
        params: Params,
        number: int,
        beat_bytes: int,
        memory_size: int,
        family: str | None = None,
    ) -> None:
        self.params = params
        self.prefetch = Prefetch(
            params=params, beat_bytes=beat_bytes, memory_size=memory_size, family=family
        )
        self.issue = Issue(params=params, number=number, memory_size=memory_size, family=family)
        self.groups = GroupStore(params=params, family=family)
        self.local = LocalMemory(params=params, family=family)
        self.matrix = MatrixUnit(params=params, family=family)
        self.vector = VectorUnit(params=params, family=family)
        self.transfer = TransferUnit(
            params=params, beat_bytes=beat_bytes, memory_size=memory_size, family=family
        )
        self.load = WordLoad(beat_bytes=beat_bytes)
        super().__init__(
            {
                "start": Out(StartPort(params)),
                "state": Out(StatePort()),
                "group": In(group_write_layout(params)),
                "ids": In(ids_write_layout(params)),
                "bias": In(bias_layout(params)),
                "weights": In(stream.Signature(weights_layout(params))),
                "memory": Out(MemoryPort(beat_bytes)).array(2),
                "crossbar": Out(CrossbarPort(params)),
                "events": Out(EventPort(params)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        start, state = self.start, self.state
        issue, prefetch, local, groups = self.issue, self.prefetch, self.local, self.groups
        matrix, vector, transfer, load = self.matrix, self.vector, self.transfer, self.load
        # A run begins with a reset of all that has a state but the memories.
        for name in ("prefetch", "issue", "matrix", "vector", "transfer", "load"):
            m.submodules[name] = ResetInserter(start.clear)(getattr(self, name))
        m.submodules.groups, m.submodules.local = groups, local

        # A run
        stop = Signal()
        m.d.sync += stop.eq((start.stop | issue.halted) & ~start.clear)
        m.d.comb += [
            local.zero.eq(start.clear & start.zero),
            start.ready.eq(issue.ready & ~local.zeroing & ~start.clear),
            prefetch.start.eq(start.prime),
            prefetch.code.eq(start.start.code),
            prefetch.code_bytes.eq(start.start.code_bytes),
            prefetch.count.eq(start.start.count),
            prefetch.mode.eq(start.start.mode),
            prefetch.stop.eq(stop),
            transfer.stop.eq(stop),
            *(
                getattr(issue, name).eq(getattr(start, name))
                for name in ("go", "start", "gmem_base", "gmem_low", "gmem_high", "cores", "stop")
            ),
            issue.debug_index.eq(state.debug_index),
            *(getattr(state, name).eq(getattr(issue, name)) for name in _STATE),
            state.code_bytes.eq(prefetch.bytes),
            state.bytes_written.eq(transfer.bytes_written),
            state.comm_bytes.eq(transfer.comm_bytes),
            state.bytes_read.eq(Mux(load.done, 4, transfer.bytes_read)),
            state.quiet.eq(
                issue.idle
                & prefetch.idle
                & transfer.quiet
                & ~load.busy
                & ~matrix.busy
                & ~vector.busy
            ),
        ]
        connect(m, prefetch.words, issue.words)
        m.d.comb += issue.ended.eq(prefetch.ended)
        connect(m, issue.events, flipped(self.events))
        connect(m, transfer.crossbar, flipped(self.crossbar))

        # Groups, and the write ports of LOAD
        m.d.comb += [
            groups.group_write.eq(self.group),
            groups.ids_write.eq(self.ids),
            groups.bias_write.eq(self.bias),
            groups.group.eq(issue.group),
            issue.entry.eq(groups.entry),
            groups.ids_group.eq(matrix.ids_group),
            groups.ids_index.eq(matrix.ids_index),
            matrix.ids.eq(groups.ids),
            groups.bias_address.eq(matrix.bias_address),
            matrix.bias.eq(groups.bias),
        ]
        connect(m, flipped(self.weights), matrix.weights_write)

        # The units
        for unit, stream_, place in (
            (matrix, issue.matrix, MATRIX),
            (vector, issue.vector, VECTOR),
            (transfer, issue.transfer, TRANSFER),
        ):
            connect(m, stream_, unit.command)
            connect(m, unit.read, local.read[place])
            connect(m, unit.write, local.write[place])
        progress = transfer.progress
        m.d.comb += [
            issue.matrix_ends.eq(matrix.ends),
            issue.matrix_reads.eq(matrix.reads),
            issue.vector_ends.eq(vector.ends),
            issue.transfer_progress.done.eq(progress.done),
            issue.transfer_progress.tag.eq(progress.tag),
            issue.late.eq(progress.done & progress.error),
            issue.late_code.eq(progress.code),
            issue.late_detail.eq(progress.detail),
            issue.waits.eq(transfer.waiting),
            issue.product_valid.eq(vector.product_valid),
            issue.product.eq(vector.product),
        ]
        connect(m, issue.multiply, vector.multiply)

        # Data port: a load of a word has it for itself, no transfer is then in flight.
        connect(m, prefetch.memory, flipped(self.memory[CODE_PORT]))
        port, mine, theirs = self.memory[DATA_PORT], load.memory, transfer.memory
        m.d.comb += [
            load.start.eq(issue.load),
            load.address.eq(issue.main),
            issue.load_busy.eq(load.busy),
            issue.load_done.eq(load.done),
            issue.load_word.eq(load.word),
            issue.load_error.eq(load.error),
            port.w.valid.eq(theirs.w.valid),
            port.w.payload.eq(theirs.w.payload),
            theirs.w.ready.eq(port.w.ready),
            theirs.ack.valid.eq(port.ack.valid),
            theirs.ack.payload.eq(port.ack.payload),
            port.ack.ready.eq(theirs.ack.ready),
            mine.r.payload.eq(port.r.payload),
            theirs.r.payload.eq(port.r.payload),
        ]
        with m.If(load.busy):
            m.d.comb += [
                port.req.valid.eq(mine.req.valid),
                port.req.payload.eq(mine.req.payload),
                mine.req.ready.eq(port.req.ready),
                mine.r.valid.eq(port.r.valid),
                port.r.ready.eq(mine.r.ready),
            ]
        with m.Else():
            m.d.comb += [
                port.req.valid.eq(theirs.req.valid),
                port.req.payload.eq(theirs.req.payload),
                theirs.req.ready.eq(port.req.ready),
                theirs.r.valid.eq(port.r.valid),
                port.r.ready.eq(theirs.r.ready),
            ]
        return m
