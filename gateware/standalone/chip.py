# SPDX-License-Identifier: BSD-2-Clause
"""Chip model of SPI flash memory for Amaranth's simulator: JEDEC commands, timing, four data
lines."""

from __future__ import annotations

from typing import Any

__all__ = ["FlashChip", "FlashViolation", "follow_pins"]

# Times and clocks of a Winbond W25Q128JV (data sheet, section 9.6).
#: Nanoseconds from the release from power-down to the next command.
WAKE_NS = 3000
#: Nanoseconds that the chip is not selected between two commands: after a read, and after others.
DESELECTED_NS = 50
#: Most MHz of READ (0x03), and of all other commands.
READ_MHZ, OTHER_MHZ = 50, 133


class FlashViolation(AssertionError):
    """Violation of a rule of the flash chip."""


class FlashChip:
    """Model of a flash memory, stepped once per cycle of the clock that drives its lines.

    Parameters
    ----------
    contents : bytes
        From address 0; all behind them is erased (0xff). Reads wrap at ``size``.
    period_ns : float
        Cycle of the main clock.
    size : int
        Bytes, a power of two.
    asleep : bool
        The chip is in power-down, as an FPGA's configuration leaves it.
    quad : bool
        It has four data lines once they are enabled; without, it ignores that.
    dies_after : int or None
        Bytes of data after which it loses its power: its output stays low.
    """

    def __init__(
        self,
        contents: bytes,
        *,
        period_ns: float,
        size: int = 1 << 24,
        asleep: bool = True,
        quad: bool = True,
        dies_after: int | None = None,
    ) -> None:
        self.contents, self.period_ns, self.size = contents, period_ns, size
        self.asleep, self._quad_lines = asleep, quad
        self.dies_after = dies_after
        #: Bytes of data that were read, and the bytes of each command.
        self.read_bytes = 0
        self.commands: list[bytes] = []
        self.quad_enabled = False
        self._volatile = False
        self._time = 0.0
        self._ready_at = 0.0
        self._deselected_at = float("-inf")
        self._rose_at = float("-inf")
        self._selected, self._clk = False, False
        self._begin()

    def _begin(self):
        self._bits: list[int] = []
        self._sent: list[int] = []
        self._address = 0
        self._drives = 0  # lines, as a mask
        self._level = 0

    def _fail(self, what):
        raise FlashViolation(f"flash memory: {what}")

    def cycle(self, selected: bool, clk: bool, o: int, oe: int) -> int:
        """Simulates one cycle with these levels; returns the four data lines after it."""
        self._time += self.period_ns
        if selected and not self._selected:
            if self._time - self._deselected_at < DESELECTED_NS:
                self._fail(f"selected again within {DESELECTED_NS} ns")
            if clk:
                self._fail("selected while its clock is high: expected mode 0")
            self._begin()
        elif self._selected and not selected:
            self._end()
            self._deselected_at = self._time
            self._drives = 0
        elif selected and clk and not self._clk:
            self._rise(o, oe)
        elif selected and self._clk and not clk:
            self._fall()
        if selected and self._drives & oe:
            self._fail(f"lines {self._drives & oe:04b} are driven from both sides")
        self._selected, self._clk = selected, clk
        dead = self.dies_after is not None and self.read_bytes > self.dies_after
        idle = 0xF & ~self._drives  # pulled up
        lines = (self._level & self._drives) | (o & oe) | (idle & ~oe)
        return 0 if dead else lines

    def _period(self):
        """Nanoseconds since the previous rising edge of its clock."""
        period = self._time - self._rose_at
        self._rose_at = self._time
        return period

    def _rise(self, o, oe):
        period = self._period()
        if len(self._sent) < self._command_bytes():
            if not oe & 1:
                self._fail("a bit of a command, and nothing drives line 0")
            if not self.quad_enabled and oe & 0b1100 and (o & oe) & 0b1100 != oe & 0b1100:
                self._fail("write protection or hold is low")
            self._bits.append(o & 1)
            if len(self._bits) == 8:
                self._sent.append(int("".join(map(str, self._bits)), 2))
                self._bits = []
        elif len(self._sent) < self._command_bytes() + self._dummy_bytes():
            self._bits.append(0)
            if len(self._bits) == 8:
                self._sent.append(0)
                self._bits = []
        most = READ_MHZ if self._sent[:1] == [0x03] else OTHER_MHZ
        if period < 1000 / most - 1e-6:
            self._fail(f"a clock of {1000 / period:.1f} MHz: expected at most {most}")

    def _command_bytes(self):
        """Length of the command and its address in bytes."""
        if not self._sent:
            return 1
        return {0x03: 4, 0x0B: 4, 0x6B: 4, 0x31: 2}.get(self._sent[0], 1)

    def _dummy_bytes(self):
        return 1 if self._sent and self._sent[0] in (0x0B, 0x6B) else 0

    def _reading(self):
        """Number of data lines on which the chip answers, 0 before it does."""
        code = self._sent[0] if self._sent else None
        whole = len(self._sent) == self._command_bytes() + self._dummy_bytes()
        if self.asleep or not whole or self._time < self._ready_at:
            return 0
        if code in (0x03, 0x0B):
            return 1
        return 4 if code == 0x6B and self.quad_enabled else 0

    def _fall(self):
        lines = self._reading()
        if not lines:
            return
        if not self._bits:
            at = int.from_bytes(bytes(self._sent[1:4]), "big") + self._address
            at %= self.size
            byte = self.contents[at] if at < len(self.contents) else 0xFF
            self._address += 1
            self.read_bytes += 1
            self._bits = [byte >> bit & 1 for bit in range(7, -1, -1)]
        if lines == 1:
            self._drives, self._level = 0b0010, self._bits.pop(0) << 1
            return
        self._drives = 0b1111
        high, self._bits = self._bits[:4], self._bits[4:]
        self._level = sum(bit << 3 - number for number, bit in enumerate(high))

    def _end(self):
        """Completes a command when the chip is deselected."""
        if not self._sent:
            return
        self.commands.append(bytes(self._sent))
        code = self._sent[0]
        if code == 0xAB:
            if self.asleep:
                self._ready_at = self._time + WAKE_NS
            self.asleep = False
            return
        if self.asleep:
            return
        if self._time < self._ready_at:
            self._fail(f"command {code:#04x} within {WAKE_NS} ns of its release from power-down")
        if code == 0xB9:
            self.asleep = True
        if code == 0x31 and self._volatile and len(self._sent) == 2:
            self.quad_enabled = self._quad_lines and bool(self._sent[1] & 2)
        self._volatile = code == 0x50


async def follow_pins(ctx: Any, chip: FlashChip, pins: Any) -> None:
    """Simulation process that connects ``chip`` to ``pins`` (:class:`~.flash.FlashPins`) of a
    reader."""
    while True:
        _, _, cs, clk, o, oe = await ctx.tick().sample(pins.cs, pins.clk, pins.dq.o, pins.dq.oe)
        ctx.set(pins.dq.i, chip.cycle(bool(cs), bool(clk), o, oe))
