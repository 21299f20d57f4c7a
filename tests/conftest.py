# SPDX-License-Identifier: BSD-2-Clause
"""Environment of all tests, the marker of slow ones, and a record of what each test takes."""

import os
import sys
from pathlib import Path

import pytest

# The tools that came with this Python are found whether or not its environment is activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# Tables are as wide as they like, whatever the terminal is that the tests run in (workers of
# pytest-xdist are told its width).
os.environ.pop("COLUMNS", None)

#: Tests that take more than 1.5 seconds of processor time, one a line: a test, or a whole function
#: with its parameters. `python -m pytest --times FILE` writes what each takes.
SLOW = Path(__file__).with_name("slow.txt")


def pytest_addoption(parser):
    parser.addoption(
        "--times",
        metavar="FILE",
        help="append the seconds of processor time of each test, its children's included",
    )


def pytest_collection_modifyitems(items):
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow or item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    before = os.times()
    ran = yield
    path = item.config.getoption("--times")
    if path is not None:
        seconds = sum(os.times()[:4]) - sum(before[:4])
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{seconds:.2f} {item.nodeid}\n")
    return ran
