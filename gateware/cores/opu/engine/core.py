# SPDX-License-Identifier: BSD-2-Clause
"""Top level of the pipelined OPU engine.

::

    memory 0 -> Fetch -> Decode -+-> ConvQueue ------------+-> Compute (buffers, post unit)
                                 +-> DMA -+- loads --------+        |
                         memory 1 <-------+- stores, pads <---------+

Fetch reads ahead, Decode checks everything that does not need data (:mod:`~.front.decode`) and
hands each instruction with a copy of its configuration to one of two queues, which work in program
order each; :mod:`.scoreboard` says what waits for what between them. So the next tile is loaded,
and the last one stored, while this one is convolved.

**End.** ``end`` and every fault that Decode finds wait until both queues are empty: an error of the
memory on an older transfer comes first. Such an error, and an abort, stop both queues at once:
outstanding requests are drained, writes with empty masks; the convolutions under way are dropped,
since nobody can see them. After an abort ``fault_pc`` is the oldest instruction that touches memory
and is not complete, or the next to be decoded where there is none.
"""

from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring

from ....parts.queues import StreamBuffer
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl, Stall
from ..isa import ISA
from ..params import cap_lanes
from ..types import type_set
from .compute.compute import Compute
from .compute.convqueue import ConvQueue
from .floorplan import floorplan
from .front.decode import Decode
from .front.fetch import Fetch
from .front.regions import RegionTable
from .records import DMAKind
from .transfer.dma import DMA

__all__ = ["PipelinedEngine"]

_WORD_BYTES = 4
_CODE = ISA.fault_codes


class PipelinedEngine(Engine):
    """Pipelined OPU engine with two queues (docs/isa/opu.md, section 9).

    ``beat_bytes`` is no more than ``pi`` elements of ifm.

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, two memory ports: fetch, and all data

    Counting: an instruction is retired when it is complete, one a cycle, and reads its 4 bytes
    then; bytes of transfers count as they pass; the MACs of a convolution when it is complete.
    Classes of cycles and further counters: section 7.2.
    """

    BEATS = (1, 2, 4, 8, 16)
    # A slot of 16 channels is a request of one beat.
    ON_CHIP_REQUESTS = 16

    floorplan = staticmethod(floorplan)

    def prepare(self) -> tuple[EngineControl, int]:
        params, beat_bytes = self.params, self.beat_bytes
        line = params["pi"] * type_set(params).ifm_bytes
        if beat_bytes > line:
            raise ValueError(
                f"Beat size must be at most pi elements of ifm, {line} bytes, not {beat_bytes}"
            )
        if params["out_lanes"] & params["out_lanes"] - 1:
            raise ValueError(
                f"Parameter out_lanes must be a power of two, not {params['out_lanes']}"
            )
        self.compute = Compute(params=params, beat_bytes=beat_bytes, family=self.family)
        return EngineControl(
            registers=ISA.registers,
            operations_bits=24,
            bytes_bits=(beat_bytes + _WORD_BYTES).bit_length(),
            counters=ISA.counters,
        ), 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, control = self.params, self.control

        # Parts
        finished = Signal()
        m.submodules.regions = regions = RegionTable()
        m.submodules.fetch = ResetInserter(finished)(fetch := Fetch(beat_bytes=self.beat_bytes))
        m.submodules.decode = ResetInserter(finished)(decode := Decode(params=p))
        m.submodules.convs = ResetInserter(finished)(convs := ConvQueue(params=p))
        m.submodules.dma = ResetInserter(finished)(dma := DMA(params=p, beat_bytes=self.beat_bytes))
        m.submodules.compute = compute = self.compute
        wiring.connect(m, fetch.memory, wiring.flipped(self.memory[0]))
        wiring.connect(m, dma.memory, wiring.flipped(self.memory[1]))
        m.submodules.words = ResetInserter(finished)(
            ahead := StreamBuffer(shape=fetch.words.payload.shape())
        )
        wiring.connect(m, fetch.words, ahead.i)
        wiring.connect(m, ahead.o, decode.words)
        wiring.connect(m, decode.conv, convs.entries)
        wiring.connect(m, decode.transfer, dma.entries)
        wiring.connect(m, convs.commands, compute.conv)
        wiring.connect(m, dma.post, compute.post)
        wiring.connect(m, compute.out, dma.out)
        running, stopping, clearing = Signal(), Signal(), Signal(init=1)
        window = {"window_base": control.window_base[6:], "window_limit": control.window_limit[6:]}
        m.d.comb += [
            fetch.start.eq(control.start),
            fetch.program.eq(control.program_address[6:]),
            fetch.length.eq(control.program_length),
            *(
                getattr(part, name).eq(value)
                for part in (fetch, decode)
                for name, value in window.items()
            ),
            decode.start.eq(control.start),
            decode.program.eq(control.program_address[6:]),
            decode.spent.eq(fetch.spent & ~ahead.o.valid),
            decode.outside.eq(fetch.outside),
            regions.number.eq(decode.region),
            decode.region_base.eq(regions.base),
            decode.region_limit.eq(regions.limit),
            regions.address.eq(control.bus.address),
            regions.write.eq(control.bus.write),
            regions.write_data.eq(control.bus.write_data),
            control.bus.read_data.eq(regions.read_data),
            decode.released.eq(dma.released),
            decode.finished.eq(convs.finished),
            decode.conv_crowded.eq(dma.crowded),
            decode.transfer_crowded.eq(convs.crowded),
            convs.released_count.eq(decode.released_count),
            convs.next_transfer.eq(decode.next_transfer),
            convs.loading.eq(dma.loading),
            convs.done.eq(compute.conv_done),
            dma.finished_count.eq(decode.finished_count),
            dma.next_conv.eq(decode.next_conv),
            compute.ifm_load.eq(dma.ifm),
            compute.ker_load.eq(dma.ker),
            compute.bias_load.eq(dma.bias),
            dma.post_done.eq(compute.post_done),
            compute.clear.eq(stopping | clearing),
            fetch.stop.eq(stopping | decode.over),
            decode.stop.eq(stopping),
            dma.stop.eq(stopping),
        ]

        # Retirement: several instructions may be complete in one cycle.
        due, ends = Signal(8), Signal()
        retired = Signal()
        m.d.comb += retired.eq(due != 0)
        m.d.sync += due.eq(
            due
            + (decode.retired + dma.retired_load + dma.retired_write)
            + (convs.finished + ends)
            - retired
        )

        # The end of the run
        code, pc, detail, word = (
            Signal(8),
            Signal(30, reset_less=True),
            Signal(32, reset_less=True),
            Signal(32),
        )
        closing, quiet = Signal(2), Signal(4)
        drained, stopped = Signal(), Signal()
        m.d.sync += [
            drained.eq(
                decode.over & dma.empty & convs.empty & (due == 0) & fetch.idle & ~dma.failed
            ),
            quiet.eq(Cat(stopping & fetch.idle & dma.quiet & (due == 0), quiet)),
        ]
        m.d.comb += stopped.eq(quiet.all())
        with m.If(running & (closing == 0) & ~finished):
            with m.If(stopping):
                with m.If(stopped):
                    m.d.sync += closing.eq(2)
                    with m.If(code == _CODE["aborted"]):
                        m.d.sync += pc.eq(Mux(dma.oldest, dma.oldest_pc, decode.pc))
            with m.Elif(dma.failed):
                m.d.sync += [
                    stopping.eq(1),
                    code.eq(_CODE["bus"]),
                    pc.eq(dma.failed_pc),
                    word.eq(dma.failed_word),
                    detail.eq(Cat(Const(0, 6), dma.failed_unit)),
                ]
            with m.Elif(drained):
                m.d.comb += ends.eq(decode.code == 0)
                m.d.sync += [
                    closing.eq(1),
                    code.eq(decode.code),
                    pc.eq(decode.pc),
                    detail.eq(decode.detail),
                    word.eq(decode.word),
                ]
            with m.Elif(control.abort):
                m.d.sync += [stopping.eq(1), code.eq(_CODE["aborted"])]
        with m.If((closing != 0) & ~finished):
            m.d.sync += closing.eq(closing - 1)
            m.d.sync += finished.eq(closing == 1)
        with m.If(finished):
            m.d.sync += [
                finished.eq(0),
                running.eq(0),
                stopping.eq(0),
                clearing.eq(1),
                quiet.eq(0),
                drained.eq(0),
            ]
        with m.Elif(clearing & compute.idle):
            m.d.sync += clearing.eq(0)
        with m.If(control.start):
            m.d.sync += [running.eq(1), code.eq(0), detail.eq(0), word.eq(0)]
        m.d.comb += [
            control.finish.eq(finished),
            control.fault_code.eq(code),
            control.fault_pc.eq(pc << 2),
            control.fault_detail.eq(detail),
            control.ready.eq(~running & ~clearing & regions.ready),
            control.interrupt.eq(0),
            control.val.fault_insn.eq(word),
            control.val.cap_types.eq(type_set(p).cap_types),
            control.val.cap_lanes.eq(cap_lanes(p)),
            control.val.cap_ifm_lines.eq(p["ifm_lines"]),
            control.val.cap_ofm_lines.eq(p["ofm_lines"]),
            control.val.cap_ker_rows.eq(p["ker_rows"]),
        ]

        # Counters, and the class of every cycle: the first that applies
        stall = Signal(Stall)
        with m.If(compute.conv_step):
            m.d.comb += stall.eq(Stall.WORK)
        with m.Elif(dma.writing):
            m.d.comb += stall.eq(Stall.WRITE)
        with m.Elif(dma.reading):
            m.d.comb += stall.eq(Stall.OPERAND)
        with m.Elif(decode.starved):
            m.d.comb += stall.eq(Stall.FETCH)
        with m.Else():
            m.d.comb += stall.eq(Stall.OTHER)
        waits = ~compute.conv_step
        m.d.sync += [
            control.stall.eq(stall),
            control.inc.stall_ifm.eq(convs.wait_load & waits),
            control.inc.stall_ker.eq(convs.wait_ker & waits),
            control.inc.stall_ofm.eq(convs.wait_store & waits),
            control.inc.dma_busy.eq(dma.reading | dma.writing),
        ]
        m.d.comb += [
            control.retired.eq(retired),
            control.operations.eq(convs.operations),
            control.bytes_written.eq(dma.bytes_written),
            control.bytes_read.eq(dma.bytes_read + Mux(retired, _WORD_BYTES, 0)),
        ]
        self._parts = fetch, decode, convs, dma
        return m

    def rows(self) -> tuple[Row, ...]:
        return (
            Row("fetch", numbered=False),
            Row("loads", queue=True),
            Row("convolutions", queue=True),
            Row("stores", queue=True),
        )

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline: both queues, the loads and the memory writers separately.
        A convolution begins with its first products."""
        fetch, decode, convs, dma = self._parts
        pc = decode.pc << 2
        handed, conv = (
            decode.transfer.valid & decode.transfer.ready,
            decode.conv.valid & decode.conv.ready,
        )
        kind = decode.transfer.payload.kind
        writes = (kind == DMAKind.STORE) | (kind == DMAKind.PAD)
        return {
            "fetch": Activity(~fetch.idle),
            "loads": Activity(
                dma.reading, number=pc, takes=handed & ~writes, leaves=dma.retired_load
            ),
            "convolutions": Activity(
                self.compute.conv_step, number=pc, takes=conv, leaves=convs.finished
            ),
            "stores": Activity(
                dma.writing, number=pc, takes=handed & writes, leaves=dma.retired_write
            ),
        }
