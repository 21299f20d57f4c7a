# SPDX-License-Identifier: BSD-2-Clause
"""Small Cherry engine: one serial dot unit, one serial vector ALU, and a microprogram.

::

    memory <-> MicroMachine -- table (address units, instructions)
                  |  |  +----- load/store unit -- MEM
                  |  |              |
                  |  +-------- tiles -- dot unit, vector ALU
                  +----------- control block

It runs where block RAM is at hand and logic is not (iCE40): lists, images, DMA, loops, addresses
and special functions are micro-instructions (:mod:`.program`, :mod:`.lists`, :mod:`.transfer`,
:mod:`.special`), one thing at a time; sums of products, comparisons and the elements of loads and
stores have units.
"""

from amaranth import Cat, Const, Module, Mux, Signal

from ....microcode.engine import MicroMachine
from ....microcode.shell import MicroEngine
from ....primitives.bram import BlockRAM
from ....shell.activity import Activity, Row
from ....shell.engine import EngineControl, Stall
from ..engine.memory.convert import from_fp32
from ..isa import ISA
from ..params import cap_feature, cap_size
from .access import TileAccess
from .alu import SerialAlu
from .dot import SerialDot
from .instructions import MACHINE, Sink, Source
from .lists import TILE_WORDS, tile_table
from .program import ACCESS, ALU, COPIES, DST, KIND, UNIFORM, microprogram

__all__ = ["SmallEngine"]


class SmallEngine(MicroEngine):
    """Small Cherry engine, for builds that :func:`~..params.microcoded` selects.

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, one memory port
    """

    def prepare(self) -> tuple[EngineControl, int]:
        self.machine = MicroMachine(
            machine=MACHINE,
            program=microprogram(self.params, self.memory_size),
            beat_bytes=self.beat_bytes,
            address_bits=18,
        )
        return EngineControl(registers=ISA.registers, operations_bits=7, bytes_bits=6), 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        params, family, control, machine = self.params, self.family, self.control, self.machine
        m.submodules.table = table = BlockRAM(
            width=18, depth=tile_table(params) + TILE_WORDS, latency=1, family=family
        )
        m.submodules.mem = mem = BlockRAM(
            width=18, depth=1 << params["log_mem"], latency=1, family=family
        )
        m.submodules.access = self._access = access = TileAccess(log_mem=params["log_mem"])
        self._attach(
            m,
            {
                Source.TABLE: table.read_data,
                Source.MEM: mem.read_data,
                Source.FLOAT: Cat(Const(0, 14), mem.read_data),
                Source.PLACE: Cat(access.at, Const(0, 13), access.bad),
                Source.OPCODE: machine.a[13:18],
                Source.REGISTER: machine.a[6:8],
                Source.UNIT: machine.a[8:13],
                Source.LOOP: machine.a[10:13],
                Source.UPPER: machine.a[16:],
            },
            code_bits=5,
        )
        m.d.comb += [
            table.read_addr.eq(machine.p),
            table.write_addr.eq(machine.p),
            table.write_data.eq(machine.a),
            table.write_en.eq(machine.sinks[Sink.TABLE]),
        ]
        self._connect(m, table, mem)
        with m.If(self._units(m, table)):
            m.d.comb += control.stall.eq(Stall.WORK)

        step, where, nowhere = Signal(16), Signal(18, init=-1), Signal(init=1)
        self._hold(m, Sink.STEP, step)
        self._hold(m, Sink.CONTEXT, Cat(nowhere, where), Cat(machine.a[0], machine.a[14:]))
        counts = machine.counts
        m.d.comb += [
            machine.show.eq(control.bus.address),
            control.bus.read_data.eq(machine.shown),
            control.val.step.eq(step),
            control.val.fault_context.eq(Cat(nowhere.replicate(14), where)),
            control.val.cap_size.eq(cap_size(params)),
            control.val.cap_feature.eq(cap_feature(params, False)),
            control.retired.eq(counts[0]),
            control.operations.eq(Cat(Const(0, 4), counts[1:4])),
            control.bytes_read.eq(
                Cat(Const(0, 2), counts[4] | machine.sinks[Sink.CAME], Const(0, 2), counts[5])
            ),
            control.bytes_written.eq(Cat(Const(0, 2), counts[6] | machine.sinks[Sink.SENT])),
        ]
        return m

    def rows(self) -> tuple[Row, ...]:
        return Row("program"), Row("dot unit"), Row("vector ALU")

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline: the program, with instructions identified by their index
        and the address of the code."""
        machine = self.machine
        written, begins = machine.register_write.data, machine.writes("INDEX")
        return {
            "program": Activity(
                (begins, machine.at("over") | self.control.start),
                takes=begins,
                number=written << 2,
                base=(machine.writes("CODE0"), written),
            ),
            **{
                name: Activity(unit.working, number="program")
                for name, unit in (("dot unit", self._dot), ("vector ALU", self._alu))
            },
        }

    def _connect(self, m, table, mem):
        """Connects the load/store unit to machine, table and MEM."""
        machine, access, above = (
            self.machine,
            self._access,
            Const(tile_table(self.params) // TILE_WORDS),
        )
        a, sinks = machine.a, machine.sinks
        m.d.comb += [
            access.a.eq(a),
            access.place.eq(sinks[Sink.PLACE]),
            access.along.eq(sinks[Sink.ALONG]),
            access.down.eq(sinks[Sink.DOWN]),
            access.put.eq(sinks[Sink.MEM] | sinks[Sink.FLOAT] | sinks[Sink.CAME]),
            access.put_value.eq(Mux(sinks[Sink.MEM], a[:18], from_fp32(a))),
            access.on.eq(sinks[Sink.NEXT] | sinks[Sink.SENT]),
            access.run.eq(machine.run & a[ACCESS]),
            access.op.eq(a),
            access.mem_data.eq(mem.read_data),
            access.table_data.eq(table.read_data),
            mem.read_addr.eq(access.mem_address),
            mem.write_en.eq(access.mem_write),
            mem.write_addr.eq(access.mem_write_address),
            mem.write_data.eq(access.mem_value),
        ]
        with m.If(access.busy):
            m.d.comb += table.read_addr.eq(Cat(access.table_address, above))
        with m.If(access.table_write):
            m.d.comb += [
                table.write_en.eq(1),
                table.write_addr.eq(Cat(access.table_write_address, above)),
                table.write_data.eq(access.table_value),
            ]

    def _units(self, m, table):
        """Instantiates the dot unit and the vector ALU, only one of which works at a time; returns
        whether either does."""
        params, machine = self.params, self.machine
        m.submodules.dot = self._dot = dot = SerialDot(
            params=params, multiplier=params["multiplier"], family=self.family
        )
        m.submodules.alu = self._alu = alu = SerialAlu(params=params)
        a = machine.a
        came, above = Signal(18), Const(tile_table(params) // TILE_WORDS)
        m.d.sync += came.eq(table.read_data)
        for unit, mine in ((dot, ~a[ALU]), (alu, a[ALU])):
            op = unit.op.payload
            m.d.comb += [
                unit.op.valid.eq(machine.run & mine & ~a[ACCESS]),
                op.size.eq(1),
                op.uniform.eq(a[UNIFORM]),
                op.kind.eq(a[KIND:DST]),
                op.acc.eq(a[12]),
                op.axis.eq(a[10:12]),
                op.count.eq(Cat(a[8:10], a[8:10] == 0)),
                op.target.eq(a[6:8]),
            ]
            m.d.comb += [view.copies.eq(a[COPIES + r]) for r, view in enumerate(op.view)]
            asked, put = unit.tiles_read.request, unit.tiles_write.request
            mask, words = asked.payload.mask, unit.tiles_read.data
            m.d.comb += [asked.ready.eq(1), put.ready.eq(1), *(word.eq(came) for word in words)]
            # Entries as in the microprogram: private, uniform.
            with m.If(asked.valid):
                m.d.comb += table.read_addr.eq(
                    Cat(
                        asked.payload.word,
                        asked.payload.entry[0][0],
                        mask[1] | mask[3],
                        mask[2] | mask[3],
                        above,
                    )
                )
            with m.If(put.valid):
                m.d.comb += [
                    table.write_en.eq(1),
                    table.write_data.eq(put.payload.data),
                    table.write_addr.eq(
                        Cat(put.payload.word, put.payload.entry[0], put.payload.reg, above)
                    ),
                ]
        m.d.comb += [
            alu.op.payload.dst.eq(a[DST:COPIES]),
            alu.op.payload.src.eq(a[9:11]),
            machine.ran.eq(
                (dot.op.valid & dot.op.ready) | (alu.op.valid & alu.op.ready) | self._access.ran
            ),
            machine.finished.eq(dot.finished | alu.finished | self._access.finished),
        ]
        return dot.working | alu.working
