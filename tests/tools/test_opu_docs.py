# SPDX-License-Identifier: BSD-2-Clause
"""The example of the OPU's page runs as it stands there, and nothing in it saturates."""

import re
from pathlib import Path

import numpy as np

from quintet.tools import Job, open_target, run_job

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cores" / "opu-kernels.md"


def exact(values, weights, padding):
    """A convolution in floats: ``values`` [height, width, channels], ``weights`` [out, in, rows,
    columns]."""
    padded = np.pad(values, ((padding, padding), (padding, padding), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], axis=(0, 1))
    return np.einsum("hwcrs,ocrs->hwo", windows, weights)


def test_example(tmp_path, monkeypatch):
    (text,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(text, str(PAGE), "exec"), names)
    compiled, values, network = names["compiled"], names["values"], names["network"]
    with open_target("model:opu?preset=85f") as target:
        result = run_job(Job.load(tmp_path / "out" / "mine.toml"), target)
    got = compiled.outputs["classes"].unpack(result.tensors["mine_classes.npy"])
    assert result.outcome.status == "done" and (got == values["classes"]).all()
    # Exact numbers, without any saturation: what is left is rounding.
    conv, dense = network.layers
    hidden = (
        np.maximum(exact(names["image"][0] / 32, conv.weights / 128, 1), 0)
        .reshape(16, 2, 16, 2, 16)
        .max(axis=(1, 3))
    )
    assert np.abs(values["conv"][0] / 16 - hidden).max() < 0.04
    classes = exact(values["conv"][0] / 16, dense.weights / 128, 0)
    assert np.abs(values["classes"][0] / 8 - classes).max() < 0.08
    assert np.abs(values["classes"]).max() > 40 and np.ptp(values["conv"]) > 40, (
        "the example uses its range"
    )
