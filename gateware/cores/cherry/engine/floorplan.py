# SPDX-License-Identifier: BSD-2-Clause
"""Floorplan of large builds: sites of the multipliers and block RAMs.

Tiles pass between the ``dot`` units and the tile file, elements between the tile file and the banks
of MEM, all of them at once. So rows of the FPGA follow each other as the data do: INPUT and
WEIGHTS, the units' multipliers, OUTPUT and ACC, the crossbar, which has no places, and the banks;
each of them over the whole width, in the order of the tile's elements.
"""

from itertools import chain, zip_longest

from ....isa.parameters import Params
from ....primitives.bram import block_names
from ....primitives.floorplan import across, dsp_rows, ram_rows
from .memory.scratchpad import block_shape, row_bits
from .memory.tilefile import ACC, INPUT, OUTPUT, WEIGHTS
from .ops import element_bits, entries
from .units.dotlanes import Geometry

__all__ = ["floorplan"]


def floorplan(device: str, params: Params) -> dict[str, str]:
    """Fixed placements, name of the DSP or block RAM in the engine -> nextpnr's site. Empty
    without a plan: for less than 32 multipliers or 16 banks, and for FPGAs without four rows of
    block RAMs."""
    rams, dsps = ram_rows(device), dsp_rows(device)
    if params["macs"] < 32 or params["banks"] != 16 or len(rams) < 4:
        return {}
    found = {}

    def tiles(row, *registers):
        """Places tile registers in one row of block RAMs, interleaving their blocks."""
        names = [
            [
                f"tiles.tiles_{reg}.{name}"
                for _, name in block_names("ecp5", 16 * wide, entries(params))
            ]
            for reg, wide in registers
        ]
        for *blocks, beside in zip_longest(*names, across(row, max(map(len, names)), len(names))):
            found.update(
                (block, place) for block, place in zip(blocks, beside, strict=True) if block
            )

    tiles(rams[0], (INPUT, 18), (WEIGHTS, 18))
    tiles(rams[1], (OUTPUT, 18), (ACC, element_bits(params)))

    units = Geometry(params["macs"]).units
    for unit, multipliers in enumerate(
        chain.from_iterable(across(row, 8, 4) for row in (dsps[1], dsps[0])[: units // 8])
    ):
        found |= {
            f"dot.lanes.unit_{unit}.multipliers.dsp_{k}": place
            for k, place in enumerate(multipliers)
        }

    width, low = block_shape(row_bits(params))
    blocks = [
        f"ram_{block}_{offset}.cell"
        for block in range(1 << max(0, row_bits(params) - low))
        for offset in range(0, 18, width)
    ]
    if width < 18 and len(blocks) <= 5:
        above = (len(blocks) + 1) // 2
        below = max(2, len(blocks) // 2)
        for bank, here in enumerate(
            zip(across(rams[2], 16, max(2, above)), across(rams[3], 16, below), strict=True)
        ):
            found |= {
                f"mem.bank_{bank}.{block}": place
                for block, place in zip(blocks, chain.from_iterable(here), strict=False)
            }
    return found
