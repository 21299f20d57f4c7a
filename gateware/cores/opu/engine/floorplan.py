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
    return pair_places(device, "compute.lanes.multipliers", pairs, size) | _block_rams(
        device, params, dsp_clusters(device, pairs, size)
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
    if sum(map(len, pairs)) + len(ifm) <= 2 * len(rams[0]):
        return _two_rows(rams, at, pairs, ifm)
    found, taken = {}, set()
    for cluster, mine in zip(at, pairs, strict=True):
        # A row of block RAMs has as many as one of DSPs, and at the same columns; below a pair's
        # DSPs they are its own.
        below = [rams[row][column] for row, column in cluster]
        taken |= set(below)
        if len(mine) > len(below):
            return {}
        found |= dict(zip(mine, below, strict=False))
    free = [place for row in reversed(rams) for place in row if place not in taken]
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


def _two_rows(rams, at, pairs, ifm):
    """Sites in the two upper rows of block RAMs, which lie between the rows of DSPs, so that the
    two lower ones are left to main memory: in each row the pairs in the order of their DSPs, and in
    the upper one, with the fewest, the activations between them."""
    upper, lower = (
        [
            mine
            for (_, _), mine in sorted(
                ((cluster[0][1], -cluster[0][0]), mine)
                for cluster, mine in zip(at, pairs, strict=True)
                if min(cluster[0][0], 1) == row
            )
        ]
        for row in range(2)
    )
    gaps = max(1, len(upper) - 1)
    for gap in reversed(range(gaps)):
        share = ifm[len(ifm) * gap // gaps : len(ifm) * (gap + 1) // gaps]
        upper.insert(gap + 1, share)
    found = {}
    for row, groups in zip(rams, (upper, lower), strict=False):
        names = [name for group in groups for name in group]
        if len(names) > len(row):
            return {}
        begin = (len(row) - len(names)) // 2
        found |= dict(zip(names, row[begin:], strict=False))
    return found
