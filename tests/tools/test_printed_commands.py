# SPDX-License-Identifier: BSD-2-Clause
"""Commands of the README and of the pages that a stranger reads, run in their order as they are
printed, from an installed wheel, in a folder that is empty at first.

Commands that need a board, a build, a compiled board or minutes are run by
``test_printed_pages.py`` (``make test-long``); ``test_documented_commands.py`` parses every
command.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.tools.examples import user_path
from tests.support.installed import build_wheel, install

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = [
    ROOT / "README.md",
    *sorted((DOCS / "start").glob("*.md")),
    *sorted((DOCS / "guides").glob("*.md")),
    *(DOCS / "cores" / f"{core}.md" for core in ("opentpu", "opu", "pim", "imagine", "cherry")),
    DOCS / "performance" / "models.md",
]
#: Commands that are not run: hardware, place and route, compiled boards, what takes minutes, what
#: makes the environment that runs this.
_LEFT = re.compile(
    r"sim:|/dev/|quintet (build|demo|flash|matrix|measure|serve|studio)\b|pip install (-e "
    r")?('?\.[\s'\[]|\.$|ziglang)|(git|make|gtkwave|surfer|python3|eval|autoload|register\S+)\b"
)
_RUN = re.compile(r"(quintet|pip|pytest) ")


def printed(text):
    """Commands of a document: lines of its code blocks, and of its first paragraph the one to
    try."""
    blocks = [
        body
        for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
        if not language
    ]
    lines = [line.strip() for body in blocks for line in re.sub(r"\\\n\s*", " ", body).splitlines()]
    first = text.split("\n\n")[1] if text.count("\n\n") else ""
    return [
        line
        for line in [*re.findall(r"\b[Tt]ry\b[^`.]*`([^`]+)`", first), *lines]
        if _RUN.match(line)
    ]


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """Runs a command once, in a folder that is empty before the first; gives what it printed."""
    folder = tmp_path_factory.mktemp("user")
    python, environment = install(
        build_wheel(tmp_path_factory.mktemp("wheel")), folder / "environment"
    )
    environment["PATH"] = f"{python.parent}:{environment['PATH']}"
    here, done = folder / "here", {}
    here.mkdir()

    def run(line):
        words = shlex.split(line, comments=True)
        if words[0] == "pip":
            # Into the environment, without the network.
            words = [
                sys.executable,
                "-m",
                "pip",
                "--python",
                str(python),
                *words[1:],
                "--quiet",
                "--no-deps",
                "--no-index",
                "--no-build-isolation",
            ]
        elif words[0] == "pytest":
            words = [str(python), "-m", *words, "-p", "no:cacheprovider"]
        if line not in done:
            done[line] = subprocess.run(
                words, cwd=here, env=environment, capture_output=True, text=True
            )
        return done[line]

    return run


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_run(document, request):
    lines = [line for line in printed(document.read_text()) if not _LEFT.search(line)]
    for line in lines:
        # Installed for the first page that has a command to run.
        done = request.getfixturevalue("user")(line)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_enough_is_run():
    """Each page has a command that runs, but those whose commands want a compiled board, a browser
    or a board, and the page on SoCs, whose example is a test of its own."""
    ran = {
        document.name: [line for line in printed(document.read_text()) if not _LEFT.search(line)]
        for document in DOCUMENTS
    }
    assert {name for name, lines in ran.items() if not lines} == {
        "bring-up.md",
        "first-minute.md",
        "opentpu.md",
        "own-soc.md",
        "timeline.md",
    }
    assert sum(map(len, ran.values())) >= 24


def test_documents_name_no_file_of_a_checkout():
    """What they run ships with the package."""
    for document in DOCUMENTS:
        for line in printed(document.read_text()):
            assert "firmware/" not in line, f"{document.name}: {line}"


def test_names_of_examples_in_documents_are_right():
    named = {
        (document.name, name)
        for document in [ROOT / "README.md", *DOCS.rglob("*.md")]
        for name in re.findall(r"example:(?!NAME)[\w./-]*\w", document.read_text())
    }
    assert len(named) > 30
    for document, name in sorted(named):
        assert user_path(name) != name, document


def test_what_is_left_out():
    assert printed(
        "# A\n\nTry it now: `quintet doctor`.\n\n```\nquintet run a \\\n  --on model   # here\n"
        "ls\n```\n```python\nquintet x\n```\n"
    ) == ["quintet doctor", "quintet run a  --on model   # here"]
    assert all(
        map(
            _LEFT.search,
            (
                "quintet run j --on sim:a/b",
                "pip install -e .",
                "pip install -e '.[compile]'",
                "quintet build a b",
                "make demo",
            ),
        )
    )
    assert not any(
        map(
            _LEFT.search,
            (
                "pip install -e ./mycore",
                "quintet run j --on model",
                "quintet boards myboard",
                "pytest mycore",
            ),
        )
    )
