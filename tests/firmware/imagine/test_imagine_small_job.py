# SPDX-License-Identifier: BSD-2-Clause
"""The worked job of section 7 on the model, in integers, and in the machine of single bits; jobs
that are refused."""

import zlib

import numpy as np
import pytest

from quintet.firmware.imagine import small
from quintet.gateware.cores.imagine.isa import ISA
from quintet.gateware.cores.imagine.model import cycles
from quintet.gateware.cores.imagine.params import SPACE
from quintet.gateware.cores.imagine.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools import Job, open_target
from quintet.tools.errors import JobError
from quintet.tools.jobs.runner import run_job
from tests.gateware.cores.imagine.oracle.slow import SlowMachine

PARAMS = SPACE.resolve("up5k")


def program():
    return load_program(SOFTWARE, small.FOLDER / "small.s", PARAMS)


def test_program_is_that_of_the_specification():
    made = program()
    words = ISA.load(made.data)
    assert (
        len(words) == 175 and zlib.crc32(made.data) == small.CRC["program"] and made.warnings == []
    )
    assert words[147:] == [
        0x44000000,
        0x20000000,
        *(0x0C0E0103 + (bit << 22) for bit in range(16)),
        0x1C04018E,
        0x100101C6,
        0x100201C7,
        0x100301C7,
        0x100401C7,
        0x10400007,
        0x14080147,
        0,
        0,
        0x48000000,
    ]
    assert cycles.estimate(words[147:], PARAMS) == 732 == cycles.gemv(16, 4, 2)[1]


@pytest.mark.parametrize("preset", ["up5k", None])
def test_job_on_the_model(preset):
    with open_target(f"model:imagine?preset={preset}" if preset else "model") as target:
        result = run_job(Job.load(small.JOB), target)
        assert target.read_register("eov") == 1
        target.write_register("eov", 1)
        assert target.read_register("eov") == 0
    y = result.tensors["y.npy"]
    assert result.outcome.status == "done" and zlib.crc32(y.tobytes()) == small.CRC["y"]
    assert y[:, 0].tolist() == list(small.RESULT) and y[:, 1].tolist() == [
        0x100,
        0x100,
        0x100,
        0x300,
    ]
    assert result.outcome.counters == {
        "instructions": 175,
        "operations": 128,
        "bytes_read": 700,
        "bytes_written": 16,
    }
    assert result.outcome.values["output_count"] == 4 and result.outcome.values["vectors"] == 1


def test_in_integers():
    w = np.zeros((4, 32))
    w[0, :4] = [1.5, -2, 0.25, -0.1875]
    w[1, 15:17] = [4, -0.5]
    w[3, :20] = -1
    x = np.zeros(32)
    x[[0, 1, 2, 3, 15, 16, 19]] = [2, 0.5, -3, 0.3125, 1.25, 8, 1]
    products = (w * 16).astype(int) * (x * 16).astype(int) >> 4
    assert (products.sum(axis=1) + np.array([8, -16, 1600, 0])).tolist() == list(small.RESULT)


def test_in_single_bits():
    slow = SlowMachine(4, 2, 16, 256)
    for word in ISA.load(program().data):
        slow.run(word)
    assert slow.emitted == [0x0100001B, 0x01000000, 0x01000640, 0x0300FF5F]


def changed_job(tmp_path, source=(), job=()):
    """The job with texts replaced in its source, in its file."""
    for name, changes in (("small.s", source), ("small.toml", job)):
        text = (small.FOLDER / name).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)
    return Job.load(tmp_path / "small.toml")


@pytest.mark.parametrize(
    "target, source, job, message",
    [
        (
            "model",
            (),
            (("0x0000_4000, output_limit", "0x0000_1200, output_limit"),),
            "the output area 0x1200..0x400f (output_at, output_limit) overlaps the program at "
            "0x1000..0x12bb",
        ),
        (
            "model:imagine?rows=4&cols=2&depth=256&reg_width=8",
            (),
            (("reg_width = 16, ", ""),),
            "the source has regWidth = 16, the target reg_width = 8",
        ),
        (
            "model:imagine?rows=4&cols=2&depth=128",
            (),
            ((", depth = 256", ""),),
            "the source has regCnt + resvRegCnt = 16, the target 8 registers (depth = 128)",
        ),
        (
            "model:imagine?rows=4&cols=1",
            (),
            (("cols = 2, ", ""),),
            "the source has mvBlockDim = (4, 2), the target 4 x 1 blocks (rows, cols)",
        ),
        (
            "model:imagine?rows=5&cols=2",
            (),
            (),
            "params.rows = 4: model:imagine?rows=5&cols=2 was built with rows = 5; the job needs 4",
        ),
    ],
)
def test_refused_jobs(tmp_path, target, source, job, message):
    with open_target(target) as opened, pytest.raises(JobError) as error:
        run_job(changed_job(tmp_path, source, job), opened)
    assert str(error.value) == f"{tmp_path / 'small.toml'}: {message}"


def test_a_binary_is_not_checked(tmp_path):
    (tmp_path / "small.bin").write_bytes(program().data)
    job = changed_job(tmp_path, (), (("small.s", "small.bin"), (", depth = 256", "")))
    with open_target("model:imagine?rows=4&cols=2&depth=64") as target:
        outcome = run_job(job, target).outcome
    assert (
        outcome.status == "fault"
        and outcome.fault.name == "address_range"
        and outcome.fault.pc == 0x1000 + 4 * 76
    )
