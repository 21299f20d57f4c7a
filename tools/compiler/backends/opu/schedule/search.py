# SPDX-License-Identifier: BSD-2-Clause
"""Search for tilings: layers are tiled in several ways, and the model of cycles judges the programs
that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from ..cost import Timing, estimate
from .tiling import Tiling, channels_of

if TYPE_CHECKING:
    from ..codegen.compiler import Writer
    from ..layers import Layer

__all__ = ["best_tilings"]

#: Programs longer than this are not rewritten to compare tilings.
_MOST_TRIED = 6000
#: Programs up to this long are compared as a whole even where layers are compared one by one.
_SHORT = 700
#: Programs longer than this are estimated with tilings that are found layer by layer, if quickly.
_QUICK = 4000
#: Times that all layers are gone through, at most, while it gains.
_PASSES = 2
#: Layers before and after one that its tilings are compared with.
_NEIGHBOURS = 1


def best_tilings(
    writer: Writer,
    free: Sequence[Layer],
    chosen: Mapping[str, Tiling],
    timing: Timing,
    local: bool,
    quick: bool,
) -> Mapping[str, Tiling]:
    """Tilings of all layers by name: ``chosen``, with better ones of the layers ``free``; ``local``
    and ``quick`` as of :func:`~..codegen.compiler.compile_network`."""
    params, words = writer.target.params, len(writer.attempt(chosen))
    if quick and words > _QUICK:
        found = [_search_alone(writer, free, chosen, timing)]
    else:
        found = [_search_local(writer, free, chosen, timing)] if local else []
    if not local or words <= _SHORT:
        found.append(_search(writer, free, chosen, timing))
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda tilings: estimate(writer.attempt(tilings), params, timing).cycles)


def _key(layer):
    """Key of a layer for tiling: layers with equal keys get the same tiles."""
    return (
        layer.source.shape,
        layer.result.shape,
        channels_of(layer.source, 0),
        channels_of(layer.result, 0),
        layer.taps,
        layer.stride,
        layer.padding,
        layer.pool,
        layer.adds,
        layer.by_tap,
        layer.weights is None,
        layer.second is None,
    )


def _search(writer, layers, chosen, timing):
    """Searches for faster tilings, one kind of layer at a time, beginning with all layers of a
    shape together. Repeats while the whole program gains, since the best tiling of a layer depends
    on its neighbours."""
    params = writer.target.params

    if len(writer.attempt(chosen)) > _MOST_TRIED:
        return chosen

    def cost(tilings, most=inf):
        return estimate(writer.attempt(tilings), params, timing, most=most).cycles

    best = cost(chosen)
    kinds = {}
    for layer in layers:
        kinds.setdefault(_key(layer), []).append(layer)
    families = {}
    for layer in layers:
        families.setdefault(_key(layer)[:6], []).append(layer)
    moves = [f for f in families.values() if len(f) > 1] + list(kinds.values())
    starts = [chosen[members[0].name] for members in moves]
    for _ in range(_PASSES):
        before = best
        for members, start in zip(moves, starts, strict=True):
            for tiling in writer.candidates(members[0], start):
                if all(chosen[layer.name] == tiling for layer in members):
                    continue
                trial = {
                    **chosen,
                    **{layer.name: writer.whole(layer, tiling) for layer in members},
                }
                found = cost(trial, best)
                if found < best:
                    best, chosen = found, trial
        if best == before:
            break
    return chosen


def _search_alone(writer, layers, chosen, timing):
    """Searches like :func:`_search`, but times each kind of layer alone."""
    params, found = writer.target.params, {}
    for layer in layers:
        start = chosen[layer.name]
        key = _key(layer), writer.flat(layer), start
        if key not in found:
            best, found[key] = inf, start
            for tiling in (start, *writer.candidates(layer, start, alone=True)):
                words = writer.attempt({layer.name: tiling}, [layer])
                cycles = estimate(words, params, timing, most=best).cycles
                if cycles < best:
                    best, found[key] = cycles, tiling
                if len(words) > _MOST_TRIED // 2:
                    break
        chosen = {**chosen, layer.name: found[key]}
    return chosen


def _search_local(writer, layers, chosen, timing):
    """Searches like :func:`_search`, but times each layer only with its neighbours, and repeats
    while any of them gains."""
    params, order, asked = writer.target.params, writer.network.layers, set(layers)
    starts, again = dict(chosen), [layer in asked for layer in order]
    for _ in range(_PASSES + 1):
        for index, layer in enumerate(order):
            if not again[index]:
                continue
            again[index] = False
            around = order[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1]
            tried = writer.candidates(layer, starts[layer.name])
            best, before = None, chosen
            for tiling in (before[layer.name], *(t for t in tried if t != before[layer.name])):
                trial = {**before, layer.name: tiling}
                words = writer.attempt(trial, around)
                if best is None and len(words) > _MOST_TRIED // 2:
                    break
                found = estimate(words, params, timing, most=inf if best is None else best).cycles
                if best is None or found < best:
                    best, chosen = found, trial
            if chosen != before:
                for other in range(max(0, index - 1), min(len(order), index + 2)):
                    again[other] = order[other] in asked and other != index
    return chosen
