# SPDX-License-Identifier: BSD-2-Clause
"""Pipelined Cherry engine.

::

    memory 0 -> Sequencer -> tables, program -> FrontEnd -> LoadStore -- Scratchpad -- Mover
                    |                              |  |         |                     ^  ^
                    +------- descriptors ----------|--|---------|---------------------+  |
                                                   |  +-> dot, ALU, special functions    |
                                                   +----- progress -- TileFile    memory 1

The sequencer carries a run from start to end (:mod:`.run.sequencer`); the front end runs one
program of it (:mod:`.front.frontend`); four units execute its operations, each in order and slot by
slot as their progress allows (:mod:`.ops`, :mod:`.front.hazards`).

**End.** A fault inside a program waits until all that comes before it in canonical order is
complete (:mod:`.front.frontend`); then the units forget what they have, and the run ends when the
sequencer's and the mover's requests are answered.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring

from ....memory.portbuffer import PortBuffer
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl, Stall
from ..isa import ISA
from ..params import cap_feature, cap_size
from .floorplan import floorplan
from .front.frontend import FrontEnd
from .front.issue import COUNT
from .memory.mover import Mover, dma_lanes
from .memory.scratchpad import Scratchpad
from .memory.tilefile import TileFile
from .ops import Unit
from .run.sequencer import Phase, Sequencer
from .units.alu import Alu, alu_latency
from .units.dotpath import DotPath
from .units.lsu import LoadStore
from .units.pairs.unit import PairLoadStore, in_pairs
from .units.sfupath import SfuPath

__all__ = ["PipelinedEngine"]

#: Rows of a timeline.
_ROWS = {
    Unit.LSU: "loads and stores",
    Unit.DOT: "dot unit",
    Unit.ALU: "vector ALU",
    Unit.SFU: "special functions",
}

#: Element operations are counted in sixteens on their way here.
_SIXTEEN = 4
#: Cycles in a dot unit: a sum of products that waits for the one before takes three more, and its
#: passes.
_DOT_LATENCY = 11


class PipelinedEngine(Engine):
    """Pipelined Cherry engine (docs/isa/cherry.md, section 9).

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, two memory ports: lists, images and descriptors; the data of DMA

    Attributes
    ----------
    front : the front end, once elaborated

    Counting (section 7.6): instructions and element operations count when nothing that comes before
    them can fault any more; bytes when they have passed, those of a step that is prepared beside a
    program when its turn comes.
    """

    #: Multiplexers of wide LUTs cost an ECP5 more here than those of plain ones.
    synth_opts = {"ecp5": "-nowidelut"}
    floorplan = staticmethod(floorplan)

    def prepare(self) -> tuple[EngineControl, int]:
        if self.family == "ice40" and self.params["slots"] != 1:
            raise ValueError(
                f"Parameter slots must be 1 where the chip has no true dual-port block RAM "
                f"(ice40), not {self.params['slots']}"
            )
        return EngineControl(
            registers=ISA.registers,
            retired_bits=COUNT,
            operations_bits=COUNT + _SIXTEEN,
            bytes_bits=8,
        ), 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, family = self.params, self.family
        m.submodules.front = self.front = front = FrontEnd(
            params=params, multiplier=params["multiplier"], family=family
        )
        m.submodules.sequencer = sequencer = Sequencer(params=params, beat_bytes=self.beat_bytes)
        m.submodules.tiles = tiles = TileFile(params=params, family=family)
        m.submodules.mem = scratchpad = Scratchpad(
            params=params, lanes=dma_lanes(self.beat_bytes), family=family
        )
        m.submodules.mover = mover = Mover(
            params=params, beat_bytes=self.beat_bytes, family=family, memory_size=self.memory_size
        )
        self._units(m, front, tiles, scratchpad)
        self._programs(m, front, sequencer)
        self._dma(m, sequencer, mover, scratchpad)
        self._registers(m, front, sequencer)
        self._classes(m, front, sequencer)
        self._sequencer = sequencer
        return m

    def rows(self) -> tuple[Row, ...]:
        units = [unit for unit in Unit if unit is not Unit.SFU or self.params["sfu_lanes"]]
        return (
            *(Row(name) for name in ("images", "DMA in")),
            Row("DMA out", numbered=False),
            *(Row(_ROWS[unit], queue=True) for unit in units),
        )

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline: the thread of the steps, and the operations in flight in
        each unit."""
        traced, issued, finished = self._sequencer.traced, self.front.issued, self.front.finished
        found = {
            "images": Activity(traced.phase == Phase.FETCH, number=traced.entry),
            "DMA in": Activity(traced.phase == Phase.IN, number=traced.entry),
            "DMA out": Activity(traced.phase == Phase.OUT),
        }
        op = issued.payload
        for unit in Unit:
            found[_ROWS[unit]] = Activity(
                number=(op.snapshot.index << 2) + traced.code,
                takes=issued.valid & issued.ready & (op.record.unit == unit),
                parts=op.size,
                leaves=finished[unit.value],
            )
        return found

    def _units(self, m, front, tiles, scratchpad):
        """Instantiates the four units between front end, tile file and MEM."""
        params, family = self.params, self.family
        self._lsu = lsu = (
            PairLoadStore(params=params)
            if in_pairs(params)
            else LoadStore(params=params, family=family)
        )
        self._dot = dot = DotPath(
            params=params,
            latency=_DOT_LATENCY,
            notice=alu_latency(params),
            multiplier=params["multiplier"],
            family=family,
        )
        self._alu = alu = Alu(params=params, family=family)
        self._sfu = SfuPath(params=params, family=family) if params["sfu_lanes"] else None
        units = {Unit.LSU: lsu, Unit.DOT: dot, Unit.ALU: alu, Unit.SFU: self._sfu}
        for kind, unit in units.items():
            if unit is None:
                continue  # the front end refuses what it would do
            name, k = kind.name.lower(), kind.value
            m.submodules[name] = unit
            wiring.connect(m, getattr(front, name), unit.op)
            wiring.connect(m, unit.tiles_read, tiles.read[k])
            wiring.connect(m, unit.tiles_write, tiles.write[k])
            m.d.comb += [
                unit.progress.eq(front.progress),
                unit.clear.eq(front.clear),
                front.fetched[k].eq(unit.fetched),
                front.finished[k].eq(unit.finished),
            ]
        for bank, face in enumerate(lsu.banks):
            wiring.connect(m, face, scratchpad.banks[bank])
        m.d.comb += [
            tiles.clear.eq(front.clear),
            alu.soon.eq(dot.soon),
            tiles.follows.eq(dot.follows),
            lsu.others.eq(dot.writes | alu.writes),
            lsu.refused.eq(tiles.refused),
            front.mem_fault.eq(lsu.fault),
            front.mem_address.eq(lsu.fault_address),
            front.mem_slot.eq(lsu.fault_slot),
        ]

    def _programs(self, m, front, sequencer):
        wiring.connect(m, sequencer.table, front.table)
        m.d.comb += [
            front.start.eq(sequencer.program_start),
            front.stop.eq(sequencer.program_stop),
            front.program.eq(sequencer.program),
            front.prepared.eq(sequencer.prepared),
            front.next_resident.eq(sequencer.next_resident),
            sequencer.program_finish.eq(front.finish),
            sequencer.program_fault.eq(front.fault_code),
            sequencer.program_index.eq(front.index),
            sequencer.program_detail.eq(front.detail),
        ]

    def _dma(self, m, sequencer, mover, scratchpad):
        control = self.control
        # No path leads from the memory through both of its users.
        ports = []
        for k, memory in enumerate(self.memory):
            m.submodules[f"buffer_{k}"] = buffer = PortBuffer(beat_bytes=self.beat_bytes)
            wiring.connect(m, buffer.memory, wiring.flipped(memory))
            ports.append(buffer.port)
        words = ports[0]
        wiring.connect(m, ports[1], mover.port)
        wiring.connect(m, sequencer.request, words.req)
        wiring.connect(m, words.r, sequencer.answer)
        wiring.connect(m, sequencer.descriptor, mover.descriptor)
        for lane, face in enumerate(mover.scratch):
            wiring.connect(m, face, scratchpad.dma[lane])
        m.d.comb += [
            scratchpad.dma_owns.eq(sequencer.phase != Phase.PROGRAM),
            words.ack.ready.eq(1),  # there are no such words
            mover.stop.eq(sequencer.mover_stop),
            mover.window_base.eq(control.window_base),
            mover.window_limit.eq(control.window_limit),
            sequencer.mover_done.eq(mover.done),
            sequencer.mover_error.eq(mover.error),
            sequencer.mover_detail.eq(mover.error_detail),
            sequencer.mover_read.eq(mover.bytes_read),
            sequencer.mover_written.eq(mover.bytes_written),
        ]

    def _registers(self, m, front, sequencer):
        params, control = self.params, self.control
        named = ("program_address", "program_length", "window_base", "window_limit")
        # A cycle late: it goes to many places.
        m.d.sync += sequencer.abort.eq(control.abort)
        m.d.comb += [
            *(getattr(sequencer, name).eq(getattr(control, name)) for name in named),
            sequencer.start.eq(control.start),
            sequencer.dma_in_list.eq(control.reg.dma_in_list),
            sequencer.dma_out_list.eq(control.reg.dma_out_list),
            sequencer.sequential.eq(control.reg.options[0]),
            control.ready.eq(1),
            control.finish.eq(sequencer.finish),
            control.fault_code.eq(sequencer.fault),
            control.fault_pc.eq(sequencer.pc),
            control.fault_detail.eq(sequencer.detail),
            control.interrupt.eq(0),
            control.val.step.eq(sequencer.step),
            control.val.cap_size.eq(cap_size(params)),
            control.val.cap_feature.eq(cap_feature(params, params["slots"] == 2)),
            # The program's position is valid only if the program did not reach its end.
            control.val.fault_context.eq(Mux(sequencer.in_program, front.context, 0xFFFF_FFFF)),
            front.var_loop.eq(control.bus.address[:3]),
            control.bus.read_data.eq(Mux(sequencer.in_program, front.var_value, 0xFFFF_FFFF)),
            control.retired.eq(front.retired),
            control.operations.eq(Cat(Signal(_SIXTEEN), front.operations)),
            control.bytes_read.eq(sequencer.bytes_read),
            control.bytes_written.eq(sequencer.bytes_written),
        ]

    def _classes(self, m, front, sequencer):
        """Class of a cycle: the first condition that holds (section 7.6)."""
        works = Signal()
        phase = sequencer.phase
        m.d.comb += works.eq(
            Cat(
                unit.working for unit in (self._dot, self._alu, self._sfu) if unit is not None
            ).any()
        )
        stall = Signal(Stall)
        with m.If(works):
            m.d.comb += stall.eq(Stall.WORK)
        with m.Elif(self._lsu.loading | (phase == Phase.IN)):
            m.d.comb += stall.eq(Stall.OPERAND)
        with m.Elif(self._lsu.storing | (phase == Phase.OUT)):
            m.d.comb += stall.eq(Stall.WRITE)
        with m.Elif(front.waiting | (phase == Phase.FETCH)):
            m.d.comb += stall.eq(Stall.FETCH)
        with m.Else():
            m.d.comb += stall.eq(Stall.OTHER)
        m.d.sync += self.control.stall.eq(stall)
