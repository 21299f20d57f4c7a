# SPDX-License-Identifier: BSD-2-Clause
"""Arbiter tree: connects many memory ports to a few, so that no single arbiter decides among all of
them."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ....arguments import check_integer
from ....memory.arbiter import MemoryArbiter
from ....memory.port import MemoryPort
from ....memory.portbuffer import PortBuffer

__all__ = ["MOST_PORTS", "PortTree"]

#: Ports of an arbiter, at most; and of the shell's, as long as those in front of it suffice.
MOST_PORTS, FEW_PORTS = 16, 4


class PortTree(wiring.Component):
    """Arbiter tree that connects ``ports`` ports to at most four (more than 64: to sixteen). Up to
    that number they are wires; else arbiters with equal numbers of ports, with register stages
    after them.

    Parameters
    ----------
    beat_bytes : int
    ports : int, 1 to 256

    Members
    -------
    port : array of In(MemoryPort), memory : array of Out(MemoryPort)
    """

    def __init__(self, *, beat_bytes: int, ports: int) -> None:
        check_integer("Number of ports", ports, 1, MOST_PORTS**2)
        self.beat_bytes, self.ports = beat_bytes, ports
        self.share = -(
            -ports // (FEW_PORTS if ports <= FEW_PORTS * MOST_PORTS else MOST_PORTS)
        )  # ports of an arbiter
        super().__init__(
            {
                "port": In(MemoryPort(beat_bytes)).array(ports),
                "memory": Out(MemoryPort(beat_bytes)).array(-(-ports // self.share)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for k, memory in enumerate(self.memory):
            mine = list(self.port)[k * self.share : (k + 1) * self.share]
            if len(mine) == 1:
                connect(m, flipped(mine[0]), flipped(memory))
                continue
            m.submodules[f"arbiter_{k}"] = arbiter = MemoryArbiter(
                beat_bytes=self.beat_bytes, ports=len(mine)
            )
            for asks, answers in zip(mine, arbiter.port, strict=True):
                connect(m, flipped(asks), answers)
            m.submodules[f"buffer_{k}"] = buffer = PortBuffer(beat_bytes=self.beat_bytes)
            connect(m, arbiter.memory, buffer.port)
            connect(m, buffer.memory, flipped(memory))
        return m
