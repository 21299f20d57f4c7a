# SPDX-License-Identifier: BSD-2-Clause
"""Examples that ship: they are listed, copied, and read by their names wherever a file is, and
nothing is written beside them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from quintet import compile_model
from quintet.firmware.examples import BUILDS, builds_of, chosen, examples, job_names
from quintet.gateware.cores import open_core
from quintet.tools.compiler.arrays import load_inputs, load_labels
from quintet.tools.examples import FOLDER, example_files, user_path
from quintet.tools.jobs.job import Job
from tests.tools.tools_small_job import SmallJob, Y

NETWORK, ARRAYS = "example:digits/cnn.onnx", "example:digits/digits.npz"
#: Main memory of a build, of which a job needs no more.
MEMORY = 1 << 25
SMALL = "example:opentpu/programs/small.toml"
#: Jobs whose programs take more than a few seconds to assemble for every build.
SLOW = {"opu/digits/digits.toml", "pim/digits/cnn1.toml", "pim/digits/cnn4.toml"}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The current folder, empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def shipped():
    return {path: path.stat().st_mtime_ns for path in FOLDER.rglob("*") if path.suffix != ".pyc"}


# The list


def test_every_job_is_listed_with_what_it_is_and_its_builds(quintet):
    listed = quintet("examples", "--json").json["examples"]
    assert [one["name"].removeprefix("example:") for one in listed[3:]] == job_names()
    for one in listed:
        assert one["what"] and "=" not in one["what"].partition(",")[0], one
        if one["kind"] == "job":
            assert one["presets"], f"{one['name']} runs on no board"
            assert set(one["presets"]) <= set(open_core(one["core"]).params.SPACE.presets)
    text = quintet("examples").out
    assert "example:opentpu/digits/digits_norm_n4.toml" in text and "opentpu: 25f-4x4" in text


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in job_names()],
)
def test_builds_are_those_that_a_job_runs_on(name):
    stored = json.loads(BUILDS.read_text())
    assert stored.keys() == set(job_names())
    assert stored[name] == builds_of(name), "python -m quintet.firmware.examples"


def test_a_job_s_core_is_that_of_its_folder():
    for one in examples():
        if one.kind == "job":
            assert Job.load(FOLDER / one.name).core == one.core


def test_a_folder_is_listed_with_all_its_files(quintet):
    ran = quintet("examples", "opu/small", "--json").json
    assert [one["name"] for one in ran["examples"]] == ["example:opu/small/small.toml"]
    assert "example:opu/small/ker.bin" in ran["files"]
    assert "example:opu/small/ker.bin" in quintet("examples", "example:opu/small/").out


# Copies


@pytest.mark.parametrize("name", job_names())
def test_a_copied_job_has_all_that_it_takes(quintet, here, name):
    ran = quintet("examples", name, "-o", "mine", "--json")
    assert ran.code == 0, ran.err
    job = Job.load(here / "mine" / Path(name).name)
    for load in job.loads:
        assert len(load.data) == load.size
    if name not in SLOW:
        params = job.package.params.SPACE.resolve(json.loads(BUILDS.read_text())[name][0])
        assert job.image(params, MEMORY).parts


def test_copies_of_the_digits_bring_source_and_licence(quintet, here):
    for number, name in enumerate(("digits/cnn.onnx", "opu/digits/digits_up5k.toml", "digits")):
        assert quintet("examples", name, "-o", f"copy{number}").code == 0
        assert "CC BY 4.0" in (here / f"copy{number}" / "SOURCE.md").read_text()


def test_all_are_copied_as_they_lie(quintet, here):
    assert quintet("examples", "-o", "all").code == 0
    copied = {p.relative_to(here / "all").as_posix() for p in here.rglob("*") if p.is_file()}
    assert copied == set(example_files()) == set(chosen(""))


def test_a_copy_overwrites_nothing(quintet, here):
    (here / "small_x.npy").write_text("mine")
    ran = quintet("examples", "opentpu/programs/small.toml", "-o", ".")
    assert ran.code == 2
    assert ran.err == "quintet: -o .: small_x.npy is there already; nothing is copied\n"
    assert [path.name for path in here.iterdir()] == ["small_x.npy"]


# Names that stand for files


def test_names_are_those_of_files_that_are_there():
    assert {
        "digits/cnn.onnx",
        "digits/digits.npz",
        "opentpu/programs/small.a",
        "opu/small/ker.bin",
        "pim/digits/cnn1_groups.json.gz",
        "digits/SOURCE.md",
    } <= set(example_files())
    assert not [name for name in example_files() if name.endswith((".py", ".html", ".js"))]
    assert user_path("example:digits/cnn.onnx") == str(FOLDER / "digits" / "cnn.onnx")
    assert user_path(ARRAYS + ":images") == str(FOLDER / "digits" / "digits.npz") + ":images"
    assert user_path("./example:x") == "./example:x"


def test_run_of_an_example_writes_into_the_current_folder(quintet, here):
    before = shipped()
    ran = quintet("run", SMALL, "--on", "model", "--json")
    assert ran.code == 0 and ran.json["outputs"] == ["small_y.npy"]
    assert np.load(here / "small_y.npy").tobytes() == Y
    # So does a job that is named by its place.
    assert quintet("run", FOLDER / "opu" / "small" / "small.toml").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["out.npy", "small_y.npy"]
    ran = quintet("run", SMALL, "--out", "results", "--json")
    assert (here / "results" / "small_y.npy").is_file()
    assert shipped() == before


def test_verify_takes_an_example(quintet):
    ran = quintet("verify", SMALL, "--on", "model", "--against", "model", "--json")
    assert ran.code == 0 and ran.json["equal"]


def test_asm_and_disasm_take_an_example(quintet, here):
    assert quintet("asm", "opentpu", "example:opentpu/programs/small.a", "-o", "x.bin").code == 0
    from_example = quintet("disasm", "opentpu", "example:opentpu/programs/small.a").out
    assert from_example == quintet("disasm", "opentpu", "x.bin").out


def test_a_network_is_compiled_run_and_verified_by_names(quintet, here):
    assert (
        quintet(
            *("compile", NETWORK, "--for", "model:opu", "-o", "net"),
            *("--calibrate", ARRAYS + ":calibration"),
        ).code
        == 0
    )
    ran = quintet(
        *("infer", "net", "--input", ARRAYS + ":images", "--labels", ARRAYS + ":labels"),
        *("--limit", "5", "--json"),
    )
    assert ran.code == 0 and ran.json["correct"] == 5
    ran = quintet(
        *("verify", "net", "--on", "model", "--against", "reference"),
        *("--input", ARRAYS + ":calibration", "--json"),
    )
    assert ran.code == 0 and ran.json["equal"]
    assert shutil.rmtree(here / "net") is None and not list(here.iterdir())


def test_compare_takes_examples(quintet):
    ran = quintet(
        *("compare", NETWORK, "--board", "ulx3s-85f", "--isa", "cherry", "--estimate"),
        *("--input", f"pixels={ARRAYS}:images", "--labels", ARRAYS + ":labels"),
        *("--calibrate", ARRAYS + ":calibration", "--limit", "3", "--json"),
    )
    assert ran.code == 0, ran.err


def test_python_takes_examples():
    net = compile_model("example:digits/mlp.onnx", "model:cherry")
    assert net.plan.network == "digits_mlp"
    inputs = load_inputs([ARRAYS + ":images"], net.plan.inputs, "--input")
    assert inputs["pixels"].shape == (540, 64)
    assert len(load_labels(ARRAYS + ":labels", 540)) == 540


def test_tables_of_a_job_take_examples(quintet, here):
    small = SmallJob(here)
    places = "example:opentpu/programs/"
    small.edit('"small.a"', f'"{places}small.a"').edit('"x.npy"', f'"{places}small_x.npy"')
    labels = 'labels = "example:imagine/digits/digits_up5k_logits_labels.npy"\n'
    small.edit("shape = [6, 4]\n", f"shape = [6, 4]\n{labels}")
    for name in ("small.a", "x.npy"):
        (here / name).unlink()
    ran = quintet("run", small)
    assert f"save[0].{labels.strip()}: expected a number of labels" in ran.err
    small.edit(labels)
    ran = quintet("run", small, "--json")
    assert ran.code == 0 and ran.json["outputs"] == [str(here / "y.npy")]
    # Saved elsewhere, it reads the same files.
    (here / "other").mkdir()
    copy = Job.load(small.path).save(here / "other" / "copy.toml")
    assert [load.data for load in Job.load(copy).loads] == [
        load.data for load in Job.load(small.path).loads
    ]


def test_verilog_takes_an_example_for_its_bench(quintet, here):
    ran = quintet(
        *("verilog", "--core", "opentpu", "--preset", "sim", "--memory-size", "64K"),
        *("--beat-bytes", "4", "-o", "core.v", "--bench", SMALL),
    )
    assert ran.code == 0 and (here / "core_tb.v").is_file()


# Names that stand for nothing


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "NAME"),
        ("verify", "NAME", "--on", "model"),
        ("compile", "NAME", "--for", "model:opu", "-o", "net"),
        ("compile", NETWORK, "--for", "model:opu", "-o", "net", "--calibrate", "NAME"),
        ("compare", "NAME", "--board", "ulx3s-85f"),
        ("compare", NETWORK, "--board", "ulx3s-85f", "--input", "NAME"),
        ("infer", "NAME", "--input", "x.npy"),
        ("asm", "opu", "NAME", "-o", "x.bin"),
        ("disasm", "opu", "NAME"),
        ("report", "NAME"),
        ("check", "NAME"),
        ("flash", "icebreaker", "NAME"),
        ("studio", "--plan", "NAME"),
        ("examples", "NAME"),
        ("examples", "NAME", "-o", "copy"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
@pytest.mark.parametrize(
    "name, said",
    [
        ("example:nothing", "no such example: example:nothing; quintet examples lists them"),
        ("example:../x", "no such example: example:../x; quintet examples lists them"),
        ("example:../digits/__init__.py", "no such example: example:../digits/__init__.py; "),
        (
            "example:digits/cnn.onx",
            "no such example: example:digits/cnn.onx; did you mean example:digits/cnn.onnx?",
        ),
        (
            "example:opu/tiny/small.s",
            "; did you mean example:opu/small/small.s?",
        ),
    ],
    ids=["nothing", "outside", "no data", "misspelled", "folder misspelled"],
)
def test_a_name_of_nothing_is_refused(quintet, here, arguments, name, said):
    ran = quintet(*(name if word == "NAME" else word for word in arguments))
    assert ran.code == 2 and ran.out == ""
    assert said in ran.err and ran.err.count("\n") == 1
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    "old, new, key",
    [
        ('"small.a"', '"example:small.a"', "program"),
        ('"x.npy"', '"example:opentpu/x.npy"', "load[0].file"),
    ],
)
def test_a_job_that_names_no_example_is_refused(quintet, small, old, new, key):
    small.edit(old, new)
    ran = quintet("run", small)
    assert ran.code == 2
    assert f"{small}: {key} = {new}: no such example: {new[1:-1]}; " in ran.err


def test_a_job_cannot_save_into_the_examples(quintet, small):
    small.edit('"y.npy"', '"example:y.npy"')
    ran = quintet("run", small)
    assert ran.code == 2
    assert ran.err == (
        f'quintet: {small}: save[0].file = "example:y.npy": examples are only read; expected a '
        f"place of your own\n"
    )
