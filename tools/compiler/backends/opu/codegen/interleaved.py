# SPDX-License-Identifier: BSD-2-Clause
"""Interleaved maps: each phase is copied to its rows and columns by stores of single rows.

A row of a map is read as a column of slots. ``store`` puts the rows of a column ``ofm_mem_w`` slots
apart, so that the columns of a phase get their distance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....common.inputs import KernelError, check_name
from .layers import Layer, Phases, Tensor
from .target import Target, ifm_channels, ofm_channels
from .tiles import Chunk, Job, Load, Part
from .tiling import channels_of

if TYPE_CHECKING:
    from ......gateware.cores.opu.types import TypeSet
    from .lower import Lowering

    # Within the class `set` is the network's type set.
    Names = set[str]
    Tensors = set[Tensor]

__all__ = ["Interleaving", "interleaved_jobs"]


class Interleaving(ABC):
    """Mixin of :class:`~.graph.Network` for interleaved maps."""

    #: The network's type set.
    set: TypeSet
    layers: list[Layer]
    _names: Names
    _known: Tensors

    @staticmethod
    @abstractmethod
    def _say(name):
        """Returns a function that makes an error from a text and names the layer in it."""

    @abstractmethod
    def _tensor(self, what, name, shape, fraction, split=False, full=False):
        """Adds a tensor."""

    def interleave(
        self, names: Sequence[str], phases: Sequence[Sequence[tuple[Tensor, int]]], channels: int
    ) -> Tensor:
        """Adds the layers that make a map of its phases.

        Parameters
        ----------
        names : of the layers, one for each source of each row phase, in order
        phases : for each row phase and in it each column phase (Tensor, its first channel)
        channels : of the map
        """
        say = self._say(names[0])
        known = [source for row in phases for source, _ in row]
        first = known[0]
        for source in known:
            if source not in self._known:
                raise say(f"{getattr(source, 'name', source)!r} is no tensor of this network")
            if (source.shape[:2], source.fraction) != (first.shape[:2], first.fraction):
                raise say(
                    f"phase {source.name} of {list(source.shape)} and fraction {source.fraction}: "
                    f"expected {list(first.shape[:2])} positions and fraction {first.fraction}"
                )
        if len({len(row) for row in phases}) != 1:
            raise say("every row phase must have the same number of column phases")
        if any(at < 0 or at + channels > source.channels for row in phases for source, at in row):
            raise say(f"a phase has fewer than the {channels} channels of the map")
        down, across = len(phases), len(phases[0])
        shape = first.height * down, first.width * across, channels
        split = all(source.split for source in known)
        result = self._tensor("layer", names[0], shape, first.fraction, split)
        left = list(names)
        for number, row in enumerate(phases):
            for source in dict.fromkeys(source for source, _ in row):
                name = left.pop(0)
                if name != names[0]:
                    check_name("layer", name)
                    if name in self._names:
                        raise KernelError(f"layer {name}: the name is taken")
                    self._names.add(name)
                columns = tuple((q, at) for q, (other, at) in enumerate(row) if other is source)
                self.layers.append(
                    Layer(
                        name,
                        source,
                        result,
                        (1, 1),
                        None,
                        None,
                        (self.set.store_shift,) * result.channel_blocks,
                        (0,) * result.channel_blocks,
                        (1, 1),
                        (0, 0, 0, 0),
                        0,
                        0,
                        (1, 1, 1, 1),
                        *source.shape[:2],
                        phases=Phases((down, across), number, columns),
                    )
                )
        return result


@dataclass(frozen=True)
class _Copy:
    """Copy of a column phase to a channel block of the result."""

    column: int
    out: int
    ofm_c: int
    matrices: dict[int, np.ndarray]  # channel block of the source -> [ofm_c, ifm_c]


def _copies(layer: Layer) -> Iterator[_Copy]:
    """The copies that a layer consists of, for each column phase and channel block."""
    source, result = layer.source, layer.result
    assert layer.phases is not None
    for column, at in layer.phases.columns:
        for out in range(result.channel_blocks):
            first, last = result.span(out)
            ofm_c, matrices = ofm_channels(last - first), {}
            for part in range(source.channel_blocks):
                low, high = source.span(part)
                mine = np.arange(max(low, at + first), min(high, at + last))
                if len(mine):
                    matrix = np.zeros((ofm_c, ifm_channels(channels_of(source, part))), np.int64)
                    matrix[mine - at - first, mine - low] = 1
                    matrices[part] = matrix
            yield _Copy(column, out, ofm_c, matrices)


def _kernels(lowering: Lowering, layer: Layer) -> dict[tuple[int, int, int], tuple[int, int, int]]:
    """Kernels of a layer: (column phase, channel block, channel block of the source) -> (address,
    taps, tap). Copies of one channel block of the source share a kernel as far as the build holds
    it, so that it is loaded once."""
    groups: dict[tuple[int, int], list[_Copy]] = {}
    for copy in _copies(layer):
        for part in copy.matrices:
            groups.setdefault((part, copy.ofm_c), []).append(copy)
    found = {}
    for (part, ofm_c), copies in groups.items():
        most = lowering.target.kernel_taps(ofm_c, copies[0].matrices[part].shape[1])
        if not most:
            raise KernelError(
                f"one tap of {copies[0].matrices[part].shape[1]} to {ofm_c} channels: expected at "
                f"most ker_rows = {lowering.target.params['ker_rows']} rows of kernel memory",
                layer.name,
            )
        for begin in range(0, len(copies), most):
            some = copies[begin : begin + most]
            matrices = [copy.matrices[part] for copy in some]
            at = lowering.kernel((layer.name, part, ofm_c, begin), matrices.copy)
            for tap, copy in enumerate(some):
                found[copy.column, copy.out, part] = at, len(some), tap
    return found


def _most_columns(target: Target, layer: Layer) -> int:
    """Greatest number of columns of a tile."""
    ifm_c = ifm_channels(channels_of(layer.source, 0))
    ofm_c = ofm_channels(channels_of(layer.result, 0))
    most = layer.source.width
    while most and not (target.holds_ifm((most, 1, ifm_c)) and target.holds_ofm((most, 1, ofm_c))):
        most -= 1
    if not most:
        raise KernelError(
            f"one result needs ifm [1, 1, {ifm_c}] and ofm [1, 1, {ofm_c}]; this build has "
            f"ifm_lines = {target.params['ifm_lines']}, ofm_lines = {target.params['ofm_lines']}",
            layer.name,
        )
    return most


def interleaved_jobs(lowering: Lowering, layer: Layer, n: int) -> list[Job]:
    """Jobs of image ``n`` of a layer with ``phases``, in order; raises KernelError if the build
    does not hold one column."""
    phases = layer.phases
    assert phases is not None
    source, result = (lowering.maps.buffers[tensor] for tensor in (layer.source, layer.result))
    (down, across), width = phases.factors, layer.source.width
    most = _most_columns(lowering.target, layer)
    # Equal tiles: the last one overlaps its neighbour rather than having another shape.
    count = -(-width // -(-width // most))
    starts = sorted({min(at, width - count) for at in range(0, width, count)})
    kernels, copies, jobs = _kernels(lowering, layer), list(_copies(layer)), []
    for row in range(layer.source.height):
        for start in starts:
            for copy in copies:
                parts = []
                for part, matrix in copy.matrices.items():
                    at, taps, tap = kernels[copy.column, copy.out, part]
                    load = Load(
                        source.at(lowering.image(source, n), part, row, start),
                        1,
                        (count, 1, matrix.shape[1]),
                    )
                    chunk = Chunk(load, (1, 1), layer.f[copy.out], ((0, 0, tap),))
                    parts.append(Part(at, taps, (chunk,)))
                jobs.append(
                    Job(
                        layer,
                        (count, 1, copy.ofm_c),
                        parts,
                        None,
                        0,
                        None,
                        result.at(
                            lowering.image(result, n),
                            copy.out,
                            row * down + phases.row,
                            start * across + copy.column,
                        ),
                        (result.mem_h, across),
                        count,
                        1,
                        lowering.borders(layer, n, 1, copy.out),
                    )
                )
    return jobs
