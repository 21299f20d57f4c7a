# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on PIM: an MLP 64-32-10 and a CNN in the manner of LeNet, on 1 or 4 cores, on
the held-out images.

* ``job(name)`` -> Path of a job that ships: ``"mlp1"``, ``"mlp4"``, ``"cnn1"``, ``"cnn4"``, the
  network and the cores, and ``"mlp_up5k"``, the first images in 32 KiB; ``"mlp_hx8k"``, the same on
  arrays of 32 x 32.
* ``make_job(folder, params, network=..., images=..., cores=...)`` -> the same for any build.
* ``program(params, network, images=..., cores=...)`` -> the compiled program.
* ``evaluate(job, saved)``: predictions and accuracy; with images and labels of
  :mod:`quintet.firmware.digits`.
* ``network(name)`` -> the network for the kernel library; ``inputs(name, images)``; ``logits(name,
  images)`` by plain numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quintet.firmware.digits import IMAGES, evaluate, labels, with_bias
from quintet.firmware.digits import images as held_out
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.isa.files import load_archive
from quintet.tools.kernels.pim import (
    Conv,
    Dense,
    Network,
    Pool,
    compile_network,
    run_network,
    write_job,
)

if TYPE_CHECKING:
    from quintet.tools.kernels.pim.compiler import Compiled

__all__ = [
    "IMAGES",
    "NETWORKS",
    "SHIPPED",
    "accuracy_of",
    "evaluate",
    "inputs",
    "job",
    "labels",
    "logits",
    "make_job",
    "network",
    "program",
    "write_shipped",
]

FOLDER = Path(__file__).resolve().parent
NETWORKS = ("mlp", "cnn")
#: Main-memory addresses: the program image, and GMem.
PROGRAM, GMEM = 0, 0x0100_0000
#: Name of a shipped job -> (network, cores, preset, images, address of GMem). The MLP on one core
#: fits every build with two arrays of 64 x 64; "mlp_up5k" fits 32 KiB of main memory, too.
SHIPPED = {
    "mlp1": ("mlp", 1, "up5k", IMAGES, GMEM),
    "mlp4": ("mlp", 4, "85f", IMAGES, GMEM),
    "cnn1": ("cnn", 1, "25f", IMAGES, GMEM),
    "cnn4": ("cnn", 4, "85f", IMAGES, GMEM),
    "mlp_up5k": ("mlp", 1, "up5k", 90, 0x3000),
    "mlp_hx8k": ("mlp", 1, "hx8k", 90, 0x3000),
}


@cache
def _data():
    return load_archive(FOLDER / "weights.npz")


def network_of(data: Mapping[str, np.ndarray], name: str) -> Network:
    """The :class:`Network` ``"mlp"`` or ``"cnn"`` of the arrays that ``quantise_digits`` makes."""

    def layer(kind, part, **more):
        return kind(
            part, data[f"{part}_w"], data.get(f"{part}_b"), int(data[f"{part}_shift"]), **more
        )

    if name == "mlp":
        return Network((64,), [layer(Dense, "mlp1", relu=True), layer(Dense, "mlp2", bits=16)])
    if name == "cnn":
        return Network(
            (8, 8, 1),
            [
                layer(Conv, "conv1", relu=True, padding=1),
                Pool("pool1"),
                layer(Conv, "conv2", relu=True, padding=1),
                Pool("pool2"),
                layer(Dense, "dense1", relu=True),
                layer(Dense, "dense2", bits=16),
            ],
        )
    raise ValueError(f"no network {name!r}, only {', '.join(NETWORKS)}")


def network(name: str) -> Network:
    """The quantised network."""
    return network_of(_data(), name)


def inputs_of(name: str, images: np.ndarray) -> np.ndarray:
    """int8 inputs of a network from uint8 [images, 64] of 0 to 16; the MLP's pixel 0 is the
    constant input of its bias."""
    if name == "mlp":
        return with_bias(images)
    return np.asarray(images).astype(np.int8).reshape(-1, 8, 8, 1)


def inputs(name: str, images: int = IMAGES) -> np.ndarray:
    """The network's inputs of the first ``images`` held-out images."""
    return inputs_of(name, held_out(images))


def logits(name: str, images: int = IMAGES) -> np.ndarray:
    """Results by plain numpy, int16 [images, 10]."""
    return run_network(network(name), inputs(name, images)).astype(np.int16)


def accuracy_of(
    data: Mapping[str, np.ndarray], name: str, images: np.ndarray, answers: np.ndarray
) -> float:
    """Accuracy of the network of the arrays ``data`` on ``images``."""
    values = run_network(network_of(data, name), inputs_of(name, images))
    return float((values.argmax(axis=1) == answers).mean())


def program(
    params: dict[str, Any],
    name: str,
    *,
    images: int = IMAGES,
    cores: int = 1,
    chunk: int | None = None,
    mode: str = "packed",
    gmem: int = GMEM,
) -> Compiled:
    """The :class:`~quintet.tools.kernels.pim.compiler.Compiled` program for a build of ``params``;
    ``chunk``: images loaded at once, by default what divides."""
    if chunk is None:
        share = images // cores
        chunk = next((n for n in (9, 5, 3) if share % n == 0), 1) if name == "mlp" else 1
    return compile_network(
        network(name),
        params,
        images=images,
        cores=cores,
        chunk=chunk,
        mode=mode,
        gmem=gmem,
        program_at=PROGRAM,
    )


def make_job(
    folder: str | Path,
    params: dict[str, Any],
    *,
    network: str = "mlp",
    name: str | None = None,
    images: int = IMAGES,
    cores: int = 1,
    gmem: int = GMEM,
) -> Path:
    """Writes the job for a build of ``params`` into ``folder`` and returns its path.

    Parameters
    ----------
    network : "mlp" or "cnn"
    name : of the job's files
    images : number of held-out images, from the first on; a multiple of ``cores``
    cores : number of cores that share the images
    gmem : main-memory address of the images, behind the program
    """
    what = {"mlp": "an MLP 64-32-10", "cnn": "a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10"}[network]
    comment = (
        f"Handwritten digits, {what}: {images} held-out images on {cores} "
        f"core{'s' if cores > 1 else ''}.\n"
        "Written by python -m quintet.firmware.pim.digits"
    )
    compiled = program(params, network, images=images, cores=cores, gmem=gmem)
    return write_job(
        folder,
        name or f"{network}{cores}",
        compiled,
        inputs(network, images),
        params,
        comment=comment,
        labels=labels(images),
    )


def job(name: str = "mlp1") -> Path:
    """Path of a shipped job."""
    if name not in SHIPPED:
        raise ValueError(
            f"no digits job {name!r} ships, only {', '.join(SHIPPED)}; make_job() writes one "
            f"for any build"
        )
    return FOLDER / f"{name}.toml"


def write_shipped(folder: str | Path = FOLDER) -> list[Path]:
    """Writes all shipped jobs into ``folder``."""
    return [
        make_job(
            folder,
            SPACE.resolve(preset),
            network=name,
            name=key,
            images=images,
            cores=cores,
            gmem=gmem,
        )
        for key, (name, cores, preset, images, gmem) in SHIPPED.items()
    ]
