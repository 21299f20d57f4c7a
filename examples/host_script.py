# SPDX-License-Identifier: BSD-2-Clause
"""A host script: identify a board, measure its memory and run a shipped job on it. Takes a serial
port, `auto`, a virtual board such as `sim:ulx3s-25f/opu`, or (the default) a golden model."""

import argparse

import numpy as np

from quintet import open_target
from quintet.tools.examples import user_path
from quintet.tools.jobs.job import Job
from quintet.tools.jobs.runner import run_job

SIZE = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default="model:opu", help="a port or another target")
    args = parser.parse_args()
    job = Job.load(user_path("example:opu/small/small.toml"))
    with open_target(args.target) as target:
        target.configure(job)
        info = target.info
        print(f"{target.name}: {info.isa}, {info.memory_size:,} bytes of main memory")
        data = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8).tobytes()
        target.write(0, data)
        print("memory holds what was written:", target.read(0, SIZE) == data)
        result = run_job(job, target)
    for name, tensor in result.tensors.items():
        print(f"{name}, {tensor.dtype} {list(tensor.shape)}: {tensor.ravel()[:8]} ...")
    print(f"{result.outcome.status} after {result.outcome.counters['instructions']} instructions")


if __name__ == "__main__":
    main()
