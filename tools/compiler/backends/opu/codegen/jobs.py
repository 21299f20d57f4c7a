# SPDX-License-Identifier: BSD-2-Clause
"""Tile jobs of layers: loads, taps and stores of every tile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....common.inputs import KernelError
from ..layers import BLOCK, MOST_STRIDE, NARROW, Layer
from ..schedule.memory import MOST_SIDE
from ..schedule.tiling import Target, Tiling, channels_of, ifm_channels, ifm_shapes, ofm_channels
from .interleaved import interleaved_jobs
from .lines import line_jobs
from .products import product_jobs
from .tiles import Chunk, Job, Load, Pad, Part, Tap, border_pads, starts

if TYPE_CHECKING:
    from ..schedule.memory import Constants, Maps

__all__ = ["JobMaker"]


class JobMaker:
    """Divides layers into tile jobs.

    Parameters
    ----------
    target : Target
    maps : Maps
    constants : Constants
    far : constants of all layers but those of ``near``, if on-chip memory holds only theirs

    Attributes
    ----------
    sizes : dict, name of a layer -> bytes of its kernels and biases
    """

    def __init__(
        self,
        target: Target,
        maps: Maps,
        constants: Constants,
        far: Constants | None = None,
        near: Collection[str] = (),
    ):
        self.target = target
        self.maps = maps
        self.constants = constants
        self.far = far
        self._near = near
        self.sizes: Counter[str] = Counter()
        self._kernels: dict[tuple[Any, ...], int] = {}
        self._used: dict[Any, Any] = {}
        self._borders: dict[Hashable, Any] = {}
        # (layer, taps of a part, block, ofm) -> units where the first tile of this shape begins in
        # the source, shape of its last load, its parts
        self._tiles: dict[Hashable, Any] = {}

    def flat(self, layer: Layer) -> bool:
        """Whether ``layer`` processes all images at once, each as a row of its ``ifm``."""
        source, result = self.maps.buffers[layer.source], self.maps.buffers[layer.result]
        return (
            layer.flat
            and not any(source.border)
            and source.image_slots <= MOST_SIDE
            and result.image_slots <= MOST_SIDE
        )

    def jobs(self, layer: Layer, tiling: Tiling) -> list[Job]:
        """Tile jobs of all images, in order."""
        images = self.maps.buffers[layer.result].images
        if layer.second is not None or layer.phases is not None:
            make = product_jobs if layer.phases is None else interleaved_jobs
            return [job for n in range(images) for job in make(self, layer, n)]
        flat = self.flat(layer)
        if layer.strided and not flat:
            return [job for n in range(images) for job in line_jobs(self, layer, tiling, n)]
        make = self._flat_job if flat else self._job
        height, width = (images, 1) if flat else layer.result.shape[:2]
        rows, columns = min(tiling.rows, height), min(tiling.columns, width)
        tiles = [
            (n, r, c)
            for n in ([0] if flat else range(images))
            for r in starts(height, rows)
            for c in starts(width, columns)
        ]
        outs = range(layer.result.channel_blocks)
        order = (
            [(o, t) for o in outs for t in tiles]
            if tiling.kernel_first
            else [(o, t) for t in tiles for o in outs]
        )
        return [make(layer, tiling, o, *tile, rows, columns) for o, tile in order]

    def input_pads(self) -> list[Pad]:
        """The Pads that zero the borders of inputs which other tensors may have overwritten."""
        found = []
        for tensor in self.maps.overwritten:
            buffer = self.maps.buffers[tensor]
            for image in range(buffer.images):
                for part in range(0, tensor.channel_blocks, tensor.shares):
                    found += border_pads(buffer, image, part)
        return sorted(found, key=lambda pad: pad.at)

    def pads(self, layer: Layer) -> list[Pad]:
        """The Pads that zero the border of the layer's result, for all images."""
        images = range(self.maps.buffers[layer.result].images)
        return [
            pad
            for part in range(0, layer.result.channel_blocks, layer.result.shares)
            for pad in self.borders(layer, images, part)
        ]

    def borders(self, layer: Layer, images: range, part: int) -> tuple[Pad, ...]:
        """The Pads of the result's map that holds channel block ``part``, for those images."""
        key = layer.name, images, part
        if key not in self._borders:
            buffer = self.maps.buffers[layer.result]
            self._borders[key] = tuple(
                pad for image in images for pad in border_pads(buffer, image, part)
            )
        return self._borders[key]

    # A tile of a map

    def _job(self, layer, tiling, out, n, row, column, rows, columns):
        source, result = self.maps.buffers[layer.source], self.maps.buffers[layer.result]
        high, wide, down, right = layer.pool
        top, left = row * down, column * right  # of the convolution
        ofm = (
            (rows - 1) * down + high,
            (columns - 1) * right + wide,
            ofm_channels(channels_of(layer.result, out)),
        )
        by_tap = layer.by_tap and layer.residual is not None
        # The operands of two tiles of one shape lie as far from each other as the tiles do.
        key = None if by_tap else (layer.name, tiling.taps, tiling.joint, out, ofm)
        here = source.at(n, 0, top * layer.stride[0], left * layer.stride[1])
        if key not in self._tiles:
            taps = self._taps(layer, source, n, out, top, left, ofm)
            shape = taps[-1].load.shape
            if not by_tap:
                parts = None
                if tiling.joint:
                    groups = [
                        self._taps(layer, source, n, block, top, left, ofm)
                        for block in range(layer.result.channel_blocks)
                    ]
                    parts = self._joint_part(layer, groups, out, ofm[2])
                parts = parts or self.parts(layer, tiling, out, taps, ofm[2])
                self._tiles[key] = here, shape, parts
        if not by_tap:
            there, shape, parts = self._tiles[key]
            parts = [part.moved(here - there) for part in parts]
        residual = None
        if layer.residual is not None:
            residual = self._residual(
                layer,
                tiling,
                out,
                n,
                (row, column) if layer.order == 2 else (top, left),
                (rows, columns) if layer.order == 2 else ofm[:2],
                ofm[2],
                shape,
            )
        if by_tap:
            taps.append(Tap(residual, (1, 1), layer.residual_f, 0, 0, ()))
            residual = None
            parts = self.parts(layer, tiling, out, taps, ofm[2])
        return Job(
            layer,
            ofm,
            parts,
            self.bias(layer, out, ofm[2]),
            layer.b[out],
            residual,
            result.at(n, out, row, column),
            result.mem,
            rows,
            columns,
            self.borders(layer, range(n, n + 1), out),
        )

    def _taps(self, layer, source, n, out, top, left, ofm):
        """Taps of the tile ``ofm`` at (top, left) of image ``n`` and channel block ``out``."""
        taps = []
        for run in self._together(layer, source, out):
            taps += self._shared_taps(layer, source, n, run, out, top, left, ofm)
        return self.without_zeros(layer, out, taps)

    def without_zeros(self, layer: Layer, out: int, taps: list[Tap]) -> list[Tap]:
        """Removes taps whose weights are all zero, but keeps at least one, and the first one of a
        layer with biases: the sum of its products and the biases is rounded and saturated once."""
        key = layer.name, out
        if key not in self._used:
            self._used[key] = {tap.weights for tap in taps if layer.block(out, *tap.weights).any()}
        kept = 0 if layer.bias is None else 1
        used = [tap for tap in taps[kept:] if tap.weights in self._used[key]]
        return taps[:kept] + used or taps[:1]

    @staticmethod
    def _together(layer, source, out):
        """Groups the source's channel blocks for output tile ``out`` into runs that one load can
        fetch."""
        each, runs = source.abreast * layer.source.shares, {}
        for part in layer.reads(out):
            runs.setdefault(part // each, []).append(part)
        return list(runs.values())

    def _shared_taps(self, layer, source, image, run, out, top, left, ofm):
        """Taps of the channel blocks ``run``, which share a map or lie side by side: with one load
        of all of them if possible. A block's row of memory is one stride long."""
        shares, mem_w = layer.source.shares, source.mem_w
        first, last = run[0] // shares, run[-1] // shares  # maps
        share = run[0] % shares if first == last else 0
        lines = run[-1] % shares - share + 1 if first == last else shares
        down, across = layer.stride
        (high, wide), (far, apart) = layer.taps, layer.dilation
        rows = (ofm[0] - 1) * down + (high - 1) * far + 1
        shape = (
            (rows - 1) * shares + lines,
            (last - first) * mem_w + (ofm[1] - 1) * across + (wide - 1) * apart + 1,
            NARROW,
        )
        if (
            len(run) == 1
            or source.line_slots > MOST_SIDE
            or (high - 1) * far * shares + lines > BLOCK
            or (last - first) * mem_w + (wide - 1) * apart >= BLOCK
            or len(layer.blocks) > 1
            or not self.target.holds_ifm(shape)
            or (ofm[0] > 1 and down * shares > 7)
        ):
            return [
                tap
                for part in run
                for tap in self._map_taps(layer, source, image, part, out, top, left, ofm)
            ]
        at = source.at(
            image,
            first * shares + share,
            top * down - layer.padding[0],
            left * across - layer.padding[2],
        )
        load, stride = (
            Load(at, source.line_slots, shape),
            (down * shares if ofm[0] > 1 else 1, across),
        )
        return [
            Tap(
                load,
                stride,
                layer.f[out],
                part % shares - share + r * far * shares,
                (part // shares - first) * mem_w + c * apart,
                (part, r, c),
            )
            for part in run
            for r, c in layer.positions
        ]

    def _map_taps(self, layer, source, image, part, out, top, left, ofm):
        ifm_c = ifm_channels(channels_of(layer.source, part))
        down, across = layer.stride
        row, column = top * down - layer.padding[0], left * across - layer.padding[2]
        (far, apart), mem_w = layer.dilation, source.step_slots
        skip = layer.taps[0] == 1 and down > 1 and mem_w * down <= MOST_SIDE
        if source.steps > 1:
            down = self._down(layer, source, ofm)
        elif skip:  # rows that no tap reads are not loaded
            mem_w, down = mem_w * down, 1
        found = []
        loads = list(self._loads(layer, source, ofm, down, across, ifm_c))
        tallest = {}  # rows of the tallest load, by columns
        for _, _, high, wide in loads:
            tallest[wide] = max(high, tallest.get(wide, 0))
        for r0, c0, high, wide in loads:
            # A load of fewer rows begins earlier: with another shape, kernels were loaded again.
            above = min(r0, tallest[wide] - high)
            r0, high = r0 - above, high + above
            shape = (
                (ofm[0] - 1) * down + (high - 1) * far + 1,
                (ofm[1] - 1) * across + (wide - 1) * apart + 1,
                ifm_c,
            )
            load = Load(source.at(image, part, row + r0 * far, column + c0 * apart), mem_w, shape)
            for r in range(above, high):
                for c in range(wide):
                    weights = (part, 0, 0) if layer.weights is None else (part, r0 + r, c0 + c)
                    found.append(
                        Tap(load, (down, across), layer.f[out], r * far, c * apart, weights)
                    )
        return found

    @staticmethod
    def _down(layer, source, ofm):
        """Stride of the rows of ``ofm`` in a load of all steps between the rows of the source."""
        if ofm[0] == 1:
            return 1
        down = layer.stride[0] * source.steps
        if down > MOST_STRIDE:
            raise KernelError(
                f"a pooling of {layer.pool[0]} rows at stride {layer.stride[0]}, each "
                f"{source.row_slots} slots long: expected at most "
                f"{MOST_STRIDE // layer.stride[0] * MOST_SIDE}",
                layer.name,
            )
        return down

    def _loads(self, layer, source, ofm, down, across, ifm_c):
        """Blocks of taps with one load each: the layer's, or as many rows of one as ``ifm`` holds,
        one of a source whose rows are several steps apart; in the same order."""
        far, apart = layer.dilation
        for r, c, high, wide in layer.blocks:
            columns = (ofm[1] - 1) * across + (wide - 1) * apart + 1
            most = high if source.steps == 1 else 1
            while most > 1 and not self.target.holds_ifm(
                ((ofm[0] - 1) * down + (most - 1) * far + 1, columns, ifm_c)
            ):
                most -= 1
            most = -(-high // -(-high // most))
            yield from (
                (r + some, c, min(most, high - some), wide) for some in range(0, high, most)
            )

    def _residual(self, layer, tiling, out, n, start, sides, ofm_c, shape):
        buffer = self.maps.buffers[layer.residual]
        fits = shape[0] >= sides[0] and shape[1] >= sides[1] and shape[2] >= ofm_c
        exact = (
            not fits
            or max(buffer.tensor.shares, layer.source.shares, buffer.steps) > 1
            or (layer.adds and tiling.exact_residual)
        )
        wanted = (*sides, ifm_channels(ofm_c)) if exact else shape
        if wanted[0] > 1 and buffer.steps > 1:
            raise KernelError(
                f"a pooling of {wanted[0]} rows behind a sum of maps with more than {MOST_SIDE} "
                f"slots in a row: expected a layer of its own",
                layer.name,
            )
        return Load(buffer.at(n, out, *start), buffer.step_slots, wanted)

    # Two layers on one feature map

    def sibling(self, layer: Layer, other: Layer) -> tuple[int, int] | None:
        """Offset (row, column) of the window of ``other`` within that of ``layer``, if both can
        share tiles and one kernel load, as a shortcut and the first layer of its block can; else
        ``None``."""
        start = layer.padding[0] - other.padding[0], layer.padding[2] - other.padding[2]
        if (
            other.source is not layer.source
            or layer.source.channel_blocks > 1
            or (layer.rows, layer.columns) != (other.rows, other.columns)
            or layer.stride != other.stride
            or layer.strided
            or self.maps.buffers[layer.source].steps > 1
            or layer.taps[0] == 1
            or max(layer.taps) > BLOCK
            or min(start) < 0
            or not self.target.holds_ifm(ifm_shapes(layer, 1, 1))
            or any(a + d > b for a, d, b in zip(other.taps, start, layer.taps, strict=True))
        ):
            return None
        for one in (layer, other):
            if (
                one.weights is None
                or one.residual is not None
                or one.pool != (1, 1, 1, 1)
                or one.result.channel_blocks > 1
                or self.flat(one)
                or one.dilation != (1, 1)
            ):
                return None
        ofm_c = ofm_channels(layer.result.channels)
        taps = layer.taps[0] * layer.taps[1] + other.taps[0] * other.taps[1]
        if ofm_c != ofm_channels(other.result.channels) or taps > self.target.kernel_taps(
            ofm_c, ifm_channels(layer.source.channels)
        ):
            return None
        return start

    def sibling_jobs(
        self,
        layer: Layer,
        other: Layer,
        start: tuple[int, int],
        tiling: Tiling,
    ) -> list[Job]:
        """Jobs of both layers, interleaved tile by tile, ``other`` first; ``start`` as
        :meth:`sibling` returns it."""
        height, width = layer.result.shape[:2]
        rows, columns = min(tiling.rows, height), min(tiling.columns, width)
        return [
            job
            for n in range(self.maps.buffers[layer.result].images)
            for r in starts(height, rows)
            for c in starts(width, columns)
            for job in self._sibling_jobs(layer, other, start, n, r, c, rows, columns)
        ]

    def _sibling_jobs(self, layer, other, start, n, row, column, rows, columns):
        source = self.maps.buffers[layer.source]
        ofm = rows, columns, ofm_channels(layer.result.channels)
        taps = self._map_taps(layer, source, n, 0, 0, row, column, ofm)
        load = taps[0].load
        # The shorter one first: its store then lies under the longer one's convolutions, and so
        # does the next tile's load.
        both = [
            (
                other,
                [
                    ((start[0] + r, start[1] + c), (0, r, c))
                    for r in range(other.taps[0])
                    for c in range(other.taps[1])
                ],
            ),
            (layer, [((t.h, t.w), t.weights) for t in taps]),
        ]
        at = self.kernel(
            (layer.name, other.name),
            lambda: [
                self._matrix(one, 0, w, ofm[2], load.shape[2])
                for one, some in both
                for _, w in some
            ],
        )
        total, jobs, n0 = len(both[0][1]) + len(both[1][1]), [], 0
        for one, some in both:
            result = self.maps.buffers[one.result]
            ops = tuple((h, w, n0 + k) for k, ((h, w), _) in enumerate(some))
            n0 += len(some)
            part = Part(at, total, (Chunk(load, layer.stride, one.f[0], ops),))
            jobs.append(
                Job(
                    one,
                    ofm,
                    [part],
                    self.bias(one, 0, ofm[2]),
                    one.b[0],
                    None,
                    result.at(n, 0, row, column),
                    result.mem,
                    rows,
                    columns,
                    self.borders(one, range(n, n + 1), 0),
                )
            )
        return jobs

    # Fully connected: images are rows, slots are columns

    def _flat_job(self, layer, tiling, out, n, row, column, rows, columns):
        source, result = self.maps.buffers[layer.source], self.maps.buffers[layer.result]
        ifm_c = ifm_channels(channels_of(layer.source, 0))
        ofm_c = ofm_channels(channels_of(layer.result, out))
        taps = []
        for some in self._slots(layer, source):
            part, r, c = some[0]
            load = Load(
                source.at(n + row, part, r, c),
                source.image_slots,
                (rows, len(some), ifm_c),
            )
            taps += [Tap(load, (1, 1), layer.f[out], 0, k, slot) for k, slot in enumerate(some)]
        parts = self.parts(layer, tiling, out, taps, ofm_c)
        return Job(
            layer,
            (rows, 1, ofm_c),
            parts,
            self.bias(layer, out, ofm_c),
            layer.b[out],
            None,
            result.at(n + row, out),
            (rows, result.image_slots),
            rows,
            1,
            self.borders(layer, range(n + row, n + row + rows), out),
        )

    @staticmethod
    def _slots(layer, source):
        """Slots (channel block, row, column) of a flat layer in order, divided into runs that are
        contiguous in memory."""
        runs, before = [], None
        for part in range(layer.source.channel_blocks):
            for r, c in layer.positions:
                at = source.at(0, part, r, c)
                if before is None or at != before + source.slot_units or len(runs[-1]) == BLOCK:
                    runs.append([])
                runs[-1].append((part, r, c))
                before = at
        return runs

    # Kernels

    def parts(
        self, layer: Layer, tiling: Tiling, out: int, taps: list[Tap], ofm_c: int
    ) -> list[Part]:
        """Groups taps with the same ``ifm`` shape into kernels of nearly equal size."""
        runs: list[list[Tap]] = []
        for tap in taps:
            if not runs or runs[-1][0].load.shape != tap.load.shape:
                runs.append([])
            runs[-1].append(tap)
        parts = []
        for run in runs:
            ifm_c = run[0].load.shape[2]
            shared = layer.weights is None and len({t.weights for t in run}) == 1
            size = len(run)
            if not shared:
                most = min(tiling.taps, self.target.kernel_taps(ofm_c, ifm_c))
                size = -(-len(run) // -(-len(run) // most))
            for at in range(0, len(run), size):
                some = run[at : at + size]
                kernel = tuple(t.weights for t in (some[:1] if shared else some))

                def matrices(kernel=kernel, ifm_c=ifm_c):
                    return [self._matrix(layer, out, w, ofm_c, ifm_c) for w in kernel]

                at_units = self.kernel((layer.name, out, kernel, ofm_c, ifm_c), matrices)
                parts.append(Part(at_units, len(kernel), self._chunks(some, shared)))
        return parts

    def _joint_part(self, layer, groups, out, ofm_c):
        """The part of channel block ``out`` with one kernel of all blocks, whose taps are
        ``groups``; ``None`` if shapes differ, or if one load cannot bring so many taps."""
        result = layer.result
        outs = {ofm_channels(channels_of(result, block)) for block in range(result.channel_blocks)}
        shapes = {tap.load.shape for taps in groups for tap in taps}
        if len(shapes) > 1 or len(outs) > 1:
            return None
        ifm_c = shapes.pop()[2]
        kernel = tuple((block, tap.weights) for block, taps in enumerate(groups) for tap in taps)
        if len(kernel) > self.target.kernel_taps(ofm_c, ifm_c):
            return None

        def matrices():
            return [self._matrix(layer, block, w, ofm_c, ifm_c) for block, w in kernel]

        at = self.kernel((layer.name, kernel, ofm_c, ifm_c), matrices)
        first = sum(len(taps) for taps in groups[:out])
        return [Part(at, len(kernel), self._chunks(groups[out], False, first))]

    @staticmethod
    def _chunks(taps, shared, first=0):
        chunks = []
        for n, tap in enumerate(taps, first):
            key = tap.load, tap.stride, tap.f
            if not chunks or chunks[-1][0] != key:
                chunks.append((key, []))
            chunks[-1][1].append((tap.h, tap.w, 0 if shared else n))
        return tuple(Chunk(*key, tuple(ops)) for key, ops in chunks)

    def kernel(self, key: tuple[Any, ...], matrices: Callable[[], Any]) -> int:
        """Address in units of the kernel ``key``; ``matrices()`` makes its taps [ofm_c, ifm_c] on
        first use."""
        if key not in self._kernels:
            array = np.stack(matrices())
            pool = self._pool(key[0], array.size * self.target.types.ker_bytes)
            self._kernels[key] = pool.kernel(array)
        return self._kernels[key]

    def _pool(self, layer, size):
        """The constants that an array of a layer goes to, of ``size`` bytes."""
        self.sizes[layer] += -(-size // 64) * 64
        return self.constants if self.far is None or layer in self._near else self.far

    def _matrix(self, layer, out, weights, ofm_c, ifm_c):
        """Weights [ofm_c, ifm_c] of one tap, with zeros for missing channels."""
        if not weights:  # a residual's tap
            return np.eye(ofm_c, ifm_c, dtype=np.int64)
        block = layer.block(out, *weights)
        if block.shape == (ofm_c, ifm_c):
            return block
        padded = np.zeros((ofm_c, ifm_c), block.dtype)
        padded[: block.shape[0], : block.shape[1]] = block
        return padded

    def bias(self, layer: Layer, out: int, ofm_c: int) -> int | None:
        """Address in units of the biases of a channel block, ``None`` for a layer without any."""
        if layer.bias is None:
            return None
        key = layer.name, out, "bias", ofm_c
        if key not in self._kernels:
            block = layer.bias[slice(*layer.result.span(out))]
            array = np.pad(block, (0, ofm_c - len(block)))
            pool = self._pool(layer.name, array.size * self.target.types.bias_bytes)
            self._kernels[key] = pool.bias(array)
        return self._kernels[key]
