# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that are written and read again."""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools import Job
from quintet.tools.errors import JobError
from quintet.tools.jobs.job import Load, Run, Save, Source
from quintet.tools.jobs.recognition import Recognition


def programs(job):
    return [
        (
            bytes(run.program)
            if isinstance(run.program, (bytes, bytearray))
            else run.program.read_bytes(),
            run.at,
            run.registers,
        )
        for run in job.runs
    ]


def saves(job):
    """Files of the saves; a missing suffix of a file's name is added."""
    for save in job.saves:
        found = save.recognition
        name = (
            save.name
            if save.name.endswith((".npy", ".bin"))
            else save.name + (".bin" if save.dtype is None else ".npy")
        )
        yield (
            save.at,
            name,
            save.dtype,
            save.shape,
            save.size,
            found and (found.labels.tolist(), found.shape, found.order, found.classes),
        )


def meaning(job):
    return (
        job.core,
        programs(job),
        job.params,
        job.registers,
        [(load.at, bytes(load.data)) for load in job.loads],
        list(saves(job)),
        job.cycle_limit,
    )


names = st.text('abxyz_.-é ü"\\#', min_size=1, max_size=5).filter(
    lambda name: name.strip(".") and name.strip() == name
)
arrays = st.builds(
    lambda dtype, shape, seed: np.random.default_rng(seed).integers(0, 100, shape).astype(dtype),
    st.sampled_from(["int8", ">i2", "uint32", "float64", "bool"]),
    st.lists(st.integers(1, 3), max_size=3),
    st.integers(0, 9),
)
contents = arrays | st.binary(min_size=1, max_size=9)


@st.composite
def jobs(draw):
    data = st.binary(max_size=3).map(lambda data: data * 14)
    registers = st.dictionaries(
        st.sampled_from(["window_base", "hostmem_base"]),
        st.integers(0, 9).map(lambda n: 64 * n),
        max_size=2,
    )
    if draw(st.booleans()):
        program = {
            "runs": [
                Run(draw(data), 64 * i, draw(registers)) for i in range(draw(st.integers(1, 3)))
            ]
        }
    else:
        program = {"program": draw(data), "program_at": 64 * draw(st.integers(0, 99))}
    loads = [
        Load(
            0x1000 * i,
            draw(contents),
            draw(
                st.just("data")
                | names
                | st.just(f"a.npz:k{i}")
                | st.just(f"l{i}.npy")
                | st.just(f"l{i}.bin")
            ),
        )
        for i in range(1, 1 + draw(st.integers(0, 4)))
    ]
    kept = []
    for i in range(draw(st.integers(0, 3))):
        name = f"{i}{draw(names)}"
        if draw(st.booleans()):
            kept.append(Save(0x1000 * i, name, size=draw(st.integers(1, 99))))
            continue
        images, classes = draw(st.integers(1, 4)), draw(st.integers(2, 4))
        labels = np.arange(images, dtype=draw(st.sampled_from(["uint8", "int64"]))) % 2
        found = Recognition(
            labels,
            *draw(
                st.sampled_from(
                    [(None, None, None), ((classes, images), (1, 0), 2), (None, None, classes)]
                )
            ),
        )
        kept.append(
            Save(
                0x1000 * i,
                name,
                dtype=draw(st.sampled_from(["int8", "float32"])),
                shape=(images, classes),
                recognition=draw(st.sampled_from([None, found])),
            )
        )
    return Job(
        core="opentpu",
        **program,
        params=draw(st.sampled_from([{}, {"n": 4, "ext_norm": True}])),
        registers={name: value for name, value in draw(registers).items() if name != "window_base"},
        loads=loads,
        saves=kept,
        cycle_limit=draw(st.none() | st.integers(1, 1 << 70)),
    )


@settings(deadline=None, max_examples=150)
@given(jobs(), st.text('ab \n\t\0\x7f"#é', max_size=9))
def test_a_job_reads_back_equal(job, comment):
    with tempfile.TemporaryDirectory() as folder:
        again = Job.load(job.save(Path(folder, "in", "job.toml"), comment=comment))
        assert meaning(again) == meaning(job)
        # And from another folder, which has nothing but the job: what lies in files stays there.
        (Path(folder) / "out" / "deep").mkdir(parents=True)
        moved = again.save(Path(folder, "out", "deep", "j.toml"))
        assert meaning(Job.load(moved)) == meaning(job) and [
            path.name for path in moved.parent.iterdir()
        ] == ["j.toml"]
        assert again.save(again.origin).read_text() == moved.read_text().replace("../../in/", "")


def small(**options):
    return Job(
        **{"core": "opentpu", "program": Source("small.a", "HLT\n"), "program_at": 0, **options}
    )


def test_the_text(tmp_path):
    job = small(
        params={"n": 4, "norm_reset": 0, "ext_norm": True},
        registers={"hostmem_base": 0x2000},
        cycle_limit=10_000,
        loads=[Load(0x2000, np.zeros(4, np.int8), "d.npz:x"), Load(0x3000, b"ab", "w")],
        saves=[
            Save(
                0x2010,
                "y",
                dtype="int8",
                shape=(6, 4),
                recognition=Recognition(np.arange(6) % 4, classes=4),
            )
        ],
    )
    assert (
        job.save(
            tmp_path / "d.toml", comment="A job.\nOf two lines.", extra={"d.npz:more": [1]}
        ).read_text()
        == """\
# A job.
# Of two lines.
core = "opentpu"
program = "small.a"
program_at = 0x0
[params]
n = 4
norm_reset = 0
ext_norm = true
[registers]
hostmem_base = 0x2000
[[load]]
file = "d.npz:x"
at = 0x2000
[[load]]
file = "d_w.bin"
at = 0x3000
[[save]]
file = "y.npy"
at = 0x2010
dtype = "int8"
shape = [6, 4]
labels = "d_labels.npy"
unpack = { classes = 4 }
[limits]
cycles = 10000
"""
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "d.npz",
        "d.toml",
        "d_labels.npy",
        "d_w.bin",
        "small.a",
    ]
    assert np.load(tmp_path / "d.npz")["more"].tolist() == [1]


def test_a_source_runs_as_its_file_does(tmp_path):
    job = Job(
        core="imagine",
        program=Source("a.s", '.include "b.s"\n', {"b.s": "mv_SYNC\n"}),
        program_at=0,
    )
    params = job.package.params.SPACE.resolve()
    made = job.image(params, 4096)
    assert (
        made.program.data
        == Job.load(job.save(tmp_path / "a.toml")).image(params, 4096).program.data
        != b""
    )


def one(**save):
    return {"saves": [Save(0, **save)]}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loads": [Load(64, b"", "e")]}, 'load[0].file = "e": expected contents: it is empty'),
        (
            {"loads": [Load(64, b"a", "x/y")]},
            'load[0].file = "job_x/y.bin": expected the name of a file beside the job',
        ),
        (
            {"loads": [Load(64, b"a", "a.bin"), Load(128, b"a", "a.bin")]},
            'load[1].file = "a.bin": expected another name: there is a file of this one',
        ),
        (
            {"loads": [Load(64, np.ones(2), "a.npz:file")]},
            'load[0].file = "a.npz:file": expected an array of letters, digits and _ . + -, '
            'other than "file" and those that are there',
        ),
        (
            {"loads": [Load(64, np.ones(2), "a.npz:x"), Load(128, np.ones(2), "a.npz:x")]},
            'load[1].file = "a.npz:x": expected an array of letters',
        ),
        (
            {"program": Source("../a.a", "HLT")},
            'program = "../a.a": expected the name of a file beside the job',
        ),
        ({"program": Source("job.toml", "HLT")}, 'program = "job.toml": expected another name'),
        (
            {"loads": [Load(64, b"a", "y.bin")], **one(name="y.bin", size=1)},
            'save[0].file = "y.bin": expected another name',
        ),
        (
            one(name="a\nb", size=1),
            'save[0].file = "a\\nb.bin": expected the path of a file, without control characters',
        ),
        (
            one(name="y", dtype="int8", shape=(0, 4)),
            "save[0].shape = [0, 4]: expected an array of integers of at least 1",
        ),
        (one(name="y", size=0), "save[0].size = 0: expected a number of bytes, at least 1"),
    ],
)
def test_what_a_file_cannot_say(options, message, tmp_path):
    with pytest.raises(JobError) as error:
        small(**options).save(tmp_path / "job.toml")
    assert str(error.value).startswith(f"{tmp_path / 'job.toml'}: {message}")
    assert not any(tmp_path.iterdir())


def test_no_input_is_written_over(tmp_path):
    job = Job.load(small(loads=[Load(64, b"a", "x.bin")]).save(tmp_path / "job.toml"))
    job.runs = [dataclasses.replace(job.runs[0], program=Source("x.bin", "HLT"))]
    with pytest.raises(
        JobError,
        match=r'load\[0\].file = ".*x.bin": expected another file: the job writes this one',
    ):
        job.save(tmp_path / "again.toml")
    assert (tmp_path / "x.bin").read_bytes() == b"a"


def test_a_path_that_no_job_can_name(tmp_path):
    (tmp_path / "a\nb.a").write_text("HLT\n")
    with pytest.raises(JobError, match="expected a path without control characters"):
        small(program=tmp_path / "a\nb.a").save(tmp_path / "job.toml")


def test_all_files_or_none(tmp_path):
    (tmp_path / "x.bin").mkdir()
    with pytest.raises(JobError, match="x.bin: it is a folder"):
        small(loads=[Load(64, b"a", "x.bin")]).save(tmp_path / "job.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]
