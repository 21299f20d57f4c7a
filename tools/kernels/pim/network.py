# SPDX-License-Identifier: BSD-2-Clause
"""Networks for PIM: layers of whole numbers, from the input to the output."""
from dataclasses import dataclass, field

import numpy as np

from .errors import KernelError

__all__ = ["Conv", "Dense", "Network", "Pool"]


@dataclass
class Dense:
    """y = sat(relu?(round((x @ weights + bias) / 2^shift))). ``weights`` int8 (inputs, outputs), ``bias`` int32 (outputs,)."""
    name: str
    weights: np.ndarray
    bias: np.ndarray | None = None
    shift: int = 0
    relu: bool = False
    bits: int = 8

    def shape(self, given):
        size = int(np.prod(given))
        if self.weights.ndim != 2 or self.weights.shape[0] != size:
            raise KernelError(f"{self.name}: weights are {self.weights.shape}, expected ({size}, outputs)")
        return (self.weights.shape[1],)

    @property
    def outputs(self):
        return self.weights.shape[-1]


@dataclass
class Conv:
    """The same over every neighbourhood, stride 1. ``weights`` int8 (kh, kw, channels in, channels out); ``padding`` zeros
    on every side."""
    name: str
    weights: np.ndarray
    bias: np.ndarray | None = None
    shift: int = 0
    relu: bool = False
    padding: int = 0
    bits: int = 8

    def shape(self, given):
        if len(given) != 3:
            raise KernelError(f"{self.name}: a convolution needs rows, columns and channels, not {given}")
        if self.weights.ndim != 4 or self.weights.shape[2] != given[2]:
            raise KernelError(f"{self.name}: weights are {self.weights.shape}, expected (rows, columns, {given[2]}, outputs)")
        kh, kw, _, out = self.weights.shape
        h, w = given[0] + 2 * self.padding - kh + 1, given[1] + 2 * self.padding - kw + 1
        if h < 1 or w < 1:
            raise KernelError(f"{self.name}: a window of {kh} x {kw} does not fit {given[0]} x {given[1]}")
        return h, w, out

    @property
    def outputs(self):
        return self.weights.shape[-1]


@dataclass
class Pool:
    """The largest of each 2x2 square."""
    name: str
    padding: int = field(default=0, init=False)

    def shape(self, given):
        if len(given) != 3 or given[0] % 2 or given[1] % 2:
            raise KernelError(f"{self.name}: pooling needs an even number of rows and columns, not {given}")
        return given[0] // 2, given[1] // 2, given[2]


class Network:
    """Layers behind an input of int8.

    Parameters
    ----------
    shape : (features,) or (rows, columns, channels)
    layers : list of Dense, Conv, Pool

    Raises
    ------
    KernelError
        Shapes that do not fit, weights that are no int8, a shift that is not 0 to 47, results of other than 8, 16 or 32 bits,
        and more than 8 bits in front of another layer.
    """
    def __init__(self, shape, layers):
        self.shapes, self.layers = [tuple(shape)], list(layers)
        if not layers:
            raise KernelError("a network needs a layer")
        for layer in self.layers:
            if not isinstance(layer, Pool):
                self._check(layer, layer is self.layers[-1])
            self.shapes.append(layer.shape(self.shapes[-1]))

    @staticmethod
    def _check(layer, last):
        if layer.weights.dtype != np.int8:
            raise KernelError(f"{layer.name}: weights are {layer.weights.dtype}, expected int8")
        if layer.bias is not None and (layer.bias.shape != (layer.outputs,) or layer.bias.dtype != np.int32):
            raise KernelError(f"{layer.name}: bias is {layer.bias.dtype} {layer.bias.shape}, expected int32 ({layer.outputs},)")
        if not 0 <= layer.shift <= 47:
            raise KernelError(f"{layer.name}: shift is {layer.shift}, expected 0 to 47")
        if layer.bits not in ((8, 16, 32) if last else (8,)):
            raise KernelError(f"{layer.name}: results of {layer.bits} bits, expected "
                              f"{'8, 16 or 32' if last else '8 in front of another layer'}")

    @property
    def bits(self):
        """Bits of the results."""
        return getattr(self.layers[-1], "bits", 8)

    @property
    def macs(self):
        """MACs of one input."""
        total = 0
        for layer, shape in zip(self.layers, self.shapes[1:], strict=True):
            if isinstance(layer, Dense):
                total += layer.weights.size
            elif isinstance(layer, Conv):
                total += layer.weights.size * shape[0] * shape[1]
        return total
