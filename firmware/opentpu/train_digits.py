# SPDX-License-Identifier: BSD-2-Clause
"""Trains the digits networks: ``python -m quintet.firmware.opentpu.train_digits``. Needs the extra ``train``.

Three networks 64-32-10 on the 8x8 images of the UCI handwritten digits, 540 of the 1,797 images (30 %) held out by a fixed
split; nothing but the other 1,257 decides about weights and settings.

* *float*: the reference, ReLU, float32.
* *norm*: the float network with int8 weights, for cores with ext_norm: each layer's sums are shifted, rounded and saturated.
* *plain*: for the unmodified instruction set, where ACT keeps the low byte of a sum and nothing else. Its weights are small
  integers, trained as such (rounded in the forward pass, gradients straight through), its inputs are 0 to 4 instead of 0
  to 16, and sums near the ends of -128..127 cost. So the low byte is the sum.

The bias is weight row 0: pixel 0, black in every image of the set, is a constant.
"""
import argparse
from pathlib import Path

import numpy as np

__all__ = ["HIDDEN", "PLAIN_BIAS", "NORM_BIAS", "augment", "main", "prepare", "quantise", "split", "train"]

HIDDEN = 32
PLAIN_BIAS, NORM_BIAS = 7, 127
_PLAIN_SHIFT = 2            # pixels 0..16 -> 0..4
_LIMITS = (3, 1)            # |weights| of the plain network's layers
_SPLIT_SEED = 2026
_HELD_OUT = 540


def split(images, labels):
    """(training images, labels), (held-out images, labels), and the indices of the held-out ones: fixed by a seed."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(images))
    held, rest = np.sort(order[:_HELD_OUT]), np.sort(order[_HELD_OUT:])
    return (images[rest], labels[rest]), (images[held], labels[held]), held


def prepare(images, *, norm):
    """Pixels 0..16 [count, 64] -> the network's int8 inputs, the constant in place of pixel 0."""
    inputs = np.asarray(images).astype(np.int8) if norm else (np.asarray(images) >> _PLAIN_SHIFT).astype(np.int8)
    inputs[:, 0] = NORM_BIAS if norm else PLAIN_BIAS
    return inputs


def _shift(images, distance, axis):
    """Images [count, 8, 8] moved by a fraction of a pixel, linearly interpolated."""
    padding = [(0, 0), (0, 0), (0, 0)]
    padding[axis] = (1, 1)
    padded = np.pad(images, padding)
    first, last = [slice(None)] * 3, [slice(None)] * 3
    first[axis], last[axis] = slice(None, -2), slice(2, None)
    moved = np.where((distance > 0)[:, None, None], padded[tuple(first)], padded[tuple(last)])
    part = np.abs(distance)[:, None, None]
    return images * (1 - part) + moved * part


def augment(images, rng, amount):
    """Random shifts up to ``amount`` pixels, brightness and noise; the result is pixels again."""
    count = len(images)
    result = images.reshape(-1, 8, 8).astype(np.float32)
    result = _shift(_shift(result, rng.uniform(-amount, amount, count), 2), rng.uniform(-amount, amount, count), 1)
    result = result * rng.uniform(0.85, 1.1, (count, 1, 1)) + rng.normal(0, 0.5, result.shape)
    return np.clip(np.rint(result), 0, 16).astype(np.int64).reshape(-1, 64)


def train(images, labels, *, limits, seed, epochs=300, rate=0.005, temperature=10.0, shift=0.3):
    """Adam on the cross-entropy of ``logits / temperature``.

    ``limits``: largest weights of the two layers, which are rounded to integers in the forward pass and whose sums are kept
    small; ``None``: a float network. Returns the list of two float32 weight matrices (integers where there are limits).
    """
    rng = np.random.default_rng(seed)
    plain = limits is not None
    scale = limits if plain else (1 / 16, 1.0)
    weights = [rng.normal(0, scale[0] * 0.35, (64, HIDDEN)), rng.normal(0, scale[1] * 0.5, (HIDDEN, 10))]
    weights = [w.astype(np.float32) for w in weights]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    size, step = 64, 0
    steps = epochs * (len(images) // size)
    temperature = temperature if plain else 1.0

    def used():
        return [np.clip(np.rint(w), -m, m) for w, m in zip(weights, limits, strict=True)] if plain else weights

    for _ in range(epochs):
        order = rng.permutation(len(images))
        inputs = prepare(augment(images, rng, shift), norm=not plain).astype(np.float32)
        for at in range(0, len(images) - size + 1, size):
            index = order[at:at + size]
            w1, w2 = used()
            sums = inputs[index] @ w1
            hidden = np.maximum(sums, 0)
            logits = hidden @ w2
            grad = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
            grad /= grad.sum(axis=1, keepdims=True)
            grad[np.arange(size), labels[index]] -= 1
            grad /= temperature
            if plain:       # keep well inside a byte
                grad += 0.01 * (np.maximum(logits - 80, 0) + np.minimum(logits + 80, 0))
            back = (grad @ w2.T) * (sums > 0)
            if plain:
                back += 0.01 * (np.maximum(sums - 108, 0) + np.minimum(sums + 108, 0))
            step += 1
            speed = rate * 0.5 * (1 + np.cos(np.pi * step / steps)) + 1e-4
            for k, slope in enumerate((inputs[index].T @ back, hidden.T @ grad)):
                first[k] = 0.9 * first[k] + 0.1 * slope
                second[k] = 0.99 * second[k] + 0.01 * slope * slope
                move = first[k] / (1 - 0.9 ** step) / (np.sqrt(second[k] / (1 - 0.99 ** step)) + 1e-8)
                weights[k] -= speed * scale[k] * move
                if plain:
                    weights[k] = np.clip(weights[k], -limits[k] - 0.49, limits[k] + 0.49)
                else:
                    weights[k] *= 1 - 0.02 * speed
    return used()


def quantise(weights, images):
    """Float network -> int8 weights and the CFG norm values of both layers, from the sums of the training images."""
    inputs = prepare(images, norm=True).astype(np.int64)
    result, norms = [], []
    for k, w in enumerate(weights):
        whole = np.rint(w * (127 / np.abs(w).max())).astype(np.int8)
        sums = inputs @ whole.astype(np.int64)
        # The widest sums may saturate: all but one in a thousand fit.
        shift = 0
        while np.quantile(np.abs(np.maximum(sums, 0) if k == 0 else sums), 0.999) / 2 ** shift > 127.49:
            shift += 1
        norms.append(1 << 16 | (1 << 8 if shift else 0) | shift)        # saturate to int8, round
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
    return int(max(np.abs(sums).max(), np.abs(np.maximum(sums, 0) @ weights[1].astype(np.int64)).max()))


def _norm_logits(weights, norms, inputs):
    values = inputs.astype(np.int64)
    for k, (w, norm) in enumerate(zip(weights, norms, strict=True)):
        values = values @ w.astype(np.int64)
        values = (values + (1 << (norm & 31) >> 1)) >> (norm & 31)
        values = np.clip(np.maximum(values, 0) if k == 0 else values, -128, 127)
    return values


def _accuracy(logits, labels):
    return float((logits.argmax(axis=1) == labels).mean())


def _margin(logits, labels):
    """Mean distance of the right logit from the best wrong one, cut at +-30: what is left to gain on training data."""
    rows = np.arange(len(labels))
    others = logits.astype(np.float64).copy()
    others[rows, labels] = -np.inf
    return float(np.clip(logits[rows, labels] - others.max(axis=1), -30, 30).mean())


def main(argv=None):
    parser = argparse.ArgumentParser(prog="train_digits", description="Train the digits networks (extra `train`).")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "digits" / "digits.npz")
    parser.add_argument("--seeds", type=int, default=12, help="networks of each kind, the best on training data is kept")
    parser.add_argument("--epochs", type=int, default=300)
    options = parser.parse_args(argv)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        parser.error("needs scikit-learn: pip install 'quintet[train]'")
    data = load_digits()
    (images, labels), (test, answers), held = split(data.data.astype(np.int64), data.target)

    best = None
    for seed in range(options.seeds):
        weights = train(images, labels, limits=_LIMITS, seed=seed, epochs=options.epochs)
        inputs = prepare(images, norm=False)
        logits, widest = _plain_logits(weights, inputs), _widest(weights, inputs)
        # First of all the sums of the training images must leave room for those of others.
        score = widest <= 112, _accuracy(logits, labels), _margin(logits, labels)
        print(f"plain, seed {seed}: training accuracy {score[1]:.4f}, margin {score[2]:.2f}, widest sum {widest}", flush=True)
        if best is None or score > best[0]:
            best = score, weights
    plain = [w.astype(np.int8) for w in best[1]]

    best = None
    for seed in range(max(1, options.seeds // 4)):
        weights = train(images, labels, limits=None, seed=seed, epochs=options.epochs // 3, rate=0.02)
        logits = np.maximum(prepare(images, norm=True) @ weights[0], 0) @ weights[1]
        score = _accuracy(logits, labels), _margin(logits, labels)
        print(f"float, seed {seed}: training accuracy {score[0]:.4f}, margin {score[1]:.2f}", flush=True)
        if best is None or score > best[0]:
            best = score, weights
    floats = best[1]
    whole, norms = quantise(floats, images)

    inputs = prepare(test, norm=False)
    print(f"plain: held out {_accuracy(_plain_logits(plain, inputs), answers):.4f}, widest sum {_widest(plain, inputs)}")
    inputs = prepare(test, norm=True)
    logits = np.maximum(inputs @ floats[0], 0) @ floats[1]
    print(f"float: held out {_accuracy(logits, answers):.4f}")
    print(f"norm:  held out {_accuracy(_norm_logits(whole, norms, inputs), answers):.4f}, CFG {[hex(v) for v in norms]}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.out, images=test.astype(np.uint8), labels=answers.astype(np.uint8),
                        held_out=held.astype(np.uint16), plain_w1=plain[0], plain_w2=plain[1],
                        norm_w1=whole[0], norm_w2=whole[1], norm_cfg=np.array(norms, np.uint32),
                        float_w1=floats[0], float_w2=floats[1])
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
