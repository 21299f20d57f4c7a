# SPDX-License-Identifier: BSD-2-Clause
"""Networks in plain numpy: what a program of this library must give, on every target, bit by bit.

Independent of the golden model and of tiling. Taps follow one another as in the programs: maps of 64 input channels one after the
other, in each the taps in blocks of 16 x 16 and there row by row, the residual's last; partial sums are rounded and saturated at
every tap.
"""
import numpy as np

from ....gateware.cores.opu.types import SLOT
from .graph import check_inputs

__all__ = ["run_layer", "run_network"]

_FAR = 34           # bits that no partial sum needs


def _clamp(values, bits):
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def _scaled(sums, places):
    """``sums * 2^places`` to the nearest, ties up; far outside of every type it may stay smaller than it is."""
    if places >= 0:
        places = min(places, _FAR)
        most = (1 << _FAR >> places) + 1
        return np.clip(sums, -most, most) << places
    if places < -60:
        return np.zeros_like(sums)
    return (sums >> -places) + ((sums >> (-places - 1)) & 1)


def _first(sums, bias, f, b):
    """``bias * 2^b + sums * 2^f`` in exact integers, rounded once."""
    low = min(f, b, 0)
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
    parts = [values[:, a:a + (rows - 1) * down + 1:down, c:c + (columns - 1) * right + 1:right]
             for a in range(high) for c in range(wide)]
    return np.max(parts, axis=0)


def run_layer(layer, types, source, residual=None):
    """One layer.

    Parameters
    ----------
    layer : Layer
    types : TypeSet
    source, residual : int64 [images, height, width, channels]

    Returns
    -------
    int64 [images, height, width, channels]
    """
    top, bottom, left, right = layer.padding
    padded = np.pad(source, ((0, 0), (top, bottom), (left, right), (0, 0)))
    down, across = layer.stride
    sums, channels = None, padded.shape[3]
    for at in range(0, channels, SLOT):
        for r, c in layer.positions:
            window = padded[:, r:r + (layer.rows - 1) * down + 1:down, c:c + (layer.columns - 1) * across + 1:across]
            if layer.weights is None:
                products = window * layer.identity
            else:
                products = window[..., at:at + SLOT] @ layer.weights[:, at:at + SLOT, r, c].T
            if sums is not None:
                sums = sums + _scaled(products, layer.f)
            elif layer.bias is None:
                sums = _scaled(products, layer.f)
            else:
                sums = _first(products, layer.bias, layer.f, layer.b)
            sums = _clamp(sums, types.ofm)
        if layer.weights is None:
            break
    if layer.by_tap:
        sums = _clamp(sums + _scaled(residual, layer.residual_f), types.ofm)
    values = _clamp(_scaled(sums, -types.store_shift), types.ifm)

    def added(x):
        return _clamp(x + residual, types.ifm) if layer.adds else x

    if layer.order == 0:
        return _pool(added(_act(values, layer.act)), layer.pool)
    if layer.order == 1:
        return _pool(_act(added(values), layer.act), layer.pool)
    return added(_pool(_act(values, layer.act), layer.pool))


def run_network(network, inputs):
    """The whole network.

    Parameters
    ----------
    network : Network
    inputs : dict, name of every input -> integers [images, height, width, channels] (or without the first axis for one image)

    Returns
    -------
    dict, name of every tensor -> int64 [images, height, width, channels]

    Raises
    ------
    KernelError
        Inputs that a program of the network cannot be given: unknown or missing, another shape, no integers, out of range.
    """
    values = check_inputs(inputs, network.inputs, network.batch, network.set.ifm)
    for layer in network.layers:
        residual = values[layer.residual.name] if layer.residual is not None else None
        values[layer.result.name] = run_layer(layer, network.set, values[layer.source.name], residual)
    return values
