# SPDX-License-Identifier: BSD-2-Clause
"""Many-core PIM engine: N processors, their interconnect, and LOAD.

::

    control --> Load --> group stores, arrays, starts of all processors --> go
                Processor 0 .. N-1 --+-- Crossbar  send, recv
                                     +-- Events    sync, wait
                                     +-- RunEnd    faults, deadlock, abort, end --> stop, finish
    memory    : Load, and of every processor code and data

A run: ``clear`` resets processors, crossbar and events, and their sweeps of zeros begin; LOAD reads
the image meanwhile; code is read ahead once the core table is known; ``go`` starts all in the same
cycle. Whatever ends the run raises ``stop``: nothing starts any more, ld and st that were begun go
on to their end, send and recv are given up, and when nothing is outstanding the engine is finished.
Registers, events and LMem stay as they are, for the debug registers and the next run.
"""

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib.wiring import connect, flipped

from ....primitives.multiplexer import selected
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl
from ..isa import EVENTS, ISA, REGISTERS_PER_CORE
from ..params import BUILT
from .counts import count, engine_control
from .crossbar import Crossbar
from .deadlock import DeadlockDetector
from .events import Events
from .faults import RunEnd
from .floorplan import floorplan
from .load.load import Load
from .processor import CODE_PORT, DATA_PORT, Processor
from .tree import PortTree

__all__ = ["ManyCoreEngine"]


def _row(name, core, cores):
    """Name of a row in the activity timeline."""
    return f"{name} {core}" if cores > 1 else name


_OFFSETS = {r.name: r.offset // 4 for r in ISA.registers}


class ManyCoreEngine(Engine):
    """Many-core PIM engine (docs/isa/pim.md).

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`:
        the view of the whole engine, and of each core if there are several
    memory : Out, memory ports: LOAD, then of each processor code and data;
        more than sixteen share arbiters

    Counting: an instruction is retired when it is complete, the MACs of a mvmul with it; bytes as
    they pass. Section 7.
    """

    #: By family: multiplexers of wide LUTs cost an ECP5 more here than those of plain ones.
    synth_opts = {"ecp5": "-nowidelut"}
    #: By family: ABC maps the netlist several ways and keeps the smallest of the fastest.
    synth_before = {"ecp5": "scratchpad -copy abc9.script.flow3 abc9.script"}
    floorplan = staticmethod(floorplan)

    def prepare(self) -> tuple[EngineControl, int]:
        params, sizes = (
            self.params,
            {"beat_bytes": self.beat_bytes, "memory_size": self.memory_size},
        )
        for name, most in BUILT.items():
            if params[name] > most:
                raise ValueError(
                    f"parameter {name} must be at most {most} in gateware, not {params[name]}"
                )
        self.load = Load(params=params, family=self.family, **sizes)
        self.processors = [
            Processor(params=params, number=k, family=self.family, **sizes)
            for k in range(params["cores"])
        ]
        self.ports = PortTree(beat_bytes=self.beat_bytes, ports=1 + 2 * params["cores"])
        return engine_control(params), len(self.ports.memory)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p, control = self.params, self.control
        load, processors = self.load, self.processors
        m.submodules.load = load
        clear = Signal()
        m.submodules.crossbar = ResetInserter(clear)(bar := Crossbar(params=p))
        m.submodules.events = events = Events(params=p)
        m.submodules.deadlock = deadlock = DeadlockDetector(cores=p["cores"])
        m.submodules.end = end = RunEnd(params=p, family=self.family)
        m.submodules.ports = ports = self.ports
        for inner, outer in zip(ports.memory, self.memory, strict=True):
            connect(m, inner, flipped(outer))
        connect(m, load.memory, ports.port[0])

        # LOAD
        m.d.sync += [clear.eq(load.clear), load.stop.eq(control.abort)]
        m.d.comb += [
            load.start.eq(control.start),
            *(
                getattr(load, name).eq(getattr(control, name))
                for name in ("program_address", "program_length", "window_base", "window_limit")
            ),
            *(
                getattr(load, name).eq(control.reg[name])
                for name in ("core_table", "run_flags", "gmem_base", "gmem_size")
            ),
            events.clear.eq(clear),
        ]
        # Each core's readiness has a register of its own, and so has that of all: the cores are far
        # apart. It falls three cycles after LOAD has cleared them, long before LOAD looks at it.
        ready_of, all_ready = Signal(p["cores"]), Signal()
        m.d.sync += [
            ready_of.eq(Cat(processor.start.ready for processor in processors)),
            all_ready.eq(ready_of.all() & events.ready & ~clear),
        ]
        m.d.comb += load.ready.eq(all_ready)

        # Processors; stopped from the end of a run to the beginning of the next one.
        stopped = Signal(init=1)
        with m.If(clear):
            m.d.sync += stopped.eq(0)
        with m.Elif(end.stop):
            m.d.sync += stopped.eq(1)
        weights_ready = []
        for k, processor in enumerate(processors):
            m.submodules[f"processor_{k}"] = processor
            start, state = processor.start, processor.state
            connect(m, processor.crossbar, bar.port[k])
            connect(m, processor.events, events.port[k])
            connect(m, processor.memory[CODE_PORT], ports.port[1 + 2 * k])
            connect(m, processor.memory[DATA_PORT], ports.port[2 + 2 * k])
            mine = Signal(name=f"target_{k}")
            m.d.comb += [
                mine.eq(load.target == k),
                processor.group.eq(load.group),
                processor.group.valid.eq(load.group.valid & mine),
                processor.ids.eq(load.ids),
                processor.ids.valid.eq(load.ids.valid & mine),
                processor.bias.eq(load.bias),
                processor.bias.valid.eq(load.bias.valid & mine),
                processor.weights.payload.eq(load.weights.payload),
                processor.weights.valid.eq(load.weights.valid & mine),
            ]
            weights_ready.append(processor.weights.ready & mine)
            m.d.comb += [
                start.clear.eq(clear),
                start.zero.eq(load.zero),
                start.prime.eq(load.prime),
                start.go.eq(load.go),
                start.start.eq(load.starts[k]),
                start.gmem_base.eq(load.gmem_from),
                start.gmem_low.eq(load.gmem_low),
                start.gmem_high.eq(load.gmem_high),
                start.cores.eq(load.entries),
                start.stop.eq(stopped | end.stop | load.stop),
                state.debug_index.eq(control.reg.dbg_index),
                end.core[k].fault.eq(state.fault),
                end.core[k].code.eq(state.fault_code),
                end.core[k].detail.eq(state.fault_detail),
                end.core[k].base.eq(load.starts[k].code),
                end.core[k].offset.eq(state.pc_offset),
            ]
        m.d.comb += load.weights.ready.eq(Cat(weights_ready).any())
        states = [processor.state for processor in processors]

        # The end of a run
        loading, was_loading = Signal(), Signal()
        m.d.comb += loading.eq(load.busy)
        m.d.sync += was_loading.eq(loading)
        finished, blocked = Cat(s.finished for s in states), Cat(s.blocked for s in states)
        m.d.comb += [
            end.begin.eq(load.go),
            end.refused.eq(was_loading & ~loading & ~end.running),
            end.load_code.eq(load.fault_code),
            end.load_detail.eq(load.fault_detail),
            end.image.eq(load.image),
            end.abort.eq(control.abort),
            end.finished.eq(finished),
            end.blocked.eq(blocked),
            end.quiet.eq(Cat(s.quiet for s in states)),
            end.deadlock.eq(deadlock.found),
            end.settled.eq(~loading),
            deadlock.running.eq(end.running),
            deadlock.finished.eq(finished),
            deadlock.blocked.eq(blocked),
            deadlock.moving.eq(bar.moving),
        ]
        active, cycles = Signal(), Signal(32)
        with m.If(control.start):
            m.d.sync += [active.eq(1), cycles.eq(0)]
        with m.Elif(end.finish):
            m.d.sync += active.eq(0)
        with m.If(loading):
            m.d.sync += cycles.eq(cycles + 1)
        m.d.comb += [
            control.ready.eq(~active & all_ready),
            control.finish.eq(end.finish),
            control.fault_code.eq(end.code),
            control.fault_pc.eq(end.pc),
            control.fault_detail.eq(end.detail),
            control.interrupt.eq(0),
            control.val.fault_core.eq(end.fault_core),
            control.val.cores_done.eq(end.done),
            control.val.cores_blocked.eq(end.stuck),
            control.val.load_cycles.eq(cycles),
        ]
        count(m, params=p, states=states, running=end.running | end.stop, control=control)
        self._debug(m, states, events)
        self._end = end
        return m

    def rows(self) -> tuple[Row, ...]:
        cores = self.params["cores"]
        named = (
            ("code", False, False),
            ("core", True, False),
            ("matrix unit", True, True),
            ("vector unit", True, True),
            ("transfers", False, False),
        )
        return (
            Row("LOAD", numbered=False),
            *(
                Row(_row(name, k, cores), numbered=numbered, queue=queue)
                for k in range(cores)
                for name, numbered, queue in named
            ),
        )

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline: for each core its oldest incomplete instruction, and its
        units."""
        cores, found = self.params["cores"], {"LOAD": Activity(self.load.busy)}
        for k, processor in enumerate(self.processors):
            issue, code = processor.issue, self.load.starts[k].code
            at = code + (issue.offered << 2)
            found |= {
                _row(name, k, cores): activity
                for name, activity in {
                    "code": Activity(~processor.prefetch.idle),
                    "core": Activity(
                        self._end.running & ~processor.state.finished,
                        number=code + processor.state.pc_offset,
                    ),
                    "matrix unit": Activity(
                        number=at,
                        takes=issue.matrix.valid & issue.matrix.ready,
                        leaves=processor.matrix.ends.done,
                    ),
                    "vector unit": Activity(
                        number=at,
                        takes=issue.vector.valid & issue.vector.ready,
                        leaves=processor.vector.ends.done,
                    ),
                    "transfers": Activity(~processor.transfer.quiet),
                }.items()
            }
        return found

    def _debug(self, m, states, events):
        """Debug registers core_select, core_pc, dbg_index and dbg_value; the state that they show
        is stable long before a bus cycle arrives."""
        control, cores = self.control, self.params["cores"]
        select, index = control.reg.core_select, control.reg.dbg_index
        one, which = Signal(), Signal(range(max(2, cores)))
        m.d.sync += [one.eq(select < cores), which.eq(select)]
        if cores > 1:
            m.d.comb += control.view.eq(Mux(one, which + 1, 0))
        pc, value = Signal(32), Signal(32)
        shown = selected(m, "shown", [Cat(s.pc, s.debug_value) for s in states], which, self.family)
        m.d.sync += Cat(pc, value).eq(shown)
        m.d.comb += [events.look_core.eq(which), events.look.eq(index)]
        with m.If((index >= REGISTERS_PER_CORE) & (index < REGISTERS_PER_CORE + EVENTS)):
            m.d.sync += value.eq(events.value)
        with m.Elif(index > REGISTERS_PER_CORE + EVENTS + 1):
            m.d.sync += value.eq(0)
        at_pc = Signal()
        m.d.sync += at_pc.eq(control.bus.address == _OFFSETS["core_pc"])
        m.d.comb += control.bus.read_data.eq(Mux(at_pc, pc, value) & one.replicate(32))
