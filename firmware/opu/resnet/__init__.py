# SPDX-License-Identifier: BSD-2-Clause
"""A network of ResNet-20's shapes with random weights, as one program: a benchmark of the OPU.

* ``resnet20()`` -> the network; ``image()`` -> a random image.
* ``make_job(folder, params, schedule=...)`` -> Path of a job for a build of ``params``: layer after
  layer, or scheduled.
* ``job(name)`` -> Path of a job that ships: ``"resnet20"`` (any ECP5 build, layer after layer),
  ``"resnet20_85f"`` (scheduled for the default build).
* ``logits()`` -> the result by plain numpy.
"""

from pathlib import Path
from typing import Any

import numpy as np

from quintet.gateware.cores.opu.params import SPACE
from quintet.tools.kernels.opu import compile_network, run_network, write_job

from .network import CLASSES, image, resnet20

__all__ = ["CLASSES", "SHIPPED", "image", "job", "logits", "make_job", "resnet20", "write_shipped"]

FOLDER = Path(__file__).resolve().parent

#: Name of a shipped job -> (preset, overrides, scheduled). The first is for the sizes that all ECP5
#: presets have.
SHIPPED = {
    "resnet20": ("85f", {"ifm_lines": 1536, "ofm_lines": 2048, "ker_rows": 288}, False),
    "resnet20_85f": ("85f", {}, True),
}


def logits() -> np.ndarray:
    """Result of the network on :func:`image` by plain numpy, int8 [10]."""
    return run_network(resnet20(), {"image": image()})["classes"].ravel().astype(np.int8)


def make_job(
    folder: str | Path, params: dict[str, Any], *, name: str = "resnet20", schedule: bool = True
) -> Path:
    """Writes the job for a build of ``params`` into ``folder`` and returns its path."""
    how = "scheduled in tiles" if schedule else "layer after layer"
    comment = (
        f"A network of ResNet-20's shapes, random weights, {how}: 40.8 M multiplications.\n"
        "Written by python -m quintet.firmware.opu.resnet"
    )
    compiled = compile_network(resnet20(), params, schedule=schedule)
    return write_job(
        folder, name, compiled, {"image": image()}, comment=comment, cycles=100_000_000
    )


def job(name: str = "resnet20") -> Path:
    """Path of a shipped job."""
    if name not in SHIPPED:
        raise ValueError(
            f"no ResNet job {name!r} ships, only {', '.join(SHIPPED)}; make_job() writes one "
            f"for any build"
        )
    return FOLDER / f"{name}.toml"


def write_shipped(folder: str | Path = FOLDER) -> list[Path]:
    """Writes all shipped jobs into ``folder``."""
    return [
        make_job(folder, SPACE.resolve(preset, overrides), name=name, schedule=schedule)
        for name, (preset, overrides, schedule) in SHIPPED.items()
    ]
