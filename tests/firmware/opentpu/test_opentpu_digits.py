# SPDX-License-Identifier: BSD-2-Clause
"""The digits networks: accuracy, the shipped jobs on the golden model, and that what ships is
current."""

import numpy as np
import pytest

from quintet.firmware.digits import model, result
from quintet.firmware.opentpu import digits
from quintet.firmware.opentpu.digits import prepare
from quintet.gateware.cores.opentpu.model.model import Model
from quintet.gateware.cores.opentpu.params import SPACE
from quintet.gateware.cores.opentpu.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.gateware.isa.files import load_archive
from quintet.tools.compiler.api import compile_model
from quintet.tools.compiler.backends.base import LoweringError

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
    program = assemble_text(SOFTWARE, path.with_suffix(".a").read_text(), params=params).data
    outputs, outcome = run_job(path, params, program, memory or 1 << 20)
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


@pytest.mark.parametrize("preset", ["up5k-4x4", "hx8k-4x4-mini", "sim-plain"])
def test_the_compiler_takes_the_model_for_builds_without_norm(preset):
    """Images as they are, the model's own grids: the integers of the plain network."""
    compiled = compile_model(
        model.FOLDER / "mlp_plain.onnx",
        "model:opentpu",
        preset=preset,
        calibration=digits.images()[:20].astype(np.float32),
        host_steps=True,
        images=60,
    )
    with compiled.open() as session:
        scores = session(digits.images()[:70].astype(np.float32))
    assert np.array_equal(scores, digits.logits()[:70])
    [step] = compiled.plan.core_steps
    assert all(layer.bias is None or not layer.bias.any() for layer in step.part.layers.values())


def test_the_float_model_for_a_build_without_norm_says_what_it_loses():
    data = load_archive(model.FOLDER / "digits.npz")
    compiled = compile_model(
        model.FOLDER / "mlp.onnx",
        "model:opentpu",
        preset="up5k-4x4",
        calibration=data["calibration"].astype(np.float32),
        images=540,
    )
    assert any("low accuracy" in note for note in compiled.plan.notes)
    with compiled.open() as session:
        scores = session(data["images"].astype(np.float32))
    assert result(scores).correct > 480


def test_no_such_job():
    with pytest.raises(ValueError, match="no digits job ships for n = 16"):
        digits.job(16)


def test_norm_needs_the_extension(tmp_path):
    with pytest.raises(ValueError, match="no ext_norm"):
        digits.make_job(tmp_path, SPACE.resolve("up5k-4x4"), norm=True)


def test_job_that_does_not_fit_memory(tmp_path):
    with pytest.raises(LoweringError, match="takes .* bytes of main memory, there are 65,536"):
        digits.make_job(tmp_path, SPACE.resolve("up5k-4x4"), memory=65536)


def test_prepare():
    pixels = np.full((1, 64), 16)
    assert list(prepare(pixels, norm=False)[0, :3]) == [7, 4, 4]
    assert list(prepare(pixels, norm=True)[0, :3]) == [127, 16, 16]
