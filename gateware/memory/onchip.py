# SPDX-License-Identifier: BSD-2-Clause
"""Hybrid main memory: the lowest addresses in block RAM, the others in another memory."""

from collections.abc import Collection

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..parts.queues import RAMQueue, StreamBuffer
from .partial import PartialWrites
from .pipelined import PipelinedBlockRAM
from .port import MemoryPort
from .split import MemorySplit
from .width import WidthAdapter

__all__ = ["OnChipMemory"]


class OnChipMemory(wiring.Component):
    """Hybrid main memory: block RAM for addresses below `on_chip`, `rest` for the others, at
    unchanged addresses.

    The lowest `on_chip` bytes of `rest` are never used. Latency: a cycle of the split, and that of
    `PipelinedBlockRAM`, or of `rest` and a cycle. Throughput: one beat per cycle, of `rest` one of
    its beats.

    Parameters
    ----------
    rest : wiring.Component
        Backing of all other bytes (docs/how/contracts.md, section 2), of beats of at most
        `beat_bytes`.
    on_chip : int
        Bytes of block RAM, a multiple of 64 and less than `rest` has.
    beat_bytes : int
        Bytes of a beat: 2, 4, 8 or 16.
    family : ``"ecp5"``, ``"ice40"`` or ``None``
    outstanding : int
        Requests under way, here and in the arbiters in front: a read of the other memory takes many
        cycles, and only with others behind it are both memories at work.

    Members
    -------
    port : In(MemoryPort(beat_bytes))
    pins : those of `rest`, where it has any

    Attributes
    ----------
    size, beat_bytes, on_chip : int
    kind : str, of `rest`
    rest_beat_bytes : int, of a beat of `rest`
    """

    #: Partial beats reach both memories as they are; the adapters that `rest` needs for them are
    #: inside.
    masks = True

    def __init__(
        self,
        *,
        rest: wiring.Component,
        on_chip: int,
        beat_bytes: int,
        family: str | None = None,
        outstanding: int = 8,
    ) -> None:
        self.OUTSTANDING = outstanding
        self.rest, self.size, self.on_chip, self.beat_bytes = rest, rest.size, on_chip, beat_bytes
        self.kind, self.rest_beat_bytes = (
            getattr(rest, "kind", type(rest).__name__),
            rest.beat_bytes,
        )
        for name in ("part", "powerup_ns", "rate"):
            if hasattr(rest, name):
                setattr(self, name, getattr(rest, name))
        self._split = MemorySplit(
            beat_bytes=beat_bytes, border=on_chip, size=rest.size, outstanding=outstanding
        )
        self._low = PipelinedBlockRAM(size=on_chip, beat_bytes=beat_bytes, family=family)
        self._adapter = None
        if beat_bytes != rest.beat_bytes:
            # The split lets no request pass that leaves the memory in part.
            self._adapter = WidthAdapter(beat_bytes=beat_bytes, memory_beat_bytes=rest.beat_bytes)
        members = {"port": In(MemoryPort(beat_bytes))}
        if hasattr(rest, "pins"):
            members["pins"] = rest.signature.members["pins"]
        super().__init__(members)

    def floorplan(self, device: str, taken: Collection[str] = ()) -> dict[str, str]:
        """Placement of block RAMs by name, as in ``Engine.floorplan``, none at sites ``taken``."""
        places = self._low.floorplan(device, taken)
        return {f"low.{name}": place for name, place in places.items()}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        split = m.submodules.split = self._split
        rest = m.submodules.rest = self.rest
        wiring.connect(m, wiring.flipped(self.port), split.port)

        low = m.submodules.low = self._low
        wiring.connect(m, split.low, low.port)

        port = rest.port
        if not getattr(rest, "masks", True):
            partial = m.submodules.partial = PartialWrites(beat_bytes=rest.beat_bytes)
            wiring.connect(m, partial.memory, port)
            port = partial.port
        if self._adapter is not None:
            m.submodules.adapter = self._adapter
            wiring.connect(m, self._adapter.memory, port)
            port = self._adapter.port
        # Whether the other memory takes a beat to write is known late in a cycle, and would have to
        # reach every bit of the registers in front.
        writes = m.submodules.writes = StreamBuffer(shape=port.w.payload.shape())
        wiring.connect(m, split.high.w, writes.i)
        wiring.connect(m, writes.o, port.w)
        # The other memory reads on while the split returns answers of block RAM.
        answers = m.submodules.answers = RAMQueue(shape=port.r.payload.shape())
        m.d.comb += [
            answers.entry.eq(port.r.payload),
            answers.put.eq(port.r.valid & answers.space),
            port.r.ready.eq(answers.space),
        ]
        wiring.connect(m, answers.o, split.high.r)
        for name in ("req", "ack"):
            wiring.connect(m, getattr(split.high, name), getattr(port, name))
        if hasattr(rest, "pins"):
            wiring.connect(m, rest.pins, wiring.flipped(self.pins))
        return m
