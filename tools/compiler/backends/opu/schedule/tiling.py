# SPDX-License-Identifier: BSD-2-Clause
"""Tiling: splits layers into tiles that fit the buffers of a build, and kernels into loads that fit
the kernel memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ......gateware.cores.opu import geometry
from ......gateware.cores.opu.isa import MAX_POSITIONS, MAX_TAPS
from ......gateware.cores.opu.types import SLOT, TypeSet, type_set
from ....common.inputs import KernelError
from ..layers import BLOCK, Layer, Tensor
from .memory import MOST_SIDE

__all__ = [
    "Target",
    "Tiling",
    "candidates",
    "channels_of",
    "check_tiling",
    "ifm_channels",
    "ifm_shapes",
    "ofm_channels",
    "widest",
]

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


@dataclass(frozen=True)
class Tiling:
    """Tile sizes and loop order of one layer.

    Attributes
    ----------
    rows, columns : results of a tile after pooling;
        of a layer that works on whole images at a time, ``rows`` is images
    taps : most taps of one ``ld.ker``
    kernel_first : all tiles of one group of 64 output channels before the next (the kernel stays),
        else all groups of output channels for one tile (the feature map stays)
    exact_residual : load the residual with its own shape (which costs the kernel),
        else with that of the layer's ``ifm``
    with_next : work on each tile together with the next layer,
        which reads the same source (a shortcut beside the first layer of its block): feature map
        and kernels are loaded once for both; ignored where that cannot be
    joint : one ``ld.ker`` brings the kernels of all groups of output channels; ignored where that
        cannot be
    """

    rows: int
    columns: int
    taps: int
    kernel_first: bool = True
    exact_residual: bool = True
    with_next: bool = False
    joint: bool = False


def channels_of(tensor: Tensor, part: int) -> int:
    """Channels that are read and written for channel block ``part`` of ``tensor``."""
    first, last = tensor.span(part)
    return SLOT if tensor.full else last - first


def _most_channels(tensor):
    return channels_of(tensor, 0)


def ifm_shapes(
    layer: Layer, rows: int, columns: int, by_rows: bool = False, steps: int = 1
) -> tuple[int, int, int]:
    """Shape of the ``ld.ifm`` for a tile of ``rows`` x ``columns`` results and the largest kernel
    block in each direction; ``by_rows``: for a single row of taps; ``steps``: from one row of the
    source to the next (:attr:`~.memory.Buffer.steps`)."""
    ifm_c = ifm_channels(_most_channels(layer.source))
    sides = []
    for axis, count in enumerate((rows, columns)):
        taps, stride = layer.taps[axis], layer.stride[axis]
        before = (count - 1) * layer.pool[2 + axis] + layer.pool[axis]
        if axis == 0 and steps > 1:
            stride *= steps
        elif axis == 0 and taps == 1:
            stride = 1  # rows in between are left out by the width of the map in memory
        wide = 1 if by_rows and axis == 0 else max(block[2 + axis] for block in layer.blocks)
        sides.append((before - 1) * stride + (wide - 1) * layer.dilation[axis] + 1)
    return sides[0], sides[1], ifm_c


def _ofm_shape(layer, rows, columns):
    return (
        (rows - 1) * layer.pool[2] + layer.pool[0],
        (columns - 1) * layer.pool[3] + layer.pool[1],
        ofm_channels(_most_channels(layer.result)),
    )


def _residual_fits(target, layer, rows, columns):
    if not layer.adds and not layer.by_tap:
        return True
    sides = (rows, columns) if layer.order == 2 else _ofm_shape(layer, rows, columns)[:2]
    return target.holds_ifm((*sides, ifm_channels(_most_channels(layer.result))))


def _fits(target, layer, rows, columns, flat, by_rows, steps):
    if flat:
        channels = ifm_channels(_most_channels(layer.source))
        slots = min(BLOCK, layer.source.channel_blocks * layer.taps[0] * layer.taps[1])
        return target.holds_ifm((rows, slots, channels)) and target.holds_ofm(
            (rows, 1, ofm_channels(_most_channels(layer.result)))
        )
    return (
        target.holds_ifm(ifm_shapes(layer, rows, columns, by_rows, steps))
        and target.holds_ofm(_ofm_shape(layer, rows, columns))
        and _residual_fits(target, layer, rows, columns)
    )


def _even(count, most):
    """The smallest tile that divides ``count`` into as few tiles as ``most`` does."""
    return -(-count // -(-count // most))


def _by_rows(target, layer, steps):
    """Whether ``ifm`` cannot hold a whole window, so that one load serves only some rows of
    taps."""
    return steps > 1 or not target.holds_ifm(ifm_shapes(layer, 1, 1))


def _most_rows(target, layer, height, columns, flat, by_rows, steps):
    low, high = 0, min(height, 127 if flat or steps == 1 else 1)
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(target, layer, middle, columns, flat, by_rows, steps):
            low = middle
        else:
            high = middle - 1
    return low


def _taps(target, layer):
    ofm_c, ifm_c = (
        ofm_channels(_most_channels(layer.result)),
        ifm_channels(_most_channels(layer.source)),
    )
    taps = target.kernel_taps(ofm_c, ifm_c)
    if not taps:
        raise KernelError(
            f"one tap of {ifm_c} to {ofm_c} channels takes "
            f"{target.tap_rows(ofm_c, ifm_c)} "
            f"rows of kernel memory, this build has ker_rows = {target.params['ker_rows']}",
            layer.name,
        )
    return taps


def widest(target: Target, layer: Layer, images: int, flat: bool, steps: int = 1) -> Tiling:
    """The :class:`Tiling` with the fewest tiles, for maps whose rows are up to ``steps`` apart
    (:attr:`~.memory.Buffer.steps`): with several, a tile is one row. Raises :class:`KernelError` if
    not even one result fits the buffers."""
    height, width = (images, 1) if flat else layer.result.shape[:2]
    best, by_rows = None, _by_rows(target, layer, steps)
    for cuts in range(1, width + 1):
        columns = -(-width // cuts)
        rows = _most_rows(target, layer, height, columns, flat, by_rows, steps)
        if rows:
            tiles = -(-height // rows) * -(-width // columns)
            if best is None or tiles < best[0]:
                best = tiles, _even(height, rows), columns
            if -(-width // columns) > 2 * best[0]:
                break
    if best is None:
        raise KernelError(
            f"one result needs ifm "
            f"{list(ifm_shapes(layer, 1, 1, by_rows, steps))} and ofm "
            f"{list(_ofm_shape(layer, 1, 1))}; this build has ifm_lines = "
            f"{target.params['ifm_lines']}, "
            f"ofm_lines = {target.params['ofm_lines']}",
            layer.name,
        )
    return Tiling(best[1], best[2], _taps(target, layer))


def check_tiling(
    target: Target, layer: Layer, images: int, flat: bool, tiling: Tiling, steps: int = 1
) -> None:
    """Raises KernelError if this build cannot hold the tiles of a given :class:`Tiling`;
    ``steps``: as of :func:`widest`."""
    height, width = (images, 1) if flat else layer.result.shape[:2]
    rows, columns = min(tiling.rows, height), min(tiling.columns, width)
    if rows > 1 and steps > 1 and not flat:
        raise KernelError(
            f"tilings: layer {layer.name}: {rows} rows a tile of a map with more than {MOST_SIDE} "
            f"slots in a row, expected 1"
        )
    by_rows = _by_rows(target, layer, steps)
    if not _fits(target, layer, rows, columns, flat, by_rows, steps):
        raise KernelError(
            f"tilings: layer {layer.name}: {rows} x {columns} results need ifm "
            f"{list(ifm_shapes(layer, rows, columns, by_rows, steps))} and "
            f"ofm {list(_ofm_shape(layer, rows, columns))}; this build has ifm_lines = "
            f"{target.params['ifm_lines']}, "
            f"ofm_lines = {target.params['ofm_lines']}"
        )


def candidates(
    target: Target, layer: Layer, images: int, flat: bool, start: Tiling, sibling: bool = False
) -> list[Tiling]:
    """Candidate tilings to try instead of ``start``, for a build that overlaps loads, convolutions
    and stores; ``sibling``: the next layer can share the tiles."""
    if layer.second is not None or layer.phases is not None or layer.strided:
        return []
    height = images if flat else layer.result.height
    rows = sorted(
        {_even(height, r) for r in range(1, start.rows + 1) if -(-height // r) <= 8}, reverse=True
    )
    total = layer.taps[0] * layer.taps[1] * len(layer.reads(0)) + layer.by_tap
    sizes = {start.taps}
    per = target.tap_rows(
        ofm_channels(_most_channels(layer.result)), ifm_channels(_most_channels(layer.source))
    )
    half = target.params["ker_rows"] // (2 * per)
    if layer.weights is not None and total > 1:
        sizes |= {t for t in (half, -(-total // 2), -(-total // 3)) if 1 <= t <= start.taps}
        # Parts that a larger limit would cut the same way.
        sizes = {-(-total // -(-total // t)) for t in sizes}
    found = [replace(start, rows=r, taps=t) for r in rows for t in sorted(sizes, reverse=True)]
    if layer.adds:
        found += [replace(t, exact_residual=False) for t in found]
    if sibling:
        found += [replace(t, with_next=True) for t in found]
    if layer.result.channel_blocks > 1 and not flat:
        found += [replace(t, kernel_first=False) for t in found]
        if layer.weights is not None and total * layer.result.channel_blocks <= start.taps:
            joint = replace(start, kernel_first=False, joint=True)
            found += [replace(joint, rows=r) for r in rows]
    return found
