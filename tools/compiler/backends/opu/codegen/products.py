# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products of two activations: the positions of one tensor are the kernel of the other.

A slot of 64 elements is a position of a map and a row of a kernel alike, so ``ld.ker`` takes 64
positions of a map as 64 output channels. That is the product with the second operand turned; ones
on a diagonal as a feature map, with a map as kernel, turn the map itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ......gateware.cores.opu.types import SLOT, TypeSet
from ....common.inputs import KernelError
from .layers import Layer, Tensor
from .target import ofm_channels
from .tiles import Chunk, Job, Load, Part

if TYPE_CHECKING:
    from .lower import Lowering

__all__ = ["Products", "product_jobs"]


class Products(ABC):
    """Mixin of :class:`~.graph.Network` for products of two tensors."""

    #: The network's type set.
    set: TypeSet

    @staticmethod
    @abstractmethod
    def _say(name):
        """Returns a function that makes an error from a text and names the layer in it."""

    @abstractmethod
    def _shift(self, say, what, value):
        """Checks that a shift lies in the legal range, and returns it."""

    def product(
        self,
        name: str,
        source: Tensor,
        second: Tensor,
        *,
        fraction: int,
        places: int = 0,
        batched: bool = False,
    ) -> Tensor:
        """Adds the matrix product of ``source`` and ``second`` transposed: each position of
        ``source`` times each of ``second``.

        Parameters
        ----------
        source, second : Tensor [rows, 1, channels], the same channels;
            ``second`` full (see :meth:`~.graph.Network.conv`). ``batched``: [matrices, rows,
            channels], as many matrices
        fraction : fraction length of the result [rows of source, 1, rows of second];
            ``batched``: [matrices, rows of source, rows of second]
        places : places that the sums are shifted right by beside what the fraction lengths say
        """
        say = self._say(name)
        for what, tensor in (("source", source), ("second", second)):
            self._matrix_of(say, what, tensor, batched)
        if not second.full:
            raise say(
                f"second {second.name} is not full: slots of its kernel must be zero where it "
                f"has no channel"
            )
        if second.channels != source.channels or (batched and second.height != source.height):
            raise say(
                (
                    f"source {source.name} {list(source.shape)} and second {second.name} "
                    f"{list(second.shape)} differ in "
                )
                + ("channels" if second.channels != source.channels else "matrices")
            )
        if type(fraction) is not int or type(places) is not int:
            raise say(f"fraction and places must be integers, not {fraction!r} and {places!r}")
        f = self._shift(
            say,
            "the dot products",
            fraction + self.set.store_shift - source.fraction - second.fraction - places,
        )
        return self._product(name, source, second, fraction, f, batched, False)

    def turned(self, name: str, source: Tensor, *, batched: bool = False) -> Tensor:
        """Adds the transpose of ``source``: [rows, 1, channels] becomes [channels, 1, rows];
        ``batched``: of each of [matrices, rows, channels]."""
        say = self._say(name)
        self._matrix_of(say, "source", source, batched)
        return self._product(
            name, source, source, source.fraction, self.set.store_shift, batched, True
        )

    def _matrix_of(self, say, what, tensor, batched):
        if not isinstance(tensor, Tensor) or tensor not in self._known:
            raise say(f"{what} {getattr(tensor, 'name', tensor)!r} is no tensor of this network")
        if tensor.split:
            raise say(f"{what} {tensor.name} lies in channel blocks of 16, expected blocks of 64")
        if not batched and tensor.width > 1:
            raise say(
                f"{what} {tensor.name} has the shape {list(tensor.shape)}, expected one "
                f"column; or batched=True"
            )

    def _product(self, name, source, second, fraction, f, batched, turned):
        rows, out = (
            source.width if batched else source.height,
            second.width if batched else second.height,
        )
        if turned:
            rows = source.channels
        shape = (source.height, rows, out) if batched else (rows, 1, out)
        result = self._tensor("layer", name, shape, fraction)
        blocks = result.channel_blocks
        self.layers.append(
            Layer(
                name,
                source,
                result,
                (1, 1),
                None,
                None,
                (f,) * blocks,
                (0,) * blocks,
                (1, 1),
                (0, 0, 0, 0),
                0,
                0,
                (1, 1, 1, 1),
                *shape[:2],
                second=second,
                turned=turned,
                batched=batched,
            )
        )
        return result


def _most_rows(target, layer, ofm_c):
    """Greatest number of positions in a tile."""
    if not target.kernel_taps(ofm_c, SLOT):
        raise KernelError(
            f"{ofm_c} positions of {SLOT} channels as kernel take "
            f"{target.tap_rows(ofm_c, SLOT)} rows of kernel "
            f"memory, this build has ker_rows = {target.params['ker_rows']}",
            layer.name,
        )
    most = 0
    while (
        target.holds_ifm((most + 1, 1, SLOT))
        and target.holds_ofm((most + 1, 1, ofm_c))
        and most < SLOT
    ):
        most += 1
    if not most:
        raise KernelError(
            f"one result needs ifm [1, 1, {SLOT}] and ofm [1, 1, {ofm_c}]; "
            f"this build has ifm_lines = "
            f"{target.params['ifm_lines']}, ofm_lines = {target.params['ofm_lines']}",
            layer.name,
        )
    return most


def product_jobs(lowering: Lowering, layer: Layer, n: int) -> list[Job]:
    """Jobs of image ``n`` of a product of two tensors, in order.

    Parameters
    ----------
    lowering : Lowering
    layer : Layer with a ``second``

    Raises
    ------
    KernelError
        One tile is too large for the build; the second operand has a border, so that its positions
        are not contiguous.
    """
    assert layer.second is not None
    source, second, result = (
        lowering.maps.buffers[tensor] for tensor in (layer.source, layer.second, layer.result)
    )
    if second.border:
        raise KernelError(
            f"{layer.second.name} has a border of {second.border} for another layer, expected none",
            layer.name,
        )
    rows = layer.result.width if layer.batched else layer.result.height
    jobs = []
    for matrix in range(layer.source.height if layer.batched else 1):

        def at(buffer, part, row, matrix=matrix):
            return buffer.at(
                lowering.image(buffer, n), part, *((matrix, row) if layer.batched else (row, 0))
            )

        def width(buffer):
            return 1 if layer.batched else buffer.row_slots

        for out in range(layer.result.channel_blocks):
            first, last = layer.result.span(out)
            ofm_c = ofm_channels(last - first)
            most = _most_rows(lowering.target, layer, ofm_c)
            for row, count in _tiles(rows, most):
                sides = (1, count) if layer.batched else (count, 1)
                if layer.turned:
                    operands = [
                        (
                            row // SLOT,
                            Load(
                                _ones(lowering) + row % SLOT * second.slot_units,
                                1,
                                (*sides, SLOT),
                                True,
                            ),
                        )
                    ]
                else:
                    operands = [
                        (part, Load(at(source, part, row), width(source), (*sides, SLOT)))
                        for part in range(layer.source.channel_blocks)
                    ]
                parts = [
                    Part(
                        at(second, part, first),
                        1,
                        (Chunk(load, (1, 1), layer.f[out], ((0, 0, 0),)),),
                        ofm_c,
                    )
                    for part, load in operands
                ]
                jobs.append(
                    Job(
                        layer,
                        (*sides, ofm_c),
                        parts,
                        None,
                        0,
                        None,
                        at(result, out, row),
                        (result.mem_h, result.row_slots),
                        sides[0],
                        sides[1],
                        lowering.borders(layer, n, 1, out),
                    )
                )
    return jobs


def _tiles(rows, most):
    """Tiles (first, count) of ``rows`` positions; no tile crosses a channel block."""
    for block in range(0, rows, SLOT):
        end = min(rows, block + SLOT)
        for row in range(block, end, most):
            yield row, min(most, end - row)


def _ones(lowering):
    """Address in units of a constant identity matrix, with one position per channel."""
    return lowering.kernel(("ones",), lambda: [np.eye(SLOT, dtype=np.int64)])
