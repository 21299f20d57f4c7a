# SPDX-License-Identifier: BSD-2-Clause
"""Band analysis: for each operation of a chain, the rows of its operands and of its result that
every strip of rows (band) needs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..kernel_graph import Chain, Operation, Product, Value, Window

__all__ = ["Bands", "Rows", "row_part", "rows_separable"]


def _by_rows(ref, rows):
    """Whether row i of a reference is row i of its value."""
    return ref.shape[0] == rows and ref.axes[0] == 0 and ref.start[0] == 0 and ref.step[0] == 1


def rows_separable(operation: Operation) -> bool:
    """Whether an operation can run in bands: each row of its result depends on a limited range of
    source rows."""
    rows = operation.out.shape[0]
    if (
        rows < 2
        or not _by_rows(operation.out, operation.out.value.shape[0])
        or not isinstance(operation, (Chain, Product, Window))
    ):
        return False
    refs = [part[1] for part in operation.parts if not isinstance(part, str)]
    if isinstance(operation, Product):
        refs.append(operation.start)
        if (
            operation.source.axes[0] != 0
            or operation.source.step[0] != 1
            or operation.source.start[0] != 0
        ):
            return False
    if isinstance(operation, Window) and operation.axes[0] != 0:
        return False
    return all(
        _by_rows(ref, rows) or (ref.shape[0] == 1 and ref.value.data is not None) for ref in refs
    )


def needed(operation: Operation, value: Value, first: int, end: int) -> tuple[int, int] | None:
    """Rows [from, to) of ``value``, border included, on which rows [first, end) of the result
    depend; ``None`` if the operation does not read the value."""
    low, high = [], []
    if isinstance(operation, Product) and operation.source.value is value:
        low.append(first * operation.stride[0] - operation.padding[0])
        high.append(
            (end - 1) * operation.stride[0]
            - operation.padding[0]
            + (operation.weights.shape[0] - 1) * operation.dilation[0]
            + 1
        )
    if isinstance(operation, Window) and operation.source is value:
        low.append(first * operation.step[0] - operation.padding[0])
        high.append(
            (end - 1) * operation.step[0]
            - operation.padding[0]
            + sum(
                (length - 1) * distance
                for axis, length, distance in (operation.outer, operation.inner)
                if axis == 0
            )
            + 1
        )
    if any(
        not isinstance(part, str) and part[1].value is value
        for part in getattr(operation, "parts", ())
    ):
        low.append(first)
        high.append(end)
    return (min(low), max(high)) if low else None


def row_part(operation: Operation, first: int, end: int) -> Operation:
    """The operation restricted to rows [first, end) of its result."""

    def cut(ref):
        return ref if ref.shape[0] == 1 else ref.part((first, 0, 0), (end - first, *ref.shape[1:]))

    parts = [
        part if isinstance(part, str) else (part[0], cut(part[1]))
        for part in getattr(operation, "parts", ())
    ]
    fields: dict[str, Any] = {"out": cut(operation.out), "parts": parts}
    if isinstance(operation, Product):
        fields["padding"] = (
            operation.padding[0] - first * operation.stride[0],
            operation.padding[1],
        )
    if isinstance(operation, Window):
        fields["padding"] = (
            operation.padding[0] - first * operation.step[0],
            *operation.padding[1:],
        )
    return replace(operation, **fields)


@dataclass
class Rows:
    """Row ranges of one value that the scratchpad holds in each band: rows [low, high), border
    included; the band itself adds rows [new, high)."""

    value: Value
    low: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)

    @property
    def most(self) -> int:
        """Greatest number of rows held at the same time."""
        return max(high - low for low, high in zip(self.low, self.high, strict=True))


class Bands:
    """Row ranges of every value for each band of a chain of operations.

    Parameters
    ----------
    operations : list, each of which :func:`rows_separable` takes
    number : of bands
    lasting : values that are needed whole afterwards

    Attributes
    ----------
    done : list, a band each, of (operation, first row, end row)
    rolling : dict, Value -> Rows, of values that are never whole in the scratchpad
    """

    def __init__(self, operations: Sequence[Operation], number: int, lasting: Collection[Value]):
        made = {operation.out.value for operation in operations}
        reads: dict[Value, list[Operation]] = {}
        for operation in operations:
            for ref in operation.refs():
                if ref.value.data is None:
                    reads.setdefault(ref.value, []).append(operation)
        ends: dict[Value, list[int]] = {value: [] for value in made}
        for band in range(number):
            wanted: dict[Value, Any] = {}
            for operation in reversed(operations):
                value, rows = operation.out.value, operation.out.value.shape[0]
                share = -(-rows * (band + 1) // number)
                # A value that none of these reads advances with the others.
                end = rows if band == number - 1 else wanted.get(value, share)
                wanted[value] = max(wanted.get(value, 0), end)
                for source in reads:
                    if source in made and (found := needed(operation, source, 0, end)) is not None:
                        wanted[source] = max(
                            wanted.get(source, 0), min(source.shape[0], max(1, found[1]))
                        )
            for value in made:
                ends[value].append(max(wanted[value], ends[value][-1] if band else 0))
        self.done = []
        for band in range(number):
            self.done.append(
                [
                    (
                        operation,
                        ends[operation.out.value][band - 1] if band else 0,
                        ends[operation.out.value][band],
                    )
                    for operation in operations
                ]
            )
        self.rolling = {}
        for value, readers in reads.items():
            if value not in lasting:
                self.rolling[value] = self._rows(value, readers, ends.get(value), number)

    def _rows(self, value, readers, ends, number):
        found, height = Rows(value), value.shape[0]
        top, _, bottom, _ = value.border
        spans = {
            id(operation): [
                (first, end) for band in self.done for one, first, end in band if one is operation
            ]
            for operation in readers
        }
        for band in range(number):
            lows, highs = [], []
            for operation in readers:
                first, end = spans[id(operation)][band]
                low, high = needed(operation, value, first, max(end, first + 1))
                lows.append(low)
                highs.append(high if end > first else low)
            end = ends[band] if ends else min(height, max(highs))
            low = max(-top, min(lows)) if band else -top
            found.low.append(max(low, found.low[-1]) if band else low)
            found.new.append(found.high[-1] if band else -top)
            found.high.append(
                max(end + (bottom if end == height else 0), found.high[-1] if band else end)
            )
        return found
