# SPDX-License-Identifier: BSD-2-Clause
"""Behavioural model of an asynchronous SRAM for pysim, which checks its timing rules; the C++ model
is ``gateware/memory/chips/async_sram.hpp``."""

import numpy as np

from .parts import IO_NS, SRAMPart, find_sram

__all__ = ["SRAMChip", "SRAMViolation"]


class SRAMViolation(AssertionError):
    """Violation of a timing rule of an SRAM's data sheet."""


class SRAMChip:
    """Behavioural SRAM model on the lines of a :class:`~.phy.SRAMPins`, after the registers of the
    I/O cells.

    Attributes
    ----------
    data : numpy uint8
    reads, writes : int, cycles with output enable; pulses
    """

    def __init__(self, *, part: SRAMPart, clock_hz: float) -> None:
        self.part = find_sram(part)
        period = 1e9 / clock_hz
        if (
            period < self.part.t_aa + IO_NS
            or period < self.part.t_wp
            or period < 2 * self.part.t_sd
        ):
            raise SRAMViolation(f"a cycle of {period:.4g} ns is too short")
        self.data = np.zeros(self.part.size, np.uint8)
        self.reads = self.writes = 0
        self._before = (0, 0, 0, 0, 0, 0)  # a, oe, we, be, d, d_oe

    def cycle(self, a: int, oe: int, we: int, be: int, d: int, d_oe: int) -> int | None:
        """Simulates one cycle with these levels; returns the level of the data lines at the end.

        Raises
        ------
        SRAMViolation
        """
        before_a, before_oe, before_we, before_be, before_d, before_d_oe = self._before
        self._before = (a, oe, we, be, d, d_oe)
        pulse = before_we >> 1
        if pulse and not we & 1:
            raise SRAMViolation("a write pulse ends when address and data may change")
        if we & 1 and not pulse:
            raise SRAMViolation("a write pulse begins when the address may change")
        if pulse and (a, be, d) != (before_a, before_be, before_d):
            raise SRAMViolation("address, byte enables or data change during a write pulse")
        if we and (oe or not d_oe):
            raise SRAMViolation("a write pulse without driven data, or with the output enabled")
        if (oe and (d_oe or before_d_oe)) or (d_oe and before_oe):
            raise SRAMViolation("both sides drive the data lines, or change without an idle cycle")
        if we == 3:
            raise SRAMViolation("a write pulse longer than a cycle")
        at = 2 * a
        if we & 1:
            self.writes += 1
            for i in range(2):
                if be >> i & 1:
                    self.data[at + i] = d >> 8 * i & 0xFF
        if oe:
            self.reads += 1
            low, high = int(self.data[at]), int(self.data[at + 1])
            return (low if be & 1 else 0x5A) | (high if be & 2 else 0xA5) << 8
        return 0xA55A
