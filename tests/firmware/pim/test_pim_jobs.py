# SPDX-License-Identifier: BSD-2-Clause
"""PIM's shipped jobs on the golden model: the worked job, the digits networks on one core and four,
and that what ships is current."""

import zlib

import numpy as np
import pytest

from quintet.firmware.pim import digits, quantise_digits, small
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools import Job, open_target, run_job
from quintet.tools.kernels.pim import KernelError


@pytest.mark.parametrize("preset", ["85f", "sim"])
def test_worked_job(preset):
    assert zlib.crc32(load_program(SOFTWARE, small.FOLDER / "two.s").data) == small.CRC
    with open_target(f"model:pim?preset={preset}") as target:
        result = run_job(Job.load(small.JOB), target)
    assert result.outcome.status == "done"
    assert {name: tensor.tolist() for name, tensor in result.tensors.items()} == small.RESULTS


def run(name, preset):
    with open_target(f"model:pim?preset={preset}") as target:
        result = run_job(Job.load(digits.job(name)), target)
    assert result.outcome.status == "done"
    return digits.evaluate(digits.job(name), result.tensors[f"{name}_y.npy"])


@pytest.mark.parametrize(
    "name, preset",
    [("mlp1", "up5k"), ("mlp1", "sim"), ("mlp4", "85f"), ("cnn1", "25f"), ("cnn4", "85f")],
)
def test_digits(name, preset):
    result = run(name, preset)
    assert np.array_equal(result.logits, digits.logits(name[:3])) and result.total == 540
    assert result.accuracy >= {"mlp": 0.98, "cnn": 0.985}[name[:3]]


@pytest.mark.parametrize("preset", ["up5k", "hx8k"])
def test_jobs_of_the_ice40_fit_32_kib(preset):
    job = Job.load(digits.job(f"mlp_{preset}"))
    ends = [load.at + load.size for load in job.loads] + [save.at + save.size for save in job.saves]
    assert max(ends) <= 32 << 10
    assert np.array_equal(run(f"mlp_{preset}", preset).logits, digits.logits("mlp", 90))


def test_shipped_files_are_current(tmp_path):
    paths = digits.write_shipped(tmp_path)
    assert len(paths) == len(digits.SHIPPED)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (digits.FOLDER / path.name).read_bytes(), (
            f"{path.name}: write it again"
        )


def test_refusals(tmp_path):
    with pytest.raises(
        ValueError,
        match="no digits job 'big' ships, only mlp1, mlp4, cnn1, cnn4, mlp_up5k, mlp_hx8k",
    ):
        digits.job("big")
    with pytest.raises(ValueError, match="no network 'rnn', only mlp, cnn"):
        digits.network("rnn")
    with pytest.raises(
        KernelError,
        match="the program, 0x0 to 0x[0-9a-f]+, and the inputs, 0x1000 to 0x9700, overlap",
    ):
        digits.make_job(tmp_path, SPACE.resolve("up5k"), gmem=0x1000)
    with pytest.raises(KernelError, match="540 images do not share out among 7 cores"):
        digits.make_job(tmp_path, SPACE.resolve("85f", {"cores": 8}), cores=7)


def test_quantising_gives_what_ships(tmp_path, capsys):
    pytest.importorskip("sklearn")
    quantise_digits.main(["--out", str(tmp_path / "w.npz")])
    assert "cnn, held out: 0.99" in capsys.readouterr().out
    with np.load(tmp_path / "w.npz") as new, np.load(digits.FOLDER / "weights.npz") as old:
        assert new.files == old.files and all(np.array_equal(new[k], old[k]) for k in new.files)
