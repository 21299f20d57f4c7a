# SPDX-License-Identifier: BSD-2-Clause
"""No tracked file holds the markers of an unresolved merge."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: The first and the last line that git writes around a conflict. The line between is a heading's
#: underline in some texts, and never stands without these.
MARKER = re.compile("^(?:" + "<" * 7 + "|" + ">" * 7 + r")(?: .*)?$", re.MULTILINE)


def marked(text: str) -> list[str]:
    """The lines of ``text`` that are conflict markers."""
    return MARKER.findall(text)


def test_markers_are_recognised():
    assert marked("a\n" + "<" * 7 + " HEAD\nb\n" + "=" * 7 + "\nc\n" + ">" * 7 + " other\n")
    assert not marked("a << 7\n" + "=" * 7 + "\n" + "<" * 8 + " x\n")


def test_tracked_files_hold_no_conflict():
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git here, or no checkout")
    names = [name for name in listed.stdout.decode().split("\0") if name]
    found = {}
    for name in names:
        path = ROOT / name
        if path.is_file() and (lines := marked(path.read_text(errors="replace"))):
            found[name] = lines
    assert names and found == {}
