# SPDX-License-Identifier: BSD-2-Clause
"""Layers as instructions of one core: dense, convolution by rows or by neighbourhoods, pooling. Weights stay in the arrays."""
import numpy as np

from .errors import KernelError
from .network import Conv, Dense, Pool

__all__ = ["Place", "dense_groups", "emit_dense", "lower"]


class Place:
    """Where a layer's values lie: ``address`` of the first, ``pitch`` bytes from row to row; ``halves``: the even columns of
    a row before the odd ones, as pooling likes it."""
    def __init__(self, address, shape, pitch=None, halves=False):
        self.address, self.shape, self.halves = address, shape, halves
        self.pitch = pitch if pitch is not None else int(np.prod(shape[1:]))

    def row(self, y):
        return self.address + y * self.pitch

    def column(self, x):
        """Offset of column ``x`` in its row."""
        width, channels = self.shape[1:]
        return ((x % 2 * (width // 2) + x // 2) if self.halves else x) * channels


# Dense

def dense_groups(core, layer):
    """Groups of a dense layer: pairs (first input, group). More rows than one group takes are cut, for sums of 32 bits."""
    rows, cols = layer.weights.shape
    if core.fits(rows, cols, layer.bias is not None):
        return [(0, core.group(layer.weights, layer.bias, layer.shift, layer.name))]
    tiles = -(-cols // core.params["xb_cols"])
    step = min(1024, 16 // tiles * core.params["xb_rows"]) if tiles <= 16 else 0
    if not step:
        raise KernelError(f"{layer.name}: {cols} outputs take {tiles} arrays side by side, expected at most 16")
    found = []
    for k in range(0, rows, step):
        # Rounding stands in the first bias: the shift comes after the sum.
        bias = None
        if k == 0:
            bias = np.zeros(cols, np.int64) if layer.bias is None else layer.bias.astype(np.int64)
            bias = (bias + (1 << layer.shift >> 1)).astype(np.int32)
            bias = bias if bias.any() else None
        found.append((k, core.group(layer.weights[k:k + step], bias, 0, layer.name)))
    return found


def prepare_dense(core, layer, groups):
    """Local memory that a cut layer needs: ``(sums, part, counts)``."""
    if len(groups) == 1:
        return None
    cols = layer.weights.shape[1]
    if core.params["max_biw"] < 32:
        raise KernelError(f"{layer.name}: {layer.weights.shape[0]} inputs take sums of 32 bits, this build has "
                          f"{core.params['max_biw']} (max_biw)")
    sums, part, counts = (core.allocate(4 * cols, layer.name) for _ in range(3))
    # Element by element the number of places to shift.
    core.fill(counts, 0, 4 * cols)
    for k in range(cols if layer.shift else 0):
        core.fill(counts + 4 * k, layer.shift, 1)
    return sums, part, counts


def emit_dense(core, layer, groups, scratch, target, source):
    """One input vector at ``source``, results at ``target``."""
    if len(groups) == 1:
        core.widths(8, layer.bits)
        core.mvmul(target, source, groups[0][1], layer.relu)
        return
    sums, part, counts = scratch
    cols = layer.weights.shape[1]
    for n, (first, group) in enumerate(groups):
        core.widths(8, 32)
        core.mvmul(part if n else sums, source + first, group)
        if n:
            core.widths(32, 32)
            core.vector2("vvadd", sums, sums, part, cols, size=4)
    core.widths(32, layer.bits)
    if layer.relu:
        core.vector1("vrelu", sums, sums, cols, size=4)
    core.vector2("vvsra", target, sums, counts, cols, size=4, out=(layer.bits + 7) // 8)


class _Dense:
    def __init__(self, core, layer, source, target):
        self.core, self.layer, self.source, self.target = core, layer, source, target
        self.groups = dense_groups(core, layer)
        self.scratch = prepare_dense(core, layer, self.groups)

    def emit(self, image):
        emit_dense(self.core, self.layer, self.groups, self.scratch, self.target.address + image * self.target.pitch,
                   self.source.address + image * self.source.pitch if len(self.source.shape) == 1 else self.source.address)


# Convolution

#: Cycles that an instruction is reckoned with, where two ways are compared: code comes from a memory that all cores share.
_FETCH = 2


def row_matrix(layer, width, halves):
    """The matrix that makes a whole row of results of ``kh`` padded rows: (kh * padded width * channels, columns * outputs)."""
    kh, kw, channels, out = layer.weights.shape
    padded = width + kw - 1
    matrix = np.zeros((kh, padded, channels, width, out), np.int8)
    for x in range(width):
        at = (x % 2 * (width // 2) + x // 2) if halves else x
        matrix[:, x:x + kw, :, at] = layer.weights
    return matrix.reshape(kh * padded * channels, width * out)


class _ConvRows:
    """A row of results with one multiplication: the matrix repeats the kernel for every column."""
    @staticmethod
    def cycles(core, layer, shape):
        """Of the whole layer, or ``None`` where it does not fit."""
        h, w, out = shape
        kh, kw, channels, _ = layer.weights.shape
        rows = kh * (w + kw - 1) * channels
        if not core.fits(rows, w * out, layer.bias is not None):
            return None
        return h * (rows * -(-w * out // core.params["lanes"]) + 4 + 2 * _FETCH)

    def __init__(self, core, layer, source, target):
        self.core, self.layer, self.source, self.target = core, layer, source, target
        h, w, out = target.shape
        bias = None if layer.bias is None else np.tile(layer.bias, w)
        self.group = core.group(row_matrix(layer, w, target.halves), bias, layer.shift, layer.name)

    def emit(self, image):
        self.core.widths(8, self.layer.bits)
        for y in range(self.target.shape[0]):
            self.core.mvmul(self.target.row(y), self.source.row(y), self.group, self.layer.relu)


class _ConvPatches:
    """One multiplication a position; its neighbourhood is gathered row by row, into two buffers in turn."""
    @staticmethod
    def cycles(core, layer, shape):
        h, w, out = shape
        kh, kw, channels, _ = layer.weights.shape
        if not core.fits(kh * kw * channels, out, layer.bias is not None):
            return None
        matrix = kh * kw * channels * -(-out // core.params["lanes"]) + 4
        moves = kh * (-(-kw * channels // 8) + 4) if kh > 1 else 0
        return h * w * (max(matrix, moves) + ((kh if kh > 1 else 0) + 2) * _FETCH)

    def __init__(self, core, layer, source, target):
        self.core, self.layer, self.source, self.target = core, layer, source, target
        kh, kw, channels, out = layer.weights.shape
        self.group = core.group(layer.weights.reshape(-1, out), layer.bias, layer.shift, layer.name)
        self.patches = [core.allocate(kh * kw * channels, layer.name) for _ in range(2)] if kh > 1 else []
        # A register for each row of a buffer: the offset then reaches the source.
        for patch in self.patches:
            for r in range(kh):
                core.pin(patch + r * kw * channels)

    def emit(self, image):
        core, layer = self.core, self.layer
        h, w, out = self.target.shape
        kh, kw, channels, _ = layer.weights.shape
        core.widths(8, layer.bits)
        for y in range(h):
            for x in range(w):
                source = self.source.row(y) + x * channels
                if self.patches:
                    patch = self.patches[(y * w + x) % 2]
                    for r in range(kh):
                        core.move(patch + r * kw * channels, source + r * self.source.pitch, kw * channels)
                    source = patch
                core.mvmul(self.target.row(y) + self.target.column(x), source, self.group, layer.relu)


class _Pool:
    """The larger of two rows, then of the even and the odd columns, which lie apart."""
    def __init__(self, core, layer, source, target):
        self.core, self.source, self.target = core, source, target
        self.rows = core.allocate(source.pitch, layer.name)

    def emit(self, image):
        core, size, half = self.core, self.source.pitch, self.source.pitch // 2
        core.widths(8, 8)
        for y in range(self.target.shape[0]):
            core.vector2("vvmax", self.rows, self.source.row(2 * y), self.source.row(2 * y + 1), size)
            core.vector2("vvmax", self.target.row(y), self.rows, self.rows + half, half)


def _place(core, shape, layer, following):
    """Where the values of ``shape`` in front of ``following`` lie."""
    size = int(np.prod(shape))
    if isinstance(following, Conv) and following.padding:
        h, w, c = shape
        p = following.padding
        pitch = (w + 2 * p) * c
        address = core.allocate(pitch * (h + 2 * p), following.name)
        # The border is zero from the start of the run on.
        return Place(address + p * pitch + p * c, shape, pitch)
    halves = isinstance(following, Pool)
    if halves and not isinstance(layer, Conv):
        raise KernelError(f"{following.name}: pooling needs a convolution in front of it")
    return Place(core.allocate(size, layer.name if layer is not None else "the input"), shape, None, halves)


def _origin(place, layer):
    """The padded map around ``place``, for a convolution."""
    p, channels = layer.padding, place.shape[2]
    return Place(place.address - p * place.pitch - p * channels, place.shape, place.pitch)


def lower(core, network, source, output):
    """The steps of a network on one core: objects with ``emit(image)``.

    ``source``, ``output`` : :class:`Place` of input and results; for vectors their pitch is from image to image.
    """
    steps, place = [], source
    for n, layer in enumerate(network.layers):
        following = network.layers[n + 1] if n + 1 < len(network.layers) else None
        shape = network.shapes[n + 1]
        if following is None:
            target = output
        elif len(shape) == 1:
            target = Place(core.allocate(shape[0], layer.name), shape, 0)
        else:
            target = _place(core, shape, layer, following)
        if isinstance(layer, Dense):
            steps.append(_Dense(core, layer, place, target))
        elif isinstance(layer, Pool):
            steps.append(_Pool(core, layer, place, target))
        else:
            costs = [(cost, kind) for kind in (_ConvRows, _ConvPatches)
                     if (cost := kind.cycles(core, layer, shape)) is not None]
            if not costs:
                raise KernelError(f"{layer.name}: its weights do not fit what is left of the core "
                                  f"({core.params['arrays'] - core.arrays} arrays, {core.params['bias_words'] - core.biases} biases)")
            kind = min(costs, key=lambda pair: pair[0])[1]
            steps.append(kind(core, layer, _origin(place, layer), target))
        place = target
    return steps
