# SPDX-License-Identifier: BSD-2-Clause
"""Simple two-layer network: training, quantisation, and its job (specification, section 7.3;
workload W12).

    python -m quintet.firmware.opentpu.simple_nn --path simple_train.npy \\
        --label simple_train_label.npy
    python -m quintet.firmware.opentpu.simple_nn --path ... --label ... \\
        --test simple_test.npy --job DIR

Writes ``simple_nn_weight_dram.npy``, int8 [2, n, n], both layers as they lie in weight memory, and
the ground truth, ``simple_nn_gt.npz`` (the source pickles it): ``results`` float32 [rows, outputs],
what the float network makes of the training data (or of ``--test``), ``w1``, ``w2`` float32,
``float_tiles`` both as tiles, ``scale`` from float to integer results. With ``--job`` also program,
data and job for the test vectors, in batches.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.layout import pack_weights
from quintet.tools.errors import InputError
from quintet.tools.jobs.arrays import read_array

from ..commandline import Parser
from .jobs import Layer, network_job

__all__ = ["apply", "main", "quantise", "train"]


def apply(weights: Sequence[np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """Computes the float network: ReLU after the first layer, none after the second; float32
    throughout."""
    hidden = np.maximum(inputs.astype(np.float32) @ weights[0], np.float32(0))
    return hidden @ weights[1]


def train(
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    epochs: int = 2000,
    rate: float | None = None,
    seed: int = 0,
    hidden: int | None = None,
    limits: Sequence[int] | None = None,
) -> list[np.ndarray]:
    """Trains the network by least squares with Adam on the whole set: float32 weights [n, hidden]
    and [hidden, outputs].

    ``inputs`` [rows, n], ``labels`` [rows, outputs]; ``hidden``: units, by default n. ``rate``: by
    default 0.01, and less where n is more than 8, since a sum moves by n weights in a step. With
    ``limits`` the weights of the two layers are whole numbers up to these (rounded in the forward
    pass, gradients straight through), and sums that come near the ends of -128..127 cost.
    """
    rng = np.random.default_rng(seed)
    n = inputs.shape[1]
    hidden = hidden or n
    if rate is None:
        rate = 0.01 * min(1, 8 / n)
    x, y = inputs.astype(np.float32), labels.astype(np.float32)
    deviations = (1 / n, 1) if limits is None else [0.4 * limit for limit in limits]
    weights = [
        rng.normal(0, d, shape).astype(np.float32)
        for d, shape in zip(deviations, ((n, hidden), (hidden, y.shape[1])), strict=True)
    ]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    scale = limits or (1, 1)

    def used():
        if limits is None:
            return weights
        return [np.clip(np.rint(w), -m, m) for w, m in zip(weights, limits, strict=True)]

    for step in range(1, epochs + 1):
        w1, w2 = used()
        sums = x @ w1
        units = np.maximum(sums, 0)
        results = units @ w2
        error = results - y
        back = np.zeros_like(sums)
        if limits is not None:
            error = error + 4 * (np.maximum(results - 100, 0) + np.minimum(results + 100, 0))
            back = 0.1 * (np.maximum(sums - 100, 0) + np.minimum(sums + 100, 0))
        slopes = x.T @ ((error @ w2.T) * (sums > 0) + back) / len(x), units.T @ error / len(x)
        speed = rate if limits is None else rate * (1.01 - step / epochs)
        for k, slope in enumerate(slopes):
            first[k] = 0.9 * first[k] + 0.1 * slope
            second[k] = 0.999 * second[k] + 0.001 * slope * slope
            move = (first[k] / (1 - 0.9**step)) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)
            weights[k] -= speed * scale[k] * move
            if limits is not None:
                weights[k] = np.clip(weights[k], -limits[k] - 0.49, limits[k] + 0.49)
    return used()


def quantise(weights: Sequence[np.ndarray], inputs: np.ndarray) -> tuple[list[np.ndarray], float]:
    """Quantises the weights to int8, scaled so that no sum of ``inputs`` exceeds a byte; also
    returns the factor from float to integer results.

    Without normalisation a sum is its own result: each layer gets the largest scale whose rounded
    sums stay in -128..127.
    """
    values, result, factor = inputs.astype(np.int64), [], 1.0
    for k, w in enumerate(weights):
        scale = 127 / max(float(np.abs(w).max()), 1e-30)
        while True:
            whole = np.rint(w * scale).astype(np.int8)
            sums = values @ whole.astype(np.int64)
            if np.abs(sums).max() <= 127:
                break
            scale *= 0.95
        values = np.maximum(sums, 0) if k == 0 else sums
        result.append(whole)
        factor *= scale
    return result, factor


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = Parser(prog="simple_nn", description="Train the simple two-layer network.")
    parser.add_argument(
        "--path",
        required=True,
        metavar="FILE",
        help="training data, .npy or .npz:key, int8 [rows, n]",
    )
    parser.add_argument(
        "--label", required=True, metavar="FILE", help="labels, likewise, int8 [rows, outputs]"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="folder of simple_nn_weight_dram.npy and simple_nn_gt.npz",
    )
    parser.add_argument(
        "--test",
        metavar="FILE",
        help="vectors for the results and the job, likewise, int8 [rows, n]",
    )
    parser.add_argument("--job", type=Path, help="folder to write the job simple_nn_n<n>.toml into")
    parser.add_argument(
        "--preset", default="sim", help="sizes of the job (default: sim); n is the data's"
    )
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    try:
        data = {
            f"--{name}": read_array(getattr(options, name))
            for name in ("path", "label", "test")
            if getattr(options, name)
        }
        for name, array in data.items():
            if array.dtype != np.int8 or array.ndim != 2:
                raise ValueError(
                    f"{name} holds {array.dtype} {list(array.shape)}: expected int8 [rows, columns]"
                )
        inputs, labels = data["--path"], data["--label"]
        n = inputs.shape[1]
        if len(inputs) != len(labels) or labels.shape[1] > n:
            raise ValueError(
                f"--label holds {list(labels.shape)}: expected {len(inputs)} rows and at "
                f"most {n} columns"
            )
        test = data.get("--test", inputs)
        if test.shape[1] != n:
            raise ValueError(f"--test has {test.shape[1]} columns: expected {n}")
        params = SPACE.resolve(options.preset, {"n": n})
        if options.out.suffix or options.out.exists() and not options.out.is_dir():
            raise ValueError(
                f"--out {options.out}: expected a folder, for simple_nn_weight_dram.npy and "
                f"simple_nn_gt.npz"
            )
    except (InputError, ValueError) as error:
        parser.error(str(error))
    weights = train(inputs, labels, epochs=options.epochs, seed=options.seed)
    whole, factor = quantise(weights, np.concatenate([inputs, test]))
    results = apply(weights, test)
    dram, truth = options.out / "simple_nn_weight_dram.npy", options.out / "simple_nn_gt.npz"
    options.out.mkdir(parents=True, exist_ok=True)
    np.save(dram, np.concatenate([pack_weights(w, n) for w in whole]))
    np.savez_compressed(
        truth,
        results=results,
        w1=weights[0],
        w2=weights[1],
        float_tiles=np.concatenate([pack_weights(w, n) for w in weights]),
        scale=np.float32(factor),
    )
    error = np.abs(apply(weights, inputs) - labels).max()
    print(
        f"{dram}, {truth}: training error at most {error:.3f}, an integer result is "
        f"{factor:.3f} times the float one"
    )
    if options.job:
        layers = [Layer(whole[0], relu=True), Layer(whole[1])]
        print(
            network_job(
                options.job,
                f"simple_nn_n{n}",
                layers,
                test,
                params,
                cycles=1_000_000,
                comment=f"The source's simple two-layer network, N = {n}.\n"
                "Written by python -m quintet.firmware.opentpu.simple_nn",
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
