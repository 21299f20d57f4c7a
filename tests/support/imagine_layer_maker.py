# SPDX-License-Identifier: BSD-2-Clause
"""Layers, LSTM cells and builds for IMAGine of all sizes, numbers of the whole range, most of them
legal."""

import numpy as np

from quintet.gateware.cores.imagine.params import SPACE
from quintet.tools.kernels.imagine import Layer, LSTMCell

__all__ = ["cell_of", "layer_of", "params_of", "vectors_of"]

LENGTHS = (1, 2, 15, 16, 17, 31, 32, 33, 48, 50, 70)


def params_of(chance):
    """A build; registers from two to 64."""
    return SPACE.resolve(
        "sim",
        {
            "rows": chance.choice((1, 2, 3, 4, 5, 8)),
            "cols": chance.choice((1, 1, 2, 3, 4, 5)),
            "reg_width": chance.choice((4, 8, 16, 16)),
            "depth": chance.choice((64, 128, 256, 512, 1024)),
        },
    )


def _numbers(chance, width, *shape):
    """Integers of the whole range, of a small one, or the extremes alone."""
    half, rng = 1 << width - 1, np.random.default_rng(chance.randrange(1 << 32))
    kind = chance.random()
    if kind < 0.2:
        return rng.choice([-half, half - 1, 0], shape)
    most = half if kind < 0.6 else max(1, half >> chance.randint(1, width - 2))
    return rng.integers(-most, most, shape)


def _common(chance, width, name):
    return {"fraction": chance.randint(0, width), "width": width, "name": name}


def layer_of(chance, width, name="layer", fraction=None):
    """A :class:`Layer` of one to three inputs."""
    height, lengths = (
        chance.randint(1, 20),
        [chance.choice(LENGTHS) for _ in range(chance.choice((1, 1, 2, 3)))],
    )
    weights = [_numbers(chance, width, height, n) for n in lengths]
    options = _common(chance, width, name)
    if fraction is not None:
        options["fraction"] = fraction
    return Layer(
        weights[0] if len(weights) == 1 and chance.random() < 0.5 else weights,
        _numbers(chance, width, height) if chance.random() < 0.6 else None,
        **options,
    )


def cell_of(chance, width):
    """An :class:`LSTMCell` and its number of inputs."""
    hidden, inputs = chance.randint(1, 5), chance.choice(LENGTHS[:6])
    return LSTMCell(
        _numbers(chance, width, 4 * hidden, inputs),
        _numbers(chance, width, 4 * hidden, hidden),
        _numbers(chance, width, 4 * hidden) if chance.random() < 0.7 else None,
        **_common(chance, width, chance.choice(("lstm", "layer"))),
    ), inputs


def vectors_of(chance, layer):
    """Input vectors for ``layer``: arrays, lists or whole floats."""
    return tuple(
        chance.choice((np.asarray, np.ndarray.tolist, np.float64))(_numbers(chance, layer.width, n))
        for n in layer.lengths
    )
