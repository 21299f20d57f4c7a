# SPDX-License-Identifier: BSD-2-Clause
"""Lowering of layers for one core: dense, convolution by rows or by patches, pooling. Weights stay
in the arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..inputs import KernelError
from .network import Conv, Dense, Network, Pool

if TYPE_CHECKING:
    from .builder import CoreBuilder

__all__ = ["DenseParts", "Allocation", "lower", "place"]


class LoweredLayer(Protocol):
    """A layer as instructions of one core."""

    def emit(self, image: int) -> None:
        """Appends the instructions for one image."""


class Allocation:
    """Layout of a layer's values in local memory: ``address`` of the first, ``pitch`` bytes from
    row to row, ``size`` bytes per value; ``halves``: the even columns of a row before the odd ones,
    which pooling needs."""

    def __init__(
        self,
        address: int,
        shape: Sequence[int],
        pitch: int | None = None,
        halves: bool = False,
        size: int = 1,
    ):
        self.address, self.shape, self.halves, self.size = address, shape, halves, size
        self.pitch = pitch if pitch is not None else int(np.prod(shape[1:])) * size

    def row(self, y: int) -> int:
        """Address of a row."""
        return self.address + y * self.pitch

    def column(self, x: int) -> int:
        """Offset of column ``x`` in its row."""
        width, channels = self.shape[1:]
        return ((x % 2 * (width // 2) + x // 2) if self.halves else x) * channels * self.size


# Dense


class DenseCut:
    """Requantisation of a dense layer that is split over several groups: (sum of products +
    ``first``) >> ``early``, + ``rest``, >> ``late``.

    With B, the bias and what rounds, y = (sum + B) >> shift. As a rule sum + B fits 32 bits
    whatever the inputs are; B is then the bias of the first group. Where it might not, B = rest *
    2^early + first, so that no step leaves 32 bits; with shift 0 ``rest`` comes last, and where
    that sum saturates so does the result.
    """

    def __init__(self, layer: Dense):
        weights = layer.weights.astype(np.int64)
        most, least = (
            np.maximum(weights * a, weights * b).sum(0) for a, b in ((127, -128), (-127, 128))
        )
        whole = (0 if layer.bias is None else layer.bias.astype(np.int64)) + (1 << layer.shift >> 1)
        whole = np.broadcast_to(whole, weights.shape[1:])
        if (whole + most < 1 << 31).all() and (whole - least >= -1 << 31).all():
            self.early, self.first, self.rest = 0, whole, None
        else:
            self.early = min(16, layer.shift)
            self.first, self.rest = whole & (1 << self.early) - 1, whole >> self.early
        self.late = layer.shift - self.early


class DenseParts:
    """A dense layer split into groups: pairs (first input, group), and the local memory that a
    split layer needs."""

    def __init__(self, core: CoreBuilder, layer: Dense):
        self.core, self.layer = core, layer
        rows, cols = layer.weights.shape
        self.cut = None
        if core.fits(rows, cols, layer.bias is not None):
            self.groups = [(0, core.group(layer.weights, layer.bias, layer.shift, layer.name))]
            return
        tiles = -(-cols // core.params["xb_cols"])
        if tiles > 16:
            raise KernelError(
                f"{layer.name}: {cols} outputs take {tiles} arrays side by side, expected at "
                f"most 16"
            )
        if cols > 1024:
            raise KernelError(f"{layer.name}: {cols} outputs, expected at most 1024")
        self.cut = cut = DenseCut(layer)
        step = min(1024, 16 // tiles * core.params["xb_rows"])
        first = cut.first.astype(np.int32) if cut.first.any() else None
        self.groups = [
            (k, core.group(layer.weights[k : k + step], None if k else first, 0, layer.name))
            for k in range(0, rows, step)
        ]
        if core.params["max_biw"] < 32:
            raise KernelError(
                f"{layer.name}: {rows} inputs take sums of 32 bits, this build has "
                f"{core.params['max_biw']} (max_biw)"
            )
        self.sums, self.part, self.late = (core.allocate(4 * cols, layer.name) for _ in range(3))
        # Element by element the number of places to shift.
        core.constants(self.late, [cut.late] * cols)
        if cut.rest is not None:
            self.early, self.rest = (core.allocate(4 * cols, layer.name) for _ in range(2))
            core.constants(self.early, [cut.early] * cols)
            core.constants(self.rest, cut.rest)

    def emit(self, target: int, source: int) -> None:
        """Emits one input vector at ``source``, results at ``target``."""
        core, layer, cut = self.core, self.layer, self.cut
        if cut is None:
            core.widths(8, layer.bits)
            core.mvmul(target, source, self.groups[0][1], layer.relu)
            return
        sums, cols = self.sums, layer.outputs
        for n, (first, group) in enumerate(self.groups):
            core.widths(8, 32)
            core.mvmul(self.part if n else sums, source + first, group)
            if n:
                core.widths(32, 32)
                core.vector2("vvadd", sums, sums, self.part, cols, size=4)
        if cut.rest is not None:
            core.widths(32, 32)
            if cut.early:
                core.vector2("vvsra", sums, sums, self.early, cols, size=4)
            core.vector2("vvadd", sums, sums, self.rest, cols, size=4)
        core.widths(32, layer.bits)
        if layer.relu:
            core.vector1("vrelu", sums, sums, cols, size=4)
        core.vector2("vvsra", target, sums, self.late, cols, size=4, out=layer.bits // 8)


class _Dense:
    def __init__(self, core, layer, source, target):
        self.parts, self.source, self.target = DenseParts(core, layer), source, target

    def emit(self, image):
        self.parts.emit(
            self.target.address + image * self.target.pitch,
            self.source.address + image * self.source.pitch
            if len(self.source.shape) == 1
            else self.source.address,
        )


# Convolution

#: Cycles that an instruction is reckoned with, where two ways are compared: code comes from a
#: memory that all cores share.
_FETCH = 2


def row_matrix(layer: Conv, padded: int, width: int, halves: bool) -> np.ndarray:
    """The matrix that computes a whole row of results from the padded rows under its windows: (rows
    * padded width * channels, columns * outputs)."""
    _, _, channels, out = layer.weights.shape
    (high, wide), (_, stride), (down, across) = layer.span, layer.strides, layer.dilations
    matrix = np.zeros((high, padded, channels, width, out), np.int8)
    for x in range(width):
        at = (x % 2 * (width // 2) + x // 2) if halves else x
        matrix[::down, x * stride : x * stride + wide : across, :, at] = layer.weights
    return matrix.reshape(high * padded * channels, width * out)


class _ConvRows:
    """A row of results with one multiplication: the matrix repeats the kernel for every column."""

    @staticmethod
    def cycles(core, layer, source, shape):
        """Of the whole layer, or ``None`` where it does not fit."""
        h, w, out = shape
        rows = layer.span[0] * source.pitch
        if not core.fits(rows, w * out, layer.bias is not None):
            return None
        return h * (rows * -(-w * out // core.params["lanes"]) + 4 + 2 * _FETCH)

    def __init__(self, core, layer, source, target):
        self.core, self.layer, self.source, self.target = core, layer, source, target
        width = target.shape[1]
        bias = None if layer.bias is None else np.tile(layer.bias, width)
        matrix = row_matrix(layer, source.shape[1], width, target.halves)
        self.group = core.group(matrix, bias, layer.shift, layer.name)

    def emit(self, image):
        self.core.widths(8, self.layer.bits)
        for y in range(self.target.shape[0]):
            self.core.mvmul(
                self.target.row(y),
                self.source.row(y * self.layer.strides[0]),
                self.group,
                self.layer.relu,
            )


class _ConvPatches:
    """One multiplication a position; its neighbourhood is gathered piece by piece, into two buffers
    in turn. One that lies in one piece is read where it is."""

    @staticmethod
    def pieces(layer):
        """``(bytes, [(row, column) of each])``: a row of the kernel, or with dilation a place of
        it."""
        kh, kw, channels, _ = layer.weights.shape
        down, across = layer.dilations
        if across == 1:
            return kw * channels, [(r * down, 0) for r in range(kh)]
        return channels, [(r * down, c * across) for r in range(kh) for c in range(kw)]

    @classmethod
    def cycles(cls, core, layer, source, shape):
        h, w, out = shape
        rows = layer.weights[..., 0].size
        if not core.fits(rows, out, layer.bias is not None):
            return None
        size, pieces = cls.pieces(layer)
        count = len(pieces) if len(pieces) > 1 else 0
        matrix = rows * -(-out // core.params["lanes"]) + 4
        return h * w * (max(matrix, count * (-(-size // 8) + 4)) + (count + 2) * _FETCH)

    def __init__(self, core, layer, source, target):
        self.core, self.layer, self.source, self.target = core, layer, source, target
        weights = layer.weights.reshape(-1, layer.outputs)
        self.group = core.group(weights, layer.bias, layer.shift, layer.name)
        self.size, self.places = self.pieces(layer)
        self.patches = (
            [core.allocate(len(weights), layer.name) for _ in range(2)]
            if len(self.places) > 1
            else []
        )
        # A register for each piece of a buffer: the offset then reaches the source.
        for patch in self.patches:
            for n in range(len(self.places)):
                core.pin(patch + n * self.size)

    def emit(self, image):
        core, layer = self.core, self.layer
        h, w, _ = self.target.shape
        (down, across), channels = layer.strides, layer.weights.shape[2]
        core.widths(8, layer.bits)
        for y in range(h):
            for x in range(w):
                source = self.source.row(y * down) + x * across * channels
                if self.patches:
                    patch = self.patches[(y * w + x) % 2]
                    for n, (r, c) in enumerate(self.places):
                        core.move(
                            patch + n * self.size,
                            source + r * self.source.pitch + c * channels,
                            self.size,
                        )
                    source = patch
                core.mvmul(
                    self.target.row(y) + self.target.column(x), source, self.group, layer.relu
                )


# Pooling


class _Pool:
    """The larger of two rows, then of the even and the odd columns. A convolution writes them
    apart; else every column is compared with its neighbour, and every other result gathered."""

    def __init__(self, core, layer, source, target):
        self.core, self.source, self.target = core, source, target
        self.rows = core.allocate(source.pitch, layer.name)

    def emit(self, image):
        core, size, half, rows = self.core, self.source.pitch, self.source.pitch // 2, self.rows
        _, width, channels = self.target.shape
        for y in range(self.target.shape[0]):
            core.widths(8, 8)
            core.vector2("vvmax", rows, self.source.row(2 * y), self.source.row(2 * y + 1), size)
            if self.source.halves:
                core.vector2("vvmax", self.target.row(y), rows, rows + half, half)
            else:
                core.vector2("vvmax", rows, rows, rows + channels, size - channels)
                core.gather(self.target.row(y), rows, 2, width, channels)


def place(
    core: CoreBuilder,
    shape: tuple[int, ...],
    following: Dense | Conv | Pool | None,
    what: str,
    halves: bool = False,
) -> Allocation:
    """Allocates the values ``shape`` in front of the layer ``following``, with its border if it has
    one."""
    if isinstance(following, Conv) and any(following.pads):
        (top, left, _, _), (rows, columns), channels = (
            following.pads,
            following.padded(shape),
            shape[2],
        )
        pitch = columns * channels
        # The border is zero from the start of the run on.
        return Allocation(
            core.allocate(rows * pitch, following.name) + top * pitch + left * channels,
            shape,
            pitch,
        )
    return Allocation(
        core.allocate(int(np.prod(shape)), what), shape, 0 if len(shape) == 1 else None, halves
    )


def _origin(values, layer):
    """The padded map around the place ``values``, for a convolution."""
    top, left, _, _ = layer.pads
    channels = values.shape[2]
    return Allocation(
        values.address - top * values.pitch - left * channels,
        (*layer.padded(values.shape), channels),
        values.pitch,
    )


def lower(
    core: CoreBuilder, network: Network, source: Allocation, output: Allocation, thrifty: bool
) -> list[LoweredLayer]:
    """Lowers a network for one core: a list of objects with ``emit(image)``.

    ``source``, ``output`` : :class:`Allocation` of input and results;
        for vectors their pitch is from image to image.
    ``thrifty`` : no convolution goes by rows, which is the fewer cycles but the more arrays.
    """
    steps: list[LoweredLayer] = []
    given = source
    for n, layer in enumerate(network.layers):
        following = network.layers[n + 1] if n + 1 < len(network.layers) else None
        shape = network.shapes[n + 1]
        if following is None:
            target = output
        else:
            target = place(
                core,
                shape,
                following,
                layer.name,
                isinstance(layer, Conv) and isinstance(following, Pool),
            )
        if isinstance(layer, Conv):
            padded = _origin(given, layer)
            costs = [
                (cost, kind)
                for kind in ((_ConvPatches,) if thrifty else (_ConvRows, _ConvPatches))
                if (cost := kind.cycles(core, layer, padded, shape)) is not None
            ]
            if not costs:
                raise KernelError(
                    f"{layer.name}: its weights do not fit what is left of the core ({core.left})"
                )
            steps.append(min(costs, key=lambda pair: pair[0])[1](core, layer, padded, target))
        else:
            steps.append(
                (_Dense if isinstance(layer, Dense) else _Pool)(core, layer, given, target)
            )
        given = target
    return steps
