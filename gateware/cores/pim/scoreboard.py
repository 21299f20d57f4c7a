# SPDX-License-Identifier: BSD-2-Clause
"""Which ranges of LMem the commands in flight read and write, and whether the next one must wait for them (section 9).

A command may go to its unit only when nothing it writes is read or written by a command in flight, and nothing it reads is written
by one: byte for byte, within one unit too. So the units need no care for one another, and a unit may start a command before its
predecessor is written.
"""
from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .commands import TAG_BITS, address_bits

__all__ = ["Scoreboard", "UNITS", "range_layout", "ranges_layout", "slots_of"]

#: The units, in the order of their slots.
UNITS = ("matrix", "vector", "transfer")


def slots_of(params):
    """Slots of each unit, by name: tags of commands that may be in flight. Small machines have half as many."""
    matrix, vector, transfer = (2, 2, 4) if params["vec_bytes"] > 2 else (1, 1, 2)
    return {"matrix": range(matrix), "vector": range(matrix, matrix + vector),
            "transfer": range(matrix + vector, matrix + vector + transfer)}


def range_layout(params):
    """Bytes ``first`` to ``last`` of LMem, both included, first <= last; ``used``: there is such an operand."""
    return data.StructLayout({"first": address_bits(params), "last": address_bits(params), "used": 1})


def ranges_layout(params):
    """What a command writes, and its up to two sources."""
    return data.StructLayout({"written": range_layout(params), "read_1": range_layout(params), "read_2": range_layout(params)})


def _overlap(a, b):
    return a.used & b.used & (a.first <= b.last) & (b.first <= a.last)


class Scoreboard(wiring.Component):
    """Slots of the commands in flight.

    Parameters
    ----------
    params : dict of ``SPACE.resolve``

    Members
    -------
    ranges : In, of the next command; they must hold still for a cycle before :attr:`clear` means them
    clear : Out, nothing in flight is in the way of the ranges as they were one cycle ago. What is done in this cycle is not
        (once high for one set of ranges it stays high until a push)
    free_matrix, free_vector, free_transfer : Out, the unit has a free slot; tag_matrix ...: Out, which
    push_matrix, push_vector, push_transfer : In, one cycle, one of them: the command with these ranges goes to that unit
    done : In, array of matrix, vector, transfer: one cycle, the command with ``tag`` is complete
    active : Out(8), a bit a slot: there is a command in flight
    """
    def __init__(self, *, params):
        self.params = params
        self.slots = slots_of(params)
        self.count = max(slot for slots in self.slots.values() for slot in slots) + 1
        super().__init__({
            "ranges": In(ranges_layout(params)), "clear": Out(1), "active": Out(8),
            **{f"free_{unit}": Out(1) for unit in UNITS}, **{f"tag_{unit}": Out(TAG_BITS) for unit in UNITS},
            **{f"push_{unit}": In(1) for unit in UNITS},
            "done": In(data.ArrayLayout(data.StructLayout({"done": 1, "tag": TAG_BITS}), 3)),
        })
        # What is in flight: the proof looks at it.
        layout = ranges_layout(params)
        self.held = [Signal(layout, name=f"held_{slot}", reset_less=True) for slot in range(self.count)]
        self.valid = [Signal(name=f"valid_{slot}") for slot in range(self.count)]

    def elaborate(self, platform):
        m = Module()
        in_way = []
        new = self.ranges
        for number, unit in enumerate(UNITS):
            slots, push = self.slots[unit], getattr(self, f"push_{unit}")
            done, free = self.done[number], getattr(self, f"free_{unit}")
            m.d.comb += free.eq(~Cat(self.valid[slot] for slot in slots).all())
            for slot in reversed(slots):                # the lowest free one
                with m.If(~self.valid[slot]):
                    m.d.comb += getattr(self, f"tag_{unit}").eq(slot)
            for slot in slots:
                held, valid = self.held[slot], self.valid[slot]
                over, crosses = Signal(name=f"over_{slot}"), Signal(name=f"crosses_{slot}", reset_less=True)
                m.d.comb += over.eq(done.done & (done.tag == slot))
                with m.If(push & (getattr(self, f"tag_{unit}") == slot)):
                    m.d.sync += [valid.eq(1), held.written.eq(new.written), held.read_1.eq(new.read_1)]
                    if unit == "vector":
                        m.d.sync += held.read_2.eq(new.read_2)
                with m.If(over):
                    m.d.sync += valid.eq(0)
                reads = [held.read_1] + [held.read_2] * (unit == "vector")
                crossing = [_overlap(new.written, r) for r in (held.written, *reads)]
                crossing += [_overlap(r, held.written) for r in (new.read_1, new.read_2)]
                m.d.sync += crosses.eq(Cat(crossing).any())
                in_way.append(crosses & valid & ~over)
        m.d.comb += [self.clear.eq(~Cat(in_way).any()), self.active.eq(Cat(self.valid))]
        return m
