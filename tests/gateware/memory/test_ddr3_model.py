# SPDX-License-Identifier: BSD-2-Clause
"""The virtual board's model of LiteDRAM's controller against the controller itself, with LiteDRAM's
behavioural chip, in Verilator."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from quintet.boards.virtual.board import DDR3_WAITS
from quintet.gateware.memory.ddr3.parts import find_ddr3

SUPPORT = Path(__file__).resolve().parents[2] / "support"
CHIPS = Path(__file__).resolve().parents[3] / "gateware" / "memory" / "chips"
HZ = 64_000_000
#: LiteDRAM's behavioural chip wants so many rows.
PART = replace(find_ddr3("MT41K64M16"), row_bits=11)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    pytest.importorskip("litedram")
    if not shutil.which("verilator"):
        pytest.skip("no Verilator here")
    from quintet.gateware.memory.ddr3.generated import generate

    folder = tmp_path_factory.mktemp("ddr3")
    core = generate(part=PART, clock_hz=HZ, model=True, name="ddr3_model")
    (folder / "ddr3_model.v").write_text(core.verilog)
    command = [
        "verilator", "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "-Mdir", "obj",
        "-CFLAGS", f"-O1 -I{CHIPS}", "ddr3_model.v", str(SUPPORT / "ddr3_bench.cpp"),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]

    def run(cycles, seed, pattern):
        timing = PART.timing(HZ)
        waits = [str(getattr(timing, name)) for name in DDR3_WAITS]
        done = subprocess.run(
            [folder / "obj" / "Vddr3_model", *waits, str(cycles), str(seed), pattern],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"seed {seed}, {pattern}: {done.stdout}"
        return [int(number) for number in re.findall(r"\d+", done.stdout)]

    return run


def test_every_cycle_is_litedrams(bench):
    for seed in range(2):
        beats, refreshes, rows = bench(50_000, seed, "random")
        assert beats > 10_000 and refreshes > 80 and rows > 500


@pytest.mark.parametrize("pattern, rate", [("read", 0.927), ("write", 0.892)])
def test_throughput_of_a_stream(bench, pattern, rate):
    """A beat of 16 bytes in two cycles but for refreshes and changes of bank."""
    cycles = 50_000
    beats, *_ = bench(cycles, 1, pattern)
    assert 2 * beats / cycles == pytest.approx(rate, abs=0.005)
