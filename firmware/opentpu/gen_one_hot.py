# SPDX-License-Identifier: BSD-2-Clause
"""Generator of random int8 data for the two-layer network: a training matrix, its labels, test
vectors (specification, section 7.3).

python -m quintet.firmware.opentpu.gen_one_hot --path simple_train --shape 8 8 --range -5 5
python -m quintet.firmware.opentpu.gen_one_hot --path simple_train_label --shape 8 1 --range 0 2
python -m quintet.firmware.opentpu.gen_one_hot --path simple_test --shape 100 8 --range 1 9
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

__all__ = ["generate", "main"]


def generate(
    shape: Sequence[int], low: int, high: int, *, diagonal: int | None = None, seed: int = 0
) -> np.ndarray:
    """Random int8 matrix [rows, columns] with ``low <= value < high``; ``diagonal``: value on the
    main diagonal."""
    if not -128 <= low < high <= 128:
        raise ValueError(f"range {low} {high}: expected two integers LOW < HIGH from -128 to 128")
    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"shape {' '.join(map(str, shape))}: expected two positive integers")
    if diagonal is not None and not -128 <= diagonal <= 127:
        raise ValueError(f"diagonal {diagonal}: expected -128 to 127")
    data = np.random.default_rng(seed).integers(low, high, shape).astype(np.int8)
    if diagonal is not None:
        np.fill_diagonal(data, diagonal)
    return data


def _number(text):
    return int(text.strip().rstrip(","), 0)  # the source's example writes `--range 1, 9`


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of this module's command line."""
    parser = argparse.ArgumentParser(
        prog="gen_one_hot", description="Write random int8 data as .npy."
    )
    parser.add_argument("--path", type=Path, required=True, help="file to write; .npy is appended")
    parser.add_argument(
        "--shape", type=_number, nargs=2, required=True, metavar=("ROWS", "COLUMNS")
    )
    parser.add_argument(
        "--range",
        type=_number,
        nargs=2,
        required=True,
        metavar=("LOW", "HIGH"),
        help="LOW <= value < HIGH",
    )
    parser.add_argument(
        "--diagonal",
        type=_number,
        help="value of the main diagonal (default: 20 in a square matrix)",
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    diagonal = options.diagonal
    if diagonal is None and options.shape[0] == options.shape[1]:
        diagonal = 20
    try:
        data = generate(tuple(options.shape), *options.range, diagonal=diagonal, seed=options.seed)
    except ValueError as error:
        parser.error(str(error))
    path = (
        options.path
        if options.path.suffix == ".npy"
        else options.path.with_name(options.path.name + ".npy")
    )
    np.save(path, data)
    print(f"{path}: int8 {list(data.shape)}, {data.min()} to {data.max()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
