# SPDX-License-Identifier: BSD-2-Clause
"""Trains OpenTPU's digits networks: ``python -m quintet.firmware.opentpu.train_digits``. Needs the
extra ``train``.

Two networks 64-32-10; the split, and the float network, are those of ``firmware/digits``.

* *norm*: the float network with int8 weights, for cores with ext_norm: each layer's sums are
  shifted, rounded and saturated.
* *plain*: for the unmodified instruction set, where ACT keeps the low byte of a sum and nothing
  else. Its weights are small integers, trained as such (rounded in the forward pass, gradients
  straight through), its inputs are 0 to 4 instead of 0 to 16, and sums near the ends of -128..127
  cost. So the low byte is the sum.

The bias is weight row 0: pixel 0, black in every image of the set, is a constant.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..digits import float_weights, with_bias
from ..digits.training import accuracy, best_of, load, margin, train

__all__ = ["PLAIN_BIAS", "main", "prepare", "quantise"]

PLAIN_BIAS = 7
_PLAIN_SHIFT = 2  # pixels 0..16 -> 0..4
_LIMITS = (3, 1)  # |weights| of the plain network's layers


def prepare(images: np.ndarray, *, norm: bool) -> np.ndarray:
    """The network's int8 inputs from pixels 0..16 [count, 64], with the constant in place of pixel
    0."""
    if norm:
        return with_bias(images)
    inputs = (np.asarray(images) >> _PLAIN_SHIFT).astype(np.int8)
    inputs[:, 0] = PLAIN_BIAS
    return inputs


def quantise(
    weights: Sequence[np.ndarray], images: np.ndarray
) -> tuple[list[np.ndarray], list[int]]:
    """int8 weights of the float network, and the CFG norm values of both layers, from the sums of
    the training images."""
    inputs = prepare(images, norm=True).astype(np.int64)
    result, norms = [], []
    for k, w in enumerate(weights):
        whole = np.rint(w * (127 / np.abs(w).max())).astype(np.int8)
        sums = inputs @ whole.astype(np.int64)
        # The widest sums may saturate: all but one in a thousand fit.
        shift = 0
        while (
            np.quantile(np.abs(np.maximum(sums, 0) if k == 0 else sums), 0.999) / 2**shift > 127.49
        ):
            shift += 1
        norms.append(1 << 16 | (1 << 8 if shift else 0) | shift)  # saturate to int8, round
        inputs = np.clip((np.maximum(sums, 0) + (1 << shift >> 1)) >> shift, -128, 127)
        result.append(whole)
    return result, norms


def _low_byte(values):
    return values.astype(np.int64).astype(np.int8).astype(np.int64)


def _plain_logits(weights, inputs):
    hidden = _low_byte(np.maximum(inputs.astype(np.int64) @ weights[0].astype(np.int64), 0))
    return _low_byte(hidden @ weights[1].astype(np.int64))


def _widest(weights, inputs):
    """Largest magnitude of any sum, of both layers."""
    sums = inputs.astype(np.int64) @ weights[0].astype(np.int64)
    return int(
        max(np.abs(sums).max(), np.abs(np.maximum(sums, 0) @ weights[1].astype(np.int64)).max())
    )


def _norm_logits(weights, norms, inputs):
    values = inputs.astype(np.int64)
    for k, (w, norm) in enumerate(zip(weights, norms, strict=True)):
        values = values @ w.astype(np.int64)
        values = (values + (1 << (norm & 31) >> 1)) >> (norm & 31)
        values = np.clip(np.maximum(values, 0) if k == 0 else values, -128, 127)
    return values


def main(argv: Sequence[str] | None = None) -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(
        prog="train_digits", description="Train the digits networks (extra `train`)."
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent / "digits" / "weights.npz"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=12,
        help="networks of each kind, the best on training data is kept",
    )
    parser.add_argument("--epochs", type=int, default=300)
    options = parser.parse_args(argv)
    (images, labels), (test, answers), _ = load(parser)

    def made(seed):
        weights = train(
            images,
            labels,
            prepare=partial(prepare, norm=False),
            limits=_LIMITS,
            seed=seed,
            epochs=options.epochs,
        )
        inputs = prepare(images, norm=False)
        logits, widest = _plain_logits(weights, inputs), _widest(weights, inputs)
        # First of all the sums of the training images must leave room for those of others.
        score = widest <= 112, accuracy(logits, labels), margin(logits, labels)
        print(
            f"plain, seed {seed}: training accuracy {score[1]:.4f}, margin {score[2]:.2f}, "
            f"widest sum {widest}",
            flush=True,
        )
        return score, weights

    plain = [w.astype(np.int8) for w in best_of(made, options.seeds)]

    floats = float_weights()
    whole, norms = quantise(floats, images)

    inputs = prepare(test, norm=False)
    print(
        f"plain: held out {accuracy(_plain_logits(plain, inputs), answers):.4f}, widest sum "
        f"{_widest(plain, inputs)}"
    )
    inputs = prepare(test, norm=True)
    print(
        f"norm:  held out {accuracy(_norm_logits(whole, norms, inputs), answers):.4f}, CFG "
        f"{[hex(v) for v in norms]}"
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        options.out,
        plain_w1=plain[0],
        plain_w2=plain[1],
        norm_w1=whole[0],
        norm_w2=whole[1],
        norm_cfg=np.array(norms, np.uint32),
    )
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
