# SPDX-License-Identifier: BSD-2-Clause
"""Views of the scratchpad with three axes, as kernels walk over them: tiles are four of the second
axis by four of the third."""

from dataclasses import dataclass, replace

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """``shape`` elements from ``address`` on, ``strides`` elements apart along each axis; 0
    repeats."""

    address: int
    shape: tuple
    strides: tuple

    def at(self, *index):
        """Address of an element."""
        return self.address + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def part(self, start, shape):
        """The view of ``shape`` from element ``start`` on; along a repeated axis everything is the
        same."""
        return View(self.at(*start), tuple(shape), self.strides)

    def ordered(self, order):
        """Axes in another order."""
        return View(
            self.address, tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order)
        )

    def over(self, shape):
        """Repeated along axes of one element."""
        return replace(
            self,
            shape=tuple(shape),
            strides=tuple(
                0 if mine == 1 and other != 1 else s
                for mine, other, s in zip(self.shape, shape, self.strides, strict=True)
            ),
        )

    def folded(self):
        """A vector as rows of four: axis 2 split into axes 1 and 2; its length is a multiple of
        four."""
        step = self.strides[2]
        return View(self.address, (1, self.shape[2] // 4, 4), (0, 4 * step, step))
