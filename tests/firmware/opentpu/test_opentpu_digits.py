# SPDX-License-Identifier: BSD-2-Clause
"""The digits networks: accuracy, the shipped jobs on the golden model, and that what ships is
current."""

import numpy as np
import pytest

from quintet.firmware.opentpu import digits
from quintet.firmware.opentpu.digits import prepare
from quintet.firmware.opentpu.network import Network
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE

try:
    import tomllib
except ImportError:
    import tomli as tomllib


def run_job(path, params, program, memory_size):
    """A network job on the model, without the loader: the vectors it saves, and the outcome."""
    job = tomllib.loads(path.read_text())
    memory = np.zeros(memory_size, np.uint8)
    memory[: len(program)] = np.frombuffer(program, np.uint8)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as file:
        for load in job["load"]:
            data = file[load["file"].split(":")[1]].view(np.uint8).ravel()
            memory[load["at"] : load["at"] + data.size] = data
    outcome = Model(params, memory).run(
        {**job["registers"], "program_address": 0, "program_length": len(program)}
    )
    save = job["save"][0]
    size = int(np.prod(save["shape"]))
    return memory[save["at"] : save["at"] + size].view(np.int8).reshape(save["shape"]), outcome


@pytest.mark.parametrize("n, norm", digits.SHIPPED)
def test_shipped_job(n, norm):
    preset, memory = digits.SHIPPED[n, norm]
    params = SPACE.resolve(preset)
    path = digits.job(n, norm)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as file:
        batch = int(file["batch_rows_outputs"][0])
    program = Network(digits.layers(norm), params, batch=batch).program(540)
    text = [
        line for line in path.with_suffix(".a").read_text().splitlines() if not line.startswith("#")
    ]
    assert text == program.text().splitlines()
    outputs, outcome = run_job(path, params, program.data(), memory or 1 << 20)
    assert outcome.status == "done"
    result = digits.evaluate(path, outputs)
    assert np.array_equal(result.logits, digits.logits(norm))
    assert result.total == 540
    assert result.accuracy >= (digits.float_accuracy() - 0.01 if norm else 0.97)


def test_plain_accumulators_fit_a_byte():
    values = digits.inputs().astype(np.int64)
    for layer in digits.layers():
        sums = values @ layer.weights.astype(np.int64)
        assert -128 <= sums.min() and sums.max() <= 127
        values = np.maximum(sums, 0)


def test_shipped_files_are_current(tmp_path):
    for (_, norm), (preset, memory) in digits.SHIPPED.items():
        path = digits.make_job(tmp_path, SPACE.resolve(preset), norm=norm, memory=memory)
        for suffix in (".toml", ".a"):
            shipped = digits.FOLDER / path.with_suffix(suffix).name
            assert shipped.read_text() == path.with_suffix(suffix).read_text(), (
                f"{shipped.name}: write it again"
            )
        with (
            np.load(path.with_suffix(".npz")) as new,
            np.load(digits.FOLDER / f"{path.stem}.npz") as old,
        ):
            assert new.files == old.files and all(np.array_equal(new[k], old[k]) for k in new.files)


def test_no_such_job():
    with pytest.raises(ValueError, match="no digits job ships for n = 16"):
        digits.job(16)


def test_norm_needs_the_extension(tmp_path):
    with pytest.raises(ValueError, match="no ext_norm"):
        digits.make_job(tmp_path, SPACE.resolve("up5k-4x4"), norm=True)


def test_job_that_does_not_fit_memory(tmp_path):
    with pytest.raises(ValueError, match="takes .* bytes of memory, more than 65536"):
        digits.make_job(tmp_path, SPACE.resolve("up5k-4x4"), memory=65536)


def test_prepare():
    pixels = np.full((1, 64), 16)
    assert list(prepare(pixels, norm=False)[0, :3]) == [7, 4, 4]
    assert list(prepare(pixels, norm=True)[0, :3]) == [127, 16, 16]
