# SPDX-License-Identifier: BSD-2-Clause
"""Shipped digits jobs, with their expected results."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quintet.tools import Job, open_target, run_job
from quintet.tools.examples import FOLDER


@dataclass(frozen=True)
class DigitsJob:
    """A shipped job: its ``name`` as an example, the CRC-32 of the tensor that it saves, and its
    number of correctly classified images."""

    name: str
    crc: int
    correct: int | None = None
    images: int | None = None

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.toml"

    def holds(self, tensor: np.ndarray) -> bool:
        return zlib.crc32(tensor.tobytes()) == self.crc

    def run(self, target):
        """Runs the job on a target and checks it: the tensor, and the run."""
        result = run_job(Job.load(self.path), target)
        assert result.outcome.status == "done"
        [tensor] = result.tensors.values()
        assert self.holds(tensor), self.name
        return tensor, result

    def run_model(self, preset):
        """Runs the job on the golden model of a preset."""
        with open_target(f"model:{self.name.partition('/')[0]}?preset={preset}") as target:
            return self.run(target)


#: Name -> job. Integers are those of the networks in plain numpy.
JOBS = {
    job.name: job
    for job in (
        DigitsJob("cherry/digits/digits", 0x416D80C9, 531, 540),
        DigitsJob("imagine/digits/digits_25f_hidden", 0xF1E25A23),
        DigitsJob("imagine/digits/digits_25f_logits", 0x6299FCF4, 20, 20),
        DigitsJob("imagine/digits/digits_up5k_hidden", 0x6F2EEA78),
        DigitsJob("imagine/digits/digits_up5k_logits", 0x373C6DEF, 20, 20),
        DigitsJob("opentpu/digits/digits_norm_n4", 0x7D6F216A, 532, 540),
        DigitsJob("opentpu/digits/digits_norm_n8", 0xB9AD9B1C, 532, 540),
        DigitsJob("opentpu/digits/digits_plain_n4", 0xB4B79FD1, 534, 540),
        DigitsJob("opentpu/digits/digits_plain_n8", 0x276A804D, 534, 540),
        DigitsJob("opu/digits/digits", 0x83424ABF, 535, 540),
        DigitsJob("opu/digits/digits_hx8k", 0x03DC38E6, 10, 10),
        DigitsJob("opu/digits/digits_up5k", 0x03DC38E6, 10, 10),
        DigitsJob("pim/digits/cnn1", 0x50A93F3F, 535, 540),
        DigitsJob("pim/digits/cnn4", 0x50A93F3F, 535, 540),
        DigitsJob("pim/digits/mlp1", 0xC4543650, 531, 540),
        DigitsJob("pim/digits/mlp4", 0xC4543650, 531, 540),
        DigitsJob("pim/digits/mlp_hx8k", 0x4C6A3CAF, 90, 90),
        DigitsJob("pim/digits/mlp_up5k", 0x4C6A3CAF, 90, 90),
    )
}
