# SPDX-License-Identifier: BSD-2-Clause
"""Three-axis views of the scratchpad that kernels iterate over: a tile is four of the second axis
by four of the third."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["View"]


@dataclass(frozen=True)
class View:
    """A strided view: ``shape`` elements from ``address`` on, ``strides`` elements apart along each
    axis; stride 0 broadcasts."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def at(self, *index: int) -> int:
        """Address of an element."""
        return self.address + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def part(self, start: tuple[int, ...], shape: tuple[int, ...]) -> View:
        """The subview of ``shape`` from element ``start`` on; a broadcast axis stays broadcast."""
        return View(self.at(*start), tuple(shape), self.strides)

    def ordered(self, order: tuple[int, ...]) -> View:
        """The view with its axes permuted."""
        return View(
            self.address, tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order)
        )

    def over(self, shape: tuple[int, ...]) -> View:
        """The view broadcast along axes of length one."""
        return replace(
            self,
            shape=tuple(shape),
            strides=tuple(
                0 if mine == 1 and other != 1 else s
                for mine, other, s in zip(self.shape, shape, self.strides, strict=True)
            ),
        )

    def folded(self) -> View:
        """A vector as rows of four: axis 2 is split into axes 1 and 2; its length is a multiple of
        four."""
        step = self.strides[2]
        return View(self.address, (1, self.shape[2] // 4, 4), (0, 4 * step, step))
