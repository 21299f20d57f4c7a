# SPDX-License-Identifier: BSD-2-Clause
"""Cycles of Cherry's workloads (specification, section 10) on compiled gateware.

The matrices lie in MEM. A workload runs as one step of a program list and as two, the second
prepared beside the first; the difference is what its programs take, without image and DMA. After
every run all of MEM that is in use is compared with the golden model's.
"""

import random
from collections.abc import Iterator, Sequence

import numpy as np

from ....gateware.cores.cherry.image import (
    IN,
    OUT,
    Descriptor,
    ProgramImage,
    Step,
    image_bytes,
    list_bytes,
)
from ....gateware.cores.cherry.model.model import Model
from ....gateware.cores.cherry.software import SOFTWARE
from ....gateware.isa.asm import assemble_text
from ....tools.measure import Choice, Row
from ....tools.measure.bench import MeasuredBuild, ideal_bench
from .elements import random_element
from .workloads import PRESETS, WORKLOADS, Workload, source

__all__ = ["MeasuredScratchpad", "image_of", "measure", "workload_rows"]

_MEMORY, _LIST_AT, _DATA_AT = 1 << 18, 0x1000, 0x10000
#: Elements in use, a row of a descriptor, and rows.
_ROW, _ROWS = 1024, 16


class MeasuredScratchpad:
    """A build's bench and its golden model, with the same elements in MEM."""

    def __init__(self, preset: str) -> None:
        from ....boards.virtual.bench import IDEAL

        self.bench = ideal_bench("cherry", preset, 4 if preset == "45f" else 2, _MEMORY)
        self.bench.behave(IDEAL)
        self.model = Model(self.bench.params, np.zeros(_MEMORY, np.uint8))
        rnd = random.Random(preset)
        self.rows = min(_ROWS, (1 << self.bench.params["log_mem"]) // _ROW)
        self.elements = [random_element(rnd) for _ in range(_ROW * self.rows)]

    def _run(self, data):
        """A program list on both; counters of the gateware."""
        memory = np.zeros(_MEMORY, np.uint8)
        memory[_LIST_AT : _LIST_AT + len(data)] = np.frombuffer(data, np.uint8)
        memory[_DATA_AT : _DATA_AT + 4 * len(self.elements)] = np.array(self.elements, "<u4").view(
            np.uint8
        )
        return (
            MeasuredBuild(bench=self.bench)
            .exact("the workload", self.model, memory, {"program_address": _LIST_AT})
            .counters
        )

    def _dma(self, op):
        image = image_bytes(ProgramImage(wide=self.bench.params["acc_frac"] == 17))
        transfer = [Descriptor(op, "raw", _DATA_AT, 0, self.rows, _ROW, 4 * _ROW, _ROW)]
        self._run(
            list_bytes(
                [(image, Step(0), transfer if op == IN else [], transfer if op == OUT else [])]
            )
        )

    def run(self, images: Sequence[bytes]) -> dict[str, int]:
        """Counters of a list of programs, from the same elements; the second and later ones are
        prefetched."""
        self._dma(IN)
        counters = self._run(
            list_bytes([(image, Step(0, prefetch=k > 0), [], []) for k, image in enumerate(images)])
        )
        self._dma(OUT)
        return counters


def measure(measured: MeasuredScratchpad, workload: Workload, preset: str) -> int:
    """Cycles of a workload's programs, one after another."""
    text, names = source(workload, preset)
    total = 0
    for name in names:
        one = image_of(text, name)
        total += measured.run([one, one])["cycles"] - measured.run([one])["cycles"]
    return total


def image_of(text: str, name: str) -> bytes:
    """Image of the program ``name`` in the assembly ``text``."""
    lines, keep = [], False
    for line in text.splitlines():
        if line.startswith(".program"):
            keep = line.split()[1] == name
        if keep:
            lines.append(line)
    return assemble_text(SOFTWARE, "\n".join(lines) + "\n").data


def workload_rows(choice: Choice) -> Iterator[Row]:
    """Rows of the workloads on the presets; required is at most a tenth more than the estimate, or
    a quarter more than the bound."""
    for preset in choice.presets:
        measured, column = (
            MeasuredScratchpad(preset),
            PRESETS.index(preset) if preset in PRESETS else None,
        )
        for workload in WORKLOADS:
            if choice.takes(workload.name):
                yield row_of(
                    workload,
                    preset,
                    measure(measured, workload, preset),
                    column,
                    measured.bench.params["macs"],
                )


def row_of(
    workload: Workload,
    preset: str,
    cycles: float,
    column: int | None,
    macs: float | None,
    *,
    required: bool = True,
) -> Row:
    """Row of a workload's cycles; ``column`` of its estimates, ``None`` if the preset has none."""
    estimate, limit = (
        (None, None) if column is None else (workload.estimates[column], workload.bounds[column])
    )
    most = (
        1.25 * limit
        if estimate is None and limit is not None
        else 1.1 * estimate
        if estimate is not None
        else None
    )
    more = {
        "preset": preset,
        "estimate": estimate,
        "of the estimate": "-" if estimate is None else f"{100 * cycles / estimate - 100:+.1f} %",
        "limit": limit,
        "of peak": f"{100 * workload.macs / macs / cycles:.1f} %" if workload.macs and macs else "",
    }
    return Row(
        workload.name,
        cycles,
        "cycles",
        int(most) if required and most is not None else None,
        more=more,
    )
