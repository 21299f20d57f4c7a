# SPDX-License-Identifier: BSD-2-Clause
"""Maps as vectors: a plane for every block of N channels, lines one after another with zero vectors between them."""
from dataclasses import dataclass

from .layout import blocks

__all__ = ["Planes"]


@dataclass(frozen=True)
class Planes:
    """A map of ``lines`` x ``length`` positions and ``channels``, in vectors of ``n`` elements.

    A window that is moved over the map meets, at every position, the vector a constant number of vectors away from the position's own:
    the zero vectors behind a line are also those in front of the next. So a product goes over many lines at once.

    Attributes
    ----------
    lines, length, channels, n : int
    gap : vectors behind every line
    lead : vectors in front of the first
    phases : (along lines, along places): neighbours that share a vector, for a map that is read by a convolution of that stride
    """
    lines: int
    length: int
    channels: int
    n: int
    gap: int = 0
    lead: int = 0
    phases: tuple = (1, 1)

    @property
    def down(self):
        """Lines of a plane."""
        return -(-self.lines // self.phases[0])

    @property
    def across(self):
        """Positions of a line of a plane."""
        return -(-self.length // self.phases[1])

    @property
    def pitch(self):
        """Vectors from a line to the next."""
        return self.across + self.gap

    @property
    def plane(self):
        """Vectors from a block to the next."""
        return self.down * self.pitch

    @property
    def blocks(self):
        """Blocks of channels, or of neighbours and channels."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return 1
        if places * self.channels <= self.n:
            return lines
        return lines * places * blocks(self.channels, self.n)

    @property
    def size(self):
        """Vectors in all."""
        return self.lead + self.blocks * self.plane

    def vector(self, block, line, place):
        """Number of a vector of the planes (``line`` and ``place`` as the planes have them)."""
        return self.lead + (block * self.down + line) * self.pitch + place

    def lane(self, line, place, channel):
        """Element of all blocks' elements in which a phase (``line``, ``place``) and channel lie."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return (line * places + place) * self.channels + channel
        if places * self.channels <= self.n:
            return line * self.n + place * self.channels + channel
        return (line * places + place) * blocks(self.channels, self.n) * self.n + channel

    def strides(self):
        """Vectors and elements by which an index of each kind moves: dict of lists of (size, vectors, elements), most significant first, for
        ``line``, ``place`` and ``channel``."""
        lines, places = self.phases
        whole = blocks(self.channels, self.n)
        if lines * places * self.channels <= self.n:
            phase = (lines, 0, places * self.channels), (places, 0, self.channels)
        elif places * self.channels <= self.n:
            phase = (lines, self.plane, 0), (places, 0, self.channels)
        else:
            phase = (lines, places * whole * self.plane, 0), (places, whole * self.plane, 0)
        channel = [(self.channels, 0, 1)] if whole == 1 else [(whole, self.plane, 0), (self.n, 0, 1)]
        return {"line": [(self.down, self.pitch, 0), phase[0]], "place": [(self.across, 1, 0), phase[1]], "channel": channel}
