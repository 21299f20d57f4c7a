# SPDX-License-Identifier: BSD-2-Clause
"""OpenTPU's acceptance workloads (specification, section 10.3) on compiled gateware; results are
compared with numpy's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....gateware.isa.outcome import Outcome
from ....tools.measure import Choice, Differs, Row
from ....tools.measure.bench import MeasuredBuild, ideal_bench, sdram_board
from .case import Case
from .workloads import WORKLOADS, workload

__all__ = ["Measured", "measure", "open_board", "open_ideal", "workload_rows"]

#: One build carries all workloads of a size: sizes are a minimum.
_IDEAL = {
    4: ("25f-4x4", {}),
    8: ("85f-8x8", {"ext_conv": True, "ext_pool": True, "ext_diag": True}),
    12: ("85f-12x12", {"ext_diag": True}),
    16: ("85f-16x16", {}),
}


@dataclass
class Measured:
    """Result of a workload's run: ``exact`` results, and ``cycles`` with their ``bound`` (required)
    and ``aim``."""

    name: str
    exact: bool
    cycles: int
    bound: int | None
    aim: int | None
    t_a: int
    outcome: Outcome


def open_ideal(n: int) -> MeasuredBuild:
    """Opens a bench for the workloads with arrays of side ``n`` and an ideal memory."""
    from ....boards.virtual.bench import IDEAL

    preset, overrides = _IDEAL[n]
    bench = ideal_bench("opentpu", preset, n, 1 << 17, overrides=overrides, ports="bare")
    bench.behave(IDEAL)
    return MeasuredBuild(bench=bench)


def open_board() -> MeasuredBuild:
    """Opens the default SoC of the ULX3S-85F with its SDRAM, as a virtual board."""
    return MeasuredBuild(board=sdram_board("opentpu"))


def _exact(case, memory):
    return all(
        (memory[at : at + e.size].view(np.int8).reshape(e.shape) == e).all()
        for at, e in case.expected.items()
    )


def measure(case: Case, build: MeasuredBuild) -> Measured:
    """Runs ``case`` on a build of :func:`open_ideal` or :func:`open_board`."""
    outcome, memory = build.run(case.memory, case.registers)
    return Measured(
        case.name,
        outcome.status == "done" and _exact(case, memory),
        outcome.counters["cycles"],
        case.bound,
        case.aim,
        case.t_a,
        outcome,
    )


def workload_rows(choice: Choice) -> Iterator[Row]:
    """Measured rows of the workloads, with the bounds of section 10.3."""
    opened: dict[int, MeasuredBuild] = {}
    for name in WORKLOADS:
        if not choice.takes(name):
            continue
        case = workload(name)
        on_board = case.kind == "sdram16"
        key = 0 if on_board else case.params["n"]
        if key not in opened:
            opened[key] = open_board() if on_board else open_ideal(key)
        found = measure(case, opened[key])
        if not found.exact:
            raise Differs(f"{name}: the results are not those of numpy")
        yield Row(
            name,
            found.cycles,
            "cycles",
            found.bound,
            more={
                "memory": case.kind,
                "aim": found.aim,
                "T_a": found.t_a,
                "array busy": f"{100 * found.outcome.counters['work'] / found.cycles:.1f} %",
            },
        )
