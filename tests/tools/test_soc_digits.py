# SPDX-License-Identifier: BSD-2-Clause
"""The SoCs of ``examples/socs``, simulated by Verilator: the digits by the CPU of LiteX and of
luna-soc, and by LiteX's server and client over UARTBone; a job prepared for such a CPU."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quintet.firmware.opentpu import digits
from quintet.integration.software import PreparedJob
from quintet.tools.jobs.job import Job, Run

FOLDER = Path(__file__).resolve().parents[2] / "examples/socs"
EXPECTED = "540 of 540 digits equal to the golden model, 532 recognised, "

simulated = pytest.mark.skipif(not shutil.which("verilator"), reason="no Verilator here")
compiled = pytest.mark.skipif(
    not any(
        shutil.which(f"{prefix}-gcc")
        for prefix in ("riscv64-unknown-elf", "riscv32-unknown-elf", "riscv-none-elf")
    ),
    reason="no compiler for RISC-V here",
)


def printed(script, folder, *options):
    """What the example prints."""
    return subprocess.run(
        [sys.executable, FOLDER / script, "--out", folder, *options],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.long
@simulated
@compiled
def test_litex_with_its_cpu(tmp_path):
    pytest.importorskip("litex", reason="no LiteX here")
    pytest.importorskip("pythondata_cpu_vexriscv", reason="no VexRiscv here")
    assert printed("with_litex.py", tmp_path).startswith(EXPECTED)


@pytest.mark.long
@simulated
def test_litex_with_its_client(tmp_path):
    pytest.importorskip("litex", reason="no LiteX here")
    assert printed("with_litex.py", tmp_path, "--client").startswith(EXPECTED)


@pytest.mark.long
@simulated
@compiled
def test_luna_soc(tmp_path):
    assert printed("with_luna.py", tmp_path).startswith(EXPECTED)


@pytest.mark.long
@compiled
def test_a_bitstream_with_luna_soc(tmp_path):
    assert printed("with_luna.py", tmp_path, "--build").startswith("wrote ")
    report = (tmp_path / "bitstream/soc.tim").read_text()
    assert "25.00 MHz" in report and "FAIL at 25.00 MHz" not in report


@pytest.mark.parametrize("n", [4, 8])
def test_a_prepared_job(n):
    """The header's layout leads to each image's scores."""
    prepared = PreparedJob(digits.job(n, norm=True), memory_size=1 << 16)
    names = {}
    for line in prepared.header().splitlines():
        if line.startswith("static"):
            left, right = line.rstrip(";").split(" = ")
            names[left.split()[3].split("[")[0]] = eval(right.translate({123: 91, 125: 93}))
    at = np.array(names["image_at"])[:, None] + names["class_at"]
    scores = np.array(names["expected"], np.int8)[at]
    assert (scores[:, :10] == digits.logits(norm=True)).all()
    assert names["labels"] == digits.labels().tolist()
    assert names["registers"] == [list(pair) for pair in prepared.registers]


PROGRAMS = Path(digits.__file__).parent.parent / "programs"


def test_jobs_that_are_refused(tmp_path):
    with pytest.raises(ValueError, match="small.toml: expected one tensor of int8 with labels"):
        PreparedJob(PROGRAMS / "small.toml", memory_size=1 << 16)
    one = Job.load(PROGRAMS / "small.toml")
    runs = [Run(one.runs[0].program, 0x1000), Run(one.runs[0].program, 0x1800)]
    path = Job(core="opentpu", runs=runs).save(tmp_path / "two.toml")
    with pytest.raises(ValueError, match="two.toml: 2 programs: expected one"):
        PreparedJob(path, memory_size=1 << 16)


def test_scores_without_a_common_layout():
    prepared = PreparedJob(digits.job(4, norm=True), memory_size=1 << 16)
    rotated = replace(prepared.save.recognition, shape=(5, -1), order=(1, 0))
    prepared.save = replace(prepared.save, recognition=rotated)
    with pytest.raises(ValueError, match="expected the same distance of classes in each image"):
        prepared.header()
