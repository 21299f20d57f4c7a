# SPDX-License-Identifier: BSD-2-Clause
"""PIM's worked job on the golden model."""

import zlib

import pytest

from quintet.firmware.pim import small
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools import Job, open_target, run_job


@pytest.mark.parametrize("preset", ["85f", "sim"])
def test_worked_job(preset):
    assert zlib.crc32(load_program(SOFTWARE, small.FOLDER / "two.s").data) == small.CRC
    with open_target(f"model:pim?preset={preset}") as target:
        result = run_job(Job.load(small.JOB), target)
    assert result.outcome.status == "done"
    assert {name: tensor.tolist() for name, tensor in result.tensors.items()} == small.RESULTS
