# SPDX-License-Identifier: BSD-2-Clause
"""Transfer of constants and tensors between host and target, with as few bytes as possible."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..layout import Layout
from ..plan import PlanError

if TYPE_CHECKING:
    from ...targets.base import Target
    from ..backends.base import Lowered
    from ..planes import BitPlanes
    from .report import SessionReport

__all__ = ["Packed", "PackedRuns", "Transfer"]

#: Bytes that a request takes on the line beside its data.
_FRAME = 24


class Transfer:
    """Reads and writes programs' constants and tensors in the memory of ``target``; counts bytes in
    ``report``.

    Parameters
    ----------
    target : Target
    report : SessionReport
    progress : callable(what, done, total) or None
    resident : bool; constants are in the target's memory already, and are checked only
    """

    def __init__(
        self,
        target: Target,
        report: SessionReport,
        progress: Callable[..., None] | None,
        resident: bool = False,
    ):
        self._resident = resident
        self._target, self.report, self._progress = target, report, progress
        self._known: dict[Layout, list[_Request]] = {}

    def hold(self, address: int, data: np.ndarray, what: str) -> None:
        """Writes constant bytes and verifies them by reading back; ``what`` names them in
        messages."""
        if not len(data):
            return
        content = data.tobytes()
        progress = self._progress
        report = (
            None if progress is None else lambda done, total: progress(f"write {what}", done, total)
        )
        if not self._resident:
            self._target.write(address, content, report)
            self.report.constant_bytes += len(content)
        if self._target.info.kind == "model":
            return
        found = self._target.checksum(address, len(content))
        if found != zlib.crc32(content):
            from ...link.errors import LinkError

            if self._resident:
                raise PlanError(
                    f"{self._target.name} does not hold this plan: {what} at {address:#x} has "
                    f"checksum {found:08x}, expected {zlib.crc32(content):08x}"
                )
            raise LinkError(
                f"{self._target.name}: {what} at {address:#x} does not read back as written "
                f"(checksum {found:08x}, expected "
                f"{zlib.crc32(content):08x})"
            )

    def clear(self, layout: Layout | BitPlanes) -> None:
        """Zeroes the gaps between a tensor's elements, which :meth:`put` does not write."""
        if isinstance(layout, Layout) and self.requests(layout):
            self._target.fill(layout.first, layout.end - layout.first)

    def packed(self, layout: Layout | BitPlanes) -> Packed:
        """Layout of a tensor in a queue: its contiguous runs one after another, or its whole
        span."""
        requests = self.requests(layout) if isinstance(layout, Layout) else []
        if not requests:
            span = layout.end - layout.first
            return Packed((PackedRuns(0, layout.first, span, span, 1),), span)
        found, at = [], 0
        for request in requests:
            place = layout.address + request.offset
            found.append(PackedRuns(at, place, request.run, request.stride, request.count))
            at += _whole(request.run) * request.count
        return Packed(tuple(found), at)

    def put(
        self,
        lowered: Lowered,
        layout: Layout | BitPlanes,
        values: np.ndarray,
        at: int | None = None,
    ) -> None:
        """Writes a tensor. The gaps between its elements are zero, or belong to the program.
        ``at``: queue address to which it is written :meth:`packed`, instead of its own."""
        waiting = None if at is None else (at, self.packed(layout))
        first, end = layout.first, layout.end
        requests = self.requests(layout) if isinstance(layout, Layout) else []
        if isinstance(layout, Layout) and requests:
            data, at = (
                np.ascontiguousarray(values, np.dtype(layout.dtype).newbyteorder("<"))
                .view(np.uint8)
                .ravel(),
                0,
            )
            written = []
            for number, request in enumerate(requests):
                rows = np.zeros((request.count, request.run), np.uint8)
                for begin, count in request.filled:
                    rows[begin : begin + count] = data[at : at + request.run * count].reshape(
                        count, request.run
                    )
                    at += request.run * count
                if waiting is None:
                    written.append((layout.address + request.offset, rows, request.stride))
                    continue
                begin, packed = waiting
                place = begin + packed.runs[number].packed_at
                written.append((place, rows, _whole(request.run)))
            self._target.write_batch(written)
            self.report.input_bytes += data.size
            return
        memory = np.zeros(end - first, np.uint8)
        if layout.in_program:
            memory[:] = np.frombuffer(lowered.program, np.uint8)[
                first - lowered.program_at : end - lowered.program_at
            ]
        layout.write(memory, values, first)
        self._target.write(first if waiting is None else waiting[0], memory.tobytes())
        self.report.input_bytes += memory.size

    def requests(self, layout: Layout) -> list[_Request]:
        """Splits a layout into requests if they take fewer bytes on the link than the whole span;
        else returns an empty list."""
        if layout not in self._known:
            requests = _merged(layout.strips())
            self._known[layout] = (
                requests
                if sum(_FRAME + request.run * request.count for request in requests)
                < layout.end - layout.first
                else []
            )
        return self._known[layout]

    def get(self, layout: Layout, at: int | None = None) -> np.ndarray:
        """Reads a tensor as an array of its layout's shape. ``at``: queue address from which it is
        read :meth:`packed`."""
        requests = self.requests(layout)
        packed = self.packed(layout)
        if requests:
            read = self._target.read_batch(
                [
                    (each.address, each.run, each.stride, each.count)
                    if at is None
                    else (at + each.packed_at, each.run, _whole(each.run), each.count)
                    for each in packed.runs
                ]
            )
            data = np.concatenate(
                [
                    rows[begin : begin + count].ravel()
                    for rows, request in zip(read, requests, strict=True)
                    for begin, count in request.filled
                ]
            )
            self.report.output_bytes += data.size
            return (
                data.view(np.dtype(layout.dtype).newbyteorder("<"))
                .reshape(layout.shape)
                .astype(layout.dtype)
            )
        data = self._target.read(layout.first if at is None else at, packed.size)
        self.report.output_bytes += len(data)
        return layout.read(np.frombuffer(data, np.uint8), layout.first)


@dataclass(frozen=True)
class PackedRuns:
    """Strided runs of a packed tensor: ``count`` runs of ``run`` bytes, ``stride`` apart from
    ``address`` on; packed from ``packed_at`` on, each at a word."""

    packed_at: int
    address: int
    run: int
    stride: int
    count: int


@dataclass(frozen=True)
class Packed:
    """A packed tensor: its strided runs and its size in bytes."""

    runs: tuple[PackedRuns, ...]
    size: int


def _whole(run):
    """Size of a run, rounded up to whole words."""
    return -(-run // 4) * 4


@dataclass
class _Request:
    """A transfer request: ``count`` runs of ``run`` bytes, ``stride`` apart, from ``offset`` on.
    ``filled``: the runs that hold elements, as (first, number); the others are zero."""

    offset: int
    run: int
    stride: int
    count: int
    filled: list


def _merged(strips):
    """Merges strips (offset, run, stride, count), in order, into requests: two strips become one if
    only a few runs lie between them, since a further request costs more bytes."""
    found = []
    for offset, run, stride, count in strips:
        if found and (run, stride) == (found[-1].run, found[-1].stride):
            last = found[-1]
            begin, rest = divmod(offset - last.offset, stride)
            if not rest and 0 <= (begin - last.count) * run < _FRAME:
                last.filled.append((begin, count))
                last.count = begin + count
                continue
        found.append(_Request(offset, run, stride, count, [(0, count)]))
    return found
