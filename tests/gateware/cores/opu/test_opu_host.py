# SPDX-License-Identifier: BSD-2-Clause
"""Refusals and warnings of the host before an OPU is started (sections 6, 7.1, 8.1)."""

import numpy as np
import pytest

from quintet.firmware.opu import small
from quintet.gateware.cores.opu.params import SPACE
from quintet.gateware.isa.asm import AsmError, assemble_text
from quintet.tools import Job, open_target
from quintet.tools.cli import main
from quintet.tools.errors import JobError
from quintet.tools.jobs.job import Load
from quintet.tools.jobs.runner import run_job

TOO_LARGE = "@shape.ifm [64,32,32]\nend\n"


def binary(text):
    from quintet.gateware.cores.opu.software import SOFTWARE

    return assemble_text(SOFTWARE, text).data


def job(text, **options):
    return Job(**{"core": "opu", "program": binary(text), "program_at": 0, **options})


def image(text, preset="85f", memory=1 << 20, **options):
    return job(text, **options).image(SPACE.resolve(preset), memory, "T")


def test_program_at_must_be_a_multiple_of_64():
    with pytest.raises(
        JobError, match="job: program_at = 0x1020: expected a multiple of 64 for opu"
    ):
        job("end", program_at=0x1020)
    assert image("end", program_at=0x1040).registers["program_address"] == 0x1040


def test_types_must_be_equal():
    wanted = job("end", params={"types": "8-8-32-32"})
    wanted.check_params(SPACE.resolve(None, {"types": "8-8-32-32"}), "T")
    with pytest.raises(
        JobError,
        match=(
            "job: params.types = 8-8-32-32: T was built with types = 8-8-16-16; the job needs "
            "8-8-32"
        ),
    ):
        wanted.check_params(SPACE.resolve(), "T")
    with pytest.raises(
        JobError, match="params.types = .*8-8-8-8.*: parameter types must be one of"
    ):
        job("end", params={"types": "8-8-8-8"})


def test_what_does_not_fit_is_refused_before_the_start():
    with pytest.raises(
        JobError,
        match=r"job: the instruction at 0x0: ifm of 64x32x32 takes 4096 lines of 16 elements and "
        r"this build has 1536 \(ifm_lines\): fault capacity",
    ):
        image(TOO_LARGE, "45f")
    assert image(TOO_LARGE, "85f").program.warnings == []
    with pytest.raises(
        JobError, match="ofm of 32x32x4 takes 2048 lines of 2 elements and this build has 1024"
    ):
        image("@shape.ofm [32,32,4]\nend", "sim")
    with pytest.raises(
        JobError, match="a kernel of 9x64x64 weights takes 2304 rows of 16 and this build has 1024"
    ):
        image("@shape.ifm [1,1,64]\n@shape.ofm [1,1,64]\n@shape.ker 9\nld.ker 0\nend", "up5k")
    # Words that are never executed are nobody's business.
    assert image("end\n" + TOO_LARGE, "sim").program.warnings == []


def test_a_source_is_refused_with_its_line(tmp_path):
    (tmp_path / "p.s").write_text("@stride [1,1]\n" + TOO_LARGE)
    (tmp_path / "j.toml").write_text('core = "opu"\nprogram = "p.s"\nprogram_at = 0\n')
    for preset, code in (("85f", 0), ("hx8k", 2)):
        assert main(["run", str(tmp_path / "j.toml"), "--on", f"model:opu?preset={preset}"]) == code
    with pytest.raises(
        AsmError,
        match=r"p.s:2:1: ifm of 64x32x32 takes 4096 lines .* this build has 64 \(ifm_lines\)",
    ):
        Job.load(tmp_path / "j.toml").image(SPACE.resolve("hx8k"), 1 << 20)


def test_region_limits_are_at_most_a_region():
    assert (
        image("end", registers={"region_limit[3]": 1 << 28}).registers["region_limit[3]"] == 1 << 28
    )
    with pytest.raises(
        JobError,
        match=r'job: registers."region_limit\[3\]" = 0x10000040: expected at most 0x10000000',
    ):
        image("end", registers={"region_limit[3]": (1 << 28) + 64})
    with pytest.raises(JobError, match="keeps multiples of 64 only"):
        job("end", registers={"region_base[0]": 32})
    with pytest.raises(
        JobError,
        match=r"region_base is an array: name one entry, region_base\[0\] to region_base\[15\]",
    ):
        job("end", registers={"region_base": 0})
    with pytest.raises(JobError, match="cap_types.*is read-only"):
        job("end", registers={"cap_types": 0})


LOAD = "@shape.ofm [1,1,32]\nld.bias 0x40\nend"


@pytest.mark.parametrize(
    "registers, warning",
    [
        ({}, None),
        (
            {"region_limit[0]": 0x1000},
            "the array at 0x1000 passes the end of region 0: fault region",
        ),
        ({"region_limit[0]": 0x1040}, None),
        (
            {"region_base[0]": 0xFF000},
            "the array at 0x100000 of main memory leaves the memory window: fault window",
        ),
        (
            {"window_limit": 0x1000},
            "the array at 0x1000 of main memory leaves the memory window: fault window",
        ),
        ({"window_base": 0x40, "window_limit": 0x2000}, None),
    ],
)
def test_faults_that_will_come_are_spoken_of(registers, warning):
    made = image(LOAD, registers=registers, program_at=0x40)
    expected = [] if warning is None else [f"job: warning: the instruction at 0x44: {warning}"]
    assert made.program.warnings == expected
    # And come they do.
    with open_target("model:opu?preset=85f") as target:
        result = run_job(job(LOAD, registers=registers, program_at=0x40), target)
        fault = result.outcome.fault
    # The target is larger than the memory that was judged with.
    late = registers.get("region_base[0]") is not None
    assert (fault.name if fault else None) == (
        warning.split()[-1] if warning and not late else None
    )


def test_programs_that_leave_their_end_or_window():
    assert image(
        "@stride [1,1]\n" * 20 + "end", registers={"window_limit": 0x40}
    ).program.warnings == [
        "job: warning: the instruction at 0x40: the program leaves the memory window: fault window"
    ]
    made = Job(core="opu", program=binary("@stride [1,1]\nend")[:4], program_at=0).image(
        SPACE.resolve(), 4096
    )
    assert made.program.warnings == ["job: warning: the program has no end: fault fetch"]


def test_a_program_that_writes_itself():
    text = "@mem.ofm 0, [1,1]\npad 0, 1\nend"
    assert image(text, program_at=0x40).program.warnings == []
    assert image(text).program.warnings == [
        "job: warning: the instruction at 0x4: may write the program itself, whose old or new "
        "words are then executed"
    ]


def test_warnings_of_a_source_come_once(tmp_path, capsys):
    (tmp_path / "p.s").write_text("@mem.ifm 0, 1\n@shape.ifm [1,2,16]\nld.ifm 0\nstore 0\nend\n")
    (tmp_path / "j.toml").write_text('core = "opu"\nprogram = "p.s"\nprogram_at = 0\n')
    assert main(["run", str(tmp_path / "j.toml"), "--on", "model"]) == 5
    text = capsys.readouterr()
    lines = [line for line in (text.out + text.err).splitlines() if ": warning: " in line]
    assert len(lines) == 2 and "p.s:3:1: warning: rows overlap" in lines[0]
    assert "p.s:4:1: warning: not set before: mem.ofm: fault undef_reg" in lines[1]


def test_worked_job_from_the_command_line(tmp_path, capsys):
    assert main(["run", str(small.JOB), "--on", "model", "--out", str(tmp_path)]) == 0
    assert np.load(tmp_path / "out.npy").shape == (4, 4, 64)
    assert "9,216" in capsys.readouterr().out


def test_worked_job_with_loads_given_from_python():
    loads = [
        Load(at, array, name)
        for at, (name, array) in zip(
            (0x2000, 0x4000, 0x5000, 0x6000), small.arrays().items(), strict=True
        )
    ]
    regions = {
        "region_base[1]": 0x2000,
        "region_limit[1]": 0x1000,
        "region_base[2]": 0x4000,
        "region_limit[2]": 0x2000,
        "region_base[3]": 0x6000,
        "region_limit[3]": 0x400,
    }
    with open_target("model:opu?preset=sim") as target:
        result = run_job(
            Job(
                core="opu",
                program=small.FOLDER / "small.s",
                program_at=0x1000,
                loads=loads,
                registers=regions,
            ),
            target,
        )
        assert result.outcome.status == "done" and target.read_register("cap_ifm_lines") == 256
        assert (
            target.read_register("fault_insn") == 0
            and target.read_register("region_base[1]") == 0x2000
        )
        assert (
            target.read_register("region_base[5]") == 0x5000_0000
            and target.read_register("region_limit[5]") == 1 << 28
        )
