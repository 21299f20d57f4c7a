# SPDX-License-Identifier: BSD-2-Clause
"""OPU's workloads on compiled gateware: benches, runs, table rows.

Memory *ideal*: one beat of 2 bytes a cycle (UP5K: 4, its SPRAM's) on the core's one port, eight
cycles of latency; *sdram*: the default SoC of the ULX3S-85F with the model of its SDRAM chip. After
every run all of memory is compared with the golden model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ....gateware.cores.opu.model.model import Model
from ....gateware.cores.opu.params import SPACE
from ....tools.measure import Choice, Row
from ....tools.measure.bench import SHARED_COUNTERS, MeasuredBuild, ideal_bench, sdram_board
from .workloads import BUILDS, ROWS, build_params, program, values_of
from .workloads import Row as Workload

__all__ = ["Layer", "layer_rows", "layers", "measure", "workload_rows"]

#: Bytes of main memory; of preset ``sim`` those of the comparisons with the model, so that it is
#: the same build.
_MEMORY, _SIM_MEMORY = 1 << 22, 1 << 17


def open_build(build: str, memory: str) -> MeasuredBuild:
    """A build under test, on an ideal memory or with the SDRAM of a board."""
    preset, overrides = BUILDS[build]
    if memory == "sdram":
        return MeasuredBuild(board=sdram_board("opu", {"preset": preset, **overrides}))
    return MeasuredBuild(
        bench=ideal_bench(
            "opu",
            preset,
            4 if preset == "up5k" else 2,
            _SIM_MEMORY if preset == "sim" else _MEMORY,
            overrides=overrides,
        )
    )


def _image(compiled, network):
    image = compiled.image(values_of(network))
    return np.concatenate([image, np.zeros(-len(image) % 64, np.uint8)])


def run_exact(
    measured: MeasuredBuild, build: str, compiled: Any, network: Any, words: int | None = None
) -> dict[str, int]:
    """Executes a run, requires that memory equals the golden model's, and returns the counters;
    ``words``: run only the first ``words`` of the program, and ``end``."""
    image = _image(compiled, network)
    registers = dict(compiled.all_registers)
    if words is not None:
        end = compiled.program_at + 4 * words
        image[end : end + 4] = 0
        registers["program_length"] = 4 * words + 4
    model = Model(build_params(build), image)
    return measured.exact(build, model, image, registers, SHARED_COUNTERS).counters


def measure(
    row: Workload, measured: MeasuredBuild, known: dict[Any, dict[str, int]]
) -> tuple[float, dict[str, int]]:
    """Measures a row: ``(value compared with the bound, counters)``; ``known`` caches counters of
    runs."""

    def counters(workload):
        key = workload, row.build, row.schedule, row.memory
        if key not in known:
            network, compiled = program(workload, row.build, row.schedule)
            known[key] = run_exact(measured, row.build, compiled, network)
        return known[key]

    found = counters(row.workload)
    value = found["cycles"]
    if row.minus is not None:
        value = (value - counters(row.minus)["cycles"]) / row.per
    if row.what == "bytes a cycle":
        value = 1 / value
    return value, found


@dataclass(frozen=True)
class Layer:
    """A layer's share of a run: differences of counters between the program up to its end and up to
    the previous layer's end."""

    name: str
    macs: int
    counters: dict[str, int]


def layers(measured: MeasuredBuild, build: str, workload: str, schedule: bool) -> list[Layer]:
    """Measures each :class:`Layer` of a workload, by running the program up to the end of each
    layer."""
    network, compiled = program(workload, build, schedule)
    before, found = None, []
    images = 1 if network is None else network.batch
    for span in compiled.spans:
        last = span is compiled.spans[-1]
        now = run_exact(measured, build, compiled, network, None if last else span.end)
        part = {name: value - (before[name] if before else 0) for name, value in now.items()}
        macs = images * sum(layer.macs for layer in span.layers)
        found.append(Layer(span.name, macs, part))
        before = now
    return found


def _percent(value):
    return f"{100 * value:.1f} %"


def _macs(build: str) -> float:
    """Peak MACs per cycle of a build."""
    peaks = SPACE.peaks(build_params(build))
    assert peaks is not None  # the OPU declares them
    return peaks.macs


def workload_rows(choice: Choice, rows: Iterable[Workload] = ROWS) -> Iterator[Row]:
    """Measured rows of the acceptance workloads, with the bounds of section 10.2."""
    opened = cache(open_build)
    known: dict[Any, dict[str, int]] = {}
    for row in rows:
        if (
            row.build not in choice.presets
            or row.memory not in choice.memories
            or not choice.takes(row.workload)
        ):
            continue
        value, c = measure(row, opened(row.build, row.memory), known)
        more = {
            "build": row.build,
            "memory": row.memory,
            "aim": row.aim,
            "MACs of peak": _percent(c["operations"] / _macs(row.build) / c["cycles"]),
            **{
                k: _percent(c[n] / c["cycles"])
                for k, n in (
                    ("work", "work"),
                    ("operand", "stall_operand"),
                    ("write", "stall_write"),
                    ("fetch", "stall_fetch"),
                    ("other", "stall_other"),
                )
            },
        }
        yield Row(row.title, value, row.what, row.bound, row.what == "bytes a cycle", more)


def layer_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of a workload's layers, overlapped and one after another, and of their sums."""
    opened = cache(open_build)
    for build in choice.presets:
        for memory in choice.memories:
            for workload in choice.only:
                for schedule in (True, False):
                    more = {
                        "build": build,
                        "memory": memory,
                        "schedule": "tiles" if schedule else "layer after layer",
                    }
                    found = layers(opened(build, memory), build, workload, schedule)
                    yield from _layers(found, workload, _macs(build), more)


def _layers(found, workload, lanes, which):
    total = (
        {name: sum(layer.counters[name] for layer in found) for name in found[0].counters}
        if found
        else {}
    )
    for layer in (*found, Layer("all", sum(one.macs for one in found), total)):
        c = layer.counters
        more = {
            **which,
            "multiplications": layer.macs,
            "of peak": _percent(layer.macs / lanes / c["cycles"]),
            **{
                name.removeprefix("stall_"): c[name]
                for name in (
                    "work",
                    "stall_operand",
                    "stall_write",
                    "stall_fetch",
                    "stall_other",
                    "stall_ifm",
                    "stall_ker",
                    "stall_ofm",
                )
            },
        }
        yield Row(f"{workload}, {layer.name}", c["cycles"], "cycles", more=more)
