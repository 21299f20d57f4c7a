# SPDX-License-Identifier: BSD-2-Clause
"""Scripts and notebooks of `examples/`, run as a user runs them, in an empty folder."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
#: File -> what it prints, a regular expression.
PRINTED = {
    "assembly.py": "as numpy has it: True",
    "compare_cores.py": "pim .* of 100 digits right",
    "detector.py": r"floating point: 1[78]\d of 1[78]\d rectangles found(.*\n)+cherry: 9 of 9",
    "host_script.py": "memory holds what was written: True",
    "own_board.py": "opu +up5k",
    "own_core.py": "[0-9] passed",
    "own_network.py": "(19[0-9]|200) of 200 points right",
    "own_soc.py": r"wrote accelerator\.v: [0-9,]{7} bytes",
    "quantisation.py": "cherry +[4-9][0-9]",
    "segmentation.py": r"floating point: IoU 0\.[5-9](.*\n)+"
    r"opu: IoU 0\.[5-9]\d\d, equal to the reference: True(.*\n)+"
    r"opentpu: IoU 0\.[5-9]\d\d, equal to the reference: True(.*\n)+"
    r"cherry: IoU 0\.[5-9]\d\d, equal to the reference: True",
    "report.py": r"wrote report\.html: cherry, imagine, opentpu, opu, pim",
    "state.py": "1,100 bytes for 100 steps\nthe same from the saved state on: True",
    "sweep.py": "85f-p256 +[0-9,]+ cycles",
    "training.py": "quantised and trained: 5[23][0-9] right",
    "comparing_cores.ipynb": "opu +[0-9,]+ cycles +[0-9]+ right",
    "first_network.ipynb": "(9[0-9]|100) of 100 digits right",
    "quantisation.ipynb": "percentile +99: ",
}
#: Arguments of a quicker run; the whole one is a long test.
ARGUMENTS = {"segmentation.py": ["--side", "48"], "training.py": ["--steps", "20"]}
#: Packages that no other part of the project needs.
NEEDS = {"training.py": "torch"}
#: Runs the code of a notebook in one name space.
NOTEBOOK = """
import json, sys
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
names = {}
for cell in cells:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
"""


def test_every_example_is_known():
    found = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert found == set(PRINTED)
    readme = (EXAMPLES / "README.md").read_text()
    assert set(re.findall(r"\[([\w.]+)\]\(\1\)", readme)) == found


@pytest.mark.parametrize("name", PRINTED)
def test_example_runs(name, tmp_path):
    runs(name, tmp_path, ARGUMENTS.get(name, []))


@pytest.mark.long
@pytest.mark.parametrize("name", ARGUMENTS)
def test_whole_example_runs(name, tmp_path):
    runs(name, tmp_path, [])


def runs(name, tmp_path, arguments):
    """A script or notebook ends, and prints what is expected."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    path = EXAMPLES / name
    command = [path, *arguments] if path.suffix == ".py" else ["-c", NOTEBOOK, path]
    ran = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(PRINTED[name], ran.stdout), ran.stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_hold_no_results(path):
    """Results of a machine's run would change with every run."""
    cells = json.loads(path.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
