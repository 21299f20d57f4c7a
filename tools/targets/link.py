# SPDX-License-Identifier: BSD-2-Clause
"""Target behind the host link, with the same code for a physical and a virtual board."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

from ...gateware.cores import core_names, open_core
from ...gateware.info import RUN_LIST_BASE, SOC_BASE
from ...gateware.isa.outcome import FaultReport, Outcome
from ...gateware.isa.parameters import params_hash
from ...gateware.standalone.image import BootReason, BootStatus
from ...gateware.standalone.runlist import RUN_LIST_REGISTERS, ListStatus
from ..errors import TargetError
from ..link.access import Access, total
from ..link.client import LinkClient
from .base import ListOutcome, MemoryTrace, Progress, Target
from .info import read_info

__all__ = ["LinkTarget"]

START, ABORT = 1, 2
BUSY, FAULT, ABORTED = 1, 4, 8
#: Bytes between two registers that are read along, since a request of its own takes more; bytes of
#: one request.
_NEAR, _BLOCK = 24, 256
#: Places of the cycle counter, of the start from flash memory and of that of DDR3 memory in the
#: SoC's registers (gateware/bus/registers.py).
SOC_CYCLES, SOC_BOOT, SOC_MEMORY = 0x08, 0x14, 0x18
#: The core ends after an abort within this many seconds of the board's time, else it counts as
#: stuck.
ABORT_SECONDS = 2.0
RESET_SECONDS = 2.0
#: Longest start from flash memory.
BOOT_SECONDS = 30.0
#: Longest start of DDR3 memory; it takes a millisecond.
MEMORY_SECONDS = 2.0
#: Bits of SOC_MEMORY.
MEMORY_READY, MEMORY_FAILED = 1, 2
_REFUSED = {
    BootReason.NONE: "its start did not end",
    BootReason.NO_IMAGE: "flash memory holds none at its place",
    BootReason.VERSION: "it has a version that this bitstream does not know",
    BootReason.DAMAGED: "it is damaged",
    BootReason.BUILD: "it is for another build",
    BootReason.BUS: "it writes where there is nothing",
}


class LinkTarget(Target):
    """Target that speaks the link protocol (docs/how/link.md).

    Parameters
    ----------
    client : LinkClient
    name : str
    kind : ``"board"`` or ``"sim"``

    The board's header and info text are read at once. Every wait has a deadline in the board's own
    time (its pipe's ``now()``), which a virtual board counts in simulated seconds.
    """

    def __init__(self, *, client: LinkClient, name: str, kind: str = "board") -> None:
        self.name = name
        self.client = client
        self._closed = False
        self.info, self.header = read_info(client, kind, name)
        self.package = None
        if self.info.isa is not None:
            if self.info.isa not in core_names():
                raise TargetError(
                    f"{name} holds core {self.info.isa}, which this quintet does not know; it "
                    f"knows "
                    f"{', '.join(core_names())}"
                )
            self.package = open_core(self.info.isa)
            if params_hash(self.info.params) != self.header.params_hash:
                raise self._link_error("the info text and the core's parameter hash disagree")
        self.control = self.header.control_base
        self._running, self._listing, self._seen = False, False, 0
        self._ended = False  # the core has ended the last run, as far as we saw
        if self.info.memory.get("kind") == "DDR3":
            self._wait_for_memory()
        if self.info.boot:
            # Nothing that a host writes may be overwritten by the start.
            self._boot = BootStatus.BUSY
            self._wait_for_boot()
        self._held: dict[
            str, int
        ] = {}  # registers as they were written since the last reset of the core

    @property
    def simulated(self) -> bool:
        """Whether the board is virtual: in this process, or behind a server that reports its
        time."""
        return self.info.kind == "sim" or self.client.pipe.served

    # Time is the board's: a virtual board's pipe counts simulated seconds, and they pass while it
    # is read from. Nothing is outstanding then, so nothing of value can be read.

    def now(self) -> float:
        return self.client.pipe.now()

    def traffic(self) -> tuple[int, int]:
        sent, received = self.client.traffic
        return sent, received

    def pause(self, seconds: float) -> None:
        """Waits for ``seconds`` of the board's time."""
        end = self.now() + seconds
        while self.now() < end:
            self.client.pipe.read(64, end - self.now())

    def _link_error(self, text):
        from ..link.errors import LinkError

        return LinkError(f"{self.name}: {text}")

    # Memory

    def _check(self, address, size):
        if address < 0 or size < 0 or address + size > 1 << 32:
            raise TargetError(
                f"{self.name}: {size} bytes at {address:#x} lie outside the 32-bit addresses"
            )

    @staticmethod
    def _telling(progress, total):
        return progress and (lambda done: progress(done, total))

    def transfer(self, accesses: Sequence[Access], progress: Progress | None = None) -> list[bytes]:
        for access in accesses:
            self._check(access.address, self._span(access))
        return self.client.transfer(accesses, progress=self._telling(progress, total(accesses)))

    def fill(
        self, address: int, size: int, value: int = 0, progress: Progress | None = None
    ) -> None:
        self._check_fill(size, value)
        self._check(address, size)
        self.client.fill(address, size, value, progress=self._telling(progress, size))

    def checksum(self, address: int, size: int) -> int:
        return self.client.checksum(address, size)

    # Registers

    def _place(self, name):
        if name.startswith("cnt_") and name[4:] in self.registers.counters:
            return self.registers.counters[name[4:]].offset, 64, "r"
        try:
            register, offset = self.registers.find(name)
        except ValueError as error:
            raise TargetError(f"{self.name}: register {name}: {error}") from None
        return offset, register.width, register.access

    def read_register(self, name: str) -> int:
        offset, width, _ = self._place(name)
        return int.from_bytes(self.client.read(self.control + offset, width // 8), "little")

    def write_register(self, name: str, value: int) -> None:
        self._write_registers({name: value})

    def _write_registers(self, values):
        """Writes registers, name -> value, in order, in one call of the link; adjacent registers
        share a request, which writes word by word."""
        pieces = []
        for name, value in values.items():
            offset, width, access = self._place(name)
            if "w" not in access:
                raise TargetError(f"{self.name}: register {name} is read-only")
            self._check_write(name, value)
            data = value.to_bytes(width // 8, "little")
            if pieces and pieces[-1][0] + len(pieces[-1][1]) == self.control + offset:
                pieces[-1] = pieces[-1][0], pieces[-1][1] + data
            else:
                pieces.append((self.control + offset, data))
        for name in values:
            self._held.pop(name, None)
        self.client.transfer([Access(address, data=data) for address, data in pieces])
        self._held.update(
            {name: value for name, value in values.items() if self.registers.find(name)[0].given}
        )

    # Runs

    def reset_core(self) -> None:
        self.registers  # noqa: B018  (a board without a core is refused here)
        self._held.clear()
        if self.info.run_list:
            # A host that has gone may have left one.
            self._stop_list()
        self.client.reset_core()
        self._wait(RESET_SECONDS, "the core did not come out of its reset")

    def _status(self):
        return self.read_register("status")

    def _wait(self, seconds, trouble):
        """Polls until the core is not busy; ``LinkError`` after ``seconds``."""
        end = self.now() + seconds
        for _ in self._polls():
            if self.now() > end:
                raise self._link_error(trouble)

    def _polls(self, status=None, busy=BUSY):
        """Polls a busy core (or whatever ``status`` reads) and yields the seconds waited. The
        pauses grow with the time waited, so that short runs end promptly and long runs are rarely
        disturbed."""
        status = status or self._status
        began, self._seen = self.now(), status()
        while self._seen & busy:
            waited = self.now() - began
            yield waited
            pause = min(waited / 8, 0.02)
            if pause > 0:
                self.pause(pause)
            # The number of these requests depends on the run's length, so they are not counted.
            with self.client.uncounted():
                self._seen = status()

    # Registers of the SoC

    def soc_word(self, offset: int) -> int:
        """Reads a register of the SoC (gateware/bus/registers.py)."""
        return self.client.read_word(self.header.soc_base + offset)

    def write_soc_word(self, offset: int, value: int) -> None:
        """Writes a register of the SoC."""
        self.client.write_word(self.header.soc_base + offset, value)

    def soc_cycles(self) -> int:
        """The board's cycle counter, modulo 2^32."""
        return self.soc_word(SOC_CYCLES)

    def _wait_for_run(self, cycle_limit, tick):
        """Polls until the run ends; ``False`` if it has been busy for more than ``cycle_limit``
        cycles."""
        seen, passed = None if cycle_limit is None else self.soc_cycles(), 0
        for seconds in self._polls():
            if tick is not None:
                tick(seconds)
            if cycle_limit is None:
                continue
            if passed > cycle_limit:
                return False
            # Counted by the board, from after the start, and acted on only when a later look finds
            # the core busy: neither the host's speed nor its clock decides how a run ends.
            now = self.soc_cycles()
            passed += now - seen & 0xFFFF_FFFF
            seen = now
        return True

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: MemoryTrace | None = None,
        tick: Callable[[float], object] | None = None,
    ) -> Outcome:
        self.start(registers)
        return self.wait(cycle_limit, tick)

    def start(self, registers: Mapping[str, int]) -> None:
        if not self._ended and self._status() & BUSY:
            raise TargetError(f"{self.name}: the core is busy; reset it first")
        # Registers keep what they were given, run after run.
        changed = {
            name: value for name, value in registers.items() if self._held.get(name) != value
        }
        changed = dict(sorted(changed.items(), key=lambda item: self._place(item[0])[0]))
        self._running, self._ended = True, False
        with self._idle_after_interrupt():
            self._write_registers({**changed, "control": START})

    def wait(
        self,
        cycle_limit: int | None = None,
        tick: Callable[[float], object] | None = None,
        counters: bool = True,
    ) -> Outcome:
        with self._idle_after_interrupt():
            if not self._wait_for_run(cycle_limit, tick):
                self._abort()
        self._running, self._ended = False, True
        # The last look has seen how the run ended.
        if not counters and cycle_limit is None and not self._seen & (FAULT | ABORTED):
            return Outcome("done", None, {}, {})
        return self._outcome(cycle_limit)

    # Start from flash memory

    def _wait_for_memory(self):
        """Waits until DDR3 memory is initialised and calibrated, which it is before a host can be
        connected."""
        end = self.now() + MEMORY_SECONDS
        while not (state := self.soc_word(SOC_MEMORY)) & MEMORY_READY:
            if state & MEMORY_FAILED:
                raise self._link_error(
                    "its DDR3 memory cannot be calibrated: expected a read delay by which each "
                    "byte lane returns what was written, found a lane without one; load the "
                    "bitstream again, and look at the memory chip and its supply"
                )
            if self.now() > end:
                raise self._link_error(
                    f"its DDR3 memory does not start: expected it within {MEMORY_SECONDS:g} s"
                )
            self.pause(100e-6)

    def _wait_for_boot(self):
        for seconds in self._polls(lambda: self.soc_word(SOC_BOOT), BootStatus.BUSY):
            if seconds > BOOT_SECONDS:
                raise self._link_error("the start from flash memory does not end")
        self._boot = self._seen

    def wait_ready(self) -> None:
        if not self.info.boot:
            super().wait_ready()
        if not self._boot & BootStatus.READY:
            why = BootReason(self._boot >> 4 & 7)
            raise TargetError(
                f"{self.name}: the board refused its plan image: {_REFUSED[why]} (reason "
                f"{int(why)})"
            )

    # Lists of runs

    def start_list(self, address: int, size: int) -> None:
        if not self.info.run_list:
            super().start_list(address, size)
        if not self._ended and self._status() & BUSY:
            raise TargetError(f"{self.name}: the core is busy; reset it first")
        # The list writes registers of its own.
        self._held.clear()
        self._listing, self._ended = True, False
        with self._idle_after_interrupt():
            self.write_soc_word(self._list_register("list_start"), address)

    def wait_list(self, tick: Callable[[float], object] | None = None) -> ListOutcome:
        if not self._listing:
            return super().wait_list(tick)
        with self._idle_after_interrupt():
            for seconds in self._polls(self._list_status, ListStatus.BUSY):
                if tick is not None:
                    tick(seconds)
        self._listing, self._ended = False, True
        first = self._list_register("list_status")
        words = self.client.read(self.header.soc_base + first, 12)
        status, runs, position = struct.unpack("<3I", words)
        if self._status() & BUSY:
            # A list that did not end well leaves the run that it has started.
            self._abort()
        return ListOutcome(
            ListStatus(status), runs, self._outcome(None) if runs else None, position
        )

    @staticmethod
    def _list_register(name):
        return RUN_LIST_BASE - SOC_BASE + RUN_LIST_REGISTERS[name][0]

    def _list_status(self):
        return self.soc_word(self._list_register("list_status"))

    def _stop_list(self):
        """Stops a running list, and the run that it has started."""
        self._listing = False
        self.write_soc_word(self._list_register("list_status"), 0)
        for _ in self._polls(self._list_status, ListStatus.BUSY):
            pass

    def stop(self) -> None:
        if self._listing:
            self._stop_list()
            self._running = True
        if self._running:
            self._running = False
            self._abort()

    @contextmanager
    def _idle_after_interrupt(self):
        """Stops the run if the host is interrupted, since the board would stay busy."""
        try:
            yield
        except KeyboardInterrupt:
            try:
                self.stop()
            except Exception:  # the interrupt itself is what the user must see
                pass
            raise

    def _abort(self):
        self.write_register("control", ABORT)
        self._wait(ABORT_SECONDS, "the core did not stop after an abort")

    def _outcome(self, cycle_limit):
        own = list(self.registers.read_only())
        counted = [f"cnt_{name}" for name in self.registers.counters]
        found = self._read_registers(["status", *own, *counted])
        status, counters = (
            found["status"],
            {name: found[f"cnt_{name}"] for name in self.registers.counters},
        )
        fault = None
        if status & (FAULT | ABORTED):
            code, pc, detail = self._read_registers(
                ["fault_code", "fault_pc", "fault_detail"]
            ).values()
            fault = FaultReport(code, self.registers.fault_name(code), pc, detail)
        elif cycle_limit is not None and counters["cycles"] > cycle_limit:
            # It ended by itself between two looks of the host. What counts is the limit, never the
            # host's speed.
            fault = FaultReport(8, "aborted", 0, 0)
        kind = "done" if fault is None else "fault" if status & FAULT else "aborted"
        return Outcome(kind, fault, counters, {name: found[name] for name in own})

    def _read_registers(self, names):
        """Reads registers and counters, name -> value, all requested at once; adjacent ones share a
        request."""
        places, blocks = {name: self._place(name)[:2] for name in names}, []
        for offset, width in sorted(places.values()):
            end = offset + width // 8
            if blocks and offset - blocks[-1][1] <= _NEAR and end - blocks[-1][0] <= _BLOCK:
                blocks[-1][1] = max(end, blocks[-1][1])
            else:
                blocks.append([offset, end])
        found = {}
        for (first, _), data in zip(
            blocks,
            self.client.transfer(
                [Access(self.control + first, end - first) for first, end in blocks]
            ),
            strict=True,
        ):
            found.update({first + at: data[at:] for at in range(len(data))})
        return {
            name: int.from_bytes(found[offset][: width // 8], "little")
            for name, (offset, width) in places.items()
        }

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.client.close()
