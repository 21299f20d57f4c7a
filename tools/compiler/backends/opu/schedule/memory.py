# SPDX-License-Identifier: BSD-2-Clause
"""Placement of tensors and constants (specification, section 7.3). All addresses are units of 64
bytes from a region's start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ......gateware.cores.opu.types import SLOT, TypeSet
from ....common.inputs import KernelError
from ....layout import Digit, Layout
from ..layers import BLOCK, Network, Tensor

if TYPE_CHECKING:
    from ..grid import Grid

__all__ = [
    "MOST_PAD",
    "MOST_SIDE",
    "Buffer",
    "Constants",
    "Maps",
    "OnChip",
    "OnChipFullError",
    "wide_enough",
]

_MOST_UNITS = 1 << 22
#: Slots from row to row, and rows, of one load, ``store`` or ``pad``; width of its border.
MOST_SIDE, MOST_PAD = 1023, 15


class OnChipFullError(KernelError):
    """What is to lie in on-chip memory does not fit there."""


@dataclass(frozen=True)
class OnChip:
    """Contents of the on-chip memory, which holds the lowest addresses of main memory.

    Attributes
    ----------
    size : bytes
    tensors : names of tensors
    layers : names of the layers whose kernels and biases lie there
    spent : names of inputs whose memory others may take once they were read
    spread : a tensor avoids the border of another one whose memory is free again, so that it need
        not be made zero once more; else tensors with a border lie at the end, where only others
        with a border overwrite it
    first : byte address of the first tensor; constants and the program lie before it
    crossing : names of tensors that begin in on-chip memory if there is space, and end in the other
    """

    size: int
    tensors: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()
    spent: frozenset[str] = frozenset()
    spread: bool = False
    first: int = 0
    crossing: frozenset[str] = frozenset()

    @property
    def units(self) -> int:
        """Size in units of 64 bytes."""
        return self.size // 64

    @property
    def first_unit(self) -> int:
        """Unit of the first tensor."""
        return self.first // 64


@dataclass(frozen=True)
class Buffer:
    """Memory of one tensor: for every image its maps of 64 channels, each ``mem_h`` x ``mem_w``
    slots with a border of zeros, one after the other. Channel blocks that share a map
    are interleaved by rows. If a window offset reaches all maps of a split tensor, they lie side by
    side, so that one load fetches every channel block.

    Attributes
    ----------
    tensor : Tensor
    base : units from the start of the region of maps
    images : int
    border : slots (above and below, left and right)
    slot_units : units in a slot
    """

    tensor: Tensor
    base: int
    images: int
    border: tuple[int, int]
    slot_units: int

    @property
    def mem_h(self) -> int:
        """Rows of a map in memory, border included."""
        return self.tensor.height + 2 * self.border[0]

    @cached_property
    def mem_w(self) -> int:
        """Columns of a map in memory, border included: a multiple of :attr:`steps`."""
        return self._columns + self.slack

    @property
    def slack(self) -> int:
        """Slots behind the border of a row that make it a multiple of :attr:`steps`."""
        return -self._columns % self.steps

    @property
    def _columns(self):
        return self.tensor.width + 2 * self.border[1]

    @cached_property
    def steps(self) -> int:
        """Equal steps from a row to the next, each at most :data:`MOST_SIDE` slots. With several,
        one load or store takes a single row, or a load all steps between the rows."""
        return -(-self._columns // (MOST_SIDE // self.tensor.shares))

    @property
    def abreast(self) -> int:
        """Number of maps that lie side by side."""
        maps = self.tensor.maps
        return (
            maps
            if self.tensor.split and not any(self.border) and (maps - 1) * self._columns < BLOCK
            else 1
        )

    @property
    def line_slots(self) -> int:
        """Distance in slots from a row of a channel block to the same row of the next one in its
        map."""
        return self.abreast * self.mem_w

    @property
    def row_slots(self) -> int:
        """Distance in slots between consecutive rows of a channel block."""
        return self.tensor.shares * self.line_slots

    @property
    def step_slots(self) -> int:
        """Slots of a step for ``@mem.ifm``: the distance of rows if they are one step apart."""
        return self.row_slots // self.steps

    @property
    def mem(self) -> tuple[int, int]:
        """Rows and columns for ``@mem.ofm``. A ``store`` does not use the rows, that of a single
        row not the columns either."""
        return min(self.mem_h, MOST_SIDE), min(self.row_slots, MOST_SIDE)

    @property
    def pads_overlap_data(self) -> bool:
        """Whether the border is made zero by arrays whose ends or edges lie among the data."""
        high, wide = self.border
        several = self.steps > 1 or self.mem_h * self.tensor.shares > MOST_SIDE
        return wide > 0 and (several or high <= MOST_PAD < wide)

    @property
    def map_slots(self) -> int:
        """Distance in slots between consecutive maps."""
        return self.mem_w if self.abreast > 1 else self.mem_h * self.row_slots

    @property
    def image_slots(self) -> int:
        """Distance in slots between consecutive images."""
        return self.tensor.maps * self.mem_h * self.tensor.shares * self.mem_w

    @property
    def units(self) -> int:
        """Size in units of 64 bytes."""
        return self.images * self.image_slots * self.slot_units

    @property
    def geometry(self) -> tuple[int, ...]:
        """Layout key: equal for buffers with the same arrangement."""
        return (
            self.images,
            self.tensor.maps,
            self.tensor.shares,
            self.mem_h,
            self.mem_w,
            *self.border,
        )

    def at(self, image: int, part: int = 0, row: int = 0, column: int = 0) -> int:
        """Address of a slot in units: ``part`` is the channel block; ``row`` and ``column`` may lie
        in the border (from ``-border``)."""
        place, share = divmod(part, self.tensor.shares)
        slot = (
            image * self.image_slots
            + place * self.map_slots
            + (row + self.border[0]) * self.row_slots
            + share * self.line_slots
            + column
            + self.border[1]
        )
        return self.base + slot * self.slot_units

    def layout(self, start: int, bits: int, shape: Sequence[int]) -> Layout | None:
        """Memory layout of the tensor as one of ``shape``, whose first axis does not count inputs;
        ``start``: byte address of the region of maps. ``None`` if address digits cannot describe
        it: a flattened map whose channel blocks are not full."""
        tensor, size = self.tensor, bits // 8
        slot = SLOT * size
        height, width, _ = tensor.map_shape
        down, across = self._strides(slot)
        rows, columns = [(height, down)], [(width, across)]
        # Maps, channel blocks within a map, channels of a block.
        channels = [(tensor.maps, self.map_slots * slot)] if tensor.maps > 1 else []
        channels += [(tensor.shares, self.line_slots * slot)] if tensor.shares > 1 else []
        channels += [(tensor.each if tensor.channel_blocks > 1 else tensor.channels, size)]
        parts = {0: [], 1: [channels], 2: [rows, channels], 3: [rows, columns, channels]}[
            len(shape)
        ]
        sizes = {
            0: (),
            1: (tensor.channels,) if height == width == 1 else None,
            2: (height, tensor.channels) if width == 1 else None,
            3: tensor.map_shape,
        }[len(shape)]
        if sizes != tuple(shape):
            # Another shape of the same elements: digits of one axis count all of them.
            if len(shape) != 1 or (tensor.channel_blocks > 1 and tensor.channels % tensor.each):
                return None
            parts = [rows + columns + channels]
        digits = [Digit(axis, *digit) for axis, part in enumerate(parts, 1) for digit in part]
        return self._layout(start, bits, shape, digits)

    def _strides(self, slot):
        """Bytes from a row of the network's map to the next, and from a column; ``slot``: bytes of
        a slot."""
        strides = self.row_slots * slot, slot
        return strides[::-1] if self.tensor.exchanged else strides

    def grid_layout(self, start: int, bits: int, shape: tuple[int, int, int], grid: Grid) -> Layout:
        """Memory layout of a tensor of ``shape`` (rows, columns, channels) whose positions share
        slots; arguments as of :meth:`layout`."""
        size, (rows, columns, _), (down, across) = bits // 8, grid.shape, grid.block
        slot, each = SLOT * size, self.tensor.each
        if shape[2] >= each:  # positions in channel blocks of their own
            blocks, line = shape[2] // each, self.line_slots * slot
            column, channels = blocks * line, [Digit(3, blocks, line), Digit(3, each, size)]
        else:
            column, channels = shape[2] * size, [Digit(3, shape[2], size)]
        row_stride, column_stride = self._strides(slot)
        digits = [
            Digit(1, rows, row_stride),
            Digit(1, down, across * column),
            Digit(2, columns, column_stride),
            Digit(2, across, column),
            *channels,
        ]
        return self._layout(start, bits, shape, digits, (0, *grid.phase, 0))

    def _layout(self, start, bits, shape, digits, phase=()):
        image = Digit(0, self.images, self.image_slots * SLOT * bits // 8)
        shape = (self.images, *shape)
        return Layout(start + 64 * self.at(0), shape, f"int{bits}", (image, *digits), phase)


class Constants:
    """Constant pool: kernels and biases, 64-byte aligned and deduplicated.

    Parameters
    ----------
    types : TypeSet
    start : first unit
    packed : one follows the other; else each takes a unit, for addresses that only tell arrays
        apart
    """

    def __init__(self, types: TypeSet, start: int = 0, packed: bool = True):
        self._packed = packed
        self.types = types
        self._parts: list[bytes] = []
        self._known: dict[tuple[int, bytes], int] = {}
        self._end = start

    def kernel(self, array: np.ndarray) -> int:
        """Address in units of a kernel ``array`` [taps, ofm_c, ifm_c], which is added on first
        use."""
        return self._add(np.ascontiguousarray(array.astype(f"<i{self.types.ker // 8}")))

    def bias(self, array: np.ndarray) -> int:
        """Address in units of a bias array, which is added on first use."""
        return self._add(np.ascontiguousarray(array.astype(f"<i{self.types.bias // 8}")))

    def _add(self, array):
        data = array.tobytes()
        key = (array.dtype.itemsize, data)
        if key not in self._known:
            self._known[key] = self._end
            self._parts.append(data + bytes(-len(data) % 64))
            self._end += len(self._parts[-1]) // 64 if self._packed else 1
        if self._end > _MOST_UNITS:
            raise KernelError(
                f"kernels and biases take {self._end * 64} bytes, a region holds {_MOST_UNITS * 64}"
            )
        return self._known[key]

    @property
    def data(self) -> np.ndarray:
        """Contents of the constant pool, uint8."""
        return np.frombuffer(b"".join(self._parts), np.uint8)


def wide_enough(tensor: Tensor, rows: int, columns: int) -> tuple[int, int]:
    """Border (rows, columns) of a tensor that needs at least these: equally wide on all sides if
    one ``pad`` can make it zero."""
    wide = max(rows, columns)
    high = (tensor.height + 2 * wide) * tensor.shares
    if wide <= MOST_PAD and max(high, tensor.width + 2 * wide) <= MOST_SIDE:
        return wide, wide
    if columns > MOST_PAD:
        # The arrays of such columns begin and end in the middle of a row.
        return max(rows, 1), columns
    # Those of the columns zero as many rows.
    return max(rows, columns) if columns else rows, columns


class Maps:
    """Memory allocation of feature maps: a tensor's memory is reused once its last reader has run.

    Parameters
    ----------
    network : Network
    slot_units : units in a slot
    separate : every tensor keeps its place
    on_chip : OnChip, optional; its tensors lie below the end of on-chip memory, others above or,
        the crossing ones, on both sides. A sum may then take the place of its residual, and a
        tensor that of an input which nobody reads later

    Attributes
    ----------
    buffers : dict, Tensor -> Buffer
    units : size of the whole
    in_place : names of the layers whose result overwrites their residual, tile by tile
    overwritten : inputs whose memory may hold another tensor after a run

    Raises
    ------
    OnChipFullError
        The tensors of ``on_chip`` do not fit.
    """

    def __init__(
        self,
        network: Network,
        slot_units: int,
        separate: bool = False,
        on_chip: OnChip | None = None,
    ):
        self._images, self._slot_units = network.batch, slot_units
        self._on_chip = on_chip
        self.buffers: dict[Tensor, Buffer] = {}
        self.units = 0
        self.in_place: set[str] = set()
        self.overwritten: set[Tensor] = set()
        kept = set(network.results())
        lasting = set(network.inputs)
        if on_chip is not None:
            self.overwritten = {t for t in network.inputs if t.name in on_chip.spent} - kept
            lasting -= self.overwritten
        last = {}
        tensors = [*network.inputs, *(layer.result for layer in network.layers)]
        # Width of the border (above and below, left and right).
        wanted = dict.fromkeys(tensors, (0, 0))
        wanted |= {tensor: (width, width) for tensor, width in network.borders.items()}
        for index, layer in enumerate(network.layers):
            last.update(dict.fromkeys(layer.operands, index))
            rows, columns = wanted[layer.source]
            wanted[layer.source] = (
                max(rows, *layer.padding[:2]),
                max(columns, *layer.padding[2:]),
            )
        borders = {tensor: wide_enough(tensor, *wanted[tensor]) for tensor in tensors}
        # Memory behind the border that tensors may reach into which begin before it.
        self._crossing_units = max(
            (
                Buffer(tensor, 0, self._images, borders[tensor], slot_units).units
                for tensor in borders
                if on_chip is not None and tensor.name in on_chip.crossing
            ),
            default=0,
        )
        self._free = [(0, 1 << 40)]
        self._shapes: dict[Any, Any] = {}
        self._borders: list[tuple[int, int]] = []
        for tensor in network.inputs:
            self._place(tensor, borders[tensor])
        for tensor in network.results():
            if tensor not in self.buffers:
                self._place(tensor, borders[tensor])
        for index, layer in enumerate(network.layers):
            if layer.result not in self.buffers:
                mine = layer.residual
                lasts = mine in kept or mine in network.inputs
                if mine is None or lasts or separate or last.get(mine) != index:
                    mine = None
                if not self._takes_place(layer, mine, borders[layer.result]):
                    self._place(layer.result, borders[layer.result])
            if separate:
                continue
            for tensor, at in last.items():
                moved = layer.name in self.in_place and tensor is layer.residual
                if at == index and tensor not in kept | lasting and not moved:
                    self._release(self.buffers[tensor])
            if layer.result not in last and layer.result not in kept:
                self._release(self.buffers[layer.result])

    def _takes_place(self, layer, residual, border):
        """Lets the result of ``layer`` take the place of its residual, which nobody reads later, if
        both lie in the same way: a tile loads its residual before it is stored."""
        if self._on_chip is None or residual is None or layer.pool != (1, 1, 1, 1):
            return False
        before = self.buffers[residual]
        buffer = Buffer(layer.result, before.base, self._images, border, self._slot_units)
        if (
            residual in (layer.source, layer.second)
            or buffer.geometry != before.geometry
            or buffer.pads_overlap_data
        ):
            return False
        self.buffers[layer.result] = buffer
        self.in_place.add(layer.name)
        return True

    def _arena(self, tensor):
        """Units between which a tensor may lie, and whether they are those on chip."""
        on_chip = self._on_chip
        if on_chip is None:
            return 0, 1 << 40, False
        if tensor.name in on_chip.tensors:
            return on_chip.first_unit, on_chip.units, True
        if tensor.name in on_chip.crossing:
            return on_chip.first_unit, 1 << 40, False
        return on_chip.units + self._crossing_units, 1 << 40, False

    def _place(self, tensor, border):
        buffer = Buffer(tensor, 0, self._images, border, self._slot_units)
        low, high, within = self._arena(tensor)
        spread = self._on_chip is not None and self._on_chip.spread
        base = None
        # A free place of the very same geometry keeps its zero border.
        for start, geometry in self._shapes.items():
            if (
                geometry == buffer.geometry
                and low <= start < high
                and self._is_free(start, buffer.units)
            ):
                base = start
                break
        if base is None and spread:
            base = self._free_place(buffer.units, low, high, self._bordered())
        if base is None and within and any(border) and not spread:
            base = self._last_place(buffer.units, low, high)
        if base is None:
            base = self._free_place(buffer.units, low, high)
        if base is None:
            raise OnChipFullError(f"tensor {tensor.name} does not fit on-chip memory")
        buffer = Buffer(tensor, base, self._images, border, self._slot_units)
        self._take(base, base + buffer.units)
        self._shapes = {s: g for s, g in self._shapes.items() if s != base}
        self._shapes[base] = buffer.geometry
        if any(border):
            self._borders.append((base, base + buffer.units))
        self.buffers[tensor] = buffer
        self.units = max(self.units, base + buffer.units)
        if self.units > _MOST_UNITS:
            raise KernelError(
                f"tensor {tensor.name}: the maps take more than the {_MOST_UNITS * 64} bytes "
                f"of a region"
            )

    def _bordered(self):
        """Places of all tensors so far that have a border, in order."""
        return sorted(self._borders)

    def _free_place(self, size, low, high, taken=()):
        """First free place of ``size`` units between ``low`` and ``high``, outside of ``taken``;
        ``None`` if there is none."""
        for start, end in self._free:
            at = max(start, low)
            for first, behind in taken:
                if first < at + size and at < behind:
                    at = behind
            if min(end, high) - at >= size:
                return at
        return None

    def _last_place(self, size, low, high):
        """Last free place of ``size`` units between ``low`` and ``high``; ``None`` if there is
        none."""
        for start, end in reversed(self._free):
            at = min(end, high) - size
            if at >= max(start, low):
                return at
        return None

    def _is_free(self, start, size):
        return any(a <= start and start + size <= b for a, b in self._free)

    def _take(self, start, end):
        free = []
        for a, b in self._free:
            if a < start:
                free.append((a, min(b, start)))
            if b > end:
                free.append((max(a, end), b))
        self._free = [(a, b) for a, b in sorted(set(free)) if a < b]

    def _release(self, buffer):
        spans = sorted([*self._free, (buffer.base, buffer.base + buffer.units)])
        merged = [spans[0]]
        for a, b in spans[1:]:
            if a <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(b, merged[-1][1])
            else:
                merged.append((a, b))
        self._free = merged
