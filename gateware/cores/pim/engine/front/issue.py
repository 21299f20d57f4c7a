# SPDX-License-Identifier: BSD-2-Clause
"""Issue stage: takes instructions in order, executes scalar ones, and checks all others and sends
them to the units (sections 4, 6 and 9).

A scalar takes one cycle. Any other instruction stands still while :class:`~.legality.Operands` goes
through its steps, and is then *pending*: offered to its unit from the cycle after the last step on,
so that a move within LMem takes four cycles. Scalars go on behind it once it is known that it does
not fault; the next instruction of another kind begins when it is taken. ``send``, ``recv``,
``wait`` and ``sync`` stay until they are complete.
"""

from types import SimpleNamespace

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from .....arguments import check_integer
from .....isa.parameters import Params
from .....shell.engine import Stall
from .....shell.layouts import fields_of, word_layout
from ...isa import ISA
from ..commands import (
    group_bits,
    group_layout,
    matrix_layout,
    multiply_layout,
    progress_layout,
    transfer_layout,
    vector_layout,
)
from ..links import EventPort, StartLayout
from ..transfer.ledger import Ledger, MacCount
from .decode import decode, operation_layout
from .issue_report import account, commands, faults, pending_layout
from .legality import Operands
from .prefetch import fetched_layout
from .scalar import Registers, alu
from .scoreboard import Scoreboard

__all__ = ["Issue"]


class Issue(wiring.Component):
    """Issue stage of a processor: controls everything except its units, its code and its memory.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``
    number : int, of this core
    memory_size : int, bytes of main memory
    family : ``"ecp5"``, ``"ice40"`` or ``None``

    Members
    -------
    go, start, gmem_base, gmem_low, gmem_high, cores, stop : In, as in :class:`~..links.StartPort`
    ready : Out, low for 32 cycles after a reset, which every run begins with: registers become 0
    words : In(stream) of :func:`~.prefetch.fetched_layout`; ended : In, the code is at its end
    group : Out; entry : In, one cycle later
    matrix, vector, transfer : Out(streams) of commands; matrix_ends, vector_ends : In,
        what is done in the next cycle; matrix_reads : In, whose source has been read;
        transfer_progress : In, what is done
    late, late_code, late_detail : In, with the transfer's ``done``: it failed
    waits : In, the current transfer waits for its peer
    multiply : Out(stream); product_valid, product : In
    load : Out, one cycle; load_busy, load_done, load_word, load_error : In:
        ``sld`` of address ``main``
    events : Out(:class:`~..links.EventPort`)
    the rest : Out, as in :class:`~..links.StatePort`; ``halted``: a fault was found,
        older instructions may still run
    """

    def __init__(
        self, *, params: Params, number: int, memory_size: int, family: str | None = None
    ) -> None:
        check_integer("Number of the core", number, 0, params["cores"] - 1)
        self.params, self.number, self.memory_size, self.family = (
            params,
            number,
            memory_size,
            family,
        )
        # A program has no more words than main memory.
        self.index_bits = bits_for(memory_size // 4)
        super().__init__(
            {
                "ready": Out(1),
                "go": In(1),
                "start": In(StartLayout()),
                "gmem_base": In(32),
                "gmem_low": In(32),
                "gmem_high": In(32),
                "cores": In(range(params["cores"] + 1)),
                "stop": In(1),
                "words": In(stream.Signature(fetched_layout())),
                "ended": In(1),
                "group": Out(group_bits(params)),
                "entry": In(group_layout()),
                "matrix": Out(stream.Signature(matrix_layout(params))),
                "vector": Out(stream.Signature(vector_layout(params))),
                "transfer": Out(stream.Signature(transfer_layout(params))),
                "matrix_ends": In(progress_layout()),
                "matrix_reads": In(progress_layout()),
                "vector_ends": In(progress_layout()),
                "transfer_progress": In(progress_layout()),
                "late": In(1),
                "late_code": In(8),
                "late_detail": In(32),
                "waits": In(1),
                "multiply": Out(stream.Signature(multiply_layout())),
                "product_valid": In(1),
                "product": In(32),
                "load": Out(1),
                "main": Out(32),
                "load_busy": In(1),
                "load_done": In(1),
                "load_word": In(32),
                "load_error": In(1),
                "events": Out(EventPort(params)),
                "finished": Out(1),
                "halted": Out(1),
                "idle": Out(1),
                "blocked": Out(1),
                "blocked_read": Out(1),
                "fault": Out(1),
                "fault_code": Out(8),
                "fault_detail": Out(32),
                "pc": Out(32),
                "pc_offset": Out(32),
                "working": Out(1),
                "stall": Out(Stall),
                "done_scalar": Out(1),
                "done_matrix": Out(1),
                "done_vector": Out(1),
                "done_transfer": Out(1),
                "macs": Out(21),
                "debug_index": In(7),
                "debug_value": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        params = self.params
        m.submodules.operands = operands = Operands(
            params=params, memory_size=self.memory_size, family=self.family
        )
        m.submodules.board = board = Scoreboard(params=params)
        m.submodules.registers = registers = Registers(family=self.family)
        m.submodules.ledger = ledger = Ledger(
            depth=len(board.slots["transfer"]), index_bits=self.index_bits
        )
        m.submodules.mac_count = mac_count = MacCount(family=self.family)

        # The current instruction
        s.here, advance, op = Signal(), Signal(), Signal(operation_layout(), reset_less=True)
        s.running, s.dead, s.halting = Signal(), Signal(), Signal(name="halting")
        # All that enables many registers is decided a cycle before: ``halt`` (nothing begins any
        # more), ``at_first`` (the state is FIRST), ``leaving`` (the current instruction goes in
        # this cycle; a scalar goes out of FIRST).
        s.halt, s.at_first, leaving, scalar, s.multiplies = (
            Signal(),
            Signal(init=1),
            Signal(),
            Signal(),
            Signal(),
        )
        s.pc, s.place = Signal(self.index_bits), Signal(self.index_bits, name="place")
        decoded = decode(m, params, self.words.payload, self.cores, self.number)
        m.d.comb += [
            self.words.ready.eq(s.running & (~s.here | advance)),
            self.halted.eq(s.halting),
            scalar.eq(s.at_first & s.here & ~s.halt & op.simple),
            advance.eq(scalar | leaving),
        ]
        with m.If(self.words.ready):
            m.d.sync += [s.here.eq(self.words.valid), op.eq(decoded)]
        with m.If(advance):
            m.d.sync += [s.pc.eq(s.pc + 1), s.place.eq(s.place + Mux(op.long, 2, 1))]
        with m.If(self.stop):
            m.d.sync += [s.dead.eq(s.running), s.halt.eq(1)]
        s.low, word = op.low, Cat(op.low, op.high)
        fields, s.mvmul, waits, syncs = (
            fields_of(ISA, name, word) for name in ("vvadd", "mvmul", "wait", "sync")
        )
        s.rd, s.rs1, s.rs2 = fields.rd, fields.rs1, fields.rs2

        # The one in front of its unit
        s.pending, s.fresh, s.hand, s.at_fresh = Signal(), Signal(), Signal(), Signal()
        s.ready_one = Signal(pending_layout(self.index_bits), reset_less=True)

        self._widths(m, s)
        self._read(m, s, registers, op)
        self._check(m, s, operands, board, op)
        self._offer(m, s, operands, board, mac_count, op)

        # The steps
        s.waits_for_event, s.syncing, retire = Signal(), Signal(), Signal(name="retire")
        s.late_write = Signal()
        m.d.comb += [
            self.events.sync_core.eq(syncs.core),
            self.events.sync_event.eq(syncs.event),
            self.events.wait_event.eq(waits.event),
            self.events.wait_value.eq(waits.value),
            self.events.wait_count.eq(self.start.wait_count),
            self.events.sync.eq(s.syncing),
            self.events.wait.eq(s.waits_for_event),
        ]
        s.overflow = Signal()
        may_retire = Signal()
        m.d.comb += may_retire.eq(
            ~(op.vector & s.vector_done) & ~(~op.vector & self.transfer_progress.done)
        )

        s.meets = op.send | op.recv

        def go(state, leaves=0):
            """Moves to the next state, at whose end the instruction leaves."""
            m.d.sync += [
                s.at_first.eq(state == "FIRST"),
                s.at_fresh.eq(state == "FRESH"),
                leaving.eq(leaves),
                s.multiplies.eq(state == "MULTIPLY"),
            ]
            m.next = state

        def hand_over():
            m.d.comb += s.hand.eq(1)
            with m.If(s.meets):
                go("MEET")
            with m.Else():
                go("FRESH")

        with m.FSM(name="issue") as fsm:
            self._begin(m, s, operands, op, go)
            self._examine(m, s, operands, op, go, hand_over)
            self._stay(m, s, board, go)
            with m.State(
                "RETIRE"
            ):  # of those whose unit has not done anything; one is counted in a cycle
                m.d.comb += retire.eq(may_retire)
                with m.If(may_retire):
                    go("LEAVE", 1)
            with m.State(
                "LEAVE"
            ):  # a cycle of its own: the enable of so many registers must be early
                go("FIRST")
            with m.State("JUDGE"):
                m.d.sync += [s.halting.eq(1), s.halt.eq(1)]
                go("HALT")
            with m.State("HALT"):
                pass
        m.d.comb += registers.write.eq((scalar & op.writes) | s.late_write)
        flags = {
            "too_wide": s.too_wide,
            "other_width": s.other_width,
            "no_group": s.no_group,
            "overflow": s.overflow,
        }
        faults(
            m,
            self,
            fsm,
            op,
            operands,
            (s.ibiw, s.obiw),
            (s.pc, s.place),
            (s.pending, s.ready_one),
            (s.halting, s.halt),
            flags,
            board,
            ledger,
        )
        account(
            m,
            self,
            fsm,
            op,
            board,
            ledger,
            s.here,
            retire,
            s.waits_for_event,
            (s.pending, s.ready_one),
            (s.matrix_done, s.vector_done),
        )

        with m.If(self.go):
            m.d.sync += s.running.eq(1)
        m.d.sync += [
            self.finished.eq(
                s.running
                & self.ended
                & ~s.here
                & ~s.pending
                & ~board.active.any()
                & ~mac_count.busy
                & ~s.halting
            ),
            self.idle.eq(~board.active.any() & ~self.load_busy & ~s.syncing & ~self.load),
        ]
        return m

    def _widths(self, m, s):
        """Widths of input and output, and their codes: the values at the start, until an
        instruction changes them."""
        s.ibiw, s.obiw, s.in_code, s.out_code = Signal(6), Signal(6), Signal(2), Signal(2)
        s.set_widths = Signal()
        wanted_in, wanted_out = Signal(6), Signal(6)
        m.d.comb += [wanted_in.eq(Cat(s.rd, s.rd == 0)), wanted_out.eq(Cat(s.rs1, s.rs1 == 0))]
        with m.If(self.go):
            m.d.sync += [
                s.ibiw.eq(self.start.ibiw),
                s.obiw.eq(self.start.obiw),
                s.in_code.eq((self.start.ibiw - 1)[3:5]),
                s.out_code.eq((self.start.obiw - 1)[3:5]),
            ]
        with m.Elif(s.set_widths):
            m.d.sync += [
                s.ibiw.eq(wanted_in),
                s.obiw.eq(wanted_out),
                s.in_code.eq((wanted_in - 1)[3:5]),
                s.out_code.eq((wanted_out - 1)[3:5]),
            ]

    def _read(self, m, s, registers, op):
        """Register reads: rs1 and rs2 of a scalar instruction; for others rs1 (of send, its source)
        and rd, then the pair's other half and rs2."""
        looking, first, again = Signal(), Signal(), Signal()
        s.coming = data.View(word_layout(ISA), Cat(self.words.payload.low, self.words.payload.high))
        m.d.sync += looking.eq(~s.running | s.dead | s.halting | self.finished)
        m.d.comb += [
            again.eq(s.here & (s.at_fresh | s.at_first & s.pending & ~op.simple)),
            first.eq(s.here & s.at_first & ~op.simple),
            registers.index_a.eq(
                Mux(
                    looking,
                    self.debug_index[:5],
                    Mux(
                        again,
                        Mux(op.send, s.rd, s.rs1),
                        Mux(
                            first,
                            s.rs1 | 1,
                            Mux(s.coming.opcode == ISA.opcodes["send"], s.coming.a, s.coming.b),
                        ),
                    ),
                )
            ),
            # Scalars have opcodes below 8.
            registers.index_b.eq(
                Mux(
                    again,
                    Mux(op.simple | op.multiply, s.rs2, s.rd),
                    Mux(
                        first,
                        Mux(op.st, s.rd | 1, s.rs2),
                        Mux(s.coming.opcode[3:] == 0, s.coming.c, s.coming.a),
                    ),
                )
            ),
            self.ready.eq(registers.ready),
            registers.index.eq(s.rd),
        ]
        looked = Signal(7)
        m.d.sync += [
            looked.eq(self.debug_index),
            self.debug_value.eq(Mux(looked[6], Mux(looked[0], s.obiw, s.ibiw), registers.a)),
        ]
        s.a, s.b = registers.a, registers.b
        result = alu(m, op, s.a, s.b, self.family)
        late_result = Signal(32)
        m.d.comb += [
            late_result.eq(Mux(op.sld, self.load_word, self.product)),
            registers.data.eq(Mux(op.simple, result, late_result)),
        ]

    def _check(self, m, s, operands, board, op):
        """Operands of a non-scalar instruction, and the checks on them."""
        params = self.params
        m.d.comb += [
            operands.operation.eq(op),
            operands.a.eq(s.a),
            operands.b.eq(s.b),
            operands.in_code.eq(s.in_code),
            operands.out_code.eq(s.out_code),
            operands.rows.eq(self.entry.rows),
            operands.cols.eq(self.entry.cols),
            operands.gmem_base.eq(self.gmem_base),
            operands.gmem_low.eq(self.gmem_low),
            operands.gmem_high.eq(self.gmem_high),
            self.main.eq(operands.main),
            board.ranges.eq(operands.ranges),
            board.look.eq(operands.step[2]),
            board.more.eq(operands.step[3] & op.has_t),
            # Read while the instruction comes: its entry stands when it is current, and is kept for
            # the command.
            self.group.eq(
                Mux(self.words.ready, fields_of(ISA, "mvmul", s.coming).group, s.mvmul.group)
            ),
        ]
        s.too_wide, s.other_width, s.no_group = (
            Signal(reset_less=True),
            Signal(reset_less=True),
            Signal(reset_less=True, name="no_group"),
        )
        group = s.mvmul.group
        m.d.sync += [
            s.too_wide.eq(op.matrix & (s.ibiw > params["x_bits"])),
            s.no_group.eq(op.matrix & (group >= self.start.groups)),
            s.other_width.eq(
                op.matrix & (group < self.start.groups) & ((s.rs2 - 1)[:5] != self.entry.mbiw)
            ),
        ]
        s.entry = Signal(group_layout(), reset_less=True)
        with m.If(operands.count):
            m.d.sync += s.entry.eq(self.entry)
        s.bad = Signal()
        m.d.comb += s.bad.eq(
            operands.wrong_d
            | operands.wrong_s
            | operands.wrong_t
            | operands.wrong_g
            | operands.overlap
        )

    def _offer(self, m, s, operands, board, mac_count, op):
        """Offers the checked instruction to its unit: which may be accepted, and the outputs to
        units and counters."""
        slots = board.slots["transfer"]
        risky = Signal(len(slots))  # transfers in flight that may meet a bus error
        in_transfer = board.active[slots[0] : slots[-1] + 1]
        s.any_risky, s.transfers, taken = Signal(), Signal(), Signal(name="taken")
        m.d.comb += [s.any_risky.eq((risky & in_transfer).any()), s.transfers.eq(in_transfer.any())]
        for name in ("matrix", "vector", "transfer"):
            command = getattr(self, name)
            free = (
                s.pending
                & s.ready_one[name]
                & ~s.bad
                & ~s.halt
                & board.clear
                & getattr(board, f"free_{name}")
            )
            if name == "matrix":
                free = free & ~mac_count.busy
            if name == "transfer":
                free = free & ~(s.ready_one.careful & s.any_risky)
            m.d.comb += [
                command.valid.eq(free),
                getattr(board, f"push_{name}").eq(command.valid & command.ready),
                command.payload.tag.eq(getattr(board, f"tag_{name}")),
            ]
        m.d.comb += taken.eq(board.push_matrix | board.push_vector | board.push_transfer)
        m.d.sync += s.fresh.eq(s.hand)
        with m.If(s.hand):
            m.d.sync += [
                s.pending.eq(1),
                s.ready_one.low.eq(s.low),
                s.ready_one.ibiw.eq(s.ibiw),
                s.ready_one.obiw.eq(s.obiw),
                s.ready_one.pc.eq(s.pc),
                s.ready_one.place.eq(s.place),
                s.ready_one.careful.eq(op.st | op.send | op.recv),
                s.ready_one.meets.eq(op.send | op.recv),
                *(
                    s.ready_one[name].eq(op[name])
                    for name in ("matrix", "vector", "transfer", "ld", "st", "has_g", "counts_macs")
                ),
            ]
        with m.Elif(taken):
            m.d.sync += s.pending.eq(0)
        for k, slot in enumerate(slots):
            with m.If(board.push_transfer & (board.tag_transfer == slot)):
                m.d.sync += risky[k].eq(s.ready_one.meets | s.ready_one.has_g & operands.risky)
        for k, done in enumerate((self.matrix_ends, self.vector_ends, self.transfer_progress)):
            m.d.comb += board.done[k].eq(done)
        m.d.comb += board.read.eq(self.matrix_reads)
        s.matrix_done, s.vector_done = Signal(), Signal(name="vector_done")
        m.d.sync += [
            s.matrix_done.eq(self.matrix_ends.done),
            s.vector_done.eq(self.vector_ends.done),
        ]
        commands(m, self, s.ready_one, operands, s.entry)
        #: Word of the code of the instruction that is offered to its unit. Exported for tracing.
        self.offered = s.ready_one.place
        m.d.comb += [
            mac_count.matrix.eq(board.push_matrix),
            mac_count.rows.eq(s.entry.rows),
            mac_count.cols.eq(s.entry.cols),
            mac_count.vector.eq(board.push_vector & s.ready_one.counts_macs),
            mac_count.length.eq(fields_of(ISA, "vvmul", s.ready_one.low).len),
            self.macs.eq(mac_count.macs),
            self.multiply.valid.eq(s.multiplies),
            self.multiply.payload.a.eq(operands.src),
            self.multiply.payload.b.eq(Mux(op.immediate, op.high, operands.third)),
        ]

    def _begin(self, m, s, operands, op, go):
        """States in which an instruction begins, once the previous one is known to be free of
        faults."""
        with m.State("FIRST"):
            with m.If(s.here & ~s.halt):
                with m.If(op.simple):
                    m.d.comb += [self.done_scalar.eq(1), s.set_widths.eq(op.setbw)]
                with m.Elif(~s.pending):
                    with m.If(op.bad):
                        go("JUDGE")
                    with m.Elif(op.empty):
                        go("RETIRE")
                    with m.Elif(op.sync):
                        go("SYNC")
                    with m.Elif(op.wait):
                        go("WAIT")
                    with m.Else():
                        m.d.comb += [operands.step[0].eq(1), operands.count.eq(op.matrix)]
                        go("LASTS")
        with m.State("FRESH"):  # was the last one handed over rightly?
            with m.If(s.bad):
                go("JUDGE")
            with m.Else():
                go("FIRST")

    @staticmethod
    def _examine(m, s, operands, op, go, hand_over):
        """States of an instruction whose operands are computed in several steps."""
        with m.State("LASTS"):
            m.d.comb += operands.step[1].eq(1)
            with m.If(s.too_wide | s.other_width | s.no_group):
                go("JUDGE")
            with m.Elif(op.multiply):
                go("MULTIPLY")
            with m.Elif(op.strided):
                go("STRIDE")
            with m.Else():
                go("RANGES", ~(op.has_t | op.has_g | s.meets))
        with m.State("STRIDE"):
            m.d.comb += operands.stride.eq(1)
            go("STRIDES")
        with m.State("STRIDES"):
            with m.If(operands.stride_done):
                go("RANGES", 1)
        with m.State("RANGES"):
            m.d.comb += operands.step[2].eq(1)
            with m.If(op.has_t | op.has_g):
                go("MORE", ~(op.sld | s.meets))
            with m.Else():
                hand_over()
        with m.State("MORE"):
            m.d.comb += operands.step[3].eq(1)
            with m.If(op.sld):
                go("SLD")
            with m.Else():
                hand_over()

    def _stay(self, m, s, board, go):
        """States of an instruction that waits: for memory, the multiplier, earlier transfers or
        other cores."""
        with m.State("SLD"):
            with m.If(s.bad):
                go("JUDGE")
            with m.Elif(~s.transfers & ~s.halt):
                m.d.comb += self.load.eq(1)
                go("LOAD")
        with m.State("MEET"):
            with m.If(s.fresh & s.bad):
                go("JUDGE")
            with m.Elif(s.halt):  # it may have been given up
                go("FIRST")
            with m.Elif(~s.pending & ~s.transfers):
                go("LEAVE", 1)
        with m.State("LOAD"):
            with m.If(self.load_done):
                with m.If(self.load_error):
                    go("JUDGE")
                with m.Else():
                    m.d.comb += [s.late_write.eq(1), self.done_scalar.eq(1)]
                    go("LEAVE", 1)
        with m.State("MULTIPLY"):
            with m.If(self.multiply.ready):
                go("PRODUCT")
        with m.State("PRODUCT"):
            with m.If(self.product_valid):
                m.d.comb += [s.late_write.eq(1), self.done_scalar.eq(1)]
                go("LEAVE", 1)
        with m.State("SYNC"):  # everything older is complete, and so are its stores
            with m.If(~board.active.any() & ~s.halt):
                go("SYNCING")
        with m.State("SYNCING"):
            m.d.comb += s.syncing.eq(1)
            with m.If(self.events.synced):
                with m.If(self.events.overflow):
                    m.d.sync += s.overflow.eq(1)
                    go("JUDGE")
                with m.Else():
                    go("RETIRE")
        with m.State("WAIT"):
            with m.If(~s.any_risky & ~s.halt):
                m.d.comb += s.waits_for_event.eq(1)
                with m.If(self.events.granted):
                    go("RETIRE")
