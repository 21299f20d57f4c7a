# SPDX-License-Identifier: BSD-2-Clause
"""iCE40 UltraPlus' single-port RAM of 16,384 words of 16 bits."""

from amaranth import ClockSignal, Const, Instance, Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["SPRAM"]


class SPRAM(wiring.Component):
    """One ``SB_SPRAM256KA`` (yosys never infers it), or its behavioural model.

    One access a cycle. Data read stand from the cycle after the access to the next enabled access;
    they are undefined after a write (the behavioural model leaves them as they were), and the
    contents are undefined at configuration (the model: zero).

    Parameters
    ----------
    family : str or None
        ``"ice40"`` for the cell, ``None`` for the behavioural model.

    Members
    -------
    address : In(14), enable : In(1), write : In(1)
    mask : In(4), write enable of each four bits
    write_data : In(16), read_data : Out(16)
    """

    WORDS = 16384

    def __init__(self, *, family: str | None) -> None:
        if family not in ("ice40", None):
            raise ValueError(f"Family must be 'ice40' or None for an SPRAM, not {family!r}")
        self.family = family
        super().__init__(
            {
                "address": In(14),
                "enable": In(1),
                "write": In(1),
                "mask": In(4),
                "write_data": In(16),
                "read_data": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.family == "ice40":
            m.submodules.cell = Instance(
                "SB_SPRAM256KA",
                i_CLOCK=ClockSignal(),
                i_ADDRESS=self.address,
                i_CHIPSELECT=self.enable,
                i_WREN=self.write,
                i_MASKWREN=self.mask,
                i_DATAIN=self.write_data,
                o_DATAOUT=self.read_data,
                i_STANDBY=Const(0, 1),
                i_SLEEP=Const(0, 1),
                i_POWEROFF=Const(1, 1),
            )  # POWEROFF is low-active
            return m
        memory = m.submodules.memory = Memory(shape=16, depth=self.WORDS, init=[])
        reader = memory.read_port()
        writer = memory.write_port(granularity=4)
        m.d.comb += [
            reader.addr.eq(self.address),
            reader.en.eq(self.enable & ~self.write),
            self.read_data.eq(reader.data),
            writer.addr.eq(self.address),
            writer.data.eq(self.write_data),
        ]
        with m.If(self.enable & self.write):
            m.d.comb += writer.en.eq(self.mask)
        return m
