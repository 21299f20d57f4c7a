# SPDX-License-Identifier: BSD-2-Clause
"""Floorplan of four processors: sites of the multipliers and block RAMs.

A processor has little to do with the others, so each gets a quarter of the FPGA: its lanes'
multipliers in a row of DSPs with their weights below, and a share of the middle rows. LMem and the
code buffer are at the end towards the middle of the FPGA, where that lies which the processors
share.
"""

from itertools import product

from ....isa.parameters import Params
from ....primitives.bram import block_names
from ....primitives.floorplan import dsp_rows, ram_rows
from .commands import lmem_word_bytes
from .matrix.weights import lane_groups, weight_rows

__all__ = ["floorplan"]


def floorplan(device: str, params: Params) -> dict[str, str]:
    """Fixed placements, name of the DSP or block RAM in the engine -> nextpnr's site. Empty without
    a plan: for anything other than four processors of 32 lanes, for designs that do not fit in
    quarters, and for FPGAs without three rows of DSPs."""
    dsps, rams = dsp_rows(device), ram_rows(device)
    if (params["cores"], params["lanes"]) != (4, 32) or len(dsps) < 3:
        return {}
    found: dict[str, str] = {}
    for low, right in product(range(2), repeat=2):

        def half(row, right=right):
            """Sites of one half of a row, from the FPGA's edge to its middle."""
            middle = len(row) // 2
            return row[: middle - 1 : -1] if right else row[:middle]

        # The middle rows are shared with the quarter below or above.
        shared_dsps, shared_rams = half(dsps[1])[12 * low :][:12], half(rams[1])[8 * low :][:8]
        processor = _processor(
            params,
            half(dsps[2 * low])[:24] + shared_dsps,
            half(rams[2 * low])[:24] + shared_rams,
            half(rams[3 if low else 1])[16:],
        )
        if not processor:
            return {}
        found |= {f"processor_{2 * low + right}.{name}": place for name, place in processor.items()}
    return found


def _processor(params, dsps, weights, others):
    """Placements within one processor. ``dsps`` and ``weights`` list the sites of a group of lanes,
    one below the other; ``others`` are block RAMs for the remaining memories."""
    groups, size = lane_groups(params)
    lanes = lmem_word_bytes(params)
    multipliers = [
        f"matrix.lanes.group_{group}.dsp_{lane}" for group in range(groups) for lane in range(size)
    ]
    multipliers += [f"vector.products.array.dsp_{lane}" for lane in range(4)]
    blocks = [
        f"matrix.weights.group_{group}.{name}"
        for group in range(groups)
        for _, name in block_names("ecp5", 8 * size, weight_rows(params))
    ]
    rest = [
        f"local.lane_{lane}.{name}"
        for lane in range(lanes)
        for _, name in block_names("ecp5", 8, params["lmem_bytes"] // lanes)
    ]
    rest += [
        f"prefetch.bank_{bank}.{name}"
        for bank in range(2)
        for _, name in block_names("ecp5", 33, params["prefetch_words"])
    ]
    if len(blocks) > len(weights) or len(rest) > len(others):
        return {}
    return {
        name: place
        for names, there in ((multipliers, dsps), (blocks, weights), (rest, others))
        for name, place in zip(names, there, strict=False)
    }
