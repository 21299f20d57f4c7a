# SPDX-License-Identifier: BSD-2-Clause
"""Layout of maps as vectors: one plane per block of N channels, lines separated by zero vectors."""

from dataclasses import dataclass
from typing import Any

from .layout import blocks

__all__ = ["Planes"]


@dataclass(frozen=True)
class Planes:
    """Layout of a map of ``lines`` x ``length`` positions and ``channels`` in vectors of ``n``
    elements.

    A window that is moved over the map meets, at every position, the vector a constant number of
    vectors away from the position's own: the zero vectors behind a line are also those in front of
    the next. So a product goes over many lines at once.

    Attributes
    ----------
    lines, length, channels, n : int
    gap : vectors behind every line
    lead : vectors in front of the first
    phases : (along lines, along places): neighbours that share a vector,
        for a map that is read by a convolution of that stride
    shift : (along lines, along places): phase of the map's first line and place, 0 or,
        of two phases, 1
    """

    lines: int
    length: int
    channels: int
    n: int
    gap: int = 0
    lead: int = 0
    phases: tuple[int, int] = (1, 1)
    shift: tuple[int, int] = (0, 0)

    @property
    def down(self) -> int:
        """Lines per plane."""
        return -(-(self.lines + self.shift[0]) // self.phases[0])

    @property
    def across(self) -> int:
        """Positions per line of a plane."""
        return -(-(self.length + self.shift[1]) // self.phases[1])

    @property
    def pitch(self) -> int:
        """Vectors from one line to the next."""
        return self.across + self.gap

    @property
    def plane(self) -> int:
        """Vectors from one block to the next."""
        return self.down * self.pitch

    @property
    def blocks(self) -> int:
        """Number of blocks of channels, or of neighbours and channels."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return 1
        if places * self.channels <= self.n:
            return lines
        return lines * places * blocks(self.channels, self.n)

    @property
    def size(self) -> int:
        """Number of vectors in all."""
        return self.lead + self.blocks * self.plane

    def vector(self, block: int, line: int, place: int) -> int:
        """Index of a vector (``line`` and ``place`` count lines and positions of the planes)."""
        return self.lead + (block * self.down + line) * self.pitch + place

    def lane(self, line: int, place: int, channel: int) -> int:
        """Index, among all blocks' elements, of the element that holds a phase (``line``,
        ``place``) and channel."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return (line * places + place) * self.channels + channel
        if places * self.channels <= self.n:
            return line * self.n + place * self.channels + channel
        return (line * places + place) * blocks(self.channels, self.n) * self.n + channel

    def strides(self) -> dict[str, Any]:
        """Strides of the layout: for ``line``, ``place`` and ``channel`` a list of (size, vectors,
        elements), most significant first; ``begin``: (vectors, elements) of the first element."""
        lines, places = self.phases
        whole = blocks(self.channels, self.n)
        if lines * places * self.channels <= self.n:
            phases = (0, places * self.channels), (0, self.channels)
        elif places * self.channels <= self.n:
            phases = (self.plane, 0), (0, self.channels)
        else:
            phases = (places * whole * self.plane, 0), (whole * self.plane, 0)
        result: dict[str, Any] = {}
        begin = (self.lead, 0)
        for kind, count, vectors, apart, phase, shift in zip(
            ("line", "place"),
            (self.down, self.across),
            (self.pitch, 1),
            self.phases,
            phases,
            self.shift,
            strict=True,
        ):
            if shift:  # the second phase comes first, the other one in the next vector
                begin = begin[0] + phase[0], begin[1] + phase[1]
                phase = vectors - phase[0], -phase[1]
            result[kind] = [(count, vectors, 0), (apart, *phase)]
        result["channel"] = (
            [(self.channels, 0, 1)] if whole == 1 else [(whole, self.plane, 0), (self.n, 0, 1)]
        )
        result["begin"] = begin
        return result
