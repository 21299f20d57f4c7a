# SPDX-License-Identifier: BSD-2-Clause
"""The LiteX SoC of ``examples/litex``, simulated by Verilator: the digits by its own CPU's program,
and by LiteX's server and client over UARTBone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples/litex"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("verilator"), reason="no Verilator here"),
]


def simulated(folder, *options):
    """What the example prints."""
    pytest.importorskip("litex", reason="no LiteX here")
    return subprocess.run(
        [sys.executable, FOLDER / "soc.py", "--out", folder, *options],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_digits_by_the_cpu(tmp_path):
    pytest.importorskip("pythondata_cpu_vexriscv", reason="no VexRiscv here")
    if not any(
        shutil.which(f"{prefix}-gcc")
        for prefix in ("riscv64-unknown-elf", "riscv32-unknown-elf", "riscv-none-elf")
    ):
        pytest.skip("no compiler for RISC-V here")
    expected = "540 of 540 digits equal to the golden model, 532 recognised, "
    assert simulated(tmp_path).startswith(expected)


def test_digits_by_the_client(tmp_path):
    expected = "540 of 540 digits equal to the golden model, 532 recognised, "
    assert simulated(tmp_path, "--client").startswith(expected)
