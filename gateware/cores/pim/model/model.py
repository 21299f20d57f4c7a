# SPDX-License-Identifier: BSD-2-Clause
"""Golden model of PIM: LOAD, all cores, rendezvous, events and deadlock (specification, 2 to 7), in
integers."""

from collections.abc import Callable, Mapping

import numpy as np

from ....isa.model import Model as GoldenModel
from ....isa.outcome import Outcome, RunFault
from ..image.image import weights_from
from ..image.reading import CoreEntry, TableFault, read_tables
from ..isa import EVENT_MOST, ISA
from .core import Core

__all__ = ["Model"]

_COUNTERS = (
    "instructions",
    "operations",
    "bytes_read",
    "bytes_written",
    "scalar",
    "matrix",
    "vector",
    "transfer",
    "comm_bytes",
)


class Model(GoldenModel):
    """Golden model of PIM: runs each core until it blocks or ends; a completed rendezvous exchanges
    the bytes of both cores.

    Counters, of the view that ``core_select`` names, over the instructions completed (one that
    faults counts nothing): ``instructions``, ``operations`` (rows*cols of each ``mvmul``, len of
    each ``vvmul`` and ``vvdmul``), ``bytes_read`` (``ld``, ``sld``), ``bytes_written`` (``st``),
    those by kind, and ``comm_bytes`` (of each ``send``).

    Programs that race have timing-dependent results on a core; here the lowest core goes first and
    runs as far as it gets. A wait is looked at with every sync. After a fault of one core the
    others stand where they then are. Cycles are unknown: ``cycle_limit`` counts instructions of all
    cores.

    Attributes
    ----------
    cores : list of Core
        State of each core: ``regs``, ``events``, ``ibiw``, ``obiw``, ``lmem``, ``pc``,
        ``counters``.
    report : list of str
        After a deadlock: who waits for whom.
    """

    ISA = ISA

    def reset(self) -> None:
        """Core reset; the arrays become zero (in hardware their contents are arbitrary)."""
        self.entries: list[CoreEntry] = []
        self.report: list[str] = []
        self.cores = [Core(k, self) for k in range(self.params["cores"])]

    # Interface to the cores

    def global_range(self, address: int, size: int) -> int:
        """Main-memory address of a GMem range, given its 64-bit address; raises
        :class:`~quintet.gateware.isa.outcome.RunFault` if it is out of bounds."""
        address &= (1 << 64) - 1
        begin = self._gmem_base + address
        if (
            address >> 32
            or self._gmem_size
            and address + size > self._gmem_size
            or begin + size > 1 << 32
            or begin < self.window.base
            or begin + size > self.window.limit
        ):
            raise RunFault("gmem_range", address)
        beyond = self.window.beyond(begin, size)
        if beyond is not None:
            raise RunFault("bus_error", beyond)
        return begin

    def sync(self, number: int, event: int) -> None:
        """Adds 1 to an event register of core ``number``, and unblocks the core if it waits for
        that."""
        target = self.cores[number]
        if target.events[event] >= EVENT_MOST:
            raise RunFault("event_overflow", number << 8 | event)
        target.events[event] += 1
        waiting = target.blocked
        if (
            waiting is not None
            and waiting.op == "wait"
            and waiting.other == event
            and target.take_event(waiting)
        ):
            target.retire()
            self._ready.append(target)

    # A run

    def _load(self):
        """Executes LOAD: reads tables, arrays and biases, and starts every core."""
        table, flags = self.reg["core_table"], self.reg["run_flags"]
        at = table or self.reg["program_address"]
        inside = self.window.base <= at
        # A view: of main memory's megabytes a program reads kilobytes.
        data = memoryview(
            self.memory[at : min(self.window.limit, self.memory.size)] if inside else b""
        )
        most = len(data) if table else self.reg["program_length"]
        self._image_at = at
        self.entries = []
        try:
            tables = read_tables(data, self.params, most)
        except TableFault as fault:
            raise RunFault("table", fault.detail, core=0) from None
        self._gmem_base, self._gmem_size = tables.gmem_base, tables.gmem_size
        if self.reg["gmem_size"]:
            self._gmem_base, self._gmem_size = self.reg["gmem_base"], self.reg["gmem_size"]
        self.entries = tables.cores
        for core, entry in zip(self.cores, tables.cores, strict=False):
            if not flags & 1:
                self._program(core, entry, data)
            core.start(
                entry,
                at,
                bytes(data[entry.code : entry.code + entry.code_bytes]),
                keep_lmem=flags >> 1 & 1,
            )

    @staticmethod
    def _program(core, entry, data):
        rows, cols = core.arrays.shape[1:]
        for group in entry.groups:
            if group.weights:
                whole = weights_from(data[group.weights :], group.rows, group.cols, rows, cols)
                tiles = -(-group.cols // cols)
                for k, array in enumerate(group.arrays):
                    top, left = k // tiles * rows, k % tiles * cols
                    block = whole[top : top + rows, left : left + cols]
                    core.arrays[array, : len(block)] = block
            if group.has_bias:
                core.bias[group.bias_at : group.bias_at + group.cols] = np.frombuffer(
                    data, "<i4", group.cols, group.bias
                )

    def run(
        self,
        registers: Mapping[str, int],
        cycle_limit: int | None = None,
        trace: Callable[[int, int, int], object] | None = None,
    ) -> Outcome:
        """Executes one run; see docs/how/contracts.md, section 6; ``cycle_limit`` counts the
        instructions of all cores together."""
        self.take_registers(registers, trace)
        self.report = []
        self._running: Core | None = None
        flags = self.reg["run_flags"]
        for core in self.cores:
            core.start(None, keep_lmem=bool(flags >> 1 & 1))
        fault, where, pc = None, 0, 0
        try:
            self._load()
            self._schedule(cycle_limit)
        except RunFault as stop:
            core = self._running if stop.core is None else self.cores[stop.core]
            assert core is not None, "a fault without a core is that of the running one"
            where = core.number
            pc = self._image_at if stop.name == "table" else core.address
            fault = stop
        self._fault_core = where
        found = self.outcome(fault, pc, self._counters(), self._values())
        found.notes += self.report
        return found

    def view(self, registers: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """Counters and read-only registers of the last run, for the present values of
        ``core_select`` and ``dbg_index``."""
        self.reg |= {
            name: registers[name] & self._writable[name][0].mask
            for name in ("core_select", "dbg_index")
            if name in registers
        }
        return self._counters(), self._values()

    def _schedule(self, limit):
        self._ready, left = list(self.cores[: len(self.entries)]), limit
        while self._ready:
            self._running = core = self._ready.pop(0)
            done = core.advance(left)
            if left is not None:
                left -= done
                if left <= 0 and not all(c.done for c in self.cores):
                    raise RunFault(
                        "aborted", 0, core=next(c.number for c in self.cores if not c.done)
                    )
            if core.blocked is not None:
                self._meet(core)
        stuck = [c for c in self.cores if c.blocked is not None]
        if stuck:
            self.report = [self._describe(c) for c in stuck]
            raise RunFault("deadlock", sum(1 << c.number for c in stuck), core=stuck[0].number)

    def _meet(self, core):
        """Completes a rendezvous if the other core has reached it too."""
        mine = core.blocked
        other = self.cores[mine.other] if mine.op != "wait" else None
        theirs = other.blocked if other is not None else None
        if (
            theirs is None
            or theirs.op == "wait"
            or theirs.op == mine.op
            or theirs.other != core.number
        ):
            return
        sender, receiver = (core, other) if mine.op == "send" else (other, core)
        given, taken = sender.blocked, receiver.blocked
        if given.amount != taken.amount:
            raise RunFault("size_mismatch", given.amount << 16 | taken.amount, core=sender.number)
        receiver.lmem[taken.address : taken.address + taken.amount] = sender.lmem[
            given.address : given.address + given.amount
        ]
        sender.counters["comm_bytes"] += given.amount
        for one in sorted((core, other), key=lambda c: c.number):
            one.retire()
            self._ready.append(one)

    def _describe(self, core):
        waiting = core.blocked
        if waiting.op == "wait":
            what = (
                f"event {waiting.other} to be {waiting.amount} (it is {core.events[waiting.other]})"
            )
        else:
            other = self.cores[waiting.other]
            state = "is at its end" if other.done else f"is blocked in {other.blocked.op}"
            what = (
                f"core {waiting.other} ({'to' if waiting.op == 'send' else 'from'} it, "
                f"{waiting.amount} bytes), which {state}"
            )
        return f"core {core.number}, instruction {core.pc}: {waiting.op} waits for {what}"

    # Its remainder

    def _selected(self):
        number = self.reg["core_select"]
        return self.cores[number] if number < len(self.cores) else None

    def _counters(self):
        one = self._selected()
        cores = self.cores if one is None else [one]
        return {name: sum(core.counters[name] for core in cores) for name in _COUNTERS}

    def _values(self):
        def bitmap(which):
            return sum(1 << c.number for c in self.cores if which(c)) & 0xFFFF_FFFF

        one, index = self._selected(), self.reg["dbg_index"]
        debug = [*one.regs, *one.events, one.ibiw, one.obiw] if one is not None else []
        return {
            "fault_core": self._fault_core,
            "cores_done": bitmap(lambda c: c.done),
            "cores_blocked": bitmap(lambda c: c.blocked is not None),
            "core_pc": one.pc if one is not None else 0,
            "dbg_value": debug[index] if index < len(debug) else 0,
        }
