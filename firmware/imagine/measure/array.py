# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of IMAGine's array: cycles in the simulator, cells of the array alone by yosys, and
the clock of eight blocks with decoder, issue stage, controller and dispatch on an LFE5U-25F
(:mod:`.clock`)."""

import tempfile
from collections.abc import Iterator

from ....gateware.cores.imagine.model import cycles
from ....tools.measure import Choice, Row

__all__ = ["area_rows", "clock_rows", "cycle_rows"]

#: Mapping -> (width of a register, depth).
MAPPINGS = {
    "tdp": (16, 256),
    "tdp-8": (8, 128),
    "tdp-4": (4, 64),
    "sdp2": (16, 256),
    "sdp1": (16, 256),
}


def cycle_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of instructions: cycles from dispatch to dispatch, beside the published
    formulas."""
    from ....gateware.cores.imagine.engine.mapping import Mapping
    from .dispatch import run
    from .words import accumulate, add, fold, kernel, move, step

    for name in choice.presets:
        width, depth = MAPPINGS[name]
        mapping = Mapping(2, 4, width, depth, name.split("-")[0])
        more = {"mapping": name}
        cases = [
            ("add, sub", [add(3, 1, 2)] * 3, 2 * width + 1),
            ("mov", [move(0, 3, 1)] * 3, width + 5),
            ("updatepp", [step(3, 1, 2, bit) for bit in range(3)], 2 * width + 3),
        ]
        cases += [(f"accumRow({k})", [accumulate(k, 1)] * 3, width + 6 + 2**k) for k in range(4)]
        cases += [
            ("add, then updatepp of its result", [add(1, 2, 2), step(3, 1, 2, 0)], 2 * width + 1),
            ("mov, then add of its result", [move(0, 3, 1), add(1, 3, 3)], width + 5),
            ("fold, then movOffset of its result", [fold(1, 3, 1), move(1, 1, 3)], width + 5),
        ]
        for what, words, formula in cases:
            starts, _ = run(mapping, [0, *words, 0])
            yield Row(what, starts[2] - starts[1], "cycles", more={**more, "formula": formula})
        starts, results = run(mapping, kernel(width, 2))
        yield Row(
            "GEMV and bias, first word",
            results[0][0] - starts[0],
            "cycles",
            more={**more, "formula": cycles.gemv(width, 2, 4)[0]},
        )


def area_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of LUTs and flip-flops per processing element, for 8 x 2 blocks of depth
    512."""
    from ....gateware.cores.imagine.engine.array import Array
    from ....gateware.cores.imagine.engine.mapping import Mapping
    from ....tools.build.bitstream import synthesise

    for ram in choice.presets:
        mapping = Mapping(8, 2, 16, 512, ram)
        with tempfile.TemporaryDirectory() as folder:
            cells = synthesise(Array(mapping=mapping, family="ecp5"), "ecp5", folder)
        luts = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0)
        yield Row(
            ram,
            luts / mapping.pes,
            "LUT4 a PE",
            more={"flip-flops a PE": cells["TRELLIS_FF"] / mapping.pes, "PEs": mapping.pes},
        )


def clock_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows by seed: the clock of eight blocks after place and route; 200 MHz are
    required."""
    from .clock import place_and_route

    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, choice.settings["seeds"] + 1):
            reached, cells, path = place_and_route(
                folder, seed, choice.settings["freq"], choice.settings["router"]
            )
            yield Row(
                f"seed {seed}",
                reached,
                "MHz",
                200,
                True,
                {
                    **{name: cells[name] for name in ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")},
                    "longest path": f"{path[0]['from']['cell']} to {path[-1]['to']['cell']}",
                    "ns": sum(step["delay"] for step in path),
                    "ns in nets": sum(step["delay"] for step in path if step["type"] == "routing"),
                },
            )
