# SPDX-License-Identifier: BSD-2-Clause
"""The wheel holds every room, and works in an environment of its own."""
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("gateware", "boards", "tools", "firmware")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, so that nothing an earlier build left behind gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / "source" / room, ignore=LEFT_OUT)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source" / name)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
        "--disable-pip-version-check", "--wheel-dir", folder, folder / "source")
    found = list(folder.glob("quintet-*.whl"))
    assert len(found) == 1
    return found[0]


def test_every_file_of_every_room_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {f"quintet/{path.relative_to(wheel.parent / 'source').as_posix()}" for room in ROOMS
                for path in (wheel.parent / "source" / room).rglob("*") if path.is_file()}
    # What is the package itself lies in a folder of its own.
    expected = {name.replace("quintet/tools/package/", "quintet/") for name in expected}
    assert len(expected) > 30
    assert not expected - names, f"the wheel lacks {sorted(expected - names)}"
    assert not {name for name in names if not name.startswith(("quintet/", "quintet-"))}


def test_wheel_in_an_empty_environment(wheel, tmp_path):
    home = tmp_path / "environment"
    venv.create(home, with_pip=False)
    bin_folder = home / ("Scripts" if os.name == "nt" else "bin")
    python = bin_folder / Path(sys.executable).name
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
        "--disable-pip-version-check", wheel)
    # The dependencies of this environment become visible, its editable quintet does not: .pth files of a folder that
    # is itself named by a .pth file are not read.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    place = run(python, "-c", "import quintet.tools; print(quintet.tools.__file__)", cwd=tmp_path, env=environment).strip()
    assert Path(place).is_relative_to(home)
    cores = json.loads(run(bin_folder / "quintet", "cores", "--json", cwd=tmp_path, env=environment))["cores"]
    rooms = sorted(path.parent.name for path in (ROOT / "gateware" / "cores").glob("*/isa.py"))
    assert sorted(core["name"] for core in cores) == rooms and "opentpu" in rooms
