# SPDX-License-Identifier: BSD-2-Clause
"""Engine around the accumulator machine: its connections to control block and memory."""

from amaranth import Signal
from amaranth.lib import wiring

from ..shell.engine import Engine

__all__ = ["MicroEngine"]

_OF_CONTROL = ("WINDOW_BASE", "WINDOW_LIMIT", "PROGRAM_ADDRESS", "PROGRAM_LENGTH")


class MicroEngine(Engine):
    """Base class of microcoded engines, whose ``prepare`` makes ``self.machine``, a
    :class:`~.engine.MicroMachine`, for one memory port.

    A source that has the name of a register of the control block is that register. Of the sinks
    ``CODE`` and ``PC`` are held for the end of a run; ``FINISH`` is that end, A the detail of its
    fault, which the program leaves there.
    """

    def _attach(self, m, sources, code_bits):
        """Makes the machine a part of ``m``. ``sources``: source -> value, of those that are none
        of the control block's; ``code_bits``: of fault codes."""
        m.submodules.machine = machine = self.machine
        control, declared = self.control, machine.format
        wiring.connect(m, machine.memory, wiring.flipped(self.memory[0]))
        for source in declared.sources:
            if source.name != "LOW":
                face = control if source.name in _OF_CONTROL else control.reg
                m.d.comb += machine.sources[source].eq(
                    sources[source] if source in sources else getattr(face, source.name.lower())
                )
        code, pc = Signal(code_bits), Signal(32)
        self._hold(m, declared.sinks.CODE, code)
        self._hold(m, declared.sinks.PC, pc)
        m.d.comb += [
            machine.start.eq(control.start),
            machine.abort.eq(control.abort),
            control.ready.eq(machine.ready),
            control.stall.eq(machine.stall),
            control.finish.eq(machine.sinks[declared.sinks.FINISH]),
            control.fault_code.eq(code),
            control.fault_pc.eq(pc),
            control.fault_detail.eq(machine.a),
        ]

    def _hold(self, m, sink, register, value=None):
        """``register`` takes A, or a ``value`` made of it, whenever the program gives that to
        ``sink``."""
        with m.If(self.machine.sinks[sink]):
            m.d.sync += register.eq(self.machine.a if value is None else value)
