# SPDX-License-Identifier: BSD-2-Clause
"""A program by hand: ReLU of a matrix product in OpenTPU's assembly, run as a job on a golden model
or on any other target."""

import argparse

import numpy as np

from quintet import open_target
from quintet.tools.jobs.job import Job
from quintet.tools.jobs.runner import run_job
from quintet.tools.jobs.runs import Source
from quintet.tools.jobs.tensors import Load, Save

N = 4  # rows and columns of the array
VECTORS = 6
PROGRAM, HOST, WEIGHTS = 0x1000, 0x2000, 0x3000
RESULT = HOST + N * VECTORS

TEXT = f"""\
RHM 0, 0, {VECTORS}     # activations: main memory to unified buffer
RW  0                   # a tile of weights
MMC.SO 0, 0, {VECTORS}  # switch to the tile, multiply, overwrite accumulators
ACT.R  0, 8, {VECTORS}  # ReLU, back to the unified buffer
WHM 8, {VECTORS}, {VECTORS}         # to main memory, behind the activations
HLT
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="model:opentpu?preset=sim", help="the target")
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    x = rng.integers(-20, 20, (VECTORS, N), np.int8)
    weights = rng.integers(-3, 4, (N, N), np.int8)
    job = Job(
        core="opentpu",
        program=Source("product.a", TEXT),
        program_at=PROGRAM,
        params={"n": N},
        registers={
            "hostmem_base": HOST,
            "hostmem_limit": HOST + 0x100,
            "weights_base": WEIGHTS,
            "weights_limit": WEIGHTS + N * N,
        },
        loads=[Load(HOST, x, "x.npy"), Load(WEIGHTS, weights, "w.npy")],
        saves=[Save(RESULT, "y.npy", "int8", (VECTORS, N))],
    )
    with open_target(args.on) as target:
        result = run_job(job, target)
    y = result.tensors["y.npy"]
    print(y)
    print("as numpy has it:", np.array_equal(y, np.clip(x.astype(int) @ weights, 0, 127)))
    print(f"{result.outcome.status}, {result.outcome.counters}")


if __name__ == "__main__":
    main()
