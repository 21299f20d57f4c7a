# SPDX-License-Identifier: BSD-2-Clause
"""Quantises the digits networks for PIM: ``python -m quintet.firmware.pim.quantise_digits``. Needs
the extra ``train``.

The float networks are the project's own: the MLP 64-32-10 of ``firmware/digits``, the CNN of
``firmware/opu/train_digits.py``. Weights become int8, biases int32 in the scale of the sums, every
layer a shift; only the training images decide about the shifts.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quintet.gateware.isa.files import load_archive

from ..digits import float_weights, with_bias
from ..digits.training import load
from ..opu.digits import FOLDER as CNN_FOLDER
from ..opu.train_digits import LAYERS, forward

__all__ = ["main", "quantise_cnn", "quantise_mlp"]

_LOGIT_BITS = 16


def _fraction(most, limit, highest=30):
    """The largest fraction length with which ``most`` stays below ``limit``."""
    return min(highest, int(np.floor(np.log2(limit / most))))


def _layer(result, name, weights, bias, reach, given, last):
    """Appends a layer's arrays; ``weights`` float, ``reach``: largest result, ``given``: fraction
    of the inputs. Returns the fraction of the results."""
    own = _fraction(np.abs(weights).max(), 127.49)
    out = min(_fraction(reach, (1 << _LOGIT_BITS - 1) - 1 if last else 127.49), own + given)
    result[f"{name}_w"] = np.rint(weights * 2.0**own).astype(np.int8)
    if bias is not None:
        result[f"{name}_b"] = np.rint(bias * 2.0 ** (own + given)).astype(np.int32)
    result[f"{name}_shift"] = np.array(own + given - out, np.int8)
    return out


def quantise_mlp(weights: Sequence[np.ndarray], images: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays ``mlp1_w`` etc. of the quantised MLP, from float ``weights`` (two matrices);
    ``images`` [count, 64] of 0 to 16."""
    result: dict[str, np.ndarray] = {}
    values, given = with_bias(images).astype(np.float64), 0
    for k, w in enumerate(weights):
        sums = values @ w
        values = np.maximum(sums, 0)
        reach = np.quantile(np.abs(sums if k else values), 0.9995)
        given = _layer(result, f"mlp{k + 1}", w, None, reach, given, k == 1)
    return result


def quantise_cnn(
    model: Mapping[str, tuple[np.ndarray, np.ndarray]], images: np.ndarray
) -> dict[str, np.ndarray]:
    """Arrays ``conv1_w`` etc. of the quantised CNN, from a float ``model`` (name -> weights and
    bias, as ``train`` of the OPU's script returns it)."""
    found = forward(model, (images / 16).astype(np.float32).reshape(-1, 8, 8, 1))
    result: dict[str, np.ndarray] = {}
    given = 4
    for name in LAYERS:
        weights, bias = model[name]
        # (rows, columns, channels in, out), or (inputs, outputs).
        matrix = weights.transpose(2, 3, 1, 0) if weights.ndim == 4 else weights.T
        given = _layer(
            result,
            name,
            matrix,
            bias,
            np.quantile(np.abs(found[name]), 0.9999),
            given,
            name == "dense2",
        )
    return result


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(
        prog="quantise_digits", description="Quantise the digits networks (extra `train`)."
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent / "digits" / "weights.npz"
    )
    options = parser.parse_args(argv)
    from .digits import accuracy_of

    (images, _), (test, answers), _ = load(parser)
    cnn = load_archive(CNN_FOLDER / "weights.npz")
    model = {name: (cnn[f"{name}_float"], cnn[f"{name}_float_b"]) for name in LAYERS}
    result = quantise_mlp(float_weights(), images)
    result |= quantise_cnn(model, images)
    for name in ("mlp", "cnn"):
        print(f"{name}, held out: {accuracy_of(result, name, test, answers):.4f}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {**result}
    np.savez_compressed(options.out, **arrays)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
