# SPDX-License-Identifier: BSD-2-Clause
"""Benchmark jobs: a random multilayer perceptron, or a single product (specification, section 10.3,
W1 to W10).

    python -m quintet.firmware.opentpu.mlp DIR
        256-256-256-16, batch 128, N = 8 (W10)
    python -m quintet.firmware.opentpu.mlp DIR --batch 64 -P ub_rows=4096
        the same, batch 64 (W9)
    python -m quintet.firmware.opentpu.mlp DIR --layers 40 32 --batch 240
        a product of 240x40 and 40x32 (W1)

Beside the job it writes ``<name>_want.npy``: the results by plain numpy, as the run must save them.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quintet.firmware.opentpu.network import Layer, NetworkError
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.layout import pack_matrix

from .jobs import network_job

__all__ = ["main", "make_job", "random_network"]


def random_network(
    sizes: Sequence[int], rows: int, seed: int = 0
) -> tuple[list[Layer], np.ndarray, np.ndarray]:
    """Random int8 layers (ReLU between them, the low byte at the end), inputs [rows, sizes[0]], and
    results by numpy."""
    rng = np.random.default_rng(seed)
    layers = [
        Layer(
            rng.integers(-128, 128, shape).astype(np.int8), "relu" if k < len(sizes) - 2 else "none"
        )
        for k, shape in enumerate(zip(sizes[:-1], sizes[1:], strict=True))
    ]
    inputs = rng.integers(-128, 128, (rows, sizes[0])).astype(np.int8)
    values = inputs
    for layer in layers:
        sums = values.astype(np.int64) @ layer.weights.astype(np.int64)
        values = (np.maximum(sums, 0) if layer.func == "relu" else sums).astype(np.int8)
    return layers, inputs, values


def make_job(
    folder: str | Path,
    params: dict[str, Any],
    *,
    sizes: Sequence[int] = (256, 256, 256, 16),
    batch: int = 128,
    name: str | None = None,
    seed: int = 0,
) -> Path:
    """Writes the job and its expected results; returns the job's path."""
    layers, inputs, results = random_network(sizes, batch, seed)
    name = name or f"mlp_{'_'.join(map(str, sizes))}_b{batch}_n{params['n']}"
    comment = (
        f"Random network {'-'.join(map(str, sizes))}, batch {batch}, N = {params['n']}.\n"
        "Written by python -m quintet.firmware.opentpu.mlp"
    )
    path = network_job(
        folder, name, layers, inputs, params, batch=batch, comment=comment, cycles=10_000_000
    )
    np.save(Path(folder) / f"{name}_want.npy", pack_matrix(results, params["n"]))
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of this module."""
    parser = argparse.ArgumentParser(prog="mlp", description="Write a job that measures the core.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--layers", type=int, nargs="+", default=[256, 256, 256, 16], metavar="SIZE"
    )
    parser.add_argument("--batch", type=int, default=128, help="rows of input, 1 to 256")
    parser.add_argument("--preset", help="sizes (default: the core's default preset)")
    parser.add_argument(
        "-P",
        dest="params",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="build parameter",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name")
    options = parser.parse_args(argv)
    if len(options.layers) < 2 or min(options.layers) < 1:
        parser.error("--layers needs two positive sizes at least")
    try:
        given = dict(item.split("=", 1) if "=" in item else (item, "") for item in options.params)
        print(
            make_job(
                options.folder,
                SPACE.resolve(options.preset, given),
                sizes=options.layers,
                batch=options.batch,
                name=options.name,
                seed=options.seed,
            )
        )
    except (ValueError, NetworkError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
