# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on the OPU: a CNN in the manner of LeNet on the 540 held-out images of the UCI
set.

* ``job(name)`` -> Path of a job that ships: ``"digits"``, all 540 images, for every ECP5 build;
  ``"digits_up5k"``, the first images in 64 KiB; ``"digits_hx8k"``, the same where kernels do not
  fit as a whole.
* ``make_job(folder, params, name=..., images=..., group=..., memory=...)`` -> the same for any
  build.
* ``evaluate(job, saved)``: predictions and accuracy; with images and labels of
  :mod:`quintet.firmware.digits`.
* ``classify(target, batch=10)`` -> the same for all images on a target with little memory, in
  several runs.
* ``network(images)`` -> the network for the kernel library; ``inputs(images)`` -> what it is given;
  ``logits(images)`` -> its results by plain numpy; ``float_accuracy()``.

The first layer's 3x3 taps are folded into channels (``fold_input``): every pixel's slot holds its
neighbourhood.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.firmware.digits import CLASSES, IMAGES, evaluate, labels, result
from quintet.firmware.digits import images as held_out
from quintet.firmware.opu.float_network import LAYERS, forward
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.isa.files import load_archive
from quintet.tools.jobs.job import Job, Load, Save
from quintet.tools.jobs.runner import run_job
from quintet.tools.kernels.opu import (
    Network,
    compile_network,
    fold_input,
    fold_weights,
    run_network,
    write_job,
)

if TYPE_CHECKING:
    from quintet.firmware.digits import Result
    from quintet.tools.kernels.opu.program import Compiled
    from quintet.tools.targets import Target

__all__ = [
    "IMAGES",
    "SHIPPED",
    "classify",
    "evaluate",
    "float_accuracy",
    "inputs",
    "inputs_of",
    "job",
    "labels",
    "logits",
    "make_job",
    "network",
    "network_of",
    "program",
    "write_shipped",
]

FOLDER = Path(__file__).resolve().parent

#: Name of a shipped job -> (preset, overrides, images, images at a time, memory that it must fit).
#: The first is for the sizes that all ECP5 presets have, in the order that suits two banks.
SHIPPED = {
    "digits": ("85f", {"ifm_lines": 1536, "ofm_lines": 2048}, IMAGES, 60, None),
    "digits_up5k": ("up5k", {}, 10, 2, 64 << 10),
    # The same network and images: the kernels of conv2 and dense1 are larger than its ker, and are
    # loaded in parts.
    "digits_hx8k": ("hx8k", {}, 10, 2, 64 << 10),
}


@cache
def _data():
    return load_archive(FOLDER / "weights.npz")


def network_of(data: Mapping[str, np.ndarray], images: int) -> Network:
    """The :class:`Network` of the arrays that ``train_digits.quantise`` makes, for a batch of
    ``images``."""
    network = Network(batch=images)

    def options(name):
        weights, bias, result = (int(p) for p in data[f"{name}_p"])
        return {
            "bias": data[f"{name}_b"],
            "weight_fraction": weights,
            "bias_fraction": bias,
            "fraction": result,
        }

    x = network.input("image", (8, 8, 9), fraction=4)
    x = network.conv(
        "conv1", x, fold_weights(data["conv1_w"]), act="relu", pool=2, **options("conv1")
    )
    x = network.conv("conv2", x, data["conv2_w"], padding=1, act="relu", pool=2, **options("conv2"))
    x = network.dense("dense1", x, data["dense1_w"], act="relu", **options("dense1"))
    network.dense("dense2", x, data["dense2_w"], **options("dense2"))
    return network


def network(images: int = IMAGES) -> Network:
    """The trained network."""
    return network_of(_data(), images)


def inputs_of(images: np.ndarray) -> np.ndarray:
    """The network's inputs, int8 [images, 8, 8, 9], from uint8 [images, 64] of 0 to 16: pixels with
    4 fraction bits, 3x3 neighbourhoods as channels."""
    pixels = np.asarray(images).astype(np.int8).reshape(-1, 8, 8, 1)
    return fold_input(pixels, (3, 3), padding=(1, 1, 1, 1))


def inputs(images: int = IMAGES) -> np.ndarray:
    """The network's inputs of the first ``images`` held-out images."""
    return inputs_of(held_out(images))


def logits(images: int = IMAGES) -> np.ndarray:
    """Results by plain numpy, int8 [images, 10]."""
    values = run_network(network(images), {"image": inputs(images)})["dense2"]
    return values.reshape(images, -1).astype(np.int8)


def float_accuracy() -> float:
    """Accuracy of the float network on the held-out images."""
    data = _data()
    model = {name: (data[f"{name}_float"], data[f"{name}_float_b"]) for name in LAYERS}
    values = forward(model, (held_out() / 16).astype(np.float32).reshape(-1, 8, 8, 1))["dense2"]
    return result(values).accuracy


def program(
    params: dict[str, Any],
    *,
    images: int = IMAGES,
    group: int | None = None,
    memory: int | None = None,
) -> Compiled:
    """The :class:`~quintet.tools.kernels.opu.program.Compiled` program for a build of
    ``params``."""
    return compile_network(network(images), params, group=group, memory=memory)


def make_job(
    folder: str | Path,
    params: dict[str, Any],
    *,
    name: str = "digits",
    images: int = IMAGES,
    group: int = 60,
    memory: int | None = None,
) -> Path:
    """Writes the job for a build of ``params`` into ``folder`` and returns its path.

    Parameters
    ----------
    images : number of held-out images, from the first on
    group : images that go through the network together
    memory : bytes of main memory that it must fit
    """
    comment = (
        f"Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10: {images} held-out images.\n"
        "Written by python -m quintet.firmware.opu.digits"
    )
    compiled = program(params, images=images, group=min(group, images), memory=memory)
    return write_job(
        folder,
        name,
        compiled,
        {"image": inputs(images)},
        comment=comment,
        cycles=200_000_000,
        labels=labels(images),
        classes=CLASSES,
    )


def job(name: str = "digits") -> Path:
    """Path of a shipped job."""
    if name not in SHIPPED:
        raise ValueError(
            f"no digits job {name!r} ships, only {', '.join(SHIPPED)}; make_job() writes one "
            f"for any build"
        )
    return FOLDER / f"{name}.toml"


def classify(
    target: Target,
    *,
    images: int = IMAGES,
    batch: int = 10,
    group: int | None = 2,
    memory: int | None = None,
) -> Result:
    """Runs the network on a target (``quintet.tools.open_target``), ``batch`` images per run.

    Returns
    -------
    Result
    """
    compiled = program(target.info.params, images=batch, group=group, memory=memory)
    out = compiled.outputs["dense2"]
    given, parts = inputs(images), []
    for at in range(0, images, batch):
        some = given[at : at + batch]
        values = np.concatenate([some, np.zeros((batch - len(some), *some.shape[1:]), some.dtype)])
        job = Job(
            core="opu",
            program=compiled.data,
            program_at=compiled.program_at,
            registers=compiled.registers,
            loads=[
                Load(address, data, name)
                for address, data, name in compiled.loads({"image": values})
            ],
            saves=[Save(out.address, "dense2", dtype="int8", shape=out.array_shape)],
        )
        parts.append(run_job(job, target).tensors["dense2"][: len(some)])
    return result(np.concatenate(parts).reshape(images, -1)[:, :CLASSES])


def write_shipped(folder: str | Path = FOLDER) -> list[Path]:
    """Writes all shipped jobs into ``folder``."""
    return [
        make_job(
            folder,
            SPACE.resolve(preset, overrides),
            name=name,
            images=images,
            group=group,
            memory=memory,
        )
        for name, (preset, overrides, images, group, memory) in SHIPPED.items()
    ]
