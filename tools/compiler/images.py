# SPDX-License-Identifier: BSD-2-Clause
"""Batch size of a run: as requested, or as many inputs as improve the rate, given the link's
rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .backends.base import Backend, Lowered, LoweringError

if TYPE_CHECKING:
    from .quantised import Quantised
    from .target_build import TargetBuild

__all__ = ["line_seconds", "programs_of"]

#: A bound that is so much longer than the best is as good.
_AS_GOOD = 1.02
#: Bytes on the line of a run, each way, beside its inputs and outputs: registers, start, the look
#: that sees its end; of a request beside its data.
_RUN, _REQUEST = (64, 48), 17
#: Bits of a byte on a serial line.
_UART_BITS = 10
#: Bytes a second that bulk transfers of full-speed USB carry at most: 19 packets of 64 bytes in a
#: frame of a millisecond.
_USB_BYTES = 19 * 64 * 1000


def line_seconds(link: object, sent: float, received: float) -> float | None:
    """Lower bound in seconds for sending and receiving so many bytes, ``None`` if the link's rate
    is unknown; ``link`` is the link entry of a target's info."""
    link = link if isinstance(link, dict) else {}
    if link.get("baud"):  # both directions at once
        return max(sent, received) * _UART_BITS / link["baud"]
    return (sent + received) / _USB_BYTES if link.get("kind") == "usb" else None


def programs_of(
    backend: Backend, parts: Sequence[Quantised], images: int | None, build: TargetBuild
) -> list[Lowered]:
    """Lowers all subgraphs of a network for a common batch size.

    Parameters
    ----------
    images : inputs of a run, at most; ``None``:
        the fewest with which no more inputs a second could be had, by the bound: time of core or
        link for one, whichever is longer
    build : TargetBuild

    Raises
    ------
    LoweringError
        The core cannot hold the network.
    """
    if images is not None:
        return backend.lower_all(parts, images)
    most = max((backend.most_images(part.graph) for part in parts), default=1)
    count = 1
    tried: list[tuple[float, list[Lowered]]] = []
    while True:
        try:
            programs = backend.lower_all(parts, count)
        except LoweringError:
            if not tried:
                raise
            break
        core, line = _core(backend, programs, build), _line(programs, build)
        tried.append((max(core, line), programs))
        # More of them lower the core's share of the time, which makes no difference if the line is
        # slower.
        if count >= most or line >= core:
            break
        count = min(2 * count, most)
    best = min(bound for bound, _ in tried)
    return next(programs for bound, programs in tried if bound <= _AS_GOOD * best)


def _core(backend, programs, build):
    """Seconds of the core per input (cycles if no clock is known)."""
    cycles = sum(span.cycles / lowered.images for lowered in programs for span in lowered.layers)
    return cycles / (build.clock_hz * backend.clock_ratio) if build.clock_hz else cycles


def _line(programs, build):
    """Seconds of the link per input; 0 if its rate is unknown."""
    if not build.clock_hz:
        return 0.0
    way = [0.0, 0.0]
    for lowered in programs:
        for k, places in enumerate((lowered.inputs, lowered.outputs)):
            sizes = [
                int(np.prod(place.layout.shape)) * np.dtype(place.layout.dtype).itemsize
                for place in places.values()
            ]
            way[k] += (sum(size + _REQUEST for size in sizes) + _RUN[k]) / lowered.images
    return line_seconds(build.link, *way) or 0.0
