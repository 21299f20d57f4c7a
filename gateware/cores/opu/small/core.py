# SPDX-License-Identifier: BSD-2-Clause
"""Small OPU engine, for an iCE40: sixteen products per cycle, all other operations serial.

::

    memory 0 <-> port <-> words, bias -> MicroMachine (fetch, decode, checks, addresses, bias)
                  |                           | configuration, addresses
                  +--- ifm, ker, results --> ComputeUnit (buffers, products, rounder, post unit)

A microprogram decodes, checks and carries out one instruction after the other; only the next
instruction is decoded and checked while a convolution runs. Loads and stores never overlap with
convolutions. Three requests are under way at a time.
"""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring

from ....isa.parameters import Params
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl, Stall, first_class
from ..isa import ISA
from ..params import cap_lanes
from ..types import CHANNELS, type_set
from .compute import ComputeUnit
from .dot import PI
from .instructions import FIXED, Command, Cond
from .machine import MicroMachine

__all__ = ["SmallEngine"]

_WORD_BYTES = 4
_OUTSTANDING = 3  # requests; the ring of their addresses has one entry more
_REGION_TABLE = 0x100 // 4  # words


class SmallEngine(Engine):
    """Small OPU engine (docs/isa/opu.md) for builds with ``engine = "small"``.

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`;
        the region table is read through its bus while no program runs
    memory : Out, one :class:`~quintet.gateware.memory.port.MemoryPort`
    """

    BEATS = (2, 4)

    @staticmethod
    def spram_blocks(params: Params) -> int:
        """Number of SPRAM blocks: one for ifm and ker, one for ofm; none if products are made in
        logic."""
        return 2 if params["multiplier"] == "dsp" else 0

    def prepare(self) -> tuple[EngineControl, int]:
        if self.params["engine"] != "small":
            raise ValueError(
                f"The small engine needs the parameter engine = small, not {self.params['engine']}"
            )
        if self.family == "ecp5" and self.spram_blocks(self.params):
            raise ValueError(
                "The small engine needs the SPRAM of family 'ice40' (or None), not 'ecp5'"
            )
        return EngineControl(
            registers=ISA.registers,
            operations_bits=PI.bit_length(),
            bytes_bits=_WORD_BYTES.bit_length(),
            counters=ISA.counters,
        ), 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.micro = self._micro = micro = MicroMachine(
            params=self.params, beat_bytes=self.beat_bytes
        )
        m.submodules.compute = self._compute = ComputeUnit(
            params=self.params, beat_bytes=self.beat_bytes, family=self.family
        )
        s = SimpleNamespace(
            command={number: micro.commands[number] for number in Command}
        )  # signals that several steps use
        self._request(m, s)
        self._answer(m, s)
        self._registers(m, s)
        self._connect(m, s)
        self._wait(m, s)
        self._run(m, s)
        self._count(m, s)
        return m

    def rows(self) -> tuple[Row, ...]:
        return Row("program"), Row("loads"), Row("convolutions"), Row("stores")

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline. While a convolution runs, the next instruction is already
        current."""
        micro, compute, control = self._micro, self._compute, self.control
        stores, begins = control.inc.stall_ofm, micro.writes("PC")
        return {
            "program": Activity(
                (begins, control.finish), takes=begins, number=micro.register_write.data
            ),
            **{
                name: Activity(busy, takes=micro.commands[command], number="program")
                for name, busy, command in (
                    ("loads", control.inc.dma_busy & ~stores, Command.SINK),
                    (
                        "convolutions",
                        (micro.commands[Command.CONV], ~compute.convolving),
                        Command.CONV,
                    ),
                    ("stores", stores, Command.STORING),
                )
            },
        }

    def _request(self, m, s):
        """Memory requests. One is held in a register, so that no logic here depends on the memory's
        readiness."""
        control, port, micro, command = self.control, self.memory[0], self._micro, s.command
        beats, s.outstanding, s.pending = (
            Signal(range(CHANNELS * 2 // self.beat_bytes)),
            Signal(2),
            Signal(),
        )
        issued, answered, failed, s.trouble = Signal(2), Signal(2), Signal(2), Signal()
        made, address, ended, wrong = Signal(), Signal(30, reset_less=True), Signal(), Signal()
        asked = Signal.like(port.req.payload.beats, reset_less=True)
        writes = Signal(reset_less=True)
        m.d.comb += [
            made.eq(command[Command.FETCH] | command[Command.READ] | command[Command.WRITE]),
            port.req.valid.eq(s.pending),
            port.req.payload.write.eq(writes),
            port.req.payload.beats.eq(asked),
            port.req.payload.address.eq(Cat(Const(0, 2), address)),
        ]
        with m.If(made):
            m.d.sync += [
                s.pending.eq(1),
                address.eq(micro.a[2:]),
                writes.eq(command[Command.WRITE]),
                asked.eq(Mux(command[Command.FETCH], _WORD_BYTES // self.beat_bytes - 1, beats)),
            ]
        with m.Elif(port.req.ready):
            m.d.sync += s.pending.eq(0)
        with m.If(command[Command.BEATS]):
            m.d.sync += beats.eq(micro.operand)
        s.answer, acknowledged = Signal(), Signal()
        m.d.comb += [
            port.ack.ready.eq(1),
            acknowledged.eq(port.ack.valid),
            s.answer.eq(port.r.valid & port.r.ready),
            ended.eq(s.answer & port.r.payload.last | acknowledged),
            wrong.eq(s.answer & port.r.payload.error | acknowledged & port.ack.payload.error),
        ]
        m.d.sync += [
            s.outstanding.eq(s.outstanding + made - ended),
            issued.eq(issued + made),
            answered.eq(answered + ended),
        ]
        with m.If(wrong & ~s.trouble):
            m.d.sync += [s.trouble.eq(1), failed.eq(answered)]
        with m.If(control.start):
            m.d.sync += [s.trouble.eq(0), issued.eq(0), answered.eq(0)]
        m.d.comb += [micro.ring.eq(issued), micro.failed.eq(failed)]

    def _answer(self, m, s):
        """Memory answers, two bytes at a time: words and biases go to registers, other data to the
        compute unit."""
        port, micro, compute, command = self.memory[0], self._micro, self._compute, s.command
        s.to_line, s.to_bias, s.here, arrived = Signal(), Signal(), Signal(), Signal()
        accepted, s.word = Signal(), Signal(32)
        m.d.comb += [
            accepted.eq(port.r.valid),
            compute.store.eq(accepted & s.to_line),
            compute.step.eq(accepted & (s.to_line | s.to_bias)),
        ]
        if self.beat_bytes == 4:
            # The register that a word addresses stands alone; it is written with the beat's second
            # half.
            half = Signal()
            m.d.comb += [
                port.r.ready.eq(half),
                compute.data.eq(port.r.payload.data.word_select(half, 16)),
                s.word.eq(port.r.payload.data),
                arrived.eq(s.answer),
            ]
            writes_word, s.offset = ~half, half
            with m.If(accepted):
                m.d.sync += half.eq(~half)
        else:
            # A word's second beat stands for two cycles.
            step, low = Signal(2), Signal(16, reset_less=True)
            writes_word, s.offset = step[0], step[1]
            is_word = ~s.to_line & ~s.to_bias
            m.d.comb += [
                port.r.ready.eq(~is_word | ~step[0]),
                compute.data.eq(port.r.payload.data),
                s.word.eq(Cat(low, port.r.payload.data)),
                arrived.eq(s.answer & step[1]),
            ]
            with m.If(accepted & is_word):
                m.d.sync += step.eq(Mux(step[1], 0, step + 1))
                with m.If(step == 0):
                    m.d.sync += low.eq(port.r.payload.data)
        s.write = accepted & (s.to_bias | ~s.to_line & (writes_word | s.offset))
        with m.If(command[Command.FETCH]):
            m.d.sync += [s.to_line.eq(0), s.to_bias.eq(0), s.here.eq(0)]
        with m.Elif(command[Command.SINK]):
            m.d.sync += Cat(s.to_bias, s.to_line).eq(micro.argument)
        with m.Elif(arrived):
            m.d.sync += s.here.eq(1)

    def _registers(self, m, s):
        """Registers for words (also with the address field alone) and biases, and the region table
        while idle."""
        control, micro, compute = self.control, self._micro, self._compute
        bus = control.bus
        limit, closed = bus.address[4], Signal()
        hit = Signal()
        m.d.comb += [
            hit.eq(bus.address[5:] == _REGION_TABLE >> 5),
            closed.eq(limit & bus.write_data[28:].any()),
            bus.read_data.eq(micro.operand),
            micro.show.eq(hit),
            micro.show_entry.eq(bus.address),
        ]
        with m.If(micro.idle):
            m.d.comb += [
                micro.write.eq(bus.write),
                micro.write_address.eq(Cat(bus.address[:5], Const(FIXED["BASE"] >> 5, 3))),
                micro.write_data.eq(
                    Cat(
                        Const(0, 6),
                        bus.write_data[6:28] & ~closed.replicate(22),
                        Mux(limit, closed, bus.write_data[28]),
                        bus.write_data[29:] & ~limit.replicate(3),
                    )
                ),
            ]
        with m.Else():
            m.d.comb += [
                micro.write.eq(s.write),
                micro.write_address.eq(
                    Mux(
                        s.to_bias,
                        Cat(compute.place, Const(FIXED["BIAS"] >> 6, 2)),
                        Mux(s.offset, FIXED["OFFSET"], FIXED["WORD"]),
                    )
                ),
                micro.write_data.eq(
                    Mux(
                        s.to_bias,
                        Cat(compute.data, compute.data[15].replicate(16)),
                        s.word & ~(s.offset.replicate(32) & 0xF000_003F),
                    )
                ),
            ]
        with m.Switch(micro.source):
            for number, name in enumerate(
                ("program_address", "program_length", "window_base", "window_limit")
            ):
                with m.Case(number):
                    m.d.comb += micro.sources.eq(getattr(control, name))

    def _connect(self, m, s):
        """Connects micro machine, compute unit and the data of stores."""
        port, micro, compute, command = self.memory[0], self._micro, self._compute, s.command
        wiring.connect(m, micro.tables, compute.tables)
        for name in (
            "line_step",
            "row_step",
            "columns",
            "rows",
            "channels",
            "chunks",
            "words",
            "shift",
            "mask",
            "post",
            "line",
            "slice",
            "run",
            "zeros",
        ):
            m.d.comb += getattr(compute, name).eq(command[Command[name.upper()]])
        m.d.comb += [
            compute.convolve.eq(command[Command.CONV]),
            compute.begin.eq(command[Command.WRITE]),
            compute.a.eq(micro.a),
            compute.operand.eq(micro.operand),
            compute.argument.eq(micro.argument),
            port.w.valid.eq(compute.valid),
            compute.ready.eq(port.w.ready),
            port.w.payload.data.eq(compute.beat),
            port.w.payload.mask.eq(compute.mask_out),
        ]

    def _wait(self, m, s):
        """Waiting commands, and conditions that the microprogram reads."""
        micro, compute, asking, dma = (
            self._micro,
            self._compute,
            {number: self._micro.asking[number] for number in Command},
            Signal(),
        )
        m.d.comb += [
            micro.wait.eq(
                (asking[Command.FETCH] | asking[Command.READ] | asking[Command.WRITE])
                & (s.pending | (s.outstanding == _OUTSTANDING))
                | asking[Command.SLICE] & ~compute.can_slice
                | asking[Command.CONV] & ~compute.can_convolve
                | asking[Command.RUN] & ~compute.can_run
                | asking[Command.ZEROS] & ~compute.can_zeros
            ),
            dma.eq((s.outstanding != 0) | compute.storing),
            micro.conditions[Cond.HALT].eq(s.trouble | self.control.abort),
            micro.conditions[Cond.TROUBLE].eq(s.trouble),
            micro.conditions[Cond.NO_WORD].eq(~s.here),
            micro.conditions[Cond.DMA].eq(dma),
            micro.conditions[Cond.CONV].eq(compute.convolving),
            micro.conditions[Cond.BUSY].eq(dma | compute.convolving),
        ]

    def _run(self, m, s):
        """Control of a run (start, end, fault), and the registers that describe the build."""
        control, micro, command = self.control, self._micro, s.command
        m.d.comb += [
            micro.start.eq(control.start),
            control.ready.eq(micro.idle & ~control.finish),
            control.fault_pc.eq(micro.a),
            control.fault_detail.eq(micro.operand),
            control.val.fault_insn.eq(micro.word),
        ]
        m.d.sync += control.finish.eq(command[Command.FINISH])
        with m.If(command[Command.FINISH]):
            m.d.sync += control.fault_code.eq(micro.operand)
        types = type_set(self.params)
        m.d.comb += [
            control.val.cap_types.eq(
                types.ifm | types.ker << 8 | types.bias << 16 | types.ofm << 24
            ),
            control.val.cap_lanes.eq(cap_lanes(self.params)),
            *(
                control.val[f"cap_{name}"].eq(self.params[name])
                for name in ("ifm_lines", "ofm_lines", "ker_rows")
            ),
        ]

    def _count(self, m, s):
        """Counters, one cycle late: nothing is counted in the last cycles before the end."""
        control, port, compute, command = self.control, self.memory[0], self._compute, s.command
        moving, storing, kernel = Signal(), Signal(), Signal()
        with m.If(command[Command.SINK]):
            m.d.sync += [moving.eq(1), kernel.eq(compute.a[10])]
        with m.If(command[Command.STORING]):
            m.d.sync += [moving.eq(1), storing.eq(1)]
        with m.If(command[Command.MOVED] | command[Command.FINISH]):
            m.d.sync += [moving.eq(0), storing.eq(0)]
        sent = port.w.valid & port.w.ready
        m.d.sync += [
            control.retired.eq(command[Command.RETIRE]),
            control.operations.eq(Mux(compute.work, PI, 0)),
            control.bytes_read.eq(
                Mux(
                    command[Command.RETIRE],
                    _WORD_BYTES,
                    Mux(s.answer & (s.to_line | s.to_bias), self.beat_bytes, 0),
                )
            ),
            control.bytes_written.eq(
                Mux(sent, Mux(port.w.payload.mask[-1], self.beat_bytes, 2), 0)
            ),
            control.stall.eq(
                first_class(
                    (compute.work, Stall.WORK),
                    (storing, Stall.WRITE),
                    (moving, Stall.OPERAND),
                    (~s.here & ~compute.convolving, Stall.FETCH),
                )
            ),
            control.inc.dma_busy.eq(moving),
            control.inc.stall_ifm.eq(moving & ~storing & ~kernel),
            control.inc.stall_ker.eq(moving & ~storing & kernel | compute.copying),
            control.inc.stall_ofm.eq(storing),
        ]
