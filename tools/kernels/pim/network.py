# SPDX-License-Identifier: BSD-2-Clause
"""Integer networks for PIM: dense, convolution and pooling layers in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..inputs import KernelError, check_whole, is_whole

__all__ = ["Conv", "Dense", "Network", "Pool"]


@dataclass
class Dense:
    """Dense layer y = sat(relu?(round((x @ weights + bias) / 2^shift))). ``weights`` int8 (inputs,
    outputs), ``bias`` int32 (outputs,)."""

    name: str
    weights: np.ndarray
    bias: np.ndarray | None = None
    shift: int = 0
    relu: bool = False
    bits: int = 8

    def shape(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the result for a source of shape ``given``."""
        size = int(np.prod(given))
        if self.weights.ndim != 2 or self.weights.shape[0] != size:
            raise KernelError(
                f"{self.name}: weights are {self.weights.shape}, expected ({size}, outputs)"
            )
        return (self.weights.shape[1],)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.weights.shape[-1]


@dataclass
class Conv:
    """Convolution with the arithmetic of :class:`Dense`. ``weights`` int8 (kh, kw, channels in,
    channels out).

    ``padding`` : zeros around the map: a number for every side, or (top, left, bottom, right)
    ``stride`` : places from one neighbourhood to the next: a number, or (rows, columns)
    ``dilation`` : places from one weight of the kernel to the next: a number, or (rows, columns)
    """

    name: str
    weights: np.ndarray
    bias: np.ndarray | None = None
    shift: int = 0
    relu: bool = False
    padding: int | tuple[int, ...] = 0
    bits: int = 8
    stride: int | tuple[int, int] = 1
    dilation: int | tuple[int, int] = 1

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Padding (top, left, bottom, right)."""
        return _each(self.padding, 4)

    @property
    def strides(self) -> tuple[int, int]:
        """Stride (rows, columns)."""
        return _each(self.stride, 2)

    @property
    def dilations(self) -> tuple[int, int]:
        """Dilation (rows, columns)."""
        return _each(self.dilation, 2)

    @property
    def span(self) -> tuple[int, int]:
        """Effective kernel size (rows, columns)."""
        return tuple(
            (k - 1) * d + 1 for k, d in zip(self.weights.shape, self.dilations, strict=False)
        )

    def padded(self, given: tuple[int, ...]) -> tuple[int, int]:
        """Size (rows, columns) of the map ``given`` with its padding."""
        top, left, bottom, right = self.pads
        return given[0] + top + bottom, given[1] + left + right

    def shape(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the result for a source of shape ``given``."""
        if len(given) != 3:
            raise KernelError(
                f"{self.name}: a convolution needs rows, columns and channels, not {given}"
            )
        if self.weights.ndim != 4 or self.weights.shape[2] != given[2]:
            raise KernelError(
                f"{self.name}: weights are {self.weights.shape}, expected (rows, columns, "
                f"{given[2]}, outputs)"
            )
        rows, columns = (
            (have - span) // stride + 1
            for have, span, stride in zip(self.padded(given), self.span, self.strides, strict=True)
        )
        if rows < 1 or columns < 1:
            raise KernelError(
                f"{self.name}: a window of {self.span[0]} x {self.span[1]} does not fit "
                f"{given[0]} x {given[1]}"
            )
        return rows, columns, self.outputs

    @property
    def outputs(self) -> int:
        """Number of output channels."""
        return self.weights.shape[-1]


def _each(value, count):
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


@dataclass
class Pool:
    """2x2 max pooling with stride 2."""

    name: str

    def shape(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the result for a source of shape ``given``."""
        if len(given) != 3 or given[0] % 2 or given[1] % 2:
            raise KernelError(
                f"{self.name}: pooling needs an even number of rows and columns, not {given}"
            )
        return given[0] // 2, given[1] // 2, given[2]


class Network:
    """A sequence of layers on an int8 input.

    Parameters
    ----------
    shape : (features,) or (rows, columns, channels)
    layers : list of Dense, Conv, Pool

    The network keeps copies: what changes in a layer or its arrays later does not reach it.

    Raises
    ------
    KernelError
        Shapes that do not fit, weights that are no int8, a shift that is not 0 to 47, results of
        other than 8, 16 or 32 bits, and more than 8 bits in front of another layer.
    """

    def __init__(self, shape: Sequence[int], layers: Sequence[Dense | Conv | Pool]):
        if (
            not isinstance(shape, tuple | list)
            or len(shape) not in (1, 3)
            or not all(is_whole(n, 1) for n in shape)
        ):
            raise KernelError(
                f"the shape of the input is {shape}, expected (features,) or (rows, columns, "
                f"channels)"
            )
        if not isinstance(layers, tuple | list) or not layers:
            raise KernelError("a network needs a layer")
        self.shapes, self.layers = [tuple(map(int, shape))], []
        for number, layer in enumerate(layers):
            if not isinstance(layer, Dense | Conv | Pool):
                raise KernelError(
                    f"layer {number} must be Dense, Conv or Pool, not "
                    f"{layer if isinstance(layer, type) else type(layer)}"
                )
            if not isinstance(layer, Pool):
                layer = self._checked(layer, number + 1 == len(layers))
            self.layers.append(layer)
            self.shapes.append(layer.shape(self.shapes[-1]))

    @classmethod
    def _checked(cls, layer, last):
        name = layer.name
        for what, array, kind in (
            ("weights", layer.weights, np.int8),
            ("bias", layer.bias, np.int32),
        ):
            if not isinstance(array, np.ndarray) and (array is not None or what == "weights"):
                raise KernelError(
                    f"{name}: {what} must be a numpy array of {kind.__name__}, not "
                    f"{type(array).__name__}"
                )
        if layer.weights.dtype != np.int8:
            raise KernelError(f"{name}: weights are {layer.weights.dtype}, expected int8")
        if not layer.weights.ndim or not layer.weights.size:
            raise KernelError(f"{name}: weights are {layer.weights.shape}, there are none")
        if layer.bias is not None and (
            layer.bias.shape != (layer.outputs,) or layer.bias.dtype != np.int32
        ):
            raise KernelError(
                f"{name}: bias is {layer.bias.dtype} {layer.bias.shape}, expected int32 "
                f"({layer.outputs},)"
            )
        shift = check_whole(f"{name}: shift", layer.shift, 0, 47)
        if layer.relu not in (False, True):
            raise KernelError(f"{name}: relu is {layer.relu}, expected True or False")
        if layer.bits not in ((8, 16, 32) if last else (8,)):
            raise KernelError(
                f"{name}: results of {layer.bits} bits, expected "
                f"{'8, 16 or 32' if last else '8 in front of another layer'}"
            )
        more = cls._window(layer) if isinstance(layer, Conv) else {}
        return replace(
            layer,
            weights=layer.weights.copy(),
            bias=None if layer.bias is None else layer.bias.copy(),
            shift=shift,
            relu=bool(layer.relu),
            bits=int(layer.bits),
            **more,
        )

    @staticmethod
    def _window(layer):
        """The padding, stride and dilation of a convolution, side by side."""
        found = {}
        for what, names, least in (
            ("padding", ("top", "left", "bottom", "right"), 0),
            ("stride", ("rows", "columns"), 1),
            ("dilation", ("rows", "columns"), 1),
        ):
            values = _each(getattr(layer, what), len(names))
            if len(values) != len(names) or not all(is_whole(n, least) for n in values):
                raise KernelError(
                    f"{layer.name}: {what} is {getattr(layer, what)}, expected a whole number "
                    f"from {least} on or "
                    f"({', '.join(names)})"
                )
            found[what] = tuple(map(int, values))
        return found

    @property
    def bits(self) -> int:
        """Bits per result."""
        return getattr(self.layers[-1], "bits", 8)

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of an input and of its results."""
        return int(np.prod(self.shapes[0])), int(np.prod(self.shapes[-1])) * self.bits // 8

    @property
    def macs(self) -> int:
        """Multiply-accumulates for one input."""
        total = 0
        for layer, shape in zip(self.layers, self.shapes[1:], strict=True):
            if isinstance(layer, Dense):
                total += layer.weights.size
            elif isinstance(layer, Conv):
                total += layer.weights.size * shape[0] * shape[1]
        return total
