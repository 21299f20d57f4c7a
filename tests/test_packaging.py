# SPDX-License-Identifier: BSD-2-Clause
"""The wheel holds every package, and works in an environment of its own."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.installed import PACKAGES, build_wheel, install, run

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_every_file_of_every_package_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {
        f"quintet/{path.relative_to(wheel.parent / 'source').as_posix()}"
        for name in PACKAGES
        for path in (wheel.parent / "source" / name).rglob("*")
        if path.is_file()
    }
    # What is the package itself lies in a folder of its own.
    expected = {name.replace("quintet/tools/package/", "quintet/") for name in expected}
    assert len(expected) > 30
    assert not expected - names, f"the wheel lacks {sorted(expected - names)}"
    assert not {name for name in names if not name.startswith(("quintet/", "quintet-"))}


def test_wheel_in_an_empty_environment(wheel, tmp_path):
    home = tmp_path / "environment"
    python, environment = install(wheel, home)
    place = run(
        python,
        "-c",
        "import quintet.tools; print(quintet.tools.__file__)",
        cwd=tmp_path,
        env=environment,
    ).strip()
    assert Path(place).is_relative_to(home)
    cores = json.loads(
        run(python.parent / "quintet", "cores", "--json", cwd=tmp_path, env=environment)
    )["cores"]
    packages = sorted(path.parent.name for path in (ROOT / "gateware" / "cores").glob("*/isa.py"))
    assert sorted(core["name"] for core in cores) == packages and "opentpu" in packages


def test_an_example_of_the_wheel_runs_in_an_empty_folder(wheel, tmp_path):
    python, environment = install(wheel, tmp_path / "environment")
    here = tmp_path / "here"
    here.mkdir()

    def installed():
        return {
            path
            for path in python.parents[1].rglob("quintet/**/*")
            if path.suffix != ".pyc" and path.name != "__pycache__"
        }

    def quintet(*words):
        return run(python.parent / "quintet", *words, cwd=here, env=environment)

    before = installed()
    said = json.loads(quintet("run", "example:opentpu/programs/small.toml", "--json"))
    assert said["outputs"] == ["small_y.npy"]
    quintet("examples", "opu/small", "-o", "mine")
    assert json.loads(quintet("run", "mine/small.toml", "--json"))["status"] == "done"
    assert sorted(path.name for path in here.iterdir()) == ["mine", "small_y.npy"]
    assert installed() == before
