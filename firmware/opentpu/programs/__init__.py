# SPDX-License-Identifier: BSD-2-Clause
"""Shipped programs and jobs other than the digits: the original project's, and the small job of the
specification (7.4).

| job | what |
|---|---|
| ``small`` | every instruction but NOP, n = 4 |
| ``matmul_n4``, ``matmul_n8`` | a simple matrix multiplication, n x n by n x n |
| ``simple_nn_n4``, ``simple_nn_n8`` | the two-layer network, 100 test vectors |
| ``regression_n4``, ``regression_n8`` | the regression on the diabetes data, 10 patients |

``python -m quintet.firmware.opentpu.programs`` writes those that need no training again;
``--train`` all of them.
"""

from pathlib import Path

import numpy as np

from quintet.gateware.cores.opentpu.params import SPACE
from quintet.tools.compiler.backends.opentpu.layout import pack_matrix, pack_weights
from quintet.tools.jobs.job import Job, Load, Save, Source

from .. import gen_one_hot, simple_nn
from ..jobs import Layer, network_job

__all__ = ["FOLDER", "job", "matmul", "small", "two_layers"]

FOLDER = Path(__file__).resolve().parent

_SMALL = """\
# Every instruction but NOP (specification, section 7.4). n = 4.
RHM 0, 0, 3
RW  0
RW  1
MMC.SO 0, 0, 3
ACT.R  0, 4, 3
MMC.SO 4, 8, 3
MMC    0, 8, 3      # same tile, accumulates
ACT.Q  8, 8, 3
WHM 8, 4, 3
ACT 8, 12, 3
WHM 12, 7, 3
HLT
"""

SMALL_X = np.array([[1, 2, 3, 4], [-1, 0, 5, -2], [10, -20, 30, -40]], np.int8)
SMALL_W = np.array(
    [
        [[1, 0, 2, -1], [0, 1, -1, 3], [2, 1, 0, 1], [-1, 2, 1, 0]],
        [[1, -1, 0, 0], [0, 1, 0, -1], [1, 0, -2, 1], [0, 0, 1, 1]],
    ],
    np.int8,
)


def job(name: str) -> Path:
    """Path of the shipped job ``name``; raises ``ValueError``, which lists the known names."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        raise ValueError(
            f"no job {name!r}; there are {', '.join(sorted(p.stem for p in FOLDER.glob('*.toml')))}"
        )
    return path


def small(folder: Path = FOLDER) -> Path:
    """Writes the small job of section 7.4."""
    job = Job(
        core="opentpu",
        program=Source("small.a", _SMALL),
        program_at=0x1000,
        params={"n": 4, "norm_reset": 0},
        registers={
            "hostmem_base": 0x2000,
            "hostmem_limit": 0x2040,
            "weights_base": 0x3000,
            "weights_limit": 0x3020,
        },
        loads=[Load(0x2000, SMALL_X, "small_x.npy"), Load(0x3000, SMALL_W, "small_w.npy")],
        saves=[Save(0x2010, "small_y.npy", dtype="int8", shape=(6, 4))],
        cycle_limit=10_000,
    )
    return job.save(
        folder / "small.toml",
        comment="The worked job of the specification (section 7.4): every instruction but NOP.",
    )


def matmul(n: int, folder: Path = FOLDER) -> Path:
    """Writes the simple matrix multiplication job: n vectors times one tile; for n of 4 or 8, no
    sum exceeds a byte."""
    rng = np.random.default_rng(n)
    inputs = rng.integers(-4, 5, (n, n)).astype(np.int8)
    weights = rng.integers(-3, 4, (n, n)).astype(np.int8)
    return network_job(
        folder,
        f"matmul_n{n}",
        [Layer(weights)],
        inputs,
        SPACE.resolve("sim", {"n": n}),
        cycles=10_000,
        comment=f"A simple matrix multiplication, {n}x{n} by {n}x{n}.\n"
        "Written by python -m quintet.firmware.opentpu.programs",
    )


def two_layers(n: int, folder: Path = FOLDER) -> Path:
    """Generates data, trains the two-layer network on them, and writes its job (workload W12).

    Beside the job: ``<name>_float.npz`` with ``hostmem`` and ``tiles`` in float32, and the float
    network's ``results`` as vectors [100, n]: what ``functional`` and ``check`` compare.
    """
    training = gen_one_hot.generate((n, n), -5, 5, diagonal=20, seed=n)
    labels = gen_one_hot.generate((n, 1), 0, 2, seed=n + 1)
    test = gen_one_hot.generate((100, n), 1, 9, seed=n + 2)
    weights = simple_nn.train(training, labels)
    whole, _ = simple_nn.quantise(weights, np.concatenate([training, test]))
    name = f"simple_nn_n{n}"
    results = simple_nn.apply(weights, test)
    np.savez_compressed(
        folder / f"{name}_float.npz",
        hostmem=test.astype(np.float32),
        tiles=np.concatenate([pack_weights(w, n) for w in weights]),
        results=pack_matrix(results, n),
    )
    return network_job(
        folder,
        name,
        [Layer(whole[0], relu=True), Layer(whole[1])],
        test,
        SPACE.resolve("sim", {"n": n}),
        cycles=100_000,
        comment=f"The source's simple two-layer network, 100 test vectors, N = {n}.\n"
        "Written by python -m quintet.firmware.opentpu.programs --train",
    )
