# SPDX-License-Identifier: BSD-2-Clause
"""Bit-exact numpy reference of networks: the results that a program must give on every target.

Independent of the golden model and of tiling. Taps follow one another as in the programs: the
source's channel blocks one after the other, in each the taps in blocks and there row by row, the
residual's last; partial sums are rounded and saturated at every tap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .....gateware.cores.opu.types import TypeSet
    from .layers import Layer, Network, Tensor

__all__ = ["products_of_taps", "run_layer", "run_network", "runs_of_channels", "surrounded"]

_FAR = 34  # bits that no partial sum needs
_CHUNK = 1 << 17  # partial sums that are worked on at a time


def _clamp(values, bits):
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def _scaled(sums, places):
    """Rounds ``sums * 2^places`` to the nearest integer, ties up; numbers far outside of every type
    may stay smaller than they are."""
    if places >= 0:
        places = min(places, _FAR)
        most = (1 << _FAR >> places) + 1
        return np.clip(sums, -most, most) << places
    if places < -60:
        return np.zeros_like(sums)
    return (sums >> -places) + ((sums >> (-places - 1)) & 1)


def _first(sums, bias, f, b):
    """Adds bias and product, ``bias * 2^b + sums * 2^f``, in exact integers and rounds once."""
    low = min(f, b, 0)
    if max(f, b) - low < 20 and low > -40:  # 64 bits hold it
        exact = (sums << f - low) + (bias << b - low)
        return (exact + (1 << -low - 1)) >> -low if low else exact
    exact = sums.astype(object) * (1 << f - low) + bias.astype(object) * (1 << b - low)
    if low:
        exact = (exact + (1 << -low - 1)) // (1 << -low)
    limit = 1 << 40
    return np.clip(exact, -limit, limit).astype(np.int64)


def _act(values, act):
    if act == 1:
        return np.maximum(values, 0)
    return np.where(values >= 0, values, (values + 4) >> 3) if act == 2 else values


def _pool(values, window):
    high, wide, down, right = window
    rows, columns = (values.shape[1] - high) // down + 1, (values.shape[2] - wide) // right + 1
    found = None
    for a in range(high):
        for c in range(wide):
            part = values[
                :, a : a + (rows - 1) * down + 1 : down, c : c + (columns - 1) * right + 1 : right
            ]
            found = part.copy() if found is None else np.maximum(found, part, out=found)
    return found


def runs_of_channels(layer: Layer) -> list[tuple[int, int, int]]:
    """Ranges of output channels with the same taps and shifts: (first, last, block); ``block`` is
    the index of one of their channel blocks."""
    runs: list[tuple[Any, list[int]]] = []
    single = _each_by_itself(layer)
    for block in range(layer.result.channel_blocks):
        first, last = layer.result.span(block)
        key = layer.f[block], layer.b[block], block if layer.groups > 1 and not single else None
        if runs and runs[-1][0] == key:
            runs[-1][1][1] = last
        else:
            runs.append((key, [first, last, block]))
    return [(first, last, block) for _, (first, last, block) in runs]


def _each_by_itself(layer):
    """Whether every result is of one source channel, so that blocks of channels do not matter. They
    do if those of the source are smaller: the bias is then rounded with the products of the first
    one that a block of the result reads, which are zero for other channels."""
    depthwise = layer.source.channels == layer.groups > 1
    return layer.weights is None or (depthwise and layer.source.each >= layer.result.each)


def products_of_taps(
    layer: Layer, padded: np.ndarray, weights: np.ndarray | None, first: int, last: int, block: int
) -> Iterator[np.ndarray]:
    """Products tap by tap, in the core's accumulation order, for output channels ``first`` to
    ``last`` of :func:`runs_of_channels`.

    Parameters
    ----------
    layer : Layer
    padded : floating point [images, rows, columns, channels], the source with its zeros around
    weights : floating point, of the layer's; ``None`` for an average
    """
    down, across = layer.stride
    out = layer.result.channels // layer.groups

    def windows():
        for r, c in layer.positions:
            y, x = r * layer.dilation[0], c * layer.dilation[1]
            yield (
                r,
                c,
                padded[
                    :,
                    y : y + (layer.rows - 1) * down + 1 : down,
                    x : x + (layer.columns - 1) * across + 1 : across,
                ],
            )

    if _each_by_itself(layer):
        channels = np.arange(first, last) // out
        for r, c, window in windows():
            some = window[..., first:last] if out == 1 else window[..., channels]
            yield some * (layer.identity if weights is None else weights[first:last, 0, r, c])
        return
    for part in layer.reads(block):
        low, high = layer.source.span(part)
        for r, c, window in windows():
            if layer.groups == 1 and weights is not None:
                matrix = weights[first:last, low:high, r, c]
            else:
                matrix = layer.block(block, part, r, c, weights)
            yield window[..., low:high] @ matrix.T


def _sums(layer, types, padded, residual):
    """Final partial sums of a layer, int64.

    In floating point, which is quicker and exact: dot products are whole numbers of less than its
    bits, and what is too large for it saturates.
    """
    exact = np.float32 if types.dot_bits <= 24 and types.ofm <= 16 else np.float64
    padded = padded.astype(exact)
    weights = None if layer.weights is None else layer.weights.astype(exact)
    found = np.empty((len(padded), layer.rows, layer.columns, layer.result.channels), np.int64)
    low, high = -(1 << types.ofm - 1), (1 << types.ofm - 1) - 1
    for first, last, block in runs_of_channels(layer):
        sums, f, b = 0, layer.f[block], layer.b[block]
        for index, products in enumerate(
            products_of_taps(layer, padded, weights, first, last, block)
        ):
            if index or layer.bias is None:
                products *= exact(2.0 ** min(f, _FAR))
                if f < 0:
                    products += exact(0.5)
                    np.floor(products, out=products)
                products += sums
            else:
                products = _first(products.astype(np.int64), layer.bias[first:last], f, b)
            sums = np.clip(products, low, high, out=products).astype(exact, copy=False)
        found[..., first:last] = sums
    if layer.by_tap:
        found = _clamp(found + _scaled(residual, layer.residual_f), types.ofm)
    return found


def run_layer(
    layer: Layer,
    types: TypeSet,
    source: np.ndarray,
    residual: np.ndarray | None = None,
    second: np.ndarray | None = None,
    before: np.ndarray | None = None,
) -> np.ndarray:
    """Computes the integer results of one layer.

    Parameters
    ----------
    layer : Layer
    types : TypeSet
    source, residual, second : int64 [images, height, width, channels]
    before : int64, the result as earlier layers left it, of an interleaved map that several layers
        make

    Returns
    -------
    int64 [images, height, width, channels]
    """
    if layer.phases is not None:
        return _interleaved(layer, source, before)
    if layer.turned:
        return source.swapaxes(-1, -2 if layer.batched else -3)
    if layer.second is not None:
        return _product(layer, types, source, second)
    step = max(1, _CHUNK // (layer.rows * layer.columns * layer.result.channels))
    return np.concatenate(
        [
            _run(
                layer,
                types,
                source[at : at + step],
                None if residual is None else residual[at : at + step],
            )
            for at in range(0, len(source), step)
        ]
    )


def surrounded(layer: Layer, source: np.ndarray) -> np.ndarray:
    """``source`` [images, rows, columns, channels] with the zeros around it that a layer reads,
    without the rows and columns that it leaves out."""
    top, bottom, left, right = layer.padding
    rows, columns = source.shape[1:3]
    inner = source[:, max(-top, 0) : rows - max(-bottom, 0)]
    inner = inner[:, :, max(-left, 0) : columns - max(-right, 0)]
    top, bottom, left, right = (max(side, 0) for side in layer.padding)
    return np.pad(inner, ((0, 0), (top, bottom), (left, right), (0, 0)))


def _run(layer, types, source, residual):
    sums = _sums(layer, types, surrounded(layer, source), residual)
    values = _clamp(_scaled(sums, -types.store_shift), types.ifm)

    def added(x):
        return _clamp(x + residual, types.ifm) if layer.adds else x

    if layer.order == 0:
        return _pool(added(_act(values, layer.act)), layer.pool)
    if layer.order == 1:
        return _pool(_act(added(values), layer.act), layer.pool)
    return added(_pool(_act(values, layer.act), layer.pool))


def _product(layer, types, source, second):
    """Product of the positions of ``source`` and ``second``, accumulated one channel block at a
    time."""
    if not layer.batched:
        source, second = source.swapaxes(1, 2), second.swapaxes(1, 2)
    found = np.empty((*source.shape[:3], second.shape[2]), np.int64)
    for block in range(layer.result.channel_blocks):
        low, high = layer.result.span(block)
        sums = 0
        for part in range(layer.source.channel_blocks):
            each = slice(*layer.source.span(part))
            products = np.rint(
                source[..., each].astype(float)
                @ second[..., low:high, each].swapaxes(-1, -2).astype(float)
            ).astype(np.int64)
            sums = _clamp(sums + _scaled(products, layer.f[block]), types.ofm)
        found[..., low:high] = _clamp(_scaled(sums, -types.store_shift), types.ifm)
    return found if layer.batched else found.swapaxes(1, 2)


def _interleaved(layer, source, before):
    """An interleaved map with the phases of one layer, and those of ``before``."""
    (down, across), places = layer.phases
    shape = len(source), *layer.result.shape
    found = np.zeros(shape, np.int64) if before is None else before.copy()
    for row, column, first in places:
        found[:, row::down, column::across] = source[..., first : first + shape[3]]
    return found


def run_network(
    network: Network, inputs: Mapping[str, np.ndarray], wanted: Collection[Tensor] = ()
) -> dict[Tensor, np.ndarray]:
    """Computes the outputs of a network and the tensors ``wanted``.

    Parameters
    ----------
    inputs : dict, name of every input -> integers [images, height, width, channels]

    Returns
    -------
    dict, Tensor -> int64 [images, height, width, channels]
    """
    values = {tensor: np.asarray(inputs[tensor.name], np.int64) for tensor in network.inputs}
    kept = {*network.results(), *wanted}
    last = {t: index for index, layer in enumerate(network.layers) for t in layer.operands}
    for index, layer in enumerate(network.layers):
        values[layer.result] = run_layer(
            layer,
            network.set,
            values[layer.source],
            None if layer.residual is None else values[layer.residual],
            None if layer.second is None else values[layer.second],
            values.get(layer.result),
        )
        for tensor in {*layer.operands} - kept:
            if last[tensor] == index:
                del values[tensor]
    return {tensor: found for tensor, found in values.items() if tensor in kept}
