# SPDX-License-Identifier: BSD-2-Clause
"""Catalogue of shipped examples: networks, arrays and jobs, with their descriptions, builds and
files.

``python -m quintet.firmware.examples`` assembles every job for every build of its core and writes
``builds.json`` again, which lists the builds of each.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from quintet.tools.examples import FOLDER, example_files

__all__ = ["BUILDS", "Example", "builds_of", "chosen", "examples", "job_names", "licence_for"]

BUILDS = Path(__file__).resolve().with_name("builds.json")
#: Networks and arrays: name -> what it is. A job's is its first line.
_DESCRIPTIONS = {
    "digits/cnn.onnx": "Handwritten digits, a CNN 3x3 1-16, 3x3 16-32, 128-64, 64-10 in floats.",
    "digits/mlp.onnx": "Handwritten digits, an MLP 64-32-10 in floats.",
    "digits/digits.npz": "Handwritten digits: 540 held-out images, labels, 128 calibration images.",
}
#: Source and licence of the digits' images, which goes wherever they are copied.
_LICENCE = "digits/SOURCE.md"


@dataclass(frozen=True)
class Example:
    """A shipped example: a network, an archive of arrays, or a job.

    Attributes
    ----------
    name : of its file, without ``example:``
    kind : "network", "arrays" or "job"
    what : one line
    core : of a job; ``None`` for the others, which are for every core
    presets : of ``core``, those with a board that the job runs on
    """

    name: str
    kind: str
    what: str
    core: str | None = None
    presets: tuple[str, ...] = ()


def job_names() -> list[str]:
    """Names of the shipped jobs."""
    return [name for name in example_files() if name.endswith(".toml")]


def examples() -> list[Example]:
    """All examples, networks and arrays first."""
    builds = json.loads(BUILDS.read_text(encoding="utf-8"))
    found = [
        Example(name, "network" if name.endswith(".onnx") else "arrays", what)
        for name, what in _DESCRIPTIONS.items()
    ]
    for name in job_names():
        text = (FOLDER / name).read_text(encoding="utf-8")
        core = name.partition("/")[0]
        what = text.partition("\n")[0].lstrip("# ")
        found.append(Example(name, "job", what, core, tuple(builds[name])))
    return found


def builds_of(name: str) -> list[str]:
    """Presets of its core on which the job ``name`` runs: some board supports the preset and has
    enough memory, and the program assembles for it."""
    from quintet.boards import board_names, open_board
    from quintet.gateware.isa.asm import AsmError
    from quintet.tools.errors import JobError
    from quintet.tools.jobs.job import Job

    job = Job.load(FOLDER / name)
    sizes: dict[str, int] = {}
    for board in map(open_board, board_names()):
        for preset in board.presets(job.package):
            sizes[preset] = max(board.memory.size, sizes.get(preset, 0))
    found = []
    for preset in job.package.params.SPACE.presets:
        if preset not in sizes:
            continue
        params = job.package.params.SPACE.resolve(preset)
        try:
            job.check_params(params, preset)
            job.image(params, sizes[preset])
        except (AsmError, JobError):
            continue
        found.append(preset)
    return found


def chosen(name: str) -> list[str]:
    """Names of the files of one example, with its dependencies, or of a folder of examples; ``""``:
    all. Empty if the name does not exist."""
    name = name.rstrip("/")
    if name in example_files():
        return _files_of(name)
    return [known for known in example_files() if not name or known.startswith(name + "/")]


def _files_of(name):
    """File of the example ``name``, and recursively the files beside it that its text names."""
    folder = PurePosixPath(name).parent
    beside = [known for known in example_files() if PurePosixPath(known).parent == folder]
    found, waiting = set(), {name}
    while waiting:
        one = waiting.pop()
        found.add(one)
        if Path(one).suffix in (".toml", ".s", ".a"):
            text = (FOLDER / one).read_text(encoding="utf-8")
            waiting |= {known for known in beside if _names(text, known)} - found
    return sorted(found)


def _names(text, file):
    name = re.escape(PurePosixPath(file).name)
    return re.search(rf"(?<![\w.-]){name}(?![\w-])", text) is not None


def licence_for(names: list[str]) -> str | None:
    """Name of the file on source and licence of the digits images, if one of ``names`` may contain
    them."""
    return _LICENCE if any("digits" in PurePosixPath(name).parts for name in names) else None
