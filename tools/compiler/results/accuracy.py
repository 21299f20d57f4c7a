# SPDX-License-Identifier: BSD-2-Clause
"""Accuracy metrics: top-1 classes, agreement with the float network, signal-to-noise ratio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from ..plan.plan import Plan

__all__ = ["agreement", "check_labels", "classified", "signal_to_noise"]


def check_labels(plan: Plan, labels: np.ndarray) -> None:
    """Raises InputError if the network does not classify or a label is not one of its classes."""
    if labels is None:
        return
    shapes = [port.shape for port in plan.outputs]
    if len(shapes) != 1 or int(np.prod(shapes[0])) < 2:
        raise InputError(
            f"--labels: {plan.network} has outputs of the shapes "
            f"{', '.join(str(list(s)) for s in shapes)}; labels need one output with a score a "
            "class"
        )
    classes = int(np.prod(shapes[0]))
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        raise InputError(
            f"--labels: class {labels[wrong[0]]} at {wrong[0]}; {plan.network} has classes 0 "
            f"to {classes - 1}"
        )


def _classes(array):
    return array.reshape(len(array), -1).argmax(1)


def classified(
    outputs: Mapping[str, np.ndarray], labels: np.ndarray | None = None
) -> dict[str, Any]:
    """Top-1 ``classes`` of the inputs, if the network has one output of several numbers, and the
    number of inputs whose class equals their label in ``labels`` (``correct``)."""
    arrays = list(outputs.values())
    if len(arrays) != 1 or arrays[0][0].size < 2:
        return {}
    found = _classes(arrays[0])
    return {
        "classes": found.tolist(),
        **({} if labels is None else {"correct": int((found == labels).sum())}),
    }


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """Share of inputs for which two arrays [inputs, ...] have the same top-1 class."""
    return float((_classes(a) == _classes(b)).mean())


def signal_to_noise(exact: np.ndarray, found: np.ndarray) -> float | None:
    """Signal-to-noise ratio in dB: power of ``exact`` over that of the difference; infinite if they
    are equal."""
    noise = float(np.square(np.asarray(exact, np.float64) - found).sum())
    power = float(np.square(exact).sum())
    return (
        float("inf")
        if noise == 0
        else -float("inf")
        if power == 0
        else 10 * np.log10(power / noise)
    )
