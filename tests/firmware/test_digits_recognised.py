# SPDX-License-Identifier: BSD-2-Clause
"""Every digits job that ships gives the results that it gave when it was made, and says how many
images it recognised."""

import json

import numpy as np
import pytest

from quintet.firmware.digits import evaluate, labels
from quintet.firmware.examples import job_names
from quintet.tools import Job
from quintet.tools.cli import main
from tests.support.digits_jobs import JOBS

SCORED = [job for job in JOBS.values() if job.images]


def test_every_job_is_known():
    shipped = [name[:-5] for name in job_names() if "/digits/" in name]
    # A step of training recognises nothing.
    assert sorted([*JOBS, "cherry/digits/training"]) == shipped


@pytest.mark.parametrize(
    "name, preset",
    [
        ("cherry/digits/digits", "85f"),
        ("imagine/digits/digits_25f_hidden", "25f"),
        ("imagine/digits/digits_25f_logits", "25f"),
        ("imagine/digits/digits_up5k_hidden", "up5k"),
        ("imagine/digits/digits_up5k_logits", "up5k"),
        ("opentpu/digits/digits_norm_n4", "25f-4x4"),
        ("opentpu/digits/digits_norm_n8", "45f-8x8"),
        ("opentpu/digits/digits_plain_n4", "up5k-4x4"),
        ("opentpu/digits/digits_plain_n8", "45f-8x8"),
        ("opu/digits/digits", "85f"),
        ("opu/digits/digits", "45f"),
        ("opu/digits/digits", "25f"),
        ("opu/digits/digits_hx8k", "hx8k"),
        ("opu/digits/digits_up5k", "up5k"),
        ("pim/digits/cnn1", "25f"),
        ("pim/digits/cnn4", "85f"),
        ("pim/digits/mlp1", "sim"),
        ("pim/digits/mlp1", "up5k"),
        ("pim/digits/mlp4", "85f"),
        ("pim/digits/mlp_hx8k", "hx8k"),
        ("pim/digits/mlp_up5k", "up5k"),
    ],
)
def test_results_on_the_model(name, preset):
    tensor, _ = JOBS[name].run_model(preset)
    if JOBS[name].images:
        found = evaluate(JOBS[name].path, tensor)
        assert (found.correct, found.total) == (JOBS[name].correct, JOBS[name].images)


@pytest.mark.parametrize(
    "name, memory",
    [
        ("opu/digits/digits_hx8k", 64 << 10),
        ("opu/digits/digits_up5k", 64 << 10),
        ("pim/digits/mlp_hx8k", 32 << 10),
        ("pim/digits/mlp_up5k", 32 << 10),
    ],
)
def test_jobs_of_the_ice40_fit_their_memory(name, memory):
    job = Job.load(JOBS[name].path)
    ends = [part.at + part.size for part in (*job.loads, *job.saves)]
    if name.startswith("opu/"):
        ends.append(job.registers["region_base[2]"] + job.registers["region_limit[2]"])
    assert max(ends) <= memory


@pytest.mark.parametrize("known", SCORED, ids=lambda job: job.name)
def test_counts_agree_on_any_results(known):
    path = known.path
    [save] = Job.load(path).saves
    rng = np.random.default_rng(7)
    tensor = rng.integers(-100, 100, save.shape).astype(save.dtype)
    count = len(save.recognition.labels)
    assert (save.recognition.labels == labels(count)).all()
    found = evaluate(path, tensor)
    assert (save.recognition.correct(tensor), count) == (found.correct, found.total)
    # Not by chance, and of every image.
    assert 0 < save.recognition.correct(tensor) < count and save.recognition.scores(
        tensor
    ).shape == (count, 10)


@pytest.mark.parametrize(
    "name, correct, images",
    [
        ("imagine/digits_25f_logits", 20, 20),
        ("imagine/digits_up5k_logits", 20, 20),
        ("opentpu/digits_plain_n8", 534, 540),
        ("opu/digits_up5k", 10, 10),
        ("pim/mlp1", 531, 540),
    ],
)
def test_runs_say_so(capsys, tmp_path, name, correct, images):
    path = JOBS[name.replace("/", "/digits/")].path
    assert main(["run", str(path), "--on", "model", "--out", str(tmp_path), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["recognised"].values()
    assert found == {"correct": correct, "images": images}
