# SPDX-License-Identifier: BSD-2-Clause
"""Memory map of a plan's programs, constants and tensors, and the roofline ceilings of its
build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...targets.ceilings import board_memory, ceilings
from ...targets.names import parse_target

if TYPE_CHECKING:
    from ...targets.base import TargetInfo
    from ..plan.plan import Plan

__all__ = ["build_object", "plan_places"]


def plan_places(plan: Plan) -> list[dict[str, Any]]:
    """Memory map in address order: ``what``, ``kind`` (program, constants, input, output, tensor),
    ``at``, ``bytes``. Tensors may overlap since not all are live at once; with several programs
    each name says its program."""
    found = []
    for number, step in enumerate(plan.core_steps):
        lowered, prefix = step.lowered, f"program {number}: " if len(plan.core_steps) > 1 else ""
        found.append((f"{prefix}program", "program", lowered.program_at, len(lowered.program)))
        found += [
            (f"{prefix}setup {count}", "program", at, len(data))
            for count, (data, at) in enumerate(lowered.setup)
        ]
        found += [
            (prefix + what, "constants", at, int(data.size)) for at, data, what in lowered.constants
        ]
        for kind, placed in (
            ("input", lowered.inputs),
            ("output", lowered.outputs),
            ("tensor", lowered.tensors),
        ):
            found += [
                (prefix + name, kind, place.layout.first, place.layout.end - place.layout.first)
                for name, place in placed.items()
                if kind != "tensor" or name not in lowered.inputs and name not in lowered.outputs
            ]
    return [
        {"what": what, "kind": kind, "at": at, "bytes": size}
        for what, kind, at, size in sorted(found, key=lambda place: (place[2], place[3]))
        if size
    ]


def build_object(
    plan: Plan, info: TargetInfo | None = None, clock_hz: float | None = None
) -> dict[str, Any]:
    """The build that a plan runs on, as results store it: ``isa``, ``preset``, ``params``,
    ``memory_size``, ``memory_used``, ``ceilings``, ``places``.

    Parameters
    ----------
    info : TargetInfo of the target that it ran on, or ``None``: the board that it was made for
    clock_hz : main clock in Hz, where there is no ``info``
    """
    if info is not None:
        memory = info.memory
    else:
        options = parse_target(plan.target).options if plan.target else {}
        on_chip, rate = options.get("on_chip"), options.get("sdram_rate")
        memory = board_memory(
            plan.board,
            plan.memory_size,
            plan.isa,
            plan.params,
            plan.preset,
            None if on_chip is None else int(on_chip),
            None if rate is None else int(rate),
        )
    return {
        "isa": plan.isa,
        "preset": plan.preset if info is None else info.preset,
        "params": dict(plan.params if info is None else info.params),
        "memory_size": plan.memory_size if info is None else info.memory_size,
        "memory_used": plan.memory,
        "ceilings": ceilings(
            plan.isa, plan.params, memory, clock_hz if info is None else info.clock_hz
        ),
        "places": plan_places(plan),
    }
