# SPDX-License-Identifier: BSD-2-Clause
"""Memory map: decides which tensors and which layers' constants lie in on-chip memory.

Tensors and constants are placed by the cycles that each of their bytes saves there: its traffic
times the difference between the two memories. Tensors share memory one after another, constants
stay, so several divisions between the two are tried. What is hidden behind convolutions saves
nothing: the model of cycles of the whole program judges divisions and every single change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ....common.inputs import KernelError
from ..codegen.compiler import Compiled, compile_network
from ..cost import Timing, estimate
from .memory import Maps, OnChip, OnChipFullError
from .tiling import Target, channels_of, ifm_channels

if TYPE_CHECKING:
    from ..layers import Network, Tensor

__all__ = ["compile_on_chip", "program_cycles"]

#: Shares of on-chip memory that tensors may take.
_SHARES = (0.0, 0.25, 0.4, 0.55, 0.7, 0.78, 0.85, 0.92, 1.0)
#: Bytes that are left for a longer program and for kernels that other tilings cut in another way.
_SPARE = 1024
#: Programs of more words are not compared for every single tensor and layer.
_MOST_WORDS = 1200
#: Times that all tensors and layers are gone through, at most, while it gains.
_PASSES = 2


@dataclass(frozen=True)
class _Item:
    """A tensor, or the constants of a layer: its bytes, and the cycles that it saves on chip."""

    name: str
    is_tensor: bool
    size: int
    saved: float

    def within(self, on_chip: OnChip) -> bool:
        """Whether on-chip memory holds it."""
        return self.name in (on_chip.tensors if self.is_tensor else on_chip.layers)

    def toggled(self, on_chip: OnChip) -> OnChip:
        """On-chip memory with it, or without it if it is there."""
        name = frozenset((self.name,))
        if self.is_tensor:
            return replace(on_chip, tensors=on_chip.tensors ^ name)
        return replace(on_chip, layers=on_chip.layers ^ name)


def program_cycles(compiled: Compiled, timing: Timing) -> float:
    """Estimated cycles of a compiled program."""
    if compiled.program_at < timing.border:
        timing = timing.with_program_on_chip()
    return estimate(compiled.words, compiled.params, timing).cycles


def compile_on_chip(
    network: Network,
    params: Mapping[str, Any],
    timing: Timing,
    *,
    memory: int,
    spent: Collection[str] = (),
    quick: bool = False,
) -> Compiled:
    """Compiles a network with the best memory map found.

    Parameters
    ----------
    network : Network
    params : dict, build parameters
    timing : Timing with on-chip memory
    memory : bytes of main memory
    spent : names of inputs whose memory other tensors may take once they were read
    quick : bool, as of :func:`~..codegen.compiler.compile_network`; no maps are compared

    Raises
    ------
    KernelError
        As of :func:`~..codegen.compiler.compile_network`.
    """

    def compiled(on_chip: OnChip, **options: Any) -> Compiled:
        return compile_network(
            network,
            params,
            zeroed=True,
            memory=memory,
            timing=timing.with_program_on_chip(),
            local=True,
            quick=quick,
            on_chip=on_chip,
            **options,
        )

    empty = OnChip(timing.border, spent=frozenset(spent))
    plain = compiled(empty, schedule=False)
    items = _items(network, params, timing, plain.sizes)
    start = next(_densest(network, params, replace(empty, spread=True), items, 0, 0))
    best = _fitting(compiled, start, items)
    found = {best[1]: program_cycles(best[0], timing)}
    maps = dict.fromkeys(
        on_chip
        for share in _SHARES
        for spread in (True, False)
        for on_chip in _densest(
            network, params, replace(empty, spread=spread), items, share, 4 * len(best[0].words)
        )
    )
    for on_chip in maps:
        trial = _fitting(partial(compiled, tilings=best[0].tilings), on_chip, items)
        found[trial[1]] = program_cycles(trial[0], timing)
    chosen = min(found, key=lambda on_chip: found[on_chip])
    if chosen != best[1]:
        best = _fitting(compiled, chosen, items)
    if quick or len(best[0].words) > _MOST_WORDS:
        return best[0]
    chosen = _compared(compiled, *best, items, timing)
    if chosen == best[1]:
        return best[0]
    again = _fitting(compiled, chosen, items)
    return min(best[0], again[0], key=lambda found: program_cycles(found, timing))


def _items(network, params, timing, sizes):
    """All tensors and layers' constants."""
    target = Target(params)
    slow, fast = timing, timing.on_chip
    gain = 1 / slow.rate - 1 / fast.rate
    maps = Maps(network, target.slot_units, separate=True)
    moves = dict.fromkeys(maps.buffers, 0)
    for layer in network.layers:
        for tensor in (layer.source, layer.residual, layer.second, layer.result):
            if tensor is not None:
                moves[tensor] += 1
    found = [
        _Item(
            name=tensor.name,
            is_tensor=True,
            size=buffer.units * 64,
            saved=moves[tensor] * buffer.images * _moved(tensor, target) * gain,
        )
        for tensor, buffer in maps.buffers.items()
    ]
    found += [
        _Item(
            name=layer.name,
            is_tensor=False,
            size=sizes[layer.name],
            saved=sizes[layer.name] * gain,
        )
        for layer in network.layers
        if sizes.get(layer.name)
    ]
    return sorted(found, key=lambda item: -item.saved / item.size)


def _moved(tensor: Tensor, target: Target) -> int:
    """Bytes of a tensor that one transfer of it moves."""
    channels = sum(ifm_channels(channels_of(tensor, part)) for part in range(tensor.channel_blocks))
    return tensor.height * tensor.width * channels * target.types.ifm_bytes


def _fits(network, params, on_chip, items, program=0):
    """Whether on-chip memory holds it all."""
    try:
        Maps(network, Target(params).slot_units, on_chip=on_chip)
    except OnChipFullError:
        return False
    constants = sum(i.size for i in items if not i.is_tensor and i.within(on_chip))
    return constants + (program + _SPARE) * (constants > 0) <= on_chip.first


def _densest(network, params, empty, items, share, program):
    """The tensors that save most per byte, as many as fit a share of on-chip memory, and the
    ``program`` of so many bytes and constants before them; the same with the tensor across the
    border that would save most."""
    on_chip = replace(empty, first=empty.size - int(empty.size * share) // 64 * 64)
    for item in items:
        if item.is_tensor and _fits(network, params, item.toggled(on_chip), items):
            on_chip = item.toggled(on_chip)
    step = 1 << 14
    while step >= 64:  # what the tensors leave of their share
        smaller = replace(on_chip, first=on_chip.first + step)
        if smaller.first < smaller.size and _fits(network, params, smaller, items):
            on_chip = smaller
        else:
            step //= 2
    for item in items:
        if not item.is_tensor and _fits(network, params, item.toggled(on_chip), items, program):
            on_chip = item.toggled(on_chip)
    # Tensors may have what the constants leave, so that fewer overlap the border of another.
    constants = sum(i.size for i in items if not i.is_tensor and i.within(on_chip))
    wider = replace(on_chip, first=-(-(constants + program + _SPARE) // 64) * 64)
    if wider.first < on_chip.first and _fits(network, params, wider, items, program):
        on_chip = wider
    yield on_chip
    lasting = {tensor.name for tensor in (*network.inputs, *network.results())}
    left = [
        item
        for item in items
        if item.is_tensor and item.name not in lasting and not item.within(on_chip)
    ]
    if left and not empty.spread:
        most = max(left, key=lambda item: item.saved)
        yield replace(on_chip, crossing=frozenset((most.name,)))


def _fitting(
    compiled: Callable[..., Compiled], on_chip: OnChip, items: list[_Item]
) -> tuple[Compiled, OnChip]:
    """Compiles with ``on_chip``, or with less of it while it does not fit after all."""
    while True:
        try:
            return compiled(on_chip), on_chip
        except OnChipFullError:
            least = [item for item in items if item.within(on_chip)][-1]
            on_chip = least.toggled(on_chip)


def _compared(compiled, best, on_chip, items, timing):
    """Improves ``on_chip`` by one tensor or layer, or by one for another, while that gains: with
    the tilings of ``best``."""
    cycles = program_cycles(best, timing)
    for _ in range(_PASSES):
        before = on_chip
        for item in items:
            for trial in _changes(item, on_chip, items):
                try:
                    found = compiled(trial, tilings=best.tilings)
                except KernelError:
                    continue
                some = program_cycles(found, timing)
                if some < cycles:
                    cycles, on_chip = some, trial
                    break
        if on_chip == before:
            break
    return on_chip


def _changes(item: _Item, on_chip: OnChip, items: list[_Item]) -> Iterator[OnChip]:
    """On-chip memory with ``item`` as well, or in place of another one."""
    if item.within(on_chip):
        return
    with_item = item.toggled(on_chip)
    yield with_item
    for other in reversed(items):
        if other.within(on_chip) and 2 * other.size >= item.size:
            yield other.toggled(with_item)
