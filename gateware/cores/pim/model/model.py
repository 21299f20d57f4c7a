# SPDX-License-Identifier: BSD-2-Clause
"""The golden model of the PIM machine: LOAD, all cores, rendezvous, events, deadlock (specification, 2 to 7). Integers."""
import numpy as np

from ....isa.outcome import FaultReport, Outcome
from ....isa.registers import COMMON_REGISTERS
from ..image.image import weights_from
from ..image.reading import TableFault, read_tables
from ..isa import EVENT_MOST, ISA
from .core import Core, PimFault

__all__ = ["Model"]

_LOW32 = 0xFFFF_FFFF
_COUNTERS = ("instructions", "operations", "bytes_read", "bytes_written", "scalar", "matrix", "vector", "transfer",
             "comm_bytes")


class Model:
    """PIM: every core runs until it blocks or ends, then the next; two that meet exchange their bytes.

    Parameters
    ----------
    params : dict
        Every build parameter, as ``SPACE.resolve`` gives them.
    memory : numpy.ndarray
        uint8, main memory from address 0; written in place.

    Counters, of the view that ``core_select`` names, over the instructions completed (one that faults counts nothing):
    ``instructions``, ``operations`` (rows*cols of each ``mvmul``, len of each ``vvmul`` and ``vvdmul``), ``bytes_read``
    (``ld``, ``sld``), ``bytes_written`` (``st``), those by kind, and ``comm_bytes`` (of each ``send``).

    Programs that race have timing-dependent results on a core; here the lowest core goes first and runs as far as it gets.
    A wait is looked at with every sync. After a fault of one core the others stand where they then are. Cycles are unknown:
    ``cycle_limit`` counts instructions of all cores.

    Attributes
    ----------
    cores : list of Core
        State of each core: ``regs``, ``events``, ``ibiw``, ``obiw``, ``lmem``, ``pc``, ``counters``.
    report : list of str
        After a deadlock: who waits for whom.

    Raises
    ------
    ValueError
        ``memory`` is no one-dimensional array of uint8.
    """
    def __init__(self, params, memory):
        if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or memory.ndim != 1:
            raise ValueError("memory must be a one-dimensional numpy array of uint8")
        self.params = dict(params)
        self.memory = memory
        self._writable = {r.name: r for r in (*COMMON_REGISTERS, *ISA.registers)
                          if "w" in r.access and r.name != "control"}
        self.reset()

    def reset(self):
        """Core reset; the arrays are then zero (in a core they are whatever they are)."""
        self.entries, self.report = [], []
        self.cores = [Core(k, self) for k in range(self.params["cores"])]

    # The face to the cores

    def global_range(self, address, size):
        """Main-memory address of a range of GMem, given by its 64-bit address; :class:`PimFault` where it leaves GMem."""
        address &= (1 << 64) - 1
        begin = self._gmem_base + address
        if (address >> 32 or self._gmem_size and address + size > self._gmem_size or begin + size > 1 << 32
                or begin < self._window[0] or begin + size > self._window[1]):
            raise PimFault("gmem_range", address)
        if begin + size > self.memory.size:
            raise PimFault("bus_error", max(begin, self.memory.size))
        return begin

    def write(self, pc, address, data):
        """Writes to main memory."""
        self.memory[address:address + data.size] = data
        if self._trace is not None:
            self._trace(pc, address, data.size)

    def sync(self, number, event):
        """Adds 1 to an event register of core ``number``, and lets it go on if it waits for that."""
        target = self.cores[number]
        if target.events[event] >= EVENT_MOST:
            raise PimFault("event_overflow", number << 8 | event)
        target.events[event] += 1
        waiting = target.blocked
        if waiting is not None and waiting.op == "wait" and waiting.other == event and target.take_event(waiting):
            target.retire()
            self._ready.append(target)

    # A run

    def _register(self, name):
        return self._given.get(name, self._writable[name].reset) & self._writable[name].mask

    def _take_registers(self, given):
        for name, value in given.items():
            if name not in self._writable:
                raise ValueError(f"no writable register {name!r}; there are {', '.join(self._writable)}")
            if not 0 <= value <= _LOW32:
                raise ValueError(f"register {name} must be 0 to 0xffffffff, not {value!r}")
        self._given = dict(given)
        limit = self._register("window_limit") if "window_limit" in given else min(self.memory.size, _LOW32) & -64
        self._window = self._register("window_base"), limit

    def _load(self):
        """LOAD: tables, arrays, biases; the start of every core."""
        table, flags = self._register("core_table"), self._register("run_flags")
        at = table or self._register("program_address") & -ISA.program_align
        inside = self._window[0] <= at
        data = self.memory[at:min(self._window[1], self.memory.size)].tobytes() if inside else b""
        most = len(data) if table else self._register("program_length")
        self._image_at = at
        self.entries = []
        try:
            tables = read_tables(data, self.params, most)
        except TableFault as fault:
            raise PimFault("table", fault.detail, core=0) from None
        self._gmem_base, self._gmem_size = tables.gmem_base, tables.gmem_size
        if self._register("gmem_size"):
            self._gmem_base, self._gmem_size = self._register("gmem_base"), self._register("gmem_size")
        self.entries = tables.cores
        for core, entry in zip(self.cores, tables.cores, strict=False):
            if not flags & 1:
                self._program(core, entry, data)
            core.start(entry, at, data[entry.code:entry.code + entry.code_bytes], keep_lmem=flags >> 1 & 1)

    @staticmethod
    def _program(core, entry, data):
        rows, cols = core.arrays.shape[1:]
        for group in entry.groups:
            if group.weights:
                whole = weights_from(data[group.weights:], group.rows, group.cols, rows, cols)
                tiles = -(-group.cols // cols)
                for k, array in enumerate(group.arrays):
                    top, left = k // tiles * rows, k % tiles * cols
                    block = whole[top:top + rows, left:left + cols]
                    core.arrays[array, :len(block)] = block
            if group.has_bias:
                core.bias[group.bias_at:group.bias_at + group.cols] = \
                    np.frombuffer(data, "<i4", group.cols, group.bias)

    def run(self, registers, cycle_limit=None, trace=None):
        """One run; see docs/contracts.md, section 6.

        Parameters
        ----------
        registers : dict
            Values of writable registers by name; all others are at reset.
        cycle_limit : int, optional
            Instructions, of all cores together, after which the run is aborted (cycles are unknown here).
        trace : callable, optional
            Called as ``trace(pc, address, size)`` for every range of main memory written.

        Returns
        -------
        Outcome

        Raises
        ------
        ValueError
            A register that is not there, or a value that does not fit it.
        """
        self._take_registers(registers)
        self._trace, self.report, self._running = trace, [], None
        flags = self._register("run_flags")
        for core in self.cores:
            core.start(None, keep_lmem=flags >> 1 & 1)
        fault, where = None, 0
        try:
            self._load()
            self._schedule(cycle_limit)
        except PimFault as stop:
            core = self._running if stop.core is None else self.cores[stop.core]
            where = core.number
            pc = self._image_at if stop.name == "table" else core.address
            fault = FaultReport(ISA.fault_codes[stop.name], stop.name, pc & _LOW32, stop.detail)
        status = "done" if fault is None else "aborted" if fault.name == "aborted" else "fault"
        self._fault_core = where
        return Outcome(status, fault, self._counters(), self._values(), list(self.report))

    def view(self, registers):
        """Counters and read-only registers of the run before, as ``core_select`` and ``dbg_index`` are now."""
        self._given |= {name: registers[name] for name in ("core_select", "dbg_index") if name in registers}
        return self._counters(), self._values()

    def _schedule(self, limit):
        self._ready, left = list(self.cores[:len(self.entries)]), limit
        while self._ready:
            self._running = core = self._ready.pop(0)
            done = core.advance(left)
            if left is not None:
                left -= done
                if left <= 0 and not all(c.done for c in self.cores):
                    raise PimFault("aborted", 0, core=next(c.number for c in self.cores if not c.done))
            if core.blocked is not None:
                self._meet(core)
        stuck = [c for c in self.cores if c.blocked is not None]
        if stuck:
            self.report = [self._describe(c) for c in stuck]
            raise PimFault("deadlock", sum(1 << c.number for c in stuck), core=stuck[0].number)

    def _meet(self, core):
        """Completes a rendezvous if the other core is at it, too."""
        mine = core.blocked
        other = self.cores[mine.other] if mine.op != "wait" else None
        theirs = other.blocked if other is not None else None
        if theirs is None or theirs.op == "wait" or theirs.op == mine.op or theirs.other != core.number:
            return
        sender, receiver = (core, other) if mine.op == "send" else (other, core)
        given, taken = sender.blocked, receiver.blocked
        if given.amount != taken.amount:
            raise PimFault("size_mismatch", given.amount << 16 | taken.amount, core=sender.number)
        receiver.lmem[taken.address:taken.address + taken.amount] = sender.lmem[given.address:given.address + given.amount]
        sender.counters["comm_bytes"] += given.amount
        for one in sorted((core, other), key=lambda c: c.number):
            one.retire()
            self._ready.append(one)

    def _describe(self, core):
        waiting = core.blocked
        if waiting.op == "wait":
            what = f"event {waiting.other} to be {waiting.amount} (it is {core.events[waiting.other]})"
        else:
            other = self.cores[waiting.other]
            state = "is at its end" if other.done else f"is blocked in {other.blocked.op}"
            what = f"core {waiting.other} ({'to' if waiting.op == 'send' else 'from'} it, {waiting.amount} bytes), which {state}"
        return f"core {core.number}, instruction {core.pc}: {waiting.op} waits for {what}"

    # What is left of it

    def _selected(self):
        number = self._register("core_select")
        return self.cores[number] if number < len(self.cores) else None

    def _counters(self):
        one = self._selected()
        cores = self.cores if one is None else [one]
        return {name: sum(core.counters[name] for core in cores) for name in _COUNTERS}

    def _values(self):
        def bitmap(which):
            return sum(1 << c.number for c in self.cores if which(c)) & _LOW32
        one, index = self._selected(), self._register("dbg_index")
        debug = [*one.regs, *one.events, one.ibiw, one.obiw] if one is not None else []
        return {"fault_core": self._fault_core, "cores_done": bitmap(lambda c: c.done),
                "cores_blocked": bitmap(lambda c: c.blocked is not None), "core_pc": one.pc if one is not None else 0,
                "dbg_value": debug[index] if index < len(debug) else 0}
