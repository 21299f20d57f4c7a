# SPDX-License-Identifier: BSD-2-Clause
"""Choice of scales: one for each group of tensors that share it, chosen when the first producer of
the group is processed, so that the loss from rounding, clipping and the layer's weights is
least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.base import Backend, LoweringError
from ..evaluate import run_graph
from ..graph import Activation, Binary, Conv, Graph, Gru, Lstm, MatMul, Node
from ..quantised import Arithmetic, Scale
from .calibration import SAMPLES, batches, evenly
from .groups import Groups, widths
from .integers import fit_shifts, on_grid

if TYPE_CHECKING:
    from .calibration import Seen, Walk

__all__ = [
    "SPARE",
    "Scales",
    "Sums",
    "WIDE",
    "Wish",
    "activated",
    "better_unfused",
    "bounded",
    "choose_step",
    "input_step",
    "saturating",
]


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
        total = 0.0
        for sample in self.samples:
            error = on_grid(sample, step, -self.top - 1, self.top)
            error -= sample
            error *= error
            total += float(np.mean(error))
        return total

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


#: Sampled elements of partial sums per tap; inputs of a layer for them, counted as results.
_SUMS, _RESULTS = 1 << 15, 1 << 19


def _table_steps(graph, arithmetic, members):
    """Scales that the core's tables require for the tensors ``members``: scale -> name of a
    node."""
    found = {}
    for node in graph.nodes:
        numbers = arithmetic[node.name]
        # Of a recurrent layer it is that of the gates' sums.
        if (
            numbers.source_step is not None
            and node.inputs[0] in members
            and not isinstance(node, Gru | Lstm)
        ):
            found.setdefault(numbers.source_step, node.name)
        if numbers.result_step is not None and node.output in members:
            found.setdefault(numbers.result_step, node.name)
    return found


@dataclass(frozen=True)
class Sums:
    """Samples of a layer's partial sums in real numbers: ``values`` float64 [steps, elements], with
    the ``channel`` [elements] of each element, and the ``limit`` of a partial sum in multiples of
    the result's scale."""

    values: np.ndarray
    channel: np.ndarray
    limit: float


def activated(node: Node, sums: Sums | None) -> list[tuple[Any, ...]]:
    """Partial sums of a node in the form of :class:`Wish`; an empty list for ``None``."""
    return [] if sums is None else [(sums.values, partial(_activated, node), sums.limit)]


def _activated(node, values):
    """Partial sums after the activation of a node."""
    activation = getattr(node, "activation", None)
    return values if activation is None else activation.run(values)


def bounded(activation: Activation | None) -> bool:
    """Whether an activation is a clip with an upper bound."""
    return activation is not None and activation.function == "clip" and activation.high > 0


class Scales:
    """Scales of a network, chosen one group at a time.

    Parameters
    ----------
    graph : Graph, legalised
    backend : Backend
    arithmetic : dict, node name -> Arithmetic
    bits, percentile : as :func:`~quintet.tools.compiler.quantise.quantise`'s
    note : called with a tensor's name, the kind of choice, its value, why

    Attributes
    ----------
    of : dict, tensor name -> Scale, as far as chosen
    seen : dict, tensor name -> Seen, to be set before the first choice
    quantised : names of the tensors that the model itself has quantised, taken over or not
    """

    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        arithmetic: Mapping[str, Arithmetic],
        *,
        bits: int | None,
        percentile: float | None,
        note: Callable[..., None],
    ):
        self.graph, self.backend, self.arithmetic, self._note = graph, backend, arithmetic, note
        self.groups = Groups(graph, arithmetic, (*backend.states, *backend.alike))
        self._products = self._rounded(backend.states)
        self.bits = widths(graph, arithmetic, self.groups, bits)
        self.percentile = percentile
        self.quantised = {
            name
            for name, tensor in graph.tensors.items()
            if tensor.data is None and tensor.scale is not None
        }
        self.of: dict[str, Scale] = {}
        self.seen: dict[str, Seen] = {}
        self._random = np.random.default_rng(2)
        self._given = {group: self._own(group) for group in self.groups.members}

    def _rounded(self, states):
        """Groups of states that hold the product of two tensors, which is rescaled by a shift
        alone: their scales are powers of two, since that suits operands with such scales."""
        products = {
            self.groups.of(node.output)
            for node in self.graph.nodes
            if isinstance(node, MatMul) or isinstance(node, Binary) and node.function == "mul"
        }
        known = self.graph.tensors
        return products & {
            self.groups.of(name) for pair in states for name in pair if name in known
        }

    def prescribe(self, steps: Mapping[str, tuple[float, str]]) -> None:
        """Prescribes scales, tensor -> (scale, reason), where the model has none."""
        for name, given in steps.items():
            group = self.groups.of(name)
            if self._given[group] is None:
                self._given[group] = given

    def width(self, tensor: str) -> int:
        """Width of a tensor in bits."""
        return self.bits[self.groups.of(tensor)]

    def alone(self, tensor: str) -> bool:
        """Whether the tensor has a scale of its own that nothing prescribes."""
        group = self.groups.of(tensor)
        return len(self.groups.members[group]) == 1 and self._given[group] is None

    def members(self, tensor: str) -> list[str]:
        """Names of all tensors that share the tensor's scale."""
        return self.groups.members[self.groups.of(tensor)]

    def taken(self) -> set[str]:
        """Names of the tensors whose scale is prescribed by the model or by a table of the core,
        and of those that hold the same numbers as others, channel by channel."""
        given = {
            name
            for group, given in self._given.items()
            if given
            for name in self.groups.members[group]
        }
        return given.union(*self.backend.alike)

    def _own(self, group):
        """Prescribed scale of a group, by the model or the core: (scale, reason), or ``None``."""
        members = set(self.groups.members[group])
        tables = _table_steps(self.graph, self.arithmetic, members)
        if len(tables) > 1:
            text = ", ".join(f"{node} {step:g}" for step, node in tables.items())
            raise LoweringError(
                f"tensor {min(members)}: tables of the core require different scales: {text}",
                list(tables.values())[-1],
            )
        if tables:
            ((step, node),) = tables.items()
            return step, f"table of the core for {node}"
        own = [
            self.graph.tensors[name]
            for name in sorted(members)
            if self.graph.tensors[name].scale is not None and self.graph.tensors[name].data is None
        ]
        if not own:
            return None
        bad = next(
            (
                self._against(tensor, self.bits[group])
                for tensor in own
                if self._against(tensor, self.bits[group])
            ),
            None,
        )
        steps = {float(tensor.scale) for tensor in own}
        if bad is None and max(steps) > min(steps) * (1 + 1e-6):
            bad = f"{len(steps)} scales, and this core wants one"
        if bad is None:
            return own[0].scale, "the model's own"
        for tensor in own:
            self._note(
                tensor.name,
                "requantised",
                float(tensor.scale),
                f"the model's scale is not taken over: {bad}",
            )
        return None

    @staticmethod
    def _against(tensor, bits):
        if tensor.zero_point:
            return f"{tensor.name} has the zero point {tensor.zero_point:g}"
        if not tensor.signed:
            return f"{tensor.name} is unsigned"
        return (
            f"{tensor.name} has {tensor.bits} bits, the core {bits}"
            if tensor.bits != bits
            else None
        )

    def resample(self, tensor: str, values: np.ndarray) -> None:
        """Replaces the calibration sample of a tensor by ``values``."""
        flat = np.ravel(values)
        kept = flat if flat.size <= SAMPLES else self._random.choice(flat, SAMPLES, replace=False)
        self.seen[tensor] = replace(self.seen[tensor], sample=kept)

    def _sample(self, name):
        """Sample of a tensor's elements, clipped as the model itself clips them."""
        tensor = self.graph.tensors[name]
        sample = self.seen[name].sample if tensor.data is None else tensor.data.ravel()
        if tensor.scale is None or tensor.data is not None:
            return sample
        return np.clip(sample, *tensor.ends())

    def _wish(self, group):
        tensors = self.groups.members[group]
        wish = Wish(self.bits[group], [self._sample(name) for name in tensors])
        wish.percentile = self.percentile
        bounds, clips = [], True
        for node in self.graph.nodes:
            if node.output in tensors:
                wish.wraps |= self.arithmetic[node.name].wraps
                activation = (
                    node if isinstance(node, Activation) else getattr(node, "activation", None)
                )
                if bounded(activation):
                    bounds.append(activation.high)
                    clips &= self.arithmetic[node.name].clips
        # Where the core clips by itself, others of the group keep what lies above; where there
        # are none the clip costs least at the end.
        if bounds and (not clips or wish.greatest() <= min(bounds)):
            wish.most = min(bounds)
        return wish

    def choose(
        self,
        tensor: str,
        layer: tuple[Any, ...] | None = None,
        sums: Sequence[tuple[Any, ...]] = (),
    ) -> Scale:
        """Returns the :class:`Scale` of a tensor, and chooses it if its group has none yet.

        Parameters
        ----------
        layer : (rows, bias, power, source step, Arithmetic) of the layer that makes it, or ``None``
        sums : result of :meth:`partial_sums` for it
        """
        if tensor not in self.of:
            given = self._given[self.groups.of(tensor)]
            step, why = given or choose_step(self.wish(tensor, layer, sums))
            self.fix(tensor, step, why)
        return self.of[tensor]

    def wish(
        self,
        tensor: str,
        layer: tuple[Any, ...] | None = None,
        sums: Sequence[tuple[Any, ...]] = (),
    ) -> Wish:
        """Data for choosing the scale of a tensor's group, a :class:`Wish`; arguments as in
        :meth:`choose`."""
        wish = self._wish(self.groups.of(tensor))
        wish.layers += [layer] if layer is not None else []
        wish.sums += sums
        return wish

    def fix(self, tensor: str, step: float, why: str) -> None:
        """Sets the scale of the tensor's group to ``step``."""
        group = self.groups.of(tensor)
        if group in self._products and self._given[group] is None:
            step = 2.0 ** np.ceil(np.log2(step))
        for name in self.groups.members[group]:
            self.of[name] = Scale(float(step), self.bits[group])
            self._note(name, "scale", float(step), f"{self.bits[group]} bits, {why}")

    def follow(self, node: MatMul) -> tuple[Scale, int]:
        """Scale of a product of two tensors, which has a shift only: (Scale, shift)."""
        numbers = self.arithmetic[node.name]
        unit = np.prod([self.of[name].step for name in node.inputs])
        group = self.groups.of(node.output)
        if self._given[group] and node.output not in self.of:
            self.choose(node.output)
        if node.output in self.of:
            shift = np.log2(self.of[node.output].step / unit)
            if (
                abs(shift - round(shift)) > 1e-6
                or not numbers.shifts[0] <= round(shift) <= numbers.shifts[1]
            ):
                raise LoweringError(
                    f"its result must have the scale {unit:g} times 2 to the "
                    f"{numbers.shifts[0]} to "
                    f"{numbers.shifts[1]}, but {node.output} shares the scale "
                    f"{self.of[node.output].step:g} with other tensors",
                    node.name,
                )
            return self.of[node.output], int(round(shift))
        wish = self._wish(group)
        whole = np.log2(max(wish.greatest(), 1e-300) / wish.top / unit)
        places = sorted(
            {
                int(np.clip(p, *numbers.shifts))
                for p in np.ceil(whole)
                - np.arange(-2 if wish.wraps else 0, 3 if not wish.wraps else 0)
            }
        )
        costs = [wish.cost(unit * 2.0**p) for p in places]
        shift = places[int(np.argmin(costs))]
        self.fix(node.output, unit * 2.0**shift, f"product of its operands' scales times 2^{shift}")
        return self.of[node.output], shift

    def partial_sums(self, node: Node, walk: Walk) -> list[tuple[Any, ...]]:
        """Partial sums of a layer whose partial sums saturate, in the form of :class:`Wish`."""
        return activated(node, self.sampled_sums(node, walk))

    def sampled_sums(self, node: Node, walk: Walk) -> Sums | None:
        """Samples of a layer's partial sums (:class:`Sums`) if they saturate, else ``None``."""
        numbers = self.arithmetic[node.name]
        if numbers.partial_bits is None:
            return None
        values = walk.real[node.inputs[0]]
        count = int(np.clip(_RESULTS // self.graph.tensors[node.output].size, 1, len(values)))
        index = np.linspace(0, len(values) - 1, count).round().astype(int)
        sums: list[np.ndarray] = []
        at: np.ndarray | None = None
        channels = 1
        for part in self.backend.partial_sums(self.graph, node, values[index]):
            if at is None:
                channels = part.shape[-1]
                at = (
                    np.arange(part.size)
                    if part.size <= _SUMS
                    else self._random.choice(part.size, _SUMS, replace=False)
                )
            sums.append(part.ravel()[at])
        if at is None:
            return None
        if isinstance(node, Conv) and len(node.inputs) > 1:
            sums.append(sums[-1] + walk.real[node.inputs[1]][index].ravel()[at])
        limit = (1 << numbers.partial_bits - 1) * 2.0**-numbers.partial_shifted
        return Sums(values=np.stack(sums), channel=at % channels, limit=limit)


#: Inputs that are tried; scales per halving and in total; greatest number of values of a grid.
_INPUTS, _HALVING, _TRIED, _VALUES = 48, 5, 9, 1 << 12


def _grid(values):
    """Greatest scale at which all ``values`` are integers (as those of a sensor or a quantised data
    set are), or ``None``."""
    found = np.unique(values)
    if not 1 < len(found) <= _VALUES:
        return None
    size = max(abs(found[0]), abs(found[-1]))
    gaps = np.diff(found)
    unit = gaps[gaps > 1e-5 * size].min(initial=size)
    return unit if np.abs(found / unit - np.rint(found / unit)).max() < 1e-2 else None


def _results(graph, values):
    outputs = [run_graph(graph, batch) for batch in batches(graph, values)]
    return {name: np.concatenate([output[name] for output in outputs]) for name in outputs[0]}


def input_step(
    graph: Graph, values: Mapping[str, np.ndarray], tensor: str, bits: int
) -> tuple[float, str] | None:
    """Chooses the scale of an input: (scale, reason); ``None`` if all its values are zero.

    Parameters
    ----------
    graph : Graph
    values : dict, name of each input's tensor -> float64 array
    tensor, bits : name of the input's tensor, its width
    """
    values = evenly(values, _INPUTS)
    own, top = values[tensor], (1 << bits - 1) - 1
    greatest = np.abs(own).max()
    if greatest == 0:
        return None
    steps = list(
        greatest
        * (SPARE if bits >= WIDE else 1)
        / top
        * 2.0 ** (-np.arange(1 if bits >= WIDE else _TRIED) / _HALVING)
    )
    unit = _grid(own)
    if unit is not None:
        steps += [
            unit * k for k in range(1, int(steps[0] * 1.05 / unit) + 1) if unit * k > steps[-1]
        ][-4:]
    exact, costs = _results(graph, values), []
    for step in steps:
        scale = Scale(step, bits)
        now = _results(graph, {**values, tensor: scale.value(scale.quantise(own))})
        costs.append(
            sum(
                np.square(now[name] - real).sum() / max(np.square(real).sum(), 1e-300)
                for name, real in exact.items()
            )
        )
    best = steps[int(np.argmin(costs))]
    return (
        best,
        f"least change of the network's results, range {best * top / greatest:.3f} of the "
        f"greatest size seen, {greatest:.5g}",
    )
