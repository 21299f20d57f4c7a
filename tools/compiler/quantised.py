# SPDX-License-Identifier: BSD-2-Clause
"""Quantised networks: a graph with a scale for every tensor and integer weights for every layer.

A tensor of whole numbers q stands for q * scale. Scales are any positive real numbers; only the
rescaling after a sum of products is a shift, so a weight's scale is ``scale_out * 2^-shift /
scale_in``.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .graph import Graph

__all__ = ["Arithmetic", "Integer", "Quantised", "Scale"]


@dataclass(frozen=True)
class Scale:
    """Linear quantisation of a tensor: real value = integer * ``step``, two's complement of
    ``bits`` bits."""

    step: float
    bits: int

    @property
    def low(self) -> int:
        """Least representable integer."""
        return -(1 << self.bits - 1)

    @property
    def high(self) -> int:
        """Greatest representable integer."""
        return (1 << self.bits - 1) - 1

    def quantise(self, values: np.ndarray) -> np.ndarray:
        """Rounds to the nearest integers (ties to even) and saturates; int64. A value that is not a
        number, as the logarithm of a negative one on the host, becomes zero."""
        numbers = np.clip(np.rint(np.asarray(values, np.float64) / self.step), self.low, self.high)
        # Without this, the result would depend on the processor.
        return np.where(np.isnan(numbers), 0, numbers).astype(np.int64)

    def value(self, numbers: np.ndarray) -> np.ndarray:
        """Dequantises ``numbers`` to real values, float64."""
        return np.asarray(numbers, np.float64) * self.step


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Description of the integer arithmetic that a core offers for one node
    (``Backend.arithmetic``).

    A layer's result is ``saturate(activation(round(sum(w * x) * 2^-shift + bias')))``, the bias
    added where ``bias_shift`` says.

    Attributes
    ----------
    bits : width of the tensors that it reads
    reads : widths that they may have, where there are several;
        of a node that reads two they have one width
    out_bits : widths that its result may have, the one to prefer first
    weight_bits : width of the weights; ``None`` where the node has none
    bias_bits : width of the bias
    bias_tile : greatest size of a bias that takes one instruction, in products: a greater one takes
        more time; ``None``: all take the same
    bias_shifts : left shifts of the bias' scale relative to that of the products (0: only the same
        scale), lowest and highest
    shifts : lowest and highest shift
    shift_group : output channels that share a shift: a number, or ``None`` where all of them do
    partial_bits : width at which partial sums saturate after every term of
        :meth:`~.backends.base.Backend.partial_sums`, ``None``: they do not
    partial_shifted : partial sums are rounded to a scale ``2^partial_shifted`` times below that of
        the result before they are added up
    equal_scales : the operands of an addition and its result must have one scale
    same_scale : the result has its source's scale (pooling, reshaping)
    power_of_two : weights are constants of the core; the quantiser chooses no shift (averages): the
        result has its source's scale
    biased_averages : an average pooling can add a bias to each channel
    bias_in_result : the bias has the scale of the partial sums (``2^-partial_shifted`` of the
        result's),
        whatever the shift; ``bias_shifts`` says nothing
    wraps : a result that its width does not hold wraps instead of saturating:
        ranges get headroom and are never clipped
    clips : the bounds of a clip are kept whatever the scale, not by the end of the numbers
    favours_positive : takes fewer instructions for a tensor that is known to have no negative
        numbers
    floors : every product is rounded toward minus infinity, by itself, before it is added up
    source_step, result_step : scales that a table of the core requires of its source and result
        (sigmoid, tanh), ``None``: any
    """

    bits: int = 8
    reads: tuple[int, ...] = ()
    out_bits: tuple[int, ...] = (8,)
    weight_bits: int | None = 8
    bias_bits: int = 32
    bias_tile: int | None = None
    bias_shifts: tuple[int, int] = (0, 0)
    shifts: tuple[int, int] = (0, 31)
    shift_group: int | None = None
    partial_bits: int | None = None
    partial_shifted: int = 0
    equal_scales: bool = False
    same_scale: bool = False
    power_of_two: bool = False
    biased_averages: bool = False
    bias_in_result: bool = False
    wraps: bool = False
    clips: bool = False
    favours_positive: bool = False
    floors: bool = False
    source_step: float | None = None
    result_step: float | None = None


@dataclass(eq=False, kw_only=True)
class Integer:
    """Integer parameters of a layer.

    Attributes
    ----------
    weights : int64, of the shape of the node's weights;
        of an addition with ``weight_bits`` the operands' two multipliers, of an average its
        multiplier [1] (``shift`` is [1] too), of a product of two tensors empty
    bias : int64 [out], in multiples of ``2^bias_shift`` products, or ``None``
    shift : int64 [out]: the result is the sum of products times ``2^-shift``
    bias_shift : int64 [out]
    recurrent : int64, of an LSTM or GRU the weights of the recurrence;
        the gates' sums have the scale of the tensor ``NODE.sums``, shift and bias [gates] lead to
        it (of a GRU the bias is [2, gates]), ``recurrent_shift`` [gates] does from the recurrence
    recurrent_shift : int64 [gates]
    """

    weights: np.ndarray
    bias: np.ndarray | None
    shift: np.ndarray
    bias_shift: np.ndarray
    recurrent: np.ndarray | None = None
    recurrent_shift: np.ndarray | None = None


@dataclass(eq=False, kw_only=True)
class Quantised:
    """A quantised network for one core.

    Attributes
    ----------
    graph : Graph, as the back end legalised it
    scales : dict, tensor name -> Scale; of every tensor that flows on the core;
        empty for floating point
    layers : dict, node name -> Integer; of every node with weights
    choices : list of dict: choices for each tensor and layer, with reasons, for the report
    apart : list of names of layers that would lose much less with an unfused clip
        (:attr:`~.backends.base.Backend.unfused_clips`); the name by which plans store them
    """

    graph: Graph
    scales: dict[str, Scale] = field(default_factory=dict)
    layers: dict[str, Integer] = field(default_factory=dict)
    choices: list[dict[str, Any]] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)
