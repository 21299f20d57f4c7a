# SPDX-License-Identifier: BSD-2-Clause
"""Network builder for the OPU: fixed-point tensors and the layers between them.

A number x of a tensor with fraction length p stands for x * 2^-p. Weights, biases and tensors are
integers of the type set's types; the library computes the shifts of section 7.4 of the
specification from the fraction lengths.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ......gateware.cores.opu.types import SLOT, type_set
from ....common.inputs import KernelError, check_name, check_names, integers
from .interleaved import Interleaving
from .layers import BLOCK, NARROW, Layer, Tensor
from .products import Products

__all__ = ["ACTIVATIONS", "Network", "check_inputs", "check_values"]

#: Name of an activation -> its number in ``@post``.
ACTIVATIONS = {None: 0, "relu": 1, "leaky": 2}
_MOST_SIDE = 1023  # of a map in memory, borders included
_MOST_BORDER = 15


def check_inputs(
    values: Any, tensors: Sequence[Tensor], images: int, bits: int
) -> dict[str, np.ndarray]:
    """Checks input ``values`` by name and converts them to int64 [images, height, width, channels]
    for every one of ``tensors``; the first axis may be left out for one image. Raises
    :class:`KernelError`."""
    check_names(values, {t.name: f"integers {[images, *t.shape]}" for t in tensors})
    return {t.name: check_values(t, values[t.name], images, bits) for t in tensors}


def check_values(tensor: Tensor, values: Any, images: int, bits: int) -> np.ndarray:
    """Checks the ``values`` of one tensor as :func:`check_inputs` does."""
    if images == 1 and np.shape(values) == tensor.shape:
        values = np.asarray(values)[None]
    return integers(f"input {tensor.name}", values, (images, *tensor.shape), bits)


def _pair(value, low, high, say):
    pair = _whole_numbers(value)
    if len(pair) == 1:
        pair *= 2
    if len(pair) != 2 or not all(low <= v <= high for v in pair):
        raise say(f"must be an integer or a pair of integers from {low} to {high}, not {value!r}")
    return pair


def _whole_numbers(value):
    """Converts an integer or a sequence of integers to a tuple; anything else gives an empty
    one."""
    values = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    if all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
        return tuple(int(v) for v in values)
    return ()


@dataclass(eq=False)
class Network(Products, Interleaving):
    """A network that is built layer by layer in execution order.

    Parameters
    ----------
    types : str
        Type set: ``"8-8-16-16"`` (default), ``"8-8-32-32"``, ``"16-16-32-32"``.
    batch : int
        Images that one program works on.

    Every method that adds something returns the :class:`Tensor` it makes, and raises
    :class:`KernelError` with the name of the layer and the value that is wrong.
    """

    types: str = "8-8-16-16"
    batch: int = 1
    inputs: list[Tensor] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    borders: dict[Tensor, int] = field(default_factory=dict)

    def __post_init__(self):
        self.set = type_set(self.types)
        self._names = {"constants"}  # a job's name of kernels and biases
        self._known = set()
        if type(self.batch) is not int or self.batch < 1:
            raise KernelError(f"batch must be a positive integer, not {self.batch!r}")

    def input(
        self, name: str, shape: Sequence[int], *, fraction: int, split: bool = False
    ) -> Tensor:
        """Adds an input of ``shape`` (height, width, channels); a vector is (1, 1, channels).
        ``split``: stored in channel blocks of 16."""
        sizes = _whole_numbers(shape)
        if len(sizes) != 3 or min(sizes) < 1:
            raise KernelError(
                f"input {name}: shape must be (height, width, channels), not {shape!r}"
            )
        tensor = self._tensor("input", name, sizes, fraction, split)
        self.inputs.append(tensor)
        return tensor

    def output(self, *tensors: Tensor, border: int = 0) -> None:
        """Marks tensors as outputs; without a call the last layer's result is the output.
        ``border``: width (0 to 15) of a zero border around each."""
        if type(border) is not int or not 0 <= border <= _MOST_BORDER:
            raise KernelError(f"output: border must be 0 to {_MOST_BORDER}, not {border!r}")
        for tensor in tensors:
            if tensor not in self._known:
                raise KernelError(
                    f"output {getattr(tensor, 'name', tensor)!r} is no tensor of this network"
                )
            if tensor not in self.outputs:
                self.outputs.append(tensor)
            self.borders[tensor] = border

    def results(self) -> list[Tensor]:
        """The output tensors."""
        return self.outputs or [self.layers[-1].result]

    def conv(
        self,
        name: str,
        source: Tensor,
        weights: Any,
        *,
        bias: Any = None,
        weight_fraction: int | Sequence[int] | np.ndarray,
        bias_fraction: int | Sequence[int] | np.ndarray | None = None,
        fraction: int,
        stride: int | tuple[int, int] = 1,
        padding: int | Sequence[int] = 0,
        act: str | None = None,
        pool: int | tuple[int, int] | None = None,
        pool_stride: int | tuple[int, int] | None = None,
        residual: Tensor | None = None,
        order: int = 1,
        by_tap: bool = False,
        groups: int = 1,
        dilation: int | tuple[int, int] = 1,
        split: bool = False,
        full: bool = False,
    ) -> Tensor:
        """Adds a convolution with optional activation, pooling and residual addition.

        Parameters
        ----------
        source : Tensor
        weights : integers of KTYPE [out, in / groups, rows, columns]
        bias : integers of BTYPE [out], optional
        weight_fraction, bias_fraction, fraction : fraction lengths of weights, bias and result;
            of weights and bias one for all, or one for each output channel, equal within a channel
            tile of the result
        stride : int or (rows, columns), 1 to 7
        padding : int, (rows, columns) or (top, bottom, left, right), zeros around the source,
            0 to 15
        act : None, "relu" or "leaky" (slope 1/8)
        pool, pool_stride : max pooling over int or (rows, columns) 1 to 15,
            stride 1 to 7 (default: as ``pool``)
        residual : Tensor, added to the result; must have the shape of the tensor that it is added
            to
        order : 0 act, residual, pool; 1 residual, act, pool; 2 act, pool, residual
        by_tap : bool
            Add the residual in the partial sums, as one more tap with an identity kernel (order 1,
            or no act and order 0). Its fraction length may then differ from ``fraction``, and the
            next tile can be loaded before this one is stored; it is added before requantisation
            instead of behind it, which differs only where that saturates.
        groups : int
            Output channels in ``groups`` equal groups, each of which reads one of as many groups of
            the input channels. Channel blocks without a common weight are not multiplied.
        dilation : int or (rows, columns), 1 to 15, distance of neighbouring taps
        split : bool
            The result lies in channel blocks of 16: what a depthwise convolution works on without
            multiplying by zeros.
        full : bool
            Channels that the result does not have are written as zeros: as a product reads its
            kernel (:meth:`product`).
        """
        say = self._say(name)
        if source not in self._known:
            raise say(f"source {getattr(source, 'name', source)!r} is no tensor of this network")
        weights = integers(
            f"layer {name}: weights",
            weights,
            ("out", "in", "rows", "columns"),
            self.set.ker,
            floats=False,
        )
        out, channels, *taps = weights.shape
        if type(groups) is not int or groups < 1 or out % groups or source.channels % groups:
            raise say(
                f"groups must divide {source.channels} input and {out} output channels, not "
                f"{groups!r}"
            )
        if channels * groups != source.channels:
            raise say(
                (
                    f"weights have {channels} input channels, source {source.name} has "
                    f"{source.channels}"
                )
                + (f" in {groups} groups" if groups > 1 else "")
            )
        return self._add(
            name,
            say,
            source,
            out,
            tuple(taps),
            weights=weights,
            bias=bias,
            weight_fraction=weight_fraction,
            bias_fraction=bias_fraction,
            fraction=fraction,
            stride=stride,
            padding=padding,
            act=act,
            pool=pool,
            pool_stride=pool_stride,
            residual=residual,
            order=order,
            by_tap=by_tap,
            groups=groups,
            dilation=dilation,
            split=split,
            full=full,
        )

    def identity(
        self,
        name: str,
        source: Tensor,
        *,
        factor: int = 1,
        padding: int | Sequence[int] = 0,
        stride: int | tuple[int, int] = 1,
        act: str | None = None,
        pool: int | tuple[int, int] | None = None,
        pool_stride: int | tuple[int, int] | None = None,
        residual: Tensor | None = None,
        order: int = 1,
    ) -> Tensor:
        """Adds an identity convolution: each channel times ``factor`` (of KTYPE), with the options
        of :meth:`conv`."""
        return self._add(
            name,
            self._say(name),
            source,
            source.channels,
            (1, 1),
            identity=factor,
            weight_fraction=0,
            fraction=source.fraction,
            padding=padding,
            stride=stride,
            act=act,
            pool=pool,
            pool_stride=pool_stride,
            residual=residual,
            order=order,
            groups=source.channels,
            split=source.split,
        )

    def dense(
        self,
        name: str,
        source: Tensor,
        weights: Any,
        *,
        bias: Any = None,
        weight_fraction: int | Sequence[int] | np.ndarray,
        bias_fraction: int | Sequence[int] | np.ndarray | None = None,
        fraction: int,
        act: str | None = None,
        split: bool = False,
    ) -> Tensor:
        """Adds a fully connected layer: ``weights`` [out, in]. A map is flattened in the order
        height, width, channels. ``split`` as in :meth:`conv`."""
        say = self._say(name)
        if source not in self._known:
            raise say(f"source {getattr(source, 'name', source)!r} is no tensor of this network")
        weights = integers(
            f"layer {name}: weights", weights, ("out", "in"), self.set.ker, floats=False
        )
        height, width, channels = source.shape
        if weights.shape[1] != height * width * channels:
            raise say(
                f"weights have {weights.shape[1]} inputs, source {source.name} has "
                f"{height * width * channels} values"
            )
        weights = weights.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        return self._add(
            name,
            say,
            source,
            len(weights),
            (height, width),
            weights=weights,
            bias=bias,
            weight_fraction=weight_fraction,
            bias_fraction=bias_fraction,
            fraction=fraction,
            act=act,
            split=split,
        )

    def average(
        self,
        name: str,
        source: Tensor,
        window: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] | None = None,
        padding: int | Sequence[int] = 0,
        fraction: int | None = None,
        act: str | None = None,
        weight: int | None = None,
        weight_fraction: int = 0,
    ) -> Tensor:
        """Adds average pooling over ``window`` (int or (rows, columns)), by identity taps;
        ``stride`` defaults to the window. Zeros of the padding count.

        A window of 2^k values is averaged exactly up to the rounding at the end; of another size
        the weight is the nearest of KTYPE's; ``weight`` of ``weight_fraction`` takes the place of
        either.
        """
        say = self._say(name)
        if source not in self._known:
            raise say(f"source {getattr(source, 'name', source)!r} is no tensor of this network")
        window = _pair(window, 1, 127, self._of(say, "window"))
        count = window[0] * window[1]
        places = count.bit_length() - 1
        if weight is not None:
            places = weight_fraction
        elif count == 1 << places:
            weight = 1
        else:
            places += self.set.ker - 2
            weight = round((1 << places) / count)
        fits = window[0] == source.height and window[1] == source.width
        if stride is None:
            stride = (1, 1) if fits else window
        return self._add(
            name,
            say,
            source,
            source.channels,
            window,
            identity=weight,
            weight_fraction=places,
            stride=stride,
            padding=padding,
            fraction=source.fraction if fraction is None else fraction,
            act=act,
            groups=source.channels,
            split=source.split,
        )

    # Shared by the methods above

    @staticmethod
    def _say(name):
        return lambda text: KernelError(text, name)

    @staticmethod
    def _of(say, what):
        return lambda text: say(f"{what} {text}")

    def _tensor(self, what, name, shape, fraction, split=False, full=False):
        check_name(what, name)
        if name in self._names:
            raise KernelError(f"{what} {name}: the name is taken")
        if type(fraction) is not int:
            raise KernelError(f"{what} {name}: fraction must be an integer, not {fraction!r}")
        if shape[0] > _MOST_SIDE or shape[1] > _MOST_SIDE:
            raise KernelError(
                f"{what} {name}: {shape[0]} x {shape[1]} positions, at most {_MOST_SIDE} a side"
            )
        self._names.add(name)
        tensor = Tensor(name, *shape, fraction, bool(split) and shape[2] > NARROW, full)
        self._known.add(tensor)
        return tensor

    @staticmethod
    def _padding(say, padding):
        sides = _whole_numbers(padding)
        sides = {1: sides * 4, 2: tuple(v for v in sides for _ in range(2))}.get(len(sides), sides)
        if len(sides) != 4 or not all(0 <= v <= _MOST_BORDER for v in sides):
            raise say(
                f"padding must be 1, 2 or 4 integers from 0 to {_MOST_BORDER}, not {padding!r}"
            )
        return sides

    @staticmethod
    def _fractions(say, what, value, out, each):
        """One fraction length per ``each`` channels."""
        if type(value) is int:
            return (value,) * -(-out // each)
        if not isinstance(value, np.ndarray):
            raise say(f"{what} must be an integer, not {value!r}")
        found = value
        if found.shape != (out,) or found.dtype.kind not in "iu":
            raise say(
                f"{what} must be an integer or integers [{out}], not {found.dtype} "
                f"{list(found.shape)}"
            )
        groups_of_outputs = [found[at : at + each] for at in range(0, out, each)]
        if any(p.min() != p.max() for p in groups_of_outputs):
            raise say(f"{what} must be equal within a channel block of {each}")
        return tuple(int(p[0]) for p in groups_of_outputs)

    def _shift(self, say, what, value):
        if not -128 <= value <= 127:
            raise say(
                f"the shift of {what} is {value}, legal are -128 to 127: the fraction lengths "
                f"are too far apart"
            )
        return value

    def _add(
        self,
        name,
        say,
        source,
        out,
        taps,
        *,
        weight_fraction,
        fraction,
        weights=None,
        identity=0,
        bias=None,
        bias_fraction=None,
        stride=1,
        padding=0,
        act=None,
        pool=None,
        pool_stride=None,
        residual=None,
        order=1,
        by_tap=False,
        groups=1,
        dilation=1,
        split=False,
        full=False,
    ):
        if split and full:
            raise say("a full result lies in channel blocks of 64, not split")
        stride = _pair(stride, 1, 7, self._of(say, "stride"))
        dilation = _pair(dilation, 1, BLOCK - 1, self._of(say, "dilation"))
        padding = self._padding(say, padding)
        if act is not None and act not in [*ACTIVATIONS][1:]:
            raise say(f"act must be None, 'relu' or 'leaky', not {act!r}")
        if order not in (0, 1, 2):
            raise say(f"order must be 0, 1 or 2, not {order!r}")
        each = NARROW if split and out > NARROW else SLOT
        weight_fraction = self._fractions(say, "weight_fraction", weight_fraction, out, each)
        if type(fraction) is not int:
            raise say(f"fraction must be an integer, not {fraction!r}")
        gain = fraction + self.set.store_shift
        f = tuple(
            self._shift(say, "the dot products", gain - source.fraction - value)
            for value in weight_fraction
        )
        b = (0,) * len(f)
        if bias is not None:
            bias = integers(f"layer {name}: bias", bias, (out,), self.set.bias, floats=False)
            b = tuple(
                self._shift(say, "the bias", gain - value)
                for value in self._fractions(say, "bias_fraction", bias_fraction, out, each)
            )
        if taps[0] > 127 or taps[1] > 127:
            raise say(f"a kernel of {taps[0]} x {taps[1]} taps, at most 127 a side")
        effective_size = tuple((t - 1) * d + 1 for t, d in zip(taps, dilation, strict=True))
        rows = (source.height + padding[0] + padding[1] - effective_size[0]) // stride[0] + 1
        columns = (source.width + padding[2] + padding[3] - effective_size[1]) // stride[1] + 1
        if rows < 1 or columns < 1:
            raise say(
                f"a kernel of {taps[0]} x {taps[1]} taps does not fit a source of "
                f"{source.height} x {source.width} "
                f"with padding {padding}"
            )
        window = (1, 1, 1, 1)
        if pool is not None:
            size = _pair(pool, 1, 15, self._of(say, "pool"))
            window = size + _pair(
                pool_stride if pool_stride is not None else tuple(min(v, 7) for v in size),
                1,
                7,
                self._of(say, "pool_stride"),
            )
            if size[0] > rows or size[1] > columns:
                raise say(
                    f"pool of {size[0]} x {size[1]} is larger than the {rows} x {columns} "
                    f"results of the convolution"
                )
        height, width = (rows - window[0]) // window[2] + 1, (columns - window[1]) // window[3] + 1
        residual_f = 0
        if residual is not None:
            residual_f = self._residual(
                say,
                residual,
                (height, width) if order == 2 else (rows, columns),
                out,
                fraction,
                ACTIVATIONS[act],
                order,
                by_tap,
                gain,
            )
            if residual.split != (split and out > NARROW):
                raise say(
                    f"residual {residual.name} lies in channel blocks of {residual.each}, the "
                    f"result in channel blocks of {each}"
                )
        else:
            order = 0
        if not ACTIVATIONS[act] and order == 1:
            order = 0  # the same thing, and the only one of the two with an encoding
        result = self._tensor("layer", name, (height, width, out), fraction, split, full)
        self.layers.append(
            Layer(
                name,
                source,
                result,
                taps,
                weights,
                bias,
                f,
                b,
                stride,
                padding,
                ACTIVATIONS[act],
                0 if by_tap else order,
                window,
                rows,
                columns,
                identity,
                residual,
                by_tap,
                residual_f,
                groups,
                dilation,
            )
        )
        return result

    def _residual(self, say, residual, sides, out, fraction, act, order, by_tap, gain):
        if residual not in self._known:
            raise say(
                f"residual {getattr(residual, 'name', residual)!r} is no tensor of this network"
            )
        if residual.shape != (*sides, out):
            raise say(
                f"residual {residual.name} has the shape {list(residual.shape)}, it is added "
                f"to {[*sides, out]}"
            )
        if by_tap:
            if order == 2 or (order == 0 and act):
                raise say(f"a residual by tap is added before act: order must be 1, not {order}")
            return self._shift(say, "the residual", gain - residual.fraction)
        if residual.fraction != fraction:
            raise say(
                f"residual {residual.name} has fraction {residual.fraction}, the result "
                f"{fraction}: they must be equal"
            )
        return 0
