# SPDX-License-Identifier: BSD-2-Clause
"""Buffer capacities of one build of the OPU, from which tilings are chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ......gateware.cores.opu import geometry
from ......gateware.cores.opu.isa import MAX_POSITIONS, MAX_TAPS
from ......gateware.cores.opu.types import SLOT, TypeSet, type_set

__all__ = ["Target", "ifm_channels", "ofm_channels"]

_MOST_SIDE = 127


def ifm_channels(channels: int) -> int:
    """Channels that ``ld.ifm`` loads for ``channels`` (1 to 64) of a map: 16, 32 or 64."""
    return max(16, 1 << (channels - 1).bit_length())


def ofm_channels(channels: int) -> int:
    """Channels of ``ofm`` for ``channels`` (1 to 64) of a map: a power of two from 2 to 64."""
    return max(2, 1 << (channels - 1).bit_length())


@dataclass(frozen=True)
class Target:
    """Capacities of a build, from its resolved parameters."""

    params: Mapping[str, Any]

    @property
    def types(self) -> TypeSet:
        """The build's type set."""
        return type_set(self.params)

    @property
    def slot_units(self) -> int:
        """Units of 64 bytes in a slot of 64 elements."""
        return self.types.ifm_bytes * SLOT // 64

    def holds_ifm(self, shape: tuple[int, int, int]) -> bool:
        """Whether a tile (rows, columns, channels) fits one bank of ``ifm``."""
        return self._legal(shape) and geometry.ifm_lines(shape) <= self.params["ifm_lines"]

    def holds_ofm(self, shape: tuple[int, int, int]) -> bool:
        """Whether a tile (rows, columns, channels) fits one bank of ``ofm``."""
        return (
            self._legal(shape)
            and geometry.ofm_lines(shape, self.params["po"]) <= self.params["ofm_lines"]
        )

    @staticmethod
    def _legal(shape):
        return (
            1 <= shape[0] <= _MOST_SIDE
            and 1 <= shape[1] <= _MOST_SIDE
            and shape[0] * shape[1] <= MAX_POSITIONS
        )

    def kernel_taps(self, ofm_c: int, ifm_c: int) -> int:
        """Greatest number of taps per ``ld.ker``, by the ISA's volume rule and this build's kernel
        memory. May be 0."""
        taps = MAX_TAPS
        while taps and not geometry.kernel_legal(taps, ofm_c, ifm_c):
            taps -= 1
        return min(taps, self.params["ker_rows"] // self.tap_rows(ofm_c, ifm_c))

    def tap_rows(self, ofm_c: int, ifm_c: int) -> int:
        """Rows of the kernel memory that one tap occupies."""
        return geometry.ker_rows(1, ofm_c, ifm_c, self.params["pi"], self.params["po"])

    @property
    def overlaps(self) -> bool:
        """Whether loads and stores can overlap the convolution unit."""
        return self.params["ifm_banks"] > 1 or self.params["ofm_banks"] > 1
