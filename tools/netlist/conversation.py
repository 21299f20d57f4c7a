# SPDX-License-Identifier: BSD-2-Clause
"""Conversation between host and board in a check, and the comparison of two boards'
conversations."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from ...boards import open_board
from ...boards.virtual.simulation import SimulationError
from ..link.errors import LinkError
from ..link.pipe import BytesLike
from ..selftest.core import test_core
from ..selftest.finding import Finding
from .exchange import exchange
from .start import start as start_from_flash
from .start import walked_list

if TYPE_CHECKING:
    from ...boards.virtual.board import VirtualBoard
    from .board import NetlistBoard

__all__ = ["Heard", "Outcome", "compare", "converse", "goes_directly", "patience"]

#: Deadlines of the host in bytes of the line: nothing answers later, and what is broken shall be
#: seen soon.
_TIMEOUT, _RETRY = 3000, 1200
#: A netlist may take so many times the cycles of the virtual board, and so many more, before it
#: counts as stuck.
_PATIENCE, _MORE = 3, 1_000_000
#: Seconds after power-up and the memory chip's initialisation at which a host comes: cores have
#: cleared themselves, and lights are dark.
_LATER = 300e-6
#: Bytes that are written and read; an address that is a multiple of nothing.
_BYTES, _AT = 217, 0x103
#: Bytes of a short answer on the line, or more.
_ANSWER = 32
#: Places of the LED's and the reset's registers of the SoC; cycles until a reset has come at the
#: latest, and those that the clocks may take to be right after power-up or a reset.
_SOC_LED, _SOC_RESET, _RESET_CYCLES, _START_CYCLES = 0x0C, 0x10, 1 << 17, 1 << 14


@dataclass(frozen=True)
class Heard:
    """Bytes received from the board until ``cycle`` of the conversation, and its lights then:
    ``busy``, ``fault`` (``None``: the board has none)."""

    cycle: int
    data: bytes
    lights: tuple[bool | None, bool | None]

    def __str__(self):
        lit = (
            " and ".join(
                name for name, on in zip(("busy", "fault"), self.lights, strict=True) if on
            )
            or "none"
        )
        return (
            f"{self.data[:12].hex(' ')}{' ...' if len(self.data) > 12 else ''} by cycle "
            f"{self.cycle:,}, lights: {lit}"
        )


@dataclass(frozen=True)
class Outcome:
    """Result of a conversation: ``findings``, ``cycles`` of the main clock that it took,
    ``failed``: the reason for an early end, ``heard``: all received bytes."""

    findings: tuple[Finding, ...]
    cycles: int
    failed: str = ""
    heard: tuple[Heard, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the conversation was complete and no test failed."""
        return not self.failed and all(finding.ok is not False for finding in self.findings)


class _Listener:
    """Pipe of a board that records received bytes. It ends the conversation if they differ from
    ``expected``, or when the board's cycle exceeds ``until`` (``None``: never)."""

    def __init__(
        self,
        board: VirtualBoard | NetlistBoard,
        expected: Sequence[Heard] | None,
        until: int | None,
    ) -> None:
        self._board, self._pipe = board, board.pipe
        self._expected, self._until = expected, until
        self.heard: list[Heard] = []
        self._on = False
        self.name = board.pipe.name
        self.bytes_per_second = board.pipe.bytes_per_second
        self.served = board.pipe.served
        known = open_board(board.soc.board_name)
        self._leds = known.busy_led is not None, known.fault_led is not None

    def read(self, limit: int, timeout: float) -> bytes:
        data = self._pipe.read(limit, timeout)
        if self._until is not None and self._board.cycle > self._until:
            raise SimulationError(f"the end, by cycle {self._until:,}")
        if self._on and data:
            self.heard.append(Heard(self._board.cycle - self._pipe.epoch, data, self._lights()))
            if self._expected is not None and self.heard[-1:] != list(
                self._expected[len(self.heard) - 1 : len(self.heard)]
            ):
                raise SimulationError(f"the line says {self.heard[-1]}")
        return data

    def _lights(self) -> tuple[bool | None, bool | None]:
        # A virtual board has signals where the other one has lights.
        busy = self._board.busy or getattr(self._board, "ready", False)
        fault = self._board.fault or getattr(self._board, "blink", False)
        return busy if self._leds[0] else None, fault if self._leds[1] else None

    def start(self):
        """Starts recording. A netlist's LEDs are off at this time, unless the board started from
        flash memory."""
        self._lights()
        self._on = True

    def stop(self):
        self._on = False

    def write(self, data: BytesLike) -> None:
        self._pipe.write(data)

    def now(self) -> float:
        return self._pipe.now()

    def sleep(self, seconds: float) -> None:
        self._pipe.sleep(seconds)

    def close(self) -> None:
        self._pipe.close()


def goes_directly(board: VirtualBoard | NetlistBoard) -> bool:
    """Whether data for a unit are written directly into the memory chip, since over the line they
    take longer than all the rest: not if units use on-chip memory, whose cells a netlist has under
    other names, nor if a board has started from flash memory, which does not say when its core is
    idle."""
    return board.chip is not None and not board.soc.on_chip and board.soc.boot is None


def _align(board):
    """Simulates until the memory chip has just been refreshed, so that both boards are at the same
    point of the refresh interval."""
    count = board.refreshes
    while board.soc.backing.kind == "SDRAM" and board.refreshes == count:
        board.advance(1)


def converse(
    board: VirtualBoard | NetlistBoard,
    name: str,
    every: bool = False,
    expected: Sequence[Heard] | None = None,
    until: int | None = None,
) -> Outcome:
    """Runs the conversation with a board: good and damaged frames, writes, reads, checksums, units
    of the core, lights, a reset.

    Parameters
    ----------
    board : VirtualBoard or NetlistBoard
    name : str, of the target
    every : bool, all units of the core rather than one
    expected : sequence of Heard, optional; where something else comes,
        the conversation has failed at once
    until : int, optional; cycle of the board behind which it ends, failed, too

    Returns
    -------
    Outcome
    """
    from ..link.client import LinkClient
    from ..targets.link import LinkTarget
    from ..targets.sim import SimTarget

    findings, began, ended, line = [], 0, None, _Listener(board, expected, until)
    try:
        start = getattr(board.soc.backing, "powerup_ns", 0) * 1e-9 + _LATER
        board.advance(max(1, board.reset_cycles + round(start * board.clock_hz) - board.cycle))
        _align(board)
        # The host's pauses, too, shall be the same to the cycle: they are rounded by the time of
        # day.
        began = board.pipe.epoch = board.cycle
        line.start()
        assert board.pipe.bytes_per_second is not None  # it is a serial line
        byte = 1 / board.pipe.bytes_per_second
        if board.soc.boot is not None:
            first = LinkClient(line, seed=2, timeout=_TIMEOUT * byte, retry=_RETRY * byte)
            findings.append(start_from_flash(first, board.soc))
        for finding in exchange(line, board.soc):
            findings.append(finding)
        client = LinkClient(line, seed=1, timeout=_TIMEOUT * byte, retry=_RETRY * byte)
        target = LinkTarget(client=client, name=name, kind="sim")
        info = target.info
        assert info.clock_hz is not None  # only a golden model has no clock
        findings.append(
            Finding(
                "link",
                "identify",
                True,
                f"{info.board}, {info.isa or 'no core'} {info.preset or ''}".rstrip()
                + f", {info.clock_hz / 1e6:g} MHz",
            )
        )
        findings += _memory(target)
        if info.isa is not None:
            findings += test_core(
                SimTarget(client=client, name=name, board=board, direct=goes_directly(board)),
                one=not every,
            )
        if board.soc.run_list:
            findings.append(walked_list(target))
        again = client.repeats + client.damaged
        findings.append(
            Finding(
                "link",
                "frames",
                not again,
                f"{client.repeats} requests sent again, {client.damaged} answers spoilt",
            )
        )
        # From here on what is said depends on when each board was awake.
        line.stop()
        ended = board.cycle - began
        findings.append(_counter(target, board))
        findings.append(_lights(target, board))
        if board.soc.backing.kind != "SDRAM":
            # The chip's model would miss its refreshes while the controller initialises it again.
            findings.append(_reset(target, board, start))
    except (LinkError, SimulationError) as error:
        return Outcome(
            tuple(findings), (ended or board.cycle - began), str(error), tuple(line.heard)
        )
    return Outcome(tuple(findings), ended, "", tuple(line.heard))


def _memory(target):
    """Tests memory: unaligned bytes, bytes at both ends of main memory, and their checksum."""
    rng, size = random.Random(1), target.info.memory_size
    for at in (_AT, size - _BYTES):
        data = rng.randbytes(_BYTES)
        target.write(at, data)
        equal, summed = (
            target.read(at, _BYTES) == data,
            target.checksum(at, _BYTES) == zlib.crc32(data),
        )
        found = (
            f"{_BYTES} bytes at {at:#x}: "
            + ("equal" if equal else "DIFFERENT")
            + (", sum right" if summed else ", sum WRONG")
        )
        yield Finding("memory", "write, read, checksum", equal and summed, found)


def _counter(target, board):
    """Tests the SoC's cycle counter at two moments: the cycles in between, and its offset to the
    clock since power-up."""
    counts = [(target.soc_cycles(), board.cycle) for _ in range(2)]
    (first, before), (last, after) = counts
    late = max(cycle - count for count, cycle in counts)
    most = _START_CYCLES + round(_ANSWER * board.clock_hz / board.pipe.bytes_per_second)
    ok = 0 <= late <= most
    return Finding(
        "clock",
        "cycle counter",
        ok,
        f"{last - first:,} cycles between two reads, {after - before:,} by the clock"
        + ("" if ok else f"; {late:,} behind the clock since power-up, expected 0 to {most:,}"),
    )


def _lights(target, board):
    """Tests both lights by switching them on and off. A virtual board has only their register."""
    right = True
    for value in (1, 0):
        target.write_soc_word(_SOC_LED, value)
        right = right and target.soc_word(_SOC_LED) == value and board.lit in (None, bool(value))
    return Finding(
        "LED",
        "lights",
        right,
        "lit and dark" if right else "NOT lit and dark as their register says",
    )


def _reset(target, board, start):
    """Tests a reset of the whole SoC: the cycle counter restarts, the light is off, the link
    answers a new host."""
    target.write_soc_word(_SOC_LED, 1)
    began = board.cycle
    target.write_soc_word(_SOC_RESET, 1)
    board.advance(_RESET_CYCLES)
    target.client.pipe.sleep(start)
    target.client.identify()
    led, count = target.soc_word(_SOC_LED), target.soc_cycles()
    # A netlist's reset is that of its PLL's lock, a virtual board's a fixed number of cycles: only
    # the bound is the same.
    ok = led == 0 and 0 < count < board.cycle - began
    return Finding(
        "link",
        "reset",
        ok,
        "identifies again"
        if ok
        else (
            f"the light's register is {led}, the counter of cycles {count:,}, "
            f"{board.cycle - began:,} cycles later"
        ),
    )


def patience(cycles: int) -> int:
    """Cycle limit after which a netlist counts as stuck, if a correct one takes ``cycles``."""
    return _PATIENCE * cycles + _MORE


def compare(netlist: Outcome, virtual: Outcome) -> Iterator[str]:
    """Describes the differences between two outcomes."""
    for which, outcome in (("netlist", netlist), ("virtual board", virtual)):
        if outcome.failed:
            yield f"the {which}: {outcome.failed}"
        for finding in outcome.findings:
            if finding.ok is False:
                yield f"the {which}, {finding.name}: {finding.found}"
    for ours, theirs in zip(netlist.findings, virtual.findings, strict=False):
        if ours.counters != theirs.counters:
            names = [
                name for name in theirs.counters if ours.counters.get(name) != theirs.counters[name]
            ]
            each = ", ".join(
                f"{name} {ours.counters.get(name)} of {theirs.counters[name]}" for name in names
            )
            yield f"{ours.name}: counters differ, {each} (netlist, virtual board)"
        elif ours != theirs:
            yield f"{ours.name}: {ours.found} (netlist), {theirs.found} (virtual board)"
    for ours, theirs in zip_longest(netlist.heard, virtual.heard, fillvalue="nothing more"):
        if ours != theirs:
            yield f"the line differs: {ours} (netlist), {theirs} (virtual board)"
            break
    if netlist.ok and virtual.ok and netlist.cycles != virtual.cycles:
        yield (
            f"the conversation took {netlist.cycles:,} cycles on the netlist, "
            f"{virtual.cycles:,} on the virtual board"
        )
