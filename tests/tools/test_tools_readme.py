# SPDX-License-Identifier: BSD-2-Clause
"""The README stays true: its table, its commands, its links, its length; and the first job."""

import re
import sys
from pathlib import Path

from quintet.firmware.opentpu.programs import FOLDER
from quintet.tools.cli import COMMANDS
from quintet.tools.pages.overview import page

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_table_is_current():
    assert page(TEXT) == TEXT, "run python -m quintet.tools.pages.overview"


def test_length():
    assert len(TEXT.splitlines()) <= 130


def test_job():
    text = re.search(
        r"```toml\n(.*?)```", (ROOT / "docs" / "start" / "first-job.md").read_text(), re.S
    )[1]
    assert tomllib.loads(text) == tomllib.loads((FOLDER / "small.toml").read_text())


def test_commands():
    named = set(re.findall(r"`quintet (\w+)", TEXT)) | set(
        re.findall(r"^quintet (\w+)", TEXT, re.M)
    )
    assert {"demo", "compile", "infer", "run"} <= named <= set(COMMANDS)
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    assert set(re.findall(r"^\| `(\w+)", text.split("## Output")[0], re.M)) == set(COMMANDS)


def test_links():
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_nothing_of_the_workshop():
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert not re.search(r"(?<![\w.])/(work|root|home)/", document.read_text()), document
