# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of several programs: what the array keeps between them, counters, the common limit, faults,
refusals."""

import numpy as np
import pytest

from quintet.gateware.cores.imagine.asm.assembler import IMAGineAsm
from quintet.gateware.cores.imagine.params import SPACE
from quintet.tools import Job, open_target, run_job
from quintet.tools.errors import JobError
from quintet.tools.jobs.job import Run, Save
from quintet.tools.jobs.verify import compare, verify_job
from quintet.tools.targets.model import ModelTarget

PARAMS = SPACE.resolve("sim", {"rows": 4, "cols": 2, "reg_width": 16, "depth": 512})
TARGET = "model:imagine?rows=4&cols=2&depth=512"


SETUP = (
    ".setupParams regCnt=30, resvRegCnt=2, maxLevel=0, fracWidth=4, mvBlockDim=(4, 2), "
    "pimDepth=512\n"
)
LOADER = 'mv_LOADMAT 3, "w.npy"\nmv_LOADVEC_COL 4, "b.npy"\n'
KERNEL = """mv_LOADVEC_ROW 2, "{}"
mv_MULTFXP 0, 2, 3
mv_ALLACCUM 0, 0
vv_serialEn
mv_add 0, 0, 4
mv_SYNC
vv_parallelEn
"""


@pytest.fixture
def resident(tmp_path):
    """A job of three programs: one that loads weights and biases, then their product with each of
    two vectors; and the products."""
    rng = np.random.default_rng(4)
    weights, bias = rng.integers(-900, 900, (4, 32)), rng.integers(-99, 99, 4)
    vectors = rng.integers(-900, 900, (2, 32))
    np.save(tmp_path / "w.npy", weights / 16)
    np.save(tmp_path / "b.npy", bias / 16)
    texts, lines, results = [LOADER], ['core = "imagine"'], []
    for index, vector in enumerate(vectors):
        np.save(tmp_path / f"x{index}.npy", vector / 16)
        texts.append(KERNEL.format(f"x{index}.npy"))
        results.append(((weights * vector >> 4).sum(axis=1) + bias).astype(np.int16).tolist())
    for index, text in enumerate(texts):
        (tmp_path / f"mine_{index}.s").write_text(SETUP + text)
        at, out = 0x1000 + 0x4000 * index, 0x10000 + 64 * index
        lines += ["[[run]]", f'program = "mine_{index}.s"', f"program_at = {at}"]
        lines += [f"registers = {{ output_at = {out}, output_limit = {out + 64} }}"]
    for index in (1, 2):
        lines += ["[[save]]", f'file = "mine_{index}_y.npy"', f"at = {0x10000 + 64 * index}"]
        lines += ['dtype = "int16"', "shape = [1, 4, 2]"]
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines) + "\n")
    return path, results


def small_job(*calls, **options):
    """A job of one program for each list of calls of the assembler, at 0x1000, 0x2000 ...; results
    at 0x8000."""
    runs = []
    for index, names in enumerate(calls):
        asm = IMAGineAsm()
        for name in names:
            getattr(asm, name)()
        data = b"".join(word.to_bytes(4, "little") for word in asm.words())
        runs.append(
            Run(
                data,
                0x1000 * (index + 1),
                {"output_at": 0x8000 + 64 * index, "output_limit": 0x8040 + 64 * index},
            )
        )
    return Job(core="imagine", runs=runs, **options)


def test_weights_stay_between_programs(resident):
    path, wanted = resident
    with open_target(TARGET) as target:
        result = run_job(Job.load(path), target)
    for index, values in enumerate(wanted):
        assert result.tensors[f"mine_{index + 1}_y.npy"][0, :, 0].tolist() == values
    assert [step.name for step in result.image.steps] == [
        "mine_0.s",
        "mine_1.s",
        "mine_2.s",
    ] and result.outcome.status == "done"
    assert len(result.outcomes) == 3 and result.outcomes[0].counters["bytes_written"] == 0
    for name, value in result.outcome.counters.items():
        assert value == sum(one.counters[name] for one in result.outcomes)
    assert result.outcome.values == result.outcomes[-1].values


def test_the_programs_are_there_without_being_run(resident):
    """The kernel alone gives something else: what the first test sees comes from the loader."""
    path, _ = resident
    job = Job.load(path)
    job.runs = job.runs[1:]
    with open_target(TARGET) as target:
        result = run_job(job, target)
    assert not result.tensors["mine_1_y.npy"][..., 0].any()


def test_report(resident, quintet, tmp_path):
    path, _ = resident
    ran = quintet("run", path, "--on", TARGET, "--out", tmp_path / "out", "--json")
    values = ran.json
    assert ran.code == 0 and [run["program"] for run in values["runs"]] == [
        "mine_0.s",
        "mine_1.s",
        "mine_2.s",
    ]
    assert values["counters"]["instructions"] == sum(
        run["counters"]["instructions"] for run in values["runs"]
    )
    assert {run["status"] for run in values["runs"]} == {"done"} and values["fault"] is None
    ran = quintet("run", path, "--on", TARGET, "--out", tmp_path / "out")
    assert "run[0] (mine_0.s)" in ran.out and "run[2] (mine_2.s)" in ran.out
    ran = quintet("verify", path, "--on", TARGET, "--json")
    assert ran.code == 0 and ran.json["equal"] and len(ran.json["a"]["runs"]) == 3


def test_a_single_program_is_one_run(small, quintet):
    values = quintet("run", small, "--json").json
    assert len(values["runs"]) == 1 and values["runs"][0]["counters"] == values["counters"]
    assert "run[0]" not in quintet("run", small).out


def test_faults_name_the_program(resident, quintet):
    path, _ = resident
    source = path.with_name("mine_1.s")
    source.write_text(source.read_text() + ".word 0xffffffff\n")
    ran = quintet("run", path, "--on", TARGET, "--json")
    fault = ran.json["fault"]
    assert (
        ran.code == 5
        and fault["name"] == "illegal_submodule"
        and fault["run"] == 1
        and len(ran.json["runs"]) == 2
    )
    assert fault["file"] == str(source) and fault["line"] == len(source.read_text().splitlines())
    assert (
        "core fault in run[1] (mine_1.s): illegal_submodule" in ran.err
        and ran.json["outputs"] == []
    )
    assert ran.json["runs"][0]["status"] == "done" and ran.json["runs"][1]["status"] == "fault"
    assert "equal: the way the run ended" in quintet("verify", path, "--on", TARGET).out


@pytest.mark.parametrize("limit, ended", [(3, 1), (4, 2), (5, 2), (6, None), (7, None)])
def test_the_limit_is_for_all_together(limit, ended):
    job = small_job(["mv_nop"] * 3, ["mv_nop"], ["mv_nop"] * 2, cycle_limit=limit)
    with open_target("model") as target:
        result = run_job(job, target)
    assert result.outcome.status == ("done" if ended is None else "aborted")
    assert len(result.outcomes) == (3 if ended is None else ended + 1)
    assert result.outcome.counters["instructions"] == min(limit, 6)


@pytest.mark.parametrize("isa", ["opentpu", "opu", "pim", "cherry"])
def test_a_limit_that_is_used_up_stops_the_next_program(isa, tmp_path):
    """Every model takes a limit of 0; their own first programs use up exactly what there is."""
    from quintet.gateware.isa.asm import assemble_text

    ends = {"opentpu": "HLT", "opu": "end", "pim": "nop", "cherry": "nop"}
    package = Job(core=isa, program=b"1", program_at=0).package
    data = assemble_text(package.software.SOFTWARE, ends[isa]).data
    job = Job(core=isa, runs=[Run(data, 0x1000)])
    with open_target(f"model:{isa}") as target:
        first = run_job(job, target).outcome
        used = first.counters.get("cycles", first.counters["instructions"])
        assert first.status == "done"
        job = Job(core=isa, runs=[Run(data, 0x1000), Run(data, 0x2000)], cycle_limit=max(used, 1))
        result = run_job(job, target)
    assert [outcome.status for outcome in result.outcomes] == (
        ["done", "aborted"] if used else ["done", "done"]
    )


def test_registers_stay_and_change():
    job = small_job(["vv_parallelEn"], ["vv_parallelEn"], ["vv_parallelEn"])
    job.runs[1] = Run(job.runs[1].program, 0x2000)  # goes on where the first wrote
    job.saves = [Save(0x8000, "a.bin", size=16), Save(0x8080, "b.bin", size=16)]
    with open_target(TARGET) as target:
        target.write(0x8000, bytes(0x100))
        result = run_job(job, target)
        assert target.read(0x8040, 16) == bytes(16) and target.read_register("output_at") == 0x8080
    assert all(any(raw) for raw in result.raw.values())


def test_one_program_may_run_twice():
    job = small_job(["vv_parallelEn"])
    job.runs = [
        job.runs[0],
        Run(job.runs[0].program, 0x1000, {"output_at": 0x9000, "output_limit": 0x9040}),
    ]
    with open_target(TARGET) as target:
        result = run_job(job, target)
        assert target.read(0x9000, 16) == target.read(0x8000, 16) != bytes(16)
    assert len(result.image.parts) == 1 and len(result.outcomes) == 2


def test_verify_names_program_and_instruction(resident):
    """The first difference is written by the second kernel; counters are compared program by
    program."""
    path, _ = resident
    job = Job.load(path)

    def opener(name, change=False):
        def make():
            target = ModelTarget(
                name=name, isa="imagine", overrides={"rows": 4, "cols": 2, "depth": 512}
            )
            run, count = target.run, []

            def changed(registers, *args, **options):
                count.append(1)
                outcome = run(registers, *args, **options)
                if change and len(count) == 3:
                    target.memory[registers["output_at"]] ^= 1
                return outcome

            target.run = changed
            return target

        make.kind = "model"
        return make

    comparison = verify_job(job, opener("A"), opener("B", True))
    difference = comparison.difference
    assert (
        difference.element == "mine_2_y.npy[0, 0, 0]"
        and difference.file.endswith("mine_2.s")
        and difference.line
    )
    comparison = verify_job(job, opener("A"), opener("B"))
    assert comparison.equal
    a, b = comparison.a, comparison.b
    b.outcomes[1].counters["bytes_read"] += 1
    assert compare(job, a, b).troubles == [
        f"counter bytes_read of run[1] (mine_1.s) differs: "
        f"{a.outcomes[1].counters['bytes_read']:,} on A, "
        f"{a.outcomes[1].counters['bytes_read'] + 1:,} on B"
    ]
    b.outcomes[1].counters["bytes_read"] -= 1
    b.outcomes[2].values["vectors"] += 1
    assert compare(job, a, b).troubles == [
        "register vectors of run[2] (mine_2.s) differs: 0x1 on A, 0x2 on B"
    ]
    b.outcomes.pop()
    assert compare(job, a, b).troubles[0] == "A ended in run[2] (mine_2.s), B in run[1] (mine_1.s)"


JOB = """core = "imagine"
[[run]]
program = "a.bin"
program_at = 0x1000
[[run]]
program = "b.bin"
program_at = 0x2000
registers = { output_at = 0x3000 }
"""


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            '[[run]]\nprogram = "a.bin"',
            'program = "a.bin"\n[[run]]\nprogram = "a.bin"',
            'program = "a.bin": expected no such key beside [[run]], which names each program',
        ),
        (
            'core = "imagine"',
            'core = "imagine"\nprogram_at = 0',
            "program_at = 0: expected no such key beside [[run]], which names each program",
        ),
        ('"b.bin"', '"c.bin"', 'run[1].program = "FOLDER/c.bin": no such file'),
        (
            'program = "b.bin"',
            'program = ""',
            'run[1].program = "": expected the path of a program',
        ),
        ('program = "b.bin"\n', "", "run[1].program is missing; expected a string"),
        ("program_at = 0x2000\n", "", "run[1].program_at is missing; expected an integer"),
        ("0x2000", "0x2001", "run[1].program_at = 0x2001: expected a multiple of 4 for imagine"),
        (
            "0x2000",
            "-4",
            "run[1].program_at = -4: expected an address, an integer from 0 to 0xffffffff",
        ),
        (
            "0x2000",
            "0x1000",
            "run[0] (a.bin) at 0x1000..0x1007 overlaps run[1] (b.bin) at 0x1000..0x1003",
        ),
        ("output_at = 0x3000", "output = 1", "run[1].registers.output = 1: "),
        (
            "output_at = 0x3000",
            "output_count = 1",
            "run[1].registers.output_count = 1: is read-only",
        ),
        (
            "output_at = 0x3000",
            "window_base = 0x80, window_limit = 0x40",
            "run[1].registers.window_limit = 0x40: lies below window_base 0x80",
        ),
        (
            "output_at = 0x3000",
            "window_limit = 0x4000000",
            "run[1]: registers.window_limit = 0x4000000: lies past the main memory of model",
        ),
        (
            "output_at = 0x3000",
            "output_at = 0x2000, output_limit = 0x2010",
            "run[1]: the output area 0x2000..0x200f (output_at, output_limit) overlaps the "
            "program at 0x2000..0x2003",
        ),
        ("registers", "register", "run[1].register: unknown key; did you mean registers?"),
        ("[[run]]\n", "[[runs]]\n", "runs: unknown key; did you mean run?"),
        (JOB, 'core = "imagine"\nrun = []\n', "run: no program; expected at least one [[run]]"),
        (JOB, 'core = "imagine"\nrun = 5\n', "run = 5: expected an array"),
        (JOB, 'core = "imagine"\n', "program is missing; expected a string"),
        (
            "registers",
            '[[save]]\nfile = "a.bin"\nat = 0\nsize = 4\n[registers]\n#',
            'save[0].file = "a.bin": expected another name: this is the file of a program',
        ),
    ],
)
def test_refused(tmp_path, old, new, message):
    (tmp_path / "a.bin").write_bytes(bytes(8))
    (tmp_path / "b.bin").write_bytes(bytes(4))
    assert old in JOB
    (tmp_path / "job.toml").write_text(JOB.replace(old, new))
    with open_target("model") as target, pytest.raises(JobError) as error:
        run_job(Job.load(tmp_path / "job.toml"), target)
    assert str(error.value).startswith(
        f"{tmp_path / 'job.toml'}: {message}".replace("FOLDER", str(tmp_path))
    )


def test_refused_from_python():
    with pytest.raises(
        JobError,
        match=r"job: program and program_at stand in \[\[run\]\] where a job has several programs",
    ):
        Job(core="imagine", program=b"1234", program_at=0, runs=[Run(b"1234", 0)])
    with pytest.raises(
        JobError, match="job: program is missing; expected a path, or bytes in binary form"
    ):
        Job(core="imagine")
    with pytest.raises(JobError, match=r"job: run\[1\].program = .*: is empty"):
        Job(core="imagine", runs=[Run(b"1234", 0), Run(b"", 64)]).image(PARAMS, 4096)
