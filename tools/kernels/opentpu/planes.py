# SPDX-License-Identifier: BSD-2-Clause
"""Maps as vectors: a plane for every block of N channels, lines one after another with zero vectors
between them."""

from dataclasses import dataclass

from .layout import blocks

__all__ = ["Planes"]


@dataclass(frozen=True)
class Planes:
    """A map of ``lines`` x ``length`` positions and ``channels``, in vectors of ``n`` elements.

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
    phases: tuple = (1, 1)
    shift: tuple = (0, 0)

    @property
    def down(self):
        """Lines of a plane."""
        return -(-(self.lines + self.shift[0]) // self.phases[0])

    @property
    def across(self):
        """Positions of a line of a plane."""
        return -(-(self.length + self.shift[1]) // self.phases[1])

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
        """Element of all blocks' elements in which a phase (``line``, ``place``) and channel
        lie."""
        lines, places = self.phases
        if lines * places * self.channels <= self.n:
            return (line * places + place) * self.channels + channel
        if places * self.channels <= self.n:
            return line * self.n + place * self.channels + channel
        return (line * places + place) * blocks(self.channels, self.n) * self.n + channel

    def strides(self):
        """Vectors and elements by which an index of each kind moves: dict of lists of (size,
        vectors, elements), most significant first, for ``line``, ``place`` and ``channel``; and of
        where the first element lies, ``begin``."""
        lines, places = self.phases
        whole = blocks(self.channels, self.n)
        if lines * places * self.channels <= self.n:
            phases = (0, places * self.channels), (0, self.channels)
        elif places * self.channels <= self.n:
            phases = (self.plane, 0), (0, self.channels)
        else:
            phases = (places * whole * self.plane, 0), (whole * self.plane, 0)
        result, begin = {}, (self.lead, 0)
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
