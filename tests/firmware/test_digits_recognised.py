# SPDX-License-Identifier: BSD-2-Clause
"""Every digits job that ships says how many images it recognised."""

import importlib
import json

import numpy as np
import pytest

from quintet.firmware.digits import evaluate, labels
from quintet.tools import Job
from quintet.tools.cli import main

ISAS = ("cherry", "imagine", "opentpu", "opu", "pim")
JOBS = [
    path
    for isa in ISAS
    for path in sorted(
        importlib.import_module(f"quintet.firmware.{isa}.digits").FOLDER.glob("*.toml")
    )
    if not path.stem.endswith("_hidden")
]


@pytest.mark.parametrize("path", JOBS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_counts_agree_on_any_results(path):
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
    [path] = [
        path
        for path in JOBS
        if path.stem == name.split("/")[1] and path.parent.parent.name == name.split("/")[0]
    ]
    assert main(["run", str(path), "--on", "model", "--out", str(tmp_path), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["recognised"].values()
    assert found == {"correct": correct, "images": images}
