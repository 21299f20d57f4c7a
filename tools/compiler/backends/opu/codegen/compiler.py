# SPDX-License-Identifier: BSD-2-Clause
"""Compiler from a network to a program: allocates memory, chooses tilings and orders
instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from ......gateware.cores.opu.isa import ISA
from ....common.inputs import KernelError
from ..cost import Timing, estimate
from .emitter import REGION_CONSTANTS, REGION_MAPS, Emitter
from .lower import Lowering
from .memory import Constants, Maps, OnChip, OnChipFullError
from .program import Compiled, LayerSpan, Placed
from .target import Target
from .tiles import border_pads
from .tiling import Tiling, candidates, check_tiling, widest

if TYPE_CHECKING:
    from .graph import Network

__all__ = ["compile_network"]

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


def _align(value, step=64):
    return -(-value // step) * step


def compile_network(
    network: Network,
    params: Mapping[str, Any],
    *,
    schedule: bool = True,
    group: int | None = None,
    program_at: int = 0,
    memory: int | None = None,
    tilings: Mapping[str, Tiling] | None = None,
    timing: Timing | None = None,
    separate: bool = False,
    zeroed: bool = False,
    local: bool = False,
    quick: bool = False,
    on_chip: OnChip | None = None,
) -> Compiled:
    """Compiles a network into a program for one build.

    Parameters
    ----------
    network : Network
    params : dict
        Build parameters, as ``SPACE.resolve`` gives them: the program fits these buffers.
    schedule : bool
        ``True``: tiles are chosen by the model of cycles, loads stand before the store of the tile
        before, borders are zeroed only where they are not zero. ``False``: layer after layer, the
        fewest tiles, ``pad`` after every layer.
    group : int, optional
        Images that go through the network together, layer by layer (default: all). Kernels are
        loaded once a group.
    program_at : int
        Byte address of the program, a multiple of 64; constants and maps follow it.
    memory : int, optional
        Bytes of main memory that are there.
    tilings : dict, layer name -> Tiling, optional
        Fixes how these layers are cut.
    timing : Timing, optional
        Speeds that tilings are chosen by.
    separate : bool
        Every tensor has memory of its own, so that all can be read after the run.
    zeroed : bool
        Memory of the maps is zero before the first run, and nobody else writes to it between runs:
        a scheduled program makes no border zero that it leaves zero itself.
    local : bool
        Tilings of a layer are compared by the program of the layers around it, too, and of a long
        program by that alone: quicker, and almost as good.
    quick : bool
        Of a long program each kind of layer is looked at once, by itself: for an estimate.
    on_chip : OnChip, optional
        What lies in on-chip memory, from address 0: tensors, then constants, then the program if
        there is space for it. All else lies behind. ``program_at`` is ignored.

    Returns
    -------
    Compiled

    Raises
    ------
    KernelError
        A layer that this build cannot hold, types other than the build's, or too little memory.
    OnChipFullError
        ``on_chip`` does not hold what it is to hold.
    """
    target = Target(params)
    if network.set != target.types:
        raise KernelError(
            f"the network is for types {network.types}, the build has {params['types']}"
        )
    if not network.layers:
        raise KernelError("the network has no layer")
    if program_at % ISA.program_align:
        raise KernelError(
            f"program_at must be a multiple of {ISA.program_align}, not {program_at:#x}"
        )
    group = network.batch if group is None else group
    if type(group) is not int or not 1 <= group <= network.batch:
        raise KernelError(f"group must be 1 to {network.batch}, not {group!r}")
    for name in tilings or {}:
        if name not in {layer.name for layer in network.layers}:
            raise KernelError(f"tilings: no layer {name!r}")
    maps = Maps(network, group, target.slot_units, separate, on_chip)
    writer = _Writer(network, target, maps, group, schedule, zeroed, on_chip)
    chosen = {
        layer.name: writer.whole(layer, widest(target, layer, group, writer.flat(layer)))
        for layer in network.layers
    }
    for layer in network.layers:
        if tilings and layer.name in tilings:
            check_tiling(target, layer, group, writer.flat(layer), tilings[layer.name])
            chosen[layer.name] = writer.whole(layer, tilings[layer.name])
    if schedule and target.overlaps:
        free = [layer for layer in network.layers if layer.name not in (tilings or {})]
        timing = timing or Timing()
        words = len(writer.attempt(chosen))
        if quick and words > _QUICK:
            found = [_search_alone(writer, free, chosen, timing)]
        else:
            found = [_search_local(writer, free, chosen, timing)] if local else []
        if not local or words <= _SHORT:
            found.append(_search(writer, free, chosen, timing))
        chosen = (
            min(found, key=lambda tilings: estimate(writer.attempt(tilings), params, timing).cycles)
            if len(found) > 1
            else found[0]
        )
    emitter, spans, lowering = writer.write(chosen)
    while not writer.clean_at_end(emitter):
        emitter, spans, lowering = writer.write(chosen)
    if on_chip is not None:
        return _finish_on_chip(writer, emitter, spans, lowering, chosen, memory)
    return _finish(
        network, target, maps, emitter, spans, lowering.constants, chosen, program_at, memory
    )


def _finish_on_chip(writer, emitter, spans, lowering, chosen, memory):
    """The program of a build with on-chip memory: regions begin at address 0, so that tensors and
    constants of both memories lie in one."""
    network, target, maps, on_chip = writer.network, writer.target, writer.maps, writer.on_chip
    near, far = lowering.constants.data, lowering.far.data
    near_at, far_at = 64 * maps.on_chip_units, 64 * writer.far_start
    length = 4 * len(emitter.words)
    extent, end = _align(max(maps.units, emitter.extent) * 64), _align(far_at + far.size)
    program_at = _align(near_at + near.size)
    if program_at > on_chip.size:
        raise OnChipFullError(
            f"tensors and constants take {program_at} bytes of on-chip memory, there are "
            f"{on_chip.size}"
        )
    if program_at + length > on_chip.size:
        program_at = end
        end = _align(program_at + length)
    end = max(end, extent)
    if memory is not None and end > memory:
        raise KernelError(f"the program takes {end} bytes of memory, there are {memory}")
    tensors = {t.name: Placed(b, 64 * b.base, target.types.ifm) for t, b in maps.buffers.items()}
    return Compiled(
        words=emitter.words,
        program_at=program_at,
        constants=near,
        constants_at=near_at,
        maps_at=0,
        inputs={t.name: tensors[t.name] for t in network.inputs},
        outputs={t.name: tensors[t.name] for t in network.results()},
        tensors=tensors,
        registers={
            f"region_base[{REGION_CONSTANTS}]": 0,
            f"region_limit[{REGION_CONSTANTS}]": _align(far_at + far.size),
            f"region_base[{REGION_MAPS}]": 0,
            f"region_limit[{REGION_MAPS}]": extent,
        },
        memory_size=end,
        params=dict(target.params),
        layers=spans,
        tilings=chosen,
        far_constants=far,
        far_constants_at=far_at,
        sizes=dict(lowering.sizes),
        overwritten=frozenset(tensor.name for tensor in maps.overwritten),
    )


def _finish(network, target, maps, emitter, spans, constants, chosen, program_at, memory):
    constants_at = _align(program_at + 4 * len(emitter.words))
    data = constants.data
    maps_at = constants_at + data.size
    # A residual may be loaded with the shape of a larger tile: what lies after the maps must be
    # there to be read.
    extent = _align(max(maps.units, emitter.extent) * 64)
    end = maps_at + extent
    if memory is not None and end > memory:
        raise KernelError(
            f"the program takes {end} bytes of memory ({4 * len(emitter.words)} of words, "
            f"{data.size} of kernels "
            f"and biases, {extent} of maps), there are {memory}"
        )
    bits = target.types.ifm

    def placed(tensor):
        buffer = maps.buffers[tensor]
        return Placed(buffer, maps_at + 64 * buffer.base, bits)

    registers = {
        f"region_base[{REGION_CONSTANTS}]": constants_at,
        f"region_limit[{REGION_CONSTANTS}]": data.size,
        f"region_base[{REGION_MAPS}]": maps_at,
        f"region_limit[{REGION_MAPS}]": extent,
    }
    return Compiled(
        emitter.words,
        program_at,
        data,
        constants_at,
        maps_at,
        {t.name: placed(t) for t in network.inputs},
        {t.name: placed(t) for t in network.results()},
        {t.name: placed(t) for t in maps.buffers},
        registers,
        end,
        dict(target.params),
        spans,
        chosen,
    )


class _Writer:
    """Writes the program of a network for given tilings, whole or for one group of images."""

    def __init__(self, network, target, maps, group, schedule, zeroed, on_chip=None):
        self.network, self.target, self.maps = network, target, maps
        self.group, self.schedule, self.on_chip = group, schedule, on_chip
        #: Unit of the first constant that is not in on-chip memory.
        self.far_start = 0 if on_chip is None else max(maps.units, on_chip.units)
        self._clean = (
            [
                pad
                for buffer in maps.buffers.values()
                for image in range(buffer.images)
                for part in range(0, buffer.tensor.channel_blocks, buffer.tensor.shares)
                for pad in border_pads(buffer, image, part)
            ]
            if zeroed
            else []
        )
        self._tries = self._lowering(packed=on_chip is None)
        self._jobs = {}

    def _lowering(self, packed=True):
        types, on_chip = self.target.types, self.on_chip
        if on_chip is None:
            return Lowering(self.target, self.maps, Constants(types), self.network.batch)
        # Of attempts all constants lie in their memory, however many are tried.
        return Lowering(
            self.target,
            self.maps,
            Constants(types, self.maps.on_chip_units, packed),
            self.network.batch,
            Constants(types, self.far_start, packed),
            on_chip.layers,
        )

    def whole(self, layer, tiling):
        """The tiling with tiles that do not overlap, if the layer works in place: what a tile adds
        to must not have been overwritten by another."""
        if layer.name not in self.maps.in_place:
            return tiling
        rows, columns = (
            max(n for n in range(1, min(most, size) + 1) if size % n == 0)
            for most, size in zip(
                (tiling.rows, tiling.columns), layer.result.shape[:2], strict=True
            )
        )
        return replace(tiling, rows=rows, columns=columns)

    def candidates(self, layer, start):
        """Tilings to try for a layer, see :func:`~.tiling.candidates`."""
        found = candidates(
            self.target,
            layer,
            self.group,
            self.flat(layer),
            start,
            self.sibling(layer) is not None,
        )
        return list(dict.fromkeys(self.whole(layer, tiling) for tiling in found))

    def flat(self, layer):
        return self._tries.flat(layer)

    def write(self, tilings):
        """Writes the program of the whole batch: (Emitter, list of LayerSpan, Lowering)."""
        lowering = self._lowering()
        return *self._write(lowering, {}, tilings, self.network.batch), lowering

    def clean_at_end(self, emitter):
        """Checks that borders assumed to be zero at the start are zero at the end, so that the
        program can run again; borders that are not are no longer assumed to be."""
        count = len(self._clean)
        self._clean = [pad for pad in self._clean if emitter.clean.get(pad.at) == pad]
        return len(self._clean) == count

    def attempt(self, tilings, layers=None):
        """Words of the first group of images, for comparing tilings; the constants' addresses are
        arbitrary. ``layers``: only these."""
        return self._write(self._tries, self._jobs, tilings, self.group, layers)[0].words

    def sibling(self, layer):
        """The next layer if it can share the tiles of ``layer``, else ``None``."""
        index = self.network.layers.index(layer) + 1
        if self.schedule and index < len(self.network.layers):
            other = self.network.layers[index]
            return other if self._tries.sibling(layer, other) is not None else None
        return None

    def _steps(self, tilings, layers):
        """Pairs of a layer and the next one if both share tiles (else ``None``), in order."""
        left = list(self.network.layers if layers is None else layers)
        while left:
            layer = left.pop(0)
            other = self.sibling(layer) if left and tilings[layer.name].with_next else None
            if other is not None:
                left.pop(0)
            yield layer, other

    @staticmethod
    def _made(lowering, layer, other, tiling, first, count):
        if other is None:
            return lowering.jobs(layer, tiling, first, count)
        return lowering.sibling_jobs(
            layer, other, lowering.sibling(layer, other), tiling, first, count
        )

    def _write(self, lowering, known, tilings, images, layers=None):
        emitter = Emitter(self.target.types, self.target.slot_units, self._clean)
        spans, pending = [], None
        for first in range(0, images, self.group):
            count = min(self.group, images - first)
            lowering.start_group(first)
            for layer, other in self._steps(tilings, layers):
                key = layer.name, tilings[layer.name], first, other is None
                jobs = known.get(key) or self._made(
                    lowering, layer, other, tilings[layer.name], first, count
                )
                known[key] = jobs
                both = [layer] if other is None else [other, layer]
                for one, begin in zip(both, jobs[:2] if self.schedule else jobs[-1:], strict=False):
                    begin.pads = lowering.pads(one, first, count)
                jobs[-1].closes = (
                    " and ".join(one.name for one in both),
                    first,
                    count,
                    sum(one.macs for one in both),
                )
                for job in jobs:
                    if pending is not None:
                        self._end(emitter, pending, job, spans)
                    emitter.start(job)
                    pending = job
        self._end(emitter, pending, None, spans)
        if layers is None:
            emitter.clean_inputs(lowering.input_pads())
        emitter.emit("end")
        return emitter, spans

    def _end(self, emitter, job, following, spans):
        """Emits the end of ``job``: padding, residual and store; a scheduled program loads for the
        next job before the store."""
        if self.schedule:
            emitter.pads(job, always=False)
            emitter.load_residual(job)
            if following is not None:
                emitter.preload(following, job)
            emitter.finish(job)
        else:
            emitter.load_residual(job)
            emitter.finish(job)
            emitter.pads(job, always=True)
        if job.closes is not None:
            name, first, count, macs = job.closes
            begin = spans[-1].end if spans else 0
            spans.append(LayerSpan(name, begin, len(emitter.words), first, count, count * macs))


def _key(layer):
    """Key of a layer for tiling: layers with equal keys get the same tiles."""
    return (
        layer.source.shape,
        layer.result.shape,
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
            alone = candidates(writer.target, layer, writer.group, writer.flat(layer), start)
            for tiling in (start, *(writer.whole(layer, one) for one in alone)):
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
