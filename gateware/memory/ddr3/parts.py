# SPDX-License-Identifier: BSD-2-Clause
"""DDR3 chips: geometry, and times in nanoseconds and in cycles of the controller's clock."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

__all__ = ["PARTS", "DDR3Part", "DDR3Timing", "find_ddr3"]

#: Cycles of the chip's clock in a cycle of the controller's.
RATE = 2
#: Words that a command moves (DDR3's burst length).
BURST = 8
#: CAS latency and CAS write latency of the slowest speed bin (JESD79-3F, section 3.4.2), cycles of
#: the chip.
CL, CWL = 6, 5
#: Cycles from a read command to its data that LiteDRAM's ECP5 PHY adds to the CAS latency.
PHY_LATENCY = 10


@dataclass(frozen=True)
class DDR3Timing:
    """Waits in cycles of the controller's clock, by the names of JESD79-3F.

    ``read``, ``write``: cycles from a command at the PHY to its data there.
    """

    t_rp: int
    t_rcd: int
    t_wr: int
    t_refi: int
    t_rfc: int
    t_wtr: int
    t_faw: int
    t_ccd: int
    t_rrd: int
    t_rc: int
    t_ras: int
    read: int
    write: int


@dataclass(frozen=True)
class DDR3Part:
    """A DDR3 chip of 16 bits.

    Attributes
    ----------
    name : str
    row_bits, column_bits, bank_bits : int
    t_rp, t_rcd, t_wr, t_ras, t_rfc, t_faw, t_rrd, t_wtr, t_refi : float, nanoseconds
    lanes : int, bytes of the data lines
    """

    name: str
    row_bits: int
    t_rfc: float
    t_ras: float = 37.5
    t_rp: float = 15.0
    t_rcd: float = 15.0
    t_wr: float = 15.0
    t_faw: float = 50.0
    t_rrd: float = 10.0
    t_wtr: float = 7.5
    t_refi: float = 64e6 / 8192
    column_bits: int = 10
    bank_bits: int = 3
    lanes: int = 2

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self.lanes << self.row_bits + self.column_bits + self.bank_bits

    @property
    def burst_bytes(self) -> int:
        """Bytes that a command moves: a beat of LiteDRAM's native port."""
        return BURST * self.lanes

    def timing(self, clock_hz: float) -> DDR3Timing:
        """Waits with a controller's clock of ``clock_hz``, as LiteDRAM computes them: half a cycle
        is added to every time, since a command may be in either half."""
        period = 1e9 / clock_hz

        def cycles(ns: float, least: int = 0) -> int:
            return max(ceil(least / RATE), ceil((ns + period / 2) / period))

        return DDR3Timing(
            t_rp=cycles(self.t_rp),
            t_rcd=cycles(self.t_rcd),
            t_wr=cycles(self.t_wr),
            t_refi=ceil(self.t_refi / period),
            t_rfc=cycles(self.t_rfc),
            t_wtr=cycles(self.t_wtr, 4),
            t_faw=cycles(self.t_faw),
            t_ccd=4 // RATE,
            t_rrd=cycles(self.t_rrd, 4),
            t_rc=cycles(self.t_rp + self.t_ras),
            t_ras=cycles(self.t_ras),
            read=ceil(CL / RATE) + PHY_LATENCY,
            write=ceil(CWL / RATE),
        )


#: Times of the slowest speed bin (DDR3-800E of JESD79-3F): the controller's clock is so slow that a
#: faster one would save no cycle. Of tRFC that of a chip of 4 Gbit is taken for smaller ones too,
#: so that a board with a larger chip works with the description of a smaller one.
PARTS = {
    part.name: part
    for part in (
        DDR3Part("MT41K64M16", row_bits=13, t_rfc=260.0),
        DDR3Part("MT41K128M16", row_bits=14, t_rfc=260.0),
        DDR3Part("MT41K256M16", row_bits=15, t_rfc=260.0),
    )
}


def find_ddr3(part: DDR3Part | str) -> DDR3Part:
    """A part by its name, or a part itself.

    Raises
    ------
    ValueError
        There is no part of that name.
    """
    if isinstance(part, DDR3Part):
        return part
    if part not in PARTS:
        raise ValueError(f"DDR3 part = {part!r}: expected one of {', '.join(PARTS)}")
    return PARTS[part]
