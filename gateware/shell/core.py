# SPDX-License-Identifier: BSD-2-Clause
"""Core shell: connects an ISA's engine to control block, memory guard and arbiter
(docs/how/contracts.md, section 3)."""

from amaranth import DomainRenamer, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..bus.soclib import wishbone
from ..cores import CorePackage
from ..isa.parameters import Params, params_hash
from ..memory.arbiter import MemoryArbiter
from ..memory.guard import WindowGuard
from ..memory.port import MemoryPort
from ..memory.portbuffer import PortBuffer
from .control import ControlBlock
from .domains import place_engine, requested_domain
from .register_map import register_map

__all__ = ["CoreShell"]


class CoreShell(wiring.Component):
    """A core: engine, control block, arbiter over the engine's ports, window guard.

    Parameters
    ----------
    package : CorePackage
        The ISA's core package (:func:`~quintet.gateware.cores.open_core`).
    params : dict
        Every parameter of the core, as ``SPACE.resolve`` gives them.
    beat_bytes : int
        Bytes of a beat of the memory behind.
    memory_size : int
        Bytes of main memory, a multiple of 64.
    family : "ecp5", "ice40" or None
        FPGA family whose primitives are instantiated; ``None``: behavioural models.
    pipelined : bool
        Registers in the window guard and between it and the memory, both ways: for a request three
        cycles of latency, for data and answers one.
    shared_clock : bool
        A further clock domain that the engine asks for is the main clock's; else the design around
        must drive it.
    with_run_ok : bool
        There is a member ``run_ok``.
    outstanding : int
        Requests of the engine under way, where it has several ports.

    Members
    -------
    bus : In, Wishbone of 10 word-address bits, 32 data bits, granularity 8:
        the register block, with a ``memory_map`` of its registers
    memory : Out, :class:`MemoryPort` of ``beat_bytes``
    busy, fault, interrupt : Out
    run_ok : Out, with ``with_run_ok``: the last run ended, without a fault and without an abort

    Attributes
    ----------
    domain : DomainRequest or None
        The further clock domain that the design around must drive, by its name.

    A core reset clears the guard in the cycle after the write, resets engine and arbiter one cycle
    later and holds them until the guard has nothing outstanding; outstanding requests are drained
    and their answers dropped.
    """

    def __init__(
        self,
        *,
        package: CorePackage,
        params: Params,
        beat_bytes: int,
        memory_size: int,
        family: str | None = None,
        pipelined: bool = False,
        shared_clock: bool = False,
        with_run_ok: bool = False,
        outstanding: int = 4,
    ) -> None:
        isa = package.isa.ISA
        self.engine = package.core.variant(params, beat_bytes)(
            params=params, beat_bytes=beat_bytes, memory_size=memory_size, family=family
        )
        self.domain = requested_domain(self.engine, params)
        self._renames = {}
        if shared_clock and self.domain is not None:
            self._renames, self.domain = {self.domain.name: "sync"}, None
        absent = [r.name for r in isa.registers if r.only_if is not None and not params[r.only_if]]
        self.control = ControlBlock(
            ident=isa.tag,
            version=isa.version,
            params_hash=params_hash(params),
            memory_size=memory_size,
            control=self.engine.control.signature,
            program_align=isa.program_align,
            absent=absent,
            # The engine's longest paths end in its increments: where ports are pipelined, a
            # register stands behind them. An iCE40 is slow enough without, and its logic cells are
            # few: registers hold main memory's addresses and the limit behind them.
            sampled=pipelined,
            address_bits=memory_size.bit_length() if family == "ice40" else 32,
            with_run_ok=with_run_ok,
        )
        self._with_run_ok = with_run_ok
        self.ports = len(self.engine.memory)
        self.beat_bytes, self.pipelined = beat_bytes, bool(pipelined)
        self._outstanding = outstanding
        super().__init__(
            {
                "bus": In(wishbone.Signature(addr_width=10, data_width=32, granularity=8)),
                "memory": Out(MemoryPort(beat_bytes)),
                "busy": Out(1),
                "fault": Out(1),
                "interrupt": Out(1),
            }
            | ({"run_ok": Out(1)} if with_run_ok else {})
        )
        self.bus.memory_map = register_map(isa, absent)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = m.submodules.control = self.control
        guard = m.submodules.guard = WindowGuard(
            beat_bytes=self.beat_bytes,
            outstanding=max(7, self._outstanding - 1),
            pipelined=self.pipelined,
        )
        engine = DomainRenamer(self._renames)(self.engine) if self._renames else self.engine
        hold = ResetInserter(
            place_engine(
                m, engine=engine, control=control, domain=self.domain, guard_idle=guard.idle
            )
        )
        if self.ports == 1:
            wiring.connect(m, self.engine.memory[0], guard.port)
        else:
            arbiter = MemoryArbiter(
                beat_bytes=self.beat_bytes,
                ports=self.ports,
                outstanding=self._outstanding,
                buffers=self.engine.port_buffers,
            )
            m.submodules.arbiter = hold(arbiter)
            for asks, answers in zip(self.engine.memory, arbiter.port, strict=True):
                wiring.connect(m, asks, answers)
            wiring.connect(m, arbiter.memory, guard.port)
        inner = guard.memory
        if self.pipelined:
            buffer = m.submodules.buffer = PortBuffer(beat_bytes=self.beat_bytes)
            wiring.connect(m, inner, buffer.port)
            inner = buffer.memory
        wiring.connect(m, inner, wiring.flipped(self.memory))
        wiring.connect(m, wiring.flipped(self.bus), control.bus)
        m.d.comb += [
            guard.base.eq(control.engine.window_base),
            guard.limit.eq(control.engine.window_limit),
            guard.clear.eq(control.core_reset),
            self.busy.eq(control.busy),
            self.fault.eq(control.fault),
            self.interrupt.eq(control.interrupt),
        ]
        if self._with_run_ok:
            m.d.comb += self.run_ok.eq(control.run_ok)
        return m
