# SPDX-License-Identifier: BSD-2-Clause
"""Load/store unit of the small engine, controlled by the microprogram: moves a tile between MEM and
the table, and provides MEM's address for DMA."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AccessLayout", "TileAccess"]


class AccessLayout(data.StructLayout):
    """Operation of a load or store, lowest bits first: the fields of the instruction word, with the
    address unit's replaced by ``of_uniform`` and ``to_uniform``, which select the uniform entry for
    reading or, by a load, for writing. ``load`` is a bit of the opcode."""

    def __init__(self) -> None:
        super().__init__(
            {
                "skip": 1,
                "zero": 1,
                "len_x": 2,
                "len_y": 2,
                "reg": 2,
                "of_uniform": 1,
                "to_uniform": 1,
                "others": 3,
                "load": 1,
            }
        )


class TileAccess(wiring.Component):
    """Tile access unit: checks all addresses of a tile, then moves it between MEM and the table at
    one element per cycle, in 34 cycles; otherwise it serves the microprogram's DMA.

    Parameters
    ----------
    log_mem : int

    Members
    -------
    a : In, 18 bits; place, along, down : In: the address, a step, takes ``a``
    put : In, the element ``put_value`` is written at the address, which goes on along; on : In,
        it goes on
    at : Out, 18 bits, the address; ``bad`` : Out: the last operation did nothing,
        since its element there, the first one outside by rows, is not in MEM
    run : In, level: the operation ``op`` is to be taken; ran, finished : Out, one cycle each
    mem_address, mem_write, mem_write_address, mem_value : Out; mem_data : In, what stands at the
    address of the cycle before
    busy : Out, the table is this unit's: ``table_address``,
        ``table_write``, ``table_write_address`` (within the tiles), ``table_value`` : Out,
        ``table_data`` : In
    """

    def __init__(self, *, log_mem: int) -> None:
        self._log = log_mem
        super().__init__(
            {
                "a": In(18),
                "place": In(1),
                "along": In(1),
                "down": In(1),
                "put": In(1),
                "put_value": In(18),
                "on": In(1),
                "at": Out(18),
                "bad": Out(1),
                "run": In(1),
                "op": In(AccessLayout()),
                "ran": Out(1),
                "finished": Out(1),
                "mem_address": Out(log_mem),
                "mem_write": Out(1),
                "mem_write_address": Out(log_mem),
                "mem_value": Out(18),
                "mem_data": In(18),
                "busy": Out(1),
                "table_address": Out(7),
                "table_write": Out(1),
                "table_write_address": Out(7),
                "table_value": Out(18),
                "table_data": In(18),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        op, at, busy, log = self.op, self.at, self.busy, self._log
        begin, row, along, down = (
            Signal(18, name=name, reset_less=True)
            for name in ("begin", "row", "step_along", "step_down")
        )
        moving, element, last = Signal(), Signal(4), Signal()
        late, late_active, late_element, late_address = (
            Signal(),
            Signal(),
            Signal(4),
            Signal(log),
        )  # the element moved is there
        y, x = element[2:], element[:2]
        # The row of the access that a tile's row is, and whether its element is one of the access.
        counted, number, active, wrong = Signal(), Signal(2), Signal(), Signal()
        m.d.comb += [
            counted.eq(~op.skip | (y != 0)),
            number.eq(y - op.skip),
            last.eq(busy & (element == 15)),
            wrong.eq(busy & active & ~moving & at[log:].any()),
            active.eq(
                counted
                & ((op.len_y == 0) | (number < op.len_y))
                & ((op.len_x == 0) | (x < op.len_x))
            ),
        ]
        ends, total = busy & (x == 3), Signal(18)
        m.d.comb += [
            total.eq(Mux(ends, row, at) + Mux(ends, down, along)),
            self.ran.eq(self.run & ~busy),
        ]
        with m.If((busy & counted & ~wrong) | self.put | self.on):
            m.d.sync += at.eq(total)
            with m.If(ends):
                m.d.sync += row.eq(total)
        with m.If(busy):
            m.d.sync += element.eq(element + 1)
        with m.If(last):
            # All are in MEM: once more from the first on; or all are moved.
            m.d.sync += [moving.eq(~moving), busy.eq(~moving), at.eq(begin), row.eq(begin)]
        with m.If(wrong):
            m.d.sync += [busy.eq(0), moving.eq(0), self.bad.eq(1), at.eq(at)]
        with m.If(self.ran):
            m.d.sync += [busy.eq(1), self.bad.eq(0), element.eq(0)]
        for wanted, register in (
            (self.place, Cat(at, begin, row)),
            (self.along, along),
            (self.down, down),
        ):
            with m.If(wanted):
                m.d.sync += register.eq(self.a.replicate(len(register) // 18))

        m.d.sync += [
            late.eq(busy & moving),
            late_active.eq(active),
            late_element.eq(element),
            late_address.eq(at),
        ]
        m.d.comb += [
            self.mem_address.eq(at),
            self.mem_write.eq(self.put | (late & late_active & ~op.load)),
            self.mem_write_address.eq(Mux(late, late_address, at)),
            self.mem_value.eq(Mux(late, self.table_data, self.put_value)),
            self.table_address.eq(Cat(element, op.of_uniform, op.reg)),
            self.table_write.eq(late & op.load),
            self.table_write_address.eq(Cat(late_element, op.to_uniform, op.reg)),
            self.table_value.eq(Mux(late_active, self.mem_data, Mux(op.zero, 0, self.table_data))),
            self.finished.eq(wrong | (late & (late_element == 15))),
        ]
        return m
