# SPDX-License-Identifier: BSD-2-Clause
"""Scoreboard of LMem ranges: tracks reads and writes of commands in flight, and decides whether the
next one must wait (section 9).

A command may go to its unit only when nothing it writes is read or written by a command in flight,
and nothing it reads is written by one: byte for byte, within one unit too. So the units need no
care for one another, and a unit may start a command before its predecessor is written.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .....isa.parameters import Params
from ..commands import TAG_BITS, address_bits, progress_layout

__all__ = ["Scoreboard", "UNITS", "at_most", "range_layout", "ranges_layout", "slots_of"]

#: The units, in the order of their slots.
UNITS = ("matrix", "vector", "transfer")


def slots_of(params: Params) -> dict[str, range]:
    """Number of scoreboard slots of each unit, by name, the limit of its commands in flight. Small
    builds have half as many."""
    matrix, vector, transfer = (2, 2, 4) if params["vec_bytes"] > 2 else (1, 1, 2)
    return {
        "matrix": range(matrix),
        "vector": range(matrix, matrix + vector),
        "transfer": range(matrix + vector, matrix + vector + transfer),
    }


def range_layout(params: Params) -> data.StructLayout:
    """Layout of an LMem range: bytes ``first`` to ``last``, both included, first <= last; ``used``:
    whether the operand exists."""
    return data.StructLayout(
        {"first": address_bits(params), "last": address_bits(params), "used": 1}
    )


def ranges_layout(params: Params) -> data.StructLayout:
    """Layout of a command's LMem ranges: its destination, and up to two sources."""
    return data.StructLayout(
        {
            "written": range_layout(params),
            "read_1": range_layout(params),
            "read_2": range_layout(params),
        }
    )


def at_most(inverted: Value, b: Value) -> Value:
    """Comparison a <= b, given ``inverted`` = ~a: the carry of b - a. A comparison operator would
    invert the bits of a again each time, in LUTs of its own."""
    return (Cat(1, b) + Cat(1, inverted))[len(b) + 1]


class Scoreboard(wiring.Component):
    """Scoreboard of commands in flight.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    ranges : In, of the next command; ``look``, ``more`` : In, one cycle each:
        compare its destination with its first source, and its destination with its second source.
        ``more`` comes after ``look``, and not without a second source; no push between
    clear : Out, from the cycle after on:
        nothing in flight is in the way of the command (once high it stays high until a push)
    free_matrix, free_vector, free_transfer : Out, the unit has a free slot; tag_matrix ...:
        Out, which
    push_matrix, push_vector, push_transfer : In, one cycle, one of them:
        the command with these ranges goes to that unit
    done : In, array of matrix, vector, transfer: one cycle,
        the command with ``tag`` is complete: it is in nobody's way from the next cycle on
    read : In, one cycle, the matrix command with ``tag`` has read its source:
        it may be overwritten from the next cycle on
    active : Out(8), a bit a slot: there is a command in flight
    """

    def __init__(self, *, params: Params) -> None:
        self.params = params
        self.slots = slots_of(params)
        self.count = max(slot for slots in self.slots.values() for slot in slots) + 1
        super().__init__(
            {
                "ranges": In(ranges_layout(params)),
                "look": In(1),
                "more": In(1),
                "clear": Out(1),
                "active": Out(8),
                **{f"free_{unit}": Out(1) for unit in UNITS},
                **{f"tag_{unit}": Out(TAG_BITS) for unit in UNITS},
                **{f"push_{unit}": In(1) for unit in UNITS},
                "done": In(data.ArrayLayout(progress_layout(), 3)),
                "read": In(progress_layout()),
            }
        )
        # Commands in flight: the proof looks at it.
        # ``first`` is held inverted.
        layout = ranges_layout(params)
        self.held = [
            Signal(layout, name=f"held_{slot}", reset_less=True) for slot in range(self.count)
        ]
        self.crosses = [
            Signal(name=f"crosses_{slot}", reset_less=True) for slot in range(self.count)
        ]
        self.valid = [Signal(name=f"valid_{slot}") for slot in range(self.count)]
        # For each slot of the matrix unit: the current command writes what this one reads, and it
        # still reads.
        self.spoils = [
            Signal(name=f"spoils_{slot}", reset_less=True) for slot in self.slots["matrix"]
        ]
        self.reads = [
            Signal(name=f"reads_{slot}", reset_less=True) for slot in self.slots["matrix"]
        ]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        in_way = []
        # The range as it is held, and the source that is compared in this cycle.
        new = {}
        for name in ("written", "read_1", "read_2"):
            given, new[name] = (
                self.ranges[name],
                Signal(range_layout(self.params), name=f"new_{name}"),
            )
            m.d.comb += [
                new[name].first.eq(~given.first),
                new[name].last.eq(given.last),
                new[name].used.eq(given.used),
            ]
        written, read = new["written"], Signal(range_layout(self.params), name="read")
        m.d.comb += read.eq(Mux(self.more, new["read_2"], new["read_1"]))

        def overlap(one, other):
            return (
                one.used
                & other.used
                & at_most(one.first, other.last)
                & at_most(other.first, one.last)
            )

        for number, unit in enumerate(UNITS):
            slots, push = self.slots[unit], getattr(self, f"push_{unit}")
            done, free = self.done[number], getattr(self, f"free_{unit}")
            m.d.comb += free.eq(~Cat(self.valid[slot] for slot in slots).all())
            for slot in reversed(slots):  # the lowest free one
                with m.If(~self.valid[slot]):
                    m.d.comb += getattr(self, f"tag_{unit}").eq(slot)
            for slot in slots:
                held, valid, crosses = self.held[slot], self.valid[slot], self.crosses[slot]
                over = Signal(name=f"over_{slot}")
                m.d.comb += over.eq(done.done & (done.tag == slot))
                with m.If(push & (getattr(self, f"tag_{unit}") == slot)):
                    m.d.sync += [
                        valid.eq(1),
                        held.written.eq(written),
                        held.read_1.eq(new["read_1"]),
                    ]
                    if unit == "vector":
                        m.d.sync += held.read_2.eq(new["read_2"])
                with m.If(over):
                    m.d.sync += valid.eq(0)
                sources = [held.read_1] + [held.read_2] * (unit == "vector")
                crossing = overlap(written, held.written) | overlap(read, held.written)
                spoiling = Cat(overlap(written, source) for source in sources).any()
                if unit == "matrix":
                    spoils, reads = self.spoils[slot], self.reads[slot]
                    with m.If(self.look):
                        m.d.sync += spoils.eq(spoiling)
                    with m.If(push & (getattr(self, f"tag_{unit}") == slot)):
                        m.d.sync += reads.eq(1)
                    with m.If(self.read.done & (self.read.tag == slot)):
                        m.d.sync += reads.eq(0)
                    in_way.append((crosses | spoils & reads) & valid)
                else:
                    crossing = crossing | spoiling
                    in_way.append(crosses & valid)
                with m.If(self.look | self.more):
                    m.d.sync += crosses.eq(crossing | crosses & self.more)
        m.d.comb += [self.clear.eq(~Cat(in_way).any()), self.active.eq(Cat(self.valid))]
        return m
