# SPDX-License-Identifier: BSD-2-Clause
"""Small OpenTPU engine, for an UP5K: the same instruction set with a quarter of the logic.

::

    memory 0 <-> Mover <-> fields of the next word -> MicroMachine --> ComputeUnit (MMC, ACT)
                   |                                       |               |
                   +-- rows (RHM, WHM), tiles (RW) --------+---------------+

A microprogram checks each word completely with one adder (about 12 cycles) and issues it when no
row it shares with an instruction of the other unit is still to be read or written: there is no
chaining. One transfer, and one MMC or ACT with another one waiting, are under way at a time, so
that nothing else can overtake.

An instruction is retired when it and all older ones can no longer fail: those issued behind a
transfer wait for its end.
"""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ....isa.parameters import Params
from ....memory.port import MAX_BEATS
from ....memory.width import WidthAdapter
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl, Stall, first_class
from ..isa import ISA
from .compute import ComputeUnit, N
from .instructions import Command, Cond, External
from .machine import FIELD_REGISTERS, MicroMachine
from .mover import Mover, WordLayout

__all__ = ["SmallEngine", "small_fits"]

_WORD_BYTES = 14
_WHM, _RW, _MMC, _ACT, _SYNC, _RHM = range(1, 7)


def small_fits(params: Params, beat_bytes: int) -> bool:
    """Whether the small engine supports a build: one bank, no chaining, no extension except SYNC,
    vectors of four bytes, which are one or two beats."""
    return (
        params["banks"] == 1
        and not params["chain"]
        and params["n"] == N
        and beat_bytes in (N, N // 2)
        and not any(
            params[name]
            for name in ("ext_norm", "ext_conv", "ext_pool", "ext_diag", "ext_bias", "norm_reset")
        )
        and params["ub_rows"] > params["acc_rows"]
        and params["multiplier"] != "dsp_pair"
        and (params["multiplier"] in ("lut", "rows") or params["dsp_limit"] >= N * N)
    )


class SmallEngine(Engine):
    """Small OpenTPU engine (docs/isa/opentpu.md), for builds that satisfy :func:`small_fits`.

    One memory port.

    An RW and the MMC behind it take 24 cycles of the micro machine, so MMCs of more rows than that
    run at a row a cycle; MMC to MMC costs one cycle more than its rows, with or without a switch,
    and so does ACT.
    """

    def prepare(self) -> tuple[EngineControl, int]:
        if not small_fits(self.params, self.beat_bytes):
            raise ValueError(
                "The small engine has one bank, no chaining, no extension but SYNC, n = 4 and "
                "beats of 2 or 4 bytes, "
                "more rows in the unified buffer than in the accumulators, and no dsp_pair"
            )
        return EngineControl(
            registers=ISA.registers,
            operations_bits=(N * N).bit_length(),
            bytes_bits=(N + _WORD_BYTES).bit_length(),
            counters=ISA.counters,
        ), 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = self.params
        m.submodules.micro = self._micro = MicroMachine(params=p)
        m.submodules.mover = self._mover = mover = Mover(row_bits=exact_log2(p["ub_rows"]))
        m.submodules.compute = self._compute = ComputeUnit(params=p, family=self.family)
        memory = wiring.flipped(self.memory[0])
        if self.beat_bytes < N:
            # The mover asks for no more than half the longest burst, so that none has to be split.
            m.submodules.halves = halves = WidthAdapter(
                beat_bytes=N, memory_beat_bytes=self.beat_bytes, longest=MAX_BEATS // 2
            )
            wiring.connect(m, halves.memory, memory)
            memory = halves.port
        wiring.connect(m, mover.memory, memory)

        s = SimpleNamespace(
            command={number: self._micro.commands[number] for number in Command}
        )  # signals that several steps use
        self._take(m, s)
        self._queue(m, s)
        self._retire(m, s)
        self._decide(m, s)
        self._connect(m, s)
        self._run(m, s)
        self._count(m, s)
        return m

    def rows(self) -> tuple[Row, ...]:
        return Row("program"), Row("loads and stores"), Row("MMC and ACT")

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline. A program is straight-line code: the word taken last is
        current, and a skipped NOP counts as taken."""
        micro, mover, compute, control = self._micro, self._mover, self._compute, self.control
        taken = micro.commands[Command.DISPATCH]
        return {
            "program": Activity(
                (taken, control.finish),
                takes=taken,
                each=_WORD_BYTES,
                base=control.program_address & ~0xF,
            ),
            "loads and stores": Activity(mover.active, takes=mover.move, number="program"),
            "MMC and ACT": Activity(compute.busy, takes=compute.issue, number="program"),
        }

    def _take(self, m, s):
        """Current word, and its kind."""
        mover = self._mover
        s.word, s.slot, s.is_mmc, s.is_tile, s.has_rows = (
            Signal(WordLayout(), name="word"),
            Signal(),
            Signal(),
            Signal(),
            Signal(),
        )
        with m.If(
            s.command[Command.DISPATCH] & ~mover.skip
        ):  # (a NOP that was skipped follows one)
            m.d.sync += [s.word.eq(mover.parsed), s.slot.eq(~s.slot)]
        kind = s.word.opcode[:3]
        m.d.comb += [
            s.is_mmc.eq(kind == _MMC),
            s.is_tile.eq(kind == _RW),
            s.has_rows.eq(s.is_mmc | (kind == _ACT) | (kind == _WHM) | (kind == _RHM)),
        ]

    def _queue(self, m, s):
        """Weight queue, in program order."""
        p, command, switches = self.params, s.command, s.word.flags[0]
        pending, switched, s.refused = Signal(range(p["wfifo_tiles"] + 2)), Signal(), Signal()
        m.d.comb += s.refused.eq(
            Mux(
                s.is_tile,
                pending == p["wfifo_tiles"] + 1,
                s.is_mmc & Mux(switches, pending == 0, ~switched),
            )
        )
        with m.If(command[Command.BEGIN]):
            m.d.sync += [pending.eq(0), switched.eq(0)]
        with m.Elif(command[Command.COMPUTE] & (s.is_mmc & switches)):
            m.d.sync += [pending.eq(pending - 1), switched.eq(1)]
        with m.Elif(command[Command.MOVE] & s.is_tile):
            m.d.sync += pending.eq(pending + 1)

    def _retire(self, m, s):
        """Counter of instructions that have not retired; a transfer fetches at most one word per
        burst."""
        mover, command = self._mover, s.command
        s.issued, s.now = Signal(4), Signal()
        m.d.comb += s.now.eq((s.issued != 0) & ~mover.active & ~mover.trouble)
        adds = (
            command[Command.COMPUTE]
            | command[Command.MOVE]
            | command[Command.RETIRE]
            | command[Command.SYNC]
        )
        m.d.sync += s.issued.eq(s.issued + adds - s.now)
        with m.If(mover.trouble):
            m.d.sync += s.issued.eq(0)

    def _decide(self, m, s):
        """Conditions and values that the microprogram reads."""
        micro, mover, compute, control, regs, word = (
            self._micro,
            self._mover,
            self._compute,
            self.control,
            self.control.reg,
            s.word,
        )
        kind, allowed = word.opcode[:3], Signal(8)
        bad_flags, odd, busy, transfer, host = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            allowed.eq(Mux(s.is_mmc, 0x07, Mux(kind == _ACT, 0x18, Mux(kind == _SYNC, 0x01, 0)))),
            bad_flags.eq((word.flags & ~allowed).any()),
            odd.eq(
                bad_flags
                | word.high
                | s.refused
                | ~s.has_rows & (word.length | word.ub)
                | ~s.has_rows & ~s.is_tile & word.low
            ),
            busy.eq(mover.active | ~mover.idle | compute.busy | (s.issued != 0)),
            transfer.eq(mover.active | (s.issued != 0)),
            host.eq(mover.active & ~mover.tiling),
        ]
        conditions = {
            Cond.BAD_FLAGS: bad_flags,
            Cond.LENGTH: word.length,
            Cond.HIGH: word.high,
            Cond.LOW: word.low,
            Cond.UB: word.ub,
            Cond.WEIGHTS: s.refused,
            Cond.NO_WORD: ~(mover.word | mover.skip),
            Cond.TRANSFER: transfer,
            Cond.UNFREE: transfer | mover.trouble,
            Cond.TROUBLE: mover.trouble,
            Cond.HOST: host,
            Cond.BESET: host | mover.trouble,
            Cond.QUEUED: compute.queued,
            Cond.COMPUTING: compute.busy,
            Cond.SETTLED: ~compute.busy & ~mover.trouble,
            Cond.BUSY: busy,
            Cond.SWITCH: word.flags[0],
            Cond.ABORT: control.abort,
            Cond.ODD_LENGTH: control.program_length[0],
            Cond.ODD_HOST: regs.hostmem_base[:4].any(),
            Cond.ODD_WEIGHTS: regs.weights_base[:4].any(),
            Cond.WHOLE_LIMIT: regs.hostmem_limit[:2] == 0,
            Cond.EVEN_FETCH: ~mover.odd,
            Cond.ODD: odd,
            Cond.AWRY: mover.trouble,
        }
        m.d.comb += [micro.conditions[number].eq(value) for number, value in conditions.items()]
        values = {
            External.PROGRAM: Cat(Const(0, 2), control.program_address[4:]),
            External.LENGTH: control.program_length[1:],
            External.WINDOW_BASE: control.window_base[2:],
            External.WINDOW_LIMIT: control.window_limit[2:],
            External.HOST_BASE: regs.hostmem_base[2:],
            External.HOST_LIMIT: regs.hostmem_limit[2:],
            External.WEIGHTS_BASE: regs.weights_base[2:],
            External.WEIGHTS_LIMIT: regs.weights_limit[2:],
            External.TRANSFER: mover.address,
            External.OPCODE: word.opcode,
        }
        m.d.comb += [micro.external[number].eq(value) for number, value in values.items()]

    def _connect(self, m, s):
        """Connects controller, mover and compute unit."""
        wiring.connect(m, self._mover.rows, self._compute.rows)
        micro, mover, compute, control, regs = (
            self._micro,
            self._mover,
            self._compute,
            self.control,
            self.control.reg,
        )
        command, flags = s.command, s.word.flags
        m.d.comb += [
            micro.entry.eq(Mux(mover.skip, 0, mover.parsed.opcode)),
            micro.known.eq(mover.skip | (mover.parsed.opcode[3:] == 0)),
            micro.slot.eq(s.slot),
            micro.halt.eq(mover.error & ~mover.skip | mover.trouble | control.abort),
            micro.write.eq(mover.field),
            micro.write_address.eq(Cat(mover.field_address, Const(FIELD_REGISTERS, 4))),
            micro.write_data.eq(mover.field_data),
            mover.field_ready.eq(micro.write_ready),
            mover.slot.eq(s.slot),
            mover.fetch.eq(command[Command.FETCH]),
            mover.next.eq(command[Command.DISPATCH]),
            mover.value.eq(micro.operand),
            mover.move.eq(command[Command.MOVE]),
            mover.number.eq(micro.number),
            mover.write.eq(s.word.opcode[0]),
            mover.tile.eq(s.is_tile),
            mover.set_row.eq(micro.mover_row),
            mover.clear.eq(command[Command.BEGIN]),
            compute.value.eq(micro.operand),
            compute.set_row.eq(micro.compute_row),
            compute.issue.eq(command[Command.COMPUTE]),
            compute.number.eq(micro.number),
            compute.activate.eq(~s.is_mmc),
            compute.switch.eq(flags[0]),
            compute.overwrite.eq(flags[2]),
            compute.func.eq(flags[3:5]),
            compute.compat.eq(regs.sigmoid_compat),
            compute.kill.eq(mover.trouble),
            compute.clear.eq(command[Command.BEGIN]),
            compute.sweep.eq(control.finish),
            compute.tile.eq(mover.done & mover.tiling),
        ]

    def _run(self, m, s):
        """Control of a run: start, end and fault."""
        p, control, micro, command = self.params, self.control, self._micro, s.command
        idle, started = Signal(init=1), Signal()
        m.d.comb += [
            micro.start.eq(started),
            control.ready.eq(idle & ~self._compute.sweeping),
            control.fault_pc.eq(micro.result),
            control.fault_detail.eq(micro.operand),
            control.interrupt.eq(command[Command.SYNC] & s.word.flags[0]),
        ]
        m.d.sync += control.finish.eq(command[Command.FINISH])
        with m.If(command[Command.FINISH]):
            m.d.sync += control.fault_code.eq(micro.operand)
        with m.If(control.finish):
            m.d.sync += idle.eq(1)
        if p["ext_sync"]:
            with m.If(command[Command.SYNC]):
                m.d.sync += control.val.sync_tag.eq(micro.operand)
        m.d.sync += started.eq(control.start)
        with m.If(control.start):
            m.d.sync += idle.eq(0)
            if p["ext_sync"]:
                m.d.sync += control.val.sync_tag.eq(0)

    def _count(self, m, s):
        """Counters, one cycle late: nothing is counted in the last cycles before the end."""
        control, micro, mover, compute, now = (
            self.control,
            self._micro,
            self._mover,
            self._compute,
            s.now,
        )
        m.d.sync += [
            control.retired.eq(now),
            control.operations.eq(Mux(compute.work, N * N, 0)),
            control.bytes_read.eq(
                Mux(now, _WORD_BYTES, 0)
                + Mux(mover.rows.push | mover.rows.store & mover.rows.stored, N, 0)
            ),
            control.bytes_written.eq(Mux(mover.sent, N, 0)),
            control.stall.eq(
                first_class(
                    (compute.work, Stall.WORK),
                    (compute.starved, Stall.OPERAND),
                    (micro.cond == Cond.NO_WORD, Stall.FETCH),
                    (
                        (micro.cond == Cond.TRANSFER)
                        | (micro.cond == Cond.HOST)
                        | (micro.cond == Cond.BUSY),
                        first_class(
                            (mover.active & mover.writing, Stall.WRITE),
                            (mover.active, Stall.OPERAND),
                        ),
                    ),
                )
            ),
        ]
