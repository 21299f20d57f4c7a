# SPDX-License-Identifier: BSD-2-Clause
"""Mapping of blocks to block RAMs, and the resulting pipeline depths (specification, section 9).

A **slot** is a cycle of the controller. What the controller says in slot k reaches the blocks some
cycles later, the same number for all signals; cycles below count from there.

=============================== ====================== ==========================
cycle                           ``tdp``                ``sdp2``, ``sdp1``
=============================== ====================== ==========================
k                               addresses at the RAM   address of X at the RAM
k + 1                                                  address of Y at the RAM
k + ``read``                    X and Y are read       X (Y one cycle later)
k + ``read`` + 1                add                    add (one later)
k + ``read`` + 2                write                  write (one later)
=============================== ====================== ==========================

One operand (mov, fold, accumRow): a bit every slot, in all mappings, written in cycle k + ``read``
+ 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....isa.parameters import ParameterError, Params
from ..isa import PES, levels

__all__ = ["Mapping"]

# An iCE40's block RAM answers early in a cycle, and has no register behind it: one would take 16
# logic cells a block.
_READ = {"tdp": 3, "sdp2": 3, "sdp1": 1}


@dataclass(frozen=True)
class Mapping:
    """Sizes and latencies of an array.

    Attributes
    ----------
    rows, cols : block rows and block columns
    width : bits of a register (N)
    depth : rows of a block's RAM
    ram : ``"tdp"``, ``"sdp2"`` or ``"sdp1"``
    """

    rows: int
    cols: int
    width: int
    depth: int
    ram: str

    @classmethod
    def of(cls, params: Params) -> Mapping:
        """The mapping of a parameter set."""
        return cls(
            params["rows"], params["cols"], params["reg_width"], params["depth"], params["ram"]
        )

    def __post_init__(self) -> None:
        if self.ram not in _READ:
            raise ParameterError(
                f"parameter ram must be one of {', '.join(_READ)}, not {self.ram!r}"
            )

    @property
    def two_ports(self) -> bool:
        """Whether the operands are read through two ports of the RAM (``tdp``)."""
        return self.ram == "tdp"

    @property
    def halves(self) -> int:
        """Number of blocks that share one RAM."""
        return 2 if self.ram == "sdp2" else 1

    @property
    def banks(self) -> int:
        """Number of RAMs (with their blocks) per column."""
        return -(-self.rows // self.halves)

    @property
    def read(self) -> int:
        """Cycles from an address to the operand after the RAM's registers, the bank's included
        (``tdp``, ``sdp2``)."""
        return _READ[self.ram]

    @property
    def write(self) -> int:
        """Cycles from the slot of a bit of a one-operand instruction to its write."""
        return self.read + 2

    @property
    def write_two(self) -> int:
        """Cycles from the slot of a bit of a two-operand instruction to its write."""
        return self.write if self.two_ports else self.write + 1

    @property
    def drain(self) -> int:
        """Slots after the last slot of an instruction until all its results may be read."""
        return self.write

    @property
    def address_bits(self) -> int:
        """Width of a row address in a RAM."""
        return (self.depth - 1).bit_length()

    @property
    def width_bits(self) -> int:
        """log2 of the register width."""
        return (self.width - 1).bit_length()

    @property
    def registers(self) -> int:
        """Number of registers of a PE that words can address."""
        return min(64, self.depth // self.width)

    @property
    def top_level(self) -> int:
        """Highest legal level of accumRow."""
        return max(3, levels(self.cols) - 1)

    # Slots that an instruction occupies before the next may start.

    @property
    def slots_add(self) -> int:
        """Slots of add and sub. With two ports the last slot of the last bit is free."""
        return 2 * self.width - (1 if self.two_ports else 0)

    @property
    def looks_back(self) -> bool:
        """Whether registers are so narrow that the last bit of a result is still in flight two
        instructions later. An operation that starts then must not read that bit in its first slot,
        nor overwrite it; operations with two operands start later anyway."""
        return self.width < self.drain

    @property
    def slots_updatepp(self) -> int:
        """Slots of updatepp: the multiplier bit, N bits, and the sign extension."""
        return 2 * self.width + (2 if self.two_ports else 3)

    @property
    def deep(self) -> bool:
        """Whether the array's clock is much faster than the main clock, as in an ECP5."""
        return self.ram != "sdp1"

    @property
    def small(self) -> bool:
        """Whether the array is so small, and the chip so slow, that fewer register stages in
        decoder and broadcast tree cost no speed."""
        return self.ram == "sdp1" and self.banks * self.cols <= 16

    @property
    def tiny(self) -> bool:
        """Whether the broadcast tree is omitted."""
        return self.ram == "sdp1" and self.banks * self.cols <= 8

    @property
    def pes(self) -> int:
        """Number of PEs of the array."""
        return PES * self.rows * self.cols
