# SPDX-License-Identifier: BSD-2-Clause
"""Outputs of :class:`~.issue.Issue`: commands of the units, faults, counters and wait states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from .....primitives.multiplexer import selected
from .....shell.engine import Stall
from .....shell.layouts import fields_of
from ...isa import ISA
from ..transfer.ledger import Ledger
from .legality import Operands
from .scoreboard import Scoreboard

if TYPE_CHECKING:
    from .issue import Issue


__all__ = ["account", "commands", "faults", "pending_layout"]

_CODE = ISA.fault_codes
_AUTO = 7  # bit of fi, fo that means "auto": 255, else 0 to 31


def pending_layout(index_bits: int) -> data.StructLayout:
    """Layout of a checked instruction that waits for its unit: its word's lower half, its kind, its
    widths, and its position."""
    flags = ("matrix", "vector", "transfer", "careful", "meets", "ld", "st", "has_g", "counts_macs")
    return data.StructLayout(
        {
            "low": 32,
            **dict.fromkeys(flags, 1),
            "ibiw": 6,
            "obiw": 6,
            "pc": index_bits,
            "place": index_bits,
        }
    )


def commands(
    m: Module, self: Issue, pending: data.View, operands: Operands, entry: data.View
) -> None:
    """Command outputs to the units, stable while a command is offered. ``pending``: of
    :func:`pending_layout`; ``entry``: its group's."""
    ibiw, obiw = pending.ibiw, pending.obiw
    mvmul, vector, send, fill = (
        fields_of(ISA, name, pending.low) for name in ("mvmul", "vvadd", "send", "lldi")
    )
    fi, fo = Signal(6), Signal(6)
    m.d.comb += [
        fi.eq(Mux(self.start.fi[_AUTO], Mux(ibiw[2:] == 0, 0, ibiw - 4), self.start.fi)),
        fo.eq(Mux(self.start.fo[_AUTO], obiw - 1, self.start.fo)),
    ]
    command = self.matrix.payload
    m.d.comb += [
        command.src.eq(operands.src),
        command.dst.eq(operands.dst),
        command.group.eq(mvmul.group),
        command.rows.eq(entry.rows + 1),
        command.cols.eq(entry.cols + 1),
        command.ibiw.eq(ibiw),
        command.obiw.eq(obiw),
        command.shift.eq(entry.shift),
        command.round.eq(entry.round),
        command.relu.eq(mvmul.relu),
        command.has_bias.eq(entry.has_bias),
    ]
    command = self.vector.payload
    m.d.comb += [
        command.op.eq(vector.opcode[:5]),
        command.src1.eq(operands.src),
        command.src2.eq(operands.third),
        command.dst.eq(operands.dst),
        command.len.eq(vector.len),
        command.operand.eq(operands.third),
        command.ibiw.eq(ibiw),
        command.obiw.eq(obiw),
        command.fi.eq(fi),
        command.fo.eq(fo),
    ]
    command = self.transfer.payload
    m.d.comb += [
        command.op.eq(send.opcode[:3]),
        command.src.eq(operands.src),
        command.dst.eq(operands.dst),
        command.size.eq(send.size),
        command.gmem.eq(operands.main),
        command.core.eq(send.core),
        command.imm.eq(fill.imm),
    ]


def faults(
    m: Module,
    self: Issue,
    fsm: Any,
    op: data.View,
    operands: Operands,
    widths: tuple[Value, Value],
    places: tuple[Value, Value],
    waiting: tuple[Value, data.View],
    halting: tuple[Value, Value],
    flags: dict[str, Value],
    board: Scoreboard,
    ledger: Ledger,
) -> None:
    """Fault output, in the priority order of section 6. A late fault belongs to an older
    instruction, and takes precedence."""
    low, (ibiw, _), (pc, place), (pending, ready_one), (halting, halt) = (
        op.low,
        widths,
        places,
        waiting,
        halting,
    )
    found, late = Signal(), Signal()
    late_pc, late_place = (
        Signal(self.index_bits, reset_less=True),
        Signal(self.index_bits, reset_less=True),
    )
    code, detail = self.fault_code, self.fault_detail
    fields, mvmul, send = (fields_of(ISA, name, low) for name in ("vvadd", "mvmul", "send"))
    rd, rs1, rs2, core = fields.rd, fields.rs1, fields.rs2, send.core

    def width(field):
        return Cat(field, field == 0)

    # Those of the word are of the current instruction; with one pending it is that whose operands
    # are wrong. First which, then its detail: so the wide selection is a plain one. Details that
    # are parts of the word share a place.
    mine = ~pending
    sources = {
        "code": self.start.code + (place << 2),
        "low": low,
        "dst": operands.dst,
        "src": operands.src,
        "third": operands.third,
        "global": operands.global_address,
        "small": None,
        "main": Mux(
            operands.main >= self.memory_size, operands.main, self.memory_size & 0xFFFF_FFFF
        ),
    }
    numbers = {name: k for k, name in enumerate(sources)}
    causes = [
        (mine & op.error, "bus_error", "code", 0),
        (mine & op.beyond, "code_end", "small", place),
        (mine & op.illegal_opcode, "illegal_opcode", "low", 0),
        (mine & op.illegal_field, "illegal_field", "low", 0),
        (mine & op.unsupported, "unsupported", "small", fields.opcode),
        (mine & op.odd_pair, "odd_pair", "small", Mux(op.st, rd, rs1)),
        (mine & op.wide_in, "width", "small", width(rd)),
        (mine & op.wide_out, "width", "small", width(rs1)),
        (mine & flags["too_wide"], "width", "small", ibiw),
        (mine & flags["other_width"], "width", "small", width(rs2)),
        (mine & flags["no_group"], "group", "small", mvmul.group),
        (mine & op.core_range, "core_range", "small", core),
        # ``sync`` has no operands: their values still belong to the instruction before.
        (mine & flags["overflow"], "event_overflow", "small", Cat(rd, Const(0, 3), core)),
        (operands.wrong_d, "lmem_range", "dst", 0),
        (operands.wrong_s, "lmem_range", "src", 0),
        (operands.wrong_t, "lmem_range", "third", 0),
        (operands.wrong_g, "gmem_range", "global", 0),
        (operands.overlap, "overlap", "dst", 0),
        (Const(1), "bus_error", "main", 0),
    ]
    small, source, judged = (
        Signal(max(18, self.index_bits), reset_less=True),
        Signal(range(len(sources)), reset_less=True),
        Signal(),
    )
    with m.If(fsm.ongoing("JUDGE") & ~late):
        m.d.sync += judged.eq(1)
        for k, (condition, name, where, value) in enumerate(causes):
            with m.If(condition) if k == 0 else m.Elif(condition):
                m.d.sync += [code.eq(_CODE[name]), source.eq(numbers[where]), small.eq(value)]
    details = [small if value is None else value for value in sources.values()]
    shown = selected(
        m, "detail", [Cat(value, Const(0, 32))[:32] for value in details], source, self.family
    )
    with m.If(judged & ~found):
        m.d.sync += [found.eq(1), detail.eq(shown)]
    with m.If(self.late & ~late):
        m.d.sync += [
            late.eq(1),
            found.eq(1),
            halting.eq(1),
            halt.eq(1),
            code.eq(self.late_code),
            detail.eq(self.late_detail),
            late_pc.eq(ledger.found.pc),
            late_place.eq(ledger.found.place),
        ]
    m.d.comb += [
        self.pc.eq(Mux(late, late_pc, Mux(pending, ready_one.pc, pc))),
        self.pc_offset.eq(Mux(late, late_place, Mux(pending, ready_one.place, place)) << 2),
    ]
    m.d.sync += self.fault.eq(found & ~board.active.any() & ~self.late)


def account(
    m: Module,
    self: Issue,
    fsm: Any,
    op: data.View,
    board: Scoreboard,
    ledger: Ledger,
    here: Value,
    retire: Value,
    waits_for_event: Value,
    waiting: tuple[Value, data.View],
    done: tuple[Value, Value],
) -> None:
    """Outputs to the counters, and the wait state of the current instruction."""
    (pending, ready_one), (matrix_done, vector_done) = waiting, done
    slots = board.slots["transfer"]
    m.d.comb += [
        ledger.push.eq(board.push_transfer),
        ledger.entry.pc.eq(ready_one.pc),
        ledger.entry.place.eq(ready_one.place),
        ledger.slot.eq(board.tag_transfer - slots[0]),
        ledger.look.eq(self.transfer_progress.tag - slots[0]),
        self.done_matrix.eq(matrix_done),
        self.done_vector.eq(vector_done | retire & op.vector),
        self.done_transfer.eq(self.transfer_progress.done & ~self.late | retire & ~op.vector),
    ]
    active = board.active[slots[0] : slots[-1] + 1]
    loads, stores = Signal(len(slots)), Signal(len(slots))
    for k, slot in enumerate(slots):
        with m.If(board.push_transfer & (board.tag_transfer == slot)):
            m.d.sync += [loads[k].eq(ready_one.ld), stores[k].eq(ready_one.st)]
    loading, storing = (loads & active).any(), (stores & active).any()
    meets, loads_word = fsm.ongoing("MEET"), fsm.ongoing("SLD") | fsm.ongoing("LOAD")
    m.d.sync += [self.stall.eq(Stall.OTHER), self.working.eq(board.active[: slots[0]].any())]
    with m.If(~here & ~pending & ~self.ended):
        m.d.sync += self.stall.eq(Stall.FETCH)
    with m.Elif(~here & ~pending):
        m.d.sync += self.stall.eq(
            Mux(storing, Stall.WRITE, Mux(loading, Stall.OPERAND, Stall.OTHER))
        )
    with m.Elif(meets & op.recv | loads_word):
        m.d.sync += self.stall.eq(Stall.OPERAND)
    with m.Elif(pending | fsm.ongoing("SYNC") | fsm.ongoing("WAIT")):
        with m.If(storing & ~loading):
            m.d.sync += self.stall.eq(Stall.WRITE)
        with m.Elif(pending & ~board.clear):
            m.d.sync += self.stall.eq(Stall.OPERAND)
    alone = (board.active & (board.active - 1)[:8]) == 0
    m.d.sync += [
        self.blocked.eq(meets & self.waits & alone | waits_for_event & ~board.active.any()),
        self.blocked_read.eq(op.recv),
    ]
