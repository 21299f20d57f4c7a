# SPDX-License-Identifier: BSD-2-Clause
"""quintet as a user has it: a wheel, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["ROOMS", "build_wheel", "install", "run"]

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("gateware", "boards", "tools", "firmware")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")


def run(*command, **options):
    """Standard output of a command, which must succeed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(folder):
    """Path of the wheel; built in ``folder`` from a copy, ``source``, so that nothing an earlier
    build left behind gets in."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / "source" / room, ignore=_LEFT_OUT)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source" / name)
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--disable-pip-version-check",
        "--wheel-dir",
        folder,
        folder / "source",
    )
    found = list(folder.glob("quintet-*.whl"))
    assert len(found) == 1
    return found[0]


def install(wheel, home):
    """Makes an environment ``home`` with the wheel and, of this one, the dependencies; gives its
    Python and the variables to run it with."""
    venv.create(home, with_pip=False)
    python = home / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        wheel,
    )
    # The dependencies of this environment become visible, its editable quintet does not: .pth files
    # of a folder that is itself named by a .pth file are not read.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    # (They may lie in several folders, if this environment borrows from another one.)
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in folders))
    return python, {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
