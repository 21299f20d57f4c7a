# SPDX-License-Identifier: BSD-2-Clause
"""Engine that contains the accumulator machine: connects it to control block and memory."""

from amaranth import Signal
from amaranth.lib import wiring

from ..shell.engine import Engine

__all__ = ["MicroEngine"]

_OF_CONTROL = ("WINDOW_BASE", "WINDOW_LIMIT", "PROGRAM_ADDRESS", "PROGRAM_LENGTH")


class MicroEngine(Engine):
    """Base class of microcoded engines with one memory port; ``prepare`` creates ``self.machine``,
    a :class:`~.engine.MicroMachine`.

    A source that has the name of a register of the control block is that register. Of the sinks
    ``CODE`` and ``PC`` are held for the end of a run; ``FINISH`` is that end, A the detail of its
    fault, which the program leaves there.
    """

    def _attach(self, m, sources, code_bits):
        """Adds the machine to ``m``. ``sources``: values of sources that are not registers of the
        control block; ``code_bits``: width of fault codes."""
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
        """Loads ``register`` with A, or with ``value`` derived from it, whenever the program writes
        to ``sink``."""
        with m.If(self.machine.sinks[sink]):
            m.d.sync += register.eq(self.machine.a if value is None else value)
