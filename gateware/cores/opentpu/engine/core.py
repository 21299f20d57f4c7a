# SPDX-License-Identifier: BSD-2-Clause
"""Top level of the pipelined OpenTPU engine.

::

    memory 0 -> Fetch -> Decode -> issue
        +--> LoadUnit        (RHM)   memory 1 -> unified buffer
        +--> WeightUnit      (RW)    memory 2 -> weight FIFO -> array
        +--> StoreUnit       (WHM)   unified buffer -> memory 3
        +--> MatrixUnit      (MMC)   unified buffer -> array -> accumulators
        +--> ActivationUnit  (ACT)   accumulators -> lanes -> unified buffer

**Order.** Decode checks an instruction completely (one adder, several cycles) and hands it to the
issue register. There it is compared with what the units still have to do; the answers are a cycle
old, which is safe, since units only advance while it waits. It issues, in program order, when its
unit is free and every row it shares with an older instruction is either done or *followed*: the
younger unit then counts how many rows it is behind (:mod:`.tracker`) and never overtakes.

===========  =======================================================================================
a younger    and older instructions that are still at work
===========  =======================================================================================
RHM          waits until no row it writes is still to be read or written (its answers never wait for
             another port); one more may be queued; and no byte it reads is still to be written by a
             WHM
RW           waits for a place in the weight queue, and like RHM for the bytes of a WHM
WHM          reads rows when the RHMs before it are complete, follows ACT; writes when all older
             reads are back
MMC          follows RHM and ACT in the unified buffer, and an ACT that still reads the rows it will
             write
ACT          follows the MMCs in the accumulators; waits for rows that RHM, WHM, MMC still use in
             the buffer
MMC.C,       run alone: their rows are checked one by one, and nothing issues before they have
ACT.P        passed; MMC.C compares each row with what an older RHM has still to load
===========  =======================================================================================

With ``chain`` false, following becomes waiting.

**Ports.** The unified buffer has one read port a bank (MMC before WHM) and one write port (ACT
before RHM), the accumulators one read port (MMC before ACT) and one write port (MMC). The array
never stalls, hence these priorities.

**Latency.** A vector read in cycle c is written to the accumulators at c + 2N + multiplier + 7 (two
banks), and may be read by ACT one cycle later. MMC to MMC costs one cycle more than its rows; the
next tile may be switched to N+1 cycles after the last one.

**Small build.** With one bank the memories go without output registers, the readers have one
request in flight, the activation is one stage: as an UP5K needs.

**End.** HLT and faults stop issue; the units finish older instructions; a WHM younger than a failed
read
writes nothing. Then ``finish``, and a sweep of zeros over both memories while ``ready`` is low.
"""

from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from ....isa.parameters import Capacity, Params
from ....primitives.floorplan import pair_places
from ....shell.activity import Activity, Row
from ....shell.engine import Engine, EngineControl, Stall
from ..isa import ISA
from ..params import LARGEST_ARRAY, crowded
from .actunit import ActivationUnit
from .buffers import BankedBuffer
from .classify import OPS
from .decode import Decode, FaultCode
from .fetch import WORD_BYTES, Fetch
from .load_store import LoadUnit, StoreUnit, WeightUnit, trouble_layout
from .matrix import MatrixUnit, memory_latency, ub_latency
from .tracker import overlap, slack

__all__ = ["PipelinedEngine"]

#: Logic cells that a multiplier without a DSP takes at least (127 measured on an iCE40 and more on
#: an ECP5: specification, 9.1), and those of the adder behind a multiplier.
_MULTIPLIER_CELLS, _ADDER_CELLS = 100, 12


def _least_cells(n, params, capacity):
    """Lower bound of the logic cells that an array of side ``n`` takes, with as many products in
    DSPs as an FPGA of this ``capacity`` has."""
    dsps = {"dsp": capacity.products, "dsp_pair": capacity.products_packed}
    most = dsps.get(params["multiplier"], 0)
    if params["dsp_limit"] < most:
        most = min(most, 2 * params["dsp_limit"])
    return _ADDER_CELLS * n * n + _MULTIPLIER_CELLS * max(n * n - most, 0)


class PipelinedEngine(Engine):
    """Pipelined OpenTPU engine (docs/isa/opentpu.md).

    ``n`` is a multiple of ``beat_bytes``.

    Members
    -------
    control : Out, :class:`~quintet.gateware.shell.engine.EngineControl`
    memory : Out, four memory ports: fetch, RHM, RW, WHM

    Counting: an instruction is retired when it issues (MMC.C and ACT.P: when its rows have passed),
    and reads 14 bytes then; the rows of RHM, RW and WHM count one by one as they pass; operations
    are N*N for each vector.
    """

    #: Any that n is a multiple of.
    BEATS = None

    @staticmethod
    def check_capacity(params: Params, capacity: Capacity | None) -> None:
        n = params["n"]
        if n > LARGEST_ARRAY:
            raise ValueError(
                f"parameter n = {n}: expected at most {LARGEST_ARRAY} in gateware; the golden "
                f"model (model:opentpu) takes up to 256"
            )
        if capacity is None or _least_cells(n, params, capacity) <= capacity.cells:
            return
        fits = max(
            side
            for side in range(0, n, 2)
            if _least_cells(side, params, capacity) <= capacity.cells
        )
        raise ValueError(
            f"parameter n = {n}: the array takes {_least_cells(n, params, capacity):,} logic cells "
            f"at least, of {capacity.cells:,}; expected at most {fits}"
        )

    def prepare(self) -> tuple[EngineControl, int]:
        n = self.params["n"]
        self.check_capacity(self.params, None)
        if n % self.beat_bytes:
            raise ValueError(
                f"Parameter n must be a multiple of the memory port's beat of "
                f"{self.beat_bytes} bytes, not {n}"
            )
        return EngineControl(
            registers=ISA.registers,
            operations_bits=(n * n).bit_length(),
            bytes_bits=(2 * n + WORD_BYTES).bit_length(),
            counters=ISA.counters,
        ), 4

    @staticmethod
    def floorplan(device: str, params: Params) -> dict[str, str]:
        """Placement of an array's multipliers that make two products each: a pair of columns side
        by side. In crowded builds they surround the middle of the FPGA: the fetch unit, the decoder
        and the operands of its adder are wired more densely than the array, and meet there."""
        pairs = params["n"] // 2
        if params["multiplier"] != "dsp_pair" or params["dsp_limit"] < pairs * params["n"]:
            return {}
        return pair_places(
            device, "matrix.array.multipliers", pairs, params["n"], ring=crowded(params)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = self.control
        running, halting, aborting, finished = Signal(), Signal(), Signal(), Signal()
        u = self._units(m, finished)
        program = Cat(Const(0, 4), control.program_address[4:])
        self._fetch(m, u, program, halting)

        cand = u.decode.candidate
        is_op = {name: cand.op[name] for name in OPS}
        compared = Signal()  # the comparisons are of this candidate
        take = Signal()
        m.d.sync += compared.eq(u.decode.valid & ~take)
        on, behind, above = self._compare(m, u)
        able, exclusive, lonely, drained = self._able(m, u, is_op, on, compared, take)
        careful = Signal()
        # MMC.B reads the row that its last vector writes at once.
        bias = cand.bias if self.params["ext_bias"] else Const(0)
        m.d.sync += careful.eq(~cand.overwrite & (u.matrix.short | above | bias))
        go = Signal()
        m.d.comb += [
            go.eq(
                running
                & ~halting
                & u.decode.valid
                & (able | is_op["nop"])
                & ~exclusive
                & ~control.abort
                & ~(is_op["mmc"] & (u.matrix.active | careful & u.matrix.near))
            ),
            take.eq(go),
            u.decode.take.eq(take),
        ]
        # All but the matrix unit hear of it a cycle later, when the candidate still stands and the
        # next one is not yet there.
        issued, last_pc = Signal(), Signal(32, reset_less=True)
        pc = Signal(32)
        m.d.sync += issued.eq(go)
        with m.If(go):
            m.d.sync += [pc.eq(Mux(is_op["fault"], pc, pc + WORD_BYTES)), last_pc.eq(pc)]
        for op, unit in (("rhm", u.rhm), ("rw", u.rw), ("whm", u.whm)):
            m.d.comb += [
                unit.issue.eq(issued & is_op[op]),
                unit.candidate.eq(cand),
                unit.pc.eq(last_pc),
            ]
        for op, unit, when in (("mmc", u.matrix, go), ("act", u.act, issued)):
            m.d.comb += [
                unit.issue.eq(when & is_op[op]),
                unit.candidate.eq(cand),
                unit.kill.eq(aborting),
            ]
        self._follow(m, u, on, behind, finished, aborting, issued & is_op["rw"])
        self._configuration(m, issued & is_op["cfg"], cand, u.matrix, u.act)
        self._sync(m, issued & is_op["sync"], cand)

        # Faults: at issue, while running, and of the memory; of several the oldest
        found = Signal()
        code, fault_pc, detail = Signal(8), Signal(32, reset_less=True), Signal(32, reset_less=True)
        m.d.comb += [
            control.fault_code.eq(code),
            control.fault_pc.eq(fault_pc),
            control.fault_detail.eq(detail),
        ]
        ended = Signal()
        with m.If(issued & is_op["hlt"]):
            m.d.sync += halting.eq(1)
        with m.If(issued & is_op["fault"]):
            m.d.sync += [
                halting.eq(1),
                found.eq(1),
                code.eq(cand.code),
                fault_pc.eq(last_pc),
                detail.eq(cand.begin),
            ]
        for unit, number, built in (
            (u.matrix, FaultCode.UB_RANGE, self.params["ext_conv"]),
            (u.act, FaultCode.ACC_RANGE, self.params["ext_pool"]),
        ):
            if built:
                # (nothing younger ran beside it: what was found already is older)
                with m.If(unit.range_fault & ~aborting & ~found):
                    m.d.sync += [
                        halting.eq(1),
                        found.eq(1),
                        code.eq(number),
                        fault_pc.eq(last_pc),
                        detail.eq(unit.range_row),
                    ]
        trouble, judged, older, noted = self._trouble(m, u, found, fault_pc)
        with m.If(judged & older & ~aborting):
            m.d.sync += [
                halting.eq(1),
                found.eq(1),
                code.eq(FaultCode.BUS_ERROR),
                fault_pc.eq(trouble.pc),
                detail.eq(trouble.address),
            ]
        with m.If(running & control.abort & ~found & ~aborting & ~ended):
            m.d.sync += [
                aborting.eq(1),
                halting.eq(1),
                found.eq(1),
                code.eq(FaultCode.ABORTED),
                fault_pc.eq(pc),
                detail.eq(0),
            ]
        with m.If(running & control.abort & found):
            m.d.sync += aborting.eq(1)

        # End of the run
        m.d.comb += ended.eq(
            running & halting & drained & u.fetch.idle & ~noted & ~judged & ~go & ~issued
        )
        m.d.sync += finished.eq(ended & ~finished)
        m.d.comb += control.finish.eq(finished)
        sweeping = self._sweep(m, u)
        m.d.comb += control.ready.eq(~running & ~sweeping)
        with m.If(finished):
            m.d.sync += [running.eq(0), sweeping.eq(1)]
        with m.If(control.start):
            m.d.sync += [
                running.eq(1),
                halting.eq(0),
                aborting.eq(0),
                found.eq(0),
                code.eq(0),
                pc.eq(program),
            ]
        m.d.comb += u.matrix.clear.eq(finished)
        self._count(m, go, is_op, lonely, u)
        self._parts = u, pc
        return m

    def rows(self) -> tuple[Row, ...]:
        return (
            Row("fetch", numbered=False),
            Row("RHM"),
            Row("RW", queue=True),
            Row("MMC"),
            Row("ACT"),
            Row("WHM"),
        )

    def activity(self) -> dict[str, Activity]:
        """Rows of the activity timeline: one for each unit. The matrix unit receives an instruction
        in the cycle of its issue."""
        u, pc = self._parts
        return {
            "fetch": Activity(~u.fetch.idle),
            "RHM": Activity(u.rhm.active, number=u.rhm.trouble.pc),
            "RW": Activity(takes=u.rw.issue, number=u.rw.pc, leaves=u.rw.done),
            "MMC": Activity(u.matrix.active, takes=u.matrix.issue, number=pc),
            "ACT": Activity(u.act.active, takes=u.act.issue, number=u.rw.pc),
            "WHM": Activity(u.whm.active, number=u.whm.trouble.pc),
        }

    def _units(self, m, finished):
        """Instantiates units and memories, by name, and connects their data."""
        p, n = self.params, self.params["n"]
        m.submodules.fetch = ResetInserter(finished)(
            fetch := Fetch(beat_bytes=self.beat_bytes, words=p["fetch_words"])
        )
        m.submodules.decode = ResetInserter(finished)(decode := Decode(params=p))
        m.submodules.matrix = matrix = MatrixUnit(params=p, family=self.family)
        m.submodules.act = act = ActivationUnit(params=p, pending_bits=matrix.pending_bits)
        m.submodules.rhm = rhm = LoadUnit(params=p, beat_bytes=self.beat_bytes)
        m.submodules.rw = rw = WeightUnit(params=p, beat_bytes=self.beat_bytes)
        m.submodules.whm = whm = StoreUnit(params=p, beat_bytes=self.beat_bytes)
        latency = memory_latency(p)
        m.submodules.ub = ub = BankedBuffer(
            width=8 * n,
            rows=p["ub_rows"],
            banks=p["banks"],
            latency=ub_latency(p),
            local=crowded(p),
            family=self.family,
        )
        m.submodules.accumulators = acc = BankedBuffer(
            width=32 * n,
            rows=p["acc_rows"],
            banks=p["banks"],
            latency=latency,
            minor=False,
            local=crowded(p),
            family=self.family,
        )
        for port, part in zip(self.memory, (fetch, rhm, rw, whm), strict=True):
            wiring.connect(m, part.memory, wiring.flipped(port))
        m.d.comb += [
            ub.first_read.eq(matrix.ub_read),
            ub.first_row.eq(matrix.ub_address),
            matrix.ub_data.eq(ub.first_data),
            ub.second_read.eq(whm.ub_read),
            ub.second_row.eq(whm.ub_address),
            whm.ub_grant.eq(ub.second_grant),
            whm.ub_data.eq(ub.second_data),
            ub.major_write.eq(act.ub_write),
            ub.major_row.eq(act.ub_address),
            ub.major_data.eq(act.ub_data),
            ub.minor_write.eq(rhm.ub_write),
            ub.minor_row.eq(rhm.ub_address),
            ub.minor_data.eq(rhm.ub_data),
            rhm.ub_grant.eq(ub.minor_grant),
            acc.first_read.eq(matrix.acc_read),
            acc.first_row.eq(matrix.acc_address),
            matrix.acc_data.eq(acc.first_data),
            acc.second_read.eq(act.acc_read),
            acc.second_row.eq(act.acc_address),
            act.acc_grant.eq(acc.second_grant),
            act.acc_data.eq(acc.second_data),
            acc.major_write.eq(matrix.acc_write),
            acc.major_row.eq(matrix.acc_write_row),
            acc.major_data.eq(matrix.acc_write_data),
            matrix.push.eq(rw.push),
            matrix.row.eq(rw.row),
        ]
        return SimpleNamespace(
            fetch=fetch,
            decode=decode,
            matrix=matrix,
            act=act,
            rhm=rhm,
            rw=rw,
            whm=whm,
            ub=ub,
            acc=acc,
        )

    def _fetch(self, m, u, program, halting):
        """Fetches words for the decoder, and provides the registers for their checks."""
        fetch, decode, control = u.fetch, u.decode, self.control
        named = (
            "hostmem_base",
            "hostmem_limit",
            "weights_base",
            "weights_limit",
            "cfg_norm",
            "cfg_pool",
        )
        m.d.comb += [
            fetch.start.eq(decode.fetch),
            fetch.stop.eq(halting),
            fetch.address.eq(program),
            fetch.length.eq(control.program_length),
            decode.start.eq(control.start),
            decode.word.eq(fetch.word),
            decode.word_valid.eq(fetch.valid),
            decode.word_error.eq(fetch.error),
            decode.error_address.eq(fetch.error_address),
            decode.exhausted.eq(fetch.exhausted),
            fetch.take.eq(decode.take_word & fetch.valid),
            decode.registers.program_address.eq(program),
            decode.registers.program_length.eq(control.program_length),
            decode.registers.window_base.eq(control.window_base),
            decode.registers.window_limit.eq(control.window_limit),
            *(decode.registers[name].eq(control.reg[name]) for name in named),
        ]

    def _compare(self, m, u):
        """Compares the candidate with the outstanding work of the units, registered: ``(on, behind,
        above)``."""
        cand, matrix, act, rhm, whm = u.decode.candidate, u.matrix, u.act, u.rhm, u.whm
        rows = (cand.ub, cand.ub_last)
        on_rhm = overlap(m, "rhm", *rows, rhm.row, rhm.last) & rhm.active
        on_queued = overlap(m, "queued", *rows, rhm.queued_row, rhm.queued_last)
        was_queued = (
            Signal()
        )  # one that leaves the queue is compared as the active one from the next cycle on
        m.d.sync += was_queued.eq(rhm.queued)
        on_queued = on_queued & was_queued
        on_act = overlap(m, "act", *rows, act.ub_row, act.ub_last) & act.active
        on_whm = overlap(m, "whm", *rows, whm.row, whm.last) & whm.reading
        on_mmc = overlap(m, "mmc", *rows, matrix.ub_row, matrix.ub_last) & matrix.active
        on_act_acc = (
            overlap(m, "act_acc", cand.acc, cand.acc_last, act.acc_row, act.acc_last) & act.active
        )
        on_mmc_acc = overlap(m, "mmc_acc", cand.acc, cand.acc_last, matrix.acc_row, matrix.acc_last)
        above = Signal()
        m.d.sync += above.eq(cand.acc > matrix.acc_base)
        before, behind_begin, on_bytes = Signal(), Signal(), Signal()
        m.d.sync += [before.eq(cand.begin < whm.end), behind_begin.eq(whm.begin < cand.end)]
        m.d.comb += on_bytes.eq(before & behind_begin & whm.active | whm.earlier)
        behind = {
            "rhm": slack(m, "rhm", cand.ub, rhm.row),
            "act": slack(m, "act", cand.ub, act.ub_row),
            "act_acc": slack(m, "act_acc", cand.acc, act.acc_row),
            "mmc_acc": slack(m, "mmc_acc", cand.acc, matrix.acc_row),
        }
        on = SimpleNamespace(
            rhm=on_rhm,
            queued=on_queued,
            act=on_act,
            whm=on_whm,
            mmc=on_mmc,
            act_acc=on_act_acc,
            mmc_acc=on_mmc_acc,
            bytes=on_bytes,
        )
        return on, behind, above

    def _able(self, m, u, is_op, on, compared, take):
        """Whether the candidate of the previous cycle may issue: ``(able, exclusive, lonely,
        drained)``."""
        p, chain, cand = self.params, self.params["chain"], u.decode.candidate
        decode, matrix, act, rhm, rw, whm = u.decode, u.matrix, u.act, u.rhm, u.rw, u.whm
        exclusive, lonely = Signal(), Signal()
        m.d.comb += exclusive.eq(matrix.exclusive | act.exclusive)
        if p["ext_conv"] or p["ext_pool"]:
            m.d.sync += lonely.eq(exclusive)
        drained = Signal()
        m.d.comb += drained.eq(
            ~rhm.active
            & ~rhm.queued
            & ~rw.active
            & ~whm.active
            & ~matrix.active
            & (matrix.pending == 0)
            & ~act.active
        )
        convolve = cand.convolve if p["ext_conv"] else Const(0)
        pool = cand.pool if p["ext_pool"] else Const(0)
        behind_acc = on.mmc_acc & (matrix.pending != 0) | (matrix.old_pending != 0)
        can = {
            "nop": Const(1),
            "cfg": Const(1),
            "rhm": rhm.ready & ~on.mmc & ~on.act & ~on.whm & ~on.bytes,
            "rw": ~rw.asking & matrix.place & ~on.bytes,
            "whm": whm.ready & (Const(1) if chain else ~on.act & ~on.rhm & ~on.queued),
            "mmc": ~on.queued
            & ~(convolve & (rhm.queued | act.active | (Const(0) if chain else rhm.active)))
            & (Const(1) if chain else ~on.rhm & ~on.act & ~on.act_acc),
            "act": ~act.active
            & ~on.rhm
            & ~on.queued
            & ~on.whm
            & ~on.mmc
            & ~(pool & (matrix.pending != 0))
            & (Const(1) if chain else ~behind_acc),
            "sync": drained,
            "hlt": drained,
            "fault": Const(1),
        }
        # Once able, an instruction stays able: what it waits for only advances. The matrix unit
        # alone is asked in the cycle of the issue, so that MMC follows MMC with one cycle between.
        able, soon = Signal(), Signal()
        m.d.comb += soon.eq(Cat(is_op[op] & can[op] for op in OPS).any())
        m.d.sync += able.eq(soon & compared & decode.valid & ~take)
        return able, exclusive, lonely, drained

    def _follow(self, m, u, on, behind, finished, aborting, reserve):
        """Chaining: connects each instruction with the older one that it follows."""
        matrix, act, rhm, rw, whm = u.matrix, u.act, u.rhm, u.rw, u.whm
        follow = Const(int(self.params["chain"]))
        convolve = u.decode.candidate.convolve if self.params["ext_conv"] else Const(0)
        m.d.comb += [
            matrix.behind_reader.follow.eq(on.rhm & follow & ~convolve),
            matrix.behind_reader.slack.eq(behind["rhm"]),
            matrix.behind_act.follow.eq(on.act & follow),
            matrix.behind_act.slack.eq(behind["act"]),
            matrix.behind_act_acc.follow.eq(on.act_acc & follow),
            matrix.behind_act_acc.slack.eq(behind["act_acc"]),
            matrix.reader_active.eq(rhm.active),
            matrix.reader_step.eq(rhm.step),
            matrix.reader_row.eq(rhm.row),
            matrix.reader_last.eq(rhm.last),
            matrix.act_active.eq(act.active),
            matrix.act_step.eq(act.step),
            matrix.act_acc_step.eq(act.acc_step),
            act.behind_matrix.follow.eq(on.mmc_acc & follow),
            act.behind_matrix.slack.eq(behind["mmc_acc"]),
            act.pending.eq(matrix.pending),
            act.old_pending.eq(matrix.old_pending),
            act.written.eq(matrix.written),
            act.compat.eq(self.control.reg.sigmoid_compat),
            whm.behind_act.follow.eq(on.act & follow),
            whm.behind_act.slack.eq(behind["act"]),
            whm.act_active.eq(act.active),
            whm.act_step.eq(act.step),
            whm.older_readers.eq(rhm.active + rhm.queued),
            whm.older_tiles.eq(rw.tiles),
            whm.reader_done.eq(rhm.done),
            whm.clear.eq(finished),
            whm.reader_error.eq(rhm.error),
            whm.tile_done.eq(rw.done),
            whm.tile_error.eq(rw.error),
            whm.kill.eq(aborting),
            rhm.stop.eq(aborting),
            rw.stop.eq(aborting),
            matrix.reserve.eq(reserve),
        ]

    def _sync(self, m, synced, cand):
        """Effects of the instruction SYNC: the interrupt and the tag register."""
        control = self.control
        m.d.comb += control.interrupt.eq(synced & cand.switch)
        if self.params["ext_sync"]:
            with m.If(synced):
                m.d.sync += control.val.sync_tag.eq(cand.begin[:16])
            with m.If(control.start):
                m.d.sync += control.val.sync_tag.eq(0)

    def _trouble(self, m, u, found, fault_pc):
        """Bus error of a unit: ``(trouble, judged, older, noted)``, with whether it is older than
        the fault that was found."""
        trouble, noted, judged, older = (
            Signal(trouble_layout(), reset_less=True),
            Signal(),
            Signal(),
            Signal(),
        )
        # Each unit may report in its own phase, so that no two do at once, nor while one is
        # compared with what was found. A fault that is found meanwhile is younger: its instruction
        # issues last.
        phase = Signal(6, init=1)
        m.d.sync += [
            phase.eq(phase.rotate_left(1)),
            noted.eq(0),
            judged.eq(noted),
            older.eq(~found | (trouble.pc < fault_pc)),
        ]
        for k, unit in enumerate((u.rhm, u.rw, u.whm)):
            m.d.comb += unit.error_ready.eq(phase[2 * k])
            with m.If(phase[2 * k]):
                m.d.sync += [noted.eq(unit.error), trouble.eq(unit.trouble)]
        return trouble, judged, older, noted

    def _sweep(self, m, u):
        """Clears both memories after reset and after a run; returns whether that is in progress."""
        p = self.params
        sweep_bits = max(exact_log2(p["ub_rows"]), exact_log2(p["acc_rows"])) - exact_log2(
            p["banks"]
        )
        sweeping, sweep = Signal(init=1), Signal(sweep_bits)
        with m.If(sweeping):
            m.d.sync += sweep.eq(sweep + 1)
            with m.If(sweep.all()):
                m.d.sync += sweeping.eq(0)
        for buffer in (u.ub, u.acc):
            m.d.comb += [buffer.sweep.eq(sweeping), buffer.sweep_row.eq(sweep)]
        return sweeping

    def _configuration(self, m, write, cand, matrix, act):
        """CFG registers (section 4.9), copied from the control registers at the start."""
        p, regs = self.params, self.control.reg
        for number, (name, ext, port) in enumerate(
            (
                ("norm", "ext_norm", act.norm),
                ("conv", "ext_conv", matrix.conv),
                ("pool", "ext_pool", act.pool),
                ("poolrow", "ext_pool", act.poolrow),
            )
        ):
            if not p[ext]:
                continue
            held = Signal(len(port), name=f"cfg_{name}")
            with m.If(self.control.start):
                m.d.sync += held.eq(regs[f"cfg_{name}"])
            with m.Elif(write & (cand.ub[:2] == number)):
                m.d.sync += held.eq(cand.begin)
            m.d.comb += port.eq(held)

    def _count(self, m, go, is_op, lonely, u):
        """Counters, and the class of every cycle (section 7.2)."""
        p, n, control = self.params, self.params["n"], self.control
        decode, matrix, act, rhm, rw, whm = u.decode, u.matrix, u.act, u.rhm, u.rw, u.whm
        # An MMC.C or ACT.P retires when its last row was read or written.
        late = lonely & ~matrix.exclusive & ~act.exclusive & ~control.fault_code.any()
        now, owed = Signal(), Signal()
        m.d.sync += owed.eq((late | owed) & now)
        convolve = is_op["mmc"] & decode.candidate.convolve if p["ext_conv"] else Const(0)
        pool = is_op["act"] & decode.candidate.pool if p["ext_pool"] else Const(0)
        read = rw.taken if p["ext_diag"] else rw.push
        retired = Signal()
        m.d.comb += [
            now.eq(go & ~is_op["fault"] & ~convolve & ~pool),
            retired.eq(now | late | owed),
            control.retired.eq(retired),
            control.operations.eq(Mux(matrix.work, n * n, 0)),
            control.bytes_read.eq(
                Mux(retired, WORD_BYTES, 0) + Mux(rhm.ub_grant, n, 0) + Mux(read, n, 0)
            ),
            control.bytes_written.eq(Mux(whm.row_done, n, 0)),
        ]
        waiting = decode.valid & ~go
        stall = Signal(Stall)
        m.d.comb += stall.eq(Stall.OTHER)
        with m.If(matrix.work):
            m.d.comb += stall.eq(Stall.WORK)
        with m.Elif(matrix.wait_tile | matrix.wait_reader):
            m.d.comb += stall.eq(Stall.OPERAND)
        with m.Elif(matrix.active):
            m.d.comb += stall.eq(Stall.OTHER)
        with m.Elif(decode.starved & ~decode.valid):
            m.d.comb += stall.eq(Stall.FETCH)
        with m.Elif(waiting & (is_op["rhm"] | is_op["rw"])):
            m.d.comb += stall.eq(
                Mux(whm.active & ~rhm.active & ~rw.asking, Stall.WRITE, Stall.OPERAND)
            )
        with m.Elif(waiting & is_op["whm"]):
            m.d.comb += stall.eq(Stall.WRITE)
        with m.Elif(waiting & (is_op["hlt"] | is_op["sync"])):
            m.d.comb += stall.eq(
                Mux(
                    whm.active, Stall.WRITE, Mux(rhm.active | rw.active, Stall.OPERAND, Stall.OTHER)
                )
            )
        with m.Elif(waiting & is_op["act"] & rhm.active):
            m.d.comb += stall.eq(Stall.OPERAND)
        m.d.sync += control.stall.eq(stall)
