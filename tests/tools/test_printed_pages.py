# SPDX-License-Identifier: BSD-2-Clause
"""Every command of the pages that a stranger reads, virtual boards and builds included.

``test_printed_commands.py`` runs those that are quick.
"""

from pathlib import Path

import pytest

from tests.support.installed import build_wheel
from tests.support.reader import Reader, pages, printed_lines, stand_in

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages(ROOT)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page(page, wheel, tmp_path):
    """In page order, in a folder that is empty at first, by a base install. Compiled virtual boards
    are kept in the user's cache, as a reader's are."""
    with Reader(wheel, tmp_path) as reader:
        reader.follow(page)
        reader.stop()


def test_every_page_has_commands():
    for page in PAGES:
        lines = printed_lines(page.read_text())
        assert any(stand_in(line) for line in lines), page.name


def test_lines_of_a_page():
    text = (
        "Try `quintet doctor --udev`, not `quintet compare`, `quintet studio` or "
        "`quintet run JOB --on model`.\n\n"
        "```\nquintet run a \\\n  --on model   # here\n```\n```python\nquintet x\n```\n"
        "1. A list:\n\n   ```\n   quintet build b c\n   ```\n\n   `quintet\n   flash b out`\n"
        "```\n inputs right   534 of 540\n```\n```sh\ncc a.c && ./a.out\n```\n"
    )
    assert printed_lines(text) == [
        "quintet doctor --udev",
        "quintet run a  --on model   # here",
        "quintet build b c",
        "quintet flash b out",
        "cc a.c && ./a.out",
    ]


def test_what_stands_for_a_board_and_a_checkout():
    assert stand_in("quintet demo --on /dev/ttyUSB0") == "quintet demo --on ./ttyUSB0"
    assert stand_in("quintet infer net --on /dev/ttyUSB1") == "quintet infer net --on ./ttyUSB0"
    assert stand_in("quintet selftest auto") == "quintet selftest ./ttyUSB0"
    assert stand_in("make demo") == "quintet demo"
    assert stand_in("git clone <this project> quintet && cd quintet") is None
    assert stand_in("pip install -e .") is None and stand_in("pip install -e '.[test]'") is None
    assert stand_in("pip install -e ./mycore") == "pip install -e ./mycore"
