# SPDX-License-Identifier: BSD-2-Clause
"""Comparison of a measured run with the golden model; a figure is valid only if both agree."""

from collections.abc import Iterable

import numpy as np

from ...gateware.isa.outcome import Outcome
from .row import Differs

__all__ = ["SHARED_COUNTERS", "compare_runs"]

#: Counters that every golden model knows.
SHARED_COUNTERS = ("instructions", "operations", "bytes_read", "bytes_written")


def compare_runs(
    what: str,
    got: Outcome,
    expected: Outcome,
    memory: np.ndarray,
    wanted: np.ndarray,
    counters: Iterable[str] | None = None,
) -> None:
    """Raises :class:`~.row.Differs` unless both runs ended well with equal main memory and equal
    counters (those named; by default all of the model's)."""
    if got.status != "done" or expected.status != "done":
        raise Differs(
            f"{what}: the run ended as {got.status}, {got.fault}; the model as {expected.status}"
        )
    if not np.array_equal(memory, wanted):
        at = int(np.flatnonzero(memory != wanted)[0])
        raise Differs(f"{what}: memory differs from the model's, first at {at:#x}")
    for name in expected.counters if counters is None else counters:
        if got.counters[name] != expected.counters[name]:
            raise Differs(
                f"{what}: counter {name} is {got.counters[name]}, not {expected.counters[name]}"
            )
