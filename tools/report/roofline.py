# SPDX-License-Identifier: BSD-2-Clause
"""Roofline model: the peak of a build by arithmetic intensity, and the points of a job and its
layers relative to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..targets.ceilings import moved

__all__ = ["Point", "Roof", "above", "describe", "merged_layers", "roof_lines", "uncounted"]


@dataclass(frozen=True)
class Roof:
    """Performance ceilings of a build in ``macs`` and ``bytes`` per cycle, ``bytes`` ``None`` if
    main memory is unknown; ``uncounted``: traffic that the points' bytes omit; ``on_chip``: bytes
    per cycle of the part of main memory that lies on chip, if there is one."""

    name: str
    macs: float
    bytes: float | None
    uncounted: str = ""
    on_chip: float | None = None

    @property
    def ridge(self) -> float | None:
        """Arithmetic intensity (MACs per byte) from which on the build is compute-bound, wherever
        its data lie."""
        return None if not self.bytes else self.macs / self.bytes

    @property
    def near_ridge(self) -> float | None:
        """The same with all data on chip; ``None`` without on-chip memory."""
        return None if not self.on_chip else self.macs / self.on_chip

    def bound(self, point: Point) -> str:
        """Limiting resource of a point: ``memory``, ``the array``, or, with two memories, ``memory
        off chip`` where only that one is too slow; empty if unknown."""
        if self.ridge is None:
            return ""
        if point.intensity >= self.ridge:
            return "the array"
        if self.near_ridge is not None and point.intensity >= self.near_ridge:
            return "memory off chip"
        return "memory"

    def at(self, intensity: float) -> float:
        """Peak MACs per cycle at an arithmetic intensity (MACs per byte), with all data on chip if
        there is such a memory."""
        if self.bytes is None:
            return self.macs
        return min(self.macs, max(self.bytes, self.on_chip or 0.0) * intensity)

    def corners(self, low: float, high: float) -> list[tuple[float, float]]:
        """Corners (intensity, MACs per cycle) of its line from ``low`` to ``high``. A build with
        two memories has two slopes: the line begins at ``high`` and turns at ``low``."""

        def line(ridge, rate):
            inside = [ridge] if ridge and low < ridge < high else []
            return [(x, min(self.macs, rate * x)) for x in (low, *inside, high)]

        if self.bytes is None:
            return [(x, self.macs) for x in (low, high)]
        slope = line(self.ridge, self.bytes)
        return slope if not self.on_chip else slope[::-1] + line(self.near_ridge, self.on_chip)


@dataclass(frozen=True)
class Point:
    """A measured or estimated point: ``macs``, ``cycles`` and ``bytes`` of main memory; ``kind`` is
    job, layer, ..."""

    name: str
    kind: str
    macs: float
    cycles: float
    bytes: float

    @property
    def shown(self) -> bool:
        """Whether the point can be shown in a chart."""
        return min(self.macs, self.cycles, self.bytes) > 0

    @property
    def rate(self) -> float:
        """MACs per cycle."""
        return self.macs / self.cycles

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, MACs per byte."""
        return self.macs / self.bytes

    def share(self, roof: Roof) -> float:
        """Share of the roof at the point's intensity, 0 to 1."""
        return self.rate / roof.at(self.intensity)


def roof_lines(roofs: Iterable[Roof], points: Iterable[Point]) -> list[dict[str, Any]]:
    """Corners of all roofs as rows ``build``, ``x``, ``y`` and ``order``, wide enough for the
    points and the ridges."""
    places = [point.intensity for point in points if point.shown] + [
        ridge for roof in roofs for ridge in (roof.ridge, roof.near_ridge) if ridge
    ]
    low, high = (min(places) / 3, max(places) * 3) if places else (0.1, 100.0)
    corners = ((roof, corner) for roof in roofs for corner in roof.corners(low, high))
    return [
        {"build": roof.name, "x": x, "y": y, "order": order}
        for order, (roof, (x, y)) in enumerate(corners)
    ]


def describe(roof: Roof, point: Point | None = None) -> str:
    """Describes a roof and a point relative to it, in sentences."""
    most = f"This build does at most {roof.macs:,.4g} MACs a cycle"
    if roof.bytes is None:
        said = [f"{most}; what its main memory moves is not known."]
    else:
        said = [
            f"{most} and moves at most {roof.bytes:,.3g} bytes of main memory in one; below "
            f"{roof.ridge:,.3g} MACs a byte memory is the bound, above it the array."
        ]
        if roof.near_ridge is not None:
            said.append(
                f"The part of main memory on chip moves {roof.on_chip:,.3g}: of data there, memory "
                f"is the bound below {roof.near_ridge:,.3g} MACs a byte."
            )
    if point is not None and point.shown:
        bound = f", bound by {roof.bound(point)}" if roof.bound(point) else ""
        said.append(
            f"{point.name[:1].upper()}{point.name[1:]}: {point.rate:,.3g} MACs a cycle at "
            f"{point.intensity:,.3g} MACs a byte: {100 * point.share(roof):.0f} % of what is "
            f"possible there{bound}."
        )
    if roof.uncounted:
        said.append(uncounted(roof))
    return " ".join(said)


def uncounted(roof: Roof) -> str:
    """Sentence about memory traffic that no counter counts."""
    return (
        f"Its bytes are without {roof.uncounted}: what moves them in every run belongs further "
        f"left."
    )


def above(roof: Roof, points: Iterable[Point]) -> str:
    """Sentence about points above their roof, which is possible for layers of a program but never
    for a whole one; empty without such points."""
    names = [point.name for point in points if point.shown and point.share(roof) > 1.01]
    return (
        (
            f"Above the roof: {', '.join(names)}. Part of that work was done beside what came "
            f"before, and its cycles or bytes are counted there."
        )
        if names
        else ""
    )


def merged_layers(
    rows: Sequence[Mapping[str, Any]], ceilings: Mapping[str, Any] | None
) -> list[Point]:
    """Points of the layers of a network. With measured cycles, layers that were measured together
    are one point; otherwise cycles are estimates."""
    rows = [row for row in rows if row["where"] != "host"]
    measured = any(row.get("measured") is not None for row in rows)
    points: list[Point] = []
    names: list[str] = []
    macs, size = 0, 0
    for row in rows:
        names, macs, size = [*names, row["layer"]], macs + row["macs"], size + row["bytes"]
        if measured and row.get("measured") is None:
            continue
        counters = row.get("counters") or {}
        size = measured and moved(counters, ceilings) or size
        points.append(
            Point(
                " + ".join(names),
                "layer",
                macs,
                row["measured"] if measured else row["cycles"],
                size,
            )
        )
        names, macs, size = [], 0, 0
    return points
