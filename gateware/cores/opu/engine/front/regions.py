# SPDX-License-Identifier: BSD-2-Clause
"""Region table: base and limit of sixteen memory regions, written by the host between runs (section
7.1)."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from ...isa import REGION_BITS, REGIONS
from ..records import UNIT_BITS

__all__ = ["LIMIT_BITS", "RegionTable"]

#: Bits of a region's size in units of 64 bytes; the largest has 2^22.
LIMIT_BITS = REGION_BITS - 6 + 1


class RegionTable(wiring.Component):
    """Region table in two small memories, in units of 64 bytes.

    After a reset it fills itself with the defaults, one entry a cycle; ``ready`` is low meanwhile.

    Members
    -------
    ready : Out
    number : In, of a region; base, limit : Out, one cycle later
    address, write, write_data, read_data : the register bus of
        :class:`~quintet.gateware.shell.engine.EngineControl`
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "ready": Out(1),
                "number": In(range(REGIONS)),
                "base": Out(UNIT_BITS),
                "limit": Out(LIMIT_BITS),
                "address": In(10),
                "write": In(1),
                "write_data": In(32),
                "read_data": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sweep = Signal(range(REGIONS + 1))
        sweeping = Signal()
        m.d.comb += [sweeping.eq(~sweep[-1]), self.ready.eq(~sweeping)]
        with m.If(sweeping):
            m.d.sync += sweep.eq(sweep + 1)
        is_limit = self.address[4]  # region_base[0] is word 0x40, region_limit[0] word 0x50
        data = self.write_data
        full = 1 << REGION_BITS - 6
        given = {
            "base": Mux(sweeping, Cat(Const(0, REGION_BITS - 6), sweep[:4]), data[6:]),
            "limit": Mux(sweeping | data[REGION_BITS:].any(), full, data[6:REGION_BITS]),
        }
        shown = {}
        for name, width in (("base", UNIT_BITS), ("limit", LIMIT_BITS)):
            # Written only while nobody looks at what is read.
            m.submodules[f"{name}_disjoint"] = ram = memory.Memory(
                shape=width, depth=REGIONS, init=[]
            )
            write, read, show = ram.write_port(), ram.read_port(), ram.read_port()
            mine = is_limit if name == "limit" else ~is_limit
            m.d.comb += [
                write.en.eq(sweeping | self.write & mine),
                write.addr.eq(Mux(sweeping, sweep[:4], self.address[:4])),
                write.data.eq(given[name]),
                read.en.eq(1),
                read.addr.eq(self.number),
                getattr(self, name).eq(read.data),
                show.en.eq(1),
                show.addr.eq(self.address[:4]),
            ]
            shown[name] = show.data
        late = Signal()
        m.d.sync += late.eq(is_limit)
        m.d.comb += self.read_data.eq(Mux(late, shown["limit"], shown["base"]) << 6)
        return m
