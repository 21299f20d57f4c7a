# SPDX-License-Identifier: BSD-2-Clause
"""Regression example: a multilayer perceptron 11-16-1 on scikit-learn's diabetes data
(specification, section 7.3).

    python -m quintet.firmware.opentpu.regression --N 10 --save-input-path diabetes_input \\
        --save-weight-path diabetes_weights --save-output-path diabetes_output [--raw] [--job DIR]

The source used the Boston housing set, which has been withdrawn. Two networks are trained, one in
float32 and one of small integers whose sums stay in a byte, since the unmodified instruction set
keeps the low byte of a sum. Writes ``gt32.npy`` (float32 predictions [N, 1]), the first N test
cases as host memory, the weights as tiles, and the outputs of both layers as vectors: int8, or with
``--raw`` float32. Needs the extra ``train``.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.requirements import extra_command
from quintet.tools.compiler.backends.opentpu.layout import pack_matrix, pack_weights

from .jobs import Layer, network_job
from .simple_nn import apply, train

__all__ = ["load", "main"]

_INPUT_SCALE = 3  # a standard deviation of a feature
_OUTPUT_SCALE = 32  # a standard deviation of the target, in the integer network
_LIMITS = (4, 2)  # largest weights of the integer network
_HIDDEN = 16
_TEST = 89  # a fifth of the 442 patients


def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Loads the diabetes data, ((x, y), (x, y)) for training and test by a fixed split: integer
    features int8 [rows, 11] (the last is a constant, for the bias) and targets float32 [rows, 1]
    scaled to mean 0 and deviation 1."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    order = np.random.default_rng(442).permutation(len(data.data))
    rest, test = order[_TEST:], order[:_TEST]
    mean, deviation = data.data[rest].mean(axis=0), data.data[rest].std(axis=0)
    features = np.clip(np.rint((data.data - mean) / deviation * _INPUT_SCALE), -9, 9)
    features = np.concatenate([features, np.full((len(features), 1), _INPUT_SCALE)], axis=1).astype(
        np.int8
    )
    centre, spread = data.target[rest].mean(), data.target[rest].std()
    targets = ((data.target - centre) / spread).astype(np.float32)[:, None]
    return (features[rest], targets[rest]), (features[test], targets[test])


def _correlation(a, b):
    return float(np.corrcoef(a.ravel().astype(np.float64), b.ravel().astype(np.float64))[0, 1])


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="regression", description="Train the regression example (extra `train`)."
    )
    parser.add_argument(
        "--N", type=int, default=10, help="test cases to save, 1 to 89 (default 10)"
    )
    parser.add_argument("--save-input-path", type=Path, default=Path("diabetes_input"))
    parser.add_argument("--save-weight-path", type=Path, default=Path("diabetes_weights"))
    parser.add_argument("--save-output-path", type=Path, default=Path("diabetes_output"))
    parser.add_argument("--raw", action="store_true", help="float32 files instead of int8")
    parser.add_argument("--size", type=int, default=8, help="side of the array (default 8)")
    parser.add_argument(
        "--job", type=Path, help="folder to write the job regression_n<size>.toml into"
    )
    parser.add_argument("--epochs", type=int, default=2000)
    options = parser.parse_args(argv)
    if not 1 <= options.N <= _TEST:
        parser.error(f"--N {options.N}: expected 1 to {_TEST}")
    try:
        params = SPACE.resolve("sim", {"n": options.size})
    except ValueError as error:
        parser.error(str(error))
    try:
        (inputs, targets), (test, answers) = load()
    except ImportError:
        parser.error(f"needs scikit-learn: {extra_command('train')}")
    n = options.size
    weights = train(inputs, targets, epochs=options.epochs // 5, rate=0.003, hidden=_HIDDEN)
    whole = train(
        inputs,
        targets * _OUTPUT_SCALE,
        epochs=options.epochs,
        rate=0.005,
        hidden=_HIDDEN,
        limits=_LIMITS,
    )
    whole = [w.astype(np.int8) for w in whole]
    cases = test[: options.N]
    used = weights if options.raw else whole
    dtype = np.float32 if options.raw else np.int8
    # int8: low bytes, as ACT leaves them.
    hidden = (
        np.maximum(cases.astype(np.float32) @ weights[0], 0)
        if options.raw
        else np.maximum(cases.astype(np.int64) @ whole[0].astype(np.int64), 0).astype(np.int8)
    )
    outputs = (
        hidden @ weights[1]
        if options.raw
        else (hidden.astype(np.int64) @ whole[1].astype(np.int64)).astype(np.int8)
    )

    def save(path, array):
        path = path if path.suffix == ".npy" else path.with_name(path.name + ".npy")
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, array)
        print(f"{path}: {array.dtype} {list(array.shape)}")

    save(options.save_output_path.with_name("gt32.npy"), apply(weights, cases))
    save(options.save_input_path, pack_matrix(cases, n).astype(dtype))
    save(options.save_weight_path, np.concatenate([pack_weights(w, n) for w in used]).astype(dtype))
    save(
        options.save_output_path,
        np.concatenate([pack_matrix(hidden, n), pack_matrix(outputs, n)]).astype(dtype),
    )
    everything = (
        np.maximum(test.astype(np.int64) @ whole[0].astype(np.int64), 0)
        .astype(np.int8)
        .astype(np.int64)
    )
    print(
        f"correlation with the truth on {_TEST} test cases: float "
        f"{_correlation(apply(weights, test), answers):.3f}, "
        f"int8 "
        f"{_correlation((everything @ whole[1].astype(np.int64)).astype(np.int8), answers):.3f}; "
        f"an integer result is about {_OUTPUT_SCALE} times the float one"
    )
    if options.job:
        layers = [Layer(whole[0], relu=True), Layer(whole[1])]
        print(
            network_job(
                options.job,
                f"regression_n{n}",
                layers,
                cases,
                params,
                cycles=1_000_000,
                comment=f"The source's regression example, on the diabetes data, N = {n}.\n"
                "Written by python -m quintet.firmware.opentpu.regression",
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
