# SPDX-License-Identifier: BSD-2-Clause
"""Small PIM engine: one core with a microprogram, which processes one element or product at a time.

::

    memory <-> MicroMachine <-> control block
                    |
                  Units -- multiplier, accumulators
                    |
                  Store -- local memory, weights, biases, table

It runs where block RAM and SPRAM are plentiful and logic is scarce (iCE40): LOAD, decoding,
addresses, faults and vectors are micro-instructions (:mod:`.load`, :mod:`.program`,
:mod:`.transfer`, :mod:`.vector`, :mod:`.activation`, :mod:`.matrix`).
"""

from dataclasses import replace

from amaranth import Cat, Const, Module, Mux, Signal

from ....isa.parameters import Params
from ....microcode.engine import MicroMachine
from ....microcode.shell import MicroEngine
from ....shell.activity import Activity, Row
from ....shell.engine import EngineControl
from ..isa import COUNTERS, ISA, LENGTH_MOST
from .instructions import MACHINE, REGION_BITS, Count, Flag, Sink, Source
from .program import microprogram
from .store import spram_blocks
from .units import Units

__all__ = ["SmallEngine"]

_OFFSETS = {r.name: r.offset // 4 for r in ISA.registers}
#: MACs of a mvmul of 1024 x 1024.
_MACS_BITS = 21


class SmallEngine(MicroEngine):
    """Small PIM engine, for builds with ``engine = "small"``.

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, one memory port
    """

    @staticmethod
    def spram_blocks(params: Params) -> int:
        return sum(spram_blocks(params))

    def prepare(self) -> tuple[EngineControl, int]:
        if self.params["engine"] != "small":
            raise ValueError(
                f"The small engine needs the parameter engine = small, not {self.params['engine']}"
            )
        self.program = microprogram(self.params, self.memory_size)
        self.machine = MicroMachine(
            machine=MACHINE,
            program=self.program,
            beat_bytes=self.beat_bytes,
            address_bits=REGION_BITS + 2,
        )
        bits = {"code_bytes": 3, "comm_bytes": 1, "blocked": 1}
        return EngineControl(
            registers=ISA.registers,
            operations_bits=_MACS_BITS,
            bytes_bits=LENGTH_MOST.bit_length(),
            counters=[replace(c, bits=bits.get(c.name, 1)) for c in COUNTERS],
        ), 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = self.control
        # An UP5K's DSP; logic on the larger chips, which have none, and where the weights fit block
        # RAM.
        dsp = self.family != "ice40" or self.spram_blocks(self.params)
        m.submodules.units = units = Units(
            params=self.params, multiplier="dsp" if dsp else "lut", family=self.family
        )
        self._attach(
            m,
            {
                Source.VALUE: units.value,
                Source.ACC_LOW: units.acc[:32],
                Source.ACC_HIGH: units.acc[32:].as_signed(),
            },
            code_bits=8,
        )
        machine = self.machine
        taken, a = machine.sinks, machine.a
        m.d.comb += [
            units.begin.eq(machine.run),
            machine.ran.eq(machine.run),
            units.operation.eq(a),
            machine.finished.eq(units.finished),
            units.place.eq(machine.p),
            units.a.eq(a),
            units.take_value.eq(taken[Sink.VALUE]),
            units.take_row.eq(taken[Sink.W]),
            units.take_mask.eq(taken[Sink.MASK]),
            units.take_acc.eq(taken[Sink.ACC]),
        ]

        flags, load_cycles = Signal(len(Flag)), Signal(32)
        done, blocked, loading = flags
        self._hold(m, Sink.FLAGS, flags)
        with m.If(control.start):
            m.d.sync += load_cycles.eq(0)
        with m.Elif(loading & ~machine.ready):
            m.d.sync += load_cycles.eq(load_cycles + 1)
        m.d.comb += [
            control.val.cores_done.eq(done),
            control.val.cores_blocked.eq(blocked),
            control.val.load_cycles.eq(load_cycles),
            control.operations.eq(Mux(taken[Sink.OPERATIONS], a, 0)),
            control.bytes_read.eq(Mux(taken[Sink.READ], a, 0)),
            control.bytes_written.eq(Mux(taken[Sink.WRITTEN], a, 0)),
        ]
        counts = {count: machine.counts[count.bit_length() - 1] for count in Count}
        m.d.comb += [
            control.retired.eq(counts[Count.RETIRED]),
            control.inc.code_bytes.eq(Cat(Const(0, 2), counts[Count.CODE4])),
            *(
                control.inc[name].eq(counts[Count[name.upper()]])
                for name in ("scalar", "matrix", "vector", "transfer")
            ),
        ]
        self._debug(m)
        self._parts = units, loading
        return m

    def rows(self) -> tuple[Row, ...]:
        return Row("LOAD", numbered=False), Row("program"), Row("vectors and products")

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline. LOAD uses the units too, and keeps its read data where an
        instruction's address is stored later."""
        (units, loading), machine = self._parts, self.machine
        begins = machine.writes("IADDR") & machine.at("fetch", 2)
        return {
            "LOAD": Activity(loading & ~machine.ready),
            "program": Activity(
                (begins, self.control.finish), takes=begins, number=machine.register_write.data
            ),
            "vectors and products": Activity(
                (units.begin & ~loading, units.finished), number="program"
            ),
        }

    def _debug(self, m):
        """Debug registers core_pc and dbg_value, for core 0 alone: registers of the machine while
        it waits."""
        control, machine, names = self.control, self.machine, self.program.names
        index, at_pc, shown = control.reg.dbg_index, Signal(), Signal()
        m.d.comb += [
            at_pc.eq(control.bus.address == _OFFSETS["core_pc"]),
            machine.show.eq(Mux(at_pc, names["INDEX"], index)),
            control.bus.read_data.eq(machine.shown & shown.replicate(32)),
        ]
        m.d.sync += shown.eq((control.reg.core_select == 0) & (at_pc | (index <= names["OBIW"])))
