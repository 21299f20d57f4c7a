# SPDX-License-Identifier: BSD-2-Clause
"""The digits on Cherry's golden model: the job that ships, and a step of training against
float64."""

import json

import numpy as np

from quintet.firmware.cherry import digits
from quintet.gateware.cores.cherry.model.model import Model
from quintet.gateware.cores.cherry.params import SPACE
from quintet.gateware.cores.cherry.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.tools.cli import main


def test_the_job(tmp_path, capsys):
    assert main(["run", str(digits.JOB), "--on", "model", "--out", str(tmp_path), "--json"]) == 0
    result = digits.evaluate(digits.JOB, tmp_path / "digits_logits.npy")
    # What the network reaches in float32.
    assert (result.correct, result.total) == (531, 540)
    assert json.loads(capsys.readouterr().out)["recognised"] == {
        "digits_logits.npy": {"correct": 531, "images": 540}
    }


def test_the_job_is_current(tmp_path):
    digits.write_shipped(SPACE.resolve("85f"), tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (digits.FOLDER / path.name).read_bytes(), path.name


def test_a_step_of_training():
    params = SPACE.resolve("85f")
    module, arrays, exact = digits.training_step(params), digits.step_inputs(), digits.exact_step()
    program = assemble_text(SOFTWARE, module.source())
    assert not program.warnings
    model = Model(params, np.zeros(1 << 21, np.uint8))
    model.memory[0x1000 : 0x1000 + len(program.data)] = np.frombuffer(program.data, np.uint8)
    for name, (address, _, _) in module.inputs.items():
        raw = arrays[name].astype(np.float32).tobytes()
        model.memory[address : address + len(raw)] = np.frombuffer(raw, np.uint8)
    assert (
        model.run({"program_address": 0x1000, "program_length": len(program.data)}).status == "done"
    )
    for name, (address, _, matrix) in module.outputs.items():
        got = (
            model.memory[address : address + 4 * matrix.rows * matrix.cols]
            .view(np.float32)
            .reshape(matrix.shape)
        )
        old, new = arrays[name.removeprefix("new_")], exact[name]
        # The weights' own rounding, and a tenth of the largest change.
        assert np.abs(got - new).max() <= np.abs(old).max() * 2**-10 + 0.1 * np.abs(new - old).max()
        assert np.corrcoef((got - old).ravel(), (new - old).ravel())[0, 1] > 0.98
