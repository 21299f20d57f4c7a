# SPDX-License-Identifier: BSD-2-Clause
"""Installation of quintet for tests as a user has it: a wheel in a separate environment."""

import os
import shutil
import subprocess
import sys
import venv
from collections import Counter
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["PACKAGES", "add_packages", "build_wheel", "install", "install_base", "run"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gateware", "boards", "tools", "firmware")
_PROGRAM = """\
#!{0}
import sys
from {1} import {2}
sys.exit({2}())
"""
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")


def run(*command, **options):
    """Runs a command, which must succeed, and returns its standard output."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(folder):
    """Builds the wheel in ``folder`` from a copy, ``source``, so that it contains nothing of an
    earlier build; returns its path."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / "source" / name, ignore=_LEFT_OUT)
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


def _install_wheel(wheel, home):
    """Creates an environment ``home`` with the wheel alone; returns its Python and the folder of
    its packages."""
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
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    return python, site


def _environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def install(wheel, home):
    """Creates an environment ``home`` with the wheel and the dependencies of the present
    environment; returns its Python and its environment variables."""
    python, site = _install_wheel(wheel, home)
    # The dependencies of this environment become visible, its editable quintet does not: .pth files
    # of a folder that is itself named by a .pth file are not read.
    # (They may lie in several folders, if this environment borrows from another one.)
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (site / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in folders))
    return python, _environment()


def install_base(wheel, home):
    """Creates an environment ``home`` as ``pip install quintet`` does on a new machine: the wheel
    with its requirements, without extras and without programs of the present environment."""
    python, site = _install_wheel(wheel, home)
    add_packages(site, metadata.distribution("quintet").requires or [], python)
    environment = _environment()
    folders = environment.get("PATH", "").split(os.pathsep)
    own = str(Path(sys.executable).parent)
    kept = [folder for folder in folders if folder != own]
    environment["PATH"] = os.pathsep.join([str(python.parent), *kept])
    return python, site, environment


def add_packages(site, requirements, python=None):
    """Links packages of the present environment, with their requirements, into the folder ``site``
    of another one, as ``pip install`` would; with its ``python``, their programs too.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        This environment lacks one of them.
    """
    found = {}
    for text in requirements:
        _collect(Requirement(text), found)
    tops = Counter(top for dist in found.values() for top in _tops(dist))
    for dist in found.values():
        for file in dist.files or []:
            top = file.parts[0]
            # Distributions that share a folder (a namespace) are linked file by file.
            place = Path(file if tops[top] > 1 and len(file.parts) > 1 else top)
            if ".." not in file.parts and not (site / place).exists():
                (site / place).parent.mkdir(parents=True, exist_ok=True)
                (site / place).symlink_to(dist.locate_file(place))
        for entry in dist.entry_points if python else ():
            program = python.parent / entry.name
            if entry.group == "console_scripts" and not program.exists():
                program.write_text(_PROGRAM.format(python, entry.module, entry.attr))
                program.chmod(0o755)


def _tops(dist):
    return {file.parts[0] for file in dist.files or [] if file.parts[0] != ".."}


def _collect(requirement, found):
    """Adds the distribution of ``requirement``, and those that it requires, to ``found``."""
    name = canonicalize_name(requirement.name)
    wanted = (name, *sorted(requirement.extras))
    if wanted in found or not _applies(requirement, ""):
        return
    dist = found[wanted] = metadata.distribution(name)
    for text in dist.requires or []:
        needed = Requirement(text)
        if any(_applies(needed, extra) for extra in ("", *requirement.extras)):
            needed.marker = None
            _collect(needed, found)


def _applies(requirement, extra):
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})
