# SPDX-License-Identifier: BSD-2-Clause
"""Choice of the scale of a group of tensors: minimises the total loss from rounding, clipping and
the layer's weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .integers import fit_shifts

__all__ = ["SPARE", "WIDE", "Wish", "better_unfused", "choose_step", "saturating"]

#: Headroom above the largest calibrated magnitude, for cores whose results wrap.
ROOM = {4: 1.25, 8: 1.5, 16: 6.0}
#: Headroom where results saturate and are so wide that it costs no precision (bits, factor): later
#: inputs may be louder than the calibration's.
WIDE, SPARE = 16, 2.0
#: Candidate scales, from that of the whole range down: number per octave, in all, and of those that
#: represent the weights exactly.
OCTAVE, TRIED, EXACT = 10, 30, 16
#: A clip gets a layer of its own if that reduces the squared error below this share.
_UNFUSED_SHARE = 0.25
#: Samples of a layer's partial sums: elements per tap, and taps.
_SUMS = 1 << 16


class Wish:
    """Data for choosing one group's scale: samples of its tensors, their weights in the loss, and
    limits.

    Parameters
    ----------
    bits : width of the tensors
    samples : list of float64 arrays, elements of each tensor

    Attributes
    ----------
    layers : list of (rows, bias, power, source step,
        Arithmetic) of layers that make one of the tensors
    sums : list of (partial sums [steps, elements], function of the activation,
        limit of a partial sum in multiples of the scale)
    most : greatest value that the scale may represent (a clip that saturation applies), else
        infinity
    percentile : share of the elements that is not cut, in percent, or ``None``: by least error
    wraps : bool, as Arithmetic's
    """

    def __init__(self, bits: int, samples: Sequence[np.ndarray]):
        self.bits, self.samples = bits, samples
        self.layers: list[tuple[Any, ...]] = []
        self.sums: list[tuple[Any, ...]] = []
        self.most = np.inf
        self.percentile: float | None = None
        self.wraps = False

    @property
    def top(self) -> int:
        """Greatest integer of the width."""
        return (1 << self.bits - 1) - 1

    def greatest(self) -> float:
        """Greatest absolute value."""
        sums = (
            np.abs(values).max(initial=0.0) * (self.top + 1) / limit
            for values, _, limit in self.sums
        )
        return float(
            max([0.0, *(np.abs(sample).max(initial=0.0) for sample in self.samples), *sums])
        )

    def candidates(self, greatest: float) -> np.ndarray:
        """Candidate scales, between which the search decides."""
        if self.wraps or self.bits >= WIDE:
            room = ROOM.get(self.bits, 1.5) if self.wraps else SPARE
            return greatest * room / self.top * 2.0 ** (np.arange(OCTAVE + 1) / OCTAVE)
        steps = greatest / self.top * 1.05 * 2.0 ** (-np.arange(TRIED) / OCTAVE)
        exact = []
        for rows, _, _, source_step, numbers in self.layers:
            size = np.abs(rows).max(axis=2).ravel()
            size = (
                np.quantile(size, np.linspace(1, 0, min(EXACT, len(size))))
                if numbers.shift_group
                else size.max(keepdims=True)
            )
            unit = size[size > 0] * source_step / ((1 << numbers.weight_bits - 1) - 1)
            for places in range(-1, int(np.log2(TRIED / OCTAVE * 2)) + 2):
                exact.append(unit * 2.0 ** (np.floor(np.log2(steps[0] / unit)) - places))
        exact = np.concatenate(exact) if exact else np.zeros(0)
        return np.concatenate([steps, exact[(exact <= steps[0]) & (exact >= steps[-1])]])

    def rounding(self, step: float) -> float:
        """Mean squared error of rounding and clipping the tensors' elements."""
        low, high = -self.top - 1, self.top
        return sum(
            float(np.mean(np.square(sample - step * np.clip(np.rint(sample / step), low, high))))
            for sample in self.samples
        )

    def cost(self, step: float) -> float:
        """Mean squared error of the tensors with scale ``step``."""
        total = self.rounding(step)
        for rows, bias, power, source_step, numbers in self.layers:
            total += fit_shifts(rows, bias, power, source_step, step, numbers)[1]
        return total + self.saturation(step)

    def saturation(self, step: float) -> float:
        """Mean squared error from saturation of partial sums, over all layers."""
        return sum(
            saturating(values, activation, limit * step) for values, activation, limit in self.sums
        )


def saturating(
    values: np.ndarray, activation: Callable[[np.ndarray], np.ndarray], limit: float
) -> float:
    """Mean squared error of sums that saturate after every term."""
    total = np.zeros_like(values[0])
    before = total
    for now in values:
        total = np.clip(total + (now - before), -limit, limit)
        before = now
    return float(np.mean(np.square(activation(total) - activation(values[-1]))))


def better_unfused(bits: int, sums: Sequence[tuple[Any, ...]], step: float) -> bool:
    """Whether a clipped layer loses much less by saturation of its partial sums if its clip stays
    unfused.

    ``bits``, ``step``: of its result; ``sums``: as :class:`Wish` has them, of this layer alone.
    """
    ((values, activation, limit),) = sums
    exact = activation(values[-1])
    together, alone = Wish(bits, [exact]), Wish(bits, [values[-1]])
    together.sums, alone.sums = list(sums), [(values, lambda x: x, limit)]
    unfused = choose_step(alone)[0]
    # Behind the layer its result is rounded once more.
    again = activation(unfused * np.clip(np.rint(values[-1] / unfused), -alone.top - 1, alone.top))
    lost = (
        np.mean(np.square(again - exact))
        + saturating(values, lambda x: x, limit * unfused)
        + step * step / 12
    )
    return lost < _UNFUSED_SHARE * together.cost(step)


def choose_step(wish: Wish) -> tuple[float, str]:
    """Chooses the scale: (scale, reason)."""
    greatest = wish.greatest()
    if greatest == 0:
        return 1.0 / wish.top, "all values are zero"
    if wish.percentile is not None and not wish.wraps:
        size = float(
            np.mean([np.percentile(np.abs(sample), wish.percentile) for sample in wish.samples])
        )
        return min(
            size or greatest, wish.most
        ) / wish.top, f"{wish.percentile:g} % of the values are not cut"
    steps = wish.candidates(greatest)
    steps = steps[steps <= wish.most / wish.top]
    if not len(steps):
        return wish.most / wish.top, f"saturation is the limit at {wish.most:g}"
    costs = [wish.cost(step) for step in steps]
    best = float(steps[int(np.argmin(costs))])
    if wish.wraps:
        return (
            best,
            f"headroom of {best * wish.top / greatest:.2f} above the values seen: results wrap",
        )
    return (
        best,
        f"least squared error, range {best * wish.top / greatest:.3f} of the greatest size "
        f"seen, {greatest:.5g}",
    )
