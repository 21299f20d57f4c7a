# SPDX-License-Identifier: BSD-2-Clause
"""Where a run of PIM ended, in words: core, instruction and text of a fault; who waits for whom;
what debug registers show."""

import pytest

from quintet.gateware.cores.pim.asm.explain import explain
from quintet.gateware.cores.pim.software import SOFTWARE
from quintet.gateware.isa.asm import assemble_text
from quintet.gateware.isa.outcome import FaultReport, Outcome
from quintet.tools import Job, open_target, run_job
from quintet.tools.cli import main
from quintet.tools.jobs.report import explanation, run_object

DEADLOCK = ".core 0\nnop\nrecv $0, 1, 4\n.core 1\nnop\nnop\nwait 3, 1\n"


def result_of(text, **more):
    job = Job(core="pim", program=assemble_text(SOFTWARE, text).data, program_at=0x1000, **more)
    with open_target("model:pim?preset=sim") as target:
        return run_job(job, target)


@pytest.mark.parametrize(
    "text, line",
    [
        (
            ".core 1\n.mode packed\nnop\nvvadd $0, $0, $0, 4, @8:d\nsldi $1, 1\nlmv $1, $0, 8",
            "core 1, instruction 3: lmv $1, $0, 8",
        ),
        (".word 21", "core 0, instruction 0: .word 0x0000000000000015  ; illegal_opcode"),
        ("sldi $0, 4095\n" + "lldi $0, 3, 2", "core 0, instruction 1: lldi $0, 3, 2"),
    ],
)
def test_a_fault_names_its_instruction(text, line):
    result = result_of(text)
    assert explanation(result) == [line] and run_object(result)["notes"] == [line]


def test_a_deadlock_says_who_waits_for_whom():
    assert explanation(result_of(DEADLOCK)) == [
        "core 0, instruction 1: recv $0, 1, 4",
        "core 0, instruction 1: recv waits for core 1 (from it, 4 bytes), which is blocked in wait",
        "core 1, instruction 2: wait waits for event 3 to be 1 (it is 0)",
    ]
    assert explanation(result_of("nop")) == []


def test_what_is_no_instruction_has_no_words():
    program = assemble_text(SOFTWARE, "nop\nnop")
    for name, pc, core in (
        ("table", 0x1000, 0),
        ("overlap", 0x1000, 0),
        ("overlap", 0x1084, 0),
        ("code_end", 0x1090, 0),
        ("overlap", 0x1080, 3),
    ):
        outcome = Outcome("fault", FaultReport(1, name, pc, 0), {}, {"fault_core": core})
        assert explain(program, 0x1000, outcome) == [], (name, pc)


def test_the_command_prints_it(tmp_path, capsys):
    (tmp_path / "x.s").write_text(DEADLOCK)
    (tmp_path / "x.toml").write_text(
        'core = "pim"\nprogram = "x.s"\nprogram_at = 0x1000\n[params]\nxb_rows = 64\nxb_cols = 64\n'
    )
    assert main(["run", str(tmp_path / "x.toml"), "--on", "model:pim?preset=sim"]) != 0
    assert (
        "  core 1, instruction 2: wait waits for event 3 to be 1 (it is 0)"
        in capsys.readouterr().err
    )


def test_debug_registers_are_chosen_behind_the_run():
    text = ".core 0\nsldi $3, 77\nnop\n.core 1\nsldi $5, 99\nsync 2, 1\nsetbw 7, 9\n"
    job = Job(core="pim", program=assemble_text(SOFTWARE, text).data, program_at=0x1000)
    with open_target("model:pim?preset=sim") as target:
        outcome = run_job(job, target).outcome
        found = []
        for core, index in (
            (0, 3),
            (1, 5),
            (1, 34),
            (1, 64),
            (1, 65),
            (1, 66),
            (2, 5),
            (0xFFFF, 3),
        ):
            target.write_register("core_select", core)
            target.write_register("dbg_index", index)
            found.append(
                (
                    target.read_register("dbg_value"),
                    target.read_register("core_pc"),
                    target.read_register("cnt_scalar"),
                )
            )
        assert outcome.counters["scalar"] == 4 and outcome.values["dbg_value"] == 0
    assert found == [
        (77, 2, 2),
        (99, 3, 2),
        (1, 3, 2),
        (7, 3, 2),
        (9, 3, 2),
        (0, 3, 2),
        (0, 0, 4),
        (0, 0, 4),
    ]
