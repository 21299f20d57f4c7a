# SPDX-License-Identifier: BSD-2-Clause
"""Floorplan of large builds: sites of the multipliers and block RAMs.

Every cycle each lane takes its own weights, adds to its own partial sums and writes them back,
while all of them share the activations. So below the multipliers of a pair of lanes lie the weights
and the partial sums of both, and the activations in the rows that are left.
"""

from ....isa.parameters import Params
from ....primitives.bram import block_names
from ....primitives.floorplan import dsp_clusters, dsp_rows, pair_places, ram_rows
from ..types import type_set
from .compute.buffers import ifm_row_elements

__all__ = ["floorplan"]


def floorplan(device: str, params: Params) -> dict[str, str]:
    """Fixed placements, name of the DSP or block RAM in the engine -> nextpnr's site. Empty if a
    DSP makes one product, or ``device`` has no plan for so many. Block RAMs are placed if all of
    them fit."""
    if params.get("multiplier") != "dsp_pair":
        return {}
    pairs, size = params["po"] // 2, params["pi"]
    clusters = dsp_clusters(device, pairs, size)
    if not clusters:
        return {}
    return pair_places(device, "compute.lanes.multipliers", pairs, size) | _block_rams(
        device, params, clusters
    )


def _block_rams(device, params, clusters):
    """Sites of the block RAMs: below their own multipliers if every group has enough there."""
    where = {
        place: (row, column)
        for row, places in enumerate(dsp_rows(device))
        for column, place in enumerate(places)
    }
    at = [[where[place] for place in cluster] for cluster in clusters]
    pairs, ifm = _blocks(params, len(clusters))
    rams = ram_rows(device)
    found, taken = {}, set()
    for cluster, mine in zip(at, pairs, strict=True):
        # A row of block RAMs has as many as one of DSPs, and at the same columns; below a pair's
        # DSPs they are its own.
        below = [rams[row][column] for row, column in cluster]
        taken |= set(below)
        if len(mine) > len(below):
            return {}
        if 3 * len(mine) < 2 * len(below):
            # Not side by side: main memory lies between them, whose blocks have a fifth of their
            # wires.
            below = [below[k * len(below) // len(mine)] for k in range(len(mine))]
        found |= dict(zip(mine, below, strict=False))
    # The activations, whose lines go to all lanes, beside the pairs' own where a row has space.
    free = [place for row in reversed(rams) for place in row if place not in taken]
    beside = [place for place in reversed(rams[-2]) if place not in taken]
    free = beside if len(ifm) <= len(beside) else free
    return found | dict(zip(ifm, free, strict=False)) if len(ifm) <= len(free) else {}


def _blocks(params, count):
    """Names of the block RAMs of each of ``count`` pairs of lanes, and of the activations."""
    types = type_set(params)
    ofm = block_names("ecp5", params["po"] * types.ofm, params["ofm_lines"])
    ker = block_names("ecp5", params["pi"] * types.ker, params["ker_rows"])
    pairs = []
    for pair in range(count):
        mine = [
            f"compute.ofm.bank_{bank}.{name}"
            for offset, name in ofm
            for bank in range(params["ofm_banks"])
            if offset // (2 * types.ofm) == pair
        ]
        left, right = (
            [f"compute.ker.lane_{2 * pair + lane}.{name}" for _, name in ker] for lane in range(2)
        )
        pairs.append([*left, *mine, *right])
    row = ifm_row_elements(params)
    ifm = [
        f"compute.ifm.bank_{bank}.{name}"
        for _, name in block_names("ecp5", row * types.ifm, -(-params["ifm_lines"] * 16 // row))
        for bank in range(params["ifm_banks"])
    ]
    return pairs, ifm
