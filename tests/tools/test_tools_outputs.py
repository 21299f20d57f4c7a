# SPDX-License-Identifier: BSD-2-Clause
"""A job writes below its folder, or below --out, and nowhere else: by no name, no link, and no link
that comes later."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quintet.tools import Job, outputs
from quintet.tools.errors import InputError, JobError
from quintet.tools.jobs.job import Save
from quintet.tools.jobs.runner import check_outputs
from quintet.tools.outputs import check_folder, check_output, place_below, write_places


def one_line(ran, *words):
    assert ran.code == 2 and ran.out == "" and len(ran.err.strip().splitlines()) == 1, ran.err
    for word in words:
        assert word in ran.err, ran.err


@pytest.fixture
def job(small):
    """The job in a folder inside the folder that it must not reach."""
    folder = small.folder / "inner"
    folder.mkdir()
    for path in list(small.folder.iterdir()):
        if path != folder:
            path.rename(folder / path.name)
    small.folder, small.path = folder, folder / small.path.name
    return small


def never_runs(monkeypatch):
    from quintet.tools.targets.model import ModelTarget

    def run(*args, **options):
        raise AssertionError("it ran")

    monkeypatch.setattr(ModelTarget, "configure", run)


@pytest.mark.parametrize(
    "name",
    [
        "../y.npy",
        "a/../../y.npy",
        "/y.npy",
        "link/y.npy",
        "link/deep/y.npy",
        "dangling/y.npy",
        "a/link/y.npy",
    ],
)
def test_a_save_that_leads_out(quintet, job, monkeypatch, name):
    outside = job.folder.parent
    (job.folder / "a").mkdir()
    (job.folder / "link").symlink_to("..")
    (job.folder / "a" / "link").symlink_to(outside)
    (job.folder / "dangling").symlink_to("../none")
    job.edit('"y.npy"', f'"{outside if name[0] == "/" else ""}{name}"')
    before = sorted(outside.rglob("*"))
    with monkeypatch.context() as patch:
        never_runs(patch)
        one_line(
            quintet("run", job),
            f'{job}: save[0].file = "',
            "leads to ",
            f"expected a place below {job.folder} (or --allow-outside)",
        )
        if "link" not in name and "dangling" not in name:  # those are of the job's folder
            one_line(
                quintet("run", job, "--out", job.folder / "out"), "leads to ", "--allow-outside"
            )
    assert sorted(outside.rglob("*")) == before
    assert quintet("run", job, "--allow-outside").code == 0
    [made] = [path for path in outside.rglob("y.npy") if not path.is_symlink()]
    assert job.folder not in made.parents and made.read_bytes()[-24:] == job.expected


def test_absolute_though_inside(quintet, job):
    one_line(
        quintet("run", job.edit('"y.npy"', f'"{job.folder}/y.npy"')), "leads to ", "--allow-outside"
    )


def test_links_that_stay_inside(quintet, job):
    (job.folder / "real").mkdir()
    (job.folder / "link").symlink_to("real")
    (job.folder / "real" / "y.npy").symlink_to("../../target")
    assert quintet("run", job.edit('"y.npy"', '"link/y.npy"')).code == 0
    made = job.folder / "real" / "y.npy"
    # The link at the file's place was replaced; what it led to is not there.
    assert (
        not made.is_symlink()
        and made.read_bytes()[-24:] == job.expected
        and not (job.folder.parent / "target").exists()
    )


def test_the_folder_itself_may_be_a_link(quintet, job):
    (job.folder.parent / "way").symlink_to("inner")
    assert quintet("run", job.folder.parent / "way" / "job.toml").code == 0
    assert (job.folder / "y.npy").exists()


@pytest.mark.skipif(not outputs._AT, reason="this system cannot name files relative to a folder")
def test_a_link_that_comes_during_the_run(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    good, place = place_below(root, "b.bin"), place_below(root, "a/y.bin")
    (root / "a").rmdir()
    (root / "a").symlink_to(outside)
    with pytest.raises(InputError, match="cannot write .*y.bin"):
        write_places({good: b"1", place: b"2"})
    assert not list(outside.iterdir()) and [p.name for p in root.iterdir()] == ["a"]
    (tmp_path / "gone").mkdir()
    place = place_below(tmp_path / "gone", "y.bin")
    (tmp_path / "gone").rmdir()
    (tmp_path / "gone").symlink_to(outside)
    with pytest.raises(InputError, match="cannot write .*y.bin"):
        write_places({place: b"2"})
    assert not list(outside.iterdir())


@pytest.mark.parametrize("at", [True, False])
def test_folders_are_made_and_modes_are_those_of_open(tmp_path, monkeypatch, at):
    monkeypatch.setattr(outputs, "_AT", at and outputs._AT)
    before = os.umask(0o027)
    try:
        write_places(
            {
                place_below(tmp_path / "x", name): name.encode()
                for name in ("a.bin", "d/e/b.bin", "d/c.bin")
            }
        )
    finally:
        os.umask(before)
    for name in ("a.bin", "d/e/b.bin", "d/c.bin"):
        path = tmp_path / "x" / name
        assert path.read_bytes() == name.encode() and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(ValueError, match="cannot write .*b.bin: .*a.bin is no folder"):
        place_below(tmp_path / "x", "a.bin/b.bin")
    with pytest.raises(ValueError, match="cannot write .*d: it is a folder"):
        place_below(tmp_path / "x", "d")


def test_all_files_or_none(tmp_path):
    places = [place_below(tmp_path, name) for name in ("a.bin", "b.bin")]
    (tmp_path / "b.bin").mkdir()
    (tmp_path / "b.bin" / "full").touch()
    with pytest.raises(InputError, match="cannot write .*b.bin"):
        write_places({places[1]: b"2", places[0]: b"1"})
    assert [p.name for p in tmp_path.iterdir()] == ["b.bin"]


def test_two_saves_of_one_place(quintet, job):
    (job.folder / "a").mkdir()
    (job.folder / "a" / "y.npy").touch()
    job.append('[[save]]\nfile = "b/../y.npy"\nat = 0x2010\ndtype = "int8"\nshape = [1]\n')
    one_line(quintet("run", job), "save[1].file", "save[0] saves to the same file")


def test_two_saves_of_one_place_from_python(tmp_path):
    job = Job(
        core="opentpu",
        program=bytes(14),
        program_at=0,
        saves=[Save(0, "y.bin", size=1), Save(0, "./y.bin", size=1)],
    )
    with pytest.raises(JobError, match="job: two saves would both be .*y.bin"):
        check_outputs(job, tmp_path)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["..", ".", "a", "b", "out", "in", "round", "dangling", ""]), max_size=5
    )
)
def test_no_name_leads_out(tmp_path_factory, parts):
    base = tmp_path_factory.mktemp("names")
    root = base / "root"
    (root / "a" / "b").mkdir(parents=True)
    (base / "outside").mkdir()
    for name, target in (
        ("out", "../outside"),
        ("in", "a"),
        ("round", "round"),
        ("dangling", "../none"),
        ("a/out", "../../outside"),
        ("a/in", ".."),
    ):
        (root / name).symlink_to(target)
    with suppress(ValueError, InputError):
        write_places({place_below(root, "/".join([*parts, "y.bin"])): b"1"})
    assert (
        all(root in path.parents for path in base.rglob("y.bin")) and not (base / "none").exists()
    )


# Files that the command line names


@pytest.mark.parametrize(
    "args",
    [
        ("asm", "opentpu", "small.a"),
        ("disasm", "opentpu", "small.a"),
        ("verilog", "--core", "opentpu"),
        ("csr", "icebreaker", "opentpu"),
    ],
)
def test_missing_folders_alike(quintet, small, monkeypatch, args):
    monkeypatch.chdir(small.folder)
    for out in ("none/o.out", "none/o.csv", "small.a/o.csv"):
        one_line(quintet(*args, "-o", out), f"-o {out}: no such folder: {os.path.dirname(out)}")
    one_line(quintet(*args, "-o", ""), "-o '': expected the name of a file")
    assert not (small.folder / "none").exists()


def test_check_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_output("new")
    check_output("new/")
    with pytest.raises(InputError, match="-o new/x: no such folder: new"):
        check_output("new/x")


@pytest.mark.parametrize(
    "option, args",
    [
        ("--out", ("run", "job.toml")),
        ("-o", ("build", "icebreaker", "opentpu")),
        ("-o", ("matrix",)),
    ],
)
def test_folders_that_are_none(quintet, small, monkeypatch, option, args):
    monkeypatch.chdir(small.folder)
    one_line(quintet(*args, option, ""), f"{option} '': expected a folder")
    one_line(quintet(*args, option, "x.npy"), f"{option} x.npy: is a file; expected a folder")


# The exports of a program are its assembler's


def test_a_program_exports_nothing_when_it_runs(quintet, tmp_path):
    (tmp_path / "p.s").write_text(
        'vv_nop\nmv_SYNC\n.export_verilogBin "../stray.mem"\n.export_CprogHeader\n'
    )
    job = tmp_path / "job.toml"
    job.write_text(
        'core = "imagine"\nprogram = "p.s"\nprogram_at = 0\nlimits = { cycles = 1000 }\n'
    )
    for command in (
        ("run", job, "--json"),
        ("verify", job, "--on", "model", "--json"),
        ("disasm", "imagine", tmp_path / "p.s", "--json"),
    ):
        ran = quintet(*command)
        assert isinstance(ran.json, dict), ran.out
        assert not (tmp_path.parent / "stray.mem").exists()
    ran = quintet("asm", "imagine", tmp_path / "p.s", "-o", tmp_path / "p.bin", "--json")
    assert ran.code == 0 and ran.json["bytes"] == 12 and (tmp_path.parent / "stray.mem").exists()
    (tmp_path.parent / "stray.mem").unlink()
    assert (
        "IMAGINE_PROG_H"
        in quintet("asm", "imagine", tmp_path / "p.s", "-o", tmp_path / "p.bin").out
    )
    (tmp_path.parent / "stray.mem").unlink()


# A reader that goes away


@pytest.mark.parametrize(
    "change, code",
    [(("hostmem_limit = 0x2040", "hostmem_limit = 0x2027"), 5), (("core", "core"), 0)],
)
def test_the_exit_code_of_a_command_whose_reader_goes_away(small, change, code):
    small.edit(*change)
    command = (
        f"set -o pipefail; {sys.executable} -m quintet.tools.cli run {small} 2> "
        f"{small.folder}/err | true"
    )
    assert subprocess.run(["bash", "-c", command]).returncode == code
    assert (
        "Traceback" not in (small.folder / "err").read_text()
        and "roken" not in (small.folder / "err").read_text()
    )
    assert (small.folder / "y.npy").exists() == (code == 0)


def test_both_outputs_on_a_pipe_whose_reader_goes_away(small):
    small.edit("hostmem_limit = 0x2040", "hostmem_limit = 0x2027")
    command = f"set -o pipefail; {sys.executable} -m quintet.tools.cli run {small} 2>&1 | true"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (5, "")


@pytest.mark.parametrize(
    "args, code", [("run --help", 0), ("--help", 0), ("--version", 0), ("run none.toml --json", 2)]
)
def test_other_commands_whose_reader_goes_away(args, code):
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m quintet.tools.cli {args} | true"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == code and "roken" not in ran.stderr and "Exception" not in ran.stderr


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "/y", "d/" * 2100 + "x"])
@pytest.mark.parametrize("check", [check_output, check_folder])
def test_names_that_are_too_long(check, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"--there .*: File name too long"):
        check(name, "--there")
