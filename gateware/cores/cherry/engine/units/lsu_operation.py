# SPDX-License-Identifier: BSD-2-Clause
"""Operation stage of the load/store unit, two cycles ahead: computes lane offsets, and the lanes
served by each pass."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..ops import Waits, lsu_op
from .bank_conflicts import DISTANCES, Meetings, lane_mask, leaders, multiples, unique

__all__ = ["Operation", "OperationQueue"]


def _common():
    """Fields that an operation of the load/store unit keeps in every stage; ``reads``: it needs the
    tile's old elements, or stores them."""
    return {
        "size": 6,
        "uniform": 1,
        "phys": 1,
        "copies": 6,
        "from_phys": 1,
        "store": 1,
        "reg": 2,
        "len_y": 3,
        "len_x": 3,
        "skip": 1,
        "reads": 1,
        "step": 18,
        "waits": Waits(),
        "along": data.ArrayLayout(18, 4),
        "mask": 16,
    }


class Operation(data.StructLayout):
    """Prepared operation of the load/store unit.

    rows : address of each row's first element in slot 0; ``along`` :
        0 to 3 times stride_x; ``step`` : from slot to slot
    mask : lanes that it has; ``same_bank``, ``equal`` : :class:`~.bank_conflicts.Meetings`
    first, left : of the lanes with different addresses those of a slot's first pass,
        one of a bank, and the others; ``only`` : there are none
    """

    def __init__(self) -> None:
        distances = len(DISTANCES)
        super().__init__(
            _common()
            | {
                "rows": data.ArrayLayout(18, 4),
                "same_bank": distances,
                "equal": distances,
                "first": 16,
                "left": 16,
                "only": 1,
            }
        )


class OperationQueue(wiring.Component):
    """Queue of two prepared operations after the current one.

    Parameters
    ----------
    banks : int

    Members
    -------
    op : In(stream of lsu_op)
    clear : In, forget all
    take : In, the operation at hand is over, or there is none:
        the next one is there a cycle later if ``ready``
    ready : Out, there is a next one; ``next`` : Out, :class:`Operation`

    From acceptance to ``ready`` two cycles.
    """

    def __init__(self, *, banks: int) -> None:
        self._log = exact_log2(banks)
        super().__init__(
            {
                "op": In(stream.Signature(lsu_op())),
                "clear": In(1),
                "take": In(1),
                "ready": Out(1),
                "next": Out(Operation()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.op.payload
        first = Signal(
            data.StructLayout(_common() | {"down": data.ArrayLayout(18, 4), "address": 18}),
            reset_less=True,
        )
        second = Signal(
            data.StructLayout(
                _common()
                | {
                    "rows": data.ArrayLayout(18, 4),
                    "same_bank": len(DISTANCES),
                    "equal": len(DISTANCES),
                    "different": 16,
                }
            ),
            reset_less=True,
        )
        first_valid = Signal()
        advance = Signal()
        m.d.comb += [
            self.op.ready.eq(~first_valid),
            advance.eq(first_valid & (~self.ready | self.take)),
        ]

        with m.If(~first_valid):
            whole = (given.len_y == 4) & (given.len_x == 4)
            m.d.sync += [
                getattr(first, name).eq(getattr(given, name))
                for name in (
                    "size",
                    "uniform",
                    "phys",
                    "store",
                    "reg",
                    "len_y",
                    "len_x",
                    "skip",
                    "step",
                    "address",
                    "waits",
                )
            ]
            m.d.sync += [
                first_valid.eq(self.op.valid),
                first.reads.eq(given.store | ~(given.zero | whole)),
                first.copies.eq(given.view[given.reg].copies),
                first.from_phys.eq(given.view[given.reg].phys),
                first.mask.eq(lane_mask(given.len_y, given.len_x)),
                *(first.along[k].eq(v) for k, v in enumerate(multiples(given.stride_x))),
                *(first.down[k].eq(v) for k, v in enumerate(multiples(given.stride_y))),
            ]
        meetings = Meetings(first.along, first.down, self._log)
        with m.If(self.take):
            m.d.sync += self.ready.eq(0)
        with m.If(advance):
            m.d.sync += [first_valid.eq(0), self.ready.eq(1)]
            m.d.sync += [getattr(second, name).eq(getattr(first, name)) for name in _common()]
            m.d.sync += [second.rows[k].eq(first.address + first.down[k]) for k in range(4)]
            m.d.sync += second.different.eq(unique(first.mask, meetings.equal))
            m.d.sync += [
                second.same_bank.eq(Cat(meetings.same_bank)),
                second.equal.eq(Cat(meetings.equal)),
            ]
        with m.If(self.clear):
            m.d.sync += [first_valid.eq(0), self.ready.eq(0)]

        served = leaders(m, second.different, second.same_bank, "whole")
        left = second.different & ~served
        m.d.comb += [
            getattr(self.next, name).eq(getattr(second, name))
            for name in (*_common(), "rows", "same_bank", "equal")
        ]
        m.d.comb += [
            self.next.first.eq(served),
            self.next.left.eq(left),
            self.next.only.eq(~left.any()),
        ]
        return m
