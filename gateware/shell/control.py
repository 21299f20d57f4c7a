# SPDX-License-Identifier: BSD-2-Clause
"""Control block of every core: registers, counters and the state machine of a run
(docs/how/control-block.md)."""

from collections.abc import Collection
from types import SimpleNamespace

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, memory, wiring
from amaranth.lib.wiring import In, Out

from ..arguments import check_integer
from ..bus.soclib import wishbone
from ..isa.registers import COMMON_COUNTERS, COMMON_REGISTERS
from .counters import Prescalers
from .engine import EngineControl, Stall

__all__ = ["ABORTED", "ControlBlock"]

#: Fault code of a run that the host ended.
ABORTED = 8

_OFFSET = {r.name: r.offset for r in COMMON_REGISTERS}
#: Registers that the block RAM does not hold: read from flip-flops, or write-only.
_LIVE = ("control", "status", "irq_enable")
_COUNTED = {
    Stall.WORK: "work",
    Stall.FETCH: "stall_fetch",
    Stall.OPERAND: "stall_operand",
    Stall.WRITE: "stall_write",
    Stall.OTHER: "stall_other",
}


class _Step(enum.Enum, shape=2):
    SWEEP = 0  # after a reset: every word of the RAM gets its reset value
    SLOT = 1  # takes up a bus cycle, or goes on with what else is to be done
    SERVE = 2  # one bus cycle, a half word a cycle
    ROUND = 3  # every prescaler is added to its counter, once


class _Run(enum.Enum, shape=3):
    RESET = 0  # engine in reset until nothing of it is outstanding
    RECOVER = 1  # engine prepares itself
    IDLE = 2
    WAIT = 3  # started, engine not ready yet
    RUN = 4


class ControlBlock(wiring.Component):
    """Register block of a core (docs/how/contracts.md, section 3; docs/how/control-block.md).

    One block RAM, 16 bits wide, holds constants, the copies of writable registers that the bus
    reads, and counters. One adder serves it: a start begins with a round that clears the counters;
    while the run lasts, prescalers are added to their counters in turn, and between two rounds one
    bus cycle is served; after the run one more round makes the counters whole before the bus is
    served again. A half word takes a cycle: it is read, its sum is made in the next cycle and
    written in the one after. So a bus cycle takes 4 cycles while the core is idle, and at most two
    rounds (4 cycles a counter each) plus 8 cycles while it is not or right after a run; after a
    core reset it waits for the sweep of the RAM (a cycle a half word).

    Only whole words are written: a write with any ``sel`` bit low is ignored.

    Parameters
    ----------
    ident : str
        Four ASCII characters.
    version : tuple of two ints below 2**16
    params_hash : int
    memory_size : int
        Bytes of main memory: reset value of ``window_limit``.
    control : EngineControl
        Control interface of the engine: its registers, counters and widths.
    features : int
        Register ``features``.
    program_align : int
        Power of two; the low bits of ``program_address`` read 0.
    absent : iterable of str
        Names of ISA registers that this build lacks: they read 0, ignore writes, and the engine
        sees their reset value.
    sampled : bool
        A register between engine and counters, for clocks above some 50 MHz.
    address_bits : int
        Bits that program and window registers keep; those above read 0.
    with_run_ok : bool
        There is a member ``run_ok``.

    Members
    -------
    bus : In, Wishbone of 10 address bits, 32 data bits, granularity 8
    engine : In, :class:`EngineControl`
    core_reset : Out, resets the engine and whatever stands between it and the window guard;
        clears the guard
    guard_idle : In, the guard has nothing outstanding
    busy, fault, interrupt : Out
    run_ok : Out, with ``with_run_ok``: the last run ended, without a fault and without an abort

    Raises
    ------
    ValueError
        Constructor arguments out of range, registers that collide or do not fit.
    """

    def __init__(
        self,
        *,
        ident: str,
        version: tuple[int, int],
        params_hash: int,
        memory_size: int,
        control: EngineControl,
        features: int = 3,
        program_align: int = 4,
        absent: Collection[str] = (),
        sampled: bool = False,
        address_bits: int = 32,
        with_run_ok: bool = False,
    ) -> None:
        if not isinstance(control, EngineControl):
            raise ValueError(f"Engine control must be an EngineControl, not {control!r}")
        if not isinstance(ident, str) or len(ident) != 4 or not ident.isascii():
            raise ValueError(f"Identification must be four ASCII characters, not {ident!r}")
        if len(version) != 2 or not all(isinstance(v, int) and 0 <= v < 1 << 16 for v in version):
            raise ValueError(f"Version must be two numbers of 16 bits, not {version!r}")
        for name, value in (
            ("Parameter hash", params_hash),
            ("Memory size", memory_size),
            ("Features", features),
        ):
            check_integer(name, value, 0, (1 << 32) - 1)
        if memory_size % 64:
            raise ValueError(f"Memory size must be a multiple of 64, not {memory_size}")
        check_integer("Program alignment", program_align, 1, power_of_two=True)
        self.control = control
        self._sampled = sampled
        self._with_run_ok = with_run_ok
        self._absent = frozenset(absent)
        if (
            not isinstance(address_bits, int)
            or not 8 <= address_bits <= 32
            or memory_size >> address_bits
        ):
            raise ValueError(
                f"Address bits must be 8 to 32 and hold the memory size, not {address_bits!r}"
            )
        self._top = top = (1 << address_bits) - 1
        self._masks = {
            "program_address": top & -program_align,
            "program_length": top,
            "window_base": top & -64,
            "window_limit": top & -64,
        }
        self._resets = {"window_limit": memory_size}
        self._constants = {
            "ident": int.from_bytes(ident.encode(), "little"),
            "version": version[0] << 16 | version[1],
            "params_hash": params_hash,
            "features": features,
        }
        self.counters = COMMON_COUNTERS + control.counters
        # State of the rounds: (view, counter) in the order of the RAM.
        self._turns = [(0, c) for c in self.counters] + [
            (view, c)
            for view in range(1, control.views)
            for c in self.counters
            if c.name != "cycles"
        ]
        self._check_map()
        self._depth = self._words_in_ram()
        super().__init__(
            {
                "bus": In(wishbone.Signature(addr_width=10, data_width=32, granularity=8)),
                "engine": In(control),
                "core_reset": Out(1),
                "guard_idle": In(1),
                "busy": Out(1),
                "fault": Out(1),
                "interrupt": Out(1),
            }
            | ({"run_ok": Out(1)} if with_run_ok else {})
        )

    def _check_map(self):
        taken = {}
        items = [
            (r.name, r.offset, r.count * r.width // 8)
            for r in COMMON_REGISTERS + self.control.registers
        ]
        items += [(f"cnt_{c.name}", c.offset, 8) for c in self.counters]
        for name, offset, size in items:
            align = 8 if name.startswith("cnt_") else 4
            if offset % align or not 0 <= offset <= 4096 - size:
                raise ValueError(
                    f"Register {name} must lie at a multiple of {align} inside 4096 bytes, not "
                    f"{offset:#x}"
                )
            for word in range(offset, offset + size, 4):
                if word in taken:
                    raise ValueError(f"Registers {taken[word]} and {name} both lie at {word:#x}")
                taken[word] = name
        for register in self.control.registers:
            if register.storage == "block" and register.count > 1:
                raise ValueError(f'Register array {register.name} must have storage "engine"')

    def _stored(self):
        """Words that are kept in flip-flops: (register, bit of its member, byte offset, mask,
        reset)."""
        for r in COMMON_REGISTERS + self.control.registers:
            if r.storage != "block" or "w" not in r.access or r.name == "control":
                continue
            mask = self._masks.get(r.name, r.mask)
            if r.width == 64 and not mask >> 32:
                mask |= mask << 32
            reset = self._resets.get(r.name, r.reset) & mask
            for word in range(r.width // 32):
                low = 32 * word
                yield (
                    r,
                    low,
                    r.offset + 4 * word,
                    mask >> low & 0xFFFF_FFFF,
                    reset >> low & 0xFFFF_FFFF,
                )

    def _in_ram(self, register, mask):
        # Few bits cost less read from their flip-flops than masked on their way into the RAM.
        return register.name not in _LIVE and mask.bit_count() > 4

    def _words_in_ram(self):
        ends = [offset + 4 for r, _, offset, mask, _ in self._stored() if self._in_ram(r, mask)]
        ends += [c.offset + 8 for c in self.counters]
        return 1 << (max(ends) // 4 - 1).bit_length()

    def _counter_ranges(self):
        """Ranges of word addresses with counters that differ between the views."""
        ranges = []
        for c in sorted((c for c in self.counters if c.name != "cycles"), key=lambda c: c.offset):
            if ranges and ranges[-1][1] == c.offset // 4:
                ranges[-1][1] += 2
            else:
                ranges.append([c.offset // 4, c.offset // 4 + 2])
        return ranges

    def _width(self, counter, view):
        """Width of the increment of ``counter`` in bits."""
        if view:
            names = {
                "instructions": "retired",
                "operations": "operations",
                "bytes_read": "bytes",
                "bytes_written": "bytes",
            }
            name = counter.name if counter in self.control.counters else names.get(counter.name)
            return 1 if name is None else self.control.part_bits[name]
        widths = {
            "instructions": self.control.retired_bits,
            "operations": self.control.operations_bits,
            "bytes_read": self.control.bytes_bits,
            "bytes_written": self.control.bytes_bits,
        }
        # All others count cycles, or events of at most one per cycle.
        return (
            counter.bits
            if counter in self.control.counters
            else widths.get(counter.name, self.control.cycle_bits)
        )

    @property
    def gap(self) -> int:
        """Greatest number of cycles between two readings of one prescaler."""
        return 4 * len(self._turns) + 4

    def elaborate(self, platform: object) -> Module:
        m, s = Module(), SimpleNamespace()  # `s`: signals that several steps use
        # Each further view has a stretch of the RAM as large as the first, and uses only its
        # counters there.
        stretch = 2 * self._depth
        depth = stretch * (1 << (self.control.views - 1).bit_length())

        init, resets = self._contents(depth)
        # A word read in the cycle of a write to its address is never used; the name tells the
        # build flow so.
        m.submodules.ram_disjoint = ram = memory.Memory(shape=16, depth=depth, init=init)
        ram_write = ram.write_port()
        ram_read = ram.read_port()

        s.step = Signal(_Step, init=_Step.SLOT)
        # Three half words are on their way: `reading` goes into the RAM, `loading` comes out of it,
        # `address` is written. Words read beyond the last of a round are never used.
        s.entry = Signal(range(depth))
        s.reading = Signal(range(depth), reset_less=True)
        s.loading = Signal(range(depth), reset_less=True)
        s.address = Signal(range(depth), reset_less=True)
        s.run = Signal(_Run)
        s.storing = Signal()
        s.half = s.loading[0]
        s.quarter = s.loading[:2]
        s.held = Signal(16, reset_less=True)  # the half word read
        s.addend = Signal(16, reset_less=True)
        s.carry = Signal()
        s.total = Signal(17)
        m.d.comb += [
            s.total.eq(s.held + s.addend + s.carry),
            ram_write.addr.eq(s.address),
            ram_write.data.eq(s.total[:16]),
            ram_write.en.eq(s.storing),
            ram_read.addr.eq(Mux(s.step == _Step.SLOT, s.entry, s.reading)),
            ram_read.en.eq(1),
            self.bus.dat_r.eq(Cat(s.addend, s.held)),
        ]
        m.d.sync += [s.loading.eq(ram_read.addr), s.address.eq(s.loading)]

        self._life(m, s)
        live, in_ram, faults = self._flip_flops(m, s)
        engine_read = self._engine_registers(m, s)
        self._bus_sources(m, s, live, in_ram, faults, engine_read)
        prescalers, token = self._count(m, s)
        self._summands(m, s, resets, ram_read, prescalers)
        self._order(m, s, stretch, depth, token)
        return m

    def _contents(self, depth):
        """Initial words of the RAM, and those that a reset restores (value by address)."""
        init = [0] * depth
        for name, value in self._constants.items():
            init[_OFFSET[name] // 2 : _OFFSET[name] // 2 + 2] = value & 0xFFFF, value >> 16
        resets = {}
        for r, _, offset, mask, reset in self._stored():
            if r.name not in self._absent and self._in_ram(r, mask):
                resets[offset // 2], resets[offset // 2 + 1] = reset & 0xFFFF, reset >> 16
        for index, value in resets.items():
            init[index] = value
        return init, resets

    def _life(self, m, s):
        """State machine of a run, from its start through end or abort to the next; core reset and
        interrupt."""
        bus, engine = self.bus, self.engine
        s.done, s.fault, s.aborted = Signal(), Signal(), Signal(name="aborted")
        ended = (
            Signal()
        )  # the engine has ended a run: it holds the fault registers until the next one
        abort, s.unstarted, raised, s.irq_enable = Signal(), Signal(), Signal(), Signal()
        s.closing = Signal()  # the run is over, its counters are not whole yet
        s.clearing = Signal()  # the first round of a run starts the counters from 0
        s.swept = Signal()
        s.core_reset = Signal(
            init=1
        )  # run is RESET: a flip-flop, since it reaches all over the core
        s.locked = Signal()
        s.strobe = Signal()  # the one cycle of a bus write in which flip-flops change
        s.command = Signal(3)
        s.busy = s.run != _Run.IDLE
        m.d.comb += [
            s.aborted.eq(s.unstarted | ended & (engine.fault_code == ABORTED)),
            s.fault.eq(ended & (engine.fault_code != 0) & (engine.fault_code != ABORTED)),
            s.locked.eq(s.busy | s.closing),
            s.strobe.eq((s.step == _Step.SERVE) & ~s.half & bus.we & bus.sel.all()),
            s.command.eq(
                bus.dat_w[:3] & (s.strobe & (bus.adr == _OFFSET["control"] // 4)).replicate(3)
            ),
            self.busy.eq(s.busy),
            self.fault.eq(s.fault),
            self.interrupt.eq(raised & s.irq_enable),
            self.core_reset.eq(s.core_reset),
            engine.start.eq((s.run == _Run.WAIT) & engine.ready & ~s.clearing & ~abort),
            engine.abort.eq((s.run == _Run.RUN) & abort),
        ]
        if self._with_run_ok:
            m.d.comb += self.run_ok.eq(s.done & ~s.fault & ~s.aborted)
        with m.If((s.run == _Run.RUN) & engine.interrupt):
            m.d.sync += raised.eq(1)
        with m.If(s.command[1] & s.busy):
            m.d.sync += abort.eq(1)
        with m.Switch(s.run):
            with m.Case(_Run.RESET):
                m.d.sync += [
                    s.done.eq(0),
                    ended.eq(0),
                    s.unstarted.eq(0),
                    abort.eq(0),
                    raised.eq(0),
                    s.closing.eq(0),
                ]
                with m.If(self.guard_idle):
                    m.d.sync += [s.run.eq(_Run.RECOVER), s.core_reset.eq(0)]
            with m.Case(_Run.RECOVER):
                m.d.sync += abort.eq(0)
                with m.If(engine.ready & s.swept):
                    m.d.sync += s.run.eq(_Run.IDLE)
            with m.Case(_Run.IDLE):
                with m.If(s.command[0] & ~s.closing):
                    m.d.sync += [
                        s.run.eq(_Run.WAIT),
                        s.clearing.eq(1),
                        s.unstarted.eq(0),
                        abort.eq(0),
                        raised.eq(0),
                        s.done.eq(0),
                        ended.eq(0),
                    ]
            with m.Case(_Run.WAIT):
                with m.If(abort):
                    m.d.sync += [
                        s.run.eq(_Run.IDLE),
                        s.closing.eq(1),
                        s.unstarted.eq(1),
                        raised.eq(1),
                        s.done.eq(1),
                    ]
                with m.Elif(engine.ready & ~s.clearing):
                    m.d.sync += s.run.eq(_Run.RUN)
            with m.Case(_Run.RUN):
                with m.If(engine.finish):
                    m.d.sync += [
                        s.run.eq(_Run.IDLE),
                        s.closing.eq(1),
                        raised.eq(1),
                        s.done.eq(1),
                        ended.eq(1),
                    ]
        with m.If(s.command[2]):
            m.d.sync += [s.run.eq(_Run.RESET), s.core_reset.eq(1), s.swept.eq(0)]

    def _flip_flops(self, m, s):
        """Registers in flip-flops. Returns pairs of word address and read value; pairs of word
        address and mask, for registers that the RAM holds too; and, by word address, the fault
        registers after a run with a fault."""
        bus, engine = self.bus, self.engine
        live = []  # (word address, 32-bit value) read from flip-flops
        in_ram = []
        for r, lsb, offset, mask, reset in self._stored():
            member = {"irq_enable": s.irq_enable}.get(r.name)
            common = r in COMMON_REGISTERS
            if member is None:
                member = getattr(engine, r.name) if common else engine.reg[r.name]
            if r.name in self._absent:
                m.d.comb += member[lsb : lsb + 32].eq(reset)
                continue
            bits = [bit for bit in range(32) if mask >> bit & 1]
            store = Signal(
                len(bits),
                name=f"r_{r.name}{lsb or ''}",
                init=sum((reset >> bit & 1) << i for i, bit in enumerate(bits)),
            )
            where = {bit: i for i, bit in enumerate(bits)}
            value = Cat(store[where[bit]] if bit in where else Const(0, 1) for bit in range(32))
            m.d.comb += member[lsb : lsb + 32].eq(value)
            with m.If(s.strobe & ~s.locked & (bus.adr == offset // 4)):
                m.d.sync += store.eq(Cat(bus.dat_w[bit] for bit in bits))
            with m.If(s.core_reset):
                m.d.sync += store.eq(store.init)
            if self._in_ram(r, mask):
                in_ram.append((offset // 4, mask))
            else:
                live.append((offset // 4, value))
        live.append((_OFFSET["status"] // 4, Cat(s.busy, s.done, s.fault, s.aborted)))
        # A run that never started has none of the engine's fault registers, and a good end leaves
        # them 0.
        s.told = Signal()
        m.d.comb += s.told.eq(s.fault | s.aborted & ~s.unstarted)
        faults = {
            _OFFSET[name] // 4: getattr(engine, name)
            for name in ("fault_code", "fault_pc", "fault_detail")
        }
        # No instruction lies beyond the range of addresses.
        faults[_OFFSET["fault_pc"] // 4] = engine.fault_pc & self._top
        live.append((_OFFSET["fault_code"] // 4, Mux(s.unstarted, ABORTED, 0)))
        for r in self.control.registers:
            if r.storage == "block" and "w" not in r.access and r.name not in self._absent:
                for index in range(r.width // 32):
                    live.append(
                        (r.offset // 4 + index, engine.val[r.name][32 * index : 32 * index + 32])
                    )
        return live, in_ram, faults

    def _engine_registers(self, m, s):
        """Registers in the engine, to which bus cycles are passed on. Returns whether a cycle reads
        such a register."""
        bus, engine = self.bus, self.engine
        engine_read = Const(0)
        if hasattr(engine, "bus"):
            m.d.comb += [engine.bus.address.eq(bus.adr), engine.bus.write_data.eq(bus.dat_w)]
            read = Signal()
            for r in self.control.registers:
                if r.storage != "engine" or r.name in self._absent:
                    continue
                first, size = r.offset // 4, r.count * r.width // 32
                hit = (bus.adr >= first) & (bus.adr < first + size)
                if "r" in r.access:
                    with m.If(hit):
                        m.d.comb += read.eq(1)
                if "w" in r.access:
                    with m.If(hit & s.strobe & (r.live | ~s.locked)):
                        m.d.comb += engine.bus.write.eq(1)
            engine_read = read
        return engine_read

    def _bus_sources(self, m, s, live, in_ram, faults, engine_read):
        """Selects the source of a bus read (RAM, flip-flops, engine), and the bits of a written
        word that the RAM keeps."""
        bus, engine = self.bus, self.engine
        s.writable = Signal()
        # Bits of a written word that are kept. Bits that all registers treat alike need no address.
        s.clip = Signal(32)
        kept = 0
        for _, mask in in_ram:
            kept |= mask
        m.d.comb += s.clip.eq(kept)
        outside = (bus.adr >= self._depth) if self._depth < 1024 else Const(0)
        with m.Switch(bus.adr):
            for index, mask in in_ram:
                with m.Case(index):
                    m.d.comb += s.writable.eq(1)
                    for bit in range(32):
                        if (kept & ~mask) >> bit & 1:
                            m.d.comb += s.clip[bit].eq(0)
        s.serving = s.step == _Step.SERVE
        s.go_round, s.go_slot, s.go_sweep = Signal(), Signal(), Signal(name="go_sweep")
        s.never_ran = Signal()  # its fault_pc is the program address, which lies in the RAM
        m.d.comb += s.never_ran.eq(s.unstarted & (bus.adr == _OFFSET["fault_pc"] // 4))
        # Where a bus cycle reads from is decided while it is taken up, a cycle before its first
        # half word.
        s.take_ram = Signal()
        look_engine = Signal()
        lookable = Signal()
        m.d.comb += lookable.eq(((s.step == _Step.SLOT) | s.serving) & ~s.go_round)
        s.special = Const(0, 16)
        in_flops = Const(0)
        for index, value in [*live, *faults.items()]:
            is_fault = index in faults and value is faults[index]
            hit, look = (
                Signal(name=f"hit_{4 * index:x}"),
                Signal(name=f"look_{4 * index:x}{'_fault' * is_fault}"),
            )
            m.d.comb += hit.eq(bus.adr == index)
            m.d.sync += look.eq(hit & lookable & (s.told if is_fault else 1))
            in_flops = in_flops | (hit & ~s.never_ran if index == _OFFSET["fault_pc"] // 4 else hit)
            s.special = s.special | Cat(value, Const(0, 32)).word_select(
                s.half, 16
            ) & look.replicate(16)
        if hasattr(engine, "bus"):
            in_flops = in_flops | engine_read
            m.d.sync += look_engine.eq(engine_read & lookable)
            s.special = s.special | engine.bus.read_data.word_select(
                s.half, 16
            ) & look_engine.replicate(16)
        m.d.sync += s.take_ram.eq(lookable & ~outside & ~in_flops)

    def _count(self, m, s):
        """Prescalers between the engine's events and the counters in the RAM. Returns them, and for
        each counter whether it is its turn."""
        engine = self.engine
        #: High in every cycle that counters count. Exported for tracing (:mod:`.activity`).
        self.counting = s.run == _Run.RUN
        m.submodules.prescalers = prescalers = Prescalers(
            bits={
                f"{c.name}_{view}" if view else c.name: self._width(c, view)
                for view, c in self._turns
            },
            gap=self.gap,
            sampled=self._sampled,
        )
        increment = prescalers.increment
        s.rounding = s.step == _Step.ROUND
        token = Signal(len(self._turns))  # of the counter whose turn it is
        m.d.comb += [
            prescalers.counting.eq(s.run == _Run.RUN),
            prescalers.half.eq(s.quarter),
            prescalers.take.eq(s.quarter < prescalers.halves),
            prescalers.select.eq(token),
        ]
        for view in range(self.control.views):
            source, tail = (engine.part[view - 1], f"_{view}") if view else (engine, "")
            m.d.comb += [
                *(increment[c.name + tail].eq(source.inc[c.name]) for c in self.control.counters),
                increment["instructions" + tail].eq(source.retired),
                *(
                    increment[name + tail].eq(getattr(source, name))
                    for name in ("operations", "bytes_read", "bytes_written")
                ),
            ]
            if self.control.cycle_bits > 1:
                m.d.comb += increment["cycles"].eq(
                    sum(engine.classes[kind.name.lower()] for kind in _COUNTED)
                )
                m.d.comb += [
                    increment[name].eq(engine.classes[kind.name.lower()])
                    for kind, name in _COUNTED.items()
                ]
            else:
                if not view:
                    m.d.comb += increment["cycles"].eq(1)
                m.d.comb += [
                    increment[name + tail].eq(source.stall == kind)
                    for kind, name in _COUNTED.items()
                ]
        return prescalers, token

    def _summands(self, m, s, resets, ram_read, prescalers):
        """Operands of the adder: the half word read from the RAM, and its increment."""
        bus = self.bus
        reset_value = Signal(16)
        with m.If(s.step == _Step.SWEEP):
            with m.Switch(s.loading):
                for index, value in resets.items():
                    if value:
                        with m.Case(index):
                            m.d.comb += reset_value.eq(value)
        with m.If(s.step != _Step.SLOT):
            m.d.sync += [
                s.held.eq(ram_read.data & (s.rounding | s.take_ram).replicate(16) | s.special),
                # The first half of a read waits here for the second.
                s.addend.eq(
                    prescalers.value
                    | reset_value
                    | s.held & (s.serving & s.half & ~bus.we).replicate(16)
                    | (s.clip & bus.dat_w).word_select(s.half, 16)
                    & (s.serving & bus.we).replicate(16)
                ),
            ]
            with m.If((s.step == _Step.SWEEP) | s.serving & bus.we | s.rounding & s.clearing):
                m.d.sync += s.held.eq(0)
            with m.If(s.rounding & (s.clearing | (s.quarter >= prescalers.halves))):
                m.d.sync += s.addend.eq(0)

    def _order(self, m, s, stretch, depth, token):
        """Schedule of all RAM accesses: sweeps, bus cycles, rounds over the counters."""
        bus, engine = self.bus, self.engine
        places = [stretch * view + c.offset // 2 for view, c in self._turns]
        first_counter = self.counters[0].offset // 2
        final = Signal()  # this round makes the counters whole
        turn_ends = Signal()
        last = Signal()
        m.d.comb += [turn_ends.eq(s.quarter.all()), last.eq(turn_ends & token[-1])]
        with m.If(turn_ends):
            m.d.sync += token.eq(token << 1)
        m.d.sync += [
            # From SLOT on: the second half of the word on the bus, or of the first one of a round
            # or a sweep.
            s.reading.eq(Mux(s.step == _Step.SLOT, s.entry | 1, s.reading + 1)),
            # Both halves of a written word, or none, whatever happens meanwhile.
            s.storing.eq(
                (s.step == _Step.SWEEP)
                | s.rounding
                | s.serving & Mux(s.half, s.storing, s.strobe & s.writable & ~s.locked)
            ),
            s.carry.eq(s.total[16] & s.storing & ~s.address[:2].all()),
            bus.ack.eq(s.serving & s.half),
        ]
        with m.Switch(s.step):
            with m.Case(_Step.SWEEP):
                with m.If(s.loading == depth - 1):
                    m.d.sync += s.swept.eq(1)
                    m.d.comb += s.go_slot.eq(1)
            with m.Case(_Step.SLOT):
                with m.If(~s.swept):
                    m.d.comb += [s.go_sweep.eq(1), s.entry.eq(_OFFSET["control"] // 2)]
                with m.Elif(bus.cyc & bus.stb & ~bus.ack):
                    m.d.sync += s.step.eq(_Step.SERVE)
                    m.d.comb += s.entry.eq(Cat(Const(0, 1), bus.adr[: stretch.bit_length() - 2]))
                    if self.control.views > 1:
                        with m.If(
                            Cat(
                                (bus.adr >= low) & (bus.adr < high)
                                for low, high in self._counter_ranges()
                            ).any()
                        ):
                            m.d.comb += s.entry[stretch.bit_length() - 1 :].eq(engine.view)
                    with m.If(s.never_ran):
                        m.d.comb += s.entry.eq(_OFFSET["program_address"] // 2)
                with m.Else():
                    m.d.comb += [s.go_round.eq(s.locked), s.entry.eq(first_counter)]
            with m.Case(_Step.SERVE):
                m.d.comb += s.go_slot.eq(s.half)
            with m.Case(_Step.ROUND):
                for i, (place, after) in enumerate(
                    zip(places, [*places[1:], first_counter], strict=True)
                ):
                    if after != place + 4:
                        with m.If(token[i] & (s.quarter == 2)):
                            m.d.sync += s.reading.eq(after)
                with m.If(last):
                    m.d.sync += s.clearing.eq(0)
                    with m.If(final):
                        m.d.sync += s.closing.eq(0)
                    m.d.comb += [
                        s.go_round.eq(s.closing & ~final),
                        s.go_slot.eq(~s.closing | final),
                    ]
        with m.If(s.go_round):
            m.d.sync += [s.step.eq(_Step.ROUND), final.eq(s.closing), token.eq(1)]
        with m.If(s.go_slot):
            m.d.sync += s.step.eq(_Step.SLOT)
        with m.If(s.go_sweep):
            m.d.sync += s.step.eq(_Step.SWEEP)
        # A reset that falls into the closing of a run: nothing is left of the run.
        with m.If(s.command[2]):
            m.d.sync += [s.closing.eq(0), s.clearing.eq(0)]
