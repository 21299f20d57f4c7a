# SPDX-License-Identifier: BSD-2-Clause
"""Data of asynchronous SRAM parts: size, timing parameters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PARTS", "SRAMPart", "find_sram"]

#: Clock to pad, pad to register and board of an iCE40 or ECP5 together, in nanoseconds: generous.
IO_NS = 8


@dataclass(frozen=True)
class SRAMPart:
    """Size and timing of an asynchronous SRAM of 16 bits with byte enables.

    Attributes
    ----------
    name : str
    address_bits : int, of a 16-bit word
    t_aa : float, nanoseconds from address (or output enable) to data
    t_wp : float, shortest write pulse in nanoseconds
    t_sd : float, nanoseconds of data before the end of the pulse

    Set-up of the address before a write pulse and hold of address and data after it are 0 in every
    data sheet, at least: none of them may be negative, so neither may coincide with an edge of the
    pulse.
    """

    name: str
    address_bits: int
    t_aa: float
    t_wp: float
    t_sd: float

    beat_bytes = 2

    def __post_init__(self) -> None:
        if self.address_bits not in range(10, 23):
            raise ValueError(
                f"address_bits of SRAM part {self.name!r} must be 10 to 22, not "
                f"{self.address_bits!r}"
            )
        for name in ("t_aa", "t_wp", "t_sd"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise ValueError(
                    f"{name} of SRAM part {self.name!r} must be a positive number, not {value!r}"
                )

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self.beat_bytes << self.address_bits

    @property
    def max_hz(self) -> float:
        """Highest clock frequency: a word is read in one cycle, and written by a pulse of one
        cycle."""
        return 1e9 / max(self.t_aa + IO_NS, self.t_wp, 2 * self.t_sd)

    def check_clock(self, clock_hz: float) -> None:
        """Raises ``ValueError`` if the part does not support this clock."""
        if not isinstance(clock_hz, (int, float)) or isinstance(clock_hz, bool) or not clock_hz > 0:
            raise ValueError(f"Clock must be a positive number of Hz, not {clock_hz!r}")
        if clock_hz > self.max_hz:
            raise ValueError(
                f"Clock of {clock_hz / 1e6:g} MHz is above the {self.max_hz / 1e6:.4g} MHz of "
                f"SRAM part "
                f"{self.name!r}"
            )


#: Parts by name.
PARTS = {
    part.name: part
    for part in (
        # 512 KiB of 10 ns: BlackIce II carries one of this kind.
        SRAMPart("IS61WV25616", address_bits=18, t_aa=10, t_wp=8, t_sd=6),
    )
}


def find_sram(part: SRAMPart | str) -> SRAMPart:
    """Looks up a part by name; a :class:`SRAMPart` is returned unchanged."""
    if isinstance(part, SRAMPart):
        return part
    if part not in PARTS:
        raise ValueError(f"SRAM part must be one of {', '.join(PARTS)} or a SRAMPart, not {part!r}")
    return PARTS[part]
