# SPDX-License-Identifier: BSD-2-Clause
"""Handwritten digits on OpenTPU: the 540 test images of the UCI set, two quantised networks
64-32-10.

What a demo or a test calls:

* ``job(n=8, norm=False)`` -> Path of the job's TOML that ships for arrays of side ``n`` (4 and 8,
  with and without norm).
* ``make_job(folder, params, norm=False)`` -> the same, written for any sizes
  (``SPACE.resolve(...)``) into ``folder``.
* ``evaluate(job, saved)``: predictions and accuracy; with images and labels of
  :mod:`quintet.firmware.digits`.
* ``prepare(images, norm=False)`` -> their inputs.
* ``logits(norm=False)`` -> int8 [540, 10], the networks in plain numpy, without model and core.

The compiler makes the programs, of the integer weights in ``weights.npz``: nothing that the first
minute needs reads ONNX. ``example:digits/mlp_plain.onnx`` is the plain network as a model.

Jobs that ship, and the smallest sizes they run on:

| job | unified buffer, accumulators | network |
|---|---|---|
| ``digits_plain_n4`` | 1024, 256; 128 KiB of memory | unmodified instruction set |
| ``digits_plain_n8`` | 4096, 1024 | unmodified instruction set |
| ``digits_norm_n4``, ``digits_norm_n8`` | 4096, 1024 | with ext_norm |
"""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from quintet.firmware.digits import evaluate, float_accuracy, images, labels, with_bias
from quintet.gateware.isa.files import load_archive

from ..jobs import Layer, network_job

__all__ = [
    "PLAIN_BIAS",
    "PLAIN_SHIFT",
    "evaluate",
    "float_accuracy",
    "images",
    "inputs",
    "job",
    "labels",
    "layers",
    "logits",
    "make_job",
    "prepare",
]

FOLDER = Path(__file__).resolve().parent

#: (n, norm) -> preset whose sizes the shipped job is made for, and the memory it must fit.
SHIPPED = {
    (4, False): ("up5k-4x4", 128 << 10),
    (8, False): ("45f-8x8", None),
    (4, True): ("25f-4x4", None),
    (8, True): ("45f-8x8", None),
}


#: Pixel 0 of the plain network's inputs, black in every image: its weights are the bias.
PLAIN_BIAS = 7
#: The plain network takes pixels of 0 to 4, shifted right by this.
PLAIN_SHIFT = 2


def prepare(images: np.ndarray, *, norm: bool) -> np.ndarray:
    """Converts pixels 0..16 [count, 64] to a network's int8 inputs, with a constant in place of
    pixel 0."""
    if norm:
        return with_bias(images)
    inputs = (np.asarray(images) >> PLAIN_SHIFT).astype(np.int8)
    inputs[:, 0] = PLAIN_BIAS
    return inputs


@cache
def _data():
    return load_archive(FOLDER / "weights.npz")


def inputs(norm: bool = False) -> np.ndarray:
    """Inputs of a network, int8 [540, 64]."""
    return prepare(images(), norm=norm)


def layers(norm: bool = False) -> list[Layer]:
    """Layers of the network."""
    data = _data()
    kind = "norm" if norm else "plain"
    shifts = [int(v) for v in data["norm_shifts"]] if norm else (None, None)
    return [
        Layer(data[f"{kind}_w1"], relu=True, shift=shifts[0]),
        Layer(data[f"{kind}_w2"], shift=shifts[1]),
    ]


def logits(norm: bool = False) -> np.ndarray:
    """Results of the network in plain numpy, int8 [540, 10]."""
    values = inputs(norm).astype(np.int64)
    for layer in layers(norm):
        values = values @ layer.weights.astype(np.int64)
        if layer.shift is not None:
            values = (values + (1 << layer.shift >> 1)) >> layer.shift
        if layer.relu:
            values = np.maximum(values, 0)
        if layer.shift is not None:
            values = np.clip(values, -128, 127)
        values = values.astype(np.int8).astype(np.int64)
    return values.astype(np.int8)


def job(n: int = 8, norm: bool = False) -> Path:
    """Path of the shipped job for arrays of side ``n``.

    Raises
    ------
    ValueError
        None ships for this ``n``: :func:`make_job` writes one.
    """
    if (n, bool(norm)) not in SHIPPED:
        raise ValueError(
            f"no digits job ships for n = {n}, only for n = 4 and 8; make_job() writes one for "
            f"any sizes"
        )
    return FOLDER / f"digits_{'norm' if norm else 'plain'}_n{n}.toml"


def make_job(
    folder: str | Path,
    params: dict[str, Any],
    *,
    norm: bool = False,
    name: str | None = None,
    memory: int | None = None,
) -> Path:
    """Writes the job for a core of ``params`` into ``folder`` and returns its path; ``memory``:
    greatest size in bytes."""
    if norm and not params["ext_norm"]:
        raise ValueError(
            "this build has no ext_norm; use the network for the unmodified instruction set"
        )
    name = name or f"digits_{'norm' if norm else 'plain'}_n{params['n']}"
    kind = "with normalisation" if norm else "for the unmodified instruction set"
    comment = (
        f"Handwritten digits, network 64-32-10 {kind}: all 540 held-out images, N = {params['n']}."
    )
    return network_job(
        folder,
        name,
        layers(norm),
        inputs(norm),
        params,
        comment=comment,
        memory=memory,
        labels=labels(),
    )
