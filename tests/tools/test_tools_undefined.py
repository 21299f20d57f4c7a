# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose result a model finds not to be defined: a line that says where and why, and the
exit code of a fault."""

import pytest

JOB = (
    'core = "cherry"\nprogram = "wrong.s"\nprogram_at = 0x1000\nsave = [ { file = "y.bin", at '
    "= 0x2000, size = 64 } ]\n"
)
RACE = """.loop n 6
.apu X 2048 1 4 n:16
.apu Y 2064 1 4 n:16
start_independent_loop n
  load X, INPUT
  relu
  store Y, OUTPUT
end_loop n
"""
PROMISE = """.program p
.apu X 0 1 4
.apu Y 64 1 4
load X, INPUT
relu
store Y, OUTPUT
.step p
.in raw 0x2000 0 4 4
.step p prefetch
.in raw 0x2100 0x38 4 4
"""


def written(folder, program):
    (folder / "wrong.s").write_text(program)
    (folder / "job.toml").write_text(JOB)
    return folder / "job.toml"


@pytest.mark.parametrize(
    "program, line, why",
    [
        (
            RACE,
            7,
            "iteration 0 of an independent loop writes element 0x810 of MEM, which iteration 1 "
            "reads",
        ),
        (
            PROMISE,
            9,
            "step 1 is prefetched, but its in list touches element 0x40 of MEM, which step 0 uses",
        ),
    ],
)
def test_what_is_not_defined_is_said_where_it_stands(quintet, tmp_path, program, line, why):
    job = written(tmp_path, program)
    message = (
        f"{job}: {tmp_path / 'wrong.s'} line {line}: the result is not defined: {why}; nothing "
        f"was saved"
    )
    ran = quintet("run", job, "--on", "model")
    assert ran.code == 5 and ran.err == f"quintet: {message}\n" and ran.out == ""
    assert quintet("verify", job, "--on", "model:cherry", "--against", "model").code == 5
    ran = quintet("run", job, "--json")
    assert ran.code == 5 and ran.json == {"error": message, "exit": 5}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.toml", "wrong.s"]


def test_of_a_binary_the_pc_is_said(quintet, tmp_path):
    job = written(tmp_path, RACE)
    assert quintet("asm", "cherry", tmp_path / "wrong.s", "-o", tmp_path / "wrong.bin").code == 0
    job.write_text(JOB.replace("wrong.s", "wrong.bin"))
    ran = quintet("run", job)
    assert ran.code == 5 and ran.err.startswith(f"quintet: {job}: the program at pc 0x10"), ran.err
