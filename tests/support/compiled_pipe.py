# SPDX-License-Identifier: BSD-2-Clause
"""A link's pipe to a compiled SoC whose link are byte streams; time is the simulation's."""

from quintet.boards.virtual.simulation import Simulation
from quintet.tools.link.pipe import Pipe

__all__ = ["CompiledPipe"]


class CompiledPipe(Pipe):
    """The byte streams of a SoC, which takes a byte a cycle and is always read.

    Amaranth's own simulator takes a hundred times as long for a cycle of a whole SoC.
    """

    name = "simulation"
    bytes_per_second = None

    def __init__(self, soc, clock_hz):
        self.clock_hz = clock_hz
        self.cycles = self.resets = 0
        self.outgoing, self.incoming = bytearray(), bytearray()
        self.sim = Simulation.build(soc)
        self.sim.set("tx__ready", 1)

    def _step(self):
        sim = self.sim
        sim.set("rx__valid", bool(self.outgoing))
        if self.outgoing:
            sim.set("rx__payload", self.outgoing[0])
        taken = bool(self.outgoing) and sim.get("rx__ready")
        if sim.get("tx__valid"):
            self.incoming.append(sim.get("tx__payload"))
        self.resets += sim.get("reset_request")
        sim.step()
        self.cycles += 1
        if taken:
            del self.outgoing[0]

    def write(self, data):
        self.outgoing += data

    def read(self, limit, timeout):
        end = self.now() + timeout
        while not self.incoming and self.now() < end:
            self._step()
        data = bytes(self.incoming[:limit])
        del self.incoming[:limit]
        return data

    def now(self):
        return self.cycles / self.clock_hz

    def close(self):
        self.sim.close()
