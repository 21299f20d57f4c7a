# SPDX-License-Identifier: BSD-2-Clause
"""Run lists: format of their commands in main memory, and registers of the unit that executes them
(docs/how/standalone.md). Pure Python."""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = [
    "MARK",
    "MAX_BYTES",
    "MAX_RUNS",
    "MAX_STEP",
    "RUN_LIST_REGISTERS",
    "Command",
    "Flag",
    "ListError",
    "ListStatus",
    "RunList",
    "decode",
    "walk",
]

#: Bits 7 and 6 of every command: memory that holds no list is refused.
MARK = 0b10
#: Most bytes of a run that a command moves, and most runs.
MAX_BYTES, MAX_RUNS = (1 << 16) - 1, 1 << 16
#: Most words from the last word of a run to the first of the next one.
MAX_STEP = (1 << 15) - 1

#: name -> (byte offset, access, meaning)
RUN_LIST_REGISTERS = {
    "list_start": (
        0x00,
        "w",
        "[31:2] address of a list of runs, which begins; bit 0: interrupt at its end. Ignored "
        "while a list is walked",
    ),
    "list_status": (
        0x04,
        "rw",
        "bit 0 busy, bit 1 ended, bit 2 a run ended with a fault or was aborted, bit 3 a bus "
        "cycle failed or a word was no command, bit 4 stopped; a write stops the list behind the "
        "word that is moved",
    ),
    "list_runs": (0x08, "r", "[15:0] runs of this list that were started, modulo 2^16"),
    "list_position": (0x0C, "r", "address behind the last word of the list that was taken"),
}


class ListError(ValueError):
    """Error: the data are not a run list."""


class Flag(enum.IntFlag):
    """Steps of a command, in their order of execution."""

    WAIT = 1  # until the core is idle; a fault ends the list
    MOVE = 2  # bytes, to a destination
    INLINE = 4  # those after the command, else those at a source
    START = 8  # start of the core
    END = 16  # of the list
    STRIDED = 32  # several runs are moved


class ListStatus(enum.IntFlag):
    """Bits of the register ``list_status``."""

    BUSY = 1
    ENDED = 2
    FAULT = 4
    ERROR = 8
    STOPPED = 16


@dataclass(frozen=True)
class Command:
    """One command of a run list.

    Attributes
    ----------
    flags : Flag
    size : bytes of a run
    destination, source : byte addresses
    runs : number of runs
    strides : bytes from a run to the next one, at source and destination
    data : inline bytes
    position, end : index of its first word, and that behind its last
    """

    flags: Flag
    size: int
    destination: int
    source: int
    runs: int
    strides: tuple[int, int]
    data: bytes
    position: int
    end: int


class RunList:
    """Builder of a run list; commands are executed in the order of the calls.

    Parameters
    ----------
    control : int
        Byte address of the core's control block.
    """

    def __init__(self, control: int) -> None:
        self._control = control
        self._words: list[int] = []
        self._registers: dict[int, int] = {}  # word address -> value, as this list leaves them
        self._running = False
        #: Index of the first word after the start of each run.
        self.starts: list[int] = []

    def __len__(self) -> int:
        """Size of the list in bytes."""
        return 4 * len(self._words)

    @property
    def bytes(self) -> bytes:
        """Encodes the list as bytes in main memory."""
        return struct.pack(f"<{len(self._words)}I", *self._words)

    def _command(self, flags, size=0, *words):
        if not 0 <= size <= MAX_BYTES:
            raise ListError(f"a run of {size} bytes: expected at most {MAX_BYTES}")
        for word in words[:2]:
            if word % 4:
                raise ListError(f"address {word:#x} in a list of runs: expected a multiple of 4")
        self._words += [size << 8 | MARK << 6 | flags, *words]

    def copy(self, source: int, destination: int, size: int) -> None:
        """Adds a copy of ``size`` bytes, executed at once, also during a run. Addresses are
        multiples of 4."""
        whole = MAX_BYTES & ~3
        for at in range(0, size, whole):
            self._command(Flag.MOVE, min(whole, size - at), destination + at, source + at)

    def scatter(self, source: int, destination: int, size: int, stride: int, count: int) -> None:
        """Adds a copy of ``count`` runs of ``size`` bytes, from word-aligned consecutive places at
        the source to places ``stride`` bytes apart."""
        self._strided(source, destination, size, stride, count, 0)

    def gather(self, source: int, destination: int, size: int, stride: int, count: int) -> None:
        """Adds a copy of ``count`` runs of ``size`` bytes from places ``stride`` bytes apart to
        consecutive words: the reverse of :meth:`scatter`."""
        self._strided(source, destination, size, stride, count, 1)

    def _strided(self, source, destination, size, stride, count, side):
        words = -(-size // 4)
        step = stride // 4 - words + 1
        if stride % 4 or not 1 <= step <= MAX_STEP or not 1 <= count <= MAX_RUNS or not size:
            raise ListError(
                f"{count} runs of {size} bytes at distances of {stride}: expected 1 to "
                f"{MAX_RUNS} runs, and a multiple of 4 from {4 * words} to "
                f"{4 * (words + MAX_STEP - 1)}"
            )
        self._command(
            Flag.MOVE | Flag.STRIDED,
            size,
            destination,
            source,
            side << 31 | step << 16 | count - 1,
        )

    def run(self, registers: dict[int, int]) -> None:
        """Adds a run: waits for the previous run, writes those of ``registers`` (byte offset in the
        control block -> word) whose values differ from the list's previous ones, and starts the
        core."""
        changed = {
            offset: value
            for offset, value in sorted(registers.items())
            if self._registers.get(offset) != value
        }
        self._registers.update(changed)
        blocks: list[tuple[int, list[int]]] = []
        for offset, value in changed.items():
            if blocks and blocks[-1][0] + 4 * len(blocks[-1][1]) == offset:
                blocks[-1][1].append(value)
            else:
                blocks.append((offset, [value]))
        wait = Flag.WAIT if self._running else Flag(0)
        for number, (offset, values) in enumerate(blocks):
            flags = Flag.MOVE | Flag.INLINE | wait
            if number == len(blocks) - 1:
                flags |= Flag.START
            address = self._control + offset
            if address % 4:
                raise ListError(f"register at {address:#x}: expected a multiple of 4")
            self._command(flags, 4 * len(values), address)
            self._words += values
            wait = Flag(0)
        if not blocks:
            self._command(wait | Flag.START)
        self._running = True
        self.starts.append(len(self._words))

    def wait(self) -> None:
        """Adds a wait for the run in progress."""
        if self._running:
            self._command(Flag.WAIT)
        self._running = False

    def end(self) -> None:
        """Adds the end of the list, after its last run has ended."""
        self._command((Flag.WAIT if self._running else Flag(0)) | Flag.END)
        self._running = False


def decode(data: bytes) -> Iterator[Command]:
    """Decodes the commands of a list, up to its end.

    Raises
    ------
    ListError
        A word is no command, or the list has no end.
    """
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    at = 0
    while at < len(words):
        position, word = at, words[at]
        if word >> 6 & 3 != MARK or word >> 24:
            raise ListError(f"word {at} of a list of runs = {word:#010x}: expected a command")
        flags, size = Flag(word & 63), word >> 8
        at += 1
        destination, source, inline = 0, 0, b""
        long = -(-size // 4)
        runs, strides = 1, (4 * long, 4 * long)
        need = (flags & Flag.MOVE != 0) * (1 + (long if flags & Flag.INLINE else 1))
        need += flags & Flag.STRIDED != 0
        if at + need > len(words):
            break
        if flags & Flag.MOVE:
            destination = words[at]
            at += 1
            if flags & Flag.INLINE:
                inline = data[4 * at : 4 * at + size]
                at += long
            else:
                source = words[at]
                at += 1
            if flags & Flag.STRIDED:
                runs = (words[at] & 0xFFFF) + 1
                far = 4 * (long - 1 + (words[at] >> 16 & 0x7FFF))
                strides = (far, 4 * long) if words[at] >> 31 else (4 * long, far)
                at += 1
        yield Command(
            flags=flags,
            size=size,
            destination=destination,
            source=source,
            runs=runs,
            strides=strides,
            data=inline,
            position=position,
            end=at,
        )
        if flags & Flag.END:
            return
    raise ListError("a list of runs without an end")


def walk(
    data: bytes,
    *,
    read: Callable[[int, int], bytes],
    write: Callable[[int, bytes], object],
    start: Callable[[], bool],
) -> tuple[ListStatus, int, int]:
    """Golden model of the execution of a list: its final status, the runs that were started, and
    the list bytes that were consumed (for a command that failed, all of it).

    Parameters
    ----------
    data : bytes
        The list, and any bytes after it.
    read, write : callables
        ``read(address, size)``, ``write(address, data)`` of the SoC's addresses; a ``ValueError``
        is a failed bus cycle.
    start : callable
        Runs the core to its end; whether it ended well.
    """
    runs, well, taken = 0, True, 0
    try:
        for command in decode(data):
            if command.flags & Flag.WAIT and not well:
                taken = 4 * command.end - (len(command.data) + 3) // 4 * 4
                return ListStatus.ENDED | ListStatus.FAULT, runs, taken
            taken = 4 * command.end
            if command.flags & Flag.MOVE and command.size:
                for run in range(command.runs):
                    source, place = (run * stride for stride in command.strides)
                    moved = (
                        command.data
                        if command.flags & Flag.INLINE
                        else read(command.source + source, command.size)
                    )
                    write(command.destination + place, moved)
            if command.flags & Flag.START:
                runs += 1
                well = start()
    except ValueError:
        return ListStatus.ENDED | ListStatus.ERROR, runs, taken
    return ListStatus.ENDED, runs, taken
