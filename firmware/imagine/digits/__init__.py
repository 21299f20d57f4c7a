# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on IMAGine: the network 64-32-10 on the 540 held-out images of the UCI set,
ReLU on the host.

* ``layers()`` -> the two layers in Q7.8; ``inputs()`` -> the images as they take them; ``logits()``
  -> results in integers.
* ``classify(target)``: all images on a target, through the Python interface: the weights once
  (where they fit), then two small programs an image, the activation between them.
* ``job(preset, part)`` -> Path of a job that ships: ``"hidden"`` and ``"logits"``, one a layer, for
  the first 20 images. The second one's inputs are the first one's results after the activation.
* ``make_jobs(folder, params, name, images)`` -> the same for any build; ``evaluate(job, saved)``:
  predictions and accuracy; with images and labels of :mod:`quintet.firmware.digits`.

The float network is that of ``firmware/digits``; here it is quantised to 16 bits, 8 of them
fraction: no sum of the first layer can leave 16 bits, and none of the second does on these images.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.firmware.digits import BIAS, IMAGES, evaluate, float_weights, images, labels, result
from quintet.gateware.cores.imagine.params import SPACE
from quintet.tools.kernels.imagine import Layer, Session, streamed, to_fixed, write_job

if TYPE_CHECKING:
    from quintet.firmware.digits import Result
    from quintet.tools.kernels.imagine import Streamed
    from quintet.tools.targets import Target

__all__ = [
    "FRACTION",
    "PARTS",
    "SHIPPED",
    "activate",
    "classify",
    "evaluate",
    "inputs",
    "job",
    "labels",
    "layers",
    "logits",
    "make_jobs",
    "program",
    "write_shipped",
]

FOLDER = Path(__file__).resolve().parent
FRACTION = 8
PARTS = ("hidden", "logits")

#: Preset of the shipped jobs -> images.
SHIPPED = {"25f": 20, "up5k": 20}


@cache
def layers() -> tuple[Layer, Layer]:
    """The two layers in Q7.8."""
    w1, w2 = (w.astype(np.float64).T for w in float_weights())
    # Pixels of 0 to 16 become 0 to 1; the constant that stood in place of pixel 0 becomes a bias.
    bias, w1 = BIAS * w1[:, 0], 16 * w1
    w1[:, 0] = 0
    return (
        Layer(
            to_fixed(w1, FRACTION, 16),
            to_fixed(bias, FRACTION, 16),
            fraction=FRACTION,
            name="hidden",
        ),
        Layer(to_fixed(w2, FRACTION, 16), fraction=FRACTION, name="logits"),
    )


def inputs() -> np.ndarray:
    """The held-out images, int64 [540, 64]."""
    return to_fixed(images() / 16, FRACTION, 16)


def activate(values: np.ndarray) -> np.ndarray:
    """ReLU, on the host."""
    return np.maximum(values, 0)


def logits(count: int = IMAGES) -> np.ndarray:
    """Integer results of the first images, int64 [count, 10]."""
    first, second = layers()
    return np.stack([second.reference(activate(first.reference(x))) for x in inputs()[:count]])


def classify(
    target: Target,
    *,
    count: int = IMAGES,
    batch: int | None = None,
    progress: Callable[..., None] | None = None,
) -> tuple[Result, Session]:
    """Classifies the first ``count`` images on a target (``quintet.tools.open_target``).

    Where the weights do not stay in the array, ``batch`` images (default 20) share each load of
    them.

    Returns
    -------
    result : Result
    session : Session
        With the counters of all runs.
    """
    session = Session(target, layers(), progress=progress)
    batch = batch or (1 if session.resident else 20)
    x, found = inputs()[:count], []
    for at in range(0, count, batch):
        hidden = activate(session.batch(0, list(x[at : at + batch])))
        found.append(session.batch(1, list(hidden)))
    return result(np.concatenate(found)), session


def program(params: dict[str, Any], part: str, count: int) -> Streamed:
    """The :class:`~quintet.tools.kernels.imagine.Streamed` program of a layer for the first
    ``count`` images."""
    if part not in PARTS:
        raise ValueError(f"no part {part!r}, only {' and '.join(PARTS)}")
    first, second = layers()
    x = inputs()[:count]
    if part == "hidden":
        return streamed(first, params, [(v,) for v in x])
    return streamed(second, params, [(activate(first.reference(v)),) for v in x])


def make_jobs(folder: str | Path, params: dict[str, Any], name: str, count: int = 20) -> list[Path]:
    """Writes the two jobs of a build into ``folder`` and returns their paths."""
    made = []
    for part in PARTS:
        layer = program(params, part, count)
        unpack = layer.unpack() if part == "logits" else None
        made.append(
            write_job(
                folder,
                f"{name}_{part}",
                layer.program,
                unpack=unpack,
                labels=None if unpack is None else labels(count),
                comment=f"Handwritten digits, layer {part} of 64-32-10, {count} images, "
                f"{params['rows']} x "
                f"{params['cols']} blocks.\nWritten by python -m quintet.firmware.imagine.digits",
            )
        )
    return made


def job(preset: str = "25f", part: str = "logits") -> Path:
    """Path of a shipped job.

    Raises
    ------
    ValueError
        None ships for this preset.
    """
    if preset not in SHIPPED:
        raise ValueError(
            f"no digits job ships for preset {preset!r}, only for {', '.join(SHIPPED)}; "
            f"make_jobs() writes them"
        )
    return FOLDER / f"digits_{preset}_{part}.toml"


def write_shipped(folder: str | Path = FOLDER) -> list[Path]:
    """Writes all shipped jobs into ``folder``."""
    return [
        path
        for preset, count in SHIPPED.items()
        for path in make_jobs(folder, SPACE.resolve(preset), f"digits_{preset}", count)
    ]
