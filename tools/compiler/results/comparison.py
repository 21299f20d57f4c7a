# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of one network on every core of a board."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ...build.reached import time_clock
from ...errors import QuintetError
from ...targets.ceilings import moved
from ..backends import backend_names
from ..backends.base import LoweringError
from ..evaluate import run_graph
from ..fidelity import reference_tensors
from ..planning import Options, compile_graph, random_calibration
from ..session import Session
from ..target_build import target_build
from ..values import from_graph, to_graph
from ..verification import verify_plan
from .accuracy import agreement, signal_to_noise
from .layers import layer_counters, layer_snr
from .places import build_object
from .report import plan_rows

if TYPE_CHECKING:
    from ..graph import Graph
    from .kept import KeptResults

__all__ = [
    "Cell",
    "NetworkComparison",
    "clock_notes",
    "compare_network",
    "comparison_of",
    "comparison_rows",
]


@dataclass
class Cell:
    """Result of one core in a comparison: accuracy, cycles, time and memory.

    ``cycles`` of one input, ``measured`` or estimated; ``clock_hz`` that the board is built for;
    ``time_hz`` that times are computed with and ``clock_note``, where it is from, as of
    :func:`~quintet.tools.build.reached.time_clock`;
    ``agreement``: share of inputs whose first class is the float network's; ``snr``: dB against it;
    ``correct``: inputs of the label's class; ``memory``, ``moved``: bytes of main memory taken, and
    moved for an input; ``equal``: whether every tensor of every layer is that of the reference, on
    the virtual board; ``seconds`` that it took to compile; ``refusal``: why there is none of this;
    ``build``: parameters, ceilings and places, as :func:`~.places.build_object` gives them, and
    ``inputs`` of a run, for which ``counters`` are.
    """

    isa: str
    preset: str | None = None
    refusal: str | None = None
    cycles: int | None = None
    measured: bool = False
    estimated: int | None = None
    clock_hz: int | None = None
    time_hz: float | None = None
    clock_note: str = ""
    agreement: float | None = None
    snr: float | None = None
    correct: int | None = None
    memory: int | None = None
    moved: int | None = None
    macs: int | None = None
    equal: bool | None = None
    seconds: float | None = None
    layers: list[dict[str, Any]] = field(default_factory=list)
    counters: dict[str, float] = field(default_factory=dict)
    build: dict[str, Any] = field(default_factory=dict)

    @property
    def milliseconds(self) -> float | None:
        """Time per input in milliseconds, ``None`` if cycles or clock are unknown."""
        return None if not self.cycles or not self.time_hz else self.cycles / self.time_hz * 1e3

    @property
    def bytes_of_an_input(self) -> float | None:
        """Bytes of main memory traffic per input: counted by the target, else estimated by the
        compiler."""
        counted = (
            moved(self.counters, self.build.get("ceilings")) / (self.build.get("inputs") or 1)
            if self.measured
            else 0
        )
        return round(counted) or self.moved


@dataclass
class NetworkComparison:
    """Comparison of all cores: ``cells``, the ``inputs`` used for accuracy, and ``correct`` of the
    float network."""

    network: str
    board: str
    inputs: int
    correct: int | None
    cells: list[Cell]
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Serialises the comparison for JSON."""
        return {
            **asdict(self),
            "cells": [{**asdict(cell), "milliseconds": cell.milliseconds} for cell in self.cells],
        }


def comparison_of(values: Mapping[str, Any]) -> NetworkComparison:
    """Restores a comparison from its dict, the inverse of :meth:`NetworkComparison.as_dict`;
    further keys are ignored."""

    return NetworkComparison(
        values["network"],
        values["board"],
        values["inputs"],
        values.get("correct"),
        [_cell_of(one) for one in values["cells"]],
        list(values["notes"]),
    )


def _cell_of(values):
    """Restores a :class:`Cell` from the fields that ``asdict`` gave."""
    return Cell(
        **{
            each.name: values[each.name]
            for each in fields(Cell)
            if values.get(each.name) is not None
        }
    )


def compare_network(
    graph: Graph,
    board: str,
    isas: Sequence[str] | None = None,
    calibration: dict[str, np.ndarray] | None = None,
    inputs: dict[str, np.ndarray] | None = None,
    labels: np.ndarray | None = None,
    *,
    host_steps: bool = False,
    estimate: bool = False,
    verify: bool = False,
    layers: bool = True,
    progress: Callable[..., None] | None = None,
    kept: KeptResults | None = None,
) -> NetworkComparison:
    """Compiles a graph for the cores of a board and compares them.

    Parameters
    ----------
    isas : names, each with ``?preset=`` or not; ``None``: all. Without a preset a core has the
        board's preset for networks, if it has one, else its default one
    calibration, inputs : dict, name of an input -> array in the user's layout; ``None``: random,
        and those of calibration
    labels : classes of ``inputs``
    layers : bool, cycles of each layer are measured as well
    kept : KeptResults, which gets each core's cell, and holds those that are not computed again
    """
    notes = []
    if calibration is None:
        notes.append(
            "judged by RANDOM inputs, since nothing was given to calibrate with: accuracies "
            "mean nothing"
        )
        calibration = random_calibration(graph)
    inputs = inputs or {name: array[:100] for name, array in calibration.items()}
    values = run_graph(
        graph, {port.tensor: to_graph(port, inputs[port.name]) for port in graph.inputs}
    )
    exact = {port.name: from_graph(port, values[port.tensor]) for port in graph.outputs}
    cells: list[Cell] = []
    wanted = isas or backend_names()
    for isa in wanted:
        if progress is not None:
            progress("cores", len(cells), len(wanted))
        if kept is not None and isa in kept.results:
            cells.append(_cell_of(kept.results[isa]))
            continue
        name = isa.partition("?")[0]
        try:
            cell = _cell(
                graph,
                _target(board, isa),
                calibration,
                inputs,
                labels,
                exact,
                host_steps,
                estimate,
                verify,
                layers,
                progress,
            )
        except (QuintetError, LoweringError, ValueError) as error:
            if name not in backend_names():
                raise
            cell = Cell(name, refusal=str(error))
        cells.append(cell)
        if kept is not None:
            kept.add(isa, asdict(cell))
    return NetworkComparison(
        graph.name,
        board,
        len(next(iter(inputs.values()))),
        None if labels is None else _correct(exact, labels),
        cells,
        notes,
    )


def _target(board, isa):
    """Name of the virtual target that a core is judged on."""
    from quintet.boards import open_board

    preset = None if "?" in isa else open_board(board).network_presets.get(isa)
    return f"sim:{board}/{isa}" + (f"?preset={preset}" if preset else "")


def _correct(values, labels):
    (scores,) = values.values()
    return int((scores.reshape(len(scores), -1).argmax(1) == labels).sum())


def _cell(
    graph,
    target,
    calibration,
    inputs,
    labels,
    exact,
    host_steps,
    estimate,
    verify,
    layers,
    progress,
):
    build = target_build(target)
    began = time.monotonic()
    plan = compile_graph(graph, build, calibration, Options(host_steps=host_steps), progress)
    seconds = round(time.monotonic() - began, 2)
    rows, clock = plan_rows(plan), time_clock(build)
    cell = Cell(
        build.isa,
        build.preset,
        estimated=round(plan.cycles),
        cycles=round(plan.cycles),
        clock_hz=plan.clock(build.clock_hz),
        time_hz=plan.clock(clock.hz),
        clock_note=clock.note,
        memory=plan.memory,
        moved=sum(row["bytes"] for row in rows),
        macs=sum(row["macs"] for row in rows),
        layers=rows,
        seconds=seconds,
    )
    cell.build = {
        **build_object(plan, clock_hz=build.clock_hz),
        "inputs": max(step.lowered.images for step in plan.core_steps),
    }
    if progress is not None:
        progress(f"{build.isa}: reference")
    given = {port.tensor: to_graph(port, inputs[port.name]) for port in plan.inputs}
    numbers, values = reference_tensors(plan, given)
    snr = layer_snr(plan, given, numbers)
    cell.layers = plan_rows(plan, snr=snr)
    found = {port.name: from_graph(port, values[port.tensor]) for port in plan.outputs}
    cell.snr = signal_to_noise(
        np.concatenate([exact[name].ravel() for name in exact]),
        np.concatenate([found[name].ravel() for name in exact]),
    )
    if len(exact) == 1 and next(iter(exact.values()))[0].size > 1:
        cell.agreement = agreement(*exact.values(), *found.values())
        cell.correct = None if labels is None else _correct(found, labels)
    from ...targets import open_target

    name = f"{build.target}&load=direct"
    if verify:
        one = {tensor: array[:1] for tensor, array in given.items()}
        cell.equal = verify_plan(
            plan, one, name, lambda: open_target(name, progress), "reference", None, progress
        ).equal
    if not estimate:
        with Session(plan, open_target(name, progress), progress, overlap=False) as session:
            # The first input may find the core empty; the second is typical of all others.
            for _ in range(2):
                before = dict(session.report.counters)
                session.run_steps(
                    {
                        name: array[: max(step.lowered.images for step in plan.core_steps)]
                        for name, array in given.items()
                    }
                )
            counters = {
                name: value - before.get(name, 0) for name, value in session.report.counters.items()
            }
            if layers:
                cell.layers = plan_rows(plan, layer_counters(session, given), snr)
        cell.counters, cell.measured = counters, True
        cell.cycles = round(
            counters["cycles"] / max(step.lowered.images for step in plan.core_steps)
        )
    return cell


def comparison_rows(found: NetworkComparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A comparison as a table: (columns, rows)."""
    columns = (
        "core",
        ">cycles",
        ">ms",
        ">inputs/s",
        ">same class",
        ">SNR dB",
        *((">correct",) if found.correct is not None else ()),
        ">memory",
    )
    rows: list[tuple[str, ...]] = []
    if found.correct is not None:
        rows.append(
            ("float", "", "", "", "", "", f"{100 * found.correct / found.inputs:.1f} %", "")
        )
    for cell in found.cells:
        if cell.refusal:
            rows.append((cell.isa, "refused", *[""] * (len(columns) - 2)))
            continue
        time = cell.milliseconds
        rows.append(
            (
                cell.isa,
                f"{cell.cycles:,}" + ("" if cell.measured else "*"),
                f"{time:.3f}" if time else "-",
                f"{1e3 / time:,.0f}" if time else "",
                "" if cell.agreement is None else f"{100 * cell.agreement:.1f} %",
                "" if cell.snr is None else f"{cell.snr:.1f}",
                *(
                    ()
                    if found.correct is None
                    else ("",)
                    if cell.correct is None
                    else (f"{100 * cell.correct / found.inputs:.1f} %",)
                ),
                "" if cell.memory is None else f"{cell.memory / 1024:,.0f} KiB",
            )
        )
    return columns, rows


def clock_notes(found: NetworkComparison) -> list[str]:
    """Clock from which each core's times are computed, or the reason why there is none."""
    return [
        f"{cell.isa} {cell.preset or ''}".rstrip() + f": {cell.clock_note}"
        for cell in found.cells
        if cell.clock_note
    ]
