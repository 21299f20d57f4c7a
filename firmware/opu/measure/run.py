# SPDX-License-Identifier: BSD-2-Clause
"""OPU's workloads on compiled gateware: benches, runs, table rows.

Memory *ideal*: one beat of 2 bytes a cycle (UP5K: 4, its SPRAM's) on the core's one port, eight
cycles of latency; *sdram*: the default SoC of the ULX3S-85F with the model of its SDRAM chip. After
every run all of memory is compared with the golden model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....gateware.cores.opu.model.model import Model
from ....gateware.cores.opu.params import SPACE
from ....gateware.isa.outcome import Outcome
from ....tools.measure import Choice, Row
from ....tools.measure.compare import SHARED_COUNTERS, compare_runs
from .workloads import BUILDS, ROWS, build_params, program, values_of
from .workloads import Row as Workload

__all__ = ["Layer", "MeasuredBuild", "layer_rows", "layers", "measure", "workload_rows"]

#: Bytes of main memory; of preset ``sim`` those of the comparisons with the model, so that it is
#: the same build.
_MEMORY, _SIM_MEMORY = 1 << 22, 1 << 17


class MeasuredBuild:
    """A build under test, with an ideal memory or the SDRAM of a board."""

    def __init__(self, build: str, memory: str) -> None:
        self.build, self.memory = build, memory
        preset, overrides = BUILDS[build]
        if memory == "ideal":
            from ....boards.virtual.bench import CoreBench

            self.bench = CoreBench(
                "opu",
                preset=preset,
                overrides=overrides,
                beat_bytes=4 if preset == "up5k" else 2,
                memory_size=_SIM_MEMORY if preset == "sim" else _MEMORY,
                ports="shell",
            )
        else:
            from ....tools.targets.names import open_sim_target

            options = "".join(f"&{name}={value}" for name, value in overrides.items())
            self.target = open_sim_target(f"sim:ulx3s-85f/opu?preset={preset}{options}")

    def run(self, image: np.ndarray, registers: Mapping[str, int]) -> tuple[Outcome, np.ndarray]:
        """Executes a run: ``(Outcome, memory after the run)``."""
        if self.memory == "ideal":
            self.bench.load(image)
            outcome = self.bench.run({"window_limit": image.size, **registers}, 100_000_000)
            return outcome, self.bench.memory[: image.size].copy()
        self.target.reset_core()
        chip = self.target.board.chip
        assert chip is not None  # the ULX3S has one
        chip[: image.size] = image
        outcome = self.target.run({"window_limit": image.size, **registers}, 100_000_000)
        return outcome, chip[: image.size].copy()


def _image(compiled, network):
    image = compiled.image(values_of(network))
    return np.concatenate([image, np.zeros(-len(image) % 64, np.uint8)])


def run_exact(
    measured: MeasuredBuild, compiled: Any, network: Any, words: int | None = None
) -> dict[str, int]:
    """Executes a run, requires that memory equals the golden model's, and returns the counters;
    ``words``: run only the first ``words`` of the program, and ``end``."""
    image = _image(compiled, network)
    registers = dict(compiled.all_registers)
    if words is not None:
        end = compiled.program_at + 4 * words
        image[end : end + 4] = 0
        registers["program_length"] = 4 * words + 4
    expected = image.copy()
    wanted = Model(build_params(measured.build), expected).run(registers)
    outcome, memory = measured.run(image, registers)
    compare_runs(measured.build, outcome, wanted, memory, expected, SHARED_COUNTERS)
    return outcome.counters


def measure(
    row: Workload, measured: MeasuredBuild, known: dict[Any, dict[str, int]]
) -> tuple[float, dict[str, int]]:
    """Measures a row: ``(value compared with the bound, counters)``; ``known`` caches counters of
    runs."""

    def counters(workload):
        key = workload, row.build, row.schedule, row.memory
        if key not in known:
            network, compiled = program(workload, row.build, row.schedule)
            known[key] = run_exact(measured, compiled, network)
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


def layers(measured: MeasuredBuild, workload: str, schedule: bool) -> list[Layer]:
    """Measures each :class:`Layer` of a workload, by running the program up to the end of each
    layer."""
    network, compiled = program(workload, measured.build, schedule)
    before, found = None, []
    for span in compiled.layers:
        last = span is compiled.layers[-1]
        now = run_exact(measured, compiled, network, None if last else span.end)
        part = {name: value - (before[name] if before else 0) for name, value in now.items()}
        found.append(Layer(span.name, span.macs, part))
        before = now
    return found


def _percent(value):
    return f"{100 * value:.1f} %"


class _MeasuredBuilds(dict):
    """Measured builds by pair of build and memory, created on first use."""

    def __missing__(self, key):
        self[key] = MeasuredBuild(*key)
        return self[key]


def _macs(build: str) -> float:
    """Peak MACs per cycle of a build."""
    peaks = SPACE.peaks(build_params(build))
    assert peaks is not None  # the OPU declares them
    return peaks.macs


def workload_rows(choice: Choice, rows: Iterable[Workload] = ROWS) -> Iterator[Row]:
    """Measured rows of the acceptance workloads, with the bounds of section 10.2."""
    builds = _MeasuredBuilds()
    known: dict[Any, dict[str, int]] = {}
    for row in rows:
        if (
            row.build not in choice.presets
            or row.memory not in choice.memories
            or not choice.takes(row.workload)
        ):
            continue
        value, c = measure(row, builds[row.build, row.memory], known)
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
    builds = _MeasuredBuilds()
    for build in choice.presets:
        for memory in choice.memories:
            for workload in choice.only:
                for schedule in (True, False):
                    yield from _layers(builds[build, memory], workload, schedule, _macs(build))


def _layers(measured, workload, schedule, lanes):
    found = layers(measured, workload, schedule)
    total = (
        {name: sum(layer.counters[name] for layer in found) for name in found[0].counters}
        if found
        else {}
    )
    for layer in (*found, Layer("all", sum(one.macs for one in found), total)):
        c = layer.counters
        more = {
            "build": measured.build,
            "memory": measured.memory,
            "schedule": "tiles" if schedule else "layer after layer",
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
