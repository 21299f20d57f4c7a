# SPDX-License-Identifier: BSD-2-Clause
"""Matrix products of two activations: the positions of one tensor are the kernel of the other.

A slot of 64 elements is a position of a map and a row of a kernel alike, so ``ld.ker`` takes 64
positions of a map as 64 output channels. That is the product with the second operand turned; ones
on a diagonal as a feature map, with a map as kernel, turn the map itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ......gateware.cores.opu.types import SLOT
from ....common.inputs import KernelError
from ..layers import Layer
from ..schedule.tiling import ofm_channels
from .tiles import Chunk, Job, Load, Part

if TYPE_CHECKING:
    from .jobs import JobMaker

__all__ = ["product_jobs"]


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


def product_jobs(maker: JobMaker, layer: Layer, n: int) -> list[Job]:
    """Jobs of image ``n`` of a product of two tensors, in order.

    Parameters
    ----------
    maker : JobMaker
    layer : Layer with a ``second``

    Raises
    ------
    KernelError
        One tile is too large for the build; the second operand has a border, so that its positions
        are not contiguous.
    """
    assert layer.second is not None
    source, second, result = (
        maker.maps.buffers[tensor] for tensor in (layer.source, layer.second, layer.result)
    )
    if any(second.border):
        raise KernelError(
            f"{layer.second.name} has a border of {max(second.border)} for another layer, expected "
            f"none",
            layer.name,
        )
    rows = layer.result.width if layer.batched else layer.result.height
    jobs = []
    for matrix in range(layer.source.height if layer.batched else 1):

        def at(buffer, part, row, matrix=matrix):
            return buffer.at(n, part, *((matrix, row) if layer.batched else (row, 0)))

        def width(buffer):
            return 1 if layer.batched else buffer.row_slots

        for out in range(layer.result.channel_blocks):
            first, last = layer.result.span(out)
            ofm_c = ofm_channels(last - first)
            most = _most_rows(maker.target, layer, ofm_c)
            for row, count in _tiles(rows, most):
                sides = (1, count) if layer.batched else (count, 1)
                if layer.turned:
                    operands = [
                        (
                            row // SLOT,
                            Load(
                                _ones(maker) + row % SLOT * second.slot_units,
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
                        result.mem,
                        sides[0],
                        sides[1],
                        maker.borders(layer, range(n, n + 1), out),
                    )
                )
    return jobs


def _tiles(rows, most):
    """Tiles (first, count) of ``rows`` positions; no tile crosses a channel block."""
    for block in range(0, rows, SLOT):
        end = min(rows, block + SLOT)
        for row in range(block, end, most):
            yield row, min(most, end - row)


def _ones(maker):
    """Address in units of a constant identity matrix, with one position per channel."""
    return maker.kernel(("ones",), lambda: [np.eye(SLOT, dtype=np.int64)])
