# SPDX-License-Identifier: BSD-2-Clause
"""Streams of published compilers as they come: their file's name, their machine's size, straight to
packed code."""

import gzip
import json

import numpy as np
import pytest

from quintet.gateware.cores.pim.asm.listing import image_of
from quintet.gateware.cores.pim.asm.packing import pack
from quintet.gateware.cores.pim.engine.core import ManyCoreEngine
from quintet.gateware.cores.pim.image.image import CoreProgram, Image, code_of, words_of
from quintet.gateware.cores.pim.model.model import Model
from quintet.gateware.cores.pim.params import SPACE
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text, load_program, save_program
from quintet.tools.cli import main

CORES, LMEM = 40, 1 << 18


def chain(cores=CORES):
    """Core 0 fills bytes far up in local memory, every core hands them to the next, the last one
    stores them."""
    lists = []
    for k in range(cores):
        stream = [
            {"op": "sldi", "rd": 0, "imm": LMEM - 16},
            {"op": "sldi", "rd": 2, "imm": 0},
            {"op": "sldi", "rd": 3, "imm": 64},
        ]
        stream.append(
            {"op": "recv", "rd": 0, "core": k - 1, "size": 16}
            if k
            else {"op": "lldi", "rd": 0, "imm": 90, "len": 16}
        )
        stream.append(
            {"op": "send", "rd": 0, "core": k + 1, "size": 16}
            if k < cores - 1
            else {"op": "st", "rd": 2, "rs1": 0, "size": 16}
        )
        lists.append(stream)
    return {"config": {"core_cnt": cores}, **{f"core{k}": stream for k, stream in enumerate(lists)}}


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "SimulationInfo.gz"
    path.write_bytes(gzip.compress(json.dumps(chain()).encode()))
    return path


def stored(program):
    memory = np.zeros(1 << 16, np.uint8)
    memory[0x8000 : 0x8000 + len(program.data)] = np.frombuffer(program.data, np.uint8)
    params = SPACE.resolve("85f", {"cores": CORES, "lmem_bytes": LMEM, "arrays": 1})
    outcome = Model(params, memory).run(
        {"program_address": 0x8000, "program_length": len(program.data)}
    )
    assert outcome.status == "done", outcome.fault
    assert outcome.values["cores_done"] == 0xFFFF_FFFF
    return memory[64:80].tolist()


def test_many_cores_and_much_local_memory(stream, tmp_path):
    program = load_program(SOFTWARE, stream)
    assert stored(program) == [90] * 16
    save_program(SOFTWARE, program, tmp_path / "again.gz")
    assert load_program(SOFTWARE, tmp_path / "again.gz").data == program.data


def test_one_command_packs(stream, tmp_path, capsys):
    assert (
        main(
            [
                "asm",
                "pim",
                str(stream),
                "-o",
                str(tmp_path / "x.bin"),
                "--pass",
                "packed",
            ]
        )
        == 0
    )
    plain, made = load_program(SOFTWARE, stream), load_program(SOFTWARE, tmp_path / "x.bin")
    before, after = image_of(plain.data)[0], image_of(made.data)[0]
    assert {core.mode for core in after.cores} == {2} and stored(made) == [90] * 16
    assert sum(len(c.code) for c in after.cores) < sum(len(c.code) for c in before.cores)
    assert "bytes of code, now" in capsys.readouterr().err


def test_packed_code_is_the_same_code():
    text = "sldi $1, 5\nvvadd $6, $4, $5, 16, @8:d1\nsaddi $2, $1, 0x123456\nnop\n"
    image = image_of(assemble_text(SOFTWARE, text).data)[0]
    packed, notes = pack(image)
    assert not notes and len(packed.cores[0].code) == 6 * 4
    assert (
        words_of(packed.cores[0].code, 2)[0].tolist()
        == words_of(image.cores[0].code, 0)[0].tolist()
    )
    assert (
        image_of(assemble_text(SOFTWARE, ".mode packed\n" + text).data)[0].cores[0].code
        == packed.cores[0].code
    )


def test_what_has_no_packed_form_stays():
    bad = CoreProgram(code_of(np.array([0, 33, 1], np.uint64), 0), 3)
    whole = CoreProgram(code_of(np.array([0], np.uint64), 2) + bytes(4), 1, 2)
    image, notes = pack(Image([bad, whole]))
    assert image.cores == [bad, whole]
    assert notes == [
        "core 0 is left as it is: instruction 1: the instruction has no packed form (its upper "
        "half is not zero)",
        "core 1 is left as it is: instruction 1: the code does not end with its last instruction",
    ]


@pytest.mark.parametrize("name, value, most", [("cores", 33, 32), ("lmem_bytes", 131072, 65536)])
def test_gateware_has_its_limits(name, value, most):
    with pytest.raises(
        ValueError, match=f"^parameter {name} must be at most {most} in gateware, not {value}$"
    ):
        ManyCoreEngine(
            params=SPACE.resolve("sim", {name: value}), beat_bytes=4, memory_size=1 << 16
        )
