# SPDX-License-Identifier: BSD-2-Clause
"""Data of SDR SDRAM parts: geometry, timing parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...arguments import is_integer

__all__ = ["PARTS", "RATES", "SDRAMPart", "SDRAMTiming", "find_part"]

#: Possible ratios of the chip's clock to the controller's.
RATES = (1, 2)


@dataclass(frozen=True)
class SDRAMPart:
    """Geometry and timing of an SDR SDRAM part (two chips side by side make one part).

    Times are nanoseconds. The defaults are conservative: every 143 or 166 MHz part in the usual
    speed grades keeps them (data sheets of W9825G6JH, MT48LC16M16A2, IS42S16160G, AS4C32M16SB,
    M12L64322A, EM638325).

    Attributes
    ----------
    name : str
    data_bits : int
        Width of DQ: 8, 16 or 32.
    bank_bits, row_bits, column_bits : int
        Widths of the addresses.
    t_rcd, t_rp, t_wr, t_ras, t_rc, t_rfc, t_rrd : float
        Activate to access, precharge to activate, last written data to precharge, activate to
        precharge, activate to activate in one bank, refresh to next command, activate to activate
        in another bank.
    t_mrd : int
        Mode register set to next command, in cycles.
    t_ras_max : float
        Longest time that a row may stay open.
    refreshes, refresh_ms : int
        Number of refresh commands that ``refresh_ms`` must see.
    cl2_mhz, cl3_mhz : float
        Fastest clock for a CAS latency of 2 and of 3.
    t_is, t_ih : float
        Set-up and hold time of commands, addresses and written data.
    t_ac2, t_ac3 : float
        Access time from the clock for a CAS latency of 2 and of 3.
    t_oh : float
        Time that read data stay after the next edge.
    masks : bool
        The chip's byte masks (DQM) are connected. Where they are not, ``PartialWrites`` stands in
        front.
    """

    name: str
    data_bits: int
    bank_bits: int
    row_bits: int
    column_bits: int
    t_rcd: float = 20
    t_rp: float = 20
    t_wr: float = 20
    t_ras: float = 45
    t_rc: float = 65
    t_rfc: float = 70
    t_rrd: float = 15
    t_mrd: int = 2
    t_ras_max: float = 100_000
    refreshes: int = 8192
    refresh_ms: int = 64
    cl2_mhz: float = 100
    cl3_mhz: float = 143
    t_is: float = 1.5
    t_ih: float = 1.0
    t_ac2: float = 6.0
    t_ac3: float = 5.4
    t_oh: float = 2.5
    masks: bool = True

    def __post_init__(self) -> None:
        for name, legal in (
            ("data_bits", (8, 16, 32)),
            ("bank_bits", (1, 2)),
            ("row_bits", range(8, 14)),
            ("column_bits", range(8, 11)),
            ("t_mrd", range(1, 9)),
        ):
            if getattr(self, name) not in legal:
                raise ValueError(
                    f"{name} of SDRAM part {self.name!r} must be in {tuple(legal)}, "
                    f"not {getattr(self, name)!r}"
                )
        for name in (
            "t_rcd",
            "t_rp",
            "t_wr",
            "t_ras",
            "t_rc",
            "t_rfc",
            "t_rrd",
            "refreshes",
            "refresh_ms",
            "cl2_mhz",
            "cl3_mhz",
            "t_is",
            "t_ih",
            "t_ac2",
            "t_ac3",
            "t_oh",
        ):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise ValueError(
                    f"{name} of SDRAM part {self.name!r} must be a positive number, not {value!r}"
                )

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat, as wide as the chip."""
        return self.data_bits // 8

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self.beat_bytes << (self.bank_bits + self.row_bits + self.column_bits)

    @property
    def t_refi(self) -> float:
        """Average refresh interval in nanoseconds."""
        return self.refresh_ms * 1e6 / self.refreshes

    def t_ac(self, cas: int) -> float:
        """Access time from the clock in nanoseconds, by CAS latency."""
        return self.t_ac2 if cas == 2 else self.t_ac3

    def at_rate(self, rate: int) -> SDRAMPart:
        """The part as a controller sees it whose clock is ``rate`` times slower than the chip's: a
        beat has ``rate`` words of neighbouring columns.

        Raises
        ------
        ValueError
            The rate is neither 1 nor 2, or a row has fewer than 256 beats.
        """
        if not is_integer(rate) or rate not in RATES:
            raise ValueError(f"SDRAM rate = {rate!r}: expected 1 or 2")
        if rate == 1:
            return self
        if self.data_bits > 16 or self.column_bits < 9:
            raise ValueError(
                f"SDRAM part {self.name!r} at a rate of 2: expected at most 16 bits and at least "
                f"512 columns, found {self.data_bits} and {1 << self.column_bits}"
            )
        return replace(self, data_bits=2 * self.data_bits, column_bits=self.column_bits - 1)

    def timing(self, clock_hz: float, rate: int = 1) -> SDRAMTiming:
        """The :class:`SDRAMTiming` at a clock; raises ``ValueError`` if the part does not support
        it. ``rate``: the chip's clock is that many times ``clock_hz``."""
        if not isinstance(clock_hz, (int, float)) or isinstance(clock_hz, bool) or not clock_hz > 0:
            raise ValueError(f"Clock must be a positive number of Hz, not {clock_hz!r}")
        if rate > 1 and rate * clock_hz > self.cl3_mhz * 1e6:
            raise ValueError(
                f"SDRAM part {self.name!r} at twice the main clock of {clock_hz / 1e6:g} MHz: "
                f"expected at most {self.cl3_mhz:g} MHz, found {rate * clock_hz / 1e6:g}"
            )
        if clock_hz > self.cl3_mhz * 1e6:
            raise ValueError(
                f"Clock of {clock_hz / 1e6:g} MHz is above the {self.cl3_mhz:g} MHz of SDRAM "
                f"part {self.name!r}"
            )

        def cycles(nanoseconds):
            # In picoseconds and rounded up; a hundredth of a cycle of slack swallows the rounding
            # of clock_hz.
            return max(1, -int(-(nanoseconds * clock_hz / 1e9 - 0.001) // 1))

        timing = SDRAMTiming(
            cas=2 if rate * clock_hz <= self.cl2_mhz * 1e6 else 3,
            t_rcd=cycles(self.t_rcd),
            t_rp=cycles(self.t_rp),
            # A burst's last word is written as many cycles of the chip later.
            t_wr=cycles(self.t_wr + (rate - 1) * 1e9 / (rate * clock_hz)),
            t_ras=cycles(self.t_ras),
            t_rc=cycles(self.t_rc),
            t_rfc=cycles(self.t_rfc),
            t_rrd=cycles(self.t_rrd),
            t_mrd=-(-self.t_mrd // rate),
            # Room for the refreshes that a row change may postpone, so that each row keeps its 64
            # ms.
            t_refi=int(self.t_refi * clock_hz / 1e9 * self.refreshes / (self.refreshes + 16)),
        )
        if timing.t_refi < 4 * timing.t_rfc:
            raise ValueError(
                f"Clock of {clock_hz / 1e6:g} MHz is too slow to refresh SDRAM part {self.name!r}"
            )
        return timing


@dataclass(frozen=True)
class SDRAMTiming:
    """Timing parameters of a part in cycles of the controller's clock; ``t_refi`` is the refresh
    interval. Only ``cas``, the CAS latency, is in cycles of the chip."""

    cas: int
    t_rcd: int
    t_rp: int
    t_wr: int
    t_ras: int
    t_rc: int
    t_rfc: int
    t_rrd: int
    t_mrd: int
    t_refi: int


_W9825G6 = SDRAMPart("W9825G6", data_bits=16, bank_bits=2, row_bits=13, column_bits=9)
_M12L64322A = SDRAMPart(
    "M12L64322A", data_bits=32, bank_bits=2, row_bits=11, column_bits=8, refreshes=4096
)

#: The parts of the boards, by name.
PARTS = {
    part.name: part
    for part in (
        # 32 MB, 16 bits: ULX3S carries one or another of these.
        _W9825G6,
        replace(_W9825G6, name="MT48LC16M16A2"),
        replace(_W9825G6, name="AS4C16M16SA"),
        # Its 6-ns grade (AS4C16M16SA data sheet, revision 3.0, features).
        replace(_W9825G6, name="AS4C16M16SA-6", cl3_mhz=166, t_ac3=5.0),
        replace(_W9825G6, name="IS42S16160G"),
        replace(_W9825G6, name="IS42S16160B"),
        # 2 MB, 16 bits, two banks: BlackIce Mx. Its data stay shorter (W9816G6JH, AC
        # characteristics).
        replace(
            _W9825G6,
            name="W9816G6",
            bank_bits=1,
            row_bits=11,
            column_bits=8,
            refreshes=2048,
            refresh_ms=32,
            t_oh=2.0,
        ),
        # 64 MB, 16 bits
        replace(_W9825G6, name="AS4C32M16SB", column_bits=10),
        # 8 MB, 32 bits: Colorlight 5A-75B and i5 among others, with the byte masks tied low on the
        # board
        replace(_M12L64322A, masks=False),
        replace(_M12L64322A, name="EM638325", masks=False),
    )
}


def find_part(part: SDRAMPart | str) -> SDRAMPart:
    """Looks up a part by name; a :class:`SDRAMPart` is returned unchanged."""
    if isinstance(part, SDRAMPart):
        return part
    if part not in PARTS:
        raise ValueError(
            f"SDRAM part must be one of {', '.join(PARTS)} or a SDRAMPart, not {part!r}"
        )
    return PARTS[part]
