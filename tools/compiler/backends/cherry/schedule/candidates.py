# SPDX-License-Identifier: BSD-2-Clause
"""Search over candidate schedules (memory layouts and operation orders) for the fastest that
fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base import Lowered, LoweringError
from ..kernel_graph import Regroup
from ..lowering import Lowering
from .bands import rows_separable
from .places import geometry
from .tiling import Limits, tiled
from .transfers import Arrays

if TYPE_CHECKING:
    from ....graph import Graph
    from ..kernel_graph import KernelGraph, Value

__all__ = ["lower_kernel_graph"]

#: Sizes of weight tiles that are tried, in elements, the largest first.
_PARTS = (16384, 8192, 4096, 2048, 1024, 512, 256)
#: Segments that are looked for, numbers of bands that are tried, and candidates that one search
#: for segments looks at in vain: of networks for which it finds some, those are at most a third as
#: many; the same where the first program that fits is enough.
_TURNS, _BANDS, _LOOKS, _FEW_LOOKS = 12, (2, 4, 8, 16), 160, 60
#: Share of main memory that the first program found may take.
_PLENTY = 0.8
#: Of a tiled network: shares of the scratchpad that a value takes to stay in it, and that the boxes
#: of an operation take together; tried in this order.
_SHARES = ((3, 2), (6, 2), (16, 3), (64, 4), (1 << 20, 4), (1 << 20, 16))
#: Fractional places of an accumulator that stores its sums as elements without a loss.
FEWEST_PLACES = 9
#: Cycles of an input's coming that may be worth bands.
_LONG = 4000


def lower_kernel_graph(
    kernel_graph: KernelGraph,
    graph: Graph,
    params: Mapping[str, Any],
    memory_size: int,
    keep: bool,
    quick: bool = False,
    states: Sequence[tuple[str, str]] = (),
) -> Lowered:
    """Lowers a :class:`~..kernel_graph.KernelGraph` by the fastest candidate schedule that fits,
    or, if ``quick``, by the first; raises LoweringError if none fits. ``states``: pairs (input,
    output) that are copied at the end (:attr:`~...base.Backend.states`)."""
    arrays = Arrays()

    def candidate(most, ahead, spread, segments=(), of=kernel_graph):
        choice = most, ahead, spread, segments
        return Lowering(of, graph, params, memory_size, keep, arrays, *choice, states)

    spreads = (True, False) if params["banks"] > 4 else (False,)
    failed: list[LoweringError] = []
    wanted = 1 if quick else 2

    def whole(spread):
        # If the maps alone exceed the scratchpad, one candidate reports what is missing.
        hopeless = _exceeds(kernel_graph, spread, 1 << params["log_mem"])
        return _whole(candidate, spread, failed, wanted, hopeless)

    found = whole(spreads[0])
    if not found:
        found = [plan for spread in spreads[1:] for plan in whole(spread)]
        for spread in () if found and quick else spreads:
            looks = _FEW_LOOKS if quick else _LOOKS
            found += _cut(kernel_graph, candidate, spread, failed, looks)
            if found and quick:
                break
    if not found:
        found = _tiled(kernel_graph, candidate, params, spreads, keep, failed, wanted)
    if not found:
        raise failed[0]
    if not quick:
        return _better(found, kernel_graph, candidate).lowered()
    try:
        lowered = found[0].lowered()
        if lowered.memory <= _PLENTY * memory_size:
            return lowered
    except LoweringError:
        pass
    # Whether a close case fits can only be found with the actual program.
    return lower_kernel_graph(kernel_graph, graph, params, memory_size, keep)


def _exceeds(kernel_graph, spread, elements):
    """Whether the values that are live at the same time exceed the scratchpad even without any
    weights."""
    uses: dict[Value, tuple[int, int]] = {}
    for number, operation in enumerate(kernel_graph.operations):
        for ref in (*operation.refs(), operation.out):
            if ref.value.data is None:
                uses[ref.value] = uses.get(ref.value, (number, 0))[0], number
    for number, operation in enumerate(kernel_graph.operations):
        live = [value for value, (first, last) in uses.items() if first <= number <= last]
        taken = sum(geometry(value, spread)[2] for value in live)
        # A result may take the place of an operand, and a reshape goes by way of main memory.
        if not isinstance(operation, Regroup):
            if taken - geometry(operation.out.value, spread)[2] > elements:
                return True
            if not any(ref.value.shape == operation.out.value.shape for ref in operation.refs()):
                if taken > elements:
                    return True
    return False


def _whole(candidate, spread, failed, wanted, hopeless):
    """Returns up to ``wanted`` candidate schedules that keep every map whole. Larger weight tiles
    are tried first; smaller ones let more of the loading overlap programs."""
    for ahead in (True, False):
        found = []
        for most in _PARTS:
            if failed and hopeless:
                return []
            try:
                attempt = candidate(most, ahead, spread)
                if attempt.tight() is None:
                    found.append(attempt.plan())
                elif not failed:
                    attempt.plan()
            except LoweringError as error:
                failed.append(error)
            if len(found) == wanted:
                break
        if found:
            return found
    return []


def _cut(kernel_graph, candidate, spread, failed, most_looks):
    """Returns a candidate schedule that runs operations in bands where their maps are too large."""
    looks = iter(range(most_looks))
    for most, ahead in ((_PARTS[0], True), (_PARTS[2], True), (_PARTS[-1], False)):

        def tight(segments, most=most, ahead=ahead):
            return candidate(most, ahead, spread, segments).tight()

        segments = in_bands(kernel_graph, tight, looks)
        if segments is None:
            continue
        try:
            return [candidate(most, ahead, spread, segments).plan()]
        except LoweringError as error:
            failed.append(error)
    return []


def _tiled(kernel_graph, candidate, params, spreads, keep, failed, wanted):
    """Returns up to ``wanted`` candidate schedules that keep large values in main memory."""
    elements, partial = 1 << params["log_mem"], params["acc_frac"] == FEWEST_PLACES
    found = []
    # Cached data of an operation are keyed by its identity: all attempts stay.
    made = []
    for resident, box in _SHARES:
        for spread in spreads:
            limits = Limits(elements, elements // resident, elements // box, spread, partial)
            try:
                made.append(tiled(kernel_graph, limits, keep))
            except LoweringError as error:
                failed.append(error)
                return found
            for most in (elements // 4, elements // 16, elements // 64):
                try:
                    attempt = candidate(most, True, spread, of=made[-1])
                    if attempt.tight() is None:
                        found.append(attempt.plan())
                        break
                except LoweringError as error:
                    failed.append(error)
            if len(found) == wanted:
                return found
    return found


def _better(found, kernel_graph, candidate):
    """Returns the fastest of ``found``, or a schedule that loads the input in bands while the first
    operations run, if that is faster."""
    best = min(found, key=lambda plan: plan.cycles)
    coming = sum(value.size for value in kernel_graph.inputs.values()) * 2
    if coming < max(_LONG, best.cycles / 20):
        return best
    for end in range(1, 7):
        if end > len(kernel_graph.operations) or not rows_separable(
            kernel_graph.operations[end - 1]
        ):
            break
        for bands in (4, 8):
            try:
                best = min(
                    best,
                    candidate(_PARTS[0], True, True, [(0, end, bands)]).plan(),
                    key=lambda plan: plan.cycles,
                )
            except LoweringError:
                continue
    return best


def in_bands(
    kernel_graph: KernelGraph,
    tight: Callable[[list[tuple[int, int, int]]], int | None],
    looks: Iterator[int],
) -> list[tuple[int, int, int]] | None:
    """Chooses segments of operations to run in bands so that everything fits: a list of (first
    operation, end, number of bands). ``None`` if no choice fits, or if ``looks``, the budget of
    failed candidates, is exhausted.

    ``tight(segments)``: number of the operation at which the scratchpad is too small, ``None`` if
    it is nowhere.
    """
    separable = [rows_separable(operation) for operation in kernel_graph.operations]
    segments: list[tuple[int, int, int]] = []
    for _ in range(_TURNS):
        at = tight(segments)
        if at is None:
            return segments
        segments = _segment(separable, at, segments, tight, looks)
        if segments is None:
            break
    return None


def _segment(separable, at, segments, tight, looks):
    """Adds to ``segments`` the shortest run of operations around number ``at`` that, run in bands,
    lets later operations fit the scratchpad; it absorbs the segments that it overlaps."""
    for length in range(2, 13):
        for first in range(max(0, at - length + 1), at + 1):
            end = first + length
            if end > len(separable) or not all(separable[first:end]):
                continue
            others = [s for s in segments if s[1] <= first or end <= s[0]]
            tried = [
                sorted([*others, (first, end, bands)])
                for bands in _BANDS
                if (first, end, bands) not in segments
            ]
            # If the greatest number of bands does not help, fewer bands do not either.
            if not tried or not _gets_past(end, tight(tried[-1])):
                if next(looks, None) is None:
                    return None
                continue
            return next(some for some in tried if _gets_past(end, tight(some)))
    return None


def _gets_past(end, stuck):
    return stuck is None or stuck >= end
