# SPDX-License-Identifier: BSD-2-Clause
"""The worked job of section 7.5 on the model, in every preset, and in exact fractions."""

import zlib

import numpy as np
import pytest

from quintet.firmware.opu import small
from quintet.gateware.cores.opu.model.model import Model
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.cores.opu.software import SOFTWARE
from quintet.gateware.isa.asm import load_program
from quintet.tools import Job, open_target
from quintet.tools.jobs.runner import run_job
from tests.gateware.cores.opu.oracle import slow as opu_slow


def crc(data):
    return zlib.crc32(bytes(data))


def test_files_are_those_of_the_specification():
    for name, array in small.arrays().items():
        data = (small.FOLDER / name).read_bytes()
        assert data == array.tobytes() and crc(data) == small.CRC.get(name, crc(data))
    program = load_program(SOFTWARE, small.FOLDER / "small.s")
    assert (
        len(program.data) == 104
        and crc(program.data) == small.CRC["program"]
        and program.warnings == []
    )


@pytest.mark.parametrize("preset", SPACE.presets)
def test_job_on_the_model(preset):
    with open_target(f"model:opu?preset={preset}") as target:
        result = run_job(Job.load(small.JOB), target)
    out = result.tensors["out.npy"]
    assert result.outcome.status == "done" and result.outcome.counters["operations"] == 9216
    assert crc(out.tobytes()) == small.CRC["out"]
    assert out[1:3, 1:3, :4].tolist() == [
        [[2, 18, 12, 33], [5, 0, 31, 43]],
        [[29, 0, 15, 44], [-2, 27, 16, 49]],
    ]
    assert (out[1:3, 1:3, 4:] == 0x55).all() and not out[0].any() and not out[:, 3].any()


def filled_memory():
    memory = np.zeros(0x8000, np.uint8)
    image = Job.load(small.JOB).image(SPACE.resolve(), memory.size)
    for part in image.parts:
        memory[part.at : part.at + len(part.data)] = np.frombuffer(part.data, np.uint8)
    return memory, image.registers


def test_partial_sums_on_the_way():
    memory, registers = filled_memory()
    model = Model(SPACE.resolve(), memory)
    assert model.run(registers).status == "done"
    assert model.ofm[0, 0].tolist() == [-4551, -6399, 3015, 8388]
    assert model.ofm[3, 3].tolist() == [-14975, -8735, 1492, 5525]
    assert ((model.ofm + 128 >> 8) < 0).sum() == 28


def test_in_exact_fractions():
    memory, registers = filled_memory()
    slow = bytearray(memory.tobytes())
    machine = opu_slow.Slow("8-8-16-16", slow)
    assert machine.run(registers) == ("done", None) and machine.macs == 9216
    assert crc(slow[0x6000:0x6400]) == small.CRC["out"]
