# SPDX-License-Identifier: BSD-2-Clause
"""Area of each unit of one PIM core after synthesis; LOAD, crossbar and counters are not included.

Of an ECP5, synthesised with the hierarchy kept, so a unit's figures are its own; the sum is some
percent more than of the flat netlist. Logic: LUTs, two for each pair of carry cells, six for 16 x 4
bits of distributed RAM.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from ....gateware.cores.pim.engine.core import ManyCoreEngine
from ....gateware.processes import run_child
from ....tools.build.toolchain import find_tool
from ....tools.measure import Choice, Row

__all__ = ["area_rows", "figures"]

FAMILY = "ecp5"
WEIGHTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


def unit_of(module: str) -> str:
    """Unit to which a module belongs, by its name such as ``top.matrix.post``."""
    path = [part.split("$")[0] for part in module.lstrip("\\").split(".")]
    return path[1] if len(path) > 1 else "processor"


def figures(preset: str, overrides: Mapping[str, Any] | None) -> dict[str, Counter[str]]:
    """Cells by unit, ``{unit: Counter}``: logic, registers, blocks of RAM, multipliers."""
    from amaranth.back import rtlil

    from ....gateware.cores import open_core
    from ....gateware.cores.pim.engine.processor import Processor

    package = open_core("pim")
    params = package.params.SPACE.resolve(preset, overrides)
    processor = Processor(params=params, number=0, beat_bytes=2, memory_size=1 << 25, family=FAMILY)
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place, options = Path(folder), ManyCoreEngine.synth_opts.get(FAMILY, "")
        before = ManyCoreEngine.synth_before.get(FAMILY, "")
        (place / "top.il").write_text(rtlil.convert(processor, name="top"))
        (place / "top.ys").write_text(
            f"read_rtlil top.il\n{before}\nsynth_{FAMILY} {options} -noflatten -top top\ntee "
            f"-q -o top.stat stat -json\n"
        )
        # The tools of YoWASP see their working directory only.
        run_child(
            [find_tool("yosys"), "-q", "-l", "top.rpt", "top.ys"],
            cwd=place,
            stdout=DEVNULL,
        ).check_returncode()
        modules = json.loads((place / "top.stat").read_text())["modules"]
    for name, module in modules.items():
        counts = found.setdefault(unit_of(name), Counter())
        for cell, number in module["num_cells_by_type"].items():
            counts["logic"] += WEIGHTS.get(cell, 0) * number
            counts["registers"] += number * (cell == "TRELLIS_FF")
            counts["rams"] += number * (cell == "DP16KD")
            counts["multipliers"] += number * (cell == "MULT18X18D")
    return found


def area_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of units, the largest first, and their sum."""
    for preset in choice.presets:
        found = figures(preset, choice.sizes)
        for unit, counts in (
            *sorted(found.items(), key=lambda item: -item[1]["logic"]),
            ("all", sum(found.values(), Counter())),
        ):
            yield Row(
                unit,
                counts["logic"],
                "LUTs",
                more={
                    "preset": preset,
                    "registers": counts["registers"],
                    "block RAMs": counts["rams"],
                    "multipliers": counts["multipliers"],
                },
            )
